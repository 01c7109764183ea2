//! [`Fact`]: static knowledge about a tensor: its type, its shape, small integer values, and the contents of handles.

use super::floats;
use crate::model::dtype::DType;
pub use crate::model::shape::{ANY, Shape, product};
use std::sync::Arc;

/// An unknown element of a value.
pub const UNKNOWN: i64 = i64::MIN;

/// Longer values are not tracked. Shapes have few elements.
pub const LONGEST_VALUE: usize = 512;

/// The sizes of the batch at which facts are found besides the one that the user states: three points tell whether a
/// cost is linear.
pub const BATCHES: [i64; 3] = [1, 2, 3];

/// Everything that is known about a tensor. By default, nothing.
///
/// A fact that depends on the size of the batch is symbolic: it has a variant for each of [`BATCHES`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fact {
    pub dtype: DType,
    pub shape: Shape,
    pub value: Option<Integers>,
    /// The contents, for handles of variables, lists and arrays of tensors.
    pub held: Option<Arc<Held>>,
    /// The shape is not fully known since it depends on data, not since inference lost it.
    pub shape_is_data: bool,
    /// The elements depend on data: on inputs of the program, variables or random numbers.
    pub value_is_data: bool,
    /// The variants of a symbolic fact.
    pub(super) by_batch: Option<Arc<[Fact; BATCHES.len()]>>,
}

/// The contents of a resource handle or of a list of tensors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    pub dtype: DType,
    /// The variable's shape, or the one that a list declares for its elements.
    pub shape: Shape,
    /// The shape common to all tensors that were put into a list or an array; `None` as long as there are none.
    ///
    /// The declared shape often leaves sizes open that all elements have in common, and a loop starts with an empty list.
    pub items: Option<Shape>,
    /// The length of a list; [`ANY`] if it is unknown or not a list.
    pub length: i64,
}

/// The elements of a small integer or boolean tensor in row-major order, each known or [`UNKNOWN`].
///
/// The fact's shape is then fully known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Integers(Arc<[i64]>);

impl Fact {
    pub fn new(dtype: DType, shape: Shape) -> Fact {
        Fact { dtype, shape, ..Fact::default() }
    }

    /// A tensor with known elements. They are dropped if there are too many or if they do not fit the shape.
    pub fn with_value(dtype: DType, shape: Shape, value: Option<Vec<i64>>) -> Fact {
        let fits = |value: &Vec<i64>| value.len() <= LONGEST_VALUE && shape.elements() == Some(value.len() as i64);
        let value = value.filter(fits).map(|value| Integers(value.into()));
        Fact { dtype, shape, value, ..Fact::default() }
    }

    /// The handle of a variable.
    pub fn handle(dtype: DType, shape: Shape) -> Fact {
        let held = Some(Arc::new(Held { dtype, shape, items: None, length: ANY }));
        Fact { dtype: DType::RESOURCE, shape: Shape::scalar(), held, ..Fact::default() }
    }

    /// Nothing is known but the type.
    pub fn of_type(dtype: DType) -> Fact {
        Fact { dtype, ..Fact::default() }
    }

    pub const UNKNOWN: Fact = Fact {
        dtype: DType::UNKNOWN,
        shape: Shape::UNKNOWN,
        value: None,
        held: None,
        shape_is_data: false,
        value_is_data: false,
        by_batch: None,
    };

    pub fn is_symbolic(&self) -> bool {
        self.by_batch.is_some()
    }

    /// The fact at a size of the batch.
    pub fn at(&self, point: Point) -> &Fact {
        match (&self.by_batch, point) {
            (Some(variants), Point::Batch(index)) => &variants[index],
            _ => self,
        }
    }

    /// The same, without the variants.
    #[must_use]
    pub fn plain(&self, point: Point) -> Fact {
        Fact { by_batch: None, ..self.at(point).clone() }
    }

    /// The fact that holds at each size of the batch what `find` says.
    pub fn at_each(find: impl Fn(Point) -> Fact) -> Fact {
        let asked = find(Point::Asked);
        let variants = std::array::from_fn(|index| find(Point::Batch(index)));
        if variants.iter().all(|variant| *variant == asked) {
            asked
        } else {
            Fact { by_batch: Some(Arc::new(variants)), ..asked }
        }
    }

    /// Changes the fact at each size of the batch.
    #[must_use]
    pub fn map(&self, change: impl Fn(Fact) -> Fact) -> Fact {
        if self.is_symbolic() { Fact::at_each(|point| change(self.plain(point))) } else { change(self.clone()) }
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
        let held = self.held.as_ref().and_then(|held| held.element().rank()).unwrap_or(0);
        let own = self.shape.rank().unwrap_or(0) + held + self.value.as_ref().map_or(0, Integers::len);
        if self.is_symbolic() { own * (1 + BATCHES.len()) } else { own }
    }

    /// The fact that holds for either tensor.
    #[must_use]
    pub fn either(&self, other: &Fact) -> Fact {
        if self.is_symbolic() || other.is_symbolic() {
            return Fact::at_each(|point| self.plain(point).either(&other.plain(point)));
        }
        let dtype = if self.dtype == other.dtype { self.dtype } else { DType::UNKNOWN };
        let shape = self.shape.either(&other.shape);
        let value = if shape.is_known() { either_value(self.value.as_ref(), other.value.as_ref()) } else { None };
        let held = match (&self.held, &other.held) {
            (Some(a), Some(b)) if a == b => Some(a.clone()),
            (Some(a), Some(b)) if a.dtype == b.dtype => {
                let length = if a.length == b.length { a.length } else { ANY };
                Some(Arc::new(Held {
                    dtype: a.dtype,
                    shape: a.shape.either(&b.shape),
                    items: a.with_items(b.items.as_ref()),
                    length,
                }))
            }
            _ => None,
        };
        let shape_is_data = self.shape_is_data || other.shape_is_data;
        let value_is_data = self.value_is_data || other.value_is_data;
        Fact { dtype, shape, value, held, shape_is_data, value_is_data, by_batch: None }
    }
}

/// A size of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The one that the user states.
    Asked,
    /// One of [`BATCHES`], by its index.
    Batch(usize),
}

impl Point {
    pub const ALL: [Point; 1 + BATCHES.len()] = [Point::Asked, Point::Batch(0), Point::Batch(1), Point::Batch(2)];
}

impl Held {
    /// The shape of an element.
    pub fn element(&self) -> Shape {
        self.items.as_ref().map_or_else(|| self.shape.clone(), |items| self.shape.and(items))
    }

    /// The shape common to all items after more were put in.
    pub fn with_items(&self, more: Option<&Shape>) -> Option<Shape> {
        match (&self.items, more) {
            (Some(own), Some(more)) => Some(own.either(more)),
            (own, more) => own.as_ref().or(more).cloned(),
        }
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
