//! The shapes of inputs: `Input Dims`, `Input type` and `Concrete Inputs`, each combination parsed once.

use super::event::Args;
use super::scan::{Stop, integer, items, scalar, string, unescape, value};
use crate::events::InputShapes;
use crate::hash::UntrustedMap;
use memchr::memmem;

#[derive(Debug, Default)]
pub struct ShapeTable {
    pub list: Vec<InputShapes>,
    number_of: UntrustedMap<Vec<u8>, u32>,
    key: Vec<u8>,
}

/// Ops whose cost depends on values, too: strides, groups, flags.
const BY_VALUE: [&[u8]; 8] = [b"conv", b"pool", b"attention", b"embedding", b"lstm", b"gru", b"batch_norm", b"_rnn"];

impl ShapeTable {
    /// The number of the inputs of an op.
    pub fn number(&mut self, op: &[u8], args: &Args<'_>) -> u32 {
        let by_value = BY_VALUE.iter().any(|word| memmem::find(op, word).is_some());
        let values = if by_value { args.concrete } else { b"" };
        self.key.clear();
        for part in [args.dims, b"\0", args.types, b"\0", values] {
            self.key.extend_from_slice(part);
        }
        if let Some(known) = self.number_of.get(&self.key) {
            return *known;
        }
        let number = self.list.len() as u32;
        let shapes = InputShapes { dims: dims(args.dims), types: texts(args.types), values: texts(values) };
        self.list.push(shapes);
        self.number_of.insert(self.key.clone(), number);
        number
    }
}

/// `[[4, 3], [], 5]`: a list of tensors is nested once more, and its sizes are not kept apart.
fn dims(text: &[u8]) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    if !text.starts_with(b"[") {
        return all;
    }
    // Anything but a list of numbers is an input of unknown sizes.
    let _ = items(text, 0, |at| {
        let mut sizes = Vec::new();
        let end = if text[at] == b'[' {
            items(text, at, |at| {
                let end = value(text, at)?;
                sizes.push(integer(&text[at..end]).unwrap_or(-1));
                Ok(end)
            })?
        } else {
            value(text, at)?
        };
        all.push(sizes);
        Ok(end)
    });
    all
}

fn texts(text: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    if text.starts_with(b"[") {
        let _ = items(text, 0, |at| {
            let (content, end) = match text[at] {
                b'"' => string(text, at)?,
                b'[' | b'{' => (&b""[..], value(text, at)?),
                _ => {
                    let end = scalar(text, at)?;
                    (text.get(at..end).ok_or(Stop::End)?, end)
                }
            };
            all.push(unescape(content));
            Ok(end)
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_by_input() {
        assert_eq!(dims(b"[[4, 3], [], [ 5 ]]"), [vec![4, 3], vec![], vec![5]]);
        assert_eq!(dims(b"[[[2, 3], [4]], 7]"), [vec![-1, -1], vec![]]);
        assert_eq!(dims(b"[[4, 3"), Vec::<Vec<i64>>::new());
        assert_eq!(dims(b""), Vec::<Vec<i64>>::new());
        assert_eq!(texts(b"[\"\", \"[1, 1]\", 3]"), ["", "[1, 1]", "3"]);
    }
}
