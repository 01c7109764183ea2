//! Made models as profiles for pprof: gzipped messages that can be unpacked and walked.
#![no_main]

use flate2::read::GzDecoder;
use libfuzzer_sys::fuzz_target;
use std::io::Read;
use tfprof::{Keep, Question};
use tfprof_fuzz::answers::{Files, options};
use tfprof_fuzz::{Make, budgeted};
use tfprof_proto::wire::Fields;

fuzz_target!(|bytes: &[u8]| {
    let Some((choices, bytes)) = bytes.split_at_checked(8) else { return };
    let files = Files::made(bytes);
    let mut choices = Make::new(choices);
    budgeted(files.size(), || {
        let profiler = files.load(Keep::EVERYTHING)?;
        let (kind, mut options) = options(&mut choices);
        options.select = None;
        options.set("output", "pprof:outfile=x")?;
        let mut out = Vec::new();
        if profiler.ask(&Question::new(kind, &options))?.write(&mut out).is_ok() {
            let mut message = Vec::new();
            GzDecoder::new(&out[..]).read_to_end(&mut message).expect("gzip");
            let mut fields = Fields::new(&message, 0);
            while fields.next_field().expect("a message").is_some() {}
        }
        Ok(())
    });
});
