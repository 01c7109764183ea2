//! What the allocators of accelerators had given out over time, and to which ops.

use super::Peak;
use super::events::{Events, Text};
use crate::model::Model;
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::nodes::NodeId;
use crate::model::records::Records;
use crate::view::View;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// As the original: points nearer to the one before are left out.
const LEAST_DISTANCE: i64 = 100;
/// As the original: how many ops are named at each point.
const MOST_NAMED: usize = 10;

/// One device over time.
pub struct DeviceMemory<'m> {
    pub name: &'m str,
    /// Time and what was in use then, by time.
    points: Vec<(i64, i64)>,
    /// Time, node, and by how much its memory changed, by time.
    changes: Vec<(i64, NodeId, i64)>,
}

/// The memory of all devices but CPUs, by name. `nodes` are those on the timeline, in the order of rows.
pub fn of_devices<'m>(view: &'m View, records: &Records, nodes: &[NodeId]) -> Vec<DeviceMemory<'m>> {
    let model = &*view.model;
    let name = |device: DeviceId| model.names.get(model.devices.name(device));
    let mut devices: BTreeMap<&'m str, DeviceMemory<'m>> = BTreeMap::new();
    for node in nodes {
        let placement = model.placement[node.index()];
        // A record without a device that came before the node was placed speaks of where it was placed.
        let device_of = |device: DeviceId| match model.devices.kind(device) {
            DeviceKind::Nameless if placement.is_some() => placement,
            _ => device,
        };
        let counts = |device: DeviceId| view.values().counts_on(*node, device_of(device));
        if placement.is_some() && !name(placement).contains("cpu") {
            let bytes = model.runs.accelerator_persistent(*node, counts);
            at(&mut devices, name(placement)).change(0, *node, bytes);
        }
        let elsewhere = |device: DeviceId| counts(device) && !name(device_of(device)).contains("cpu");
        for allocation in records.allocations(*node).iter().filter(|allocation| elsewhere(allocation.device)) {
            let device = at(&mut devices, name(device_of(allocation.device)));
            device.change(allocation.micros, *node, allocation.bytes);
        }
        for memory in records.memory(*node).iter().filter(|memory| memory.micros > 0 && elsewhere(memory.device)) {
            let device = at(&mut devices, name(device_of(memory.device)));
            device.points.push((memory.micros, memory.allocator_in_use));
        }
    }
    devices.into_values().collect()
}

fn at<'d, 'm>(devices: &'d mut BTreeMap<&'m str, DeviceMemory<'m>>, name: &'m str) -> &'d mut DeviceMemory<'m> {
    devices.entry(name).or_insert_with(|| DeviceMemory { name, points: Vec::new(), changes: Vec::new() })
}

impl<'m> DeviceMemory<'m> {
    fn change(&mut self, micros: i64, node: NodeId, bytes: i64) {
        if bytes != 0 {
            self.changes.push((micros, node, bytes));
        }
    }

    /// Writes a pair of figures for each point: what is in use, and who has it. The processes are `process` and the
    /// next.
    pub fn write(mut self, model: &'m Model, process: usize, events: &mut Events<'_>) -> io::Result<Option<Peak>> {
        self.points.sort_by_key(|(micros, _)| *micros);
        self.changes.sort_by_key(|(micros, ..)| *micros);
        let mut changes = self.changes.iter().peekable();
        let mut live = Live { model, amounts: FxHashMap::default(), ranked: BTreeSet::new() };
        let (mut last, mut peak) = (0, 0);
        for (i, (micros, bytes)) in self.points.iter().enumerate() {
            // As the original: of several at the same time the last counts.
            if self.points.get(i + 1).is_some_and(|next| next.0 == *micros) {
                continue;
            }
            peak = peak.max(*bytes);
            if micros - last < LEAST_DISTANCE {
                continue;
            }
            last = *micros;
            while let Some((_, node, change)) = changes.next_if(|(at, ..)| at < micros) {
                live.change(*node, *change);
            }
            events.counter(process, *micros, "Allocated Bytes", |out| {
                write!(out, "\"Allocator Bytes in Use\":{bytes}")
            })?;
            events.counter(process + 1, *micros, "Top Allocations", |out| write_top(&live, *bytes, out))?;
        }
        let gpu = self.name.contains("gpu");
        Ok(gpu.then(|| Peak { device: self.name.to_owned(), bytes: peak }))
    }
}

/// What each op has at the moment. Changes are applied as time goes on, so no point looks at the past again.
struct Live<'m> {
    model: &'m Model,
    amounts: FxHashMap<NodeId, i64>,
    /// Those with something, from the most to the least, then by name.
    ranked: BTreeSet<(Reverse<i64>, &'m str)>,
}

impl Live<'_> {
    fn change(&mut self, node: NodeId, change: i64) {
        let amount = self.amounts.entry(node).or_default();
        let name = self.model.name(node);
        self.ranked.remove(&(Reverse(*amount), name));
        *amount = amount.wrapping_add(change);
        if *amount > 0 {
            self.ranked.insert((Reverse(*amount), name));
        }
    }

    /// The ops with the most that together have no more than `bytes`, and what is left of it.
    fn top(&self, bytes: i64) -> (Vec<(i64, &str)>, i64) {
        let (mut top, mut left) = (Vec::new(), bytes);
        let mut from = (Reverse(i64::MAX), "");
        while top.len() < MOST_NAMED {
            // What is larger than the rest is passed over in one step.
            let at = from.max((Reverse(left), ""));
            let Some((Reverse(amount), name)) =
                self.ranked.range(at..).find(|found| top.last() != Some(&(found.0.0, found.1)))
            else {
                break;
            };
            top.push((*amount, *name));
            left -= amount;
            from = (Reverse(*amount), name);
        }
        (top, left)
    }
}

fn write_top(live: &Live<'_>, bytes: i64, out: &mut dyn Write) -> io::Result<()> {
    let (top, left) = live.top(bytes);
    write!(out, "\"Not Displayed\":\"{:.2} MB\"", left as f64 / 1e6)?;
    for i in 0..MOST_NAMED {
        match top.get(i) {
            Some((amount, name)) => {
                let text = format!("{} MB from {name}", six_digits(*amount as f64 / 1e6));
                write!(out, ",\"Top Allocation {i:02}\":{}", Text(&text))?;
            }
            None if i > 0 => write!(out, ",\"Top Allocation {i:02}\":\"N/A\"")?,
            None => {}
        }
    }
    Ok(())
}

/// A number as C's `%g` has it: six digits that count, without zeros at the end.
fn six_digits(number: f64) -> String {
    let scientific = format!("{number:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| -> String {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if (-4..6).contains(&exponent) {
        trim(&format!("{number:.*}", (5 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(digits), exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_c_prints_them() {
        let check = |number, expect: &str| assert_eq!(six_digits(number), expect);
        check(2.999_009, "2.99901");
        check(3.0, "3");
        check(0.0, "0");
        check(1234.5, "1234.5");
        check(999_999.5, "1e+06");
        check(0.000_001, "1e-06");
        check(0.000_256, "0.000256");
        check(9.223_372_036_854e12, "9.22337e+12");
    }
}
