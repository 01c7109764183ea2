//! Every view case of the corpus against the original's answer, with the original's quirks: texts and messages to the
//! byte, timelines and pprof by their content.
//!
//! The cases are data: each `cases.json` below `corpus/` (or below `$TFPROF_CASES`) is run as it stands. A new case
//! file is a new test.

mod advise;
mod case;
mod chrome;
mod message;
mod outputs;
mod round_trip;
mod serialize;

use case::{Case, Verdict, read_maybe_gzipped};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn answers_equal_the_originals() {
    let root = match std::env::var_os("TFPROF_CASES") {
        Some(dir) => PathBuf::from(dir),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus"),
    };
    let mut models: Vec<PathBuf> = std::fs::read_dir(&root)
        .unwrap_or_else(|error| panic!("{}: {error}", root.display()))
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.join("cases.json").exists() || path.join("cases.json.gz").exists())
        .collect();
    models.sort();
    assert!(!models.is_empty(), "no cases.json below {}", root.display());

    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let (same, refused, ours) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(model) = models.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for (case, verdict) in run_model(model) {
                        match verdict {
                            Verdict::Same => drop(same.fetch_add(1, Ordering::Relaxed)),
                            Verdict::Refused => drop(refused.fetch_add(1, Ordering::Relaxed)),
                            Verdict::OursAlone => drop(ours.fetch_add(1, Ordering::Relaxed)),
                            Verdict::Different(why) => {
                                failures.lock().expect("no panic").push(format!("{case}: {why}"));
                            }
                        }
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no panic");
    failures.sort();
    let (same, refused, ours) = (same.into_inner(), refused.into_inner(), ours.into_inner());
    let summary = format!(
        "{same} answers the same, {refused} wrong questions refused, {ours} answered where the original died, {} different",
        failures.len()
    );
    assert!(failures.is_empty(), "{summary}\n{}", failures.iter().take(30).cloned().collect::<Vec<_>>().join("\n"));
    assert!(same > 0, "no view case below {}", root.display());
    #[allow(clippy::print_stdout)] // For `--nocapture`: what was compared.
    {
        println!("{summary}");
    }
}

fn run_model(dir: &Path) -> Vec<(String, Verdict)> {
    let text = read_maybe_gzipped(&dir.join("cases.json")).expect("a case file");
    let file: serde_json::Value = serde_json::from_slice(&text).expect("a case file");
    let mut loaded = case::Loaded::default();
    let cases = file["cases"].as_array().expect("a list of cases").iter().map(|value| Case::new(dir, value));
    let asked = cases.filter(|case| case.is_view() || case.is_export());
    let verdicts = asked.map(|case| (case.name(), case.run(&mut loaded))).collect();
    // Only models with checkpoints have it.
    let _ = std::fs::remove_dir_all(case::unpacked(dir));
    verdicts
}
