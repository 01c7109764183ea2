//! Profiles that are damaged, hostile or odd: each gives an answer or a sentence, in time that grows with its size.

use flate2::read::GzDecoder;
use std::io::Read;
use tfprof::error::Error;
use tfprof::format::xspace::ProfileFile;
use tfprof::metric::Metric;
use tfprof::model::builder::Keep;
use tfprof::options::{Options, ViewKind};
use tfprof::profiler::Profiler;
use tfprof::trace::profile::ProfileTrace;
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
    for (name, value) in [("order_by", "bytes"), ("min_params", "1"), ("order_by", "float_ops")] {
        let error = ask(&profiler, ViewKind::Op, &[(name, value)]).expect_err("a refusal").to_string();
        assert!(error.contains("this profile does not have") && error.contains("micros"), "{error}");
    }
    let mut options = Options::default();
    options.set("select", "bytes,params,micros").expect("words");
    let view = profiler.view(ViewKind::Op, &options).expect("a view");
    assert_eq!(view.warnings.iter().filter(|warning| warning.code == "unknown_metric").count(), 1);
    let mut text = Vec::new();
    tfprof::render::text::write_report(&view, &mut text).expect("memory");
    assert!(String::from_utf8(text).expect("text").contains(" --"));
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
