//! Ops that only move data: transposes, changes of layout, and copies.

use super::finding::{Confidence, Finding};
use super::work::{self, OpWork};
use super::{Advice, Evidence};
use crate::model::activity::Activity;

/// Types of ops that move data and compute nothing, as [`OpWork::short`] has them. PyTorch's `aten::transpose` and
/// `aten::clone` are not among them: the one only makes another view, and the other calls `aten::copy_`.
const MOVERS: &[&str] = &["_mkltotf", "conjugatetranspose", "copy", "copy-done", "copy-start", "snapshot", "transpose"];
/// Parts of the names of kernels that change the layout of tensors for a library.
const KERNELS: [&str; 5] =
    ["nchwToNhwc", "nhwcToNchw", "batched_transpose", "transpose_kernel", "convertTensor_kernel"];

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    if evidence.model.runs.is_empty() {
        return advice.note("no step is loaded");
    }
    let Some(ops) = work::known_ops(evidence, advice) else { return };
    let moving: Vec<&OpWork<'_>> = ops.iter().filter(|op| moves(evidence, op)).collect();
    let time = moving.iter().map(|op| op.micros).sum::<f64>();
    let Some(share) = work::share(time, work::total(&ops)) else { return };
    let problem = format!("ops that only move data (transposes, changes of layout, copies) take {share}");
    let waits = moving.iter().any(|op| op.op.starts_with("copy-done"));
    let change = if waits {
        "Start copies earlier, or keep more tensors where they are used: `copy-done` waits for a copy to another memory, \
         such as that of the host"
    } else {
        "Keep one layout (channels_last, or NCHW on GPUs) and one type from op to op, and let products take transposed inputs \
         instead of copies"
    };
    let (saving, why) = work::saving(evidence, moving.iter().map(|op| (*op, op.micros)));
    advice.find(
        Finding::new("transposes and copies", problem, change, Confidence::Medium)
            .saves(saving, format!("the time of these ops{why}; some of them may be needed"))
            .shown_by_ops(moving),
    );
}

/// Whether an op only moves data within the memory of its device, or waits for that.
fn moves(evidence: &Evidence<'_>, op: &OpWork<'_>) -> bool {
    let facts = evidence.model.op_facts.get(op.node);
    let kernels = facts.map_or(&[][..], |facts| &facts.kernels);
    // Copies from and to the host are the business of other checkers.
    let is_transfer = |name: &str| {
        matches!(Activity::on_device([name, "", ""]), Activity::Input | Activity::Output)
            || name.contains("HtoD")
            || name.contains("DtoH")
    };
    if !kernels.is_empty() && kernels.iter().all(|kernel| is_transfer(&kernel.name)) || is_transfer(op.op) {
        return false;
    }
    let is_category = facts.is_some_and(|facts| {
        facts
            .categories
            .iter()
            .any(|category| matches!(evidence.model.names.get(*category), "data formatting" | "copy"))
    });
    let is_mover =
        if op.op.starts_with("aten::") { op.op == "aten::copy_" } else { MOVERS.contains(&op.short().as_str()) };
    is_category || is_mover || KERNELS.iter().any(|kernel| op.op.contains(kernel))
}
