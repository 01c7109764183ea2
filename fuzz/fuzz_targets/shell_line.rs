//! Any text as a line of the shell: a request or a typed error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    tfprof_cli::understands_line(line);
});
