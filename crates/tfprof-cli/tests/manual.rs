//! The transcripts of the original's manual, typed again about the sample. Parameters and FLOPs are the
//! manual's figures, line by line; times are those of the sample's own machine, so only their order is looked at.
//!
//! Two differences of layout are the original's own, between its manual and its later versions: a scalar has a shape,
//! and a root without figures of its own prints `--`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs lines in the shell and gives back the reports, without their heads.
fn typed(lines: &str) -> Vec<Vec<String>> {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_tfprof"))
        .args(["demo", "shell"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the shell starts");
    shell.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("lines are read");
    let output = shell.wait_with_output().expect("the shell ends");
    assert!(output.status.success(), "{output:?}");
    reports(&String::from_utf8(output.stdout).expect("text"))
}

/// The rows of each report, behind its line of column names.
fn reports(text: &str) -> Vec<Vec<String>> {
    let bodies = text.split("Profile:\n").skip(1);
    // The manual's answers do not say what they leave out.
    let row = |line: &&str| !line.is_empty() && !line.starts_with("Doc:") && !line.starts_with('…');
    let head = |line: &&str| !line.starts_with("Doc:");
    bodies.map(|body| body.lines().skip(1).take_while(head).filter(row).map(str::to_owned).collect()).collect()
}

fn one(line: &str) -> Vec<String> {
    typed(line).remove(0)
}

fn run(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tfprof")).args(words).output().expect("the program runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The total time of a row, in microseconds.
fn micros(row: &str) -> f64 {
    let total = row.split('/').next_back().and_then(|rest| rest.split([',', ')']).next()).expect("a total");
    let unit = total.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = total.trim_end_matches(unit).parse().expect("a number");
    number * [("us", 1.0), ("ms", 1e3), ("sec", 1e6)].iter().find(|(known, _)| *known == unit).expect("a unit").1
}

fn name(row: &str) -> &str {
    row.trim_start().split(" (").next().unwrap_or_default()
}

const VARIABLES: &[&str] = &[
    "_TFProfRoot (--/930.58k params)",
    "  global_step (1, 1/1 params)",
    "  init/init_conv/DW (3x3x3x16, 432/864 params)",
    "  pool_logit/DW (64x10, 640/1.28k params)",
    "    pool_logit/DW/Momentum (64x10, 640/640 params)",
    "  pool_logit/biases (10, 10/20 params)",
    "    pool_logit/biases/Momentum (10, 10/10 params)",
    "  unit_last/final_bn/beta (64, 64/128 params)",
    "  unit_last/final_bn/gamma (64, 64/128 params)",
    "  unit_last/final_bn/moving_mean (64, 64/64 params)",
    "  unit_last/final_bn/moving_variance (64, 64/64 params)",
];

#[test]
fn show_your_model_variables_and_the_number_of_parameters() {
    assert_eq!(one("scope -account_type_regexes VariableV2 -max_depth 4 -select params -ops_only"), VARIABLES);
    // The same in one shot.
    let words = ["demo", "scope", "-account_type_regexes", "VariableV2", "-max_depth", "4", "-select", "params"];
    let once = run(&[&words[..], &["-ops_only"]].concat());
    assert_eq!(reports(&once)[0], VARIABLES);
    assert!(run(&words).contains("_TFProfRoot (--/930.58k params)"));
}

#[test]
fn show_the_most_expensive_operation_types() {
    let rows = one("op -select micros,bytes,occurrence -order_by micros");
    assert!(rows[0].starts_with("Conv2DBackpropFilter"), "{}", rows[0]);
    assert!(rows[0].contains("4.92sec (100.00%, 39.53%)") && rows[0].ends_with("|31"), "{}", rows[0]);
    assert!(rows[1].starts_with("Conv2DBackpropInput"), "{}", rows[1]);
}

#[test]
fn which_line_of_my_code_costs_most_time() {
    let line = "code -max_depth 1000 -show_name_regexes .*resnet32.*py.* -select micros -account_type_regexes .* \
                -order_by micros -source_lines";
    let rows = one(line);
    assert!(rows[0].starts_with("_TFProfRoot (--/12.46sec"), "{}", rows[0]);
    assert!(rows[1].starts_with("  resnet32.py:126:main (gradient):none (0us/10.55sec"), "{}", rows[1]);
    assert!(rows[2].starts_with("    resnet32.py:109:build_graph (gradient):none"), "{}", rows[2]);
    assert!(rows[1..].iter().all(|row| name(row).starts_with("resnet32.py:")));
}

#[test]
fn press_enter_to_show_the_default_options() {
    let text = script_output("\n");
    assert!(text.starts_with("-max_depth                  10\n-min_bytes                  0\n"), "{text}");
    assert!(text.ends_with("-select                     micros\n-output                     stdout:\n"), "{text}");
    assert_eq!(text.lines().count(), 21);
}

fn script_output(lines: &str) -> String {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_tfprof"))
        .arg("demo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the shell starts");
    shell.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("lines are read");
    String::from_utf8(shell.wait_with_output().expect("the shell ends").stdout).expect("text")
}

#[test]
fn which_inputs_of_cost_are_slow() {
    // The sample has more ops on its way to the input than the manual's model had, hence a larger depth.
    let line =
        "graph -start_name_regexes cost.* -max_depth 1000 -min_micros 10000 -select micros -account_type_regexes .*";
    let rows = one(line);
    assert!(rows[0].starts_with("_TFProfRoot (--/"));
    assert!(rows[1..].iter().all(|row| micros(row) >= 10_000.0), "{rows:?}");
    let names: Vec<_> = rows.iter().map(|row| name(row)).collect();
    // The manual's slow ops of the forward pass.
    for slow in ["init/init_conv/Conv2D", "unit_1_0/sub2/conv2/Conv2D", "unit_3_3/sub2/conv2/Conv2D"] {
        assert!(names.contains(&slow), "{slow}");
    }
}

#[test]
fn expensive_operations_of_the_back_propagation() {
    let line = "scope -start_name_regexes gradient.* -max_depth 100 -min_micros 20000 -select micros \
                -account_type_regexes .* -ops_only";
    let rows = one(line);
    assert!(rows[1..].iter().all(|row| name(row).starts_with("gradients/") && micros(row) >= 20_000.0), "{rows:?}");
    let filter = "gradients/unit_1_0/sub1/conv1/Conv2D_grad/Conv2DBackpropFilter";
    assert!(rows.iter().any(|row| name(row) == filter), "{rows:?}");
}

#[test]
fn the_number_of_flops() {
    // The manual's figures are those of the op log, which leaves out most ops; by default they are computed.
    let line = "scope -min_float_ops 1 -max_depth 10 -select float_ops -account_type_regexes .* -ops_only";
    assert_eq!(one(line)[0], "_TFProfRoot (--/53.91b flops)");
    let rows = one(&format!("{line} -original_quirks"));
    let manual = [
        "_TFProfRoot (--/17.63b flops)",
        "  gradients/pool_logit/xw_plus_b/MatMul_grad/MatMul (163.84k/163.84k flops)",
        "  gradients/pool_logit/xw_plus_b/MatMul_grad/MatMul_1 (163.84k/163.84k flops)",
        "  init/init_conv/Conv2D (113.25m/113.25m flops)",
        "  pool_logit/xw_plus_b (1.28k/165.12k flops)",
        "    pool_logit/xw_plus_b/MatMul (163.84k/163.84k flops)",
        "  unit_1_0/sub1/conv1/Conv2D (603.98m/603.98m flops)",
        "  unit_1_0/sub2/conv2/Conv2D (603.98m/603.98m flops)",
        "  unit_1_1/sub1/conv1/Conv2D (603.98m/603.98m flops)",
        "  unit_1_1/sub2/conv2/Conv2D (603.98m/603.98m flops)",
    ];
    assert_eq!(rows[..manual.len()], manual);
}

#[test]
fn parameters_of_trainable_variables_and_of_names() {
    let lines = "set -account_type_regexes _trainable_variables\n\
                 scope -max_depth 4 -select params -ops_only\n\
                 set -account_type_regexes .* -select params\n\
                 scope -show_name_regexes unit_2_1.*DW -max_depth 100 -account_displayed_op_only\n";
    let reports = typed(lines);
    let trainable = [
        "_TFProfRoot (--/464.15k params)",
        "  init/init_conv/DW (3x3x3x16, 432/432 params)",
        "  pool_logit/DW (64x10, 640/640 params)",
        "  pool_logit/biases (10, 10/10 params)",
        "  unit_last/final_bn/beta (64, 64/64 params)",
        "  unit_last/final_bn/gamma (64, 64/64 params)",
    ];
    assert_eq!(reports[0], trainable);
    let named = [
        "_TFProfRoot (--/18.43k params)",
        "  unit_2_1/sub1/conv1/DW (3x3x32x32, 9.22k/9.22k params)",
        "  unit_2_1/sub2/conv2/DW (3x3x32x32, 9.22k/9.22k params)",
    ];
    assert_eq!(reports[1], named);
}

#[test]
fn define_my_own_op_type() {
    let dir = Dir::new("types");
    let log = "log_entries { name: 'pool_logit/DW' types: 'pool_logit' }\n\
               log_entries { name: 'pool_logit/biases' types: 'pool_logit' }\n";
    let log_file = dir.file("op_log");
    std::fs::write(&log_file, log).expect("a file is written");
    let sample = dir.file("sample");
    run(&["demo", "--write", &sample]);
    let graph = format!("--graph_path={sample}/graph.pb");
    let log = format!("--op_log_path={log_file}");
    let options = ["-account_type_regexes", "pool_logit", "-max_depth", "4", "-select", "params", "-ops_only"];
    let text = run(&[&["scope", &graph, &log][..], &options].concat());
    let manual = [
        "_TFProfRoot (--/650 params)",
        "  pool_logit/DW (64x10, 640/640 params)",
        "  pool_logit/biases (10, 10/10 params)",
    ];
    assert_eq!(reports(&text)[0], manual);
}

#[test]
fn one_shot_mode_writes_to_a_file() {
    let dir = Dir::new("dump");
    let (sample, dump) = (dir.file("sample"), dir.file("dump"));
    assert!(
        run(&["demo", "--write", &sample])
            .starts_with("wrote graph.pb, run_meta_0, run_meta_100, tfprof_log, model.ckpt.index, ")
    );
    let graph = format!("--graph_path={sample}/graph.pb");
    let output = format!("--output=file:outfile={dump}");
    assert_eq!(run(&["scope", &graph, "--max_depth=3", &output, "-ops_only", "-select", "params"]), "");
    let text = std::fs::read_to_string(&dump).expect("a dump");
    assert!(text.contains("_TFProfRoot (--/930.58k params)\n"), "{text}");
    assert!(text.contains("  pool_logit/DW (64x10, 640/1.28k params)\n"), "{text}");
}

#[test]
fn how_balanced_are_variables_on_parameter_servers() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/ps_workers").display().to_string();
    let ask = |task: &str| {
        let types = format!(".*ps.*task:{task}.*");
        let words = ["scope", &corpus, "-select", "device,params", "-account_type_regexes", &types, "-max_depth", "1"];
        reports(&run(&words))[0].clone()
    };
    let (first, second) = (ask("0"), ask("1"));
    assert_eq!((first.len(), second.len()), (1, 1));
    assert!(first[0].starts_with("_TFProfRoot (--/") && first != second, "{first:?} {second:?}");
}

/// A directory that goes away with the test.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("tfprof-manual-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a directory for the test");
        Dir(dir)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_gammas_of_my_checkpoint() {
    let rows = one("scope -show_name_regexes unit_1_0.*gamma -select tensor_value -max_depth 5");
    assert_eq!(rows[0], "_TFProfRoot ()");
    assert_eq!(rows[1], "  unit_1_0/shared_activation/init_bn/gamma ()");
    assert_eq!(rows[3], "  unit_1_0/sub2/bn2/gamma ()");
    for values in [&rows[2], &rows[4]] {
        let numbers = values.strip_prefix('[').and_then(|rest| rest.strip_suffix(" ],")).expect("a list of values");
        let numbers: Vec<f64> = numbers.split(' ').map(|number| number.parse().expect("a number")).collect();
        assert!(numbers.len() == 16 && numbers.iter().all(|gamma| (0.9..1.1).contains(gamma)), "{values}");
    }
    assert_eq!(rows.len(), 5);
}

#[test]
fn shapes_and_parameters_of_my_checkpoint() {
    // The sample has the first unit of the network only, and its variables lie deeper than the manual's `-max_depth 4`.
    let rows = one("scope -account_type_regexes _checkpoint_variables -select params -max_depth 5 -ops_only");
    assert_eq!(rows[0], "_TFProfRoot (--/9.41k params)");
    assert!(rows.contains(&"  unit_1_0/sub1/conv1/DW (3x3x16x16, 2.30k/4.61k params)".to_owned()), "{rows:?}");
    assert!(rows.contains(&"  unit_1_0/sub2/bn2/gamma (16, 16/32 params)".to_owned()), "{rows:?}");
}
