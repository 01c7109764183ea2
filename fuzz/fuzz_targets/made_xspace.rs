//! Made XSpaces: views, a Chrome trace and an overview, within the bounds of their size.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::internal::format::xspace::ProfileFile;
use tfprof::internal::trace::profile::ProfileTrace;
use tfprof::{Inputs, Keep};
use tfprof_fuzz::answers::{Files, ask, options, plain_forms};
use tfprof_fuzz::files::xspace;
use tfprof_fuzz::{Make, budgeted};

fuzz_target!(|bytes: &[u8]| {
    let Some((choices, bytes)) = bytes.split_at_checked(8) else { return };
    let content = xspace::space(&mut Make::new(bytes));
    let mut choices = Make::new(choices);
    budgeted(content.len(), || {
        if choices.once_in(4) {
            let files = [ProfileFile::memory("fuzz", content)];
            let trace = ProfileTrace::new(&files, true)?;
            return trace.write(&mut std::io::sink()).map_err(|_| tfprof::Error::Missing(String::new()));
        }
        let profiler = Files::of("XSpace", content).load(Keep { records: false, ..Keep::EVERYTHING })?;
        profiler.overview(&Inputs::default())?;
        let (form, (kind, options)) = (choices.pick(&plain_forms()), options(&mut choices));
        ask(&profiler, kind, &options, form)
    });
});
