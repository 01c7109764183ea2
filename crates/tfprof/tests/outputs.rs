//! Timelines and pprof with the original's faults and without, on models small enough to check by hand.

use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read;
use tfprof::internal::render::{pprof, timeline};
use tfprof::{Options, Profiler, Quirks, Source, ViewKind};
use tfprof_proto::wire::{Fields, Value as WireValue};

fn load(graph: &str, log: &str, run: &str) -> Profiler {
    let mut profiler = Profiler::default();
    let source = |text| Source::memory("test", text).expect("memory");
    profiler.add_graph(source(graph.as_bytes())).expect("a graph");
    if !log.is_empty() {
        profiler.add_op_log(source(log.as_bytes())).expect("an op log");
    }
    profiler.add_step(0, source(run.as_bytes())).expect("a run");
    profiler
}

fn options(quirks: Quirks, words: &str) -> Options {
    let mut options = Options { quirks, ..Options::default() };
    let words: Vec<_> = words.split_whitespace().collect();
    for pair in words.chunks(2) {
        options.set(pair[0], pair[1]).expect("a valid option");
    }
    options
}

/// The events of the timeline of the graph view.
fn events(profiler: &Profiler, quirks: Quirks) -> Vec<Value> {
    let options = options(quirks, "step 0 output timeline:outfile=x");
    let mut bytes = Vec::new();
    timeline::write(&profiler.view(ViewKind::Graph, &options).expect("an answer"), &mut bytes).expect("memory");
    let json: Value = serde_json::from_slice(&bytes).expect("JSON");
    json["traceEvents"].as_array().expect("events").clone()
}

const TWO_DEVICES: &str = r#"node { name: "a" op: "A" } node { name: "b" op: "B" input: "a" input: "a:1" }"#;

fn record(name: &str, start: i64, length: i64) -> String {
    format!("node_stats {{ node_name: \"{name}\" all_start_micros: {start} op_end_rel_micros: {length} }}\n")
}

fn run(devices: &[(&str, &[String])]) -> String {
    let devices = devices.iter().map(|(device, records)| {
        let records = records.concat();
        format!("dev_stats {{ device: \"{device}\" {records} }}\n")
    });
    format!("step_stats {{ {} }}", devices.collect::<String>())
}

#[test]
fn ops_that_start_together_are_all_there() {
    let graph = r#"node { name: "a" op: "A" } node { name: "b" op: "B" }"#;
    let run = run(&[("/cpu:0", &[record("a", 100, 5), record("b", 100, 7)])]);
    let profiler = load(graph, "", &run);
    let regions = |quirks| -> Vec<(String, i64)> {
        let events = events(&profiler, quirks);
        let regions = events.iter().filter(|event| event["ph"] == "X");
        regions.map(|e| (e["name"].as_str().unwrap().to_owned(), e["tid"].as_i64().unwrap())).collect()
    };
    assert_eq!(regions(Quirks::ORIGINAL), [("a".to_owned(), 0)]);
    assert_eq!(regions(Quirks::NONE), [("a".to_owned(), 0), ("b".to_owned(), 1)]);
}

#[test]
fn arrows_start_at_the_input() {
    // A loop that ran twice: each run of b reads the run of a before it.
    let run = run(&[
        ("/cpu:0", &[record("a", 100, 5), record("a", 200, 5)]),
        ("/gpu:0", &[record("b", 110, 5), record("b", 210, 5)]),
    ]);
    let profiler = load(TWO_DEVICES, "", &run);
    let arrows = |quirks| -> Vec<(i64, i64)> {
        let events = events(&profiler, quirks);
        let ends = |phase: &str| -> Vec<i64> {
            let ends = events.iter().filter(|event| event["ph"] == *phase);
            ends.map(|event| event["ts"].as_i64().unwrap()).collect()
        };
        ends("s").into_iter().zip(ends("t")).collect()
    };
    let every = [(105, 110), (105, 110), (105, 210), (105, 210), (205, 110), (205, 110), (205, 210), (205, 210)];
    assert_eq!(arrows(Quirks::ORIGINAL), every);
    assert_eq!(arrows(Quirks::NONE), [(105, 110), (205, 210)]);
}

#[test]
fn memory_is_the_sum_of_earlier_allocations() {
    let memory = r#"memory { allocator_name: "GPU_0_bfc" allocator_bytes_in_use: 5000000
        allocation_records { alloc_micros: 90 alloc_bytes: 3000000 }
        allocation_records { alloc_micros: 250 alloc_bytes: -3000000 } }"#;
    let stats = format!(
        "node_stats {{ node_name: \"a\" all_start_micros: 100 op_end_rel_micros: 10 {memory} }}
         node_stats {{ node_name: \"b\" all_start_micros: 300 op_end_rel_micros: 10
             memory {{ allocator_name: \"GPU_0_bfc\" allocator_bytes_in_use: 1000000 }}
             memory_stats {{ persistent_memory_size: 500000 }} }}"
    );
    let profiler = load(TWO_DEVICES, "", &format!("step_stats {{ dev_stats {{ device: \"/gpu:0\" {stats} }} }}"));
    for quirks in [Quirks::ORIGINAL, Quirks::NONE] {
        let events = events(&profiler, quirks);
        let top: Vec<_> = events.iter().filter(|event| event["name"] == "Top Allocations").collect();
        assert_eq!(top.len(), 2);
        let text = |i: usize, key: &str| top[i]["args"][key].as_str().unwrap_or("none").to_owned();
        assert_eq!(text(0, "Top Allocation 00"), "3 MB from a");
        assert_eq!(text(0, "Top Allocation 01"), "0.5 MB from b");
        assert_eq!(text(0, "Not Displayed"), "1.50 MB");
        assert_eq!(text(1, "Top Allocation 00"), "0.5 MB from b");
        assert_eq!(text(1, "Top Allocation 01"), "N/A");
    }
}

/// The strings of a profile, and the sum of each sample type over its samples.
fn profile(profiler: &Profiler, view: ViewKind, quirks: Quirks, words: &str) -> (Vec<String>, Vec<i64>) {
    let options = options(quirks, &format!("{words} output pprof:outfile=x"));
    let mut bytes = Vec::new();
    pprof::write(&profiler.view(view, &options).expect("an answer"), &mut bytes).expect("memory");
    let mut plain = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut plain).expect("gzip");
    let (mut strings, mut sums) = (Vec::new(), Vec::new());
    let mut fields = Fields::new(&plain, 0);
    while let Some(field) = fields.next_field().expect("a valid profile") {
        match (field.number, field.value) {
            (6, WireValue::Bytes(text)) => strings.push(String::from_utf8(text.to_vec()).expect("UTF-8")),
            (2, WireValue::Bytes(sample)) => {
                let mut sample = Fields::new(sample, 0);
                while let Some(field) = sample.next_field().expect("a valid sample") {
                    let mut place = 0;
                    if field.number == 2 {
                        tfprof_proto::wire::each_int(field.value, |n| {
                            sums.resize(sums.len().max(place + 1), 0);
                            sums[place] += n;
                            place += 1;
                        })
                        .expect("numbers");
                    }
                }
            }
            _ => {}
        }
    }
    (strings, sums)
}

#[test]
fn ops_of_inner_lines_are_samples_too() {
    let graph = r#"node { name: "inner" op: "A" } node { name: "leaf" op: "B" }"#;
    let log = r#"
        log_entries { name: "inner" float_ops: 3 code_def { traces { file_id: 1 lineno: 7 function_id: 2 } } }
        log_entries { name: "leaf" float_ops: 4 code_def {
            traces { file_id: 1 lineno: 7 function_id: 2 } traces { file_id: 1 lineno: 9 function_id: 3 } } }
        id_to_string { key: 1 value: "dir/model.py" } id_to_string { key: 2 value: "main" }
        id_to_string { key: 3 value: "layer" }"#;
    let profiler = load(graph, log, "step_stats { }");
    let (strings, sums) = profile(&profiler, ViewKind::Code, Quirks::ORIGINAL, "select float_ops");
    assert_eq!(sums, [1, 4]);
    assert!(strings.contains(&"model:layer".to_owned()) && !strings.contains(&"model:main".to_owned()));
    let (strings, sums) = profile(&profiler, ViewKind::Code, Quirks::NONE, "select float_ops");
    assert_eq!(sums, [2, 7]);
    assert!(strings.contains(&"model:layer".to_owned()) && strings.contains(&"model:main".to_owned()));
    let (strings, sums) = profile(&profiler, ViewKind::Op, Quirks::NONE, "select float_ops,micros,occurrence");
    assert_eq!(sums, [2, 0, 7, 0]);
    assert!(["A", "B", "micros", "float_ops", "runs"].iter().all(|word| strings.contains(&(*word).to_owned())));
}
