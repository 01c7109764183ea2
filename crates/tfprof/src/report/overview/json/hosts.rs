//! The trace of a host as JSON: its planes, lines, kinds of events and steps.

use crate::json::picos_as_micros;
use crate::model::hosts::{EventKind, HostFacts, LineFacts, PlaneFacts, SpanSums, StepSources, StepSpan};
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
    planes: &'a [PlaneFacts],
    lines: &'a [LineFacts],
    #[serde(serialize_with = "by_kind")]
    kinds: &'a [SpanSums],
    step_rule: &'static str,
    step_marker: &'a str,
    other_markers: &'a [String],
    assigned_by: StepSources,
    steps: Vec<StepJson>,
    outside: OpsJson,
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
        HostJson {
            host: &host.host,
            file: &host.file,
            errors: &host.errors,
            warnings: &host.profiler_warnings,
            profile_start_time: host.start_time,
            profile_stop_time: host.stop_time,
            smallest_line_timestamp_ns: host.base,
            programs: host.programs,
            planes: &host.planes,
            lines: &host.lines,
            kinds: &host.kinds,
            step_rule: host.rule.word(),
            step_marker: &host.marker,
            other_markers: &host.other_markers,
            assigned_by: host.assigned,
            steps: host.steps.iter().zip(&host.step_ops).map(|(step, ops)| StepJson::new(step, ops)).collect(),
            outside: OpsJson::new(&host.outside),
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
