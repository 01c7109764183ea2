//! The layout of tensors: the pieces they are stored in, slices within a shape, and runs of adjacent elements.

use crate::model::dtype::DType;
use std::ops::Range;
use tfprof_proto::fields::{tensor_shape, tensor_slice};
use tfprof_proto::wire::{Fields, Value, WireError};

/// A stored piece of a tensor, or all of it.
#[derive(Clone, Debug)]
pub struct Piece {
    pub shard: u32,
    pub location: PieceLocation,
    /// The part of the tensor; empty for all of it.
    pub slice: Vec<Extent>,
}

#[derive(Clone, Debug)]
pub enum PieceLocation {
    DataFile(FileRange),
    TableKey(Vec<u8>),
    /// A dataset of an HDF5 file, by its number, whose bytes do not lie in the file as they are.
    Dataset(u32),
}

/// Bytes of a data file, with their masked checksum if there is one.
#[derive(Clone, Copy, Debug)]
pub struct FileRange {
    pub offset: u64,
    pub size: u64,
    pub checksum: Option<u32>,
    pub big_endian: bool,
}

/// The bounds of a slice along one dimension; all of the dimension if there is no length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub start: i64,
    pub length: Option<i64>,
}

/// The number of elements of a shape; `None` if a dimension is negative or the product overflows.
pub fn elements(shape: &[i64]) -> Option<u64> {
    if shape.contains(&0) && shape.iter().all(|dim| *dim >= 0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |product, dim| product.checked_mul(u64::try_from(*dim).ok()?))
}

/// The bytes of a tensor of that shape; `None` for strings and other types without a fixed size.
pub fn byte_size(dtype: DType, shape: &[i64]) -> Option<u64> {
    elements(shape)?.checked_mul(dtype.size()? as u64)
}

/// The ranges of a slice; `None` if it does not lie within the shape.
pub fn ranges(shape: &[i64], slice: &[Extent]) -> Option<Vec<Range<u64>>> {
    let whole = |dim: &i64| u64::try_from(*dim).ok().map(|dim| 0..dim);
    if slice.is_empty() {
        return shape.iter().map(whole).collect();
    }
    if slice.len() != shape.len() {
        return None;
    }
    let range = |(dim, extent): (&i64, &Extent)| {
        let start = u64::try_from(extent.start).ok()?;
        let end = match extent.length {
            None => u64::try_from(*dim).ok()?,
            Some(length) => start.checked_add(u64::try_from(length).ok()?)?,
        };
        (start <= end && end <= u64::try_from(*dim).ok()?).then_some(start..end)
    };
    shape.iter().zip(slice).map(range).collect()
}

/// Calls `each` with the first element and the length of every contiguous run of the box `part`, in order.
pub fn each_run<E>(
    shape: &[i64],
    part: &[Range<u64>],
    mut each: impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<(), E> {
    if part.iter().any(Range::is_empty) {
        return Ok(());
    }
    // From the last dimension inwards: a run spans every trailing dimension that is wanted whole.
    let (mut outer, mut run, mut stride) = (part.len(), 1, 1);
    while outer > 0 {
        outer -= 1;
        let dim = shape[outer] as u64;
        run = stride * (part[outer].end - part[outer].start);
        stride *= dim;
        if part[outer] != (0..dim) {
            break;
        }
    }
    let mut strides = vec![0; outer + 1];
    strides[outer] = stride / shape.get(outer).map_or(1, |dim| *dim as u64).max(1);
    for i in (0..outer).rev() {
        strides[i] = strides[i + 1] * shape[i + 1] as u64;
    }
    let first = part.get(outer).map_or(0, |range| range.start * strides[outer]);
    let mut index: Vec<u64> = part[..outer].iter().map(|range| range.start).collect();
    loop {
        let start: u64 = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
        each(start + first, run)?;
        let Some(dim) = (0..outer).rev().find(|dim| index[*dim] + 1 < part[*dim].end) else { return Ok(()) };
        index[dim] += 1;
        for later in dim + 1..outer {
            index[later] = part[later].start;
        }
    }
}

/// Reads a `TensorShapeProto`; `None` if its rank is unknown.
pub fn read_shape(mut fields: Fields<'_>) -> Result<Option<Vec<i64>>, WireError> {
    let mut shape = Vec::new();
    let mut is_known = true;
    while let Some(field) = fields.next_field()? {
        match (field.number, field.value) {
            (tensor_shape::DIM, Value::Bytes(dim)) => {
                let mut size = 0;
                let mut dim = fields.nested(dim);
                while let Some(field) = dim.next_field()? {
                    if let (tensor_shape::dim::SIZE, Value::Varint(n)) = (field.number, field.value) {
                        size = n as i64;
                    }
                }
                shape.push(size);
            }
            (tensor_shape::UNKNOWN_RANK, Value::Varint(n)) => is_known = n == 0,
            _ => {}
        }
    }
    Ok(is_known.then_some(shape))
}

/// Reads a `TensorSliceProto`.
pub fn read_slice(mut fields: Fields<'_>) -> Result<Vec<Extent>, WireError> {
    let mut slice = Vec::new();
    while let Some(field) = fields.next_field()? {
        if let (tensor_slice::EXTENT, Value::Bytes(extent)) = (field.number, field.value) {
            let mut found = Extent { start: 0, length: None };
            let mut extent = fields.nested(extent);
            while let Some(field) = extent.next_field()? {
                match (field.number, field.value) {
                    (tensor_slice::extent::START, Value::Varint(n)) => found.start = n as i64,
                    (tensor_slice::extent::LENGTH, Value::Varint(n)) => found.length = Some(n as i64),
                    _ => {}
                }
            }
            slice.push(found);
        }
    }
    Ok(slice)
}

/// A slice in Python's notation.
pub fn slice_text(slice: &[Extent]) -> String {
    let range = |extent: &Extent| match extent.length {
        None => ":".to_owned(),
        Some(length) => format!("{}:{}", extent.start, extent.start.saturating_add(length)),
    };
    format!("[{}]", slice.iter().map(range).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(shape: &[i64], part: &[Range<u64>]) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        let Ok(()) = each_run::<std::convert::Infallible>(shape, part, |start, count| {
            runs.push((start, count));
            Ok(())
        });
        runs
    }

    #[test]
    fn contiguous_runs() {
        assert_eq!(runs(&[], &[]), [(0, 1)]);
        assert_eq!(runs(&[4, 3], &[0..4, 0..3]), [(0, 12)]);
        assert_eq!(runs(&[4, 3], &[1..3, 0..3]), [(3, 6)]);
        assert_eq!(runs(&[4, 3], &[1..3, 1..2]), [(4, 1), (7, 1)]);
        assert_eq!(runs(&[2, 0, 3], &[0..2, 0..0, 0..3]), []);
    }

    #[test]
    fn slices_lie_within_their_tensor() {
        let extent = |start, length| Extent { start, length };
        assert_eq!(ranges(&[4, 3], &[extent(2, Some(2)), extent(0, None)]), Some(vec![2..4, 0..3]));
        assert_eq!(ranges(&[4, 3], &[extent(2, Some(3)), extent(0, None)]), None);
        assert_eq!(ranges(&[4], &[extent(-1, None)]), None);
        assert_eq!(ranges(&[4], &[extent(i64::MAX, Some(i64::MAX))]), None);
        assert_eq!(ranges(&[-1], &[]), None);
    }

    proptest! {
        #[test]
        fn runs_visit_the_elements_of_the_box(
            dims in proptest::collection::vec((1_i64..5, 0_u64..5, 0_u64..5), 0..5),
        ) {
            let shape: Vec<i64> = dims.iter().map(|(dim, ..)| *dim).collect();
            let part: Vec<Range<u64>> =
                dims.iter().map(|(dim, a, b)| (*a).min(*b).min(*dim as u64)..(*a).max(*b).min(*dim as u64)).collect();
            let visited: Vec<u64> = runs(&shape, &part).into_iter().flat_map(|(start, n)| start..start + n).collect();
            let total = elements(&shape).unwrap();
            let expect: Vec<u64> = (0..total)
                .filter(|element| {
                    let mut rest = *element;
                    shape.iter().zip(&part).rev().all(|(dim, range)| {
                        let i = rest % *dim as u64;
                        rest /= *dim as u64;
                        range.contains(&i)
                    })
                })
                .collect();
            prop_assert_eq!(visited, expect);
        }
    }
}
