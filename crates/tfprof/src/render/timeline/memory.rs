//! Memory in use on each accelerator over time, and the ops that hold it.

use super::Peak;
use crate::hash::TrustedMap;
use crate::model::Model;
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::nodes::NodeId;
use crate::model::records::Records;
use crate::render::chrome::{ArgKey, Args, Event, EventWriter, Layout, Point};
use crate::view::View;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// As the original: points closer than this to the previous one are left out.
const LEAST_DISTANCE: i64 = 100;
/// As the original: ops named at each point.
const MOST_NAMED: usize = 10;

/// One device over time.
pub struct DeviceMemory<'m> {
    pub name: &'m str,
    in_use: Vec<InUse>,
    changes: Vec<Change>,
}

/// The bytes in use at a time.
struct InUse {
    micros: i64,
    bytes: i64,
}

/// A node allocates or, with negative bytes, frees memory.
struct Change {
    micros: i64,
    node: NodeId,
    bytes: i64,
}

/// The memory of all devices but CPUs, by name. `nodes` are those on the timeline, in the order of rows.
pub fn of_devices<'m>(view: &'m View, records: &Records, nodes: &[NodeId]) -> Vec<DeviceMemory<'m>> {
    let model = &*view.model;
    let name = |device: DeviceId| model.names.get(model.devices.name(device));
    let mut devices: BTreeMap<&'m str, DeviceMemory<'m>> = BTreeMap::new();
    for node in nodes {
        let placement = model.placement[node.index()];
        // A record without a device, made before the node was placed, belongs to its placement.
        let device_of = |device: DeviceId| match model.devices.kind(device) {
            DeviceKind::Nameless if placement.is_some() => placement,
            _ => device,
        };
        let counts = |device: DeviceId| view.values().counts_on(*node, device_of(device));
        if placement.is_some() && !name(placement).contains("cpu") {
            let bytes = model.runs.accelerator_persistent(*node, view.values().lens.quirks.peaks_add_up, counts);
            at(&mut devices, name(placement)).change(0, *node, bytes);
        }
        let elsewhere = |device: DeviceId| counts(device) && !name(device_of(device)).contains("cpu");
        for allocation in records.allocations(*node).iter().filter(|allocation| elsewhere(allocation.device)) {
            let device = at(&mut devices, name(device_of(allocation.device)));
            device.change(allocation.micros, *node, allocation.bytes);
        }
        for memory in records.memory(*node).iter().filter(|memory| memory.micros > 0 && elsewhere(memory.device)) {
            let device = at(&mut devices, name(device_of(memory.device)));
            device.in_use.push(InUse { micros: memory.micros, bytes: memory.allocator_in_use });
        }
    }
    devices.into_values().collect()
}

fn at<'d, 'm>(devices: &'d mut BTreeMap<&'m str, DeviceMemory<'m>>, name: &'m str) -> &'d mut DeviceMemory<'m> {
    devices.entry(name).or_insert_with(|| DeviceMemory { name, in_use: Vec::new(), changes: Vec::new() })
}

impl<'m> DeviceMemory<'m> {
    fn change(&mut self, micros: i64, node: NodeId, bytes: i64) {
        if bytes != 0 {
            self.changes.push(Change { micros, node, bytes });
        }
    }

    /// Writes two counters for each point: the bytes in use, and the ops that hold them. The processes are `process` and
    /// the next one.
    pub fn write(mut self, model: &'m Model, process: u32, events: &mut EventWriter<'_>) -> io::Result<Option<Peak>> {
        self.in_use.sort_by_key(|in_use| in_use.micros);
        self.changes.sort_by_key(|change| change.micros);
        let mut changes = self.changes.iter().peekable();
        let mut live = Live { model, amounts: TrustedMap::default(), ranked: BTreeSet::new() };
        let mut top = TopWriter::new();
        let (mut last, mut peak) = (0, 0);
        for (i, InUse { micros, bytes }) in self.in_use.iter().enumerate() {
            // As the original: the last of several at the same time counts.
            if self.in_use.get(i + 1).is_some_and(|next| next.micros == *micros) {
                continue;
            }
            peak = peak.max(*bytes);
            if micros - last < LEAST_DISTANCE {
                continue;
            }
            last = *micros;
            while let Some(change) = changes.next_if(|change| change.micros < *micros) {
                live.change(change.node, change.bytes);
            }
            let counter = |process, name: &'static str| {
                let at = Point { process, lane: 0, time: (*micros).into() };
                Event { phase: "C", category: "Memory", name: name.as_bytes(), at, duration: None, id: None }
            };
            events.event_with(&counter(process, "Allocated Bytes"), |args| {
                args.number(b"Allocator Bytes in Use", (*bytes).into());
            })?;
            events.event_with(&counter(process + 1, "Top Allocations"), |args| top.write(&live, *bytes, args))?;
        }
        let gpu = self.name.contains("gpu");
        Ok(gpu.then(|| Peak { device: self.name.to_owned(), bytes: peak }))
    }
}

/// The bytes that each op holds now. Changes are applied in order of time, each once.
struct Live<'m> {
    model: &'m Model,
    amounts: TrustedMap<NodeId, i64>,
    /// Ops that hold something, largest first, then by name.
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

    /// The largest ops that fit into `bytes`, and the bytes left over.
    fn top(&self, bytes: i64) -> (Vec<(i64, &str)>, i64) {
        let (mut top, mut left) = (Vec::new(), bytes);
        let mut from = (Reverse(i64::MAX), "");
        while top.len() < MOST_NAMED {
            // Ops larger than the rest are skipped at once.
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

/// Writes the largest ops. Many points have the same ones.
struct TopWriter {
    rest: ArgKey,
    places: Vec<ArgKey>,
    /// Amounts of bytes as text.
    amounts: TrustedMap<i64, String>,
    text: Vec<u8>,
}

impl TopWriter {
    fn new() -> TopWriter {
        let key = |name: &str| ArgKey::of_text(name.as_bytes(), &Layout::SORTED);
        let places = (0..MOST_NAMED).map(|i| key(&format!("Top Allocation {i:02}"))).collect();
        TopWriter { rest: key("Not Displayed"), places, amounts: TrustedMap::default(), text: Vec::new() }
    }

    fn write(&mut self, live: &Live<'_>, bytes: i64, args: &mut Args<'_, '_>) {
        let (top, left) = live.top(bytes);
        args.text(&self.rest, format!("{:.2} MB", left as f64 / 1e6).as_bytes());
        for (i, key) in self.places.iter().enumerate() {
            match top.get(i) {
                Some((amount, name)) => {
                    let amount = self.amounts.entry(*amount).or_insert_with(|| six_digits(*amount as f64 / 1e6));
                    self.text.clear();
                    self.text.extend_from_slice(amount.as_bytes());
                    self.text.extend_from_slice(b" MB from ");
                    self.text.extend_from_slice(name.as_bytes());
                    args.text(key, &self.text);
                }
                None if i > 0 => args.text(key, b"N/A"),
                None => {}
            }
        }
    }
}

/// A number as C's `%g` prints it: six significant digits, without trailing zeros.
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
