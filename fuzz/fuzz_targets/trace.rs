//! Any bytes as a run: a trace in valid JSON, or a typed error; deterministic, and no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof::Source;
use tfprof::internal::trace::{OpTime, Step, Trace, TraceOptions};
use tfprof::internal::words::Choice;

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        let Some((choice, bytes)) = bytes.split_first() else { return };
        let options = TraceOptions {
            show_dataflow: choice & 1 != 0,
            show_memory: choice & 2 != 0,
            op_time: OpTime::WORDS[usize::from(choice >> 2) % OpTime::WORDS.len()].1,
        };
        let step = |step| Step { step, open: Box::new(move || Source::memory("fuzz", bytes)) };
        let steps = if choice & 128 == 0 { vec![step(0)] } else { vec![step(3), step(4)] };
        let Ok(trace) = Trace::new(steps, options) else { return };
        let mut out = Vec::new();
        trace.write(&mut out).expect("memory");
        assert!(out.is_ascii() && out.ends_with(b"]\n}"));
    });
});
