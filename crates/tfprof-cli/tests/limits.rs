//! Figures beside the peaks of a device, layers, what if, and the measurement of this machine.

use crate::common::{scratch, tfprof};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn model(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models").join(name).display().to_string()
}

fn json(words: &[&str]) -> Value {
    let answer = tfprof(words);
    assert_eq!(answer.code, 0, "{}", answer.err);
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{error}: {}", answer.err))
}

const PEAKS: [&str; 4] = ["-peak_flops", "100G", "-peak_bandwidth", "20GB/s"];

#[test]
fn shares_are_ratios_of_totals_and_say_which_peak() {
    let select = "float_ops,io_bytes,device_micros,compute_micros,memory_micros,roofline_micros,lost_micros,flops_share,\
                  roofline_share,covered_share,flops_per_second,bound_by";
    let words =
        [&["demo", "op", "-max_depth", "1000", "-select", select, "-output", "json:outfile=-"], &PEAKS[..]].concat();
    let answer = json(&words);
    assert_eq!(answer["peaks"][0], "peak of the CPU: 100 GFLOP/s, 20 GB/s (given)");
    let mut compared = 0;
    for row in answer["rows"].as_array().expect("rows") {
        let number = |key: &str| row["self"][key].as_f64();
        let (Some(took), Some(share)) = (number("device_micros"), number("flops_share")) else { continue };
        let (flops, bytes) = (number("float_ops").expect("known"), number("io_bytes").expect("known"));
        // Times are whole microseconds, one for each node of the row.
        assert!((share - flops / 100e9 * 1e6 / took).abs() < 0.02 + 50.0 / took, "{row}");
        assert!((number("flops_per_second").expect("known") - flops / took * 1e6).abs() < 1.0 + flops * 1e-3, "{row}");
        if let (Some(least), Some(lost)) = (number("roofline_micros"), number("lost_micros")) {
            let [compute, memory] = ["compute_micros", "memory_micros"].map(|key| number(key).expect("known"));
            assert!(least >= compute.max(memory) && least <= compute + memory + 1e-6, "{row}");
            assert!(lost >= 0.0 && lost + least >= took - 1e-6, "{row}");
            assert!(bytes >= 0.0);
            compared += 1;
        }
    }
    assert!(compared > 5, "{compared} rows");
    let conv = answer["rows"].as_array().into_iter().flatten().find(|row| row["name"] == "Conv2D").expect("Conv2D");
    assert_eq!(conv["bound_by"][0], "compute", "{conv}");
}

#[test]
fn without_a_peak_shares_are_unknown_and_the_warning_says_what_to_do() {
    let dir = scratch("no_peak");
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tfprof"));
        command.args(words).env("XDG_CONFIG_HOME", &dir).output().expect("the binary")
    };
    let output = run(&["demo", "op", "-select", "flops_share,micros"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && err.contains("no peak of the CPU is known") && err.contains("tfprof peak"),
        "{err}"
    );
    // A device of the user's own file.
    std::fs::create_dir_all(dir.join("tfprof")).expect("a directory");
    std::fs::write(
        dir.join("tfprof/devices.toml"),
        "[[device]]\nname = \"Abacus\"\nf32 = 1e9\nbandwidth = 1e9\nsource = \"me\"\n",
    )
    .expect("a file");
    let output = run(&["demo", "op", "-select", "flops_share,micros", "-device", "abacus"]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(out.contains("peak of the CPU: 1 GFLOP/s f32, 1 GB/s (Abacus: me)"), "{out}");
    let wrong = tfprof(&["demo", "op", "-select", "flops_share", "-device", "h1000"]);
    assert!(wrong.code == 2 && wrong.err.contains("unknown device `h1000`"), "{}", wrong.err);
    let wrong = tfprof(&["demo", "op", "-peak_flops", "fast"]);
    assert!(wrong.code == 2 && wrong.err.contains("expected a rate a second"), "{}", wrong.err);
}

#[test]
fn layers_add_up_to_the_cost_of_the_model() {
    for name in ["dense_export", "densenet121", "attention"] {
        let layers = json(&["layers", &model(name), "--format=json", "--batch=2"]);
        let cost = json(&["cost", &model(name), "--format=json", "--batch=2"]);
        for (key, of_cost) in [("params", "parameters"), ("float_ops", "float_ops"), ("io_bytes", "io_bytes")] {
            let sum: i64 = layers["rows"].as_array().into_iter().flatten().filter_map(|row| row[key].as_i64()).sum();
            assert_eq!(
                (Some(sum), layers["model"][key].as_i64()),
                (cost[of_cost].as_i64(), cost[of_cost].as_i64()),
                "{name} {key}"
            );
        }
    }
    let dense = tfprof(&["layers", &model("dense_export"), "--batch=2"]).out;
    assert!(dense.lines().next().is_some_and(|head| head.starts_with("layer")), "{dense}");
    assert!(dense.contains("memory: parameters"), "{dense}");
}

#[test]
fn layers_come_in_the_order_in_which_they_run() {
    let layers = json(&["layers", &model("mobilenet_v2"), "--format=json"]);
    let names: Vec<&str> =
        layers["rows"].as_array().into_iter().flatten().filter_map(|row| row["name"].as_str()).collect();
    let place =
        |layer: &str| names.iter().position(|name| *name == layer).unwrap_or_else(|| panic!("{layer}: {names:?}"));
    let order = [
        "Conv1",
        "block_2_expand",
        "block_2_expand_BN",
        "block_2_project",
        "block_10_expand",
        "block_11_expand",
        "Conv_1_bn",
    ];
    assert!(order.is_sorted_by_key(|layer| place(layer)), "{names:?}");
}

#[test]
fn activations_of_layers_are_those_of_the_whole_model() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/dialects/samples/network.tflite");
    let layers = json(&["layers", file, "--format=json"]);
    assert_eq!(layers["model"]["activation_bytes"].as_i64(), Some(872));
    assert_eq!(layers["model"]["memory"]["activations"].as_i64(), Some(872), "without the input");
}

#[test]
fn layers_of_a_run_have_time_and_shares() {
    let words = [&["demo", "layers", "--format=json"], &PEAKS[..]].concat();
    let layers = json(&words);
    let times: f64 = layers["rows"].as_array().into_iter().flatten().filter_map(|row| row["micros"].as_f64()).sum();
    let whole = layers["model"]["micros"].as_f64().expect("time");
    assert!(whole > 0.0 && (times - whole).abs() < 1e-6 * whole, "{times} {whole}");
    assert!(layers["model"]["step_micros"].as_f64() > Some(0.0));
    assert!(layers["rows"].as_array().into_iter().flatten().any(|row| row["flops_share"].as_f64() > Some(0.0)));
}

#[test]
fn a_page_of_what_if_has_a_picture() {
    let page =
        tfprof(&["whatif", &model("dense_export"), "--batch=1,8", "-device", "h100", "--format=html", "--outfile=-"])
            .out;
    assert!(page.contains("<title>least step time</title>") && page.contains("batch 8, NVIDIA H100 SXM"), "{page}");
}

#[test]
fn a_device_without_bandwidth_says_why_there_is_no_time() {
    let answer = tfprof(&["whatif", &model("dense_export"), "-device", "a100"]).out;
    assert!(answer.contains("--") && answer.contains("the bandwidth of its memory is unknown"), "{answer}");
}

#[test]
fn what_if_bounds_the_step_from_below() {
    let words =
        ["whatif", &model("dense_export"), "--batch=1,8", "-device", "h100,cpu:avx2:8x3.0GHz", "-peak_bandwidth", "1T"];
    let cases = json(&[&words[..], &["--dtype", "bf16", "--format=json"]].concat());
    let rows = cases["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("no {key} in {row}"));
        assert!(number("micros") >= number("compute_micros").max(number("memory_micros")) - 1e-9, "{row}");
        assert!(number("micros") <= number("compute_micros") + number("memory_micros") + 1e-9, "{row}");
    }
    assert_eq!(rows[2]["float_ops"].as_i64(), rows[0]["float_ops"].as_i64().map(|flops| 8 * flops));
    assert!(cases["assumptions"].to_string().contains("all numbers are bf16"));
    let refused = tfprof(&["cost", &model("dense_export"), "--batch=1,8"]);
    assert!(refused.code == 2 && refused.err.contains("whatif compares several"), "{}", refused.err);
}

#[test]
fn a_roofline_is_drawn() {
    let dir = scratch("roofline");
    for file in ["r.roofline.svg", "r.roofline.html"] {
        let path = dir.join(file).display().to_string();
        let answer = tfprof(&[&["demo", "op", "-output", &path], &PEAKS[..]].concat());
        assert_eq!(answer.code, 0, "{}", answer.err);
        let text = std::fs::read_to_string(&path).expect("a picture");
        assert!(text.contains("<circle") && text.contains("100 GFLOP/s") && text.contains("20 GB/s"), "{text}");
        assert_eq!(text.contains("<html"), file.ends_with("html"));
    }
}

#[test]
fn a_measurement_is_saved_and_used() {
    let dir = scratch("peak");
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tfprof"));
        let output = command.args(words).env("XDG_CONFIG_HOME", &dir).output().expect("the binary");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let measured: Value = serde_json::from_str(&run(&["peak", "--threads=1", "--format=json"])).expect("JSON");
    assert!(measured["f32_flops_per_second"].as_f64() > Some(1e6) && measured["bytes_per_second"].as_f64() > Some(1e6));
    assert_eq!(measured["threads"], 1);
    let answer = run(&["demo", "op", "-select", "flops_share"]);
    assert!(answer.contains("measured by tfprof peak: 1 thread"), "{answer}");
}

/// A trace of PyTorch: a step of 1 ms with these events.
fn torch_trace(name: &str, events: &str) -> String {
    torch_trace_beside(r#"[{"id":0,"name":"NVIDIA A100-SXM4-80GB"}]"#, name, events)
}

fn torch_trace_beside(devices: &str, name: &str, events: &str) -> String {
    let step = r#"{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":1000,"dur":1000}"#;
    let text = format!(
        "{{\"schemaVersion\":1,\"deviceProperties\":{devices},\"record_shapes\":1,\"traceEvents\":[{step},{events}]}}"
    );
    let path = scratch(name).join("trace.json");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

fn savings(trace: &str, checker: &str) -> Vec<f64> {
    let advice = json(&["advise", trace, &format!("--checkers={checker}"), "--format=json"]);
    let findings = advice["rows"][0]["findings"].as_array().expect("findings").clone();
    findings.iter().filter_map(|finding| finding["saving_micros"].as_f64()).collect()
}

/// An event of a trace of PyTorch: its category, name, thread, start and length.
fn event(category: &str, name: &str, thread: i64, start: i64, length: i64) -> String {
    let (process, args) = match category {
        "kernel" | "gpu_memcpy" => (0, r#""device":0,"stream":7"#),
        _ => (1, ""),
    };
    format!(
        r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":{process},"tid":{thread},"ts":{start},"dur":{length},"args":{{{args}}}}}"#
    )
}

fn events(list: &[(&str, &str, i64, i64, i64)]) -> String {
    let texts: Vec<String> = list
        .iter()
        .map(|(category, name, thread, start, length)| event(category, name, *thread, *start, *length))
        .collect();
    texts.join(",")
}

#[test]
fn waits_for_the_device_are_found() {
    let kernel = ("kernel", "gemm", 7, 1000, 400);
    let check = |name: &str, call: (&str, &str, i64, i64, i64), found: &[f64]| {
        assert_eq!(savings(&torch_trace(name, &events(&[kernel, call])), "SynchronisationChecker"), found, "{call:?}");
    };
    // The device is idle during 600 of the 1000, but the host waits during 500 only.
    check("waits", ("cuda_runtime", "cudaStreamSynchronize", 1, 1400, 500), &[500.0]);
    check("waits_long", ("cuda_runtime", "hipDeviceSynchronize", 1, 1000, 1000), &[600.0]);
    check("launches", ("cuda_runtime", "cudaLaunchKernel", 1, 1400, 500), &[]);
    check("waits_short", ("cuda_runtime", "cudaStreamSynchronize", 1, 1400, 40), &[]);
}

#[test]
fn waits_for_the_data_loader_are_found() {
    let next = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    let check = |name: &str, range: &str, length: i64, found: &[f64]| {
        let trace = torch_trace(name, &events(&[("user_annotation", range, 1, 1000, length)]));
        assert_eq!(savings(&trace, "LoaderChecker"), found, "{range}");
    };
    check("loader", next, 300, &[300.0]);
    check("loader_workers", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 300, &[300.0]);
    check("loader_short", next, 40, &[]);
    check("no_loader", "forward", 300, &[]);
}

#[test]
fn pageable_copies_are_found() {
    let kernel = ("kernel", "gemm", 7, 1500, 300);
    let check = |name: &str, copy: &str, found: &[f64]| {
        let trace = torch_trace(name, &events(&[kernel, ("gpu_memcpy", copy, 7, 1100, 300)]));
        assert_eq!(savings(&trace, "CopyChecker"), found, "{copy}");
    };
    check("pageable", "Memcpy HtoD (Pageable -> Device)", &[300.0]);
    check("pinned", "Memcpy HtoD (Pinned -> Device)", &[]);
}

/// Copies that return when they are done wait: if the device does nothing meanwhile, its work was not recorded, and it is not
/// the host that holds it up.
#[test]
fn a_host_that_waits_for_unrecorded_work_is_not_said_to_hold_up_the_device() {
    let check = |name: &str, call: &str, host: &[f64], waits: &[f64]| {
        let list = [
            ("kernel", "gemm", 7, 1000, 50),
            ("cpu_op", "aten::copy_", 1, 1000, 1000),
            ("cuda_runtime", call, 1, 1000, 1000),
        ];
        let trace = torch_trace(name, &events(&list));
        assert_eq!(savings(&trace, "HostChecker"), host, "{call}");
        assert_eq!(savings(&trace, "SynchronisationChecker"), waits, "{call}");
    };
    check("blocking_copy", "hipMemcpyWithStream", &[], &[950.0]);
    check("busy_host", "cudaLaunchKernel", &[950.0], &[]);
}

/// A trace that names a GPU without any of its work has times of launches, not of work.
#[test]
fn times_beside_an_unseen_device_are_not_judged() {
    let copies = torch_trace("unseen", &event("cpu_op", "aten::copy_", 1, 1000, 600));
    assert!(savings(&copies, "LayoutChecker").is_empty());
    let kernel = [("cpu_op", "aten::copy_", 1, 1000, 600), ("kernel", "gemm", 7, 1000, 50)];
    assert_eq!(savings(&torch_trace("seen", &events(&kernel)), "LayoutChecker"), [600.0]);
}

#[test]
fn rules_for_models_keep_from_traces_of_other_programs() {
    let path = scratch("browser").join("trace.json");
    let event = |name: &str, start: i64| {
        format!(r#"{{"ph":"X","cat":"toplevel","name":"{name}","pid":1,"tid":1,"ts":{start},"dur":100}}"#)
    };
    std::fs::write(&path, format!("[{},{}]", event("a", 0), event("b", 100_000))).expect("a file");
    let advice = json(&["advise", &path.display().to_string(), "--format=json"]);
    for row in advice["rows"].as_array().expect("rows") {
        let spoke = !row["reports"].as_array().expect("reports").is_empty();
        assert_eq!(spoke, row["name"] == "ExpensiveOperationChecker", "{row}");
    }
}

#[test]
fn compilation_in_a_step_is_found() {
    let event = |name: &str| {
        format!(r#"{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":1,"ts":1100,"dur":600,"args":{{}}}}"#)
    };
    let compiles = torch_trace("compiles", &event("entire_frame_compile"));
    assert_eq!(savings(&compiles, "CompilationChecker"), [600.0]);
    assert!(savings(&torch_trace("runs", &event("aten::mm")), "CompilationChecker").is_empty());
}

/// Gloo puts ranges around its collectives, in which no op runs. Ranges of the user say nothing about work.
#[test]
fn collectives_of_gloo_are_no_idle_time() {
    let op = r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1000,"dur":50,"args":{}}"#;
    let range = |name: &str| {
        format!(r#"{op},{{"ph":"X","cat":"user_annotation","name":"{name}","pid":1,"tid":2,"ts":1050,"dur":940}}"#)
    };
    let on_cpu = |name: &str, events: &str| savings(&torch_trace_beside("[]", name, events), "IdleChecker");
    assert!(on_cpu("gloo", &range("gloo:all_reduce")).is_empty());
    assert_eq!(on_cpu("range", &range("backward")), [950.0]);
    // Beside a GPU without recorded work, gaps tell nothing.
    assert!(savings(&torch_trace("range_gpu", &range("backward")), "IdleChecker").is_empty());
}

#[test]
fn float32_without_tensor_cores_is_found() {
    let product = |kernel: &str| {
        let op = r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1100,"dur":50,"args":{"External id":5,"Input Dims":[[512,512],[512,512]],"Input type":["float","float"]}}"#;
        let launch = r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1110,"dur":5,"args":{"correlation":7,"External id":5}}"#;
        let work = format!(
            r#"{{"ph":"X","cat":"kernel","name":"{kernel}","pid":0,"tid":7,"ts":1200,"dur":500,"args":{{"device":0,"stream":7,"correlation":7,"External id":5}}}}"#
        );
        format!("{op},{launch},{work}")
    };
    // 156 instead of 19.5 TFLOP/s: seven eighths of the time.
    assert_eq!(savings(&torch_trace("plain", &product("ampere_sgemm_128x64_nn")), "PrecisionChecker"), [437.0]);
    let fast = torch_trace("tf32", &product("ampere_s1688gemm_tf32_128x128"));
    assert!(savings(&fast, "PrecisionChecker").is_empty());
}

#[test]
fn the_innermost_op_of_a_convolution_has_its_flops() {
    let convolution = |name: &str, from: i64, values: &str| {
        let inputs = r#""Input Dims":[[1,3,8,8],[4,3,3,3],[4]],"Input type":["float","float","float"]"#;
        let dur = 400 - 2 * from;
        format!(
            r#"{{"ph":"X","cat":"cpu_op","name":"aten::{name}","pid":1,"tid":1,"ts":{},"dur":{dur},"args":{{{inputs},"Concrete Inputs":{values}}}}}"#,
            1100 + from
        )
    };
    let plain = r#"["","","","[1, 1]","[1, 1]","[1, 1]","1"]"#;
    let events = format!("{},{}", convolution("conv2d", 0, plain), convolution("mkldnn_convolution", 10, plain));
    let trace = torch_trace("convolution", &events);
    let answer = json(&["op", &trace, "-select", "float_ops,micros", "-output", "json:outfile=-"]);
    let flops = |name: &str| {
        let rows = answer["rows"].as_array().into_iter().flatten();
        rows.filter(|row| row["name"] == name).map(|row| row["self"]["float_ops"].as_f64()).next().flatten()
    };
    assert_eq!(flops("aten::mkldnn_convolution"), Some(2.0 * 4.0 * 64.0 * 27.0), "{answer}");
    assert_eq!(flops("aten::conv2d"), Some(0.0), "{answer}");
}

#[test]
fn ops_that_leave_their_work_to_others_inside_them_count_it_once() {
    let op = |name: &str, start: i64, length: i64| {
        let args = r#""Input Dims":[[10,5],[]],"Input type":["float","Scalar"]"#;
        format!(
            r#"{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":1,"ts":{start},"dur":{length},"args":{{{args}}}}}"#
        )
    };
    let list = [
        op("aten::relu_", 1000, 100),
        op("aten::clamp_min_", 1010, 80),
        op("aten::layer_norm", 1200, 100),
        op("aten::native_layer_norm", 1210, 80),
        // Its own work is unknown, whatever is inside it.
        op("aten::mystery", 1400, 100),
        op("aten::add", 1410, 80),
        // A leaf.
        op("aten::relu", 1600, 100),
    ];
    let trace = torch_trace("wrappers", &list.join(","));
    let answer = json(&["op", &trace, "-select", "float_ops,micros", "-output", "json:outfile=-"]);
    let rows = answer["rows"].as_array().into_iter().flatten();
    let mut flops: Vec<(&str, Option<f64>)> =
        rows.skip(1).map(|row| (row["name"].as_str().unwrap_or_default(), row["self"]["float_ops"].as_f64())).collect();
    flops.retain(|(name, _)| name.starts_with("aten::"));
    flops.sort_by_key(|(name, _)| *name);
    let expected = [
        ("aten::add", Some(50.0)),
        ("aten::clamp_min_", Some(50.0)),
        ("aten::layer_norm", Some(0.0)),
        ("aten::mystery", None),
        ("aten::native_layer_norm", Some(350.0)),
        ("aten::relu", Some(50.0)),
        ("aten::relu_", Some(0.0)),
    ];
    assert_eq!(flops, expected, "{answer}");
}
