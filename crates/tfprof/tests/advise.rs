//! Each checker on a model made for it, and on an empty one.

use tfprof::internal::report::advise;
use tfprof::{Advice, CHECKERS, Profiler, Quirks, Source};

fn load(graph: &str, runs: &[&str]) -> Profiler {
    let mut profiler = Profiler::default();
    let source = |text: &'static [u8]| Source::memory("test", text).expect("memory");
    profiler.add_graph(source(graph.to_owned().leak().as_bytes())).expect("a graph");
    for (step, run) in (0..).zip(runs) {
        profiler.add_step(step, source((*run).to_owned().leak().as_bytes())).expect("a run");
    }
    profiler
}

fn one(profiler: &Profiler, checker: &str) -> Advice {
    let advice = profiler.advise(&[checker.to_owned()], Quirks::NONE).expect("a known checker");
    advice.into_iter().next().expect("an entry")
}

/// The only report of a checker, which must have these words.
fn check(profiler: &Profiler, checker: &str, words: &[&str]) {
    let advice = one(profiler, checker);
    assert_eq!(advice.reports.len(), 1, "{advice:?}");
    for word in words {
        assert!(advice.reports[0].contains(word), "no {word} in {}", advice.reports[0]);
    }
}

fn record(name: &str, micros: i64) -> String {
    format!("node_stats {{ node_name: '{name}' all_start_micros: 100 op_end_rel_micros: {micros} }}")
}

fn run(devices: &[(&str, &[(&str, i64)])]) -> String {
    let device = |(name, records): &(&str, &[(&str, i64)])| {
        let records = records.iter().map(|(name, micros)| record(name, *micros)).collect::<Vec<_>>().join(" ");
        format!("dev_stats {{ device: '{name}' {records} }}")
    };
    format!("step_stats {{ {} }}", devices.iter().map(device).collect::<Vec<_>>().join(" "))
}

const GRAPH: &str = r#"node { name: "a" op: "MatMul" } node { name: "b" op: "MatMul" } node { name: "c" op: "Relu" }"#;
const PLAIN: &[(&str, &[(&str, i64)])] = &[("/cpu:0", &[("a", 50), ("b", 50)])];

#[test]
fn copies_that_take_as_long_as_kernels_are_named() {
    let run = run(&[
        ("/gpu:0", &[("a", 5)]),
        ("/gpu:0/stream:all", &[("a", 1000)]),
        ("/gpu:0/memcpy", &[("b", 700), ("c", 100)]),
    ]);
    check(&load(GRAPH, &[&run]), "TransferChecker", &["/gpu:0", "800us", "80%", "b 700us, c 100us"]);
}

#[test]
fn a_server_with_most_of_the_work_is_named() {
    let run = run(&[("/job:ps/task:0/cpu:0", &[("a", 9000), ("c", 10)]), ("/job:ps/task:1/cpu:0", &[("b", 1000)])]);
    let words = ["parameter servers", "/job:ps/task:0 9.01ms", "/job:ps/task:1 1.00ms", "MatMul 9.00ms"];
    check(&load(GRAPH, &[&run]), "BalanceChecker", &words);
}

#[test]
fn ops_that_stayed_on_the_cpu_are_named() {
    let run = run(&[("/gpu:0/stream:all", &[("a", 4000)]), ("/cpu:0", &[("b", 3000), ("c", 9000)])]);
    let words = ["3.00ms", "MatMul 3.00ms", "(as b)"];
    check(&load(GRAPH, &[&run]), "FallbackChecker", &words);
}

#[test]
fn launches_longer_than_kernels_are_counted() {
    let run = run(&[("/gpu:0", &[("a", 3000), ("b", 10)]), ("/gpu:0/stream:all", &[("a", 1000), ("b", 100)])]);
    check(&load(GRAPH, &[&run]), "TinyOpChecker", &["3.01ms", "1.10ms", "1 of 2 ops"]);
}

#[test]
fn a_thousand_tiny_executions_are_counted() {
    let records: Vec<(&str, i64)> = vec![("a", 2); 1200];
    let run = run(&[("/cpu:0", &records)]);
    check(&load(GRAPH, &[&run]), "TinyOpChecker", &["1200 executions", "2.40ms", "MatMul 1.20k"]);
}

#[test]
fn the_owners_of_the_peak_are_named() {
    let record = |name: &str, changes: &[(i64, i64)]| {
        let change = |(at, n): &(i64, i64)| format!("allocation_records {{ alloc_micros: {at} alloc_bytes: {n} }}");
        let changes = changes.iter().map(change).collect::<Vec<_>>().join(" ");
        let memory = format!("memory {{ allocator_name: 'GPU_0_bfc' {changes} }}");
        format!("node_stats {{ node_name: '{name}' all_start_micros: 1 op_end_rel_micros: 1 {memory} }}")
    };
    let (a, b) = (record("a", &[(10, 3000), (30, -3000)]), record("b", &[(20, 1000), (40, 2500)]));
    let run = format!("step_stats {{ dev_stats {{ device: '/gpu:0' {a} {b} }} }}");
    check(&load(GRAPH, &[&run]), "MemoryPeakChecker", &["4.00KB", "step 0", "a 3.00KB, b 1.00KB", "75%"]);
}

#[test]
fn a_checker_without_data_says_so() {
    let (empty, plain) = (load(GRAPH, &[]), load(GRAPH, &[&run(PLAIN)]));
    for checker in CHECKERS.iter().filter(|checker| !["JobChecker", "OperationChecker"].contains(&checker.name)) {
        let advice = one(&empty, checker.name);
        assert!(advice.reports.is_empty() && !advice.notes.is_empty(), "{advice:?}");
        if !checker.original {
            assert!(one(&plain, checker.name).reports.is_empty(), "{}", checker.name);
        }
    }
}

#[test]
fn the_originals_message_lacks_our_checkers() {
    let profiler = load(GRAPH, &[&run(PLAIN)]);
    let names: Vec<String> = CHECKERS.iter().map(|checker| checker.name.to_owned()).collect();
    let entries = |quirks| {
        let advice = profiler.advise(&names, quirks).expect("known checkers");
        let mut bytes = Vec::new();
        advise::write_proto(&advice, quirks, &mut bytes).expect("memory");
        CHECKERS
            .iter()
            .filter(|checker| bytes.windows(checker.name.len()).any(|w| w == checker.name.as_bytes()))
            .count()
    };
    assert_eq!((entries(Quirks::ORIGINAL), entries(Quirks::NONE)), (3, CHECKERS.len() - 1));
    assert_eq!(advise::default_names(Quirks::ORIGINAL).len(), 4);
}

#[test]
fn later_versions_of_fused_batch_norm_are_fused() {
    let graph = r#"node { name: "x/BatchNorm/f" op: "FusedBatchNormV3" }"#;
    let profiler = load(graph, &[]);
    let reports = |quirks| {
        let advice = profiler.advise(&["OperationChecker".to_owned()], quirks).expect("known");
        advice[0].reports.len()
    };
    assert_eq!((reports(Quirks::ORIGINAL), reports(Quirks::NONE)), (1, 0));
}

/// A graph of nodes of one type each, and a run of them on a CPU.
fn timed(nodes: &[(&str, &str, i64)]) -> Profiler {
    let graph: Vec<_> = nodes.iter().map(|(name, op, _)| format!("node {{ name: '{name}' op: '{op}' }}")).collect();
    let records: Vec<_> = nodes.iter().map(|(name, _, micros)| (*name, *micros)).collect();
    load(&graph.join(" "), &[&run(&[("/cpu:0", &records)])])
}

#[test]
fn elementwise_ops_of_several_types_in_one_scope_could_be_fused() {
    let chain = [("f/mul", "Mul", 300), ("f/add", "AddV2", 200), ("f/tanh", "Tanh", 500), ("f/dot", "MatMul", 1000)];
    let advice = one(&timed(&chain), "FusionChecker");
    let savings: Vec<_> = advice.findings.iter().map(|finding| finding.saving_micros).collect();
    assert_eq!(savings, [Some(500)], "{advice:?}");
    // One type may work on many tensors, and other scopes are no chain.
    for silent in [[("f/a", "Sqrt", 900), ("f/b", "Sqrt", 900)], [("f/a", "Sqrt", 900), ("g/b", "Mul", 900)]] {
        assert!(one(&timed(&silent), "FusionChecker").findings.is_empty(), "{silent:?}");
    }
}

#[test]
fn transposes_are_named_with_their_time() {
    let advice = one(&timed(&[("t", "Transpose", 400), ("a", "MatMul", 600)]), "LayoutChecker");
    assert_eq!(advice.findings[0].saving_micros, Some(400), "{advice:?}");
    assert!(one(&timed(&[("t", "Transpose", 20), ("a", "MatMul", 600)]), "LayoutChecker").findings.is_empty());
}

/// Devices work side by side: a step saves what one of them saves.
#[test]
fn savings_of_several_devices_are_not_added_up() {
    let graph = "node { name: 't' op: 'Transpose' } node { name: 'u' op: 'Transpose' } node { name: 'a' op: 'MatMul' }";
    let kernels: [(&str, &[(&str, i64)]); 2] = [
        ("/gpu:0/stream:all", &[("t", 400), ("a", 600)]),
        ("/gpu:1/stream:all", &[("t", 300), ("u", 200), ("a", 600)]),
    ];
    let advice = one(&load(graph, &[&run(&kernels)]), "LayoutChecker");
    assert_eq!(advice.findings[0].saving_micros, Some(500), "{advice:?}");
    assert!(advice.reports[0].contains("on the device that has most of it"), "{advice:?}");
    let chain = "node { name: 'f/x' op: 'Mul' } node { name: 'f/y' op: 'Tanh' }";
    let kernels: [(&str, &[(&str, i64)]); 2] =
        [("/gpu:0/stream:all", &[("f/x", 400), ("f/y", 600)]), ("/gpu:1/stream:all", &[("f/x", 300), ("f/y", 600)])];
    let advice = one(&load(chain, &[&run(&kernels)]), "FusionChecker");
    assert_eq!(advice.findings[0].saving_micros, Some(400), "{advice:?}");
}

#[test]
fn ops_that_run_again_in_the_backward_pass_are_counted() {
    let again = [("grad/rematted_computation/dot", "MatMul", 400), ("dot", "MatMul", 600)];
    assert_eq!(one(&timed(&again), "RecomputationChecker").findings[0].saving_micros, Some(400));
    let plain = [("grad/dot", "MatMul", 400), ("dot", "MatMul", 600)];
    assert!(one(&timed(&plain), "RecomputationChecker").findings.is_empty());
}
