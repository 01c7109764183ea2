//! Made models as pages and as cells of a notebook: no name is markup or a control code.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::{Container, Dress, Keep, Question};
use tfprof_fuzz::answers::{Files, check_page, options};
use tfprof_fuzz::{Make, budgeted};

fuzz_target!(|bytes: &[u8]| {
    let Some((choices, bytes)) = bytes.split_at_checked(8) else { return };
    let files = Files::made(bytes);
    let mut choices = Make::new(choices);
    budgeted(files.size(), || {
        let profiler = files.load(Keep::EVERYTHING)?;
        let (kind, mut options) = options(&mut choices);
        options.set("output", "html:outfile=x")?;
        let answer = profiler.ask(&Question::new(kind, &options))?;
        let container = if choices.once_in(2) { Container::Cell } else { Container::PAGE };
        let mut out = Vec::new();
        answer.each_part(|part| {
            out.clear();
            if part.write(&Dress { container, ..Dress::PLAIN }, &mut out).is_ok() {
                check_page(&out);
            }
            Ok::<_, tfprof::Error>(())
        })?;
        Ok(())
    });
});
