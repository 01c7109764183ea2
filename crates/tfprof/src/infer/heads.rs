//! The sizes of attention by heads, from the shapes of its inputs: queries, keys, values, and the keys of earlier calls. Queries
//! alone hold keys and values, too. Open sizes are -1.

use super::fact::ANY;
use super::flops::Dims;

/// The sizes of one op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    pub batch: i64,
    pub heads: i64,
    /// Heads of keys and values, which several heads of queries may share.
    pub shared: i64,
    pub queries: i64,
    /// With those of earlier calls.
    pub keys: i64,
    pub depth: i64,
    pub value_depth: i64,
    /// Whether heads have a dimension of their own.
    pub apart: bool,
}

impl Attention {
    /// `None` if the shapes fit no layout. A missing input is `Some(&[])`.
    pub fn of(shapes: [Option<Dims<'_>>; 4], heads: i64, shared: i64) -> Option<Attention> {
        let [queries, keys, values, past] = shapes;
        let (keys, values, past) = (keys?, values?, past?);
        let heads = heads.max(1);
        let shared = if shared > 0 { shared } else { heads };
        let part = |size: i64, count: i64| if size < 0 || count <= 0 { ANY } else { size / count };
        let packed = |batch: i64, length: i64, heads: i64, depth: i64, apart: bool| Attention {
            batch,
            heads,
            shared,
            queries: length,
            keys: length,
            depth,
            value_depth: depth,
            apart,
        };
        let mut found = match *queries? {
            [batch, heads, length, depth] => Attention {
                shared: if keys.len() == 4 { keys[1] } else { shared },
                ..packed(batch, length, heads, depth, true)
            },
            [batch, length, size] if keys.is_empty() => {
                let all = shared.saturating_mul(2).saturating_add(heads);
                packed(batch, length, heads, part(size, all), false)
            }
            [batch, length, size] => packed(batch, length, heads, part(size, heads), false),
            [batch, length, heads, _, depth] => packed(batch, length, heads, depth, false),
            _ => return None,
        };
        found.keys = match *keys {
            [] => found.keys,
            [_, length, _] | [_, length, _, _, _] | [_, _, length, _] => length,
            _ => return None,
        };
        found.value_depth = match *values {
            [] => found.value_depth,
            [_, _, size] => part(size, found.shared),
            [_, _, _, depth] => depth,
            _ => return None,
        };
        if let [_, _, length, _] = *past {
            found.keys = if found.keys < 0 || length < 0 { ANY } else { found.keys.saturating_add(length) };
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_all_layouts() {
        let check = |shapes: [&[i64]; 4], heads: i64, shared: i64, expect: [i64; 5]| {
            let found = Attention::of(shapes.map(Some), heads, shared).expect("a layout");
            assert_eq!([found.heads, found.queries, found.keys, found.depth, found.value_depth], expect);
        };
        check([&[2, 3, 4, 8], &[2, 3, 6, 8], &[2, 3, 6, 10], &[]], 0, 0, [3, 4, 6, 8, 10]);
        check([&[2, 4, 24], &[2, 6, 24], &[2, 6, 30], &[]], 3, 3, [3, 4, 6, 8, 10]);
        // Two heads share keys and values, and there are five keys from before.
        check([&[1, 4, 32], &[1, 4, 16], &[1, 4, 16], &[1, 2, 5, 8]], 4, 2, [4, 4, 9, 8, 8]);
        check([&[1, 4, 64], &[], &[], &[]], 4, 2, [4, 4, 4, 8, 8]);
        check([&[1, 4, 2, 3, 8], &[], &[], &[]], 2, 0, [2, 4, 4, 8, 8]);
        check([&[1, 4, 16], &[1, 7, 2, 2, 8], &[], &[]], 2, 0, [2, 4, 7, 8, 8]);
        assert_eq!(Attention::of([Some(&[1]), Some(&[]), Some(&[]), Some(&[])], 1, 1), None);
    }
}
