//! Ops of PyTorch by name: those that cost nothing, those on single elements, those that do the work of others inside them.

/// Ops that only move data, or make it: zero by definition.
#[rustfmt::skip]
pub const FREE: &[&str] = &[
    "_conj", "_has_compatible_shallow_copy_type", "_local_scalar_dense", "_nested_tensor_from_mask", "_reshape_alias",
    "_shape_as_tensor", "_to_copy", "_unsafe_view", "alias", "arange", "as_strided", "as_strided_", "broadcast_tensors", "cat", "chunk",
    "clone", "concat", "conj", "contiguous", "copy_", "detach", "detach_", "diagonal", "embedding", "empty", "empty_like",
    "empty_strided", "expand", "expand_as", "eye", "fill_", "flatten", "flip", "full", "full_like", "gather", "index",
    "index_put_", "index_select", "is_pinned", "item", "lift_fresh", "linspace", "masked_fill", "masked_fill_", "masked_select",
    "movedim", "narrow", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros", "normal_", "numpy_T", "ones",
    "ones_like", "permute", "pin_memory", "pixel_shuffle", "rand", "randint", "randn", "random_", "randperm", "record_stream",
    "repeat", "repeat_interleave", "reshape", "resize_", "resolve_conj", "resolve_neg", "result_type", "roll", "scalar_tensor", "scatter",
    "select", "set_", "slice", "slice_backward", "split", "split_with_sizes", "squeeze", "squeeze_", "stack", "t", "to",
    "transpose", "tril", "triu", "unbind", "unflatten", "unfold", "uniform_", "unsafe_split", "unsqueeze", "unsqueeze_", "view",
    "view_as", "where", "zero_", "zeros", "zeros_like",
];

/// Ops on single elements, each with the op of TensorFlow that has the same formula.
#[rustfmt::skip]
pub const ELEMENTWISE: &[(&str, &str)] = &[
    ("add", "AddV2"), ("sub", "Sub"), ("rsub", "Sub"), ("mul", "Mul"), ("div", "RealDiv"), ("maximum", "Maximum"),
    ("minimum", "Minimum"), ("pow", "Pow"), ("neg", "Neg"), ("abs", "Abs"), ("exp", "Exp"), ("log", "Log"), ("sqrt", "Sqrt"),
    ("rsqrt", "Rsqrt"), ("reciprocal", "Reciprocal"), ("square", "Square"), ("sin", "Sin"), ("cos", "Cos"), ("tanh", "Tanh"), ("erf", "Erf"),
    ("relu", "Relu"), ("clamp_min", "Maximum"), ("clamp", "ClipByValue"), ("sigmoid", "Sigmoid"), ("leaky_relu", "LeakyRelu"),
    ("threshold", "Relu"), ("_softmax", "Softmax"), ("_log_softmax", "LogSoftmax"), ("silu", "_MklSwish"), ("cumsum", "Cumsum"),
    ("eq", "Equal"), ("ne", "NotEqual"), ("lt", "Less"), ("le", "LessEqual"), ("gt", "Greater"), ("ge", "GreaterEqual"),
    ("logical_and", "LogicalAnd"), ("logical_or", "LogicalOr"), ("logical_not", "LogicalNot"), ("sign", "Sign"), ("floor", "Floor"),
    ("gelu", "Gelu"), ("hardswish", "HardSwish"), ("hardsigmoid", "HardSigmoid"), ("elu", "Elu"), ("native_layer_norm", "LayerNorm"),
    ("_fused_rms_norm", "RmsNorm"), ("threshold_backward", "ReluGrad"), ("leaky_relu_backward", "LeakyReluGrad"),
    ("tanh_backward", "TanhGrad"), ("sigmoid_backward", "SigmoidGrad"), ("elu_backward", "EluGrad"),
];

/// FLOPs for each element of the first input, for ops that graphs do not have.
#[rustfmt::skip]
pub const PER_ELEMENT: &[(&str, i64)] = &[
    ("addcmul_", 3), ("addcmul", 3), ("addcdiv_", 3), ("addcdiv", 3), ("lerp_", 3), ("lerp", 3), ("hardtanh", 2),
    ("native_group_norm", 8), ("native_dropout", 2), ("native_dropout_backward", 2), ("sum", 1), ("mean", 1), ("max", 1), ("min", 1),
    ("amax", 1), ("amin", 1), ("argmax", 1), ("argmin", 1), ("prod", 1), ("norm", 2), ("linalg_vector_norm", 2), ("nll_loss_forward", 1), ("mse_loss", 3),
    ("mse_loss_backward", 3), ("bernoulli_", 1), ("hardtanh_backward", 2), ("embedding_dense_backward", 1),
    // A product with the result, its sum, a difference and a product; the logarithm takes a power instead of the first product.
    ("_softmax_backward_data", 4), ("_log_softmax_backward_data", 4),
    // Of the gradient: as graphs have it, or twice the forward op.
    ("native_batch_norm_backward", 11), ("cudnn_batch_norm_backward", 11), ("miopen_batch_norm_backward", 11),
    ("native_layer_norm_backward", 14), ("native_group_norm_backward", 16), ("gelu_backward", 10), ("silu_backward", 10),
];

/// Ops that do the work themselves, besides convolutions and attention.
#[rustfmt::skip]
pub const WHOLE: &[&str] = &[
    "mm", "addmm", "bmm", "baddbmm", "addbmm", "_addmm_activation", "_scaled_mm", "_int_mm", "mv", "addmv", "dot", "vdot",
    "mkldnn_rnn_layer", "mkldnn_rnn_layer_backward", "_cudnn_rnn", "miopen_rnn",
];

/// Ops that leave all work to ops inside them.
#[rustfmt::skip]
pub const WRAPPERS: &[&str] = &[
    "matmul", "einsum", "layer_norm", "batch_norm", "_batch_norm_impl_index", "_batch_norm_impl_index_backward", "group_norm",
    "instance_norm", "softmax", "log_softmax", "dropout", "cross_entropy_loss", "nll_loss", "nll_loss_nd", "nll_loss2d",
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell",
    "gru_cell", "bilinear", "clip", "clip_", "relu6", "multiply",
    "subtract", "divide", "true_divide", "type_as", "rms_norm",
];
