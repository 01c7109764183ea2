//! FLOPs of PyTorch's ops, from the shapes of their inputs: names and arguments are mapped to the formulas of graphs.

use super::torch_ops::{ELEMENTWISE, FREE, PER_ELEMENT, WHOLE, WRAPPERS};
use super::torch_windows::{convolution, pool, recurrent_on_gpu};
use super::{Dims, Op, find, product};

/// How an op of a trace is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// It does the work itself, whatever is inside it.
    Whole,
    /// It does the work unless an op inside it does.
    IfLeaf,
    /// It leaves all work to ops inside it.
    Never,
}

/// The inputs of an op as a trace has them: sizes (empty if it is no tensor), and values of those that are none.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    pub dims: &'a [Vec<i64>],
    pub values: &'a [String],
}

/// The FLOPs of one execution of an op, if they are known.
pub fn flops(name: &str, inputs: Inputs<'_>) -> Option<i64> {
    let op = own_name(name)?;
    let in_place = op.strip_suffix('_').unwrap_or(op);
    if FREE.contains(&op) {
        return Some(0);
    }
    if let Some((_, family)) = ELEMENTWISE.iter().find(|(known, _)| *known == op || *known == in_place) {
        let output = inputs.broadcast()?;
        return of_family(family, &[&output], &output);
    }
    if let Some((_, each)) = PER_ELEMENT.iter().find(|(known, _)| *known == op) {
        return Some(product(inputs.tensor(0)?).saturating_mul(*each));
    }
    match op {
        "mm" | "_scaled_mm" | "_int_mm" => matrix_product(inputs.tensor(0)?, inputs.tensor(1)?),
        "addmm" | "_addmm_activation" => matrix_product(inputs.tensor(1)?, inputs.tensor(2)?),
        "bmm" => batched(inputs.tensor(0)?, inputs.tensor(1)?),
        "baddbmm" | "addbmm" => batched(inputs.tensor(1)?, inputs.tensor(2)?),
        "mv" | "dot" | "vdot" => {
            let first = inputs.tensor(0)?;
            matrix_product(&[product(&first[..first.len() - 1]), *first.last()?], &[*first.last()?, 1])
        }
        "addmv" => {
            let first = inputs.tensor(1)?;
            matrix_product(first, &[*first.get(1)?, 1])
        }
        "linear" | "mkldnn_linear" | "mkldnn_linear_pointwise" | "_linear_pointwise" => {
            let (input, weight) = (inputs.tensor(0)?, inputs.tensor(1)?);
            let (features, rows) = input.split_last()?;
            matrix_product(&[product(rows), *features], &[*features, *weight.first()?])
        }
        // The user's weight follows the packed one.
        "_mkl_linear" => {
            let (input, weight) = (inputs.tensor(0)?, inputs.tensor(2)?);
            let (features, rows) = input.split_last()?;
            matrix_product(&[product(rows), *features], &[*features, *weight.first()?])
        }
        "mkldnn_rnn_layer" => recurrent(inputs),
        // Gradients of the inputs and of the weights.
        "mkldnn_rnn_layer_backward" => recurrent(inputs)?.checked_mul(2),
        "_cudnn_rnn" | "miopen_rnn" => recurrent_on_gpu(op, inputs),
        "convolution_backward" => backward_convolution(inputs),
        "native_batch_norm" | "cudnn_batch_norm" | "miopen_batch_norm" | "_native_batch_norm_legit" => {
            batch_norm(inputs)
        }
        // Their windows differ by one where sizes do not divide.
        "_adaptive_avg_pool2d" | "_adaptive_avg_pool3d" | "adaptive_max_pool2d" | "adaptive_max_pool3d" => {
            Some(product(inputs.tensor(0)?))
        }
        _ if is_pool(op) => pool(op, inputs),
        _ if op.contains("scaled_dot_product") || is_attention(op) => attention(op, inputs),
        "conv1d" | "conv2d" | "conv3d" => convolution(inputs, [3, 4, 5], false),
        "mkldnn_convolution" | "miopen_convolution" | "_convolution_pointwise" => convolution(inputs, [4, 3, 5], false),
        "cudnn_convolution" => convolution(inputs, [3, 2, 4], false),
        "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => {
            // Every element of the input meets the whole filter of its group.
            let (input, weight) = (inputs.tensor(0)?, inputs.tensor(1)?);
            Some(product(input).saturating_mul(product(weight.get(1..)?)).saturating_mul(2))
        }
        "convolution" | "_convolution" | "convolution_overrideable" => {
            let transposed = inputs.values.get(6).is_some_and(|word| is_true(word));
            convolution(inputs, [3, 4, 5], transposed)
        }
        _ => None,
    }
}

/// Whether an op pools by windows of a given size.
fn is_pool(op: &str) -> bool {
    let name = op.strip_prefix("mkldnn_").unwrap_or(op);
    let kind = name.strip_prefix("max_pool").or_else(|| name.strip_prefix("avg_pool"));
    let kind = kind.map(|rest| rest.strip_suffix("_with_indices").unwrap_or(rest));
    matches!(kind, Some("1d" | "2d" | "3d"))
}

/// The name of an op of torch, or of the library of products that compiled programs call.
fn own_name(name: &str) -> Option<&str> {
    ["aten::", "mkldnn::", "mkl::"].iter().find_map(|prefix| name.strip_prefix(prefix))
}

/// The ops inside `scaled_dot_product_attention`, and those that libraries call: rows come before heads.
fn is_attention(op: &str) -> bool {
    op.starts_with("_flash_attention_") || op.starts_with("_efficient_attention_")
}

/// How an op shares its work with the ops inside it and around it; `None` if it is no op of torch.
pub fn counted(name: &str) -> Option<Counted> {
    let op = own_name(name)?;
    let is_convolution = op.starts_with("conv") || op.ends_with("_convolution") || op == "_convolution_pointwise";
    let is_whole = is_convolution || op.contains("scaled_dot_product") || is_attention(op);
    match op {
        _ if is_whole || WHOLE.contains(&op) => Some(Counted::Whole),
        _ if WRAPPERS.contains(&op) => Some(Counted::Never),
        _ => Some(Counted::IfLeaf),
    }
}

impl Inputs<'_> {
    /// The sizes of an input, which must be known.
    pub(super) fn tensor(&self, at: usize) -> Option<&[i64]> {
        self.dims.get(at).map(Vec::as_slice).filter(|dims| !dims.is_empty() && dims.iter().all(|size| *size >= 0))
    }

    /// A list of numbers that is no tensor: `[1, 1]`.
    pub(super) fn list(&self, at: usize) -> Option<Vec<i64>> {
        let text = self.values.get(at)?.trim();
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        inner.split(',').map(|part| part.trim().parse().ok()).collect()
    }

    /// The shape of an elementwise result: the sizes of all tensors, aligned at the end. A scalar has one element.
    fn broadcast(&self) -> Option<Vec<i64>> {
        let mut result: Vec<i64> = Vec::new();
        for dims in self.dims.iter().filter(|dims| !dims.is_empty()) {
            if dims.iter().any(|size| *size < 0) {
                return None;
            }
            while result.len() < dims.len() {
                result.insert(0, 1);
            }
            let from = result.len() - dims.len();
            for (size, more) in result[from..].iter_mut().zip(dims) {
                *size = if *size == 1 { *more } else { *size };
            }
        }
        Some(result)
    }
}

pub(super) fn is_true(word: &str) -> bool {
    word.trim().eq_ignore_ascii_case("true") || word.trim() == "1"
}

/// The formula of a graph's op on these shapes.
pub(super) fn of_family(op: &str, inputs: &[Dims<'_>], output: Dims<'_>) -> Option<i64> {
    let inputs: Vec<Option<Dims<'_>>> = inputs.iter().copied().map(Some).collect();
    let node =
        Op { name: op, inputs: &inputs, output: Some(output), facts: &[], attribute: &|_| None, as_original: false };
    find(op)?.count(&node).ok().map(|work| work.float_ops)
}

pub(super) fn matrix_product(left: &[i64], right: &[i64]) -> Option<i64> {
    let (&[m, k], &[_, n]) = (left, right) else { return None };
    of_family("MatMul", &[&[m, k], &[k, n]], &[m, n])
}

fn batched(left: &[i64], right: &[i64]) -> Option<i64> {
    let (&[batch, m, k], &[_, _, n]) = (left, right) else { return None };
    of_family("BatchMatMulV2", &[&[batch, m, k], &[batch, k, n]], &[batch, m, n])
}

/// Gradients of a convolution: as much as the convolution for each of the input and the weight that is asked for.
fn backward_convolution(inputs: Inputs<'_>) -> Option<i64> {
    let (gradient, weight) = (inputs.tensor(0)?, inputs.tensor(2)?);
    let transposed = inputs.values.get(7).is_some_and(|word| is_true(word));
    let once = if transposed {
        product(inputs.tensor(1)?).saturating_mul(product(weight.get(1..)?)).saturating_mul(2)
    } else {
        product(gradient).saturating_mul(product(weight.get(1..)?)).saturating_mul(2)
    };
    let mask = inputs.values.get(10).map(|text| text.trim_matches(['[', ']']).to_owned());
    let wanted = mask.map_or(2, |mask| mask.split(',').take(2).filter(|word| is_true(word)).count() as i64);
    Some(once.saturating_mul(wanted))
}

/// The formula has moments of its own in training, and given ones otherwise.
fn batch_norm(inputs: Inputs<'_>) -> Option<i64> {
    let image = inputs.tensor(0)?;
    let trains = inputs.values.get(5).is_none_or(|word| is_true(word));
    let (each, once) = if trains { (6, 6) } else { (2, 4) };
    Some(product(image).saturating_mul(each).saturating_add(image.get(1)?.saturating_mul(once)))
}

/// Two products of matrices forward, five backward.
fn attention(op: &str, inputs: Inputs<'_>) -> Option<i64> {
    let is_backward = op.ends_with("_backward");
    let first = usize::from(is_backward);
    let [query, key, value] = [first, first + 1, first + 2].map(|at| inputs.tensor(at));
    let (query, key, value) = (query?, key?, value?);
    let width = *value.last()?;
    let (batch, rows, depth, columns) = if is_attention(op) {
        // Sequences of many lengths in one row are not told apart.
        let (&[batch, rows, heads, depth], &[_, columns, _, _]) = (query, key) else { return None };
        (batch.checked_mul(heads)?, rows, depth, columns)
    } else {
        let (&[rows, depth], &[columns, _]) = (query.last_chunk::<2>()?, key.last_chunk::<2>()?);
        (product(&query[..query.len() - 2]), rows, depth, columns)
    };
    let scores = batched(&[batch, rows, depth], &[batch, depth, columns])?;
    let results = batched(&[batch, rows, columns], &[batch, columns, width])?;
    Some(if is_backward {
        scores.saturating_mul(3).saturating_add(results.saturating_mul(2))
    } else {
        scores.saturating_add(results)
    })
}

/// A layer of an LSTM, as one op: all gates of all steps, from the input and from the state before.
fn recurrent(inputs: Inputs<'_>) -> Option<i64> {
    let (input, weight, hidden) = (inputs.tensor(0)?, inputs.tensor(1)?, inputs.tensor(2)?);
    let &[steps, batch, features] = input else { return None };
    let rows = steps.checked_mul(batch)?;
    let from_input = matrix_product(&[rows, features], &[features, *weight.first()?])?;
    let from_state = matrix_product(&[rows, *hidden.get(1)?], &[*hidden.get(1)?, *hidden.first()?])?;
    Some(from_input.saturating_add(from_state))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, dims: &[&[i64]], values: &[&str], expected: Option<i64>) {
        let dims: Vec<Vec<i64>> = dims.iter().map(|dims| dims.to_vec()).collect();
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        assert_eq!(flops(name, Inputs { dims: &dims, values: &values }), expected, "{name}");
    }

    #[test]
    fn ops_have_the_cost_of_their_family() {
        check("aten::mm", &[&[8, 4], &[4, 5]], &[], Some(320));
        check("aten::addmm", &[&[5], &[8, 4], &[4, 5]], &[], Some(320));
        check("aten::bmm", &[&[2, 8, 4], &[2, 4, 5]], &[], Some(640));
        check("aten::linear", &[&[2, 3, 4], &[5, 4], &[5]], &[], Some(240));
        check("aten::add", &[&[2, 3], &[3], &[]], &[], Some(6));
        check("aten::add_", &[&[2, 3], &[]], &[], Some(6));
        check("aten::view", &[&[2, 3]], &[], Some(0));
        check("aten::mystery", &[&[2, 3]], &[], None);
        check("mine::mm", &[&[8, 4], &[4, 5]], &[], None);
        check("aten::mm", &[&[8, 4]], &[], None);
        check("aten::mm", &[&[-1, 4], &[4, 5]], &[], None);
        check("aten::mkldnn_rnn_layer", &[&[7, 2, 3], &[16, 3], &[16, 4]], &[], Some(2 * 14 * 16 * 7));
        let attention: &[&[i64]] = &[&[2, 3, 5, 4], &[2, 3, 6, 4], &[2, 3, 6, 4]];
        check("aten::scaled_dot_product_attention", attention, &[], Some(2 * 2 * 6 * 5 * 6 * 4));
        let rows_first: &[&[i64]] = &[&[2, 5, 3, 4], &[2, 6, 3, 4], &[2, 6, 3, 4]];
        check("aten::_flash_attention_forward", rows_first, &[], Some(2 * 2 * 6 * 5 * 6 * 4));
        check("aten::_efficient_attention_forward", &[&[10, 3, 4], &[10, 3, 4], &[10, 3, 4]], &[], None);
        check("aten::mkldnn_rnn_layer_backward", &[&[7, 2, 3], &[16, 3], &[16, 4]], &[], Some(4 * 14 * 16 * 7));
        check("mkl::_mkl_linear", &[&[6, 4], &[999, 1], &[5, 4], &[5]], &[], Some(240));
    }

    #[test]
    fn convolutions_count_strides_groups_and_dilation() {
        let plain = ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "1"];
        check("aten::conv2d", &[&[1, 3, 8, 8], &[4, 3, 3, 3], &[4]], &plain, Some(2 * 4 * 64 * 27));
        let strided = ["", "", "", "[2, 2]", "[0, 0]", "[2, 2]", "2"];
        check("aten::conv2d", &[&[1, 4, 9, 9], &[4, 2, 3, 3], &[]], &strided, Some(2 * 4 * 9 * 18));
        let one = ["", "", "", "[1]", "[0]", "[1]", "1"];
        check("aten::conv1d", &[&[2, 3, 10], &[4, 3, 3], &[]], &one, Some(2 * 2 * 4 * 8 * 9));
        check("aten::conv2d", &[&[1, 3, 8, 8], &[4, 3, 3, 3], &[4]], &[], None);
        check("aten::conv2d", &[&[1, 3, 8, 8], &[4, 3, i64::MAX, 0], &[4]], &plain, None);
        let pointwise = ["", "", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "relu", "", ""];
        let by_steps_of_two = Some(2 * 4 * 16 * 27);
        check("mkldnn::_convolution_pointwise", &[&[1, 3, 8, 8], &[4, 3, 3, 3], &[4]], &pointwise, by_steps_of_two);
        let cudnn = ["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"];
        check("aten::cudnn_convolution", &[&[1, 3, 8, 8], &[4, 3, 3, 3]], &cudnn, by_steps_of_two);
        let backward = ["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"];
        check(
            "aten::convolution_backward",
            &[&[1, 4, 6, 6], &[1, 3, 8, 8], &[4, 3, 3, 3]],
            &backward,
            Some(2 * 2 * 144 * 27),
        );
    }
}
