//! Any bytes as a partial, and as the unpacked rows and steps of one: no panic, and a partial that was read is written the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::internal::part::rows::Rows;
use tfprof::internal::part::{Block, Partial};
use tfprof::{Format, Options, Profiler, Role, Source, ViewKind};
use tfprof_fuzz::metered;

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        if let Ok(block) = Block::read(bytes) {
            assert_eq!(Block::read(&block.write()), Ok(block));
        }
        let rows = Rows::read(bytes).map(|rows| Partial { rows, ..Partial::default() });
        let packed = rows.map(|partial| partial.to_bytes());
        for bytes in [Some(bytes), packed.as_deref().ok()].into_iter().flatten() {
            let Ok(partial) = Partial::from_bytes(bytes) else { continue };
            let again = partial.to_bytes();
            let twice = Partial::from_bytes(&again).expect("a partial of ours").to_bytes();
            assert!(again == twice);
            let Ok(source) = Source::memory("fuzz", &again) else { continue };
            let mut profiler = Profiler::default();
            if profiler.add(source, Format::of(Role::Partial), 0).is_ok() {
                for kind in ViewKind::ALL {
                    let _ = profiler.view(kind, &Options::default());
                }
            }
        }
    });
});
