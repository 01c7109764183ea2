//! The walk over all events: what every op, call and runtime event took, by step.

use super::event::Event;
use super::nest::{Left, Nest, Open, Ordered, Timed};
use super::ops::{Cache, Class, Kind, LineKind, Ops};
use super::records::{Record, Records};
use super::stats::{OF_OPS, Stat};
use super::steps::{Collector, Found as How, NONE, Note, OF_STEPS, Steps};
use super::sums::{Kept, Sums, Tally};
use super::walk::{At, Stop, Walker};
use crate::model::runs::KeepSteps;
use regex::Regex;
use rustc_hash::FxHashMap;

/// What is asked of a walk besides ops.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub steps: KeepSteps,
    pub runtime: bool,
    pub python: bool,
    /// Whether anyone asks for steps; without, everything is one sum.
    pub step_marks: bool,
    /// How busy lines were, by the kind of their events.
    pub busy: bool,
}

/// The stats that events are asked for, as bits.
pub fn stats(wanted: Wanted) -> u32 {
    let always = [
        Stat::Flops,
        Stat::SelfDuration,
        Stat::DeviceOffset,
        Stat::DeviceDuration,
        Stat::PeakBytesInUse,
        Stat::AllocatorName,
    ];
    let of_steps = if wanted.step_marks { OF_STEPS } else { 0 };
    always.iter().fold(OF_OPS | of_steps, |mask, stat| mask | stat.bit())
}

/// A line as `info` tells of it.
#[derive(Clone, Debug, Default)]
pub struct LineFacts {
    pub plane: String,
    pub id: i64,
    pub name: String,
    pub display_name: String,
    pub events: u64,
    pub aggregated: u64,
    pub first: Option<i64>,
    pub last: Option<i64>,
    /// The time of events that lie in no other.
    pub top_level: i64,
    pub deepest: usize,
    pub op_own: i64,
}

/// How steps of ops were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assigned {
    pub line: u64,
    pub steps_line: u64,
    pub launch: u64,
    pub time: u64,
    pub outside: u64,
}

/// Everything that the last walk finds.
#[derive(Debug, Default)]
pub struct Found {
    /// By variant of an op.
    pub ops: Tally,
    /// By path of calls: the path around it and the name of the call.
    pub python: Tally,
    pub paths: Vec<(u32, u32)>,
    pub calls: Vec<String>,
    /// By runtime event: the plane and its name.
    pub runtime: Tally,
    pub runtime_names: Vec<(usize, String)>,
    pub kinds: [Sums; Kind::ALL.len()],
    pub lines: Vec<LineFacts>,
    /// By step: op events and their time; what lies in no step is last.
    pub steps: Vec<Sums>,
    pub outside: Sums,
    pub assigned: Assigned,
    /// The most memory that an allocator had given out, by its name.
    pub memory_peak: Option<(String, i64)>,
}

/// An event on its way through the order of its line.
struct Seen {
    start: i64,
    end: i64,
    seq: u32,
    class: Class,
    /// A runtime event or the name of a call, if those are wanted.
    item: u32,
    note: Note,
}

impl Timed for Seen {
    #[inline]
    fn start(&self) -> i64 {
        self.start
    }
    #[inline]
    fn end(&self) -> i64 {
        self.end
    }
    #[inline]
    fn seq(&self) -> u32 {
        self.seq
    }
}

/// An event with others in it.
struct Frame {
    class: Class,
    item: u32,
    context: u32,
    around: u32,
    executor: u32,
    /// What is left behind the ops in an op, and behind all that lies in anything else.
    left: Left,
    call_left: Left,
    /// The nearest op and the nearest call, itself included, by their places.
    op: u32,
    call: u32,
    path: u32,
}

/// The numbers of a plane's runtime events and of calls, as far as they were met.
#[derive(Default)]
struct Items {
    plane: Option<usize>,
    of_meta: Vec<u32>,
}

impl Items {
    fn turn_to(&mut self, at: At<'_>) {
        if self.plane != Some(at.plane_place) {
            self.plane = Some(at.plane_place);
            self.of_meta = vec![NONE; at.plane.metas.len()];
        }
    }
}

struct Walk<'m> {
    found: Found,
    /// The line at hand.
    line: LineFacts,
    wanted: Wanted,
    path_of: FxHashMap<(u32, u32), u32>,
    call_of: FxHashMap<String, u32>,
    collector: Collector<'m>,
    /// What waits for its step: ops, calls, runtime events.
    ops: Records,
    python: Records,
    runtime: Records,
}

/// Walks over all events. With steps, ops wait until it is known where those are.
pub fn walk(
    walker: &mut Walker<'_>,
    ops: &mut Ops<'_>,
    marker: Option<&Regex>,
    wanted: Wanted,
) -> Result<(Found, Steps), Stop> {
    walker.run(|walker| {
        let mut walk = Walk {
            found: Found::default(),
            line: LineFacts::default(),
            wanted,
            path_of: FxHashMap::default(),
            call_of: FxHashMap::default(),
            collector: Collector::new(marker),
            ops: Records::default(),
            python: Records::default(),
            runtime: Records::default(),
        };
        let mut cache = Cache::default();
        let mut items = Items::default();
        for at in walker.lines() {
            let kind = LineKind::of(at.plane, at.line);
            cache.turn_to(at.plane_place, at.plane, kind);
            items.turn_to(at);
            walk.collector.turn_to(at.plane_place, at.plane);
            walk.line(walker, ops, at, kind, &mut cache, &mut items.of_meta)?;
        }
        Ok(walk.settle())
    })
}

impl Walk<'_> {
    fn line<'f>(
        &mut self,
        walker: &mut Walker<'f>,
        ops: &mut Ops<'_>,
        at: At<'f>,
        kind: LineKind,
        cache: &mut Cache,
        items: &mut [u32],
    ) -> Result<(), Stop> {
        self.line = LineFacts {
            plane: at.plane.name.clone(),
            id: at.line.id,
            name: at.line.name.clone(),
            ..LineFacts::default()
        };
        let memory = at.plane.mask & Stat::PeakBytesInUse.bit() != 0;
        let steps = self.wanted.step_marks;
        let is_host = !at.plane.is_device();
        let is_steps_line = steps && !is_host && at.line.name == "Steps";
        let mut ordered = Ordered::new(walker.whole_lines);
        let mut nest: Nest<Frame> = Nest::new();
        let shown = walker.events(at, |event| {
            let class = ops.class(kind, event, cache)?;
            let item = self.item(class.kind, event, at.plane_place, items);
            if memory && event.has(Stat::PeakBytesInUse) {
                self.memory(event);
            }
            if let Some(count) = event.count {
                self.aggregated(class, item, event, if count == 0 { 1 } else { count });
                return Ok(());
            }
            if is_steps_line {
                self.collector.device_step(event);
            }
            let note = if steps { self.collector.note(event, is_host, class.kind.is_op()) } else { Note::default() };
            let seen = Seen { start: event.start, end: event.end, seq: event.seq, class, item, note };
            ordered.add(seen, |seen| self.visit(&seen, &mut nest)).map_err(Stop::from)
        })?;
        ordered.flush(|seen| self.visit(&seen, &mut nest));
        nest.end(|open| self.close(&open));
        self.collector.end_line();
        self.line.display_name = shown;
        self.found.lines.push(std::mem::take(&mut self.line));
        Ok(())
    }

    /// The number of a runtime event or of a call's name, if they are wanted.
    #[inline]
    fn item(&mut self, kind: Kind, event: &Event<'_>, plane_place: usize, items: &mut [u32]) -> u32 {
        let wanted = match kind {
            Kind::Runtime => self.wanted.runtime,
            Kind::Python => self.wanted.python,
            _ => return NONE,
        };
        if !wanted {
            return NONE;
        }
        let known = event.meta_at.map_or(NONE, |at| items[at]);
        if known != NONE {
            return known;
        }
        let item = if kind == Kind::Python {
            let next = self.call_of.len() as u32;
            let name = &event.name()[1..];
            let item = *self.call_of.entry(name.to_owned()).or_insert(next);
            if item == next {
                self.found.calls.push(name.to_owned());
            }
            item
        } else {
            self.found.runtime_names.push((plane_place, event.full_name().into_owned()));
            self.found.runtime_names.len() as u32 - 1
        };
        if let Some(at) = event.meta_at {
            items[at] = item;
        }
        item
    }

    fn memory(&mut self, event: &Event<'_>) {
        let Some(bytes) = event.number(Stat::PeakBytesInUse) else { return };
        if self.found.memory_peak.as_ref().is_none_or(|(_, most)| bytes > *most) {
            let allocator = event.text(Stat::AllocatorName).unwrap_or_default().into_owned();
            self.found.memory_peak = Some((allocator, bytes));
        }
    }

    /// An event that stands for several: it has no start, so it lies in nothing and in no step.
    fn aggregated(&mut self, class: Class, item: u32, event: &Event<'_>, count: i64) {
        let total = event.duration();
        let own = if class.kind.is_op() { event.number(Stat::SelfDuration).unwrap_or(total) } else { total };
        let sums = Sums { runs: count, total, own, first: 0, last: 0 };
        self.found.kinds[class.kind as usize].add(&sums);
        self.line.events += 1;
        self.line.aggregated += 1;
        if class.kind.is_op() {
            self.found.ops.add(class.variant, None, &sums, None);
            self.found.outside.add(&sums);
        } else if class.kind == Kind::Runtime && item != NONE {
            self.found.runtime.add(item, None, &sums, None);
        }
    }

    #[inline]
    fn visit(&mut self, seen: &Seen, nest: &mut Nest<Frame>) {
        let Seen { start, end, class, item, note, .. } = *seen;
        nest.close_before(start, end, |open| self.close(&open));
        let open = &mut nest.open;
        let here = open.len() as u32;
        self.line.take(start, end, open.len());
        let is_op = class.kind.is_op();
        if !(is_op || self.wanted.busy || item != NONE || note.is_something()) {
            // It is in nobody's sum, and what lies in it has the same op around it without it.
            return;
        }
        let mut frame = Frame {
            class,
            item,
            context: 0,
            around: 0,
            executor: note.executor,
            left: Left::new(start, end),
            call_left: Left::new(start, end),
            op: NONE,
            call: NONE,
            path: NONE,
        };
        if let Some(parent) = open.last_mut() {
            let parent = &mut parent.frame;
            if !parent.class.kind.is_op() {
                parent.left.cover(start, end);
            }
            (frame.op, frame.call, frame.around) = (parent.op, parent.call, parent.around);
            if note.executor == 0 {
                frame.executor = parent.executor;
            }
        }
        if self.wanted.step_marks {
            frame.around = self.collector.visit(start, end, note, frame.around);
        }
        if is_op {
            if let Some(op) = open.get_mut(frame.op as usize) {
                op.frame.left.cover(start, end);
            }
            frame.op = here;
        } else if class.kind == Kind::Python && item != NONE {
            let outer = open.get_mut(frame.call as usize).map_or(NONE, |call| {
                call.frame.call_left.cover(start, end);
                call.frame.path
            });
            frame.call = here;
            frame.path = self.path(outer, item);
        }
        if self.wanted.step_marks && (is_op || item != NONE) {
            // Only ops look for what launched them.
            let executor = if is_op { frame.executor } else { 0 };
            frame.context = self.collector.context(frame.around, note.launch, executor);
        }
        open.push(Open { start, end, frame });
    }

    fn path(&mut self, outer: u32, call: u32) -> u32 {
        *self.path_of.entry((outer, call)).or_insert_with(|| {
            self.found.paths.push((outer, call));
            self.found.paths.len() as u32 - 1
        })
    }

    #[inline]
    fn close(&mut self, open: &Open<Frame>) {
        let Open { start, end, frame } = open;
        let (start, end) = (*start, *end);
        let kind = frame.class.kind;
        let (total, mut own) = (end.saturating_sub(start), frame.left.own);
        let mut sums = Sums { runs: 1, total, own, first: start, last: end };
        self.found.kinds[kind as usize].add(&sums);
        let (records, tally, item) = if kind.is_op() {
            self.line.op_own = self.line.op_own.saturating_add(own);
            (&mut self.ops, &mut self.found.ops, frame.class.variant)
        } else if frame.path != NONE {
            own = frame.call_left.own;
            (&mut self.python, &mut self.found.python, frame.path)
        } else if frame.item != NONE {
            (&mut self.runtime, &mut self.found.runtime, frame.item)
        } else {
            return;
        };
        if self.wanted.step_marks {
            return records.push(&Record { item, context: frame.context, start, total, own });
        }
        sums.own = own;
        tally.add(item, None, &sums, None);
        if kind.is_op() {
            self.found.outside.add(&sums);
        }
    }

    /// Finds the steps and gives each event its own.
    fn settle(self) -> (Found, Steps) {
        let Walk { mut found, wanted, collector, ops, python, runtime, .. } = self;
        if !wanted.step_marks {
            return (found, Steps::default());
        }
        let first = found.lines.iter().filter_map(|line| line.first).min();
        let last = found.lines.iter().filter_map(|line| line.last).max();
        let mut steps = collector.settle(first.zip(last), &ops);
        let place = |number: i64| steps.list.iter().position(|step| step.number == number);
        let keep = match wanted.steps {
            KeepSteps::TotalsOnly => None,
            KeepSteps::One(number) => place(number).map(|step| Kept::One(step as u32)),
            KeepSteps::Each => Some(Kept::Each),
        };
        let mut by_step = vec![Sums::default(); steps.list.len()];
        ops.drain(|record| {
            let (step, how) = steps.of(record.context, record.start);
            let sums = record.sums();
            found.ops.add(record.item, step, &sums, keep);
            step.map_or(&mut found.outside, |step| &mut by_step[step as usize]).add(&sums);
            let assigned = &mut found.assigned;
            *match how {
                How::Line => &mut assigned.line,
                How::StepsLine => &mut assigned.steps_line,
                How::Launch => &mut assigned.launch,
                How::Time => &mut assigned.time,
                How::Outside => &mut assigned.outside,
            } += 1;
        });
        found.steps = by_step;
        for (records, tally) in [(python, &mut found.python), (runtime, &mut found.runtime)] {
            records.drain(|record| {
                tally.add(record.item, steps.of(record.context, record.start).0, &record.sums(), keep);
            });
        }
        (found, steps)
    }
}

impl Record {
    #[inline]
    fn sums(&self) -> Sums {
        let last = self.start.saturating_add(self.total);
        Sums { runs: 1, total: self.total, own: self.own, first: self.start, last }
    }
}

impl LineFacts {
    /// Takes in an event with so many around it.
    #[inline]
    fn take(&mut self, start: i64, end: i64, around: usize) {
        self.events += 1;
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
        self.last = Some(self.last.map_or(end, |last| last.max(end)));
        self.deepest = self.deepest.max(around + 1);
        if around == 0 {
            self.top_level = self.top_level.saturating_add(end.saturating_sub(start));
        }
    }
}
