//! `tfprof checkpoint P [Q]`: lists the tensors of a checkpoint with statistics and values, verifies it, or compares two.

use super::{Exit, deliver};
use crate::flags::Request;
use std::io::Write;
use tfprof::internal::checkpoint::locate;
use tfprof::internal::checkpoint::query::{Comparison, Listing, Verdict, select_values};
use tfprof::internal::checkpoint::render::Answer;
use tfprof::{Checkpoint, Damage, Error, Output, Role, Warning};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let named = request.flags.inputs.of(Role::Checkpoint).map(|input| &input.path);
    let paths: Vec<_> = named.chain(&request.paths).collect();
    let flags = &request.flags;
    if flags.verify && (flags.stats || !flags.values.is_empty()) {
        return Err(Error::Question("-verify takes neither -stats nor -values; ask one after the other".to_owned()));
    }
    match paths[..] {
        [] => {
            Err(Error::Question("nothing to read; name a checkpoint, as in `tfprof checkpoint model.ckpt`".to_owned()))
        }
        [path] if flags.verify => {
            let mut files = Vec::new();
            let verdict = match Checkpoint::open(path) {
                Ok(checkpoint) => {
                    files.clone_from(&checkpoint.files);
                    checkpoint.verify()
                }
                // Files that exist but cannot be read are damage, which is the answer to the question.
                Err(Error::Input { location, message }) if locate::locate(path).is_ok() => {
                    let damage =
                        Damage { file: location.to_string(), offset: None, tensor: None, what: message, absent: false };
                    Verdict { tensors: 0, bytes: 0, damage: vec![damage] }
                }
                Err(error) => return Err(error),
            };
            write_to(request, &files, &[], out, err, &verdict)?;
            Ok(if verdict.damage.is_empty() { Exit::Answered } else { Exit::CheckFailed })
        }
        [path] => {
            let checkpoint = Checkpoint::open(path)?;
            if flags.values.is_empty() {
                let listing = Listing::new(&checkpoint, &request.options, flags.stats)?;
                let warnings = warnings(checkpoint.damage.iter().chain(&listing.damage));
                report(request, &[&checkpoint], &warnings, out, err, &listing)
            } else {
                let selected = select_values(&checkpoint, &flags.values)?;
                let warnings = warnings(selected.values.damage.iter());
                report(request, &[&checkpoint], &warnings, out, err, &selected)
            }
        }
        [before, after] if !flags.verify && flags.values.is_empty() => {
            let (before, after) = (Checkpoint::open(before)?, Checkpoint::open(after)?);
            let comparison = Comparison::new(&before, &after, &request.options, &flags.comparing, flags.stats)?;
            let warnings = warnings(before.damage.iter().chain(&after.damage).chain(&comparison.damage));
            report(request, &[&before, &after], &warnings, out, err, &comparison)
        }
        [_, _] => Err(Error::Question("-verify and -values take one checkpoint".to_owned())),
        _ => Err(Error::Question(format!("one checkpoint is listed, two are compared; {} were named", paths.len()))),
    }
}

/// Writes an answer, and warnings about damage to `err`.
fn report(
    request: &Request,
    checkpoints: &[&Checkpoint],
    warnings: &[Warning],
    out: &mut dyn Write,
    err: &mut dyn Write,
    answer: &dyn Answer,
) -> Result<Exit, Error> {
    for warning in warnings.iter().take(MAX_WARNINGS) {
        // Ignore a closed standard error.
        let _ = writeln!(err, "tfprof: warning: {warning}");
    }
    if warnings.len() > MAX_WARNINGS {
        let _ = writeln!(
            err,
            "tfprof: warning: {} more places are damaged (-verify lists them)",
            warnings.len() - MAX_WARNINGS
        );
    }
    let damage = warnings.iter().find(|warning| warning.damage);
    if let (Some(damage), true) = (damage, request.flags.strict) {
        return Err(Error::Missing(format!("refused, since -strict was given: {damage}")));
    }
    let inputs: Vec<_> = checkpoints.iter().flat_map(|checkpoint| checkpoint.files.iter()).cloned().collect();
    write_to(request, &inputs, warnings, out, err, answer)?;
    Ok(if damage.is_none() { Exit::Answered } else { Exit::Damaged })
}

/// Warnings shown before the rest is only counted.
const MAX_WARNINGS: usize = 20;

fn write_to(
    request: &Request,
    inputs: &[std::path::PathBuf],
    warnings: &[Warning],
    out: &mut dyn Write,
    err: &mut dyn Write,
    answer: &dyn Answer,
) -> Result<(), Error> {
    deliver(
        request,
        inputs,
        out,
        err,
        &[
            (Output::TEXT, &|out| answer.text(request.terminal.width, out)),
            ("json", &|out| answer.json(warnings, out)),
            ("csv", &|out| answer.csv(out)),
            ("html", &|out| answer.html(request.page(), out)),
        ],
    )
}

fn warnings<'d>(damage: impl Iterator<Item = &'d Damage>) -> Vec<Warning> {
    damage.map(Damage::warning).collect()
}
