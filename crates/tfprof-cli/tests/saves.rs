//! Traces, saved profiles and advice through the real binary.

use crate::common::{corpus, scratch, tfprof, tfprof_with};
use serde_json::Value;
use std::io::Read;

fn ok(words: &[&str]) -> String {
    let answer = tfprof(words);
    assert_eq!(answer.code, 0, "{words:?}: {}", answer.err);
    answer.out
}

fn events(text: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(text).expect("JSON");
    json["traceEvents"].as_array().expect("a list").clone()
}

#[test]
fn a_trace_goes_to_standard_output_or_to_a_file() {
    let run = corpus("mlp_small/run_meta_5.gz");
    let text = ok(&["trace", &run]);
    assert!(events(&text).iter().any(|event| event["ph"] == "s"));
    let file = scratch("trace").join("t.json");
    let file = file.to_str().expect("a path");
    assert_eq!(ok(&["trace", &format!("--run_meta_path={run}"), &format!("--outfile={file}")]), "");
    assert_eq!(std::fs::read_to_string(file).expect("a file"), text);
    let without = ok(&["trace", &run, "--show_dataflow=false"]);
    assert!(!events(&without).iter().any(|event| event["ph"] == "s"));
    assert!(events(&ok(&["trace", &run, "--show_memory"])).iter().any(|event| event["ph"] == "C"));
}

#[test]
fn a_trace_can_be_made_of_a_pipe() {
    let path = corpus("mlp_small/run_meta_5.gz");
    let bytes = std::fs::read(&path).expect("a file");
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).expect("gzip");
    for input in [&bytes, &plain] {
        for words in [&["trace", "-"][..], &["trace", "--run_meta_path=-"]] {
            let answer = tfprof_with(words, input);
            assert_eq!((answer.code, answer.out.as_str()), (0, ok(&["trace", &path]).as_str()), "{}", answer.err);
        }
    }
}

/// Work belongs to the step that launched it; without its launch, to the step in which it ran.
#[test]
fn a_part_of_a_trace_has_the_work_of_its_steps() {
    let event = |category: &str, name: &str, start: i64, args: &str| {
        let line = r#""pid":1,"tid":1"#;
        format!(
            r#"{{"ph":"X","cat":"{category}","name":"{name}",{line},"ts":{start},"dur":90,"args":{{"External id":1{args}}}}}"#
        )
    };
    let list = [
        event("user_annotation", "ProfilerStep#3", 100, ""),
        event("user_annotation", "ProfilerStep#4", 200, ""),
        event("cuda_runtime", "cudaLaunchKernel", 110, r#","correlation":7"#),
        event("cuda_runtime", "cudaLaunchKernel", 210, r#","correlation":8"#),
        event("kernel", "late", 205, r#","correlation":7,"device":0,"stream":7"#),
        event("kernel", "next", 295, r#","correlation":8,"device":0,"stream":7"#),
        event("kernel", "lone", 120, r#","correlation":6,"device":0,"stream":7"#),
    ];
    let dir = scratch("part_of_a_trace");
    let [trace, part, packed] =
        ["t.json", "part.json", "part.json.gz"].map(|name| dir.join(name).to_str().expect("a path").to_owned());
    std::fs::write(&trace, format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, list.join(","))).expect("a file");
    ok(&["trace", &trace, "--steps", "3", "--outfile", &part]);
    let text = std::fs::read_to_string(&part).expect("a file");
    let names: Vec<String> =
        events(&text).iter().filter_map(|event| event["name"].as_str().map(str::to_owned)).collect();
    assert_eq!(names, ["ProfilerStep#3", "cudaLaunchKernel", "late", "lone"]);
    ok(&["trace", &trace, "--steps", "3", "--outfile", &packed]);
    let mut plain = String::new();
    let bytes = std::fs::read(&packed).expect("a file");
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut plain).expect("gzip");
    assert_eq!(plain, text);
}

#[test]
fn several_steps_stay_separate() {
    let all = events(&ok(&["trace", &corpus("gpu_synthetic")]));
    let names: Vec<&str> =
        all.iter().filter(|event| event["ph"] == "M").filter_map(|e| e["args"]["name"].as_str()).collect();
    assert!(names.iter().any(|name| name.starts_with("step 0: ")) && names.contains(&"step 7: Allocators"));
    let one: usize = ["run_meta_0.gz", "run_meta_7.gz"]
        .iter()
        .map(|run| events(&ok(&["trace", &corpus(&format!("gpu_synthetic/{run}"))])).len())
        .sum();
    assert_eq!(all.len(), one);
}

#[test]
fn wrong_questions_of_a_trace_are_errors() {
    let check = |words: &[&str], code: i32, what: &str| {
        let answer = tfprof(words);
        assert_eq!(answer.code, code, "{words:?}");
        assert!(answer.err.contains(what), "{}", answer.err);
    };
    let run = corpus("mlp_small/run_meta_5.gz");
    check(&["trace", &run, "--op_time=never"], 2, "unknown time `never`");
    check(&["trace", &corpus("mlp_small/graph.pb.gz")], 1, "no run to trace");
    check(&["op", &run, "--show_memory"], 2, "is not for op");
    check(&["trace", &run, "--outfile=/dev/full"], 1, "/dev/full: cannot write");
    check(&["trace", "--run_meta_path=/nowhere"], 1, "cannot open");
    check(&["trace", &run, "--format=csv"], 2, "a trace is JSON");
}

#[test]
fn a_cut_run_is_read_up_to_the_cut() {
    let dir = scratch("cut_trace");
    let mut bytes = Vec::new();
    let packed = std::fs::read(corpus("mlp_small/run_meta_5.gz")).expect("a file");
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("gzip");
    let file = dir.join("run_meta_5");
    std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("a file");
    let answer = tfprof(&["trace", file.to_str().expect("a path")]);
    assert_eq!(answer.code, 4, "{}", answer.err);
    assert!(events(&answer.out).len() > 10);
    assert_eq!(tfprof(&["trace", file.to_str().expect("a path"), "--strict"]).code, 1);
}

#[test]
fn a_saved_profile_answers_as_its_files_do() {
    let dir = scratch("save");
    let path = |name: &str| dir.join(name).to_str().expect("a path").to_owned();
    let model = corpus("mlp_small");
    let question = ["-select", "micros,bytes,params,float_ops", "-max_depth", "100"];
    for (i, run) in ["run_meta_0.gz", "run_meta_10.gz"].iter().enumerate() {
        let (graph, run, log) =
            (format!("{model}/graph.pb.gz"), format!("{model}/{run}"), format!("{model}/tfprof_log.gz"));
        ok(&["save", &graph, &run, &log, &format!("--outfile={}", path(&format!("{i}.profile")))]);
    }
    let runs = format!("--run_meta_path=0={model}/run_meta_0.gz,10={model}/run_meta_10.gz");
    let (graph, log) = (format!("--graph_path={model}/graph.pb.gz"), format!("--op_log_path={model}/tfprof_log.gz"));
    for (order, file) in [(["0.profile", "1.profile"], "a"), (["1.profile", "0.profile"], "b")] {
        ok(&["save", &path(order[0]), &path(order[1]), &format!("--outfile={}", path(file))]);
        for view in ["scope", "graph", "op", "code"] {
            let saved = ok(&[&[view, &format!("--profile_path={}", path(file))], &question[..]].concat());
            assert_eq!(saved, ok(&[&[view, &graph, &runs, &log], &question[..]].concat()), "{view}");
        }
    }
}

#[test]
fn wrong_questions_of_a_save_are_errors() {
    let dir = scratch("bad_save");
    let check = |words: &[&str], code: i32, what: &str| {
        let answer = tfprof(words);
        assert_eq!((answer.code, answer.out.as_str()), (code, ""), "{words:?}");
        assert!(answer.err.contains(what), "{}", answer.err);
    };
    let graph = corpus("mlp_small/graph.pb.gz");
    check(&["save", &graph], 2, "say where to save");
    check(&["save", &graph, "--outfile=/dev/full"], 1, "cannot write");
    check(&["save", &graph, "--outfile=/nowhere/x"], 1, "/nowhere/x: cannot write");
    let other = dir.join("other.profile");
    let other = other.to_str().expect("a path");
    std::fs::write(dir.join("graph.pbtxt"), "node { name: 'x' op: 'Other' }").expect("a file");
    ok(&["save", dir.join("graph.pbtxt").to_str().expect("a path"), &format!("--outfile={other}")]);
    let profile = corpus("mlp_small/profile.pb.gz");
    check(&["save", &profile, other, "--outfile=-"], 1, "the node `x` does not fit");
    assert!(std::fs::read_dir(&dir).expect("a directory").count() == 2, "no half of a file is left");
}

#[test]
fn advice_as_json_has_a_row_for_each_checker_and_the_warnings() {
    let answer = tfprof(&["advise", &corpus("gpu_synthetic"), "-output", "json:outfile=-"]);
    let advice: Value = serde_json::from_str(&answer.out).expect("JSON");
    assert_eq!(advice["command"], "advise");
    assert_eq!(advice["warnings"][0]["code"], "no_start_time");
    let rows = advice["rows"].as_array().expect("rows");
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(rows.len(), 23, "all but JobChecker, which has nothing to say");
    let text = ok(&["advise", &corpus("gpu_synthetic")]);
    for report in row("AcceleratorUtilizationChecker")["reports"].as_array().expect("reports") {
        assert!(text.contains(report.as_str().expect("a sentence")));
    }
    let alone = ok(&["advise", &corpus("rnn"), "--checkers=AcceleratorUtilizationChecker", "--format=json"]);
    assert!(alone.contains(r#""reports":[],"findings":[],"notes":["no op was placed on a GPU"]"#), "{alone}");
    let file = scratch("advise_json").join("advice.json");
    ok(&["advise", &corpus("rnn"), "-output", &format!("json:outfile={}", file.display())]);
    assert!(std::fs::read_to_string(file).expect("a file").ends_with("]}\n"));
}

#[test]
fn advice_is_a_block_for_each_checker() {
    let text = ok(&["advise", &corpus("rnn"), "--checkers=TinyOpChecker,AcceleratorUtilizationChecker"]);
    let accelerator = text.find("AcceleratorUtilizationChecker:\n(no op was placed on a GPU)").expect("a block");
    assert!(accelerator < text.find("\nTinyOpChecker:\n").expect("a block"));
    let original = ok(&["advise", &corpus("rnn"), "-original_quirks"]);
    assert!(original.contains("\nOperationChecker:\n") && !original.contains("TinyOpChecker"));
    let file = scratch("advise").join("advice.pb");
    ok(&["advise", &corpus("rnn"), "-output", &format!("proto:outfile={}", file.display())]);
    assert!(std::fs::metadata(file).expect("a file").len() > 100);
    let answer = tfprof(&["advise", &corpus("rnn"), "--format=csv"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("advise has no form `csv`; expected stdout, file, json, proto, html or none"));
    let answer = tfprof(&["advise", &corpus("rnn"), "--checkers=OperatorChecker"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("did you mean `OperationChecker`?"), "{}", answer.err);
}
