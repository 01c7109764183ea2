//! Lowers the builtin ops of TensorFlow Lite. Their operands are mostly those of TensorFlow's ops; their options are
//! a table of their own.

use super::flat::{Flat, FlatFile, Table};
use crate::format::lowered::{Input, Made, Setting};
use crate::model::dialects::tflite::TFLITE;
use crate::model::dtype::DType;

/// The parts of an operator that lowering reads.
pub struct Operator<'a> {
    pub op: &'a str,
    pub inputs: &'a [i64],
    pub outputs: usize,
    pub options: Option<Table>,
    pub output_type: DType,
}

/// Reads options of an operator.
struct Options<'a, 'f> {
    file: &'a FlatFile<'f>,
    table: Option<Table>,
}

impl Options<'_, '_> {
    fn int(&self, field: u64, default: i64) -> Flat<i64> {
        match self.table {
            Some(table) => Ok(i64::from(self.file.int(table, field, default as i32)?)),
            None => Ok(default),
        }
    }

    fn byte(&self, field: u64) -> Flat<u8> {
        self.table.map_or(Ok(0), |table| self.file.byte(table, field))
    }

    fn flag(&self, field: u64) -> Flat<bool> {
        Ok(self.byte(field)? != 0)
    }

    fn ints(&self, field: u64) -> Flat<Vec<i64>> {
        self.table.map_or(Ok(Vec::new()), |table| self.file.ints(table, field))
    }

    /// FLOPs for each element of the output that a fused activation costs.
    fn activation(&self, field: u64) -> Flat<i64> {
        Ok(match self.byte(field)? {
            1 | 4 => 1,
            2 | 3 => 2,
            _ => 0,
        })
    }
}

/// Lowers an operator that calls no subgraph.
pub fn lower(file: &FlatFile<'_>, operator: &Operator<'_>) -> Flat<Made> {
    let options = Options { file, table: operator.options };
    let op = TFLITE.lowered(operator.op);
    let plain = || Made::new(op, (0..operator.inputs.len()).map(Input::Of).collect());
    let made = match operator.op {
        "CONV_2D" => {
            filter(plain(), &options, operator, [1, 2, 4, 5], "OHWI")?.int("_activation", options.activation(3)?)
        }
        "DEPTHWISE_CONV_2D" => {
            filter(plain(), &options, operator, [1, 2, 5, 6], "1HWC")?.int("_activation", options.activation(4)?)
        }
        "CONV_3D" => {
            let strides = [1, options.int(1, 1)?, options.int(3, 1)?, options.int(2, 1)?, 1].to_vec();
            let dilations = [1, options.int(5, 1)?, options.int(7, 1)?, options.int(6, 1)?, 1].to_vec();
            window(plain(), &options)?
                .with("strides", Setting::Ints(strides))
                .with("dilations", Setting::Ints(dilations))
                .with("data_format", Setting::Text("NDHWC".to_owned()))
                .with("fused_ops", bias(operator, 2))
                .int("_activation", options.activation(4)?)
        }
        "TRANSPOSE_CONV" | "CONV_3D_TRANSPOSE" => plain().with("fused_ops", bias(operator, 3)),
        "AVERAGE_POOL_2D" | "MAX_POOL_2D" | "L2_POOL_2D" => window(plain(), &options)?
            .with("strides", Setting::Ints(vec![1, options.int(2, 1)?, options.int(1, 1)?, 1]))
            .with("ksize", Setting::Ints(vec![1, options.int(4, 1)?, options.int(3, 1)?, 1]))
            .int("_activation", options.activation(5)?),
        "FULLY_CONNECTED" => plain()
            .flag("keep_num_dims", options.flag(2)?)
            .with("fused_ops", bias(operator, 2))
            .int("_activation", options.activation(0)?),
        "ADD" | "SUB" | "MUL" | "DIV" => plain().int("_activation", options.activation(0)?),
        "BATCH_MATMUL" => plain()
            .flag("adj_x", options.flag(0)?)
            .flag("adj_y", options.flag(1)?)
            .with("Tout", Setting::Type(operator.output_type)),
        "CONCATENATION" => {
            let parts = (0..operator.inputs.len()).map(Input::Of);
            let made = Made::new(op, parts.chain([Input::Int(options.int(0, 0)?)]).collect());
            made.int("_activation", options.activation(1)?)
        }
        "RESHAPE" if operator.inputs.len() < 2 => Made::new(op, vec![Input::Of(0), Input::Ints(options.ints(0)?)]),
        "SUM" | "MEAN" | "REDUCE_MAX" | "REDUCE_MIN" | "REDUCE_PROD" | "REDUCE_ANY" | "REDUCE_ALL" => {
            plain().flag("keep_dims", options.flag(0)?)
        }
        "SQUEEZE" => plain().with("squeeze_dims", Setting::Ints(options.ints(0)?)),
        "STRIDED_SLICE" => {
            let masks = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
            let mut made = plain();
            for (field, mask) in masks.into_iter().enumerate() {
                made = made.int(mask, options.int(field as u64, 0)?);
            }
            made
        }
        "GATHER" => Made::new(op, vec![Input::Of(0), Input::Of(1), Input::Int(options.int(0, 0)?)])
            .int("batch_dims", options.int(1, 0)?),
        "PACK" => plain().int("axis", options.int(1, 0)?),
        "UNPACK" => plain().int("num", operator.outputs as i64).int("axis", options.int(1, 0)?),
        "SPLIT" | "SPLIT_V" => plain().int("num_split", operator.outputs as i64),
        "ONE_HOT" => plain().int("axis", options.int(0, 0)?),
        "SPACE_TO_DEPTH" | "DEPTH_TO_SPACE" => plain().int("block_size", options.int(0, 1)?),
        "CAST" => plain().with("DstT", Setting::Type(operator.output_type)),
        "DEQUANTIZE" => plain().with("dtype", Setting::Type(operator.output_type)),
        "QUANTIZE" | "SHAPE" => plain().with("out_type", Setting::Type(operator.output_type)),
        "ARG_MAX" | "ARG_MIN" => plain().with("output_type", Setting::Type(operator.output_type)),
        "LOCAL_RESPONSE_NORMALIZATION" => plain().int("depth_radius", options.int(0, 5)?),
        "EMBEDDING_LOOKUP" => Made::new("GatherV2", vec![Input::Of(1), Input::Of(0), Input::Int(0)]),
        "LSTM" | "UNIDIRECTIONAL_SEQUENCE_LSTM" => steps(operator, &[1, 2, 3, 4, 5, 6, 7, 8, 16], 23),
        "BIDIRECTIONAL_SEQUENCE_LSTM" => steps(operator, &[1, 2, 3, 4, 5, 6, 7, 8, 18, 19, 20, 21, 22, 23, 24, 25], 23),
        "RNN" | "UNIDIRECTIONAL_SEQUENCE_RNN" | "SVDF" => steps(operator, &[1, 2], 2),
        "BIDIRECTIONAL_SEQUENCE_RNN" => steps(operator, &[1, 2, 5, 6], 2),
        // The last input is the seed of random numbers, or a bound.
        _ => plain(),
    };
    Ok(made)
}

/// Whether integers in this place are weights or biases, not sizes or indices.
pub fn is_weight(op: &str, at: usize) -> bool {
    match op {
        "CONV_2D" | "DEPTHWISE_CONV_2D" | "FULLY_CONNECTED" | "CONV_3D" => matches!(at, 1 | 2),
        "TRANSPOSE_CONV" | "CONV_3D_TRANSPOSE" => matches!(at, 1 | 3),
        "LSTM"
        | "UNIDIRECTIONAL_SEQUENCE_LSTM"
        | "BIDIRECTIONAL_SEQUENCE_LSTM"
        | "UNIDIRECTIONAL_SEQUENCE_RNN"
        | "SVDF"
        | "RNN"
        | "BIDIRECTIONAL_SEQUENCE_RNN" => at > 0,
        "EMBEDDING_LOOKUP" => at == 1,
        _ => false,
    }
}

fn bias(operator: &Operator<'_>, at: usize) -> Setting {
    let has_bias = operator.inputs.get(at).is_some_and(|tensor| *tensor >= 0);
    Setting::Texts(has_bias.then_some("BiasAdd").into_iter().collect())
}

fn window(made: Made, options: &Options<'_, '_>) -> Flat<Made> {
    let padding = if options.byte(0)? == 0 { "SAME" } else { "VALID" };
    Ok(made.with("padding", Setting::Text(padding.to_owned())))
}

/// A convolution in two dimensions. `fields` are those of the strides and dilations: width, then height.
fn filter(
    made: Made,
    options: &Options<'_, '_>,
    operator: &Operator<'_>,
    fields: [u64; 4],
    format: &str,
) -> Flat<Made> {
    let [stride_w, stride_h, dilation_w, dilation_h] = fields;
    let strides = vec![1, options.int(stride_h, 1)?, options.int(stride_w, 1)?, 1];
    let dilations = vec![1, options.int(dilation_h, 1)?, options.int(dilation_w, 1)?, 1];
    Ok(window(made, options)?
        .with("strides", Setting::Ints(strides))
        .with("dilations", Setting::Ints(dilations))
        .with("data_format", Setting::Text("NHWC".to_owned()))
        .with("filter_format", Setting::Text(format.to_owned()))
        .with("fused_ops", bias(operator, 2)))
}

/// A recurrent layer: the input, then its matrices.
fn steps(operator: &Operator<'_>, weights: &[usize], elementwise: i64) -> Made {
    let there = |at: &usize| operator.inputs.get(*at).is_some_and(|tensor| *tensor >= 0);
    let inputs = [0].into_iter().chain(weights.iter().copied().filter(there)).map(Input::Of).collect();
    Made::new("WeightedSteps", inputs).int("elementwise", elementwise)
}
