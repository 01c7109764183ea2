//! The quick way to read an `ExecProfile`: a saved profile has one for each step of each node, and nearly all have nothing
//! unusual.

use super::executions::{Executions, Interval};
use crate::model::builder::Builder;
use crate::model::cells::{Measure, Sum, Sums};
use crate::model::devices::DeviceId;
use crate::model::nodes::NodeId;
use crate::model::records::MemoryUse;
use tfprof_proto::fields::{exec_memory, exec_profile, exec_time, map_entry, tuple};
use tfprof_proto::quick::{Quick, content_tag, number_tag};

const RUN_COUNT: u8 = number_tag(exec_profile::RUN_COUNT);
const START: u8 = number_tag(exec_profile::ALL_START_MICROS);
const END: u8 = number_tag(exec_profile::LATEST_END_MICROS);
const ACCELERATOR: u8 = content_tag(exec_profile::ACCELERATOR_EXECS);
const CPU: u8 = content_tag(exec_profile::CPU_EXECS);
const DEVICES: u8 = content_tag(exec_profile::DEVICES);
const MEMORY: u8 = content_tag(exec_profile::MEMORY_EXECS);

const KEY: u8 = content_tag(map_entry::KEY);
const VALUE: u8 = content_tag(map_entry::VALUE);
const NUMBER_KEY: u8 = number_tag(map_entry::KEY);
const TIMES: u8 = content_tag(exec_time::TIMES);
const NUMBERS: u8 = content_tag(tuple::INT64_VALUES);

const HOST_TEMP: u8 = number_tag(exec_memory::HOST_TEMP_BYTES);
const HOST_PERSISTENT: u8 = number_tag(exec_memory::HOST_PERSISTENT_BYTES);
const ACCELERATOR_TEMP: u8 = number_tag(exec_memory::ACCELERATOR_TEMP_BYTES);
const ACCELERATOR_PERSISTENT: u8 = number_tag(exec_memory::ACCELERATOR_PERSISTENT_BYTES);
const REQUESTED: u8 = number_tag(exec_memory::REQUESTED_BYTES);
const PEAK: u8 = number_tag(exec_memory::PEAK_BYTES);
const RESIDUAL: u8 = number_tag(exec_memory::RESIDUAL_BYTES);
const OUTPUT: u8 = number_tag(exec_memory::OUTPUT_BYTES);

impl Executions {
    /// Reads the sums of an entry of the map from step to `ExecProfile`, and the step; `None` if it is damaged or unusual, or a
    /// sum in it overflows.
    pub(super) fn read_quickly(
        &mut self,
        node: NodeId,
        entry: &[u8],
        builder: &mut Builder,
    ) -> Option<(i64, Interval)> {
        self.device_sums.clear();
        let mut entry = Quick::new(entry);
        let mut step = 0;
        let mut tag = entry.tag()?;
        if tag == NUMBER_KEY {
            step = entry.number()? as i64;
            tag = entry.tag()?;
        }
        if tag != VALUE {
            return None;
        }
        let mut profile = entry.message()?;
        if entry.tag().is_some() {
            return None;
        }
        let mut sums = Sums::default();
        let (mut start, mut end, mut peak) = (0, 0, 0);
        while let Some(tag) = profile.tag() {
            match tag {
                RUN_COUNT => add(&mut sums, Measure::Runs, profile.number()? as i64)?,
                START => start = profile.number()? as i64,
                END => end = profile.number()? as i64,
                ACCELERATOR | CPU => {
                    let (device, micros) = device_time(profile.message()?)?;
                    let device = builder.device(device);
                    add(self.sums_on(device), Measure::Micros, micros)?;
                }
                DEVICES => {
                    let device = builder.device(profile.text()?);
                    self.sums_on(device);
                }
                MEMORY if builder.keep.memory => {
                    let memory = memory_use(profile.message()?, node)?;
                    add(&mut sums, Measure::RequestedBytes, memory.requested)?;
                    add(&mut sums, Measure::PeakBytes, memory.peak)?;
                    add(&mut sums, Measure::ResidualBytes, memory.residual)?;
                    add(&mut sums, Measure::OutputBytes, memory.output)?;
                    add(&mut sums, Measure::RepeatedTemp, memory.repeated_temp())?;
                    peak = peak.max(memory.peak.saturating_sub(memory.repeated_temp()));
                }
                _ => profile.skip(tag)?,
            }
        }
        Some((step, self.interval(node, &sums, [start, end, peak], builder)))
    }
}

fn add(sums: &mut Sums, measure: Measure, n: i64) -> Option<()> {
    let sum = &mut sums[measure as usize];
    *sum = Sum::new(sum.wrapped().checked_add(n)?);
    Some(())
}

/// A device and the sum of the durations on it.
fn device_time(mut entry: Quick<'_>) -> Option<(&[u8], i64)> {
    let (mut device, mut micros) = (&b""[..], 0_i64);
    while let Some(tag) = entry.tag() {
        match tag {
            KEY => device = entry.text()?,
            VALUE => {
                let mut times = entry.message()?;
                while let Some(tag) = times.tag() {
                    if tag != TIMES {
                        return None;
                    }
                    micros = micros.checked_add(length(times.message()?)?)?;
                }
            }
            _ => return None,
        }
    }
    Some((device, micros))
}

/// The second of the two numbers of a time.
fn length(mut time: Quick<'_>) -> Option<i64> {
    if time.tag()? != NUMBERS {
        return None;
    }
    let mut numbers = time.message()?;
    numbers.number()?;
    let length = numbers.number()? as i64;
    (numbers.is_at_end() && time.is_at_end()).then_some(length)
}

/// As the reader of all profiles does it.
fn memory_use(mut fields: Quick<'_>, node: NodeId) -> Option<MemoryUse> {
    let mut memory = MemoryUse::new(node, DeviceId::NONE);
    while let Some(tag) = fields.tag() {
        let slot = match tag {
            HOST_TEMP => &mut memory.host_temp,
            HOST_PERSISTENT => &mut memory.host_persistent,
            ACCELERATOR_TEMP => &mut memory.accelerator_temp,
            ACCELERATOR_PERSISTENT => &mut memory.accelerator_persistent,
            REQUESTED => &mut memory.requested,
            PEAK => &mut memory.peak,
            RESIDUAL => &mut memory.residual,
            OUTPUT => &mut memory.output,
            _ => {
                fields.skip(tag)?;
                continue;
            }
        };
        *slot = fields.number()? as i64;
    }
    Some(memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::builder::Keep;
    use proptest::prelude::*;
    use tfprof_proto::wire::{Fields, first_fault};
    use tfprof_proto::write as pb;

    /// An entry as it is saved for an op on a GPU.
    fn entry(numbers: &[i64; 6]) -> Vec<u8> {
        let [step, start, length, bytes, temporary, peak] = *numbers;
        let mut out = Vec::new();
        pb::int(&mut out, map_entry::KEY, step);
        pb::message(&mut out, map_entry::VALUE, |out| {
            pb::int(out, exec_profile::RUN_COUNT, 2);
            pb::int(out, exec_profile::ALL_START_MICROS, start);
            pb::int(out, exec_profile::LATEST_END_MICROS, start.wrapping_add(length));
            for (field, device) in
                [(exec_profile::ACCELERATOR_EXECS, "gpu:0/stream:all"), (exec_profile::CPU_EXECS, "gpu:0")]
            {
                pb::message(out, field, |out| {
                    pb::bytes(out, map_entry::KEY, device.as_bytes());
                    pb::message(out, map_entry::VALUE, |out| {
                        pb::message(out, exec_time::TIMES, |out| {
                            pb::packed(out, tuple::INT64_VALUES, &[start, length]);
                        });
                    });
                });
            }
            pb::bytes(out, exec_profile::DEVICES, b"gpu:0");
            pb::message(out, exec_profile::MEMORY_EXECS, |out| {
                for (field, n) in (1..).zip([start, temporary, 0, 0, temporary, bytes, peak, 0, bytes, 1]) {
                    pb::int(out, field, n);
                }
                pb::message(out, exec_memory::OUTPUT_MEMORY, |out| pb::int(out, 1, 1));
            });
        });
        out
    }

    /// Whether both ways agree, or the quick one gives up.
    fn agree(entry: &[u8], memory: bool) -> bool {
        let read = || (Executions::default(), Builder::new(Keep { memory, records: false, ..Keep::EVERYTHING }));
        let node = |builder: &mut Builder| {
            let name = builder.model.names.intern("node");
            builder.add_node(name, name).unwrap()
        };
        let (mut quick, mut builder) = read();
        let at = node(&mut builder);
        let Some((step, interval)) = quick.read_quickly(at, entry, &mut builder) else { return true };
        let quickly = (step, format!("{interval:?} {:?}", quick.device_sums));
        let (mut slow, mut builder) = read();
        let at = node(&mut builder);
        let mut slowly = None;
        let fault = first_fault(|| slowly = slow.read_slowly(at, Fields::new(entry, 0), &mut builder));
        let Some((step, interval)) = slowly else { return false };
        fault.is_none() && quickly == (step, format!("{interval:?} {:?}", slow.device_sums))
    }

    #[test]
    fn usual_executions_are_read() {
        let (mut executions, mut builder) =
            (Executions::default(), Builder::new(Keep { records: false, ..Keep::EVERYTHING }));
        let name = builder.model.names.intern("node");
        let node = builder.add_node(name, name).unwrap();
        let entry = entry(&[3, 1_700_000_000_000_000, 130, 70_000, 300, 512]);
        assert_eq!(executions.read_quickly(node, &entry, &mut builder).map(|(step, _)| step), Some(3));
        assert!(agree(&entry, true) && agree(&entry, false));
    }

    proptest! {
        #[test]
        fn both_ways_agree(
            numbers in prop::array::uniform6(any::<i64>().prop_flat_map(|n| (0..64_u32).prop_map(move |shift| n >> shift))),
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
            cut: usize,
            memory: bool,
        ) {
            let mut bytes = entry(&numbers);
            for (at, byte) in changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            prop_assert!(agree(&bytes, memory));
            bytes.truncate(cut % bytes.len());
            prop_assert!(agree(&bytes, memory));
        }
    }
}
