//! The real binary without a command, with a script, and its help.

use crate::common::{corpus, scratch, tfprof, tfprof_with};
use std::process::Command;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn answer(words: &[&str]) -> String {
    let output = tfprof(words);
    assert!(output.code == 0, "{words:?}: {}", output.err);
    output.out
}

fn mlp() -> String {
    corpus("mlp_small")
}

#[test]
fn the_questions_that_the_demo_suggests_have_short_answers() {
    let overview = answer(&["demo", "info"]);
    let suggested: Vec<&str> = overview.lines().filter_map(|line| line.strip_prefix("  tfprof ")).collect();
    assert_eq!(suggested.len(), 5, "{overview}");
    let expect = ["Conv2DBackpropFilter", "gradients/unit_1_0", "resnet32.py:30:conv", "unit_3_1", "Conv2D"];
    for (command, expect) in suggested.iter().zip(expect) {
        let words: Vec<&str> = command.split("  #").next().unwrap_or_default().split_whitespace().collect();
        let text = answer(&words);
        assert!(text.lines().count() <= 50 && text.contains(expect), "{command}\n{text}");
    }
}

#[test]
fn a_path_alone_is_an_overview_where_there_is_no_terminal() {
    let overview = answer(&[&mlp()]);
    assert!(overview.contains("parameters        178 trainable, 178 in all variables\n"), "{overview}");
    assert!(overview.contains(&format!("tfprof op {} -select", mlp())), "{overview}");
    assert_eq!(overview, answer(&["info", &mlp()]));
    assert_eq!(overview, answer(&["shell", &mlp()]));
    // So is a flag that names a file, and a file that comes through the pipe itself.
    let graph = format!("--graph_path={}/graph.pbtxt.gz", mlp());
    assert!(answer(&[&graph]).contains("no time and memory: no step is loaded"));
    let pipe = tfprof_with(&["-"], b"node { name: 'a' op: 'NoOp' }");
    assert!(pipe.out.contains("1 node, 1 op type"), "{pipe:?}");
}

#[test]
fn missing_data_is_reported_with_how_to_record_it() {
    let overview = answer(&["info", &format!("{}/graph.pb.gz", mlp())]);
    for words in ["no step is loaded", "trace_level", "no op log with code traces", "write_op_log"] {
        assert!(overview.contains(words), "{words}: {overview}");
    }
    let overview = answer(&["info", &format!("{}/run_meta_5.gz", mlp())]);
    assert!(overview.contains("no graph is loaded") && overview.contains("  step 5 "), "{overview}");
}

#[test]
fn the_overview_is_json_as_well() {
    let json: serde_json::Value =
        serde_json::from_str(&answer(&["demo", "info", "-output", "json:outfile=-"])).expect("JSON");
    assert_eq!(json["version"], 1);
    assert_eq!(json["overview"]["trainable_params"], 464_154);
    assert_eq!(json["overview"]["steps"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["rows"][1]["name"], "Conv2DBackpropFilter");
    let refused = tfprof(&["demo", "info", "-output", "csv:outfile=-"]);
    assert_eq!(refused.code, 2);
}

#[test]
fn a_script_answers_line_by_line() {
    let script = "# the largest op\nset -order_by micros -max_depth 1\nop -select micros\nquit\nthis is not read\n";
    let output = tfprof_with(&["demo"], script.as_bytes());
    assert_eq!(output.code, 0, "{output:?}");
    let script = output.out;
    assert!(script.contains("Conv2DBackpropFilter"), "{script}");
    assert_eq!(script, answer(&["demo", "op", "-order_by", "micros", "-max_depth", "1", "-select", "micros"]));
}

#[test]
fn a_script_stops_at_the_first_error_and_names_the_line() {
    let output = tfprof_with(&["demo"], b"op -max_depth 1\nscope -select micro\nop -max_depth 1\n");
    assert_eq!(output.code, 2);
    assert_eq!(output.out.matches("Profile:").count(), 1);
    let error = output.err;
    assert!(error.starts_with("tfprof: line 2: unknown metric `micro` in -select; did you mean `micros`?"), "{error}");
    // An answer that cannot be given has an exit code of its own.
    let output = tfprof_with(&["demo"], b"\nload /nowhere/at/all\n");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.err.starts_with("tfprof: line 2: /nowhere/at/all"), "{output:?}");
}

#[test]
fn options_at_the_start_hold_for_all_lines() {
    let output =
        tfprof_with(&["demo", "shell", "-original_quirks", "-max_depth", "3"], b"\nop -select params\nreset\n\n");
    let script = output.out;
    assert_eq!(script.matches("-max_depth                  3\n").count(), 2, "{script}");
    // As the original: one row more, and placeholders have parameters.
    let once = answer(&["demo", "op", "-select", "params", "-original_quirks", "-max_depth", "3"]);
    assert!(script.contains(&once), "{script}");
}

#[test]
fn wrong_words_name_the_nearest() {
    let check = |words: &[&str], code: i32, message: &str| {
        let output = tfprof(words);
        assert_eq!(output.code, code, "{words:?}");
        let error = output.err;
        assert!(error.contains(message) && error.lines().count() == 1, "{words:?}: {error}");
    };
    check(&["scop", "x"], 2, "unknown command `scop`; did you mean `scope`?");
    check(&["./nowhere.pb"], 1, "./nowhere.pb: no such file or directory");
    check(&["demo", "op", "-select", "micro"], 2, "unknown metric `micro` in -select; did you mean `micros`?");
    check(&["demo", "op", "more"], 2, "demo is about its own files");
    check(&["demo", "op", "-step", "5"], 2, "there is no step 5; loaded steps: 0, 100");
    check(&["op", "--write", "x", &mlp()], 2, "-write is not for op; it is for demo");
    check(&["set", "-max_depth", "3"], 2, "set is a command of the shell");
    check(&["completions", "csh"], 2, "unknown shell `csh`");
    check(&["help", "max_dept"], 2, "unknown topic `max_dept`; did you mean `max_depth`?");
}

#[test]
fn every_command_and_option_has_help() {
    let all = answer(&["--help"]);
    assert_eq!(all, answer(&["help"]));
    for command in ["scope", "graph", "op", "code", "info", "shell", "demo", "completions", "man", "set"] {
        let text = answer(&[command, "--help"]);
        assert!(text.starts_with(&format!("{command}: ")) && text.contains("usage: "), "{text}");
        assert_eq!(text, answer(&["help", command]));
    }
    for view in ["scope", "graph", "op", "code"] {
        let text = answer(&[view, "--help"]);
        assert!(text.contains("-max_depth N") && text.contains("examples\n  tfprof "), "{text}");
    }
    for option in ["-max_depth", "order_by", "select", "output", "graph_path", "min-micros"] {
        assert!(answer(&["help", option]).len() > 40);
    }
    assert_eq!(answer(&["--version"]), concat!("tfprof ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn bash_completes_words() {
    let script = answer(&["completions", "bash"]);
    let complete = |words: &str, at: usize| {
        let ask =
            format!("{script}\nCOMP_WORDS=({words})\nCOMP_CWORD={at}\n_tfprof\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"");
        let output = Command::new("bash").args(["-c", &ask]).output().expect("bash runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        text(&output.stdout)
    };
    assert_eq!(complete("tfprof sco", 1), "scope\n");
    assert_eq!(complete("tfprof op -max_d", 2), "-max_depth\n");
    assert_eq!(complete("tfprof op -order_by mic", 3), "micros\nmicros_per_run\n");
    assert_eq!(complete("tfprof op -select micros,par", 3), "micros,params\n");
    assert_eq!(complete("tfprof completions z", 2), "zsh\n");
    assert_eq!(complete("tfprof demo sco", 2), "scope\n");
    for shell in ["zsh", "fish"] {
        let script = answer(&["completions", shell]);
        assert!(script.contains("max_depth") && script.contains("order_by"), "{script}");
    }
}

#[test]
fn the_man_page_has_every_option() {
    let page = answer(&["man"]);
    assert!(page.starts_with(".TH TFPROF 1"));
    for word in [".B \\-max_depth N", ".B \\-\\-graph_path FILE", ".B scope ", ".SH EXAMPLES"] {
        assert!(page.contains(word), "{word}");
    }
    let pages = [("markdown", "docs/options.md"), ("flops", "docs/flops.md"), ("stubs", "python/tfprof/_views.pyi")];
    for (form, page) in pages {
        let path = format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"));
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(answer(&["man", form]) == committed, "{page} is stale: tfprof man {form} > {page}");
    }
}

#[test]
fn the_sample_is_written_once() {
    let name = scratch("written_sample").join("sample").display().to_string();
    answer(&["demo", "--write", &name]);
    let written = answer(&["op", &name, "-select", "params,float_ops"]);
    assert_eq!(written, answer(&["demo", "op", "-select", "params,float_ops"]));
    let again = tfprof(&["demo", "--write", &name]);
    assert_eq!(again.code, 2, "{again:?}");
}
