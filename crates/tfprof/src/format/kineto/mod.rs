//! Traces of PyTorch's profiler (Kineto), and other Chrome traces: JSON, plain or gzipped.
//!
//! `stream.rs` finds the events in a sliding window (`scan.rs`: positions, no values), `event.rs` picks the fields that
//! matter, `collect.rs` turns events into the spans of `events::held`, which does the rest.

mod collect;
mod event;
pub mod lanes;
mod plain;
mod scan;
mod shapes;
pub mod stream;
mod top_level;

pub use event::Event;
pub use scan::{nanos, unescape};

use crate::budget::Limits;
use crate::error::{Error, Location, Warning};
use crate::events::held::StepMarks;
use crate::events::{HostFile, HostProfile, TraceSettings};
use crate::foreign;
use crate::format::source::{STDIN, Source};
use crate::model::hosts::{HostFacts, StepRule};
use collect::{Collector, STEP, number_at_end};
use std::io::Read;
use std::path::{Path, PathBuf};
use stream::{Fault, Outcome};
use tfprof_proto::stream::Spot;

/// The name of the format.
pub const NAME: &str = "trace";

/// A trace that can be read again.
#[derive(Debug)]
pub struct TraceFile {
    pub name: String,
    content: Content,
    size: u64,
}

#[derive(Debug)]
enum Content {
    File(PathBuf, Limits),
    /// A pipe or memory; and how its compressed data ended early, if it did.
    Memory(Vec<u8>, Option<String>),
}

/// Whether the first bytes are those of a trace: an object with events, or a list of them.
pub(crate) fn recognizes(head: &[u8]) -> bool {
    foreign::is_trace(head)
}

/// Opens a trace. A file is read on demand, a pipe at once.
pub fn open(path: &Path, mut source: Source<'_>) -> Result<TraceFile, Error> {
    let name = source.name.clone();
    if path.is_file() && name != STDIN {
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        return Ok(TraceFile { name, content: Content::File(path.to_owned(), source.limits), size });
    }
    let mut bytes = Vec::new();
    let cut = match source.input.read_to_end(&mut bytes) {
        Ok(_) => None,
        Err(error) if stream::is_damage(&error) => {
            Some(format!("the compressed data is damaged or cut short ({error})"))
        }
        Err(error) => return Err(Error::Io { file: name, action: "cannot read", source: error }),
    };
    let size = bytes.len() as u64;
    Ok(TraceFile { name, content: Content::Memory(bytes, cut), size })
}

impl TraceFile {
    /// Visits all events.
    pub(crate) fn visit(&self, visitor: &mut impl stream::Visitor) -> Result<Outcome, Error> {
        let outcome = match &self.content {
            Content::File(path, limits) => {
                let mut source = Source::open_with(path, *limits, &|_| {})?;
                stream::read(&mut source.input, visitor)
            }
            Content::Memory(bytes, _) => stream::read(&bytes[..], visitor),
        };
        let mut outcome = outcome.map_err(|fault| self.error(fault))?;
        if let Content::Memory(bytes, Some(cut)) = &self.content {
            outcome.cut = Some((bytes.len() as u64, cut.clone()));
        }
        Ok(outcome)
    }

    fn error(&self, fault: Fault) -> Error {
        let file = self.name.clone();
        match fault {
            Fault::Io(error) if stream::is_damage(&error) => {
                let message = format!("the compressed data is damaged or cut short ({error})");
                Error::Input { location: Location { file, spot: None }, message }
            }
            Fault::Io(error) => Error::Io { file, action: "cannot read", source: error },
            Fault::NotATrace(offset) => {
                let location = Location { file, spot: Some(Spot::Byte(offset)) };
                let message = "not a trace: expected a JSON object with `traceEvents`, or a list of events".to_owned();
                Error::Input { location, message }
            }
        }
    }

    /// Warnings about damage; an error if nothing could be read.
    pub(crate) fn damage(&self, outcome: &Outcome) -> Result<Vec<Warning>, Error> {
        let at = |offset: Option<u64>| Location { file: self.name.clone(), spot: offset.map(Spot::Byte) };
        let refuse = |message: &str| Error::Input { location: at(None), message: message.to_owned() };
        if !outcome.has_list {
            return Err(refuse("it has no list `traceEvents`; was the trace written completely?"));
        }
        if outcome.events == 0 && outcome.lost == 0 && outcome.cut.is_none() {
            return Err(self.no_events());
        }
        let mut warnings = Vec::new();
        if let Some(offset) = outcome.first_lost {
            let count = outcome.lost;
            let places = if count == 1 { "one place".to_owned() } else { format!("{count} places") };
            let message = format!(
                "the text is no JSON at {places}, the first of them here: an event is lost at each. torch does not escape \
                 quotes in the names of ranges"
            );
            warnings.push(Warning::new("lost_events", message).at(at(Some(offset))).with_damage());
        }
        if let Some(offset) = outcome.first_garbled {
            let count = outcome.garbled;
            let events = if count == 1 { "one event has".to_owned() } else { format!("{count} events have") };
            let message = format!("{events} bytes that are no UTF-8, the first of them here: the file is damaged");
            warnings.push(Warning::new("garbled_text", message).at(at(Some(offset))).with_damage());
        }
        if let Some((offset, why)) = &outcome.cut {
            let message = format!("{why}; the answer is about the {} events before", outcome.events);
            warnings.push(Warning::new("cut_file", message).at(at(Some(*offset))).with_damage());
        }
        Ok(warnings)
    }

    fn no_events(&self) -> Error {
        let message = format!("this trace {}; let the profiler run while the model does", super::NO_EVENTS);
        Error::Input { location: Location { file: self.name.clone(), spot: None }, message }
    }

    /// Warnings about malformed events.
    fn oddities(&self, collector: &Collector, warnings: &mut Vec<Warning>) {
        let at = || Location { file: self.name.clone(), spot: None };
        let mut warn = |code, message: String| warnings.push(Warning::new(code, message).at(at()));
        if collector.counts.untimed > 0 {
            let count = collector.counts.untimed;
            let events = if count == 1 { "one event has".to_owned() } else { format!("{count} events have") };
            warn("untimed_events", format!("{events} no start, or no number as start or length: left out"));
        }
        if collector.counts.unclosed > 0 {
            let count = collector.counts.unclosed;
            warn("open_events", format!("{count} events have no end: they end with the recording"));
        }
    }
}

impl HostFile for TraceFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, settings: &TraceSettings) -> Result<HostProfile, Error> {
        let mut collector = Collector::new(settings.wanted);
        let outcome = self.visit(&mut collector)?;
        let mut warnings = self.damage(&outcome)?;
        if warnings.is_empty() && !collector.has_events() {
            return Err(self.no_events());
        }
        collector.finish();
        self.oddities(&collector, &mut warnings);
        let facts = self.facts(&collector, &outcome);
        let marks = StepMarks {
            pattern: settings.step_marker.as_ref(),
            name: STEP.trim_end_matches('#'),
            number: number_at_end,
            rule: StepRule::ProfilerSteps,
        };
        let mut host = collector.trace.finish(facts, marks, settings.wanted);
        host.warnings = warnings;
        Ok(host)
    }
}

impl TraceFile {
    fn facts(&self, collector: &Collector, outcome: &Outcome) -> HostFacts {
        let top = &collector.top;
        let rank = top.rank.or_else(|| rank_of(&self.name));
        let is_kineto = collector.is_kineto();
        let mut about = Vec::new();
        let mut devices: Vec<(String, usize)> = Vec::new();
        for device in &top.devices {
            match devices.last_mut().filter(|(last, _)| last == device) {
                Some((_, count)) => *count += 1,
                None => devices.push((device.clone(), 1)),
            }
        }
        for (device, count) in devices {
            about.push(("devices".to_owned(), if count == 1 { device } else { format!("{count} x {device}") }));
        }
        if !top.settings.is_empty() {
            about.push(("recorded with".to_owned(), top.settings.join(", ")));
        }
        if !top.backend.is_empty() {
            about.push(("backend".to_owned(), top.backend.clone()));
        }
        about.extend(top.versions.iter().map(|(key, version)| (key.replace('_', " "), version.clone())));
        let start = collector.trace.start;
        let start_time = match (top.base, start) {
            (Some(base), Some(start)) => Some(base.wrapping_add_signed(start)),
            // Without a base, times are absolute, or count from some start of their own.
            (None, Some(start)) if start > 1_000_000_000_000_000_000 => Some(start as u64),
            _ => None,
        };
        HostFacts {
            file: self.name.clone(),
            host: rank.map_or_else(|| host_of(&self.name), |rank| format!("rank{rank}")),
            framework: is_kineto.then(|| "PyTorch".to_owned()),
            recording: Some(kind(collector, outcome).to_owned()),
            start_time: start_time.filter(|_| is_kineto),
            has_shapes: collector.counts.with_shapes,
            rank: rank.filter(|_| is_kineto),
            world_size: top.world_size,
            about,
            ..HostFacts::default()
        }
    }
}

/// Whether an event marks a step on its thread; its copy on a GPU stream does not.
pub(crate) fn is_step(event: &Event<'_>) -> bool {
    event.name.starts_with(STEP.as_bytes()) && event.category != b"gpu_user_annotation"
}

/// The number of a step.
pub(crate) fn step_number(name: &str) -> Option<i64> {
    number_at_end(name)
}

/// The kind of trace, with its article.
fn kind(collector: &Collector, outcome: &Outcome) -> &'static str {
    if collector.is_kineto() {
        return "a Kineto trace of PyTorch";
    }
    let names = &collector.trace.names;
    let has = |category: &str| names.find(category.as_bytes()).is_some();
    if has("action processing") || has("critical path component") {
        "a profile of Bazel"
    } else if has("ExecuteCompiler") || has("Total ExecuteCompiler") {
        "a time trace of clang"
    } else if has("Op") {
        "a timeline of TensorFlow"
    } else if has("toplevel") || has("cc") || has("blink") || has("devtools.timeline") {
        "a trace of Chromium"
    } else if outcome.is_bare_list {
        "a Chrome trace (a bare list of events)"
    } else {
        "a Chrome trace"
    }
}

/// The rank in the name of a file or of its directory: `rank-0`, `rank3.json`, `worker1.pt.trace.json`.
fn rank_of(file: &str) -> Option<i64> {
    let after = |part: &str, word: &str| -> Option<i64> {
        let at = part.to_ascii_lowercase().rfind(word)? + word.len();
        let rest = part.get(at..)?.trim_start_matches(['-', '_', '.', '=']);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    let parts = file.rsplit(['/', '\\']).take(2);
    parts.flat_map(|part| ["rank", "worker"].into_iter().filter_map(move |word| after(part, word))).next()
}

/// The name of a host from that of its file.
fn host_of(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.split(['.']).next().filter(|stem| !stem.is_empty()).unwrap_or("trace").to_owned()
}

#[cfg(test)]
mod tests;
