//! Profiles that are damaged, hostile or odd: each gives an answer or a sentence, in time that grows with its size.

use flate2::read::GzDecoder;
use proptest::prelude::*;
use std::io::Read;
use tfprof::internal::format::xspace::ProfileFile;
use tfprof::internal::trace::profile::ProfileTrace;
use tfprof::{Error, Keep, Metric, Options, Profiler, ViewKind};
use tfprof_proto::write as pb;

fn corpus(path: &str) -> Vec<u8> {
    let path = format!("{}/../../corpus/xspace/{path}", env!("CARGO_MANIFEST_DIR"));
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(&path).expect(&path)).read_to_end(&mut bytes).expect("gzip");
    bytes
}

fn load(bytes: Vec<u8>) -> Result<Profiler, Error> {
    let mut profiler = Profiler::new(Keep { records: false, ..Keep::EVERYTHING });
    profiler.add_profiles(&[ProfileFile::memory("host.xplane.pb", bytes)], None, &|_, _| {})?;
    Ok(profiler)
}

fn ask(profiler: &Profiler, kind: ViewKind, words: &[(&str, &str)]) -> Result<(i64, usize), Error> {
    let mut options = Options::default();
    words.iter().try_for_each(|(name, value)| options.set(name, value))?;
    let view = profiler.view(kind, &options)?;
    let root = view.exact_total(Metric::Micros, &view.rows()[0]).n;
    Ok((root, view.rows().len()))
}

/// Whatever the bytes are: an answer, or an error of one line.
fn try_all(bytes: Vec<u8>) {
    let files = [ProfileFile::memory("x", bytes.clone())];
    if let Ok(trace) = ProfileTrace::new(&files, true) {
        let mut out = Vec::new();
        trace.write(&mut out).expect("memory");
        assert!(out.ends_with(b"]}\n"));
    }
    match load(bytes) {
        Err(error) => assert!(!error.to_string().contains('\n')),
        Ok(profiler) => {
            for kind in ViewKind::ALL {
                for events in ["ops", "all"] {
                    let _ = ask(&profiler, kind, &[("step", "all"), ("events", events)]);
                }
            }
            let _ = ask(&profiler, ViewKind::Code, &[("stacks", "python")]);
        }
    }
}

const SEEDS: [&str; 2] =
    ["tf_custom_loop/host.xplane.pb.gz", "jax_two_hosts/plugins/profile/2026_11_15_22_02_11/worker-0.xplane.pb.gz"];

/// Every place is tried if `TFPROF_EVERY` is set; else a sample, which is another one for each file.
fn stride() -> usize {
    if std::env::var_os("TFPROF_EVERY").is_some() { 1 } else { 331 }
}

#[test]
fn every_cut_gives_an_answer_or_a_sentence() {
    for (seed, file) in SEEDS.iter().enumerate() {
        let whole = corpus(file);
        for end in (seed..whole.len()).step_by(stride()) {
            try_all(whole[..end].to_vec());
        }
    }
}

#[test]
fn every_flip_gives_an_answer_or_a_sentence() {
    for (seed, file) in SEEDS.iter().enumerate() {
        let whole = corpus(file);
        for at in (seed..whole.len()).step_by(stride()) {
            let mut bytes = whole.clone();
            bytes[at] ^= [0xff, 0x01, 0x80, 0x10][at % 4];
            try_all(bytes);
        }
    }
}

#[test]
fn what_stands_before_a_cut_counts() {
    let whole = corpus("tf_custom_loop/host.xplane.pb.gz");
    let part = load(whole[..whole.len() * 9 / 10].to_vec()).expect("most of a profile");
    assert!(part.warnings().iter().any(|warning| warning.damage));
    let (time, rows) = ask(&part, ViewKind::Op, &[("events", "all")]).expect("an answer");
    assert!(time > 0 && rows > 1);
}

// ---- hostile shapes

#[derive(Default)]
struct Plane {
    lines: Vec<u8>,
    names: Vec<u8>,
}

impl Plane {
    fn line(&mut self, id: i64, timestamp: i64, events: &[u8]) {
        pb::message(&mut self.lines, 3, |line| {
            pb::int(line, 1, id);
            pb::bytes(line, 2, b"thread");
            pb::int(line, 3, timestamp);
            line.extend_from_slice(events);
        });
    }

    fn name(&mut self, id: i64, name: &str) {
        pb::message(&mut self.names, 4, |entry| {
            pb::int(entry, 1, id);
            pb::message(entry, 2, |meta| {
                pb::int(meta, 1, id);
                pb::bytes(meta, 2, name.as_bytes());
            });
        });
    }

    fn space(&self) -> Vec<u8> {
        let mut space = Vec::new();
        pb::message(&mut space, 1, |plane| {
            pb::bytes(plane, 2, b"/host:CPU");
            plane.extend_from_slice(&self.lines);
            plane.extend_from_slice(&self.names);
        });
        space
    }
}

fn event(out: &mut Vec<u8>, id: i64, offset: i64, duration: i64) {
    pb::message(out, 4, |event| {
        pb::int(event, 1, id);
        pb::int(event, 2, offset);
        pb::int(event, 3, duration);
    });
}

#[test]
fn a_million_nested_events_need_no_recursion() {
    const N: i64 = 1_000_000;
    for is_sorted in [true, false] {
        let mut plane = Plane::default();
        plane.name(1, "a/b:Op");
        let mut events = Vec::new();
        for i in 0..N {
            let depth = if is_sorted { i } else { N - 1 - i };
            event(&mut events, 1, depth, 2 * (N - depth));
        }
        plane.line(1, 0, &events);
        let profiler = load(plane.space()).expect("a profile");
        // Each has two picoseconds of its own but for the last, which has all of its two.
        assert_eq!(ask(&profiler, ViewKind::Op, &[("step", "all")]).expect("an answer"), (2 * N, 2));
    }
}

#[test]
fn a_million_lines() {
    let mut plane = Plane::default();
    plane.name(1, "a:Op");
    let mut events = Vec::new();
    event(&mut events, 1, 5, 7);
    for line in 0..1_000_000 {
        plane.line(line, 1000 + line, &events);
    }
    let profiler = load(plane.space()).expect("a profile");
    assert_eq!(ask(&profiler, ViewKind::Op, &[("step", "all")]).expect("an answer").0, 7_000_000);
}

#[test]
fn ids_may_be_anything_and_clocks_may_count_from_1970() {
    let mut plane = Plane::default();
    let ids = [-1, i64::MIN, i64::MAX, 0, 1 << 40];
    let mut events = Vec::new();
    for (i, id) in ids.into_iter().enumerate() {
        plane.name(id, &format!("op{i}:Op"));
        event(&mut events, id, i as i64 * 100, 10);
    }
    for (line, timestamp) in [(-1, 1_794_780_126_684_579_282), (i64::MIN, 1_794_780_126_684_580_282)] {
        plane.line(line, timestamp, &events);
    }
    let profiler = load(plane.space()).expect("a profile");
    assert_eq!(ask(&profiler, ViewKind::Op, &[("step", "all")]).expect("an answer").0, 100);
    assert_eq!(profiler.hosts()[0].lines[1].first, Some(1_000_000));
    assert!(!profiler.warnings().iter().any(|warning| warning.damage));
}

#[test]
fn numbers_at_their_limits_do_not_overflow() {
    let limits = [i64::MIN, -1, 0, 1, i64::MAX];
    let mut plane = Plane::default();
    plane.name(1, "a:Op");
    for timestamp in limits {
        let mut events = Vec::new();
        for offset in limits {
            limits.iter().for_each(|duration| event(&mut events, 1, offset, *duration));
        }
        plane.line(1, timestamp, &events);
    }
    try_all(plane.space());
}

#[test]
fn what_the_format_lacks_is_unknown_and_not_zero() {
    let profiler = load(corpus("jax_mlp/host.xplane.pb.gz")).expect("a profile");
    for (name, value) in [("order_by", "bytes"), ("min_params", "1"), ("order_by", "peak_bytes")] {
        let error = ask(&profiler, ViewKind::Op, &[(name, value)]).expect_err("a refusal").to_string();
        assert!(error.contains("this profile does not have") && error.contains("micros"), "{error}");
    }
    let mut options = Options::default();
    options.set("select", "bytes,params,micros").expect("words");
    let view = profiler.view(ViewKind::Op, &options).expect("a view");
    assert_eq!(view.warnings.iter().filter(|warning| warning.code == "unknown_metric").count(), 1);
    let mut text = Vec::new();
    tfprof::internal::render::text::write_report(&view, &mut text).expect("memory");
    assert!(String::from_utf8(text).expect("text").contains(" --"));
    let mut page = Vec::new();
    tfprof::internal::render::html::write(&view, tfprof::Container::PAGE, &mut page).expect("memory");
    assert!(String::from_utf8(page).expect("text").contains("the files do not say"));
    // FLOPs are there where the profiler stored them.
    let tpu = load(corpus("tpu_like/host.xplane.pb.gz")).expect("a profile");
    assert!(ask(&tpu, ViewKind::Op, &[("order_by", "float_ops"), ("select", "float_ops")]).is_ok());
}

#[test]
fn steps_can_be_marked_by_a_pattern() {
    let bytes = corpus("jax_no_markers/host.xplane.pb.gz");
    let steps = |marker: &str| {
        let mut profiler = Profiler::new(Keep::EVERYTHING);
        let files = [ProfileFile::memory("x", bytes.clone())];
        profiler.add_profiles(&files, regex::Regex::new(marker).ok(), &|_, _| {}).expect("a profile");
        (profiler.hosts()[0].rule.word(), profiler.hosts()[0].steps.len())
    };
    assert_eq!(steps("^PjitFunction"), ("step_marker", 24));
    assert_eq!(steps("no such event"), ("module runs", 12));
}

// ---- whatever is written, and however

/// An event of a random line: its metadata, start, length and stats.
#[derive(Clone, Debug)]
struct Random {
    id: i64,
    start: i64,
    length: i64,
    stats: Vec<(i64, u64, u8)>,
}

fn random_events() -> impl Strategy<Value = Vec<Vec<Random>>> {
    // Few events overlap in part if there are few.

    // Names of stats are 1 to 9, of which one leads nowhere; values are numbers, strings of the plane and texts.
    let stat = (1_i64..10, prop_oneof![0_u64..12, any::<u64>()], 0_u8..4);
    let event = (1_i64..8, 0_i64..400, 0_i64..200, proptest::collection::vec(stat, 0..6))
        .prop_map(|(id, start, length, stats)| Random { id, start, length, stats });
    let line = prop_oneof![proptest::collection::vec(event.clone(), 0..4), proptest::collection::vec(event, 0..30)];
    proptest::collection::vec(line, 1..4)
}

/// A profile of random lines; `oddly` has the same in a form that no profiler writes.
fn written(lines: &[Vec<Random>], oddly: bool) -> Vec<u8> {
    let mut plane = Plane::default();
    let names = ["a/b:Op", "a/c:Op", "run", "ExecutorState::Process", "FunctionRun", "train"];
    names.iter().zip(1..).for_each(|(name, id)| plane.name(id, name));
    let stats = ["hlo_op", "hlo_module", "program_id", "run_id", "step_num", "id", "_p", "correlation_id"];
    for (name, id) in stats.iter().zip(1..) {
        pb::message(&mut plane.names, 5, |entry| {
            pb::int(entry, 1, id);
            pb::message(entry, 2, |meta| pb::bytes(meta, 2, name.as_bytes()));
        });
    }
    for (line, events) in lines.iter().enumerate() {
        let mut out = Vec::new();
        for Random { id, start, length, stats } in events {
            pb::message(&mut out, 4, |event| {
                if oddly {
                    pb::int(event, 15, 1);
                    pb::int(event, 3, *length);
                }
                pb::int(event, 1, *id);
                pb::int(event, 2, *start);
                if !oddly {
                    pb::int(event, 3, *length);
                }
                for (name, value, form) in stats {
                    pb::message(event, 4, |stat| {
                        pb::int(stat, 1, *name);
                        match form {
                            0 => pb::int(stat, 4, *value as i64),
                            1 => pb::int(stat, 3, *value as i64),
                            2 => pb::int(stat, 7, *value as i64),
                            _ => pb::bytes(stat, 5, value.to_string().as_bytes()),
                        }
                    });
                }
            });
        }
        if oddly {
            // The header fields of a line come after its events.
            pb::message(&mut plane.lines, 3, |text| {
                text.extend_from_slice(&out);
                pb::bytes(text, 2, b"thread");
                pb::int(text, 1, line as i64);
                pb::int(text, 3, 5 + line as i64);
            });
        } else {
            plane.line(line as i64, 5 + line as i64, &out);
        }
    }
    plane.space()
}

/// Everything that an answer says of the ops: all rows in all steps.
fn answers(bytes: &[u8], keep: Keep) -> Result<String, String> {
    let mut profiler = Profiler::new(keep);
    let files = [ProfileFile::memory("host.xplane.pb", bytes.to_vec())];
    profiler.add_profiles(&files, None, &|_, _| {}).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    for (kind, step) in
        [(ViewKind::Op, "all"), (ViewKind::Scope, "all"), (ViewKind::Scope, "-1"), (ViewKind::Scope, "0")]
    {
        let mut options = Options::default();
        let words = [("step", step), ("select", "micros,occurrence,device"), ("max_depth", "100")];
        words.iter().try_for_each(|(name, value)| options.set(name, value)).expect("words");
        match profiler.view(kind, &options) {
            Ok(view) => tfprof::internal::render::json::write(&view, &[], &mut text).expect("memory"),
            Err(error) => text.extend_from_slice(error.to_string().as_bytes()),
        }
    }
    let host = &profiler.hosts()[0];
    let steps = format!("{:?} {:?} {:?} {:?}", host.rule, host.steps, host.step_ops, host.assigned);
    Ok(String::from_utf8(text).expect("text") + &steps)
}

#[test]
fn a_stat_counts_after_one_whose_value_dangles() {
    let event = |stats| Random { id: 1, start: 0, length: 0, stats };
    // A correlation id that refers to no string, then one that is a number.
    let lines = [vec![event(vec![]), event(vec![(8, 9, 2)]), event(vec![(8, 1, 0)])]];
    let everything = Keep { records: false, ..Keep::EVERYTHING };
    assert_eq!(answers(&written(&lines, false), everything), answers(&written(&lines, true), everything));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_counts_is_what_is_written_and_not_how(lines in random_events()) {
        let everything = Keep { records: false, ..Keep::EVERYTHING };
        let usual = answers(&written(&lines, false), everything);
        prop_assert_eq!(&usual, &answers(&written(&lines, true), everything));
        // Whoever asks for ops alone is told the same of them.
        prop_assert_eq!(&usual, &answers(&written(&lines, false), Keep { busy: false, runtime: false, calls: false, ..everything }));
    }

    #[test]
    fn own_times_add_up_to_the_root_and_to_no_more_than_the_line(lines in random_events()) {
        let Ok(profiler) = load(written(&lines, false)) else { return Ok(()) };
        let mut options = Options::default();
        let words = [("step", "all"), ("max_depth", "1000")];
        words.iter().try_for_each(|(name, value)| options.set(name, value)).expect("words");
        let view = profiler.view(ViewKind::Op, &options).expect("a view");
        let rows = view.rows();
        let own: Vec<i64> = rows.iter().skip(1).map(|row| view.exact_self(Metric::Micros, row).n).collect();
        prop_assert!(own.iter().all(|own| *own >= 0));
        prop_assert_eq!(own.iter().sum::<i64>(), view.exact_total(Metric::Micros, &rows[0]).n);
        for (line, events) in profiler.hosts()[0].lines.iter().zip(&lines) {
            // Events that overlap in part are side by side, each with its own time.
            let overlap = |a: &Random, b: &Random| {
                let (a_end, b_end) = (a.start + a.length, b.start + b.length);
                a.start < b.start && b.start < a_end && a_end < b_end
            };
            if !events.iter().any(|a| events.iter().any(|b| overlap(a, b))) {
                prop_assert!(line.op_self_time <= line.busy, "{:?}", line);
                prop_assert!(line.busy <= line.last.unwrap_or(0) - line.first.unwrap_or(0), "{:?}", line);
            }
        }
    }
}
