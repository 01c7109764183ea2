//! The data of all loaded files, independent of their formats: a graph as columns, and a table of measurements.
//!
//! A [`Builder`](builder::Builder) fills a [`Model`] while files are read; afterwards it is read-only. What inference
//! needs besides is gathered by a [`ProgramBuilder`](program::ProgramBuilder).

pub mod activity;
pub mod allocators;
pub mod attr_value;
pub mod attributes;
pub mod body;
pub mod builder;
pub mod cells;
pub mod costs;
pub mod debug_info;
pub mod devices;
pub mod dialects;
pub mod dtype;
pub mod executions;
pub mod functions;
pub mod hosts;
pub mod join;
pub mod layers;
pub mod lists;
pub mod lowered;
pub mod name_order;
pub mod names;
pub mod nodes;
pub mod observed;
pub mod op_facts;
pub mod peaks;
pub mod program;
pub mod records;
pub mod runs;
pub mod settings;
pub mod shape;
pub mod shared;
pub mod span_log;
mod spill;
pub mod stacks;
pub mod step_times;
pub mod type_names;

use crate::hash::UntrustedMap;
use crate::metric::{Metric, MetricInfo, MetricSet, Unit};
use attributes::Attributes;
use costs::Costs;
use devices::{DeviceId, DeviceKind, Devices};
use executions::HostExecutions;
use hosts::HostFacts;
use layers::{Layer, Layers, NodeFilter};
use lists::Lists;
use name_order::NameOrder;
use names::{NameId, Names};
use nodes::{NodeId, Nodes};
use op_facts::OpFacts;
use peaks::Peaks;
use runs::Runs;
use shared::Shared;
use stacks::Stacks;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// The unit in which times are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    #[default]
    Micros,
    Picos,
}

impl TimeUnit {
    /// The number of these units in a microsecond.
    pub const fn per_micro(self) -> i64 {
        match self {
            TimeUnit::Micros => 1,
            TimeUnit::Picos => 1_000_000,
        }
    }
}

/// Everything that was loaded.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub names: Shared<Names>,
    pub nodes: Shared<Nodes>,
    /// By node, the first device on which a run placed it.
    pub placement: Vec<DeviceId>,
    pub attributes: Attributes,
    pub shapes: Lists<i64>,
    pub type_sets: Lists<NameId>,
    pub devices: Devices,
    pub runs: Runs,
    /// Peak memory.
    pub peaks: Peaks,
    pub stacks: Stacks,
    /// Some file says which variables are trainable.
    pub knows_trainable: bool,
    /// The dialect of a model file that is not TensorFlow's, and what such a file says of itself, by topic.
    pub dialect: Option<&'static str>,
    pub stated: Vec<(&'static str, String)>,
    /// Computed costs of nodes. Empty unless asked for.
    pub costs: Costs,
    /// Ops have (possibly empty) call stacks.
    pub has_traces: bool,
    /// A trace has Python calls.
    pub has_calls: bool,
    /// A step has GPUs but none of their streams.
    pub misses_streams: bool,
    /// A loaded profile says that its steps lack streams. As the original: views ignore it.
    pub saved_without_streams: bool,
    /// The unit of all times in cells.
    pub time_unit: TimeUnit,
    /// The times come from a trace of single events: ops have inclusive time, copies are ops of their GPU, and stack
    /// frames have whole paths.
    pub is_trace: bool,
    /// It is a partial: edges, single executions and most single steps were not kept.
    pub is_partial: bool,
    /// Facts of traces about ops, besides their times.
    pub op_facts: OpFacts,
    /// The hosts whose traces are loaded.
    pub hosts: Vec<HostFacts>,
    /// Single executions of traces, by host. Empty unless asked for.
    pub executions: Vec<Arc<HostExecutions>>,
    /// Metrics that the files cannot have, which are unknown rather than 0.
    pub unknown: MetricSet,
    /// The ids of the first nodes in the first profile that was loaded.
    pub saved_ids: Vec<i64>,
    /// The string of each id, from the first op log that used it.
    pub first_strings: UntrustedMap<i64, NameId>,
    node_of: Shared<Vec<u32>>,
    ops_by_name: OnceLock<Vec<NodeId>>,
}

impl Model {
    /// The scale of stored numbers, in parts per unit of the metric: times may be finer than microseconds.
    #[inline]
    pub fn parts(&self, metric: Metric) -> i64 {
        if metric.info().unit == Unit::Micros { self.time_unit.per_micro() } else { 1 }
    }

    /// The node of that name.
    #[inline]
    pub fn node(&self, name: NameId) -> Option<NodeId> {
        match self.node_of.get(name.index()) {
            None | Some(&u32::MAX) => None,
            Some(id) => Some(NodeId(*id)),
        }
    }

    /// Whether records of a node on a device count. With `first_only`, as the original: of a node's placements, only
    /// the first one.
    pub fn counts(&self, node: NodeId, device: DeviceId, first_only: bool) -> bool {
        !first_only || self.devices.kind(device) != DeviceKind::Placement || self.placement[node.index()] == device
    }

    /// The node of that name.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.node(self.names.find(name.as_bytes())?)
    }

    pub fn name(&self, node: NodeId) -> &str {
        self.names.get(self.nodes.name[node.index()])
    }

    /// The nodes that a filter admits.
    pub fn shown(&self, filter: NodeFilter) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.all().filter(move |node| self.is_shown(*node, filter))
    }

    #[inline]
    pub fn is_shown(&self, node: NodeId, filter: NodeFilter) -> bool {
        (filter.inside_functions || !self.nodes.inner[node.index()]) && filter.layers.has(self.nodes.layer(node))
    }

    /// The nodes that are ops, not other events of a trace.
    pub fn ops(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.in_layers(Layers::OPS)
    }

    fn in_layers(&self, layers: Layers) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.all().filter(move |node| layers.has(self.nodes.layer(*node)))
    }

    /// All ops in ascending order of their names' bytes.
    pub fn ops_by_name(&self) -> &[NodeId] {
        self.ops_by_name.get_or_init(|| self.sorted(Layers::OPS))
    }

    /// All nodes of some layers in ascending order of their names' bytes.
    pub fn by_name(&self, layers: Layers) -> Cow<'_, [NodeId]> {
        if layers == Layers::OPS { Cow::Borrowed(self.ops_by_name()) } else { Cow::Owned(self.sorted(layers)) }
    }

    fn sorted(&self, layers: Layers) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.in_layers(layers).collect();
        name_order::sort(&mut nodes, NameOrder::Bytes, |node| self.name(node));
        nodes
    }

    /// The metrics that no file has for these layers, so that they are unknown rather than 0.
    pub fn unknown_in(&self, layers: Layers) -> MetricSet {
        let mut unknown = self.unknown;
        if layers == Layers::CALLS {
            unknown = unknown.and(MetricSet::with(MetricInfo::needs_graph));
        }
        unknown
    }

    /// Whether any number could be negative, so that even a minimum of 0 hides something: a negative number in a file,
    /// or a sum or product that wraps.
    ///
    /// `times` is how often one node may be summed.
    pub fn may_have_negative_numbers(&self, times: usize) -> bool {
        let size = |n: &i64| u128::from(n.unsigned_abs());
        let float_ops: u128 = self.nodes.float_ops.iter().map(size).sum();
        let float_ops = float_ops.saturating_mul(u128::from(self.runs.most_often()).max(1));
        let product = |dims: &[i64]| dims.iter().fold(1, |product: u128, dim| product.saturating_mul(size(dim)));
        let parameters = self.shapes.iter().map(product).max().unwrap_or(0);
        let parameters = parameters.saturating_mul(self.nodes.len() as u128);
        let largest = self.runs.size_of_all().max(float_ops).max(parameters);
        let wraps = largest.saturating_mul(times as u128) > i64::MAX as u128;
        wraps || self.runs.has_negative_numbers() || self.nodes.float_ops.iter().any(|n| *n < 0)
    }

    /// Adds a node whose name is new.
    pub(crate) fn push_node(&mut self, name: NameId, op: NameId) -> NodeId {
        let node = self.push_unnamed(name, op);
        if name.index() >= self.node_of.len() {
            self.node_of.resize(self.names.len(), u32::MAX);
        }
        self.node_of[name.index()] = node.0;
        node
    }

    /// Adds an event of a trace that is not an op: no input refers to it by its name.
    pub(crate) fn push_event(&mut self, name: NameId, op: NameId, layer: Layer) -> NodeId {
        let node = self.push_unnamed(name, op);
        self.nodes.set_layer(node, layer);
        node
    }

    fn push_unnamed(&mut self, name: NameId, op: NameId) -> NodeId {
        let hash = self.names.hash(name);
        self.placement.push(DeviceId::NONE);
        self.ops_by_name = OnceLock::new();
        self.nodes.push(name, hash, op)
    }
}
