//! The last walk: what every op, call and runtime event took, by step.

use super::event::Event;
use super::nest::{Left, Nest, Open, Ordered, Timed};
use super::ops::{Cache, Class, Kind, LineKind, Ops};
use super::stats::Key;
use super::stats::Stat;
use super::steps::{Around, Collector, Found as How, Launches, More, NONE, Steps};
use super::walk::{At, Stop, Walker};
use crate::model::runs::KeepSteps;
use regex::Regex;
use rustc_hash::FxHashMap;
use std::io;

/// Sums over events, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub runs: i64,
    pub total: i64,
    pub own: i64,
    /// The first start and the last end; both 0 if nothing had a start.
    pub first: i64,
    pub last: i64,
}

impl Sums {
    #[inline]
    pub fn add(&mut self, more: &Sums) {
        // Equal only if nothing with a length was added yet.
        if self.runs == 0 && self.total == 0 {
            (self.first, self.last) = (more.first, more.last);
        } else {
            (self.first, self.last) = (self.first.min(more.first), self.last.max(more.last));
        }
        self.runs = self.runs.saturating_add(more.runs);
        self.total = self.total.saturating_add(more.total);
        self.own = self.own.saturating_add(more.own);
    }
}

/// What a set of items took: each in all, in all steps, and by step if that is kept.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub items: Vec<Item>,
    pub cells: FxHashMap<(u32, u32), Sums>,
}

/// What one item took, within steps and outside of them.
#[derive(Clone, Debug, Default)]
pub struct Item {
    pub in_steps: Sums,
    pub outside: Sums,
    /// The steps that it was met in, as they came.
    pub seen: Vec<u32>,
}

impl Item {
    /// Within steps and outside.
    pub fn all(&self) -> Sums {
        let mut all = self.in_steps;
        if self.outside != Sums::default() {
            all.add(&self.outside);
        }
        all
    }
}

impl Tally {
    fn add(&mut self, item: u32, step: u32, sums: &Sums, keep: Option<Kept>) {
        if item as usize >= self.items.len() {
            self.items.resize(item as usize + 1, Item::default());
        }
        let sum = &mut self.items[item as usize];
        if step == NONE {
            return sum.outside.add(sums);
        }
        sum.in_steps.add(sums);
        if sum.seen.last() != Some(&step) {
            sum.seen.push(step);
        }
        match keep {
            Some(Kept::Each) => self.cells.entry((item, step)).or_default().add(sums),
            Some(Kept::One(kept)) if kept == step => self.cells.entry((item, step)).or_default().add(sums),
            _ => {}
        }
    }
}

/// Which steps are kept one by one, by their places.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Each,
    One(u32),
}

/// What is asked of a walk besides ops.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub steps: KeepSteps,
    pub runtime: bool,
    pub python: bool,
    /// Whether anyone asks for steps; without, everything is one sum.
    pub step_marks: bool,
}

/// An event that waits for its step.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub item: u32,
    pub context: u32,
    pub start: i64,
    pub total: i64,
    pub own: i64,
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

/// The nearest executor's work around an event, itself included.
#[derive(Clone, Copy)]
enum Executor {
    None,
    /// What it works for, if that is known.
    For(Option<Key>),
}

/// An event on its way through the order of its line.
struct Seen {
    start: i64,
    end: i64,
    seq: u32,
    class: Class,
    /// A runtime event or the name of a call, if those are wanted.
    item: u32,
    more: Option<Box<More>>,
    launches: Launches,
    executor: Executor,
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
    around: Around,
    executor: Executor,
    left: Left,
    op_left: Left,
    call_left: Left,
    /// The nearest op and the nearest call, itself included, by their places.
    op: u32,
    call: u32,
    path: u32,
}

/// What is known of a plane's metadata, by their places.
#[derive(Default)]
struct OfPlane {
    plane: Option<usize>,
    /// The numbers of runtime events and of calls, as far as they were met.
    items: Vec<u32>,
    /// Whether it is an executor's work.
    executors: Vec<bool>,
}

impl OfPlane {
    fn turn_to(&mut self, at: At<'_>) {
        if self.plane != Some(at.plane_place) {
            let metas = &at.plane.metas;
            self.plane = Some(at.plane_place);
            self.items = vec![NONE; metas.len()];
            self.executors = metas.iter().map(|meta| meta.name == "ExecutorState::Process").collect();
        }
    }
}

struct Walk<'m> {
    found: Found,
    wanted: Wanted,
    path_of: FxHashMap<(u32, u32), u32>,
    call_of: FxHashMap<String, u32>,
    collector: Collector<'m>,
    /// What waits for its step: ops, calls, runtime events.
    ops: Vec<Record>,
    python: Vec<Record>,
    runtime: Vec<Record>,
}

/// Walks over all events. With steps, ops wait until it is known where those are.
pub fn walk(
    walker: &mut Walker<'_>,
    ops: &mut Ops<'_>,
    marker: Option<&Regex>,
    wanted: Wanted,
) -> io::Result<(Found, Steps)> {
    walker.run(|walker| {
        let mut walk = Walk {
            found: Found::default(),
            wanted,
            path_of: FxHashMap::default(),
            call_of: FxHashMap::default(),
            collector: Collector::new(marker),
            ops: Vec::new(),
            python: Vec::new(),
            runtime: Vec::new(),
        };
        let mut cache = Cache::default();
        let mut of_plane = OfPlane::default();
        for at in walker.lines() {
            let kind = LineKind::of(at.plane, at.line);
            cache.turn_to(at.plane_place, at.plane, kind);
            of_plane.turn_to(at);
            walk.collector.turn_to(at.plane_place, at.plane);
            walk.line(walker, ops, at, kind, &mut cache, &mut of_plane)?;
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
        of_plane: &mut OfPlane,
    ) -> Result<(), Stop> {
        let facts = LineFacts {
            plane: at.plane.name.clone(),
            id: at.line.id,
            name: at.line.name.clone(),
            display_name: at.line.display_name.clone(),
            ..LineFacts::default()
        };
        self.found.lines.push(facts);
        let memory = at.plane.mask & Stat::PeakBytesInUse.bit() != 0;
        let plane_place = at.plane_place;
        let steps = self.wanted.step_marks;
        let is_host = !at.plane.is_device();
        let is_steps_line = steps && !is_host && at.line.name == "Steps";
        let mut ordered = Ordered::new(walker.whole_lines);
        let mut nest: Nest<Frame> = Nest::new();
        walker.events(at, |event| {
            let class = ops.class(kind, event, cache)?;
            let item = self.item(class.kind, event, plane_place, &mut of_plane.items);
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
            let is_executor = event.meta_at.is_some_and(|at| of_plane.executors[at]);
            let seen = Seen {
                start: event.start,
                end: event.end,
                seq: event.seq,
                class,
                item,
                more: if steps && is_host { self.collector.more(event) } else { None },
                launches: if steps && class.kind.is_op() {
                    self.collector.launches(event)
                } else {
                    Launches::default()
                },
                executor: if steps && is_executor {
                    Executor::For(self.collector.executor(event))
                } else {
                    Executor::None
                },
            };
            ordered.add(seen, |seen| self.visit(&seen, &mut nest)).map_err(Stop::from)
        })?;
        ordered.flush(|seen| self.visit(&seen, &mut nest));
        nest.end(|open| self.close(&open));
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
        if let Some(line) = self.found.lines.last_mut() {
            line.events += 1;
            line.aggregated += 1;
        }
        if class.kind.is_op() {
            self.found.ops.add(class.variant, NONE, &sums, None);
            self.found.outside.add(&sums);
        } else if class.kind == Kind::Runtime && item != NONE {
            self.found.runtime.add(item, NONE, &sums, None);
        }
    }

    #[inline]
    fn visit(&mut self, seen: &Seen, nest: &mut Nest<Frame>) {
        let Seen { start, end, class, item, ref more, launches, executor, .. } = *seen;
        // What is closed is dealt with before the event is opened, so one borrow follows the other.
        while nest.open.last().is_some_and(|top| !(top.start <= start && end <= top.end)) {
            if let Some(open) = nest.open.pop() {
                self.close(&open);
            }
        }
        nest.enter(
            start,
            end,
            |open| {
                let here = open.len() as u32;
                let mut frame = Frame {
                    class,
                    item,
                    context: 0,
                    around: Around::NOTHING,
                    executor,
                    left: Left::new(start, end),
                    op_left: Left::new(start, end),
                    call_left: Left::new(start, end),
                    op: NONE,
                    call: NONE,
                    path: NONE,
                };
                if let Some(line) = self.found.lines.last_mut() {
                    line.events += 1;
                    line.first = Some(line.first.map_or(start, |first| first.min(start)));
                    line.last = Some(line.last.map_or(end, |last| last.max(end)));
                    line.deepest = line.deepest.max(open.len() + 1);
                    if open.is_empty() {
                        line.top_level = line.top_level.saturating_add(end.saturating_sub(start));
                    }
                }
                if let Some(parent) = open.last_mut() {
                    parent.frame.left.cover(start, end);
                    (frame.op, frame.call) = (parent.frame.op, parent.frame.call);
                    frame.around = parent.frame.around;
                    if let Executor::None = executor {
                        frame.executor = parent.frame.executor;
                    }
                }
                if self.wanted.step_marks {
                    let more = more.as_deref();
                    frame.around = self.collector.visit(start, end, more, launches.own_run, frame.around);
                }
                if class.kind.is_op() {
                    if let Some(op) = open.get_mut(frame.op as usize) {
                        op.frame.op_left.cover(start, end);
                    }
                    frame.op = here;
                    frame.context = self.context(&frame, &launches);
                } else if class.kind == Kind::Python && item != NONE {
                    let around = open.get_mut(frame.call as usize);
                    let outer = around.map_or(NONE, |call| {
                        call.frame.call_left.cover(start, end);
                        call.frame.path
                    });
                    frame.call = here;
                    frame.path = self.path(outer, item);
                    frame.context = self.context(&frame, &launches);
                } else if item != NONE {
                    frame.context = self.context(&frame, &launches);
                }
                frame
            },
            |_| {},
        );
    }

    fn path(&mut self, outer: u32, call: u32) -> u32 {
        *self.path_of.entry((outer, call)).or_insert_with(|| {
            self.found.paths.push((outer, call));
            self.found.paths.len() as u32 - 1
        })
    }

    /// What an event knows of its step. Only ops look for what launched them.
    #[inline]
    fn context(&mut self, frame: &Frame, launches: &Launches) -> u32 {
        if !self.wanted.step_marks {
            return 0;
        }
        let executor = match frame.executor {
            Executor::For(id) if frame.class.kind.is_op() => id,
            _ => None,
        };
        self.collector.context(&frame.around, launches, executor)
    }

    #[inline]
    fn close(&mut self, open: &Open<Frame>) {
        let Open { start, end, frame } = open;
        let (start, end) = (*start, *end);
        let total = end.saturating_sub(start);
        let own = if frame.class.kind.is_op() { frame.op_left.own } else { frame.left.own };
        let sums = Sums { runs: 1, total, own, first: start, last: end };
        self.found.kinds[frame.class.kind as usize].add(&sums);
        let (records, item, own) = if frame.class.kind.is_op() {
            if let Some(line) = self.found.lines.last_mut() {
                line.op_own = line.op_own.saturating_add(own);
            }
            (&mut self.ops, frame.class.variant, own)
        } else if frame.path != NONE {
            (&mut self.python, frame.path, frame.call_left.own)
        } else if frame.item != NONE {
            (&mut self.runtime, frame.item, own)
        } else {
            return;
        };
        if self.wanted.step_marks {
            records.push(Record { item, context: frame.context, start, total, own });
            return;
        }
        let sums = Sums { own, ..sums };
        let found = &mut self.found;
        if frame.class.kind.is_op() {
            found.outside.add(&sums);
            found.ops.add(item, NONE, &sums, None);
        } else {
            let tally = if frame.path == NONE { &mut found.runtime } else { &mut found.python };
            tally.add(item, NONE, &sums, None);
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
        let steps = collector.settle(first.zip(last), &ops);
        let place = |number: i64| steps.list.iter().position(|step| step.number == number);
        let keep = match wanted.steps {
            KeepSteps::TotalsOnly => None,
            KeepSteps::One(number) => place(number).map(|step| Kept::One(step as u32)),
            KeepSteps::Each => Some(Kept::Each),
        };
        found.steps = vec![Sums::default(); steps.list.len()];
        for record in ops {
            let (step, how) = steps.of(record.context, record.start);
            let sums = record.sums();
            found.ops.add(record.item, step, &sums, keep);
            found.steps.get_mut(step as usize).unwrap_or(&mut found.outside).add(&sums);
            let assigned = &mut found.assigned;
            *match how {
                How::Line => &mut assigned.line,
                How::StepsLine => &mut assigned.steps_line,
                How::Launch => &mut assigned.launch,
                How::Time => &mut assigned.time,
                How::Outside => &mut assigned.outside,
            } += 1;
        }
        for (records, tally) in [(python, &mut found.python), (runtime, &mut found.runtime)] {
            for record in records {
                tally.add(record.item, steps.of(record.context, record.start).0, &record.sums(), keep);
            }
        }
        (found, steps)
    }
}

impl Record {
    fn sums(&self) -> Sums {
        let last = self.start.saturating_add(self.total);
        Sums { runs: 1, total: self.total, own: self.own, first: self.start, last }
    }
}
