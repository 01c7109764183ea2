//! Traces of PyTorch and other Chrome traces: lanes by rank, device, thread and stream.

use super::{LATEST, Names};
use crate::reply::Problem;
use crate::timeline::arrows::Arrow;
use crate::timeline::lane::Event;
use crate::timeline::{Group, StepMark, Timeline};
use std::collections::{BTreeMap, HashMap};
use tfprof::internal::format::kineto::TraceFile;
use tfprof::internal::format::kineto::lanes::TraceLanes;
use tfprof::internal::model::Model;
use tfprof::internal::model::hosts::is_accelerator;

/// Reads all events of all ranks.
pub(super) fn read(files: &[TraceFile], model: &Model) -> Result<Timeline, Problem> {
    let mut timeline = Timeline::default();
    let mut names = Names::default();
    let mut ranks: Vec<TraceLanes> = files.iter().map(TraceFile::lanes).collect::<Result<_, _>>()?;
    let several = ranks.len() > 1;
    let first = ranks.iter().filter_map(|rank| rank.start_time).min();
    let all_told = ranks.iter().all(|rank| rank.start_time.is_some());
    let mut shifts: HashMap<String, u64> = HashMap::new();
    let mut arrows = Vec::new();
    for rank in &mut ranks {
        // Ranks are aligned by their clocks, or else by their first events.
        let shift = match (rank.start_time, first) {
            (Some(start), Some(first)) if several && all_told => start.saturating_sub(first),
            _ => 0,
        };
        shifts.insert(rank.file.clone(), shift);
        add_rank(&mut timeline, rank, shift, several, &mut names, model, &mut arrows);
    }
    if several && !all_told {
        "The files do not tell when recording began: all ranks begin at 0.".clone_into(&mut timeline.note);
    }
    timeline.names = names.list;
    timeline.point(arrows);
    timeline.steps = steps(model, &shifts);
    Ok(timeline)
}

fn add_rank(
    timeline: &mut Timeline,
    rank: &mut TraceLanes,
    shift: u64,
    several: bool,
    names: &mut Names,
    model: &Model,
    arrows: &mut Vec<Arrow>,
) {
    let threads = timeline.lanes.iter().map(|lane| lane.thread + 1).max().unwrap_or(0);
    let mut lanes_of: Vec<std::ops::Range<usize>> = Vec::new();
    let time = |start: i64| (start.max(0) as u64).saturating_add(shift).min(LATEST);
    let mut number_of: HashMap<usize, u32> = HashMap::new();
    let lanes = std::mem::take(&mut rank.lanes);
    let mut lanes = lanes.into_iter().peekable();
    while let Some(first) = lanes.peek() {
        let plane = first.plane.clone();
        let begin = timeline.lanes.len();
        while let Some(lane) = lanes.next_if(|lane| lane.plane == plane) {
            let event = |(start, length, name): (i64, i64, _)| {
                let text = rank.names.get(name);
                let name = *number_of.entry(name.index()).or_insert_with(|| names.of_event(text, model));
                Event { start: time(start), length: (length.max(0) as u64).min(LATEST), name }
            };
            let events = lane.events.into_iter().map(event).collect();
            lanes_of.push(timeline.add_line(&lane.name, threads + lane.thread, events));
        }
        if timeline.lanes.len() > begin {
            let detail = if several { rank.host.clone() } else { String::new() };
            let is_device = is_accelerator(&plane);
            timeline.groups.push(Group { name: plane, is_device, detail, lanes: begin..timeline.lanes.len() });
        }
    }
    for ends in &rank.arrows {
        let [from, to] = ends.map(|(lane, start)| timeline.end_at(lanes_of[lane].clone(), time(start)));
        arrows.extend(from.zip(to).map(|(from, to)| Arrow { from, to }));
    }
}

/// The steps of all ranks, each from the first rank that begins it to the last that ends it.
fn steps(model: &Model, shifts: &HashMap<String, u64>) -> Vec<StepMark> {
    let mut steps: BTreeMap<i64, StepMark> = BTreeMap::new();
    for host in &model.hosts {
        let shift = shifts.get(&host.file).copied().unwrap_or(0);
        for (step, ops) in host.steps.iter().zip(&host.step_ops) {
            let at = |picos: i64| ((picos.max(0) / 1000) as u64).saturating_add(shift).min(LATEST);
            let (start, end) = (at(step.start), at(step.start.saturating_add(step.length)));
            let mark = steps.entry(step.number).or_insert(StepMark { step: step.number, start, end, events: 0 });
            (mark.start, mark.end) = (mark.start.min(start), mark.end.max(end));
            mark.events += ops.runs.max(0) as u64;
        }
    }
    steps.into_values().collect()
}
