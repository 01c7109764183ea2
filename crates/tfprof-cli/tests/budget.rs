//! No answer costs more than its files may: memory and work beyond that end with a sentence, in every part of the program.

#![cfg(unix)] // Needs `ulimit`.

#[allow(dead_code)]
mod common;

use common::scratch;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tfprof_proto::write;

fn text(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write::bytes(&mut out, number, content);
    out
}

fn number(number: u32, n: i64) -> Vec<u8> {
    let mut out = Vec::new();
    write::int(&mut out, number, n);
    out
}

fn node(name: &str, op: &str) -> Vec<u8> {
    text(1, &[text(1, name.as_bytes()), text(2, op.as_bytes())].concat())
}

fn put(path: PathBuf, content: &[u8]) -> PathBuf {
    std::fs::write(&path, content).expect("room for a file");
    path
}

/// The exit code and the messages of a command, run by a shell after `before`.
fn run(before: &str, words: &[&str], dir: &Path) -> (Option<i32>, String) {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} exec timeout -s KILL 100 \"$0\" \"$@\""), env!("CARGO_BIN_EXE_tfprof")]);
    let output = command.args(words).current_dir(dir).stdin(Stdio::null()).output().expect("a shell");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn refused(before: &str, words: &[&str], dir: &Path, option: &str) {
    let (code, err) = run(before, words, dir);
    assert_eq!(code, Some(1), "{words:?}: {err}");
    assert!(err.contains(option) && err.lines().count() == 1, "{words:?}: {err}");
}

/// A plane with a long name and as many ops: each op names its device.
fn long_plane(n: i64) -> Vec<u8> {
    let mut plane = [number(1, 2), text(2, format!("/device:GPU:{}", "0".repeat(5 * n as usize)).as_bytes())].concat();
    let mut line = number(1, 1);
    for id in 1..n {
        line.extend(text(4, &[number(1, id), number(2, 5 * id), number(3, 3)].concat()));
        let meta = [number(1, id), text(2, format!("k{id}").as_bytes())].concat();
        plane.extend(text(4, &[number(1, id), text(2, &meta)].concat()));
    }
    plane.extend(text(3, &line));
    text(1, &plane)
}

#[test]
fn memory_is_limited_by_the_size_of_the_files() {
    let dir = scratch("by_size");
    put(dir.join("host.xplane.pb"), &long_plane(8_000));
    refused("", &["op", "--xspace_path=host.xplane.pb"], &dir, "files of this size may take");
    let (code, err) = run("", &["op", "--xspace_path=host.xplane.pb", "--max_memory=4GB", "-output", "none"], &dir);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn limits_apply_to_every_part() {
    let dir = scratch("parts");
    let graph: Vec<u8> = (0..20_000).flat_map(|i| node(&format!("scope_{i}/node"), "Add")).collect();
    put(dir.join("graph.pb"), &graph);
    put(dir.join("host.xplane.pb"), &long_plane(2_000));
    for words in [&["scope", "graph.pb"][..], &["cost", "graph.pb"], &["op", "host.xplane.pb"], &["info", "graph.pb"]] {
        refused(
            "",
            &[words, &["--max_memory=1MB"]].concat(),
            &dir,
            "the limit is 1.00MB; allow more with --max_memory",
        );
    }
    refused("", &["cost", "graph.pb", "--max_work=5000"], &dir, "the limit is 5000; allow more with --max_work");
    let json = ["scope", "graph.pb", "-select", "occurrence", "-output", "json:outfile=out.json", "--max_work=15000"];
    refused("", &json, &dir, "--max_work");
    let left: Vec<_> = std::fs::read_dir(&dir).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 2, "an answer that is refused leaves no file: {left:?}");
}

#[test]
fn a_small_address_space_is_a_sentence() {
    let dir = scratch("address_space");
    let graph: Vec<u8> = (0..400_000).flat_map(|i| node(&format!("a_rather_long_scope_{i}/node"), "Add")).collect();
    put(dir.join("graph.pb"), &graph);
    for kilobytes in [60_000, 80_000, 100_000] {
        let (code, err) =
            run(&format!("ulimit -v {kilobytes};"), &["scope", "graph.pb", "-select", "occurrence"], &dir);
        assert_eq!(code, Some(1), "{kilobytes}: {err}");
        assert!(err.contains("memory") && err.lines().count() == 1, "{kilobytes}: {err}");
    }
}

#[test]
fn deep_scopes_do_not_fill_the_disk() {
    let dir = scratch("output");
    put(dir.join("graph.pb"), &node(&("s/".repeat(30_000) + "leaf"), "Const"));
    let words = ["scope", "--graph_path=graph.pb", "-max_depth", "100000", "-select", "occurrence"];
    refused("", &[&words[..], &["-output", "json:outfile=/dev/null"]].concat(), &dir, "--max_work");
}

#[test]
fn many_hosts_need_few_open_files() {
    let dir = scratch("hosts");
    let run_dir = dir.join("logs/plugins/profile/run");
    std::fs::create_dir_all(&run_dir).expect("a directory");
    for host in 0..200 {
        put(run_dir.join(format!("h{host}.xplane.pb")), &long_plane(3));
    }
    let (code, err) = run("ulimit -n 32;", &["op", "logs"], &dir);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn a_state_file_leads_nowhere_else() {
    let dir = scratch("state");
    std::fs::create_dir_all(dir.join("own")).expect("a directory");
    put(dir.join("other.index"), b"whatever");
    for name in ["../other".to_owned(), dir.join("other").display().to_string()] {
        put(dir.join("own/checkpoint"), format!("model_checkpoint_path: '{name}'").as_bytes());
        refused("", &["checkpoint", "own"], &dir, "outside its directory");
    }
}

#[test]
fn a_name_of_255_bytes_can_be_written() {
    let dir = scratch("long_name");
    put(dir.join("graph.pb"), &node("a", "A").repeat(3));
    let name = format!("{}.json", "n".repeat(250));
    let output = format!("json:outfile={name}");
    let (code, err) = run("", &["scope", "graph.pb", "-select", "occurrence", "-output", &output], &dir);
    assert_eq!(code, Some(0), "{err}");
    assert!(dir.join(name).is_file());
}

#[test]
fn warnings_of_a_kind_are_counted() {
    let dir = scratch("counted");
    let frame = |i: usize| text(5, &[text(1, b"frame_name"), text(2, &text(2, format!("f{i}").as_bytes()))].concat());
    let enter = |i: usize| [text(1, format!("e{i}").as_bytes()), text(2, b"Enter"), text(3, b"p"), frame(i)].concat();
    let graph: Vec<u8> = (0..1000).flat_map(|i| text(1, &enter(i))).chain(node("p", "Placeholder")).collect();
    put(dir.join("graph.pb"), &graph);
    let (code, err) = run("", &["cost", "--graph_path=graph.pb"], &dir);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.lines().count() < 15 && err.contains("more warnings like the last `trip_count`"), "{err}");
}
