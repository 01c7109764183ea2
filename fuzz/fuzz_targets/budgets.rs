//! Any text as a budget of costs: limits that are checked, or a typed error with its place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use tfprof::internal::engine::needs;
use tfprof::internal::report::cost::render::{Report, Style, write_json, write_tables};
use tfprof::{Budget, Cost, Profiler, Source, Spelling};
use tfprof_fuzz::answers::{check_json, check_text};
use tfprof_fuzz::metered;

fn cost() -> &'static Cost {
    static COST: OnceLock<Cost> = OnceLock::new();
    COST.get_or_init(|| {
        let graph = b"node { name: 'a/b' op: 'VariableV2' attr { key: 'shape' value { shape { dim { size: 8 } } } } } node { name: 'c' op: 'Add' }";
        let mut profiler = Profiler::new(needs::COST);
        profiler.add_graph(Source::memory("fuzz", graph).expect("memory")).expect("a graph");
        profiler.infer().expect("a graph");
        profiler.cost().expect("a cost")
    })
}

fuzz_target!(|text: &str| {
    let cost = cost();
    metered(text.len(), || {
        let budget = match Budget::parse("budget.toml", text) {
            Ok(budget) => budget,
            Err(error) => return check_text(error.to_string().as_bytes()),
        };
        budget.questions();
        for baseline in [None, Some(cost)] {
            let over = Some(budget.check(cost, baseline).over);
            let report = Report { cost, over, changes: None, spelling: Spelling::CommandLine };
            let mut out = Vec::new();
            write_json(&report, &mut out).expect("memory");
            check_json(&out);
            out.clear();
            write_tables(&report, Style::Text(Some(80)), &mut out).expect("memory");
            check_text(&out);
        }
    });
});
