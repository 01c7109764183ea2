//! Made programs: stack frames without cycles, within the bounds of their size.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::internal::format::xspace::hlo;
use tfprof_fuzz::files::xspace;
use tfprof_fuzz::{Make, budgeted};

fuzz_target!(|bytes: &[u8]| {
    let content = xspace::program(&mut Make::new(bytes));
    budgeted(content.len(), || {
        let Ok(program) = hlo::read(&content, true) else { return Ok(()) };
        let mut names: Vec<_> = program.instructions.keys().collect();
        names.sort();
        for name in names.into_iter().take(100) {
            assert!(program.stack(&program.instructions[name]).len() <= 1000);
        }
        Ok(())
    });
});
