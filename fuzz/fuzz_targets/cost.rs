//! Any bytes as a model: a cost or a typed error, no panic, and work bounded by the size of the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof_fuzz::metered;
use tfprof::internal::engine::needs;
use tfprof::internal::report::cost::render::{Report, Style, write_json, write_tables};
use tfprof::{Budget, Format, Profiler, Settings, Source, Spelling};

fuzz_target!(|bytes: &[u8]| {
    metered(bytes.len(), || {
        let Some((choice, bytes)) = bytes.split_first() else { return };
        let format = Format::named(["SavedModel", "GraphDef", "MetaGraphDef"][usize::from(choice % 3)]).expect("a format");
        let settings = Settings { all: choice & 16 != 0, const_params: choice & 32 != 0, ..Settings::default() };
        let mut profiler = Profiler::new(needs::COST);
        profiler.set(&settings);
        let Ok(source) = Source::memory("fuzz", bytes) else { return };
        if profiler.add(source, format, 0).is_err() || profiler.infer().is_err() {
            return;
        }
        let Ok(cost) = profiler.cost() else { return };
        let budget = std::str::from_utf8(bytes).ok().and_then(|text| Budget::parse("fuzz", text).ok());
        let over = budget.map(|budget| budget.check(&cost, None).over);
        let report = Report { cost: &cost, over, changes: None, spelling: Spelling::CommandLine };
        let mut out = Vec::new();
        write_json(&report, &mut out).expect("memory");
        write_tables(&report, Style::Text(Some(80)), &mut out).expect("memory");
    });
});
