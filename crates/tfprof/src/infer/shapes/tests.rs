//! One line per branch of a rule: an op, its inputs and attributes, and the inferred shapes or values.

use super::super::constant;
use super::super::fact::{Fact, Shape, UNKNOWN};
use super::super::floats;
use super::*;
use crate::model::body::Body;
use tfprof_proto::write as pb;

fn f(dims: &[i64]) -> Fact {
    Fact::new(DType::FLOAT, Shape::of(dims))
}

fn unknown() -> Fact {
    Fact::new(DType::FLOAT, Shape::UNKNOWN)
}

/// A vector of integers.
fn v(values: &[i64]) -> Fact {
    Fact::with_value(DType::INT32, Shape::of(&[values.len() as i64]), Some(values.to_vec()))
}

/// A scalar.
fn n(value: i64) -> Fact {
    Fact::with_value(DType::INT32, Shape::scalar(), Some(vec![value]))
}

fn int(value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    pb::key(&mut out, 3, 0);
    pb::varint(&mut out, value as u64);
    out
}

fn ints(values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    pb::message(&mut out, 1, |out| pb::packed(out, 3, values));
    out
}

fn text(word: &str) -> Vec<u8> {
    let mut out = Vec::new();
    pb::element(&mut out, 2, word.as_bytes());
    out
}

fn flag() -> Vec<u8> {
    vec![0x28, 1]
}

fn dtype(number: u8) -> Vec<u8> {
    vec![0x30, number]
}

fn outputs(op: &str, inputs: &[Fact], attributes: &[(&str, Vec<u8>)]) -> Vec<Fact> {
    let mut body = Body::default();
    let node = body.push_node("node", op);
    attributes.iter().for_each(|(key, value)| body.push_attribute(key, value));
    rule(op).unwrap_or_else(|| panic!("{op} has a rule"))(&Op { body: &body, node, inputs })
}

/// Compares the printed shapes of all outputs.
fn check(op: &str, inputs: &[Fact], attributes: &[(&str, Vec<u8>)], expect: &str) {
    let shapes: Vec<String> = outputs(op, inputs, attributes).iter().map(|fact| format!("{:?}", fact.shape)).collect();
    assert_eq!(shapes.join(" "), expect, "{op} of {inputs:?}");
}

/// Compares the elements of the first output.
fn folds(op: &str, inputs: &[Fact], attributes: &[(&str, Vec<u8>)], expect: &[i64]) {
    let facts = outputs(op, inputs, attributes);
    assert_eq!(facts[0].integers(), Some(expect), "{op} of {inputs:?}");
}

#[test]
fn no_op_has_two_rules() {
    let mut ops: Vec<&str> = ops().collect();
    let all = ops.len();
    ops.sort_unstable();
    let twice: Vec<_> = ops.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(all > 500, "{all}");
}

#[test]
fn elementwise() {
    check("Relu", &[f(&[2, -1])], &[], "[2,?]");
    check("AddV2", &[f(&[2, 1, 3]), f(&[4, 1])], &[], "[2,4,3]");
    check("AddV2", &[f(&[-1, 3]), f(&[1, 3])], &[], "[?,3]");
    check("AddV2", &[f(&[-1, 3]), f(&[5, 3])], &[], "[5,3]");
    check("AddV2", &[unknown(), f(&[5, 3])], &[], "?");
    check("BiasAdd", &[f(&[2, -1]), f(&[7])], &[], "[2,7]");
    check("SelectV2", &[f(&[2, 1]), f(&[3]), f(&[])], &[], "[2,3]");
    folds("Mul", &[v(&[2, UNKNOWN]), n(3)], &[], &[6, UNKNOWN]);
    folds("FloorDiv", &[v(&[7, -7]), n(2)], &[], &[3, -4]);
    folds("FloorMod", &[v(&[7, -7]), n(3)], &[], &[1, 2]);
    folds("Mul", &[n(i64::MAX), n(3)], &[], &[UNKNOWN]);
    folds("FloorDiv", &[n(1), n(0)], &[], &[UNKNOWN]);
    folds("Less", &[v(&[1, 5]), n(3)], &[], &[1, 0]);
    folds("SelectV2", &[v(&[1, 0]), v(&[10, 20]), n(7)], &[("T", dtype(3))], &[10, 7]);
    folds("Cast", &[v(&[1, 5])], &[("DstT", dtype(9))], &[1, 5]);
    folds("Cast", &[v(&[0, 5])], &[("DstT", dtype(10))], &[0, 1]);
}

#[test]
fn shape_arithmetic() {
    folds("Shape", &[f(&[2, -1])], &[], &[2, UNKNOWN]);
    check("Shape", &[unknown()], &[], "[?]");
    folds("Size", &[f(&[2, 3])], &[], &[6]);
    folds("Rank", &[f(&[2, -1])], &[], &[2]);
    folds("Range", &[n(2), n(9), n(3)], &[], &[2, 5, 8]);
    folds("Range", &[n(3), n(0), n(-1)], &[], &[3, 2, 1]);
    check("Range", &[n(0), n(i64::MAX), n(1)], &[], "[9223372036854775807]");
    check("Range", &[n(i64::MIN + 1), n(i64::MAX), n(1)], &[], "[?]");
    folds("Fill", &[v(&[3]), n(7)], &[], &[7, 7, 7]);
    check("Fill", &[v(&[3, UNKNOWN]), f(&[])], &[], "[3,?]");
    check("Reshape", &[f(&[2, 6]), v(&[3, -1])], &[], "[3,4]");
    check("Reshape", &[f(&[-1, 6]), v(&[-1, 3])], &[], "[?,3]");
    check("Reshape", &[f(&[2, 6]), v(&[UNKNOWN, 3])], &[], "[4,3]");
    check("Reshape", &[f(&[2, 6]), Fact::new(DType::INT32, Shape::of(&[2]))], &[], "[?,?]");
    check("Reshape", &[f(&[i64::MAX, 4]), v(&[-1, 2])], &[], "[?,2]");
    folds("BroadcastArgs", &[v(&[2, 1]), v(&[3])], &[], &[2, 3]);
    folds("BroadcastGradientArgs", &[v(&[2, 3]), v(&[3])], &[], &[]);
    folds("BroadcastGradientArgs", &[v(&[3]), v(&[2, 3])], &[], &[0]);
    folds("Prod", &[v(&[2, 3, 4]), n(0)], &[], &[24]);
    folds("Max", &[v(&[2, 9, 4]), v(&[0])], &[], &[9]);
    folds("InvertPermutation", &[v(&[2, 0, 1])], &[], &[1, 2, 0]);
    folds("Unique", &[v(&[5, 5, 7])], &[], &[5, 7]);
}

#[test]
fn rearranging() {
    let axis = |at: i64| [("axis", int(at))];
    check("ExpandDims", &[f(&[2, 3]), n(-1)], &[], "[2,3,1]");
    check("ExpandDims", &[f(&[2, 3]), f(&[2])], &[], "[?,?,?,?]");
    check("ExpandDims", &[f(&[2, 3]), unknown()], &[], "?");
    check("Squeeze", &[f(&[1, 3, 1])], &[], "[3]");
    check("Squeeze", &[f(&[1, 3, 1])], &[("squeeze_dims", ints(&[-1]))], "[1,3]");
    check("Squeeze", &[f(&[-1, 3])], &[], "?");
    check("Transpose", &[f(&[2, 3, 4]), v(&[2, 0, 1])], &[], "[4,2,3]");
    check("Pack", &[f(&[2]), f(&[2]), f(&[2])], &axis(1), "[2,3]");
    folds("Pack", &[n(4), Fact::new(DType::INT32, Shape::scalar())], &[], &[4, UNKNOWN]);
    check("Unpack", &[f(&[2, 3])], &[("num", int(3)), ("axis", int(1))], "[2] [2] [2]");
    folds("Unpack", &[v(&[8, 9])], &[("num", int(2))], &[8]);
    check("ConcatV2", &[f(&[2, 3]), f(&[-1, 3]), n(0)], &[], "[?,3]");
    check("ConcatV2", &[f(&[2, 3]), f(&[2, 4]), n(-1)], &[], "[2,7]");
    folds("ConcatV2", &[v(&[1]), v(&[2, 3]), n(0)], &[], &[1, 2, 3]);
    check("Split", &[n(1), f(&[2, 6])], &[("num_split", int(3))], "[2,2] [2,2] [2,2]");
    check("Split", &[n(0), f(&[7])], &[("num_split", int(3)), ("uneven", flag())], "[3] [3] [1]");
    check("Split", &[n(0), f(&[2])], &[("num_split", int(3)), ("uneven", flag())], "[1] [1] [0]");
    check("SplitV", &[f(&[2, 6]), v(&[1, -1]), n(1)], &[("num_split", int(2))], "[2,1] [2,5]");
    check("Tile", &[f(&[2, 3]), v(&[1, 4])], &[], "[2,12]");
    let pads = Fact::with_value(DType::INT32, Shape::of(&[2, 2]), Some(vec![1, 1, 0, UNKNOWN]));
    check("Pad", &[f(&[2, 3]), pads], &[], "[4,?]");
    check("SpaceToDepth", &[f(&[1, 4, 6, 3])], &[("block_size", int(2))], "[1,2,3,12]");
    check("DepthToSpace", &[f(&[1, 8, 2, 3])], &[("block_size", int(2)), ("data_format", text("NCHW"))], "[1,2,4,6]");
    check("SpaceToBatchND", &[f(&[1, 4, 6, 3]), v(&[2]), v(&[0, 0])], &[], "[2,2,6,3]");
}

#[test]
fn slices() {
    let masks = |begin: i64, end: i64, ellipsis: i64, new: i64, shrink: i64| {
        let names = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
        names.into_iter().zip([begin, end, ellipsis, new, shrink].map(int)).collect::<Vec<_>>()
    };
    let slice = |from: Fact, begin: &[i64], end: &[i64], step: &[i64]| [from, v(begin), v(end), v(step)];
    check("Slice", &[f(&[4, 5]), v(&[1, 2]), v(&[2, -1])], &[], "[2,3]");
    check("Slice", &[Fact::default(), f(&[i64::MAX / 9]), v(&[1])], &[], "?");
    folds("Slice", &[v(&[7, 8, 9]), v(&[1]), v(&[-1])], &[], &[8, 9]);
    check("StridedSlice", &slice(f(&[9, 5]), &[1], &[-1], &[3]), &masks(0, 0, 0, 0, 0), "[3,5]");
    check("StridedSlice", &slice(f(&[9, 5]), &[0], &[0], &[-2]), &masks(1, 1, 0, 0, 0), "[5,5]");
    check("StridedSlice", &slice(f(&[2, 3, 4]), &[0, 0], &[0, 1], &[1, 1]), &masks(0, 0, 1, 0, 2), "[2,3]");
    check("StridedSlice", &slice(f(&[2, 3]), &[0, 0], &[0, 0], &[1, 1]), &masks(2, 2, 0, 1, 0), "[1,2,3]");
    check("StridedSlice", &slice(f(&[-1, 3]), &[0], &[1], &[1]), &masks(0, 0, 0, 0, 1), "[3]");
    folds("StridedSlice", &slice(v(&[7, 8, 9]), &[-1], &[0], &[1]), &masks(0, 0, 0, 0, 1), &[9]);
    folds("StridedSlice", &slice(v(&[7, 8, 9]), &[0], &[0], &[-1]), &masks(1, 1, 0, 0, 0), &[9, 8, 7]);
    check("StridedSlice", &slice(f(&[3]), &[0], &[3], &[0]), &masks(0, 0, 0, 0, 0), "[?]");
    check("StridedSliceGrad", &[v(&[4, 5]), v(&[0]), v(&[1]), v(&[1]), f(&[1, 5])], &[], "[4,5]");
}

#[test]
fn indexing() {
    check("GatherV2", &[f(&[5, 6, 7]), f(&[2, 3]), n(1)], &[], "[5,2,3,7]");
    check("GatherV2", &[f(&[5, 6, 7]), f(&[5, 3]), n(1)], &[("batch_dims", int(1))], "[5,3,7]");
    folds("GatherV2", &[v(&[5, 6, 7]), v(&[2, 0]), n(0)], &[], &[7, 5]);
    check("GatherNd", &[f(&[5, 6, 7]), f(&[4, 2])], &[], "[4,7]");
    check("GatherNd", &[f(&[2, 5, 7]), f(&[2, 3, 1])], &[("batch_dims", int(1))], "[2,3,7]");
    check("ScatterNd", &[f(&[4, 1]), f(&[4, 3]), v(&[9, 3])], &[], "[9,3]");
    check("OneHot", &[f(&[2, 3]), n(10)], &[], "[2,3,10]");
    check("Where", &[f(&[2, 3])], &[], "[?,2]");
    check("TopKV2", &[f(&[2, 9]), n(3)], &[], "[2,3] [2,3]");
    check("UnsortedSegmentSum", &[f(&[9, 4]), f(&[9]), n(5)], &[], "[5,4]");
}

#[test]
fn reductions() {
    check("Sum", &[f(&[2, 3, 4]), v(&[0, -1])], &[], "[3]");
    check("Mean", &[f(&[2, 3, 4]), v(&[1])], &[("keep_dims", flag())], "[2,1,4]");
    check("Sum", &[f(&[2, 3]), Fact::new(DType::INT32, Shape::of(&[1]))], &[], "?");
    check("Sum", &[f(&[2, 3]), v(&[7])], &[], "?");
    check("ArgMax", &[f(&[2, 3]), n(1)], &[], "[2]");
    check("BiasAddGrad", &[f(&[2, 3, 4, 5])], &[("data_format", text("NCHW"))], "[3]");
    check("SparseSoftmaxCrossEntropyWithLogits", &[f(&[4, 9]), f(&[4])], &[], "[4] [4,9]");
}

#[test]
fn products() {
    check("MatMul", &[f(&[3, 2]), f(&[3, 4])], &[("transpose_a", flag())], "[2,4]");
    check("BatchMatMulV2", &[f(&[5, 1, 2, 3]), f(&[6, 3, 4])], &[], "[5,6,2,4]");
    check("BatchMatMulV2", &[f(&[5, 2, 3]), f(&[5, 4, 3])], &[("adj_y", flag())], "[5,2,4]");
    let einsum = |equation: &str| [("equation", text(equation))];
    check("Einsum", &[f(&[2, 8, 16]), f(&[16, 32])], &einsum("bij,jk->bik"), "[2,8,32]");
    check("Einsum", &[f(&[7, 2, 8, 16]), f(&[16, 32])], &einsum("...ij, jk -> ...ik"), "[7,2,8,32]");
    check("Einsum", &[f(&[2, 8]), f(&[16, 32])], &einsum("bij,jk->bik"), "?");
    check("RFFT", &[f(&[3, 8]), v(&[8])], &[], "[3,5]");
}

#[test]
fn convolutions() {
    let window = |strides: &[i64], padding: &str, format: &str| {
        vec![("strides", ints(strides)), ("padding", text(padding)), ("data_format", text(format))]
    };
    let (image, filter) = (f(&[2, 9, 9, 3]), f(&[3, 3, 3, 4]));
    let conv = |attributes: &[(&str, Vec<u8>)], expect: &str| {
        check("Conv2D", &[image.clone(), filter.clone()], attributes, expect);
    };
    conv(&window(&[1, 2, 2, 1], "SAME", "NHWC"), "[2,5,5,4]");
    conv(&window(&[1, 2, 2, 1], "VALID", "NHWC"), "[2,4,4,4]");
    let mut dilated = window(&[1, 1, 1, 1], "VALID", "NHWC");
    dilated.push(("dilations", ints(&[1, 2, 2, 1])));
    conv(&dilated, "[2,5,5,4]");
    let mut explicit = window(&[1, 1, 1, 1], "EXPLICIT", "NHWC");
    explicit.push(("explicit_paddings", ints(&[0, 0, 1, 2, 0, 1, 0, 0])));
    conv(&explicit, "[2,10,8,4]");
    conv(&window(&[1, 0, 0, 1], "SAME", "NHWC"), "[2,?,?,4]");
    let first = f(&[2, 3, 9, 9]);
    check("Conv2D", &[first.clone(), filter.clone()], &window(&[1, 1, 2, 2], "SAME", "NCHW"), "[2,4,5,5]");
    check(
        "Conv2D",
        &[f(&[2, 1, 9, 9, 4]), filter.clone()],
        &window(&[1, 1, 2, 2], "SAME", "NCHW_VECT_C"),
        "[?,?,?,?,?]",
    );
    check(
        "DepthwiseConv2dNative",
        &[image.clone(), f(&[3, 3, 3, 2])],
        &window(&[1, 1, 1, 1], "SAME", "NHWC"),
        "[2,9,9,6]",
    );
    let mut pool = window(&[1, 2, 2, 1], "VALID", "NHWC");
    pool.push(("ksize", ints(&[1, 3, 3, 1])));
    check("MaxPool", std::slice::from_ref(&image), &pool, "[2,4,4,3]");
    check("Conv2DBackpropInput", &[v(&[2, 9, 9, 3]), filter, f(&[2, 5, 5, 4])], &[], "[2,9,9,3]");
    check("Conv2DBackpropFilter", &[image.clone(), v(&[3, 3, 3, 4]), f(&[2, 5, 5, 4])], &[], "[3,3,3,4]");
    check("FusedBatchNormV3", &[image, f(&[3])], &[], "[2,9,9,3] [3] [3] [3] [3] ?");
    check("ResizeBilinear", &[f(&[2, 4, 4, 3]), v(&[8, 9])], &[], "[2,8,9,3]");
    let strides = [("strides", ints(&[1, 1, 1, 1, 1])), ("padding", text("VALID"))];
    check("Conv3D", &[f(&[1, 4, 4, 4, 2]), f(&[2, 2, 2, 2, 3])], &strides, "[1,3,3,3,3]");
}

#[test]
fn contents_of_handles() {
    let handle = Fact::handle(DType::FLOAT, Shape::of(&[3, 4]));
    check("ReadVariableOp", std::slice::from_ref(&handle), &[("dtype", dtype(1))], "[3,4]");
    check("ResourceGather", &[handle.clone(), f(&[7])], &[("dtype", dtype(1))], "[7,4]");
    folds("VariableShape", &[handle], &[], &[3, 4]);
    let element = [("element_dtype", dtype(1))];
    let list = outputs("TensorListFromTensor", &[f(&[10, 2, 8]), v(&[2, -1])], &element).remove(0);
    check("TensorListGetItem", &[list.clone(), n(0), v(&[-1, -1])], &element, "[2,8]");
    check("TensorListStack", &[list.clone(), v(&[-1, 8])], &element, "[10,2,8]");
    folds("TensorListLength", std::slice::from_ref(&list), &[], &[10]);
    let reserved = outputs("TensorListReserve", &[v(&[-1, -1]), n(5)], &element).remove(0);
    let set = outputs("TensorListSetItem", &[reserved, n(0), f(&[2, 16])], &element).remove(0);
    check("TensorListStack", &[set, v(&[-1, -1])], &element, "[5,2,16]");
    let array = outputs("TensorArrayV3", &[n(6)], &[("dtype", dtype(1)), ("element_shape", vec![0x3a, 2, 0x18, 1])]);
    let flow =
        outputs("TensorArrayScatterV3", &[array[0].clone(), f(&[6]), f(&[6, 2]), array[1].clone()], &[]).remove(0);
    check("TensorArrayReadV3", &[array[0].clone(), n(0), flow], &[("dtype", dtype(1))], "[2]");
}

#[test]
fn constants_and_placeholders() {
    let mut tensor = Vec::new();
    pb::message(&mut tensor, 8, |out| {
        pb::int(out, 1, 3);
        pb::message(out, 2, |out| pb::message(out, 2, |out| pb::int(out, 1, 2)));
        pb::packed(out, 7, &[5]);
    });
    folds("Const", &[], &[("value", tensor.clone())], &[5, 5]);
    assert_eq!(constant::constant(Attr(&tensor)).map(|fact| fact.dtype), Some(DType::INT32));
    check("Placeholder", &[], &[("dtype", dtype(1))], "?");
    check("RandomUniform", &[v(&[2, 3])], &[("dtype", dtype(1))], "[2,3]");
    check("LSTMBlockCell", &[f(&[2, 8]), f(&[2, 16])], &[], &["[2,16]"; 7].join(" "));
    check("MapDataset", &[], &[], "[]");
}

/// A scalar of floats.
fn r(value: f64) -> Fact {
    Fact::with_value(DType::FLOAT, Shape::scalar(), Some(vec![floats::element(DType::FLOAT, value)]))
}

#[test]
fn floats_lead_to_sizes() {
    // Range(0, Cast(Ceil(Cast(7) / 2))).
    let seven = outputs("Cast", &[n(7)], &[("DstT", dtype(1))]).remove(0);
    let half = outputs("RealDiv", &[seven, r(2.0)], &[("T", dtype(1))]).remove(0);
    assert_eq!(floats::scalar(&half), Some(3.5));
    let limit = outputs("Ceil", &[half], &[("T", dtype(1))]).remove(0);
    let limit = outputs("Cast", &[limit], &[("DstT", dtype(3))]).remove(0);
    assert_eq!(outputs("Range", &[n(0), limit, n(1)], &[("Tidx", dtype(3))])[0].integers(), Some(&[0, 1, 2, 3][..]));
    let range = |start, limit, step| outputs("Range", &[r(start), r(limit), r(step)], &[("Tidx", dtype(1))]).remove(0);
    assert_eq!(range(0.0, 1.0, 0.1).shape, Shape::of(&[10]));
    assert_eq!(range(5.0, 1.0, -0.3).shape, Shape::of(&[14]));
    assert_eq!(range(5.0, 1.0, 0.3).shape, Shape::of(&[-1]));
    assert_eq!(range(5.0, 1.0, 0.0).shape, Shape::of(&[-1]));
    let packed = outputs("Pack", &[r(0.5), r(2.0)], &[("T", dtype(1))]).remove(0);
    assert_eq!(packed.elements().map(<[i64]>::len), Some(2));
    assert_eq!(packed.integers(), None, "floats are no sizes");
    assert_eq!(outputs("Less", &[r(0.5), r(2.0)], &[("T", dtype(1))])[0].integer(), Some(1));
}

#[test]
fn indices_of_extremes() {
    let matrix = Fact::with_value(DType::INT32, Shape::of(&[2, 3]), Some(vec![1, 9, 2, 4, 4, 5]));
    let index = |op: &str, axis: i64| outputs(op, &[matrix.clone(), n(axis)], &[]).remove(0);
    assert_eq!(index("ArgMax", 0).integers(), Some(&[1, 0, 1][..]));
    assert_eq!(index("ArgMax", -1).integers(), Some(&[1, 2][..]));
    assert_eq!(index("ArgMin", 1).integers(), Some(&[0, 0][..]));
    assert_eq!(outputs("ArgMax", &[f(&[2, 3]), n(1)], &[])[0].shape, Shape::of(&[2]));
}

#[test]
fn rules_of_rare_ops() {
    let all = |op: &str, inputs: &[Fact], attributes: &[(&str, Vec<u8>)]| {
        let shapes: Vec<String> =
            outputs(op, inputs, attributes).iter().map(|fact| format!("{:?}", fact.shape)).collect();
        shapes.join(" ")
    };
    let strides = || ("strides", ints(&[1, 2, 1, 1]));
    let pads = Fact::with_value(DType::INT32, Shape::of(&[4, 2]), Some(vec![0, 0, 1, 1, 2, 2, 0, 0]));
    let image = f(&[1, 4, 6, 3]);
    let fused = |size: Fact, pads: Fact, padding: &str| {
        let inputs = [image.clone(), size, pads, f(&[3, 3, 3, 5])];
        all("FusedResizeAndPadConv2D", &inputs, &[strides(), ("padding", text(padding))])
    };
    assert_eq!(fused(v(&[8, 12]), pads.clone(), "SAME"), "[1,5,16,5]");
    assert_eq!(fused(v(&[8, 12]), pads.clone(), "VALID"), "[1,4,14,5]");
    assert_eq!(fused(Fact::new(DType::INT32, Shape::of(&[2])), pads.clone(), "VALID"), "[1,?,?,5]");
    let padded = all("FusedPadConv2D", &[image, pads, f(&[3, 3, 3, 5])], &[strides(), ("padding", text("VALID"))]);
    assert_eq!(padded, "[1,2,8,5]");
    assert_eq!(
        all("CTCBeamSearchDecoder", &[f(&[5, 3, 7]), v(&[5, 5, 5])], &[("top_paths", int(2))]),
        "[?,2] [?,2] [?] [?] [2] [2] [3,2]"
    );
    assert_eq!(all("CTCGreedyDecoder", &[f(&[5, 3, 7]), v(&[5, 5, 5])], &[]), "[?,2] [?] [2] [3,1]");
    let features = [f(&[5]), f(&[-1]), f(&[3]), f(&[4])];
    assert_eq!(all("BoostedTreesBucketize", &features, &[("num_features", int(2))]), "[5] [?]");
    assert_eq!(all("DenseToDenseSetOperation", &[f(&[2, 3]), f(&[2, 5])], &[]), "[?,2] [?] [2]");
    assert_eq!(all("DenseToDenseSetOperation", &[unknown(), f(&[2, 5])], &[]), "[?,2] [?] [2]");
    let sparse = [f(&[2, 3]), f(&[-1, 2]), f(&[-1]), v(&[2, 3])];
    assert_eq!(all("DenseToSparseSetOperation", &sparse, &[]), "[?,2] [?] [2]");
    assert_eq!(all("CompareAndBitpack", &[f(&[2, 16]), f(&[])], &[]), "[2,2]");
    assert_eq!(all("CompareAndBitpack", &[f(&[2, -1]), f(&[])], &[]), "[2,?]");
    let edit = [f(&[-1, 3]), f(&[-1]), v(&[2, 3, 4]), f(&[-1, 3]), f(&[-1]), v(&[2, 5, 4])];
    assert_eq!(all("EditDistance", &edit, &[]), "[2,5]");
    let transform = |lengths: &[i64]| all("FFTND", &[f(&[2, 4, 8]), v(lengths), v(&[1, 2])], &[]);
    assert_eq!((transform(&[4, 8]).as_str(), transform(&[4, 16]).as_str()), ("[2,4,8]", "[2,4,?]"));
    assert_eq!(all("ListDiff", &[v(&[1, 2, 3, 4]), v(&[2])], &[]), "[3] [3]");
    folds("ListDiff", &[v(&[1, 2, 3, 4]), v(&[2])], &[], &[1, 3, 4]);
    let parts = all("DynamicPartition", &[f(&[3, 2]), v(&[0, 1, 0])], &[("num_partitions", int(2))]);
    assert_eq!(parts, "[2,2] [1,2]");
}

#[test]
fn rules_of_sparse_ragged_and_quantized_ops() {
    let all = |op: &str, inputs: &[Fact], attributes: &[(&str, Vec<u8>)]| {
        let shapes: Vec<String> =
            outputs(op, inputs, attributes).iter().map(|fact| format!("{:?}", fact.shape)).collect();
        shapes.join(" ")
    };
    let sparse = || [f(&[6, 3]), f(&[6]), f(&[3])];
    assert_eq!(all("SparseCross", &sparse(), &[]), "[?,2] [?] [2]");
    assert_eq!(outputs("SparseCrossV2", &sparse(), &[])[1].dtype, DType::STRING);
    let [indices, values, dense] = sparse();
    let split = [n(0), indices, values, dense];
    assert_eq!(all("SparseSplit", &split, &[("num_split", int(2))]), "[?,3] [?,3] [?] [?] [3] [3]");
    assert_eq!(all("DenseCountSparseOutput", &[f(&[4, 5]), f(&[0])], &[]), "[?,2] [?] [2]");
    assert_eq!(all("RaggedRange", &[v(&[1, 2, 3]), n(9), n(1)], &[]), "[4] [?]");
    assert_eq!(all("RaggedRange", &[n(0), n(9), n(1)], &[]), "[2] [?]");
    assert_eq!(all("RaggedRange", &[n(0), f(&[-1]), n(1)], &[]), "[?] [?]");
    let ragged = [f(&[5]), f(&[10, 3]), v(&[0, 2])];
    assert_eq!(all("RaggedTensorToSparse", &ragged, &[("RAGGED_RANK", int(1))]), "[?,3] [?] [3]");
    let ranks = [("PARAMS_RAGGED_RANK", int(1)), ("OUTPUT_RAGGED_RANK", int(1))];
    assert_eq!(all("RaggedGather", &ragged, &ranks), "[?] [?,3]");
    assert_eq!(all("UnicodeDecode", &[f(&[2, 3])], &[]), "[7] [?] [?]");
    let quantized = |axis: i64| all("QuantizeV2", &[f(&[2, 8, 3]), f(&[3]), f(&[3])], &[("axis", int(axis))]);
    assert_eq!((quantized(-1).as_str(), quantized(2).as_str()), ("[2,8,3] [] []", "[2,8,3] [3] [3]"));
    let parts = [n(1), f(&[2, 4]), f(&[2, 5]), f(&[]), f(&[]), f(&[]), f(&[])];
    assert_eq!(all("QuantizedConcat", &parts, &[("N", int(2))]), "[2,9] [] []");
    assert_eq!(all("UniformQuantizedDot", &[f(&[2, 4]), f(&[4, 6])], &[]), "[2,6]");
    assert_eq!(all("SelfAdjointEigV2", &[f(&[3, 5, 5])], &[]), "[3,5] [3,5,5]");
    assert_eq!(all("SelfAdjointEigV2", &[f(&[3, 5, 5])], &[("compute_v", vec![0x28, 0])]), "[3,5] [0]");
    assert_eq!(all("Lu", &[f(&[3, 5, 5])], &[]), "[3,5,5] [3,5]");
    assert_eq!(all("BandedTriangularSolve", &[f(&[3, 2, 5]), f(&[1, 5, 4])], &[]), "[3,5,4]");
    assert_eq!(all("MatrixDiagPartV3", &[f(&[3, 4, 5]), v(&[-1, 1]), f(&[])], &[]), "[3,3,4]");
    assert_eq!(all("MatrixDiagPartV3", &[f(&[3, 4, 5]), n(-2), f(&[])], &[]), "[3,2]");
    assert_eq!(all("LookupTableFindV2", &[f(&[]), f(&[4]), f(&[3])], &[]), "[4,3]");
    assert_eq!(all("LookupTableFindV2", &[f(&[]), f(&[4]), f(&[])], &[]), "[4]");
    assert_eq!(all("Batch", &[f(&[1, 3]), f(&[1])], &[]), "[?,3] [?] [?,3] []");
}

#[test]
fn ops_of_other_dialects() {
    let given = |names: &[&'static str]| names.iter().map(|name| (*name, flag())).collect::<Vec<_>>();
    let parts = [f(&[2, 4, 24]), f(&[2, 6, 24]), f(&[2, 6, 30]), unknown()];
    let heads = [given(&["has_keys", "has_values"]), vec![("heads", int(3)), ("shared_heads", int(3))]].concat();
    check("HeadsAttention", &parts, &heads, "[2,4,30] [2,3,6,8] [2,3,6,10] [2,3,4,6]");
    // Queries, keys and values in one tensor; two heads share keys and values; five keys from before.
    let parts = [f(&[1, 4, 64]), unknown(), unknown(), f(&[1, 2, 5, 8])];
    let heads = [given(&["has_past"]), vec![("heads", int(4)), ("shared_heads", int(2))]].concat();
    check("HeadsAttention", &parts, &heads, "[1,4,32] [1,2,9,8] [1,2,9,8] [1,4,4,9]");
    check("HeadsAttention", &[f(&[3])], &[], "?");
    check("Compress", &[f(&[4, 5]), f(&[3])], &[], "[?]");
    check("Compress", &[f(&[4, 5]), f(&[3])], &[("axis", int(-1))], "[4,?]");
    check("CenterCropPad", &[f(&[4, 5, 6]), v(&[9, 2])], &[("axes", ints(&[0, 2]))], "[9,5,2]");
    check("CenterCropPad", &[f(&[4, 5, 6]), unknown()], &[], "[?,?,?]");
    check("Col2Im", &[f(&[1, 20, 16]), v(&[5, 6]), v(&[2, 2])], &[], "[1,5,5,6]");
    check("ResizeScaled", &[f(&[1, 3, 4, 5]), v(&[8, 9])], &[("axes", ints(&[2, 3]))], "[1,3,8,9]");
    check("ResizeScaled", &[f(&[1, 3, 4, 5]), v(&[8, 9])], &[], "[?,?,?,?]");
    check("SoftmaxLoss", &[f(&[4, 7]), f(&[4])], &[("reduction", text("none"))], "[4] [4,7]");
    check("LikelihoodLoss", &[f(&[4, 7]), f(&[4])], &[], "[] [4,7]");
}
