//! Images: resizing, cropping, colors, bounding boxes and image files.

use super::super::fact::{ANY, Fact, Shape};
use super::{Family, Op, like_first, one, typed};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["ResizeBilinear", "ResizeBicubic", "ResizeArea"], |op| typed(DType::FLOAT, resized(op, 1))),
    (&["ResizeNearestNeighbor"], |op| one(op, resized(op, 1))),
    (&["ScaleAndTranslate"], |op| typed(DType::FLOAT, resized(op, 1))),
    (&["QuantizedResizeBilinear"], |op| {
        vec![Fact::new(op.t(), resized(op, 1)), op.input(2).clone(), op.input(3).clone()]
    }),
    (&["ResizeBilinearGrad", "ResizeBicubicGrad"], |op| typed(op.t(), op.shape(1).clone())),
    (&["ScaleAndTranslateGrad"], |op| one(op, op.shape(1).clone())),
    (&["ResizeNearestNeighborGrad"], |op| one(op, resized(op, 1))),
    (&["CropAndResize"], |op| {
        let image = resized(op, 3);
        typed(DType::FLOAT, Shape::of(&[op.shape(1).dim(0).max(op.shape(2).dim(0)), image.dim(1), image.dim(2), image.dim(3)]))
    }),
    (&["CropAndResizeGradImage"], |op| {
        vec![Fact::new(op.dtype_or("T", DType::FLOAT), super::shape_from(op.input(3)))]
    }),
    (&["CropAndResizeGradBoxes"], |op| typed(DType::FLOAT, op.shape(2).clone())),
    (&["AdjustContrast", "AdjustContrastv2", "AdjustHue", "AdjustSaturation", "RGBToHSV", "HSVToRGB", "DrawBoundingBoxes",
       "DrawBoundingBoxesV2"], like_first),
    (&["ImageProjectiveTransformV2", "ImageProjectiveTransformV3"], |op| one(op, resized(op, 2))),
    (&["NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionWithOverlaps"], |_| {
        typed(DType::INT32, Shape::of_rank(1))
    }),
    (&["NonMaxSuppressionV4"], |op| {
        let count = if op.flag("pad_to_max_output_size") { op.input(2).integer().unwrap_or(ANY) } else { ANY };
        vec![Fact::new(DType::INT32, Shape::of(&[count])), Fact::new(DType::INT32, Shape::scalar())]
    }),
    (&["NonMaxSuppressionV5"], |op| {
        let count = if op.flag("pad_to_max_output_size") { op.input(2).integer().unwrap_or(ANY) } else { ANY };
        vec![
            Fact::new(DType::INT32, Shape::of(&[count])),
            Fact::new(op.t(), Shape::of(&[count])),
            Fact::new(DType::INT32, Shape::scalar()),
        ]
    }),
    (&["CombinedNonMaxSuppression"], combined),
    (&["SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "StatelessSampleDistortedBoundingBox"], |op| {
        [&[3][..], &[3], &[1, 1, 4]].iter().enumerate().map(|(at, dims)| {
            Fact::new(if at < 2 { op.t() } else { DType::FLOAT }, Shape::of(dims))
        }).collect()
    }),
    (&["DecodeJpeg", "DecodePng", "DecodeAndCropJpeg", "DecodeWebP", "DecodeBmp"], |op| {
        let channels = op.int("channels").filter(|channels| *channels > 0).unwrap_or(ANY);
        typed(op.dtype_or("dtype", DType(4)), Shape::of(&[ANY, ANY, channels]))
    }),
    (&["DecodeGif"], |_| typed(DType(4), Shape::of(&[ANY, ANY, ANY, 3]))),
    (&["DecodeImage"], |op| typed(op.dtype_or("dtype", DType(4)), Shape::UNKNOWN)),
    (&["EncodeJpeg", "EncodePng", "EncodeJpegVariableQuality"], |_| typed(DType::STRING, Shape::UNKNOWN)),
    (&["ExtractJpegShape"], |op| typed(op.dtype_or("output_type", DType::INT32), Shape::of(&[3]))),
    (&["ExtractGlimpse", "ExtractGlimpseV2"], |op| typed(DType::FLOAT, resized(op, 1))),
    (&["DecodeWav"], |op| {
        let number = |name| op.int(name).filter(|n| *n > 0).unwrap_or(ANY);
        vec![
            Fact::new(DType::FLOAT, Shape::of(&[number("desired_samples"), number("desired_channels")])),
            Fact::new(DType::INT32, Shape::scalar()),
        ]
    }),
    (&["AudioSpectrogram"], |op| {
        let (window, stride) = (op.int("window_size").unwrap_or(ANY), op.int("stride").unwrap_or(ANY));
        let (samples, channels) = (op.shape(0).dim(0), op.shape(0).dim(1));
        let rows = super::convolution::output_size(samples, window, stride, 1, super::convolution::Padding::Valid);
        let columns = u64::try_from(window).ok().filter(|n| *n > 0 && *n < 1 << 40)
            .map_or(ANY, |window| 1 + (window.next_power_of_two() / 2) as i64);
        typed(DType::FLOAT, Shape::of(&[channels, rows, columns]))
    }),
    (&["Mfcc"], |op| {
        let count = op.int("dct_coefficient_count").unwrap_or(13);
        typed(DType::FLOAT, Shape::of(&[op.shape(0).dim(0), op.shape(0).dim(1), count]))
    }),
];

/// The batch and channels of the image, with the spatial size given by an input.
pub(super) fn resized(op: &Op<'_>, input: usize) -> Shape {
    let size = |at| op.input(input).integers().and_then(|size| size.get(at)).map_or(ANY, |n: &i64| (*n).max(ANY));
    Shape::of(&[op.shape(0).dim(0), size(0), size(1), op.shape(0).dim(3)])
}

fn combined(op: &Op<'_>) -> Vec<Fact> {
    let batch = op.shape(0).dim(0);
    let (each, total) = (op.input(2).integer().unwrap_or(ANY), op.input(3).integer().unwrap_or(ANY));
    let count = if op.flag("pad_per_class") {
        let classes = super::times(op.shape(1).dim(2), each);
        if classes < 0 || total < 0 { ANY } else { classes.min(total) }
    } else {
        total
    };
    vec![
        Fact::new(DType::FLOAT, Shape::of(&[batch, count, 4])),
        Fact::new(DType::FLOAT, Shape::of(&[batch, count])),
        Fact::new(DType::FLOAT, Shape::of(&[batch, count])),
        Fact::new(DType::INT32, Shape::of(&[batch])),
    ]
}
