//! Sorts nodes by name.
//!
//! Names of one model share long prefixes, so comparing two of them reads far into both, with cache misses. This radix
//! sort fetches eight bytes of each name at a time; the next eight break ties.

use super::nodes::NodeId;
use std::cmp::Ordering;

/// Which bytes come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOrder {
    /// By their numeric value.
    Bytes,
    /// The slash before all others, so that each name directly precedes the names in its scope.
    Scopes,
}

/// Up to this many nodes are sorted by comparing names.
const FEW: usize = 6;

/// Eight bytes of a node's name.
#[derive(Clone, Copy)]
struct Piece {
    bytes: u64,
    node: NodeId,
}

/// Sorts nodes. `name` must give the same name each time.
pub fn sort<'n>(nodes: &mut [NodeId], order: NameOrder, name: impl Fn(NodeId) -> &'n str) {
    let name = |node: NodeId| name(node).as_bytes();
    let mut pieces: Vec<_> = nodes.iter().map(|node| Piece { bytes: 0, node: *node }).collect();
    // Nodes whose names are equal in their first `depth` bytes.
    let mut open = vec![(0..pieces.len(), 0)];
    while let Some((range, depth)) = open.pop() {
        let alike = &mut pieces[range.clone()];
        // Scopes repeat long beginnings, which would take a round of sorting for every eight bytes.
        let depth = if alike.len() > FEW { depth + common_to_all(alike, depth, &name) } else { depth };
        if alike.len() <= FEW {
            // Of names that have ended, one may end in a slash where the other has nothing: they count as equal.
            alike.sort_unstable_by(|a, b| {
                let (a, b) = (name(a.node), name(b.node));
                order.compare(rest(a, depth), rest(b, depth)).then(a.len().cmp(&b.len()))
            });
            continue;
        }
        for piece in &mut *alike {
            piece.bytes = order.eight(rest(name(piece.node), depth));
        }
        alike.sort_unstable_by_key(|piece| piece.bytes);
        let mut start = range.start;
        for group in alike.chunk_by_mut(|a, b| a.bytes == b.bytes) {
            let (from, end) = (start, start + group.len());
            start = end;
            if group.len() == 1 {
                continue;
            }
            if group.iter().any(|piece| name(piece.node).len() > depth + 8) {
                open.push((from..end, depth + 8));
            } else {
                // All have ended, which counts as the lowest byte.
                group.sort_unstable_by_key(|piece| name(piece.node).len());
            }
        }
    }
    nodes.iter_mut().zip(pieces).for_each(|(node, piece)| *node = piece.node);
}

/// The length of the common prefix of all names behind `depth`.
fn common_to_all<'n>(alike: &[Piece], depth: usize, name: &impl Fn(NodeId) -> &'n [u8]) -> usize {
    let [first, others @ ..] = alike else { return 0 };
    let mut common = rest(name(first.node), depth);
    for piece in others {
        common = &common[..common_length(common, rest(name(piece.node), depth))];
        if common.is_empty() {
            break;
        }
    }
    common.len()
}

fn rest(name: &[u8], depth: usize) -> &[u8] {
    name.get(depth..).unwrap_or_default()
}

/// The length of the common prefix of two names.
pub(crate) fn common_length(a: &[u8], b: &[u8]) -> usize {
    let ((a_words, _), (b_words, _)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let number = |word: &[u8; 8]| u64::from_le_bytes(*word);
    for (i, (a, b)) in a_words.iter().zip(b_words).enumerate() {
        let different = number(a) ^ number(b);
        if different != 0 {
            return 8 * i + different.trailing_zeros() as usize / 8;
        }
    }
    let words = 8 * a_words.len().min(b_words.len());
    words + a[words..].iter().zip(&b[words..]).take_while(|(a, b)| a == b).count()
}

impl NameOrder {
    /// The first eight bytes, padded with 0, as a number that compares as they do.
    #[inline]
    fn eight(self, name: &[u8]) -> u64 {
        if let Some(bytes) = name.first_chunk() {
            let number = u64::from_be_bytes(*bytes);
            return if self == NameOrder::Bytes { number } else { slash_first(number) };
        }
        let mut bytes = [0; 8];
        let length = name.len();
        bytes[..length].copy_from_slice(name);
        let number = u64::from_be_bytes(bytes);
        if self == NameOrder::Bytes || length == 0 {
            return number;
        }
        let there = u64::MAX << (64 - 8 * length);
        slash_first(number) & there
    }

    fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        if self == NameOrder::Bytes {
            return a.cmp(b);
        }
        let common = common_length(a, b);
        match (a.get(common), b.get(common)) {
            (None, None) => Ordering::Equal,
            (None, _) | (Some(b'/'), Some(_)) => Ordering::Less,
            (_, None) | (Some(_), Some(b'/')) => Ordering::Greater,
            (Some(a), Some(b)) => a.cmp(b),
        }
    }
}

/// Maps each slash among eight bytes to 0, and each byte below a slash to the next higher, all at once.
fn slash_first(bytes: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    const SLASH: u64 = b'/' as u64;
    // The highest bit of each byte tells whether it is at least a slash, and whether it is above. No sum carries over.
    let low = bytes & !HIGH;
    let from_slash = (low + (0x80 - SLASH) * ONES) | bytes;
    let above_slash = (low + (0x80 - SLASH - 1) * ONES) | bytes;
    let is_below = (!from_slash & HIGH) >> 7;
    let is_slash = ((from_slash & !above_slash) & HIGH) >> 7;
    (bytes + is_below) & !(is_slash * 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(names: &[String]) {
        for order in [NameOrder::Bytes, NameOrder::Scopes] {
            let mut nodes: Vec<_> = (0..names.len() as u32).map(NodeId).collect();
            sort(&mut nodes, order, |node| &names[node.index()]);
            let sorted: Vec<_> = nodes.iter().map(|node| names[node.index()].as_bytes()).collect();
            let mut expect: Vec<_> = names.iter().map(String::as_bytes).collect();
            expect.sort_by(|a, b| order.compare(a, b));
            assert_eq!(sorted, expect, "{order:?}");
        }
    }

    #[test]
    fn a_slash_at_the_end_comes_after_no_slash() {
        // At the edge of eight bytes, among few and among many, with longer names beside them.
        for more in [0, 20] {
            for stem in ["abcdefg", "abcdefgh", "abcdef", "abcdefghijklmno"] {
                let mut names: Vec<String> =
                    ["//", "/", "", "/x", "//x", "/x/", "-"].map(|end| format!("{stem}{end}")).to_vec();
                names.extend((0..more).map(|i| format!("{stem}/{i}")));
                check(&names);
            }
        }
    }

    #[test]
    fn all_bytes_are_in_their_place() {
        for byte in 0..=0xff_u8 {
            let expect = match byte {
                b'/' => 0,
                0..b'/' => byte + 1,
                _ => byte,
            };
            let (given, made) = (u64::from_be_bytes([byte; 8]), u64::from_be_bytes([expect; 8]));
            assert_eq!(slash_first(given), made);
            assert_eq!(slash_first(given & 0xff00), (made & 0xff00) | 0x0101_0101_0101_0001);
        }
    }

    #[test]
    fn ends_and_zeros() {
        let ends =
            ["", "\0", "\0\0", "/", "//", "/\0", "aaaaaaaa", "aaaaaaaa\0", "aaaaaaaa/", "aaaaaaaa/\0", "aaaaaaaa."];
        check(&ends.map(str::to_owned));
        let longer: Vec<_> = ends.iter().flat_map(|a| ends.map(|b| format!("{a}{b}"))).collect();
        check(&longer);
    }

    proptest! {
        #[test]
        fn common_beginnings(a in "[ab]{0,20}", b in "[ab]{0,20}", start in "[ab]{0,20}") {
            let (a, b) = (format!("{start}{a}"), format!("{start}{b}"));
            let expect = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(common_length(a.as_bytes(), b.as_bytes()), expect);
        }

        #[test]
        fn names_of_scopes(names in prop::collection::vec("[ab./\\-\0é]{0,4}(abcdefgh/){0,3}[a/.]{0,3}", 0..200)) {
            check(&names);
        }
    }
}
