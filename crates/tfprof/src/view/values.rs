//! The numbers, devices and types of single nodes, as a question sees them: for a step or on average, with the
//! quirks it asks for.

use crate::metric::Metric;
use crate::model::Model;
use crate::model::cells::{Cell, Cells, Measure};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::names::NameId;
use crate::model::nodes::{Input, NodeId, ShapeId, TypesId};
use crate::model::type_names::{
    CONST_PARAMETER, GENERATOR_STATE, IN_CHECKPOINT, OPTIMIZER_SLOT, SAME_VARIABLE, TRAINABLE,
};
use crate::options::Step;
use crate::quirks::Quirks;
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};

use super::filter::Patterns;

/// One number per metric.
pub type Row = [i64; Metric::COUNT];

#[derive(Debug)]
pub struct Values<'m> {
    pub model: &'m Model,
    pub quirks: Quirks,
    step: Step,
    /// The sums of the step, or of all of them.
    cells: Option<&'m Cells>,
    variable_ops: [Option<NameId>; 3],
    variable_types: [Option<NameId>; 2],
    /// Variables that are no parameters: the state of an optimizer, and further handles of one variable.
    other_variables: [Option<NameId>; 3],
    constant: Option<NameId>,
    /// Float operations are computed: no op log has any.
    infers: OnceCell<bool>,
    matches: RefCell<FxHashMap<TypesKey, usize>>,
}

/// Nodes with the same key have the same types.
type TypesKey = (NameId, TypesId, NameId);

impl<'m> Values<'m> {
    pub fn new(model: &'m Model, step: Step, quirks: Quirks) -> Self {
        let cells = match step {
            Step::Average => Some(model.runs.totals()),
            Step::At(step) => model.runs.step(step),
            Step::All => Some(model.runs.everything()),
        };
        let find = |name: &str| model.names.find(name.as_bytes());
        Values {
            model,
            quirks,
            step,
            cells,
            variable_ops: ["VariableV2", "VarHandleOp", "Variable"].map(find),
            variable_types: [TRAINABLE, IN_CHECKPOINT].map(find),
            other_variables: [OPTIMIZER_SLOT, SAME_VARIABLE, GENERATOR_STATE].map(find),
            constant: find(CONST_PARAMETER),
            infers: OnceCell::new(),
            matches: RefCell::default(),
        }
    }

    /// All numbers of a node. `Definitions` is 1.
    pub fn row(&self, node: NodeId) -> Row {
        let mut row = [0; Metric::COUNT];
        row[Metric::Definitions as usize] = 1;
        row[Metric::Parameters as usize] = self.parameters(node);
        let mut ran = false;
        for (cell, inclusive) in self.cells.into_iter().flat_map(|cells| cells.with_inclusive(node)) {
            if self.add(cell, &mut row) {
                ran = true;
                let sum = &mut row[Metric::InclusiveMicros as usize];
                *sum = sum.saturating_add(inclusive);
            }
        }
        if ran && self.step == Step::Average {
            let seen = self.model.runs.steps_seen(node);
            let steps = if self.quirks.first_device_only { seen.first_device } else { seen.any_device };
            if steps > 1 {
                for metric in AVERAGED {
                    let sum = row[metric as usize];
                    row[metric as usize] = if sum < 0 && self.quirks.negative_averages_are_huge {
                        (sum as u64 / u64::from(steps)) as i64
                    } else {
                        sum / i64::from(steps)
                    };
                }
            }
        }
        row[Metric::FloatOps as usize] = self.float_ops(node, ran, row[Metric::Runs as usize]);
        if !self.quirks.functions_are_closed && !self.model.costs.is_empty() {
            self.add_costs(node, ran, &mut row);
        }
        row
    }

    /// Adds what counts of a cell; false if its node did not run there as far as the question is concerned.
    #[inline]
    fn add(&self, cell: &Cell, row: &mut Row) -> bool {
        let kind = self.model.devices.kind(cell.device);
        if !self.counts(cell, kind) {
            return false;
        }
        let other = !self.quirks.other_devices_are_free;
        let time = match kind {
            DeviceKind::Placement => Some(Metric::CpuMicros),
            DeviceKind::AllStreams => Some(Metric::AcceleratorMicros),
            DeviceKind::Other if other => Some(Metric::AcceleratorMicros),
            DeviceKind::Nameless | DeviceKind::NamelessLate if other => Some(Metric::CpuMicros),
            _ => None,
        };
        let wrap = self.quirks.numbers_wrap;
        let sum = |measure: Measure| if wrap { cell.sum(measure).wrapped() } else { cell.sum(measure).limited() };
        let mut add = |metric: Metric, n: i64| row[metric as usize] = plus(row[metric as usize], n, wrap);
        if let Some(time) = time {
            add(time, sum(Measure::Micros));
            add(Metric::Micros, sum(Measure::Micros));
        }
        let memory = match kind {
            DeviceKind::Placement | DeviceKind::Nameless => true,
            DeviceKind::Other | DeviceKind::NamelessLate => other,
            DeviceKind::AllStreams | DeviceKind::OneStream => false,
        };
        if memory {
            if time.is_some() {
                add(Metric::Runs, sum(Measure::Runs));
            }
            add(Metric::RequestedBytes, sum(Measure::RequestedBytes));
            add(Metric::PeakBytes, sum(Measure::PeakBytes));
            add(Metric::ResidualBytes, sum(Measure::ResidualBytes));
            add(Metric::OutputBytes, sum(Measure::OutputBytes));
        }
        true
    }

    /// What a node took on each device, in the order in which they were met: the device, then runs, own and inclusive
    /// time.
    pub fn by_device(&self, node: NodeId) -> impl Iterator<Item = (DeviceId, [i64; 3])> {
        let cells = self.cells.into_iter().flat_map(move |cells| cells.with_inclusive(node));
        cells.map(|(cell, inclusive)| {
            let sum = |measure| cell.sum(measure).limited();
            (cell.device, [sum(Measure::Runs), sum(Measure::Micros), inclusive])
        })
    }

    fn counts(&self, cell: &Cell, kind: DeviceKind) -> bool {
        kind != DeviceKind::Placement || self.counts_on(cell.node, cell.device)
    }

    /// Whether what a node did on a device where ops are placed counts.
    pub fn counts_on(&self, node: NodeId, device: DeviceId) -> bool {
        !self.quirks.first_device_only || self.model.placement[node.index()] == device
    }

    /// Whether a node ran in the step, with a known start and, as far as quirks ask for it, at a known place.
    pub fn is_on_timeline(&self, node: NodeId) -> bool {
        let placed = self.model.placement[node.index()].is_some() || !self.quirks.first_device_only;
        placed
            && self
                .cells
                .into_iter()
                .flat_map(|cells| cells.of(node))
                .any(|cell| cell.first_start != 0 && self.counts(cell, self.model.devices.kind(cell.device)))
    }

    /// What was computed, as often as the node ran; if it never ran, as often as the program says.
    fn add_costs(&self, node: NodeId, ran: bool, row: &mut Row) {
        let costs = self.model.costs.get(node);
        let runs = if self.ever_ran(node, ran) { row[Metric::Runs as usize] } else { costs.runs };
        let nothing_is_logged = || self.model.nodes.float_ops.iter().all(|float_ops| *float_ops == 0);
        if *self.infers.get_or_init(nothing_is_logged) {
            row[Metric::FloatOps as usize] = costs.float_ops.saturating_mul(runs);
        }
        row[Metric::Macs as usize] = costs.macs.saturating_mul(runs);
        row[Metric::IoBytes as usize] = costs.io_bytes.saturating_mul(runs);
        row[Metric::UnknownOps as usize] = costs.unknown;
    }

    fn ever_ran(&self, node: NodeId, ran: bool) -> bool {
        ran || {
            let mut cells = self.model.runs.everything().of(node);
            cells.any(|cell| self.counts(cell, self.model.devices.kind(cell.device)))
        }
    }

    /// What one execution takes, as often as the node ran; once if it never ran.
    fn float_ops(&self, node: NodeId, ran: bool, runs: i64) -> i64 {
        let once = self.model.nodes.float_ops[node.index()];
        if once == 0 {
            return 0;
        }
        if self.ever_ran(node, ran) { times(once, runs, self.quirks.numbers_wrap) } else { once }
    }

    fn parameters(&self, node: NodeId) -> i64 {
        let shape = self.model.nodes.shape[node.index()];
        if shape == ShapeId::EMPTY || !(self.quirks.placeholders_have_parameters || self.is_variable(node)) {
            return 0;
        }
        let dims = self.model.shapes.get(shape);
        if dims.iter().any(|dim| *dim <= 0) {
            return 0;
        }
        dims.iter().fold(1, |product, dim| times(product, *dim, self.quirks.numbers_wrap))
    }

    /// Whether the elements of a node are parameters.
    fn is_variable(&self, node: NodeId) -> bool {
        let op = Some(self.model.nodes.op[node.index()]);
        let types = self.model.nodes.types[node.index()];
        if types == TypesId::EMPTY {
            return self.variable_ops.contains(&op);
        }
        let types = self.model.type_sets.get(types);
        let has = |wanted: &[Option<NameId>]| types.iter().any(|ty| wanted.contains(&Some(*ty)));
        let is_variable = self.variable_ops.contains(&op) || has(&self.variable_types) || has(&[self.constant]);
        is_variable && !has(&self.other_variables)
    }

    /// The devices of a node, in the order in which runs named them; else the one that the graph asks for.
    pub fn devices(&self, node: NodeId) -> Vec<NameId> {
        let placement = self.model.placement[node.index()];
        let name = |device: DeviceId| self.model.devices.name(device);
        if self.quirks.first_device_only {
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
                let placed =
                    kind == DeviceKind::Placement || (kind == DeviceKind::Other && !self.quirks.other_devices_are_free);
                if placed && cell.device != placement {
                    devices.push(name(cell.device));
                }
            }
            if !devices.is_empty() {
                return devices;
            }
        }
        let declared = self.model.nodes.declared_device[node.index()];
        if self.quirks.declared_device_ignored || declared == NameId::EMPTY { Vec::new() } else { vec![declared] }
    }

    /// Op, devices and custom types of a node, in the order of their bytes.
    pub fn types(&self, node: NodeId) -> Vec<&'m str> {
        let model = self.model;
        let mut types = vec![model.names.get(model.nodes.op[node.index()])];
        types.extend(model.type_sets.get(model.nodes.types[node.index()]).iter().map(|ty| model.names.get(*ty)));
        types.extend(self.devices(node).into_iter().map(|device| model.names.get(device)));
        types.sort_unstable();
        types.dedup();
        types
    }

    /// How many of the patterns match a type of the node.
    pub fn matches(&self, node: NodeId, patterns: &Patterns) -> usize {
        if patterns.is_everything() {
            return 1;
        }
        let devices = self.devices(node);
        if devices.len() > 1 {
            return patterns.count(&self.types(node));
        }
        // Few nodes differ in op, custom types and device, so each such set is matched once.
        let device = devices.first().copied().unwrap_or(NameId::EMPTY);
        let key = (self.model.nodes.op[node.index()], self.model.nodes.types[node.index()], device);
        *self.matches.borrow_mut().entry(key).or_insert_with(|| patterns.count(&self.types(node)))
    }

    /// The shape of what an input reads; unknown if its source is.
    pub fn input_shape(&self, input: &Input) -> ShapeId {
        let Some(source) = self.model.node(input.source) else { return ShapeId::EMPTY };
        let output = if self.quirks.first_output_only { 0 } else { input.output as usize };
        self.model.nodes.output_shapes(source).get(output).copied().unwrap_or(ShapeId::EMPTY)
    }
}

/// A sum that wraps, or stays at the limit.
#[inline]
pub fn plus(a: i64, b: i64, wrap: bool) -> i64 {
    if wrap { a.wrapping_add(b) } else { a.saturating_add(b) }
}

/// A product that wraps, or stays at the limit.
#[inline]
pub fn times(a: i64, b: i64, wrap: bool) -> i64 {
    if wrap { a.wrapping_mul(b) } else { a.saturating_mul(b) }
}

const AVERAGED: [Metric; 9] = [
    Metric::Micros,
    Metric::AcceleratorMicros,
    Metric::CpuMicros,
    Metric::RequestedBytes,
    Metric::PeakBytes,
    Metric::ResidualBytes,
    Metric::OutputBytes,
    Metric::Runs,
    Metric::InclusiveMicros,
];
