//! `Profile`, as pprof defines it: strings, functions and locations stored once, samples that refer to them.

use crate::budget;
use crate::hash::UntrustedMap;
use crate::metric::{Metric, Unit};
use crate::model::TimeUnit;
use crate::units::Amount;
use crate::view::Line;
use std::borrow::Cow;
use std::io::{self, Write};
use tfprof_proto::fields::pprof::{function, label, line, location, profile, sample, value_type};
use tfprof_proto::write as pb;

/// The label key for the node of a sample.
const NODE_LABEL: &str = "graph node:";

pub struct Profile<'v> {
    metrics: Vec<Metric>,
    /// Picoseconds are written as nanoseconds: pprof has no finer unit.
    time_unit: TimeUnit,
    strings: Strings<'v>,
    /// By file, function and line; ids are in the order of creation, from 1.
    locations: UntrustedMap<(&'v str, Cow<'v, str>, u64), Location>,
    /// By file, name and first line.
    functions: UntrustedMap<(&'v str, Cow<'v, str>, u64), Function>,
    /// Locations that are used once and need no key.
    only: Vec<(Location, Function)>,
    is_sorted: bool,
    /// Each stack as its caller's stack and its innermost location.
    stacks: Vec<(Stack, u64)>,
    samples: Vec<Sample<'v>>,
    /// The count and the metrics of each sample, one after the other.
    values: Vec<i64>,
}

/// A function.
pub struct Frame<'v> {
    pub file: &'v str,
    pub name: Cow<'v, str>,
    /// The name that pprof shows.
    pub shown: Cow<'v, str>,
    pub start: i32,
}

/// A call stack of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack(u32);

impl Stack {
    /// No frame.
    pub const EMPTY: Stack = Stack(u32::MAX);
}

struct Location {
    id: u64,
    function: u64,
    line: i64,
}

struct Function {
    id: u64,
    name: i64,
    file: i64,
    start: i64,
}

struct Sample<'v> {
    /// The node of the sample, as text and as a string of the profile.
    node: Option<(&'v str, i64)>,
    stack: Stack,
    values: u32,
}

impl<'v> Frame<'v> {
    /// `module:function`, which tells more than a bare `<module>` or `call`.
    pub fn of_line(line: &Line<'v>) -> Self {
        let mark = if line.is_gradient { " (gradient)" } else { "" };
        let name: Cow<'v, str> =
            if line.is_gradient { format!("{}{mark}", line.function).into() } else { line.function.into() };
        let base = line.file.rsplit('/').next().unwrap_or_default();
        let module = base.rsplit_once('.').map_or(base, |(module, _)| module);
        Frame { file: line.file, shown: format!("{module}:{name}").into(), name, start: line.function_start }
    }
}

impl<'v> Profile<'v> {
    pub fn new(metrics: &[Metric], time_unit: TimeUnit) -> Self {
        Profile {
            metrics: metrics.to_vec(),
            time_unit,
            strings: Strings::new(),
            locations: UntrustedMap::default(),
            functions: UntrustedMap::default(),
            only: Vec::new(),
            is_sorted: false,
            stacks: Vec::new(),
            samples: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The location of a function at a line of a file.
    pub fn location(&mut self, file: &'v str, line: i32, frame: Frame<'v>) -> u64 {
        // As the original: numbers are ordered as if they had no sign.
        let key = (file, frame.name.clone(), i64::from(line) as u64);
        if let Some(location) = self.locations.get(&key) {
            return location.id;
        }
        let function = self.function(frame);
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(key, Location { id, function, line: line.into() });
        id
    }

    fn function(&mut self, frame: Frame<'v>) -> u64 {
        let start = i64::from(frame.start);
        let next = self.functions.len() as u64 + 1;
        let strings = &mut self.strings;
        let function = self.functions.entry((frame.file, frame.name, start as u64)).or_insert_with(|| Function {
            id: next,
            name: strings.id(frame.shown),
            file: strings.id(frame.file.into()),
            start,
        });
        function.id
    }

    /// The location of a name without a line. Call it once per name.
    pub fn only_location(&mut self, name: &'v str) -> u64 {
        let id = self.only.len() as u64 + 1;
        let function = Function { id, name: self.strings.id(name.into()), file: 0, start: 0 };
        self.only.push((Location { id, function: id, line: 0 }, function));
        id
    }

    /// `around` with one more location.
    pub fn stack(&mut self, around: Stack, location: u64) -> Stack {
        self.stacks.push((around, location));
        Stack(self.stacks.len() as u32 - 1)
    }

    /// Adds a sample: how many nodes it stands for, and its metrics.
    pub fn sample(&mut self, stack: Stack, node: Option<&'v str>, count: i64, metrics: &[i64]) {
        let node = node.map(|node| {
            self.strings.id(NODE_LABEL.into());
            (node, self.strings.id(node.into()))
        });
        let values = self.values.len() as u32;
        self.values.push(count);
        if self.time_unit == TimeUnit::Picos {
            let is_time = |metric: &Metric| metric.info().unit == Unit::Micros;
            let values = self.metrics.iter().zip(metrics);
            self.values.extend(values.map(|(metric, value)| if is_time(metric) { nanos(*value) } else { *value }));
        } else {
            self.values.extend_from_slice(metrics);
        }
        self.samples.push(Sample { node, stack, values });
    }

    /// As the original: samples by the names of nodes, locations and functions by their keys.
    pub fn sort(&mut self) {
        self.samples.sort_by_key(|sample| sample.node);
        self.is_sorted = true;
    }

    pub fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        let label = if self.samples.iter().any(|sample| sample.node.is_some()) {
            self.strings.id(NODE_LABEL.into())
        } else {
            0
        };
        let types = self.sample_types();
        let comment = self.metrics.iter().map(|metric| metric.info().about).collect::<Vec<_>>().join("; ");
        let comment = self.strings.id(comment.into());
        let mut bytes = Vec::new();
        for (name, unit) in &types {
            pb::message(&mut bytes, profile::SAMPLE_TYPE, |out| {
                pb::int(out, value_type::TYPE, *name);
                pb::int(out, value_type::UNIT, *unit);
            });
        }
        for sample in &self.samples {
            flush(&mut bytes, out)?;
            pb::message(&mut bytes, profile::SAMPLE, |out| self.write_sample(sample, label, out));
        }
        let mut locations: Vec<_> = self.locations.iter().collect();
        let mut functions: Vec<_> = self.functions.iter().collect();
        if self.is_sorted {
            locations.sort_unstable_by_key(|(key, _)| *key);
            functions.sort_unstable_by_key(|(key, _)| *key);
        } else {
            locations.sort_unstable_by_key(|(_, location)| location.id);
            functions.sort_unstable_by_key(|(_, function)| function.id);
        }
        let only = self.only.iter().map(|(location, _)| location);
        for location in locations.into_iter().map(|(_, location)| location).chain(only) {
            flush(&mut bytes, out)?;
            pb::message(&mut bytes, profile::LOCATION, |out| {
                pb::int(out, location::ID, location.id as i64);
                pb::message(out, location::LINE, |out| {
                    pb::int(out, line::FUNCTION_ID, location.function as i64);
                    pb::int(out, line::LINE, location.line);
                });
            });
        }
        let only = self.only.iter().map(|(_, function)| function);
        for function in functions.into_iter().map(|(_, function)| function).chain(only) {
            flush(&mut bytes, out)?;
            pb::message(&mut bytes, profile::FUNCTION, |out| {
                pb::int(out, function::ID, function.id as i64);
                pb::int(out, function::NAME, function.name);
                pb::int(out, function::FILENAME, function.file);
                pb::int(out, function::START_LINE, function.start);
            });
        }
        for string in &self.strings.all {
            flush(&mut bytes, out)?;
            pb::element(&mut bytes, profile::STRING_TABLE, string.as_bytes());
        }
        pb::packed(&mut bytes, profile::COMMENT, &[comment]);
        if let (Some((first, _)), true) = (types.get(1), types.len() > 2) {
            // pprof shows the last metric unless it is told which.
            pb::int(&mut bytes, profile::DEFAULT_SAMPLE_TYPE, *first);
        }
        out.write_all(&bytes)
    }

    fn write_sample(&self, sample: &Sample<'_>, label: i64, out: &mut Vec<u8>) {
        let mut ids = Vec::new();
        let mut stack = sample.stack;
        while let Some((around, location)) = self.stacks.get(stack.0 as usize) {
            ids.push(*location as i64);
            stack = *around;
        }
        // The format has the whole stack in each sample, so a deep tree grows with its square.
        budget::work(2 * ids.len() as u64);
        pb::packed(out, sample::LOCATION_ID, &ids);
        pb::packed(out, sample::VALUE, &self.values[sample.values as usize..][..=self.metrics.len()]);
        if let Some((_, node)) = sample.node {
            pb::message(out, sample::LABEL, |out| {
                pb::int(out, label::KEY, label);
                pb::int(out, label::STR, node);
            });
        }
    }

    /// Names and units: how many nodes, then the metrics.
    fn sample_types(&mut self) -> Vec<(i64, i64)> {
        let count = self.strings.id("count".into());
        let mut types = vec![(count, count)];
        for metric in &self.metrics {
            let info = metric.info();
            let unit = match info.unit {
                Unit::Micros if self.time_unit == TimeUnit::Picos => "nanoseconds",
                Unit::Micros => "microseconds",
                Unit::Bytes => "bytes",
                Unit::Count | Unit::BytesPerSecond | Unit::FlopsPerSecond | Unit::Share => "count",
            };
            // One word stands for two numbers there; this is the first of them.
            let name = if *metric == Metric::Runs { info.key } else { info.word.unwrap_or(info.key) };
            types.push((self.strings.id(name.into()), self.strings.id(unit.into())));
        }
        types
    }
}

/// The nearest number of nanoseconds.
fn nanos(picos: i64) -> i64 {
    Amount { n: picos, parts: 1000 }.rounded()
}

/// Writes the gathered bytes once there are many.
fn flush(bytes: &mut Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    if bytes.len() > 64 * 1024 {
        out.write_all(bytes)?;
        bytes.clear();
    }
    Ok(())
}

/// Strings by number, the empty one first.
struct Strings<'v> {
    all: Vec<Cow<'v, str>>,
    ids: UntrustedMap<Cow<'v, str>, i64>,
}

impl<'v> Strings<'v> {
    fn new() -> Self {
        let mut strings = Strings { all: Vec::new(), ids: UntrustedMap::default() };
        strings.id("".into());
        strings
    }

    fn id(&mut self, string: Cow<'v, str>) -> i64 {
        if let Some(id) = self.ids.get(&string) {
            return *id;
        }
        let id = self.all.len() as i64;
        self.all.push(string.clone());
        self.ids.insert(string, id);
        id
    }
}
