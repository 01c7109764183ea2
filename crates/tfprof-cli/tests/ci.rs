//! The steps of `ci/`, run as a pipeline would: in a temporary repository, with a pull request that adds a layer.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The text of `ci/FILE`.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci").join(name);
    std::fs::read_to_string(path).expect("a file of ci/")
}

/// The shell of the step with the line `mark`: what is indented below `start`.
fn script(text: &str, mark: &str, start: &str) -> String {
    let after: Vec<&str> = text.lines().skip_while(|line| !line.contains(mark)).collect();
    let at = after.iter().position(|line| line.trim_start().ends_with(start)).expect("a script");
    let indent = after[at + 1].len() - after[at + 1].trim_start().len();
    let body = after[at + 1..].iter().take_while(|line| line.starts_with(&" ".repeat(indent)));
    body.map(|line| &line[indent..]).collect::<Vec<_>>().join("\n")
}

/// A repository with a model on its main branch, and a branch that has one more layer.
fn repository(dir: &Path) {
    let variable = |name: &str, size: usize| {
        let shape = format!("attr {{ key: 'shape' value {{ shape {{ dim {{ size: {size} }} }} }} }}");
        format!("node {{ name: '{name}' op: 'VariableV2' {shape} }}\n")
    };
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(dir).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
        let done = command.output().expect("git");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("a file");
    git(&["init", "-q", "-b", "main"]);
    write("model.pbtxt", &(variable("dense/kernel", 1000) + &variable("dense/bias", 10)));
    write("budget.toml", "max_params = \"+2 %\"\n[scope.'dense']\nmax_params = 1010\n");
    git(&["add", "."]);
    git(&["commit", "-qm", "A model"]);
    std::fs::create_dir(dir.join("base")).expect("a directory");
    std::fs::copy(dir.join("model.pbtxt"), dir.join("base/model.pbtxt")).expect("a copy");
    git(&["checkout", "-qb", "more"]);
    write(
        "model.pbtxt",
        &(variable("dense/kernel", 1000) + &variable("dense/bias", 10) + &variable("head/kernel", 300)),
    );
    git(&["commit", "-qam", "Add a layer"]);
}

fn run(dir: &Path, script: &str, after: &str) -> (i32, String) {
    let done = Command::new("sh")
        .current_dir(dir)
        .args(["-c", script])
        .env("TFPROF", env!("CARGO_BIN_EXE_tfprof"))
        .env("BEFORE", "base/model.pbtxt")
        .env("AFTER", after)
        .env("BUDGET", "budget.toml")
        .env("VIEW", "scope")
        .env("GITHUB_STEP_SUMMARY", dir.join("summary.md"))
        .output()
        .expect("sh");
    (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&done.stdout).into_owned())
}

#[test]
fn a_pull_request_that_adds_a_layer_over_budget_fails() {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ci_repository");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a scratch directory");
    repository(&dir);
    let steps =
        [script(&file("github/action.yml"), "name: Compare", "run: |"), script(&file("gitlab.yml"), "script:", "- |")];
    for step in steps {
        let (code, report) = run(&dir, &step, "model.pbtxt");
        assert_eq!(code, 3, "{report}");
        assert!(report.contains("`head/kernel`") && report.contains("**over budget**"), "{report}");
        assert!(report.contains("| the whole model | params | 1,010 | 1,310 | 1,030 | 280 |"), "{report}");
        assert!(!report.contains("| dense | params"), "the other limit is kept: {report}");
        let (code, report) = run(&dir, &step, "base/model.pbtxt");
        assert!(code == 0 && report.contains("budget: all limits are kept"), "{report}");
    }
    assert!(std::fs::read_to_string(dir.join("summary.md")).expect("a summary").contains("head/kernel"));
}
