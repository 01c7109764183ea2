//! Float operations that are computed from a graph alone, as a user asks for them: the batch, shapes of inputs, shapes
//! that a run tells, the shell, and the original's silence under its quirks.

use crate::common::{corpus, scratch, tfprof, tfprof_with};

/// A product with a batch that is left open, and an op that nobody knows.
const GRAPH: &str = r#"
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 16 } } } } }
node { name: "w" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 16 } dim { size: 4 } } } } }
node { name: "y" op: "MatMul" input: "x" input: "w" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "z" op: "Riddle" input: "y" }
node { name: "out" op: "Relu" input: "z" attr { key: "T" value { type: DT_FLOAT } } }
"#;

fn file(test: &str, text: &str) -> String {
    let path = scratch(test).join("graph.pbtxt");
    std::fs::write(&path, text).expect("a graph");
    path.display().to_string()
}

const SELECT: &str = "-select=float_ops,macs,io_bytes,unknown_ops";

/// The root's line, and what went to standard error.
fn total(words: &[&str]) -> (String, String) {
    let answer = tfprof(&[&["scope", SELECT, "-max_depth=1"], words].concat());
    assert_eq!(answer.code, 0, "{}", answer.err);
    (answer.out.lines().find(|line| line.starts_with("_TFProfRoot")).unwrap_or_default().to_owned(), answer.err)
}

#[test]
fn an_open_batch_counts_as_one_with_a_warning() {
    let graph = file("batch", GRAPH);
    let (line, warnings) = total(&[&graph]);
    assert_eq!(line, "_TFProfRoot (--/128 flops, --/64 macs, --/336B, --/2 unknown)");
    assert!(warnings.contains("--batch=N"), "{warnings}");
    let (line, warnings) = total(&[&graph, "--batch", "10"]);
    assert!(line.starts_with("_TFProfRoot (--/1.28k flops, --/640 macs,"), "{line}");
    assert!(!warnings.contains("batch"), "{warnings}");
    let (line, warnings) = total(&[&graph, "--input=x=100x16"]);
    assert!(line.starts_with("_TFProfRoot (--/12.80k flops, --/6.40k macs,"), "{line}");
    assert!(!warnings.contains("batch"), "{warnings}");
}

#[test]
fn wrong_sizes_and_names_are_refused() {
    let graph = file("refused", GRAPH);
    for (flag, expect) in [
        ("--batch=many", "-batch: expected a number of examples, such as 32, found `many`"),
        ("--input=x", "-input: expected NAME=SIZExSIZEx..., as in image=1x224x224x3, or NAME=scalar, found `x`"),
        ("--input=xx=3", "unknown input `xx` in -input; did you mean `x`? (one of x)"),
    ] {
        let answer = tfprof(&["scope", SELECT, &graph, flag]);
        assert_eq!((answer.code, answer.err.trim()), (2, format!("tfprof: {expect}").as_str()));
    }
}

#[test]
fn shapes_of_a_run_are_used() {
    let dir = scratch("ran");
    let path = |name: &str| dir.join(name).display().to_string();
    std::fs::write(path("graph.pbtxt"), GRAPH).expect("a graph");
    let run = r#"step_stats { dev_stats { device: "/cpu:0"
        node_stats { node_name: "_arg_x_0_0" all_start_micros: 1 op_end_rel_micros: 1 output { tensor_description {
            dtype: DT_FLOAT shape { dim { size: 7 } dim { size: 16 } } } } }
        node_stats { node_name: "z" all_start_micros: 2 op_end_rel_micros: 1 output { tensor_description {
            dtype: DT_FLOAT shape { dim { size: 7 } dim { size: 4 } } } } } } }"#;
    std::fs::write(path("run_meta_0"), run).expect("a run");
    let (line, warnings) =
        total(&[&format!("--graph_path={}", path("graph.pbtxt")), &format!("--run_meta_path={}", path("run_meta_0"))]);
    // The product is 2 x 7 x 16 x 4, and Relu is known by what was put into it.
    assert!(line.starts_with("_TFProfRoot (--/924 flops, --/448 macs,") && line.ends_with("--/1 unknown)"), "{line}");
    assert!(!warnings.contains("batch"), "{warnings}");
}

#[test]
fn an_einsum_is_counted() {
    let placeholder = |name: &str, dims: &[i64]| {
        let dims: Vec<String> = dims.iter().map(|dim| format!("dim {{ size: {dim} }}")).collect();
        let dims = dims.join(" ");
        format!(
            r#"node {{ name: "{name}" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
               attr {{ key: "shape" value {{ shape {{ {dims} }} }} }} }}"#
        )
    };
    let graph = [
        placeholder("a", &[2, 8, 16]),
        placeholder("b", &[16, 32]),
        r#"node { name: "c" op: "Einsum" input: "a" input: "b" attr { key: "equation" value { s: "bij,jk->bik" } }
           attr { key: "T" value { type: DT_FLOAT } } }"#
            .to_owned(),
    ];
    let (line, _) = total(&[&file("einsum", &graph.join("\n"))]);
    assert_eq!(line, "_TFProfRoot (--/16.38k flops, --/8.19k macs, --/5.12KB, --/0 unknown)");
}

#[test]
fn only_the_original_takes_the_op_log_alone() {
    let graph = corpus("mlp_small/graph.pb.gz");
    let log = format!("--op_log_path={}", corpus("mlp_small/tfprof_log.gz"));
    let (alone, _) = total(&[&graph]);
    let (logged, _) = total(&[&graph, &log]);
    let (original, _) = total(&[&graph, &log, "-original_quirks"]);
    let float_ops = |line: &str| line.split(',').next().map(str::to_owned);
    assert_eq!(float_ops(&alone).as_deref(), Some("_TFProfRoot (--/4.83k flops"));
    assert_eq!(float_ops(&logged), float_ops(&alone));
    assert_eq!(float_ops(&original).as_deref(), Some("_TFProfRoot (--/4.34k flops"));
}

#[test]
fn quirks_infer_nothing() {
    let graph = corpus("mlp_small/graph.pb.gz");
    let (line, warnings) = total(&[&graph, "-original_quirks"]);
    assert_eq!(line, "_TFProfRoot (--/0 flops, --/0 macs, --/0B, --/0 unknown)");
    assert_eq!(warnings, "");
}

#[test]
fn the_shell_infers_anew() {
    let graph = file("shell", GRAPH);
    let ask = "scope -select macs -max_depth 1";
    let script = format!("{ask}\n{ask} --batch 10\n{ask}\nset --batch 3\n{ask}\n{ask} --input x=5x16\nreset\n{ask}\n");
    let answer = tfprof_with(&[&graph], script.as_bytes());
    assert_eq!(answer.code, 0, "{}", answer.err);
    let macs: Vec<&str> = answer.out.lines().filter_map(|line| line.strip_prefix("_TFProfRoot (--/")).collect();
    assert_eq!(macs, ["64 macs)", "640 macs)", "64 macs)", "192 macs)", "320 macs)", "64 macs)"]);
    let answer = tfprof_with(&[&graph], b"scope --signature=x\n");
    assert!(answer.code == 2 && answer.err.contains("choose what is loaded"), "{}", answer.err);
}

#[test]
fn nodes_that_the_op_log_leaves_out_are_computed() {
    let dir = scratch("log");
    let path = |name: &str| dir.join(name).display().to_string();
    let more = r#"node { name: "sum" op: "AddV2" input: "y" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "twice" op: "AddV2" input: "y" input: "y" attr { key: "T" value { type: DT_FLOAT } } }"#;
    std::fs::write(path("graph.pbtxt"), format!("{GRAPH}{more}")).expect("a graph");
    // A figure wins, even for an op that nobody knows; 0 is not a figure.
    let log = "log_entries { name: 'y' float_ops: 1000 } log_entries { name: 'z' float_ops: 7 } \
               log_entries { name: 'sum' float_ops: 0 types: 'mine' }";
    std::fs::write(path("tfprof_log"), log).expect("a log");
    let files = [format!("--graph_path={}", path("graph.pbtxt")), format!("--op_log_path={}", path("tfprof_log"))];
    let files = [files[0].as_str(), files[1].as_str()];
    let (line, _) = total(&files);
    assert!(line.starts_with("_TFProfRoot (--/1.01k flops, --/64 macs,") && line.ends_with("--/1 unknown)"), "{line}");
    let answer = tfprof(&[&["op", SELECT, "-order_by=float_ops"][..], &files].concat());
    let expect = [("MatMul", "1.00k float_ops"), ("AddV2", "8 float_ops"), ("Riddle", "7 float_ops")];
    for ((op, figure), row) in expect.iter().zip(answer.out.split("unknown ops\n").nth(1).expect("rows").lines()) {
        assert!(row.starts_with(op) && row.contains(figure), "{row}");
    }
    // The original takes the log alone.
    let answer = tfprof(&[&["scope", "-select=float_ops", "-max_depth=1", "-original_quirks"][..], &files].concat());
    assert!(answer.out.contains("_TFProfRoot (--/1.01k flops)"), "{}", answer.out);
    // The law of the batch would mix figures of one batch with those of any.
    let cost: serde_json::Value =
        serde_json::from_str(&tfprof(&[&["cost", "--format=json"][..], &files].concat()).out).expect("JSON");
    assert_eq!(
        (&cost["unknown_ops"], &cost["per_batch"]["float_ops"]),
        (&1.into(), &serde_json::Value::Null),
        "{cost}"
    );
}

#[test]
fn a_saved_profile_keeps_computed_float_operations() {
    let dir = scratch("saved_costs");
    let saved = dir.join("all.profile").display().to_string();
    let graph = file("saved_costs_graph", GRAPH);
    let answer = tfprof(&["save", &graph, &format!("--outfile={saved}")]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert_eq!(total(&[&format!("--profile_path={saved}")]).0, total(&[&graph]).0);
}

#[test]
fn an_iterator_has_a_shape_for_each_output() {
    let graph = r#"
        node { name: "it" op: "IteratorV2" }
        node { name: "next" op: "IteratorGetNext" input: "it"
          attr { key: "output_types" value { list { type: DT_FLOAT type: DT_FLOAT } } }
          attr { key: "output_shapes" value { list { shape { dim { size: -1 } dim { size: -1 } }
            shape { dim { size: -1 } dim { size: -1 } } } } } }
        node { name: "product" op: "MatMul" input: "next" input: "next:1" attr { key: "T" value { type: DT_FLOAT } } }"#;
    let graph = file("iterator", graph);
    let cost = |inputs: &[&str]| tfprof(&[&["cost", &graph, "--format=json"][..], inputs].concat());
    let answer = cost(&["--input=next=2x3", "--input=next:1=3x5"]);
    assert!(answer.out.contains("\"float_ops\":60,"), "{} {}", answer.out, answer.err);
    let refused = |inputs: &[&str], why: &str| {
        let answer = cost(inputs);
        assert!(answer.code == 2 && answer.err.contains(why), "{}", answer.err);
    };
    refused(&["--input=next:2=1"], "there is no `next:2`: `next` has 2 outputs, from 0 on");
    refused(&["--input=next:1=7"], "next:1=7 contradicts the graph, which declares `next:1` as ?x?");
    refused(&["--input=next=2x3", "--input=next:1=4x5"], "contradict `product` (MatMul)");
    // A tensor that is combined with a function of itself is no scalar.
    let normalized = r#"
        node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
          attr { key: "shape" value { shape { unknown_rank: true } } } }
        node { name: "square" op: "Square" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "out" op: "Mul" input: "x" input: "square" attr { key: "T" value { type: DT_FLOAT } } }"#;
    let answer = tfprof(&["cost", &file("normalized", normalized)]);
    assert!(answer.out.contains("say --input x=SIZExSIZEx..."), "{}", answer.out);
}

#[test]
fn inputs_that_contradict_the_graph_are_refused() {
    let graph = file("contradiction", GRAPH);
    let conv = r#"
        node { name: "image" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
          attr { key: "shape" value { shape { unknown_rank: true } } } }
        node { name: "w" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value {
          shape { dim { size: 3 } dim { size: 3 } dim { size: 3 } dim { size: 8 } } } } }
        node { name: "rate" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
          attr { key: "shape" value { shape { unknown_rank: true } } } }
        node { name: "conv" op: "Conv2D" input: "image" input: "w" attr { key: "T" value { type: DT_FLOAT } }
          attr { key: "strides" value { list { i: 1 i: 1 i: 1 i: 1 } } } attr { key: "padding" value { s: "SAME" } } }
        node { name: "dropped" op: "RealDiv" input: "conv" input: "rate" attr { key: "T" value { type: DT_FLOAT } } }"#;
    let conv = file("conv", conv);
    for (graph, flags, expect) in [
        (&graph, &["--input=x=5x8"][..], "x=5x8 contradicts the graph, which declares `x` as ?x16"),
        (&graph, &["--input=x=scalar"], "x=scalar contradicts the graph, which declares `x` as ?x16"),
        (
            &conv,
            &["--input=image=1x9x9x4"],
            "image=1x9x9x4 contradicts `conv` (Conv2D): its filter 3x3x3x8 takes 3 channels, found 4 (1x9x9x4)",
        ),
        (
            &conv,
            &["--input=image=9x9x3"],
            "image=9x9x3 contradicts `conv` (Conv2D): it takes 4 dimensions, found 3 dimensions (9x9x3)",
        ),
        (
            &conv,
            &["--input=image=1x9x9x3", "--input=rate=5"],
            "image=1x9x9x3, rate=5 contradict `dropped` (RealDiv): it combines 1x9x9x8 with 5",
        ),
    ] {
        let answer = tfprof(&[&["cost", graph][..], flags].concat());
        assert_eq!((answer.code, answer.err.trim()), (2, format!("tfprof: -input: {expect}").as_str()));
    }
    // Where the shape gets lost, the answer says what to type.
    let answer = tfprof(&["cost", &conv]);
    assert!(answer.out.contains("the shape gets lost at `image`; say --input image=1xHxWx3"), "{}", answer.out);
    let answer = tfprof(&["cost", &conv, "--input", "image=1x9x9x3"]);
    assert!(answer.out.contains("the shape gets lost at `rate`; say --input rate=scalar"), "{}", answer.out);
    let (line, _) = total(&[&conv, "--input", "image=1x9x9x3", "--input", "rate=scalar"]);
    assert!(line.ends_with("--/0 unknown)"), "{line}");
}

/// A conditional of TensorFlow 1: a product in one branch, a sum in the other.
fn conditional(predicate: &str) -> String {
    let float = r#"attr { key: "T" value { type: DT_FLOAT } }"#;
    let variable = |name: &str, rows: i64, columns: i64| {
        format!(
            r#"node {{ name: "{name}" op: "VariableV2" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
               attr {{ key: "shape" value {{ shape {{ dim {{ size: {rows} }} dim {{ size: {columns} }} }} }} }} }}"#
        )
    };
    format!(
        r#"{} {} {predicate}
        node {{ name: "a" op: "Switch" input: "x" input: "p" {float} }}
        node {{ name: "b" op: "Switch" input: "w" input: "p" {float} }}
        node {{ name: "cheap" op: "Add" input: "a" input: "a" {float} }}
        node {{ name: "dear" op: "MatMul" input: "a:1" input: "b:1" {float} }}
        node {{ name: "either" op: "Merge" input: "cheap" input: "dear" {float} }}
        node {{ name: "after" op: "Relu" input: "either" {float} }}"#,
        variable("x", 2, 4),
        variable("w", 4, 8)
    )
}

#[test]
fn switch_and_merge_count_one_branch_as_if_does() {
    let constant = |value: bool| {
        format!(
            r#"node {{ name: "p" op: "Const" attr {{ key: "dtype" value {{ type: DT_BOOL }} }}
               attr {{ key: "value" value {{ tensor {{ dtype: DT_BOOL tensor_shape {{}} bool_val: {value} }} }} }} }}"#
        )
    };
    let open = r#"node { name: "p" op: "PlaceholderV2" attr { key: "dtype" value { type: DT_BOOL } }
                  attr { key: "shape" value { shape { } } } }"#;
    let float_ops = |test: &str, predicate: &str| total(&[&file(test, &conditional(predicate))]).0;
    // 2 x 2 x 4 x 8 for the product, and 16 after it; 8 for the sum, and 8 after it.
    let dear = float_ops("cond_true", &constant(true));
    assert!(dear.starts_with("_TFProfRoot (--/144 flops,") && dear.ends_with("--/0 unknown)"), "{dear}");
    let cheap = float_ops("cond_false", &constant(false));
    assert!(cheap.starts_with("_TFProfRoot (--/16 flops,") && cheap.ends_with("--/0 unknown)"), "{cheap}");
    // The costliest branch counts; the shape behind it is that of neither.
    let either = float_ops("cond_open", open);
    assert!(either.starts_with("_TFProfRoot (--/128 flops,") && either.ends_with("--/1 unknown)"), "{either}");
}

/// A constant integer as a node, and its text for functions.
fn integer(kind: &str, name: &str, value: i64) -> String {
    format!(
        r#"{kind} {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT32 }} }}
           attr {{ key: "value" value {{ tensor {{ dtype: DT_INT32 tensor_shape {{}} int_val: {value} }} }} }} }}"#
    )
}

#[test]
fn a_lowered_case_counts_one_branch() {
    let float = r#"attr { key: "T" value { type: DT_FLOAT } } attr { key: "num_outs" value { i: 3 } }"#;
    let case = |test: &str, index: i64| {
        let predicate = integer("node", "p", index);
        let graph = conditional(&predicate)
            .replace("\"Switch\"", "\"_SwitchN\"")
            .replace(
                r#"op: "Merge" input: "cheap" input: "dear""#,
                r#"op: "Merge" input: "cheap" input: "dear" input: "a:2""#,
            )
            .replace(r#"attr { key: "T" value { type: DT_FLOAT } }"#, float);
        total(&[&file(test, &graph)]).0
    };
    // As for the conditional above: a sum, a product, and the input itself, also for an index out of range.
    for (index, flops) in [(0, 16), (1, 144), (2, 8), (7, 8), (-1, 8)] {
        let line = case(&format!("case_{index}"), index);
        assert!(line.starts_with(&format!("_TFProfRoot (--/{flops} flops,")), "{index}: {line}");
        assert!(line.ends_with("--/0 unknown)"), "{index}: {line}");
    }
}

#[test]
fn the_loop_of_a_gradient_runs_as_often_as_the_forward_loop() {
    let int = r#"attr { key: "T" value { type: DT_INT32 } }"#;
    let signature = |name: &str, outputs: &str| {
        format!(
            r#"signature {{ name: "{name}" input_arg {{ name: "i" type: DT_INT32 }} input_arg {{ name: "n" type: DT_INT32 }} {outputs} }}"#
        )
    };
    let condition = signature("condition", r#"output_arg { name: "r" type: DT_BOOL }"#);
    let body = signature("body", r#"output_arg { name: "a" type: DT_INT32 } output_arg { name: "b" type: DT_INT32 }"#);
    let while_loop = |name: &str, limit: &str| {
        format!(
            r#"node {{ name: "{name}" op: "While" input: "zero" input: "{limit}"
               attr {{ key: "cond" value {{ func {{ name: "condition" }} }} }} attr {{ key: "body" value {{ func {{ name: "body" }} }} }}
               attr {{ key: "T" value {{ list {{ type: DT_INT32 type: DT_INT32 }} }} }} }}"#
        )
    };
    let graph = format!(
        r#"{} {} {} {}
        library {{
          function {{ {condition} node_def {{ name: "less" op: "Less" input: "i" input: "n" {int} }} ret {{ key: "r" value: "less:z:0" }} }}
          function {{ {body} {} node_def {{ name: "next" op: "AddV2" input: "i" input: "one:output:0" {int} }}
            ret {{ key: "a" value: "next:z:0" }} ret {{ key: "b" value: "n" }} }}
        }}"#,
        integer("node", "zero", 0),
        integer("node", "limit", 5),
        while_loop("forward", "limit"),
        while_loop("backward", "forward"),
        integer("node_def", "one", 1),
    );
    let graph = file("gradient_loop", &graph);
    let cost = |flags: &[&str]| {
        let answer = tfprof(&[&["cost", &graph, "--format=json"][..], flags].concat());
        assert_eq!(answer.code, 0, "{}", answer.err);
        serde_json::from_str::<serde_json::Value>(&answer.out).expect("JSON")
    };
    // Each loop adds five times and compares six times.
    let found = cost(&[]);
    assert_eq!((&found["float_ops"], found["warnings"].as_array().map(Vec::len)), (&22.into(), Some(0)), "{found}");
    // The user's trip count of the first is that of the second, too.
    assert_eq!(cost(&["--trip_count=forward=7"])["float_ops"], 30);
}

#[test]
fn a_frozen_graph_says_so_and_quantized_constants_are_weights() {
    let graph = r#"node { name: "w" op: "Const" attr { key: "dtype" value { type: DT_QUINT8 } } attr { key: "value" value {
          tensor { dtype: DT_QUINT8 tensor_shape { dim { size: 4 } dim { size: 3 } } } } } }
        node { name: "b" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value {
          tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1 } } } }"#;
    let graph = file("frozen", graph);
    let answer = tfprof(&["cost", &graph]);
    let said =
        "the graph has no variables, since it is frozen: its 15 weights are constants; count them with --const_params";
    assert!(answer.err.contains(said), "{}", answer.err);
    let info = tfprof(&["info", &graph]).out;
    assert!(
        info.contains("0 in all variables; the graph is frozen: count its constants with --const_params"),
        "{info}"
    );
    let answer = tfprof(&["cost", &graph, "--const_params", "--format=json"]);
    let cost: serde_json::Value = serde_json::from_str(&answer.out).expect("JSON");
    assert_eq!((&cost["parameters"], answer.err.as_str()), (&15.into(), ""));
}
