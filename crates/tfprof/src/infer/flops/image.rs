//! Images. A linear interpolation between two values is three FLOPs.

use super::{Count, Formula, formula};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    formula(&["ResizeBilinear", "QuantizedResizeBilinear", "CropAndResize", "ExtractGlimpse", "ExtractGlimpseV2",
              "ImageProjectiveTransformV2", "ImageProjectiveTransformV3"], Count::Out(9)),
    formula(&["ResizeBilinearGrad", "CropAndResizeGradImage"], Count::In(9)),
    formula(&["CropAndResizeGradBoxes"], Count::In(12)),
    formula(&["ResizeBicubic"], Count::Out(32)),
    formula(&["ResizeBicubicGrad"], Count::In(32)),
    formula(&["ResizeArea", "ResizeNearestNeighborGrad"], Count::In(1)),
    formula(&["ScaleAndTranslate"], Count::Out(8)),
    formula(&["ScaleAndTranslateGrad"], Count::In(8)),
    formula(&["AdjustContrast", "AdjustContrastv2", "AdjustSaturation"], Count::In(4)),
    formula(&["AdjustHue", "RGBToHSV", "HSVToRGB"], Count::In(5)),
    formula(&["Mfcc"], Count::In(40)),
];
