//! Overviews of made models as text, JSON and a page.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::internal::engine::needs;
use tfprof::internal::report::overview::{html, render};
use tfprof::{Container, Inputs, Theme};
use tfprof_fuzz::answers::{Files, check_json, check_page, check_text};
use tfprof_fuzz::budgeted;

fuzz_target!(|bytes: &[u8]| {
    let files = Files::made(bytes);
    budgeted(files.size(), || {
        let profiler = files.load(needs::OVERVIEW)?;
        let overview = profiler.overview(&Inputs::default())?;
        let ask = |question: &str| format!("tfprof {question}");
        let mut out = Vec::new();
        render::write_text(&overview, &Theme::PLAIN, &ask, &mut out).expect("memory");
        check_text(&out);
        out.clear();
        render::write_json(&overview, &mut out).expect("memory");
        check_json(&out);
        out.clear();
        html::write(&overview, &ask, Container::PAGE, &mut out).expect("memory");
        check_page(&out);
        Ok(())
    });
});
