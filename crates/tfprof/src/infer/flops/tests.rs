//! Figures computed by hand, one line per branch of a formula.

use super::super::fact::Shape;
use super::*;
use crate::model::dialects::DIALECTS;
use crate::model::dtype::DType;
use tfprof_proto::write;

/// An attribute that is a list of integers.
fn list(numbers: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    write::message(&mut out, 1, |out| write::packed(out, 3, numbers));
    out
}

fn text(word: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write::element(&mut out, 2, word.as_bytes());
    out
}

type Attributes<'a> = &'a [(&'a str, Vec<u8>)];

fn count(op: &str, inputs: &[Dims<'_>], output: Dims<'_>, attributes: Attributes<'_>, as_original: bool) -> Flops {
    let attribute = |name: &str| attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| Attr(&value[..]));
    let facts: Vec<Fact> = inputs.iter().map(|dims| Fact::new(DType::FLOAT, Shape::of(dims))).collect();
    let unknown = |dims: Dims<'_>| dims == [-9];
    let inputs: Vec<Option<Dims<'_>>> = inputs.iter().map(|dims| Some(*dims).filter(|dims| !unknown(dims))).collect();
    let output = Some(output).filter(|dims| !unknown(dims));
    let formula = find(op).unwrap_or_else(|| panic!("{op} has a formula"));
    formula.count(&Op { name: op, inputs: &inputs, output, facts: &facts, attribute: &attribute, as_original })
}

/// Compares our figure and the original's.
fn check(
    op: &str,
    inputs: &[Dims<'_>],
    output: Dims<'_>,
    attributes: Attributes<'_>,
    expect: Result<i64, UnknownReason>,
) {
    for as_original in [false, true] {
        let work = count(op, inputs, output, attributes, as_original);
        assert_eq!(work.map(|work| work.float_ops), expect, "{op}, {as_original}");
    }
}

/// Compares our figure only.
fn ours(op: &str, inputs: &[Dims<'_>], output: Dims<'_>, attributes: Attributes<'_>, float_ops: i64, macs: i64) {
    assert_eq!(count(op, inputs, output, attributes, false), Ok(Work { float_ops, macs }), "{op}");
}

const IMAGE: Dims<'_> = &[2, 8, 8, 3];

#[test]
fn the_original_has_46_and_no_op_has_two() {
    let rows = || FORMULAS.iter().flat_map(|(_, family)| *family);
    let mut names: Vec<_> = rows().flat_map(|row| row.ops).collect();
    let all = names.len();
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(rows().filter(|row| row.original).map(|row| row.ops.len()).sum::<usize>(), 46);
    assert!(all > 800, "{all}");
}

#[test]
fn figures_that_tensorflow_gives() {
    let nhwc = || ("data_format", text("NHWC"));
    let ksize = || ("ksize", list(&[1, 2, 2, 1]));
    let strides = || ("strides", list(&[1, 2, 2, 1]));
    check("AssignAdd", &[&[3, 4], &[3, 4]], &[3, 4], &[], Ok(12));
    check("Softmax", &[&[3, 2]], &[3, 2], &[], Ok(30));
    check("L2Loss", &[&[3, 2]], &[1], &[], Ok(17));
    check("Mean", &[IMAGE, &[2]], &[2, 3], &[], Ok(384));
    check("Sum", &[IMAGE, &[2]], &[2, 3], &[], Ok(378));
    check("AvgPool", &[IMAGE], &[2, 4, 4, 3], &[nhwc(), ksize()], Ok(384));
    check("AvgPoolGrad", &[&[4], &[2, 4, 4, 3]], IMAGE, &[nhwc(), ksize()], Ok(768));
    check("MaxPoolGrad", &[IMAGE, &[2, 4, 4, 3], &[2, 4, 4, 3]], IMAGE, &[nhwc(), ksize()], Ok(480));
    check("Conv2D", &[IMAGE, &[3, 3, 3, 4]], &[2, 6, 6, 4], &[], Ok(15552));
    check("Conv3D", &[&[1, 4, 4, 4, 2], &[2, 2, 2, 2, 3]], &[1, 3, 3, 3, 3], &[], Ok(2592));
    check("DepthwiseConv2dNative", &[&[1, 4, 4, 2], &[2, 2, 2, 3]], &[1, 3, 3, 6], &[], Ok(432));
    check("Dilation2D", &[&[1, 4, 4, 2], &[2, 2, 2]], &[1, 3, 3, 2], &[], Ok(144));
    let same = [&[4][..], &[3, 3, 3, 4], &[2, 4, 4, 4]];
    check("Conv2DBackpropInput", &same, IMAGE, &[nhwc(), strides()], Ok(6912));
    check("Conv2DBackpropInput", &same, &[2, 9, 9, 3], &[nhwc(), strides()], Ok(8748));
    check("Conv2DBackpropFilter", &[IMAGE, &[4], &[2, 4, 4, 4]], &[3, 3, 3, 4], &[nhwc(), strides()], Ok(6912));
    check("AddN", &[&[2, 3], &[2, 3], &[2, 3], &[2, 3]], &[2, 3], &[], Ok(18));
    check("MatMul", &[&[3, 2], &[3, 4]], &[2, 4], &[("transpose_a", vec![0x28, 1])], Ok(48));
    check("BatchMatMulV2", &[&[5, 2, 3], &[5, 3, 4]], &[5, 2, 4], &[], Ok(240));
}

#[test]
fn a_transposed_batch_is_noticed_unless_quirks_are_asked_for() {
    let shapes: &[Dims<'_>] = &[&[5, 3, 2], &[5, 3, 4]];
    let flipped: Attributes<'_> = &[("adj_x", vec![0x28, 1])];
    ours("BatchMatMulV2", shapes, &[5, 2, 4], flipped, 240, 120);
    assert_eq!(count("BatchMatMulV2", shapes, &[5, 2, 4], flipped, true), Ok(Work::multiply_adds(80)));
}

#[test]
fn channels_may_come_first() {
    let nchw = || ("data_format", text("NCHW"));
    let strides = || ("strides", list(&[1, 1, 2, 2]));
    let image: Dims<'_> = &[2, 3, 8, 8];
    ours("MaxPool", &[image], &[2, 3, 4, 4], &[nchw(), ("ksize", list(&[1, 1, 2, 2]))], 384, 0);
    let inputs: &[Dims<'_>] = &[&[4], &[3, 3, 3, 4], &[2, 4, 4, 4]];
    ours("Conv2DBackpropInput", inputs, image, &[nchw(), strides()], 6912, 3456);
    let deep = [("data_format", text("NCHW_VECT_C")), ("ksize", list(&[1]))];
    assert_eq!(count("MaxPool", &[image], image, &deep, false), Err(UnknownReason::DataFormat));
    assert_eq!(count("MaxPool", &[image], image, &[nchw()], true), Err(UnknownReason::DataFormat));
}

#[test]
fn products() {
    let einsum = |equation: &str| [("equation", text(equation))];
    ours("Einsum", &[&[2, 8, 16], &[16, 32]], &[2, 8, 32], &einsum("bij,jk->bik"), 16384, 8192);
    ours("Einsum", &[&[2, 8, 16], &[16, 4, 8]], &[2, 8, 4, 8], &einsum("abc,cde->abde"), 16384, 8192);
    ours("Einsum", &[&[7, 2, 3], &[3, 4]], &[7, 2, 4], &einsum("...ij,jk->...ik"), 336, 168);
    ours("Einsum", &[&[2, 3], &[4]], &[2, 3, 4], &einsum("ij,k->ijk"), 24, 0);
    ours("Einsum", &[&[2, 3]], &[3, 2], &einsum("ij->ji"), 0, 0);
    ours("Einsum", &[&[2, 3]], &[2], &einsum("ij->i"), 4, 0);
    ours("SparseTensorDenseMatMul", &[&[9, 2], &[9], &[2], &[4, 5]], &[3, 5], &[], 90, 45);
    ours("_FusedMatMul", &[&[2, 3], &[3, 4], &[4]], &[2, 4], &[("fused_ops", fused(&["BiasAdd", "Relu"]))], 64, 24);
    ours("Conv3DBackpropInputV2", &[&[5], &[2, 2, 2, 2, 3], &[1, 3, 3, 3, 3]], &[1, 4, 4, 4, 2], &[], 2592, 1296);
    ours("DepthwiseConv2dNativeBackpropFilter", &[&[1, 4, 4, 2], &[4], &[1, 3, 3, 6]], &[2, 2, 2, 3], &[], 432, 216);
}

fn fused(names: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    write::message(&mut out, 1, |out| names.iter().for_each(|name| write::element(out, 2, name.as_bytes())));
    out
}

#[test]
fn all_else() {
    ours("Sigmoid", &[&[2, 3]], &[2, 3], &[], 24, 0);
    ours("Max", &[&[2, 3]], &[2], &[], 4, 0);
    ours("FusedBatchNormV3", &[IMAGE, &[3]], IMAGE, &[("is_training", vec![0x28, 0])], 780, 0);
    ours("FusedBatchNormV3", &[IMAGE, &[3]], IMAGE, &[], 2322, 0);
    ours("SoftmaxCrossEntropyWithLogits", &[&[2, 10], &[2, 10]], &[2], &[], 180, 0);
    ours("ResourceApplyAdam", &[&[4, 5], &[4, 5], &[4, 5]], &[], &[], 240, 0);
    ours("ResourceSparseApplyMomentum", &[&[9, 5], &[9, 5], &[], &[2, 5], &[2], &[]], &[], &[], 40, 0);
    ours("LSTMBlockCell", &[&[2, 8], &[2, 16]], &[2, 16], &[], 2 * 2 * 24 * 64 + 23 * 32, 2 * 24 * 64);
    ours(
        "BlockLSTM",
        &[&[], &[10, 2, 8], &[2, 16]],
        &[10, 2, 16],
        &[],
        10 * (2 * 2 * 24 * 64 + 23 * 32),
        10 * 2 * 24 * 64,
    );
    ours("GRUBlockCell", &[&[2, 8], &[2, 16]], &[2, 16], &[], 2 * 2 * 24 * 48 + 18 * 32, 2 * 24 * 48);
    ours("FFT", &[&[3, 8]], &[3, 8], &[], 5 * 24 * 3, 0);
    ours("Cholesky", &[&[2, 6, 6]], &[2, 6, 6], &[], 144, 0);
    ours("TopKV2", &[&[2, 1000], &[]], &[2, 5], &[], 20000, 0);
    ours("ResizeBilinear", &[&[1, 2, 2, 3], &[2]], &[1, 4, 4, 3], &[], 432, 0);
    ours("QuantizedMatMul", &[&[2, 3], &[3, 4]], &[2, 4], &[], 48, 24);
    ours("Reshape", &[&[-9], &[-9]], &[-9], &[], 0, 0);
    ours("ParallelMapDatasetV2", &[], &[-9], &[], 0, 0);
}

#[test]
fn unknown_ops_are_reported() {
    check("Add", &[], &[-1, 3], &[], Err(UnknownReason::Shape));
    check("Square", &[&[-9]], &[4], &[], Err(UnknownReason::Shape));
    check("Square", &[], &[4], &[], Err(UnknownReason::Malformed));
    check("MaxPool", &[&[1, 2, 2, 1]], &[1, 1, 1, 1], &[("data_format", text("X"))], Err(UnknownReason::DataFormat));
    check("Conv2D", &[&[1, 8], &[3]], &[1, 6], &[], Err(UnknownReason::Malformed));
    assert!(find("NoSuchOp").is_none());
}

#[test]
fn the_ops_of_other_dialects_have_formulas() {
    for dialect in DIALECTS {
        for (op, lowered) in dialect.ops {
            for lowered in *lowered {
                assert!(find(lowered).is_some(), "{} {op}: {lowered}", dialect.name);
            }
        }
    }
}

#[test]
fn attention_by_heads() {
    let number = |n: i64| {
        let mut out = Vec::new();
        write::key(&mut out, 3, 0);
        write::varint(&mut out, n as u64);
        out
    };
    let flags = |names: &[&'static str]| names.iter().map(|name| (*name, vec![0x28, 1])).collect::<Vec<_>>();
    let heads = [flags(&["has_keys", "has_values"]), vec![("heads", number(3)), ("shared_heads", number(3))]].concat();
    // Two batches of three heads, four queries, six keys of 8 and values of 10.
    let macs = 2 * 3 * 4 * 6 * (8 + 10);
    ours("HeadsAttention", &[&[2, 4, 24], &[2, 6, 24], &[2, 6, 30], &[-9]], &[2, 4, 30], &heads, 2 * macs, macs);
    let heads = [flags(&["has_past"]), vec![("heads", number(4)), ("shared_heads", number(2))]].concat();
    let macs = 4 * 4 * 9 * 16;
    ours("HeadsAttention", &[&[1, 4, 64], &[-9], &[-9], &[1, 2, 5, 8]], &[1, 4, 32], &heads, 2 * macs, macs);
}

#[test]
fn a_deformable_convolution_samples_its_input() {
    // Five channels of 3x3 places; four taps of three channels each; as many samples.
    let macs = 5 * 9 * 12;
    ours("DeformConv", &[&[1, 3, 4, 4], &[5, 3, 2, 2]], &[1, 5, 3, 3], &[], 2 * macs + 9 * 9 * 12, macs);
}
