//! Invalid questions and bad files through the real binary: one sentence, the right exit code, no partial files.

use crate::common::{corpus, scratch, tfprof, tfprof_with};

/// The exit code and the one line on standard error.
fn refused(words: &[&str]) -> (i32, String) {
    let answer = tfprof(words);
    assert_eq!(answer.out, "", "{words:?}");
    assert_eq!(answer.err.lines().count(), 1, "{words:?}: {}", answer.err);
    (answer.code, answer.err.trim_end().to_owned())
}

#[test]
fn wrong_questions_list_the_valid_words() {
    let graph = format!("--graph_path={}", corpus("mlp_small/graph.pb.gz"));
    let check = |words: &[&str], expect: &str| {
        let (code, err) = refused(&[&["scope", &graph], words].concat());
        assert_eq!(code, 2, "{words:?}");
        assert!(err.contains(expect), "{words:?}: {err}");
    };
    check(&["-select", "micro"], "tfprof: unknown metric `micro` in -select; did you mean `micros`?");
    check(&["-order_by", "beauty"], "unknown order `beauty` in -order_by; expected one of name, bytes");
    check(&["-step", "3"], "-step: there is no step 3; no steps are loaded");
    check(
        &["-step", "x"],
        "-step: expected a whole number, one with a colon for it and all later steps, or `all`, found `x`",
    );
    check(&["-output", "paper"], "unknown form `paper` in -output; expected one of stdout, file");
    check(&["-output", "json"], "-output: the form `json` needs a file");
    check(
        &["-show_name_regexes", "(unclosed"],
        "-show_name_regexes: `(unclosed` is not a valid pattern: unclosed group",
    );
    check(&["-max_dept", "3"], "unknown option `-max_dept`; did you mean `-max_depth`?");
    check(&["-max_depth"], "-max_depth needs a value");
    let (code, err) = refused(&["scop", &graph]);
    assert!(code == 2 && err.contains("unknown command `scop`; did you mean `scope`?"), "{err}");
    let (code, err) = refused(&["op"]);
    assert!(code == 2 && err.contains("nothing to read"), "{err}");
}

#[test]
fn steps_that_are_not_there_are_named() {
    let (code, err) = refused(&["op", &corpus("mlp_small"), "-step", "7"]);
    assert_eq!((code, err.as_str()), (2, "tfprof: -step: there is no step 7; loaded steps: 0, 5, 10"));
}

#[test]
fn the_code_view_needs_traces() {
    let (code, err) = refused(&["code", &corpus("mlp_small/graph.pb.gz")]);
    assert!(code == 1 && err.contains("the code view needs code traces"), "{err}");
}

#[test]
fn a_file_given_as_something_else_names_the_right_flag() {
    let run = corpus("mlp_small/run_meta_0.gz");
    let (code, err) = refused(&["scope", "--graph_path", &run]);
    assert_eq!(code, 1);
    assert!(err.ends_with("this is a RunMetadata, expected a GraphDef; use --run_meta_path"), "{err}");
    for (file, name) in [("graph.pb", "a GraphDef"), ("tfprof_log", "an OpLogProto"), ("profile.pb", "a ProfileProto")]
    {
        let (_, err) = refused(&["scope", "--run_meta_path", &corpus(&format!("mlp_small/{file}.gz"))]);
        assert!(err.contains(&format!("this is {name}, expected a RunMetadata")), "{err}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let (code, err) = refused(&["scope", "no/such/file.pb"]);
    assert_eq!((code, err.as_str()), (1, "tfprof: no/such/file.pb: cannot open: no such file or directory"));
    let dir = scratch("empty_dir");
    let (code, err) = refused(&["scope", &dir.display().to_string()]);
    assert!(code == 1 && err.contains("nothing to read in this directory; expected saved_model.pb"), "{err}");
    let file = dir.join("garbage");
    std::fs::write(&file, b"\x00\xffthis is no protobuf").expect("a file");
    let (code, err) = refused(&["scope", &file.display().to_string()]);
    assert!(code == 1 && err.contains("cannot tell what this file is"), "{err}");
    let (code, err) = refused(&["scope", "--graph_path", &file.display().to_string()]);
    assert!(code == 1 && err.contains("byte 0: not a GraphDef: expected a field, found the tag 0"), "{err}");
}

#[test]
fn text_errors_name_line_and_column() {
    let file = scratch("text_error").join("graph.pbtxt");
    std::fs::write(&file, "node {\n  name: \"a\"\n  op: }\n").expect("a file");
    let answer = tfprof(&["scope", "--graph_path", &file.display().to_string()]);
    assert!(answer.err.contains("graph.pbtxt:3:7: "), "{}", answer.err);
}

#[test]
fn a_truncated_file_is_read_up_to_its_end() {
    let dir = scratch("truncated");
    let whole = std::fs::read(corpus("odd_inputs/truncated.pb.gz")).expect("a corpus file");
    let file = dir.join("graph.pb.gz");
    std::fs::write(&file, whole).expect("a file");
    let path = file.display().to_string();
    let answer = tfprof(&["scope", &path, "-select", "params"]);
    assert_eq!(answer.code, 4, "{}", answer.err);
    assert!(answer.out.contains("src (4, 4/4 params)"));
    assert!(
        answer.err.contains("runs past the end") && answer.err.contains("the answer is about the 4 records"),
        "{}",
        answer.err
    );
    let strict = tfprof(&["scope", &path, "-select", "params", "--strict"]);
    assert_eq!((strict.code, strict.out.as_str()), (1, ""));
    let json = tfprof(&["scope", &path, "--format=json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(json["warnings"][0]["code"], "damaged");
}

#[test]
fn outputs_that_cannot_be_written_leave_nothing_behind() {
    let graph = corpus("mlp_small/graph.pb.gz");
    let (code, err) = refused(&["scope", &graph, "-output", "file:outfile=no/such/dir/out.txt"]);
    assert_eq!((code, err.as_str()), (1, "tfprof: no/such/dir/out.txt: cannot write: no such file or directory"));
    let (code, err) = refused(&["scope", &graph, "-output", "file:outfile=/dev/full"]);
    assert_eq!((code, err.as_str()), (1, "tfprof: /dev/full: cannot write: no space left on device"));
    let dir = scratch("unwritable");
    let copy = dir.join("graph.pb.gz");
    std::fs::copy(&graph, &copy).expect("a copy");
    let path = copy.display().to_string();
    let (code, err) = refused(&["scope", &path, "-output", &format!("file:outfile={path}")]);
    assert!(code == 2 && err.contains("is one of the inputs and would be overwritten"), "{err}");
    assert_eq!(std::fs::read_dir(&dir).expect("a directory").count(), 1);
}

#[test]
#[cfg(unix)]
fn files_are_replaced_and_devices_written() {
    let graph = corpus("mlp_small/graph.pb.gz");
    let dir = scratch("replaced");
    let (real, link) = (dir.join("real.txt"), dir.join("link.txt"));
    std::fs::write(&real, "old").expect("a file");
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    let answer = tfprof(&["scope", &graph, "-output", &format!("file:outfile={}", link.display())]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(std::fs::read_to_string(&real).expect("a file").contains("_TFProfRoot"));
    assert!(link.symlink_metadata().expect("a link").is_symlink());
    let answer = tfprof(&["scope", &graph, "-output", "file:outfile=/dev/stdout"]);
    assert!(answer.code == 0 && answer.out.contains("_TFProfRoot"), "{}", answer.err);
}

#[test]
#[cfg(unix)]
fn a_closed_pipe_is_not_an_error() {
    let line = format!("{} scope {} -max_depth 100 | head -c 10", env!("CARGO_BIN_EXE_tfprof"), corpus("resnet32"));
    let output = std::process::Command::new("bash").args(["-c", &format!("set -o pipefail; {line}")]).output();
    let output = output.expect("bash");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_empty_graph_is_an_answer() {
    let answer = tfprof_with(&["scope", "--graph_path=-", "-select", "params"], b"");
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.out.ends_with("node name | # parameters\n_TFProfRoot (--/0 params)\n"));
}
