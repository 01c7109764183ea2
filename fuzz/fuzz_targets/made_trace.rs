//! Made traces and any bytes as traces of PyTorch: views and an overview, within the bounds of their size.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::{Inputs, Keep};
use tfprof_fuzz::answers::{Files, ask, options, plain_forms};
use tfprof_fuzz::files::trace_json;
use tfprof_fuzz::{Make, budgeted};

fuzz_target!(|bytes: &[u8]| {
    let Some((choices, bytes)) = bytes.split_at_checked(8) else { return };
    let mut choices = Make::new(choices);
    let content = match choices.byte() % 4 {
        0 => bytes.to_vec(),
        1 => [b"{\"traceEvents\":[", bytes].concat(),
        _ => trace_json::trace(&mut Make::new(bytes)),
    };
    let files = Files::of("trace", content);
    budgeted(files.size(), || {
        let profiler = files.load(Keep::EVERYTHING)?;
        profiler.overview(&Inputs::default())?;
        let (form, (kind, options)) = (choices.pick(&plain_forms()), options(&mut choices));
        ask(&profiler, kind, &options, form)
    });
});
