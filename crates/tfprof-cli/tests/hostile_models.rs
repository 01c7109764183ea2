//! Models of Keras, ONNX and TensorFlow Lite, and files of weights, that are small and ask for much: an answer within a few
//! steps for each byte, or one sentence. Steps are counted, so no clock is needed.

#![cfg(unix)] // Needs `ulimit` and `mkfifo`.

use crate::common::scratch;
use std::path::Path;
use std::process::{Command, Stdio};
use tfprof::internal::part::{Packed, Partial, PartialFacts, Recording, steps::StepSet};
use tfprof_proto::write;

fn text(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write::element(&mut out, number, content);
    out
}

fn number(number: u32, n: i64) -> Vec<u8> {
    let mut out = Vec::new();
    write::int(&mut out, number, n);
    out
}

/// The exit code, the answer and the messages of a command about a file of these bytes, in an address space of `megabytes`.
fn ask(test: &str, (name, content): (&str, &[u8]), megabytes: u64, words: &[&str]) -> (Option<i32>, String, String) {
    let dir = scratch(test);
    std::fs::write(dir.join(name), content).expect("room for a file");
    ask_in(&dir, megabytes, &[words, &[name]].concat())
}

fn ask_in(dir: &Path, megabytes: u64, words: &[&str]) -> (Option<i32>, String, String) {
    let script = format!("ulimit -v {}; exec timeout -s KILL 100 \"$0\" \"$@\"", megabytes << 10);
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_tfprof")]).args(words).current_dir(dir).stdin(Stdio::null());
    let output = command.output().expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn refused(outcome: (Option<i32>, String, String), option: &str) {
    let (code, _, err) = outcome;
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains(option) && err.lines().count() == 1, "{err}");
}

fn answered(outcome: (Option<i32>, String, String), expect: &str) {
    let (code, out, err) = outcome;
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains(expect), "{out}");
}

// ---- Keras

const INPUT: &str =
    r#"{"class_name":"InputLayer","name":"in","config":{"name":"in","batch_input_shape":[null,4]},"inbound_nodes":[]}"#;

fn dense(name: &str, read: &str) -> String {
    format!(
        r#"{{"class_name":"Dense","name":"{name}","config":{{"name":"{name}","units":4}},"inbound_nodes":[[["{read}",0,0,{{}}]]]}}"#
    )
}

fn functional(layers: &str, output: &str) -> String {
    format!(
        r#"{{"class_name":"Functional","config":{{"name":"m","layers":[{layers}],"input_layers":[["in",0,0]],"output_layers":[["{output}",0,0]]}}}}"#
    )
}

#[test]
fn layers_are_looked_at_once_in_any_order() {
    let n = 3000;
    let name = |k: usize| if k == 0 { "in".to_owned() } else { format!("d{k}") };
    let layers: Vec<String> = (1..=n).rev().map(|k| dense(&name(k), &name(k - 1))).collect();
    let model = functional(&format!("{},{INPUT}", layers.join(",")), &name(n));
    let words = ["cost", "--max_work", "200000"];
    answered(ask("reversed_layers", ("m.json", model.as_bytes()), 1000, &words), "(60,000): 60.00k trainable");
}

#[test]
fn layers_that_wait_for_each_other_are_named() {
    let layers = [INPUT.to_owned(), dense("a", "b"), dense("b", "a"), dense("c", "in")].join(",");
    let (code, _, err) = ask("waiting_layers", ("m.json", functional(&layers, "c").as_bytes()), 1000, &["cost"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("the layer `a` waits for `b`"), "{err}");
}

#[test]
fn a_config_of_tiny_objects_is_refused_before_it_fills_the_memory() {
    let objects = vec![r#"{"":{"":{}}}"#; 300_000].join(",");
    let model = functional(&format!("{INPUT},{objects}"), "in");
    refused(ask("tiny_objects", ("m.json", model.as_bytes()), 400, &["cost"]), "--max_memory");
}

#[test]
fn old_keys_do_not_double_what_they_hold() {
    let mut config = "1".to_owned();
    for _ in 0..40 {
        config = format!(r#"{{"class_name":"Dense","config":{{"nb_filter":{config},"output_dim":4}}}}"#);
    }
    let layers = format!("{INPUT},{}", dense("d", "in").replace("\"units\":4", &format!("\"units\":4,\"p\":{config}")));
    answered(ask("old_keys", ("m.json", functional(&layers, "d").as_bytes()), 400, &["cost"]), "20: 20 trainable");
}

// ---- HDF5

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u16).to_le_bytes()[..], &[0], body].concat()
}

/// Appends an object of the second version; returns its address.
fn object(file: &mut Vec<u8>, messages: &[Vec<u8>]) -> u64 {
    let (at, body) = (file.len() as u64, messages.concat());
    file.extend([b"OHDR\x02\x02", &(body.len() as u32).to_le_bytes()[..], &body, &[0; 4]].concat());
    at
}

fn link(name: &str, to: u64) -> Vec<u8> {
    message(6, &[&[1, 0, name.len() as u8], name.as_bytes(), &to.to_le_bytes()].concat())
}

const FLOAT: [u8; 20] = [0x11, 0x20, 0x1f, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0];

fn dataset(file: &mut Vec<u8>) -> u64 {
    let space = message(1, &[2, 1, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0]);
    let layout = message(8, &[&[3, 1][..], &[0xff; 8], &16_u64.to_le_bytes()].concat());
    object(file, &[space, message(3, &FLOAT), layout])
}

fn finished(mut file: Vec<u8>, root: u64) -> Vec<u8> {
    let end = file.len() as u64;
    let addresses = [0, u64::MAX, end, root].map(u64::to_le_bytes).concat();
    file[..44].copy_from_slice(&[b"\x89HDF\r\n\x1a\n\x02\x08\x08\0", &addresses[..]].concat());
    file
}

#[test]
fn groups_within_groups_stop_at_the_limit_and_not_long_after() {
    let mut file = vec![0; 48];
    let mut at = dataset(&mut file);
    for _ in 0..12_000 {
        at = object(&mut file, &[link("a", at), link("b", at)]);
    }
    let words = ["checkpoint", "--max_memory", "30M"];
    let (code, _, err) = ask("doubled_groups", ("w.h5", &finished(file, at)), 1000, &words);
    assert_eq!(code, Some(1), "{err}");
    // The sentence says how much it took: a little more than the limit.
    let needed = err.split("more than ").nth(1).and_then(|rest| rest.split("MB").next()?.parse::<f64>().ok());
    assert!(needed.is_some_and(|needed| (30.0..33.0).contains(&needed)), "{err}");
}

#[test]
fn messages_that_are_read_again_are_counted() {
    let mut file = vec![0; 48];
    let owner = object(&mut file, &[vec![message(0, b""); 8000].concat(), message(3, &FLOAT)]);
    let space = message(1, &[2, 1, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0]);
    let layout = message(8, &[&[3, 1][..], &[0xff; 8], &16_u64.to_le_bytes()].concat());
    let mut shared = message(3, &[&[2, 0][..], &owner.to_le_bytes()].concat());
    shared[3] = 2;
    let links: Vec<_> = (0..8000)
        .map(|k| {
            let at = object(&mut file, &[space.clone(), shared.clone(), layout.clone()]);
            link(&format!("d{k}"), at)
        })
        .collect();
    let root = object(&mut file, &links);
    refused(ask("shared_messages", ("w.h5", &finished(file, root)), 1000, &["checkpoint"]), "--max_work");
}

// ---- ONNX

fn onnx_node(op: &str, parts: &[Vec<u8>]) -> Vec<u8> {
    [text(1, b"x"), text(2, b"y"), text(4, op.as_bytes()), parts.concat()].concat()
}

fn onnx(nodes: &[Vec<u8>], more: &[Vec<u8>]) -> Vec<u8> {
    let value = |name: &str| [text(1, name.as_bytes()), text(2, &text(1, &number(1, 1)))].concat();
    let nodes: Vec<u8> = nodes.iter().flat_map(|node| text(1, node)).collect();
    let graph = [nodes, text(2, b"g"), text(11, &value("x")), text(12, &value("y"))].concat();
    [number(1, 8), text(2, b"test"), text(7, &graph), text(8, &number(2, 18)), more.concat()].concat()
}

#[test]
fn an_attribute_that_is_handed_on_is_stored_once() {
    // One list of integers, and ten thousand nodes that stand for it.
    let list: Vec<u8> = [text(1, b"a"), (0..40_000).flat_map(|n| number(8, n)).collect()].concat();
    let handed = text(5, &[text(1, b"b"), text(21, b"a")].concat());
    let node = onnx_node("Relu", &vec![handed; 10_000]);
    let function = [text(1, b"f"), text(4, b"x"), text(5, b"y"), text(7, &node), text(10, b"own"), text(11, &list)];
    let model = onnx(&[onnx_node("f", &[text(7, b"own")])], &[text(25, &function.concat())]);
    // A copy for each would take three gigabytes.
    answered(ask("handed_attribute", ("m.onnx", &model), 400, &["cost"]), "FLOPs");
}

#[test]
fn a_pipe_beside_a_model_is_not_opened() {
    let entry = |key: &str, value: &str| text(13, &[text(1, key.as_bytes()), text(2, value.as_bytes())].concat());
    let weight = [number(1, 2), number(2, 7), text(8, b"w"), entry("location", "pipe")].concat();
    let node = [text(1, b"x"), text(1, b"w"), text(2, b"y"), text(4, b"Reshape")].concat();
    let value = |name: &str| [text(1, name.as_bytes()), text(2, &text(1, &number(1, 1)))].concat();
    let graph =
        [text(1, &node), text(2, b"g"), text(5, &weight), text(11, &value("x")), text(12, &value("y"))].concat();
    let model = [number(1, 8), text(2, b"test"), text(7, &graph)].concat();
    let dir = scratch("pipe_beside_a_model");
    std::fs::write(dir.join("m.onnx"), model).expect("room for a file");
    assert!(Command::new("mkfifo").arg(dir.join("pipe")).status().expect("mkfifo").success());
    let (code, _, err) = ask_in(&dir, 1000, &["cost", "m.onnx"]);
    assert_eq!(code, Some(0), "{err}");
}

// ---- names

#[test]
fn names_of_tensors_are_escaped_in_json() {
    let index = "{\"a\u{2028}b\u{202e}c\u{7f}\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    let content = [&(index.len() as u64).to_le_bytes()[..], index.as_bytes(), &[0; 4]].concat();
    let words = ["checkpoint", "--format=json"];
    let (code, out, err) = ask("separators", ("w.safetensors", &content), 1000, &words);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains(r"a\u2028b\u202ec\u007f"), "{out}");
}

// ---- Reports

#[test]
fn a_report_of_deep_scopes_is_as_large_as_they_are() {
    let scopes = vec!["s"; 31_000].join("/");
    let graph = text(1, &[text(1, scopes.as_bytes()), text(2, b"Conv2D")].concat());
    // Each row of a page names the rows around it: 480 MB of names.
    let outcome = ask("deep_report", ("deep.pb", &graph), 400, &["scope", "-output", "report:outfile=x.html"]);
    let (code, _, err) = outcome;
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("left out for its size: rows of the scope view"), "{err}");
}

#[test]
fn a_report_stays_within_the_memory_that_its_files_pay_for() {
    let reader = |k: usize| {
        let node = [text(1, format!("n{k}").as_bytes()), text(2, b"Add"), text(3, format!("no{k}:{k}").as_bytes())];
        text(1, &node.concat())
    };
    let graph: Vec<u8> = (0..10_000).flat_map(reader).collect();
    // All rows at once are 30 MB of JSON values: a copy of them would not fit.
    let (code, _, err) = ask("wide_report", ("g.pb", &graph), 95, &["web", "-output", "report:outfile=x.html"]);
    assert_eq!(code, Some(0), "{err}");
}

// ---- Lists that tables of a model share

#[test]
fn outputs_that_each_call_lists_again_are_counted() {
    let n = 1_500;
    let name = |k: usize| [text(1, format!("y{k}").as_bytes()), number(3, 1)].concat();
    let arg = text(2, &[text(1, b"x"), number(3, 1)].concat());
    let outputs: Vec<u8> = (0..n).flat_map(|k| text(3, &name(k))).collect();
    let body = text(3, &[text(1, b"r"), text(2, b"Identity"), text(3, b"x")].concat());
    let ret = |k: usize| text(4, &[text(1, format!("y{k}").as_bytes()), text(2, b"r:output:0")].concat());
    let function = [text(1, &[text(1, b"f"), arg, outputs].concat()), body, (0..n).flat_map(ret).collect()].concat();
    let call = |k: usize| {
        let of = text(5, &[text(1, b"f"), text(2, &text(10, &text(1, b"f")))].concat());
        text(1, &[text(1, format!("c{k}").as_bytes()), text(2, b"PartitionedCall"), text(3, b"p"), of].concat())
    };
    let calls: Vec<u8> = (0..n).flat_map(call).collect();
    let graph =
        [text(1, &[text(1, b"p"), text(2, b"Placeholder")].concat()), calls, text(2, &text(1, &function))].concat();
    let words = ["op", "-group_by", "shapes", "-select", "occurrence"];
    refused(ask("many_outputs", ("g.pb", &graph), 1000, &words), "--max_work");
}

// ---- Partials

#[test]
fn a_partial_takes_room_for_its_rows_alone() {
    let event = |k: usize| {
        format!(
            r#"{{"ph":"X","cat":"cpu_op","name":"aten::op{k}","pid":1,"tid":1,"ts":{k},"dur":9000.5,"args":{{"External id":{k}}}}}"#
        )
    };
    let events: Vec<String> = (0..8_000).map(event).collect();
    let trace = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(",\n"));
    let file = ("a.pt.trace.json", trace.as_bytes());
    answered(ask("part_rows", file, 1000, &["save", "--partial", "-outfile=x.part", "--max_memory=80MB"]), "");
    answered(ask("part_rows", file, 1000, &["fleet", "--max_memory=80MB"]), "aten::op");
}

#[test]
fn steps_that_a_partial_claims_are_counted() {
    // A block that would unpack to two hundred times its size, if anyone did.
    let mut noise = 7_u64;
    let mut random = || {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (noise >> 56) as u8
    };
    let mut claimed: Vec<u8> = (0..100_000).map(|_| random()).collect();
    claimed.resize(18_000_000, 0);
    let recording = Recording { host: "host".to_owned(), ..Recording::default() };
    let about = PartialFacts {
        per_micro: Some(1_000_000),
        is_trace: true,
        steps: StepSet::new((0..2_000_000).collect()),
        ..PartialFacts::default()
    };
    let id = recording.id();
    let partial = Partial {
        about,
        recordings: [(id, recording)].into(),
        blocks: [(id, Packed::new(&claimed))].into(),
        ..Partial::default()
    };
    let file = ("x.part", &partial.to_bytes()[..]);
    refused(ask("part_steps", file, 400, &["op"]), "--max_memory");
}
