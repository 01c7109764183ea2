//! Peak memory of devices: as an allocator reports it, else summed from its allocation records; at least the peak of any op.
//!
//! Allocators report when an op is done, and records leave out memory from before the step, so both can be too low.

use super::devices::DeviceId;
use std::collections::BTreeMap;

/// Peak memory by step and device.
#[derive(Clone, Debug, Default)]
pub struct Peaks {
    bytes: BTreeMap<(i64, DeviceId), i64>,
}

/// Finds the peaks of one run.
#[derive(Clone, Debug, Default)]
pub struct PeakFinder {
    in_use: BTreeMap<DeviceId, i64>,
    allocations: Vec<(DeviceId, i64, i64)>,
    of_ops: BTreeMap<DeviceId, i64>,
}

impl Peaks {
    /// All peaks, by step and device.
    pub fn each(&self) -> impl Iterator<Item = ((i64, DeviceId), i64)> + '_ {
        self.bytes.iter().map(|(place, bytes)| (*place, *bytes))
    }

    /// The device with the largest peak of all steps, and that peak.
    pub fn largest(&self) -> Option<(DeviceId, i64)> {
        let device_and_bytes = self.bytes.iter().map(|((_, device), bytes)| (*device, *bytes));
        // The first of equals, so that the answer does not depend on device ids.
        device_and_bytes.rev().max_by_key(|(_, bytes)| *bytes)
    }

    /// The step with the largest peak of all devices; of equals the first.
    pub fn largest_step(&self) -> Option<i64> {
        self.bytes.iter().rev().max_by_key(|(_, bytes)| **bytes).map(|((step, _), _)| *step)
    }

    /// Adds the peaks of other runs, whose device ids differ.
    pub fn join(&mut self, later: Peaks, number: impl Fn(DeviceId) -> DeviceId) {
        for ((step, device), bytes) in later.bytes {
            let peak = self.bytes.entry((step, number(device))).or_default();
            *peak = (*peak).max(bytes);
        }
    }

    /// Adds the peaks of a run of the step.
    pub fn add(&mut self, step: i64, found: PeakFinder) {
        for (device, bytes) in found.peaks() {
            let peak = self.bytes.entry((step, device)).or_default();
            *peak = (*peak).max(bytes);
        }
    }
}

impl PeakFinder {
    /// An allocator of the device reports how much is in use.
    pub fn in_use(&mut self, device: DeviceId, bytes: i64) {
        if bytes > 0 {
            let peak = self.in_use.entry(device).or_default();
            *peak = (*peak).max(bytes);
        }
    }

    /// Memory was allocated, or freed if `bytes` is negative.
    pub fn allocation(&mut self, device: DeviceId, micros: i64, bytes: i64) {
        self.allocations.push((device, micros, bytes));
    }

    /// An op held so much on the device.
    pub fn op(&mut self, device: DeviceId, bytes: i64) {
        if bytes > 0 {
            let peak = self.of_ops.entry(device).or_default();
            *peak = (*peak).max(bytes);
        }
    }

    fn peaks(mut self) -> BTreeMap<DeviceId, i64> {
        let mut peaks = self.in_use;
        // At the same time, frees come before allocations.
        self.allocations.sort_unstable();
        let mut held: BTreeMap<DeviceId, (i64, i64)> = BTreeMap::new();
        for (device, _, bytes) in self.allocations {
            let (now, most) = held.entry(device).or_default();
            *now = now.saturating_add(bytes);
            *most = (*most).max(*now);
        }
        for (device, (_, most)) in held {
            if most > 0 {
                peaks.entry(device).or_insert(most);
            }
        }
        for (device, most) in self.of_ops {
            let peak = peaks.entry(device).or_default();
            *peak = (*peak).max(most);
        }
        peaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_are_believed_and_records_are_added_up() {
        let (cpu, gpu) = (DeviceId(0), DeviceId(1));
        let mut found = PeakFinder::default();
        for (device, micros, bytes) in [(cpu, 5, -10), (cpu, 1, 10), (cpu, 7, 30), (cpu, 3, 15), (gpu, 1, 999)] {
            found.allocation(device, micros, bytes);
        }
        found.in_use(gpu, 40);
        found.in_use(gpu, 20);
        found.op(cpu, 44);
        let mut peaks = Peaks::default();
        peaks.add(0, found);
        assert_eq!(peaks.bytes, [((0, cpu), 45), ((0, gpu), 40)].into());
        assert_eq!(peaks.largest(), Some((cpu, 45)));
        let mut found = PeakFinder::default();
        found.in_use(gpu, 40);
        found.op(gpu, 50);
        peaks.add(1, found);
        assert_eq!(peaks.largest(), Some((gpu, 50)), "no op holds more than its device");
    }
}
