//! Output targets through the real binary: inputs are never overwritten, links are followed, terminals get no control codes.

#![cfg(unix)] // Needs symbolic links and permissions.

use crate::common::{corpus, scratch, tfprof};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of a small model, plain, in a directory of their own.
fn model(test: &str) -> PathBuf {
    let dir = scratch(test);
    for name in
        ["graph.pb", "run_meta_0", "run_meta_5", "tfprof_log", "model.ckpt.index", "model.ckpt.data-00000-of-00001"]
    {
        let packed = std::fs::File::open(corpus(&format!("mlp_small/{name}.gz"))).expect("a corpus file");
        let mut file = std::fs::File::create(dir.join(name)).expect("a file");
        std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut file).expect("room for a file");
    }
    dir
}

fn at(dir: &Path, name: &str) -> String {
    dir.join(name).display().to_string()
}

#[test]
fn no_file_that_is_read_is_written() {
    let dir = model("inputs_stay");
    symlink(&dir, dir.join("here")).expect("a link");
    symlink(dir.join("graph.pb"), dir.join("link.pb")).expect("a link");
    let whole = at(&dir, "");
    let (graph, run, ckpt) = (at(&dir, "graph.pb"), at(&dir, "run_meta_0"), at(&dir, "model.ckpt"));
    let index = at(&dir, "model.ckpt.index");
    let data = at(&dir, "model.ckpt.data-00000-of-00001");
    let (here, link) = (at(&dir, "here/graph.pb"), at(&dir, "link.pb"));
    let log = at(&dir, "tfprof_log");
    let check = |words: &[&str], target: &str| {
        let before = std::fs::read(target).expect("an input");
        let answer = tfprof(&[words, &["--outfile", target]].concat());
        assert_eq!(answer.code, 2, "{words:?} to {target}: {}", answer.err);
        assert!(answer.err.contains("is one of the inputs and would be overwritten"), "{words:?}: {}", answer.err);
        assert_eq!(std::fs::read(target).expect("an input"), before, "{words:?} to {target}");
    };
    for target in [&graph, &run, &log, &here, &link] {
        check(&["scope", &whole, "--format=json"], target);
        check(&["save", &whole], target);
    }
    check(&["trace", &run], &run);
    check(&["cost", &graph, "--format=json"], &graph);
    check(&["cost", &graph, "--format=json", "--baseline", &link], &link);
    check(&["info", &graph, "--format=json"], &graph);
    check(&["advise", &whole, "--format=file"], &graph);
    for part in [&index, &data] {
        check(&["checkpoint", &ckpt, "--format=json"], part);
        check(&["scope", &graph, "--checkpoint_path", &ckpt, "--format=json"], part);
    }
    // Several timelines have names of their own.
    let target = format!("timeline:outfile={}", at(&dir, "run_meta"));
    let answer = tfprof(&["graph", &whole, "-original_quirks", "-output", &target]);
    assert!(answer.code == 2 && answer.err.contains("run_meta_0 is one of the inputs"), "{}", answer.err);
    // Standard input may be a file, too.
    let line = format!("{} scope - --format=json --outfile={graph} < {graph}", env!("CARGO_BIN_EXE_tfprof"));
    let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn another_name_of_an_input_leaves_the_input_alone() {
    let dir = model("hard_link");
    let (graph, other) = (at(&dir, "graph.pb"), at(&dir, "other.pb"));
    std::fs::hard_link(&graph, &other).expect("a link");
    let before = std::fs::read(&graph).expect("an input");
    let answer = tfprof(&["scope", &graph, "--format=json", "--outfile", &other]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert_eq!(std::fs::read(&graph).expect("an input"), before);
    assert_eq!(std::fs::read(&other).expect("an answer")[0], b'{');
}

#[test]
fn links_lead_to_files_that_are_made_and_modes_are_kept() {
    let dir = model("links");
    let graph = at(&dir, "graph.pb");
    symlink("second", dir.join("first")).expect("a link");
    symlink("new.json", dir.join("second")).expect("a link");
    let answer = tfprof(&["scope", &graph, "--format=json", "--outfile", &at(&dir, "first")]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(dir.join("first").is_symlink() && dir.join("second").is_symlink());
    assert!(dir.join("new.json").is_file() && !dir.join("new.json").is_symlink());
    std::fs::set_permissions(dir.join("new.json"), std::fs::Permissions::from_mode(0o600)).expect("our file");
    assert_eq!(tfprof(&["op", &graph, "--format=json", "--outfile", &at(&dir, "first")]).code, 0);
    assert_eq!(std::fs::metadata(dir.join("new.json")).expect("a file").permissions().mode() & 0o777, 0o600);
    symlink("round", dir.join("round")).expect("a link");
    let answer = tfprof(&["scope", &graph, "--format=json", "--outfile", &at(&dir, "round")]);
    assert_eq!((answer.code, answer.err.lines().count()), (1, 1), "{}", answer.err);
    assert!(answer.err.contains("cannot write: it is a link that leads to itself"), "{}", answer.err);
    let left: Vec<_> = std::fs::read_dir(&dir).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains(".tmp")), "{left:?}");
}

#[test]
fn a_terminal_by_another_name_gets_no_control_codes() {
    let dir = scratch("terminal_by_name");
    let graph = at(&dir, "graph.pbtxt");
    std::fs::write(&graph, "node { name: 'a\\033]0;title\\007' op: 'A' }").expect("a file");
    for device in ["/dev/stdout", "/dev/stderr", "/dev/tty"] {
        let line =
            format!("{} scope {graph} -select params -output file:outfile={device}", env!("CARGO_BIN_EXE_tfprof"));
        let record = at(&dir, "typescript");
        let status = Command::new("script").args(["-qec", &line, &record]).stdout(std::process::Stdio::null()).status();
        assert!(status.expect("script, of util-linux").success());
        let shown = String::from_utf8_lossy(&std::fs::read(&record).expect("a record")).into_owned();
        assert!(shown.contains("a\\x1b]0;title\\x07 ("), "{device}: {shown:?}");
    }
}
