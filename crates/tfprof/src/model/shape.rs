//! [`Shape`]: shapes of tensors, possibly partial. Single sizes or even the rank may be unknown.

use std::fmt;
use std::sync::Arc;

/// An unknown size.
pub const ANY: i64 = -1;

/// Tensors of more dimensions than TensorFlow allows are of unknown rank.
const HIGHEST_RANK: usize = 254;

/// Dimensions, each known or [`ANY`]; or an unknown rank.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Shape(Option<Arc<[i64]>>);

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

    /// That many dimensions of unknown size.
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

    /// The number of elements; saturates.
    pub fn elements(&self) -> Option<i64> {
        self.known().map(product)
    }

    /// The size of a dimension; negative indices count from the end. [`ANY`] if it is unknown or missing.
    pub fn dim(&self, place: i64) -> i64 {
        let Some(dims) = self.dims() else { return ANY };
        let place = if place < 0 { place.saturating_add(dims.len() as i64) } else { place };
        usize::try_from(place).ok().and_then(|place| dims.get(place)).copied().unwrap_or(ANY)
    }

    /// Combines two statements about one shape. Where they contradict each other, this one wins.
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

    /// Whether a tensor can have both shapes.
    pub fn fits(&self, other: &Shape) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| *a < 0 || *b < 0 || a == b),
            _ => true,
        }
    }

    /// The statement that holds for either shape.
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

/// The number of elements of known dimensions; saturates.
pub fn product(dims: &[i64]) -> i64 {
    // A size of 0 wins over the limit.
    if dims.contains(&0) { 0 } else { dims.iter().fold(1_i64, |product, dim| product.saturating_mul(*dim)) }
}

/// Writes `2x?x3`, as users write shapes; `scalar` without dimensions.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dims() {
            None => f.write_str("unknown"),
            Some([]) => f.write_str("scalar"),
            Some(dims) => f.write_str(&words(dims).join("x")),
        }
    }
}

fn words(dims: &[i64]) -> Vec<String> {
    dims.iter().map(|dim| if *dim < 0 { "?".to_owned() } else { dim.to_string() }).collect()
}

/// Writes `[2,?,3]`, or `?` for an unknown rank.
impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = self.dims() else { return f.write_str("?") };
        write!(f, "[{}]", words(dims).join(","))
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
        assert_eq!(format!("{} {any} {}", shape(&[2, -7]), shape(&[])), "2x? unknown scalar");
    }
}
