//! Any bytes as an XSpace: an answer with consistent sums or a typed error, a complete trace, and no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof::internal::format::xspace::ProfileFile;
use tfprof::internal::trace::profile::ProfileTrace;
use tfprof::{Keep, Metric, Options, Profiler, ViewKind};

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        let files = [ProfileFile::memory("fuzz", bytes.to_vec())];
        if let Ok(trace) = ProfileTrace::new(&files, true) {
            let mut out = Vec::new();
            trace.write(&mut out).expect("memory");
            assert!(out.is_ascii() && out.ends_with(b"]}\n"));
        }
        let mut profiler = Profiler::new(Keep { records: false, ..Keep::EVERYTHING });
        if profiler.add_profiles(&files, None, &|_, _| {}).is_err() {
            return;
        }
        for host in profiler.hosts() {
            assert!(host.lines.iter().all(|line| line.aggregated <= line.events));
        }
        for kind in ViewKind::ALL {
            for (step, events) in [("all", "ops"), ("-1", "all"), ("0", "ops")] {
                let mut options = Options::default();
                options.set("step", step).expect("a step");
                options.set("events", events).expect("a word");
                if let Ok(view) = profiler.view(kind, &options) {
                    let _ = view.total(Metric::Micros, &view.rows()[0]);
                }
            }
        }
    });
});
