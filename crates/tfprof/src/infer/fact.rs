//! What is known of a tensor before anything runs: its type, its shape, small integer values, and what a handle holds.

use crate::model::dtype::DType;
use std::fmt;
use std::sync::Arc;

/// A size that is not known.
pub const ANY: i64 = -1;

/// An element of a value that is not known.
pub const UNKNOWN: i64 = i64::MIN;

/// The most elements of a value that are followed. Shapes have few.
pub const LONGEST_VALUE: usize = 512;

/// Tensors of more dimensions than TensorFlow allows are of unknown rank.
const HIGHEST_RANK: usize = 254;

/// Everything that is known of a tensor. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact {
    pub dtype: DType,
    pub shape: Shape,
    pub value: Option<Integers>,
    /// For handles of variables, lists and arrays of tensors: what they hold.
    pub held: Option<Arc<Held>>,
}

/// What a resource handle or a list of tensors holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub dtype: DType,
    /// The variable's shape, or that of each element of a list.
    pub shape: Shape,
    /// How many elements a list has; [`ANY`] if that is not known or if it is no list.
    pub length: i64,
}

/// Dimensions, each known or [`ANY`]; or an unknown rank.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Shape(Option<Arc<[i64]>>);

/// The elements of a small integer or boolean tensor, in the order of rows, each known or [`UNKNOWN`].
///
/// The shape is that of the fact and fully known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integers(Arc<[i64]>);

impl Fact {
    pub fn new(dtype: DType, shape: Shape) -> Fact {
        Fact { dtype, shape, ..Fact::default() }
    }

    /// A tensor with known elements. Those of long tensors are not followed, and those that do not fit are dropped.
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

    /// The elements, where they are followed at all.
    pub fn integers(&self) -> Option<&[i64]> {
        self.value.as_ref().map(|value| &*value.0)
    }

    /// The elements if all of them are known.
    pub fn known_integers(&self) -> Option<&[i64]> {
        self.integers().filter(|value| !value.contains(&UNKNOWN))
    }

    /// The only element.
    pub fn integer(&self) -> Option<i64> {
        match self.known_integers()? {
            [integer] => Some(*integer),
            _ => None,
        }
    }

    /// The bytes of the tensor, if its shape and its type are known.
    pub fn bytes(&self) -> Option<i64> {
        Some(self.shape.elements()?.saturating_mul(self.dtype.size()? as i64))
    }

    /// How many sizes and elements it holds.
    pub fn weight(&self) -> usize {
        let held = self.held.as_ref().and_then(|held| held.shape.rank()).unwrap_or(0);
        self.shape.rank().unwrap_or(0) + held + self.value.as_ref().map_or(0, Integers::len)
    }

    /// What holds whichever of the two the tensor is.
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

impl Shape {
    /// Nothing is known, not even the rank.
    pub const UNKNOWN: Shape = Shape(None);

    /// Any negative size is unknown.
    pub fn of(dims: &[i64]) -> Shape {
        if dims.len() > HIGHEST_RANK {
            return Shape::UNKNOWN;
        }
        Shape(Some(dims.iter().map(|dim| (*dim).max(ANY)).collect()))
    }

    pub fn scalar() -> Shape {
        Shape::of(&[])
    }

    /// That many dimensions of which nothing is known.
    pub fn of_rank(rank: usize) -> Shape {
        if rank > HIGHEST_RANK { Shape::UNKNOWN } else { Shape(Some(vec![ANY; rank].into())) }
    }

    /// The dimensions, if their number is known.
    pub fn dims(&self) -> Option<&[i64]> {
        self.0.as_deref()
    }

    pub fn rank(&self) -> Option<usize> {
        self.dims().map(<[i64]>::len)
    }

    /// All dimensions, if all of them are known.
    pub fn known(&self) -> Option<&[i64]> {
        self.dims().filter(|dims| dims.iter().all(|dim| *dim >= 0))
    }

    pub fn is_known(&self) -> bool {
        self.known().is_some()
    }

    /// How many elements there are; stays at the limit.
    pub fn elements(&self) -> Option<i64> {
        self.known().map(product)
    }

    /// A dimension; negative places count from the end. [`ANY`] if it is not known or not there.
    pub fn dim(&self, place: i64) -> i64 {
        let Some(dims) = self.dims() else { return ANY };
        let place = if place < 0 { place.saturating_add(dims.len() as i64) } else { place };
        usize::try_from(place).ok().and_then(|place| dims.get(place)).copied().unwrap_or(ANY)
    }

    /// Two true statements about one shape as one; where they contradict each other, this one counts.
    #[must_use]
    pub fn and(&self, other: &Shape) -> Shape {
        match (&self.0, &other.0) {
            (None, _) => other.clone(),
            (Some(a), Some(b)) if a.len() == b.len() && a != b => {
                Shape(Some(a.iter().zip(&**b).map(|(a, b)| if *a < 0 { *b } else { *a }).collect()))
            }
            _ => self.clone(),
        }
    }

    /// Whether one tensor can have both.
    pub fn fits(&self, other: &Shape) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| *a < 0 || *b < 0 || a == b),
            _ => true,
        }
    }

    /// What holds whichever of the two the shape is.
    #[must_use]
    pub fn either(&self, other: &Shape) -> Shape {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) if a == b => self.clone(),
            (Some(a), Some(b)) if a.len() == b.len() => {
                Shape(Some(a.iter().zip(&**b).map(|(a, b)| if a == b { *a } else { ANY }).collect()))
            }
            _ => Shape::UNKNOWN,
        }
    }
}

/// The number of elements of known dimensions; stays at the limit.
pub fn product(dims: &[i64]) -> i64 {
    // A size of 0 wins over the limit.
    if dims.contains(&0) { 0 } else { dims.iter().fold(1_i64, |product, dim| product.saturating_mul(*dim)) }
}

/// As `[2,?,3]`, or `?` for an unknown rank.
impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = self.dims() else { return f.write_str("?") };
        let words: Vec<String> =
            dims.iter().map(|dim| if *dim < 0 { "?".to_owned() } else { dim.to_string() }).collect();
        write!(f, "[{}]", words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_combined() {
        let shape = Shape::of;
        let any = Shape::UNKNOWN;
        assert_eq!(shape(&[2, -1]).and(&shape(&[-1, 3])), shape(&[2, 3]));
        assert_eq!(any.and(&shape(&[4])), shape(&[4]));
        assert_eq!(shape(&[4]).and(&shape(&[5])), shape(&[4]));
        assert_eq!(shape(&[2, 3]).either(&shape(&[2, 4])), shape(&[2, -1]));
        assert_eq!(shape(&[2, 3]).either(&shape(&[2])), any);
        assert!(shape(&[2, -1]).fits(&shape(&[-1, 3])) && !shape(&[2]).fits(&shape(&[2, 3])));
        assert_eq!((shape(&[2, 3]).dim(-1), shape(&[2, 3]).dim(-3), any.dim(0)), (3, ANY, ANY));
        assert_eq!((shape(&[i64::MAX, 4]).elements(), shape(&[i64::MAX, 4, 0]).elements()), (Some(i64::MAX), Some(0)));
        assert_eq!(format!("{:?} {any:?}", shape(&[2, -7])), "[2,?] ?");
    }

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
