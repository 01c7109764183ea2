//! Turns a loaded model into a partial: its rows, and the steps of its one recording.

use super::rows::{
    Cell, Cost, FLOAT_OPS, Frame, INCLUSIVE, IO_BYTES, Key, NO_STACK, Row, Rows, STEP_PEAKS, Sums, TIME,
};
use super::rows::{EMPTY_STACK, KNOWS_BYTES, KNOWS_FLOPS, MISSES_FLOPS, SEEN};
use super::steps::{StepSet, sample};
use super::{Block, Packed, Partial, PartialFacts, Recording, StepRow};
use crate::budget;
use crate::metric::METRICS;
use crate::metric::MetricInfo;
use crate::model::Model;
use crate::model::activity::{Activity, DeviceFacts};
use crate::model::cells::{self, Cells};
use crate::model::costs::{NodeCosts, UnknownReason};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::hosts::{HostFacts, SpanSums};
use crate::model::layers::Layer;
use crate::model::nodes::{NO_INPUT, NodeId};
use crate::model::stacks::{self, StackId};
use std::collections::BTreeMap;

/// Stands for records without a device; no real device has this name.
pub(super) const LATE: &str = "\u{1}";

/// The reasons by number, from 1; 0 means none.
pub(super) const REASONS: [UnknownReason; 5] = [
    UnknownReason::NoFormula,
    UnknownReason::Shape,
    UnknownReason::Data,
    UnknownReason::DataFormat,
    UnknownReason::Malformed,
];

/// The numbers of layers and kinds of devices in partials.
pub(super) const LAYERS: [Layer; 7] =
    [Layer::Ops, Layer::Runtime, Layer::Calls, Layer::Programs, Layer::Kernels, Layer::Shapes, Layer::Stacks];
pub(super) const KINDS: [DeviceKind; 6] = [
    DeviceKind::Placement,
    DeviceKind::AllStreams,
    DeviceKind::OneStream,
    DeviceKind::Other,
    DeviceKind::Nameless,
    DeviceKind::NamelessLate,
];

/// Converts a model of at most one host. It must have kept all steps.
pub fn gather(model: &Model, recording: Recording) -> Partial {
    let about = about(model);
    let mut gatherer = Gatherer { model, rows: Rows::default(), stacks: vec![None; model.stacks.len()] };
    gatherer.rows.sampled = sample(&about.steps);
    let steps = gatherer.steps_of_nodes();
    for (node, steps) in model.nodes.all().zip(&steps) {
        gatherer.node(node, steps);
        budget::check();
    }
    let block = block(model);
    let mut partial = Partial { about, rows: gatherer.rows, ..Partial::default() };
    let id = recording.id();
    if recording.is_measured() {
        partial.blocks.insert(id, Packed::new(&block.write()));
    }
    partial.recordings.insert(id, recording);
    partial
}

fn about(model: &Model) -> PartialFacts {
    let has_run = model.is_trace || !model.runs.is_empty();
    let is_known = |info: &&MetricInfo| if has_run { !model.unknown.has(info.metric) } else { info.needs_graph() };
    let costs = &model.costs;
    PartialFacts {
        per_micro: has_run.then(|| model.time_unit.per_micro()),
        is_trace: model.is_trace,
        knows_trainable: model.knows_trainable,
        has_traces: model.has_traces,
        misses_streams: model.misses_streams,
        known: METRICS.iter().filter(is_known).map(|info| info.key.to_owned()).collect(),
        batch: costs.batch,
        by_batch: costs.by_batch.map(|runs| runs.map(|cost| [cost.float_ops, cost.macs, cost.io_bytes])),
        frozen_weights: costs.frozen_weights,
        steps: StepSet::new(model.runs.steps().collect()),
    }
}

struct Gatherer<'m> {
    model: &'m Model,
    rows: Rows,
    /// Maps the model's stacks to those of the partial.
    stacks: Vec<Option<u32>>,
}

/// The steps in which a node ran, on any device and on its first device.
type NodeSteps = [Vec<i64>; 2];

impl Gatherer<'_> {
    fn steps_of_nodes(&self) -> Vec<NodeSteps> {
        let model = self.model;
        let mut steps: Vec<NodeSteps> = vec![NodeSteps::default(); model.nodes.len()];
        for step in model.runs.steps() {
            let Some(cells) = model.runs.step(step) else { continue };
            for cell in cells.rows() {
                let counts = model.counts(cell.node, cell.device, true);
                let [any, first] = &mut steps[cell.node.index()];
                for list in [Some(any), Some(first).filter(|_| counts)].into_iter().flatten() {
                    if list.last() != Some(&step) {
                        list.push(step);
                    }
                }
            }
        }
        steps
    }

    fn node(&mut self, node: NodeId, steps: &NodeSteps) {
        let (model, at) = (self.model, node.index());
        let layer = model.nodes.layer(node);
        let [name, op] = [model.nodes.name[at], model.nodes.op[at]].map(|id| self.rows.text(model.names.get(id)));
        let stack = self.stack(model.nodes.stack[at]);
        let by_stack = matches!(layer, Layer::Stacks | Layer::Calls);
        let key = Key { layer: number(&LAYERS, &layer), name, op, stack: if by_stack { stack } else { NO_STACK } };
        let types = model.type_sets.get(model.nodes.types[at]).iter().map(|id| self.rows.text(model.names.get(*id)));
        let mut row = Row { words: [types.collect(), [].into(), [].into()], ..Row::default() };
        row.stack = stack;
        row.shape = model.shapes.get(model.nodes.shape[at]).to_vec();
        for input in model.nodes.inputs(node) {
            let source = if *input == NO_INPUT { "" } else { model.names.get(input.source) };
            row.inputs.push((self.rows.text(source), input.output));
        }
        row.float_ops = model.nodes.float_ops[at];
        row.inner = model.nodes.inner[at];
        row.declared_device = self.rows.text(model.names.get(model.nodes.declared_device[at]));
        row.flags = SEEN;
        row.steps = steps.clone().map(|steps| self.rows.step_set(StepSet::new(steps)));
        if model.placement[at].is_some() {
            row.placement = self.device(model.placement[at]);
        }
        if !model.costs.is_empty() {
            row.cost = Some(cost(&model.costs.get(node))).filter(|cost| *cost != Cost::default());
        }
        if let Some(dtype) = model.costs.dtypes.get(&node) {
            row.dtype = self.rows.text(&dtype.name());
        }
        self.facts(node, &mut row);
        self.cells(node, &mut row);
        *self.rows.row(key) = row;
    }

    fn facts(&mut self, node: NodeId, row: &mut Row) {
        let Some(facts) = self.model.op_facts.get(node) else { return };
        for (words, names) in row.words[1..].iter_mut().zip([&facts.categories, &facts.programs]) {
            words.extend(names.iter().map(|id| self.rows.text(self.model.names.get(*id))));
        }
        let flags =
            [(facts.knows_flops, KNOWS_FLOPS), (facts.misses_flops, MISSES_FLOPS), (facts.knows_bytes, KNOWS_BYTES)];
        flags.iter().filter(|(is, _)| *is).for_each(|(_, flag)| row.flags |= flag);
        row.precision = facts.precision.map_or(0, |precision| 1 + precision as u8);
    }

    fn cells(&mut self, node: NodeId, row: &mut Row) {
        let runs = &self.model.runs;
        self.each_cell(runs.totals(), node, row, |cell, sums| cell.totals = sums);
        self.each_cell(runs.everything(), node, row, |cell, sums| cell.everything = sums);
        for step in self.rows.step_sets[row.steps[0] as usize].clone().each() {
            let Some(cells) = runs.step(step) else { continue };
            let is_sampled = self.rows.sampled.contains(&step);
            self.each_cell(cells, node, row, |cell, sums| {
                cell.count(i64::try_from(sums.added[TIME]).unwrap_or(i64::MAX));
                if is_sampled {
                    cell.by_step.insert(step, Box::new(sums));
                }
            });
        }
    }

    fn each_cell(&mut self, cells: &Cells, node: NodeId, row: &mut Row, add: impl Fn(&mut Cell, Sums)) {
        for (cell, trace) in cells.with_trace_sums(node) {
            let device = self.device(cell.device);
            let mut sums = sums(&cell);
            if self.model.is_trace {
                sums.added[INCLUSIVE] = trace.inclusive.into();
                sums.added[FLOAT_OPS] = trace.float_ops.into();
                sums.added[IO_BYTES] = trace.io_bytes.into();
            }
            add(row.cells.entry(device).or_default(), sums);
        }
    }

    fn device(&mut self, device: DeviceId) -> u32 {
        let devices = &self.model.devices;
        let kind = devices.kind(device);
        let name = if kind == DeviceKind::NamelessLate { LATE } else { devices.spelled(device) };
        let text = self.rows.text(name);
        self.rows.devices.insert(text, number(&KINDS, &kind));
        text
    }

    fn stack(&mut self, stack: StackId) -> u32 {
        let mut open = Vec::new();
        let mut at = stack;
        let mut found = loop {
            match self.model.stacks.last(at) {
                None => break if at == StackId::NONE { NO_STACK } else { EMPTY_STACK },
                Some(_) if self.stacks[at.0 as usize].is_some() => {
                    break self.stacks[at.0 as usize].unwrap_or_default();
                }
                Some((outer, frame)) => {
                    open.push((at, frame));
                    at = outer;
                }
            }
        };
        while let Some((at, frame)) = open.pop() {
            let stacks::Frame { file, function, line, lineno, function_start, .. } = *self.model.stacks.frame(frame);
            let texts = [file, function, line].map(|id| self.rows.text(self.model.names.get(id)));
            let frame = self.rows.frame(Frame { texts, line: lineno, function_start });
            found = self.rows.stack(found.max(EMPTY_STACK), frame);
            self.stacks[at.0 as usize] = Some(found);
        }
        found
    }
}

fn sums(cell: &cells::Cell<'_>) -> Sums {
    let mut sums = Sums { highest_peak: cell.peaks().highest, ..Sums::default() };
    for (mine, sum) in sums.added.iter_mut().zip(cell.sums()) {
        *mine = sum.exact();
    }
    sums.added[STEP_PEAKS] = cell.peaks().sum().into();
    sums.span = (cell.first_start != 0).then_some((cell.first_start, cell.last_end));
    sums
}

fn cost(costs: &NodeCosts) -> Cost {
    let NodeCosts { float_ops, macs, io_bytes, unknown, why, runs, counted, unlisted } = *costs;
    let why = why.map_or(0, |why| 1 + number(&REASONS, &why));
    Cost { float_ops, macs, io_bytes, runs, unknown, unlisted, why, counted }
}

fn number<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().position(|other| other == one).unwrap_or(0) as u8
}

fn block(model: &Model) -> Block {
    let mut block = Block { per_micro: model.time_unit.per_micro(), ops: op_types(model), ..Block::default() };
    let Some(facts) = model.hosts.first() else {
        block.rule = super::fill::NO_RULE;
        block.steps = steps_of_cells(model);
        return block;
    };
    block.framework.clone_from(&facts.framework);
    block.recording.clone_from(&facts.recording);
    (block.rank, block.world_size) = (facts.rank, facts.world_size);
    let time = |time: Option<u64>| time.and_then(|time| i64::try_from(time).ok());
    (block.start_time, block.stop_time) = (time(facts.start_time), time(facts.stop_time));
    let numbers = |sums: &SpanSums| [sums.runs, sums.total, sums.self_time, sums.first, sums.last];
    block.kinds = [facts.outside].iter().chain(&facts.kinds).map(numbers).collect();
    block.rule = super::fill::rule_number(facts.rule);
    block.steps = steps_of_trace(facts);
    block.devices = facts
        .devices
        .iter()
        .map(|device| {
            let DeviceFacts { name, span, on_duty, busy, working, compute, collectives, exposed } = device;
            let numbers = [span, busy, on_duty, working, compute, collectives, exposed];
            (name.clone(), numbers.map(|number| *number))
        })
        .collect();
    block.memory_peak = facts.memory_peak.as_ref().map(|peak| (peak.allocator.clone(), peak.bytes));
    block
}

fn steps_of_trace(facts: &HostFacts) -> Vec<StepRow> {
    let mut steps: BTreeMap<i64, StepRow> = BTreeMap::new();
    for (at, step) in facts.steps.iter().enumerate() {
        let mut row =
            StepRow { number: step.number, start: Some(step.start), wall: Some(step.length), ..StepRow::default() };
        if let Some(ops) = facts.step_ops.get(at) {
            (row.op_runs, row.op_time) = (Some(ops.runs), Some(ops.self_time));
        }
        if let Some(parts) = facts.step_parts.get(at) {
            let of = |activity: Activity| parts.by_activity[activity as usize];
            row.idle = Some(parts.idle);
            row.busy = Some(parts.by_activity.iter().fold(0, |sum: i64, time| sum.saturating_add(*time)));
            row.input = Some(of(Activity::Input).saturating_add(of(Activity::HostInput)));
            row.communication = Some(of(Activity::Collective));
        }
        steps.insert(step.number, row);
    }
    steps.into_values().collect()
}

/// Steps of TensorFlow 1 only have a span, from the first start to the last end.
fn steps_of_cells(model: &Model) -> Vec<StepRow> {
    let step_row = |number: i64| {
        let cells = model.runs.step(number);
        let started = || cells.into_iter().flat_map(Cells::rows).filter(|cell| cell.first_start > 0);
        let start = started().map(|cell| cell.first_start).min();
        let end = started().map(|cell| cell.last_end).max();
        let wall = start.zip(end).map(|(start, end)| end.saturating_sub(start));
        StepRow { number, start, wall, ..StepRow::default() }
    };
    model.runs.steps().map(step_row).collect()
}

/// Runs and self time by op type. Rows that repeat the work of all streams are skipped, since it is counted already.
fn op_types(model: &Model) -> BTreeMap<String, (i64, i64)> {
    let cells = if model.runs.totals().is_empty() { model.runs.everything() } else { model.runs.totals() };
    let mut types: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for cell in cells.rows() {
        let repeats = matches!(model.devices.kind(cell.device), DeviceKind::OneStream | DeviceKind::NamelessLate);
        if repeats || model.nodes.layer(cell.node) != Layer::Ops {
            continue;
        }
        let op = model.names.get(model.nodes.op[cell.node.index()]);
        let sum = |measure| cell.sum(measure).limited();
        let (runs, time) = types.entry(op.to_owned()).or_default();
        *runs = runs.saturating_add(sum(cells::Measure::Runs));
        *time = time.saturating_add(sum(cells::Measure::Micros));
    }
    types
}
