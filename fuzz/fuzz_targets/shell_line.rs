//! Any text as a line of the shell: a request or a typed error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;

fuzz_target!(|line: &str| {
    metered(line.len(), || {
        tfprof_cli::understands_line(line);
    });
});
