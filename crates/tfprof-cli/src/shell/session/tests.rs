//! Lines of the shell against what the original makes of them.

use super::*;
use serde_json::Value;

fn parsed(line: &str) -> Result<Request, String> {
    flags::parse_line(line, &Options::default(), Terminal::default()).map_err(|error| error.to_string())
}

/// Lines that the original refuses and that mean something here.
const FORMS_WE_ADD: &[&str] = &[
    "quit",
    // Options in the spellings of the command line.
    "scope --max_depth 4",
    "scope -max_depth=4",
    // Words separated by a tab.
    "scope\t-max_depth 4",
    // Quotes around any value.
    "scope -output \"file:outfile=q\"",
    // The order that the manual has.
    "op -order_by depth",
];

#[test]
fn lines_of_the_original_mean_the_same() {
    let text = include_str!("../../../../../corpus/native/cmdline.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let mut faults = Vec::new();
    for case in file["lines"].as_array().unwrap() {
        let line = case["line"].as_str().unwrap();
        let ok = case["ok"].as_bool().unwrap();
        match parsed(line) {
            // A topic is looked up when help is written.
            Ok(request) if !ok && request.command.word == "help" => {
                assert!(help::run_in_shell(&request, &mut Vec::new()).is_err(), "{line}");
            }
            Ok(_) if !ok && !FORMS_WE_ADD.contains(&line) => faults.push(format!("{line}: accepted")),
            Ok(_) if !ok => {}
            Ok(request) => {
                let (found, expect) = (dump(&request.options, true), case["options"].as_str().unwrap());
                if found != expect || request.command.word != case["cmd"].as_str().unwrap() {
                    faults.push(format!("{line}: other options\n{found}"));
                }
            }
            // Built by others: the line holds as soon as they are there.
            Err(error) if error.contains("unknown command `advise`") => {}
            Err(error) if error.contains("unknown form `timeline`") || error.contains("unknown form `pprof`") => {}
            Err(error) if ok => faults.push(format!("{line}: refused: {error}")),
            Err(error) => {
                if FORMS_WE_ADD.contains(&line) || error.contains("INVALID_ARGUMENT") || error.contains('\n') {
                    faults.push(format!("{line}: {error}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn refusals_name_the_word_and_the_nearest() {
    let error = |line| parsed(line).unwrap_err();
    assert!(error("scop").starts_with("unknown command `scop`; did you mean `scope`?"), "{}", error("scop"));
    assert!(error("op -select micro").contains("unknown metric `micro` in -select; did you mean `micros`?"));
    assert!(error("scope extra words").contains("`extra`"));
    assert!(error("scope -graph_path x").contains("use `load --graph_path=x`"));
    assert!(error("demo").starts_with("unknown command `demo`"));
}

#[test]
fn quotes_protect_commas_of_patterns() {
    let options = parsed("scope -show_name_regexes \"a{1,2}\",b -hide_name_regexes 'x y'").unwrap().options;
    assert_eq!(options.show_name_regexes, ["a{1,2}", "b"]);
    assert_eq!(options.hide_name_regexes, ["x y"]);
}

#[test]
fn later_options_replace_earlier_ones() {
    let options =
        parsed("scope -hide_name_regexes a -hide_name_regexes b -select micros -select params").unwrap().options;
    assert_eq!(options.hide_name_regexes, ["b"]);
    assert_eq!(options.select.unwrap().words(), ["params"]);
}

/// A session about the sample, and what a line prints.
fn session() -> (Request, Session) {
    let words = ["demo", "shell"].map(std::ffi::OsString::from);
    let request = flags::parse(words, Terminal::default()).unwrap();
    let session = Session::new(&request, &mut Vec::new()).unwrap();
    (request, session)
}

fn run(session: &mut Session, line: &str) -> Result<String, String> {
    let mut out = Vec::new();
    session.execute(line, &mut out, &mut Vec::new()).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn set_lasts_and_reset_takes_it_back() {
    let (_request, mut session) = session();
    let before = run(&mut session, "").unwrap();
    assert_eq!(run(&mut session, "set -max_depth 3 -account_type_regexes _trainable_variables").unwrap(), "");
    assert!(run(&mut session, "scope -select params").unwrap().contains("_TFProfRoot (--/464.15k params)"));
    assert!(run(&mut session, "").unwrap().contains("-max_depth                  3\n"));
    // A line that is wrong changes nothing.
    run(&mut session, "set -max_depth 7 -select beauty").unwrap_err();
    assert!(run(&mut session, "set").unwrap().contains("-max_depth                  3\n"));
    // Options of one line are gone on the next.
    run(&mut session, "op -max_depth 1").unwrap();
    assert!(run(&mut session, "").unwrap().contains("-max_depth                  3\n"));
    run(&mut session, "reset").unwrap();
    assert_eq!(run(&mut session, "").unwrap(), before);
}

#[test]
fn an_output_file_stays_until_another_is_named() {
    let options = parsed("scope -output file:outfile=x -output json").unwrap().options;
    assert_eq!((options.output.form.as_str(), options.output.outfile.as_str()), ("json", "x"));
    let options = parsed("scope -output file:outfile=x -output stdout").unwrap().options;
    assert_eq!(options.output.outfile, "");
}

#[test]
fn load_adds_a_step() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/mlp_small");
    let file = |name: &str| dir.join(name).display().to_string();
    let words = [file("graph.pb.gz"), file("run_meta_0.gz")].map(std::ffi::OsString::from);
    let request = flags::parse(words, Terminal::default()).unwrap();
    assert_eq!(request.command.word, "shell");
    let mut session = Session::new(&request, &mut Vec::new()).unwrap();
    let steps = |session: &Session| session.model().runs.steps().collect::<Vec<_>>();
    assert_eq!(steps(&session), [0]);
    run(&mut session, &format!("load {}", file("run_meta_5.gz"))).unwrap();
    assert_eq!(steps(&session), [0, 5]);
    run(&mut session, &format!("load --run_meta_path=9={}", file("run_meta_10.gz"))).unwrap();
    assert_eq!(steps(&session), [0, 5, 9]);
    assert!(run(&mut session, "code").unwrap_err().contains("needs code traces"));
    run(&mut session, &format!("load '{}'", file("tfprof_log.gz"))).unwrap();
    assert!(run(&mut session, "code -step 9").unwrap().contains("mlp_small.py"));
    assert!(run(&mut session, "load nowhere").unwrap_err().contains("nowhere"));
    assert!(run(&mut session, "load").unwrap_err().starts_with("nothing to load"));
    let once = run(&mut session, "op -select params").unwrap();
    // A graph that comes late is loaded before the logs and steps that speak of it.
    run(&mut session, &format!("load {}", file("graph.pb.gz"))).unwrap();
    assert_eq!(run(&mut session, "op -select params").unwrap(), once);
    assert_eq!(steps(&session), [0, 5, 9]);
}

#[test]
fn every_example_of_the_help_runs_on_the_sample() {
    let (_request, mut session) = session();
    for example in crate::commands::examples::EXAMPLES {
        let answer = run(&mut session, &example.in_shell());
        assert!(answer.as_ref().is_ok_and(|text| !text.is_empty()), "{}: {answer:?}", example.words);
    }
}

#[test]
fn diff_compares_another_run_with_the_loaded_one() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let path = |name: &str| corpus.join(name).display().to_string();
    let (_request, mut session) = session();
    let one = run(&mut session, &format!("diff op {} -select occurrence -max_depth 2", path("resnet32"))).unwrap();
    assert!(one.contains("after   (loaded)") && one.contains("resnet32"), "{one}");
    let two = run(&mut session, &format!("diff op {0} {0} -select params", path("mlp_small"))).unwrap();
    assert!(two.contains("mlp_small") && !two.contains("(loaded)"), "{two}");
    assert!(run(&mut session, "diff op").unwrap_err().contains("diff [VIEW] BEFORE"));
}

#[test]
fn numbers_are_formatted_as_by_the_original() {
    use tfprof::Unit;
    let file: Value = serde_json::from_str(include_str!("../../../../../corpus/native/format.json")).unwrap();
    let rows = file["rows"].as_array().unwrap();
    for row in rows {
        let number = row[0].as_i64().unwrap();
        for (column, unit) in [(1, Unit::Count), (2, Unit::Micros), (3, Unit::Bytes)] {
            assert_eq!(tfprof::internal::units::text(unit, number), row[column].as_str().unwrap(), "{number}");
        }
    }
    assert!(rows.len() > 800);
}
