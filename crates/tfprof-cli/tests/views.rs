//! The four views through the real binary: forms of input and output, and the manual's figures.

use crate::common::{Answer, corpus, scratch, tfprof, tfprof_with};
use std::io::Read;

fn unzipped(path: &str) -> Vec<u8> {
    let bytes = std::fs::read(corpus(path)).expect("a corpus file");
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain).expect("gzip");
    plain
}

/// From the line `Profile:` on.
fn report(text: &str) -> &str {
    text.find("Profile:\n").map_or("", |at| &text[at..])
}

fn ok(words: &[&str]) -> Answer {
    let answer = tfprof(words);
    assert_eq!(answer.code, 0, "{words:?}: {}", answer.err);
    answer
}

fn resnet(words: &str) -> String {
    let graph = format!("--graph_path={}", corpus("resnet32/graph.pb.gz"));
    let mut all: Vec<&str> = words.split_whitespace().collect();
    all.push(&graph);
    let answer = ok(&all);
    report(&answer.out).to_owned()
}

#[test]
fn parameters_of_the_manual() {
    let text = resnet("scope -account_type_regexes VariableV2 -max_depth 4 -select params -ops_only");
    let expect = "\
Profile:
node name | # parameters
_TFProfRoot (--/930.58k params)
  global_step (1, 1/1 params)
  init/init_conv/DW (3x3x3x16, 432/864 params)
  pool_logit/DW (64x10, 640/1.28k params)
    pool_logit/DW/Momentum (64x10, 640/640 params)
  pool_logit/biases (10, 10/20 params)
    pool_logit/biases/Momentum (10, 10/10 params)
  unit_last/final_bn/beta (64, 64/128 params)
  unit_last/final_bn/gamma (64, 64/128 params)
  unit_last/final_bn/moving_mean (64, 64/64 params)
  unit_last/final_bn/moving_variance (64, 64/64 params)
… 243 more rows, 99.8 % of the parameters; use -max_depth 6
";
    assert_eq!(text, expect);
}

#[test]
fn trainable_parameters_of_the_manual() {
    let log = format!("--op_log_path={}", corpus("resnet32/tfprof_log.gz"));
    let words = "scope -account_type_regexes _trainable_variables -max_depth 4 -select params -ops_only";
    let text = resnet(&format!("{words} {log}"));
    let expect = "\
Profile:
node name | # parameters
_TFProfRoot (--/464.15k params)
  init/init_conv/DW (3x3x3x16, 432/432 params)
  pool_logit/DW (64x10, 640/640 params)
  pool_logit/biases (10, 10/10 params)
  unit_last/final_bn/beta (64, 64/64 params)
  unit_last/final_bn/gamma (64, 64/64 params)
… 90 more rows, 99.7 % of the parameters; use -max_depth 5
";
    assert_eq!(text, expect);
}

#[test]
fn flops_of_the_manual() {
    let log = format!("--op_log_path={}", corpus("resnet32/tfprof_log_legacy.gz"));
    let text = resnet(&format!("scope -min_float_ops 1 -max_depth 10 -select float_ops {log} -original_quirks"));
    let start = "\
Profile:
node name | # float_ops
_TFProfRoot (--/17.63b flops)
  gradients/pool_logit/xw_plus_b/MatMul_grad/MatMul (163.84k/163.84k flops)
  gradients/pool_logit/xw_plus_b/MatMul_grad/MatMul_1 (163.84k/163.84k flops)
  init/init_conv/Conv2D (113.25m/113.25m flops)
  pool_logit/xw_plus_b (1.28k/165.12k flops)
    pool_logit/xw_plus_b/MatMul (163.84k/163.84k flops)
  unit_1_0/sub1/conv1/Conv2D (603.98m/603.98m flops)
  unit_1_0/sub2/conv2/Conv2D (603.98m/603.98m flops)
  unit_1_1/sub1/conv1/Conv2D (603.98m/603.98m flops)
  unit_1_1/sub2/conv2/Conv2D (603.98m/603.98m flops)
";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn names_select_the_nodes_to_sum() {
    let text = resnet(
        "scope -show_name_regexes unit_2_1.*DW -max_depth 100 -account_displayed_op_only -select params -ops_only",
    );
    let expect = "\
Profile:
node name | # parameters
_TFProfRoot (--/18.43k params)
  unit_2_1/sub1/conv1/DW (3x3x32x32, 9.22k/9.22k params)
  unit_2_1/sub2/conv2/DW (3x3x32x32, 9.22k/9.22k params)
";
    assert_eq!(text, expect);
}

#[test]
fn a_custom_type_of_the_manual() {
    // OpLogProto { log_entries { name: "pool_logit/DW" types: "pool_logit" } … }
    let entry = |name: &str| {
        let body = [&[0x0a, name.len() as u8], name.as_bytes(), &[0x1a, 10], b"pool_logit"].concat();
        [&[0x0a, body.len() as u8], &body[..]].concat()
    };
    let log = scratch("custom_type").join("tfprof_log");
    std::fs::write(&log, [entry("pool_logit/DW"), entry("pool_logit/biases")].concat()).expect("a log");
    let words = "scope -account_type_regexes pool_logit -max_depth 4 -select params -ops_only";
    let text = resnet(&format!("{words} --op_log_path {}", log.display()));
    let expect = "\
Profile:
node name | # parameters
_TFProfRoot (--/650 params)
  pool_logit/DW (64x10, 640/640 params)
  pool_logit/biases (10, 10/10 params)
";
    assert_eq!(text, expect);
}

#[test]
fn text_and_binary_plain_and_gzipped_give_the_same() {
    let dir = scratch("forms");
    let question = ["scope", "-select", "params,input_shapes,op_types", "-max_depth", "100"];
    let mut answers = Vec::new();
    for file in ["graph.pb", "graph.pbtxt"] {
        let packed = corpus(&format!("mlp_small/{file}.gz"));
        let plain = dir.join(file).display().to_string();
        let bytes = unzipped(&format!("mlp_small/{file}.gz"));
        std::fs::write(&plain, &bytes).expect("a copy");
        for path in [packed, plain] {
            answers.push(ok(&[&question[..], &[&path]].concat()).out);
        }
        let piped = tfprof_with(&[&question[..], &["--graph_path=-"]].concat(), &bytes);
        assert_eq!(piped.code, 0, "{}", piped.err);
        answers.push(piped.out);
        answers.push(tfprof_with(&[&question[..], &["-"]].concat(), &bytes).out);
    }
    assert!(answers[0].contains("hidden/w (8x16, 128/128 params"));
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

#[test]
fn a_directory_is_all_that_it_holds() {
    let dir = corpus("mlp_small");
    let file = |name: &str| corpus(&format!("mlp_small/{name}.gz"));
    let runs = format!("--run_meta_path=0={},5={},10={}", file("run_meta_0"), file("run_meta_5"), file("run_meta_10"));
    for view in ["scope", "graph", "op", "code"] {
        for step in ["-1", "5"] {
            let question = [view, "-select", "micros,bytes,float_ops", "-step", step, "-max_depth", "50"];
            let graph = format!("--graph_path={}", file("graph.pb"));
            let log = format!("--op_log_path={}", file("tfprof_log"));
            let by_flags = ok(&[&question[..], &[&graph, &log, &runs]].concat()).out;
            let by_dir = ok(&[&question[..], &[&dir]].concat()).out;
            let by_names =
                [file("graph.pb"), file("tfprof_log"), file("run_meta_0"), file("run_meta_5"), file("run_meta_10")];
            let by_names: Vec<&str> = by_names.iter().map(String::as_str).collect();
            let by_names = ok(&[&question[..], &by_names].concat()).out;
            assert!(by_flags.len() > 200);
            assert_eq!(by_flags, by_dir, "{view}");
            assert_eq!(by_flags, by_names, "{view}");
            // A profile that the original wrote has the FLOPs of the op log only, as the original's answers do.
            let profile = format!("--profile_path={}", file("profile.pb"));
            let question = [&question[..], &["-original_quirks"]].concat();
            let by_profile = ok(&[&question[..], &[&profile]].concat()).out;
            assert_eq!(ok(&[&question[..], &[&graph, &log, &runs]].concat()).out, by_profile, "{view} from a profile");
        }
    }
}

#[test]
fn json_has_the_one_shape() {
    let dir = corpus("mlp_small");
    let words = [
        "scope",
        &dir,
        "-select",
        "params,micros,occurrence,device,op_types,input_shapes",
        "-max_depth",
        "9",
        "--format=json",
    ];
    let answer = ok(&words);
    let json: serde_json::Value = serde_json::from_str(&answer.out).expect("valid JSON");
    assert_eq!((&json["version"], &json["command"]), (&2.into(), &"scope".into()));
    assert_eq!(json["options"]["select"], "device,input_shapes,micros,occurrence,op_types,params");
    let columns = ["micros", "accelerator_micros", "cpu_micros", "params", "runs", "definitions"];
    assert_eq!(json["columns"], serde_json::json!(columns));
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!((&rows[0]["name"], &rows[0]["parent"]), (&"_TFProfRoot".into(), &serde_json::Value::Null));
    let mut sum = 0;
    for (id, row) in rows.iter().enumerate().skip(1) {
        let parent = row["parent"].as_u64().expect("a parent") as usize;
        assert!(row["id"] == id && parent < id);
        assert_eq!(row["depth"].as_u64(), rows[parent]["depth"].as_u64().map(|depth| depth + 1));
        sum += row["self"]["params"].as_i64().expect("a number");
    }
    assert_eq!(rows[0]["total"]["params"], sum);
    assert_eq!(sum, 178);
}

#[test]
fn csv_has_the_rows_of_json() {
    let file = scratch("csv").join("rows.csv");
    let outfile = format!("csv:outfile={}", file.display());
    ok(&["op", &corpus("mlp_small"), "-select", "params,micros", "-output", &outfile]);
    let text = std::fs::read_to_string(&file).expect("a file");
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some(
            "id,parent,depth,name,self_micros,self_accelerator_micros,self_cpu_micros,self_params,\
             total_micros,total_accelerator_micros,total_cpu_micros,total_params,\
             cumulative_micros,cumulative_accelerator_micros,cumulative_cpu_micros,cumulative_params"
        )
    );
    assert_eq!(lines.next().map(|line| line.starts_with("0,,0,_TFProfRoot,0,0,0,0,167,")), Some(true));
    assert_eq!(lines.count(), 10);
}

#[test]
fn a_sample_of_the_corpus_through_the_binary() {
    let dir = scratch("sample");
    let mut compared = 0;
    for model in ["mlp_small", "rnn", "gpu_synthetic", "ps_workers"] {
        let cases = std::fs::read(corpus(&format!("{model}/cases.json"))).expect("cases");
        let cases: serde_json::Value = serde_json::from_slice(&cases).expect("JSON");
        let cases = cases["cases"].as_array().expect("a list");
        let plain = cases.iter().filter(|case| {
            case["api"] == "multi_step" && case["options"]["output"] == "file" && case.get("tags").is_none()
        });
        for case in plain.step_by(9).filter(|case| case["expect"]["text"].is_string()) {
            let text = dir.join("out.txt").display().to_string();
            let mut words = vec![case["cmd"].as_str().expect("a command").to_owned(), "-original_quirks".to_owned()];
            let inputs = &case["inputs"];
            for (flag, input) in [("graph", "graph"), ("op_log", "op_log")] {
                if let Some(file) = inputs[input].as_str() {
                    words.push(format!("--{flag}_path={}", corpus(&format!("{model}/{file}.gz"))));
                }
            }
            for run in inputs["run_meta"].as_array().into_iter().flatten() {
                let file = corpus(&format!("{model}/{}.gz", run["file"].as_str().expect("a file")));
                words.push(format!("--run_meta_path={}={file}", run["step"]));
            }
            for (option, value) in case["options"].as_object().expect("options") {
                let value = match value {
                    serde_json::Value::Array(list) => {
                        list.iter().map(|word| word.as_str().unwrap_or_default()).collect::<Vec<_>>().join(",")
                    }
                    serde_json::Value::String(word) => word.clone(),
                    other => other.to_string(),
                };
                if option != "output" {
                    words.push(format!("--{option}={value}"));
                }
            }
            words.push(format!("-output=file:outfile={text}"));
            let answer = tfprof(&words);
            assert_eq!(answer.code, 0, "{words:?}: {}", answer.err);
            let golden = case["expect"]["text"].as_str().expect("a golden").trim_end_matches(".gz");
            let golden = String::from_utf8(unzipped(&format!("{model}/{golden}.gz"))).expect("UTF-8");
            let ours = std::fs::read_to_string(&text).expect("an answer");
            assert_eq!(report(&ours), report(&golden), "{model}/{}", case["name"]);
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

/// The node with the highest peak, and the highest peak of a device, as `info` reports it.
fn peaks(path: &str, step: &str) -> (String, i64, i64) {
    let json = |command: &[&str]| -> serde_json::Value {
        let answer = ok(&[command, &[path]].concat());
        serde_json::from_str(&answer.out).expect("JSON")
    };
    let info = json(&["info", "--format=json"]);
    let device = info["overview"]["memory_peak"]["bytes"].as_i64().expect("a peak of a device");
    let view = json(&["scope", "-select", "peak_bytes", "-max_depth", "10000", "-step", step, "--format=json"]);
    let rows = view["rows"].as_array().expect("rows");
    let peak = |row: &serde_json::Value| row["self"]["peak_bytes"].as_i64().unwrap_or(0);
    let highest = rows.iter().max_by_key(|row| peak(row)).expect("nodes");
    (highest["name"].to_string(), peak(highest), device)
}

#[test]
fn no_op_holds_more_than_its_device() {
    for model in ["resnet32", "keras_cnn", "mlp_small", "rnn", "ps_workers"] {
        let path = corpus(model);
        for step in ["-1", "0", "all"] {
            if step == "0" && tfprof(&["op", &path, "-step", "0"]).code != 0 {
                continue;
            }
            let (node, highest, device) = peaks(&path, step);
            assert!(highest > 0 && highest <= device, "{model}, step {step}: {node} {highest}, device {device}");
        }
    }
}

#[test]
fn a_saved_profile_counts_temporary_memory_once_too() {
    let dir = scratch("saved_memory");
    let saved = dir.join("profile").display().to_string();
    for model in ["resnet32", "rnn", "gpu_synthetic"] {
        let path = corpus(model);
        ok(&["save", &path, "-outfile", &saved]);
        for quirks in ["-original_quirks=false", "-original_quirks"] {
            let words = ["op", "-select", "bytes,peak_bytes", "-order_by", "name", quirks];
            let of = |file: &str| report(&ok(&[&words[..], &[file]].concat()).out).to_owned();
            assert_eq!(of(&saved), of(&path), "{model}");
        }
    }
}

#[test]
fn an_average_can_begin_with_a_later_step() {
    let rows = |step: &str| {
        let words = [
            "demo",
            "scope",
            "-select",
            "micros,bytes,peak_bytes,occurrence",
            "-step",
            step,
            "-output",
            "json:outfile=-",
        ];
        let answer: serde_json::Value = serde_json::from_str(&ok(&words).out).expect("JSON");
        answer["rows"].clone()
    };
    assert_eq!(rows("1:"), rows("100"), "the only later step is its own average");
    assert_eq!(rows("0:"), rows("-1"));
    assert_ne!(rows("1:"), rows("-1"));
    let none = tfprof(&["demo", "scope", "-step", "101:"]);
    assert_ne!(none.code, 0);
    assert!(none.err.contains("no step is 101 or later; loaded steps: 0, 100"), "{}", none.err);
    let wrong = tfprof(&["demo", "scope", "-step", "x:"]);
    assert!(wrong.err.contains("expected a whole number, one with a colon"), "{}", wrong.err);
}
