//! Saving, loading and merging profiles, on models small enough to check by hand.

use tfprof::internal::format::profile;
use tfprof::internal::render;
use tfprof::{Options, Profiler, Quirks, Source, ViewKind};

fn source(bytes: &[u8]) -> Source<'_> {
    Source::memory("test", bytes).expect("memory")
}

/// The profile of a graph, an op log and a run, each as text; empty ones are left out.
fn profile(graph: &str, log: &str, step: i64, run: &str) -> Vec<u8> {
    let mut profiler = Profiler::default();
    if !graph.is_empty() {
        profiler.add_graph(source(graph.as_bytes())).expect("a graph");
    }
    if !log.is_empty() {
        profiler.add_op_log(source(log.as_bytes())).expect("an op log");
    }
    if !run.is_empty() {
        profiler.add_step(step, source(run.as_bytes())).expect("a run");
    }
    save(&profiler, Quirks::NONE)
}

fn save(profiler: &Profiler, quirks: Quirks) -> Vec<u8> {
    let mut bytes = Vec::new();
    profile::write(profiler.model(), quirks, &mut bytes).expect("memory");
    bytes
}

fn load(profiles: &[&[u8]]) -> Result<Profiler, String> {
    let mut profiler = Profiler::default();
    for profile in profiles {
        profiler.add_profile(source(profile)).map_err(|error| error.to_string())?;
    }
    Ok(profiler)
}

fn ask(profiler: &Profiler, kind: ViewKind) -> String {
    let mut options = Options::default();
    options.set("select", "micros,params,float_ops,occurrence,device,op_types,input_shapes").expect("known words");
    let mut text = Vec::new();
    match profiler.view(kind, &options) {
        Ok(view) => render::text::write_report(&view, &mut text).expect("memory"),
        Err(error) => text.extend(error.to_string().bytes()),
    }
    String::from_utf8(text).expect("text")
}

/// Both orders give the same answers; the text of the scope view.
fn merged(a: &[u8], b: &[u8]) -> String {
    let (forth, back) = (load(&[a, b]).expect("a merge"), load(&[b, a]).expect("a merge"));
    for kind in ViewKind::ALL {
        assert_eq!(ask(&forth, kind), ask(&back, kind));
    }
    // A merged profile is saved and loaded as one.
    let again = load(&[&save(&forth, Quirks::NONE)]).expect("a profile");
    assert_eq!(ask(&again, ViewKind::Scope), ask(&forth, ViewKind::Scope));
    ask(&forth, ViewKind::Scope)
}

const GRAPH: &str = r#"
    node { name: "s" op: "Split" device: "/device:GPU:7" attr { key: "_output_shapes" value { list {
        shape { dim { size: 1 } dim { size: 2 } } shape { dim { size: 3 } } } } } }
    node { name: "t" op: "Add" input: "s" input: "s:1" input: "^s" }"#;

fn run(device: &str, nodes: &[(&str, i64)]) -> String {
    let record = |(name, micros): &(&str, i64)| {
        format!("node_stats {{ node_name: '{name}' all_start_micros: 100 op_end_rel_micros: {micros} }}")
    };
    let records = nodes.iter().map(record).collect::<Vec<_>>().join(" ");
    format!("step_stats {{ dev_stats {{ device: '{device}' {records} }} }}")
}

#[test]
fn which_output_an_input_is_and_the_asked_for_device_survive() {
    let saved = load(&[&profile(GRAPH, "", 0, "")]).expect("a profile");
    let text = ask(&saved, ViewKind::Scope);
    assert!(text.contains("0:1x2|1:3|2:1x2"), "{text}");
    assert!(text.contains("/device:gpu:7"), "{text}");
    assert_eq!(save(&saved, Quirks::NONE), profile(GRAPH, "", 0, ""));
}

#[test]
fn steps_of_two_profiles_stand_side_by_side() {
    let a = profile(GRAPH, "", 1, &run("/cpu:0", &[("s", 10), ("t", 20)]));
    let b = profile(GRAPH, "", 2, &run("/cpu:0", &[("t", 40), ("extra", 7)]));
    let text = merged(&a, &b);
    assert!(text.contains("t (0/0 params, 0/0 flops, 30us/30us"), "{text}");
    assert!(text.contains("extra (0/0 params, 0/0 flops, 7us/7us"), "{text}");
}

#[test]
fn a_node_that_one_profile_only_saw_running_is_defined_by_the_other() {
    let seen = profile("", "", 1, &run("/cpu:0", &[("t", 20), ("s", 5)]));
    let defined = profile(GRAPH, r#"log_entries { name: "t" float_ops: 6 types: "mine" }"#, 0, "");
    let text = merged(&seen, &defined);
    assert!(text.contains("0:1x2|1:3|2:1x2") && text.contains("mine") && text.contains("Add"), "{text}");
}

#[test]
fn two_profiles_keep_their_own_traces_and_strings() {
    let log = |node: &str, file: &str| {
        format!(
            "log_entries {{ name: '{node}' code_def {{ traces {{ lineno: 3 file_id: 1 function_id: 2 line_id: 0 }} }} }}
             id_to_string {{ key: 0 value: 'none' }} id_to_string {{ key: 1 value: '{file}' }}
             id_to_string {{ key: 2 value: 'f' }}"
        )
    };
    let a = profile(GRAPH, &log("s", "one.py"), 1, &run("/cpu:0", &[("s", 10)]));
    let b = profile(GRAPH, &log("t", "two.py"), 2, &run("/cpu:0", &[("t", 10)]));
    merged(&a, &b);
    let code = ask(&load(&[&a, &b]).expect("a merge"), ViewKind::Code);
    assert!(code.contains("one.py:3:f") && code.contains("two.py:3:f"), "{code}");
    let again = load(&[&save(&load(&[&a, &b]).expect("a merge"), Quirks::NONE)]).expect("a profile");
    assert_eq!(ask(&again, ViewKind::Code), code);
}

#[test]
fn definitions_that_disagree_are_an_error_that_names_the_node() {
    let base = |rest: &str| format!(r#"node {{ name: "a" op: "A" }} node {{ name: "n" {rest} }}"#);
    let log = |flops: i64| format!("log_entries {{ name: 'n' float_ops: {flops} }}");
    let check = |one: (&str, &str), two: (&str, &str), what: &str| {
        let (one, two) = (profile(&base(one.0), one.1, 0, ""), profile(&base(two.0), two.1, 0, ""));
        for pair in [[&one[..], &two], [&two, &one]] {
            let error = load(&pair).expect_err("a conflict");
            assert!(error.contains("`n`") && error.contains(what), "{error}");
        }
        assert!(load(&[&one, &one]).is_ok());
    };
    check((r#"op: "X""#, ""), (r#"op: "Y""#, ""), "op");
    check((r#"op: "X" input: "a""#, ""), (r#"op: "X""#, ""), "inputs");
    check((r#"op: "X""#, &log(1)), (r#"op: "X""#, &log(2)), "FLOPs");
    let attribute = |n: i64| format!(r#"op: "X" attr {{ key: "k" value {{ i: {n} }} }}"#);
    check((&attribute(1), ""), (&attribute(2), ""), "attribute `k`");
}

#[test]
fn an_input_that_names_no_node_is_left_out_with_a_warning() {
    let mut profiler = Profiler::default();
    let graph = r#"node { name: "a" op: "A" input: "gone" input: "b" } node { name: "b" op: "B" }"#;
    profiler.add_graph(source(graph.as_bytes())).expect("a graph");
    let warnings = profile::warnings(profiler.model());
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].message.contains("`gone` of `a`"), "{}", warnings[0].message);
    let again = load(&[&save(&profiler, Quirks::NONE)]).expect("a profile");
    assert!(profile::warnings(again.model()).is_empty());
    assert_eq!(ask(&again, ViewKind::Graph), ask(&profiler, ViewKind::Graph));
}

#[test]
fn saving_again_changes_nothing_except_under_quirks() {
    let gpu = "step_stats { dev_stats { device: '/gpu:0' node_stats { node_name: 's' all_start_micros: 5 } } }";
    let first = profile(GRAPH, "", 0, gpu);
    let again = load(&[&first]).expect("a profile");
    assert!(save(&again, Quirks::NONE) == first);
    let original = load(&[&save(&again, Quirks::ORIGINAL)]).expect("a profile");
    assert!(save(&original, Quirks::NONE) != first);
}
