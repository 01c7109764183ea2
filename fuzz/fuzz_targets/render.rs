//! Made models in every view and form but pages, timelines and pprof: names stay text, rows stay rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::Keep;
use tfprof_fuzz::answers::{Files, ask, options, plain_forms};
use tfprof_fuzz::{Make, budgeted};

fuzz_target!(|bytes: &[u8]| {
    let Some((choices, bytes)) = bytes.split_at_checked(8) else { return };
    let files = Files::made(bytes);
    let mut choices = Make::new(choices);
    budgeted(files.size(), || {
        let profiler = files.load(Keep::EVERYTHING)?;
        let (form, (kind, options)) = (choices.pick(&plain_forms()), options(&mut choices));
        ask(&profiler, kind, &options, form)
    });
});
