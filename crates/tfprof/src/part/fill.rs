//! Turns a partial into a model, so that every view can read it like any other input.

use super::gather::{KINDS, LATE, LAYERS, REASONS};
use super::rows::{
    self, FLOAT_OPS, INCLUSIVE, IO_BYTES, KNOWS_BYTES, KNOWS_FLOPS, MISSES_FLOPS, NO_STACK, Row, STEP_PEAKS,
};
use super::steps::StepSet;
use super::{Block, Partial, Recording};
use crate::budget;
use crate::hardware::Precision;
use crate::metric::MetricSet;
use crate::model::activity::{Activity, DeviceFacts, StepParts};
use crate::model::builder::Builder;
use crate::model::cells::{Cells, StepPeaks, Sum, TraceSums};
use crate::model::costs::{NodeCosts, RunCost};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::dtype::DType;
use crate::model::hosts::{AllocatorPeak, HostFacts, SpanSums, StepRule, StepSpan};
use crate::model::layers::Layer;
use crate::model::names::NameId;
use crate::model::nodes::{Input, NO_INPUT, NodeId};
use crate::model::runs::StepCount;
use crate::model::stacks::{Frame, StackId, StringIds};
use crate::model::{Model, TimeUnit};
use std::collections::BTreeMap;

/// Fills an empty model. Fails if a block of steps is damaged.
pub fn fill(partial: &Partial, builder: &mut Builder) -> Result<(), String> {
    let mut filler = Filler::new(partial, builder);
    for at in 0..partial.rows.rows.len() {
        filler.node(at);
    }
    filler.finish();
    let model = &mut builder.model;
    let about = &partial.about;
    model.is_partial = true;
    model.is_trace = about.is_trace;
    model.knows_trainable = about.knows_trainable;
    model.has_traces = about.has_traces;
    model.misses_streams = about.misses_streams;
    if about.per_micro == Some(TimeUnit::Picos.per_micro()) {
        model.time_unit = TimeUnit::Picos;
    }
    if about.is_trace {
        model.unknown = MetricSet::with(|info| !about.known.contains(info.key));
    }
    model.costs.batch = about.batch;
    model.costs.by_batch =
        about.by_batch.map(|runs| runs.map(|[float_ops, macs, io_bytes]| RunCost { float_ops, macs, io_bytes }));
    model.costs.frozen_weights = about.frozen_weights;
    if about.is_trace {
        for ((id, recording), host) in partial.read().into_iter().zip(partial.host_names()) {
            let block = partial.blocks.get(&id).map_or(Ok(Block::default()), super::Packed::block)?;
            model.hosts.push(HostFacts { host, ..facts(recording, block) });
        }
    }
    Ok(())
}

struct Filler<'p> {
    partial: &'p Partial,
    builder: &'p mut Builder,
    names: Vec<NameId>,
    stacks: Vec<StackId>,
    /// The size of each step set.
    counts: Vec<u32>,
    devices: BTreeMap<u32, DeviceId>,
    totals: Cells,
    everything: Cells,
    steps: BTreeMap<i64, Option<Cells>>,
    seen: Vec<(NodeId, StepCount)>,
}

impl<'p> Filler<'p> {
    fn new(partial: &'p Partial, builder: &'p mut Builder) -> Filler<'p> {
        let rows = &partial.rows;
        let model = &mut builder.model;
        let names: Vec<NameId> = rows.texts.iter().map(|text| model.names.intern(text)).collect();
        let mut stacks = vec![StackId::NONE, StackId::EMPTY];
        for (outer, frame) in &rows.stacks[2..] {
            let rows::Frame { texts, line, function_start } = rows.frames[*frame as usize];
            let [file, function, text] = texts.map(|text| names[text as usize]);
            let string_ids = StringIds::default();
            let frame = Frame { file, function, line: text, lineno: line, function_start, string_ids };
            let frame = model.stacks.intern_frame(frame);
            stacks.push(model.stacks.push(stacks[*outer as usize], frame));
        }
        let mut devices = BTreeMap::new();
        for (text, kind) in &rows.devices {
            let kind = KINDS.get(*kind as usize).copied().unwrap_or(DeviceKind::Other);
            let name = rows.get(*text);
            let id = if name == LATE && !partial.about.is_trace {
                let nameless = builder.device(b"");
                builder.model.devices.late(nameless)
            } else {
                builder.device(name.as_bytes())
            };
            if partial.about.is_trace {
                builder.model.devices.set_kind(id, kind);
            }
            devices.insert(*text, id);
        }
        let count = |set: &StepSet| u32::try_from(set.count()).unwrap_or(u32::MAX);
        let counts = rows.step_sets.iter().map(count).collect();
        // A file may state more steps than it has bytes.
        let mut steps = BTreeMap::new();
        for step in partial.about.steps.each() {
            budget::work(1);
            steps.insert(step, rows.sampled.contains(&step).then(Cells::default));
        }
        let (totals, everything) = (Cells::default(), Cells::default());
        Filler { partial, builder, names, stacks, counts, devices, totals, everything, steps, seen: Vec::new() }
    }

    fn node(&mut self, at: usize) {
        let rows = &self.partial.rows;
        let (key, row) = (rows.keys[at], &rows.rows[at]);
        let [name, op] = [key.name, key.op].map(|text| self.names[text as usize]);
        let layer = LAYERS.get(key.layer as usize).copied().unwrap_or(Layer::Runtime);
        let model = &mut self.builder.model;
        let node = if layer == Layer::Ops { model.push_node(name, op) } else { model.push_event(name, op, layer) };
        let mut types: Vec<NameId> = row.words[0].iter().map(|text| self.names[*text as usize]).collect();
        types.sort_unstable_by(|a, b| model.names.get(*a).cmp(model.names.get(*b)));
        for (source, output) in &row.inputs {
            let source = Input { source: self.names[*source as usize], output: *output };
            model.nodes.push_input(if source.source == NameId::EMPTY { NO_INPUT } else { source });
        }
        let index = node.index();
        model.nodes.types[index] = model.type_sets.intern(&types);
        model.nodes.shape[index] = model.shapes.intern(&row.shape);
        let stack = if row.stack == NO_STACK { key.stack } else { row.stack };
        model.nodes.stack[index] = self.stacks[stack as usize];
        model.nodes.float_ops[index] = row.float_ops;
        model.nodes.inner[index] = row.inner;
        model.nodes.declared_device[index] = self.names[row.declared_device as usize];
        if let Some(device) = self.devices.get(&row.placement) {
            model.placement[index] = *device;
        }
        costs(rows.get(row.dtype), row, node, model);
        if self.partial.about.is_trace {
            self.facts(row, node);
        }
        self.cells(row, node);
        let [any, first] = row.steps.map(|set| self.counts[set as usize]);
        if any > 0 {
            self.seen.push((node, StepCount { any_device: any, first_device: first }));
        }
    }

    fn facts(&mut self, row: &Row, node: NodeId) {
        let facts = self.builder.model.op_facts.at(node);
        row.words[1].iter().for_each(|text| facts.add_category(self.names[*text as usize]));
        row.words[2].iter().for_each(|text| facts.add_program(self.names[*text as usize]));
        facts.knows_flops = row.flags & KNOWS_FLOPS != 0;
        facts.misses_flops = row.flags & MISSES_FLOPS != 0;
        facts.knows_bytes = row.flags & KNOWS_BYTES != 0;
        let at = usize::from(row.precision).checked_sub(1);
        facts.precision = at.and_then(|at| Precision::of(Precision::words().get(at)?));
    }

    fn cells(&mut self, row: &Row, node: NodeId) {
        let is_trace = self.partial.about.is_trace;
        for (device, cell) in &row.cells {
            let device = self.devices[device];
            add(&mut self.totals, node, device, &cell.totals, is_trace);
            if is_trace {
                add(&mut self.everything, node, device, &cell.everything, true);
            }
            for (step, sums) in &cell.by_step {
                if let Some(Some(cells)) = self.steps.get_mut(step) {
                    add(cells, node, device, sums, is_trace);
                }
            }
        }
    }

    fn finish(self) {
        let everything = self.partial.about.is_trace.then_some(self.everything);
        let model = &mut self.builder.model;
        model.runs.set_sums(self.steps, self.totals, everything, self.seen, model.nodes.len());
    }
}

fn add(cells: &mut Cells, node: NodeId, device: DeviceId, sums: &rows::Sums, is_trace: bool) {
    if *sums == rows::Sums::default() {
        return;
    }
    let (first, last) = sums.span.unwrap_or_default();
    let measures = std::array::from_fn(|at| Sum::from_exact(sums.added[at]));
    let limited = |at: usize| Sum::from_exact(sums.added[at]).limited();
    let mut cell = cells.at(node, device);
    cell.record(&measures, 0, first, last);
    cell.set_peaks(StepPeaks::of_steps(sums.highest_peak, limited(STEP_PEAKS)));
    if is_trace {
        let [inclusive, float_ops, io_bytes] = [INCLUSIVE, FLOAT_OPS, IO_BYTES].map(limited);
        cells.add_of_trace(node, device, TraceSums { inclusive, float_ops, io_bytes });
    }
}

fn costs(dtype: &str, row: &Row, node: NodeId, model: &mut Model) {
    if let Some(dtype) = DType::named(dtype) {
        model.costs.dtypes.insert(node, dtype);
    }
    let Some(rows::Cost { float_ops, macs, io_bytes, runs, unknown, unlisted, why, counted }) = row.cost else {
        return;
    };
    let why = usize::from(why).checked_sub(1).and_then(|at| REASONS.get(at).copied());
    model.costs.set(node, NodeCosts { float_ops, macs, io_bytes, unknown, why, runs, counted, unlisted });
}

/// The number that stands for a step rule in partials; steps of TensorFlow 1 have none.
pub(super) const NO_RULE: u8 = 8;
const RULES: [StepRule; 9] = [
    StepRule::Marker,
    StepRule::StepNum,
    StepRule::ProfilerSteps,
    StepRule::StepsLine,
    StepRule::FunctionCalls,
    StepRule::Root,
    StepRule::ModuleRuns,
    StepRule::WholeProfile,
    StepRule::None,
];

pub(super) fn rule_number(rule: StepRule) -> u8 {
    RULES.iter().position(|other| *other == rule).map_or(NO_RULE, |at| at as u8)
}

/// The facts of a host that a partial keeps.
fn facts(recording: &Recording, block: Block) -> HostFacts {
    let mut facts = HostFacts {
        file: recording.path().to_owned(),
        framework: block.framework,
        recording: block.recording,
        rank: block.rank,
        world_size: block.world_size,
        start_time: block.start_time.and_then(|time| u64::try_from(time).ok()),
        stop_time: block.stop_time.and_then(|time| u64::try_from(time).ok()),
        rule: RULES.get(usize::from(block.rule)).copied().unwrap_or_default(),
        ..HostFacts::default()
    };
    facts.memory_peak = block.memory_peak.map(|(allocator, bytes)| AllocatorPeak { allocator, bytes });
    for (name, [span, busy, on_duty, working, compute, collectives, exposed]) in block.devices {
        facts.devices.push(DeviceFacts { name, span, on_duty, busy, working, compute, collectives, exposed });
    }
    let sums = |[runs, total, self_time, first, last]: [i64; 5]| SpanSums { runs, total, self_time, first, last };
    let mut kinds = block.kinds.iter().copied().map(sums);
    facts.outside = kinds.next().unwrap_or_default();
    facts.kinds.iter_mut().zip(kinds).for_each(|(kind, sums)| *kind = sums);
    for step in &block.steps {
        let (runs, self_time) = (step.op_runs.unwrap_or(0), step.op_time.unwrap_or(0));
        facts.step_ops.push(SpanSums { runs, total: self_time, self_time, ..SpanSums::default() });
        let (start, length) = (step.start.unwrap_or(0), step.wall.unwrap_or(0));
        facts.steps.push(StepSpan::new(step.number, start, start.saturating_add(length)));
        if let Some(idle) = step.idle {
            let mut parts = StepParts { idle, ..StepParts::default() };
            let communication = step.communication.unwrap_or(0);
            let input = step.input.unwrap_or(0);
            let rest = step.busy.unwrap_or(0).saturating_sub(communication).saturating_sub(input);
            parts.by_activity[Activity::Compute as usize] = rest.max(0);
            parts.by_activity[Activity::Collective as usize] = communication;
            parts.by_activity[Activity::Input as usize] = input;
            facts.step_parts.push(parts);
        }
    }
    facts
}
