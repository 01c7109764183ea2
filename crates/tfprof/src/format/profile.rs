//! `ProfileProto`: a model that was saved, with all its steps.

mod parts;

use super::driver::FormatReader;
use super::fields::{each_quietly, int_pair, map_entry};
use super::op_log::Traces;
use crate::model::builder::Builder;
use crate::model::cells::{Cells, Measure, Sum, Sums};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::names::NameId;
use crate::model::nodes::{Input, NO_INPUT, NodeId, ShapeId};
use crate::model::records::{Allocation, MemoryUse, Records, Timing};
use crate::model::stacks::StackId;
use parts::{device_time, each_time, indexed_tuple, memory_use};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use tfprof_proto::stream::{Layout, Record, Rule, Tag};
use tfprof_proto::wire::{Fields, Value, each_int};

mod merge;

use merge::{Definition, Merge};

const NODE: Tag = 1;
const HAS_TRACE: Tag = 2;
const STEPS: Tag = 3;
const STRING: Tag = 4;
const MISSES_STREAMS: Tag = 5;

/// Fields of ours in `ProfileNode`, which others pass over: which output each input is, where one number for each
/// source cannot tell, and the device that the graph asks for.
pub(crate) const INPUT_OUTPUTS: u32 = 1000;
pub(crate) const DECLARED_DEVICE: u32 = 1001;

pub(super) static PROFILE: Layout = Layout {
    fields: &[
        (1, Rule::Take(NODE)),
        (2, Rule::Take(HAS_TRACE)),
        (3, Rule::Take(STEPS)),
        (4, Rule::Take(STRING)),
        (5, Rule::Take(MISSES_STREAMS)),
    ],
};

pub(super) struct Reader<'b> {
    builder: &'b mut Builder,
    traces: Traces,
    steps: BTreeMap<i64, Cells>,
    executions: BTreeMap<i64, Records>,
    /// The first node of this file.
    first: NodeId,
    /// The name of each node by its number in the file, and the numbers that inputs speak of.
    name_of: FxHashMap<i64, NameId>,
    sources: Vec<i64>,
    merge: Merge,
}

impl<'b> Reader<'b> {
    pub fn new(builder: &'b mut Builder) -> Self {
        let first = NodeId(builder.model.nodes.len() as u32);
        Reader {
            builder,
            traces: Traces::default(),
            steps: BTreeMap::new(),
            executions: BTreeMap::new(),
            first,
            name_of: FxHashMap::default(),
            sources: Vec::new(),
            merge: Merge::default(),
        }
    }

    /// An entry of the map from number to node.
    fn entry(&mut self, entry: Fields<'_>) {
        let (mut id, mut node) = (0, None);
        each_quietly(entry, |all, number, value| match (number, value) {
            (1, Value::Varint(n)) => id = n as i64,
            (2, Value::Bytes(bytes)) => node = Some(all.nested(bytes)),
            _ => {}
        });
        if let Some(fields) = node {
            self.node(id, fields);
        }
    }

    fn node(&mut self, id: i64, fields: Fields<'_>) {
        let (mut name, mut op, mut device) = (&b""[..], &b""[..], &b""[..]);
        each_quietly(fields.clone(), |_, number, value| match (number, value) {
            (1, Value::Bytes(bytes)) => name = bytes,
            (9, Value::Bytes(bytes)) => op = bytes,
            (6, Value::Bytes(bytes)) => device = bytes,
            _ => {}
        });
        let offset = fields.offset();
        let name = self.builder.name(name, offset);
        let op = self.builder.name(op, offset);
        self.name_of.insert(id, name);
        let node = match self.builder.add_node(name, op) {
            Some(node) => {
                if self.first.index() == 0 {
                    self.builder.model.saved_ids.push(id);
                }
                let definition = self.definition(device, fields.clone());
                self.define(node, definition);
                node
            }
            None => {
                let node = self.builder.model.node(name).unwrap_or(NodeId(0));
                // Of two nodes of one name in one file the first counts; what was measured adds up.
                if node < self.first {
                    let definition = self.definition(device, fields.clone());
                    self.merge.add(node, op, definition, self.builder);
                }
                node
            }
        };
        each_quietly(fields, |all, number, value| {
            if let (12, Value::Bytes(entry)) = (number, value) {
                self.execution(node, all.nested(entry));
            }
        });
    }

    /// What `ProfileNode` says beyond what ran.
    fn definition<'f>(&mut self, device: &[u8], fields: Fields<'f>) -> Definition<'f> {
        let offset = fields.offset();
        let mut found = Definition { offset, ..Definition::default() };
        if !device.is_empty() {
            found.device = Some(self.builder.device(device));
        }
        let placement = self.builder.name(&device.to_ascii_lowercase(), offset);
        let mut output_of = FxHashMap::default();
        let mut output_of_input = Vec::new();
        let keep_attributes = self.builder.keep.attributes;
        let length = fields.rest().len() as i64;
        let mut inputs = Vec::new();
        each_quietly(fields, |all, number, value| match (number, value) {
            (2, Value::Bytes(entry)) => inputs.push(int_pair(all.nested(entry))),
            (14, Value::Bytes(entry)) => {
                let (source, output) = int_pair(all.nested(entry));
                output_of.insert(source, output);
            }
            (4, value) => drop(each_int(value, |n| found.dims.push(n))),
            (5, Value::Bytes(ty)) => {
                let ty = self.builder.name(ty, offset);
                if ty != placement || device.is_empty() {
                    found.types.push(ty);
                }
            }
            (8, Value::Varint(n)) => found.float_ops = n as i64,
            (10, Value::Bytes(code)) => {
                let keep = self.builder.keep.traces;
                let stack = if keep { self.traces.stack(all.nested(code), self.builder) } else { StackId::EMPTY };
                found.stack = Some(stack);
            }
            (11, Value::Bytes(entry)) if keep_attributes => {
                let (key, value) = map_entry(entry);
                found.attributes.push((key, value.unwrap_or_default()));
            }
            (INPUT_OUTPUTS, value) => drop(each_int(value, |n| output_of_input.push(n))),
            (DECLARED_DEVICE, Value::Bytes(device)) => {
                found.declared_device = self.builder.name(&device.to_ascii_lowercase(), offset);
            }
            (15, Value::Bytes(entry)) => found.output_shapes.push(indexed_tuple(all.nested(entry))),
            _ => {}
        });
        // A map may skip numbers. No honest one skips more than its own bytes could have held.
        found.output_shapes.retain(|(index, _)| (0..=length).contains(index));
        found.output_shapes.sort_by_key(|(index, _)| *index);
        inputs.retain(|(index, _)| (0..=length).contains(index));
        inputs.sort_by_key(|(index, _)| *index);
        found.inputs.extend(inputs.into_iter().map(|(index, source)| {
            let output = output_of_input.get(index as usize).or_else(|| output_of.get(&source)).copied().unwrap_or(0);
            (index, source, u32::try_from(output).unwrap_or(0))
        }));
        found
    }

    /// Gives the node that was added last what the file says of it.
    fn define(&mut self, node: NodeId, definition: Definition<'_>) {
        let builder = &mut *self.builder;
        builder.set_attributes(node, &definition.attributes, definition.offset);
        definition.types.iter().for_each(|ty| builder.add_type(node, *ty));
        let shape = builder.shape(&definition.dims);
        let nodes = &mut builder.model.nodes;
        nodes.shape[node.index()] = shape;
        nodes.float_ops[node.index()] = definition.float_ops;
        nodes.declared_device[node.index()] = definition.declared_device;
        builder.model.placement[node.index()] = definition.device.unwrap_or(DeviceId::NONE);
        if let Some(stack) = definition.stack {
            self.traces.push(node, stack);
        }
        for (index, dims) in definition.output_shapes {
            let shape = builder.shape(&dims);
            let nodes = &mut builder.model.nodes;
            while (nodes.output_shapes(node).len() as i64) < index {
                nodes.push_output_shape(ShapeId::EMPTY);
            }
            nodes.push_output_shape(shape);
        }
        for (index, source, output) in definition.inputs {
            let nodes = &mut builder.model.nodes;
            while (nodes.inputs(node).len() as i64) < index {
                nodes.push_input(NO_INPUT);
            }
            // The source is named once all nodes are known; until then its place in the list stands for it.
            nodes.push_input(Input { source: NameId(self.sources.len() as u32), output });
            self.sources.push(source);
        }
    }

    /// An entry of the map from step to what ran in it.
    fn execution(&mut self, node: NodeId, entry: Fields<'_>) {
        let (mut step, mut profile) = (0, None);
        each_quietly(entry, |all, number, value| match (number, value) {
            (1, Value::Varint(n)) => step = n as i64,
            (2, Value::Bytes(bytes)) => profile = Some(all.nested(bytes)),
            _ => {}
        });
        let Some(profile) = profile else { return };
        if self.builder.keep.records {
            self.record(node, step, profile.clone());
        }
        let cells = self.steps.entry(step).or_default();
        let mut placed: Sums = [Sum::default(); Measure::COUNT];
        let (mut start, mut end) = (0, 0);
        let mut add = |index: Measure, n: i64| placed[index as usize].add(n);
        each_quietly(profile, |all, number, value| match (number, value) {
            (1, Value::Varint(n)) => add(Measure::Runs, n as i64),
            (2, Value::Varint(n)) => start = n as i64,
            (3, Value::Varint(n)) => end = n as i64,
            (4 | 5, Value::Bytes(entry)) => {
                let (device, micros) = device_time(all.nested(entry));
                let device = self.builder.device(device);
                let cell = cells.at(node, device);
                let mut sums: Sums = [Sum::default(); Measure::COUNT];
                sums[Measure::Micros as usize] = micros;
                cell.record(&sums, 0, 0);
            }
            (6, Value::Bytes(device)) => {
                let device = self.builder.device(device);
                cells.at(node, device);
            }
            (7, Value::Bytes(memory)) => each_quietly(all.nested(memory), |_, number, value| {
                let Value::Varint(n) = value else { return };
                match number {
                    6 => add(Measure::RequestedBytes, n as i64),
                    7 => add(Measure::PeakBytes, n as i64),
                    8 => add(Measure::ResidualBytes, n as i64),
                    9 => add(Measure::OutputBytes, n as i64),
                    _ => {}
                }
            }),
            _ => {}
        });
        let device = self.device_of_sums(node, step, placed.iter().all(|sum| *sum == Sum::default()));
        let cells = self.steps.entry(step).or_default();
        cells.at(node, device).record(&placed, start, end);
    }

    /// Where to put what is said of all devices together: on the placement, or else on a device that is named, so that
    /// saving again names no other.
    fn device_of_sums(&mut self, node: NodeId, step: i64, nothing: bool) -> DeviceId {
        let placement = self.placement(node);
        let devices = &self.builder.model.devices;
        let cells = self.steps.entry(step).or_default();
        if cells.of(node).any(|cell| cell.device == placement) {
            return placement;
        }
        // A record without a device, before the node was placed, is the only one besides that has memory.
        let kinds: &[DeviceKind] = &[DeviceKind::Nameless, DeviceKind::Placement, DeviceKind::Other];
        let of_kind = |kind: &DeviceKind| cells.of(node).map(|cell| cell.device).find(|id| devices.kind(*id) == *kind);
        let first = || cells.of(node).map(|cell| cell.device).next().filter(|_| nothing);
        first().or_else(|| kinds.iter().find_map(of_kind)).unwrap_or(placement)
    }

    fn placement(&mut self, node: NodeId) -> DeviceId {
        let placement = self.builder.model.placement[node.index()];
        if placement.is_some() { placement } else { self.builder.device(b"") }
    }

    /// `ExecProfile` again, execution by execution.
    fn record(&mut self, node: NodeId, step: i64, profile: Fields<'_>) {
        let placement = self.placement(node);
        let records = self.executions.entry(step).or_default();
        let builder = &mut *self.builder;
        each_quietly(profile, |all, number, value| match (number, value) {
            (4 | 5, Value::Bytes(entry)) => {
                let mut device = &b""[..];
                each_quietly(all.nested(entry), |_, number, value| {
                    if let (1, Value::Bytes(name)) = (number, value) {
                        device = name;
                    }
                });
                let device = builder.device(device);
                each_time(all.nested(entry), |start, length| {
                    records.push_timing(Timing { node, device, start, length });
                });
            }
            (7, Value::Bytes(memory)) => {
                let mut outputs = Vec::new();
                let memory = memory_use(all.nested(memory), MemoryUse::new(node, placement), &mut outputs);
                records.push_memory(memory, &outputs);
            }
            (11, Value::Bytes(allocation)) => {
                let (micros, bytes) = int_pair(all.nested(allocation));
                records.push_allocation(Allocation { node, device: placement, micros, bytes });
            }
            _ => {}
        });
    }
}

impl FormatReader for Reader<'_> {
    fn take(&mut self, tag: Tag, record: Record<'_>) {
        match (tag, record.value) {
            (NODE, Value::Bytes(entry)) => self.entry(Fields::new(entry, record.offset)),
            (MISSES_STREAMS, Value::Varint(n)) => self.builder.model.saved_without_streams |= n != 0,
            (HAS_TRACE, Value::Varint(n)) => self.builder.model.has_traces |= n != 0,
            (STEPS, value) => drop(each_int(value, |step| {
                self.steps.entry(step).or_default();
            })),
            (STRING, Value::Bytes(entry)) => self.traces.string(Fields::new(entry, record.offset), self.builder),
            _ => {}
        }
    }

    fn finish(&mut self) {
        let has_traces = self.builder.model.has_traces;
        let placed = std::mem::take(&mut self.traces).finish(self.builder);
        // A saved model may have a trace without frames on every node; only the flag says that there were any.
        self.builder.model.has_traces = has_traces;
        if self.first.index() < self.builder.model.nodes.len() {
            let (sources, name_of) = (&self.sources, &self.name_of);
            self.builder.model.nodes.resolve_inputs(self.first, |input| {
                let source = sources.get(input.source.index()).and_then(|id| name_of.get(id));
                *input = source.map_or(NO_INPUT, |source| Input { source: *source, ..*input });
            });
        }
        std::mem::take(&mut self.merge).finish(&self.name_of, &placed, self.builder);
        for (step, cells) in std::mem::take(&mut self.steps) {
            self.builder.add_step(step, cells);
        }
        for (step, records) in std::mem::take(&mut self.executions) {
            self.builder.model.runs.fold_records(step, records);
        }
    }

    fn builder(&mut self) -> &mut Builder {
        self.builder
    }
}
