//! Advice: checkers look for problems in the loaded data and report them with their figures.
//!
//! Each checker has its own file and a row in [`CHECKERS`]. A checker that lacks data says so instead of guessing.

mod accelerator;
mod balance;
mod communication;
mod compilation;
mod copies;
mod expensive;
mod fallback;
pub mod finding;
mod fusion;
mod host;
mod idle;
mod input;
mod layout;
mod limit;
mod loader;
mod memory;
mod operation;
mod precision;
mod recomputation;
mod stragglers;
mod synchronisation;
mod tiny;
mod transfers;
mod waiting;
mod warm_up;
mod work;

use crate::error::{Error, OneLine, Warning};
use crate::json::{self, Level};
use crate::metric::{Metric, Unit};
use crate::model::Model;
use crate::model::activity::Activity;
use crate::model::cells::{Cell, Measure};
use crate::model::devices::DeviceKind;
use crate::model::layers::Layer;
use crate::model::nodes::NodeId;
use crate::quirks::Quirks;
use crate::render::html::{self, Container, FINDING, Grid};
use crate::units::Amount;
use crate::{units, words};
use finding::Finding;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;
use tfprof_proto::fields::advice::{self, checker};
use tfprof_proto::fields::map_entry;
use tfprof_proto::write as pb;

#[derive(Debug)]
#[non_exhaustive]
pub struct Checker {
    pub name: &'static str,
    pub about: &'static str,
    /// The original has it, with the same figures.
    pub original: bool,
    check: Option<fn(&Evidence<'_>, &mut Advice)>,
    subject: Subject,
}

/// The programs that a checker's rules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// TensorFlow and JAX.
    Graphs,
    /// Those, and PyTorch.
    Models,
    /// Also browsers, compilers and others that write Chrome traces.
    Any,
}

impl Checker {
    const fn about(self, subject: Subject) -> Checker {
        Checker { subject, ..self }
    }
}

const fn original(name: &'static str, check: fn(&Evidence<'_>, &mut Advice), about: &'static str) -> Checker {
    Checker { name, about, original: true, check: Some(check), subject: Subject::Models }
}

const fn ours(name: &'static str, check: fn(&Evidence<'_>, &mut Advice), about: &'static str) -> Checker {
    Checker { name, about, original: false, check: Some(check), subject: Subject::Models }
}

/// All checkers, in the order in which they report.
pub const CHECKERS: &[Checker] = &[
    original("AcceleratorUtilizationChecker", accelerator::check, "how busy each GPU or TPU was"),
    original("OperationChecker", operation::check, "ops for which there are faster ones").about(Subject::Graphs),
    original("ExpensiveOperationChecker", expensive::check, "op types, scopes and lines that take the most time")
        .about(Subject::Any),
    // As the original: a valid name that checks nothing.
    Checker {
        name: "JobChecker",
        about: "nothing; the original has the name only",
        original: true,
        check: None,
        subject: Subject::Any,
    },
    ours("TransferChecker", transfers::check, "copies between host and GPU against the work of the GPU")
        .about(Subject::Graphs),
    ours("BalanceChecker", balance::check, "devices or parameter servers that wait for one of them"),
    ours("FallbackChecker", fallback::check, "ops that ran on the CPU although their kind runs on the accelerator")
        .about(Subject::Graphs),
    ours("TinyOpChecker", tiny::check, "ops that cost more to start than to run"),
    ours("InputChecker", input::check, "accelerators that wait for input"),
    ours("HostChecker", host::check, "accelerators that wait for ops of the host"),
    ours("IdleChecker", idle::check, "gaps in steps, in which nothing runs"),
    ours("CommunicationChecker", communication::check, "collectives that no compute hides"),
    ours("StragglerChecker", stragglers::check, "a rank that computes longer than the others"),
    ours("SynchronisationChecker", synchronisation::check, "calls in which the host waits for the device"),
    ours("LoaderChecker", loader::check, "steps that wait for PyTorch's data loader"),
    ours("CopyChecker", copies::check, "copies by way of pageable memory of the host"),
    ours("FusionChecker", fusion::check, "elementwise ops that run one by one"),
    ours("LayoutChecker", layout::check, "transposes, changes of layout and copies"),
    ours("PrecisionChecker", precision::check, "float32 while tensor cores idle"),
    ours("CompilationChecker", compilation::check, "compilers that run inside steps"),
    ours("WarmUpChecker", warm_up::check, "first steps that take longer than the others"),
    ours("RecomputationChecker", recomputation::check, "forward ops that the backward pass computes again"),
    ours("MemoryLimitChecker", limit::check, "memory near the limit, and the ops that hold it"),
    ours("MemoryPeakChecker", memory::check, "which ops hold the memory at its peak"),
];

/// The findings of one checker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    #[serde(rename = "name")]
    pub checker: &'static str,
    /// The original has this checker.
    #[serde(skip)]
    pub original: bool,
    pub reports: Vec<String>,
    /// The reports whose saving can be told, in parts.
    pub findings: Vec<Finding>,
    /// The checks that the data does not allow, and why.
    pub notes: Vec<String>,
}

/// The data that checkers look at.
struct Evidence<'m> {
    model: &'m Arc<Model>,
    quirks: Quirks,
}

/// Runs the named checkers in the order of [`CHECKERS`].
pub fn advise(model: &Arc<Model>, names: &[String], quirks: Quirks) -> Result<Vec<Advice>, Error> {
    check_names(names).map_err(Error::Question)?;
    let evidence = Evidence { model, quirks };
    let asked = CHECKERS.iter().filter(|checker| names.iter().any(|name| name == checker.name));
    Ok(asked
        .filter_map(|checker| {
            let check = checker.check?;
            let Checker { name, original, .. } = *checker;
            let mut advice =
                Advice { checker: name, original, reports: Vec::new(), findings: Vec::new(), notes: Vec::new() };
            match checker.subject {
                Subject::Graphs if evidence.is_other_trace() => {
                    advice.note("its rules are for graphs of TensorFlow and JAX; this is another kind of trace");
                }
                Subject::Graphs | Subject::Models if evidence.is_of_another_program() => {
                    advice.note("its rules are for models; this is the trace of another program");
                }
                _ => check(&evidence, &mut advice),
            }
            Some(advice)
        })
        .collect())
}

/// Rejects unknown names of checkers.
pub fn check_names(names: &[String]) -> Result<(), String> {
    let known: Vec<&str> = CHECKERS.iter().map(|checker| checker.name).collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(words::unknown("checker", name, &known)),
        None => Ok(()),
    }
}

/// The names of all checkers, or of the original's under its quirks.
pub fn default_names(quirks: Quirks) -> Vec<String> {
    let ours = quirks != Quirks::ORIGINAL;
    CHECKERS.iter().filter(|checker| checker.original || ours).map(|checker| checker.name.to_owned()).collect()
}

/// The sums of a node on a device.
struct DeviceCell<'m> {
    cell: Cell<'m>,
    kind: DeviceKind,
    device: &'m str,
}

impl Evidence<'_> {
    /// Whether a trace of PyTorch or of another program was read.
    fn is_other_trace(&self) -> bool {
        self.model.hosts.iter().any(|host| host.recording.is_some())
    }

    /// Whether nothing but traces of programs were read that are no models: of browsers, compilers and others.
    fn is_of_another_program(&self) -> bool {
        let hosts = &self.model.hosts;
        !hosts.is_empty() && hosts.iter().all(|host| host.recording.is_some() && host.framework.is_none())
    }

    /// The number of steps to average over, at least 1.
    fn steps(&self) -> i64 {
        (self.model.runs.steps().count() as i64).max(1)
    }

    /// The sums of ops over all steps, by node and device.
    fn cells(&self) -> impl Iterator<Item = DeviceCell<'_>> {
        self.cells_of(Layer::Ops)
    }

    fn cells_of(&self, layer: Layer) -> impl Iterator<Item = DeviceCell<'_>> {
        let Model { runs, devices, names, nodes, .. } = &**self.model;
        let cells = runs.totals().rows();
        cells
            .filter(move |cell| nodes.layer(cell.node) == layer)
            .filter(|cell| self.model.counts(cell.node, cell.device, self.quirks.first_device_only))
            .map(|cell| {
                let (kind, device) = (devices.kind(cell.device), names.get(devices.name(cell.device)));
                DeviceCell { cell, kind, device }
            })
    }

    /// The ops that ran on an accelerator of a trace. On the host, such an op has the time of its launch.
    fn accelerated(&self) -> BTreeSet<NodeId> {
        let cells = self.cells().filter(|cell| self.is_accelerator(cell.kind));
        cells.map(|cell| cell.cell.node).collect()
    }

    /// Whether a device of this kind is an accelerator of a trace.
    fn is_accelerator(&self, kind: DeviceKind) -> bool {
        self.model.is_trace && kind == DeviceKind::Other
    }

    /// The time of a cell in microseconds.
    fn time_of(&self, cell: Cell<'_>) -> i64 {
        Amount { n: cell.sum(Measure::Micros).limited(), parts: self.model.parts(Metric::Micros) }.rounded()
    }

    /// The ops of hosts and their time a step, those of accelerators left out, by op type.
    fn host_ops(&self, wanted: impl Fn(&str) -> bool) -> Vec<(String, i64)> {
        self.by_op(|cell| {
            cell.device.contains("cpu") && !work::is_range(self.op(cell.cell)) && wanted(self.op(cell.cell))
        })
    }

    /// The ops that exchange results between accelerators, by op type.
    fn collectives(&self) -> Vec<(String, i64)> {
        self.by_op(|cell| {
            let texts = [self.model.name(cell.cell.node), self.op(cell.cell), ""];
            !cell.device.contains("cpu") && Activity::on_device(texts) == Activity::Collective
        })
    }

    /// The time a step by op type, in microseconds.
    fn by_op(&self, wanted: impl Fn(&DeviceCell<'_>) -> bool) -> Vec<(String, i64)> {
        self.by_name(Layer::Ops, wanted)
    }

    /// The same for another layer.
    fn by_name(&self, layer: Layer, wanted: impl Fn(&DeviceCell<'_>) -> bool) -> Vec<(String, i64)> {
        self.sums(layer, |cell| wanted(cell).then(|| self.op(cell.cell)))
    }

    /// Calls of the runtime, such as `cudaLaunchKernel`, by the names of their rows: one op type has them all.
    fn runtime_calls(&self, wanted: impl Fn(&str) -> bool) -> Vec<(String, i64)> {
        self.sums(Layer::Runtime, |cell| {
            let row = self.model.names.get(self.model.nodes.name[cell.cell.node.index()]);
            wanted(row.rsplit('/').next().unwrap_or(row)).then_some(row)
        })
    }

    /// The time a step of the cells that get a name, by that name.
    fn sums<'s>(&'s self, layer: Layer, name: impl Fn(&DeviceCell<'_>) -> Option<&'s str>) -> Vec<(String, i64)> {
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        for cell in self.cells_of(layer) {
            let Some(name) = name(&cell) else { continue };
            let sum = sums.entry(name).or_default();
            *sum = sum.saturating_add(self.time_of(cell.cell));
        }
        let a_step = |(name, time): (&str, i64)| (name.to_owned(), time / self.steps());
        sums.into_iter().map(a_step).filter(|(_, time)| *time > 0).collect()
    }

    fn op(&self, cell: Cell<'_>) -> &str {
        self.model.names.get(self.model.nodes.op[cell.node.index()])
    }
}

impl Advice {
    /// Names from files do not break a report into lines.
    fn report(&mut self, text: &str) {
        self.report_lines(&[text.to_owned()]);
    }

    fn report_lines(&mut self, lines: &[String]) {
        self.reports.push(lines.iter().map(|line| OneLine(line).to_string()).collect::<Vec<_>>().join("\n"));
    }

    fn find(&mut self, finding: Finding) {
        self.report(&finding.text());
        self.findings.push(finding);
    }

    fn note(&mut self, text: &str) {
        self.notes.push(OneLine(text).to_string());
    }
}

fn micros(n: i64) -> String {
    units::text(Unit::Micros, n)
}

fn bytes(n: i64) -> String {
    units::text(Unit::Bytes, n)
}

/// The largest of `sums`, by size and then by name, as `name 1.00ms, name 2us`.
fn largest<'n>(sums: impl IntoIterator<Item = (&'n str, i64)>, count: usize, unit: Unit) -> String {
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, n)| *n > 0).collect();
    sums.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let shown: Vec<_> = sums.iter().take(count).map(|(name, n)| format!("{name} {}", units::text(unit, *n))).collect();
    shown.join(", ")
}

/// Adds to a sum, which stays at its limit.
fn grow(sum: &mut i64, more: i64) {
    *sum = sum.saturating_add(more);
}

/// `part` of `whole` in percent.
fn percent(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Writes advice as text, one block per checker; without notes under the original's quirks.
pub fn write_text(advice: &[Advice], quirks: Quirks, out: &mut dyn Write) -> io::Result<()> {
    if quirks != Quirks::ORIGINAL {
        finding::write_ranking(advice, out)?;
    }
    for advice in advice {
        writeln!(out, "\n{}:", advice.checker)?;
        for report in &advice.reports {
            writeln!(out, "{report}")?;
        }
        if quirks == Quirks::ORIGINAL {
            continue;
        }
        for note in &advice.notes {
            writeln!(out, "({note})")?;
        }
        if advice.reports.is_empty() && advice.notes.is_empty() {
            writeln!(out, "(nothing stands out)")?;
        }
    }
    Ok(())
}

/// Writes advice as HTML: a row for each finding.
pub fn write_html(advice: &[Advice], container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = Vec::new();
    let mut found = 0;
    for Advice { checker, reports, notes, .. } in advice {
        let mut row = |kind: &str, text: &str| rows.push([checker, kind, text.trim_end()].map(str::to_owned).to_vec());
        reports.iter().for_each(|report| row("finding", report));
        notes.iter().for_each(|note| row("not checked", note));
        if reports.is_empty() && notes.is_empty() {
            row("fine", "nothing stands out");
        }
        found += reports.len();
    }
    let head = vec!["checker", "kind", FINDING];
    let foot = format!("{found} finding{} of {} checkers", if found == 1 { "" } else { "s" }, advice.len());
    html::write_grid("advice", &Grid { head, rows, is_number: Vec::new(), foot }, container, out)
}

/// Writes advice as an `AdviceProto`, sorted by name; under the original's quirks, only its own checkers.
pub fn write_proto(advice: &[Advice], quirks: Quirks, out: &mut dyn Write) -> io::Result<()> {
    let mut entries: Vec<_> = advice.iter().filter(|advice| advice.original || quirks != Quirks::ORIGINAL).collect();
    entries.sort_by_key(|advice| advice.checker);
    let mut bytes = Vec::new();
    for advice in entries {
        pb::message(&mut bytes, advice::CHECKERS, |out| {
            pb::element(out, map_entry::KEY, advice.checker.as_bytes());
            pb::message(out, map_entry::VALUE, |out| {
                advice.reports.iter().for_each(|report| pb::element(out, checker::REPORTS, report.as_bytes()));
            });
        });
    }
    out.write_all(&bytes)
}

const LINES: &[Level] = &[Level { keys: &["warnings", "columns", "rows"], rows: &["warnings", "rows"] }];

#[derive(Serialize)]
struct ReportJson<'a> {
    version: u32,
    command: &'static str,
    warnings: &'a [Warning],
    columns: [&'static str; 4],
    rows: &'a [Advice],
}

/// Writes advice as JSON: one row per checker, with its reports, findings and notes. `warnings` are those of loading.
pub fn write_json(advice: &[Advice], warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    let columns = ["name", "reports", "findings", "notes"];
    json::write_report(&ReportJson { version: 1, command: "advise", warnings, columns, rows: advice }, LINES, out)
}
