//! Any bytes as a graph: shapes and costs of all nodes within their limits, and no panic.
#![no_main]

#[path = "../../crates/tfprof/tests/common/attribute_keys.rs"]
mod attribute_keys;

use attribute_keys::KEYS;
use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof::internal::infer::fact::LONGEST_VALUE;
use tfprof::internal::infer::inference::{NoCalls, NodeCost, infer};
use tfprof::internal::infer::overrides::Overrides;
use tfprof::internal::infer::shapes;
use tfprof::internal::model::body::{Body, Tensor};

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        check(&Body::of_graph(bytes));
        check(&made_of(bytes));
    });
});

/// A graph in which every few bytes are an op that has a rule, its inputs, and an attribute.
fn made_of(bytes: &[u8]) -> Body {
    let ops: Vec<&str> = shapes::ops().collect();
    let mut body = Body::default();
    for chunk in bytes.chunks(24) {
        let byte = |at: usize| usize::from(chunk.get(at).copied().unwrap_or(0));
        let node = body.push_node("n", ops[(byte(0) | byte(1) << 8) % ops.len()]);
        for at in 2..2 + byte(2) % 4 {
            body.push_input(Tensor {
                node: node.wrapping_sub(byte(at + 1) as u32 % 8),
                output: (byte(at + 1) / 64) as u32,
            });
        }
        body.push_attribute(KEYS[byte(7) % KEYS.len()], chunk.get(8..).unwrap_or_default());
    }
    body
}

fn check(body: &Body) {
    for batch in [None, Some(i64::MAX)] {
        let known = Overrides { batch, ..Overrides::default() };
        let instance = infer(body, &[], &known, &mut NoCalls);
        assert_eq!(instance.len(), body.len());
        for node in 0..body.len() as u32 {
            instance.blame(body, node);
            for fact in instance.outputs(node) {
                assert!(fact.shape.dims().is_none_or(|dims| dims.iter().all(|dim| *dim >= -1)));
                let value = fact.integers();
                assert!(value.is_none_or(|value| value.len() <= LONGEST_VALUE));
                assert!(value.is_none_or(|value| fact.shape.elements() == Some(value.len() as i64)));
            }
            if let NodeCost::Known(cost) = instance.cost(node) {
                assert!(cost.io_bytes >= 0 && cost.macs >= 0);
            }
        }
    }
}
