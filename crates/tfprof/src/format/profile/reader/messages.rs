//! The small messages inside a `ProfileNode`: entries of its maps, times, and memory.

use crate::model::cells::Sum;
use crate::model::records::{MemoryUse, OutputMemory};
use tfprof_proto::fields::{exec_memory, map_entry, memory as output_memory};
use tfprof_proto::wire::{Fields, Value, each_field, each_int, int_keyed_entry};

/// An entry of the map from output to shape: the index of the output, and the dimensions.
pub fn shape_entry(entry: Fields<'_>) -> (i64, Vec<i64>) {
    let (mut index, mut dims) = (0, Vec::new());
    each_field(entry, |all, number, value| match (number, value) {
        (map_entry::KEY, Value::Varint(n)) => index = n as i64,
        (map_entry::VALUE, Value::Bytes(tuple)) => each_field(all.nested(tuple), |_, _, value| {
            drop(each_int(value, |n| dims.push(n)));
        }),
        _ => {}
    });
    (index, dims)
}

/// An entry of the map from device to times: the device, and the sum of the durations.
pub fn device_time(entry: Fields<'_>) -> (&[u8], Sum) {
    let (mut device, mut micros) = (&b""[..], Sum::default());
    each_field(entry, |all, number, value| match (number, value) {
        (map_entry::KEY, Value::Bytes(name)) => device = name,
        (map_entry::VALUE, Value::Bytes(times)) => times_of(all.nested(times), &mut |_, length| micros.add(length)),
        _ => {}
    });
    (device, micros)
}

/// Calls `each` with the start and the duration of every time in such an entry.
pub fn each_time(entry: Fields<'_>, mut each: impl FnMut(i64, i64)) {
    each_field(entry, |all, number, value| {
        if let (map_entry::VALUE, Value::Bytes(times)) = (number, value) {
            times_of(all.nested(times), &mut each);
        }
    });
}

fn times_of(times: Fields<'_>, each: &mut impl FnMut(i64, i64)) {
    each_field(times, |all, _, value| {
        let Value::Bytes(tuple) = value else { return };
        let (mut start, mut duration, mut count) = (0, 0, 0);
        each_field(all.nested(tuple), |_, _, value| {
            drop(each_int(value, |n| {
                match count {
                    0 => start = n,
                    1 => duration = n,
                    _ => {}
                }
                count += 1;
            }));
        });
        each(start, duration);
    });
}

/// Reads an `ExecMemory` into `memory`, which is returned, and `outputs`, if wanted.
pub fn memory_use(fields: Fields<'_>, mut memory: MemoryUse, mut outputs: Option<&mut Vec<OutputMemory>>) -> MemoryUse {
    each_field(fields, |all, number, value| match (number, value) {
        (exec_memory::OUTPUT_MEMORY, Value::Bytes(entry)) => {
            if let Some(outputs) = &mut outputs {
                outputs.push(output_entry(all.nested(entry)));
            }
        }
        (number, Value::Varint(n)) => {
            let slot = match number {
                exec_memory::MEMORY_MICROS => &mut memory.micros,
                exec_memory::HOST_TEMP_BYTES => &mut memory.host_temp,
                exec_memory::HOST_PERSISTENT_BYTES => &mut memory.host_persistent,
                exec_memory::ACCELERATOR_TEMP_BYTES => &mut memory.accelerator_temp,
                exec_memory::ACCELERATOR_PERSISTENT_BYTES => &mut memory.accelerator_persistent,
                exec_memory::REQUESTED_BYTES => &mut memory.requested,
                exec_memory::PEAK_BYTES => &mut memory.peak,
                exec_memory::RESIDUAL_BYTES => &mut memory.residual,
                exec_memory::OUTPUT_BYTES => &mut memory.output,
                exec_memory::ALLOCATOR_BYTES_IN_USE => &mut memory.allocator_in_use,
                _ => return,
            };
            *slot = n as i64;
        }
        _ => {}
    });
    memory
}

/// An entry of the map from output to its memory.
fn output_entry(entry: Fields<'_>) -> OutputMemory {
    let (slot, memory) = int_keyed_entry(entry);
    let mut output = OutputMemory { slot: slot as i32, ..OutputMemory::default() };
    let Some(memory) = memory else { return output };
    each_field(memory, |_, number, value| match (number, value) {
        (output_memory::BYTES, Value::Varint(n)) => output.bytes = n as i64,
        (output_memory::PTR, Value::Varint(n)) => output.address = n,
        _ => {}
    });
    output
}
