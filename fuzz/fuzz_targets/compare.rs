//! Two made models beside each other, in every view and form that compares.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tfprof::{Comparing, FORMS, Keep, KeepSteps, Question, compare};
use tfprof_fuzz::answers::{Files, check, options};
use tfprof_fuzz::{Make, budgeted};

fuzz_target!(|bytes: &[u8]| {
    let Some((choices, bytes)) = bytes.split_at_checked(8) else { return };
    let (before, after) = bytes.split_at(bytes.len() / 2);
    let mut choices = Make::new(choices);
    // A change of a model, or another one.
    let after = if choices.once_in(2) { before } else { after };
    let (old, new) = (Files::made(before), Files::made(&after[..after.len() / 8 * 7]));
    budgeted(old.size() + new.size(), || {
        let keep = Keep { steps: KeepSteps::Each, ..Keep::EVERYTHING };
        let (before, after) = (old.load(keep)?, new.load(keep)?);
        let forms: Vec<_> = FORMS.iter().filter(|form| form.demand.compares).map(|form| form.word).collect();
        let form = choices.pick(&forms);
        let (kind, mut options) = options(&mut choices);
        options.set("output", &format!("{form}:outfile=x"))?;
        let comparing = Comparing { unchanged: Some(choices.once_in(2)), ..Comparing::default() };
        let mut out = Vec::new();
        let answer = compare(("old", &before), ("new", &after), &Question::new(kind, &options), &comparing)?;
        if answer.write(&mut out).is_ok() {
            check(form, &options, &out);
        }
        Ok(())
    });
});
