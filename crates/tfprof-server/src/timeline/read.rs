//! Reads the events of a profile: executions of ops by step, or the lines of a trace.

mod held;

use super::arrows::Arrow;
use super::lane::Event;
use super::{Group, Name, StepMark, Timeline};
use crate::reply::Problem;
use crate::site::Site;
use crate::tree::{Direction, tells_directions};
use std::collections::{BTreeMap, HashMap};
use tfprof::internal::format::xspace::trace::{FlowKey, HostTrace, KeyTexts};
use tfprof::internal::model::Model;
use tfprof::internal::model::hosts::is_accelerator;
use tfprof::internal::model::nodes::NodeId;
use tfprof::internal::render::timeline::shows;
use tfprof::internal::view::values::Values;
use tfprof::{Quirks, Role, Step};

pub fn read(site: &Site) -> Result<Timeline, Problem> {
    let mut timeline = if site.inputs.of(Role::Host).next().is_some() { of_traces(site)? } else { of_runs(site) };
    if timeline.events == 0 {
        let why = "no run of an op was recorded with its start";
        let missing = site.overview.missing.iter().find(|missing| matches!(missing.code, "no_steps" | "no_times"));
        return Err(Problem::no_data(why, missing.cloned()));
    }
    if !tells_directions(site.profiler.model()) {
        timeline.names.iter_mut().for_each(|name| name.direction = Direction::Unknown);
    }
    timeline.finish();
    Ok(timeline)
}

/// Names by text.
#[derive(Default)]
struct Names {
    list: Vec<Name>,
    number: HashMap<String, u32>,
}

/// The executions of all steps, one step after the other.
fn of_runs(site: &Site) -> Timeline {
    let model = site.profiler.model();
    let mut names = Names::default();
    let mut name_of: HashMap<NodeId, u32> = HashMap::new();
    let mut by_device: BTreeMap<&str, Vec<Event>> = BTreeMap::new();
    let mut timeline = Timeline::default();
    let mut zero = 0_u64;
    for step in model.runs.steps() {
        let Some(records) = model.runs.records(step) else { continue };
        let values = Values::new(model, Step::At(step), Quirks::NONE);
        let all = model.nodes.all().flat_map(|node| records.timings(node)).filter(|timing| shows(&values, timing));
        let timings: Vec<_> = all.collect();
        let Some(first) = timings.iter().map(|timing| timing.start).min() else { continue };
        let mut end = 0;
        for timing in &timings {
            let start = nanos(timing.start.saturating_sub(first));
            let length = nanos(timing.length);
            end = end.max(start.saturating_add(length));
            let name = *name_of.entry(timing.node).or_insert_with(|| names.of_node(model, timing.node));
            let event = Event { start: zero.saturating_add(start).min(LATEST), length: length.min(LATEST), name };
            let device = model.names.get(model.devices.name(timing.device));
            by_device.entry(device).or_default().push(event);
        }
        let end = zero.saturating_add(end).min(LATEST);
        timeline.steps.push(StepMark { step, start: zero, end, events: timings.len() as u64 });
        // Steps are drawn with a fixed gap; the real one may be hours.
        zero = end.saturating_add((end - zero) / 20 + 1);
    }
    if timeline.steps.len() > 1 {
        "Steps are drawn one after the other; the time between them is left out.".clone_into(&mut timeline.note);
    }
    timeline.names = names.list;
    for (device, events) in by_device {
        let first = timeline.lanes.len();
        let thread = first as u32;
        timeline.add_line("", thread, events);
        let (detail, name) = device.rsplit_once("/device:").unwrap_or(("", device));
        let is_device = !name.to_lowercase().contains("cpu");
        let (name, detail) = (name.to_owned(), detail.to_owned());
        timeline.groups.push(Group { name, is_device, detail, lanes: first..timeline.lanes.len() });
        for (at, lane) in timeline.lanes[first..].iter_mut().enumerate() {
            lane.name = format!("lane {at}");
        }
    }
    timeline
}

/// Later times would not fit into a number of JavaScript.
const LATEST: u64 = 1 << 52;

/// Microseconds in nanoseconds.
fn nanos(micros: i64) -> u64 {
    (micros.max(0) as u64).saturating_mul(1000).min(LATEST)
}

/// Every line of every plane of the hosts.
fn of_traces(site: &Site) -> Result<Timeline, Problem> {
    let traces = site.inputs.open_traces()?;
    if !traces.is_empty() {
        return held::read(&traces, site.profiler.model());
    }
    let files = site.inputs.open_profiles()?;
    let model = site.profiler.model();
    let mut timeline = Timeline::default();
    let mut names = Names::default();
    let mut warnings = Vec::new();
    let mut hosts = Vec::new();
    for file in &files {
        hosts.push(HostTrace::new(file, &mut warnings)?);
    }
    let first = hosts.iter().filter_map(HostTrace::began).min();
    let several = hosts.len() > 1;
    // By host, plane and line.
    let mut lines: Vec<Vec<Vec<Line>>> = Vec::new();
    let mut flows = Vec::new();
    for host in &hosts {
        // Hosts are aligned by the start of their recordings.
        let shift = match (host.began(), first) {
            (Some(began), Some(first)) if several => began.saturating_sub(first).saturating_mul(1000),
            _ => 0,
        };
        let mut of_host = Flows::default();
        lines.push(lines_of_host(host, shift, &mut names, model, &mut of_host)?);
        flows.push(of_host);
    }
    let every = || lines.iter().flatten().flatten();
    let zero = every().filter_map(|line| line.events.iter().map(|event| event.0).min()).min().unwrap_or(0);
    let mut arrows = Vec::new();
    for ((host, planes), flows) in hosts.iter().zip(lines).zip(flows) {
        let mut lanes_of: Vec<Vec<std::ops::Range<usize>>> = Vec::new();
        for (plane, lines) in host.planes().zip(planes) {
            lanes_of.push(Vec::new());
            let begin = timeline.lanes.len();
            for line in lines {
                let event = |(start, length, name): (i64, i64, u32)| {
                    let from = start.saturating_sub(zero).max(0) / 1000;
                    let to = start.saturating_sub(zero).saturating_add(length.max(0)).max(0) / 1000;
                    Event { start: (from as u64).min(LATEST), length: ((to - from).max(0) as u64).min(LATEST), name }
                };
                let thread = timeline.lanes.len() as u32;
                let lanes = timeline.add_line(&line.name, thread, line.events.into_iter().map(event).collect());
                lanes_of.last_mut().into_iter().for_each(|of| of.push(lanes.clone()));
            }
            if timeline.lanes.len() > begin {
                let detail = if several { host.host().to_owned() } else { String::new() };
                let (name, is_device) = (plane.name.to_owned(), is_accelerator(plane.name));
                timeline.groups.push(Group { name, is_device, detail, lanes: begin..timeline.lanes.len() });
            }
        }
        let end = |(plane, line, start): (usize, usize, i64)| {
            let lanes: &std::ops::Range<usize> = lanes_of.get(plane)?.get(line)?;
            timeline.end_at(lanes.clone(), (start.saturating_sub(zero).max(0) as u64 / 1000).min(LATEST))
        };
        let arrow = |(key, to): &(FlowKey, (usize, usize, i64))| {
            Some(Arrow { from: end(*flows.begin.get(key)?)?, to: end(*to)? })
        };
        arrows.extend(flows.end.iter().filter_map(arrow));
    }
    timeline.names = names.list;
    timeline.point(arrows);
    timeline.steps = steps_of_hosts(model, zero);
    timeline.zero = zero;
    Ok(timeline)
}

/// The ends of arrows within a host: a plane, a line of it, and a start in picoseconds.
#[derive(Default)]
struct Flows {
    begin: HashMap<FlowKey, (usize, usize, i64)>,
    end: Vec<(FlowKey, (usize, usize, i64))>,
}

/// A line of a plane: start and length of events in picoseconds, and their names.
struct Line {
    name: String,
    events: Vec<(i64, i64, u32)>,
}

fn lines_of_host(
    host: &HostTrace<'_>,
    shift: i64,
    names: &mut Names,
    model: &Model,
    flows: &mut Flows,
) -> Result<Vec<Vec<Line>>, Problem> {
    let mut texts = KeyTexts::default();
    let empty = |name: &&str| Line { name: (*name).to_owned(), events: Vec::new() };
    let mut lines: Vec<Vec<Line>> = host.planes().map(|plane| plane.names.iter().map(empty).collect()).collect();
    let mut name_of: Vec<Vec<Option<u32>>> =
        (0..lines.len()).map(|plane| vec![None; host.metas(plane).len()]).collect();
    let walked = host.each(true, |place, event| {
        let name = match event.meta {
            None => names.of_event(&format!("<unknown event {}>", event.id), model),
            Some(meta) => *name_of[place.plane][meta].get_or_insert_with(|| {
                let meta = &host.metas(place.plane)[meta];
                let shown = if meta.display_name.is_empty() { &meta.name } else { &meta.display_name };
                names.of_event(shown, model)
            }),
        };
        let at = (place.plane, place.lane as usize, event.start.saturating_add(shift));
        let (begin, end) = event.flows(&mut texts);
        for key in begin.into_iter().flatten() {
            flows.begin.entry(key).or_insert(at);
        }
        flows.end.extend(end.into_iter().flatten().map(|key| (key, at)));
        if let Some(line) = lines[place.plane].get_mut(place.lane as usize) {
            line.events.push((event.start.saturating_add(shift), event.length, name));
        }
        Ok(())
    });
    walked.map_err(|error| Problem::no_data(format!("cannot read the events: {error}"), None))?;
    Ok(lines)
}

fn steps_of_hosts(model: &Model, zero: i64) -> Vec<StepMark> {
    let mut steps: BTreeMap<i64, StepMark> = BTreeMap::new();
    for (step, ops) in model.hosts.iter().flat_map(|host| host.steps.iter().zip(&host.step_ops)) {
        let at = |time: i64| (time.saturating_sub(zero).max(0) / 1000) as u64;
        let (start, end) = (at(step.start), at(step.start.saturating_add(step.length)));
        let mark = steps.entry(step.number).or_insert(StepMark { step: step.number, start, end, events: 0 });
        (mark.start, mark.end) = (mark.start.min(start), mark.end.max(end));
        mark.events = mark.events.saturating_add(ops.runs.max(0) as u64);
    }
    steps.into_values().collect()
}

impl Names {
    fn push(&mut self, name: Name) -> u32 {
        self.list.push(name);
        self.list.len() as u32 - 1
    }

    fn of_node(&mut self, model: &Model, node: NodeId) -> u32 {
        let (name, op) = (model.name(node), model.names.get(model.nodes.op[node.index()]));
        let direction = Direction::of(name, op);
        self.push(Name {
            name: name.to_owned(),
            op: op.to_owned(),
            direction,
            path: Some(name.to_owned()),
            op_index: 0,
        })
    }

    /// The name of an event of a trace. `scope/op:Type` is an op of TensorFlow, `fusion.3` an instruction of XLA.
    fn of_event(&mut self, text: &str, model: &Model) -> u32 {
        if let Some(number) = self.number.get(text) {
            return *number;
        }
        let typed = text.rsplit_once(':').filter(|(name, op)| !name.ends_with(':') && is_word(op));
        let op = match typed {
            Some((_, op)) => op,
            None => {
                text.rsplit_once('.').filter(|(_, n)| n.bytes().all(|c| c.is_ascii_digit())).map_or(text, |(op, _)| op)
            }
        };
        let node = typed.map(|(name, _)| name).into_iter().chain([text]).find_map(|name| model.find_node(name));
        let path = node.map(|node| model.name(node).to_owned());
        let direction = path.as_ref().map_or(Direction::Unknown, |path| Direction::of(path, op));
        let (name, op) = (text.to_owned(), op.trim_start_matches('%').to_owned());
        let number = self.push(Name { name, op, direction, path, op_index: 0 });
        self.number.insert(text.to_owned(), number);
        number
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}
