//! Made models with functions, loops and branches: costs in every form, and an op log.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::internal::engine::needs;
use tfprof::internal::report::cost::render::{Report, Style, write_json, write_tables};
use tfprof::{Container, Spelling};
use tfprof_fuzz::answers::{Files, check_json, check_page, check_text};
use tfprof_fuzz::files::graph;
use tfprof_fuzz::{Make, budgeted};

fuzz_target!(|bytes: &[u8]| {
    let files = Files::of("GraphDef", graph::graph(&mut Make::new(bytes)));
    budgeted(files.size(), || {
        let cost = files.load(needs::COST)?.cost()?;
        let report = Report { cost: &cost, over: None, changes: None, spelling: Spelling::CommandLine };
        let mut out = Vec::new();
        write_json(&report, &mut out).expect("memory");
        check_json(&out);
        out.clear();
        write_tables(&report, Style::Text(Some(80)), &mut out).expect("memory");
        check_text(&out);
        out.clear();
        write_tables(&report, Style::Html("cost", Container::PAGE), &mut out).expect("memory");
        check_page(&out);
        Ok(())
    });
});
