//! Memory over time, and its holders at the peak.

use crate::params::Params;
use crate::reply::{Problem, Reply};
use crate::site::Site;
use crate::tree::Direction;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tfprof::internal::trace::{self, TensorLife, Trace, TraceOptions};
use tfprof::{Role, Source};

/// The maximum number of tensors listed.
const HOLDERS: usize = 500;
/// The number of bands in the picture besides gradients and others.
const PARTS: usize = 6;
const WIDTH: usize = 1200;

/// The tensors of each step by allocator.
#[derive(Debug, Default)]
pub struct Steps {
    list: Vec<StepMemory>,
}

#[derive(Debug)]
struct StepMemory {
    step: i64,
    allocator: String,
    lives: Vec<TensorLife>,
    /// When the first op of the step began.
    origin: i128,
    peak: i128,
}

impl Steps {
    /// Reads the runs once more, for the lives of their tensors.
    fn of(site: &Site) -> Result<Steps, Problem> {
        let limits = site.inputs.limits;
        let step = |(step, path): (i64, std::path::PathBuf)| trace::Step {
            step,
            open: Box::new(move || Source::open_with(&path, limits, &|_| {})),
        };
        let runs = site.inputs.runs().filter(|(_, run)| run.path.is_file());
        let runs: Vec<_> = runs.map(|(step, run)| (step, run.path.clone())).map(step).collect();
        let trace = Trace::new(runs, TraceOptions::default())?;
        let lives =
            trace.lives().map_err(|error| Problem::no_data(format!("cannot read the runs again: {error}"), None))?;
        let mut list = Vec::new();
        for (step, lives) in lives {
            let origin = lives.iter().map(|life| life.made).min().unwrap_or(0);
            let mut by_allocator: BTreeMap<String, Vec<TensorLife>> = BTreeMap::new();
            for life in lives.into_iter().filter(|life| life.bytes > 0) {
                by_allocator.entry(life.allocator.clone()).or_default().push(life);
            }
            for (allocator, lives) in by_allocator {
                let mut memory = StepMemory { step, allocator, lives, origin, peak: 0 };
                memory.peak = memory
                    .changes()
                    .scan(0, |held, change| {
                        *held += change.bytes;
                        Some(*held)
                    })
                    .max()
                    .unwrap_or(0);
                list.push(memory);
            }
        }
        Ok(Steps { list })
    }
}

/// An allocation; negative bytes are a deallocation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    time: i128,
    bytes: i128,
    life: usize,
}

impl StepMemory {
    /// Sorted by time; at equal times, memory is freed before it is allocated.
    fn changes(&self) -> impl Iterator<Item = Change> + use<> {
        let ends = |(life, of): (usize, &TensorLife)| {
            let bytes = i128::from(of.bytes);
            [Change { time: of.made, bytes, life }, Change { time: of.last_read, bytes: -bytes, life }]
        };
        let mut changes: Vec<Change> = self.lives.iter().enumerate().flat_map(ends).collect();
        changes.sort_unstable();
        changes.into_iter()
    }
}

/// Whether a run has tensors with their sizes.
pub fn has_lives(site: &Site) -> bool {
    let steps = site.memory.get_or_init(|| Steps::of(site).map(Arc::new));
    steps.as_ref().is_ok_and(|steps| !steps.list.is_empty())
}

pub fn memory(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let step: Option<i64> = params.number("step")?;
    let device = params.text("device");
    let width = params.number("px")?.unwrap_or(WIDTH).clamp(16, 8192);
    if site.inputs.of(Role::Run).next().is_none() {
        return of_hosts(site, &device);
    }
    let steps = site.memory.get_or_init(|| Steps::of(site).map(Arc::new)).clone()?;
    let fits =
        |of: &&StepMemory| step.is_none_or(|step| of.step == step) && (device.is_empty() || of.allocator == device);
    // Of equal peaks the later step: the first may be warm-up.
    let Some(chosen) = steps.list.iter().filter(fits).max_by_key(|of| (of.peak, of.step)) else {
        return Err(nothing(site));
    };
    let mut devices: BTreeMap<&str, (i128, i64)> = BTreeMap::new();
    for of in &steps.list {
        let most = devices.entry(&of.allocator).or_insert((of.peak, of.step));
        *most = (*most).max((of.peak, of.step));
    }
    let devices: Value = devices
        .iter()
        .map(|(name, (peak, step))| json!({ "name": name, "peak": *peak as f64, "step": step }))
        .collect();
    let mut own = picture(site, chosen, width);
    own["devices"] = devices;
    own["reported"] = site.overview.memory_peak.as_ref().map(|peak| peak.bytes).into();
    own["steps"] = steps.list.iter().map(|of| of.step).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    let options = [("show_memory".to_owned(), "true".to_owned())];
    let mut frame = site.plain_frame("trace");
    frame.command = site.setup.command.line("trace", &options);
    Ok(frame.reply(own))
}

fn nothing(site: &Site) -> Problem {
    let missing = site.overview.missing.iter().find(|missing| matches!(missing.code, "no_steps" | "no_times"));
    Problem::no_data("no memory was recorded", missing.cloned())
}

/// A band of the picture: the forward tensors of a unit, all gradients, or others.
fn part_of(life: &TensorLife, op: &str) -> (String, Direction) {
    let node = life.tensor.split(':').next().unwrap_or(&life.tensor);
    match Direction::of(node, op) {
        Direction::Gradient => ("gradients".to_owned(), Direction::Gradient),
        Direction::Other => ("other".to_owned(), Direction::Other),
        direction => (node.split('/').next().unwrap_or(node).to_owned(), direction),
    }
}

/// The forward tensors of all smaller units.
const OTHER_SCOPES: &str = "other scopes";

/// The bands, by their bytes at the peak.
struct Parts {
    names: Vec<(String, Direction)>,
    of_life: Vec<usize>,
}

impl Parts {
    fn new(site: &Site, memory: &StepMemory, held: &[bool]) -> Parts {
        let model = site.profiler.model();
        let op = |life: &TensorLife| {
            let node = model.find_node(life.tensor.split(':').next().unwrap_or_default());
            node.map_or("", |node| model.names.get(model.nodes.op[node.index()]))
        };
        let parts: Vec<(String, Direction)> = memory.lives.iter().map(|life| part_of(life, op(life))).collect();
        let mut bytes: BTreeMap<&str, i64> = BTreeMap::new();
        for ((part, life), held) in parts.iter().zip(&memory.lives).zip(held) {
            *bytes.entry(&part.0).or_default() += if *held { life.bytes } else { 0 };
        }
        let mut sorted: Vec<(&str, i64)> =
            bytes.into_iter().filter(|(name, _)| *name != "gradients" && *name != "other").collect();
        sorted.sort_by_key(|(name, bytes)| (std::cmp::Reverse(*bytes), *name));
        let mut names: Vec<(String, Direction)> = sorted
            .iter()
            .take(PARTS)
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(name, _)| ((*name).to_owned(), Direction::Forward))
            .collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names.push((OTHER_SCOPES.to_owned(), Direction::Forward));
        names.push(("gradients".to_owned(), Direction::Gradient));
        names.push(("other".to_owned(), Direction::Other));
        let small = names.len() - 3;
        let number = |part: &(String, Direction)| names.iter().position(|name| name.0 == part.0).unwrap_or(small);
        let of_life = parts.iter().map(number).collect();
        Parts { names, of_life }
    }
}

/// Memory over time, one value per pixel.
struct Curve {
    /// The time of the peak within a pixel.
    t_ns: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// The bytes of each band at that time.
    series: Vec<Vec<f64>>,
}

impl Curve {
    fn new(memory: &StepMemory, changes: &[Change], parts: &Parts, width: usize, nanos: &dyn Fn(i128) -> f64) -> Self {
        let span = changes.last().map_or(0, |change| change.time - memory.origin).max(1);
        let pixel_of = |change: &Change| (change.time - memory.origin) * width as i128 / span;
        let series = vec![Vec::new(); parts.names.len()];
        let mut curve = Curve { t_ns: Vec::new(), low: Vec::new(), high: Vec::new(), series };
        let mut now = vec![0_i128; parts.names.len()];
        let mut held = 0_i128;
        for changes in changes.chunk_by(|a, b| pixel_of(a) == pixel_of(b)) {
            let (mut least, mut most, mut best, mut best_time) = (held, held, now.clone(), changes[0].time);
            for change in changes {
                held += change.bytes;
                now[parts.of_life[change.life]] += change.bytes;
                least = least.min(held);
                if held >= most {
                    (most, best_time) = (held, change.time);
                    best.clone_from(&now);
                }
            }
            curve.t_ns.push(nanos(best_time));
            curve.low.push(least as f64);
            curve.high.push(most as f64);
            curve.series.iter_mut().zip(&best).for_each(|(series, bytes)| series.push(*bytes as f64));
        }
        curve
    }
}

fn picture(site: &Site, memory: &StepMemory, width: usize) -> Value {
    let changes: Vec<Change> = memory.changes().collect();
    let (mut held, mut peak, mut until) = (0_i128, 0_i128, 0);
    for (at, change) in changes.iter().enumerate() {
        held += change.bytes;
        if held > peak {
            (peak, until) = (held, at + 1);
        }
    }
    let mut is_held = vec![false; memory.lives.len()];
    changes[..until].iter().for_each(|change| is_held[change.life] = change.bytes > 0);
    let parts = Parts::new(site, memory, &is_held);
    let zero = site
        .timeline()
        .ok()
        .and_then(|timeline| timeline.steps.iter().find(|mark| mark.step == memory.step).map(|mark| mark.start));
    let zero = zero.unwrap_or(0) as f64;
    let nanos = |time: i128| zero + (time - memory.origin) as f64 * 1000.0;
    let end = changes.last().map_or(0, |change| change.time);
    let Curve { t_ns, low, high, series } = Curve::new(memory, &changes, &parts, width, &nanos);
    let named = parts.names.iter().zip(series).filter(|(_, bytes)| bytes.iter().any(|bytes| *bytes > 0.0));
    let series: Value = named
        .map(
            |((name, direction), bytes)| json!({ "name": name, "dir": direction.word(), "t_ns": t_ns, "bytes": bytes }),
        )
        .collect();
    let mut holders: Vec<usize> = (0..memory.lives.len()).filter(|life| is_held[*life]).collect();
    holders.sort_by_key(|life| (std::cmp::Reverse(memory.lives[*life].bytes), memory.lives[*life].made));
    let share = |bytes: i128| (peak > 0).then(|| bytes as f64 / peak as f64);
    let one = |life: &usize| holder(&memory.lives[*life], parts.names[parts.of_life[*life]].1, &nanos, &share);
    let groups: Value = parts
        .names
        .iter()
        .enumerate()
        .filter_map(|(at, (name, direction))| {
            let of_part = holders.iter().filter(|life| parts.of_life[**life] == at);
            let bytes: i128 = of_part.map(|life| i128::from(memory.lives[*life].bytes)).sum();
            (bytes > 0)
                .then(|| json!({ "name": name, "dir": direction.word(), "bytes": bytes as f64, "share": share(bytes) }))
        })
        .collect();
    let rest = &holders[holders.len().min(HOLDERS)..];
    let rest_bytes: i128 = rest.iter().map(|life| i128::from(memory.lives[*life].bytes)).sum();
    let peak_time = until.checked_sub(1).map_or(0, |at| changes[at].time);
    json!({
        "device": memory.allocator,
        "step": memory.step,
        "source": "each tensor lives from the start of its op to the end of its last reader",
        "t0_ns": zero,
        "t1_ns": nanos(end),
        "curve": { "t_ns": t_ns, "low": low, "high": high },
        "series": series,
        "peak": { "t_ns": nanos(peak_time), "bytes": peak as f64, "holders": holders.len() },
        "holders": holders.iter().take(HOLDERS).map(one).collect::<Value>(),
        "groups": groups,
        "other": { "count": rest.len(), "bytes": rest_bytes as f64 },
    })
}

fn holder(
    life: &TensorLife,
    direction: Direction,
    nanos: &dyn Fn(i128) -> f64,
    share: &dyn Fn(i128) -> Option<f64>,
) -> Value {
    let node = life.tensor.split(':').next().unwrap_or(&life.tensor);
    json!({
        "name": life.tensor, "sel": format!("scope:{node}"), "dir": direction.word(), "bytes": life.bytes,
        "share": share(life.bytes.into()), "t0_ns": nanos(life.made), "t1_ns": nanos(life.last_read),
    })
}

/// The allocators of traces, which report the bytes in use without their holders.
fn of_hosts(site: &Site, device: &str) -> Result<Reply, Problem> {
    let allocators: Vec<_> = site.overview.hosts.iter().flat_map(|host| &host.allocators).collect();
    let fits = |of: &&&tfprof::internal::model::allocators::AllocatorFacts| device.is_empty() || of.name == device;
    let Some(chosen) = allocators.iter().filter(fits).max_by_key(|of| of.peak.in_use()) else {
        return Err(nothing(site));
    };
    let (zero, end) = site.timeline().map_or((0, 0.0), |timeline| (timeline.zero, timeline.end as f64));
    let nanos = |picos: i64| picos.saturating_sub(zero).max(0) as f64 / 1000.0;
    let points: Vec<(i64, i64)> = chosen.over_time.each().collect();
    let bytes: Vec<i64> = points.iter().map(|(_, bytes)| *bytes).collect();
    let times: Vec<f64> = points.iter().map(|(time, _)| nanos(*time)).collect();
    let devices: Value =
        allocators.iter().map(|of| json!({ "name": of.name, "peak": of.peak.in_use(), "step": null })).collect();
    Ok(site.plain_frame("info").reply(json!({
        "devices": devices,
        "steps": [],
        "device": chosen.name,
        "step": null,
        "reported": null,
        "source": "the allocator's own samples: the most in use in each span of time; it does not say who holds it",
        "t0_ns": 0.0,
        "t1_ns": times.iter().copied().chain([end, nanos(chosen.peak.time)]).fold(0.0, f64::max),
        "curve": { "t_ns": times, "low": bytes, "high": bytes },
        "series": null,
        "peak": { "t_ns": nanos(chosen.peak.time), "bytes": chosen.peak.in_use(), "holders": null },
        "holders": [],
        "groups": [],
        "other": { "count": 0, "bytes": 0 },
    })))
}
