//! The real pprof opens our profiles and shows our totals.
//!
//! It comes with Go. Where that is missing the test says so and passes, unless `TFPROF_NEEDS_TOOLS` is set, as
//! `make test-tools` does.

use crate::common::{corpus, scratch, tfprof};
use std::path::Path;
use std::process::Command;

/// What `pprof -top` says of a profile: the total, and the own number of each function.
fn top(profile: &Path, metric: &str) -> (i64, Vec<(String, i64)>) {
    let unit = if metric.contains("micros") { "-unit=us" } else { "-unit=B" };
    let output = Command::new("go")
        .args(["tool", "pprof", "-top", "-nodefraction=0", "-nodecount=1000000", unit])
        .arg(format!("-sample_index={metric}"))
        .arg(profile)
        .output()
        .expect("go");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let number = |word: &str| -> i64 {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse().unwrap_or_else(|_| panic!("{word} in\n{text}"))
    };
    let summary = text.lines().find(|line| line.contains(" total")).unwrap_or_else(|| panic!("{text}"));
    let total = summary.split_whitespace().rev().nth(1).map(number).expect("a total");
    let rows = text.lines().skip_while(|line| !line.contains("flat%")).skip(1);
    let rows = rows.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[5..].join(" "), number(words[0]))
    });
    (total, rows.collect())
}

#[test]
fn the_totals_of_pprof_are_ours() {
    if Command::new("go").arg("version").output().is_err() {
        assert!(std::env::var_os("TFPROF_NEEDS_TOOLS").is_none(), "go is missing");
        #[allow(clippy::print_stderr)] // A test that did not run must not look as if it had.
        {
            eprintln!("SKIPPED: go is not installed, so pprof was not asked; make test-tools installs it");
        }
        return;
    }
    let dir = scratch("pprof");
    for model in ["mlp_small", "gpu_synthetic"] {
        for view in ["scope", "graph", "op", "code"] {
            for more in [&["-max_depth", "1000"][..], &["-max_depth", "4", "-hide_name_regexes", ".*grad.*"]] {
                let file = dir.join(format!("{model}.{view}.gz"));
                let output = format!("pprof:outfile={}", file.display());
                let metrics = "micros,bytes,params,accelerator_micros";
                let path = corpus(model);
                let question = [&[view, &path, "-select", metrics], more].concat();
                let written = tfprof(&[&question[..], &["-output", &output]].concat());
                assert_eq!(written.code, 0, "{}", written.err);
                let answer = tfprof(&[&question[..], &["-output", "json:outfile=-"]].concat());
                let json: serde_json::Value = serde_json::from_str(&answer.out).expect("JSON");
                let rows = json["rows"].as_array().expect("rows");
                for metric in metrics.split(',') {
                    let key = if metric == "bytes" { "requested_bytes" } else { metric };
                    let root = rows[0]["total"][key].as_i64().expect("a total");
                    let (total, functions) = top(&file, metric);
                    assert_eq!(total, root, "{model} {view} {more:?} {metric}");
                    // pprof names no root; what is only in its total has no function.
                    let sum: i64 = functions.iter().map(|(_, own)| own).sum();
                    assert!(sum <= total, "{model} {view} {more:?} {metric}");
                    for row in rows.iter().skip(1).filter(|_| view == "op") {
                        let own = row["self"][key].as_i64().expect("a number");
                        let name = row["name"].as_str().expect("a name");
                        let found = functions.iter().find(|(function, _)| function == name);
                        assert_eq!(found.map_or(0, |(_, own)| *own), own, "{model} {name} {metric}");
                    }
                }
            }
        }
    }
}
