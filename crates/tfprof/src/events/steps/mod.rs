//! Steps: the rules that find them, and which step an event belongs to.
//!
//! The marks of steps are known only at the end of a walk, so each event is stored with its context: the marks around it
//! and the ids of its launch. Few contexts differ, and each is resolved once.

mod collector;

pub use collector::{DeviceEvent, FunctionRequest, LaunchKind, Launches, Note, StepClues, StepCollector};

use super::Key;
use super::spans::PendingSpans;
use crate::hash::{TrustedMap, UntrustedMap};
use crate::model::hosts::{StepRule, StepSpan};
use crate::model::names::NameId;
use collector::{DeviceMark, Mark, MarkKind};
use std::collections::BTreeMap;
use std::io;

/// The steps of a file.
#[derive(Debug, Default)]
pub struct Steps {
    pub rule: StepRule,
    /// The name of the events that mark them.
    pub marker: String,
    /// Other names that could have.
    pub other_markers: Vec<String>,
    pub list: Vec<StepSpan>,
    /// Starts and indices in the list, by start.
    by_start: Vec<(i64, u32)>,
    /// The number of steps that began before the time of the last lookup.
    began: usize,
    /// Devices with a line of steps of their own.
    on_device: Vec<Vec<DeviceStep>>,
    /// By context.
    lookups: Vec<Lookup>,
}

/// A step on a device's own line of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DeviceStep {
    start: i64,
    end: i64,
    step: u32,
}

/// How the events of a context find their step.
#[derive(Clone, Copy, Debug)]
enum Lookup {
    /// By a mark around them.
    Marked(u32),
    /// By the device's own line of steps.
    Device(u32),
    /// By their launch.
    Launched(u32),
    Time,
}

/// How the step of an event was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    Line,
    StepsLine,
    Launch,
    Time,
    Outside,
}

/// No step, or no event.
pub const NONE: u32 = u32::MAX;

impl Steps {
    /// The index of the step of an event, and how it was found.
    #[inline]
    pub fn of(&mut self, context: u32, start: i64) -> (Option<u32>, FoundBy) {
        let (step, found) = match self.lookups[context as usize] {
            Lookup::Marked(step) => (step, FoundBy::Line),
            Lookup::Launched(step) => (step, FoundBy::Launch),
            Lookup::Time => (self.near(start), FoundBy::Time),
            Lookup::Device(device) => {
                let steps = &self.on_device[device as usize];
                let after = steps.partition_point(|step| step.start <= start);
                let step = steps[..after].last().filter(|step| start < step.end).map_or(NONE, |step| step.step);
                (step, FoundBy::StepsLine)
            }
        };
        if step == NONE { (None, FoundBy::Outside) } else { (Some(step), found) }
    }

    /// The last step that began by a time. Lookups come nearly sorted, so it tries the neighbours of the last one first.
    #[inline]
    fn near(&mut self, time: i64) -> u32 {
        let began = |steps: &[(i64, u32)], count: usize| {
            count.checked_sub(1).is_none_or(|last| steps[last].0 <= time)
                && steps.get(count).is_none_or(|(start, _)| *start > time)
        };
        if !began(&self.by_start, self.began) {
            let next = self.began + 1;
            let is_next = next <= self.by_start.len() && began(&self.by_start, next);
            self.began = if is_next { next } else { self.by_start.partition_point(|(start, _)| *start <= time) };
        }
        self.began.checked_sub(1).map_or(NONE, |last| self.by_start[last].1)
    }

    /// The last step that began by a time.
    fn at(&self, time: i64) -> u32 {
        let after = self.by_start.partition_point(|(start, _)| *start <= time);
        after.checked_sub(1).map_or(NONE, |last| self.by_start[last].1)
    }

    /// The last step that began by a time and has not ended then.
    #[inline]
    pub fn holding(&mut self, time: i64) -> Option<u32> {
        let step = self.near(time);
        self.list.get(step as usize).filter(|found| time <= found.end).map(|_| step)
    }

    fn sort(&mut self) {
        self.by_start = self.list.iter().zip(0..).map(|(step, index)| (step.start, index)).collect();
        self.by_start.sort_by_key(|(start, _)| *start);
    }
}

/// The steps that a rule found, before events find theirs.
struct Chosen {
    rule: StepRule,
    marker: String,
    other_markers: Vec<String>,
    steps: Vec<StepSpan>,
    /// Marks of the rule, each with the index of its step.
    marks: Vec<(usize, u32)>,
}

/// A start and an end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Interval {
    start: i64,
    end: i64,
}

impl Interval {
    fn extend(&mut self, start: i64, end: i64) {
        (self.start, self.end) = (self.start.min(start), self.end.max(end));
    }
}

impl StepCollector {
    fn by_marker(&self) -> Option<Chosen> {
        let marks = &self.marks[MarkKind::Custom as usize];
        let all: Vec<usize> = (0..marks.len()).collect();
        let first = marks.first()?;
        let marker = self.names.get(first.name).to_owned();
        let numbered = marks.iter().all(|mark| mark.number.is_some());
        Some(if numbered {
            group(StepRule::Marker, marker, Vec::new(), all.iter().map(|at| NumberedMark::of_host(*at, &marks[*at])))
        } else {
            in_order(StepRule::Marker, marker, Vec::new(), marks, all)
        })
    }

    fn by_step_num(&self) -> Option<Chosen> {
        let marks = &self.marks[MarkKind::Step as usize];
        let (best, other_markers) = self.best(marks.iter(), false)?;
        let chosen = marks.iter().enumerate().filter(|(_, mark)| mark.name == best);
        let chosen = chosen.map(|(at, mark)| NumberedMark::of_host(at, mark));
        Some(group(StepRule::StepNum, self.names.get(best).to_owned(), other_markers, chosen))
    }

    fn by_steps_line(&self) -> Option<Chosen> {
        let marks = &self.device_steps;
        if marks.is_empty() || marks.iter().any(|step| step.mark.number.is_none()) {
            return None;
        }
        let all = marks
            .iter()
            .enumerate()
            .map(|(at, DeviceMark { plane, mark })| NumberedMark { device: plane, ..NumberedMark::of_host(at, mark) });
        Some(group(StepRule::StepsLine, "Steps".to_owned(), Vec::new(), all))
    }

    /// Steps by the devices' own lines of programs: the runs of the program that takes most time. The first run on each
    /// device is step 0.
    fn by_module_line(&self) -> Option<Chosen> {
        let runs = &self.module_runs;
        let (best, other_markers) = self.best(runs.iter().map(|run| &run.mark), false)?;
        let mut chosen: Vec<usize> = (0..runs.len()).filter(|at| runs[*at].mark.name == best).collect();
        chosen.sort_by_key(|at| (runs[*at].mark.start, runs[*at].mark.end));
        let mut met: UntrustedMap<&str, i64> = UntrustedMap::default();
        let numbered = chosen.into_iter().map(|at| {
            let DeviceMark { plane, mark } = &runs[at];
            let next = met.entry(plane).or_default();
            *next += 1;
            NumberedMark { device: plane, number: *next - 1, ..NumberedMark::of_host(at, mark) }
        });
        Some(group(StepRule::ModuleRuns, self.names.get(best).to_owned(), other_markers, numbered))
    }

    fn by_function_call(&self) -> Option<Chosen> {
        let marks = &self.marks[MarkKind::Call as usize];
        let (best, other_markers) = self.best(marks.iter(), true)?;
        let chosen = (0..marks.len()).filter(|at| marks[*at].name == best).collect();
        Some(in_order(StepRule::FunctionCalls, self.names.get(best).to_owned(), other_markers, marks, chosen))
    }

    fn by_root(&self) -> Option<Chosen> {
        let marks = &self.marks[MarkKind::Root as usize];
        let mut roots: Vec<_> = (0..marks.len()).filter(|at| !self.data_ids.contains(&marks[*at].id)).collect();
        if roots.iter().any(|at| marks[*at].is_function) {
            roots.retain(|at| marks[*at].is_function);
        }
        let (best, other_markers) = self.best(roots.iter().map(|at| &marks[*at]), true)?;
        roots.retain(|at| marks[*at].name == best);
        Some(in_order(StepRule::Root, self.names.get(best).to_owned(), other_markers, marks, roots))
    }

    /// The name with the largest total, preferring names that occur at least twice; and the other names.
    fn best<'m>(&self, marks: impl Iterator<Item = &'m Mark>, twice_first: bool) -> Option<(NameId, Vec<String>)> {
        let mut by_name: BTreeMap<NameId, (u64, i64)> = BTreeMap::new();
        for mark in marks {
            let (count, time) = by_name.entry(mark.name).or_default();
            *count += 1;
            *time = time.saturating_add(mark.end.saturating_sub(mark.start));
        }
        let mut names: Vec<_> = by_name.into_iter().collect();
        let rank = |count: u64| twice_first && count < 2;
        names.sort_by(|(a, (m, x)), (b, (n, y))| {
            let text = |name: &NameId| self.names.get(*name);
            (rank(*m), *y, text(a)).cmp(&(rank(*n), *x, text(b)))
        });
        let mut names = names.into_iter().map(|(name, _)| name);
        let best = names.next()?;
        Some((best, names.map(|name| self.names.get(name).to_owned()).collect()))
    }

    /// Steps by the runs of the program that takes most time; `None` without runs.
    fn by_module(&self, ops: &PendingSpans) -> io::Result<Option<Chosen>> {
        let mut totals: BTreeMap<NameId, i64> = BTreeMap::new();
        let mut spans: TrustedMap<u32, Interval> = TrustedMap::default();
        ops.each(|record| {
            let context = &self.contexts[record.context as usize];
            if context.is_run {
                let total = totals.entry(self.runs[context.run as usize].program).or_default();
                *total = total.saturating_add(record.self_time);
                let end = record.start.saturating_add(record.total);
                let start = record.start;
                spans.entry(context.run).or_insert(Interval { start, end }).extend(start, end);
            }
        })?;
        let name = |module: &NameId| self.names.get(*module);
        let mut modules: Vec<_> = totals.iter().collect();
        modules.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| name(a).cmp(name(b))));
        let Some((best, _)) = modules.first() else { return Ok(None) };
        let best = **best;
        let of_best = |run: &u32| self.runs[*run as usize].program == best;
        let mut runs: Vec<_> = spans
            .iter()
            .filter(|(run, _)| of_best(run))
            .map(|(run, span)| (*span, self.runs[*run as usize].id, *run))
            .collect();
        runs.sort_unstable();
        let steps = runs.iter().zip(0..).map(|((span, ..), number)| StepSpan::new(number, span.start, span.end));
        Ok(Some(Chosen {
            rule: StepRule::ModuleRuns,
            marker: name(&best).to_owned(),
            other_markers: modules.iter().skip(1).map(|(module, _)| name(module).to_owned()).collect(),
            steps: steps.collect(),
            marks: runs.iter().zip(0..).map(|((.., run), step)| (*run as usize, step)).collect(),
        }))
    }

    /// Finds the steps of a trace all of whose marks are known: those that match the user's pattern, else those with a
    /// number, else the whole trace.
    pub fn find_held_steps(self, whole: Option<(i64, i64)>, rule: StepRule) -> Steps {
        let by_number = || self.by_step_num().map(|chosen| Chosen { rule, ..chosen });
        let chosen = self.by_marker().or_else(by_number).unwrap_or_else(|| everything(whole));
        self.resolve(chosen)
    }

    /// Finds the steps. `whole` is the start of the first event and the end of the last.
    pub fn find_steps(self, whole: Option<(i64, i64)>, ops: &PendingSpans) -> io::Result<Steps> {
        let rules: [fn(&Self) -> Option<Chosen>; 6] = [
            Self::by_marker,
            Self::by_step_num,
            Self::by_steps_line,
            Self::by_function_call,
            Self::by_root,
            Self::by_module_line,
        ];
        let chosen = match rules.iter().find_map(|rule| rule(&self)) {
            None => self.by_module(ops)?,
            chosen => chosen,
        };
        Ok(self.resolve(chosen.unwrap_or_else(|| everything(whole))))
    }

    /// Resolves how each context finds its step.
    fn resolve(self, chosen: Chosen) -> Steps {
        let mut steps = Steps {
            rule: chosen.rule,
            marker: chosen.marker,
            other_markers: chosen.other_markers,
            list: chosen.steps,
            ..Steps::default()
        };
        steps.sort();
        let step_of: TrustedMap<u32, u32> = chosen.marks.iter().map(|(at, step)| (*at as u32, *step)).collect();
        let mut device_of: UntrustedMap<&str, u32> = UntrustedMap::default();
        let device_marks: &[DeviceMark] = match chosen.rule {
            StepRule::StepsLine => &self.device_steps,
            StepRule::ModuleRuns => &self.module_runs,
            _ => &[],
        };
        if !device_marks.is_empty() {
            for (at, step) in chosen.marks {
                let DeviceMark { plane, mark } = &device_marks[at];
                let next = device_of.len() as u32;
                let device = *device_of.entry(plane).or_insert(next);
                steps.on_device.resize(device_of.len(), Vec::new());
                steps.on_device[device as usize].push(DeviceStep { start: mark.start, end: mark.end, step });
            }
            steps.on_device.iter_mut().for_each(|steps| steps.sort_unstable());
        }
        let marked = |marks: &[u32; MarkKind::COUNT], run: u32| {
            let mark = match chosen.rule {
                StepRule::Marker => marks[MarkKind::Custom as usize],
                StepRule::StepNum => marks[MarkKind::Step as usize],
                StepRule::FunctionCalls => marks[MarkKind::Call as usize],
                StepRule::Root => marks[MarkKind::Root as usize],
                StepRule::ModuleRuns if device_marks.is_empty() => run,
                _ => return None,
            };
            step_of.get(&mark).copied()
        };
        let launched = |launch: (LaunchKind, Key)| {
            let site = self.launches.get(&launch)?;
            let step = marked(&site.around.marks, site.around.run).unwrap_or_else(|| steps.at(site.start));
            Some(step).filter(|step| *step != NONE)
        };
        let lookups = self.contexts.iter().map(|context| {
            let plane = &self.planes[context.plane as usize];
            if let Some(step) = marked(&context.marks, context.run) {
                return Lookup::Marked(step);
            }
            if let Some(device) = device_of.get(plane.as_str()) {
                return Lookup::Device(*device);
            }
            let mut launches = context.launches.into_iter().flatten();
            launches.find_map(launched).map_or(Lookup::Time, Lookup::Launched)
        });
        let lookups = lookups.collect();
        steps.lookups = lookups;
        steps
    }
}

/// Nothing marks steps: all of it is one.
fn everything(whole: Option<(i64, i64)>) -> Chosen {
    let (rule, start, end) = match whole {
        Some((start, end)) => (StepRule::WholeProfile, start, end),
        None => (StepRule::None, 0, 0),
    };
    let steps = if rule == StepRule::None { Vec::new() } else { vec![StepSpan::new(0, start, end)] };
    Chosen { rule, marker: String::new(), other_markers: Vec::new(), steps, marks: Vec::new() }
}

/// A mark with the number of its step.
struct NumberedMark<'m> {
    /// Its index.
    at: usize,
    number: i64,
    /// The device that it is on, if each has its own.
    device: &'m str,
    span: Interval,
}

impl NumberedMark<'_> {
    fn of_host(at: usize, mark: &Mark) -> Self {
        let span = Interval { start: mark.start, end: mark.end };
        NumberedMark { at, number: mark.number.unwrap_or(0), device: "", span }
    }
}

/// Steps by the numbers of their marks: equal numbers are one step, from the first start to the last end.
fn group<'m>(
    rule: StepRule,
    marker: String,
    other_markers: Vec<String>,
    chosen: impl Iterator<Item = NumberedMark<'m>>,
) -> Chosen {
    let mut marks = Vec::new();
    let mut spans: BTreeMap<(i64, &str), Interval> = BTreeMap::new();
    for NumberedMark { at, number, device, span } in chosen {
        marks.push((at, number));
        spans.entry((number, device)).or_insert(span).extend(span.start, span.end);
    }
    let mut by_number: BTreeMap<i64, Vec<Interval>> = BTreeMap::new();
    spans.into_iter().for_each(|((number, _), span)| by_number.entry(number).or_default().push(span));
    let mut steps: Vec<StepSpan> = by_number.into_iter().map(|(number, parts)| step_of_parts(number, parts)).collect();
    steps.sort_by_key(|step| (step.start, step.number));
    let index: UntrustedMap<i64, u32> = steps.iter().zip(0..).map(|(step, index)| (step.number, index)).collect();
    let marks = marks.into_iter().map(|(at, number)| (at, index[&number])).collect();
    Chosen { rule, marker, other_markers, steps, marks }
}

/// A step of several devices: as long as the longest run of parts that overlap.
fn step_of_parts(number: i64, mut parts: Vec<Interval>) -> StepSpan {
    parts.sort_unstable();
    let mut step = StepSpan::new(number, parts[0].start, parts[0].end);
    let mut run = parts[0];
    for Interval { start, end } in parts {
        if start > run.end {
            run = Interval { start, end };
        }
        run.extend(start, end);
        step.end = step.end.max(end);
        let length = run.end.saturating_sub(run.start);
        if length > step.length {
            (step.length, step.longest) = (length, run.start);
        }
    }
    step
}

/// Each mark is a step, numbered from 0 by start.
fn in_order(
    rule: StepRule,
    marker: String,
    other_markers: Vec<String>,
    marks: &[Mark],
    mut chosen: Vec<usize>,
) -> Chosen {
    chosen.sort_by_key(|at| (marks[*at].start, marks[*at].end));
    let steps = chosen.iter().zip(0..).map(|(at, number)| {
        let Mark { start, end, .. } = marks[*at];
        StepSpan::new(number, start, end)
    });
    let steps = steps.collect();
    Chosen { rule, marker, other_markers, steps, marks: chosen.into_iter().zip(0..).collect() }
}
