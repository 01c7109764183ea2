//! Sizes that ops refuse: inputs of one op that contradict each other.

use super::super::fact::{ANY, Shape};
use super::super::inference::Instance;
use super::broadcast;
use crate::model::attr_value;
use crate::model::body::Body;

/// A node whose inputs contradict each other, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    pub node: u32,
    pub why: String,
}

/// The first node of a body whose inputs contradict each other.
pub fn contradiction(body: &Body, instance: &Instance) -> Option<Contradiction> {
    let checks: Vec<Option<Check>> = body.ops().0.map(check).collect();
    (0..body.len() as u32).find_map(|node| {
        let check = checks[body.ops().1[node as usize] as usize]?;
        Some(Contradiction { node, why: check(&Checked { body, instance, node })? })
    })
}

/// Says why an op refuses its inputs.
type Check = fn(&Checked<'_>) -> Option<String>;

struct Checked<'a> {
    body: &'a Body,
    instance: &'a Instance,
    node: u32,
}

static UNKNOWN: Shape = Shape::UNKNOWN;

impl<'a> Checked<'a> {
    fn shape(&self, at: usize) -> &'a Shape {
        let tensor = self.body.inputs(self.node).get(at);
        tensor.and_then(|tensor| self.instance.fact(*tensor)).map_or(&UNKNOWN, |fact| &fact.shape)
    }

    fn flag(&self, name: &str) -> bool {
        self.body.attribute(self.node, name).is_some_and(attr_value::flag)
    }

    /// The channels of an image.
    fn channels(&self, at: usize) -> i64 {
        let format = self.body.attribute(self.node, "data_format").and_then(attr_value::text).unwrap_or_default();
        self.shape(at).dim(if format.starts_with(b"NC") { 1 } else { -1 })
    }
}

fn check(op: &str) -> Option<Check> {
    Some(match op {
        "Conv2D" | "_FusedConv2D" => |op| convolution(op, 1, 4),
        "FusedPadConv2D" => |op| convolution(op, 2, 4),
        "FusedResizeAndPadConv2D" => |op| convolution(op, 3, 4),
        "Conv3D" | "_FusedConv3D" => |op| convolution(op, 1, 5),
        "DepthwiseConv2dNative" | "_FusedDepthwiseConv2dNative" | "Dilation2D" => {
            |op| rank(op, 0, 4).or_else(|| channels(op, op.shape(1).dim(2), op.shape(1), |found, takes| found == takes))
        }
        "MaxPool" | "AvgPool" | "MaxPoolV2" => |op| rank(op, 0, 4),
        "BiasAdd" | "BiasAddV1" => |op| vector(op, 1, "bias"),
        "FusedBatchNorm" | "FusedBatchNormV2" | "FusedBatchNormV3" => {
            |op| rank(op, 0, 4).filter(|_| op.shape(0).rank() != Some(5)).or_else(|| vector(op, 1, "scale"))
        }
        "MatMul" | "_FusedMatMul" => {
            |op| rank(op, 0, 2).or_else(|| rank(op, 1, 2)).or_else(|| product(op, "transpose_a", "transpose_b"))
        }
        "BatchMatMul" | "BatchMatMulV2" | "BatchMatMulV3" => |op| product(op, "adj_x", "adj_y"),
        "Add" | "AddV2" | "Sub" | "Mul" | "RealDiv" | "Div" | "FloorDiv" | "Maximum" | "Minimum" | "Pow"
        | "SquaredDifference" | "Less" | "LessEqual" | "Greater" | "GreaterEqual" | "LogicalAnd" | "LogicalOr" => pair,
        "Concat" => |op| concat(op, 0, 1..op.body.inputs(op.node).len()),
        "ConcatV2" => |op| {
            let axis = op.body.inputs(op.node).len().saturating_sub(1);
            concat(op, axis, 0..axis)
        },
        "Reshape" => |op| {
            let (from, to) = (op.shape(0).elements()?, op.instance.outputs(op.node).first()?.shape.elements()?);
            let to_shape = &op.instance.outputs(op.node).first()?.shape;
            (from != to).then(|| format!("it makes {to_shape} of {}", op.shape(0)))
        },
        _ => return None,
    })
}

fn rank(op: &Checked<'_>, at: usize, expect: usize) -> Option<String> {
    let found = op.shape(at).rank().filter(|found| *found != expect)?;
    let words = if found == 1 { "dimension" } else { "dimensions" };
    Some(format!("it takes {expect} dimensions, found {found} {words} ({})", op.shape(at)))
}

/// `filter` is the input with the filter. Groups of channels may share one filter.
fn convolution(op: &Checked<'_>, filter: usize, dims: usize) -> Option<String> {
    let shape = op.shape(filter);
    rank(op, 0, dims)
        .or_else(|| channels(op, shape.dim(-2), shape, |found, takes| takes > 0 && found > 0 && found % takes == 0))
}

fn channels(op: &Checked<'_>, takes: i64, filter: &Shape, fits: fn(i64, i64) -> bool) -> Option<String> {
    let found = op.channels(0);
    let refused = found != ANY && takes != ANY && !fits(found, takes);
    refused.then(|| format!("its filter {filter} takes {takes} channels, found {found} ({})", op.shape(0)))
}

/// A vector with an element for each channel.
fn vector(op: &Checked<'_>, at: usize, word: &str) -> Option<String> {
    let (found, takes) = (op.channels(0), op.shape(at).dim(0));
    let refused = found != ANY && takes != ANY && found != takes;
    refused.then(|| format!("its {word} has {takes} channels, found {found} ({})", op.shape(0)))
}

fn product(op: &Checked<'_>, flip_a: &str, flip_b: &str) -> Option<String> {
    let inner_a = op.shape(0).dim(if op.flag(flip_a) { -2 } else { -1 });
    let inner_b = op.shape(1).dim(if op.flag(flip_b) { -1 } else { -2 });
    let refused = inner_a != ANY && inner_b != ANY && inner_a != inner_b;
    refused.then(|| format!("it multiplies {} by {}", op.shape(0), op.shape(1)))
}

/// Two shapes that must broadcast to one.
fn pair(op: &Checked<'_>) -> Option<String> {
    let (a, b) = (op.shape(0).known()?, op.shape(1).known()?);
    // Sizes that differ leave an unknown one.
    let refused = !broadcast(&Shape::of(a), &Shape::of(b)).is_known();
    refused.then(|| format!("it combines {} with {}", op.shape(0), op.shape(1)))
}

fn concat(op: &Checked<'_>, axis: usize, parts: std::ops::Range<usize>) -> Option<String> {
    let axis = op.body.inputs(op.node).get(axis).and_then(|tensor| op.instance.fact(*tensor)?.integer())?;
    let first = op.shape(parts.start);
    let axis = usize::try_from(if axis < 0 { axis + first.rank()? as i64 } else { axis }).ok()?;
    parts.skip(1).find_map(|at| {
        let other = op.shape(at);
        let (a, b) = (first.dims()?, other.dims()?);
        let differ = |(at, (a, b)): (usize, (&i64, &i64))| at != axis && *a != ANY && *b != ANY && a != b;
        let refused = a.len() != b.len() || a.iter().zip(b).enumerate().any(differ);
        refused.then(|| format!("it joins {first} and {other} along dimension {axis}"))
    })
}
