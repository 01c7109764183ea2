//! Profiles of one or several hosts become a model: nodes without inputs, and what each took on each device.

use super::places::frame_of;
use super::sums::StepSet;
use super::{HostProfile, Item, Kind, Rule, Sums, Tally};
use crate::error::{Location, Warning};
use crate::metric::{Metric, MetricSet};
use crate::model::TimeUnit;
use crate::model::builder::Builder;
use crate::model::cells::{Cells, Sum};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::layers::Layer;
use crate::model::nodes::NodeId;
use crate::model::runs::{KeepSteps, ProfileRuns};
use crate::model::stacks::StackId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Gives hosts of equal names those of their files, and says where their steps were found in different ways.
pub fn reconcile(hosts: &mut [HostProfile]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |file: &str, code, message| {
        let location = Some(Location { file: file.to_owned(), spot: None });
        warnings.push(Warning { code, location, message, damage: false });
    };
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    hosts.iter().for_each(|host| *count.entry(host.host.clone()).or_default() += 1);
    for host in hosts.iter_mut().filter(|host| count[&host.host] > 1) {
        let name = super::host_of(&host.file);
        if name != host.host {
            warn(
                &host.file,
                "same_host",
                format!("another file is of host `{}` too; this one is called `{name}`", host.host),
            );
            host.host = name;
        }
    }
    // Files of one name in several directories are told apart by their places.
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for host in hosts.iter_mut() {
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
    let mut into = Into {
        builder,
        several: hosts.len() > 1,
        node_of: FxHashMap::default(),
        runtime_of: FxHashMap::default(),
        call_of: FxHashMap::default(),
        runs: ProfileRuns::default(),
        seen: FxHashMap::default(),
        place_of: FxHashMap::default(),
        flops: false,
        keep,
    };
    for host in hosts {
        for step in &host.steps {
            into.runs.steps.entry(step.number).or_insert(None);
            let next = into.place_of.len() as u32;
            into.place_of.entry(step.number).or_insert(next);
        }
        into.ops(host);
        if with_runtime {
            into.runtime(host);
        }
        if !host.paths.is_empty() {
            into.calls(host);
        }
    }
    into.finish(alone);
}

struct Into<'b> {
    builder: &'b mut Builder,
    several: bool,
    /// By name and type; equal names of several programs and hosts are one node.
    node_of: FxHashMap<(String, String), NodeId>,
    /// By name, nodes of the runtime layer; by call stack, those of calls.
    runtime_of: FxHashMap<String, NodeId>,
    call_of: FxHashMap<StackId, NodeId>,
    runs: ProfileRuns,
    /// By node, the steps that it was seen in, by their places among all steps.
    seen: FxHashMap<u32, StepSet>,
    /// By the number of a step, its place.
    place_of: FxHashMap<i64, u32>,
    flops: bool,
    keep: KeepSteps,
}

impl Into<'_> {
    fn ops(&mut self, host: &HostProfile) {
        let items: Vec<(NodeId, DeviceId)> = host
            .ops
            .iter()
            .map(|(op, about)| {
                // Scopes are told by slashes, and a pipeline of datasets is one.
                let name = if about.is_dataset { op.name.replace("::", "/") } else { op.name.clone() };
                let node = self.node(&name, &op.kind);
                let builder = &mut *self.builder;
                if !about.second.is_empty() {
                    let second = builder.model.names.intern(&about.second);
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
                    for place in &about.stack {
                        let frame = frame_of(place, &mut builder.model);
                        stack = builder.model.stacks.push(stack, frame);
                    }
                    builder.model.nodes.stack[node.index()] = stack;
                    builder.model.has_traces = true;
                }
                (node, self.device(host, &op.device))
            })
            .collect();
        self.tally(host, &host.tally, |variant| items[host.variants[variant as usize] as usize]);
    }

    fn runtime(&mut self, host: &HostProfile) {
        let items: Vec<(NodeId, DeviceId)> = host
            .runtime_names
            .iter()
            .map(|(plane, name)| {
                let node = self.runtime_node(name);
                (node, self.device(host, &host.planes[*plane].name))
            })
            .collect();
        self.tally(host, &host.runtime, |item| items[item as usize]);
    }

    fn calls(&mut self, host: &HostProfile) {
        let device = self.device(host, "/host:CPU");
        let kind = self.builder.model.names.intern("Python");
        let mut items: Vec<NodeId> = Vec::with_capacity(host.paths.len());
        // A path comes behind the path around it.
        for (outer, call) in &host.paths {
            let outer =
                items.get(*outer as usize).map_or(StackId::EMPTY, |node| self.builder.model.nodes.stack[node.index()]);
            let model = &mut self.builder.model;
            let call = &host.calls[*call as usize];
            let frame = frame_of(&super::places::of_call(call), model);
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
        self.tally(host, &host.python, |path| (items[path as usize], device));
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
        let full = if self.several { format!("/{}{name}", host.host) } else { name.to_owned() };
        let device = self.builder.device(full.as_bytes());
        let accelerator = name.starts_with("/device:") && !name.starts_with("/device:CPU");
        let kind = if accelerator { DeviceKind::Other } else { DeviceKind::Placement };
        self.builder.model.devices.set_kind(device, kind);
        device
    }

    /// Adds the sums of all items. Those that share a node and a device are kernels of one op: it ran as often as the
    /// one that ran most.
    fn tally(&mut self, host: &HostProfile, tally: &Tally, place: impl Fn(u32) -> (NodeId, DeviceId)) {
        let with_place = |sums: fn(&Item) -> Sums| -> Vec<((NodeId, DeviceId), Sums)> {
            let items = tally.items.iter().zip(0..).map(|(item, at)| (place(at), sums(item)));
            items.filter(|(_, sums)| sums.runs != 0).collect()
        };
        add(&mut self.runs.everything, with_place(Item::all));
        add(&mut self.runs.totals, with_place(|item| item.in_steps));
        let places: Vec<u32> = host.steps.iter().map(|step| self.place_of[&step.number]).collect();
        for (at, item) in (0..).zip(&tally.items) {
            let (node, device) = place(at);
            if item.all().runs != 0 {
                let placement = &mut self.builder.model.placement[node.index()];
                if !placement.is_some() && self.builder.model.devices.kind(device) == DeviceKind::Placement {
                    *placement = device;
                }
            }
            let mut seen = item.seen.iter().peekable();
            if seen.peek().is_some() {
                let of_node = self.seen.entry(node.0).or_default();
                seen.for_each(|step| of_node.add(places[step as usize]));
            }
        }
        if self.keep == KeepSteps::TotalsOnly {
            return;
        }
        let mut cells: Vec<(i64, u32, Sums)> =
            tally.cells.iter().map(|((item, step), sums)| (host.steps[*step as usize].number, *item, *sums)).collect();
        cells.sort_unstable_by_key(|(step, item, _)| (*step, *item));
        for group in cells.chunk_by(|a, b| a.0 == b.0) {
            let sums = group.iter().map(|(_, item, sums)| (place(*item), *sums)).collect();
            let step = self.runs.steps.entry(group[0].0).or_default();
            add(step.get_or_insert_with(Cells::default), sums);
        }
    }

    fn finish(self, alone: bool) {
        let Into { builder, mut runs, seen, flops, .. } = self;
        let mut seen: Vec<_> = seen.into_iter().collect();
        seen.sort_unstable_by_key(|(node, _)| *node);
        runs.seen.extend(seen.into_iter().map(|(node, steps)| (NodeId(node), steps.count())));
        // Without any step, everything is all there is to show.
        if runs.steps.is_empty() {
            runs.totals = runs.everything.clone();
        }
        // A step that is kept has sums, if only none.
        if self.keep == KeepSteps::Each {
            runs.steps.values_mut().filter(|cells| cells.is_none()).for_each(|cells| *cells = Some(Cells::default()));
        }
        let model = &mut builder.model;
        model.time_unit = TimeUnit::Picos;
        model.is_trace = true;
        model.unknown = MetricSet::default();
        let memory = [Metric::RequestedBytes, Metric::PeakBytes, Metric::ResidualBytes, Metric::OutputBytes];
        memory.into_iter().for_each(|metric| model.unknown.add(metric));
        if alone {
            for metric in [Metric::Parameters, Metric::Macs, Metric::IoBytes, Metric::UnknownOps] {
                model.unknown.add(metric);
            }
            if !flops {
                model.unknown.add(Metric::FloatOps);
            }
        }
        model.runs.set_profile(runs, model.nodes.len());
    }
}

/// Adds sums to cells; of those with one place, the runs of the largest count.
fn add(cells: &mut Cells, mut sums: Vec<((NodeId, DeviceId), Sums)>) {
    sums.sort_by_key(|(place, _)| *place);
    for group in sums.chunk_by(|a, b| a.0 == b.0) {
        let (node, device) = group[0].0;
        let mut all = Sums::default();
        group.iter().for_each(|(_, sums)| all.add(sums));
        let runs = group.iter().map(|(_, sums)| sums.runs).max().unwrap_or(0);
        let record = [Sum::new(runs), Sum::new(all.own), Sum::new(0), Sum::new(0), Sum::new(0), Sum::new(0)];
        cells.at(node, device).record(&record, all.first.max(1), all.last.max(1));
        cells.add_inclusive(node, device, all.total);
    }
}

/// Whether any op of the profiles has a line of source.
pub fn has_source(hosts: &[HostProfile]) -> bool {
    hosts.iter().flat_map(|host| &host.ops).any(|(_, about)| !about.stack.is_empty())
}

/// How many events of a kind there are.
pub fn events(hosts: &[HostProfile], kind: Kind) -> i64 {
    hosts.iter().map(|host| host.kinds[kind as usize].runs).sum()
}

/// Whether steps were found by anything that marks them.
pub fn has_steps(hosts: &[HostProfile]) -> bool {
    hosts.iter().any(|host| !matches!(host.rule, Rule::WholeProfile | Rule::None))
}
