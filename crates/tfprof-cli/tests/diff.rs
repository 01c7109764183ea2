//! `tfprof diff` as users and CI call it: two runs in, one answer out, in every form.

use crate::common::{corpus, scratch, tfprof};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// A graph of ops in text format, and runs of it: the time of each op in each step, in microseconds.
fn write_run(dir: &Path, side: &str, ops: &[(&str, &str, i64)], steps: usize) -> String {
    let mut graph = String::new();
    for (name, op, size) in ops {
        let shape = format!("attr {{ key: 'shape' value {{ shape {{ dim {{ size: {size} }} }} }} }}");
        let _ = writeln!(graph, "node {{ name: '{name}' op: '{op}' {shape} }}");
    }
    let dir = dir.join(side);
    std::fs::create_dir_all(&dir).expect("a file");
    std::fs::write(dir.join("graph.pbtxt"), graph).expect("a file");
    for step in 0..steps {
        let mut nodes = String::new();
        for (i, (name, op, size)) in ops.iter().enumerate() {
            if *op == "VariableV2" {
                continue;
            }
            // Some steps are a little slower, the same on both sides.
            let time = size * 100 + ((step * 7 + i * 3) % 5) as i64;
            let start = format!("all_start_micros: {} op_start_rel_micros: 1", 1000 + i);
            let _ = writeln!(
                nodes,
                "node_stats {{ node_name: '{name}' {start} op_end_rel_micros: {time} all_end_rel_micros: {time} }}"
            );
        }
        let text = format!("step_stats {{ dev_stats {{ device: '/job:a/device:CPU:0' {nodes} }} }}");
        std::fs::write(dir.join(format!("run_meta_{step}")), text).expect("a file");
    }
    dir.display().to_string()
}

fn json(args: &[&str]) -> Value {
    let answer = tfprof(args);
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{error}: {} {}", answer.out, answer.err))
}

fn row<'j>(answer: &'j Value, name: &str) -> &'j Value {
    let rows = answer["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {answer}"))
}

const BEFORE: &[(&str, &str, i64)] =
    &[("a/w", "VariableV2", 10), ("a/dense_1/MatMul", "MatMul", 20), ("a/old", "Relu", 5), ("b/Conv", "Conv2D", 50)];
const AFTER: &[(&str, &str, i64)] =
    &[("a/w", "VariableV2", 12), ("a/dense_4/MatMul", "MatMul", 30), ("a/new", "Tanh", 7), ("b/Conv", "Conv2D", 50)];

#[test]
fn rows_have_both_sides_and_a_verdict() {
    let scratch = scratch("diff_0");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 6), write_run(&scratch, "b", AFTER, 6));
    let answer = json(&["diff", &a, &b, "-select", "micros,params", "--format=json"]);
    assert_eq!(
        (&answer["command"], &answer["view"], &answer["noise"]),
        (&"diff".into(), &"scope".into(), &"known".into())
    );
    let mat_mul = row(&answer, "a/dense_4/MatMul");
    assert_eq!(mat_mul["status"], "changed");
    assert_eq!(mat_mul["before_name"], "a/dense_1/MatMul");
    assert!(mat_mul["difference"]["total"]["micros"].as_i64().unwrap() > 900);
    assert!(mat_mul["low"]["total"]["micros"].as_f64().unwrap() > 0.0);
    assert_eq!(row(&answer, "a/dense_4")["match"], "guess");
    assert_eq!(row(&answer, "a/w")["percent"]["self"]["params"], 20.0);
    assert_eq!(row(&answer, "b/Conv")["status"], "same");
    let (gone, new) = (row(&answer, "a/old"), row(&answer, "a/new"));
    assert_eq!((&gone["status"], &gone["after"]["total"]["micros"]), (&"removed".into(), &Value::Null));
    assert_eq!((&new["status"], &new["before"]["total"]["micros"]), (&"added".into(), &Value::Null));
    assert_eq!(answer["guesses"], 1);
}

#[test]
fn rows_with_the_same_names_are_joined_as_if_they_were_searched() {
    let dir = corpus("resnet32");
    let sides =
        ["run_meta_0.gz", "run_meta_100.gz"].map(|run| format!("{dir}/graph.pb.gz,{dir}/{run},{dir}/tfprof_log.gz"));
    for view in ["scope", "op", "graph", "code"] {
        let of = |more: &[&str]| {
            let mut words = vec!["diff", view, &sides[0], &sides[1], "-select", "micros,params", "--format=json"];
            words.extend(more);
            let mut answer = json(&words);
            [answer["counts"].take(), answer["rows"].take()]
        };
        let ([counts, rows], searched) = (of(&[]), of(&["--rename", "s/no such name/other/"]));
        assert!(rows.as_array().unwrap().len() > 10, "{view}");
        assert_eq!((&counts, &rows), (&searched[0], &searched[1]), "{view}");
    }
}

#[test]
fn few_steps_say_that_the_noise_is_unknown() {
    let scratch = scratch("diff_1");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 2), write_run(&scratch, "b", AFTER, 2));
    let answer = tfprof(&["diff", "op", &a, &b]);
    assert!(answer.err.contains("the noise is unknown: it takes 5 steps on each side"), "{}", answer.err);
    assert!(answer.out.contains("? MatMul"), "{}", answer.out);
}

#[test]
fn filters_apply_to_the_joined_rows() {
    let scratch = scratch("diff_2");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 6), write_run(&scratch, "b", AFTER, 6));
    // 2 ms before and 3 ms after: the row is shown with both sides.
    let answer = json(&["diff", &a, &b, "-min_micros", "2500", "--format=json"]);
    assert_eq!(row(&answer, "a/dense_4/MatMul")["before"]["total"]["micros"].as_i64().unwrap() / 100, 20);
    assert!(answer["rows"].as_array().unwrap().iter().all(|row| row["name"] != "a/old"));
}

#[test]
fn a_rename_pairs_what_was_renamed() {
    let scratch = scratch("diff_3");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 6), write_run(&scratch, "b", AFTER, 6));
    let answer = json(&["diff", &a, &b, "--rename", "s/old/new/", "--rename=s/dense_1/dense_4/", "--format=json"]);
    let new = row(&answer, "a/new");
    assert_eq!((&new["match"], &new["before_name"]), (&"rename".into(), &"a/old".into()));
    assert_eq!(row(&answer, "a/dense_4")["match"], "rename");
    let wrong = tfprof(&["diff", &a, &b, "--rename", "old=new"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("-rename: expected s/PATTERN/REPLACEMENT/, found `old=new`"), "{}", wrong.err);
}

#[test]
fn every_form_takes_a_comparison_or_says_why_not() {
    let scratch = scratch("diff_4");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 6), write_run(&scratch, "b", AFTER, 6));
    let check = |form: &str, expect: &str| {
        for view in ["scope", "op"] {
            let answer = tfprof(&["diff", view, &a, &b, &format!("--format={form}")]);
            assert_eq!(answer.code, 0, "{form}: {}", answer.err);
            assert!(answer.out.contains(expect), "{form} {view}: {}", answer.out);
        }
    };
    check("file", "rows    ");
    check("csv", "difference_total_micros");
    check("markdown", "<details>");
    check("html", "linear-gradient");
    check("flamegraph", "red: more");
    check("speedscope", "\"name\":\"before: ");
    check("folded", "Conv");
    check("timeline", "after Scope:0");
    let refused = tfprof(&["diff", &a, &b, "--format=proto"]);
    assert!(refused.code == 2 && refused.err.contains("has no place for two sides"), "{}", refused.err);
}

#[test]
fn warm_up_is_left_out_and_can_be_kept() {
    let scratch = scratch("diff_5");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 8), write_run(&scratch, "b", BEFORE, 8));
    // The first step of the second side is slow.
    let slow: Vec<_> = BEFORE.iter().map(|(name, op, size)| (*name, *op, size * 10)).collect();
    let warm = write_run(&scratch, "warm", &slow, 1);
    std::fs::copy(format!("{warm}/run_meta_0"), format!("{b}/run_meta_0")).expect("a file");
    let changed = |options: &[&str]| {
        let answer = json(&[&["diff", "op", &a, &b, "--format=json"], options].concat());
        (answer["after"]["warmup_steps"].as_array().unwrap().len(), row(&answer, "Conv2D")["status"].clone())
    };
    assert_eq!(changed(&[]).0, 1);
    assert_ne!(changed(&[]).1, "changed");
    assert_eq!(changed(&["--warmup=keep"]).0, 0);
    assert_eq!(changed(&["--warmup=2"]).0, 2);
    let none_left = tfprof(&["diff", "op", &a, &b, "--warmup=8"]);
    assert!(none_left.code == 2 && none_left.err.contains("has 8 steps, so 8 leave none"), "{}", none_left.err);
}

/// A question about times keeps nothing else of each step; one about memory keeps all sums of it.
#[test]
fn times_of_steps_say_what_all_their_sums_say() {
    let scratch = scratch("diff_9");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 9), write_run(&scratch, "b", AFTER, 9));
    let slow: Vec<_> = AFTER.iter().map(|(name, op, size)| (*name, *op, size * 10)).collect();
    let warm = write_run(&scratch, "warm", &slow, 1);
    std::fs::copy(format!("{warm}/run_meta_0"), format!("{b}/run_meta_0")).expect("a file");
    // An op that runs in some steps only.
    let rare = std::fs::read_to_string(format!("{b}/run_meta_3")).expect("a file");
    std::fs::write(format!("{b}/run_meta_3"), rare.replace("node_name: 'b/Conv'", "node_name: 'b/Rare'"))
        .expect("a file");
    let rows = |view: &str, select: &str, options: &[&str]| {
        let answer =
            json(&[&["diff", view, &a, &b, "-select", select, "--unchanged", "--format=json"], options].concat());
        let of = |row: &Value, key: &str| (row[key]["total"]["micros"].clone(), row[key]["total"]["runs"].clone());
        let figures = |row: &Value| ["before", "after", "low", "high"].map(|key| of(row, key));
        let rows = answer["rows"].as_array().expect("rows").iter();
        let mut rows: Vec<_> = rows.map(|row| (row["name"].to_string(), figures(row))).collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        (answer["before"].clone(), answer["after"].clone(), format!("{rows:?}"))
    };
    for view in ["scope", "op", "graph"] {
        for options in [&[][..], &["--warmup=keep"], &["--warmup=3"], &["-account_type_regexes", "Conv2D|Relu"]] {
            let times = rows(view, "micros,occurrence", options);
            assert_eq!(times, rows(view, "micros,occurrence,bytes", options), "{view} {options:?}");
        }
    }
}

#[test]
fn a_baseline_stands_for_the_run_that_it_keeps() {
    let scratch = scratch("diff_6");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 6), write_run(&scratch, "b", AFTER, 6));
    let kept = scratch.join("baseline.profile.gz").display().to_string();
    assert_eq!(tfprof(&["diff", &format!("--save={kept}"), &a]).code, 0);
    let rows = |before: &str| json(&["diff", before, &b, "--format=json"])["rows"].clone();
    assert_eq!(rows(&kept), rows(&a));
}

#[test]
fn the_other_reports_are_compared_too() {
    let scratch = scratch("diff_7");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 6), write_run(&scratch, "b", AFTER, 6));
    let info = json(&["diff", "info", &a, &b, "--format=json"]);
    let parameters = info["rows"].as_array().unwrap().iter().find(|row| row["key"] == "params").expect("a file");
    assert_eq!((&parameters["before"], &parameters["after"]), (&10.into(), &12.into()));
    let wrong = tfprof(&["diff", &a]);
    assert!(wrong.code == 2 && wrong.err.contains("diff compares two runs or models, and one was named"));
}

#[test]
fn sides_may_have_different_formats() {
    // Times of a trace are finer than those of a run.
    let answer = json(&["diff", "op", &corpus("xspace/jax_mlp"), &corpus("mlp_small"), "--format=json"]);
    let root = &answer["rows"][0];
    assert!(root["before"]["total"]["micros"].as_f64().unwrap() > 100.0);
    let alone = json(&["op", &corpus("mlp_small"), "--format=json"]);
    assert_eq!(root["after"]["total"]["micros"], alone["rows"][0]["total"]["micros"]);
}

#[test]
fn one_budget_is_about_everything() {
    let scratch = scratch("diff_budget");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 6), write_run(&scratch, "b", AFTER, 6));
    let check = |budget: &str| {
        let file = scratch.join("budget.toml");
        std::fs::write(&file, budget).expect("a file");
        let answer = tfprof(&["diff", "op", &a, &b, "--budget", &file.display().to_string()]);
        let over: Vec<String> =
            answer.out.lines().skip_while(|line| *line != "over budget").skip(2).map(str::to_owned).collect();
        (answer.code, over, answer.err)
    };
    assert_eq!(check("max_params = 12\nmax_step_micros = \"+30 %\"\n[op.\"Conv2D\"]\nmax_step_micros = \"+1 %\"").0, 0);
    let (code, over, _) =
        check("max_params = \"+10 %\"\nmax_step_micros = \"+2 %\"\n[op.'MatMul|Tanh']\nmax_step_micros = 3000");
    assert_eq!((code, over.len()), (3, 3), "{over:?}");
    assert!(over[0].starts_with("the whole model") && over[2].starts_with("op MatMul|Tanh"), "{over:?}");
    let (code, _, err) = check("[line.'train.py.*']\nmax_step_micros = 5");
    assert_eq!(code, 0);
    assert!(err.contains("not checked: max_step_micros of line `train.py.*`"), "{err}");
}

#[test]
fn a_report_of_two_sides_is_one_page() {
    let scratch = scratch("diff_report");
    let (a, b) = (write_run(&scratch, "a", BEFORE, 6), write_run(&scratch, "b", AFTER, 6));
    let file = scratch.join("diff.html").display().to_string();
    let answer = tfprof(&["diff", &a, &b, "-output", &format!("report:outfile={file}")]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(std::fs::read_to_string(&file).expect("a file").contains("id=\"tfprof-data\""));
    let flags = tfprof(&["web", "-graph_path", &format!("{a}/graph.pbtxt"), "--baseline", &b, "--no_open"]);
    assert!(flags.code == 2 && flags.err.contains("-baseline"), "{}", flags.err);
    let missing = tfprof(&["web", &a, "--baseline", "/nowhere", "--no_open"]);
    assert!(missing.code == 1 && missing.err.contains("/nowhere"), "{}", missing.err);
}
