//! Writes a model as a `ProfileProto`, from which tfprof gives the same answers as from the original files.
//!
//! The same model is the same bytes: map entries are sorted by key and attributes are in canonical form. Nodes are
//! written one by one.

mod executions;

use crate::error::Warning;
use crate::format::profile::own_fields::{COSTS, DECLARED_DEVICE, INPUT_OUTPUTS};
use crate::hash::TrustedMap;
use crate::model::Model;
use crate::model::devices::DeviceKind;
use crate::model::names::NameId;
use crate::model::nodes::{NO_INPUT, NodeId};
use crate::model::runs::NodeSteps;
use crate::model::stacks::{Frame, FrameText, StackId, StringIds};
use crate::quirks::Quirks;
use std::collections::BTreeMap;
use std::io::{self, Write};
use tfprof_proto::fields::code_def::{self, trace};
use tfprof_proto::fields::{map_entry, profile, profile_node as field, tuple};
use tfprof_proto::write;

/// Writes everything that was loaded; the model must have been built with
/// [`Keep::EVERYTHING`](crate::model::builder::Keep::EVERYTHING).
pub fn write(model: &Model, quirks: Quirks, out: &mut dyn Write) -> io::Result<()> {
    let strings = Strings::new(model, quirks);
    let writer = Writer {
        model,
        quirks,
        strings,
        steps: model.runs.steps().collect(),
        steps_of: model.runs.steps_of_nodes(),
        ids: ids(model),
    };
    let mut nodes: Vec<NodeId> = model.nodes.all().collect();
    nodes.sort_by_key(|node| writer.ids[node.index()]);
    let mut bytes = Vec::new();
    for node in nodes {
        bytes.clear();
        entry(&mut bytes, profile::NODES, writer.ids[node.index()], |out| writer.node(node, out));
        out.write_all(&bytes)?;
    }
    bytes.clear();
    write::int(&mut bytes, profile::HAS_TRACE, model.has_traces.into());
    write::packed(&mut bytes, profile::STEPS, &writer.steps);
    for (id, text) in writer.strings.all() {
        write::message(&mut bytes, profile::ID_TO_STRING, |out| {
            int_or_zero(out, map_entry::KEY, id);
            write::element(out, map_entry::VALUE, text.as_bytes());
        });
    }
    let missed_before = model.saved_without_streams && !quirks.saving_again_alters;
    write::int(&mut bytes, profile::MISS_ACCELERATOR_STREAM, (model.misses_streams || missed_before).into());
    out.write_all(&bytes)
}

/// Warns about the inputs that a profile cannot store: those from nodes that do not exist.
pub fn warnings(model: &Model) -> Vec<Warning> {
    let mut missing = Vec::new();
    for node in model.nodes.all() {
        for input in model.nodes.inputs(node) {
            if *input != NO_INPUT && model.node(input.source).is_none() {
                missing.push((node, input.source));
            }
        }
    }
    let Some((node, source)) = missing.first() else { return Vec::new() };
    let first = format!("`{}` of `{}`", model.names.get(*source), model.name(*node));
    let message = match missing.len() {
        1 => format!("the input {first} names no node and is left out"),
        n => format!("{n} inputs name no node and are left out; the first is {first}"),
    };
    vec![Warning::new("missing_input", message)]
}

struct Writer<'m> {
    model: &'m Model,
    quirks: Quirks,
    strings: Strings<'m>,
    steps: Vec<i64>,
    steps_of: NodeSteps,
    ids: Vec<i64>,
}

/// Nodes keep the ids of the profile that they came from, if these are unique; the others continue from the largest.
fn ids(model: &Model) -> Vec<i64> {
    let mut ids = model.saved_ids.clone();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() < ids.len() || sorted.first().is_some_and(|id| *id < 0) || sorted.last() == Some(&i64::MAX) {
        ids.clear();
    }
    let next = ids.iter().max().map_or(0, |id| id + 1);
    let more = model.nodes.len() - ids.len();
    ids.extend((next..).take(more));
    ids
}

impl Writer<'_> {
    /// Writes a `ProfileNode`.
    fn node(&self, node: NodeId, out: &mut Vec<u8>) {
        let Writer { model, quirks, .. } = self;
        let nodes = &model.nodes;
        let name = |id: NameId| model.names.get(id);
        let at = node.index();
        write::bytes(out, field::NAME, model.name(node).as_bytes());
        let inputs: Vec<_> = nodes.inputs(node).iter().map(|input| model.node(input.source)).collect();
        for (i, source) in inputs.iter().enumerate() {
            if let Some(source) = source {
                pair(out, field::INPUTS, i as i64, self.ids[source.index()]);
            }
        }
        write::packed(out, field::SHAPE, model.shapes.get(nodes.shape[at]));
        let device = model.placement[at];
        let device = if device.is_some() { name(model.devices.name(device)) } else { "" };
        let types = model.type_sets.get(nodes.types[at]).iter().map(|ty| name(*ty));
        let mut types: Vec<&str> = types.chain([name(nodes.op[at])]).collect();
        types.extend(Some(device).filter(|device| !device.is_empty()));
        types.sort_unstable();
        types.dedup();
        types.iter().for_each(|ty| write::element(out, field::OP_TYPES, ty.as_bytes()));
        write::bytes(out, field::CANONICAL_DEVICE, device.as_bytes());
        write::bytes(out, field::HOST_DEVICE, host_of(device).as_bytes());
        write::int(out, field::FLOAT_OPS, nodes.float_ops[at]);
        write::bytes(out, field::OP, name(nodes.op[at]).as_bytes());
        let stack = nodes.stack[at];
        if stack != StackId::NONE || (quirks.saving_again_alters && at < model.saved_ids.len()) {
            write::message(out, field::TRACE, |out| self.call_stack(stack, out));
        }
        for (key, value) in model.attributes.of(node) {
            write::message(out, field::ATTRS, |out| {
                write::element(out, map_entry::KEY, name(key).as_bytes());
                write::element(out, map_entry::VALUE, value);
            });
        }
        self.executions(node, out);
        write::int(out, field::ID, self.ids[at]);
        let outputs = self.outputs_of_sources(node, out);
        for (i, shape) in nodes.output_shapes(node).iter().enumerate() {
            entry(out, field::OUTPUT_SHAPES, i as i64, |out| {
                write::packed(out, tuple::INT64_VALUES, model.shapes.get(*shape));
            });
        }
        if !quirks.first_output_only
            && outputs.iter().zip(nodes.inputs(node)).any(|(saved, input)| *saved != i64::from(input.output))
        {
            let real: Vec<i64> = nodes.inputs(node).iter().map(|input| i64::from(input.output)).collect();
            write::packed(out, INPUT_OUTPUTS, &real);
        }
        if !quirks.declared_device_ignored {
            write::bytes(out, DECLARED_DEVICE, name(nodes.declared_device[at]).as_bytes());
        }
        let costs = model.costs.get(node);
        if costs.counted && !quirks.functions_are_closed {
            let step = model.costs.step.or_else(|| model.runs.steps().next()).unwrap_or(i64::MAX);
            let numbers = [step, costs.float_ops, costs.macs, costs.io_bytes, costs.unknown, costs.runs];
            write::packed(out, COSTS, &numbers);
        }
    }

    /// Writes which output of each source the node reads. The message holds one for each source, and the last counts;
    /// returns the output that each input will have when the profile is read.
    fn outputs_of_sources(&self, node: NodeId, out: &mut Vec<u8>) -> Vec<i64> {
        let mut output_of = BTreeMap::new();
        let inputs = self.model.nodes.inputs(node);
        for input in inputs {
            if let Some(source) = self.model.node(input.source) {
                output_of.insert(
                    self.ids[source.index()],
                    if self.quirks.first_output_only { 0 } else { i64::from(input.output) },
                );
            }
        }
        for (source, output) in &output_of {
            pair(out, field::SRC_OUTPUT_INDEX, *source, *output);
        }
        let saved = |input: &crate::model::nodes::Input| {
            let source = self.model.node(input.source);
            source.map_or(i64::from(input.output), |source| output_of[&self.ids[source.index()]])
        };
        inputs.iter().map(saved).collect()
    }

    /// Writes a `CodeDef`, from the outermost frame to the innermost.
    fn call_stack(&self, stack: StackId, out: &mut Vec<u8>) {
        let mut frames = Vec::new();
        let mut at = stack;
        while let Some((outer, frame)) = self.model.stacks.last(at) {
            frames.push(frame);
            at = outer;
        }
        for frame in frames.into_iter().rev() {
            let frame = self.model.stacks.frame(frame);
            let ids = self.strings.ids(frame);
            write::message(out, code_def::TRACES, |out| {
                write::int(out, trace::LINENO, frame.lineno.into());
                write::int(out, trace::FUNC_START_LINE, frame.function_start.into());
                write::int(out, trace::FILE_ID, ids.file);
                write::int(out, trace::FUNCTION_ID, ids.function);
                write::int(out, trace::LINE_ID, ids.line);
            });
        }
    }

    fn kind_counts(&self, kind: DeviceKind) -> bool {
        let real = !self.quirks.other_devices_are_free;
        match kind {
            DeviceKind::Placement | DeviceKind::AllStreams => true,
            DeviceKind::Other | DeviceKind::Nameless | DeviceKind::NamelessLate => real,
            DeviceKind::OneStream => false,
        }
    }
}

/// The CPU of the host that a device belongs to: `gpu:3` becomes `cpu:0`.
fn host_of(device: &str) -> String {
    let mut host = String::new();
    let mut rest = device;
    while let Some(at) = rest.find("gpu:") {
        let (before, number) = (&rest[..at], &rest[at + 4..]);
        let after = number.trim_start_matches(|c: char| c.is_ascii_digit());
        host.push_str(before);
        host.push_str(if after.len() < number.len() { "cpu:0" } else { "gpu:" });
        rest = after;
    }
    host + rest
}

/// Writes an integer even if it is zero, as keys and values of maps are.
fn int_or_zero(out: &mut Vec<u8>, field: u32, n: i64) {
    write::key(out, field, 0);
    write::varint(out, n as u64);
}

/// Writes an entry of a map from integer to integer.
fn pair(out: &mut Vec<u8>, field: u32, key: i64, value: i64) {
    write::message(out, field, |out| {
        int_or_zero(out, map_entry::KEY, key);
        int_or_zero(out, map_entry::VALUE, value);
    });
}

/// Writes an entry of a map from integer to message.
fn entry(out: &mut Vec<u8>, field: u32, key: i64, fill: impl FnOnce(&mut Vec<u8>)) {
    write::message(out, field, |out| {
        int_or_zero(out, map_entry::KEY, key);
        write::message(out, map_entry::VALUE, fill);
    });
}

/// Strings keep their numbers of the first log; a string with another number in a later log gets a new one.
struct Strings<'m> {
    model: &'m Model,
    /// A quirk of the original: a number means the string of the first log in all of them.
    logs_share_numbers: bool,
    first: BTreeMap<i64, NameId>,
    added: TrustedMap<NameId, i64>,
}

/// Logs of 2017 have no numbers; those that the reader assigns are all below this one.
const ASSIGNED: i64 = i64::MIN / 4;

impl<'m> Strings<'m> {
    pub fn new(model: &'m Model, quirks: Quirks) -> Self {
        let first =
            model.first_strings.iter().map(|(id, name)| (*id, *name)).filter(|(id, _)| *id > ASSIGNED).collect();
        let mut strings =
            Strings { model, logs_share_numbers: quirks.op_logs_share_strings, first, added: TrustedMap::default() };
        let texts = || model.stacks.frames().iter().flat_map(|frame| FrameText::ALL.map(|text| (frame, text)));
        let ids = texts().map(|(frame, text)| frame.string_id(text));
        let largest = ids.chain(strings.first.keys().copied()).max();
        let mut next = largest.unwrap_or(0).max(0).saturating_add(1);
        for (frame, text) in texts() {
            let name = frame.name(text);
            if !strings.keeps(frame.string_id(text), name) && !strings.added.contains_key(&name) {
                strings.added.insert(name, next);
                next = next.saturating_add(1);
            }
        }
        strings
    }

    /// The numbers to write for a frame.
    pub fn ids(&self, frame: &Frame) -> StringIds {
        let id = |text: FrameText| {
            let (id, name) = (frame.string_id(text), frame.name(text));
            if self.keeps(id, name) { id } else { self.added.get(&name).copied().unwrap_or(id) }
        };
        StringIds { file: id(FrameText::File), function: id(FrameText::Function), line: id(FrameText::Line) }
    }

    /// Whether a number still stands for the string that it stood for in its log.
    fn keeps(&self, id: i64, name: NameId) -> bool {
        if id <= ASSIGNED {
            return false;
        }
        match self.first.get(&id) {
            Some(first) => self.logs_share_numbers || *first == name,
            // The string was missing in its log, too.
            None => name == NameId::EMPTY || self.model.names.get(name) == "unknown",
        }
    }

    /// All strings by number.
    pub fn all(&self) -> impl Iterator<Item = (i64, &'m str)> {
        let mut added: Vec<_> = self.added.iter().map(|(name, id)| (*id, *name)).collect();
        added.sort_unstable();
        let model = self.model;
        let all = self.first.iter().map(|(id, name)| (*id, *name)).chain(added);
        all.map(move |(id, name)| (id, model.names.get(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_devices() {
        let check = |device: &str, host: &str| assert_eq!(host_of(device), host);
        check("/job:a/device:gpu:12", "/job:a/device:cpu:0");
        check("/gpu:0/gpu:1/x", "/cpu:0/cpu:0/x");
        check("/gpu:x", "/gpu:x");
        check("/cpu:1", "/cpu:1");
        check("", "");
    }
}
