//! Whole graphs: loops and cycles come to an end, what is said from outside wins, and no attribute or shape is too odd.

use crate::attribute_keys::KEYS;
use proptest::prelude::*;
use std::sync::Arc;
use tfprof::internal::infer::fact::{Fact, LONGEST_VALUE, Shape};
use tfprof::internal::infer::flops::FORMULAS;
use tfprof::internal::infer::inference::{Instance, NoCalls, NodeCost, infer};
use tfprof::internal::infer::overrides::Overrides;
use tfprof::internal::infer::shapes;
use tfprof::internal::model::body::{Body, NO_NODE, Tensor};
use tfprof::internal::model::costs::UnknownReason;
use tfprof::internal::model::observed::ObservedShapes;
use tfprof_proto::write as pb;

const FLOAT: [u8; 2] = [0x30, 1];

fn shape(dims: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    pb::message(&mut out, 7, |out| push_dims(dims, out));
    out
}

/// The fields of a `TensorShapeProto`.
fn push_dims(dims: &[i64], out: &mut Vec<u8>) {
    for dim in dims {
        pb::message(out, 2, |out| pb::int(out, 1, *dim));
    }
}

fn node(body: &mut Body, op: &str, inputs: &[u32]) -> u32 {
    let name = format!("{op}_{}", body.len());
    let node = body.push_node(&name, op);
    inputs.iter().for_each(|source| body.push_input(Tensor { node: *source, output: 0 }));
    body.push_attribute("T", &FLOAT);
    node
}

fn placeholder(body: &mut Body, dims: &[i64]) -> u32 {
    let node = node(body, "Placeholder", &[]);
    body.push_attribute("dtype", &FLOAT);
    body.push_attribute("shape", &shape(dims));
    node
}

fn run(body: &Body, known: &Overrides) -> Instance {
    infer(body, &[], known, &mut NoCalls)
}

fn shown(instance: &Instance, node: u32) -> String {
    format!("{:?}", instance.outputs(node).first().map(|fact| fact.shape.clone()).unwrap_or_default())
}

#[test]
fn only_values_that_a_loop_changes_are_unknown() {
    let mut body = Body::default();
    let (grows, stays) = (placeholder(&mut body, &[2, 3]), placeholder(&mut body, &[3, 3]));
    // Merge, then the body, which comes round: next = concat(merge, merge) and next = merge · stays.
    let enters = [grows, stays].map(|source| node(&mut body, "Enter", &[source]));
    let merges = [0, 1].map(|at| node(&mut body, "Merge", &[enters[at], 8 + at as u32 * 2]));
    let axis = node(&mut body, "Const", &[]);
    let mut zero = Vec::new();
    pb::message(&mut zero, 8, |out| {
        pb::int(out, 1, 3);
        pb::packed(out, 7, &[0]);
    });
    body.push_attribute("value", &zero);
    let concat = node(&mut body, "ConcatV2", &[merges[0], merges[0], axis]);
    let next = node(&mut body, "NextIteration", &[concat]);
    let product = node(&mut body, "MatMul", &[merges[1], stays]);
    let again = node(&mut body, "NextIteration", &[product]);
    assert_eq!((next, again), (8, 10));
    let exits = merges.map(|merge| node(&mut body, "Exit", &[merge]));
    let instance = run(&body, &Overrides::default());
    assert_eq!(exits.map(|exit| shown(&instance, exit)), ["[?,3]", "[3,3]"]);
    assert_eq!(
        instance.cost(product),
        NodeCost::Known(tfprof::internal::infer::inference::Cost { float_ops: 54, macs: 27, io_bytes: 3 * 9 * 4 })
    );
}

#[test]
fn cycles_that_are_no_loops_end() {
    let mut body = Body::default();
    let a = node(&mut body, "AddV2", &[1, 2]);
    node(&mut body, "AddV2", &[a, 2]);
    node(&mut body, "AddV2", &[2, 0]);
    node(&mut body, "Relu", &[NO_NODE]);
    assert_eq!(shown(&run(&body, &Overrides::default()), 0), "?");
}

#[test]
fn depth_costs_nothing() {
    let mut body = Body::default();
    let mut last = placeholder(&mut body, &[-1, 4]);
    for _ in 0..200_000 {
        last = node(&mut body, "Relu", &[last]);
    }
    let instance = run(&body, &Overrides { batch: Some(3), ..Overrides::default() });
    assert_eq!(shown(&instance, last), "[3,4]");
    assert!(instance.uses_batch);
}

#[test]
fn given_shapes_win() {
    let mut body = Body::default();
    let x = placeholder(&mut body, &[-1, -1]);
    let y = node(&mut body, "Relu", &[x]);
    let name = body.name(x).to_owned();
    let check = |known: &Overrides, expect: &str, uses_batch: bool| {
        let instance = run(&body, known);
        assert_eq!((shown(&instance, y), instance.uses_batch), (expect.to_owned(), uses_batch));
    };
    let known = |batch, inputs: &[i64], ran: &[i64]| {
        let mut known = Overrides { batch, ..Overrides::default() };
        if !inputs.is_empty() {
            known.inputs.insert(name.clone(), Shape::of(inputs));
        }
        if !ran.is_empty() {
            let mut message = Vec::new();
            push_dims(ran, &mut message);
            let mut observed = ObservedShapes::default();
            observed.add(&name, 0, &message);
            known.observed = Arc::new(observed);
        }
        known
    };
    check(&known(None, &[], &[]), "[?,?]", false);
    check(&known(Some(7), &[], &[]), "[7,?]", true);
    check(&known(Some(7), &[-1, 5], &[]), "[7,5]", true);
    check(&known(Some(7), &[2, 5], &[]), "[2,5]", false);
    check(&known(Some(7), &[], &[32, 9]), "[32,9]", false);
    check(&known(Some(7), &[2, 5], &[32, 9]), "[2,5]", false);
    let instance = run(&body, &known(None, &[], &[]));
    assert!(matches!(instance.cost(y), NodeCost::Unknown(UnknownReason::Shape, _)));
    assert_eq!(instance.blame(&body, y), x);
}

/// Values of attributes that mean harm: huge, negative, of the wrong kind, or no message at all.
fn attribute() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![
        Just(-1_i64),
        Just(0),
        Just(1),
        2_i64..9,
        Just(i64::MAX),
        Just(i64::MIN),
        Just(1 << 32),
        any::<i64>()
    ];
    let sizes = prop::collection::vec(size.clone(), 0..6);
    let word = prop::sample::select(vec![
        "SAME",
        "VALID",
        "EXPLICIT",
        "NHWC",
        "NCHW",
        "NCHW_VECT_C",
        "ij,jk->ik",
        "...a,->a",
        "->",
        "lstm",
    ]);
    prop_oneof![
        size.clone().prop_map(|n| {
            let mut out = Vec::new();
            pb::key(&mut out, 3, 0);
            pb::varint(&mut out, n as u64);
            out
        }),
        sizes.clone().prop_map(|sizes| {
            let mut out = Vec::new();
            pb::message(&mut out, 1, |out| pb::packed(out, 3, &sizes));
            out
        }),
        sizes.clone().prop_map(|dims| shape(&dims)),
        (0_i64..40, sizes.clone(), sizes).prop_map(|(dtype, dims, values)| {
            let mut out = Vec::new();
            pb::message(&mut out, 8, |out| {
                pb::int(out, 1, dtype);
                pb::message(out, 2, |out| dims.iter().for_each(|dim| pb::message(out, 2, |out| pb::int(out, 1, *dim))));
                pb::packed(out, 7, &values);
            });
            out
        }),
        word.prop_map(|word| {
            let mut out = Vec::new();
            pb::element(&mut out, 2, word.as_bytes());
            out
        }),
        (0_u8..30).prop_map(|dtype| vec![0x30, dtype]),
        any::<bool>().prop_map(|on| vec![0x28, u8::from(on)]),
        prop::collection::vec(any::<u8>(), 0..12),
    ]
}

type Node = (usize, Vec<(u32, u32)>, Vec<(usize, Vec<u8>)>);

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let input = (0_u32..40, 0_u32..3);
    let attributes = prop::collection::vec((0..KEYS.len(), attribute()), 0..8);
    prop::collection::vec((any::<usize>(), prop::collection::vec(input, 0..6), attributes), 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn no_graph_is_too_odd(nodes in nodes(), batch in prop::option::of(any::<i64>())) {
        let formulas = FORMULAS.iter().flat_map(|(_, family)| *family).flat_map(|formula| formula.ops).copied();
        // Constants are the most of any graph, and shapes come from them.
        let ops: Vec<&str> = shapes::ops().chain(formulas).chain(["Const"; 500]).collect();
        let mut body = Body::default();
        for (op, inputs, attributes) in &nodes {
            body.push_node("n", ops[op % ops.len()]);
            inputs.iter().for_each(|(node, output)| body.push_input(Tensor { node: *node, output: *output }));
            attributes.iter().for_each(|(key, value)| body.push_attribute(KEYS[*key], value));
        }
        let instance = run(&body, &Overrides { batch, ..Overrides::default() });
        prop_assert_eq!(instance.len(), body.len());
        for node in 0..body.len() as u32 {
            instance.blame(&body, node);
            for fact in instance.outputs(node) {
                let Fact { shape, .. } = fact;
                prop_assert!(shape.dims().is_none_or(|dims| dims.iter().all(|dim| *dim >= -1)));
                let fits = |value: &[i64]| value.len() <= LONGEST_VALUE && shape.elements() == Some(value.len() as i64);
                prop_assert!(fact.integers().is_none_or(fits));
            }
        }
    }

    #[test]
    fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let body = Body::of_graph(&bytes);
        prop_assert_eq!(run(&body, &Overrides::default()).len(), body.len());
    }
}
