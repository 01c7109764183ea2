//! The numbers, devices and types of single nodes, for one step or on average, with or without the original's quirks.

use crate::hash::TrustedMap;
use crate::metric::{AVERAGED, Metric};
use crate::model::Model;
use crate::model::cells::{Cell, Cells, Measure, TraceSums};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::names::NameId;
use crate::model::nodes::{Input, NodeId, ShapeId, TypesId};
use crate::model::op_facts::Facts;
use crate::model::type_names::{
    CONST_PARAMETER, GENERATOR_STATE, IN_CHECKPOINT, OPTIMIZER_SLOT, SAME_VARIABLE, TRAINABLE,
};
use crate::options::Step;
use crate::quirks::Quirks;

use super::ceilings::{self, Ceilings};
use super::filter::Patterns;

/// Runs, self time and inclusive time on one device.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceTimes {
    pub runs: i64,
    pub own: i64,
    pub inclusive: i64,
}

impl DeviceTimes {
    pub fn add(&mut self, more: DeviceTimes) {
        self.runs = self.runs.saturating_add(more.runs);
        self.own = self.own.saturating_add(more.own);
        self.inclusive = self.inclusive.saturating_add(more.inclusive);
    }
}

/// One number per metric; those of ratios stay 0.
pub type Row = [i64; Metric::COUNT];

/// How a question reads the numbers of nodes: its step, its quirks, and the names that decide what is a variable.
#[derive(Clone, Copy, Debug)]
pub struct Lens {
    pub quirks: Quirks,
    step: Step,
    variable_ops: [Option<NameId>; 3],
    variable_types: [Option<NameId>; 2],
    /// Variables that are not parameters: optimizer state, generator state, and further handles of one variable.
    other_variables: [Option<NameId>; 3],
    constant: Option<NameId>,
    /// The work of devices has rows of its own, so that ops do not count it.
    pub kernels_apart: bool,
    /// The peaks to compare with.
    pub ceilings: Ceilings,
}

impl Lens {
    pub fn new(model: &Model, step: Step, quirks: Quirks) -> Lens {
        let find = |name: &str| model.names.find(name.as_bytes());
        Lens {
            quirks,
            step,
            variable_ops: ["VariableV2", "VarHandleOp", "Variable"].map(find),
            variable_types: [TRAINABLE, IN_CHECKPOINT].map(find),
            other_variables: [OPTIMIZER_SLOT, SAME_VARIABLE, GENERATOR_STATE].map(find),
            constant: find(CONST_PARAMETER),
            kernels_apart: false,
            ceilings: Ceilings::default(),
        }
    }
}

/// A model seen through a [`Lens`].
#[derive(Clone, Copy, Debug)]
pub struct Values<'m> {
    pub model: &'m Model,
    pub lens: Lens,
    /// The sums of the step, or of all of them.
    cells: Option<&'m Cells>,
}

/// The metrics that compare a node with the peaks of its device, or say whether they can.
pub const LIMITS: [Metric; 7] = [
    Metric::KnownFlopsMicros,
    Metric::KnownBytesMicros,
    Metric::CoveredMicros,
    Metric::ComputeMicros,
    Metric::MemoryMicros,
    Metric::RooflineMicros,
    Metric::LostMicros,
];

/// Nodes with the same key have the same types.
type TypesKey = (NameId, TypesId, NameId);

impl<'m> Values<'m> {
    pub fn new(model: &'m Model, step: Step, quirks: Quirks) -> Self {
        Values::through(Lens::new(model, step, quirks), model)
    }

    /// `lens` must have been made for this model.
    pub fn through(lens: Lens, model: &'m Model) -> Self {
        let cells = match lens.step {
            // The model of a view has only the steps that count.
            Step::Average | Step::From(_) => Some(model.runs.totals()),
            Step::At(step) => model.runs.step(step),
            Step::All => Some(model.runs.everything()),
        };
        Values { model, lens, cells }
    }

    /// The numbers of a node that runs measure, and how many nodes define it: 1. Others stay 0.
    #[inline]
    pub fn measured(&self, node: NodeId) -> Row {
        self.measured_sums(node).0
    }

    /// All numbers of a node. `Definitions` is 1.
    pub fn row(&self, node: NodeId) -> Row {
        let mut row = self.costs_and_measured(node);
        self.add_limits(node, &mut row);
        row
    }

    /// The same without what follows from peaks, see [`LIMITS`].
    #[inline]
    pub fn costs_and_measured(&self, node: NodeId) -> Row {
        let (mut row, ran, of_trace) = self.measured_sums(node);
        row[Metric::Parameters as usize] = self.parameters(node);
        row[Metric::FloatOps as usize] = self.float_ops(node, ran, row[Metric::Runs as usize]);
        if !self.lens.quirks.functions_are_closed && !self.model.costs.is_empty() {
            self.add_costs(node, ran, &mut row);
        }
        if let Some(facts) = self.model.op_facts.get(node) {
            let is_counted = self.model.costs.get(node).counted;
            use_recorded_costs(facts, of_trace, is_counted, &mut row);
        }
        row
    }

    /// The numbers that runs measure, whether any execution counts, and the sums of a trace.
    #[inline]
    fn measured_sums(&self, node: NodeId) -> (Row, bool, TraceSums) {
        let mut row = [0; Metric::COUNT];
        row[Metric::Definitions as usize] = 1;
        let mut ran = false;
        let mut of_trace = TraceSums::default();
        for (cell, sums) in self.cells.into_iter().flat_map(|cells| cells.with_trace_sums(node)) {
            if self.add(&cell, &mut row) {
                ran = true;
                of_trace.add(sums);
            }
        }
        row[Metric::InclusiveMicros as usize] = of_trace.inclusive;
        if ran && self.lens.step.is_average() {
            let seen = self.model.runs.steps_seen(node);
            let steps = if self.lens.quirks.first_device_only { seen.first_device } else { seen.any_device };
            if steps > 1 {
                of_trace.float_ops /= i64::from(steps);
                of_trace.io_bytes /= i64::from(steps);
                for at in AVERAGED {
                    let sum = row[at];
                    row[at] = if sum < 0 && self.lens.quirks.negative_averages_are_huge {
                        (sum as u64 / u64::from(steps)) as i64
                    } else {
                        sum / i64::from(steps)
                    };
                }
            }
        }
        let (accelerator, cpu) = (row[Metric::AcceleratorMicros as usize], row[Metric::CpuMicros as usize]);
        row[Metric::DeviceMicros as usize] = if accelerator == 0 { cpu } else { accelerator };
        (row, ran, of_trace)
    }

    /// Adds the time whose cost is known and, if there are peaks, the time at each peak.
    pub fn add_limits(&self, node: NodeId, row: &mut Row) {
        let took = row[Metric::DeviceMicros as usize];
        let (knows_flops, knows_bytes) = match took {
            0 if !self.lens.ceilings.is_known() => (false, false),
            _ => self.known_costs(node),
        };
        row[Metric::KnownFlopsMicros as usize] = if knows_flops { took } else { 0 };
        row[Metric::KnownBytesMicros as usize] = if knows_bytes { took } else { 0 };
        if !self.lens.ceilings.is_known() {
            return;
        }
        let on_accelerator = row[Metric::AcceleratorMicros as usize] != 0;
        let ceiling = if on_accelerator { &self.lens.ceilings.accelerator } else { &self.lens.ceilings.cpu };
        let parts = self.model.parts(Metric::Micros) as f64 * 1e6;
        let at = |amount: i64, rate: Option<f64>, known: bool| {
            rate.filter(|_| known).map(|rate| (amount.max(0) as f64 / rate * parts).round() as i64)
        };
        let flops = ceiling.flops(ceilings::precision(self.model, node));
        let compute = at(row[Metric::FloatOps as usize], flops, knows_flops);
        let memory = at(row[Metric::IoBytes as usize], ceiling.bandwidth(), knows_bytes);
        row[Metric::ComputeMicros as usize] = compute.unwrap_or(0);
        row[Metric::MemoryMicros as usize] = memory.unwrap_or(0);
        if let Some((compute, memory)) = compute.zip(memory) {
            let least = compute.max(memory);
            row[Metric::RooflineMicros as usize] = least;
            row[Metric::LostMicros as usize] = took.saturating_sub(least).max(0);
            row[Metric::CoveredMicros as usize] = took;
        }
    }

    /// Whether the FLOPs and the bytes of a node are known.
    fn known_costs(&self, node: NodeId) -> (bool, bool) {
        let costs = self.model.costs.get(node);
        let is_counted = costs.counted && costs.unknown == 0;
        let is_logged = self.model.nodes.float_ops[node.index()] != 0;
        let Some(facts) = self.model.op_facts.get(node) else { return (is_counted || is_logged, is_counted) };
        // A trace that knows no FLOPs of an op leaves them to the graph; one that knows some of its runs does not.
        let flops = if facts.knows_flops { !facts.misses_flops } else { is_counted };
        (flops || is_logged, facts.knows_bytes || is_counted)
    }

    /// The metric that the time of a cell counts as, and whether its memory counts; none if its device does not.
    #[inline]
    pub fn counted_as(&self, cell: &Cell<'_>) -> Option<(Option<Metric>, bool)> {
        let kind = self.model.devices.kind(cell.device);
        let is_apart = self.lens.kernels_apart && kind == DeviceKind::AllStreams;
        if is_apart || !self.counts(cell, kind) {
            return None;
        }
        let other = !self.lens.quirks.other_devices_are_free;
        let time = match kind {
            DeviceKind::Placement => Some(Metric::CpuMicros),
            DeviceKind::AllStreams => Some(Metric::AcceleratorMicros),
            DeviceKind::Other if other => Some(Metric::AcceleratorMicros),
            DeviceKind::Nameless | DeviceKind::NamelessLate if other => Some(Metric::CpuMicros),
            _ => None,
        };
        let memory = match kind {
            DeviceKind::Placement | DeviceKind::Nameless => true,
            DeviceKind::Other | DeviceKind::NamelessLate => other,
            DeviceKind::AllStreams | DeviceKind::OneStream => false,
        };
        Some((time, memory))
    }

    /// Adds a cell to the row; false if the question does not count its device.
    #[inline]
    fn add(&self, cell: &Cell<'_>, row: &mut Row) -> bool {
        let Some((time, memory)) = self.counted_as(cell) else { return false };
        let wrap = self.lens.quirks.numbers_wrap;
        let sum = |measure: Measure| if wrap { cell.sum(measure).wrapped() } else { cell.sum(measure).limited() };
        let mut add = |metric: Metric, n: i64| row[metric as usize] = plus(row[metric as usize], n, wrap);
        if let Some(time) = time {
            add(time, sum(Measure::Micros));
            add(Metric::Micros, sum(Measure::Micros));
        }
        if memory && time.is_some() {
            add(Metric::Runs, sum(Measure::Runs));
        }
        if memory && cell.has_memory() {
            let repeated = if self.lens.quirks.temp_counts_twice { 0 } else { sum(Measure::RepeatedTemp) };
            add(Metric::RequestedBytes, plus(sum(Measure::RequestedBytes), repeated.wrapping_neg(), wrap));
            add(
                Metric::PeakBytes,
                match self.lens.step {
                    _ if self.lens.quirks.peaks_add_up => plus(sum(Measure::PeakBytes), repeated.wrapping_neg(), wrap),
                    Step::All => cell.peaks().highest,
                    Step::Average | Step::From(_) | Step::At(_) => cell.peaks().sum(),
                },
            );
            add(Metric::ResidualBytes, sum(Measure::ResidualBytes));
            add(Metric::OutputBytes, sum(Measure::OutputBytes));
        }
        true
    }

    /// Runs and time of a node on each device, in the order of the records.
    pub fn by_device(&self, node: NodeId) -> impl Iterator<Item = (DeviceId, DeviceTimes)> + use<'m> {
        let cells = self.cells.into_iter().flat_map(move |cells| cells.with_trace_sums(node));
        cells.map(|(cell, TraceSums { inclusive, .. })| {
            let sum = |measure| cell.sum(measure).limited();
            (cell.device, DeviceTimes { runs: sum(Measure::Runs), own: sum(Measure::Micros), inclusive })
        })
    }

    fn counts(&self, cell: &Cell<'_>, kind: DeviceKind) -> bool {
        kind != DeviceKind::Placement || self.counts_on(cell.node, cell.device)
    }

    /// Whether the executions of a node on a placement device count.
    pub fn counts_on(&self, node: NodeId, device: DeviceId) -> bool {
        !self.lens.quirks.first_device_only || self.model.placement[node.index()] == device
    }

    /// Whether a node has a start time in the step (and, with quirks, a placement).
    pub fn is_on_timeline(&self, node: NodeId) -> bool {
        let placed = self.model.placement[node.index()].is_some() || !self.lens.quirks.first_device_only;
        placed
            && self
                .cells
                .into_iter()
                .flat_map(|cells| cells.of(node))
                .any(|cell| cell.first_start != 0 && self.counts(&cell, self.model.devices.kind(cell.device)))
    }

    /// Adds the computed costs, times the runs; if the node never ran, times the trip count of the program. FLOPs of an op
    /// log override computed ones, node by node.
    fn add_costs(&self, node: NodeId, ran: bool, row: &mut Row) {
        let costs = self.model.costs.get(node);
        if !costs.counted {
            return;
        }
        let runs = if self.ever_ran(node, ran) { row[Metric::Runs as usize] } else { costs.runs };
        let logged = self.model.nodes.float_ops[node.index()];
        let float_ops = if logged == 0 { costs.float_ops } else { logged };
        row[Metric::FloatOps as usize] = float_ops.saturating_mul(runs);
        row[Metric::Macs as usize] = costs.macs.saturating_mul(runs);
        row[Metric::IoBytes as usize] = costs.io_bytes.saturating_mul(runs);
        row[Metric::UnknownOps as usize] = if logged == 0 || costs.unlisted > 0 { costs.unknown } else { 0 };
    }

    fn ever_ran(&self, node: NodeId, ran: bool) -> bool {
        ran || {
            let mut cells = self.model.runs.everything().of(node);
            cells.any(|cell| self.counts(&cell, self.model.devices.kind(cell.device)))
        }
    }

    /// The FLOPs of one execution, times the runs; once if the node never ran.
    fn float_ops(&self, node: NodeId, ran: bool, runs: i64) -> i64 {
        let once = self.model.nodes.float_ops[node.index()];
        if once == 0 {
            return 0;
        }
        if self.ever_ran(node, ran) { times(once, runs, self.lens.quirks.numbers_wrap) } else { once }
    }

    /// The number of elements of a variable; 0 for any other node, or if its shape is open.
    pub fn parameters(&self, node: NodeId) -> i64 {
        let shape = self.model.nodes.shape[node.index()];
        if shape == ShapeId::EMPTY || !(self.lens.quirks.placeholders_have_parameters || self.is_variable(node)) {
            return 0;
        }
        let dims = self.model.shapes.get(shape);
        if dims.iter().any(|dim| *dim <= 0) {
            return 0;
        }
        dims.iter().fold(1, |product, dim| times(product, *dim, self.lens.quirks.numbers_wrap))
    }

    /// Whether the elements of a node are parameters.
    fn is_variable(&self, node: NodeId) -> bool {
        let op = Some(self.model.nodes.op[node.index()]);
        let types = self.model.nodes.types[node.index()];
        if types == TypesId::EMPTY {
            return self.lens.variable_ops.contains(&op);
        }
        let types = self.model.type_sets.get(types);
        let has = |wanted: &[Option<NameId>]| types.iter().any(|ty| wanted.contains(&Some(*ty)));
        let is_variable =
            self.lens.variable_ops.contains(&op) || has(&self.lens.variable_types) || has(&[self.lens.constant]);
        is_variable && !has(&self.lens.other_variables)
    }

    /// The devices of a node in the order of the records; otherwise the one that the graph requests.
    pub fn devices(&self, node: NodeId) -> Vec<NameId> {
        let placement = self.model.placement[node.index()];
        let name = |device: DeviceId| self.model.devices.name(device);
        if self.lens.quirks.first_device_only {
            if placement.is_some() {
                return vec![name(placement)];
            }
        } else {
            let mut devices = Vec::new();
            if placement.is_some() {
                devices.push(name(placement));
            }
            for cell in self.model.runs.everything().of(node) {
                let kind = self.model.devices.kind(cell.device);
                let placed = kind == DeviceKind::Placement
                    || (kind == DeviceKind::Other && !self.lens.quirks.other_devices_are_free);
                if placed && cell.device != placement {
                    devices.push(name(cell.device));
                }
            }
            if !devices.is_empty() {
                return devices;
            }
        }
        let declared = self.model.nodes.declared_device[node.index()];
        if self.lens.quirks.declared_device_ignored || declared == NameId::EMPTY { Vec::new() } else { vec![declared] }
    }

    /// Op, devices and custom types of a node, in byte order.
    pub fn types(&self, node: NodeId) -> Vec<&'m str> {
        let model = self.model;
        let mut types = vec![model.names.get(model.nodes.op[node.index()])];
        types.extend(model.type_sets.get(model.nodes.types[node.index()]).iter().map(|ty| model.names.get(*ty)));
        types.extend(self.devices(node).into_iter().map(|device| model.names.get(device)));
        types.sort_unstable();
        types.dedup();
        types
    }

    /// The shape of an input's tensor; unknown if its source is.
    pub fn input_shape(&self, input: Input) -> ShapeId {
        let Some(source) = self.model.node(input.source) else { return ShapeId::EMPTY };
        let output = if self.lens.quirks.first_output_only { 0 } else { input.output as usize };
        self.model.nodes.output_shapes(source).get(output).copied().unwrap_or(ShapeId::EMPTY)
    }
}

/// `-account_type_regexes`, and how many of them match each set of types. Few nodes differ in op, custom types and
/// device, so each such set is matched once.
#[derive(Debug)]
pub struct TypeFilter {
    patterns: Patterns,
    counts: TrustedMap<TypesKey, usize>,
}

impl TypeFilter {
    pub fn new(patterns: Patterns) -> TypeFilter {
        TypeFilter { patterns, counts: TrustedMap::default() }
    }

    pub fn patterns(&self) -> &Patterns {
        &self.patterns
    }

    /// The number of patterns that match a type of the node, memoized.
    pub fn count(&mut self, node: NodeId, values: &Values<'_>) -> usize {
        if self.patterns.is_everything() {
            return 1;
        }
        let types = || self.patterns.count(&values.types(node));
        match types_key(node, values) {
            Some(key) => *self.counts.entry(key).or_insert_with(types),
            None => types(),
        }
    }

    /// Whether any pattern matches a type of the node.
    pub fn matches(&self, node: NodeId, values: &Values<'_>) -> bool {
        if self.patterns.is_everything() {
            return true;
        }
        let counted = types_key(node, values).and_then(|key| self.counts.get(&key).copied());
        counted.unwrap_or_else(|| self.patterns.count(&values.types(node))) > 0
    }
}

/// The key of a node's types, unless it ran on several devices.
fn types_key(node: NodeId, values: &Values<'_>) -> Option<TypesKey> {
    let devices = values.devices(node);
    let device = devices.first().copied().unwrap_or(NameId::EMPTY);
    let nodes = &values.model.nodes;
    (devices.len() <= 1).then(|| (nodes.op[node.index()], nodes.types[node.index()], device))
}

/// Costs that a trace recorded, or that were computed from its compiled programs, come before those of the graph.
///
/// `is_counted`: the graph defines its cost.
fn use_recorded_costs(facts: &Facts, sums: TraceSums, is_counted: bool, row: &mut Row) {
    if facts.knows_flops {
        row[Metric::FloatOps as usize] = sums.float_ops;
    }
    if facts.knows_bytes {
        row[Metric::IoBytes as usize] = sums.io_bytes;
    }
    if facts.misses_flops && (facts.knows_flops || !is_counted) {
        row[Metric::UnknownOps as usize] = 1;
    }
}

/// A wrapping or saturating sum.
#[inline]
pub fn plus(a: i64, b: i64, wrap: bool) -> i64 {
    if wrap { a.wrapping_add(b) } else { a.saturating_add(b) }
}

/// A wrapping or saturating product.
#[inline]
pub fn times(a: i64, b: i64, wrap: bool) -> i64 {
    if wrap { a.wrapping_mul(b) } else { a.saturating_mul(b) }
}
