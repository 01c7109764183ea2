//! Lowers an op of ONNX: to an op that rules and formulas know, its inputs in the order of that op, and its
//! attributes. `model/dialects.rs` has the ops that only need another name.

use super::wire::{self, Node};
use crate::format::lowered::{Input, Made, Setting};
use crate::model::dialects::onnx::ONNX;
use crate::model::dtype::DType;
use crate::model::shape::Shape;

/// The context of a node: known values, types and shapes of its inputs.
pub trait NodeContext {
    /// The version of the op set that the node belongs to.
    fn version(&self, domain: &str) -> i64;
    /// The elements of a small constant.
    fn ints(&self, value: &str) -> Option<Vec<i64>>;
    /// The type and shape that the file states.
    fn stated(&self, value: &str) -> (DType, Shape);
}

/// All inputs in their order.
fn all(op: &'static str, node: &Node) -> Made {
    Made::new(op, (0..node.inputs.len()).map(Input::Of).collect())
}

/// Whether the ops of a domain are ONNX's own.
pub fn is_known_domain(domain: &str) -> bool {
    matches!(
        domain,
        "" | "ai.onnx" | "com.microsoft" | "ai.onnx.preview" | "com.microsoft.nchwc" | "pkg.onnxscript.torch_lib"
    )
}

/// Lowers a node without subgraphs.
pub fn lower(node: &Node, around: &dyn NodeContext) -> Made {
    if !is_known_domain(&node.domain) {
        return all("", node);
    }
    let families = [computing, shaping, moving, quantizing];
    let made = families.iter().find_map(|family| family(node, around));
    made.unwrap_or_else(|| all(ONNX.lowered(&node.op), node))
}

/// Products, convolutions, pools and reductions.
fn computing(node: &Node, around: &dyn NodeContext) -> Option<Made> {
    Some(match node.op.as_str() {
        "Conv" | "FusedConv" | "ConvInteger" | "QLinearConv" | "ConvTranspose" | "DeformConv" => {
            convolution(node, around)
        }
        "MaxPool" | "AveragePool" | "LpPool" | "QLinearAveragePool" => pool(node, around),
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" | "QLinearGlobalAveragePool" => global_pool(node),
        "Gemm" | "FusedGemm" | "QGemm" => gemm(node),
        "MatMul"
        | "FusedMatMul"
        | "TransposeMatMul"
        | "QLinearMatMul"
        | "MatMulInteger"
        | "MatMulInteger16"
        | "DynamicQuantizeMatMul"
        | "MatMulIntegerToFloat" => matrix_product(node),
        "MatMulNBits" => all("MatMulNBits", node).int("N", node.int("N").unwrap_or(-1)),
        "BatchNormalization" => all("FusedBatchNormV3", node)
            .flag("is_training", node.int("training_mode").unwrap_or(0) != 0)
            .with("data_format", Setting::Text("NCHW".to_owned())),
        "LRN" => all("LRN", node).int("depth_radius", node.int("size").unwrap_or(1).saturating_sub(1) / 2),
        "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1" | "ReduceL2"
        | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceSumSquare" => reduction(node, around),
        "ArgMax" | "ArgMin" => Made::new(ONNX.lowered(&node.op), vec![Input::Of(0), Input::Int(axis(node, 0))])
            .flag("keep_dims", node.int("keepdims").unwrap_or(1) != 0)
            .with("output_type", Setting::Type(DType::INT64)),
        // For two integers, since sizes may follow from the result.
        "Max" if node.inputs.len() == 2 => all("Maximum", node),
        "Min" if node.inputs.len() == 2 => all("Minimum", node),
        "Einsum" => all("Einsum", node).with("equation", Setting::Text(with_arrow(node.text("equation")))),
        "LSTM" | "GRU" | "RNN" => recurrent(node),
        "Attention" if node.domain == "com.microsoft" => all("PackedAttention", node),
        "QAttention" => all("PackedAttention", node),
        "Attention" => attention(node, 4),
        "MultiHeadAttention" => attention(node, 6),
        "GroupQueryAttention" => attention(node, 3),
        "SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss" => {
            let reduction = node.attribute("reduction").and_then(|one| one.text.clone());
            all(ONNX.lowered(&node.op), node).with("reduction", Setting::Text(reduction.unwrap_or_default()))
        }
        _ => return None,
    })
}

/// Ops that give a tensor another shape, or make one of a shape.
fn shaping(node: &Node, _: &dyn NodeContext) -> Option<Made> {
    Some(match node.op.as_str() {
        "Transpose" => match node.ints("perm") {
            Some(order) => Made::new("Transpose", vec![Input::Of(0), Input::Ints(order.to_vec())]),
            None => all("Transpose", node),
        },
        "Squeeze" | "Unsqueeze" => {
            let inputs = match node.ints("axes") {
                Some(axes) => vec![Input::Of(0), Input::Ints(axes.to_vec())],
                None => (0..node.inputs.len()).map(Input::Of).collect(),
            };
            Made::new(ONNX.lowered(&node.op), inputs)
        }
        "Reshape" => {
            let inputs = match node.ints("shape") {
                Some(shape) => vec![Input::Of(0), Input::Ints(shape.to_vec())],
                None => vec![Input::Of(0), Input::Of(1)],
            };
            Made::new("Reshape", inputs).flag("zero_copies", node.int("allowzero").unwrap_or(0) == 0)
        }
        "Flatten" => all("Flatten", node).int("axis", axis(node, 1)),
        "Shape" => {
            let made = all("Shape", node).with("out_type", Setting::Type(DType::INT64));
            let made = made.int("start", node.int("start").unwrap_or(0));
            match node.int("end") {
                Some(end) => made.int("end", end),
                None => made,
            }
        }
        "RandomNormal" | "RandomUniform" => {
            let shape = Input::Ints(node.ints("shape").unwrap_or_default().to_vec());
            Made::new(ONNX.lowered(&node.op), vec![shape])
                .with("dtype", Setting::Type(wire::dtype(node.int("dtype").unwrap_or(1))))
        }
        "Size" => all("Size", node).with("out_type", Setting::Type(DType::INT64)),
        "ConstantOfShape" => {
            let value = node.attribute("value").and_then(|value| value.tensor.clone());
            let dtype = value.as_ref().map_or(DType::FLOAT, |value| value.dtype);
            let number = value.and_then(|value| value.ints?.first().copied());
            Made::new("Fill", vec![Input::Of(0), Input::Scalar(dtype, number)])
        }
        "DepthToSpace" | "SpaceToDepth" => all(ONNX.lowered(&node.op), node)
            .int("block_size", node.int("blocksize").unwrap_or(-1))
            .with("data_format", Setting::Text("NCHW".to_owned())),
        _ => return None,
    })
}

/// Ops that move elements.
fn moving(node: &Node, around: &dyn NodeContext) -> Option<Made> {
    Some(match node.op.as_str() {
        "Concat" | "QLinearConcat" => {
            let quantized = node.op == "QLinearConcat";
            let is_part = |at: &usize| !quantized || (*at >= 2 && at % 3 == 2);
            let parts = (0..node.inputs.len()).filter(is_part).map(Input::Of);
            Made::new("ConcatV2", parts.chain([Input::Int(axis(node, 0))]).collect())
        }
        "Split" => split(node),
        "Slice" => slice(node),
        "Gather" => Made::new("GatherV2", vec![Input::Of(0), Input::Of(1), Input::Int(axis(node, 0))]),
        "GatherND" => all("GatherNd", node).int("batch_dims", node.int("batch_dims").unwrap_or(0)),
        "Compress" | "Unique" | "CenterCropPad" => {
            let made = all(ONNX.lowered(&node.op), node);
            let made = node.int("axis").map_or(made.clone(), |axis| made.int("axis", axis));
            node.ints("axes").map_or(made.clone(), |axes| made.with("axes", Setting::Ints(axes.to_vec())))
        }
        "Pad" => pad(node),
        "TopK" => {
            let inputs = match node.int("k") {
                Some(k) => vec![Input::Of(0), Input::Int(k)],
                None => vec![Input::Of(0), Input::Of(1)],
            };
            Made::new("TopKV2", inputs).int("axis", axis(node, -1)).with("index_type", Setting::Type(DType::INT64))
        }
        "OneHot" => all("OneHot", node).int("axis", axis(node, -1)),
        "Resize" | "Upsample" => resize(node, around),
        "RoiAlign" => all("RoiAlign", node)
            .int("output_height", node.int("output_height").unwrap_or(1))
            .int("output_width", node.int("output_width").unwrap_or(1))
            .int("sampling_ratio", node.int("sampling_ratio").unwrap_or(0)),
        "Identity" | "Dropout" => Made::new("Identity", vec![Input::Of(0)]),
        _ => return None,
    })
}

/// Ops that convert numbers, and quantized arithmetic.
fn quantizing(node: &Node, around: &dyn NodeContext) -> Option<Made> {
    Some(match node.op.as_str() {
        "BitCast" => all("Bitcast", node).with("type", Setting::Type(wire::dtype(node.int("to").unwrap_or(0)))),
        "Cast" => all("Cast", node).with("DstT", Setting::Type(wire::dtype(node.int("to").unwrap_or(0)))),
        "CastLike" => {
            let dtype = node.input(1).map_or(DType::UNKNOWN, |like| around.stated(like).0);
            Made::new("Cast", vec![Input::Of(0)]).with("DstT", Setting::Type(dtype))
        }
        "DequantizeLinear" => {
            let scale = node.input(1).map_or(DType::FLOAT, |scale| around.stated(scale).0);
            let dtype = if scale == DType::UNKNOWN { DType::FLOAT } else { scale };
            all("Dequantize", node).with("dtype", Setting::Type(dtype))
        }
        "QuantizeLinear" => {
            let zero = node.input(2).map_or(DType::UINT8, |zero| around.stated(zero).0);
            let stated = node.int("output_dtype").filter(|n| *n != 0).map(wire::dtype);
            all("QuantizeLinear", node).with("out_type", Setting::Type(stated.unwrap_or(zero)))
        }
        "DynamicQuantizeLinear" => all("QuantizeLinear", node).with("out_type", Setting::Type(DType::UINT8)),
        // In quantized addition and multiplication, a scale and a zero point follow each operand.
        "QLinearAdd" | "QLinearMul" => Made::new(ONNX.lowered(&node.op), vec![Input::Of(0), Input::Of(3)]),
        _ => return None,
    })
}

fn axis(node: &Node, default: i64) -> i64 {
    node.int("axis").unwrap_or(default)
}

/// Whether an input is a setting of the node, so that a constant there is not a weight.
pub fn is_setting(node: &Node, at: usize) -> bool {
    match node.op.as_str() {
        "QuantizeLinear"
        | "DequantizeLinear"
        | "DynamicQuantizeLinear"
        | "Resize"
        | "Upsample"
        | "Clip"
        | "Pad"
        | "Slice"
        | "Range"
        | "OneHot"
        | "TopK"
        | "Trilu"
        | "Expand"
        | "Tile"
        | "ConstantOfShape"
        | "Dropout"
        | "NonMaxSuppression"
        | "CumSum"
        | "Reshape"
        | "Squeeze"
        | "Unsqueeze" => at > 0,
        // Lengths of sequences, and initial states.
        "LSTM" | "GRU" | "RNN" => matches!(at, 4..=6),
        "QLinearConv" => !matches!(at, 0 | 3 | 8),
        "QLinearMatMul" | "QLinearAdd" | "QLinearMul" => !matches!(at, 0 | 3),
        "MatMulInteger" | "ConvInteger" | "MatMulNBits" | "GatherBlockQuantized" => at > 1,
        "QGemm" => !matches!(at, 0 | 3 | 6),
        _ => false,
    }
}

/// Whether a constant of one element is a factor or a bound here rather than a weight.
pub fn is_factor(node: &Node) -> bool {
    matches!(
        node.op.as_str(),
        "Mul"
            | "Div"
            | "Sub"
            | "Pow"
            | "Max"
            | "Min"
            | "Where"
            | "Greater"
            | "Less"
            | "Equal"
            | "Mod"
            | "GreaterOrEqual"
            | "LessOrEqual"
    )
}

/// Whether integers here are quantized weights.
pub fn is_quantized_weight(node: &Node, at: usize) -> bool {
    match node.op.as_str() {
        "DequantizeLinear" | "GatherBlockQuantized" => at == 0,
        "QLinearConv" => matches!(at, 3 | 8),
        "QLinearMatMul" | "QLinearAdd" | "QLinearMul" => at == 3,
        "MatMulInteger"
        | "ConvInteger"
        | "MatMulIntegerToFloat"
        | "DynamicQuantizeMatMul"
        | "MatMulNBits"
        | "QAttention" => at == 1,
        "QGemm" => matches!(at, 3 | 6),
        _ => false,
    }
}

/// The number of spatial dimensions of a convolution or pooling op.
fn spatial(node: &Node, around: &dyn NodeContext, filter: Option<usize>) -> usize {
    let listed = ["kernel_shape", "strides", "dilations"].iter().find_map(|name| node.ints(name).map(<[i64]>::len));
    let of_pads = || node.ints("pads").map(|pads| pads.len() / 2);
    let of_filter = || around.stated(node.input(filter?)?).1.rank()?.checked_sub(2);
    listed.or_else(of_pads).or_else(of_filter).unwrap_or(2).min(8)
}

/// Strides, dilations and paddings with entries for the batch and the channels.
fn windows(made: Made, node: &Node, spatial: usize) -> Made {
    let list = |name: &str| {
        let own = node.ints(name).unwrap_or_default();
        let each = (0..spatial).map(|at| own.get(at).copied().unwrap_or(1));
        [1, 1].into_iter().chain(each).collect::<Vec<i64>>()
    };
    let padding = match node.text("auto_pad") {
        "SAME_UPPER" | "SAME_LOWER" => "SAME",
        "VALID" => "VALID",
        _ => "EXPLICIT",
    };
    let pads = node.ints("pads").unwrap_or_default();
    let pad = |at: usize| pads.get(at).copied().unwrap_or(0);
    let explicit = [0; 4].into_iter().chain((0..spatial).flat_map(|at| [pad(at), pad(at + spatial)])).collect();
    made.with("strides", Setting::Ints(list("strides")))
        .with("dilations", Setting::Ints(list("dilations")))
        .with("padding", Setting::Text(padding.to_owned()))
        .with("explicit_paddings", Setting::Ints(explicit))
        .with("data_format", Setting::Text((if spatial == 3 { "NCDHW" } else { "NCHW" }).to_owned()))
}

fn convolution(node: &Node, around: &dyn NodeContext) -> Made {
    let (filter, bias) = match node.op.as_str() {
        "QLinearConv" => (3, 8),
        "DeformConv" => (1, 3),
        _ => (1, 2),
    };
    let spatial = spatial(node, around, Some(filter));
    let has_bias = node.input(bias).is_some() && node.op != "ConvInteger";
    let mut inputs = vec![Input::Of(0), Input::Of(filter)];
    inputs.extend(has_bias.then_some(Input::Of(bias)));
    let fused: Vec<&'static str> = has_bias.then_some("BiasAdd").into_iter().collect();
    let op = ONNX.lowered(&node.op);
    let made = windows(Made::new(op, inputs), node, spatial)
        .with("filter_format", Setting::Text("OI".to_owned()))
        .with("fused_ops", Setting::Texts(fused));
    let made = made.int("_activation", i64::from(node.attribute("activation").is_some()));
    let made = if node.op == "ConvInteger" { made.with("T", Setting::Type(DType::INT32)) } else { made };
    if node.op != "ConvTranspose" {
        return made;
    }
    let made = made.int("group", node.int("group").unwrap_or(1));
    let made = made.with("output_padding", Setting::Ints(node.ints("output_padding").unwrap_or_default().to_vec()));
    made.with("output_shape", Setting::Ints(node.ints("output_shape").unwrap_or_default().to_vec()))
}

fn pool(node: &Node, around: &dyn NodeContext) -> Made {
    let spatial = spatial(node, around, None);
    let op = match (node.op.as_str(), node.outputs.len()) {
        ("MaxPool", 2..) => "MaxPoolWithArgmax",
        _ => ONNX.lowered(&node.op),
    };
    let sizes = node.ints("kernel_shape").unwrap_or_default();
    let ksize = [1, 1].into_iter().chain(sizes.iter().copied()).collect();
    windows(Made::new(op, vec![Input::Of(0)]), node, spatial)
        .with("ksize", Setting::Ints(ksize))
        .flag("ceil_mode", node.int("ceil_mode").unwrap_or(0) != 0)
}

/// A reduction over all dimensions but the batch and the channels.
fn global_pool(node: &Node) -> Made {
    Made::new(ONNX.lowered(&node.op), vec![Input::Of(0)]).flag("keep_dims", true).int("first_axis", 2)
}

fn gemm(node: &Node) -> Made {
    let (b, c) = if node.op == "QGemm" { (3, 6) } else { (1, 2) };
    let has_bias = node.input(c).is_some();
    let mut inputs = vec![Input::Of(0), Input::Of(b)];
    inputs.extend(has_bias.then_some(Input::Of(c)));
    let fused: Vec<&'static str> = has_bias.then_some("BiasAdd").into_iter().collect();
    Made::new("_FusedMatMul", inputs)
        .int("_activation", i64::from(node.attribute("activation").is_some()))
        .flag("transpose_a", node.int("transA").unwrap_or(0) != 0)
        .flag("transpose_b", node.int("transB").unwrap_or(0) != 0)
        .with("fused_ops", Setting::Texts(fused))
}

fn matrix_product(node: &Node) -> Made {
    let b = if node.op == "QLinearMatMul" { 3 } else { 1 };
    let made = Made::new("BatchMatMulV2", vec![Input::Of(0), Input::Of(b)])
        .flag("adj_x", node.int("transA").unwrap_or(0) != 0)
        .flag("adj_y", node.int("transB").unwrap_or(0) != 0);
    match node.op.as_str() {
        "MatMulInteger" | "MatMulInteger16" => made.with("T", Setting::Type(DType::INT32)),
        "MatMulIntegerToFloat" => made.with("T", Setting::Type(DType::FLOAT)),
        _ => made,
    }
}

fn reduction(node: &Node, around: &dyn NodeContext) -> Made {
    let mut inputs = vec![Input::Of(0)];
    let listed = node.ints("axes").map(<[i64]>::to_vec);
    let given = listed.or_else(|| around.ints(node.input(1)?));
    let none = given.as_ref().map_or(node.input(1).is_none(), Vec::is_empty);
    if none && node.int("noop_with_empty_axes").unwrap_or(0) != 0 {
        return Made::new("Identity", inputs);
    }
    match given {
        _ if none => {}
        Some(axes) => inputs.push(Input::Ints(axes)),
        None => inputs.push(Input::Of(1)),
    }
    Made::new(ONNX.lowered(&node.op), inputs).flag("keep_dims", node.int("keepdims").unwrap_or(1) != 0)
}

fn split(node: &Node) -> Made {
    let axis = Input::Int(node.int("axis").unwrap_or(0));
    let count = node.outputs.len() as i64;
    let sizes = match node.ints("split") {
        Some(sizes) => Some(Input::Ints(sizes.to_vec())),
        None => node.input(1).map(|_| Input::Of(1)),
    };
    match sizes {
        Some(sizes) => Made::new("SplitV", vec![Input::Of(0), sizes, axis]).int("num_split", count),
        None => Made::new("Split", vec![axis, Input::Of(0)]).int("num_split", count).flag("uneven", true),
    }
}

fn slice(node: &Node) -> Made {
    let mut inputs = vec![Input::Of(0)];
    let (has_axes, has_steps);
    if let (Some(starts), Some(ends)) = (node.ints("starts"), node.ints("ends")) {
        let axes = node.ints("axes");
        inputs.extend([Input::Ints(starts.to_vec()), Input::Ints(ends.to_vec())]);
        (has_axes, has_steps) = (axes.is_some(), false);
        inputs.extend(axes.map(|axes| Input::Ints(axes.to_vec())));
    } else {
        (has_axes, has_steps) = (node.input(3).is_some(), node.input(4).is_some());
        inputs.extend([Input::Of(1), Input::Of(2)]);
        inputs.extend(has_axes.then_some(Input::Of(3)));
        inputs.extend(has_steps.then_some(Input::Of(4)));
    }
    Made::new("SliceAxes", inputs).flag("has_axes", has_axes).flag("has_steps", has_steps)
}

fn pad(node: &Node) -> Made {
    let listed = node.ints("pads").or_else(|| node.ints("paddings"));
    let pads = listed.map_or(Input::Of(1), |pads| Input::Ints(pads.to_vec()));
    let mut inputs = vec![Input::Of(0), pads];
    inputs.extend(node.input(3).map(|_| Input::Of(3)));
    Made::new("PadEnds", inputs)
}

fn resize(node: &Node, around: &dyn NodeContext) -> Made {
    let nearest = matches!(node.text("mode"), "nearest" | "");
    let op = if nearest { "ResizeScaledNearest" } else { "ResizeScaled" };
    if let Some(scales) = node.attribute("scales") {
        return Made::new(op, vec![Input::Of(0), Input::Floats(scales.floats.clone())]);
    }
    let old = node.op == "Upsample" || around.version(&node.domain) < 11;
    let (scales, sizes) = if old { (1, 2) } else { (2, 3) };
    // An empty list of scales is no list. With a policy, the sizes are bounds.
    let is_exact = matches!(node.text("keep_aspect_ratio_policy"), "" | "stretch");
    let by = match node.input(sizes) {
        Some(_) if is_exact => vec![Input::Of(0), Input::Of(sizes)],
        Some(_) => vec![Input::Of(0)],
        None => vec![Input::Of(0), Input::Of(scales)],
    };
    let made = Made::new(op, by);
    node.ints("axes").map_or(made.clone(), |axes| made.with("axes", Setting::Ints(axes.to_vec())))
}

/// Attention by heads; `past` is the place of the keys of earlier calls.
fn attention(node: &Node, past: usize) -> Made {
    let heads = node.int("q_num_heads").or(node.int("num_heads")).unwrap_or(0);
    Made::new("HeadsAttention", [0, 1, 2, past].map(Input::Of).to_vec())
        .int("heads", heads)
        .int("shared_heads", node.int("kv_num_heads").unwrap_or(heads))
        .flag("has_keys", node.input(1).is_some())
        .flag("has_values", node.input(2).is_some())
        .flag("has_past", node.input(past).is_some())
}

fn recurrent(node: &Node) -> Made {
    let (gates, elementwise) = match node.op.as_str() {
        "LSTM" => (4, 23),
        "GRU" => (3, 18),
        _ => (1, 2),
    };
    all("Recurrent", node)
        .int("gates", gates)
        .int("elementwise", elementwise)
        .int("layout", node.int("layout").unwrap_or(0))
}

/// An equation with its output: without one, all labels that occur once, in the order of the alphabet.
fn with_arrow(equation: &str) -> String {
    if equation.contains("->") {
        return equation.to_owned();
    }
    let mut letters: Vec<char> = equation.chars().filter(char::is_ascii_alphabetic).collect();
    letters.sort_unstable();
    letters.dedup();
    let once = |letter: &&char| equation.matches(**letter).count() == 1;
    let output: String = letters.iter().filter(once).collect();
    let dots = if equation.contains("...") { "..." } else { "" };
    format!("{equation}->{dots}{output}")
}
