//! Forward ops that the backward pass runs once more, to save memory.

use super::finding::{Confidence, Finding};
use super::work::{self, OpWork};
use super::{Advice, Evidence};

/// Ops of PyTorch that only a forward pass calls.
#[rustfmt::skip]
const FORWARD: &[&str] = &[
    "aten::linear", "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::batch_norm", "aten::layer_norm", "aten::group_norm",
    "aten::relu", "aten::gelu", "aten::silu", "aten::dropout", "aten::embedding", "aten::softmax", "aten::max_pool2d",
    "aten::scaled_dot_product_attention", "aten::multi_head_attention_forward", "aten::rms_norm",
];

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    if evidence.model.runs.is_empty() {
        return advice.note("no step is loaded");
    }
    let Some(ops) = work::known_ops(evidence, advice) else { return };
    let again: Vec<&OpWork<'_>> = ops.iter().filter(|op| is_recomputed(op.name)).collect();
    let time = again.iter().map(|op| op.micros).sum::<f64>();
    let Some(share) = work::share(time, work::total(&ops)) else { return };
    let problem = format!("the backward pass computes forward ops once more, which takes {share}");
    let change = "If memory allows, keep the results of some blocks (checkpoint fewer of them, or a policy that saves products \
                  of matrices)";
    let (saving, why) = work::saving(evidence, again.iter().map(|op| (*op, op.micros)));
    advice.find(
        Finding::new("recomputation", problem, change, Confidence::Medium)
            .saves(saving, format!("the time of these ops{why}"))
            .shown_by_ops(again),
    );
}

/// By the name of an op: XLA marks what it computes again, JAX names the scope, and in PyTorch a forward op lies in a
/// backward one.
fn is_recomputed(name: &str) -> bool {
    let (mut in_backward, mut is_again) = (false, false);
    for part in name.split('/') {
        let is_marked = part == "rematted_computation" || part.split('.').skip(1).any(|word| word == "remat");
        is_again |= is_marked || in_backward && FORWARD.contains(&part);
        // Inside what is computed again, gradients are no recomputation: a checkpoint may hold its own backward pass.
        is_again &= !part.starts_with("autograd::engine::evaluate_function");
        in_backward |= part.ends_with("Backward0") || part.ends_with("Backward");
    }
    is_again
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forward_ops_in_backward_ones_are_computed_again() {
        let engine = "(backward)/autograd::engine::evaluate_function: ";
        let check = |name: &str, expected: bool| assert_eq!(is_recomputed(name), expected, "{name}");
        check(&format!("{engine}CheckpointFunctionBackward/CheckpointFunctionBackward/aten::linear/aten::addmm"), true);
        check(&format!("{engine}ReluBackward0/ReluBackward0/aten::linear/aten::addmm"), true);
        check(&format!("{engine}AddmmBackward0/AddmmBackward0/aten::mm"), false);
        let inner = "autograd::engine::evaluate_function: AddmmBackward0/AddmmBackward0/aten::mm";
        check(&format!("{engine}CheckpointFunctionBackward/CheckpointFunctionBackward/{inner}"), false);
        check("Net_0/aten::linear/aten::addmm", false);
        check("jit(step)/transpose(jvp(f))/rematted_computation/dot_general", true);
        check("fusion.12.remat", true);
        check("fusion.12", false);
    }
}
