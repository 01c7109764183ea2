//! Memory of allocators over the time of a trace: what was in use, the peak and what it was made of.

use crate::hash::UntrustedMap;
use crate::json::picos_as_micros;
use serde::Serialize;

/// The memory of an allocator at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MemorySample {
    #[serde(rename = "micros", serialize_with = "picos_as_micros")]
    pub time: i64,
    /// Reserved for stacks of programs, and allocated on the heap.
    pub stack_bytes: i64,
    pub heap_bytes: i64,
    pub free_bytes: Option<i64>,
    /// The fragmentation: the share of free memory outside its largest block, from 0 to 1.
    pub fragmentation: Option<f64>,
}

impl MemorySample {
    pub fn in_use(&self) -> i64 {
        self.stack_bytes.saturating_add(self.heap_bytes)
    }

    /// All memory that the allocator may give out, if it said how much is left.
    pub fn capacity(&self) -> Option<i64> {
        Some(self.in_use().saturating_add(self.free_bytes?))
    }
}

/// The memory of one allocator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllocatorFacts {
    pub name: String,
    pub samples: u64,
    /// The sample with most memory in use; of equal ones the last.
    pub peak: MemorySample,
    /// The lifetime peak as the allocator reports it, which includes the time before the trace.
    pub lifetime_peak: i64,
    pub over_time: Buckets,
}

/// Peak memory in use, by time buckets of equal width.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buckets {
    width: i64,
    most: Vec<Option<i64>>,
}

/// The maximum number of buckets.
const BUCKETS: usize = 128;

/// The first width, a microsecond.
const WIDTH: i64 = 1_000_000;

impl Buckets {
    /// Adds a sample; times may come in any order.
    fn add(&mut self, time: i64, bytes: i64) {
        let time = time.max(0);
        self.width = self.width.max(WIDTH);
        while time / self.width >= BUCKETS as i64 {
            // Twice the width: two become one.
            let pairs = self.most.chunks(2).map(|pair| pair.iter().copied().flatten().max());
            self.most = pairs.collect();
            self.width = self.width.saturating_mul(2);
        }
        let at = (time / self.width) as usize;
        if at >= self.most.len() {
            self.most.resize(at + 1, None);
        }
        self.most[at] = self.most[at].max(Some(bytes));
    }

    /// The start of each span with samples, and the most memory in use in it.
    pub fn each(&self) -> impl Iterator<Item = (i64, i64)> {
        let spans = self.most.iter().zip(0_i64..);
        spans.filter_map(|(most, at)| Some((at.saturating_mul(self.width), (*most)?)))
    }
}

/// Collects the samples of all allocators, in the order of their first ones.
#[derive(Clone, Debug, Default)]
pub struct Allocators {
    by_name: UntrustedMap<String, usize>,
    pub list: Vec<AllocatorFacts>,
}

impl Allocators {
    pub fn add(&mut self, name: &str, sample: MemorySample, lifetime_peak: i64) {
        let at = if let Some(at) = self.by_name.get(name) {
            *at
        } else {
            self.by_name.insert(name.to_owned(), self.list.len());
            self.list.push(AllocatorFacts { name: name.to_owned(), ..AllocatorFacts::default() });
            self.list.len() - 1
        };
        let facts = &mut self.list[at];
        facts.samples += 1;
        facts.lifetime_peak = facts.lifetime_peak.max(lifetime_peak);
        if facts.samples == 1 || sample.in_use() >= facts.peak.in_use() {
            facts.peak = sample;
        }
        facts.over_time.add(sample.time, sample.in_use());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_has_a_peak_a_capacity_and_a_course() {
        let mut allocators = Allocators::default();
        let sample = |time: i64, stack_bytes, heap_bytes, free| MemorySample {
            time: time * 1_000_000,
            stack_bytes,
            heap_bytes,
            free_bytes: Some(free),
            fragmentation: Some(0.25),
        };
        allocators.add("gpu", sample(5, 0, 100, 900), 700);
        allocators.add("host", sample(1, 0, 1, 9), 1);
        allocators.add("gpu", sample(1000, 50, 250, 700), 700);
        allocators.add("gpu", sample(2, 0, 10, 990), 700);
        let [gpu, host] = &allocators.list[..] else { panic!("two allocators") };
        assert_eq!((gpu.name.as_str(), gpu.samples, gpu.lifetime_peak), ("gpu", 3, 700));
        assert_eq!((gpu.peak.in_use(), gpu.peak.capacity(), gpu.peak.time), (300, Some(1000), 1_000_000_000));
        assert_eq!(gpu.over_time.each().collect::<Vec<_>>(), [(0, 100), (1_000_000 * 1000 / 8 * 8, 300)]);
        assert_eq!(host.over_time.each().collect::<Vec<_>>(), [(1_000_000, 1)]);
    }

    #[test]
    fn absurd_times_end() {
        let mut buckets = Buckets::default();
        for time in [i64::MIN, i64::MAX, 0, 1 << 62] {
            buckets.add(time, 1);
        }
        assert!(buckets.each().count() <= BUCKETS);
    }
}
