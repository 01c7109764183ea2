//! Models that are not TensorFlow's, as users ask about them: ONNX and TensorFlow Lite. `tests/dialects` makes the samples.

use crate::common::{scratch, tfprof};
use std::path::Path;

fn sample(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/dialects/samples").join(name).display().to_string()
}

fn cost(words: &[&str]) -> serde_json::Value {
    let answer = tfprof(&[&["cost", "--format=json"], words].concat());
    assert_eq!(answer.code, 0, "{}", answer.err);
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{error}: {}", answer.err))
}

fn check(words: &[&str], expect: &[(&str, i64)]) {
    let cost = cost(words);
    for (key, figure) in expect {
        assert_eq!(cost[*key].as_i64(), Some(*figure), "{key} of {words:?}: {cost:#}");
    }
}

#[test]
fn open_sizes_of_onnx_have_names() {
    let model = sample("shapes.onnx");
    // The convolution: 4·4·4 outputs of 27 products for each image; the dense layer: 5 · 64.
    let figures = [("parameters", 108 + 4 + 320 + 5), ("macs", 2 * (64 * 27 + 5 * 64)), ("unknown_ops", 0)];
    check(&[&model, "--input", "width=8", "--batch=2"], &figures);
    check(&[&model, "--input", "width=8", "--input", "batch=2"], &figures);
    let wrong = tfprof(&["cost", &model, "--input", "height=8"]);
    assert!(wrong.code == 2 && wrong.err.contains("width"), "{}", wrong.err);
    let wrong = tfprof(&["cost", &model, "--input", "width=8x8"]);
    assert!(wrong.code == 2 && wrong.err.contains("one size"), "{}", wrong.err);
}

#[test]
fn branches_loops_and_scans_of_onnx_are_followed() {
    // The costlier branch, six rounds of the loop, four rows of the scan.
    let figures = [("parameters", 64 + 8 + 8), ("macs", 7 * 4 * 8 * 8), ("unknown_ops", 0)];
    check(&[&sample("control.onnx")], &figures);
    let ops = tfprof(&["op", &sample("control.onnx"), "-select", "float_ops"]).out;
    assert!(ops.contains("MatMul") && ops.contains("Relu"), "{ops}");
}

#[test]
fn quantized_ops_and_functions_count_and_unknown_ops_are_named() {
    let figures = [("parameters", 42 + 7), ("macs", 7 * 25 * 6 + 7 * 5 * 5 * 5), ("unknown_ops", 1)];
    check(&[&sample("quantized.onnx")], &figures);
    let text = tfprof(&["cost", &sample("quantized.onnx")]).out;
    assert!(text.contains("odd.Mystery"), "{text}");
}

#[test]
fn attention_of_onnx_counts_by_heads_and_uneven_parts_have_sizes() {
    // Four heads of queries on two of keys, with five keys from before; heads of values that are larger than those of keys; the
    // matrix behind attention; the smaller last part; a convolution that samples its input.
    let macs = 4 * 4 * 9 * 16 + 2 * 3 * 4 * 6 * 18 + 8 * 30 * 5 + 8 * 6 * 7 + 5 * 9 * 12;
    check(&[&sample("attention.onnx")], &[("parameters", 150 + 42 + 60), ("macs", macs), ("unknown_ops", 0)]);
}

#[test]
fn tensorflow_lite_models_scale_with_the_batch() {
    let macs = 150 * 27 + 54 * 9 + 24;
    check(&[&sample("network.tflite")], &[("macs", macs), ("unknown_ops", 0)]);
    check(&[&sample("network.tflite"), "--batch=3"], &[("macs", 3 * macs)]);
    check(&[&sample("network_int8.tflite")], &[("macs", macs), ("unknown_ops", 0)]);
    let float = cost(&[&sample("network.tflite")]);
    let quantized = cost(&[&sample("network_int8.tflite")]);
    assert_eq!(float["parameters"], quantized["parameters"]);
}

#[test]
fn all_views_answer_and_code_says_why_it_cannot() {
    for name in ["shapes.onnx", "network.tflite"] {
        for view in ["scope", "op", "graph"] {
            let answer = tfprof(&[view, &sample(name), "-select", "params,float_ops"]);
            assert_eq!(answer.code, 0, "{view} {name}: {}", answer.err);
            assert!(answer.out.contains("onv") || answer.out.contains("CONV_2D"), "{view} {name}: {}", answer.out);
        }
        let code = tfprof(&["code", &sample(name)]);
        let why =
            if name.ends_with("onnx") { "an ONNX file does not say which lines" } else { "drops the lines of Python" };
        assert!(code.code == 1 && code.err.contains(why), "{name}: {} {}", code.out, code.err);
        let info = tfprof(&["info", &sample(name)]);
        let said = if name.ends_with("onnx") { "op sets ai.onnx " } else { "schema 3, 1 subgraph" };
        assert!(info.code == 0 && info.out.contains(said), "{}", info.out);
        assert!(!info.out.contains("session.run"), "{}", info.out);
    }
    for name in ["shapes.onnx", "network.tflite"] {
        let answer = tfprof(&["checkpoint", &sample(name)]);
        assert!(answer.code == 1 && answer.err.contains("list its weights with `tfprof scope"), "{}", answer.err);
    }
    let same = tfprof(&["diff", &sample("network.tflite"), &sample("network.tflite")]);
    assert_eq!(same.code, 0, "{}", same.err);
}

#[test]
fn damaged_files_get_a_sentence() {
    let dir = scratch("dialects");
    for name in ["shapes.onnx", "control.onnx", "network.tflite", "control.tflite"] {
        let bytes = std::fs::read(sample(name)).expect("a sample");
        for cut in [9, bytes.len() / 3, bytes.len() - 5] {
            let file = dir.join(format!("{cut}_{name}"));
            std::fs::write(&file, &bytes[..cut]).expect("a file");
            let answer = tfprof(&["cost", &file.display().to_string()]);
            assert!(matches!(answer.code, 0 | 1 | 4), "{cut} {name}: {} {}", answer.code, answer.err);
            assert!(!answer.err.contains("panicked"), "{}", answer.err);
        }
    }
    // An offset that leads back to itself, and a list that claims more than the file has.
    let mut loops = std::fs::read(sample("network.tflite")).expect("a sample");
    loops[0..4].copy_from_slice(&[0; 4]);
    let file = dir.join("loops.tflite");
    std::fs::write(&file, &loops).expect("a file");
    let answer = tfprof(&["cost", &file.display().to_string()]);
    assert!(answer.code == 1 && answer.err.contains("damaged"), "{} {}", answer.code, answer.err);
}

#[test]
fn offsets_of_flat_buffers_may_lead_back_or_nowhere() {
    let dir = scratch("offsets");
    let bytes = std::fs::read(sample("control.tflite")).expect("a sample");
    // To itself, backwards by wrapping around, to the first table, behind the end. A subgraph may also call itself.
    let targets = |at: usize| [0, 0_u32.wrapping_sub(4), 28_u32.wrapping_sub(at as u32), u32::MAX / 2];
    for (turn, at) in (0..bytes.len() - 4).step_by(12).enumerate() {
        let mut loops = bytes.clone();
        loops[at..at + 4].copy_from_slice(&targets(at)[turn % 4].to_le_bytes());
        let file = dir.join("offsets.tflite");
        std::fs::write(&file, &loops).expect("a file");
        let answer = tfprof(&["cost", &file.display().to_string(), "--max_work=50000000"]);
        assert!(matches!(answer.code, 0 | 1 | 4), "{at}: {} {}", answer.code, answer.err);
        assert!(!answer.err.contains("panicked"), "{at}: {}", answer.err);
    }
}
