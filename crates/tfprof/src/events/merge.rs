//! Merges the traces of one or several hosts into a model: nodes without inputs, and their times on each device.

use super::walk::{ItemSums, StepSet, Tally, is_accelerator};
use super::{CallPath, HostProfile, RuntimeName, SourceLine};
use crate::error::{Location, Warning};
use crate::hash::{TrustedMap, UntrustedMap};
use crate::metric::{Metric, MetricSet};
use crate::model::builder::Builder;
use crate::model::cells::{Cells, Measure, Sum, Sums};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::hosts::{HostFacts, SpanSums};
use crate::model::layers::Layer;
use crate::model::names::NameId;
use crate::model::nodes::NodeId;
use crate::model::runs::{KeepSteps, ProfileRuns};
use crate::model::stacks::{Frame, FrameId, StackId, StringIds};
use crate::model::{Model, TimeUnit};
use std::collections::BTreeMap;

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
pub fn merge(hosts: &[HostProfile], with_runtime: bool, keep: KeepSteps, builder: &mut Builder) {
    let alone = builder.model.nodes.is_empty();
    let mut merger = Merger {
        builder,
        several_hosts: hosts.len() > 1,
        node_of: UntrustedMap::default(),
        runtime_of: UntrustedMap::default(),
        call_of: TrustedMap::default(),
        runs: ProfileRuns::default(),
        steps_of: TrustedMap::default(),
        index_of: UntrustedMap::default(),
        flops: false,
        keep,
    };
    for host in hosts {
        for step in &host.facts.steps {
            merger.runs.steps.entry(step.number).or_insert(None);
            let next = merger.index_of.len() as u32;
            merger.index_of.entry(step.number).or_insert(next);
        }
        merger.ops(host);
        if with_runtime {
            merger.runtime(host);
        }
        if !host.calls.paths.is_empty() {
            merger.calls(host);
        }
    }
    merger.finish(alone);
}

struct Merger<'b> {
    builder: &'b mut Builder,
    several_hosts: bool,
    /// By name and type; equal names of several programs and hosts are one node.
    node_of: UntrustedMap<(String, String), NodeId>,
    /// By name, nodes of the runtime layer; by call stack, those of calls.
    runtime_of: UntrustedMap<String, NodeId>,
    call_of: TrustedMap<StackId, NodeId>,
    runs: ProfileRuns,
    /// By node, the indices of its steps.
    steps_of: TrustedMap<u32, StepSet>,
    /// By the number of a step, its index among those of all hosts.
    index_of: UntrustedMap<i64, u32>,
    flops: bool,
    keep: KeepSteps,
}

impl Merger<'_> {
    fn ops(&mut self, host: &HostProfile) {
        let items: Vec<(NodeId, DeviceId)> = host
            .ops
            .iter()
            .map(|op| {
                let (key, about) = (&op.key, &op.about);
                let name = if about.is_dataset { key.name.replace("::", "/") } else { key.name.clone() };
                let node = self.node(&name, &key.kind);
                let builder = &mut *self.builder;
                if !about.second_type.is_empty() {
                    let second = builder.model.names.intern(&about.second_type);
                    builder.add_type(node, second);
                }
                if about.flops > 0 && builder.model.nodes.float_ops[node.index()] == 0 {
                    builder.model.nodes.float_ops[node.index()] = about.flops;
                    self.flops = true;
                }
                if builder.keep.traces
                    && !about.stack.is_empty()
                    && builder.model.nodes.stack[node.index()] == StackId::NONE
                {
                    let mut stack = StackId::EMPTY;
                    for line in &about.stack {
                        let frame = intern_frame(line, &mut builder.model);
                        stack = builder.model.stacks.push(stack, frame);
                    }
                    builder.model.nodes.stack[node.index()] = stack;
                    builder.model.has_traces = true;
                }
                (node, self.device(host, &key.device))
            })
            .collect();
        self.add_tally(host, &host.op_sums, |variant| items[host.op_of_variant[variant as usize] as usize]);
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
        self.add_tally(host, &host.runtime.sums, |item| items[item as usize]);
    }

    fn calls(&mut self, host: &HostProfile) {
        let device = self.device(host, "/host:CPU");
        let kind = self.builder.model.names.intern("Python");
        let mut items: Vec<NodeId> = Vec::with_capacity(host.calls.paths.len());
        for CallPath { outer, call } in &host.calls.paths {
            let outer =
                items.get(*outer as usize).map_or(StackId::EMPTY, |node| self.builder.model.nodes.stack[node.index()]);
            let model = &mut self.builder.model;
            let call = &host.calls.names[*call as usize];
            let frame = intern_frame(&line_of_call(call), model);
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
        self.add_tally(host, &host.calls.sums, |path| (items[path as usize], device));
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

    fn device(&mut self, host: &HostProfile, name: &str) -> DeviceId {
        let full = if self.several_hosts { format!("/{}{name}", host.facts.host) } else { name.to_owned() };
        let device = self.builder.device(full.as_bytes());
        let kind = if is_accelerator(name) { DeviceKind::Other } else { DeviceKind::Placement };
        self.builder.model.devices.set_kind(device, kind);
        device
    }

    /// Adds the sums of all items. Items with the same node and device are kernels of one op, which ran as often as the
    /// one that ran most.
    fn add_tally(&mut self, host: &HostProfile, tally: &Tally, cell_of: impl Fn(u32) -> (NodeId, DeviceId)) {
        let with_cell = |sums: fn(&ItemSums) -> SpanSums| -> Vec<((NodeId, DeviceId), SpanSums)> {
            let items = tally.items.iter().zip(0..).map(|(item, at)| (cell_of(at), sums(item)));
            items.filter(|(_, sums)| sums.runs != 0).collect()
        };
        add(&mut self.runs.everything, with_cell(ItemSums::all));
        add(&mut self.runs.totals, with_cell(|item| item.in_steps));
        let indices: Vec<u32> = host.facts.steps.iter().map(|step| self.index_of[&step.number]).collect();
        for (at, item) in (0..).zip(&tally.items) {
            let (node, device) = cell_of(at);
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
            let sums = group.iter().map(|((_, item), sums)| (cell_of(*item), *sums)).collect();
            let (step, _) = group[0].0;
            let step = self.runs.steps.entry(step).or_default();
            add(step.get_or_insert_with(Cells::default), sums);
        }
    }

    fn finish(self, alone: bool) {
        let Merger { builder, mut runs, steps_of, flops, .. } = self;
        let mut steps_of: Vec<_> = steps_of.into_iter().collect();
        steps_of.sort_unstable_by_key(|(node, _)| *node);
        runs.seen.extend(steps_of.into_iter().map(|(node, steps)| (NodeId(node), steps.count())));
        // Without steps, show everything.
        if runs.steps.is_empty() {
            runs.totals = runs.everything.clone();
        }
        // A step that is kept has (possibly empty) sums.
        if self.keep == KeepSteps::Each {
            runs.steps.values_mut().filter(|cells| cells.is_none()).for_each(|cells| *cells = Some(Cells::default()));
        }
        let model = &mut builder.model;
        model.time_unit = TimeUnit::Picos;
        model.is_trace = true;
        let is_measured = |metric: Metric| flops && metric == Metric::FloatOps;
        model.unknown = MetricSet::with(|info| {
            info.is_measured_memory() || (alone && info.needs_graph() && !is_measured(info.metric))
        });
        model.runs.set_profile(runs, model.nodes.len());
    }
}

/// Adds sums to cells; the runs of a cell are those of its most frequent item.
fn add(cells: &mut Cells, mut sums: Vec<((NodeId, DeviceId), SpanSums)>) {
    sums.sort_by_key(|(cell, _)| *cell);
    for group in sums.chunk_by(|a, b| a.0 == b.0) {
        let (node, device) = group[0].0;
        let mut all = SpanSums::default();
        group.iter().for_each(|(_, sums)| all.add(sums));
        let runs = group.iter().map(|(_, sums)| sums.runs).max().unwrap_or(0);
        let mut record = Sums::default();
        record[Measure::Runs as usize] = Sum::new(runs);
        record[Measure::Micros as usize] = Sum::new(all.self_time);
        cells.at(node, device).record(&record, 0, all.first.max(1), all.last.max(1));
        cells.add_inclusive(node, device, all.total);
    }
}

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
