//! FLOPs of convolutions: multiply-adds that take place. Padding and the holes of dilation cost nothing.

use super::each;
use super::module::{Array, product, read_numbers};
use tfprof_proto::fields::{convolution_dimension_numbers as numbers, window, window_dimension};
use tfprof_proto::wire::Value;

/// Which dimensions of kernel, input and output are which.
#[derive(Debug, Default)]
struct Dimensions {
    kernel_outputs: usize,
    kernel: Vec<i64>,
    input: Vec<i64>,
    output: Vec<i64>,
}

/// One dimension of a window.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub size: i64,
    stride: i64,
    padding: i64,
    dilation: i64,
    base_dilation: i64,
}

/// The dimensions of a window; `None` if it is damaged.
pub fn window(bytes: &[u8]) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let read = each(bytes, |number, value| {
        let (window::DIMENSIONS, Value::Bytes(bytes)) = (number, value) else { return Ok(()) };
        let mut step = Step { size: 0, stride: 1, padding: 0, dilation: 1, base_dilation: 1 };
        each(bytes, |number, value| {
            let Value::Varint(n) = value else { return Ok(()) };
            match number {
                window_dimension::SIZE => step.size = n as i64,
                window_dimension::STRIDE => step.stride = n as i64,
                window_dimension::PADDING_LOW => step.padding = n as i64,
                window_dimension::WINDOW_DILATION => step.dilation = n as i64,
                window_dimension::BASE_DILATION => step.base_dilation = n as i64,
                _ => {}
            }
            Ok(())
        })?;
        steps.push(step);
        Ok(())
    });
    read.ok().map(|()| steps)
}

/// Whether a window spreads its input, and whether it spreads itself.
pub fn dilations(bytes: &[u8]) -> [bool; 2] {
    let steps = window(bytes).unwrap_or_default();
    [steps.iter().any(|step| step.base_dilation > 1), steps.iter().any(|step| step.dilation > 1)]
}

/// The FLOPs of a convolution of `input` with `kernel` to `output`, whichever of the three it computes.
///
/// A kernel has its input features divided by the groups already, so groups need no further care.
pub fn flops(dimensions: &[u8], steps: &[u8], input: &Array, kernel: &Array, output: &Array) -> Option<i64> {
    let Dimensions { kernel_outputs, kernel: taps, input: inputs, output: outputs } = read(dimensions)?;
    let steps = window(steps)?;
    if [taps.len(), inputs.len(), outputs.len()] != [steps.len(); 3]
        || [kernel, output].iter().any(|array| array.dims.len() > MOST_DIMENSIONS)
    {
        return None;
    }
    let size = |array: &Array, dimension: i64| array.dims.get(usize::try_from(dimension).ok()?).copied();
    // One multiply-add for each output feature and batch, each input feature of its group, and each tap in range.
    let mut sizes = Vec::new();
    let is_spatial = |dimensions: &[i64], at: usize| dimensions.contains(&(at as i64));
    sizes.extend((0..output.dims.len()).filter(|at| !is_spatial(&outputs, *at)).map(|at| output.dims[at]));
    let features = |at: &usize| !is_spatial(&taps, *at) && *at != kernel_outputs;
    sizes.extend((0..kernel.dims.len()).filter(features).map(|at| kernel.dims[at]));
    for (at, step) in steps.iter().enumerate() {
        sizes.push(step.taps(size(input, inputs[at])?, size(output, outputs[at])?)?);
    }
    Some(product(&sizes)?.saturating_mul(2))
}

fn read(bytes: &[u8]) -> Option<Dimensions> {
    let mut found = Dimensions::default();
    let read = each(bytes, |number, value| {
        match (number, value) {
            (numbers::KERNEL_OUTPUT_FEATURE_DIMENSION, Value::Varint(n)) => {
                found.kernel_outputs = usize::try_from(n).unwrap_or(usize::MAX);
            }
            (numbers::KERNEL_SPATIAL_DIMENSIONS, value) => read_numbers(value, &mut found.kernel)?,
            (numbers::INPUT_SPATIAL_DIMENSIONS, value) => read_numbers(value, &mut found.input)?,
            (numbers::OUTPUT_SPATIAL_DIMENSIONS, value) => read_numbers(value, &mut found.output)?,
            _ => {}
        }
        Ok(())
    });
    read.ok().map(|()| found)
}

/// No real window is larger in both of its sizes. The limit keeps the cost of a small message small.
const MOST: i64 = 4096;
/// No real array has more dimensions.
const MOST_DIMENSIONS: usize = 64;

impl Step {
    /// How many pairs of an output and a tap meet an element of the input: neither padding nor a hole.
    fn taps(&self, input: i64, output: i64) -> Option<i64> {
        let Step { size, stride, padding, dilation, base_dilation } = *self;
        if [size, stride, dilation, base_dilation].iter().any(|n| *n < 1)
            || input < 0
            || output < 0
            || size.min(output) > MOST
        {
            return if size == 0 || output == 0 { Some(0) } else { None };
        }
        if input == 0 {
            return Some(0);
        }
        // Position = output · stride + tap · dilation − padding; go through the smaller of the two.
        let (few, few_step, many, many_step) =
            if size <= output { (size, dilation, output, stride) } else { (output, stride, size, dilation) };
        let last = (i128::from(input) - 1) * i128::from(base_dilation);
        let met = (0..few).map(|at| {
            let from = i128::from(at) * i128::from(few_step) - i128::from(padding);
            meetings(from, i128::from(many_step), i128::from(many), last, i128::from(base_dilation))
        });
        Some(i64::try_from(met.sum::<i128>()).unwrap_or(i64::MAX))
    }
}

/// How many of `from`, `from + step`, … (`count` of them) lie in `0..=last` and are multiples of `unit`.
fn meetings(from: i128, step: i128, count: i128, last: i128, unit: i128) -> i128 {
    let first = if from >= 0 { 0 } else { (-from + step - 1) / step };
    let end = if from > last { 0 } else { ((last - from) / step + 1).min(count) };
    if first >= end {
        return 0;
    }
    // step · i ≡ −from (mod unit) has a solution only if the common divisor divides from; they repeat each unit / divisor.
    let (divisor, inverse) = inverse(step, unit);
    if from.rem_euclid(divisor) != 0 {
        return 0;
    }
    let period = unit / divisor;
    let solution = (-from / divisor).rem_euclid(period) * inverse.rem_euclid(period) % period;
    let next = first + (solution - first).rem_euclid(period);
    if next >= end { 0 } else { (end - 1 - next) / period + 1 }
}

/// The common divisor of two numbers, and the inverse of the first divided by it, modulo the second divided by it.
fn inverse(a: i128, modulus: i128) -> (i128, i128) {
    let (mut old, mut rest) = (a, modulus);
    let (mut old_factor, mut factor) = (1, 0);
    while rest != 0 {
        let quotient = old / rest;
        (old, rest) = (rest, old - quotient * rest);
        (old_factor, factor) = (factor, old_factor - quotient * factor);
    }
    (old, old_factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn taps_are_counted_as_one_by_one(
            size in 1_i64..8, stride in 1_i64..5, padding in -3_i64..6, dilation in 1_i64..4, base_dilation in 1_i64..5,
            input in 0_i64..12, output in 0_i64..14,
        ) {
            let step = Step { size, stride, padding, dilation, base_dilation };
            let meets = |output: i64, tap: i64| {
                let at = output * stride + tap * dilation - padding;
                (0..=(input - 1) * base_dilation).contains(&at) && at % base_dilation == 0
            };
            let slow = (0..output).flat_map(|o| (0..size).map(move |t| (o, t))).filter(|(o, t)| meets(*o, *t)).count();
            prop_assert_eq!(step.taps(input, output), Some(slow as i64));
        }

        #[test]
        fn absurd_windows_end(
            size: i64, stride: i64, padding: i64, dilation: i64, base_dilation: i64, input: i64, output: i64,
        ) {
            let _ = Step { size, stride, padding, dilation, base_dilation }.taps(input, output);
        }
    }
}
