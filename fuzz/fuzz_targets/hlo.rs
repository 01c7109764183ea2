//! Any bytes as a compiled program: stack frames without cycles and costs of at least 0, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof::internal::format::xspace::hlo;

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        let Ok(program) = hlo::read(bytes, true) else { return };
        let mut names: Vec<_> = program.instructions.keys().collect();
        names.sort();
        for name in names {
            assert!(program.stack(&program.instructions[name]).len() <= 1000);
        }
    });
});
