//! Traces with costs, categories, programs, kernels, memory and busy devices, made here and small enough to count by hand.

use serde_json::Value;
use tfprof::internal::format::xspace::ProfileFile;
use tfprof::{Keep, Options, Profiler, Question, ViewKind};
use tfprof_proto::write as pb;

/// A plane under construction. Names and stats get their ids as they are used, from 1.
#[derive(Default)]
struct Plane {
    name: String,
    lines: Vec<u8>,
    events: Vec<String>,
    stats: Vec<String>,
    metas: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Stat<'a> {
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

use Stat::{Bytes, Int, Text};

type Stats<'a> = &'a [(&'a str, Stat<'a>)];

/// Name, start, duration and stats of an event.
type Event<'a> = (&'a str, i64, i64, Stats<'a>);

fn id_of(names: &mut Vec<String>, name: &str) -> i64 {
    let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    at as i64 + 1
}

impl Plane {
    fn new(name: &str) -> Plane {
        Plane { name: name.to_owned(), ..Plane::default() }
    }

    fn put(&mut self, out: &mut Vec<u8>, field: u32, stats: Stats<'_>) {
        for (name, value) in stats {
            let id = id_of(&mut self.stats, name);
            pb::message(out, field, |stat| {
                pb::int(stat, 1, id);
                match value {
                    Int(n) => {
                        pb::key(stat, 4, 0);
                        pb::varint(stat, *n as u64);
                    }
                    Text(text) => pb::element(stat, 5, text.as_bytes()),
                    Bytes(bytes) => pb::element(stat, 6, bytes),
                }
            });
        }
    }

    fn line(mut self, id: i64, name: &str, events: &[Event<'_>]) -> Plane {
        let mut line = Vec::new();
        pb::int(&mut line, 1, id);
        pb::bytes(&mut line, 2, name.as_bytes());
        for (name, start, duration, stats) in events {
            let mut event = Vec::new();
            pb::int(&mut event, 1, id_of(&mut self.events, name));
            pb::int(&mut event, 2, *start);
            pb::int(&mut event, 3, *duration);
            self.put(&mut event, 4, stats);
            pb::element(&mut line, 4, &event);
        }
        pb::element(&mut self.lines, 3, &line);
        self
    }

    /// Metadata of its own: a program.
    fn meta(mut self, name: &str, stats: Stats<'_>) -> Plane {
        let id = id_of(&mut self.events, name);
        let mut meta = Vec::new();
        pb::bytes(&mut meta, 2, name.as_bytes());
        self.put(&mut meta, 5, stats);
        pb::message(&mut self.metas, 4, |entry| {
            pb::int(entry, 1, id);
            pb::element(entry, 2, &meta);
        });
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut plane = Vec::new();
        pb::bytes(&mut plane, 2, self.name.as_bytes());
        plane.extend_from_slice(&self.lines);
        let name = |field: u32, id: usize, name: &str, plane: &mut Vec<u8>| {
            pb::message(plane, field, |entry| {
                pb::int(entry, 1, id as i64 + 1);
                pb::message(entry, 2, |meta| pb::bytes(meta, 2, name.as_bytes()));
            });
        };
        self.events.iter().enumerate().for_each(|(id, text)| name(4, id, text, &mut plane));
        // The last entry of a key counts.
        plane.extend_from_slice(&self.metas);
        self.stats.iter().enumerate().for_each(|(id, text)| name(5, id, text, &mut plane));
        plane
    }
}

fn space(planes: &[Plane]) -> Vec<u8> {
    let mut space = Vec::new();
    planes.iter().for_each(|plane| pb::element(&mut space, 1, &plane.bytes()));
    space
}

/// A program with one instruction `gemm`, a product of two square matrices of `size` bfloat16.
fn program(size: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let shape = |out: &mut Vec<u8>| {
        pb::message(out, 3, |shape| {
            pb::int(shape, 2, 16);
            pb::packed(shape, 3, &[size, size]);
        });
    };
    pb::message(&mut bytes, 1, |module| {
        pb::bytes(module, 1, b"jit_f");
        pb::message(module, 3, |computation| {
            for (id, name, opcode, operands) in
                [(1, "a", "parameter", &[][..]), (2, "b", "parameter", &[]), (3, "gemm", "dot", &[1, 2])]
            {
                pb::message(computation, 2, |instruction| {
                    pb::bytes(instruction, 1, name.as_bytes());
                    pb::bytes(instruction, 2, opcode.as_bytes());
                    shape(instruction);
                    pb::message(instruction, 7, |metadata| pb::bytes(metadata, 2, b"jit(f)/dot_general"));
                    if opcode == "dot" {
                        pb::message(instruction, 30, |dims| pb::packed(dims, 1, &[1]));
                    }
                    pb::int(instruction, 35, id);
                    pb::packed(instruction, 36, operands);
                });
            }
            pb::int(computation, 5, 9);
            pb::int(computation, 6, 3);
        });
    });
    bytes
}

const MICRO: i64 = 1_000_000;

/// Two programs that share a name, on a GPU with a copy and a kernel of its own.
fn gpu() -> Vec<u8> {
    let [small, large] = [8, 16].map(program);
    let programs = Plane::new("/host:metadata")
        .meta("jit_f(1)", &[("program_id", Int(1)), ("Hlo Proto", Bytes(&small))])
        .meta("jit_f(2)", &[("program_id", Int(2)), ("Hlo Proto", Bytes(&large))]);
    let details = "regs:32 static_shared:16 dynamic_shared:0 grid:4,1,1 block:256,1,1 occ_pct:50";
    let run = |program: i64| {
        [
            ("hlo_op", Text("gemm")),
            ("hlo_module", Text("jit_f")),
            ("program_id", Int(program)),
            ("kernel_details", Text(details)),
        ]
    };
    let (one, two) = (run(1), run(2));
    let device = Plane::new("/device:GPU:0")
        .line(
            7,
            "Stream #7(Compute)",
            &[
                ("small_kernel", 0, 10 * MICRO, &one),
                ("small_kernel", 20 * MICRO, 10 * MICRO, &one),
                ("large_kernel", 40 * MICRO, 20 * MICRO, &two),
                ("lonely_kernel", 70 * MICRO, 5 * MICRO, &[]),
            ],
        )
        .line(8, "Stream #8(MemcpyH2D)", &[("MemcpyH2D", 55 * MICRO, 10 * MICRO, &[])]);
    let memory = |in_use: i64, free: i64| {
        [
            ("allocator_name", Text("GPU_0_bfc")),
            ("bytes_reserved", Int(100)),
            ("bytes_allocated", Int(in_use)),
            ("bytes_available", Int(free)),
            ("fragmentation", Text("0.25")),
            ("peak_bytes_in_use", Int(5000)),
        ]
    };
    let (first, second) = (memory(1000, 900), memory(1500, 400));
    let host = Plane::new("/host:CPU").line(
        1,
        "python",
        &[
            ("train", 0, 50 * MICRO, &[("step_num", Int(0))]),
            ("MemoryAllocation", MICRO, 0, &first),
            ("MemoryAllocation", 2 * MICRO, 0, &second),
            ("train", 50 * MICRO, 50 * MICRO, &[("step_num", Int(1))]),
        ],
    );
    space(&[programs, device, host])
}

fn load(bytes: Vec<u8>) -> Profiler {
    let mut profiler = Profiler::new(Keep { records: false, ..Keep::EVERYTHING });
    profiler.add_profiles(&[ProfileFile::memory("host.xplane.pb", bytes)], None, &|_, _| {}).expect("a profile");
    profiler
}

fn rows(profiler: &Profiler, kind: ViewKind, words: &[(&str, &str)]) -> Vec<Value> {
    let mut options = Options::default();
    let all = [("step", "all"), ("output", "json:outfile=x"), ("order_by", "name")];
    all.iter().chain(words).for_each(|(name, value)| options.set(name, value).expect("an option"));
    let answer = profiler.ask(&Question::new(kind, &options)).expect("an answer");
    let mut bytes = Vec::new();
    tfprof::internal::render::json::write(answer.view(), &[], &mut bytes).expect("memory");
    let json: Value = serde_json::from_slice(&bytes).expect("JSON");
    json["rows"].as_array().expect("rows").clone()
}

fn row<'r>(rows: &'r [Value], name: &str) -> &'r Value {
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no row {name}"))
}

const COSTS: (&str, &str) = (
    "select",
    "device_micros,float_ops,io_bytes,flops_per_second,bytes_per_second,occurrence,category,program,kernels",
);

#[test]
fn each_program_brings_its_own_cost_to_an_op() {
    let profiler = load(gpu());
    let rows = rows(&profiler, ViewKind::Scope, &[COSTS, ("ops_only", "true")]);
    let gemm = row(&rows, "jit(f)/dot_general/gemm");
    let (small, large) = (2 * 8 * 8 * 8, 2 * 16 * 16 * 16);
    assert_eq!(gemm["self"]["runs"], 3);
    assert_eq!(gemm["self"]["float_ops"], 2 * small + large);
    assert_eq!(gemm["self"]["io_bytes"], 2 * 3 * (2 * 8 * 8) + 3 * 2 * 16 * 16);
    assert_eq!(gemm["self"]["device_micros"], 40.0);
    // Sums are divided, never ratios added.
    assert_eq!(gemm["self"]["flops_per_second"], (2 * small + large) * 25_000);
    assert_eq!(gemm["program"], serde_json::json!(["jit_f(1)", "jit_f(2)"]));
    assert_eq!(gemm["category"], serde_json::json!(["dot"]));
    assert_eq!(
        gemm["kernels"],
        serde_json::json!([
            "large_kernel registers:32 shared:16 grid:4,1,1 block:256,1,1 occupancy:50 runs:1 micros:20",
            "small_kernel registers:32 shared:16 grid:4,1,1 block:256,1,1 occupancy:50 runs:2 micros:20",
        ])
    );
    // A kernel without a program has no cost that anybody knows.
    let lonely = row(&rows, "lonely_kernel");
    for key in ["float_ops", "io_bytes", "flops_per_second", "bytes_per_second"] {
        assert!(lonely["self"][key].is_null(), "{key}");
    }
    assert!(lonely["category"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn programs_are_a_level_and_categories_are_rows() {
    let profiler = load(gpu());
    let by_scope = rows(&profiler, ViewKind::Scope, &[COSTS, ("group_by", "program")]);
    let flops = |name: &str| row(&by_scope, name)["total"]["float_ops"].clone();
    assert_eq!((flops("jit_f(1)"), flops("jit_f(2)")), (2048.into(), 8192.into()));
    assert_eq!(flops("jit_f(2)/jit(f)/dot_general/gemm"), 8192);
    assert!(flops("(no program)").is_null());
    let by_op = rows(&profiler, ViewKind::Op, &[COSTS, ("group_by", "program")]);
    assert_eq!(row(&by_op, "jit_f(1)")["self"]["device_micros"], 20.0);
    let by_category = rows(&profiler, ViewKind::Op, &[COSTS, ("group_by", "category")]);
    assert_eq!(row(&by_category, "dot")["self"]["runs"], 3);
    let mut options = Options::default();
    options.set("group_by", "category").expect("an option");
    let error = profiler.view(ViewKind::Scope, &options).expect_err("refused").to_string();
    assert_eq!(error, "-group_by: only the op view groups by category");
}

#[test]
fn steps_are_divided_and_averages_divide_costs() {
    let profiler = load(gpu());
    let host = &profiler.hosts()[0];
    let parts: Vec<Vec<_>> = host.step_parts.iter().map(|parts| parts.each().collect()).collect();
    // The second step begins within the large kernel; the copy is hidden behind it in part.
    assert_eq!(parts[0], [("compute", 30 * MICRO), ("idle", 20 * MICRO)]);
    assert_eq!(parts[1], [("compute", 15 * MICRO), ("input", 5 * MICRO), ("idle", 30 * MICRO)]);
    let [device] = &host.devices[..] else { panic!("one device") };
    assert_eq!((device.span, device.on_duty, device.busy), (75 * MICRO, 45 * MICRO, 50 * MICRO));
    assert_eq!(device.duty_cycle(), Some(60.0));
    let average = rows(&profiler, ViewKind::Scope, &[COSTS, ("ops_only", "true"), ("step", "0")]);
    assert_eq!(row(&average, "jit(f)/dot_general/gemm")["self"]["float_ops"], 2 * 2 * 8 * 8 * 8 + 2 * 16 * 16 * 16);
}

#[test]
fn allocators_have_a_peak_within_the_profile() {
    let profiler = load(gpu());
    let [allocator] = &profiler.hosts()[0].allocators[..] else { panic!("one allocator") };
    assert_eq!((allocator.name.as_str(), allocator.samples, allocator.lifetime_peak), ("GPU_0_bfc", 2, 5000));
    assert_eq!((allocator.peak.in_use(), allocator.peak.capacity()), (1600, Some(2000)));
    assert_eq!((allocator.peak.time, allocator.peak.fragmentation), (2 * MICRO, Some(0.25)));
    assert_eq!(allocator.over_time.each().collect::<Vec<_>>(), [(MICRO, 1100), (2 * MICRO, 1600)]);
}

#[test]
fn what_the_file_states_comes_before_what_its_program_gives() {
    let stated = [
        ("hlo_category", Text("loop fusion")),
        ("program_id", Int(5)),
        ("flops", Int(1000)),
        ("bytes_accessed", Int(4000)),
        ("tf_op", Text("jit(f)/add:")),
    ];
    let free = [("hlo_category", Text("copy-start")), ("flops", Int(0)), ("bytes_accessed", Int(0))];
    let device = Plane::new("/device:TPU:0").line(
        3,
        "XLA Ops",
        &[
            ("fusion.1", 0, 4 * MICRO, &stated),
            ("fusion.1", 6 * MICRO, 4 * MICRO, &stated),
            ("copy-start", 11 * MICRO, MICRO, &free),
        ],
    );
    let profiler = load(space(&[device]));
    let rows = rows(&profiler, ViewKind::Scope, &[COSTS, ("ops_only", "true")]);
    let fusion = row(&rows, "jit(f)/add/fusion.1");
    assert_eq!((fusion["self"]["float_ops"].clone(), fusion["self"]["io_bytes"].clone()), (2000.into(), 8000.into()));
    assert_eq!(
        (fusion["self"]["flops_per_second"].clone(), fusion["self"]["bytes_per_second"].clone()),
        (250_000_000.into(), 1_000_000_000.into())
    );
    assert_eq!((fusion["category"][0].clone(), fusion["program"][0].clone()), ("loop fusion".into(), "(5)".into()));
    // Nothing is known to have been computed, which is not unknown.
    assert_eq!(row(&rows, "copy-start")["self"]["float_ops"], 0);
}
