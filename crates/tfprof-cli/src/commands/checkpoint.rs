//! `tfprof checkpoint P [Q]`: the tensors of a checkpoint, their numbers and values, its soundness, and how two differ.

use crate::flags::Request;
use crate::{Exit, target};
use std::io::{self, Write};
use tfprof::checkpoint::query::{Comparison, Listing, picked};
use tfprof::checkpoint::render;
use tfprof::checkpoint::values::Values;
use tfprof::checkpoint::verify::Verdict;
use tfprof::checkpoint::{Checkpoint, Damage, locate};
use tfprof::engine::formats::Role;
use tfprof::error::{Error, Warning};
use tfprof::json;
use tfprof::options::{Options, Output};
use tfprof::quirks::Quirks;
use tfprof::render::html::{self, Place};
use tfprof::render::tensor;

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
                // The files are there, and nothing can be made of them: that is what was asked.
                Err(Error::Input { location, message }) if locate::locate(path).is_ok() => {
                    let damage = Damage { file: location.to_string(), offset: None, tensor: None, what: message };
                    Verdict { tensors: 0, bytes: 0, damage: vec![damage] }
                }
                Err(error) => return Err(error),
            };
            write_to(&request.options, &files, &[], out, &verdict)?;
            Ok(if verdict.damage.is_empty() { Exit::Answered } else { Exit::CheckFailed })
        }
        [path] => {
            let checkpoint = Checkpoint::open(path)?;
            if flags.values.is_empty() {
                let listing = Listing::new(&checkpoint, &request.options, flags.stats)?;
                let warnings = warnings(checkpoint.damage.iter().chain(&listing.damage));
                answer(request, &[&checkpoint], &warnings, out, err, &listing)
            } else {
                let picked = picked(&checkpoint, &flags.values)?;
                let warnings = warnings(picked.1.damage.iter());
                answer(request, &[&checkpoint], &warnings, out, err, &picked)
            }
        }
        [before, after] if !flags.verify && flags.values.is_empty() => {
            let (before, after) = (Checkpoint::open(before)?, Checkpoint::open(after)?);
            let comparison = Comparison::new(&before, &after, &request.options, flags.stats)?;
            let warnings = warnings(before.damage.iter().chain(&after.damage).chain(&comparison.damage));
            answer(request, &[&before, &after], &warnings, out, err, &comparison)
        }
        [_, _] => Err(Error::Question("-verify and -values take one checkpoint".to_owned())),
        _ => Err(Error::Question(format!("one checkpoint is listed, two are compared; {} were named", paths.len()))),
    }
}

/// An answer in each form.
trait Answer {
    fn text(&self, out: &mut dyn Write) -> io::Result<()>;
    fn json(&self, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()>;
    fn csv(&self, out: &mut dyn Write) -> io::Result<()>;
    fn html(&self, out: &mut dyn Write) -> io::Result<()>;
}

impl Answer for Listing<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        render::text(self, out)
    }

    fn json(&self, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
        render::json(self, warnings, out)
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        render::csv(self, out)
    }

    fn html(&self, out: &mut dyn Write) -> io::Result<()> {
        render::html(self, Place::Page, out)
    }
}

impl Answer for Comparison<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        render::comparison_text(self, out)
    }

    fn json(&self, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
        render::comparison_json(self, warnings, out)
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        render::comparison_csv(self, out)
    }

    fn html(&self, out: &mut dyn Write) -> io::Result<()> {
        render::comparison_html(self, Place::Page, out)
    }
}

impl Answer for Verdict {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        render::verdict_text(self, out)
    }

    fn json(&self, _: &[Warning], out: &mut dyn Write) -> io::Result<()> {
        render::verdict_json(self, out)
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        render::verdict_csv(self, out)
    }

    fn html(&self, out: &mut dyn Write) -> io::Result<()> {
        render::verdict_html(self, Place::Page, out)
    }
}

/// A tensor, or a part of it, and its name.
impl Answer for (String, Values) {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} ({}, {:?})", self.0, self.1.dtype.name(), self.1.shape)?;
        tensor::rows(&self.1, out)
    }

    fn json(&self, _: &[Warning], out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"name\":")?;
        json::write_string(&self.0, out)?;
        write!(out, ",\"dtype\":\"{}\",\"shape\":{:?},\"values\":", self.1.dtype.name(), self.1.shape)?;
        tensor::json(&self.1, out)?;
        out.write_all(b"}\n")
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        tensor::csv(&self.1, out)
    }

    fn html(&self, out: &mut dyn Write) -> io::Result<()> {
        let title = format!("{} ({}, {:?})", self.0, self.1.dtype.name(), self.1.shape);
        html::write_text(&title, &String::from_utf8_lossy(&tensor::text(&self.1, &Quirks::NONE)), Place::Page, out)
    }
}

/// Writes an answer and tells what is damaged.
fn answer(
    request: &Request,
    checkpoints: &[&Checkpoint],
    warnings: &[Warning],
    out: &mut dyn Write,
    err: &mut dyn Write,
    what: &dyn Answer,
) -> Result<Exit, Error> {
    for warning in warnings.iter().take(SHOWN) {
        // Nothing can be done if even standard error is closed.
        let _ = writeln!(err, "tfprof: warning: {warning}");
    }
    if warnings.len() > SHOWN {
        let _ =
            writeln!(err, "tfprof: warning: {} more places are damaged (-verify lists them)", warnings.len() - SHOWN);
    }
    if let (Some(damage), true) = (warnings.first(), request.flags.strict) {
        return Err(Error::Missing(format!("refused, since -strict was given: {damage}")));
    }
    let inputs: Vec<_> = checkpoints.iter().flat_map(|checkpoint| checkpoint.files.iter()).cloned().collect();
    write_to(&request.options, &inputs, warnings, out, what)?;
    Ok(if warnings.is_empty() { Exit::Answered } else { Exit::Damaged })
}

/// How many warnings are worth reading.
const SHOWN: usize = 20;

fn write_to(
    options: &Options,
    inputs: &[std::path::PathBuf],
    warnings: &[Warning],
    out: &mut dyn Write,
    what: &dyn Answer,
) -> Result<(), Error> {
    target::deliver(
        &options.output,
        inputs,
        out,
        "checkpoint",
        &[
            (Output::TEXT, &|out| what.text(out)),
            ("json", &|out| what.json(warnings, out)),
            ("csv", &|out| what.csv(out)),
            ("html", &|out| what.html(out)),
        ],
    )
}

fn warnings<'d>(damage: impl Iterator<Item = &'d Damage>) -> Vec<Warning> {
    damage.map(Damage::warning).collect()
}
