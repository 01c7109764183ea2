//! Turns the events of a file into spans, with the clues by which they mark steps and name launches, and walks over them.

use super::classify::{ClassCache, Classifier, LineKind};
use super::wire::event::{BYTES_PER_WORK, Event};
use super::wire::plane::{LineOfPlane, LineReader, Plane, Space, Stop};
use super::wire::stats::{OP_STATS, Stat, StatMask, StatSnapshot};
use crate::budget;
use crate::events::activity::Activities;
use crate::events::spans::{OpenSpans, SpanOrder};
use crate::events::steps::{
    DeviceEvent, FunctionRequest, LaunchKind, Launches, NONE, Note, StepClues, StepCollector, Steps,
};
use crate::events::walk::{Class, Span, TraceSums, TraceWalk, Wanted};
use crate::events::{Key, KeyTexts};
use crate::model::allocators::MemorySample;
use crate::model::hosts::{EventKind, LineFacts, SpanSums};
use crate::model::names::NameId;
use regex::Regex;

/// The stats that events are asked for, as bits.
pub fn stats(wanted: Wanted) -> StatMask {
    let always = [
        Stat::Flops,
        Stat::SelfDuration,
        Stat::DeviceOffset,
        Stat::DeviceDuration,
        Stat::BytesAccessed,
        Stat::PeakBytesInUse,
        Stat::BytesReserved,
        Stat::BytesAllocated,
        Stat::AllocatorName,
        Stat::IndexOnHost,
    ];
    let of_steps = if wanted.step_marks { STEP_STATS } else { 0 };
    let of_memory = if wanted.busy { MEMORY_STATS } else { 0 };
    let op_stats =
        if wanted.kernels { OP_STATS | Stat::Occupancy.bit() } else { OP_STATS & !Stat::KernelDetails.bit() };
    always.iter().fold(op_stats | of_steps | of_memory, |mask, stat| mask | stat.bit())
}

/// Stats that say how much memory an allocator had.
const MEMORY_STATS: StatMask =
    Stat::BytesReserved.bit() | Stat::BytesAllocated.bit() | Stat::BytesAvailable.bit() | Stat::Fragmentation.bit();

/// By metadata of the current plane: the number of its runtime event or call, or [`NONE`].
#[derive(Default)]
struct ItemNumbers {
    plane: Option<usize>,
    of_meta: Vec<u32>,
}

impl ItemNumbers {
    fn begin_line(&mut self, at: LineOfPlane<'_>) {
        if self.plane != Some(at.plane_index) {
            self.plane = Some(at.plane_index);
            self.of_meta = vec![NONE; at.plane.metas.len()];
        }
    }
}

/// A walk over the events of a file.
struct FileWalk<'w, 'f, 'm> {
    walk: TraceWalk,
    classifier: &'w mut Classifier<'f>,
    classes: ClassCache,
    items: ItemNumbers,
    steps: StepReader<'m>,
    step_marks: bool,
}

/// Walks over all events.
pub fn walk(
    reader: &mut LineReader<'_>,
    classifier: &mut Classifier<'_>,
    marker: Option<&Regex>,
    wanted: Wanted,
) -> Result<(TraceSums, Steps), Stop> {
    reader.run(|reader| {
        let mut file = FileWalk {
            walk: TraceWalk::new(wanted),
            classifier,
            classes: ClassCache::default(),
            items: ItemNumbers::default(),
            steps: StepReader::new(marker),
            step_marks: wanted.step_marks,
        };
        for at in reader.lines() {
            file.line(reader, at)?;
        }
        let activities = if wanted.busy { file.classifier.activities() } else { Activities::default() };
        file.walk.finish(&activities).map_err(Stop::Io)
    })
}

impl FileWalk<'_, '_, '_> {
    fn line<'f>(&mut self, reader: &mut LineReader<'f>, at: LineOfPlane<'f>) -> Result<(), Stop> {
        let FileWalk { walk, classifier, classes, items, steps, step_marks } = self;
        let kind = LineKind::of(at.plane, at.line);
        classes.begin_line(at.plane_index, at.plane, kind);
        items.begin_line(at);
        steps.begin_line(at.plane_index, at.plane);
        let line = LineFacts {
            plane: at.plane.name.clone(),
            id: at.line.id,
            name: at.line.name.clone(),
            ..LineFacts::default()
        };
        walk.begin_line(at.plane_index, line);
        let has_memory = at.plane.mask & Stat::PeakBytesInUse.bit() != 0;
        let is_host = !at.plane.is_device();
        let marks_steps = *step_marks && !is_host;
        let is_steps_line = marks_steps && at.line.name == "Steps";
        let is_module_line = marks_steps && at.line.name == "XLA Modules";
        let space = reader.space;
        let mut order = SpanOrder::new(reader.whole_lines);
        let mut open = OpenSpans::default();
        let display_name = reader.events(at, |event| {
            let class = classifier.class(kind, event, classes)?;
            let item = if walk.wants_item(class.kind) { item(walk, class.kind, event, at, items) } else { NONE };
            if has_memory && let Some(bytes) = held_memory(event) {
                walk.memory(bytes, || allocator(event, space));
                if walk.wants_allocators() && event.has(Stat::BytesAllocated) {
                    let peak = event.number(Stat::PeakBytesInUse).unwrap_or(0);
                    walk.allocator(&allocator(event, space), memory_sample(event), peak);
                }
            }
            if let Some(count) = event.count {
                walk.add_aggregated(class, item, &aggregated_sums(class, event, count));
                return Ok(());
            }
            if is_steps_line {
                budget::work(event.shown().len() as u64 / BYTES_PER_WORK);
                walk.collector.add_device_step(device_mark(event, device_step_number(event), ""));
            } else if is_module_line {
                let name = event.full_name();
                budget::work(name.len() as u64 / BYTES_PER_WORK);
                // `jit_f(36)`: the number is that of one compilation.
                let program = name.split('(').next().unwrap_or_default();
                walk.collector.add_module_run(device_mark(event, None, program));
            }
            let note = if *step_marks {
                steps.note(event, is_host, class.kind.is_op(), &mut walk.collector)
            } else {
                Note::default()
            };
            let Event { start, end, shift, seq, .. } = *event;
            let span = Span { start, end, shift, seq, class, item, note };
            order.add(span, |span| walk.visit(&span, &mut open)).map_err(Stop::from)
        })?;
        order.flush(|span| walk.visit(&span, &mut open));
        open.close_all(|span| walk.close(&span));
        walk.end_line(display_name);
        Ok(())
    }
}

/// The number of a runtime event or of a call's name.
#[inline]
fn item(walk: &mut TraceWalk, kind: EventKind, event: &Event<'_>, at: LineOfPlane<'_>, items: &mut ItemNumbers) -> u32 {
    let known = event.meta_at.map_or(NONE, |at| items.of_meta[at]);
    if known != NONE {
        return known;
    }
    let item = if kind == EventKind::Python {
        // Their names begin with a dollar.
        walk.call(&event.name()[1..])
    } else {
        walk.runtime_event(at.plane_index, event.full_name().into_owned())
    };
    if let Some(at) = event.meta_at {
        items.of_meta[at] = item;
    }
    item
}

/// The peak memory of an allocator up to an event, stack included: its own peak field leaves out the stack.
fn held_memory(event: &Event<'_>) -> Option<i64> {
    if !event.has(Stat::PeakBytesInUse) {
        return None;
    }
    let [peak, stack, heap] =
        [Stat::PeakBytesInUse, Stat::BytesReserved, Stat::BytesAllocated].map(|stat| event.number(stat).unwrap_or(0));
    Some(peak.max(stack.saturating_add(heap)))
}

/// The name of the allocator of an event, or of the device whose memory it is.
fn allocator(event: &Event<'_>, space: &Space) -> String {
    if let Some(name) = event.text(Stat::AllocatorName).filter(|name| !name.is_empty()) {
        return name.into_owned();
    }
    let Some(index) = event.number(Stat::IndexOnHost).or_else(|| event.number(Stat::DeviceOrdinal)) else {
        return "an allocator without a name".to_owned();
    };
    let end = format!(":{index}");
    budget::work(1 + space.planes.len() as u64 / 16);
    let plane = space.planes.iter().find(|plane| plane.is_device() && plane.name.ends_with(&end));
    plane.map_or_else(|| format!("device {index}"), |plane| plane.name.clone())
}

/// An event of a device's own line of steps or programs, by the clock of the file.
fn device_mark<'e>(event: &'e Event<'_>, number: Option<i64>, name: &'e str) -> DeviceEvent<'e> {
    let [start, end] = [event.start, event.end].map(|time| time.saturating_add(event.shift));
    DeviceEvent { plane: &event.plane.name, name, number, start, end }
}

/// The memory of an allocator when an event took place.
fn memory_sample(event: &Event<'_>) -> MemorySample {
    let bytes = |stat| event.number(stat).unwrap_or(0).max(0);
    MemorySample {
        time: event.start,
        stack_bytes: bytes(Stat::BytesReserved),
        heap_bytes: bytes(Stat::BytesAllocated),
        free_bytes: event.number(Stat::BytesAvailable),
        fragmentation: event
            .text(Stat::Fragmentation)
            .and_then(|text| text.parse().ok())
            .filter(|share: &f64| share.is_finite()),
    }
}

/// The sums of an event that stands for several.
fn aggregated_sums(class: Class, event: &Event<'_>, count: i64) -> SpanSums {
    let total = event.duration();
    let self_time = if class.kind.is_op() { event.number(Stat::SelfDuration).unwrap_or(total) } else { total };
    SpanSums { runs: if count == 0 { 1 } else { count }, total, self_time, first: 0, last: 0 }
}

/// Stats that may mark a step or a launch.
const RELEVANT: StatMask =
    Stat::StepNum.bit() | Stat::Root.bit() | Stat::FunctionCall.bit() | Stat::CorrelationId.bit() | Stat::RunId.bit();

/// Stats that say how an op was launched.
const OF_LAUNCHES: StatMask = Stat::CorrelationId.bit() | Stat::RunId.bit() | Stat::HloModule.bit();

/// All stats that tell of steps.
const STEP_STATS: StatMask = RELEVANT
    | OF_LAUNCHES
    | Stat::HloOp.bit()
    | Stat::EagerOp.bit()
    | Stat::IsFunc.bit()
    | Stat::Id.bit()
    | Stat::GroupId.bit();

/// Reads the clues about steps and launches from events.
#[derive(Debug)]
struct StepReader<'m> {
    marker: Option<&'m Regex>,
    texts: KeyTexts,
    plane: Option<usize>,
    /// By metadata of the current plane.
    by_name: Vec<NameClues>,
    last_launch: Option<LastLaunch>,
}

/// The last op of the line that said how it was launched.
#[derive(Debug)]
struct LastLaunch {
    stats: StatSnapshot,
    /// The bit of its stat `hlo_op`, if it is an op of XLA.
    xla_bit: StatMask,
    launch: u32,
}

/// Clues in the name of an event, computed once for each name of a plane.
#[derive(Clone, Copy, Debug, Default)]
struct NameClues {
    matches_marker: bool,
    is_function_run: bool,
    is_eager: bool,
    is_data_run: bool,
    is_executor: bool,
    /// Any of the above except `is_executor`.
    has_clues: bool,
}

impl NameClues {
    fn new(name: &str, marker: Option<&Regex>) -> NameClues {
        let mut clues = NameClues {
            matches_marker: marker.is_some_and(|marker| marker.is_match(name)),
            is_function_run: name == "FunctionRun",
            is_eager: name == "EagerExecute",
            is_data_run: name.starts_with("InstantiatedCapturedFunction::Run"),
            is_executor: name == "ExecutorState::Process",
            has_clues: false,
        };
        let NameClues { matches_marker, is_function_run, is_eager, is_data_run, .. } = clues;
        clues.has_clues = matches_marker || is_function_run || is_eager || is_data_run;
        clues
    }
}

impl<'m> StepReader<'m> {
    pub fn new(marker: Option<&'m Regex>) -> Self {
        StepReader { marker, texts: KeyTexts::default(), plane: None, by_name: Vec::new(), last_launch: None }
    }

    /// Begins a line. The lines of a plane are neighbours.
    pub fn begin_line(&mut self, index: usize, plane: &Plane) {
        self.last_launch = None;
        if self.plane != Some(index) {
            self.plane = Some(index);
            self.by_name = plane.metas.iter().map(|meta| NameClues::new(&meta.name, self.marker)).collect();
        }
    }

    /// The clues of an event about steps and launches.
    #[inline]
    pub fn note(&mut self, event: &Event<'_>, is_host: bool, is_op: bool, collector: &mut StepCollector) -> Note {
        let by_name = event.meta_at.map_or(NameClues::default(), |at| self.by_name[at]);
        let mask = event.mask();
        let mut note = Note::default();
        // Ops name their runs too, but launch nothing.
        let relevant = if mask & Stat::HloOp.bit() == 0 { RELEVANT } else { RELEVANT & !Stat::RunId.bit() };
        if is_host && (mask & relevant != 0 || by_name.has_clues) {
            let clues = self.clues(event, by_name, collector);
            note.clues = collector.add_clues(clues);
        }
        if is_op && mask & (Stat::CorrelationId.bit() | Stat::RunId.bit()) != 0 {
            note.launch = self.launch(event, collector);
        }
        if by_name.is_executor {
            note.executor = collector.add_executor(event.key(Stat::Id, &mut self.texts));
        }
        note
    }

    fn clues(&mut self, event: &Event<'_>, by_name: NameClues, collector: &mut StepCollector) -> StepClues {
        let id = event.key(Stat::Id, &mut self.texts);
        if by_name.is_data_run {
            collector.add_data_function(id);
        }
        let number = event.int(Stat::StepNum);
        let mut key = |launch, stat, is: bool| {
            let key = if is { event.key(stat, &mut self.texts) } else { None };
            key.map(|key| (launch, key))
        };
        let launches = [
            key(LaunchKind::Correlation, Stat::CorrelationId, true),
            key(LaunchKind::Run, Stat::RunId, !event.has(Stat::HloOp)),
            key(LaunchKind::Function, Stat::Id, by_name.is_function_run),
        ];
        let request = by_name.is_eager.then(|| {
            let op = event.text(Stat::EagerOp).unwrap_or_default();
            let is_function = !event.has(Stat::IsFunc) || event.is_true(Stat::IsFunc);
            FunctionRequest { name: collector.names.intern(&op), is_function }
        });
        let marks =
            [by_name.matches_marker, number.is_some(), event.has(Stat::FunctionCall), event.is_true(Stat::Root)];
        let is_mark = marks.contains(&true);
        let name = if is_mark { collector.names.intern(&event.full_name()) } else { NameId::EMPTY };
        StepClues { name, marks, number, id, request, launches }
    }

    /// How an op was launched, and the run that it is part of.
    #[inline]
    fn launch(&mut self, event: &Event<'_>, collector: &mut StepCollector) -> u32 {
        // Neighbours are much alike, unless these stats are in their metadata.
        let is_own = event.meta_mask & (OF_LAUNCHES | Stat::HloOp.bit()) == 0;
        let xla_bit = event.own_mask() & Stat::HloOp.bit();
        if is_own
            && let Some(last) = &self.last_launch
            && xla_bit == last.xla_bit
            && event.has_same(OF_LAUNCHES, &last.stats)
        {
            return last.launch;
        }
        let correlation = event.key(Stat::CorrelationId, &mut self.texts);
        let run = event.key(Stat::RunId, &mut self.texts);
        let own_run = match run {
            Some(run) if event.has(Stat::HloOp) => own_run(event, run, collector),
            _ => NONE,
        };
        let launch = collector.add_launch(Launches { correlation, run, own_run });
        let stats = event.snapshot(OF_LAUNCHES).filter(|_| is_own);
        self.last_launch = stats.map(|stats| LastLaunch { stats, xla_bit, launch });
        launch
    }
}

fn own_run(event: &Event<'_>, run: Key, collector: &mut StepCollector) -> u32 {
    collector.run(&event.text(Stat::HloModule).unwrap_or_default(), run)
}

/// The number of a step on a device's own line of steps.
fn device_step_number(event: &Event<'_>) -> Option<i64> {
    event.int(Stat::GroupId).or_else(|| first_number(&event.shown()))
}

fn first_number(text: &str) -> Option<i64> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits = &text[start..];
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    Some(digits[..end].parse().unwrap_or(i64::MAX))
}
