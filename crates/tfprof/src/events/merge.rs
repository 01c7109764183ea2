//! Merges the traces of one or several hosts into a model: nodes without inputs, and their times on each device.

use super::walk::{ItemSums, StepSet, Tally};
use super::{CallPath, Calls, HostProfile, InputShapes, Op, OpCost, OpMemory, RuntimeName, SourceLine, Variant};
use crate::error::{Location, Warning};
use crate::hash::{TrustedMap, UntrustedMap};
use crate::metric::{Metric, MetricSet};
use crate::model::builder::Builder;
use crate::model::cells::{Cells, Measure, Sum, Sums, TraceSums};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::executions::HostExecutions;
use crate::model::hosts::{HostFacts, SpanSums, is_accelerator};
use crate::model::layers::Layer;
use crate::model::names::NameId;
use crate::model::nodes::NodeId;
use crate::model::op_facts::{Kernel, OpFacts};
use crate::model::runs::{KeepSteps, ProfileRuns};
use crate::model::stacks::{Frame, FrameId, StackId, StringIds};
use crate::model::{Model, TimeUnit};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Renames hosts with equal names after their files, and warns if steps were found by different rules.
pub fn reconcile(hosts: &mut [HostProfile]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |file: &str, code, message| {
        let location = Some(Location { file: file.to_owned(), spot: None });
        warnings.push(Warning { code, location, message, damage: false, fix: None });
    };
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    hosts.iter().for_each(|host| *count.entry(host.facts.host.clone()).or_default() += 1);
    for host in hosts.iter_mut().filter(|host| count[&host.facts.host] > 1) {
        let (name, host) = (&host.file_host, &mut host.facts);
        if *name != host.host {
            let message = format!("another file is of host `{}` too; this one is called `{name}`", host.host);
            warn(&host.file, "same_host", message);
            host.host.clone_from(name);
        }
    }
    let mut hosts: Vec<&mut HostFacts> = hosts.iter_mut().map(|host| &mut host.facts).collect();
    // Number files of equal names in several directories.
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for host in &mut hosts {
        let times = met.entry(host.host.clone()).or_default();
        *times += 1;
        if *times > 1 {
            host.host = format!("{}.{times}", host.host);
            warn(
                &host.file,
                "same_host",
                format!("another file is of the same host; this one is called `{}`", host.host),
            );
        }
    }
    if let Some((first, rest)) = hosts.split_first() {
        for host in rest.iter().filter(|host| host.rule != first.rule) {
            let (here, there) = (host.rule.word(), first.rule.word());
            warn(
                &host.file,
                "other_rule",
                format!("its steps were found by {here}, those of {} by {there}", first.host),
            );
        }
    }
    warnings
}

/// Adds ops and Python calls to a model; events of the runtime only if they are asked for.
pub fn merge(hosts: &mut [HostProfile], with_runtime: bool, builder: &mut Builder) {
    let keep = builder.keep.steps;
    let alone = builder.model.nodes.is_empty();
    let mut merger = Merger {
        builder,
        several_hosts: hosts.len() > 1,
        host: 0,
        node_of: UntrustedMap::default(),
        in_program_of: UntrustedMap::default(),
        repeated_of: UntrustedMap::default(),
        has_memory: false,
        runtime_of: UntrustedMap::default(),
        call_of: TrustedMap::default(),
        runs: ProfileRuns::default(),
        steps_of: TrustedMap::default(),
        index_of: UntrustedMap::default(),
        kernels: Vec::new(),
        known: MetricSet::default(),
        keep,
    };
    for (host, at) in hosts.iter_mut().zip(0..) {
        merger.host = at;
        let log = std::mem::take(&mut host.executions);
        let host = &*host;
        for step in &host.facts.steps {
            merger.runs.steps.entry(step.number).or_insert(None);
            let next = merger.index_of.len() as u32;
            merger.index_of.entry(step.number).or_insert(next);
        }
        let items = merger.ops(host);
        if merger.builder.keep.spans {
            let places = host.variants.iter().map(|variant| items[variant.op as usize]).collect();
            let steps = host.facts.steps.iter().map(|step| step.number).collect();
            merger.builder.model.executions.push(Arc::new(HostExecutions { host: at, log, places, steps }));
        }
        if with_runtime {
            merger.runtime(host);
        }
        if !host.calls.paths.is_empty() {
            merger.calls(host);
        }
        merger.launched(host);
    }
    merger.finish(alone);
}

struct Merger<'b> {
    builder: &'b mut Builder,
    several_hosts: bool,
    /// The index of the host at hand.
    host: u32,
    /// By name and type; equal names of several programs and hosts are one node.
    node_of: UntrustedMap<(String, String), NodeId>,
    /// The same for nodes of the layer of programs.
    in_program_of: UntrustedMap<(String, String), NodeId>,
    /// Nodes of other layers that repeat the ops: by name, type and a number of the layer's own.
    repeated_of: UntrustedMap<(Layer, (String, String, u32)), NodeId>,
    has_memory: bool,
    /// By name, nodes of the runtime layer; by call stack, those of calls.
    runtime_of: UntrustedMap<String, NodeId>,
    call_of: TrustedMap<StackId, NodeId>,
    runs: ProfileRuns,
    /// By node, the indices of its steps.
    steps_of: TrustedMap<u32, StepSet>,
    /// By the number of a step, its index among those of all hosts.
    index_of: UntrustedMap<i64, u32>,
    kernels: Vec<(NodeId, Kernel)>,
    /// The costs that some op has.
    known: MetricSet,
    keep: KeepSteps,
}

/// Where the sums of an item go: items of one place that are kernels of one op are parts of the same runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SumKey {
    node: NodeId,
    device: DeviceId,
    op: u32,
    kernel: u32,
}

impl Merger<'_> {
    fn ops(&mut self, host: &HostProfile) -> Vec<(NodeId, DeviceId)> {
        let mut items: Vec<(NodeId, DeviceId)> = Vec::with_capacity(host.ops.len());
        for op in &host.ops {
            let name = plain_name(op);
            let node = self.node(&name, &op.key.kind);
            self.describe(node, op);
            items.push((node, self.device(host, &op.key.device)));
        }
        if self.builder.keep.kernels {
            self.kernels(host, &items);
        }
        self.add_ops(host, &items);
        let of_ops = items.clone();
        if self.builder.keep.programs && host.ops.iter().any(|op| !op.key.program.is_empty()) {
            for (op, (node, _)) in host.ops.iter().zip(&mut items) {
                *node = self.node_in_program(op);
                self.describe(*node, op);
            }
            self.add_ops(host, &items);
        }
        if self.builder.keep.shapes && !host.shapes.is_empty() {
            for (op, (node, _)) in host.ops.iter().zip(&mut items) {
                let kind = op
                    .about
                    .shapes
                    .map_or_else(|| op.key.kind.clone(), |at| with_shapes(op, &host.shapes[at as usize]));
                *node = self.layer_node((plain_name(op).into_owned(), kind, NONE), Layer::Shapes);
                self.describe(*node, op);
            }
            self.add_ops(host, &items);
        }
        if self.builder.keep.traces && host.ops.iter().any(|op| op.about.path.is_some()) {
            let stacks = self.stacks(host);
            for (op, (node, _)) in host.ops.iter().zip(&mut items) {
                let stack = op.about.path.map_or(StackId::NONE, |path| stacks[path as usize]);
                *node = self.layer_node((plain_name(op).into_owned(), op.key.kind.clone(), stack.0), Layer::Stacks);
                self.builder.model.nodes.stack[node.index()] = stack;
                self.describe(*node, op);
            }
            self.builder.model.has_traces = true;
            self.add_ops(host, &items);
        }
        of_ops
    }

    /// The stacks of calls, by path.
    fn stacks(&mut self, host: &HostProfile) -> Vec<StackId> {
        let model = &mut self.builder.model;
        let mut stacks: Vec<StackId> = Vec::with_capacity(host.calls.paths.len());
        for CallPath { outer, call } in &host.calls.paths {
            let outer = stacks.get(*outer as usize).copied().unwrap_or(StackId::EMPTY);
            let frame = intern_frame(&host.calls.line(*call), model);
            stacks.push(model.stacks.push(outer, frame));
        }
        stacks
    }

    /// The node of a layer that repeats the ops.
    fn layer_node(&mut self, key: (String, String, u32), layer: Layer) -> NodeId {
        if let Some(node) = self.repeated_of.get(&(layer, key.clone())) {
            return *node;
        }
        let model = &mut self.builder.model;
        let [name, kind] = [&key.0, &key.1].map(|text| model.names.intern(text));
        let node = model.push_event(name, kind, layer);
        self.repeated_of.insert((layer, key), node);
        node
    }

    /// Adds the work that ops launched as rows of its own.
    fn launched(&mut self, host: &HostProfile) {
        let mut items: Vec<(NodeId, DeviceId)> = Vec::with_capacity(host.kernels.rows.len());
        for row in &host.kernels.rows {
            let node = self.layer_node((row.name.clone(), row.kind.clone(), NONE), Layer::Kernels);
            let category = self.builder.model.names.intern(&row.program);
            self.builder.model.op_facts.at(node).add_category(category);
            items.push((node, self.device(host, &row.device)));
        }
        self.add_tally(host, &host.kernels.sums, no_cost, |kernel| {
            let (node, device) = items[kernel as usize];
            SumKey { node, device, op: kernel, kernel }
        });
    }

    /// Adds the memory that ops took.
    fn memory(&mut self, host: &HostProfile, items: &[(NodeId, DeviceId)]) {
        for (variant, step, memory) in &host.op_memory {
            let (node, device) = items[host.variants[*variant as usize].op as usize];
            record_memory(&mut self.runs.everything, node, device, *memory);
            let Some(step) = step else { continue };
            record_memory(&mut self.runs.totals, node, device, *memory);
            let number = host.facts.steps[*step as usize].number;
            let keeps = match self.keep {
                KeepSteps::TotalsOnly => false,
                KeepSteps::One(kept) => kept == number,
                KeepSteps::Times | KeepSteps::Each => true,
            };
            if keeps {
                let cells = self.runs.steps.entry(number).or_default().get_or_insert_with(Cells::default);
                record_memory(cells, node, device, *memory);
            }
        }
        self.has_memory |= !host.op_memory.is_empty();
    }

    fn add_ops(&mut self, host: &HostProfile, items: &[(NodeId, DeviceId)]) {
        let cost_of = |op: u32| host.ops[op as usize].about.cost;
        self.add_tally(host, &host.op_sums, cost_of, |variant| {
            let Variant { op, kernel, .. } = host.variants[variant as usize];
            let (node, device) = items[op as usize];
            SumKey { node, device, op, kernel }
        });
        self.memory(host, items);
    }

    /// Adds what a trace tells of an op besides its times.
    fn describe(&mut self, node: NodeId, op: &Op) {
        let (builder, about) = (&mut *self.builder, &op.about);
        if !about.second_type.is_empty() {
            let second = builder.model.names.intern(&about.second_type);
            builder.add_type(node, second);
        }
        let model = &mut builder.model;
        if let Some(flops @ 1..) = about.cost.flops
            && model.nodes.float_ops[node.index()] == 0
        {
            model.nodes.float_ops[node.index()] = flops;
        }
        let [category, program] = [&about.category, &op.key.program].map(|name| model.names.intern(name));
        let facts = model.op_facts.at(node);
        facts.add_category(category);
        facts.add_program(program);
        facts.knows_flops |= about.cost.flops.is_some();
        facts.misses_flops |= about.cost.flops.is_none() && !about.no_work;
        facts.knows_bytes |= about.cost.bytes.is_some();
        facts.precision = facts.precision.or(about.cost.precision);
        if about.cost.flops.is_some() {
            let known = [Metric::FloatOps, Metric::UnknownOps, Metric::ComputeMicros];
            known.into_iter().for_each(|metric| self.known.add(metric));
        }
        if about.cost.bytes.is_some() {
            let known = [Metric::IoBytes, Metric::MemoryMicros, Metric::RooflineMicros, Metric::LostMicros];
            known.into_iter().for_each(|metric| self.known.add(metric));
        }
        if builder.keep.traces && !about.stack.is_empty() && model.nodes.stack[node.index()] == StackId::NONE {
            let mut stack = StackId::EMPTY;
            for line in &about.stack {
                let frame = intern_frame(line, model);
                stack = model.stacks.push(stack, frame);
            }
            model.nodes.stack[node.index()] = stack;
            model.has_traces = true;
        }
    }

    /// Notes the kernels of ops.
    fn kernels(&mut self, host: &HostProfile, items: &[(NodeId, DeviceId)]) {
        for (Variant { op, name, launch, .. }, item) in host.variants.iter().zip(&host.op_sums.items) {
            let SpanSums { runs, self_time: time, .. } = item.all();
            if !name.is_empty() && runs != 0 {
                let kernel = Kernel { name: name.clone(), launch: *launch, runs, time };
                self.kernels.push((items[*op as usize].0, kernel));
            }
        }
    }

    fn runtime(&mut self, host: &HostProfile) {
        let items: Vec<(NodeId, DeviceId)> = host
            .runtime
            .names
            .iter()
            .map(|RuntimeName { plane, name }| {
                let node = self.runtime_node(name);
                (node, self.device(host, &host.facts.planes[*plane].name))
            })
            .collect();
        self.add_tally(host, &host.runtime.sums, no_cost, |kernel| {
            let (node, device) = items[kernel as usize];
            SumKey { node, device, op: 0, kernel }
        });
    }

    fn calls(&mut self, host: &HostProfile) {
        let device = self.device(host, "/host:CPU");
        let kind = self.builder.model.names.intern("Python");
        let mut items: Vec<NodeId> = Vec::with_capacity(host.calls.paths.len());
        for CallPath { outer, call: number } in &host.calls.paths {
            let outer =
                items.get(*outer as usize).map_or(StackId::EMPTY, |node| self.builder.model.nodes.stack[node.index()]);
            let model = &mut self.builder.model;
            let call = &host.calls.names[*number as usize];
            let frame = intern_frame(&host.calls.line(*number), model);
            let stack = model.stacks.push(outer, frame);
            model.has_calls = true;
            let node = *self.call_of.entry(stack).or_insert_with(|| {
                let name = model.names.intern(call);
                let node = model.push_event(name, kind, Layer::Calls);
                model.nodes.stack[node.index()] = stack;
                node
            });
            items.push(node);
        }
        let place = |kernel: u32| SumKey { node: items[kernel as usize], device, op: 0, kernel };
        self.add_tally(host, &host.calls.sums, no_cost, place);
    }

    fn runtime_node(&mut self, name: &str) -> NodeId {
        if let Some(node) = self.runtime_of.get(name) {
            return *node;
        }
        let model = &mut self.builder.model;
        let (name_id, kind) = (model.names.intern(&format!("runtime/{name}")), model.names.intern("Runtime"));
        let node = model.push_event(name_id, kind, Layer::Runtime);
        self.runtime_of.insert(name.to_owned(), node);
        node
    }

    fn node(&mut self, name: &str, kind: &str) -> NodeId {
        if let Some(node) = self.node_of.get(&(name.to_owned(), kind.to_owned())) {
            return *node;
        }
        let model = &mut self.builder.model;
        let (name_id, kind_id) = (model.names.intern(name), model.names.intern(kind));
        // A graph that was loaded before has the node already.
        let same = model.node(name_id).filter(|node| model.nodes.op[node.index()] == kind_id);
        let node = same.unwrap_or_else(|| model.push_node(name_id, kind_id));
        self.node_of.insert((name.to_owned(), kind.to_owned()), node);
        node
    }

    /// The node of an op in its program.
    fn node_in_program(&mut self, op: &Op) -> NodeId {
        let program = if op.key.program.is_empty() { NO_PROGRAM } else { &op.key.program };
        let key = (format!("{program}/{}", plain_name(op)), op.key.kind.clone());
        if let Some(node) = self.in_program_of.get(&key) {
            return *node;
        }
        let model = &mut self.builder.model;
        let (name, program, kind) =
            (model.names.intern(&key.0), model.names.intern(program), model.names.intern(&key.1));
        let node = model.push_event(name, program, Layer::Programs);
        self.builder.add_type(node, kind);
        self.in_program_of.insert(key, node);
        node
    }

    fn device(&mut self, host: &HostProfile, name: &str) -> DeviceId {
        let full = if self.several_hosts { format!("/{}{name}", host.facts.host) } else { name.to_owned() };
        let device = self.builder.device(full.as_bytes());
        let kind = if name.ends_with(STREAMS) {
            DeviceKind::AllStreams
        } else if is_accelerator(name) {
            DeviceKind::Other
        } else {
            DeviceKind::Placement
        };
        self.builder.model.devices.set_kind(device, kind);
        self.builder.model.devices.set_host(device, self.host);
        device
    }

    /// Adds the sums of all items.
    fn add_tally(
        &mut self,
        host: &HostProfile,
        tally: &Tally,
        cost_of: impl Fn(u32) -> OpCost,
        place_of: impl Fn(u32) -> SumKey,
    ) {
        let with_place = |sums: fn(&ItemSums) -> SpanSums| -> Vec<(SumKey, SpanSums)> {
            let items = tally.items.iter().zip(0..).map(|(item, at)| (place_of(at), sums(item)));
            items.filter(|(_, sums)| sums.runs != 0).collect()
        };
        add(&mut self.runs.everything, with_place(ItemSums::all), &cost_of);
        add(&mut self.runs.totals, with_place(|item| item.in_steps), &cost_of);
        let indices: Vec<u32> = host.facts.steps.iter().map(|step| self.index_of[&step.number]).collect();
        for (at, item) in (0..).zip(&tally.items) {
            let SumKey { node, device, .. } = place_of(at);
            if item.all().runs != 0 {
                let placement = &mut self.builder.model.placement[node.index()];
                if !placement.is_some() && self.builder.model.devices.kind(device) == DeviceKind::Placement {
                    *placement = device;
                }
            }
            let mut steps = item.steps.iter().peekable();
            if steps.peek().is_some() {
                let of_node = self.steps_of.entry(node.0).or_default();
                steps.for_each(|step| of_node.add(indices[step as usize]));
            }
        }
        if self.keep == KeepSteps::TotalsOnly {
            return;
        }
        let number = |step: u32| host.facts.steps[step as usize].number;
        let cells = tally.cells.iter().map(|((item, step), sums)| ((number(*step), *item), *sums));
        let mut cells: Vec<((i64, u32), SpanSums)> = cells.collect();
        cells.sort_unstable_by_key(|(step_and_item, _)| *step_and_item);
        for group in cells.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
            let sums = group.iter().map(|((_, item), sums)| (place_of(*item), *sums)).collect();
            let (step, _) = group[0].0;
            let step = self.runs.steps.entry(step).or_default();
            add(step.get_or_insert_with(Cells::default), sums, &cost_of);
        }
    }

    fn finish(self, alone: bool) {
        let Merger { builder, mut runs, steps_of, kernels, known, has_memory, .. } = self;
        add_kernels(kernels, &mut builder.model.op_facts);
        let mut steps_of: Vec<_> = steps_of.into_iter().collect();
        steps_of.sort_unstable_by_key(|(node, _)| *node);
        runs.seen.extend(steps_of.into_iter().map(|(node, steps)| (NodeId(node), steps.count())));
        // Without steps, show everything.
        if runs.steps.is_empty() {
            runs.totals = runs.everything.clone();
        }
        // A step that is kept has (possibly empty) sums.
        if matches!(self.keep, KeepSteps::Times | KeepSteps::Each) {
            runs.steps.values_mut().filter(|cells| cells.is_none()).for_each(|cells| *cells = Some(Cells::default()));
        }
        let model = &mut builder.model;
        model.time_unit = TimeUnit::Picos;
        model.is_trace = true;
        model.unknown = MetricSet::with(|info| {
            (info.is_measured_memory() && !has_memory) || (alone && info.needs_graph() && !known.has(info.metric))
        });
        model.runs.set_profile(runs, model.nodes.len());
    }
}

/// Adds sums to cells. An op ran as often as that of its kernels which ran most.
fn add(cells: &mut Cells, mut sums: Vec<(SumKey, SpanSums)>, cost_of: &impl Fn(u32) -> OpCost) {
    sums.sort_by_key(|(place, _)| *place);
    for of_op in sums.chunk_by(|(a, _), (b, _)| (a.node, a.device, a.op) == (b.node, b.device, b.op)) {
        let SumKey { node, device, op, .. } = of_op[0].0;
        let mut all = SpanSums::default();
        of_op.iter().for_each(|(_, sums)| all.add(sums));
        let of_kernel =
            |kernel: &[(SumKey, SpanSums)]| kernel.iter().fold(0_i64, |sum, (_, more)| sum.saturating_add(more.runs));
        let runs = of_op.chunk_by(|(a, _), (b, _)| a.kernel == b.kernel).map(of_kernel).max().unwrap_or(0);
        let mut record = Sums::default();
        record[Measure::Runs as usize] = Sum::new(runs);
        record[Measure::Micros as usize] = Sum::new(all.self_time);
        cells.at(node, device).record(&record, 0, all.first.max(1), all.last.max(1));
        let OpCost { flops, bytes, .. } = cost_of(op);
        let [float_ops, io_bytes] = [flops, bytes].map(|once| once.unwrap_or(0).saturating_mul(runs));
        cells.add_of_trace(node, device, TraceSums { inclusive: all.total, float_ops, io_bytes });
    }
}

/// Adds the kernels of all ops, the longest first.
fn add_kernels(mut all: Vec<(NodeId, Kernel)>, facts: &mut OpFacts) {
    // Equal kernels of several devices, programs and hosts become neighbours.
    all.sort_by_cached_key(|(node, kernel)| (*node, kernel.to_string()));
    for of_node in all.chunk_by(|(a, _), (b, _)| a == b) {
        let kernels = &mut facts.at(of_node[0].0).kernels;
        for same in of_node.chunk_by(|(_, a), (_, b)| a.name == b.name && a.launch == b.launch) {
            let sum = |count: fn(&Kernel) -> i64| {
                same.iter().fold(0_i64, |sum, (_, kernel)| sum.saturating_add(count(kernel)))
            };
            let (runs, time) = (sum(|kernel| kernel.runs), sum(|kernel| kernel.time));
            kernels.push(Kernel { runs, time, ..same[0].1.clone() });
        }
        kernels.sort_by_key(|kernel| Reverse(kernel.time));
    }
}

/// The name of an op without its program.
fn plain_name(op: &Op) -> Cow<'_, str> {
    if op.about.is_dataset { op.key.name.replace("::", "/").into() } else { op.key.name.as_str().into() }
}

fn no_cost(_: u32) -> OpCost {
    OpCost::default()
}

/// Records the memory of an op.
fn record_memory(cells: &mut Cells, node: NodeId, device: DeviceId, memory: OpMemory) {
    let mut record = Sums::default();
    record[Measure::RequestedBytes as usize] = Sum::new(memory.requested);
    record[Measure::ResidualBytes as usize] = Sum::new(memory.residual);
    record[Measure::PeakBytes as usize] = Sum::new(memory.peak);
    cells.at(node, device).record(&record, memory.peak, 0, 0);
}

/// The type of an op with the shapes of its inputs: `aten::mm 8192x4096,4096x4096`.
fn with_shapes(op: &Op, shapes: &InputShapes) -> String {
    let kind = &op.key.kind;
    match shapes.label() {
        label if label.is_empty() => kind.clone(),
        label => format!("{kind} {label}"),
    }
}

/// The end of the name of a device that stands for the work which ops launched on it: it is not counted as runs.
const STREAMS: &str = "/stream:all";

const NONE: u32 = u32::MAX;

/// The scope of ops that are part of no program.
const NO_PROGRAM: &str = "(no program)";

/// The line of a built-in function.
const NO_LINE: i64 = -1;

fn intern_frame(source: &SourceLine, model: &mut Model) -> FrameId {
    let frame = Frame {
        file: model.names.intern(&source.file),
        function: model.names.intern(&source.function),
        line: NameId::EMPTY,
        lineno: source.line.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32,
        function_start: 0,
        string_ids: StringIds::default(),
    };
    model.stacks.intern_frame(frame)
}

impl Calls {
    /// The line of source of a call.
    fn line(&self, call: u32) -> SourceLine {
        self.lines.get(call as usize).cloned().unwrap_or_else(|| line_of_call(&self.names[call as usize]))
    }
}

/// Parses `file.py:21 function`, or `module function` of a built-in.
fn line_of_call(call: &str) -> SourceLine {
    let (at, function) = call.split_once(' ').unwrap_or((call, ""));
    let numbered = at.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let (file, line) = numbered.unwrap_or((at, NO_LINE));
    SourceLine { file: file.to_owned(), function: function.to_owned(), line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_a_file_a_line_and_a_function() {
        let check = |call: &str, file: &str, line, function: &str| {
            assert_eq!(line_of_call(call), SourceLine { file: file.into(), line, function: function.into() }, "{call}");
        };
        check("train.py:21 batch", "train.py", 21, "batch");
        check("builtins len", "builtins", NO_LINE, "len");
        check("<string>:2 __init__", "<string>", 2, "__init__");
        check("<unknown> append", "<unknown>", NO_LINE, "append");
    }
}
