//! The cost of one execution of an op, from its shapes and attributes.
//!
//! [`FORMULAS`] lists all formulas; each family of ops has its own file. A multiply-add is two FLOPs, arithmetic is one
//! FLOP per element, and data movement, shapes and control flow are free by definition. The 46 ops that the original
//! counts are counted as the original does.

mod conv;
mod doc;
mod elementwise;
mod image;
mod linalg;
mod loss;
mod matmul;
mod norm;
mod others;
mod pool;
mod quantized;
mod recurrent;
mod reduction;
mod sort;
pub mod torch;
pub mod torch_bytes;
mod torch_ops;
mod torch_windows;
mod update;
mod zero;

pub use doc::write_page;

use super::fact::Fact;
use super::inference::{Cost, NodeCost};
use super::shapes;
use crate::hash::TrustedMap;
use crate::model::attr_value::{self, Attr};
use crate::model::costs::UnknownReason;
use crate::model::dtype::DType;
use std::sync::OnceLock;

/// The dimensions of a tensor; −1 is an unknown size.
pub type Dims<'a> = &'a [i64];

/// The input of a formula.
pub struct Op<'a> {
    pub name: &'a str,
    /// Shapes by input, including control inputs; `None` is an unknown rank.
    pub inputs: &'a [Option<Dims<'a>>],
    /// The shape of the first output.
    pub output: Option<Dims<'a>>,
    /// Inferred facts of the inputs, if any.
    pub facts: &'a [Fact],
    pub attribute: &'a dyn Fn(&str) -> Option<Attr<'a>>,
    /// Reproduce the original's bugs and gaps: transposed batches of matrices, `NCHW`.
    pub as_original: bool,
}

impl std::fmt::Debug for Op<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Op").field("inputs", &self.inputs).field("output", &self.output).finish_non_exhaustive()
    }
}

/// FLOPs, and the multiply-adds among them, which are two FLOPs each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub float_ops: i64,
    pub macs: i64,
}

impl Work {
    /// FLOPs without multiply-adds.
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
    /// FLOPs per element of the first input.
    In(i64),
    /// FLOPs per element of the first output.
    Out(i64),
    /// One per element of the first input, minus one per result.
    Reduce,
    /// Zero, by definition.
    Zero,
    /// A function, and the formula for the documentation.
    By(fn(&Op<'_>) -> Flops, &'static str),
}

/// Which bytes an op reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// All inputs and all outputs.
    All,
    /// None: it passes on its input, or uses only shapes.
    None,
    /// The gathered or scattered elements twice, once read and once written, and the indices.
    Indexed,
    /// All inputs, and this many first inputs once more, since it writes them.
    Updates(usize),
}

/// Ops that share a formula.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    pub ops: &'static [&'static str],
    pub count: Count,
    pub io: Io,
    /// The original counts these ops in the same way.
    pub original: bool,
}

/// A formula of the original.
const fn original(ops: &'static [&'static str], count: Count) -> Formula {
    Formula { ops, count, io: Io::All, original: true }
}

const fn formula(ops: &'static [&'static str], count: Count) -> Formula {
    Formula { ops, count, io: Io::All, original: false }
}

/// The name of a family of formulas, and the formulas.
pub type Family = (&'static str, &'static [Formula]);

/// The formulas, by family, in the order of the documentation.
pub const FORMULAS: &[Family] = &[
    ("Matrix products", matmul::FORMULAS),
    ("Convolutions", conv::FORMULAS),
    ("Pooling", pool::FORMULAS),
    ("Elementwise ops", elementwise::FORMULAS),
    ("Reductions", reduction::FORMULAS),
    ("Normalization", norm::FORMULAS),
    ("Losses", loss::FORMULAS),
    ("Recurrent networks", recurrent::FORMULAS),
    ("Variable updates", update::FORMULAS),
    ("Quantized ops", quantized::FORMULAS),
    ("Linear algebra and transforms", linalg::FORMULAS),
    ("Sorting and searching", sort::FORMULAS),
    ("Images", image::FORMULAS),
    ("Fused layers of other dialects", others::FORMULAS),
    ("Zero by definition", zero::FORMULAS),
];

/// The formula of an op type, if it has one.
pub fn find(op: &str) -> Option<&'static Formula> {
    static BY_OP: OnceLock<TrustedMap<&'static str, &'static Formula>> = OnceLock::new();
    let rows =
        || FORMULAS.iter().flat_map(|(_, family)| *family).flat_map(|row| row.ops.iter().map(move |op| (*op, row)));
    BY_OP.get_or_init(|| rows().collect()).get(op).copied().or_else(|| zero::by_name(op))
}

/// The cost of a node, from the facts about its tensors.
pub fn cost(formula: &Formula, node: &shapes::Op<'_>, outputs: &[Fact]) -> NodeCost {
    let shapes::Op { body, node, inputs: facts } = *node;
    let mut inputs: Vec<Option<Dims<'_>>> = facts.iter().map(dims).collect();
    inputs.resize(inputs.len() + body.controls(node).len(), None);
    let op = Op {
        name: body.op(node),
        inputs: &inputs,
        output: outputs.first().and_then(dims),
        facts,
        attribute: &|name| body.attribute(node, name),
        as_original: false,
    };
    let io_bytes = bytes(formula.io, facts, outputs);
    // An activation that a dialect fuses into any op.
    let activation = (op.attribute)("_activation").and_then(attr_value::int).unwrap_or(0);
    let counted = match formula.count(&op) {
        Ok(work) if activation != 0 => op.output().map(|out| work.and(elements(out).saturating_mul(activation))),
        counted => counted,
    };
    match counted {
        Ok(work) => NodeCost::Known(Cost { float_ops: work.float_ops, macs: work.macs, io_bytes }),
        Err(why) => {
            let unknown = || facts.iter().chain(outputs).filter(|fact| !dims(fact).is_some_and(is_known));
            let is_data =
                why == UnknownReason::Shape && unknown().next().is_some() && unknown().all(|fact| fact.shape_is_data);
            let why = if is_data { UnknownReason::Data } else { why };
            NodeCost::Unknown(why, Cost { io_bytes, ..Cost::default() })
        }
    }
}

/// The shape of a tensor, or of the variable behind a handle.
fn dims(fact: &Fact) -> Option<Dims<'_>> {
    match &fact.held {
        Some(held) if fact.dtype == DType::RESOURCE => held.shape.dims(),
        _ => fact.shape.dims(),
    }
}

/// The bytes of a tensor or of the variable behind a handle; 0 if unknown.
fn size(fact: &Fact) -> i64 {
    let known = match &fact.held {
        Some(held) if fact.dtype == DType::RESOURCE => Fact::new(held.dtype, held.shape.clone()).bytes(),
        _ => fact.bytes(),
    };
    known.unwrap_or(0)
}

fn bytes(io: Io, inputs: &[Fact], outputs: &[Fact]) -> i64 {
    let sum = |facts: &[Fact]| facts.iter().fold(0_i64, |sum, fact| sum.saturating_add(size(fact)));
    match io {
        Io::None => 0,
        Io::All => sum(inputs).saturating_add(sum(outputs)),
        Io::Updates(state) => sum(inputs).saturating_add(sum(&inputs[..state.min(inputs.len())])),
        Io::Indexed => {
            // A gather moves its output; a scatter moves its largest input after the first.
            let scattered = inputs.iter().skip(1).map(size).max().unwrap_or(0);
            let indices = inputs.iter().skip(1).fold(0_i64, |sum, fact| sum.saturating_add(size(fact)));
            let gathered = sum(outputs);
            if outputs.is_empty() || gathered == inputs.first().map_or(0, size) {
                indices.saturating_add(scattered.saturating_mul(2))
            } else {
                indices.saturating_add(gathered.saturating_mul(2))
            }
        }
    }
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

    /// A boolean attribute; false if it is missing.
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

    /// Whether channels precede the spatial dimensions. Some layouts have no formula; the original supports only
    /// channels last.
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
    dims.filter(|dims| is_known(dims)).ok_or(UnknownReason::Shape)
}

fn is_known(dims: Dims<'_>) -> bool {
    dims.iter().all(|dim| *dim >= 0)
}

/// The number of elements of a shape.
fn elements(dims: Dims<'_>) -> i64 {
    super::fact::product(dims)
}

fn dim(dims: Dims<'_>, index: usize) -> Result<i64, UnknownReason> {
    dims.get(index).copied().ok_or(UnknownReason::Malformed)
}

/// A saturating product.
fn product(factors: &[i64]) -> i64 {
    super::fact::product(factors)
}

/// The binary logarithm, rounded up: 0 for 1, 10 for 1000.
fn log2_ceil(n: i64) -> i64 {
    i64::from(64 - (n.max(1) as u64 - 1).leading_zeros())
}

#[cfg(test)]
mod tests;
