//! The shape to type for an input whose shape is not known: known sizes, 1 for the batch, letters for the rest.

use super::fact::{ANY, Shape};
use super::inference::Instance;
use crate::model::attr_value;
use crate::model::body::{Body, NO_NODE, Tensor};
use crate::model::dtype::DType;

/// Readers up to this many steps away tell what an input is.
const FAR: usize = 64;

/// The value of `--input` for an input: `1xHxWx3`, or `scalar`.
pub fn shape_to_type(body: &Body, instance: &Instance, node: u32) -> String {
    let fact = instance.outputs(node).first().cloned().unwrap_or_default();
    let (shape, channels_first) = match fact.shape.rank() {
        Some(_) => (fact.shape, false),
        None if fact.dtype == DType::BOOL => (Shape::scalar(), false),
        None => match by_readers(body, instance, node) {
            Some(found) => found,
            None => return "SIZExSIZEx...".to_owned(),
        },
    };
    let Some(dims) = shape.dims().filter(|dims| !dims.is_empty()) else { return "scalar".to_owned() };
    let letters: &[&str] = match dims.len() {
        4 if channels_first => &["1", "C", "H", "W"],
        4 => &["1", "H", "W", "C"],
        5 => &["1", "D", "H", "W", "C"],
        3 => &["1", "T", "C"],
        2 => &["1", "C"],
        _ => &["1"],
    };
    let word = |(at, dim): (usize, &i64)| match letters.get(at) {
        _ if *dim != ANY => dim.to_string(),
        Some(letter) => (*letter).to_owned(),
        None => "N".to_owned(),
    };
    dims.iter().enumerate().map(word).collect::<Vec<_>>().join("x")
}

/// The shape that the readers of a tensor take, and whether its channels come first.
fn by_readers(body: &Body, instance: &Instance, node: u32) -> Option<(Shape, bool)> {
    let mut path = vec![node];
    let mut at = 0;
    let mut scalar = None;
    while let Some(source) = path.get(at).copied().filter(|_| at < FAR) {
        at += 1;
        for reader in 0..body.len() as u32 {
            let Some(place) = body.inputs(reader).iter().position(|input| input.node == source) else { continue };
            let other = |at: usize| body.inputs(reader).get(at).copied();
            let shape = |at: usize| other(at).and_then(|tensor| instance.fact(tensor)).map(|fact| fact.shape.clone());
            let text = |name: &str| body.attribute(reader, name).and_then(attr_value::text).unwrap_or_default();
            let flag = |name: &str| body.attribute(reader, name).is_some_and(attr_value::flag);
            match body.op(reader) {
                "Conv2D" | "DepthwiseConv2dNative" if place == 0 => {
                    let (depth, first) = (shape(1).map_or(ANY, |filter| filter.dim(2)), text("data_format") == b"NCHW");
                    let dims = if first { [ANY, depth, ANY, ANY] } else { [ANY, ANY, ANY, depth] };
                    return Some((Shape::of(&dims), first));
                }
                "Conv3D" if place == 0 => {
                    let depth = shape(1).map_or(ANY, |filter| filter.dim(3));
                    return Some((Shape::of(&[ANY, ANY, ANY, ANY, depth]), false));
                }
                "Conv2DBackpropInput" if place == 2 => {
                    let (depth, first) = (shape(1).map_or(ANY, |filter| filter.dim(3)), text("data_format") == b"NCHW");
                    let dims = if first { [ANY, depth, ANY, ANY] } else { [ANY, ANY, ANY, depth] };
                    return Some((Shape::of(&dims), first));
                }
                "MaxPool" | "AvgPool" if place == 0 => {
                    return Some((Shape::of_rank(4), text("data_format") == b"NCHW"));
                }
                "MatMul" if place == 0 && !flag("transpose_a") => {
                    let inner = shape(1).map_or(ANY, |matrix| matrix.dim(i64::from(flag("transpose_b"))));
                    return Some((Shape::of(&[ANY, inner]), false));
                }
                "Identity" | "Cast" | "Relu" | "Relu6" | "Pad" | "MirrorPad" | "BiasAdd" | "StopGradient" | "Enter"
                    if place == 0 =>
                {
                    path.push(reader);
                }
                "Add" | "AddV2" | "Sub" | "Mul" | "RealDiv" | "Div" | "Less" | "GreaterEqual" | "Maximum"
                | "Minimum" => {
                    // An image minus a constant is an image; what is combined with other data is a rate.
                    if other(1 - place.min(1)).is_some_and(|tensor| is_constant(body, tensor.node)) {
                        path.push(reader);
                    } else if source == node && !reads_itself(body, other(1 - place.min(1)), node) {
                        scalar = Some((Shape::scalar(), false));
                    }
                }
                _ => {}
            }
        }
    }
    scalar
}

/// Whether a tensor is computed from this node, within a few steps: then both have about the same shape.
fn reads_itself(body: &Body, tensor: Option<Tensor>, node: u32) -> bool {
    let mut path: Vec<u32> = tensor.into_iter().map(|tensor| tensor.node).collect();
    let mut at = 0;
    while let Some(next) = path.get(at).copied().filter(|_| at < FAR) {
        if next == node {
            return true;
        }
        at += 1;
        if (next as usize) < body.len() {
            path.extend(body.inputs(next).iter().map(|input| input.node));
        }
    }
    false
}

/// Whether a node is a constant or a variable, possibly passed on.
fn is_constant(body: &Body, mut node: u32) -> bool {
    for _ in 0..FAR {
        match body.op_of(node) {
            Some("Const" | "Variable" | "VariableV2" | "ReadVariableOp") => return true,
            Some("Identity" | "Enter" | "Cast") => node = body.inputs(node).first().map_or(NO_NODE, |input| input.node),
            _ => return false,
        }
    }
    false
}
