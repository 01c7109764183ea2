//! Parallel reading of runs: each reader fills a fork of the builder, and the forks are joined in order.

use super::Model;
use super::builder::Builder;
use super::cells::{Cell, Cells, Parts};
use super::devices::{DeviceId, DeviceKind, Devices};
use super::names::NameId;
use super::nodes::NodeId;
use super::runs::KeepSteps;

/// How many nodes and names there were when the fork was made.
#[derive(Clone, Copy, Debug)]
pub struct Fork {
    nodes: usize,
    names: usize,
}

/// Translates ids of a fork to ids of the model that it joins.
#[derive(Debug)]
pub struct Renumber<'m> {
    /// Nodes below this number are the same in both.
    known: usize,
    nodes: Vec<NodeId>,
    device_of: Vec<DeviceId>,
    /// Devices have the same ids in both, and each has a name.
    all_same: bool,
    placed_before: &'m [DeviceId],
    pub devices: &'m Devices,
}

impl Builder {
    /// A builder for runs that shares the nodes of this one. Pass it to [`Builder::join`] afterwards.
    pub fn fork(&mut self) -> (Builder, Fork) {
        let mut fork = Builder::new(self.keep);
        let model = &mut self.model;
        let at = Fork { nodes: model.nodes.len(), names: model.names.len() };
        fork.model.names = model.names.lend();
        fork.model.nodes = model.nodes.lend();
        fork.model.node_of = model.node_of.lend();
        fork.model.devices = model.devices.clone();
        fork.model.placement.clone_from(&model.placement);
        (fork, at)
    }

    /// Adds the runs of a fork as if they had been read here, after everything read so far.
    ///
    /// Returns false and adds nothing if its sums do not allow that: an earlier run placed a node elsewhere, so the fork
    /// took the wrong device for the node's first, or kept two peaks of a step where there is one.
    #[must_use]
    pub fn join(&mut self, fork: Builder, at: Fork) -> bool {
        let Builder { model: later, warnings, program, .. } = fork;
        let model = &mut self.model;
        let names: Vec<NameId> =
            (at.names..later.names.len()).map(|id| model.names.intern(later.names.get(NameId(id as u32)))).collect();
        let name_of = |id: NameId| if id.index() < at.names { id } else { names[id.index() - at.names] };
        let mut nodes = Vec::new();
        for node in at.nodes..later.nodes.len() {
            let (name, op) = (name_of(later.nodes.name[node]), name_of(later.nodes.op[node]));
            nodes.push(model.node(name).unwrap_or_else(|| model.push_node(name, op)));
        }
        let mut device_of = Vec::new();
        for device in later.devices.all() {
            let name = model.names.get(name_of(later.devices.name(device))).to_owned();
            let here = model.devices.intern(name.as_bytes(), &mut model.names);
            let late = later.devices.kind(device) == DeviceKind::NamelessLate;
            device_of.push(if late { model.devices.late(here) } else { here });
        }
        let all_same = later.devices.all().zip(&device_of).all(|(old, new)| old == *new && is_named(&later, old));
        let Model { devices, runs, peaks, placement, .. } = model;
        let numbers = Renumber { known: at.nodes, nodes, device_of, all_same, placed_before: placement, devices };
        let Some(after) = numbers.placements(&later, runs.keep) else { return false };
        peaks.join(later.peaks, |device| numbers.device_of[device.0 as usize]);
        runs.join(later.runs, &numbers, &after);
        *placement = after;
        model.misses_streams |= later.misses_streams;
        self.warnings.extend(warnings);
        self.program.merge_observed_shapes(&program.observed_shapes);
        true
    }
}

fn is_named(model: &Model, device: DeviceId) -> bool {
    !matches!(model.devices.kind(device), DeviceKind::Nameless | DeviceKind::NamelessLate)
}

impl Renumber<'_> {
    #[inline]
    pub fn node(&self, node: NodeId) -> NodeId {
        if node.index() < self.known { node } else { self.nodes[node.index() - self.known] }
    }

    /// The first placement of each node after joining; `None` if the fork's placements were wrong beyond repair.
    fn placements(&self, later: &Model, keep: KeepSteps) -> Option<Vec<DeviceId>> {
        // Nameless devices are rare, so look closer only if there is one.
        let is_split = |cell: Cell<'_>| {
            later.devices.kind(cell.device) == DeviceKind::NamelessLate
                && later
                    .runs
                    .totals()
                    .of(cell.node)
                    .any(|other| later.devices.kind(other.device) == DeviceKind::Nameless)
        };
        if !self.all_same && keep != KeepSteps::Each && later.runs.totals().rows().any(is_split) {
            return None;
        }
        let mut placements = self.placed_before.to_vec();
        for (old, device) in later.placement.iter().enumerate().filter(|(_, device)| device.is_some()) {
            let first = &mut placements[self.node(NodeId(old as u32)).index()];
            let device = self.device_of[device.0 as usize];
            if !first.is_some() {
                *first = device;
            } else if *first != device && keep != KeepSteps::Each {
                return None;
            }
        }
        Some(placements)
    }

    /// The device of a record of a node (by its id in the joined model).
    ///
    /// A record without a device name comes too late if the node already had a placement.
    #[inline]
    pub fn device(&self, node: NodeId, device: DeviceId) -> DeviceId {
        let device = self.device_of[device.0 as usize];
        match self.devices.kind(device) {
            DeviceKind::Nameless if self.placed_before[node.index()].is_some() => self.devices.late(device),
            _ => device,
        }
    }

    /// `parts` as in [`Cells::merge`].
    pub fn cells(&self, cells: Cells, parts: Parts) -> Cells {
        if self.nodes.is_empty() && self.all_same {
            return cells;
        }
        let mut renumbered = Cells::default();
        for cell in cells.rows() {
            let node = self.node(cell.node);
            renumbered.at(node, self.device(node, cell.device)).add(cell, parts);
        }
        renumbered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::builder::{Execution, Keep};
    use crate::model::cells::Sum;
    use crate::options::Step;
    use crate::quirks::Quirks;
    use crate::view::values::Values;
    use proptest::prelude::*;

    const DEVICES: [&str; 6] = ["/cpu:0", "/gpu:0", "/gpu:0/stream:all", "/gpu:0/stream:1", "/tpu:0", ""];

    /// One record: node, device, start, length.
    type Record = (u8, usize, i64, i64);

    fn add(builder: &mut Builder, step: i64, records: &[Record]) {
        let mut run = builder.begin_run(step);
        for (node, device, start, length) in records {
            let device = builder.device(DEVICES[*device].as_bytes());
            builder.add_device(&mut run, device);
            let name = format!("node_{node}");
            let bytes = Sum::new(*length * 10);
            let execution = Execution {
                name: name.as_bytes(),
                start: *start,
                length: *length,
                requested_bytes: bytes,
                peak_bytes: bytes,
                repeated_temp: *length,
                ..Execution::default()
            };
            builder.add_execution(&mut run, device, &execution, 0);
        }
        builder.end_run(&mut run);
    }

    /// Everything that a question can see.
    fn describe(model: &Model) -> String {
        let mut text = format!("{:?} {}\n", model.runs.steps().collect::<Vec<_>>(), model.misses_streams);
        for step in [Step::Average, Step::All, Step::At(0), Step::At(1), Step::At(2), Step::At(3)] {
            for quirks in [Quirks::NONE, Quirks::ORIGINAL] {
                let values = Values::new(model, step, quirks);
                for node in model.ops_by_name() {
                    let (row, types) = (values.row(*node), values.types(*node));
                    text += &format!("{step:?} {} {row:?} {types:?}\n", model.name(*node));
                }
            }
        }
        text
    }

    proptest! {
        #[test]
        fn a_fork_reads_as_its_origin_would_have(
            steps in prop::collection::vec(prop::collection::vec((0_u8..8, 0_usize..6, 0_i64..5, 0_i64..9), 0..12), 1..5),
            repeat: bool,
            known in 0_u8..8,
            split in 0_usize..5,
            keep in 0_usize..3,
        ) {
            let keep = Keep { steps: [KeepSteps::TotalsOnly, KeepSteps::One(1), KeepSteps::Each][keep], ..Keep::EVERYTHING };
            let keep = Keep { records: false, ..keep };
            // A step in two files is only allowed where each is kept.
            let number = |i: usize| if repeat && keep.steps == KeepSteps::Each { i as i64 / 2 } else { i as i64 };
            let new = || {
                let mut builder = Builder::new(keep);
                for node in 0..known {
                    let (name, op) = (builder.name(format!("node_{node}").as_bytes(), 0), builder.name(b"Op", 0));
                    builder.add_node(name, op);
                }
                builder
            };
            let mut one = new();
            steps.iter().enumerate().for_each(|(i, records)| add(&mut one, number(i), records));
            let mut two = new();
            let (mut fork, at) = two.fork();
            let split = split.min(steps.len());
            for (i, records) in steps.iter().enumerate() {
                add(if i < split { &mut two } else { &mut fork }, number(i), records);
            }
            if !two.join(fork, at) {
                (split..steps.len()).for_each(|i| add(&mut two, number(i), &steps[i]));
            }
            prop_assert_eq!(describe(&one.model), describe(&two.model));
        }
    }
}
