//! `tfprof cost` as users and CI call it: tables, JSON, budgets, baselines and exit codes.

use crate::common::{corpus, scratch, tfprof};
use std::path::Path;

fn model(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models").join(name).display().to_string()
}

fn json(words: &[&str]) -> (i32, serde_json::Value) {
    let answer = tfprof(words);
    (answer.code, serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{error}: {}", answer.err)))
}

#[test]
fn json_has_the_figures_at_the_top() {
    let (code, cost) = json(&["cost", &model("dense_export"), "--format=json", "--batch=3"]);
    assert_eq!(code, 0);
    let figures = [
        ("parameters", 676),
        ("trainable_parameters", 676),
        ("float_ops", 3 * 1348),
        ("macs", 3 * 640),
        ("nodes", 20),
        ("covered_nodes", 20),
        ("unknown_ops", 0),
    ];
    for (key, expect) in figures {
        assert_eq!(cost[key].as_i64(), Some(expect), "{key}");
    }
    assert!(cost["io_bytes"].as_i64() > Some(0));
    assert_eq!(cost["per_batch"]["float_ops"], serde_json::json!({"constant": 0, "per_element": 1348}));
    // A cost that grows with the square of the batch is not linear.
    let (_, cost) = json(&["cost", &model("attention"), "--format=json"]);
    assert!(cost["per_batch"]["macs"].is_object());
}

#[test]
fn tables_are_for_people() {
    let answer = tfprof(&["cost", &model("dense_export")]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    assert!(answer.out.starts_with("parameters           676: 676 trainable, 0 other, 2.70KB of float32\n"));
    assert!(answer.out.contains("\nFLOPs                1.35k (1,348): batch 1, 1.35k·B\n"), "{}", answer.out);
    assert!(answer.out.contains("\ncovered              20 of 20 nodes (100.00%)\n"));
    let markdown = tfprof(&["cost", &model("dense_export"), "--format=markdown"]).out;
    assert!(markdown.contains("\n| parameters | 676: 676 trainable, 0 other, 2.70KB of float32 |\n"), "{markdown}");
    assert_eq!(tfprof(&["cost", &model("dense_export"), "--format=table"]).out, answer.out);
    let refused = tfprof(&["cost", &model("dense_export"), "--format=flamegraph"]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
}

#[test]
fn a_budget_that_is_not_kept_ends_with_three() {
    let dir = scratch("budget");
    let file = dir.join("budget.toml");
    let path = file.display().to_string();
    let check = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        tfprof(&["cost", &model("dense_export"), "--budget", &path])
    };
    let kept = check("max_params = 676\nmax_flops = 1_348\nmax_unknown_ops = 0\n");
    assert!(kept.code == 0 && kept.out.contains("all limits are kept"), "{}", kept.out);
    let over = check("max_params = 600\n[scope.'.*dense_2.*']\nmax_flops = 100\n");
    assert_eq!(over.code, 3);
    let rows: Vec<&str> = over.out.lines().skip_while(|line| *line != "over budget").skip(2).collect();
    assert_eq!(rows.len(), 2, "{}", over.out);
    assert!(rows[0].starts_with("the whole model") && rows[0].contains("676") && rows[0].ends_with("76"));
    assert!(rows[1].starts_with(".*dense_2.*") && rows[1].contains("260"));
    let wrong = check("max_parms = 3\n");
    assert_eq!(wrong.code, 1);
    assert!(
        wrong.err.contains("budget.toml:1:1: unknown limit `max_parms`; did you mean `max_params`?"),
        "{}",
        wrong.err
    );
}

#[test]
fn unknown_ops_are_counted_and_may_fail() {
    let graph = scratch("unknown").join("graph.pbtxt");
    std::fs::write(
        &graph,
        "node { name: 'a' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor {
           dtype: DT_FLOAT tensor_shape { dim { size: 8 } } float_val: 1 } } } }
         node { name: 'b' op: 'Mul' input: 'a' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } }
         node { name: 'c' op: 'MyOwnOp' input: 'b' } node { name: 'd' op: 'Mul' input: 'c' input: 'c' }",
    )
    .expect("a file");
    let path = graph.display().to_string();
    let answer = tfprof(&["cost", &path]);
    assert_eq!(answer.code, 0);
    assert!(answer.out.contains("FLOPs                ≥ 8 flops, 2 ops unknown"), "{}", answer.out);
    assert!(
        answer.out.contains("MyOwnOp") && answer.out.contains("the shape gets lost at `c` (MyOwnOp)"),
        "{}",
        answer.out
    );
    let failed = tfprof(&["cost", &path, "--fail_on_unknown"]);
    assert!(failed.code == 3 && failed.out.contains("over budget"), "{}", failed.out);
    let (code, cost) = json(&["cost", &path, "--fail_on_unknown", "--format=json"]);
    assert_eq!((code, cost["unknown_ops"].as_i64(), cost["over"][0]["found"].as_i64()), (3, Some(2), Some(2)));
    let views = tfprof(&["op", &path, "-select", "unknown_ops"]).out;
    assert!(views.contains("MyOwnOp"), "{views}");
}

#[test]
fn flops_and_parameters_of_a_layer_are_in_one_row() {
    // The layer `dense` has the variables `dense/kernel_1` and `dense/bias_1`; its ops are in `…/functional_1/dense_2`.
    let answer = tfprof(&["cost", &model("dense_export")]).out;
    let rows: Vec<&str> = answer.lines().skip_while(|line| *line != "by layer").skip(1).collect();
    let expect = [
        "layer    flops   share  params  macs   bytes",
        "dense_1  1.09k  80.71%     544   512  2.88KB",
        "dense      260  19.29%     132   128    704B",
        "",
        "names leave out StatefulPartitionedCall_1/StatefulPartitionedCall/functional_1/",
    ];
    assert_eq!(rows, expect);
    for name in ["mobilenet_v2", "attention", "lstm_save", "training_step", "tf1_rnn", "traced"] {
        let (_, cost) = json(&["cost", &model(name), "--format=json"]);
        let scopes = cost["scopes"].as_array().expect("scopes");
        for (key, whole) in [("params", "parameters"), ("float_ops", "float_ops"), ("macs", "macs")] {
            let sum: i64 = scopes.iter().filter_map(|scope| scope[key].as_i64()).sum();
            assert_eq!(Some(sum), cost[whole].as_i64(), "{name}: {key}");
        }
    }
    // Budgets know both names of a layer.
    let budget = scratch("layers").join("budget.toml");
    std::fs::write(&budget, "[scope.dense]\nmax_params = 1\n[scope.'.*/dense_2']\nmax_flops = 1\n").expect("a file");
    let (_, cost) = json(&["cost", &model("dense_export"), "--budget", &budget.display().to_string(), "--format=json"]);
    let found: Vec<_> = cost["over"].as_array().expect("limits").iter().map(|over| over["found"].as_i64()).collect();
    assert_eq!(found, [Some(132), Some(260)]);
}

#[test]
fn two_models_are_compared_by_layer() {
    let answer = tfprof(&["cost", &model("lstm_export"), "--baseline", &model("dense_export")]);
    assert_eq!(answer.code, 0);
    let whole = answer.out.lines().find(|line| line.starts_with("the whole model")).expect("the whole");
    assert!(whole.contains("+924") && whole.contains("+33.59k"), "{whole}");
    let same = tfprof(&["cost", &model("dense_export"), "--baseline", &model("dense_export")]);
    let whole = same.out.lines().find(|line| line.starts_with("the whole model")).expect("the whole");
    assert_eq!(whole.split_whitespace().skip(3).collect::<String>(), "=====");
}

#[test]
fn every_view_works_on_a_saved_model() {
    for view in ["scope", "graph", "op"] {
        let answer = tfprof(&[view, &model("while_loop"), "-select", "float_ops,params", "-max_depth", "100"]);
        assert!(answer.code == 0 && answer.out.contains("81.92k"), "{view}: {}{}", answer.out, answer.err);
    }
    let answer = tfprof(&["code", &model("traced"), "-select", "float_ops", "-max_depth", "100"]);
    assert!(answer.code == 0 && answer.out.contains("product"), "{}{}", answer.out, answer.err);
    let missing = tfprof(&["op", &model("signatures")]);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("several signatures, `both`, `decode`, `encode`"), "{}", missing.err);
    let answer = tfprof(&["op", &corpus("keras_cnn/saved_model"), "-select", "params", "-order_by", "params"]);
    assert!(answer.code == 0 && answer.out.contains("423.02k params"), "{}{}", answer.out, answer.err);
    let info = tfprof(&["info", &model("dense_export")]);
    assert!(info.code == 0 && info.out.contains("676"), "{}", info.out);
}

#[test]
fn wrong_settings_name_valid_ones() {
    let check = |words: &[&str], expect: &str| {
        let answer = tfprof(&[&["cost", &model("dense_export")], words].concat());
        assert_eq!(answer.code, 2, "{words:?}: {}", answer.err);
        assert!(answer.err.contains(expect), "{words:?}: {}", answer.err);
    };
    check(&["--signature=served"], "unknown signature `served`; did you mean `serve`?");
    check(&["--trip_count=while"], "expected NAME=N, the name of a loop and a number, found `while`");
    check(&["--batch=many"], "expected a number");
    let answer = tfprof(&["op", &model("dense_export"), "--budget=x"]);
    assert!(answer.code == 2 && answer.err.contains("-budget is not for op; it is for cost"), "{}", answer.err);
}
