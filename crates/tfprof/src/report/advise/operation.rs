//! Ops with faster replacements.

use super::{Advice, Evidence};
use crate::model::nodes::NodeId;
use tfprof_proto::wire::{Fields, Value};

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let model = evidence.model;
    // The original knows only the first version of the op; without that quirk, later versions are fused, too.
    let first_only = evidence.quirks.new_batch_norms_are_slow;
    let fused = |name: &str| name == "FusedBatchNorm" || (!first_only && name.starts_with("FusedBatchNorm"));
    let has_fused_type = |node: NodeId| {
        let types = model.type_sets.get(model.nodes.types[node.index()]);
        let op = model.nodes.op[node.index()];
        types.iter().chain([&op]).any(|ty| fused(model.names.get(*ty)))
    };
    let named = || model.ops().filter(|node| model.name(*node).contains("BatchNorm"));
    if named().next().is_some() && !model.ops().any(has_fused_type) {
        let first = named().map(|node| model.name(node)).min().unwrap_or_default();
        advice.report(&format!(
            "batch normalization is made of single ops (as in {first}); FusedBatchNorm does the same in one kernel"
        ));
    }
    let mut wide: Vec<&str> =
        model.ops().filter(|node| is_nhwc_on_gpu(evidence, *node)).map(|n| model.name(n)).collect();
    wide.sort_unstable();
    if let Some(first) = wide.first() {
        let count = wide.len();
        advice.report(&format!("{count} ops on a GPU use data_format NHWC (as {first}); NCHW is often faster there"));
    }
}

fn is_nhwc_on_gpu(evidence: &Evidence<'_>, node: NodeId) -> bool {
    let model = evidence.model;
    let format = model.names.find(b"data_format").and_then(|name| model.attributes.get(node, name));
    let format = format.and_then(|value| Fields::new(value, 0).next_field().ok().flatten());
    let is_nhwc = format.is_some_and(|field| field.number == 2 && field.value == Value::Bytes(b"NHWC"));
    let placement = model.placement[node.index()];
    is_nhwc && placement.is_some() && model.names.get(model.devices.name(placement)).contains("gpu")
}
