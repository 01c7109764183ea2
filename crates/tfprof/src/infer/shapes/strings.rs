//! Strings, files and summaries.

use super::super::fact::{ANY, Fact, Shape};
use super::{Family, broadcast, minus, plus, times, typed};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["AsString", "StringLower", "StringUpper", "StringStrip", "RegexReplace", "StaticRegexReplace", "EncodeBase64",
       "DecodeBase64", "UnicodeTranscode", "DecodeCompressed", "StringFormatLike"], |op| typed(DType::STRING, op.shape(0).clone())),
    (&["RegexFullMatch", "StaticRegexFullMatch"], |op| typed(DType::BOOL, op.shape(0).clone())),
    (&["StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong"], |op| {
        typed(DType::INT64, op.shape(0).clone())
    }),
    (&["StringLength", "UnicodeScript"], |op| typed(DType::INT32, op.shape(0).clone())),
    (&["StringToNumber"], |op| typed(op.dtype_or("out_type", DType::FLOAT), op.shape(0).clone())),
    (&["Substr"], |op| typed(DType::STRING, op.shape(0).clone())),
    (&["StringJoin"], |op| {
        typed(DType::STRING, op.inputs.iter().fold(Shape::scalar(), |all, input| broadcast(&all, &input.shape)))
    }),
    (&["StringFormat", "ReadFile", "MergeSummary", "ScalarSummary", "HistogramSummary", "ImageSummary", "AudioSummary",
       "AudioSummaryV2", "TensorSummary", "TensorSummaryV2", "ShardedFilename", "ShardedFilespec", "SerializeTensor",
       "IteratorToStringHandle", "ReaderSerializeStateV2", "Fact"], |_| typed(DType::STRING, Shape::scalar())),
    (&["ReduceJoin", "UnsortedSegmentJoin"], |_| typed(DType::STRING, Shape::UNKNOWN)),
    (&["MatchingFiles"], |_| typed(DType::STRING, Shape::of_rank(1))),
    (&["StringNGrams"], |op| {
        vec![Fact::new(DType::STRING, Shape::of_rank(1)), Fact::new(op.dtype_or("Tsplits", DType::INT64), op.shape(1).clone())]
    }),
    (&["UnicodeDecode", "UnicodeDecodeWithOffsets"], |op| {
        let texts = op.shape(0).dims().map_or(ANY, |dims| dims.iter().fold(1, |all, size| times(all, *size)));
        let splits = Fact::new(op.dtype_or("Tsplits", DType::INT64), Shape::of(&[plus(texts, 1)]));
        vec![splits, Fact::new(DType::INT32, Shape::of_rank(1)), Fact::new(DType::INT64, Shape::of_rank(1))]
    }),
    (&["UnicodeEncode"], |op| typed(DType::STRING, Shape::of(&[minus(op.shape(1).dim(0), 1)]))),
    (&["EncodeWav", "GetSessionHandle"], |_| typed(DType::STRING, Shape::scalar())),
    (&["StringSplit", "StringSplitV2"], |_| {
        vec![
            Fact::new(DType::INT64, Shape::of(&[ANY, 2])),
            Fact::new(DType::STRING, Shape::of(&[ANY])),
            Fact::new(DType::INT64, Shape::of(&[2])),
        ]
    }),
    (&["DecodeRaw", "DecodePaddedRaw"], |op| {
        let dims = op.shape(0).dims().map(|dims| Shape::of(&[dims, &[ANY]].concat()));
        typed(op.dtype("out_type"), dims.unwrap_or_default())
    }),
    (&["DecodeCSV"], |op| {
        op.dtypes("OUT_TYPE").into_iter().map(|dtype| Fact::new(dtype, op.shape(0).clone())).collect()
    }),
    (&["Fingerprint"], |op| typed(DType(4), Shape::of(&[op.shape(0).dim(0), ANY]))),
];
