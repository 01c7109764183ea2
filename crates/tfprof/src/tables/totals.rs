//! Sums by node, device and step, and the steps themselves.

use super::executions::MICRO;
use super::{Facts, Writer};
use crate::metric::Metric;
use crate::model::activity::Activity;
use crate::model::cells::{Cell, Cells, Measure, TraceSums};
use crate::model::devices::DeviceKind;
use crate::model::layers::Layers;
use crate::model::nodes::NodeId;
use std::io;

pub fn totals(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let runs = &facts.model.runs;
    for step in runs.steps() {
        let Some(cells) = runs.step(step) else { continue };
        for (cell, sums) in cells_of(cells) {
            push(facts, out, &cell, &Amounts::of(&cell, sums), Some(step))?;
        }
    }
    // The remainder outside of steps: everything minus the steps.
    let in_steps = if runs.is_empty() { None } else { Some(runs.totals()) };
    for (cell, sums) in cells_of(runs.everything()) {
        let mut amounts = Amounts::of(&cell, sums);
        let inside = in_steps
            .and_then(|inside| inside.with_trace_sums(cell.node).find(|(inside, _)| inside.device == cell.device));
        if let Some((inside, sums)) = inside {
            amounts.subtract(&Amounts::of(&inside, sums));
        }
        if amounts != Amounts::default() {
            push(facts, out, &cell, &amounts, None)?;
        }
    }
    Ok(())
}

/// All cells with the sums of traces, by node.
fn cells_of(cells: &Cells) -> impl Iterator<Item = (Cell<'_>, TraceSums)> {
    cells.nodes().flat_map(|node| cells.with_trace_sums(node))
}

/// The numbers of a cell, in the units of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amounts {
    runs: i64,
    time: i64,
    inclusive: i64,
    requested: i64,
    peak: i64,
    residual: i64,
    output: i64,
    float_ops: i64,
    io_bytes: i64,
}

impl Amounts {
    fn of(cell: &Cell<'_>, sums: TraceSums) -> Amounts {
        let sum = |measure| cell.sum(measure).limited();
        Amounts {
            runs: sum(Measure::Runs),
            time: sum(Measure::Micros),
            inclusive: sums.inclusive,
            requested: sum(Measure::RequestedBytes).saturating_sub(sum(Measure::RepeatedTemp)),
            peak: cell.peaks().highest,
            residual: sum(Measure::ResidualBytes),
            output: sum(Measure::OutputBytes),
            float_ops: sums.float_ops,
            io_bytes: sums.io_bytes,
        }
    }

    /// Subtracts a part. A peak is not a sum: if the part reaches it, none remains.
    fn subtract(&mut self, part: &Amounts) {
        self.runs = self.runs.saturating_sub(part.runs);
        self.time = self.time.saturating_sub(part.time);
        self.inclusive = self.inclusive.saturating_sub(part.inclusive);
        self.requested = self.requested.saturating_sub(part.requested);
        self.residual = self.residual.saturating_sub(part.residual);
        self.output = self.output.saturating_sub(part.output);
        self.float_ops = self.float_ops.saturating_sub(part.float_ops);
        self.io_bytes = self.io_bytes.saturating_sub(part.io_bytes);
        self.peak = if part.peak >= self.peak { 0 } else { self.peak };
    }
}

fn push(
    facts: &Facts<'_>,
    out: &mut Writer<'_>,
    cell: &Cell<'_>,
    amounts: &Amounts,
    step: Option<i64>,
) -> io::Result<()> {
    let (model, node, device) = (facts.model, cell.node, cell.device);
    if !facts.has(node) {
        return Ok(());
    }
    let kind = model.devices.kind(device);
    let on_streams = matches!(kind, DeviceKind::AllStreams | DeviceKind::OneStream);
    let is_part = kind == DeviceKind::OneStream;
    let picos = facts.picos();
    let time = |n: i64| n.saturating_mul(picos);
    let unknown = model.unknown_in(Layers::OPS);
    let bytes = |metric: Metric, n: i64| if on_streams || unknown.has(metric) { None } else { Some(n) };
    let origin = if model.is_trace { 0 } else { facts.origin() };
    let at = |n: i64| (n > 0).then(|| time(n.saturating_sub(origin)));
    let (float_ops, io_bytes) = costs(facts, node, amounts, on_streams);
    let (name, op) = (model.nodes.name[node.index()], model.nodes.op[node.index()]);
    out.row()?
        .int(i64::from(node.0))
        .keyed(Some(name.0), |_| model.names.get(name))
        .keyed(Some(op.0), |_| model.names.get(op))
        .keyed(Some(device.0), |_| model.devices.spelled(device))
        .keyed(model.devices.host(device), |host| facts.host(host))
        .int(step)
        .int((!on_streams).then_some(amounts.runs))
        .int(on_streams.then_some(amounts.runs))
        .int((!is_part).then(|| time(amounts.time)))
        .int((!is_part).then(|| time(amounts.inclusive)))
        .int(is_part.then(|| time(amounts.time)))
        .bool(matches!(kind, DeviceKind::AllStreams | DeviceKind::OneStream | DeviceKind::Other))
        .int(bytes(Metric::RequestedBytes, amounts.requested))
        .int(bytes(Metric::PeakBytes, amounts.peak))
        .int(bytes(Metric::ResidualBytes, amounts.residual))
        .int(bytes(Metric::OutputBytes, amounts.output))
        .int(float_ops)
        .int(io_bytes)
        .int(at(cell.first_start))
        .int(at(cell.last_end));
    Ok(())
}

/// The costs of all runs: as the trace recorded them, else the computed cost times the runs.
fn costs(facts: &Facts<'_>, node: NodeId, amounts: &Amounts, on_streams: bool) -> (Option<i64>, Option<i64>) {
    let model = facts.model;
    let recorded = model.op_facts.get(node);
    let cost = model.costs.get(node);
    let logged = model.nodes.float_ops[node.index()];
    let computed = |once: i64| Some(once.saturating_mul(amounts.runs));
    let is_known = cost.counted && cost.unknown == 0 && !on_streams;
    let float_ops = match recorded {
        Some(recorded) if recorded.knows_flops => Some(amounts.float_ops),
        _ if logged != 0 && !on_streams => computed(logged),
        _ if is_known => computed(cost.float_ops),
        _ => None,
    };
    let io_bytes = match recorded {
        Some(recorded) if recorded.knows_bytes => Some(amounts.io_bytes),
        _ if is_known => computed(cost.io_bytes),
        _ => None,
    };
    (float_ops, io_bytes)
}

pub fn steps(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let model = facts.model;
    if !model.is_trace {
        return steps_of_runs(facts, out);
    }
    for host in &model.hosts {
        for (at, step) in host.steps.iter().enumerate() {
            let ops = host.step_ops.get(at);
            let parts = host.step_parts.get(at);
            let mut row = out.row()?;
            row.int(step.number)
                .text(&*host.host)
                .int(step.start)
                .int(step.length)
                .int(ops.map(|ops| ops.runs))
                .int(ops.map(|ops| ops.self_time));
            for activity in 0..Activity::ALL.len() {
                row.int(parts.map(|parts| parts.by_activity[activity]));
            }
            row.int(parts.map(|parts| parts.idle));
        }
    }
    Ok(())
}

/// Steps of runs last from the first start of an op to the last end.
fn steps_of_runs(facts: &Facts<'_>, out: &mut Writer<'_>) -> io::Result<()> {
    let runs = &facts.model.runs;
    let origin = facts.origin();
    for step in runs.steps() {
        let cells = || runs.step(step).into_iter().flat_map(Cells::rows);
        let started = || cells().filter(|cell| cell.first_start > 0);
        let first = started().map(|cell| cell.first_start).min();
        let last = started().map(|cell| cell.last_end).max();
        let length = first.zip(last).map(|(first, last)| last.saturating_sub(first).saturating_mul(MICRO));
        let counted = |cell: &Cell<'_>| facts.model.devices.kind(cell.device) != DeviceKind::OneStream;
        let sum = |of: &dyn Fn(Cell<'_>) -> i64| cells().filter(counted).map(of).fold(0, i64::saturating_add);
        let on_streams = |cell: &Cell<'_>| facts.model.devices.kind(cell.device) == DeviceKind::AllStreams;
        let ran = sum(&|cell| if on_streams(&cell) { 0 } else { cell.sum(Measure::Runs).limited() });
        let time = sum(&|cell| cell.sum(Measure::Micros).limited()).saturating_mul(MICRO);
        let mut row = out.row()?;
        row.int(step)
            .text(None)
            .int(first.map(|first| first.saturating_sub(origin).saturating_mul(MICRO)))
            .int(length)
            .int(ran)
            .int(time);
        for _ in 0..=Activity::ALL.len() {
            row.int(None);
        }
    }
    Ok(())
}
