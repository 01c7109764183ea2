//! Timelines, pprof and flame graphs through the real binary: their targets, and the same numbers as the views.

use crate::common::{corpus, scratch, tfprof};
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
    assert_eq!(files, ["t_0.json", "t_10.json", "t_5.json"]);
    ok(&["scope", &corpus("mlp_small"), "-output", &output]);
    assert!(dir.join("t_-1.json").exists());
    // As the original names them.
    ok(&["graph", &corpus("mlp_small"), "-original_quirks", "-output", &output]);
    assert!(["t_0", "t_10", "t_5"].iter().all(|file| dir.join(file).exists()));
    // The step comes before an ending; one file has the name that was given.
    let named = |name: &str| dir.join(name).display().to_string();
    ok(&["graph", &corpus("mlp_small"), "-output", &named("x.trace.json")]);
    assert!(["x_0.trace.json", "x_10.trace.json", "x_5.trace.json"].iter().all(|file| dir.join(file).exists()));
    ok(&["graph", &corpus("mlp_small"), "-step", "5", "-output", &format!("timeline:outfile={}", named("one.json"))]);
    ok(&["scope", &corpus("mlp_small"), "-output", &named("all.timeline.json")]);
    assert!(["one.json", "all.timeline.json"].iter().all(|file| dir.join(file).exists()));
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
        starts(&if form == "timeline" { dir.join("timeline_-1.json") } else { file });

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
    assert!(svg.contains("<g class=\"box\"><title>all: ") && svg.trim_end().ends_with("</svg>"));
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
        let html = drawn(view, "mlp_small", "html", "micros,params,device", &["-max_depth", "100", "-frames", "all"]);
        let model = corpus("mlp_small");
        let json = ok(&[view, &model, "-select", "micros", "-max_depth", "100", "-output", "json:outfile=-"]);
        let rows = serde_json::from_str::<Value>(&json).expect("JSON")["rows"].as_array().expect("rows").len();
        // A row is a line of its own, and so is the head.
        assert_eq!(html.matches("<div class=\"r\">").count() + html.matches("<summary class=\"r\">").count(), rows);
        assert!(html.matches("<script").count() == 1 && !html.contains("://"), "{view}");
        assert!(
            html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"),
            "{view}"
        );
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
    check(&["cost", &dump], "by layer");
    check(&["cost", &dump, "--baseline", &dump], "the whole model");
    check(&["advise", &dump], "nothing stands out");
}

#[test]
fn the_name_of_a_file_tells_its_form() {
    let dir = scratch("by_name");
    let model = corpus("mlp_small");
    for (words, file, start) in [
        (["scope", "-max_depth=2"], "x.html", "<!DOCTYPE html>"),
        (["scope", "-max_depth=2"], "x.svg", "<svg "),
        (["op", "-max_depth=2"], "x.json", "{\"version\":"),
        (["op", "-max_depth=2"], "x.csv", "id,parent,depth,name"),
        (["op", "-max_depth=2"], "x.md", "| name | total execution time |\n|---|---:|\n| `"),
        (["op", "-max_depth=2"], "x.txt", "\nDoc:"),
        (["code", "-max_depth=2"], "x.pb.gz", "\u{1f}"),
        (["code", "-max_depth=2"], "x.folded", "_TFProfRoot"),
        (["cost", "--batch=1"], "cost.html", "<!DOCTYPE html>"),
        (["cost", "--batch=1"], "cost.md", "|  | cost |"),
        (["cost", "--batch=1"], "cost.json", "{\"version\":1"),
        (["advise", "--strict=false"], "advise.html", "<!DOCTYPE html>"),
    ] {
        let file = dir.join(file).display().to_string();
        ok(&[words[0], &model, words[1], "-output", &file]);
        let bytes = std::fs::read(&file).expect("a file");
        assert!(bytes.starts_with(start.as_bytes()), "{file}: {}", String::from_utf8_lossy(&bytes[..80]));
        // `--outfile` is the same target.
        ok(&[words[0], &model, words[1], &format!("--outfile={file}")]);
        assert!(std::fs::read(&file).expect("a file").starts_with(start.as_bytes()), "{file}");
    }
    let refused = |words: &[&str], expect: &str| {
        let answer = tfprof(words);
        assert!(answer.code == 2 && answer.err.contains(expect), "{words:?}: {}", answer.err);
        assert_eq!(answer.err.lines().count(), 1);
    };
    refused(&["op", &model, "-output", "x.xlsx"], "the end of `x.xlsx` does not tell its form; expected one of .txt, ");
    refused(&["cost", &model, "-output", "x.csv"], "cost has no form `csv`; expected table, json, markdown or html");
    refused(&["op", &model, "-output", "pages/"], "pages/ is a directory; name a file, as in -output pages/op.html");
}

#[test]
fn an_overview_in_a_directory_has_a_page_for_every_answer() {
    let dir = scratch("pages");
    let site = format!("{}/site/", dir.display());
    let answer = tfprof(&["info", &corpus("mlp_small"), "-output", &site]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.err.contains("wrote 7 pages"), "{}", answer.err);
    let read = |file: &str| std::fs::read_to_string(format!("{site}{file}")).expect("a page");
    let index = read("index.html");
    assert!(index.contains("<a href=\"op.html\">op</a>") && index.contains("aria-current=\"page\">overview</a>"));
    assert!(index.contains("<a class=\"to\" href=\"op.html\""), "commands are links");
    assert!(read("op.html").contains("href=\"index.html\">overview</a>"));
    // Without traces there is no page of code, and none links to it.
    let graph = tfprof(&["info", &corpus("mlp_small/graph.pb.gz"), "-output", &format!("{}/graph/", dir.display())]);
    assert_eq!(graph.code, 0, "{}", graph.err);
    let index = std::fs::read_to_string(dir.join("graph/index.html")).expect("a page");
    assert!(!index.contains("code.html") && !dir.join("graph/code.html").exists());
}

/// Runs tfprof with an opener that writes down what it is asked to open.
#[cfg(unix)]
fn opened(test: &str, words: &[&str], browser: Option<&str>, openers: &[(&str, i32)]) -> (String, String) {
    use std::os::unix::fs::PermissionsExt;
    let dir = scratch(test);
    let asked = dir.join("asked");
    for (name, code) in openers {
        let file = dir.join(name);
        std::fs::write(&file, format!("#!/bin/sh\necho \"$0 $@\" >> {}\nexit {code}\n", asked.display()))
            .expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a program");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tfprof"));
    command.args(words).env("PATH", &dir).env("TMPDIR", &dir).current_dir(&dir).env_remove("BROWSER");
    if let Some(browser) = browser {
        command.env("BROWSER", browser);
    }
    let output = command.output().expect("the binary");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let asked = std::fs::read_to_string(asked).unwrap_or_default();
    (asked, String::from_utf8_lossy(&output.stderr).replace(&dir.display().to_string(), "DIR"))
}

#[cfg(unix)]
#[test]
fn an_answer_is_opened() {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let model = std::fs::canonicalize(corpus("mlp_small")).expect("a path").display().to_string();
    let page = ["op", &model, "-output", "x.html", "--open"];
    let (asked, err) = opened("opened", &page, None, &[(opener, 0)]);
    assert!(asked.trim_end().ends_with("/opened/x.html") && asked.contains(&format!("/{opener} ")), "{asked}");
    assert_eq!(err, "tfprof: wrote x.html and opened it\n");
    let (asked, _) = opened("browser", &page, Some("nothing:viewer --url=%s"), &[(opener, 0), ("viewer", 0)]);
    assert!(asked.contains("/viewer --url=") && asked.trim_end().ends_with("/browser/x.html"), "{asked}");
    let (_, err) = opened("no_opener", &page, Some("nothing"), &[]);
    let why = format!("there is no program to open it (tried nothing, {opener}; $BROWSER may name one)");
    assert_eq!(err, format!("tfprof: wrote x.html, but {why}; open it in a browser\n"));
    let (_, err) = opened("fails", &["cost", &model, "-output", "c.json", "--open"], None, &[(opener, 3)]);
    let why = format!("no program could open it (tried {opener}; $BROWSER may name one)");
    assert!(err.ends_with(&format!("tfprof: wrote c.json, but {why}; open it yourself\n")), "{err}");
    // Without a name, the page is a temporary one.
    for command in ["scope", "cost", "advise", "info"] {
        let (asked, err) = opened(&format!("temporary_{command}"), &[command, &model, "--open"], None, &[(opener, 0)]);
        assert!(asked.trim_end().ends_with(&format!("/{command}.html")), "{asked}");
        assert!(err.contains("and opened it"), "{err}");
    }
    let answer = tfprof(&["op", &model, "-output", "json:outfile=-", "--open"]);
    assert!(answer.code == 2 && answer.err.contains("-open needs a file to open"), "{}", answer.err);
}
