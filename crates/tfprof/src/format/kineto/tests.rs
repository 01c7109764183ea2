//! Traces written here, each with one peculiarity of real files.

use super::*;
use crate::events::walk::{ItemSums, Wanted};
use crate::model::runs::KeepSteps;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

const ALL: Wanted = Wanted {
    steps: KeepSteps::Each,
    runtime: true,
    python: true,
    step_marks: true,
    busy: true,
    costs: true,
    kernels: true,
    stacks: true,
    memory: true,
    shapes: true,
    spans: true,
};

fn read(bytes: &[u8]) -> Result<HostProfile, Error> {
    let source = Source::memory("trace.json", bytes)?;
    open(Path::new(""), source)?.read(&TraceSettings { wanted: ALL, step_marker: None })
}

fn event(category: &str, name: &str, thread: &str, start: &str, duration: &str, args: &str) -> String {
    let ids = r#""pid": 1, "tid": "#;
    format!(
        "{{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", {ids}{thread}, \"ts\": {start}, \"dur\": {duration}, \
         \"args\": {{{args}}}}}"
    )
}

fn trace(events: &[String]) -> String {
    format!("{{\"schemaVersion\": 1, \"traceEvents\": [\n{}\n]}}", events.join(",\n"))
}

/// Name, device, runs and self time in nanoseconds of all ops.
fn ops(host: &HostProfile) -> Vec<(String, String, i64, i64)> {
    let sums = host.op_sums.items.iter().map(ItemSums::all);
    let rows = host.variants.iter().zip(sums).map(|(variant, sums)| {
        let key = &host.ops[variant.op as usize].key;
        (key.name.clone(), key.device.clone(), sums.runs, sums.self_time / 1000)
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}

fn row(name: &str, device: &str, runs: i64, nanos: i64) -> (String, String, i64, i64) {
    (name.to_owned(), device.to_owned(), runs, nanos)
}

/// Events may come in any order: ids count ops from their start.
#[test]
fn of_equal_intervals_the_smaller_id_is_outside() {
    let outer = event("cpu_op", "aten::linear", "1", "10", "6", r#""External id": 4"#);
    let inner = event("cpu_op", "aten::mm", "1", "10", "6", r#""External id": 5"#);
    for events in [[outer.clone(), inner.clone()], [inner, outer]] {
        let host = read(trace(&events).as_bytes()).unwrap();
        let expected = [row("aten::linear", "/host:CPU", 1, 0), row("aten::linear/aten::mm", "/host:CPU", 1, 6000)];
        assert_eq!(ops(&host), expected);
    }
}

#[test]
fn ops_nest_and_kernels_belong_to_them() {
    let text = trace(&[
        // Not in the order of time; the step is no scope.
        event("kernel", "gemm", "7", "30", "5.5", r#""device": 0, "stream": 7, "correlation": 9, "External id": 2"#),
        event("cpu_op", "aten::mm", "1", "10.25", "4.125", r#""External id": 2"#),
        event("cpu_op", "aten::linear", "1", "10", "6", r#""External id": 1"#),
        event("user_annotation", "ProfilerStep#3", "1", "5", "20", r#""External id": 7"#),
        event("cuda_runtime", "cudaLaunchKernel", "1", "11", "1", r#""correlation": 9, "External id": 2"#),
        // Its id names no op: the call that launched it does.
        event("kernel", "fill", "7", "40", "1", r#""device": 0, "correlation": 10, "External id": 99"#),
        event("cuda_runtime", "cudaLaunchKernel", "1", "15", "0.5", r#""correlation": 10"#),
        // Nobody launched it.
        event("gpu_memcpy", "Memcpy HtoD", "7", "50", "2", r#""device": 0, "correlation": 11"#),
        // Marks count for nothing.
        event("gpu_user_annotation", "ProfilerStep#3", "7", "30", "20", r#""External id": 7"#),
        event("overhead", "CUPTI", "-1", "0", "100", ""),
    ]);
    let host = read(text.as_bytes()).unwrap();
    let (cpu, launched) = ("/host:CPU", "/device:GPU:0/stream:all");
    assert_eq!(
        ops(&host),
        [
            row("Memcpy HtoD", "/device:GPU:0", 1, 2000),
            row("ProfilerStep*", cpu, 1, 14_000),
            row("aten::linear", launched, 1, 1000),
            row("aten::linear", cpu, 1, 1875),
            row("aten::linear/aten::mm", launched, 1, 5500),
            row("aten::linear/aten::mm", cpu, 1, 4125),
        ]
    );
    let rows: Vec<_> = host.kernels.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(rows, ["aten::linear/aten::mm/gemm", "aten::linear/fill"]);
    let steps: Vec<_> = host.facts.steps.iter().map(|step| (step.number, step.length / 1_000_000)).collect();
    assert_eq!(steps, [(3, 20)]);
    // The kernel ran behind the end of its step, and the copy was launched by nothing in it.
    assert_eq!(host.facts.outside.runs, 1);
    let gpu = host.facts.devices.iter().find(|device| device.name == "/device:GPU:0").unwrap();
    assert_eq!(gpu.busy / 1000, 8500);
    assert!(host.warnings.is_empty());
}

#[test]
fn graphs_belong_to_their_launch() {
    let kernel = |name: &str, start: &str, id: &str| {
        event("kernel", name, "7", start, "1", &format!("\"device\": 0, \"correlation\": 5, \"External id\": {id}"))
    };
    let text = trace(&[
        event("cpu_op", "decode", "1", "0", "9", r#""External id": 3"#),
        event("cuda_runtime", "hipGraphLaunch", "1", "2", "1", r#""correlation": 5"#),
        kernel("a", "10", "3"),
        kernel("b", "11", "0"),
    ]);
    let host = read(text.as_bytes()).unwrap();
    let (cpu, launched) = ("/host:CPU", "/device:GPU:0/stream:all");
    assert_eq!(
        ops(&host),
        [
            row("decode", cpu, 1, 9000),
            row("decode/hipGraphLaunch", launched, 1, 1000),
            row("decode/hipGraphLaunch", launched, 1, 1000),
            row("decode/hipGraphLaunch", cpu, 1, 0),
        ]
    );
}

#[test]
fn backward_ops_lie_below_their_forward_scope() {
    let text = trace(&[
        event("python_function", "nn.Module: Net_0", "1", "0", "10", r#""Python id": 1"#),
        event("python_function", "net.py(3): forward", "1", "1", "9", r#""Python id": 2"#),
        event("cpu_op", "aten::linear", "1", "2", "5", ""),
        event("cpu_op", "aten::addmm", "1", "3", "2", r#""Sequence number": 4, "Fwd thread id": 0"#),
        event("cpu_op", "AddmmBackward0", "2", "20", "3", r#""Sequence number": 4, "Fwd thread id": 1"#),
        event("cpu_op", "LostBackward0", "2", "30", "3", r#""Sequence number": 5, "Fwd thread id": 1"#),
    ]);
    let host = read(text.as_bytes()).unwrap();
    let names: Vec<_> = ops(&host).into_iter().map(|row| row.0).collect();
    assert_eq!(
        names,
        [
            "(backward)/LostBackward0",
            "Net_0/(backward)/AddmmBackward0",
            "Net_0/aten::linear",
            "Net_0/aten::linear/aten::addmm"
        ]
    );
    let op = host.ops.iter().find(|op| op.key.kind == "aten::addmm").unwrap();
    let path = host.calls.paths[op.about.path.unwrap() as usize];
    assert_eq!(host.calls.lines[path.call as usize].file, "net.py");
}

#[test]
fn old_files_write_threads_both_ways() {
    let text = trace(&[
        event("Operator", "aten::add", "\"25738\"", "100", "10", ""),
        event("Operator", "aten::to", "\"25738\"", "102", "3", ""),
        event("Runtime", "cudaLaunchKernel", "25738", "103", "1", r#""correlation": 8"#),
        event("Kernel", "k", "\"stream 7\"", "120", "4", r#""device": 0, "correlation": 8"#),
    ]);
    let host = read(text.as_bytes()).unwrap();
    let (cpu, launched) = ("/host:CPU", "/device:GPU:0/stream:all");
    let expected = [
        row("aten::add", cpu, 1, 7000),
        row("aten::add/aten::to", launched, 1, 4000),
        row("aten::add/aten::to", cpu, 1, 3000),
    ];
    assert_eq!(ops(&host), expected);
}

#[test]
fn broken_text_costs_one_event() {
    let good = |name: &str| event("cpu_op", name, "1", "1", "2", "");
    let broken = event("user_annotation", "quote \" x", "1", "1", "2", "");
    for separator in [",\n", ","] {
        let events = [good("a"), broken.clone(), good("b"), broken.clone(), broken.clone(), good("c")];
        let text =
            format!("{{\"schemaVersion\": 1, \"my \"key\"\": 1,\n\"traceEvents\": [{}]}}", events.join(separator));
        let host = read(text.as_bytes()).unwrap();
        let names: Vec<_> = ops(&host).into_iter().map(|row| row.0).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(
            host.warnings.iter().any(|warning| warning.code == "lost_events" && warning.damage),
            "{:?}",
            host.warnings
        );
    }
}

#[test]
fn cut_files_give_what_is_there() {
    let text = trace(&[event("cpu_op", "a", "1", "1", "2", ""), event("cpu_op", "b", "1", "5", "2", "")]);
    let whole = ops(&read(text.as_bytes()).unwrap());
    for end in 1..text.len() - 1 {
        let Ok(host) = read(&text.as_bytes()[..end]) else { continue };
        let ops = ops(&host);
        assert!(ops.iter().all(|op| whole.contains(op)), "{end}");
        let is_cut = host.warnings.iter().any(|warning| warning.code == "cut_file" && warning.damage);
        assert!(is_cut, "{end}: {:?}", host.warnings);
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::none());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let host = read(&packed[..packed.len() - 60]).unwrap();
    assert_eq!(ops(&host).len(), 1);
    assert!(host.warnings[0].message.contains("cut short"), "{:?}", host.warnings);
}

#[test]
fn other_traces_are_plain_events() {
    let text = r#"[
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}},
{"ph": "B", "cat": "c", "name": "outer", "pid": 1, "tid": 2, "ts": 1},
{"ph": "B", "cat": "c", "name": "inner", "pid": 1, "tid": 2, "ts": 2},
{"ph": "E", "pid": 1, "tid": 2, "ts": 4},
{"ph": "E", "pid": 1, "tid": 2, "ts": 10},
{"ph": "B", "name": "open", "pid": 1, "tid": 2, "ts": 11},
"#;
    let host = read(text.as_bytes()).unwrap();
    let cpu = "/host:CPU";
    let expected =
        [row("main/open", cpu, 1, 0), row("main/outer", cpu, 1, 7000), row("main/outer/inner", cpu, 1, 2000)];
    assert_eq!(ops(&host), expected);
    assert_eq!(host.facts.recording.as_deref(), Some("a Chrome trace (a bare list of events)"));
    assert_eq!(host.facts.framework, None);
}

#[test]
fn memory_belongs_to_the_op_around() {
    let memory = |time: &str, bytes: &str| {
        format!(
            "{{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, \"ts\": {time}, \
             \"args\": {{\"Bytes\": {bytes}, \"Device Type\": 0, \"Device Id\": -1, \"Total Allocated\": 64}}}}"
        )
    };
    let text = trace(&[
        event("cpu_op", "aten::empty", "1", "1", "2", ""),
        memory("2", "64"),
        memory("2.5", "-16"),
        memory("9", "-48"),
    ]);
    let host = read(text.as_bytes()).unwrap();
    let of = |name: &str| {
        let sums = host
            .op_memory
            .iter()
            .filter(|(variant, ..)| host.ops[host.variants[*variant as usize].op as usize].key.name == name);
        sums.map(|(_, _, memory)| (memory.requested, memory.residual)).collect::<Vec<_>>()
    };
    assert_eq!(of("aten::empty"), [(64, 48)]);
    assert_eq!(of("[memory]"), [(0, -48)]);
}

#[test]
fn other_json_is_refused() {
    let check = |text: &str, expected: &str| {
        let message = read(text.as_bytes()).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    };
    check(r#"{"schemaVersion": 1, "deviceProperties": []}"#, "no list `traceEvents`");
    check(r#"{"traceEvents": []}"#, "holds no events");
    check(r#"{"traceEvents": 5}"#, "no list `traceEvents`");
}

#[test]
fn deep_nesting_is_no_problem() {
    let brackets = "[".repeat(100_000);
    let text = format!("{{\"traceEvents\": [{{\"ph\": \"X\", \"args\": {{\"x\": {brackets}");
    assert!(read(text.as_bytes()).is_err() || read(text.as_bytes()).unwrap().ops.is_empty());
    let spans: Vec<String> = (0..20_000)
        .map(|at| event("cpu_op", &format!("op{at}"), "1", &at.to_string(), &(100_000 - 2 * at).to_string(), ""))
        .collect();
    let host = read(trace(&spans).as_bytes()).unwrap();
    assert_eq!(host.ops.len(), 20_000);
    assert!(host.ops.iter().all(|op| op.key.name.len() < 4000));
}

#[test]
fn ranks_are_named_by_files() {
    assert_eq!(rank_of("dir/rank-3/trace.json.gz"), Some(3));
    assert_eq!(rank_of("rank12.json"), Some(12));
    assert_eq!(rank_of("worker_1.1234.pt.trace.json"), Some(1));
    assert_eq!(rank_of("trace.json"), None);
}

#[test]
fn bytes_that_are_no_text_are_damage() {
    let mut text = trace(&[event("cpu_op", "aten::mm", "1", "10", "4", r#""Input type": ["flo~~"]"#)]).into_bytes();
    let at = text.iter().position(|byte| *byte == b'~').expect("a mark");
    text[at..at + 2].copy_from_slice(&[0xff, 0xfe]);
    let host = read(&text).unwrap();
    assert_eq!(ops(&host), [row("aten::mm", "/host:CPU", 1, 4000)]);
    let warning = host.warnings.iter().find(|warning| warning.code == "garbled_text").expect("a warning");
    assert!(warning.damage && warning.to_string().contains(&format!("byte {at}")), "{warning}");
}

#[test]
fn a_number_belongs_to_the_last_forward_op_with_it() {
    let text = trace(&[
        // An op without a gradient has the number of the next one that has it.
        event("cpu_op", "aten::item", "1", "1", "1", r#""Sequence number": 70, "Fwd thread id": 0"#),
        event("python_function", "nn.Module: Conv2d_0", "1", "5", "10", r#""Python id": 1"#),
        event("cpu_op", "aten::conv2d", "1", "6", "5", r#""Sequence number": 70, "Fwd thread id": 0"#),
        event("cpu_op", "ConvolutionBackward0", "2", "20", "5", r#""Sequence number": 70, "Fwd thread id": 1"#),
    ]);
    let host = read(text.as_bytes()).unwrap();
    let names: Vec<String> = ops(&host).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["Conv2d_0/(backward)/ConvolutionBackward0", "Conv2d_0/aten::conv2d", "aten::item"]);
}

#[test]
fn lanes_are_threads_and_streams() {
    let text = trace(&[
        event("cpu_op", "aten::mm", "1", "10", "4", ""),
        event("python_function", "a.py(1): f", "1", "9", "8", ""),
        event("cuda_runtime", "cudaLaunchKernel", "1", "11", "1", r#""correlation": 9"#),
        event("kernel", "gemm", "7", "30.5", "5.25", r#""device": 0, "stream": 7, "correlation": 9"#),
    ]);
    let source = Source::memory("trace.json", text.as_bytes()).unwrap();
    let drawn = open(Path::new(""), source).unwrap().lanes().unwrap();
    let lanes: Vec<_> =
        drawn.lanes.iter().map(|lane| (lane.plane.as_str(), lane.name.as_str(), lane.events[0])).collect();
    let name = |text: &str| drawn.names.find(text.as_bytes()).expect("a name");
    assert_eq!(
        lanes,
        [
            ("/device:GPU:0", "stream 7", (21_500, 5250, name("gemm"))),
            ("/host:CPU", "thread 1", (1000, 4000, name("aten::mm"))),
            ("/host:CPU", "thread 1, Python", (0, 8000, name("a.py(1): f"))),
            ("/host:CPU", "thread 1, runtime", (2000, 1000, name("cudaLaunchKernel"))),
        ]
    );
}

#[test]
fn names_of_processes_alone_are_no_events() {
    let text = trace(&[r#"{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}"#.to_owned()]);
    let error = read(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("no events"), "{error}");
}

#[test]
fn an_event_whose_length_is_no_number_is_left_out() {
    let events = [event("cpu_op", "endless", "1", "10", "Infinity", ""), event("cpu_op", "short", "1", "10", "5", "")];
    let host = read(trace(&events).as_bytes()).unwrap();
    assert_eq!(ops(&host), [row("short", "/host:CPU", 1, 5000)]);
    assert_eq!(host.warnings[0].code, "untimed_events");
}
