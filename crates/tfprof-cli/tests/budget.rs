//! No answer costs more than its files may: memory and work beyond that end with a sentence, in every part of the program.

#![cfg(unix)] // Needs `ulimit`.

use crate::common::scratch;
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
    put(dir.join("c.index"), &long_keys(8_000));
    refused("", &["checkpoint", "c"], &dir, "files of this size may take");
    let (code, err) = run("", &["checkpoint", "c", "--max_memory=4GB", "-output", "none"], &dir);
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
fn cells_that_any_spreadsheet_takes_for_formulas_are_text() {
    let dir = scratch("formulas");
    put(dir.join("graph.pb"), &[node("＝1+1", "＠SUM"), node("\n=2", "\t=3")].concat());
    let words = ["scope", "graph.pb", "-select", "occurrence,op_types", "-output", "csv:outfile=x.csv"];
    let (code, err) = run("", &words, &dir);
    let cells = std::fs::read_to_string(dir.join("x.csv")).expect("a table");
    assert_eq!(code, Some(0), "{err}");
    assert!(cells.contains("'＝1+1") && cells.contains("\"'\n=2\""), "{cells}");
}

/// Runs of `count` ops, each in a step of its own.
fn steps_of(count: i64) -> Vec<u8> {
    let events = |length: i64| -> Vec<u8> {
        (0..count).flat_map(|k| text(4, &[number(1, k + 1), number(2, 10 * k), number(3, length)].concat())).collect()
    };
    let line =
        |id: i64, name: &str, length: i64| text(3, &[number(1, id), text(2, name.as_bytes()), events(length)].concat());
    let meta = |k: i64| {
        text(4, &[number(1, k + 1), text(2, &[number(1, k + 1), text(2, k.to_string().as_bytes())].concat())].concat())
    };
    let metas: Vec<u8> = (0..count).flat_map(meta).collect();
    text(1, &[number(1, 2), text(2, b"/device:TPU:0"), line(1, "Steps", 9), line(2, "XLA Ops", 4), metas].concat())
}

#[test]
fn files_of_many_steps_are_told_in_a_few_lines() {
    let dir = scratch("many_steps");
    put(dir.join("host.xplane.pb"), &steps_of(50));
    let words = ["graph", "host.xplane.pb", "-output", "timeline:outfile=t.json"];
    let (code, err) = run("", &words, &dir);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.lines().count() < 15 && err.contains("wrote 40 more files"), "{err}");
}

#[test]
fn views_of_many_steps_are_counted() {
    let dir = scratch("counted_steps");
    put(dir.join("host.xplane.pb"), &steps_of(2_000));
    let words = ["graph", "host.xplane.pb", "-output", "timeline:outfile=t.json"];
    let (code, err) = run("", &words, &dir);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("--max_work"), "{err}");
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

/// The index of a bundle in one block. Each entry has the length of the prefix it shares, the rest of its key, and its value.
fn index(entries: &[(u64, &[u8], &[u8])]) -> Vec<u8> {
    let header = [number(1, 1), text(3, &number(1, 1))].concat();
    let entry = |&(shared, key, value): &(u64, &[u8], &[u8])| {
        let mut out = Vec::new();
        [shared, key.len() as u64, value.len() as u64].iter().for_each(|n| write::varint(&mut out, *n));
        [out.as_slice(), key, value].concat()
    };
    let mut table = Vec::new();
    let mut block = |entries: &[u8]| {
        let start = table.len();
        let content = [entries, &0_u32.to_le_bytes(), &1_u32.to_le_bytes(), &[0]].concat();
        let crc = crc32c::crc32c(&content).rotate_right(15).wrapping_add(0xa282_ead8);
        table.extend([&content[..], &crc.to_le_bytes()].concat());
        let mut handle = Vec::new();
        [start as u64, content.len() as u64 - 1].iter().for_each(|n| write::varint(&mut handle, *n));
        handle
    };
    let first: Vec<u8> = [(0, &b""[..], &header[..])].iter().chain(entries).flat_map(entry).collect();
    let first = block(&first);
    let meta = block(b"");
    let mut footer = [meta, block(&entry(&(0, b"\xff", &first)))].concat();
    footer.resize(40, 0);
    [&table[..], &footer, &[0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb]].concat()
}

/// An index with a long key, whose letters `n` more keys share.
fn long_keys(n: usize) -> Vec<u8> {
    let long = vec![b'a'; 4 * n];
    let tensor = [number(1, 1), text(2, &text(2, &number(1, 1))), number(5, 4)].concat();
    let rests: Vec<_> = (0..n).map(|i| format!("{i:05}")).collect();
    let others = rests.iter().map(|rest| (4 * n as u64, rest.as_bytes(), &tensor[..]));
    index(&[(0, &long[..], &tensor[..])].into_iter().chain(others).collect::<Vec<_>>())
}

/// A bundle of one tensor of floats, whose data is a hole.
fn bundle(dir: &Path, name: &str, shape: &[i64], size: u64) {
    let dims: Vec<u8> = shape.iter().flat_map(|dim| text(2, &number(1, *dim))).collect();
    let tensor = [number(1, 1), text(2, &dims), number(5, size as i64)].concat();
    put(dir.join(format!("{name}.index")), &index(&[(0, b"v", &tensor)]));
    let data = std::fs::File::create(dir.join(format!("{name}.data-00000-of-00001"))).expect("a file");
    data.set_len(size).expect("a file with a hole");
}

#[test]
fn one_text_that_many_events_name_is_charged() {
    let dir = scratch("one_text");
    let entry = |field: u32, id: i64, name: &[u8]| {
        text(field, &[number(1, id), text(2, &[number(1, id), text(2, name)].concat())].concat())
    };
    let long = ["a/".repeat(100_000).as_bytes(), b"x:MatMul"].concat();
    let event = |k: i64| {
        // Another ordinal each time, so that no event is like one before.
        let stats = [text(4, &[number(1, 1), number(7, 3)].concat()), text(4, &[number(1, 2), number(4, k)].concat())];
        text(4, &[number(1, 1), number(2, 9 * k), number(3, 3), stats.concat()].concat())
    };
    let line = [number(1, 1), (1..3_000).flat_map(event).collect()].concat();
    let names = [entry(5, 1, b"tf_op"), entry(5, 2, b"device_ordinal"), entry(5, 3, &long), entry(4, 1, b"kernel")];
    let plane = [number(1, 2), text(2, b"/device:GPU:0"), text(3, &line), names.concat()].concat();
    put(dir.join("h.xplane.pb"), &text(1, &plane));
    // A few hundred bytes for each event; to look at all of them takes 600 MB.
    refused("", &["info", "h.xplane.pb", "--max_work=5000000"], &dir, "--max_work");
}

#[test]
fn a_trace_that_many_nodes_name_is_looked_up_once() {
    let dir = scratch("one_trace");
    let fixed = |field: u32, n: u64| [&[(field << 3 | 1) as u8][..], &n.to_le_bytes()].concat();
    let frame = |k: u64| text(4, &[fixed(1, k), text(2, &number(2, k as i64))].concat());
    let frames: Vec<u8> = (1..2_000).flat_map(frame).collect();
    let ids: Vec<u8> = (1..2_000_u64).flat_map(u64::to_le_bytes).collect();
    let trace = text(6, &[fixed(1, 7), text(2, &text(2, &ids))].concat());
    let of_nodes: Vec<u8> =
        (0..2_000).flat_map(|k| text(5, &[text(1, format!("n{k}").as_bytes()), fixed(2, 7)].concat())).collect();
    let nodes: Vec<u8> = (0..2_000).flat_map(|k| node(&format!("n{k}"), "Add")).collect();
    let info = [text(1, "f".repeat(10_000).as_bytes()), frames, trace, of_nodes].concat();
    put(dir.join("g.pb"), &[nodes, text(5, &info)].concat());
    // Each frame costs a unit, and its name 625; four million of them were looked up before.
    let words = ["code", "g.pb", "-select", "params,float_ops", "-max_depth", "3", "--max_work=3000000"];
    let (code, err) = run("", &words, &dir);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn a_hole_of_twenty_gigabytes_weighs_nothing() {
    let dir = scratch("sparse");
    bundle(&dir, "c", &[5 << 20, 1 << 10], 20 << 30);
    for words in [&["--stats"][..], &["--verify"]] {
        refused("", &[&["checkpoint", "c"], words].concat(), &dir, "--max_work");
    }
    // Read in pieces: a fraction of the memory that the values take.
    for words in [&["--values", "v"][..], &["--values", "v[7:]"]] {
        refused("ulimit -v 200000;", &[&["checkpoint", "c"], words].concat(), &dir, "--max_work");
    }
    let (code, err) = run("", &["checkpoint", "c", "--values", "v[3:5,:4]"], &dir);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn a_state_file_is_followed_if_asked() {
    let dir = scratch("follow");
    std::fs::create_dir_all(dir.join("own")).expect("a directory");
    bundle(&dir, "other", &[2], 8);
    put(dir.join("own/checkpoint"), b"model_checkpoint_path: '../other'");
    for words in [&["checkpoint", "own"][..], &["checkpoint", "own/checkpoint"]] {
        refused("", words, &dir, "--follow");
        let (code, err) = run("", &[words, &["--follow"]].concat(), &dir);
        assert_eq!(code, Some(0), "{words:?}: {err}");
    }
}

#[test]
fn flags_take_names_that_are_not_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let dir = scratch("not_utf8");
    let name = std::ffi::OsStr::from_bytes(b"graph\xff.pb");
    put(dir.join(name), &node("a", "Add"));
    let joined = std::ffi::OsStr::from_bytes(b"--graph_path=graph\xff.pb");
    for words in [vec![joined], vec!["--graph_path".as_ref(), name], vec![name]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tfprof"));
        let output =
            command.args(["op", "-select", "occurrence"]).args(&words).current_dir(&dir).output().expect("a run");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {err}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("Add"), "{words:?}");
    }
    let outfile = std::ffi::OsStr::from_bytes(b"--outfile=\xff.json");
    let output = Command::new(env!("CARGO_BIN_EXE_tfprof")).arg("op").arg(name).arg(outfile).current_dir(&dir).output();
    assert_eq!(output.expect("a run").status.code(), Some(2));
}

#[test]
fn a_long_name_is_not_repeated_for_each_op() {
    let dir = scratch("repeated");
    put(dir.join("host.xplane.pb"), &long_plane(8_000));
    let (code, err) = run("ulimit -v 150000;", &["op", "--xspace_path=host.xplane.pb"], &dir);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn signals_leave_no_temporary_file() {
    let dir = scratch("signals");
    let graph: Vec<u8> = (0..200_000).flat_map(|i| node(&format!("a_rather_long_scope_{i}/node"), "Add")).collect();
    put(dir.join("graph.pb"), &graph);
    for signal in ["TERM", "INT", "HUP"] {
        let words =
            ["scope", "graph.pb", "-max_depth", "9", "-select", "occurrence", "-output", "json:outfile=out.json"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_tfprof"));
        let mut child = command.args(words).current_dir(&dir).stderr(Stdio::null()).spawn().expect("a process");
        let files = || std::fs::read_dir(&dir).expect("a directory").flatten().map(|entry| entry.file_name());
        // Wait until it writes, or is done.
        while files().count() < 2 && child.try_wait().expect("a process").is_none() {}
        let id = child.id().to_string();
        let _ = Command::new("kill").args(["-s", signal, &id]).stderr(Stdio::null()).status();
        child.wait().expect("a process");
        let left: Vec<_> = files().filter(|name| name != "graph.pb" && name != "out.json").collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
        let _ = std::fs::remove_file(dir.join("out.json"));
    }
}

#[test]
fn a_stream_that_is_busy_is_waited_for() {
    let dir = scratch("busy");
    let graph: Vec<u8> = (0..20_000).flat_map(|i| node(&format!("scope_{i}/node"), "Add")).collect();
    put(dir.join("graph.pb"), &graph);
    // Perl makes the pipe non-blocking for all who share it; the reader starts late.
    let script = "use Fcntl; fcntl(STDOUT, F_SETFL, O_NONBLOCK | O_WRONLY); exec @ARGV";
    let line = format!("perl -e '{script}' \"$0\" \"$@\" | (sleep 0.3; wc -c)");
    let words = ["scope", "graph.pb", "-max_depth", "9", "-select", "occurrence", "-output", "json:outfile=-"];
    let mut command = Command::new("bash");
    command.args(["-c", &format!("set -o pipefail; {line}"), env!("CARGO_BIN_EXE_tfprof")]).args(words);
    let output = command.current_dir(&dir).output().expect("a shell");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    let whole: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
    assert!(whole > 1_000_000, "{whole}: {err}");
}

#[test]
fn an_answer_is_not_lost_in_a_closed_stream() {
    let dir = scratch("closed");
    put(dir.join("graph.pb"), &node("a", "Add"));
    let words = ["op", "graph.pb", "-select", "occurrence"];
    refused("exec >&-;", &words, &dir, "standard output: cannot write: it is closed");
    let (code, err) = run("exec >&-;", &[&words[..], &["-output", "json:outfile=out.json"]].concat(), &dir);
    assert_eq!((code, dir.join("out.json").is_file()), (Some(0), true), "{err}");
}
