//! Bytes that PyTorch's ops read and write, from the shapes and types of their inputs. An op whose result cannot be told
//! from its inputs is unknown; an op that only looks at memory in another way moves nothing.

use super::product;
use super::torch::Inputs;

/// The inputs of an op with their types, as the trace names them.
#[derive(Clone, Copy, Debug)]
pub struct Types<'a> {
    pub inputs: Inputs<'a>,
    pub names: &'a [String],
}

/// Ops that return another look at the same memory, or that leave the work to an op inside them.
#[rustfmt::skip]
const LOOKS: &[&str] = &[
    "_conj", "_reshape_alias", "_unsafe_view", "alias", "arange", "as_strided", "as_strided_", "broadcast_tensors", "chunk",
    "clone", "conj", "contiguous", "detach", "detach_", "diagonal", "empty", "empty_like", "empty_strided", "expand",
    "expand_as", "flatten", "is_pinned", "lift_fresh", "movedim", "narrow", "new_empty", "new_empty_strided", "numpy_T",
    "permute", "record_stream", "reshape", "resolve_conj", "resolve_neg", "result_type", "select", "set_", "slice", "split",
    "split_with_sizes", "squeeze", "squeeze_", "t", "to", "_to_copy", "transpose", "unbind", "unflatten", "unfold", "unsafe_split",
    "unsqueeze", "unsqueeze_", "view", "view_as",
];

/// Ops that read all their inputs, and whose result is as large as their largest input.
#[rustfmt::skip]
const LIKE_INPUT: &[&str] = &[
    "add", "sub", "rsub", "mul", "div", "maximum", "minimum", "pow", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "reciprocal",
    "square", "sin", "cos", "tanh", "erf", "relu", "clamp_min", "clamp", "sigmoid", "leaky_relu", "threshold", "_softmax",
    "_log_softmax", "silu", "gelu", "hardtanh", "native_layer_norm", "native_group_norm", "native_batch_norm",
    "cudnn_batch_norm", "miopen_batch_norm", "_fused_rms_norm", "cumsum", "sign", "floor", "lerp", "addcmul", "addcdiv",
    "masked_fill", "where", "silu_backward", "gelu_backward", "threshold_backward", "tanh_backward", "sigmoid_backward",
];

/// Ops whose result is small beside their first input.
const REDUCTIONS: &[&str] = &["sum", "mean", "max", "min", "argmax", "prod", "norm", "linalg_vector_norm"];

/// The bytes that one execution of an op reads and writes; `flops` are its own.
pub fn bytes(name: &str, types: Types<'_>, flops: Option<i64>) -> Option<i64> {
    let op = name.strip_prefix("aten::")?;
    if LOOKS.contains(&op) {
        return Some(0);
    }
    let in_place = op.strip_suffix('_').unwrap_or(op);
    match op {
        // The destination comes first.
        "copy_" => types.all(),
        "fill_" | "zero_" => types.bytes(0),
        "cat" | "concat" | "stack" => None,
        _ if REDUCTIONS.contains(&op) => types.bytes(0),
        _ if LIKE_INPUT.contains(&in_place) => Some(types.all()?.saturating_add(types.largest()?)),
        "mm" | "bmm" | "mv" | "linear" | "mkldnn_linear" | "_mkl_linear" | "mkldnn_linear_pointwise" => {
            types.product(0, flops)
        }
        "addmm" | "baddbmm" | "addmv" => types.product(1, flops),
        "conv1d" | "conv2d" | "conv3d" | "convolution" | "_convolution" => {
            let each = product(types.inputs.tensor(1)?.get(1..)?);
            types.with_result(flops, each)
        }
        _ if op.contains("scaled_dot_product") && !op.contains("backward") => {
            let read: Option<i64> = (0..3).map(|at| types.bytes(at)).sum();
            Some(read?.saturating_add(types.bytes(0)?))
        }
        _ => None,
    }
}

impl Types<'_> {
    /// The bytes of an input.
    fn bytes(&self, at: usize) -> Option<i64> {
        let dims = self.inputs.tensor(at)?;
        Some(product(dims).saturating_mul(size(self.names.get(at)?)?))
    }

    /// The bytes of all inputs that are tensors.
    fn all(&self) -> Option<i64> {
        let tensors = (0..self.inputs.dims.len()).filter(|at| !self.inputs.dims[*at].is_empty());
        tensors.map(|at| self.bytes(at)).try_fold(0_i64, |sum, bytes| Some(sum.saturating_add(bytes?)))
    }

    fn largest(&self) -> Option<i64> {
        (0..self.inputs.dims.len()).filter_map(|at| self.bytes(at)).max()
    }

    /// A product of matrices, of which the left one is this input.
    fn product(&self, left: usize, flops: Option<i64>) -> Option<i64> {
        self.with_result(flops, *self.inputs.tensor(left)?.last()?)
    }

    /// The inputs and the result, each element of which takes so many multiply-adds.
    fn with_result(&self, flops: Option<i64>, each: i64) -> Option<i64> {
        let elements = flops?.checked_div(each.saturating_mul(2))?;
        let result = elements.saturating_mul(size(self.names.first()?)?);
        Some(self.all()?.saturating_add(result))
    }
}

/// The bytes of one element of a type, as PyTorch names it.
fn size(name: &str) -> Option<i64> {
    let name = name.strip_prefix("c10::").or_else(|| name.strip_prefix("at::")).unwrap_or(name);
    match name {
        "double" | "long int" | "long" | "complex<float>" => Some(8),
        "float" | "int" => Some(4),
        "Half" | "BFloat16" | "short int" | "short" | "half" => Some(2),
        "bool" | "signed char" | "unsigned char" | "char" => Some(1),
        name if name.starts_with("Float8") => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, dims: &[&[i64]], types: &[&str], flops: Option<i64>) -> Option<i64> {
        let dims: Vec<Vec<i64>> = dims.iter().map(|dims| dims.to_vec()).collect();
        let names: Vec<String> = types.iter().map(|name| (*name).to_owned()).collect();
        bytes(name, Types { inputs: Inputs { dims: &dims, values: &[] }, names: &names }, flops)
    }

    #[test]
    fn inputs_and_results_count_once() {
        // 4x8 by 8x2 gives 4x2.
        let mm = of("aten::mm", &[&[4, 8], &[8, 2]], &["float", "float"], Some(2 * 4 * 8 * 2));
        assert_eq!(mm, Some(4 * (32 + 16 + 8)));
        let conv = of("aten::conv2d", &[&[1, 3, 8, 8], &[5, 3, 3, 3]], &["c10::BFloat16"; 2], Some(2 * 5 * 36 * 27));
        assert_eq!(conv, Some(2 * (192 + 135 + 180)));
        assert_eq!(of("aten::add", &[&[10], &[10], &[]], &["float", "float", "Scalar"], None), Some(120));
        assert_eq!(of("aten::copy_", &[&[10], &[10]], &["float", "double"], None), Some(120));
        assert_eq!(of("aten::view", &[&[10]], &["float"], None), Some(0));
    }

    #[test]
    fn unknown_types_and_results_stay_unknown() {
        assert_eq!(of("aten::add", &[&[10], &[10]], &["float", "mystery"], None), None);
        assert_eq!(of("aten::mm", &[&[4, 8], &[8, 2]], &["float", "float"], None), None);
        assert_eq!(of("aten::nonzero", &[&[10]], &["float"], None), None);
    }
}
