//! The events of a trace by lane, for pictures: threads with their ops, runtime calls and Python calls, and streams.

use super::TraceFile;
use super::collect::Collector;
use crate::error::Error;
use crate::events::held::{CallSpan, DeviceSpan, HostSpan, LineKind};
use crate::events::walk::Wanted;
use crate::hash::UntrustedMap;
use crate::model::names::{NameId, Names};
use crate::model::runs::KeepSteps;

/// All events of a trace. Times are nanoseconds since the first event.
#[derive(Debug)]
pub struct TraceLanes {
    pub file: String,
    /// The rank, or the name of the file.
    pub host: String,
    pub names: Names,
    /// By plane, then by thread or stream.
    pub lanes: Vec<TraceLane>,
    /// Pairs of a launch call and the work it launched; each end is a lane and a start time.
    pub arrows: Vec<[(usize, i64); 2]>,
    /// The start of the first event in nanoseconds since 1970, if known.
    pub start_time: Option<u64>,
}

/// A thread or a stream, and one kind of its events.
#[derive(Debug)]
pub struct TraceLane {
    /// The device, or the host.
    pub plane: String,
    pub name: String,
    /// Lanes of one thread have the same number.
    pub thread: u32,
    /// Start, length and name.
    pub events: Vec<(i64, i64, NameId)>,
}

const DRAWN: Wanted = Wanted {
    steps: KeepSteps::Each,
    runtime: true,
    python: true,
    step_marks: false,
    busy: false,
    costs: false,
    kernels: false,
    stacks: false,
    memory: false,
    shapes: false,
    spans: false,
};

impl TraceFile {
    /// Reads all events for a picture.
    pub fn lanes(&self) -> Result<TraceLanes, Error> {
        let mut collector = Collector::new(DRAWN);
        let outcome = self.visit(&mut collector)?;
        self.damage(&outcome)?;
        collector.finish();
        let facts = self.facts(&collector, &outcome);
        let trace = collector.trace;
        let zero = trace.start.unwrap_or(0);
        let mut events: Vec<Vec<(i64, i64, NameId)>> = trace.lines.iter().map(|_| Vec::new()).collect();
        let mut add = |line: u32, start: i64, end: i64, name: NameId| {
            events[line as usize].push((start.saturating_sub(zero), end.saturating_sub(start), name));
        };
        trace.host.iter().for_each(|HostSpan { line, start, end, name, .. }| add(*line, *start, *end, *name));
        let calls = trace.calls.iter().chain(&trace.others);
        calls.for_each(|CallSpan { line, start, end, name, .. }| add(*line, *start, *end, *name));
        trace.launches.iter().for_each(|span| add(span.line, span.start, span.end, span.name));
        trace.device.iter().for_each(|span| add(span.line, span.start, span.end, span.name));
        let mut order: Vec<usize> = (0..trace.lines.len()).collect();
        order.sort_by_cached_key(|at| {
            let line = &trace.lines[*at];
            let [process, thread] = [line.process, line.thread].map(|name| trace.names.get(name).to_owned());
            (line.plane.clone(), process, thread.parse::<i64>().unwrap_or(i64::MAX), thread, line.kind)
        });
        let mut threads: UntrustedMap<(&str, NameId, NameId), u32> = UntrustedMap::default();
        let mut lane_of = vec![usize::MAX; trace.lines.len()];
        let drawn = order.into_iter().filter(|at| !events[*at].is_empty()).collect::<Vec<_>>();
        drawn.iter().enumerate().for_each(|(lane, line)| lane_of[*line] = lane);
        let lanes = drawn.into_iter().map(|at| {
            let line = &trace.lines[at];
            let number = threads.len() as u32;
            let number = *threads.entry((&line.plane, line.process, line.thread)).or_insert(number);
            let thread = trace.names.get(line.thread);
            let name = if line.title.is_empty() { title(line.kind, thread) } else { line.title.clone() };
            let kind = match line.kind {
                LineKind::Calls => ", Python",
                LineKind::Runtime => ", runtime",
                LineKind::Host | LineKind::Device | LineKind::Other => "",
            };
            let (plane, name) = (line.plane.clone(), name + kind);
            TraceLane { plane, name, thread: number, events: std::mem::take(&mut events[at]) }
        });
        let lanes = lanes.collect();
        let mut launch_of: UntrustedMap<u64, (usize, i64)> = UntrustedMap::default();
        for launch in trace.launches.iter().filter(|launch| launch.correlation != 0) {
            let end = (lane_of[launch.line as usize], launch.start.saturating_sub(zero));
            launch_of.entry(launch.correlation).or_insert(end);
        }
        let arrow = |span: &DeviceSpan| {
            let end = (lane_of[span.line as usize], span.start.saturating_sub(zero));
            launch_of.get(&span.correlation).map(|launch| [*launch, end])
        };
        let arrows = trace.device.iter().filter_map(arrow).collect();
        let (file, host) = (self.name.clone(), facts.host);
        Ok(TraceLanes { file, host, lanes, arrows, names: trace.names, start_time: facts.start_time })
    }
}

fn title(kind: LineKind, thread: &str) -> String {
    let is_number = !thread.is_empty() && thread.bytes().all(|byte| byte.is_ascii_digit());
    match kind {
        LineKind::Device if is_number => format!("stream {thread}"),
        _ if is_number => format!("thread {thread}"),
        _ => thread.to_owned(),
    }
}
