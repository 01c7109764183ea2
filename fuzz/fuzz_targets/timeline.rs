//! Made graphs with runs as timelines of every view: JSON, however odd the times are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::Keep;
use tfprof_fuzz::answers::{Files, ask, options};
use tfprof_fuzz::{Make, budgeted};

fuzz_target!(|bytes: &[u8]| {
    let Some((choices, bytes)) = bytes.split_at_checked(8) else { return };
    let files = Files::run(bytes);
    let mut choices = Make::new(choices);
    budgeted(files.size(), || {
        let profiler = files.load(Keep::EVERYTHING)?;
        let (kind, options) = options(&mut choices);
        ask(&profiler, kind, &options, "timeline")
    });
});
