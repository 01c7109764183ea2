//! The code view without the framework: which frames are folded, where, and what their totals are.

use crate::common::{corpus, scratch, tfprof};
use serde_json::Value;
use std::path::{Path, PathBuf};

const FRAMEWORK: &str = "/v/lib/python3.11/site-packages/tensorflow/python/ops/math_ops.py";

/// A model in a new directory: by op, the files and lines of its stack, the outermost first. Each op has one FLOP more
/// than the one before.
fn model(test: &str, ops: &[&[(&str, u32)]]) -> PathBuf {
    let dir = scratch(test);
    let (mut graph, mut log, mut files) = (String::new(), String::new(), vec!["none", "f"]);
    for (i, stack) in ops.iter().enumerate() {
        graph += &format!("node {{ name: 'op{i}' op: 'MatMul' }}\n");
        let mut traces = String::new();
        for (file, line) in *stack {
            let id = files.iter().position(|known| known == file).unwrap_or_else(|| {
                files.push(file);
                files.len() - 1
            });
            traces += &format!("traces {{ file_id: {id} function_id: 1 lineno: {line} }} ");
        }
        log += &format!("log_entries {{ name: 'op{i}' float_ops: {} code_def {{ {traces} }} }}\n", i + 1);
    }
    for (id, file) in files.iter().enumerate() {
        log += &format!("id_to_string {{ key: {id} value: '{file}' }}\n");
    }
    std::fs::write(dir.join("graph.pbtxt"), graph).expect("a file");
    std::fs::write(dir.join("tfprof_log"), log).expect("a file");
    dir
}

fn code(dir: &Path, words: &[&str]) -> String {
    let dir = dir.display().to_string();
    let answer = tfprof(&[&["code", &dir, "-select", "float_ops", "-max_depth", "100"], words].concat());
    assert_eq!(answer.code, 0, "{words:?}: {}", answer.err);
    answer.out
}

fn rows(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| !line.starts_with("_TFProfRoot")).collect()
}

#[test]
fn frames_fold_into_the_users_frame_around_them() {
    let dir = model(
        "frames",
        &[
            &[
                ("<frozen runpy>", 88),
                ("/home/me/train.py", 3),
                (FRAMEWORK, 10),
                ("/home/me/net.py", 7),
                (FRAMEWORK, 20),
            ],
            &[("<frozen runpy>", 88), ("/home/me/train.py", 3), (FRAMEWORK, 10)],
            &[("/usr/lib/python3.11/threading.py", 5), (FRAMEWORK, 30)],
        ],
    );
    let all = code(&dir, &[]);
    assert_eq!(rows(&all)[0], "_TFProfRoot (--/6 flops)");
    assert_eq!(rows(&all).len(), 8, "a pipe has all frames: {all}");
    assert_eq!(code(&dir, &["-frames", "all"]), all);
    let folded = code(&dir, &["-frames", "user"]);
    assert_eq!(
        rows(&folded),
        [
            "_TFProfRoot (--/6 flops)",
            "  threading.py:5:f (3/3 flops)",
            "  train.py:3:f (2/3 flops)",
            "    net.py:7:f (1/1 flops)",
            "… 4 frames of frameworks are folded; use -frames all",
        ]
    );
    // Pages fold unless told otherwise; data does not.
    let page = |words: &[&str]| code(&dir, &[&["-output", "html:outfile=-"], words].concat());
    assert!(
        page(&[]).contains("4 frames of frameworks are folded; use -frames all") && !page(&[]).contains("math_ops.py")
    );
    for words in [&["-frames", "all"][..], &["-original_quirks"]] {
        assert!(page(words).contains("math_ops.py") && !page(words).contains("folded"), "{words:?}");
    }
    let json = |words: &[&str]| -> Value {
        serde_json::from_str(&code(&dir, &[&["-output", "json:outfile=-"], words].concat())).expect("JSON")
    };
    let (all, folded) = (json(&[]), json(&["-frames", "user"]));
    assert_eq!((all["rows"].as_array().map(Vec::len), all.get("folded_frames")), (Some(8), None));
    assert_eq!((folded["rows"].as_array().map(Vec::len), &folded["folded_frames"]), (Some(4), &Value::from(4)));
    assert_eq!(folded["rows"][0]["total"]["float_ops"], all["rows"][0]["total"]["float_ops"]);
    let answer = tfprof(&["code", &dir.display().to_string(), "-frames", "mine"]);
    assert!(answer.code == 2 && answer.err.contains("unknown word `mine`"), "{}", answer.err);
}

#[test]
fn folding_loses_nothing() {
    for (path, stacks) in
        [("resnet32", "auto"), ("rnn", "auto"), ("xspace/jax_python", "python"), ("xspace/jax_mlp", "auto")]
    {
        let ask = |frames: &str| -> (usize, f64, f64) {
            let path = corpus(path);
            let words = ["-select", "micros", "-step", "all", "-max_depth", "1000", "-output", "json:outfile=-"];
            let answer = tfprof(&[&["code", &path, "-stacks", stacks, "-frames", frames], &words[..]].concat());
            let json: Value = serde_json::from_str(&answer.out).expect("JSON");
            let rows = json["rows"].as_array().expect("rows");
            let own = rows.iter().map(|row| row["self"]["micros"].as_f64().expect("a number")).sum();
            (rows.len(), rows[0]["total"]["micros"].as_f64().expect("a number"), own)
        };
        let (all, folded) = (ask("all"), ask("user"));
        assert!((all.1 - folded.1).abs() < 0.001, "{path}: {all:?} {folded:?}");
        assert!((all.2 - folded.2).abs() < 0.01 && folded.0 <= all.0, "{path}: {all:?} {folded:?}");
        assert!(path == "xspace/jax_mlp" || folded.0 * 10 < all.0, "{path}: {all:?} {folded:?}");
    }
}

#[test]
fn a_profile_of_nothing_but_frameworks_keeps_its_frames() {
    let dir = model("only_frames", &[&[("<frozen runpy>", 88), (FRAMEWORK, 10)], &[(FRAMEWORK, 20)]]);
    assert_eq!(code(&dir, &["-frames", "user"]), code(&dir, &["-frames", "all"]));
}

#[test]
fn depth_costs_no_stack() {
    let stack: Vec<(&str, u32)> = (1..50_000).map(|line| (FRAMEWORK, line)).chain([("/home/me/a.py", 1)]).collect();
    let dir = model("deep_frames", &[&stack, &stack[..40_000]]);
    assert_eq!(rows(&code(&dir, &["-frames", "user"])).len(), 4);
}

#[test]
fn source_lines_come_from_disk() {
    let dir = scratch("source_lines");
    let write = |name: &str, text: &[u8]| {
        std::fs::write(dir.join(name), text).expect("a file");
        dir.join(name).display().to_string()
    };
    let (net, key) = (write("net.py", b"import tensorflow\n  y = x\x1b[2J @ w\n"), write("id_rsa", b"secret\n"));
    let model = model("source_lines_model", &[&[(&net, 2)], &[(&net, 9)], &[(&key, 1)], &[("/no/such.py", 1)]]);
    let text = code(&model, &["-source_lines"]);
    assert!(rows(&text).contains(&"  net.py:2:f:y = x [2J @ w (1/1 flops)"), "{text}");
    assert!(!text.contains("secret") && !text.contains('\u{1b}'), "{text}");
    assert!(rows(&text).iter().any(|row| row.contains("such.py:1:f") && row.contains("none")), "{text}");
}
