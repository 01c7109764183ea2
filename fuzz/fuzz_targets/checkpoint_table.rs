//! Any bytes as a table: no panic, and every entry lies within its block.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof::internal::checkpoint::{ByteSource, Table};

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        let mut damage = Vec::new();
        let Ok(table) = Table::open(ByteSource::memory("fuzz", bytes.to_vec()), &mut damage) else { return };
        table.check_metaindex();
        for number in table.blocks() {
            let Ok(block) = table.block(number) else { continue };
            let mut entries = block.entries();
            let mut seen = 0;
            while let Some(entry) = entries.next_entry() {
                seen += 1;
                assert!(seen <= block.bytes.len());
                if let Ok(value) = entry {
                    assert!(value.end <= block.bytes.len());
                    assert!(block.covers(&entries.span(), entries.offset()));
                }
            }
            let (from, to) = table.key_bounds(number);
            let _ = (table.block_of(from), table.block_of(to), block.find(to));
        }
    });
});
