//! Utilization of accelerators: busy time over the time from the first op to the last.

use super::{Advice, Evidence};
use crate::hash::UntrustedMap;
use crate::model::activity::DeviceFacts;
use crate::model::cells::{Cell, Measure};
use crate::model::devices::DeviceKind;
use crate::model::hosts::is_accelerator;
use crate::model::nodes::NodeId;
use crate::model::runs::NodeSteps;
use std::collections::BTreeMap;

#[derive(Default)]
struct Utilization {
    start: i64,
    end: i64,
    busy: i64,
}

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    if evidence.model.is_trace {
        return check_trace(evidence, advice);
    }
    let model = evidence.model;
    let steps = model.runs.steps_of_nodes();
    let mut devices: BTreeMap<&str, Utilization> = BTreeMap::new();
    for node in model.ops() {
        let placement = model.placement[node.index()];
        if !placement.is_some() {
            continue;
        }
        let device = model.names.get(model.devices.name(placement));
        let cells = if device.contains("gpu") { last_step(evidence, &steps, node) } else { Vec::new() };
        if cells.is_empty() {
            continue;
        }
        let of_device = devices.entry(device).or_default();
        for cell in cells {
            if cell.first_start > 0 {
                let earlier = of_device.start == 0 || cell.first_start < of_device.start;
                of_device.start = if earlier { cell.first_start } else { of_device.start };
            }
            of_device.end = of_device.end.max(cell.last_end);
            if model.devices.kind(cell.device) == DeviceKind::AllStreams {
                of_device.busy = of_device.busy.wrapping_add(cell.sum(Measure::Micros).wrapped());
            }
        }
    }
    if devices.is_empty() {
        let what = if model.runs.is_empty() { "no step is loaded" } else { "no op was placed on a GPU" };
        advice.note(what);
    }
    for (device, Utilization { start, end, busy }) in devices {
        if end <= start {
            continue;
        }
        report(device, busy, end.wrapping_sub(start), advice);
    }
}

/// A trace says when each device was busy: streams that overlap count once.
fn check_trace(evidence: &Evidence<'_>, advice: &mut Advice) {
    let hosts = &evidence.model.hosts;
    let mut idle = Vec::new();
    // Of planes with one name, the first device counts.
    let devices: UntrustedMap<(usize, &str), &DeviceFacts> = hosts
        .iter()
        .enumerate()
        .flat_map(|(at, host)| host.devices.iter().rev().map(move |device| ((at, device.name.as_str()), device)))
        .collect();
    let planes = hosts.iter().enumerate().flat_map(|(at, host)| host.planes.iter().map(move |plane| (at, host, plane)));
    for (at, host, plane) in planes {
        let name = if hosts.len() > 1 { format!("/{}{}", host.host, plane.name) } else { plane.name.clone() };
        match devices.get(&(at, plane.name.as_str())) {
            _ if !is_accelerator(&plane.name) => {}
            Some(device) if device.span > 0 => report(&name, device.busy, device.span, advice),
            Some(_) => {}
            None => idle.push(name),
        }
    }
    if advice.reports.is_empty() {
        let is_empty = evidence.model.runs.is_empty();
        advice.note(if is_empty { "no step is loaded" } else { "no op ran on a GPU or TPU" });
    } else if !idle.is_empty() {
        advice.report(&format!("no op ran on {}", idle.join(", ")));
    }
}

fn report(device: &str, busy: i64, span: i64, advice: &mut Advice) {
    let utilization = busy as f64 / span as f64;
    let low = if utilization >= 0.5 { "" } else { "low " };
    advice.report(&format!("device: {device} {low}utilization: {utilization:.2}"));
}

/// As the original: the last step of the node itself, even if other nodes have later ones.
fn last_step<'m>(evidence: &Evidence<'m>, steps: &NodeSteps, node: NodeId) -> Vec<Cell<'m>> {
    let model = evidence.model;
    for cells in steps.of(node).iter().rev().filter_map(|step| model.runs.step(*step)) {
        let counts = |cell: &Cell<'_>| model.counts(node, cell.device, evidence.quirks.first_device_only);
        let cells: Vec<_> = cells.of(node).filter(counts).collect();
        if !cells.is_empty() {
            return cells;
        }
    }
    Vec::new()
}
