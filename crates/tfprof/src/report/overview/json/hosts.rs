//! The trace of a host as JSON: its planes, lines, kinds of events and steps.

use crate::json::{maybe_picos_as_micros, picos_as_micros};
use crate::model::hosts::{EventKind, HostFacts, LineFacts, PlaneFacts, SpanSums, StepSpan};
use serde::{Serialize, Serializer};

#[derive(Serialize)]
pub struct HostJson<'a> {
    host: &'a str,
    file: &'a str,
    errors: &'a [String],
    warnings: &'a [String],
    profile_start_time: Option<u64>,
    profile_stop_time: Option<u64>,
    smallest_line_timestamp_ns: i64,
    programs: usize,
    planes: Vec<PlaneJson<'a>>,
    lines: Vec<LineJson<'a>>,
    #[serde(serialize_with = "by_kind")]
    kinds: &'a [SpanSums],
    step_rule: &'static str,
    step_marker: &'a str,
    other_markers: &'a [String],
    assigned_by: AssignedByJson,
    steps: Vec<StepJson>,
    outside: OpsJson,
}

#[derive(Serialize)]
struct PlaneJson<'a> {
    name: &'a str,
    lines: usize,
    events: u64,
}

#[derive(Serialize)]
struct LineJson<'a> {
    plane: &'a str,
    id: i64,
    name: &'a str,
    display_name: &'a str,
    events: u64,
    aggregated: u64,
    #[serde(serialize_with = "maybe_picos_as_micros")]
    first_micros: Option<i64>,
    #[serde(serialize_with = "maybe_picos_as_micros")]
    last_micros: Option<i64>,
    #[serde(serialize_with = "picos_as_micros")]
    busy_micros: i64,
    #[serde(serialize_with = "picos_as_micros")]
    op_micros: i64,
    deepest: usize,
}

#[derive(Serialize)]
struct KindJson {
    events: i64,
    #[serde(serialize_with = "picos_as_micros")]
    inclusive_micros: i64,
    #[serde(serialize_with = "picos_as_micros")]
    micros: i64,
}

#[derive(Serialize)]
struct AssignedByJson {
    line: u64,
    steps_line: u64,
    launch: u64,
    time: u64,
    outside: u64,
}

#[derive(Serialize)]
struct StepJson {
    step: i64,
    #[serde(serialize_with = "picos_as_micros")]
    start_micros: i64,
    #[serde(serialize_with = "picos_as_micros")]
    length_micros: i64,
    #[serde(flatten)]
    ops: OpsJson,
}

#[derive(Serialize)]
struct OpsJson {
    op_events: i64,
    #[serde(serialize_with = "picos_as_micros")]
    op_micros: i64,
}

impl<'a> HostJson<'a> {
    pub fn new(host: &'a HostFacts) -> HostJson<'a> {
        let assigned = host.assigned;
        HostJson {
            host: &host.host,
            file: &host.file,
            errors: &host.errors,
            warnings: &host.profiler_warnings,
            profile_start_time: host.start_time,
            profile_stop_time: host.stop_time,
            smallest_line_timestamp_ns: host.base,
            programs: host.programs,
            planes: host.planes.iter().map(PlaneJson::new).collect(),
            lines: host.lines.iter().map(LineJson::new).collect(),
            kinds: &host.kinds,
            step_rule: host.rule.word(),
            step_marker: &host.marker,
            other_markers: &host.other_markers,
            assigned_by: AssignedByJson {
                line: assigned.line,
                steps_line: assigned.steps_line,
                launch: assigned.launch,
                time: assigned.time,
                outside: assigned.outside,
            },
            steps: host.steps.iter().zip(&host.step_ops).map(|(step, ops)| StepJson::new(step, ops)).collect(),
            outside: OpsJson::new(&host.outside),
        }
    }
}

impl<'a> PlaneJson<'a> {
    fn new(plane: &'a PlaneFacts) -> PlaneJson<'a> {
        PlaneJson { name: &plane.name, lines: plane.lines, events: plane.events }
    }
}

impl<'a> LineJson<'a> {
    fn new(line: &'a LineFacts) -> LineJson<'a> {
        LineJson {
            plane: &line.plane,
            id: line.id,
            name: &line.name,
            display_name: &line.display_name,
            events: line.events,
            aggregated: line.aggregated,
            first_micros: line.first,
            last_micros: line.last,
            busy_micros: line.busy,
            op_micros: line.op_self_time,
            deepest: line.deepest,
        }
    }
}

impl StepJson {
    fn new(step: &StepSpan, ops: &SpanSums) -> StepJson {
        let length_micros = step.end.saturating_sub(step.start);
        StepJson { step: step.number, start_micros: step.start, length_micros, ops: OpsJson::new(ops) }
    }
}

impl OpsJson {
    fn new(sums: &SpanSums) -> OpsJson {
        OpsJson { op_events: sums.runs, op_micros: sums.self_time }
    }
}

/// The kinds that the trace has, by name.
fn by_kind<S: Serializer>(kinds: &[SpanSums], serializer: S) -> Result<S::Ok, S::Error> {
    let kinds = EventKind::ALL.iter().zip(kinds).filter(|(_, sums)| **sums != SpanSums::default());
    serializer.collect_map(kinds.map(|(kind, sums)| {
        let json = KindJson { events: sums.runs, inclusive_micros: sums.total, micros: sums.self_time };
        (kind.word(), json)
    }))
}
