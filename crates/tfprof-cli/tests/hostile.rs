//! Shapes that no one draws and that files have all the same, through the real binary with a small stack, bounded memory
//! and a watchdog: an answer or one sentence, never a crash.

#![cfg(unix)] // Needs `ulimit`.

use crate::common::scratch;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tfprof_proto::write;

/// How an answer ended.
struct End {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs `tfprof` with a stack of 1 MB and so much memory as an answer about these files may take: some for itself and
/// a multiple of their size. A memory that runs out, a hang and a crash all end without an exit code of ours.
fn bounded(words: &[&str], files: &[&Path]) -> End {
    let size: u64 = files.iter().map(|file| std::fs::metadata(file).expect("a file").len()).sum();
    let kilobytes = (128 << 10) + 20 * size / 1024;
    // The stack of the process, and those of its threads.
    let script =
        format!("ulimit -s 1024; ulimit -v {kilobytes}; RUST_MIN_STACK=1048576 exec timeout -s KILL 100 \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_tfprof")]).args(words).args(files);
    let output = command.output().expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    End { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn answered(words: &[&str], files: &[&Path], expect: &str) {
    let end = bounded(words, files);
    let shown = || end.out.chars().take(600).collect::<String>();
    assert_eq!(end.code, Some(0), "{words:?}: {}\n{}", end.err, shown());
    assert!(end.out.contains(expect), "{words:?}: expected {expect:?} in\n{}", shown());
}

/// A file made of pieces, for which there may not be room at once.
fn file(path: PathBuf, fill: impl FnOnce(&mut dyn Write)) -> PathBuf {
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path).expect("a file"));
    fill(&mut out);
    out.flush().expect("room for a file");
    path
}

fn node(name: &str, op: &str, inputs: impl Iterator<Item = String>) -> Vec<u8> {
    let mut node = Vec::new();
    write::bytes(&mut node, 1, name.as_bytes());
    write::bytes(&mut node, 2, op.as_bytes());
    inputs.for_each(|input| write::bytes(&mut node, 3, input.as_bytes()));
    let mut record = Vec::new();
    write::bytes(&mut record, 1, &node);
    record
}

#[test]
fn a_million_nodes_in_one_chain() {
    let dir = scratch("chain");
    let graph = file(dir.join("graph.pb"), |out| {
        for i in 0..1_000_000_u32 {
            let input = i.checked_sub(1).map(|before| format!("n{before}"));
            out.write_all(&node(&format!("n{i}"), "Add", input.into_iter())).expect("room");
        }
    });
    let graph = [graph.as_path()];
    answered(&["graph", "-max_depth", "4", "-select", "params"], &graph, "n999998");
    answered(&["graph", "-max_depth", "2000000", "-select", "occurrence", "-show_name_regexes", "n7"], &graph, "n7 ");
    answered(&["op", "-select", "occurrence"], &graph, "Add");
    answered(&["scope", "-max_depth", "1"], &graph, "_TFProfRoot");
}

#[test]
fn a_node_with_a_million_inputs() {
    let dir = scratch("inputs");
    let graph = file(dir.join("graph.pb"), |out| {
        out.write_all(&node("sink", "AddN", (0..1_000_000).map(|i| format!("source_{}:{i}", i % 1000)))).expect("room");
        for i in 0..1000 {
            out.write_all(&node(&format!("source_{i}"), "Const", std::iter::empty())).expect("room");
        }
    });
    answered(&["graph", "-max_depth", "5", "-select", "params,input_shapes"], &[&graph], "source_999");
    answered(&["op", "-select", "occurrence"], &[&graph], "AddN");
}

#[test]
fn scopes_a_hundred_thousand_deep() {
    let dir = scratch("scopes");
    let name = "s/".repeat(100_000) + "leaf";
    let graph =
        file(dir.join("graph.pb"), |out| out.write_all(&node(&name, "Const", std::iter::empty())).expect("room"));
    // The first record is longer than what is looked at to tell formats apart.
    answered(&["scope", "-max_depth", "3", "-select", "params", "--graph_path"], &[&graph], "\n    s/s");
    answered(&["op", "-select", "occurrence", "--graph_path"], &[&graph], "Const");
}

#[test]
fn text_nested_a_million_deep() {
    let dir = scratch("nesting");
    let known = file(dir.join("known.pbtxt"), |out| {
        out.write_all(b"node { name: 'a' op: 'A' attr { key: 'k' value { ").expect("room");
        (0..500_000).for_each(|_| out.write_all(b"func { attr { key: 'k' value { ").expect("room"));
        (0..500_000).for_each(|_| out.write_all(b"} } } ").expect("room"));
        out.write_all(b"} } }").expect("room");
    });
    answered(&["op", "-select", "occurrence"], &[&known], "A");
    let unknown = file(dir.join("unknown.pbtxt"), |out| {
        out.write_all(b"node { name: 'a' op: 'A' } node { name: 'b' op: 'B' mystery { ").expect("room");
        (0..1_000_000).for_each(|_| out.write_all(b"a { ").expect("room"));
    });
    let end = bounded(&["op", "-select", "occurrence"], &[&unknown]);
    assert!(matches!(end.code, Some(1 | 4)) && end.err.contains("unknown.pbtxt:1:"), "{:?}: {}", end.code, end.err);
}

#[test]
fn functions_and_loops_that_call_themselves() {
    let dir = scratch("cycles");
    let function = |name: &str, node: &str| {
        let signature = "input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT }";
        format!(
            "function {{ signature {{ name: '{name}' {signature} }} node_def {{ name: 'r' {node} input: 'x' }} \
             ret {{ key: 'y' value: 'r:output:0' }} }} "
        )
    };
    let attribute = |key: &str, name: &str| format!("attr {{ key: '{key}' value {{ func {{ name: '{name}' }} }} }} ");
    let fed = "node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } \
               attr { key: 'shape' value { shape { dim { size: 2 } } } } } ";
    let round = |op: &str| format!("op: '{op}' {}{}", attribute("cond", "cond"), attribute("body", "body"));
    let loops = format!(
        "{fed} node {{ name: 'w' {} input: 'p' }} library {{ {}{} }}",
        round("While"),
        function("body", &round("StatelessWhile")),
        function("cond", &round("While")),
    );
    let calls = format!(
        "{fed} node {{ name: 'w' op: 'PartitionedCall' input: 'p' {} }} library {{ {}{}{} }}",
        attribute("f", "f"),
        function("f", "op: 'g'"),
        function("g", &format!("op: 'StatefulPartitionedCall' {}", attribute("f", "h"))),
        function("h", "op: 'f'"),
    );
    for (text, name) in [(loops, "body"), (calls, "f")] {
        let graph = file(dir.join("graph.pbtxt"), |out| out.write_all(text.as_bytes()).expect("room"));
        let expected = format!("the function `{name}` calls itself; calls to it are not expanded and count as unknown");
        let questions: [&[&str]; 5] =
            [&["cost"], &["scope", "-select", "float_ops"], &["graph", "-max_depth", "100"], &["op"], &["info"]];
        for words in questions {
            let end = bounded(words, &[&graph]);
            assert_eq!(end.code, Some(0), "{words:?}: {}", end.err);
            assert!(end.err.lines().count() == 1 && end.err.contains(&expected), "{words:?}: {}", end.err);
        }
    }
}

#[test]
fn calls_a_hundred_thousand_deep_and_twice_as_many_at_each_level() {
    let dir = scratch("calls");
    let call = |name: &str, input: &str, of: usize| {
        let function = format!("attr {{ key: 'f' value {{ func {{ name: 'f{of}' }} }} }}");
        format!("name: '{name}' op: 'PartitionedCall' input: '{input}' {function}")
    };
    let signature = "input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT }";
    let graph = |name: &str, depth: usize, twice: bool| {
        file(dir.join(name), |out| {
            let mut text = "node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } \
                            attr { key: 'shape' value { shape { dim { size: 2 } dim { size: 2 } } } } } "
                .to_owned();
            text += &format!("node {{ {} }} library {{ ", call("call", "p", 0));
            for i in 0..depth {
                let first = if twice { format!("node_def {{ {} }}", call("l", "x", i + 1)) } else { String::new() };
                let second = call("r", if twice { "l:output:0" } else { "x" }, i + 1);
                text += &format!(
                    "function {{ signature {{ name: 'f{i}' {signature} }} {first} node_def {{ {second} }} \
                     ret {{ key: 'y' value: 'r:output:0' }} }} "
                );
            }
            let last =
                "node_def { name: 'r' op: 'MatMul' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }";
            let ret = "ret { key: 'y' value: 'r:product:0' }";
            text += &format!("function {{ signature {{ name: 'f{depth}' {signature} }} {last} {ret} }} }}");
            out.write_all(text.as_bytes()).expect("room");
        })
    };
    let deep = graph("deep.pbtxt", 100_000, false);
    answered(&["scope", "-max_depth", "2", "-select", "float_ops"], &[&deep], "_TFProfRoot (--/16 flops)");
    // As many products as no number holds, in a file of a few kilobytes.
    let wide = graph("wide.pbtxt", 64, true);
    let end = bounded(&["cost"], &[&wide]);
    assert_eq!(end.code, Some(0), "{}", end.err);
    assert!(end.err.contains("the sum of float_ops is larger than any number that fits"), "{}", end.err);
}

#[test]
fn endless_input_is_refused_early() {
    for flag in
        ["--graph_path", "--run_meta_path", "--op_log_path", "--profile_path", "--xspace_path", "--checkpoint_path"]
    {
        let end = bounded(&["scope", flag, "/dev/zero"], &[]);
        assert_eq!((end.code, end.err.lines().count()), (Some(1), 1), "{flag}: {}", end.err);
    }
    for command in ["scope", "graph", "op", "code", "cost", "advise", "info", "trace", "checkpoint"] {
        let end = bounded(&[command, "/dev/zero"], &[]);
        assert_eq!((end.code, end.err.lines().count()), (Some(1), 1), "{command}: {}", end.err);
    }
}

#[test]
fn call_stacks_of_a_hundred_thousand_frames() {
    let dir = scratch("frames");
    let graph = file(dir.join("graph.pb"), |out| {
        for name in ["a", "b"] {
            out.write_all(&node(name, "Op", std::iter::empty())).expect("room");
        }
    });
    let log = file(dir.join("tfprof_log"), |out| {
        for (last, name) in ["a", "b"].iter().enumerate() {
            let mut code = Vec::new();
            for line in 1..=100_000 {
                let mut frame = Vec::new();
                write::int(&mut frame, 2, line + i64::from(line == 100_000) * last as i64);
                write::int(&mut frame, 6, 1);
                write::int(&mut frame, 7, 1);
                write::bytes(&mut code, 1, &frame);
            }
            let (mut entry, mut record) = (Vec::new(), Vec::new());
            write::bytes(&mut entry, 1, name.as_bytes());
            write::bytes(&mut entry, 4, &code);
            write::bytes(&mut record, 1, &entry);
            out.write_all(&record).expect("room");
        }
        let (mut string, mut record) = (Vec::new(), Vec::new());
        write::int(&mut string, 1, 1);
        write::bytes(&mut string, 2, b"deep.py");
        write::bytes(&mut record, 2, &string);
        out.write_all(&record).expect("room");
    });
    let (graph, log) = (format!("--graph_path={}", graph.display()), [log.as_path()]);
    answered(&["code", &graph, "-max_depth", "5", "-select", "params"], &log, "deep.py:1:deep.py");
    answered(
        &["code", &graph, "-max_depth", "200000", "-select", "params", "-show_name_regexes", "deep.py:10000[01].*"],
        &log,
        "deep.py:100001",
    );
}

#[test]
fn gzip_bombs_stop_growing() {
    let dir = scratch("bombs");
    let pack = |name: &str, piece: &[u8], times: usize| {
        file(dir.join(name), |out| {
            let mut packer = flate2::write::GzEncoder::new(out, flate2::Compression::best());
            (0..times).for_each(|_| packer.write_all(piece).expect("room"));
            packer.finish().expect("room");
        })
    };
    let zeros = pack("graph_zeros.pb.gz", &vec![0; 1 << 20], 300);
    let end = bounded(&["op", "--graph_path"], &[&zeros]);
    assert_eq!(end.code, Some(1), "{}", end.err);
    assert!(end.err.contains("graph_zeros.pb.gz: byte 0: not a GraphDef"), "{}", end.err);
    // Records that are fine, but all the same.
    let piece = node("same", "Const", std::iter::empty()).repeat(10_000);
    let same = pack("graph_same.pb.gz", &piece, 1200);
    let end = bounded(&["op", "-select", "occurrence"], &[&same]);
    assert_eq!(end.code, Some(4), "{}", end.err);
    assert!(end.err.contains("it unpacks to more than ") && end.out.contains("Const"), "{}\n{}", end.err, end.out);
    let end = bounded(&["op", "-select", "occurrence", "--max_unpacked", "1GB"], &[&same]);
    assert_eq!((end.code, end.out.contains("Const")), (Some(0), true), "{}", end.err);
}

#[test]
fn sums_past_the_limit_stay_there_and_say_so() {
    let dir = scratch("limit");
    let run = "step_stats { dev_stats { device: '/cpu:0' \
               node_stats { node_name: 'a' all_start_micros: 1 op_end_rel_micros: 9223372036854775807 } \
               node_stats { node_name: 'b' all_start_micros: 4611686018427387904 op_end_rel_micros: 5 } \
               node_stats { node_name: 'c' all_start_micros: 15768000000000000 op_end_rel_micros: 9223372036854775807 } \
               node_stats { node_name: 'd' all_start_micros: 7 op_end_rel_micros: -5 } } }";
    let run = file(dir.join("run_meta_0"), |out| {
        out.write_all(run.as_bytes()).expect("room");
    });
    let end = bounded(&["scope", "-select", "micros"], &[&run]);
    assert_eq!(end.code, Some(0), "{}", end.err);
    assert!(end.err.contains("the sum of micros is larger than any number that fits"), "{}", end.err);
    assert!(end.out.contains("9223372036854.78sec"), "{}", end.out);
}

#[test]
fn memory_that_is_refused_is_a_sentence() {
    let dir = scratch("memory");
    let graph = file(dir.join("graph.pb"), |out| {
        for i in 0..400_000_u32 {
            out.write_all(&node(&format!("a_rather_long_scope/n{i}"), "Add", std::iter::empty())).expect("room");
        }
    });
    let end = bounded(&["op", "--max_memory=10MB"], &[&graph]);
    assert_eq!(end.code, Some(1), "{}", end.err);
    assert!(
        end.err.contains("the limit is 10.00MB") && end.err.contains("--max_memory") && end.err.lines().count() == 1,
        "{}",
        end.err
    );
    answered(&["op", "-select", "occurrence", "--max_memory=4GB"], &[&graph], "Add");
}

fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write::bytes(&mut out, number, content);
    out
}

fn number(number: u32, n: i64) -> Vec<u8> {
    let mut out = Vec::new();
    write::int(&mut out, number, n);
    out
}

#[test]
fn a_node_on_two_hundred_thousand_devices() {
    let dir = scratch("devices");
    let graph = file(dir.join("graph.pb"), |out| {
        out.write_all(&node("a", "Add", std::iter::empty())).expect("room");
    });
    let execution = [field(1, b"a"), number(2, 100), number(4, 1), number(6, 5)].concat();
    for kind in ["device:GPU:0", "cpu:0", "tpu"] {
        let run = file(dir.join("run_0.pb"), |out| {
            for i in 0..200_000 {
                let device = format!("/job:worker/task:{i}/{kind}");
                let stats = [field(1, device.as_bytes()), field(2, &execution)].concat();
                out.write_all(&field(1, &field(1, &stats))).expect("room");
            }
        });
        let files = [graph.as_path(), run.as_path()];
        answered(&["op", "-select", "micros,occurrence"], &files, "Add");
        answered(
            &["scope", "-select", "micros", "-account_type_regexes", "Add,.*task:7/.*"],
            &files,
            "a (200.00ms/200.00ms",
        );
    }
}

#[test]
fn a_node_with_a_hundred_thousand_types() {
    let dir = scratch("types");
    let graph = file(dir.join("graph.pb"), |out| {
        out.write_all(&node("a", "Add", std::iter::empty())).expect("room");
    });
    let types = || (0..100_000).map(|i| field(3, format!("type_{i}").as_bytes()));
    let in_one_entry = file(dir.join("one.oplog"), |out| {
        let entry = field(1, b"a").into_iter().chain(types().flatten()).collect::<Vec<_>>();
        out.write_all(&field(1, &entry)).expect("room");
    });
    let in_many = file(dir.join("many.oplog"), |out| {
        types().for_each(|ty| out.write_all(&field(1, &[field(1, b"a"), ty].concat())).expect("room"));
    });
    for log in [in_one_entry, in_many] {
        let words = ["scope", "-select", "occurrence", "-account_type_regexes", "type_99999"];
        let (graph_path, log_path) = (path_flag("graph", &graph), path_flag("op_log", &log));
        let words: Vec<_> = words.into_iter().chain([graph_path.as_str(), log_path.as_str()]).collect();
        let end = bounded(&words, &[]);
        assert_eq!(end.code, Some(0), "{}", end.err);
        assert!(end.out.contains("  a ("), "{}", end.out);
    }
}

fn path_flag(kind: &str, path: &Path) -> String {
    format!("--{kind}_path={}", path.display())
}

#[test]
fn one_node_of_many_in_fifty_thousand_steps() {
    let dir = scratch("steps");
    let profile = file(dir.join("a.profile"), |out| {
        for i in 0..100_000 {
            let node = [field(1, format!("n{i}").as_bytes()), field(9, b"Add")].concat();
            out.write_all(&field(1, &[number(1, i + 1), field(2, &node)].concat())).expect("room");
        }
        let mut node = [field(1, b"often"), field(6, b"/cpu:0"), field(9, b"Mul")].concat();
        for step in 0..50_000 {
            let mut times = Vec::new();
            write::packed(&mut times, 1, &[100 + step, 5]);
            let times = field(2, &field(1, &times));
            let ran = [number(1, 1), number(2, 100 + step), number(3, 105 + step)].concat();
            let ran = [ran, field(5, &[field(1, b"/cpu:0"), times].concat()), field(6, b"/cpu:0")].concat();
            node.extend(field(12, &[number(1, step), field(2, &ran)].concat()));
        }
        out.write_all(&field(1, &[number(1, 200_000), field(2, &node)].concat())).expect("room");
    });
    let flag = path_flag("profile", &profile);
    let saved = format!("--outfile={}", dir.join("again.profile").display());
    let asked: [&[&str]; 5] = [
        &["scope", "-min_micros", "1"],
        &["scope", "-min_micros", "1", "-step", "49999"],
        &["info"],
        &["advise"],
        &["save", &saved],
    ];
    for words in asked {
        let end = bounded(&[words, &[flag.as_str()]].concat(), &[&profile]);
        assert_eq!(end.code, Some(0), "{words:?}: {}", end.err);
        assert!(end.out.contains("5us") || !matches!(words[0], "scope" | "info"), "{words:?}: {}", end.out);
    }
    let again = dir.join("again.profile");
    answered(&["scope", "-min_micros", "1"], &[&again], "often (5us/5us");
}

#[test]
fn everything_reads_everything() {
    let dir = scratch("dense");
    let graph = file(dir.join("graph.pb"), |out| {
        for i in 0..500 {
            let all = (0..500).map(|source| format!("n{source}"));
            out.write_all(&node(&format!("n{i}"), "AddN", all)).expect("room");
        }
    });
    answered(&["cost"], &[&graph], "AddN");
    answered(&["graph", "-max_depth", "3", "-select", "float_ops"], &[&graph], "n0");
}

#[test]
fn a_timeline_of_a_node_that_reads_everything() {
    let dir = scratch("fan_in");
    let graph = file(dir.join("graph.pb"), |out| {
        for i in 0..100_000 {
            out.write_all(&node(&format!("n{i}"), "Const", std::iter::empty())).expect("room");
        }
        out.write_all(&node("sink", "AddN", (0..100_000).map(|i| format!("n{i}")))).expect("room");
    });
    let run = file(dir.join("run_0.pb"), |out| {
        let devices = ["/gpu:0", "/cpu:0"].map(|device| {
            let mut stats = field(1, device.as_bytes());
            let names = (0..100_000).map(|i| format!("n{i}")).chain(std::iter::repeat_n("sink".to_owned(), 100));
            for (i, name) in names.enumerate().filter(|(i, _)| (i % 2 == 0) == (device == "/gpu:0") || *i >= 100_000) {
                let execution =
                    [field(1, name.as_bytes()), number(2, 100 + i as i64), number(4, 1), number(6, 2)].concat();
                stats.extend(field(2, &execution));
            }
            field(1, &stats)
        });
        out.write_all(&field(1, &devices.concat())).expect("room");
    });
    let timeline = format!("timeline:outfile={}", dir.join("timeline.json").display());
    let end = bounded(&["graph", "-step", "0", "-output", &timeline], &[&graph, &run]);
    assert_eq!(end.code, Some(0), "{}", end.err);
    assert!(end.err.contains("only 4000000 of the arrows"), "{}", end.err);
}

#[test]
fn conditions_that_double_at_each_level() {
    let dir = scratch("doubling");
    let signature = "input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_BOOL }";
    let ret = |value: &str| format!("ret {{ key: 'y' value: '{value}' }}");
    for (op, last) in [("LogicalAnd", ""), ("AddV2", "Less")] {
        let mut nodes = "node_def { name: 'c0' op: 'Unheard' input: 'x' } ".to_owned();
        for level in 1..=60 {
            let below = format!("c{}:z:0", level - 1);
            nodes += &format!("node_def {{ name: 'c{level}' op: '{op}' input: '{below}' input: '{below}' }} ");
        }
        if !last.is_empty() {
            nodes += &format!("node_def {{ name: 'less' op: '{last}' input: 'c60:z:0' input: 'c60:z:0' }} ");
        }
        let value = if last.is_empty() { "c60:z:0" } else { "less:z:0" };
        let text = format!(
            "node {{ name: 'p' op: 'Placeholder' attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }} }} \
             node {{ name: 'w' op: 'While' input: 'p' attr {{ key: 'cond' value {{ func {{ name: 'cond' }} }} }} \
             attr {{ key: 'body' value {{ func {{ name: 'body' }} }} }} }} \
             library {{ function {{ signature {{ name: 'cond' {signature} }} {nodes} {} }} \
             function {{ signature {{ name: 'body' {signature} }} node_def {{ name: 'r' op: 'Identity' input: 'x' }} {} }} }}",
            ret(value),
            ret("r:output:0"),
        );
        let graph = file(dir.join("graph.pbtxt"), |out| out.write_all(text.as_bytes()).expect("room"));
        let end = bounded(&["cost"], &[&graph]);
        assert_eq!(end.code, Some(0), "{}", end.err);
        assert!(end.err.contains("the trip count of the loop `w` is unknown"), "{}", end.err);
    }
}

#[test]
fn a_long_name_is_neither_a_panic_nor_the_width_of_every_row() {
    let dir = scratch("wide");
    let long = "n".repeat(70_000);
    let attribute = [field(1, b"dtype"), field(2, &number(6, 1))].concat();
    let variable = |name: &str| {
        let shape = field(2, &field(7, &field(2, &number(1, 4))));
        let shape = [field(1, b"shape"), shape].concat();
        let node = [field(1, name.as_bytes()), field(2, b"VariableV2"), field(5, &attribute), field(5, &shape)];
        field(1, &node.concat())
    };
    let graph = file(dir.join("graph.pb"), |out| {
        out.write_all(&variable(&long)).expect("room");
        (0..2_000).for_each(|i| out.write_all(&variable(&format!("v{i}"))).expect("room"));
    });
    for words in [&["cost"][..], &["cost", "--format=markdown"], &["scope", "-max_depth", "9"], &["info"], &["advise"]]
    {
        let end = bounded(&[words, &["--graph_path"]].concat(), &[&graph]);
        assert_eq!(end.code, Some(0), "{words:?}: {}", end.err);
        assert!(end.out.len() < 1_000_000, "{words:?} writes {} bytes", end.out.len());
    }
}

#[test]
fn a_name_stays_in_its_row() {
    let dir = scratch("forged");
    let graph = file(dir.join("graph.pb"), |out| {
        out.write_all(&node("a\nforged (9k params)\u{1b}[2J", "Op\r\nforged", std::iter::empty())).expect("room");
        out.write_all(&node("=1+1\u{202e}b\u{2028}c", "Op", std::iter::empty())).expect("room");
    });
    for words in [&["scope", "-select", "params,op_types,device"][..], &["op", "-select", "occurrence"], &["graph"]] {
        let end = bounded(words, &[&graph]);
        assert_eq!(end.code, Some(0), "{}", end.err);
        assert!(!end.out.lines().any(|line| line.starts_with("forged")), "{words:?}: {}", end.out);
        assert!(!end.out.contains('\u{1b}') && !end.out.contains('\r'), "{words:?}: {}", end.out);
    }
    for (form, expect) in [("json", r"=1+1\u202eb\u2028c"), ("csv", "'=1+1"), ("html", r"=1+1\u{202e}b\u{2028}c")] {
        let end = bounded(&["scope", "-select", "occurrence", "-output", &format!("{form}:outfile=-")], &[&graph]);
        assert_eq!(end.code, Some(0), "{}", end.err);
        assert!(end.out.contains(expect), "{form}: {}", end.out);
        assert!(form == "csv" || !end.out.contains(['\u{202e}', '\u{2028}']), "{form}: {}", end.out);
    }
}

#[test]
fn no_text_has_control_codes() {
    let dir = scratch("codes");
    let name = "a\u{1b}[2J\r\nforged\u{202e}\u{9b}\0";
    let shape = field(5, &[field(1, b"shape"), field(2, &field(7, &field(2, &number(1, 7))))].concat());
    let variable = [field(1, format!("{name}/v").as_bytes()), field(2, b"VariableV2"), shape].concat();
    let graph = file(dir.join("graph.pb"), |out| {
        out.write_all(&field(1, &variable)).expect("room");
        out.write_all(&node(name, "Op\u{1b}\nforged", std::iter::empty())).expect("room");
    });
    let run = file(dir.join("run_0.pb"), |out| {
        let execution = [field(1, name.as_bytes()), number(2, 100), number(4, 1), number(5, 9), number(6, 5)].concat();
        let stats = [field(1, format!("/gpu:0\n{name}").as_bytes()), field(2, &execution)].concat();
        out.write_all(&field(1, &field(1, &stats))).expect("room");
    });
    let (graph, run) = (path_flag("graph", &graph), path_flag("run_meta", &run));
    let commands: [&[&str]; 8] = [
        &["info"],
        &["advise"],
        &["cost"],
        &["cost", "--format=markdown"],
        &["scope", "-select", "micros,device,op_types"],
        &["op", "-select", "micros,device"],
        &["graph", "-select", "micros", "-output", "folded:outfile=-"],
        &["scope", "-select", "micros", "-output", "markdown:outfile=-"],
    ];
    for words in commands {
        let run = if words[0] == "cost" { &[][..] } else { &[run.as_str()] };
        let end = bounded(&[words, &[graph.as_str()], run].concat(), &[]);
        assert_eq!(end.code, Some(0), "{words:?}: {}", end.err);
        for text in [&end.out, &end.err] {
            let odd = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(odd) && !text.contains("\nforged"), "{words:?}: {text}");
        }
    }
}
