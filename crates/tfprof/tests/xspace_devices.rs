//! Profiles as real accelerators record them: derived lines, launches, clocks, steps, memory and frameworks.

use std::collections::BTreeMap;
use tfprof::internal::format::xspace::{self, ProfileFile};
use tfprof::internal::report::advise;
use tfprof::{Error, Keep, Options, Profiler, Source, ViewKind};
use tfprof_proto::write as pb;

/// The value of a stat.
#[derive(Clone, Copy)]
enum Is<'a> {
    Int(i64),
    Text(&'a str),
}
use Is::{Int, Text};

type Stats<'a> = &'a [(&'a str, Is<'a>)];

/// A plane that is being written; names get their ids on first use.
#[derive(Default)]
struct Plane {
    name: String,
    lines: Vec<u8>,
    names: BTreeMap<String, i64>,
    stats: BTreeMap<String, i64>,
}

impl Plane {
    fn new(name: &str) -> Plane {
        Plane { name: name.to_owned(), ..Plane::default() }
    }

    /// Adds a line of events (name, start and length in nanoseconds, stats).
    fn line(mut self, id: i64, name: &str, events: &[(&str, i64, i64, Stats<'_>)]) -> Plane {
        let Plane { lines, names, stats, .. } = &mut self;
        pb::message(lines, 3, |line| {
            pb::int(line, 1, id);
            pb::bytes(line, 2, name.as_bytes());
            for (name, start, length, of_event) in events {
                pb::message(line, 4, |event| {
                    pb::int(event, 1, id_of(names, name));
                    pb::int(event, 2, start * 1000);
                    pb::int(event, 3, length * 1000);
                    for (name, value) in *of_event {
                        pb::message(event, 4, |stat| {
                            pb::int(stat, 1, id_of(stats, name));
                            match value {
                                Int(n) => pb::int(stat, 4, *n),
                                Text(text) => pb::bytes(stat, 5, text.as_bytes()),
                            }
                        });
                    }
                });
            }
        });
        self
    }

    /// Adds a name that no event has.
    fn named(mut self, name: &str) -> Plane {
        id_of(&mut self.names, name);
        self
    }
}

fn id_of(ids: &mut BTreeMap<String, i64>, name: &str) -> i64 {
    let next = ids.len() as i64 + 1;
    *ids.entry(name.to_owned()).or_insert(next)
}

fn space(planes: Vec<Plane>) -> Vec<u8> {
    let mut space = Vec::new();
    for plane in planes {
        pb::message(&mut space, 1, |out| {
            pb::bytes(out, 2, plane.name.as_bytes());
            out.extend_from_slice(&plane.lines);
            for (field, names) in [(4, &plane.names), (5, &plane.stats)] {
                for (name, id) in names {
                    pb::message(out, field, |entry| {
                        pb::int(entry, 1, *id);
                        pb::message(entry, 2, |meta| {
                            pb::int(meta, 1, *id);
                            pb::bytes(meta, 2, name.as_bytes());
                        });
                    });
                }
            }
        });
    }
    space
}

fn load(bytes: Vec<u8>) -> Result<Profiler, Error> {
    let mut profiler = Profiler::new(Keep { records: false, ..Keep::EVERYTHING });
    profiler.add_profiles(&[ProfileFile::memory("host.xplane.pb", bytes)], None, &|_, _| {})?;
    Ok(profiler)
}

fn read(planes: Vec<Plane>) -> Profiler {
    load(space(planes)).expect("a profile")
}

/// By op type, the time on accelerators and on hosts, in nanoseconds, of all steps.
fn ops(profiler: &Profiler) -> BTreeMap<String, (i64, i64)> {
    let mut options = Options::default();
    for (name, value) in [("step", "all"), ("select", "accelerator_micros,cpu_micros"), ("max_depth", "100")] {
        options.set(name, value).expect("a word");
    }
    let view = profiler.view(ViewKind::Op, &options).expect("a view");
    let mut json = Vec::new();
    tfprof::internal::render::json::write(&view, &[], &mut json).expect("memory");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let rows = json["rows"].as_array().expect("rows").iter().filter(|row| row["name"] != "_TFProfRoot");
    let nanos = |value: &serde_json::Value| (value.as_f64().expect("a number") * 1000.0).round() as i64;
    rows.map(|row| {
        let own = &row["self"];
        (
            row["name"].as_str().expect("a name").to_owned(),
            (nanos(&own["accelerator_micros"]), nanos(&own["cpu_micros"])),
        )
    })
    .collect()
}

fn check_ops(profiler: &Profiler, expect: &[(&str, i64, i64)]) {
    let expect: BTreeMap<_, _> =
        expect.iter().map(|(name, device, host)| ((*name).to_owned(), (*device, *host))).collect();
    assert_eq!(ops(profiler), expect);
}

fn advice(profiler: &Profiler, checker: &str) -> String {
    let mut all = advise::advise(profiler.model(), &[checker.to_owned()], tfprof::Quirks::NONE).expect("advice");
    let advice = all.remove(0);
    [advice.reports, advice.notes].concat().join("\n")
}

#[test]
fn derived_lines_are_known_by_ids_with_a_sign_and_by_old_names() {
    let event = |name: &'static str| [(name, 0, 500, &[][..])];
    let gpu = Plane::new("/device:GPU:0")
        .line(7, "Stream #7(Compute)", &event("kernel"))
        .line(0xdead_beef, "any", &event("a"))
        .line(-559_038_736, "any", &event("b"))
        .line(1, "TensorFlow Ops", &event("dense/MatMul:MatMul"))
        .line(2, "TensorFlow Name Scope", &event("dense"))
        // Other large ids are streams.
        .line(0x1_dead_beef, "Stream #8", &event("kernel"));
    check_ops(&read(vec![gpu]), &[("Kernel", 1000, 0)]);
}

#[test]
fn kernels_of_old_profiles_are_named_by_their_annotation_and_copies_remain_copies() {
    let annotation = Text("dense/MatMul:MatMul#shape=(float[2,2])#");
    let gpu = Plane::new("/device:GPU:0").line(
        7,
        "Stream #7",
        &[
            ("sgemm", 0, 100, &[("annotation", annotation)]),
            ("MemcpyD2H", 200, 20, &[("annotation", annotation)]),
            ("CopyHostToDevice", 300, 30, &[]),
        ],
    );
    check_ops(&read(vec![gpu]), &[("MatMul", 100, 0), ("MemcpyDToH", 20, 0), ("MemcpyHToD", 30, 0)]);
}

#[test]
fn launch_calls_of_the_host_are_no_part_of_the_instruction() {
    let stats: Stats<'_> = &[("hlo_op", Text("dot.1")), ("hlo_module", Text("jit_f")), ("correlation_id", Int(5))];
    let gpu = Plane::new("/device:GPU:0").line(1, "Stream #1(Kernel)", &[("gemm", 100, 50, stats)]);
    let host = Plane::new("/host:CPU").line(2, "Host Threads/2", &[("hipModuleLaunchKernel", 0, 7, stats)]);
    let profiler = read(vec![gpu, host]);
    check_ops(&profiler, &[("dot", 50, 0), ("hipModuleLaunchKernel", 0, 7)]);
    assert_eq!(profiler.hosts()[0].framework, None);
    // On a CPU, the event is the instruction.
    let host = Plane::new("/host:CPU").line(2, "tf_XLAEigen/2", &[("dot.1", 0, 7, &stats[..2])]);
    check_ops(&read(vec![host]), &[("dot", 0, 7)]);
}

#[test]
fn busy_time_counts_overlaps_once() {
    let gpu = Plane::new("/device:GPU:0").line(1, "Stream #1", &[("a", 0, 60, &[]), ("b", 40, 60, &[])]).line(
        2,
        "Stream #2",
        &[("c", 80, 40, &[]), ("d", 190, 10, &[])],
    );
    let idle = Plane::new("/device:GPU:1");
    let profiler = read(vec![gpu, idle]);
    let host = &profiler.hosts()[0];
    assert_eq!(host.lines.iter().map(|line| line.busy).collect::<Vec<_>>(), [100_000, 50_000]);
    // 130 of 200 nanoseconds, over both streams.
    let said = advice(&profiler, "AcceleratorUtilizationChecker");
    assert_eq!(said, "device: /device:GPU:0 utilization: 0.65\nno op ran on /device:GPU:1");
}

#[test]
fn steps_of_two_devices_that_run_one_after_the_other_are_not_one_span() {
    let gpu = |name: &str, start: i64, length: i64| {
        let step: Stats<'_> = &[("group_id", Int(4))];
        Plane::new(name).line(1, "Stream #1", &[("a", start, length, &[])]).line(
            2,
            "Steps",
            &[("4", start, length, step)],
        )
    };
    let profiler = read(vec![gpu("/device:GPU:0", 0, 10), gpu("/device:GPU:1", 1_000_000, 12)]);
    let host = &profiler.hosts()[0];
    assert_eq!(host.rule.word(), "Steps line");
    let lengths: Vec<_> = host.steps.iter().map(|step| (step.number, step.length, step.end)).collect();
    assert_eq!(lengths, [(4, 12_000, 1_000_012_000)]);
}

#[test]
fn steps_of_a_tpu_are_the_runs_of_its_longest_program() {
    // Ops are timed by the clock of the device too, which is ahead of the other by 30.
    let device: Stats<'_> = &[("device_offset_ps", Int(70_000)), ("device_duration_ps", Int(5000))];
    let later: Stats<'_> = &[("device_offset_ps", Int(370_000)), ("device_duration_ps", Int(5000))];
    let tpu = |name: &str, delay: i64| {
        Plane::new(name)
            .line(
                2,
                "XLA Modules",
                &[
                    ("jit_init(7)", 0, 20, &[]),
                    ("jit_step(8)", 95 + delay, 100, &[]),
                    ("jit_step(9)", 390 + delay, 150, &[]),
                ],
            )
            .line(
                3,
                "XLA Ops",
                &[("%init", 10, 5, &[]), ("%dot", 100 + delay, 5, device), ("%dot", 400 + delay, 5, later)],
            )
    };
    let profiler = read(vec![tpu("/device:TPU:0", 0), tpu("/device:TPU:1", 5)]);
    let host = &profiler.hosts()[0];
    assert_eq!((host.rule.word(), host.marker.as_str()), ("module runs", "jit_step"));
    let steps: Vec<_> = host.steps.iter().map(|step| (step.number, step.start, step.length)).collect();
    assert_eq!(steps, [(0, 95_000, 105_000), (1, 390_000, 155_000)]);
    let sums: Vec<_> = host.step_ops.iter().map(|ops| (ops.runs, ops.self_time)).collect();
    assert_eq!((sums, host.outside.runs), (vec![(2, 10_000), (2, 10_000)], 2));
    assert!(advice(&profiler, "AcceleratorUtilizationChecker").starts_with("device: /device:TPU:0 "));
    assert_eq!(advice(&profiler, "FallbackChecker"), "");
}

#[test]
fn memory_peaks_name_their_allocator_and_include_the_stack() {
    let memory = |stats: &[(&'static str, Is<'static>)]| {
        let host = Plane::new("/host:CPU").line(1, "main", &[("MemoryAllocation", 0, 0, stats)]);
        let profiler = read(vec![Plane::new("/device:TPU:3"), host]);
        let peak = profiler.hosts()[0].memory_peak.clone().expect("a peak");
        (peak.allocator, peak.bytes)
    };
    let [peak, stack, heap] =
        [("peak_bytes_in_use", Int(50)), ("bytes_reserved", Int(30)), ("bytes_allocated", Int(40))];
    let named = ("allocator_name", Text("GPU_0_bfc"));
    assert_eq!(memory(&[peak, named]), ("GPU_0_bfc".to_owned(), 50));
    assert_eq!(memory(&[peak, heap, named]), ("GPU_0_bfc".to_owned(), 50));
    assert_eq!(memory(&[peak, stack, heap, ("index_on_host", Int(3))]), ("/device:TPU:3".to_owned(), 70));
    assert_eq!(memory(&[peak, ("index_on_host", Int(1))]), ("device 1".to_owned(), 50));
    assert_eq!(memory(&[peak]).0, "an allocator without a name");
}

#[test]
fn jax_is_known_by_its_programs_and_calls() {
    let ops = || Plane::new("/device:TPU:0").line(3, "XLA Ops", &[("%dot", 0, 5, &[])]);
    let framework = |planes: Vec<Plane>| read(planes).hosts()[0].framework.clone();
    assert_eq!(framework(vec![ops()]), None);
    assert_eq!(framework(vec![ops(), Plane::new("/host:metadata").named("jit_f(36)")]).as_deref(), Some("JAX"));
    let call = Plane::new("/host:CPU").line(1, "main", &[("PjitFunction(f)", 0, 9, &[])]);
    assert_eq!(framework(vec![ops(), call]).as_deref(), Some("JAX"));
}

#[test]
fn eager_executions_are_ops_if_nothing_else_is() {
    let eager = [
        ("EagerLocalExecute: MatMul", 0, 10, &[][..]),
        ("EagerLocalExecute: __inference_f_1", 20, 10, &[]),
        ("EagerLocalExecute: Relu", 40, 5, &[]),
    ];
    let host = |name: &str| Plane::new("/host:CPU").line(1, "python", &eager).line(2, "tf", &[(name, 0, 3, &[])]);
    check_ops(&read(vec![host("Iterator::Root")]), &[("MatMul", 0, 10), ("Relu", 0, 5), ("Dataset", 0, 3)]);
    check_ops(&read(vec![host("dense/MatMul:MatMul")]), &[("MatMul", 0, 3)]);
}

#[test]
fn calls_of_the_driver_are_no_ops_of_the_host() {
    let host = Plane::new("/host:CPU").line(
        1,
        "main",
        &[("a/Send:_Send", 0, 10, &[]), ("MemcpyD2H", 2, 4, &[("correlation_id", Int(1))])],
    );
    check_ops(&read(vec![host]), &[("_Send", 0, 10)]);
}

#[test]
fn a_conversion_to_utf8_is_recognized() {
    let event: (&str, i64, i64, Stats<'_>) = ("kernel", 1_000_000, 900_000, &[("correlation_id", Int(200))]);
    let whole = space(vec![Plane::new("/device:GPU:0").line(7, "Stream #7", &vec![event; 60])]);
    let mangled = String::from_utf8_lossy(&whole).into_owned().into_bytes();
    let profiler = load(mangled).expect("an answer");
    let warning = profiler.warnings().iter().find(|warning| warning.code == "mangled").expect("a warning");
    assert!(warning.damage && warning.message.contains("UTF-8"), "{}", warning.message);
    // The lengths of large planes grow beyond what a number may have.
    let mut large = vec![0x0a];
    large.extend_from_slice("\u{fffd}".repeat(4).as_bytes());
    assert!(xspace::open("x".as_ref(), Source::memory("x", &large).expect("bytes")).is_ok());
    // A cut file is not converted.
    let cut = load(whole[..whole.len() - 40].to_vec()).expect("an answer");
    assert!(cut.warnings().iter().any(|warning| warning.damage) && cut.warnings().iter().all(|w| w.code != "mangled"));
}

#[test]
fn fallback_and_launch_are_told_apart() {
    let op = "dense/Cast:Cast";
    let millisecond = 1_000_000;
    let gpu = |name| {
        let stats: Stats<'_> = &[("tf_op", Text("dense/Cast:Cast"))];
        Plane::new("/device:GPU:0").line(1, "Stream #1", &[(name, 0, 2 * millisecond, stats)])
    };
    // The op on the host is the launch of the kernel.
    let host = Plane::new("/host:CPU").line(2, "tf_gpu", &[(op, 0, 3 * millisecond, &[])]);
    let profiler = read(vec![gpu("cast"), host]);
    assert_eq!(advice(&profiler, "FallbackChecker"), "");
    assert!(advice(&profiler, "TinyOpChecker").contains("launching the GPU's ops takes 3.00ms"));
    // Another op of the type ran on the host only.
    let host = Plane::new("/host:CPU").line(2, "tf", &[("other/Cast:Cast", 0, 3 * millisecond, &[])]);
    let said = advice(&read(vec![gpu("cast"), host]), "FallbackChecker");
    assert!(said.contains("ran on the CPU for 3.00ms") && said.contains("as other/Cast"), "{said}");
}
