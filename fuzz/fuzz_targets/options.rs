//! Any text as options of a question: options or a typed error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::internal::render;
use tfprof::{Options, Profiler, Source, ViewKind};
use tfprof_fuzz::metered;

fuzz_target!(|text: &str| {
    metered(text.len(), || ask(text));
});

fn ask(text: &str) {
    let mut options = Options::default();
    for line in text.lines() {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let _ = options.set(name, value);
    }
    let mut profiler = Profiler::default();
    let graph = b"node { name: 'a' op: 'A' } node { name: 'a/b' op: 'VariableV2' input: 'a' input: 'a/b' }";
    profiler.add_graph(Source::memory("fuzz", graph).expect("memory")).expect("a graph");
    for kind in ViewKind::ALL {
        if let Ok(view) = profiler.view(kind, &options) {
            render::text::write(&view, &mut Vec::new()).expect("memory");
        }
    }
}
