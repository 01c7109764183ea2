//! Ops of PyTorch whose cost depends on values besides shapes: convolutions and pools with strides, padding and dilation,
//! recurrent layers with their number of layers.

use super::product;
use super::torch::{Inputs, is_true, matrix_product, of_family};

/// The filter as graphs have it: space, channels of a group, outputs.
fn filter(weight: &[i64]) -> Option<Vec<i64>> {
    let (&[outputs, channels], space) = weight.split_first_chunk::<2>()?;
    let mut filter = space.to_vec();
    filter.extend([channels, outputs]);
    Some(filter)
}

/// The positions are those of strides, padding and dilation. The weight accounts for groups.
pub(super) fn convolution(
    inputs: Inputs<'_>,
    [stride, padding, dilation]: [usize; 3],
    transposed: bool,
) -> Option<i64> {
    let (input, weight) = (inputs.tensor(0)?, inputs.tensor(1)?);
    if transposed {
        return Some(product(input).saturating_mul(product(weight.get(1..)?)).saturating_mul(2));
    }
    let (_, kernel) = weight.split_first_chunk::<2>()?;
    let rank = kernel.len();
    // Without a batch, the channels come first.
    let batch = if input.len() == rank + 2 { *input.first()? } else { 1 };
    let image = input.get(input.len().checked_sub(rank)?..)?;
    let option = |at: usize, axis: usize| -> Option<i64> {
        let list = inputs.list(at)?;
        list.get(axis).or(list.first()).copied()
    };
    let mut output = vec![batch, *weight.first()?];
    for (axis, (size, kernel)) in image.iter().zip(kernel).enumerate() {
        let (step, spread) = (option(stride, axis)?.max(1), option(dilation, axis)?.max(1));
        let padded = match inputs.values.get(padding).map(String::as_str) {
            Some("same") => {
                output.push(*size);
                continue;
            }
            Some("valid") => *size,
            _ => size.checked_add(option(padding, axis)?.checked_mul(2)?)?,
        };
        if *kernel < 1 {
            return None;
        }
        let reach = spread.checked_mul(kernel.checked_sub(1)?)?.checked_add(1)?;
        output.push((padded.checked_sub(reach)? / step + 1).max(0));
    }
    let filter = filter(weight)?;
    match rank {
        1 => of_family("Conv2D", &[input, &[&[1], &filter[..]].concat()], &output),
        2 => of_family("Conv2D", &[input, &filter], &output),
        3 => of_family("Conv3D", &[input, &filter], &output),
        _ => None,
    }
}

/// The window for each element of the result.
pub(super) fn pool(op: &str, inputs: Inputs<'_>) -> Option<i64> {
    let image = inputs.tensor(0)?;
    let kernel = inputs.list(1)?;
    let is_average = op.contains("avg_pool");
    let space = image.len().checked_sub(rank_of(op)?)?;
    let list = |at: usize| inputs.list(at).filter(|list| !list.is_empty());
    let stride = list(2).unwrap_or_else(|| kernel.clone());
    let padding = list(3).unwrap_or_else(|| vec![0]);
    let dilation = if is_average { vec![1] } else { list(4).unwrap_or_else(|| vec![1]) };
    let rounds_up = inputs.values.get(if is_average { 4 } else { 5 }).is_some_and(|word| is_true(word));
    let of = |list: &[i64], axis: usize| list.get(axis).or(list.first()).copied();
    let mut work = product(&image[..space]);
    for (axis, size) in image[space..].iter().enumerate() {
        let (window, step, pad) = (of(&kernel, axis)?, of(&stride, axis)?.max(1), of(&padding, axis)?);
        let reach = of(&dilation, axis)?.checked_mul(window.checked_sub(1)?)?.checked_add(1)?;
        let room = size.checked_add(pad.checked_mul(2)?)?.checked_sub(reach)?;
        let mut count = if rounds_up { room.checked_add(step - 1)? / step } else { room / step } + 1;
        // A window that would begin behind the image is left out.
        if rounds_up && (count - 1).checked_mul(step)? >= size.checked_add(pad)? {
            count -= 1;
        }
        work = work.checked_mul(count.max(0))?.checked_mul(window.max(0))?;
    }
    Some(work)
}

/// The number of axes of a pool's windows.
fn rank_of(op: &str) -> Option<usize> {
    (1..=3).find(|rank| op.contains(&format!("pool{rank}d")))
}

/// All layers and directions of a recurrent network, as one op of a GPU's library. Sequences of many lengths are unknown.
pub(super) fn recurrent_on_gpu(op: &str, inputs: Inputs<'_>) -> Option<i64> {
    let &[steps, batch, features] = inputs.tensor(0)? else { return None };
    // cuDNN has a buffer of all weights and a size of projections besides.
    let after = usize::from(op == "_cudnn_rnn");
    let from = 5 + after;
    let value = |at: usize| -> Option<i64> { inputs.values.get(from + at)?.trim().parse().ok() };
    let gates: i64 = match value(0)? {
        0 | 1 => 1,
        2 => 4,
        3 => 3,
        _ => return None,
    };
    if after == 1 && value(2)? != 0 {
        return None;
    }
    let (hidden, layers) = (value(1)?, value(2 + after)?);
    let directions = if is_true(inputs.values.get(from + 6 + after)?) { 2 } else { 1 };
    let rows = steps.checked_mul(batch)?;
    let mut work = 0_i64;
    for layer in 0..layers.min(1000) {
        let width = if layer == 0 { features } else { hidden.checked_mul(directions)? };
        let both = width.checked_add(hidden)?;
        let once = matrix_product(&[rows, both], &[both, gates.checked_mul(hidden)?])?;
        work = work.checked_add(once.checked_mul(directions)?)?;
    }
    Some(work)
}

#[cfg(test)]
mod tests {
    use super::super::torch::flops;
    use super::*;

    fn of(name: &str, dims: &[&[i64]], values: &[&str]) -> Option<i64> {
        let dims: Vec<Vec<i64>> = dims.iter().map(|dims| dims.to_vec()).collect();
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        flops(name, Inputs { dims: &dims, values: &values })
    }

    #[test]
    fn pools_count_their_windows() {
        let max = ["", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False"];
        assert_eq!(of("aten::max_pool2d_with_indices", &[&[2, 4, 9, 9]], &max), Some(2 * 4 * 25 * 9));
        // Ten by ten, windows of three, two apart: four begin within each axis, a fifth would hang over.
        let up = ["", "[3, 3]", "[2, 2]", "[0, 0]", "[1, 1]", "True"];
        assert_eq!(of("aten::max_pool2d_with_indices", &[&[2, 4, 10, 10]], &up), Some(2 * 4 * 25 * 9));
        let beyond = ["", "[2, 2]", "[3, 3]", "[1, 1]", "[1, 1]", "True"];
        assert_eq!(of("aten::max_pool2d_with_indices", &[&[1, 1, 6, 6]], &beyond), Some(9 * 4));
        let average = ["", "[2, 2]", "[]", "[0, 0]", "False", "True", ""];
        assert_eq!(of("aten::avg_pool2d", &[&[2, 4, 8, 8]], &average), Some(2 * 4 * 64));
        assert_eq!(of("aten::avg_pool2d", &[&[2, 4, 8, 8]], &[]), None);
        // Not by windows: the list is the size of the result.
        assert_eq!(of("aten::adaptive_max_pool2d", &[&[2, 4, 8, 8]], &["", "[1, 1]"]), Some(2 * 4 * 64));
        assert_eq!(of("aten::adaptive_avg_pool2d", &[&[2, 4, 8, 8]], &["", "[1, 1]"]), None);
    }

    #[test]
    fn recurrent_layers_of_a_gpu_count_layers_and_directions() {
        // Input, weights, stride of weights, buffer, two states, mode, hidden size, projection, layers, batch first, dropout,
        // training, bidirectional.
        let values = ["", "", "4", "", "", "", "2", "32", "0", "2", "False", "0.", "True", "True"];
        let dims: &[&[i64]] = &[&[7, 3, 16], &[]];
        let expected = 2 * 21 * 128 * (2 * (16 + 32) + 2 * (64 + 32));
        assert_eq!(of("aten::_cudnn_rnn", dims, &values), Some(expected));
        let values = ["", "", "4", "", "", "3", "32", "1", "False", "0.", "True", "False"];
        assert_eq!(of("aten::miopen_rnn", dims, &values), Some(2 * 21 * 96 * 48));
        assert_eq!(of("aten::_cudnn_rnn", dims, &[]), None);
    }

    #[test]
    fn moments_cost_more_in_training() {
        let values = |trains: &'static str| ["", "", "", "", "", trains, "0.1", "1e-05"];
        let dims: &[&[i64]] = &[&[2, 3, 4, 4], &[3], &[3], &[3], &[3]];
        assert_eq!(of("aten::native_batch_norm", dims, &values("True")), Some(6 * 96 + 6 * 3));
        assert_eq!(of("aten::native_batch_norm", dims, &values("False")), Some(2 * 96 + 4 * 3));
    }
}
