//! Turns events into the spans of a [`HeldTrace`]: the category of an event decides its kind.

use super::event::{Args, Event};
use super::plain::OpenBegins;
use super::scan::{bits, integer, nanos, unescape};
use super::shapes::ShapeTable;
use super::stream::Visitor;
use super::top_level::TopLevel;
use crate::events::SourceLine;
use crate::events::held::{
    CallSpan, Collective, DeviceSpan, DeviceWork, HeldTrace, HostKind, HostSpan, LaunchSpan, LineKind, MemoryEvent,
    NONE, Sequence,
};
use crate::events::walk::Wanted;
use crate::hash::UntrustedMap;
use crate::model::names::{NameId, Names};
use crate::model::op_facts::Launch;
use std::collections::BTreeMap;

/// The kind of an event, by its category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Op,
    Range,
    Call,
    Launch,
    Device(DeviceWork),
    /// A category of PyTorch's profiler that is ignored.
    Mark,
    /// A category of another program.
    Plain,
}

fn kind_of(category: &[u8]) -> Kind {
    match category {
        b"cpu_op" | b"Operator" => Kind::Op,
        b"user_annotation" => Kind::Range,
        b"python_function" => Kind::Call,
        b"cuda_runtime"
        | b"cuda_driver"
        | b"Runtime"
        | b"mtia_runtime"
        | b"xpu_runtime"
        | b"xpu_driver"
        | b"privateuse1_runtime"
        | b"privateuse1_driver"
        | b"hpu_runtime"
        | b"glow_runtime" => Kind::Launch,
        b"kernel" | b"Kernel" => Kind::Device(DeviceWork::Kernel),
        b"gpu_memcpy" | b"Memcpy" => Kind::Device(DeviceWork::Copy),
        b"gpu_memset" | b"Memset" => Kind::Device(DeviceWork::Fill),
        b"gpu_user_annotation"
        | b"cuda_sync"
        | b"cuda_event"
        | b"overhead"
        | b"Trace"
        | b"cuda_profiler_range"
        | b"mtia_ccp_events"
        | b"mtia_insight"
        | b"mtia_workloadd"
        | b"mtia_counters"
        | b"cpu_instant_event"
        | b"collective_comm"
        | b"hpu_op" => Kind::Mark,
        _ => Kind::Plain,
    }
}

/// The prefix of ranges that mark steps.
pub const STEP: &str = "ProfilerStep#";
const MODULE: &str = "nn.Module: ";
const MEMORY: &[u8] = b"[memory]";

/// Collects the events of a file.
pub struct Collector {
    pub trace: HeldTrace,
    pub top: TopLevel,
    wanted: Wanted,
    /// Raw names to decoded names.
    written: Names,
    name_of: Vec<NameId>,
    lines: LineCache,
    shapes: ShapeTable,
    attributes: BTreeMap<[u64; 9], u32>,
    collectives: UntrustedMap<Collective, u32>,
    stacks: UntrustedMap<Vec<u8>, u32>,
    /// Titles of threads, and labels of processes.
    titles: UntrustedMap<(NameId, NameId), String>,
    processes: UntrustedMap<NameId, String>,
    pub begins: OpenBegins,
    /// Events of other programs, with their categories.
    pub plain: Vec<(CallSpan, NameId)>,
    pub counts: Counts,
}

/// The number of events.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Events of a category that only PyTorch's profiler writes.
    pub kineto: u64,
    pub ops: u64,
    /// Spans without a start, or whose start or length is not a number.
    pub untimed: u64,
    pub unclosed: u64,
    pub with_shapes: bool,
    pub phases: BTreeMap<u8, u64>,
}

/// The last line of each kind, as a cache: consecutive events are mostly on one thread.
#[derive(Default)]
struct LineCache {
    last: Vec<(LineKind, Vec<u8>, Vec<u8>, u32)>,
}

impl Collector {
    pub fn new(wanted: Wanted) -> Collector {
        Collector {
            trace: HeldTrace::default(),
            top: TopLevel::default(),
            wanted,
            written: Names::default(),
            name_of: Vec::new(),
            lines: LineCache::default(),
            shapes: ShapeTable::default(),
            attributes: BTreeMap::new(),
            collectives: UntrustedMap::default(),
            stacks: UntrustedMap::default(),
            titles: UntrustedMap::default(),
            processes: UntrustedMap::default(),
            begins: OpenBegins::default(),
            plain: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Finishes the trace: names its lines and planes.
    pub fn finish(&mut self) {
        let is_kineto = self.is_kineto();
        let Collector { trace, begins, plain, counts, titles, processes, .. } = self;
        let last = trace.start.map_or(0, |_| last_end(trace, plain));
        counts.unclosed = begins.close_all(last, |span, category| plain.push((span, category)));
        for (span, category) in plain.drain(..) {
            if is_kineto {
                trace.others.push(span);
            } else {
                let CallSpan { start, end, name, line, .. } = span;
                trace.categories.entry(name).or_insert(category);
                let kind = HostKind::Op;
                let none = NONE;
                trace.host.push(HostSpan {
                    start,
                    end,
                    id: 0,
                    name,
                    line,
                    shapes: none,
                    sequence: none,
                    stack: none,
                    kind,
                });
            }
        }
        for at in 0..trace.lines.len() {
            let line = &trace.lines[at];
            let title = titles.get(&(line.process, line.thread)).cloned().unwrap_or_default();
            let process = trace.names.get(line.process);
            let plane = match line.kind {
                LineKind::Device => format!("/device:GPU:{}", device_number(process)),
                LineKind::Other
                    if is_kineto && processes.get(&line.process).is_some_and(|label| label.starts_with("GPU")) =>
                {
                    format!("/device:GPU:{}", device_number(process))
                }
                _ => crate::events::held::HOST.to_owned(),
            };
            let scope = (!is_kineto && line.kind == LineKind::Other).then(|| {
                let thread = trace.names.get(line.thread);
                if title.is_empty() { format!("thread {thread}") } else { title.clone() }
            });
            let scope = scope.map(|scope| trace.names.intern(&scope.replace('/', "|")));
            let line = &mut trace.lines[at];
            (line.title, line.plane, line.scope) = (title, plane, scope);
        }
        trace.shapes = std::mem::take(&mut self.shapes).list;
    }

    /// Whether there is any event besides those that name processes and threads.
    pub fn has_events(&self) -> bool {
        self.counts.phases.keys().any(|phase| *phase != b'M')
    }

    pub fn is_kineto(&self) -> bool {
        self.counts.kineto > 0 || self.top.schema.is_some()
    }

    /// The decoded form of a raw name.
    fn name(&mut self, written: &[u8]) -> NameId {
        let (id, _) = self.written.intern_bytes(written);
        if id.index() >= self.name_of.len() {
            self.name_of.resize(id.index() + 1, NameId::EMPTY);
        }
        if self.name_of[id.index()] == NameId::EMPTY && !written.is_empty() {
            let text = unescape(written);
            self.name_of[id.index()] = self.trace.names.intern(&text);
        }
        self.name_of[id.index()]
    }

    fn line(&mut self, kind: LineKind, event: &Event<'_>) -> u32 {
        let (process, thread) = (event.process, event.thread);
        if let Some(at) =
            self.lines.last.iter().position(|(known, p, t, _)| *known == kind && p == process && t == thread)
        {
            return self.lines.last[at].3;
        }
        let [process_id, thread_id] = [process, stream(thread)].map(|text| self.trace.names.intern(&unescape(text)));
        let line = self.trace.line(kind, process_id, thread_id);
        if self.lines.last.len() >= 8 {
            self.lines.last.remove(0);
        }
        self.lines.last.push((kind, process.to_vec(), thread.to_vec(), line));
        line
    }

    fn complete(&mut self, event: &Event<'_>, kind: Kind) {
        // An event without a duration is an instant; one whose duration is not a number is dropped.
        let length = if event.duration.is_empty() { Some(0) } else { nanos(event.duration) };
        let (Some(start), Some(length)) = (nanos(event.start), length) else {
            self.counts.untimed += 1;
            return;
        };
        let end = start.saturating_add(length.max(0));
        self.note_time(start);
        match kind {
            Kind::Op | Kind::Range => self.op(event, kind, start, end),
            Kind::Call => self.call(event, start, end),
            Kind::Launch => self.launch(event, start, end),
            Kind::Device(work) => self.work(event, work, start, end),
            Kind::Mark => {
                let (name, line) = (self.name(event.name), self.line(LineKind::Other, event));
                self.trace.others.push(CallSpan { start, end, name, line, is_module: false });
            }
            Kind::Plain => {
                let (name, line) = (self.name(event.name), self.line(LineKind::Other, event));
                let category = self.name(event.category);
                self.plain.push((CallSpan { start, end, name, line, is_module: false }, category));
            }
        }
    }

    fn note_time(&mut self, time: i64) {
        self.trace.start = Some(self.trace.start.map_or(time, |start| start.min(time)));
    }

    fn op(&mut self, event: &Event<'_>, kind: Kind, start: i64, end: i64) {
        let args = &event.args;
        let name = self.name(event.name);
        let kind = if event.name.starts_with(STEP.as_bytes()) {
            HostKind::Step
        } else if kind == Kind::Range {
            HostKind::Range
        } else {
            HostKind::Op
        };
        self.counts.ops += 1;
        let sequence = match integer(args.sequence) {
            Some(number) if number >= 0 => {
                let is_backward = args.forward_thread.first().is_some_and(|_| args.forward_thread != b"0")
                    || event.name.starts_with(b"autograd::engine::evaluate_function");
                self.trace.sequences.push(Sequence { number, is_backward });
                self.trace.sequences.len() as u32 - 1
            }
            _ => NONE,
        };
        self.counts.with_shapes |= !args.dims.is_empty();
        let wants_shapes = self.wanted.shapes || self.wanted.costs;
        let shapes = if wants_shapes && !args.dims.is_empty() { self.shapes.number(event.name, args) } else { NONE };
        let stack = if self.wanted.stacks && !args.call_stack.is_empty() { self.stack(args.call_stack) } else { NONE };
        let id = bits(args.external_id).unwrap_or(0);
        let line = self.line(LineKind::Host, event);
        self.trace.host.push(HostSpan { start, end, id, name, line, shapes, sequence, stack, kind });
    }

    fn call(&mut self, event: &Event<'_>, start: i64, end: i64) {
        let is_module = event.name.starts_with(MODULE.as_bytes());
        if !(is_module || self.wanted.python || self.wanted.stacks) {
            return;
        }
        let name = self.source_of(event.name);
        let line = self.line(LineKind::Calls, event);
        self.trace.calls.push(CallSpan { start, end, name, line, is_module });
    }

    /// The name of a Python call, and its source line.
    fn source_of(&mut self, written: &[u8]) -> NameId {
        let (id, _) = self.written.intern_bytes(written);
        if let Some(known) = self.name_of.get(id.index()).filter(|known| **known != NameId::EMPTY) {
            return *known;
        }
        self.name_of.resize(self.name_of.len().max(id.index() + 1), NameId::EMPTY);
        let (name, source) = call(&unescape(written));
        let name = self.trace.names.intern(&name);
        self.trace.sources.entry(name).or_insert(source);
        self.name_of[id.index()] = name;
        name
    }

    /// The frames of `Call stack`: callee first, separated by semicolons.
    fn stack(&mut self, text: &[u8]) -> u32 {
        if let Some(known) = self.stacks.get(text) {
            return *known;
        }
        let frames: Vec<NameId> = text.split(|byte| *byte == b';').rev().map(|frame| self.source_of(frame)).collect();
        self.trace.stacks.push(frames);
        let number = self.trace.stacks.len() as u32 - 1;
        self.stacks.insert(text.to_vec(), number);
        number
    }

    fn launch(&mut self, event: &Event<'_>, start: i64, end: i64) {
        let has = |word: &[u8]| memchr::memmem::find(event.name, word).is_some();
        let is_graph = has(b"GraphLaunch");
        let (name, line) = (self.name(event.name), self.line(LineKind::Runtime, event));
        let correlation = bits(event.args.correlation).unwrap_or(0);
        self.trace.launches.push(LaunchSpan { start, end, correlation, name, line, is_graph });
    }

    fn work(&mut self, event: &Event<'_>, kind: DeviceWork, start: i64, end: i64) {
        let args = &event.args;
        // The device is an argument; the process id agrees, except in files written by other tools.
        let with_device = if args.device.is_empty() { *event } else { Event { process: args.device, ..*event } };
        let line = self.line(LineKind::Device, &with_device);
        let attributes = if self.wanted.kernels { self.launch_attributes(args) } else { NONE };
        let collective = self.collective(args);
        let name = self.name(event.name);
        let [id, correlation] = [args.external_id, args.correlation].map(|id| bits(id).unwrap_or(0));
        self.trace.device.push(DeviceSpan { start, end, id, correlation, name, line, attributes, collective, kind });
    }

    fn collective(&mut self, args: &Args<'_>) -> u32 {
        if args.collective.is_empty() {
            return NONE;
        }
        let number = |text| integer(text).unwrap_or(0);
        let collective = Collective {
            name: self.name(args.collective),
            dtype: self.name(args.dtype),
            in_elements: number(args.in_elements),
            out_elements: number(args.out_elements),
            group_size: number(args.group_size),
        };
        let next = self.trace.collectives.len() as u32;
        let found = *self.collectives.entry(collective).or_insert(next);
        if found == next {
            self.trace.collectives.push(collective);
        }
        found
    }

    fn launch_attributes(&mut self, args: &Args<'_>) -> u32 {
        let number = |text: &[u8]| integer(text).and_then(|n| u64::try_from(n).ok());
        let three = |text: &[u8]| -> Option<[u64; 3]> {
            let inner = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
            let mut parts = inner.split(|byte| *byte == b',').map(|part| number(part.trim_ascii()));
            Some([parts.next()??, parts.next()??, parts.next()??])
        };
        let occupancy = std::str::from_utf8(args.occupancy).ok().and_then(|text| text.parse::<f64>().ok());
        let launch = Launch {
            registers: number(args.registers),
            shared_bytes: number(args.shared),
            grid: three(args.grid),
            block: three(args.block),
            occupancy: occupancy.filter(|share| share.is_finite()),
        };
        let [grid, block] = [launch.grid, launch.block].map(|sizes| sizes.unwrap_or([u64::MAX; 3]));
        let or_none = |n: Option<u64>| n.unwrap_or(u64::MAX);
        let key = [
            or_none(launch.registers),
            or_none(launch.shared_bytes),
            grid[0],
            grid[1],
            grid[2],
            block[0],
            block[1],
            block[2],
            launch.occupancy.map_or(u64::MAX, f64::to_bits),
        ];
        let next = self.trace.attributes.len() as u32;
        let found = *self.attributes.entry(key).or_insert(next);
        if found == next {
            self.trace.attributes.push(launch);
        }
        found
    }

    fn memory(&mut self, event: &Event<'_>) {
        let args = &event.args;
        let (Some(time), Some(bytes)) = (nanos(event.start), integer(args.bytes)) else { return };
        self.note_time(time);
        let line = self.line(LineKind::Host, event);
        let device = match (args.device_type, args.device_id) {
            (b"0", _) => "CPU".to_owned(),
            (b"1" | b"6", id) => format!("GPU {}", String::from_utf8_lossy(id)),
            (kind, id) => format!("device {} {}", String::from_utf8_lossy(kind), String::from_utf8_lossy(id)),
        };
        let device = self.trace.names.intern(&device);
        let [allocated, reserved] = [args.allocated, args.reserved].map(integer);
        self.trace.memory.push(MemoryEvent { time, bytes, allocated, reserved, line, device });
    }

    fn describe(&mut self, event: &Event<'_>) {
        let process = self.trace.names.intern(&unescape(event.process));
        match event.name {
            b"thread_name" => {
                let thread = self.trace.names.intern(&unescape(stream(event.thread)));
                self.titles.insert((process, thread), unescape(event.args.name));
            }
            b"process_labels" => drop(self.processes.insert(process, unescape(event.args.labels))),
            _ => {}
        }
    }
}

impl Visitor for Collector {
    fn event(&mut self, event: &Event<'_>, _raw: &[u8]) {
        *self.counts.phases.entry(event.phase).or_default() += 1;
        match event.phase {
            b'X' => {
                let kind = kind_of(event.category);
                self.counts.kineto += u64::from(kind != Kind::Plain);
                self.complete(event, kind);
            }
            b'i' | b'I' if event.name == MEMORY => {
                self.counts.kineto += 1;
                if self.wanted.memory || self.wanted.busy {
                    self.memory(event);
                }
            }
            b'B' | b'E' => {
                let Some(time) = nanos(event.start) else {
                    self.counts.untimed += 1;
                    return;
                };
                self.note_time(time);
                let line = self.line(LineKind::Other, event);
                if event.phase == b'B' {
                    let (name, category) = (self.name(event.name), self.name(event.category));
                    self.begins.begin(line, time, name, category);
                } else if let Some(span) = self.begins.end(line, time) {
                    self.plain.push(span);
                }
            }
            b'M' => self.describe(event),
            _ => {}
        }
    }

    fn top_level(&mut self, key: &[u8], value: &[u8]) {
        self.top.read(key, value);
    }

    fn wants(&self, key: &[u8]) -> bool {
        TopLevel::knows(key)
    }
}

/// Streams are numbers; older files write `stream 7`.
fn stream(thread: &[u8]) -> &[u8] {
    thread.strip_prefix(b"stream ").unwrap_or(thread)
}

fn device_number(process: &str) -> &str {
    let digits = process.trim_start_matches(|c: char| !c.is_ascii_digit());
    if digits.is_empty() { "0" } else { digits }
}

fn last_end(trace: &HeldTrace, plain: &[(CallSpan, NameId)]) -> i64 {
    let plain = plain.iter().map(|(span, _)| span.end);
    plain.chain(trace.host.iter().map(|span| span.end)).max().unwrap_or(i64::MIN)
}

/// The display name of a Python call, and its source line: `file.py(21): function`, `<built-in method f of …>`, `nn.Module: Net_0`.
fn call(text: &str) -> (String, SourceLine) {
    if let Some(module) = text.strip_prefix(MODULE) {
        let source = SourceLine { file: "nn.Module".to_owned(), function: module.to_owned(), line: -1 };
        return (module.to_owned(), source);
    }
    if let Some(inner) = text.strip_prefix("<built-in ") {
        let mut words = inner.trim_end_matches('>').split(' ');
        let function = words.nth(1).unwrap_or(inner).to_owned();
        let name = format!("<built-in>:{function}");
        return (name, SourceLine { file: "<built-in>".to_owned(), function, line: -1 });
    }
    let place = text.split_once("): ").and_then(|(place, function)| {
        let (file, line) = place.rsplit_once('(')?;
        Some(SourceLine { file: file.to_owned(), function: function.to_owned(), line: line.parse().ok()? })
    });
    let source =
        place.unwrap_or_else(|| SourceLine { file: "<unknown>".to_owned(), function: text.to_owned(), line: -1 });
    (text.to_owned(), source)
}

/// The number at the end of a name: `ProfilerStep#12` is step 12.
pub fn number_at_end(text: &str) -> Option<i64> {
    let digits = &text[text.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_a_line_of_source() {
        let check = |text: &str, name: &str, file: &str, line, function: &str| {
            let source = SourceLine { file: file.into(), function: function.into(), line };
            assert_eq!(call(text), (name.to_owned(), source), "{text}");
        };
        check("train.py(21): step", "train.py(21): step", "train.py", 21, "step");
        check("a(b)/c.py(3): f", "a(b)/c.py(3): f", "a(b)/c.py", 3, "f");
        check("nn.Module: Linear_0", "Linear_0", "nn.Module", -1, "Linear_0");
        check("<built-in method mm of type object at 0x7f1>", "<built-in>:mm", "<built-in>", -1, "mm");
        check("<built-in function len>", "<built-in>:len", "<built-in>", -1, "len");
        check("odd", "odd", "<unknown>", -1, "odd");
    }

    #[test]
    fn steps_have_a_number() {
        assert_eq!(number_at_end("ProfilerStep#12"), Some(12));
        assert_eq!(number_at_end("step"), None);
        assert_eq!(number_at_end("99999999999999999999"), None);
    }
}
