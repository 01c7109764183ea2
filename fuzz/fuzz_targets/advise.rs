//! Advice about made models in every form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::internal::engine::needs;
use tfprof::internal::report::advise;
use tfprof::{Container, Quirks};
use tfprof_fuzz::answers::{Files, check_json, check_page, check_text};
use tfprof_fuzz::budgeted;

fuzz_target!(|bytes: &[u8]| {
    let files = Files::made(bytes);
    budgeted(files.size(), || {
        let profiler = files.load(needs::ADVICE)?;
        for quirks in [Quirks::NONE, Quirks::ORIGINAL] {
            let advice = profiler.advise(&advise::default_names(quirks), quirks)?;
            let mut out = Vec::new();
            advise::write_text(&advice, quirks, &mut out).expect("memory");
            if quirks == Quirks::NONE {
                check_text(&out);
            }
            out.clear();
            advise::write_json(&advice, profiler.warnings(), &mut out).expect("memory");
            check_json(&out);
            out.clear();
            advise::write_html(&advice, Container::PAGE, &mut out).expect("memory");
            check_page(&out);
            advise::write_proto(&advice, quirks, &mut out).expect("memory");
        }
        Ok(())
    });
});
