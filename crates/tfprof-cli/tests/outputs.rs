//! Timelines, pprof and flame graphs through the real binary: their targets, and the same numbers as the views.

mod common;

use common::{corpus, scratch, tfprof};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// All forms that are drawn, and the word that each begins with.
const FORMS: [(&str, &str); 6] = [
    ("timeline", "{\"traceEvents\":["),
    ("pprof", "\u{1f}"),
    ("folded", "_TFProfRoot"),
    ("speedscope", "{\"$schema\""),
    ("flamegraph", "<svg "),
    ("html", "<!DOCTYPE html>"),
];

fn ok(words: &[&str]) -> String {
    let answer = tfprof(words);
    assert_eq!(answer.code, 0, "{words:?}: {}", answer.err);
    answer.out
}

/// The root's total of a metric.
fn total(view: &str, model: &str, metric: &str, more: &[&str]) -> i64 {
    let model = corpus(model);
    let text = ok(&[&[view, &model, "-select", metric, "-output", "json:outfile=-"], more].concat());
    let json: Value = serde_json::from_str(&text).expect("JSON");
    json["rows"][0]["total"][metric].as_i64().expect("a number")
}

fn drawn(view: &str, model: &str, form: &str, metric: &str, more: &[&str]) -> String {
    let (model, output) = (corpus(model), format!("{form}:outfile=-"));
    ok(&[&[view, &model, "-select", metric, "-output", &output], more].concat())
}

/// Questions that leave something out, whose numbers must be somewhere all the same.
const FILTERS: [&[&str]; 5] = [
    &["-max_depth", "1000"],
    &["-max_depth", "3"],
    &["-min_micros", "200", "-order_by", "micros"],
    &["-hide_name_regexes", ".*hidden.*,Mat.*"],
    &["-account_type_regexes", "MatMul,.*Grad", "-max_depth", "50"],
];

#[test]
fn collapsed_stacks_sum_to_the_root() {
    for view in ["scope", "graph", "op", "code"] {
        for filter in FILTERS {
            let folded = drawn(view, "mlp_small", "folded", "micros", filter);
            let sum: i64 = folded
                .lines()
                .map(|line| {
                    let (stack, number) = line.rsplit_once(' ').expect("a number");
                    assert!(stack.starts_with("_TFProfRoot"), "{line}");
                    number.parse::<i64>().expect("a number")
                })
                .sum();
            assert_eq!(sum, total(view, "mlp_small", "micros", filter), "{view} {filter:?}");
        }
    }
}

#[test]
fn speedscope_frames_open_and_close_in_order() {
    for view in ["scope", "graph", "op", "code"] {
        let text = drawn(view, "mlp_small", "speedscope", "micros", &[]);
        let json: Value = serde_json::from_str(&text).expect("JSON");
        let frames = json["shared"]["frames"].as_array().expect("frames");
        let profile = &json["profiles"][0];
        assert_eq!(profile["unit"], "microseconds");
        assert_eq!(profile["endValue"].as_i64(), Some(total(view, "mlp_small", "micros", &[])));
        let (mut open, mut last) = (Vec::new(), 0);
        for event in profile["events"].as_array().expect("events") {
            let frame = event["frame"].as_u64().expect("a frame");
            assert!((frame as usize) < frames.len());
            let at = event["at"].as_i64().expect("a time");
            assert!(at >= last, "{event}");
            last = at;
            if event["type"] == "O" {
                open.push(frame);
            } else {
                assert_eq!(open.pop(), Some(frame), "{event}");
            }
        }
        assert!(open.is_empty());
    }
}

#[test]
fn code_frames_name_their_files() {
    let text = drawn("code", "mlp_small", "speedscope", "micros", &[]);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let frame = &json["shared"]["frames"][1];
    assert!(frame["file"].as_str().is_some_and(|file| !file.is_empty()) && frame["line"].is_number(), "{frame}");
}

#[test]
fn the_op_view_has_a_timeline_as_long_as_its_ops() {
    let text = drawn("op", "mlp_small", "timeline", "micros", &["-max_depth", "1000"]);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let length = |depth: u64| -> i64 {
        let regions = events.iter().filter(|event| event["ph"] == "X" && event["pid"] == depth);
        regions.map(|event| event["dur"].as_i64().expect("a number")).sum()
    };
    assert_eq!(length(0), total("op", "mlp_small", "micros", &[]));
    assert_eq!(length(0), length(1));
}

#[test]
fn each_step_of_the_graph_view_has_its_timeline() {
    let dir = scratch("timelines");
    let output = format!("timeline:outfile={}", dir.join("t").display());
    ok(&["graph", &corpus("mlp_small"), "-output", &output]);
    let mut files: Vec<_> = std::fs::read_dir(&dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    files.sort();
    assert_eq!(files, ["t_0", "t_10", "t_5"]);
    ok(&["scope", &corpus("mlp_small"), "-output", &output]);
    assert!(dir.join("t_-1").exists());
    let answer = tfprof(&["graph", &corpus("mlp_small"), "-output", "timeline:outfile=-"]);
    assert_eq!(
        (answer.code, answer.err.as_str()),
        (2, "tfprof: -output timeline: there are 3 steps, and - can take one; choose it with -step\n")
    );
    let answer = tfprof(&["graph", &corpus("mlp_small/graph.pb.gz"), "-output", "timeline:outfile=x"]);
    assert!(answer.code == 1 && answer.err.contains("needs steps, and there are none"), "{}", answer.err);
}

#[test]
fn forms_refuse_metrics_that_they_cannot_show() {
    let check = |view: &str, words: &[&str], expect: &str| {
        let answer = tfprof(&[&[view, &corpus("mlp_small")], words].concat());
        assert_eq!((answer.code, answer.out.as_str()), (2, ""), "{words:?}");
        assert!(answer.err.contains(expect), "{words:?}: {}", answer.err);
    };
    let quirks = "-original_quirks";
    check("op", &[quirks, "-output", "timeline:outfile=x"], "the op view has none");
    check("scope", &[quirks, "-output", "pprof:outfile=x"], "only the code view has it");
    check("code", &[quirks, "-select", "micros,bytes", "-output", "pprof:outfile=x"], "found `bytes,micros`");
    check("code", &["-select", "device", "-output", "pprof:outfile=x"], "no metric is selected; try -select micros");
    check(
        "scope",
        &["-select", "micros,bytes", "-output", "flamegraph:outfile=x"],
        "several are selected (bytes,micros); choose one with -select",
    );
}

#[test]
fn all_forms_go_to_files_and_pipes_and_devices() {
    let dir = scratch("outputs");
    let model = corpus("mlp_small");
    for (form, start) in FORMS {
        let starts = |path: &Path| {
            let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(bytes.starts_with(start.as_bytes()), "{form}");
        };
        let output = |file: &str| format!("{form}:outfile={file}");
        let file = dir.join(form);
        ok(&["scope", &model, "-output", &output(&file.display().to_string())]);
        starts(&if form == "timeline" { dir.join("timeline_-1") } else { file });

        for stdout in ["-", "/dev/stdout"] {
            let answer = tfprof(&["scope", &model, "-output", &output(stdout)]);
            assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{form} {stdout}");
            assert!(answer.out.starts_with(start), "{form} {stdout}");
        }

        let pipe = dir.join(format!("{form}.pipe"));
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).expect("a pipe")
        });
        ok(&["scope", &model, "-output", &output(&pipe.display().to_string())]);
        assert!(reader.join().expect("a reader").starts_with(start.as_bytes()), "{form}");

        for (file, why) in [("/dev/full", "no space left on device"), ("no/such/dir/x", "no such file or directory")] {
            let answer = tfprof(&["scope", &model, "-output", &output(file)]);
            assert_eq!((answer.code, answer.out.as_str()), (1, ""), "{form} {file}");
            assert_eq!(answer.err.lines().count(), 1, "{form} {file}: {}", answer.err);
            assert!(answer.err.contains(&format!("cannot write: {why}")), "{form} {file}: {}", answer.err);
        }
    }
}

#[test]
fn a_flame_graph_is_one_self_contained_file() {
    let svg = drawn("scope", "mlp_small", "flamegraph", "micros", &[]);
    let links = svg.matches("http").count();
    let names = svg.matches("http://www.w3.org/").count();
    assert_eq!(links, names, "only names of XML's own");
    assert!(svg.contains("<g class=\"box\"><title>_TFProfRoot: ") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn an_empty_picture_is_explained() {
    let answer =
        tfprof(&["scope", &corpus("mlp_small"), "-select", "accelerator_micros", "-output", "folded:outfile=-"]);
    assert_eq!((answer.code, answer.out.as_str()), (0, ""));
    assert!(answer.err.contains("nothing to draw: the total of accelerator_micros is 0"), "{}", answer.err);
}

#[test]
fn html_has_every_row_and_no_external_content() {
    for view in ["scope", "graph", "op", "code"] {
        let html = drawn(view, "mlp_small", "html", "micros,params,device", &["-max_depth", "100"]);
        let model = corpus("mlp_small");
        let json = ok(&[view, &model, "-select", "micros", "-max_depth", "100", "-output", "json:outfile=-"]);
        let rows = serde_json::from_str::<Value>(&json).expect("JSON")["rows"].as_array().expect("rows").len();
        // A row is a line of its own, and so is the head.
        assert_eq!(html.matches("<div class=\"r\">").count() + html.matches("<summary class=\"r\">").count(), rows);
        assert!(!html.contains("<script") && !html.contains("://"), "{view}");
        assert!(html.ends_with("</body></html>\n"));
    }
}

#[test]
fn checkpoints_and_overviews_are_pages_too() {
    let dir = scratch("html_pages");
    let dump = dir.join("dump").display().to_string();
    ok(&["demo", "--write", &dump]);
    let ckpt = format!("{dump}/model.ckpt");
    let check = |words: &[&str], expect: &str| {
        let html = ok(&[words, &["-output", "html:outfile=-"]].concat());
        assert!(html.starts_with("<!DOCTYPE html>") && html.contains(expect), "{words:?}");
    };
    check(&["checkpoint", &ckpt, "--stats"], "<td>unit_1_0/sub2/bn2/gamma</td>");
    check(&["checkpoint", &ckpt, &ckpt], "16 of the same dtype and shape");
    check(&["checkpoint", &ckpt, "--verify"], "no damage");
    check(&["checkpoint", &ckpt, "--values", "unit_1_0/sub2/bn2/gamma"], "[1.00 1.00");
    check(&["info", &dump], "Conv2DBackpropFilter");
}
