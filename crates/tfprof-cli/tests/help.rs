//! Help in layers, and lines of the shell with pipes, files and quotes: transcripts as a user types them.

#![cfg(unix)] // Needs `sh`, `head` and `cat`.

use crate::common::{Answer, corpus, scratch, tfprof, tfprof_with};
use std::path::Path;
use std::process::Command;

fn shell(script: &str) -> Answer {
    tfprof_with(&["demo", "shell"], script.as_bytes())
}

/// The output of a script, which must not fail.
fn said(script: &str) -> String {
    let answer = shell(script);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{script}");
    answer.out
}

#[test]
fn the_bare_command_says_what_it_is_and_what_to_paste() {
    let start = tfprof::<&str>(&[]);
    assert_eq!(start.code, 0);
    assert!(start.out.starts_with("tfprof: where a model's parameters, FLOPs, time and memory go\n"), "{}", start.out);
    assert!((14..=16).contains(&start.out.lines().count()), "{}", start.out);
    let dir = scratch("pasted");
    let pasted: Vec<&str> = start.out.lines().filter_map(|line| line.strip_prefix("  tfprof ")).collect();
    let pasted = pasted.iter().map(|line| line.split("  ").next().unwrap_or_default());
    let pasted: Vec<&str> = pasted.filter(|words| !words.contains("COMMAND")).collect();
    assert_eq!(pasted, ["demo", "demo op", "demo cost", "demo advise", "demo op -output ops.html", "help"]);
    for words in pasted {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tfprof"));
        let output = command.args(words.split(' ')).current_dir(&dir).output().expect("the binary");
        assert!(output.status.success(), "{words}: {output:?}");
    }
    assert!(dir.join("ops.html").is_file());
    // Options without a file change nothing.
    assert_eq!(tfprof(&["-max_depth", "3"]).out, start.out);
}

#[test]
fn help_is_grouped_and_lists_every_kind_of_input() {
    let help = tfprof(&["help"]).out;
    let titles =
        ["look first", "where time, memory, parameters and FLOPs go", "models and checkpoints", "inputs", "more"];
    let places: Vec<_> = titles.iter().map(|title| help.find(&format!("\n{title}\n"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    for format in tfprof::FORMATS {
        let line = format!("  {} (--{})", format.name, format.flag.name);
        assert!(help.contains(&line) && help.contains(format.about), "{line}");
        assert!(tfprof(&["help", "inputs"]).out.contains(&line));
    }
    let options = tfprof(&["help", "options"]).out;
    for option in tfprof::OPTIONS.iter() {
        assert!(options.contains(&format!("\n  -{}", option.name)), "{}", option.name);
    }
}

#[test]
fn options_that_do_nothing_are_refused() {
    for (words, sentence) in [
        ("demo cost -max_depth 3", "-max_depth is not for cost; it is for scope, graph, op, code, layers, diff, info"),
        ("demo checkpoint -select micros", "-select is not for checkpoint"),
        ("demo trace -step 0", "-step is not for trace"),
        ("version -strict=true", ""),
    ] {
        let answer = tfprof(&words.split(' ').collect::<Vec<_>>());
        assert!(answer.err.contains(sentence), "{words}: {}", answer.err);
        assert_eq!(answer.code, if sentence.is_empty() { 0 } else { 2 }, "{words}");
    }
}

#[test]
fn a_question_mark_is_help() {
    let help = said("help\n");
    assert_eq!(said("?\n"), help);
    assert!(help.contains("QUESTION | COMMAND") && help.contains("-max_depth N"), "{help}");
    assert_eq!(said("? op\n"), said("help op\n"));
    assert_eq!(said("?select\n"), said("help select\n"));
    assert_eq!(said("? | head -1\n"), "look first\n");
}

#[test]
fn answers_go_through_pipes() {
    let whole = said("op -select micros\n");
    let lines = |count: usize| whole.split_inclusive('\n').take(count).collect::<String>();
    assert_eq!(said("op -select micros | cat\n"), whole);
    assert_eq!(said("op -select micros |head -7\n"), lines(7));
    assert_eq!(
        said("op -select micros | head -7 | tail -1\n"),
        lines(7).lines().last().map(|l| format!("{l}\n")).unwrap()
    );
    // A command that reads nothing closes the pipe, which is harmless, however long the answer is.
    assert_eq!(said("scope -max_depth 100 | true\nop -select micros | cat\n"), whole);
    assert_eq!(said("op -output none | wc -c\n").trim(), "0");
    // Its own failure is its own affair.
    assert_eq!(said("op | grep nothing_like_this\nop -select micros | cat\n"), whole);
    // A bar within a pattern is no pipe.
    let either = said("scope -select params -show_name_regexes unit_1_0|unit_1_1 -max_depth 3\n");
    assert!(either.contains("unit_1_0") && either.contains("unit_1_1"), "{either}");
}

#[test]
fn a_pipe_without_an_answer_does_not_start() {
    let dir = scratch("no_pipe");
    let mark = dir.join("started");
    let answer = shell(&format!("op -select beauty | touch {}\n", mark.display()));
    assert!(answer.err.starts_with("tfprof: line 1: unknown metric `beauty`"), "{}", answer.err);
    assert!(answer.code == 2 && !mark.exists());
    let answer = shell("op | no_such_command_at_all\n");
    assert_eq!(answer.code, 1);
    assert!(
        answer.err.contains("tfprof: line 1: cannot run `no_such_command_at_all`: exit code 127"),
        "{}",
        answer.err
    );
    for (line, words) in
        [("| less", "nothing to send"), ("op |", "`|` needs a command"), ("op > a b", "`>` takes one file")]
    {
        let answer = shell(&format!("{line}\n"));
        assert!(answer.code == 2 && answer.err.contains(words), "{line}: {}", answer.err);
    }
}

#[test]
fn answers_go_to_files() {
    let dir = scratch("answers");
    let path = |name: &str| dir.join(name).display().to_string();
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).expect("a file");
    let whole = said("op -select micros\n");
    let file = path("my ops.txt");
    assert_eq!(said(&format!("op -select micros > '{file}'\n")), "");
    assert_eq!(read("my ops.txt"), whole);
    said(&format!("op -select micros >> \"{file}\"\nop -select micros >>'{file}'\n"));
    assert_eq!(read("my ops.txt"), whole.repeat(3));
    said(&format!("op -select micros > '{file}'\n? op >> {}\n", path("new")));
    assert_eq!((read("my ops.txt"), read("new")), (whole.clone(), said("help op\n")));
    // A line that fails leaves the file as it was, and no other one behind.
    for line in ["op -select beauty >", "op -select beauty >>", "code -step 7 >"] {
        let answer = shell(&format!("{line} '{file}'\n"));
        assert!(answer.code != 0 && answer.err.starts_with("tfprof: line 1: "), "{line}: {}", answer.err);
        assert_eq!(read("my ops.txt"), whole);
    }
    let mut names: Vec<_> = std::fs::read_dir(&dir).expect("a directory").flatten().map(|e| e.file_name()).collect();
    names.sort();
    assert_eq!(names, ["my ops.txt", "new"]);
    let answer = shell("op > /no/such/place\n");
    assert!(answer.code == 1 && answer.err.contains("/no/such/place: cannot write: no such file"), "{}", answer.err);
    if Path::new("/dev/full").exists() {
        for line in ["op > /dev/full\n", "op >> /dev/full\n"] {
            let answer = shell(line);
            assert!(answer.err.contains("/dev/full: cannot write: no space left on device"), "{}", answer.err);
        }
    }
}

#[test]
fn inputs_are_never_overwritten() {
    let dir = scratch("kept_inputs");
    let graph = dir.join("graph.pbtxt").display().to_string();
    let text = "node { name: 'a' op: 'NoOp' }";
    std::fs::write(&graph, text).expect("room");
    for redirect in [">", ">>"] {
        let answer = tfprof_with(&["shell", &graph], format!("op {redirect} {graph}\n").as_bytes());
        assert!(answer.code == 2 && answer.err.contains("is one of the inputs"), "{}", answer.err);
    }
    assert_eq!(std::fs::read_to_string(&graph).expect("a file"), text);
}

#[test]
fn lists_split_at_commas_but_not_inside_braces_or_behind_a_backslash() {
    let shown = |line: &str| {
        let options = said(&format!("set -show_name_regexes {line}\nset -show_name_regexes a,b\nreset\n"));
        assert_eq!(options, "");
        said(&format!("scope -select params -max_depth 3 -show_name_regexes {line}\n"))
    };
    let both = shown("unit_1_0,unit_1_1");
    assert!(both.contains("unit_1_0 (") && both.contains("unit_1_1 ("), "{both}");
    for same in ["\"unit_1_0,unit_1_1\"", "'unit_1_0','unit_1_1'", "unit_1{1,1}_0,unit_1_1", "'unit_1{1,1}_0,unit_1_1'"]
    {
        assert_eq!(shown(same), both, "{same}");
    }
    // One pattern with a comma, which no name has.
    assert!(!shown("unit_1_0\\,unit_1_1").contains("unit_1_0 ("));
    // The same on the command line.
    let words =
        ["demo", "scope", "-select", "params", "-max_depth", "3", "-show_name_regexes", "unit_1{1,1}_0,unit_1_1"];
    assert_eq!(tfprof(&words).out, both);
    // A file whose name has a comma.
    let dir = scratch("commas");
    std::fs::copy(corpus("mlp_small/run_meta_0.gz"), dir.join("run,0")).expect("room");
    std::fs::copy(corpus("mlp_small/run_meta_5.gz"), dir.join("run5")).expect("room");
    let list = format!("--run_meta_path=0={0}/run\\,0,5={0}/run5", dir.display());
    assert_eq!(tfprof(&["op", &list, "-step", "5"]).code, 0);
}
