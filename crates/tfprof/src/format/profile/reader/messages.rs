//! The small messages within a saved profile: entries of its maps, times, and memory.

use crate::model::cells::Sum;
use crate::model::records::{MemoryUse, OutputMemory};
use tfprof_proto::lenient::each_quietly;
use tfprof_proto::wire::{Fields, Value, each_int};

/// An entry of a map from number to a list of numbers.
pub fn indexed_tuple(entry: Fields<'_>) -> (i64, Vec<i64>) {
    let (mut index, mut numbers) = (0, Vec::new());
    each_quietly(entry, |all, number, value| match (number, value) {
        (1, Value::Varint(n)) => index = n as i64,
        (2, Value::Bytes(tuple)) => each_quietly(all.nested(tuple), |_, _, value| {
            drop(each_int(value, |n| numbers.push(n)));
        }),
        _ => {}
    });
    (index, numbers)
}

/// An entry of the map from device to times: the device, and the sum of the lengths.
pub fn device_time(entry: Fields<'_>) -> (&[u8], Sum) {
    let (mut device, mut micros) = (&b""[..], Sum::default());
    each_quietly(entry, |all, number, value| match (number, value) {
        (1, Value::Bytes(name)) => device = name,
        (2, Value::Bytes(times)) => times_of(all.nested(times), &mut |_, length| micros.add(length)),
        _ => {}
    });
    (device, micros)
}

/// The times of such an entry: a start and a length each.
pub fn each_time(entry: Fields<'_>, mut each: impl FnMut(i64, i64)) {
    each_quietly(entry, |all, number, value| {
        if let (2, Value::Bytes(times)) = (number, value) {
            times_of(all.nested(times), &mut each);
        }
    });
}

fn times_of(times: Fields<'_>, each: &mut impl FnMut(i64, i64)) {
    each_quietly(times, |all, _, value| {
        let Value::Bytes(tuple) = value else { return };
        let (mut pair, mut place) = ([0; 2], 0);
        each_quietly(all.nested(tuple), |_, _, value| {
            drop(each_int(value, |n| {
                if let Some(slot) = pair.get_mut(place) {
                    *slot = n;
                }
                place += 1;
            }));
        });
        each(pair[0], pair[1]);
    });
}

/// `ExecMemory`.
pub fn memory_use(fields: Fields<'_>, mut memory: MemoryUse, outputs: &mut Vec<OutputMemory>) -> MemoryUse {
    each_quietly(fields, |all, number, value| match (number, value) {
        (11, Value::Bytes(entry)) => outputs.push(output_memory(all.nested(entry))),
        (number, Value::Varint(n)) => {
            let slot = match number {
                1 => &mut memory.micros,
                2 => &mut memory.host_temp,
                3 => &mut memory.host_persistent,
                4 => &mut memory.accelerator_temp,
                5 => &mut memory.accelerator_persistent,
                6 => &mut memory.requested,
                7 => &mut memory.peak,
                8 => &mut memory.residual,
                9 => &mut memory.output,
                10 => &mut memory.allocator_in_use,
                _ => return,
            };
            *slot = n as i64;
        }
        _ => {}
    });
    memory
}

/// An entry of the map from slot to the memory of an output.
pub fn output_memory(entry: Fields<'_>) -> OutputMemory {
    let mut output = OutputMemory::default();
    each_quietly(entry, |all, number, value| match (number, value) {
        (1, Value::Varint(n)) => output.slot = n as i32,
        (2, Value::Bytes(memory)) => each_quietly(all.nested(memory), |_, number, value| match (number, value) {
            (1, Value::Varint(n)) => output.bytes = n as i64,
            (2, Value::Varint(n)) => output.address = n,
            _ => {}
        }),
        _ => {}
    });
    output
}
