//! Any bytes as a message in memory: no panic, and every field lies within the bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof_proto::wire::{Fields, Value, each_int};

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || walk(bytes));
});

fn walk(bytes: &[u8]) {
    let mut todo = vec![Fields::new(bytes, 0)];
    let mut seen = 0;
    while let Some(mut fields) = todo.pop() {
        let (all, mut last) = (fields.clone(), None);
        while let Ok(Some(field)) = fields.next_field() {
            assert!(last < Some(field.offset) && fields.offset() <= bytes.len() as u64);
            last = Some(field.offset);
            let _ = each_int(field.value, |_| {});
            if let Value::Bytes(inner) = field.value {
                seen += 1;
                // Any bytes may be a message; depth is bounded by the input, but not the number of readings.
                if seen < 10_000 {
                    todo.push(all.nested(inner));
                }
            }
        }
        assert!(fields.rest().len() <= bytes.len());
    }
}
