//! Compares the answers to every case of the corpus with the original's, quirks included: text and messages to the
//! byte, timelines and pprof by content. One test per model and check.
//!
//! The cases are data: each `cases.json` below `corpus/` (or below `$TFPROF_CASES`) is a test, so the list is made at run
//! time, by `libtest-mimic`.

mod advise;
mod case;
mod chrome;
mod distinct;
mod message;
mod outputs;
mod round_trip;
mod serialize;

use case::{Case, Verdict, read_maybe_gzipped};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many differences a failing test prints.
const DIFFERENCES_SHOWN: usize = 30;

/// The verdicts of all models.
#[derive(Default)]
struct Totals {
    same: AtomicUsize,
    refused: AtomicUsize,
    ours_alone: AtomicUsize,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let other = std::env::var_os("TFPROF_CASES").map(PathBuf::from);
    let root = other.as_deref().unwrap_or(&corpus);
    let totals = Arc::new(Totals::default());
    let mut trials = Vec::new();
    for model in models(root) {
        let totals = Arc::clone(&totals);
        // A random model may have nothing but questions that are refused.
        let needs_answer = other.is_none();
        let name = format!("answers_equal_the_originals::{}", name(&model));
        trials.push(Trial::test(name, move || compare_answers(&model, needs_answer, &totals)));
    }
    trials.extend(round_trip::trials(&corpus));
    trials.push(Trial::test("corpus_files_are_distinct", move || distinct::check(&corpus)));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if arguments.nocapture {
        print_totals(&totals);
    }
    let asked_all = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list;
    let nothing_same = totals.same.load(Ordering::Relaxed) == 0;
    assert!(!(asked_all && nothing_same), "no case of any model has an answer to compare");
    conclusion.exit_code()
}

/// The directories below `root` that have cases.
fn models(root: &Path) -> Vec<PathBuf> {
    let mut models: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap_or_else(|error| panic!("{}: {error}", root.display()))
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.join("cases.json").exists() || path.join("cases.json.gz").exists())
        .collect();
    models.sort();
    assert!(!models.is_empty(), "no cases.json below {}", root.display());
    models
}

fn name(model: &Path) -> String {
    model.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn compare_answers(model: &Path, needs_answer: bool, totals: &Totals) -> Result<(), Failed> {
    let verdicts = ask_all(model);
    if verdicts.is_empty() {
        return Err("no case".into());
    }
    let mut same = 0;
    let mut differences = Vec::new();
    for (case, verdict) in verdicts {
        match verdict {
            Verdict::Same => same += 1,
            Verdict::Refused => drop(totals.refused.fetch_add(1, Ordering::Relaxed)),
            Verdict::OursAlone => drop(totals.ours_alone.fetch_add(1, Ordering::Relaxed)),
            Verdict::Different(difference) => differences.push(format!("{case}: {difference}")),
        }
    }
    totals.same.fetch_add(same, Ordering::Relaxed);
    if !differences.is_empty() {
        let shown = &differences[..differences.len().min(DIFFERENCES_SHOWN)];
        return Err(format!("{same} answers the same, {} different\n{}", differences.len(), shown.join("\n")).into());
    }
    if needs_answer && same == 0 {
        return Err("no case has an answer to compare".into());
    }
    Ok(())
}

fn ask_all(dir: &Path) -> Vec<(String, Verdict)> {
    let text = read_maybe_gzipped(&dir.join("cases.json")).expect("a case file");
    let file: serde_json::Value = serde_json::from_slice(&text).expect("a case file");
    let mut loaded = case::Loaded::default();
    let cases = file["cases"].as_array().expect("a list of cases").iter().map(|value| Case::new(dir, value));
    let verdicts = cases.map(|case| (case.name(), case.run(&mut loaded))).collect();
    // Only models with checkpoints have this directory.
    let _ = std::fs::remove_dir_all(case::unpacked(dir));
    verdicts
}

#[allow(clippy::print_stdout)] // For `--nocapture`.
fn print_totals(totals: &Totals) {
    let count = |verdicts: &AtomicUsize| verdicts.load(Ordering::Relaxed);
    println!(
        "{} answers the same, {} invalid questions refused, {} answered where the original crashed",
        count(&totals.same),
        count(&totals.refused),
        count(&totals.ours_alone)
    );
}
