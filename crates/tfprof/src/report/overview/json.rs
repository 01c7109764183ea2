//! An overview as JSON: the figures under `overview`, the largest rows under `rows` as views have them.

use crate::error::Warning;
use crate::json::{self, Level, picos_as_micros};
use crate::model::activity::{DeviceFacts, StepParts};
use crate::model::allocators::{AllocatorFacts, MemorySample};
use crate::model::hosts::{
    AllocatorPeak, EventKind, HostFacts, LineFacts, PlaneFacts, SpanSums, StepSources, StepSpan,
};
use crate::report::overview::hosts::{Recording, date, framework};
use crate::report::overview::ranks::{self, Ranks};
use crate::report::overview::{DeviceTime, InputFile, MemoryPeak, Missing, Overview, StepTime};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::io::{self, Write};

const LINES: &[Level] = &[
    Level { keys: &["warnings", "overview", "columns", "rows"], rows: &["warnings", "rows"] },
    Level {
        keys: &["nodes", "steps", "devices", "memory_peak", "framework", "hosts", "missing", "deeper"],
        rows: &["hosts"],
    },
    Level { keys: &["planes", "lines", "kinds", "step_rule", "steps"], rows: &[] },
];

#[derive(Serialize)]
struct ReportJson<'a> {
    version: u32,
    command: &'static str,
    options: Numbers,
    warnings: &'a [Warning],
    overview: OverviewJson<'a>,
    columns: [&'static str; 1],
    rows: Vec<RowJson<'a>>,
}

#[derive(Serialize)]
struct OverviewJson<'a> {
    files: &'a [InputFile],
    /// Only of model files that say something.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    stated: BTreeMap<&'static str, &'a str>,
    nodes: usize,
    op_types: usize,
    params: i64,
    trainable_params: Option<i64>,
    float_ops: i64,
    float_ops_cover: Option<f64>,
    micros: i64,
    steps: &'a [StepTime],
    devices: &'a [DeviceTime],
    memory_peak: Option<&'a MemoryPeak>,
    #[serde(flatten)]
    profile: Option<ProfileJson<'a>>,
    missing: &'a [Missing],
    deeper: Vec<&'a str>,
}

/// Only if there are profiles of hosts.
#[derive(Serialize)]
struct ProfileJson<'a> {
    framework: String,
    recorded: Option<String>,
    #[serde(rename = "length_micros", serialize_with = "picos_as_micros")]
    length: i64,
    run: &'a str,
    other_runs: &'a [String],
    ranks: Option<Ranks>,
    hosts: Vec<HostJson<'a>>,
}

#[derive(Serialize)]
struct RowJson<'a> {
    id: usize,
    parent: Option<usize>,
    depth: usize,
    name: &'a str,
    #[serde(rename = "self")]
    own: Numbers,
    total: Numbers,
}

/// Numbers by the key of their metric.
type Numbers = BTreeMap<&'static str, i64>;

/// Writes one object and a newline.
pub fn write_json(overview: &Overview, out: &mut dyn Write) -> io::Result<()> {
    let Recording { start, length } = Recording::of(&overview.hosts);
    let profile = (!overview.hosts.is_empty()).then(|| ProfileJson {
        framework: framework(&overview.hosts),
        recorded: start.map(date),
        length,
        run: &overview.run,
        other_runs: &overview.other_runs,
        ranks: ranks::compare(&overview.hosts),
        hosts: overview.hosts.iter().map(HostJson::new).collect(),
    });
    let report = ReportJson {
        version: 1,
        command: "info",
        options: Numbers::new(),
        warnings: &overview.warnings,
        overview: OverviewJson {
            files: &overview.files,
            stated: overview.stated.iter().map(|(topic, text)| (*topic, text.as_str())).collect(),
            nodes: overview.nodes,
            op_types: overview.op_types,
            params: overview.parameters,
            trainable_params: overview.trainable,
            float_ops: overview.float_ops,
            float_ops_cover: overview.float_ops_cover,
            micros: overview.micros,
            steps: &overview.steps,
            devices: &overview.devices,
            memory_peak: overview.memory_peak.as_ref(),
            profile,
            missing: &overview.missing,
            deeper: overview.deeper.iter().map(|next| next.words.as_str()).collect(),
        },
        columns: [overview.metric.info().key],
        rows: rows(overview),
    };
    json::write_report(&report, LINES, out)
}

/// A root for each table, and below it the rows.
fn rows(overview: &Overview) -> Vec<RowJson<'_>> {
    let key = overview.metric.info().key;
    let mut rows: Vec<RowJson<'_>> = Vec::new();
    let mut add = |parent: Option<usize>, name, number| {
        let (id, depth) = (rows.len(), usize::from(parent.is_some()));
        rows.push(RowJson { id, parent, depth, name, own: Numbers::new(), total: Numbers::from([(key, number)]) });
        id
    };
    for top in &overview.top {
        let root = add(None, top.view.word(), overview.whole);
        for (name, number) in &top.rows {
            add(Some(root), name, *number);
        }
    }
    rows
}

#[derive(Serialize)]
struct HostJson<'a> {
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
    steps: Vec<StepJson<'a>>,
    outside: OpsJson,
    memory_peak: Option<&'a AllocatorPeak>,
    devices: &'a [DeviceFacts],
    allocators: Vec<AllocatorJson<'a>>,
}

#[derive(Serialize)]
struct AllocatorJson<'a> {
    allocator: &'a str,
    samples: u64,
    peak_bytes: i64,
    lifetime_peak_bytes: i64,
    capacity_bytes: Option<i64>,
    at_peak: MemorySample,
    over_time: Vec<InUseJson>,
}

#[derive(Serialize)]
struct InUseJson {
    #[serde(serialize_with = "picos_as_micros")]
    micros: i64,
    bytes: i64,
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
struct StepJson<'a> {
    step: i64,
    #[serde(serialize_with = "picos_as_micros")]
    start_micros: i64,
    #[serde(serialize_with = "picos_as_micros")]
    length_micros: i64,
    #[serde(flatten)]
    ops: OpsJson,
    parts: Option<&'a StepParts>,
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
            steps: (0..host.steps.len().min(host.step_ops.len())).map(|at| StepJson::new(host, at)).collect(),
            outside: OpsJson::new(&host.outside),
            memory_peak: host.memory_peak.as_ref(),
            devices: &host.devices,
            allocators: host.allocators.iter().map(AllocatorJson::new).collect(),
        }
    }
}

impl<'a> AllocatorJson<'a> {
    fn new(facts: &'a AllocatorFacts) -> AllocatorJson<'a> {
        AllocatorJson {
            allocator: &facts.name,
            samples: facts.samples,
            peak_bytes: facts.peak.in_use(),
            lifetime_peak_bytes: facts.lifetime_peak,
            capacity_bytes: facts.peak.capacity(),
            at_peak: facts.peak,
            over_time: facts.over_time.each().map(|(micros, bytes)| InUseJson { micros, bytes }).collect(),
        }
    }
}

impl<'a> StepJson<'a> {
    fn new(host: &'a HostFacts, at: usize) -> StepJson<'a> {
        let StepSpan { number: step, start: start_micros, length: length_micros, .. } = host.steps[at];
        let ops = OpsJson::new(&host.step_ops[at]);
        StepJson { step, start_micros, length_micros, ops, parts: host.step_parts.get(at) }
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
