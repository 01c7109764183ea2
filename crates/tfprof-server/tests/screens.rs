//! Answers of screens: averages without the warm-up, and a name with all that leads to it.

use crate::common::{Dir, demo, site};
use serde_json::{Value, json};
use std::path::Path;
use tfprof_server::Site;
use tfprof_server::reply::Body;

fn ask(site: &Site, key: &str) -> Value {
    let reply = site.answer(key);
    let Body::Json(body) = reply.body else { panic!("{key} is not JSON") };
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(reply.status, 200, "{key}: {answer}");
    answer
}

/// An op that took 900 and 700 microseconds in two steps, and then 100, 102, …
fn run(dir: &Dir) -> Site {
    let mut paths =
        vec![dir.write("graph.pbtxt", b"node { name: 'a/mul' op: 'Mul' } node { name: 'b/mul' op: 'Mul' }")];
    for step in 0..8 {
        let micros = match step {
            0 => 900,
            1 => 700,
            n => 96 + 2 * n,
        };
        let stats = |name: &str, start: i64| {
            format!(
                "node_stats {{ node_name: '{name}' all_start_micros: {start} op_end_rel_micros: {micros} all_end_rel_micros: {micros} }}"
            )
        };
        let text = format!(
            "step_stats {{ dev_stats {{ device: '/device:CPU:0' {} {} }} }}",
            stats("a/mul", 1000),
            stats("b/mul", 3000)
        );
        paths.push(dir.write(&format!("run_meta_{step}.pbtxt"), text.as_bytes()));
    }
    site(&paths, &dir.0)
}

#[test]
fn warm_up_is_left_out_of_the_average_of_the_others() {
    let dir = Dir::new("warm-up");
    let site = run(&dir);
    let meta = ask(&site, "meta");
    assert_eq!(meta["warm_up"]["steps"], json!([0, 1]));
    assert_eq!(meta["warm_up"]["can_leave_out"], true);
    let [all, later, one] =
        ["rows?metric=micros", "rows?metric=micros&warm=1", "rows?metric=micros&step=2"].map(|key| ask(&site, key));
    assert_eq!(one["parent"]["total"][0], 200.0);
    // 100, 102, … 110: 105 on average, for each of two ops.
    assert_eq!(later["parent"]["total"][0], 210.0);
    assert!(all["parent"]["total"][0].as_f64().unwrap() > 550.0);
    assert!(later["command"].as_str().unwrap().contains(" -step 2:"), "{}", later["command"]);
    assert!(later["python"].as_str().unwrap().contains("step=\"2:\""), "{}", later["python"]);
    let overview = ask(&site, "overview?warm=1");
    assert_eq!(overview["figures"][1]["value"], 210.0);
    assert!(overview["figures"][0]["note"].as_str().unwrap().contains("6 steps from 2 on"), "{overview}");
    let node = ask(&site, "node?sel=scope%3Aa&warm=1");
    let steps: Vec<f64> =
        node["steps"].as_array().unwrap().iter().map(|step| step["value"].as_f64().unwrap()).collect();
    assert_eq!(steps[..3], [900.0, 700.0, 100.0], "the panel has the steps that are left out, too");
}

#[test]
fn the_bar_of_a_step_is_as_long_as_its_ops() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut split = 0;
    for name in [
        "xspace/jax_mlp",
        "xspace/jax_python",
        "xspace/gpu_like",
        "xspace/tf_keras_fit",
        "kineto/gpu.json.gz",
        "resnet32",
    ] {
        let site = site(&[corpus.join(name)], &corpus);
        for bar in ask(&site, "overview")["steps"].as_array().unwrap() {
            let parts = ["forward", "gradient", "other"].map(|part| bar[part].as_f64());
            let [Some(forward), Some(gradient), Some(other)] = parts else { continue };
            let rows = ask(&site, &format!("rows?metric=micros&step={}", bar["step"]));
            let whole = rows["parent"]["total"][0].as_f64().unwrap();
            assert!((forward + gradient + other - whole).abs() < 0.01, "{name}: {bar} of {whole}");
            split += 1;
        }
    }
    assert!(split > 12, "{split} steps are split");
}

#[test]
fn a_screen_that_a_trace_cannot_show_says_how_to_record_it() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let dir = Dir::new("how-to");
    let torch = dir.write(
        "trace.json",
        br#"{"schemaVersion":1,"deviceProperties":[],"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":1,"dur":5}]}"#,
    );
    let check = |path: &Path, screen: &str, line: &str| {
        let meta = ask(&site(&[path.to_owned()], &corpus), "meta");
        let row = meta["screens"].as_array().unwrap().iter().find(|row| row["word"] == screen).unwrap();
        assert_eq!(row["known"], false, "{row}");
        assert!(row["missing"]["how"].to_string().contains(line), "{row}");
    };
    check(&torch, "graph", "torch.onnx.export");
    check(&torch, "memory", "profile_memory=True");
    check(&corpus.join("xspace/tf_keras_fit"), "graph", "tfprof.record");
}

#[test]
fn a_name_has_all_its_places_in_the_middle() {
    let dir = Dir::new("around");
    let site = site(&demo(&dir), &dir.0);
    let by_type = ask(&site, "rows?metric=micros&view=op");
    let conv = by_type["rows"].as_array().unwrap().iter().find(|row| row["name"] == "Conv2D").unwrap();
    for key in ["flame?around=op%3AConv2D", "flame?around=op%3AConv2D&invert=1"] {
        let answer = ask(&site, key);
        assert_eq!(answer["root"]["total"][0].as_f64(), conv["total"][0].as_f64(), "{key}");
        assert_eq!(answer["places"], 31, "{key}");
    }
    let up = ask(&site, "flame?around=name%3Aconv1&invert=1");
    let down = ask(&site, "flame?around=name%3Aconv1");
    assert_eq!(up["root"]["total"], down["root"]["total"]);
    let names = |answer: &Value| -> Vec<String> {
        let boxes = answer["boxes"]["name"].as_array().unwrap();
        boxes.iter().map(|at| answer["names"][at.as_u64().unwrap() as usize].as_str().unwrap().to_owned()).collect()
    };
    assert!(names(&up).iter().any(|name| name == "sub1") && !names(&up).iter().any(|name| name == "Conv2D_grad"));
    assert!(names(&down).iter().any(|name| name == "Conv2D_grad") && !names(&down).iter().any(|name| name == "sub1"));
    // Each level of the boxes below is at most as wide as the one above.
    let (parent, width) = (down["boxes"]["parent"].as_array().unwrap(), down["boxes"]["w"].as_array().unwrap());
    for at in 1..parent.len() {
        let around = width[parent[at].as_u64().unwrap() as usize].as_f64().unwrap();
        assert!(width[at].as_f64().unwrap() <= around + 1e-9);
    }
    assert_eq!(site.answer("flame?around=name%3Anothing").status, 404);
    assert_eq!(site.answer("flame?around=nothing").status, 400);
}

#[test]
fn edges_go_through_scopes_that_have_no_box() {
    // A chain of 200 scopes: sixty have boxes, and the chain still holds together.
    let dir = Dir::new("chain");
    let node = |at: i64| {
        let input = if at == 0 { String::new() } else { format!("input: 's{}/op'", at - 1) };
        let size = if at % 4 == 0 { 64 } else { 2 };
        format!(
            "node {{ name: 's{at}/op' op: 'VariableV2' {input} attr {{ key: 'shape' value {{ shape {{ dim {{ size: {size} }} }} }} }} }}\n"
        )
    };
    let text: String = (0..200).map(node).collect();
    let site = site(&[dir.write("graph.pbtxt", text.as_bytes())], &dir.0);
    let answer = ask(&site, "graph?metric=params");
    let boxes = answer["boxes"].as_array().unwrap().len();
    let edges = answer["edges"].as_array().unwrap();
    assert_eq!((boxes, edges.len(), answer["left_out"]["rows"].as_u64()), (60, 59, Some(140)), "{answer}");
}

#[test]
fn sums_of_gradients_are_edges_of_a_ladder() {
    let dir = Dir::new("sums");
    let site = site(&demo(&dir), &dir.0);
    let answer = ask(&site, "graph");
    assert_eq!(answer["ladder"], true);
    assert_eq!(answer["sums"]["count"], 126);
    assert!(answer["sums"]["value"].as_f64().unwrap() > 100_000.0);
    let names = answer["boxes"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap());
    assert!(!names.clone().any(|name| name.contains("AddN")), "{:?}", names.collect::<Vec<_>>());
}
