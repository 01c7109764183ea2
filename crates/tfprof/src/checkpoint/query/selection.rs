//! Selects a tensor, or a part of one, by `NAME` or `NAME[0:2,:]`.

use crate::checkpoint::{Checkpoint, Values};
use crate::error::Error;
use crate::words;
use std::ops::Range;

/// The selected values, with the key of their tensor.
#[derive(Debug)]
pub struct SelectedValues {
    pub name: String,
    pub values: Values,
}

/// Reads the values that `question` selects.
pub fn select_values(checkpoint: &Checkpoint, question: &str) -> Result<SelectedValues, Error> {
    if let Some(tensor) = checkpoint.find(question) {
        let whole: Vec<_> = tensor.shape.iter().map(|dim| 0..u64::try_from(*dim).unwrap_or(0)).collect();
        return Ok(SelectedValues { name: tensor.name.clone(), values: checkpoint.part_in_pieces(tensor, &whole)? });
    }
    let (name, part) = question.strip_suffix(']').and_then(|text| text.rsplit_once('[')).unwrap_or((question, ""));
    let Some(tensor) = checkpoint.find(name) else {
        let known = checkpoint.tensors.iter().flat_map(|tensor| [tensor.name.as_str(), tensor.label()]);
        let near = words::nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(Error::option("values", format!("there is no tensor `{name}` in {}{near}", checkpoint.name)));
    };
    let part = Part::parse(part, &tensor.shape)
        .map_err(|why| Error::option("values", format!("{why}; `{}` has the shape {:?}", tensor.name, tensor.shape)))?;
    let mut values = checkpoint.part_in_pieces(tensor, &part.ranges)?;
    values.shape = part.shape;
    Ok(SelectedValues { name: tensor.name.clone(), values })
}

/// A part of a tensor in Python's notation.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    ranges: Vec<Range<u64>>,
    /// A single index removes its dimension.
    shape: Vec<i64>,
}

impl Part {
    /// Parses `0:2,:,-1`.
    fn parse(text: &str, shape: &[i64]) -> Result<Part, String> {
        let mut items: Vec<&str> =
            if text.trim().is_empty() { Vec::new() } else { text.split(',').map(str::trim).collect() };
        if items.len() > shape.len() {
            return Err(format!("`[{text}]` has {} dimensions", items.len()));
        }
        items.resize(shape.len(), ":");
        let mut part = Part { ranges: Vec::new(), shape: Vec::new() };
        for (item, dim) in items.into_iter().zip(shape) {
            let number =
                |text: &str| text.trim().parse::<i64>().map_err(|_| format!("expected a number, found `{text}`"));
            // As in Python: negative bounds count from the end, and bounds past the end are clamped.
            let bound = |n: i64| if n < 0 { n.saturating_add(*dim).max(0) } else { n.min(*dim) };
            if let Some((from, to)) = item.split_once(':') {
                let from = if from.trim().is_empty() { 0 } else { bound(number(from)?) };
                let to = if to.trim().is_empty() { *dim } else { bound(number(to)?) };
                let to = to.max(from);
                part.ranges.push(from as u64..to as u64);
                part.shape.push(to - from);
            } else {
                let n = number(item)?;
                let at = if n < 0 { n.saturating_add(*dim) } else { n };
                if at < 0 || at >= *dim {
                    return Err(format!("{n} is outside of a dimension of {dim}"));
                }
                part.ranges.push(at as u64..at as u64 + 1);
            }
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_as_in_python() {
        let check = |text, ranges: &[Range<u64>], shape: &[i64]| {
            assert_eq!(
                Part::parse(text, &[4, 3]),
                Ok(Part { ranges: ranges.to_vec(), shape: shape.to_vec() }),
                "{text}"
            );
        };
        check("0:2,:", &[0..2, 0..3], &[2, 3]);
        check("-1", &[3..4, 0..3], &[3]);
        check("1,2", &[1..2, 2..3], &[]);
        check("2:99, -2:", &[2..4, 1..3], &[2, 2]);
        check("3:1", &[3..3, 0..3], &[0, 3]);
        check("", &[0..4, 0..3], &[4, 3]);
        for wrong in ["4", "x", "0,0,0"] {
            assert!(Part::parse(wrong, &[4, 3]).is_err(), "{wrong}");
        }
    }
}
