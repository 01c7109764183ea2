//! The timeline: its lanes, its tiles, names, single events and statistics of a range.

use super::steps::warm_up;
use super::table::selected;
use crate::params::Params;
use crate::question::ViewQuestion;
use crate::reply::{Frame, Problem, Reply, object};
use crate::site::Site;
use crate::timeline::arrows::{Arrow, End};
use crate::timeline::lane::Lane;
use crate::timeline::{LaneInfo, Timeline};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use tfprof::ViewKind;

/// The maximum number of names in one request.
const MOST_NAMES: usize = 2000;
/// The maximum number of rows of statistics, and of events in a selection.
const MOST_ROWS: usize = 50;
const MOST_EVENTS: usize = 2000;
/// The maximum number of events whose union is computed.
const MOST_UNION: usize = 4_000_000;

fn frame(site: &Site) -> Frame {
    site.plain_frame("trace")
}

pub fn timeline(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    params.take("step");
    let timeline = site.timeline()?;
    let warm_up = warm_up(&site.overview, site.profiler.model());
    let groups: Value = timeline
        .groups
        .iter()
        .map(|group| {
            let lanes: Value = group
                .lanes
                .clone()
                .map(|id| {
                    let LaneInfo { name, lane, .. } = &timeline.lanes[id];
                    json!({ "id": id, "name": name, "events": lane.len(), "busy_ns": lane.busy })
                })
                .collect();
            let kind = if group.is_device { "device" } else { "host" };
            json!({ "name": group.name, "kind": kind, "detail": group.detail, "lanes": lanes })
        })
        .collect();
    let steps: Value = timeline
        .steps
        .iter()
        .map(|step| {
            let warm_up = warm_up.steps.contains(&step.step);
            json!({ "step": step.step, "t0_ns": step.start, "t1_ns": step.end, "events": step.events, "warm_up": warm_up })
        })
        .collect();
    let frame = frame(site).leaving_out(timeline.dropped, "events that overlap more often than there are lanes");
    Ok(frame.reply(object! {
        "t0_ns": 0,
        "t1_ns": timeline.end,
        "began": Value::Null,
        "note": timeline.note.clone(),
        "tile_ns": timeline.tile_ns(),
        "levels": timeline.levels(),
        "events": timeline.events,
        "arrows": timeline.arrows.count(),
        "names": timeline.names.len(),
        "ops": timeline.ops.clone(),
        "groups": groups,
        "steps": steps,
    }))
}

pub fn tile(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let (level, index) = (params.number("level")?.unwrap_or(0), params.number("index")?.unwrap_or(0));
    let tile = site.timeline()?.tile(level, index);
    tile.map(Reply::bytes).ok_or_else(|| Problem::not_found(format!("there is no tile {index} at level {level}")))
}

pub fn names(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let timeline = site.timeline()?;
    let ids = params.take("ids");
    let ids: Vec<usize> = match &ids {
        None => (0..timeline.names.len()).collect(),
        Some(ids) => ids.split(',').filter_map(|id| id.parse().ok()).filter(|id| *id < timeline.names.len()).collect(),
    };
    let most = if params.whole { usize::MAX } else { MOST_NAMES };
    let left = ids.len().saturating_sub(most) as u64;
    let one = |id: &usize| {
        let name = &timeline.names[*id];
        json!({ "id": id, "name": name.name, "op": name.op, "dir": name.direction.word(), "sel": sel(&timeline, *id) })
    };
    let names: Value = ids.iter().take(most).map(one).collect();
    Ok(frame(site).leaving_out(left, "more names than one request may have").reply(object! { "names": names }))
}

fn sel(timeline: &Timeline, name: usize) -> Option<String> {
    timeline.names[name].path.as_ref().map(|path| format!("scope:{path}"))
}

pub fn at(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let (id, time) = (params.number("lane")?.unwrap_or(0_usize), params.number("t_ns")?.unwrap_or(0.0_f64));
    let slack = params.number("slack_ns")?.unwrap_or(0.0_f64).max(0.0);
    let timeline = site.timeline()?;
    let Some(LaneInfo { lane, .. }) = timeline.lanes.get(id) else {
        return Err(Problem::not_found(format!("there is no lane {id}")));
    };
    let event = nearest(lane, time.max(0.0) as u64, slack as u64).map(|at| {
        let (start, name) = (lane.start_of(at), lane.name_of(at) as usize);
        let info = &timeline.names[name];
        json!({
            "name": info.name, "op": info.op, "dir": info.direction.word(), "lane": id, "t0_ns": start,
            "dur_ns": lane.length_of(at), "step": timeline.step_at(start), "sel": sel(&timeline, name), "args": [],
            "arrows": arrows_json(&arrows_of(&timeline, id, start, lane.length_of(at))),
        })
    });
    Ok(frame(site).reply(json!({ "event": event })))
}

/// The maximum number of arrows in an answer.
const MOST_ARROWS: usize = 500;

/// The arrows from and to an event.
fn arrows_of(timeline: &Timeline, lane: usize, start: u64, length: u64) -> Vec<Arrow> {
    let from = timeline.arrows.from(timeline.lanes[lane].thread, start, length);
    from.chain(timeline.arrows.to(End { lane: lane as u32, start })).take(MOST_ARROWS).collect()
}

/// Arrows as columns.
fn arrows_json(arrows: &[Arrow]) -> Value {
    let ends = |end: fn(&Arrow) -> End| arrows.iter().map(end);
    json!({
        "from": ends(|arrow| arrow.from).map(|end| end.lane).collect::<Vec<_>>(),
        "from_ns": ends(|arrow| arrow.from).map(|end| end.start).collect::<Vec<_>>(),
        "to": ends(|arrow| arrow.to).map(|end| end.lane).collect::<Vec<_>>(),
        "to_ns": ends(|arrow| arrow.to).map(|end| end.start).collect::<Vec<_>>(),
    })
}

/// The event at a time, or the longest one nearby.
fn nearest(lane: &Lane, time: u64, slack: u64) -> Option<usize> {
    let here = lane.within(time, time.saturating_add(1));
    if let Some(at) = here.clone().next() {
        return Some(at);
    }
    let near = lane.within(time.saturating_sub(slack), time.saturating_add(slack).saturating_add(1));
    (!near.is_empty()).then(|| lane.longest(near.start, near.end))
}

/// Runs of one name within a range.
#[derive(Clone, Copy, Default)]
struct Sum {
    runs: u64,
    time: u64,
    longest: u64,
}

pub fn range(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let timeline = site.timeline()?;
    let from = params.number("from_ns")?.unwrap_or(0.0_f64).max(0.0) as u64;
    let to = params.number("to_ns")?.unwrap_or(timeline.end as f64).max(0.0) as u64;
    let lanes =
        params.take("lanes").map(|list| list.split(',').filter_map(|id| id.parse().ok()).collect::<HashSet<usize>>());
    let mut sums = vec![Sum::default(); timeline.names.len()];
    let mut spans: Option<Vec<(u64, u64)>> = Some(Vec::new());
    let (mut events, mut outer) = (0_u64, 0_u64);
    for (id, LaneInfo { lane, name, thread }) in timeline.lanes.iter().enumerate() {
        // Further lanes of a thread hold calls nested in those of its first; lanes of a device have names of their own.
        let is_inner = name.is_empty() && id > 0 && timeline.lanes[id - 1].thread == *thread;
        if lanes.as_ref().is_some_and(|lanes| !lanes.contains(&id)) {
            continue;
        }
        let within = lane.within(from, to);
        events += within.len() as u64;
        if spans.as_ref().is_some_and(|spans| spans.len() + within.len() > MOST_UNION) {
            spans = None;
        }
        for at in within {
            // Clip to the range.
            let (start, end) = (lane.start_of(at).max(from), lane.end_of(at).min(to));
            let sum = &mut sums[lane.name_of(at) as usize];
            let time = end.saturating_sub(start);
            outer = outer.saturating_add(if is_inner { 0 } else { time });
            *sum = Sum { runs: sum.runs + 1, time: sum.time.saturating_add(time), longest: sum.longest.max(time) };
            if let Some(spans) = &mut spans {
                spans.push((start, end));
            }
        }
    }
    let all: u64 = sums.iter().map(|sum| sum.time).fold(0, u64::saturating_add);
    let busy = spans.map(union);
    let wall = to.saturating_sub(from);
    let per_wall = |n: u64| (wall > 0).then(|| n as f64 / wall as f64);
    let rows = rows(&timeline, &sums, all);
    let left = rows.len().saturating_sub(MOST_ROWS) as u64;
    Ok(frame(site).leaving_out(left, "smaller ones").reply(json!({
        "wall_ns": wall,
        "busy_ns": busy,
        "sum_ns": all,
        "events": events,
        "parallel": per_wall(outer),
        "busy_share": busy.and_then(per_wall),
        "rows": rows.into_iter().take(MOST_ROWS).collect::<Value>(),
    })))
}

/// The length of the union of spans.
fn union(mut spans: Vec<(u64, u64)>) -> u64 {
    spans.sort_unstable();
    let (mut covered, mut until) = (0, 0);
    for (start, end) in spans {
        covered += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    covered
}

/// Sums by op type, the largest first.
fn rows(timeline: &Timeline, sums: &[Sum], all: u64) -> Vec<Value> {
    // For each op type, its sum and the name with the longest run.
    let mut by_op: BTreeMap<&str, (Sum, usize)> = BTreeMap::new();
    for (name, sum) in sums.iter().enumerate().filter(|(_, sum)| sum.runs > 0) {
        let (of_op, example) = by_op.entry(&timeline.names[name].op).or_insert((Sum::default(), name));
        if sum.longest > of_op.longest {
            *example = name;
        }
        of_op.runs += sum.runs;
        of_op.time = of_op.time.saturating_add(sum.time);
        of_op.longest = of_op.longest.max(sum.longest);
    }
    let mut sorted: Vec<_> = by_op.into_iter().collect();
    sorted.sort_by_key(|(_, (sum, _))| std::cmp::Reverse(sum.time));
    let one = |(op, (sum, example)): (&str, (Sum, usize))| {
        let name = &timeline.names[example];
        json!({
            "op": op, "name": op, "dir": name.direction.word(), "runs": sum.runs, "sum_ns": sum.time,
            "mean_ns": sum.time as f64 / sum.runs as f64, "longest_ns": sum.longest,
            "share": (all > 0).then(|| sum.time as f64 / all as f64), "example": name.name, "sel": sel(timeline, example),
        })
    };
    sorted.into_iter().map(one).collect()
}

pub fn events(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let chosen = params.text("sel");
    let limit = params.number("limit")?.unwrap_or(MOST_EVENTS).min(MOST_EVENTS);
    let timeline = site.timeline()?;
    let is_chosen = names_of(site, &timeline, &chosen)?;
    let mut found: Vec<(u64, usize, u64)> = Vec::new();
    let (mut count, mut sum) = (0_u64, 0_u64);
    for (id, LaneInfo { lane, .. }) in timeline.lanes.iter().enumerate() {
        for at in 0..lane.len() {
            if !is_chosen[lane.name_of(at) as usize] {
                continue;
            }
            let length = lane.length_of(at);
            count += 1;
            sum = sum.saturating_add(length);
            found.push((length, id, lane.start_of(at)));
            // The longest are kept.
            if found.len() >= 4 * MOST_EVENTS {
                found.sort_unstable_by_key(|event| std::cmp::Reverse(*event));
                found.truncate(limit);
            }
        }
    }
    found.sort_unstable_by_key(|event| std::cmp::Reverse(*event));
    found.truncate(limit);
    found.sort_unstable_by_key(|(_, _, start)| *start);
    let mut arrows: Vec<Arrow> = Vec::new();
    for (length, lane, start) in &found {
        arrows.extend(arrows_of(&timeline, *lane, *start, *length));
        if arrows.len() >= 2 * MOST_ARROWS {
            break;
        }
    }
    arrows.sort_unstable_by_key(|arrow| (arrow.from.start, arrow.from.lane, arrow.to));
    // A launch inside two nested events occurs twice.
    arrows.dedup();
    arrows.truncate(MOST_ARROWS);
    let frame = frame(site).leaving_out(count - found.len() as u64, "shorter ones");
    Ok(frame.reply(json!({
        "count": count,
        "sum_ns": sum,
        "events": {
            "lane": found.iter().map(|(_, lane, _)| *lane).collect::<Vec<_>>(),
            "t0_ns": found.iter().map(|(_, _, start)| *start).collect::<Vec<_>>(),
            "dur_ns": found.iter().map(|(length, _, _)| *length).collect::<Vec<_>>(),
        },
        "arrows": arrows_json(&arrows),
    })))
}

/// By name, whether it belongs to a selection.
fn names_of(site: &Site, timeline: &Timeline, sel: &str) -> Result<Vec<bool>, Problem> {
    let (kind, path) = sel.split_once(':').unwrap_or(("", sel));
    let word = site.default_metric().info().word.unwrap_or("params");
    Ok(match kind {
        "op" => timeline.names.iter().map(|name| name.op == path).collect(),
        "code" | "line" => {
            let code = site.tree(&ViewQuestion::new(ViewKind::Code, &[word], None, Vec::new())?)?;
            let Some(id) = selected(&code, sel) else { return Ok(vec![false; timeline.names.len()]) };
            let rows = if kind == "line" { id..id + 1 } else { code.below(id) };
            let model = &code.view.model;
            let nodes: HashSet<&str> =
                rows.flat_map(|id| code.view.bag(code.row(id))).map(|node| model.name(node)).collect();
            timeline.names.iter().map(|name| name.path.as_deref().is_some_and(|path| nodes.contains(path))).collect()
        }
        _ => {
            let within =
                |name: &str| name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let is_it = |name: &crate::timeline::Name| path.is_empty() || name.path.as_deref().is_some_and(within);
            timeline.names.iter().map(is_it).collect()
        }
    })
}
