//! Compilation inside steps: functions that are traced or compiled anew, since their inputs change.

use super::finding::{Confidence, Finding};
use super::{Advice, Evidence, micros, percent};
use crate::model::TimeUnit;
use crate::model::cells::Measure;
use crate::model::hosts::StepRule;
use crate::model::layers::Layer;
use crate::model::nodes::NodeId;
use crate::options::ViewKind;

/// Events of compilers. In each list, the first one that was recorded contains the others.
#[rustfmt::skip]
const EVENTS: [&[&str]; 5] = [
    // PyTorch
    &["entire_frame_compile", "_compile.compile_inner (dynamo_timed)"],
    // JAX: to StableHLO, and from there to code
    &["lower_sharding_computation"],
    &["backend_compile_and_load", "backend_compile", "PjRtCpuClient::Compile", "PjRtClient::Compile",
      "CpuCompiler::RunBackend", "GpuCompiler::RunBackend"],
    // XLA within TensorFlow
    &["XlaCompilationCache::Compile", "DeviceCompiler::CompileImpl", "XlaCompiler::CompileFunction"],
    // TensorFlow: a function is instantiated and optimized for new shapes
    &["ProcessFunctionLibraryRuntime::InstantiateMultiDevice"],
];

/// Ignore smaller parts of a step, in percent and in microseconds.
const LEAST_PERCENT: f64 = 5.0;
const LEAST_MICROS: i64 = 100;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let hosts = &evidence.model.hosts;
    let steps = || hosts.iter().flat_map(|host| &host.steps);
    let count = i64::try_from(steps().count()).unwrap_or(i64::MAX);
    if count == 0 {
        return advice.note("no trace with steps is loaded");
    }
    let length = steps().fold(0_i64, |sum, step| sum.saturating_add(step.length)) / count / TimeUnit::Picos.per_micro();
    let mut rows = Vec::new();
    for names in EVENTS {
        rows.extend(names.iter().map(|name| (name, compiled(evidence, name))).find(|(_, (runs, _))| *runs > 0));
    }
    let time = rows.iter().fold(0_i64, |sum, (_, (_, time))| sum.saturating_add(*time)) / count;
    let share = percent(time, length);
    if time < LEAST_MICROS || share < LEAST_PERCENT {
        return;
    }
    let runs = rows.iter().map(|(_, (runs, _))| *runs).max().unwrap_or(0);
    let problem = format!(
        "compilers run during {} of {} a step ({share:.0}%), {runs} times in {count} steps",
        micros(time),
        micros(length)
    );
    let change = "Keep shapes and Python arguments the same from step to step (pad or bucket inputs, mark dimensions as \
                  dynamic, pass numbers as tensors), and compile before the steps that count";
    let is_whole = hosts.iter().all(|host| host.rule == StepRule::WholeProfile);
    let whole =
        if is_whole { "; nothing marks steps, so that all of the recording counts as one" } else { " in steps" };
    let rows = rows.into_iter().map(|(name, (_, time))| ((*name).to_owned(), time / count));
    advice.find(
        Finding::new("compilation inside steps", problem, change, Confidence::High)
            .saves(time.min(length), format!("the time of compilers{whole}"))
            .shown_by(ViewKind::Op, rows),
    );
}

/// The runs of an event inside steps, and its total time in microseconds.
fn compiled(evidence: &Evidence<'_>, name: &str) -> (i64, i64) {
    let model = evidence.model;
    let parts = model.time_unit.per_micro();
    let mut sum = (0_i64, 0_i64);
    // An op has a type; an event of a runtime only has a name.
    let of_name = |node: &NodeId| match model.nodes.layer(*node) {
        Layer::Ops => model.names.get(model.nodes.op[node.index()]) == name,
        Layer::Runtime => model.name(*node).rsplit('/').next() == Some(name),
        _ => false,
    };
    for node in model.runs.totals().nodes().filter(of_name) {
        for (cell, trace) in model.runs.totals().with_trace_sums(node) {
            sum.0 = sum.0.saturating_add(cell.sum(Measure::Runs).limited());
            sum.1 = sum.1.saturating_add(trace.inclusive / parts);
        }
    }
    sum
}
