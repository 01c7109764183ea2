//! The quick way to read a `NodeExecStats`: of millions of records, nearly all have nothing unusual.

use crate::model::builder::Figures;
use crate::model::records::{Details, OutputMemory, repeated_temp};
use tfprof_proto::fields::{
    allocation_description, allocation_record, allocator_memory_used, memory_stats, node_exec_stats as node,
    node_output, tensor_description,
};
use tfprof_proto::quick::{Quick, content_tag, number_tag};

const NAME: u8 = content_tag(node::NODE_NAME);
const START: u8 = number_tag(node::ALL_START_MICROS);
const LENGTH: u8 = number_tag(node::OP_END_REL_MICROS);
const MEMORY: u8 = content_tag(node::MEMORY);
const OUTPUT: u8 = content_tag(node::OUTPUT);
const MEMORY_STATS: u8 = content_tag(node::MEMORY_STATS);

const TOTAL: u8 = number_tag(allocator_memory_used::TOTAL_BYTES);
const PEAK: u8 = number_tag(allocator_memory_used::PEAK_BYTES);
const LIVE: u8 = number_tag(allocator_memory_used::LIVE_BYTES);
const ALLOCATOR: u8 = content_tag(allocator_memory_used::ALLOCATOR_NAME);
const IN_USE: u8 = number_tag(allocator_memory_used::ALLOCATOR_BYTES_IN_USE);
const ALLOCATIONS: u8 = content_tag(allocator_memory_used::ALLOCATION_RECORDS);
const ALLOCATION_MICROS: u8 = number_tag(allocation_record::ALLOC_MICROS);
const ALLOCATION_BYTES: u8 = number_tag(allocation_record::ALLOC_BYTES);
const TEMPORARY: u8 = number_tag(memory_stats::TEMP_MEMORY_SIZE);
const PERSISTENT: u8 = number_tag(memory_stats::PERSISTENT_MEMORY_SIZE);
const SLOT: u8 = number_tag(node_output::SLOT);
const DESCRIPTION: u8 = content_tag(node_output::TENSOR_DESCRIPTION);
const ALLOCATION: u8 = content_tag(tensor_description::ALLOCATION_DESCRIPTION);
const REQUESTED: u8 = number_tag(allocation_description::REQUESTED_BYTES);
const ALLOCATED: u8 = number_tag(allocation_description::ALLOCATED_BYTES);
const ADDRESS: u8 = number_tag(allocation_description::PTR);

/// The name and the figures of a record, and its details if they are wanted; `None` if it is damaged or unusual, or a sum
/// in it overflows.
#[inline(always)]
pub(super) fn read<'a>(
    bytes: &'a [u8],
    memory: bool,
    mut details: Option<&mut Details>,
) -> Option<(&'a [u8], Figures)> {
    if let Some(details) = &mut details {
        details.clear();
    }
    let mut record = Quick::new(bytes);
    let mut name = &b""[..];
    let mut figures = Figures::default();
    let (mut temporary, mut persistent) = (0_i64, 0_i64);
    while let Some(tag) = record.tag() {
        match tag {
            NAME => name = record.text()?,
            START => figures.start = record.number()? as i64,
            LENGTH => figures.length = record.number()? as i64,
            MEMORY if memory => {
                let used = record.message()?;
                add_memory(used, &mut figures)?;
                if let Some(details) = &mut details {
                    gpu_allocator(used, details)?;
                }
            }
            OUTPUT if memory => {
                let (is_known, output) = output_memory(record.message()?)?;
                if is_known {
                    add(&mut figures.output_bytes, output.bytes)?;
                    if let Some(details) = &mut details {
                        details.outputs.push(output);
                    }
                }
            }
            MEMORY_STATS if memory => {
                let mut stats = record.message()?;
                while let Some(tag) = stats.tag() {
                    match tag {
                        TEMPORARY => temporary = stats.number()? as i64,
                        PERSISTENT => persistent = stats.number()? as i64,
                        _ => stats.skip(tag)?,
                    }
                }
            }
            _ => record.skip(tag)?,
        }
    }
    if let Some(details) = details {
        (details.temp, details.persistent) = (temporary, persistent);
    }
    if temporary != 0 || persistent != 0 {
        add(&mut figures.residual_bytes, persistent)?;
        for sum in [&mut figures.requested_bytes, &mut figures.peak_bytes] {
            add(sum, persistent)?;
            add(sum, temporary)?;
        }
        figures.repeated_temp = repeated_temp(figures.requested_bytes, persistent, temporary);
    }
    Some((name, figures))
}

#[inline(always)]
fn add(sum: &mut i64, n: i64) -> Option<()> {
    *sum = sum.checked_add(n)?;
    Some(())
}

#[inline(always)]
fn add_memory(mut used: Quick<'_>, figures: &mut Figures) -> Option<()> {
    while let Some(tag) = used.tag() {
        match tag {
            TOTAL => add(&mut figures.requested_bytes, used.number()? as i64)?,
            PEAK => add(&mut figures.peak_bytes, used.number()? as i64)?,
            LIVE => add(&mut figures.residual_bytes, used.number()? as i64)?,
            _ => used.skip(tag)?,
        }
    }
    Some(())
}

/// As the reader of all records does it.
fn gpu_allocator(used: Quick<'_>, details: &mut Details) -> Option<()> {
    let (mut allocator, mut in_use) = (&b""[..], 0);
    let mut fields = used;
    while let Some(tag) = fields.tag() {
        match tag {
            ALLOCATOR => allocator = fields.text()?,
            IN_USE => in_use = fields.number()? as i64,
            _ => fields.skip(tag)?,
        }
    }
    if !allocator.windows(3).any(|word| word == b"GPU") {
        return Some(());
    }
    details.allocator_in_use = details.allocator_in_use.max(in_use);
    let mut fields = used;
    while let Some(tag) = fields.tag() {
        if tag != ALLOCATIONS {
            fields.skip(tag)?;
            continue;
        }
        let (mut micros, mut bytes) = (0, 0);
        let mut record = fields.message()?;
        while let Some(tag) = record.tag() {
            match tag {
                ALLOCATION_MICROS => micros = record.number()? as i64,
                ALLOCATION_BYTES => bytes = record.number()? as i64,
                _ => record.skip(tag)?,
            }
        }
        details.allocations.push((micros, bytes));
    }
    Some(())
}

/// An output, and whether its allocation is known.
#[inline(always)]
fn output_memory(mut output: Quick<'_>) -> Option<(bool, OutputMemory)> {
    let (mut requested, mut allocated, mut known) = (0_i64, 0_i64, false);
    let (mut slot, mut address) = (0, 0);
    while let Some(tag) = output.tag() {
        match tag {
            SLOT => slot = output.number()? as i32,
            DESCRIPTION => {
                let mut tensor = output.message()?;
                while let Some(tag) = tensor.tag() {
                    if tag != ALLOCATION {
                        tensor.skip(tag)?;
                        continue;
                    }
                    known = true;
                    let mut allocation = tensor.message()?;
                    while let Some(tag) = allocation.tag() {
                        match tag {
                            REQUESTED => requested = allocation.number()? as i64,
                            ALLOCATED => allocated = allocation.number()? as i64,
                            ADDRESS => address = allocation.number()?,
                            _ => allocation.skip(tag)?,
                        }
                    }
                }
            }
            _ => output.skip(tag)?,
        }
    }
    Some((known, OutputMemory { slot, bytes: requested.max(allocated), address }))
}

#[cfg(test)]
mod tests {
    use super::super::read_execution;
    use super::*;
    use proptest::prelude::*;
    use tfprof_proto::wire::first_fault;
    use tfprof_proto::write as pb;

    /// A record as a GPU has it, with numbers of all lengths.
    fn record(numbers: &[i64; 10]) -> Vec<u8> {
        let [start, length, bytes, temporary, persistent, allocated, requested, address, in_use, micros] = *numbers;
        let mut out = Vec::new();
        pb::bytes(&mut out, node::NODE_NAME, b"tower/conv:Conv2D");
        pb::int(&mut out, node::ALL_START_MICROS, start);
        pb::int(&mut out, node::OP_END_REL_MICROS, length);
        pb::message(&mut out, node::MEMORY, |out| {
            pb::bytes(out, allocator_memory_used::ALLOCATOR_NAME, b"GPU_0_bfc");
            for field in 2..=4 {
                pb::int(out, field, bytes);
            }
            pb::int(out, allocator_memory_used::ALLOCATOR_BYTES_IN_USE, in_use);
            pb::message(out, allocator_memory_used::ALLOCATION_RECORDS, |out| {
                pb::int(out, allocation_record::ALLOC_MICROS, micros);
                pb::int(out, allocation_record::ALLOC_BYTES, bytes.wrapping_neg());
            });
        });
        pb::message(&mut out, node::OUTPUT, |out| {
            pb::int(out, node_output::SLOT, 1);
            pb::message(out, node_output::TENSOR_DESCRIPTION, |out| {
                pb::int(out, 1, 1);
                pb::message(out, tensor_description::ALLOCATION_DESCRIPTION, |out| {
                    pb::int(out, allocation_description::REQUESTED_BYTES, requested);
                    pb::int(out, allocation_description::ALLOCATED_BYTES, allocated);
                    pb::int(out, allocation_description::PTR, address);
                });
            });
        });
        pb::message(&mut out, node::MEMORY_STATS, |out| {
            pb::int(out, memory_stats::TEMP_MEMORY_SIZE, temporary);
            pb::int(out, memory_stats::PERSISTENT_MEMORY_SIZE, persistent);
        });
        // A field above 15.
        out.extend_from_slice(&[0x80, 0x01, 5]);
        out
    }

    /// Whether both ways agree, or the quick one gives up.
    fn agree(bytes: &[u8], memory: bool) -> bool {
        let (mut quick_details, mut details) = (Details::default(), Details::default());
        let Some((name, quick)) = read(bytes, memory, Some(&mut quick_details)) else { return true };
        let mut execution = None;
        let fault = first_fault(|| execution = Some(read_execution(bytes, 0, memory, Some(&mut details))));
        let Some(execution) = execution else { return false };
        let sums = [
            (execution.requested_bytes, quick.requested_bytes),
            (execution.peak_bytes, quick.peak_bytes),
            (execution.residual_bytes, quick.residual_bytes),
            (execution.output_bytes, quick.output_bytes),
        ];
        fault.is_none()
            && execution.name == name
            && (execution.start, execution.length) == (quick.start, quick.length)
            && execution.repeated_temp == quick.repeated_temp
            && sums.iter().all(|(sum, quick)| sum.exact() == i128::from(*quick))
            && format!("{details:?}") == format!("{quick_details:?}")
    }

    #[test]
    fn usual_records_are_read() {
        let bytes = record(&[1_700_000_000_000_000, 130, 70_000, 300, 4, 512, 400, 1 << 47, 1 << 33, 17]);
        let (name, figures) = read(&bytes, true, None).unwrap();
        assert_eq!((name, figures.requested_bytes, figures.output_bytes), (&b"tower/conv:Conv2D"[..], 70_304, 512));
        assert!(agree(&bytes, true) && agree(&bytes, false));
    }

    #[test]
    fn sums_that_overflow_are_left_to_the_other_way() {
        assert!(read(&record(&[1, 1, i64::MAX, 1, 0, 0, 0, 0, 0, 0]), true, None).is_none());
    }

    proptest! {
        #[test]
        fn both_ways_agree(
            numbers in prop::array::uniform10(any::<i64>().prop_flat_map(|n| (0..64_u32).prop_map(move |shift| n >> shift))),
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
            cut: usize,
            memory: bool,
        ) {
            let mut bytes = record(&numbers);
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
