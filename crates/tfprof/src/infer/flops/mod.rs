//! What one execution of an op takes, from the shapes around it and its attributes.
//!
//! [`FORMULAS`] is the list of all formulas; each family of ops has a file of its own. A multiply-add is two float
//! operations, arithmetic is one for each element, and data movement, shapes and control are nothing by definition. The
//! figures of the 46 ops that the original knows are the original's.

mod conv;
mod costs;
mod doc;
mod elementwise;
mod image;
mod linalg;
mod loss;
mod matmul;
mod norm;
mod pool;
mod quantized;
mod recurrent;
mod reduction;
mod sort;
mod update;
mod zero;

pub use costs::costs;
pub use doc::write_page;

use super::fact::Fact;
use crate::model::attr_value;
use crate::model::costs::UnknownReason;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The dimensions of a tensor; −1 is an unknown size.
pub type Dims<'a> = &'a [i64];

/// What a formula may look at.
pub struct Op<'a> {
    pub name: &'a str,
    /// Shapes by input, control inputs among them; none is an unknown rank.
    pub inputs: &'a [Option<Dims<'a>>],
    /// The shape of the first output.
    pub output: Option<Dims<'a>>,
    /// What else is known of the inputs, as far as it was inferred.
    pub facts: &'a [Fact],
    /// The bytes of an attribute's `AttrValue`.
    pub attribute: &'a dyn Fn(&str) -> Option<&'a [u8]>,
    /// Play back what the original gets wrong or does not know: transposed batches of matrices, `NCHW`.
    pub as_original: bool,
}

impl std::fmt::Debug for Op<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Op").field("inputs", &self.inputs).field("output", &self.output).finish_non_exhaustive()
    }
}

/// Float operations, and how many of them are multiply-adds, which are two each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub float_ops: i64,
    pub macs: i64,
}

impl Work {
    /// Operations none of which is a multiply-add.
    fn plain(float_ops: i64) -> Work {
        Work { float_ops, macs: 0 }
    }

    fn multiply_adds(macs: i64) -> Work {
        Work { float_ops: macs.saturating_mul(2), macs }
    }

    fn and(self, float_ops: i64) -> Work {
        Work { float_ops: self.float_ops.saturating_add(float_ops), ..self }
    }
}

pub type Flops = Result<Work, UnknownReason>;

/// How an op is counted.
#[derive(Clone, Copy, Debug)]
pub enum Count {
    /// So many for each element of the first input.
    In(i64),
    /// So many for each element of the first output.
    Out(i64),
    /// One for each element of the first input less one for each result.
    Reduce,
    /// Nothing, by definition.
    Zero,
    /// A function, and how the table of formulas states it.
    By(fn(&Op<'_>) -> Flops, &'static str),
}

/// Which bytes an op reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// All inputs and all outputs.
    All,
    /// None: it hands on what it gets, or looks at nothing but shapes.
    None,
    /// What it puts out, twice, since it reads as much; and the numbers that say what.
    Picks,
    /// All inputs, and the first so many of them once more, since it changes them.
    Updates(usize),
}

/// Ops that are counted in one way.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    pub ops: &'static [&'static str],
    pub count: Count,
    pub io: Io,
    /// The original counts these ops, and in this way.
    pub original: bool,
}

/// A formula of the original.
const fn original(ops: &'static [&'static str], count: Count) -> Formula {
    Formula { ops, count, io: Io::All, original: true }
}

const fn formula(ops: &'static [&'static str], count: Count) -> Formula {
    Formula { ops, count, io: Io::All, original: false }
}

/// A name for a family of formulas, and the formulas.
pub type Family = (&'static str, &'static [Formula]);

/// The formulas, by family, in the order of the documentation.
pub const FORMULAS: &[Family] = &[
    ("Products of matrices", matmul::FORMULAS),
    ("Convolutions", conv::FORMULAS),
    ("Pooling", pool::FORMULAS),
    ("Element by element", elementwise::FORMULAS),
    ("Reductions", reduction::FORMULAS),
    ("Normalisation", norm::FORMULAS),
    ("Losses", loss::FORMULAS),
    ("Recurrent networks", recurrent::FORMULAS),
    ("Updates of variables", update::FORMULAS),
    ("Quantised numbers", quantized::FORMULAS),
    ("Linear algebra and transforms", linalg::FORMULAS),
    ("Sorting and searching", sort::FORMULAS),
    ("Images", image::FORMULAS),
    ("Nothing, by definition", zero::FORMULAS),
];

/// The formula of an op type, if it has one.
pub fn find(op: &str) -> Option<&'static Formula> {
    static BY_OP: OnceLock<FxHashMap<&'static str, &'static Formula>> = OnceLock::new();
    let rows =
        || FORMULAS.iter().flat_map(|(_, family)| *family).flat_map(|row| row.ops.iter().map(move |op| (*op, row)));
    BY_OP.get_or_init(|| rows().collect()).get(op).copied().or_else(|| zero::by_name(op))
}

impl Formula {
    pub fn count(&self, op: &Op<'_>) -> Flops {
        let each = |dims: Dims<'_>, times: i64| Ok(Work::plain(elements(dims).saturating_mul(times)));
        match self.count {
            Count::In(times) => each(op.input(0)?, times),
            Count::Out(times) => each(op.output()?, times),
            Count::Reduce => Ok(Work::plain(elements(op.input(0)?).saturating_sub(elements(op.output()?)))),
            Count::Zero => Ok(Work::default()),
            Count::By(count, _) => count(op),
        }
    }
}

impl<'a> Op<'a> {
    /// The shape of an input, which must be known.
    fn input(&self, index: usize) -> Result<Dims<'a>, UnknownReason> {
        known(*self.inputs.get(index).ok_or(UnknownReason::Malformed)?)
    }

    /// The shape of the first output, which must be known.
    fn output(&self) -> Result<Dims<'a>, UnknownReason> {
        known(self.output)
    }

    /// A boolean attribute; false if it is not there.
    fn flag(&self, name: &str) -> bool {
        (self.attribute)(name).is_some_and(attr_value::flag)
    }

    fn text(&self, name: &str) -> &'a [u8] {
        (self.attribute)(name).and_then(attr_value::text).unwrap_or_default()
    }

    /// An attribute that is a list of integers.
    fn integers(&self, name: &str) -> Result<Vec<i64>, UnknownReason> {
        (self.attribute)(name).and_then(attr_value::ints).ok_or(UnknownReason::Malformed)
    }

    /// Whether channels come before the dimensions of space. Some layouts have no formula; the original has none but for
    /// channels that come last.
    fn channels_first(&self) -> Result<bool, UnknownReason> {
        match (self.attribute)("data_format").and_then(attr_value::text) {
            Some(b"NHWC") => Ok(false),
            _ if self.as_original => Err(UnknownReason::DataFormat),
            Some(b"NCHW" | b"NCDHW") => Ok(true),
            Some(b"NDHWC") | None => Ok(false),
            Some(_) => Err(UnknownReason::DataFormat),
        }
    }
}

/// A shape without unknown sizes.
fn known(dims: Option<Dims<'_>>) -> Result<Dims<'_>, UnknownReason> {
    dims.filter(|dims| dims.iter().all(|dim| *dim >= 0)).ok_or(UnknownReason::Shape)
}

/// The number of elements of a shape.
fn elements(dims: Dims<'_>) -> i64 {
    super::fact::product(dims)
}

fn dim(dims: Dims<'_>, index: usize) -> Result<i64, UnknownReason> {
    dims.get(index).copied().ok_or(UnknownReason::Malformed)
}

/// A product that stays at the limit.
fn product(factors: &[i64]) -> i64 {
    super::fact::product(factors)
}

/// How often a number can be halved until one is left, rounded up: 0 for 1, 10 for 1000.
fn halvings(n: i64) -> i64 {
    i64::from(64 - (n.max(1) as u64 - 1).leading_zeros())
}

#[cfg(test)]
mod tests;
