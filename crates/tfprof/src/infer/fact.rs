//! [`Fact`]: static knowledge about a tensor: its type, its shape, small integer values, and the contents of handles.

use super::floats;
use crate::model::dtype::DType;
pub use crate::model::shape::{ANY, Shape, product};
use std::sync::Arc;

/// An unknown element of a value.
pub const UNKNOWN: i64 = i64::MIN;

/// Longer values are not tracked. Shapes have few elements.
pub const LONGEST_VALUE: usize = 512;

/// Everything that is known about a tensor. By default, nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact {
    pub dtype: DType,
    pub shape: Shape,
    pub value: Option<Integers>,
    /// The contents, for handles of variables, lists and arrays of tensors.
    pub held: Option<Arc<Held>>,
}

/// The contents of a resource handle or of a list of tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub dtype: DType,
    /// The variable's shape, or that of each element of a list.
    pub shape: Shape,
    /// The length of a list; [`ANY`] if it is unknown or not a list.
    pub length: i64,
}

/// The elements of a small integer or boolean tensor in row-major order, each known or [`UNKNOWN`].
///
/// The fact's shape is then fully known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integers(Arc<[i64]>);

impl Fact {
    pub fn new(dtype: DType, shape: Shape) -> Fact {
        Fact { dtype, shape, ..Fact::default() }
    }

    /// A tensor with known elements. They are dropped if there are too many or if they do not fit the shape.
    pub fn with_value(dtype: DType, shape: Shape, value: Option<Vec<i64>>) -> Fact {
        let fits = |value: &Vec<i64>| value.len() <= LONGEST_VALUE && shape.elements() == Some(value.len() as i64);
        let value = value.filter(fits).map(|value| Integers(value.into()));
        Fact { dtype, shape, value, held: None }
    }

    /// The handle of a variable.
    pub fn handle(dtype: DType, shape: Shape) -> Fact {
        let held = Some(Arc::new(Held { dtype, shape, length: ANY }));
        Fact { dtype: DType::RESOURCE, shape: Shape::scalar(), value: None, held }
    }

    /// The elements, if they are tracked: integers, or [`floats`].
    pub fn elements(&self) -> Option<&[i64]> {
        self.value.as_ref().map(|value| &*value.0)
    }

    /// The elements of a tensor of integers, if they are tracked.
    pub fn integers(&self) -> Option<&[i64]> {
        self.elements().filter(|_| !floats::is_float(self.dtype))
    }

    /// The elements if all of them are known.
    pub fn known_integers(&self) -> Option<&[i64]> {
        self.integers().filter(|value| !value.contains(&UNKNOWN))
    }

    /// The element of a tensor that has exactly one.
    pub fn integer(&self) -> Option<i64> {
        match self.known_integers()? {
            [integer] => Some(*integer),
            _ => None,
        }
    }

    /// The size of the tensor in bytes, if its shape and type are known.
    pub fn bytes(&self) -> Option<i64> {
        Some(self.shape.elements()?.saturating_mul(self.dtype.size()? as i64))
    }

    /// The memory it takes, as a number of sizes and elements.
    pub fn weight(&self) -> usize {
        let held = self.held.as_ref().and_then(|held| held.shape.rank()).unwrap_or(0);
        self.shape.rank().unwrap_or(0) + held + self.value.as_ref().map_or(0, Integers::len)
    }

    /// The fact that holds for either tensor.
    #[must_use]
    pub fn either(&self, other: &Fact) -> Fact {
        let dtype = if self.dtype == other.dtype { self.dtype } else { DType::UNKNOWN };
        let shape = self.shape.either(&other.shape);
        let value = if shape.is_known() { either_value(self.value.as_ref(), other.value.as_ref()) } else { None };
        let held = match (&self.held, &other.held) {
            (Some(a), Some(b)) if a == b => Some(a.clone()),
            (Some(a), Some(b)) if a.dtype == b.dtype => {
                let length = if a.length == b.length { a.length } else { ANY };
                Some(Arc::new(Held { dtype: a.dtype, shape: a.shape.either(&b.shape), length }))
            }
            _ => None,
        };
        Fact { dtype, shape, value, held }
    }
}

fn either_value(a: Option<&Integers>, b: Option<&Integers>) -> Option<Integers> {
    let (Integers(a), Integers(b)) = (a?, b?);
    if a == b {
        return Some(Integers(a.clone()));
    }
    if a.len() != b.len() {
        return None;
    }
    Some(Integers(a.iter().zip(&**b).map(|(a, b)| if a == b { *a } else { UNKNOWN }).collect()))
}

impl Integers {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_do_not_fit_their_shape_are_dropped() {
        let fact = |dims: &[i64], value| Fact::with_value(DType::INT32, Shape::of(dims), value);
        assert_eq!(fact(&[2], Some(vec![1, 2])).known_integers(), Some(&[1, 2][..]));
        assert_eq!(fact(&[3], Some(vec![1, 2])).value, None);
        assert_eq!(fact(&[-1], Some(vec![1, 2])).value, None);
        assert_eq!(fact(&[], Some(vec![7])).integer(), Some(7));
        let either = fact(&[2], Some(vec![1, 2])).either(&fact(&[2], Some(vec![1, 3])));
        assert_eq!((either.integers(), either.known_integers()), (Some(&[1, UNKNOWN][..]), None));
    }
}
