//! Any bytes as a trace of PyTorch: an answer with consistent sums or a typed error, a complete excerpt, and no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use tfprof::internal::format::kineto;
use tfprof::internal::trace::excerpt::{Excerpt, ExcerptTrace};
use tfprof::{Keep, Metric, Options, Profiler, Source, ViewKind};
use tfprof_fuzz::budgeted;

fuzz_target!(|bytes: &[u8]| {
    budgeted(bytes.len(), || {
        read(bytes);
        Ok(())
    });
});

fn read(bytes: &[u8]) {
    let Ok(source) = Source::memory("fuzz", bytes) else { return };
    let Ok(file) = kineto::open(Path::new(""), source) else { return };
    for (steps, shortest, lanes) in [("", "", ""), ("3-4", "1.5", "GPU|1")] {
        let excerpt = Excerpt::parse(steps, shortest, lanes).expect("three words");
        if let Ok(trace) = ExcerptTrace::new(&file, excerpt) {
            let mut out = Vec::new();
            trace.write(&mut out).expect("memory");
            assert!(out.ends_with(b"]}\n"));
        }
    }
    if let Ok(drawn) = file.lanes() {
        assert!(drawn.lanes.iter().flat_map(|lane| &lane.events).all(|(start, length, _)| *start >= 0 && *length >= 0));
    }
    let mut profiler = Profiler::new(Keep { records: false, ..Keep::EVERYTHING });
    if profiler.add_profiles(&[file], None, &|_, _| {}).is_err() {
        return;
    }
    for kind in ViewKind::ALL {
        for (step, events) in [("all", "ops"), ("-1", "all"), ("3", "kernels")] {
            let mut options = Options::default();
            options.set("step", step).expect("a step");
            options.set("events", events).expect("a word");
            if let Ok(view) = profiler.view(kind, &options) {
                let _ = view.total(Metric::Micros, &view.rows()[0]);
            }
        }
    }
}
