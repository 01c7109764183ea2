//! Chains of unfused elementwise ops: each reads its input from memory and writes its output back, which a
//! fusing compiler does only once.

use super::finding::{Confidence, Finding};
use super::work::{self, OpWork};
use super::{Advice, Evidence, micros};
use std::collections::BTreeMap;

/// Elementwise op types, as [`OpWork::short`] spells them.
#[rustfmt::skip]
const ELEMENTWISE: &[&str] = &[
    "abs", "add", "addcdiv", "addcmul", "addn", "addv2", "biasadd", "cast", "ceil", "clamp", "clamp_max", "clamp_min", "cos", "div", "elu",
    "eq", "equal", "erf", "exp", "floor", "ge", "gelu", "gelu_backward", "greater", "greaterequal", "gt", "hardtanh", "le", "leaky_relu",
    "leakyrelu", "less", "lessequal", "lerp", "log", "log1p", "logical_and", "logical_not", "logical_or", "logicaland", "lt", "masked_fill",
    "maximum", "minimum", "mul", "ne", "neg", "pow", "realdiv", "reciprocal", "relu", "relu6", "relugrad", "round", "rsqrt", "rsqrtgrad", "rsub",
    "select", "selectv2", "selu", "sigmoid", "sigmoid_backward", "sigmoidgrad", "sign", "silu", "silu_backward", "sin", "softplus", "sqrt",
    "sqrtgrad", "square", "squareddifference", "sub", "tanh", "tanh_backward", "tanhgrad", "threshold_backward", "truediv", "where",
];

/// The elementwise ops that lie directly in one scope: microseconds and runs a step, by type.
type Group<'m> = BTreeMap<&'m str, (f64, f64)>;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    if evidence.model.runs.is_empty() {
        return advice.note("no step is loaded");
    }
    let Some(ops) = work::known_ops(evidence, advice) else { return };
    // XLA has fused its programs already.
    let is_compiled =
        |op: &OpWork<'_>| evidence.model.op_facts.get(op.node).is_some_and(|facts| !facts.categories.is_empty());
    let elementwise = |op: &&OpWork<'_>| !is_compiled(op) && ELEMENTWISE.contains(&op.short().as_str());
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for op in ops.iter().filter(elementwise) {
        let (micros, runs) = groups.entry(scope(op.name)).or_default().entry(op.op).or_default();
        *micros += op.micros;
        *runs += op.runs.max(1.0);
    }
    // Ops of one type may work on different tensors, such as the parameters of an optimizer; a chain has several types.
    groups.retain(|_, types| types.len() > 1);
    let (mut all, mut kept, mut count) = (0.0, 0.0, 0.0);
    for types in groups.values() {
        all += types.values().map(|(micros, _)| micros).sum::<f64>();
        kept += types.values().map(|(micros, _)| *micros).fold(0.0, f64::max);
        count += types.values().map(|(_, runs)| runs).sum::<f64>();
    }
    if work::share(all - kept, work::total(&ops)).is_none() {
        return;
    }
    let Some(share) = work::share(all, work::total(&ops)) else { return };
    let compiler = if evidence.is_other_trace() { "torch.compile" } else { "XLA (jit_compile=True)" };
    let problem = format!(
        "{count:.0} elementwise ops of several types run one by one in {} scopes, and take {share}",
        groups.len()
    );
    let change = format!("Let {compiler} fuse those that follow each other, or call one op that does their work");
    // The most expensive type of a scope stays.
    let less = |op: &OpWork<'_>| {
        let types = groups.get(scope(op.name))?;
        let stays = types.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0)).is_some_and(|(most, _)| *most == op.op);
        (!stays).then_some(op.micros)
    };
    let (saving, why) = work::saving(evidence, ops.iter().filter(elementwise).filter_map(|op| Some((op, less(op)?))));
    let arithmetic = format!(
        "{} minus the most expensive type of each scope, {}, into which the others are fused{why}",
        micros(all as i64),
        micros(kept as i64)
    );
    advice.find(
        Finding::new("elementwise chains", problem, &change, Confidence::Low)
            .saves(saving, arithmetic)
            .shown_by_ops(ops.iter().filter(elementwise).filter(|op| groups.contains_key(scope(op.name)))),
    );
}

fn scope(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(scope, _)| scope)
}
