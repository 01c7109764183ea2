//! Each fault of the original, played back and put right, on models small enough to check by hand.

use tfprof::internal::render;
use tfprof::{Options, Profiler, Quirks, Source, ViewKind};

/// A model from texts, in the order of the command line: graph, op logs, runs (steps 0, 1, …).
fn load(graph: &str, logs: &[&str], runs: &[&str]) -> Profiler {
    let mut profiler = Profiler::default();
    let source = |text| Source::memory("test", text).expect("memory");
    profiler.add_graph(source(graph.as_bytes())).expect("a graph");
    for log in logs {
        profiler.add_op_log(source(log.as_bytes())).expect("an op log");
    }
    for (step, run) in runs.iter().enumerate() {
        profiler.add_step(step as i64, source(run.as_bytes())).expect("a run");
    }
    profiler
}

/// The report of a question, without its first line.
fn ask(profiler: &Profiler, view: ViewKind, quirks: Quirks, words: &str) -> String {
    let mut options = Options { quirks, ..Options::default() };
    let words: Vec<_> = words.split_whitespace().collect();
    for pair in words.chunks(2) {
        options.set(pair[0], pair[1]).expect("a valid option");
    }
    let view = profiler.view(view, &options).expect("an answer");
    let mut text = Vec::new();
    render::text::write_report(&view, &mut text).expect("memory");
    String::from_utf8(text).expect("UTF-8").trim_start_matches("Profile:\n").to_owned()
}

/// Asks both ways and compares the lines after the legend.
fn check(profiler: &Profiler, view: ViewKind, words: &str, original: &[&str], right: &[&str]) {
    for (quirks, expect) in [(Quirks::ORIGINAL, original), (Quirks::NONE, right)] {
        let text = ask(profiler, view, quirks, words);
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(lines, expect, "{quirks:?}");
    }
}

const VARIABLE_AND_PLACEHOLDER: &str = r#"
    node { name: "x" op: "Placeholder" attr { key: "shape" value { shape { dim { size: 5 } } } } }
    node { name: "w" op: "VarHandleOp" attr { key: "shape" value { shape { dim { size: 3 } } } } }
    node { name: "v" op: "Custom" attr { key: "shape" value { shape { dim { size: 2 } } } } }"#;

#[test]
fn placeholders_have_no_parameters() {
    let log = r#"log_entries { name: "v" types: "_trainable_variables" }"#;
    check(
        &load(VARIABLE_AND_PLACEHOLDER, &[log], &[]),
        ViewKind::Scope,
        "select params",
        &["_TFProfRoot (--/10 params)", "  v (2, 2/2 params)", "  w (3, 3/3 params)", "  x (5, 5/5 params)"],
        &["_TFProfRoot (--/5 params)", "  v (2, 2/2 params)", "  w (3, 3/3 params)", "  x (5, 0/0 params)"],
    );
}

#[test]
fn the_default_metric_depends_on_the_data() {
    let profiler = load(VARIABLE_AND_PLACEHOLDER, &[], &[]);
    let legend = |quirks| ask(&profiler, ViewKind::Scope, quirks, "").lines().next().map(str::to_owned);
    let micros = "node name | total execution time | accelerator execution time | cpu execution time";
    assert_eq!(legend(Quirks::ORIGINAL).as_deref(), Some(micros));
    assert_eq!(legend(Quirks::NONE).as_deref(), Some("node name | # parameters"));
}

#[test]
fn products_stay_at_the_limit() {
    let dims = "dim { size: 4294967296 } dim { size: 4294967296 }";
    let graph =
        format!(r#"node {{ name: "w" op: "VariableV2" attr {{ key: "shape" value {{ shape {{ {dims} }} }} }} }}"#);
    let root = |quirks| ask(&load(&graph, &[], &[]), ViewKind::Scope, quirks, "select params");
    assert!(root(Quirks::ORIGINAL).contains("_TFProfRoot (--/0 params)"));
    assert!(root(Quirks::NONE).contains("_TFProfRoot (--/9223372036.85b params)"));
}

#[test]
fn an_input_has_the_shape_of_its_own_output() {
    let graph = r#"
        node { name: "s" op: "Split" attr { key: "_output_shapes" value { list {
            shape { dim { size: 1 } dim { size: 2 } } shape { dim { size: 3 } } } } } }
        node { name: "t" op: "Add" input: "s" input: "s:1" input: "s:7" }"#;
    check(
        &load(graph, &[], &[]),
        ViewKind::Scope,
        "select input_shapes",
        &["_TFProfRoot ()", "  s ()", "  t (0:1x2|1:1x2|2:1x2)"],
        &["_TFProfRoot ()", "  s ()", "  t (0:1x2|1:3|2:unknown)"],
    );
}

#[test]
fn a_node_that_matches_twice_is_summed_once() {
    let graph = r#"node { name: "a" op: "MatMul" } node { name: "b" op: "Relu" }"#;
    let log = r#"log_entries { name: "a" float_ops: 10 } log_entries { name: "b" float_ops: 1 }"#;
    check(
        &load(graph, &[log], &[]),
        ViewKind::Op,
        "select float_ops account_type_regexes Mat.*,.*Mul,Relu",
        &[
            "MatMul                   20 float_ops (100.00%, 95.24%)",
            "Relu                         1 float_ops (4.76%, 4.76%)",
        ],
        &[
            "MatMul                   10 float_ops (100.00%, 90.91%)",
            "Relu                         1 float_ops (9.09%, 9.09%)",
        ],
    );
}

#[test]
fn cycles_are_shown() {
    let graph = r#"
        node { name: "out" op: "A" input: "in" } node { name: "in" op: "A" }
        node { name: "c2" op: "B" input: "c1" } node { name: "c1" op: "B" input: "c2" } node { name: "own" op: "C" input: "own" }"#;
    check(
        &load(graph, &[], &[]),
        ViewKind::Graph,
        "select occurrence",
        &["_TFProfRoot (--/0|--/2)", "  out (0/0|1/2)", "    in (0/0|1/1)"],
        &[
            "_TFProfRoot (--/0|--/5)",
            "  c1 (0/0|1/2)",
            "    c2 (0/0|1/1)",
            "  out (0/0|1/2)",
            "    in (0/0|1/1)",
            "  own (0/0|1/1)",
        ],
    );
}

const TWO_DEVICES: &str = r#"step_stats {
    dev_stats { device: "/device:GPU:0" node_stats { node_name: "a" all_start_micros: 10 op_end_rel_micros: 5 } }
    dev_stats { device: "/device:CPU:0" node_stats { node_name: "a" all_start_micros: 20 op_end_rel_micros: 7 } } }"#;

#[test]
fn a_node_on_two_devices_keeps_both() {
    check(
        &load(r#"node { name: "a" op: "A" }"#, &[], &[TWO_DEVICES]),
        ViewKind::Scope,
        "select cpu_micros,device,op_types,occurrence",
        &["_TFProfRoot (--/5us, _kTFScopeParent, --/1|--/1)", "  a (5us/5us, /device:gpu:0, /device:gpu:0|A, 1/1|1/1)"],
        &[
            "_TFProfRoot (--/12us, _kTFScopeParent, --/2|--/1)",
            "  a (12us/12us, /device:gpu:0|/device:cpu:0, /device:cpu:0|/device:gpu:0|A, 2/2|1/1)",
        ],
    );
}

#[test]
fn other_devices_are_accelerators() {
    let run = r#"step_stats {
        dev_stats { device: "/device:TPU:0" node_stats { node_name: "a" all_start_micros: 10 op_end_rel_micros: 5
            memory { allocator_name: "tpu" total_bytes: 64 } } }
        dev_stats { device: "/device:XLA_GPU:0" node_stats { node_name: "b" all_start_micros: 20 op_end_rel_micros: 7 } }
        dev_stats { device: "/device:GPU:0/stream:13" node_stats { node_name: "a" all_start_micros: 10 op_end_rel_micros: 5 } } }"#;
    check(
        &load(r#"node { name: "a" op: "A" } node { name: "b" op: "A" }"#, &[], &[run]),
        ViewKind::Op,
        "select micros,bytes,device,occurrence",
        &[
            "A                                     0B (0.00%, 0.00%),             0us (0.00%, 0.00%),             0us (0.00%, 0.00%),             0us (0.00%, 0.00%), ,        0|2",
        ],
        &[
            "A                                64B (100.00%, 100.00%),        12us (100.00%, 100.00%),        12us (100.00%, 100.00%),             0us (0.00%, 0.00%), /device:tpu:0|/device:xla_gpu:0,        2|2",
        ],
    );
}

/// One execution: the allocators' total and peak, temporary and persistent memory.
fn memory(node: &str, start: i64, allocated: &[(i64, i64)], temp: i64, persistent: i64) -> String {
    let allocators = allocated.iter().map(|(total, peak)| {
        format!("memory {{ allocator_name: 'cpu' total_bytes: {total} peak_bytes: {peak} live_bytes: 0 }} ")
    });
    format!(
        "node_stats {{ node_name: '{node}' all_start_micros: {start} op_end_rel_micros: 1 {}
         memory_stats {{ temp_memory_size: {temp} persistent_memory_size: {persistent} }} }} ",
        allocators.collect::<String>()
    )
}

fn on_a_cpu(records: &[String]) -> String {
    format!("step_stats {{ dev_stats {{ device: '/cpu:0' {} }} }}", records.concat())
}

#[test]
fn temporary_memory_counts_once() {
    let run = on_a_cpu(&[
        memory("conv", 1, &[(900, 700)], 600, 0),
        memory("two_allocators", 2, &[(100, 80), (20, 10)], 50, 5),
        memory("no_allocator", 3, &[], 70, 3),
    ]);
    let graph =
        "node { name: 'conv' op: 'A' } node { name: 'two_allocators' op: 'B' } node { name: 'no_allocator' op: 'C' }";
    check(
        &load(graph, &[], &[&run]),
        ViewKind::Scope,
        "select bytes,peak_bytes",
        &[
            "_TFProfRoot (--/1.75KB, --/1.52KB)",
            "  conv (1.50KB/1.50KB, 1.30KB/1.30KB)",
            "  no_allocator (73B/73B, 73B/73B)",
            "  two_allocators (175B/175B, 145B/145B)",
        ],
        &[
            "_TFProfRoot (--/1.10KB, --/868B)",
            "  conv (900B/900B, 700B/700B)",
            "  no_allocator (73B/73B, 73B/73B)",
            "  two_allocators (125B/125B, 95B/95B)",
        ],
    );
}

#[test]
fn the_peak_of_a_loop_is_that_of_one_iteration() {
    let graph = "node { name: 'body' op: 'A' }";
    let step = |peaks: &[i64]| {
        let runs = peaks.iter().zip(1..).map(|(peak, start)| memory("body", start, &[(*peak, *peak)], 0, 0));
        on_a_cpu(&runs.collect::<Vec<_>>())
    };
    let (first, second) = (step(&[100, 300, 200]), step(&[100, 100]));
    let mut profiler = load(graph, &[], &[&first, &second]);
    let root = |profiler: &Profiler, quirks, step: &str| {
        let text = ask(profiler, ViewKind::Scope, quirks, &format!("select peak_bytes step {step}"));
        text.lines().nth(1).map(str::to_owned).unwrap_or_default()
    };
    for (step, original, right) in [("0", "600B", "300B"), ("-1", "400B", "200B"), ("all", "800B", "300B")] {
        assert_eq!(root(&profiler, Quirks::ORIGINAL, step), format!("_TFProfRoot (--/{original})"), "{step}");
        assert_eq!(root(&profiler, Quirks::NONE, step), format!("_TFProfRoot (--/{right})"), "{step}");
    }
    // Another part of the same step.
    let more = step(&[350, 20]);
    profiler.add_step(0, Source::memory("more", more.as_bytes()).expect("memory")).expect("a run");
    for (step, right) in [("0", "350B"), ("-1", "225B"), ("all", "350B")] {
        assert_eq!(root(&profiler, Quirks::NONE, step), format!("_TFProfRoot (--/{right})"), "{step}");
    }
}

#[test]
fn the_graphs_own_device_counts_until_a_run_says_better() {
    let graph =
        r#"node { name: "a" op: "A" device: "/job:ps/task:0" } node { name: "b" op: "B" device: "/job:ps/task:1" }"#;
    check(
        &load(graph, &[], &[]),
        ViewKind::Scope,
        "select device account_type_regexes .*ps.*task:0.*",
        &["_TFProfRoot ()"],
        &["_TFProfRoot ()", "  a (/job:ps/task:0)"],
    );
    let run = r#"step_stats { dev_stats { device: "/job:worker/task:3/cpu:0"
        node_stats { node_name: "a" all_start_micros: 1 op_end_rel_micros: 1 } } }"#;
    check(
        &load(graph, &[], &[run]),
        ViewKind::Scope,
        "select device",
        &["_TFProfRoot ()", "  a (/job:worker/task:3/cpu:0)", "  b ()"],
        &["_TFProfRoot ()", "  a (/job:worker/task:3/cpu:0)", "  b (/job:ps/task:1)"],
    );
}

const STRINGS: &str = r#"
    id_to_string { key: 0 value: "none" } id_to_string { key: 1 value: "/m/model.py" } id_to_string { key: 2 value: "build" }"#;

#[test]
fn gradients_without_a_forward_node_stay() {
    let graph = r#"node { name: "a" op: "A" } node { name: "gradients/a_grad/x" op: "G" } node { name: "gradients/gone_grad/y" op: "G" }"#;
    let entry = |name: &str, line: u32| {
        format!(
            r#"log_entries {{ name: "{name}" float_ops: 1 code_def {{ traces {{ file_id: 1 function_id: 2 lineno: {line} }} }} }} "#
        )
    };
    let log = entry("a", 3) + &entry("gradients/a_grad/x", 9) + &entry("gradients/gone_grad/y", 9) + STRINGS;
    check(
        &load(graph, &[&log], &[]),
        ViewKind::Code,
        "select float_ops",
        &["_TFProfRoot (--/2 flops)", "  model.py:3:build (1/1 flops)", "  model.py:3:build (gradient) (1/1 flops)"],
        &[
            "_TFProfRoot (--/3 flops)",
            "  model.py:3:build (1/1 flops)",
            "  model.py:3:build (gradient) (1/1 flops)",
            "  model.py:9:build (gradient) (1/1 flops)",
        ],
    );
}

#[test]
fn op_logs_keep_their_own_strings() {
    let graph = r#"node { name: "a" op: "A" } node { name: "b" op: "B" }"#;
    let trace = |name: &str| {
        format!(r#"log_entries {{ name: "{name}" code_def {{ traces {{ file_id: 1 function_id: 2 lineno: 4 }} }} }} "#)
    };
    let second = trace("b") + r#"id_to_string { key: 1 value: "other.py" } id_to_string { key: 2 value: "main" }"#;
    check(
        &load(graph, &[&(trace("a") + STRINGS), &second], &[]),
        ViewKind::Code,
        "select params",
        &["_TFProfRoot (--/0 params)", "  model.py:4:build (0/0 params)"],
        &["_TFProfRoot (--/0 params)", "  model.py:4:build (0/0 params)", "  other.py:4:main (0/0 params)"],
    );
}

#[test]
fn the_depth_of_the_op_view_is_its_rows() {
    let graph = r#"node { name: "a" op: "A" } node { name: "b" op: "B" } node { name: "c" op: "C" }"#;
    let profiler = load(graph, &[], &[]);
    let rows = |quirks, words: &str| {
        let text = ask(&profiler, ViewKind::Op, quirks, words);
        let rows: Vec<String> =
            text.lines().skip(1).map(|row| row.split("  ").next().unwrap_or_default().to_owned()).collect();
        rows
    };
    assert_eq!(rows(Quirks::ORIGINAL, "select params max_depth 1"), ["A", "B"]);
    assert_eq!(rows(Quirks::NONE, "select params max_depth 1"), ["A", "… 2 more rows; use -max_depth 3"]);
    assert_eq!(rows(Quirks::NONE, "select params max_depth 0"), ["… 3 more rows; use -max_depth 3"]);
    assert_eq!(rows(Quirks::NONE, "select params trim_name_regexes B"), ["A"]);
}

#[test]
fn averages_keep_their_sign() {
    let run = |length: i64| {
        format!(
            r#"step_stats {{ dev_stats {{ device: "/cpu:0" node_stats {{ node_name: "a" all_start_micros: 50 op_end_rel_micros: {length} }} }} }}"#
        )
    };
    let profiler = load(r#"node { name: "a" op: "A" }"#, &[], &[&run(-6), &run(2)]);
    let row = |quirks| ask(&profiler, ViewKind::Op, quirks, "select cpu_micros min_cpu_micros -9 min_micros -9");
    assert!(row(Quirks::ORIGINAL).contains("9223372036854.78sec"), "{}", row(Quirks::ORIGINAL));
    assert!(row(Quirks::NONE).contains(" -2us "), "{}", row(Quirks::NONE));
}

#[test]
fn the_additions_of_ours() {
    let graph = r#"node { name: "a/b/c" op: "A" } node { name: "d" op: "B" } node { name: "a/b" op: "B" }"#;
    let profiler = load(graph, &[], &[]);
    let ask = |words: &str| ask(&profiler, ViewKind::Scope, Quirks::NONE, words);
    let names = |text: String| {
        text.lines().skip(2).map(|line| line.split(" (").next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(ask("select occurrence ops_only true")), ["  a/b", "    a/b/c", "  d"]);
    assert_eq!(names(ask("select occurrence hide_name_regexes a,a/b order_by depth")), ["  d", "  a/b/c"]);
}

/// Two runs of `a`, one of `b` and none of `c`; `b` has no shape.
fn ratios() -> Profiler {
    let graph = r#"
        node { name: "s/a" op: "A" } node { name: "s/b" op: "B" } node { name: "s/c" op: "C" }"#;
    let run = r#"step_stats { dev_stats { device: "/job:x/replica:0/task:0/device:CPU:0"
        node_stats { node_name: "s/a" all_start_micros: 1 op_end_rel_micros: 5 all_end_rel_micros: 5 }
        node_stats { node_name: "s/a" all_start_micros: 9 op_end_rel_micros: 2 all_end_rel_micros: 2 }
        node_stats { node_name: "s/b" all_start_micros: 20 op_end_rel_micros: 3001 all_end_rel_micros: 3001 } } }"#;
    load(graph, &[], &[run])
}

#[test]
fn ratios_are_computed_from_totals() {
    let text = ask(&ratios(), ViewKind::Scope, Quirks::NONE, "select micros_per_run order_by micros_per_run");
    let expect = "\
node name | time per run
_TFProfRoot (--/1.00ms per run)
  s (--/1.00ms per run)
    s/b (3.00ms/3.00ms per run)
    s/a (3.50us/3.50us per run)
    s/c (--/-- per run)
";
    assert_eq!(text, expect);
    let text = ask(&ratios(), ViewKind::Op, Quirks::NONE, "select micros_per_run,occurrence order_by micros_per_run");
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "B                              3.00ms per run,        1|1",
            "A                              3.50us per run,        2|1",
            "C                                  -- per run,        0|1",
        ]
    );
}

#[test]
fn ratios_are_in_every_table_and_in_no_drawing() {
    let profiler = ratios();
    let mut options = Options::default();
    options.set("select", "micros_per_run").expect("a word");
    let view = profiler.view(ViewKind::Scope, &options).expect("an answer");
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("UTF-8")
    };
    let csv = written(&|out| render::csv::write(&view, out).expect("memory"));
    assert!(
        csv.starts_with("id,parent,depth,name,self_micros_per_run,total_micros_per_run\n0,,0,_TFProfRoot,,1002.666")
    );
    assert!(csv.ends_with("\n2,1,2,s/a,3.5,3.5\n3,1,2,s/b,3001,3001\n4,1,2,s/c,,\n"), "{csv}");
    let json = written(&|out| render::json::write(&view, &[], out).expect("memory"));
    assert!(json.contains("\"columns\":[\"micros_per_run\"]") && json.contains("\"self\":{\"micros_per_run\":3.5}"));
    let html = written(&|out| render::html::write(&view, render::html::Container::PAGE, out).expect("memory"));
    assert!(html.contains(">3.50us<") && html.contains(">time per run<"));
    for form in ["pprof", "folded", "flamegraph", "speedscope"] {
        options.set("output", &format!("{form}:outfile=x")).expect("a form");
        let why = profiler.view(ViewKind::Scope, &options).expect_err("no sums").to_string();
        assert!(why.contains("a ratio is selected, which cannot be summed"), "{why}");
    }
    for (name, value) in [("select", "flops_per_byte"), ("order_by", "micros_per_run")] {
        let mut options = Options { quirks: Quirks::ORIGINAL, ..Options::default() };
        options.set(name, value).expect("a word");
        let why = profiler.view(ViewKind::Scope, &options).expect_err("not in the original").to_string();
        assert!(why.contains(&format!("the original has no metric `{value}`")), "{why}");
    }
}
