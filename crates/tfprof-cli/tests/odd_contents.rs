//! Files that are whole and say what cannot be: names that act, inputs of nothing, clocks that run
//! backwards. Each is answered, and a warning names the place; what is damaged inside is said to be.

use crate::common::{Answer, corpus, scratch, tfprof};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tfprof_proto::write;

fn written(dir: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = dir.join(name);
    std::fs::write(&path, content).expect("room for a file");
    path.display().to_string()
}

fn run(records: &str) -> String {
    format!("step_stats {{ dev_stats {{ device: '/cpu:0' {records} }} }}")
}

/// An answer with just these warnings, one line each, in their order; `code` is the exit code.
fn warned(words: &[&str], code: i32, expected: &[&str]) -> Answer {
    let answer = tfprof(words);
    assert_eq!(answer.code, code, "{words:?}: {}", answer.err);
    let lines: Vec<&str> = answer.err.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{words:?}: {}", answer.err);
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with("tfprof: warning: ") && line.contains(expected), "{expected:?} in {line:?}");
    }
    answer
}

#[test]
fn inputs_that_name_nothing() {
    let dir = scratch("no_such_input");
    let graph =
        "node { name: 'a' op: 'A' } node { name: 'b' op: 'B' input: 'ghost:1' input: '^a' input: '' input: 'b' }";
    let graph = written(&dir, "graph.pbtxt", graph);
    let reads =
        ["graph.pbtxt: `b` reads `ghost`, and there is no such node", "`b` reads ``, and there is no such node"];
    let answer = warned(&["graph", &graph, "-select", "params"], 0, &reads);
    assert!(answer.out.contains("\n  b (0/0 params)\n"), "{}", answer.out);
}

#[test]
fn clocks_that_cannot_be_right() {
    let dir = scratch("clocks");
    let records = "node_stats { node_name: 'back' all_start_micros: 1700000000000000 op_end_rel_micros: -3 } \
                   node_stats { node_name: 'ahead' all_start_micros: 17500000000000000 op_end_rel_micros: 3 } \
                   node_stats { node_name: 'long' all_start_micros: 5 op_end_rel_micros: 15778476000000000 } \
                   node_stats { node_name: 'none' all_start_micros: -5 op_end_rel_micros: 3 }";
    let file = written(&dir, "run_meta_1", run(records));
    let expected = [
        "a record of `back` ends 3us before it starts",
        "a record of `ahead` starts in the year 2524",
        "a record of `long` lasts 500 years",
        "a record of `none` has no start time",
    ];
    warned(&["op", &file, "-select", "micros"], 0, &expected);
    for words in
        [&["graph", "-output", "timeline:outfile=-"][..], &["trace", "--outfile=-"], &["trace", "--show_memory"]]
    {
        let answer = tfprof(&[words, &[&file]].concat());
        assert!(answer.code == 0 && serde_json::from_str::<Value>(&answer.out).is_ok(), "{words:?}: {}", answer.err);
    }
}

#[test]
fn counts_below_zero_and_past_the_limit() {
    let dir = scratch("counts");
    let records = "node_stats { node_name: 'a' all_start_micros: 9 op_end_rel_micros: 3 \
                   memory { allocator_name: 'cpu' total_bytes: -7 peak_bytes: -8 } }";
    let file = written(&dir, "run_meta_1", run(records));
    let expected = ["a record of `a` has -7 requested bytes", "a record of `a` has -8 peak bytes"];
    warned(&["op", &file, "-select", "bytes"], 0, &expected);

    let variable = |name: &str| {
        let shape = "shape { dim { size: 4294967296 } dim { size: 2147483648 } }";
        format!("node {{ name: '{name}' op: 'VariableV2' attr {{ key: 'shape' value {{ {shape} }} }} }} ")
    };
    let graph = written(&dir, "graph.pbtxt", variable("v") + &variable("w"));
    let log = written(&dir, "tfprof_log.pbtxt", "log_entries { name: 'v' float_ops: -5 }");
    let limit = "the sum of params is larger than any number that fits, and stays at the limit";
    warned(&["scope", &graph, "-select", "params"], 0, &[limit]);
    warned(&["cost", &graph], 0, &[limit]);
    warned(&["scope", &graph, &log, "-select", "float_ops"], 0, &["tfprof_log.pbtxt: byte 0: `v` has -5 FLOPs"]);
}

/// A graph of names that do something to whoever shows them raw.
fn evil_graph(dir: &Path) -> PathBuf {
    let names: [&[u8]; 7] = [
        b"\x1b[31mred",
        b"two\nlines",
        b"nul\0",
        b"\xff\xfe",
        b"<script>alert(1)</script>&\"'",
        b"g\x07/h\x1b]0;t\x07",
        b"b",
    ];
    let mut graph = Vec::new();
    for name in names {
        let mut node = Vec::new();
        write::bytes(&mut node, 1, name);
        write::bytes(&mut node, 2, b"Const");
        write::bytes(&mut graph, 1, &node);
        // And once more, to be warned of.
        write::bytes(&mut graph, 1, &node);
    }
    PathBuf::from(written(dir, "graph.pb", graph))
}

#[test]
fn names_that_act_end_no_line_and_run_no_script() {
    let dir = scratch("evil_names");
    // The file is recognized, although only its last node has an ordinary name.
    let graph = evil_graph(&dir).display().to_string();
    let answer = tfprof(&["scope", &graph, "-select", "occurrence", "-output", "none"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.err.lines().all(|line| line.starts_with("tfprof: warning: ")), "{}", answer.err);
    assert!(!answer.err.contains(|c: char| c.is_control() && c != '\n'), "{:?}", answer.err);
    assert!(answer.err.contains("there is a node `two\\nlines` already"), "{}", answer.err);
    for form in ["html", "flamegraph", "json", "speedscope", "timeline", "folded"] {
        let file = format!("{form}:outfile=-");
        let answer = tfprof(&["scope", &graph, "-select", "occurrence", "-output", &file]);
        assert_eq!(answer.code, 0, "{form}: {}", answer.err);
        assert!(!answer.out.contains(|c: char| c < ' ' && c != '\n'), "{form}: {:?}", answer.out);
        match form {
            "html" | "flamegraph" => assert!(!answer.out.contains("<script>alert"), "{form}"),
            "folded" => {}
            _ => drop(serde_json::from_str::<Value>(&answer.out).expect("JSON")),
        }
    }
}

/// A record in which a length runs past its end, between two that are fine.
fn damaged_inside(record: u32, first: impl Fn(&mut Vec<u8>, &str), inner: u8) -> Vec<u8> {
    let mut file = Vec::new();
    for name in ["a", "b", "c"] {
        let mut bytes = Vec::new();
        first(&mut bytes, name);
        if name == "b" {
            bytes.extend_from_slice(&[inner << 3 | 2, 0x7f, 1]);
        }
        write::bytes(&mut file, record, &bytes);
    }
    file
}

#[test]
fn damage_inside_a_record_is_reported_and_the_rest_is_read() {
    let dir = scratch("inside");
    let named = |bytes: &mut Vec<u8>, name: &str| {
        write::bytes(bytes, 1, name.as_bytes());
        write::bytes(bytes, 2, b"Const");
    };
    let graph = written(&dir, "graph.pb", damaged_inside(1, named, 5));
    let logged = |bytes: &mut Vec<u8>, name: &str| {
        write::bytes(bytes, 1, name.as_bytes());
        write::int(bytes, 2, 5);
    };
    let log = written(&dir, "tfprof_log", damaged_inside(1, logged, 4));
    let ran = |bytes: &mut Vec<u8>, name: &str| {
        write::bytes(bytes, 1, name.as_bytes());
        write::int(bytes, 2, 5);
        write::int(bytes, 4, 5);
    };
    let (mut device, mut step, mut file) = (Vec::new(), Vec::new(), Vec::new());
    write::bytes(&mut device, 1, b"/cpu:0");
    device.extend_from_slice(&damaged_inside(2, ran, 6));
    write::bytes(&mut step, 1, &device);
    write::bytes(&mut file, 1, &step);
    let run = written(&dir, "run_meta_0", file);

    let damaged = "the record that begins here is damaged (length 127 runs past the end";
    let answer = warned(&["scope", &graph, "-select", "params"], 4, &[&format!("graph.pb: byte 14: {damaged}")]);
    assert!(answer.out.contains("\n  a ") && answer.out.contains("\n  b ") && answer.out.contains("\n  c "));
    warned(&["scope", &run, "-select", "bytes"], 4, &[damaged]);
    warned(&["op", &run, "-select", "micros", "--graph_path", &graph, "--op_log_path", &log], 4, &[damaged; 3]);
    let strict = tfprof(&["scope", &graph, "--strict"]);
    assert_eq!((strict.code, strict.out.as_str()), (1, ""), "{}", strict.err);
}

#[test]
fn every_answer_in_json_has_the_warnings() {
    let dir = scratch("json_warnings");
    let whole = std::fs::read(corpus("odd_inputs/truncated.pb.gz")).expect("a corpus file");
    let graph = written(&dir, "graph.pb.gz", whole);
    let index = std::fs::read(corpus("mlp_small/model.ckpt.index.gz")).expect("a corpus file");
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&index[..]), &mut plain).expect("a whole file");
    // With less data than the index names.
    written(&dir, "model.ckpt.index", plain);
    written(&dir, "model.ckpt.data-00000-of-00001", [0; 300]);
    let checkpoint = dir.join("model.ckpt").display().to_string();
    for (command, file) in [
        ("scope", &graph),
        ("graph", &graph),
        ("op", &graph),
        ("cost", &graph),
        ("info", &graph),
        ("checkpoint", &checkpoint),
    ] {
        let answer = tfprof(&[command, file, "--format=json", "--outfile=-"]);
        assert_eq!(answer.code, 4, "{command}: {}", answer.err);
        let json: Value = serde_json::from_str(&answer.out).expect("JSON");
        let warnings = json["warnings"].as_array().expect("a list");
        let damage = |warning: &&Value| warning["code"].as_str().is_some_and(|code| code.starts_with("damaged"));
        let warning = warnings.iter().find(damage).unwrap_or_else(|| panic!("{command}: {warnings:?}"));
        assert!(warning["file"].as_str().is_some_and(|file| !file.is_empty()), "{command}: {warning}");
        assert!(warning["message"].as_str().is_some_and(|text| answer.err.contains(text)), "{command}: {warning}");
    }
}

fn message(number: u32, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    write::bytes(&mut out, number, &parts.concat());
    out
}

fn int(number: u32, n: i64) -> Vec<u8> {
    let mut out = Vec::new();
    write::int(&mut out, number, n);
    out
}

/// A node of a saved profile that took so long in each of two steps.
fn saved_node(id: i64, name: &str, micros: i64) -> Vec<u8> {
    let text = |number, text: &str| message(number, &[text.as_bytes().to_vec()]);
    let ran = |step: i64| {
        let mut time = Vec::new();
        write::packed(&mut time, 1, &[100 * step, micros]);
        let times = message(5, &[text(1, "/cpu:0"), message(2, &[message(1, &[time])])]);
        let step_of = [int(1, 1), int(2, 100 * step), int(3, 100 * step + micros), times, text(6, "/cpu:0")];
        message(12, &[int(1, step), message(2, &step_of)])
    };
    let node = [text(1, name), text(6, "/cpu:0"), text(9, "Add"), ran(1), ran(2)];
    message(1, &[int(1, id), message(2, &node)])
}

#[test]
fn a_node_that_a_saved_profile_has_twice_has_its_steps_once() {
    let dir = scratch("twice");
    let nodes = [saved_node(1, "a", 10), saved_node(2, "b", 7), saved_node(3, "a", 4)];
    let profile = written(&dir, "a.profile", nodes.concat());
    let flag = format!("--profile_path={profile}");
    // Two steps of 10 and 4 microseconds, whether steps are summed as they come or kept.
    for words in [&["scope", "-select", "micros"][..], &["scope", "-select", "micros", "-step", "2"]] {
        let answer = tfprof(&[words, &[flag.as_str()]].concat());
        assert!(answer.out.contains("  a (14us/14us"), "{words:?}: {}{}", answer.out, answer.err);
        assert!(answer.out.contains("  b (7us/7us"), "{words:?}: {}", answer.out);
    }
}

#[test]
fn damage_inside_a_saved_node_or_a_call_stack_is_reported() {
    let dir = scratch("inside_saved");
    // Each ends in a field whose length runs past the message around it.
    let cut = vec![0x0a, 0x7f, 1];
    let name = |number, name: &str| message(number, &[name.as_bytes().to_vec()]);
    let node = message(1, &[int(1, 9), message(2, &[name(1, "c"), name(9, "Add"), cut.clone()])]);
    let profile = written(&dir, "a.profile", [saved_node(1, "a", 10), node].concat());
    let damaged = "is damaged (length 127 runs past the end";
    let answer = warned(&["scope", "-select", "micros", &format!("--profile_path={profile}")], 4, &[damaged]);
    assert!(answer.out.contains("  a (10us/10us"), "{}", answer.out);

    let mut graph = Vec::new();
    for node in ["a", "b"] {
        graph.extend(message(1, &[name(1, node), name(2, "Add")]));
    }
    let graph = written(&dir, "graph.pb", graph);
    let frame = message(1, &[int(2, 7), int(6, 1), int(7, 1)]);
    let entry = |node: &str, code: &[Vec<u8>]| message(1, &[name(1, node), message(4, code)]);
    let string = message(2, &[int(1, 1), name(2, "model.py")]);
    let log = [entry("a", &[frame.clone(), cut]), entry("b", &[frame]), string].concat();
    let log = written(&dir, "tfprof_log", log);
    let answer = warned(&["code", "-select", "params", "--graph_path", &graph, "--op_log_path", &log], 4, &[damaged]);
    assert!(answer.out.contains("model.py:7:model.py"), "{}", answer.out);
}

#[test]
fn a_saved_model_without_a_version_is_recognized() {
    let dir = scratch("no_version");
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/dense_save/saved_model.pb.gz");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&model).expect("a model");
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut bytes).expect("gzip");
    assert_eq!(bytes[..2], [0x08, 0x01], "the version comes first");
    let cost = |path: &str| tfprof(&["cost", path, "--format=json"]).out;
    let expected = cost(&written(&dir, "whole.pb", &bytes));
    assert!(expected.contains("\"parameters\":676"), "{expected}");
    for name in ["versionless.pb", "saved_model.pb"] {
        assert_eq!(cost(&written(&dir, name, &bytes[2..])), expected, "{name}");
    }
}

#[test]
fn a_library_of_functions_is_no_graph() {
    let dir = scratch("library");
    let mut bytes = Vec::new();
    write::message(&mut bytes, 2, |library| {
        for name in ["inner", "outer"] {
            write::message(library, 1, |function| {
                write::message(function, 1, |signature| write::bytes(signature, 1, name.as_bytes()));
            });
        }
    });
    let file = written(&dir, "library.pb", &bytes);
    let says = "library.pb: the graph has no nodes, only a library of 2 functions that nothing calls";
    warned(&["op", &file, "-select", "params"], 0, &[says]);
    let answer = tfprof(&["cost", &file]);
    assert_eq!(answer.code, 1);
    assert!(answer.err.contains(says), "{}", answer.err);
}

#[test]
fn files_that_stand_for_others_are_named() {
    let dir = scratch("stand_ins");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab\nsize 98765\n";
    let named = |words: &[&str], expected: &str| {
        let answer = tfprof(words);
        assert!(answer.code == 1 && answer.err.contains(expected), "{words:?}: {}", answer.err);
    };
    let lfs = "this is a git-LFS pointer to a file of 98765 bytes, not the file; fetch it with `git lfs pull`";
    let graph = written(&dir, "graph.pb", pointer);
    named(&["op", &graph], lfs);
    named(&["op", &format!("--graph_path={graph}")], lfs);
    named(&["op", &dir.display().to_string()], lfs);
    let chunks = dir.join("chunks");
    std::fs::create_dir(&chunks).expect("room");
    let head = [0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0];
    let split = written(&chunks, "saved_model.cpb", head);
    named(&["cost", &split], "this is a message that TensorFlow split into chunks");
    named(&["cost", &chunks.display().to_string()], "this is a message that TensorFlow split into chunks");
}
