//! Any bytes as a file of each format, in wire and text: an answer from every view or a typed error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof::internal::render;
use tfprof::{FORMATS, Format, Options, Profiler, Quirks, Selection, Source, ViewKind};

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        // The first byte chooses the format; some nodes of known names are there for runs and logs to speak of.
        let Some((choice, bytes)) = bytes.split_first() else { return };
        let format = &FORMATS[usize::from(choice >> 2) % FORMATS.len()];
        let mut profiler = Profiler::default();
        let graph = b"node { name: 'a' op: 'A' } node { name: 'a/b' op: 'VariableV2' input: 'a' input: 'a/b' }";
        let source = |bytes| Source::memory("fuzz", bytes).expect("memory");
        profiler.add_graph(source(graph)).expect("a graph");
        Format::recognize(bytes);
        let _ = profiler.add(Source::memory("fuzz", bytes).unwrap_or_else(|_| source(b"")), format, 3);
        let mut options = Options { max_depth: Some(50), ..Options::default() };
        options.select = Selection::parse(&Selection::all_words()).ok();
        for quirks in [Quirks::NONE, Quirks::ORIGINAL] {
            options.quirks = quirks;
            let kind = ViewKind::ALL[usize::from(choice & 3)];
            if let Ok(view) = profiler.view(kind, &options) {
                let mut out = Vec::new();
                render::text::write(&view, &mut out).expect("memory");
                render::json::write(&view, profiler.warnings(), &mut out).expect("memory");
                render::csv::write(&view, &mut out).expect("memory");
                render::proto::write(&view, &mut out).expect("memory");
            }
        }
    });
});
