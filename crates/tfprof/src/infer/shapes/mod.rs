//! Rules that infer an op's outputs from its inputs: one file per family of ops, and one table of all rules.
//!
//! A rule agrees with TensorFlow's own shape inference, or knows less. It also tracks the small integer tensors from
//! which shapes are computed. It never guesses: an unknown size stays unknown.

mod arrays;
pub mod checks;
mod control;
mod convolution;
mod data;
mod elementwise;
mod fold;
mod image;
mod index;
mod lists;
mod matrix;
mod others;
mod recurrent;
mod reduction;
mod reshaping;
mod shape_math;
mod slicing;
mod sources;
mod sparse;
mod strings;
mod training;

pub use data::mark_data;
pub use matrix::Labels;

use super::fact::{ANY, Fact, Held, Shape};
use crate::hash::TrustedMap;
use crate::model::attr_value::{self, Attr};
use crate::model::body::Body;
use crate::model::dtype::DType;
use std::sync::{Arc, OnceLock};

/// The limit of tracked outputs per node.
const MAX_OUTPUTS: usize = 4096;

/// The input of a rule: a node and the facts of its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Op<'a> {
    pub body: &'a Body,
    pub node: u32,
    pub inputs: &'a [Fact],
}

/// Infers the outputs of an op. Outputs missing from the result are unknown.
pub type Rule = fn(&Op<'_>) -> Vec<Fact>;

/// A family of ops: lists of ops, each with the rule they share.
type Family = &'static [(&'static [&'static str], Rule)];

/// The rules, by family.
const RULES: &[Family] = &[
    arrays::RULES,
    control::RULES,
    convolution::RULES,
    elementwise::RULES,
    image::RULES,
    index::RULES,
    lists::RULES,
    matrix::RULES,
    others::RULES,
    recurrent::RULES,
    reduction::RULES,
    reshaping::RULES,
    shape_math::RULES,
    slicing::RULES,
    sources::RULES,
    sparse::RULES,
    strings::RULES,
    training::RULES,
];

/// The rule of an op.
pub fn rule(op: &str) -> Option<Rule> {
    static BY_OP: OnceLock<TrustedMap<&'static str, Rule>> = OnceLock::new();
    let rows = || RULES.iter().copied().flatten().flat_map(|(ops, rule)| ops.iter().map(|op| (*op, *rule)));
    let rule = BY_OP.get_or_init(|| rows().collect()).get(op).copied();
    // All of the roughly two hundred dataset ops return a scalar variant.
    rule.or_else(|| op.contains("Dataset").then_some(|_: &Op<'_>| typed(DType::VARIANT, Shape::scalar())))
}

/// The ops that have a rule.
pub fn ops() -> impl Iterator<Item = &'static str> {
    RULES.iter().copied().flatten().flat_map(|(ops, _)| ops.iter().copied())
}

/// Whether an op is an input of the program. An unknown leading dimension of an input is the batch.
pub fn is_program_input(op: &str) -> bool {
    const INPUTS: &[&str] = &[
        "Placeholder",
        "PlaceholderV2",
        "PlaceholderWithDefault",
        "_Arg",
        "IteratorGetNext",
        "IteratorGetNextSync",
        "QueueDequeueUpTo",
        "QueueDequeueUpToV2",
    ];
    INPUTS.contains(&op)
}

static UNKNOWN_FACT: Fact = Fact::UNKNOWN;

impl<'a> Op<'a> {
    /// The fact of an input; unknown if missing.
    fn input(&self, at: usize) -> &'a Fact {
        self.inputs.get(at).unwrap_or(&UNKNOWN_FACT)
    }

    fn shape(&self, at: usize) -> &'a Shape {
        &self.input(at).shape
    }

    fn attribute(&self, name: &str) -> Option<Attr<'a>> {
        self.body.attribute(self.node, name)
    }

    /// False if missing.
    fn flag(&self, name: &str) -> bool {
        self.attribute(name).is_some_and(attr_value::flag)
    }

    fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name).and_then(attr_value::int)
    }

    /// An attribute that counts inputs or outputs.
    fn count(&self, name: &str) -> usize {
        self.int(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(0).min(MAX_OUTPUTS)
    }

    /// Empty if missing.
    fn ints(&self, name: &str) -> Vec<i64> {
        self.attribute(name).and_then(attr_value::ints).unwrap_or_default()
    }

    fn text(&self, name: &str) -> &'a [u8] {
        self.attribute(name).and_then(attr_value::text).unwrap_or_default()
    }

    fn dtype(&self, name: &str) -> DType {
        self.attribute(name).and_then(attr_value::dtype).unwrap_or_default()
    }

    fn dtypes(&self, name: &str) -> Vec<DType> {
        self.attribute(name).map(attr_value::dtypes).unwrap_or_default()
    }

    /// An attribute that is a shape; unknown if missing.
    fn stated_shape(&self, name: &str) -> Shape {
        self.attribute(name).and_then(attr_value::shape).unwrap_or_default()
    }

    fn stated_shapes(&self, name: &str) -> Vec<Shape> {
        self.attribute(name).map(attr_value::shapes).unwrap_or_default()
    }

    /// The attribute `T`, the type of most inputs and outputs.
    fn t(&self) -> DType {
        match self.dtype("T") {
            DType::UNKNOWN => self.input(0).dtype,
            dtype => dtype,
        }
    }

    /// An attribute, or its default if it was stripped from the graph.
    fn dtype_or(&self, name: &str, default: DType) -> DType {
        self.attribute(name).and_then(attr_value::dtype).unwrap_or(default)
    }
}

/// One output of the type `T`.
fn one(op: &Op<'_>, shape: Shape) -> Vec<Fact> {
    vec![Fact::new(op.t(), shape)]
}

/// One output.
fn typed(dtype: DType, shape: Shape) -> Vec<Fact> {
    vec![Fact::new(dtype, shape)]
}

/// No outputs.
fn none(_: &Op<'_>) -> Vec<Fact> {
    Vec::new()
}

/// One output, a scalar of the type `T`.
fn scalar(op: &Op<'_>) -> Vec<Fact> {
    one(op, Shape::scalar())
}

/// One output shaped like the first input, for ops that change only values.
fn like_first(op: &Op<'_>) -> Vec<Fact> {
    one(op, op.shape(0).clone())
}

/// The shape that a tensor holds as its value. An element that is unknown or −1 is an unknown size.
fn shape_from(fact: &Fact) -> Shape {
    match (fact.integers(), fact.shape.dims()) {
        // The scalar −1 means an unknown rank.
        (Some(_), Some([])) => Shape::UNKNOWN,
        (Some(dims), _) => Shape::of(dims),
        (None, Some([rank])) => usize::try_from(*rank).map_or(Shape::UNKNOWN, Shape::of_rank),
        _ => Shape::UNKNOWN,
    }
}

/// A variant tensor that holds a list of tensors.
fn list(held: Held) -> Fact {
    Fact { dtype: DType::VARIANT, shape: Shape::scalar(), held: Some(Arc::new(held)), ..Fact::default() }
}

// ---- Arithmetic on sizes. An unknown size is ANY.

fn plus(a: i64, b: i64) -> i64 {
    if a < 0 || b < 0 { ANY } else { a.saturating_add(b) }
}

fn times(a: i64, b: i64) -> i64 {
    if a == 0 || b == 0 {
        0
    } else if a < 0 || b < 0 {
        ANY
    } else {
        a.saturating_mul(b)
    }
}

/// Unknown if the result would be negative.
fn minus(a: i64, b: i64) -> i64 {
    if a < 0 || b < 0 { ANY } else { (a - b).max(ANY) }
}

/// Unknown if the divisor is not positive.
fn over(a: i64, b: i64) -> i64 {
    if a < 0 || b <= 0 { ANY } else { a / b }
}

/// Axes as indices; negative ones count from the end. `None` if one is out of range or unknown.
fn axes(values: &[i64], rank: usize) -> Option<Vec<usize>> {
    values.iter().map(|axis| axis_of(*axis, rank)).collect()
}

fn axis_of(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}

/// A known size as a number of entries. One that this machine cannot hold is its largest, not an unknown one.
fn count(size: i64) -> Option<usize> {
    u64::try_from(size).ok().map(|size| usize::try_from(size).unwrap_or(usize::MAX))
}

/// The shape that results from broadcasting two shapes.
fn broadcast(a: &Shape, b: &Shape) -> Shape {
    let (Some(a), Some(b)) = (a.dims(), b.dims()) else { return Shape::UNKNOWN };
    let rank = a.len().max(b.len());
    let at = |dims: &[i64], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]);
    let dims: Vec<i64> = (0..rank)
        .map(|axis| match (at(a, axis), at(b, axis)) {
            (1 | ANY, ANY) | (ANY, 1) => ANY,
            (1 | ANY, other) | (other, 1 | ANY) => other,
            (a, b) if a == b => a,
            _ => ANY,
        })
        .collect();
    Shape::of(&dims)
}

#[cfg(test)]
mod tests;
