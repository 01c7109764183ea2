//! Deterministic damage: truncation, flipped bits, wrong lengths, duplicate and missing fields.

use tfprof_proto::wire::{Fields, Value};
use tfprof_proto::write;

const CUTS: usize = 64;
const FLIPS: usize = 200;
const FIELDS: usize = 40;

/// A damaged form of a file, and what was done to it.
pub fn mutations(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let cuts = (0..CUTS).map(move |i| {
        let at = bytes.len() * i / CUTS;
        (format!("cut at {at}"), bytes[..at].to_vec())
    });
    let mut random = Random(bytes.len() as u64 + 1);
    let flips = (0..FLIPS).filter(|_| !bytes.is_empty()).map(move |_| {
        let (at, bit) = (random.below(bytes.len()), random.below(8));
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 1 << bit;
        (format!("bit {bit} of byte {at} flipped"), damaged)
    });
    let spans = if bytes.is_ascii() { lines(bytes) } else { fields(bytes) };
    let mut random = Random(bytes.len() as u64 + 2);
    let spans: Vec<Span> = (0..FIELDS.min(spans.len())).map(|_| spans[random.below(spans.len())]).collect();
    let twice = spans.clone().into_iter().map(move |span| {
        let part = &bytes[span.start..span.end];
        (format!("{}..{} twice", span.start, span.end), [&bytes[..span.end], part, &bytes[span.end..]].concat())
    });
    let dropped = spans.clone().into_iter().map(move |span| {
        (format!("{}..{} left out", span.start, span.end), [&bytes[..span.start], &bytes[span.end..]].concat())
    });
    let lies =
        spans.into_iter().filter(|span| span.content > 0).zip([u64::MAX >> 1, 1 << 40, 1 << 31].into_iter().cycle());
    let lies = lies.map(move |(span, length)| {
        let mut damaged = bytes[..=span.start].to_vec();
        write::varint(&mut damaged, length);
        damaged.extend_from_slice(&bytes[span.content..]);
        (format!("the length at {} is {length}", span.start + 1), damaged)
    });
    cuts.chain(flips).chain(twice).chain(dropped).chain(lies)
}

/// A field with its tag, or a line.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    /// Where the content of a field with a length begins; 0 if it has none, or a tag of more than one byte.
    content: usize,
    end: usize,
}

/// Fields of a message and of messages within it, some levels deep.
fn fields(bytes: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut open = vec![(0, bytes.len(), 0)];
    while let Some((start, end, depth)) = open.pop() {
        let mut fields = Fields::new(&bytes[start..end], start as u64);
        while let Ok(Some(field)) = fields.next_field() {
            let (start, end) = (field.offset as usize, fields.offset() as usize);
            let mut content = 0;
            if let Value::Bytes(value) = field.value {
                if field.number < 16 {
                    content = end - value.len();
                }
                if depth < 4 && open.len() < 10_000 {
                    open.push((end - value.len(), end, depth + 1));
                }
            }
            spans.push(Span { start, content, end });
        }
    }
    spans
}

fn lines(bytes: &[u8]) -> Vec<Span> {
    let mut start = 0;
    let mut spans = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        spans.push(Span { start, content: 0, end: start + line.len() });
        start += line.len();
    }
    spans
}

/// Numbers that look random and are the same each time (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}
