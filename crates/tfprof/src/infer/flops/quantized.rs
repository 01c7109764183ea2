//! Quantized ops: integer products count like float products.

use super::{Count, Formula, conv, formula, matmul};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    formula(&["QuantizedMatMul", "QuantizedMatMulWithBias", "QuantizedMatMulWithBiasAndRelu",
              "QuantizedMatMulWithBiasAndReluAndRequantize", "QuantizedMatMulWithBiasAndRequantize",
              "QuantizedMatMulWithBiasAndDequantize", "UniformQuantizedDot", "UniformQuantizedDotHybrid"],
            Count::By(matmul::plain, "as MatMul")),
    formula(&["QuantizedConv2D", "QuantizedConv2DPerChannel", "QuantizedConv2DWithBias", "QuantizedConv2DAndRelu",
              "QuantizedConv2DAndRequantize", "QuantizedConv2DAndReluAndRequantize", "QuantizedConv2DWithBiasAndRelu",
              "QuantizedConv2DWithBiasAndRequantize", "QuantizedConv2DWithBiasAndReluAndRequantize",
              "QuantizedConv2DWithBiasSumAndRelu", "QuantizedConv2DWithBiasSumAndReluAndRequantize",
              "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize"],
            Count::By(|op| conv::convolution(op, 3), "as Conv2D")),
    formula(&["QuantizedDepthwiseConv2D", "QuantizedDepthwiseConv2DWithBias", "QuantizedDepthwiseConv2DWithBiasAndRelu",
              "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize"],
            Count::By(|op| conv::convolution(op, 2), "as DepthwiseConv2dNative")),
    formula(&["QuantizeV2", "Dequantize", "Requantize", "RequantizePerChannel", "QuantizeDownAndShrinkRange", "QuantizedBiasAdd",
              "UniformQuantize", "UniformDequantize", "UniformRequantize", "UniformQuantizedClipByValue"],
            Count::In(2)),
    formula(&["RequantizationRange", "RequantizationRangePerChannel"], Count::In(2)),
    formula(&["QuantizedInstanceNorm", "QuantizedBatchNormWithGlobalNormalization"], Count::In(6)),
    formula(&["QuantizedAdd", "QuantizedMul", "UniformQuantizedAdd"], Count::Out(1)),
    formula(&["QuantizedRelu", "QuantizedRelu6", "QuantizedReluX"], Count::In(1)),
    formula(&["FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel",
              "QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4"],
            Count::In(4)),
    formula(&["FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVarsGradient",
              "FakeQuantWithMinMaxVarsPerChannelGradient", "QuantizeAndDequantizeV4Grad"], Count::In(2)),
];
