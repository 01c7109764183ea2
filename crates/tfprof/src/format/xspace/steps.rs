//! Where a step begins and ends: the first rule that finds any, and which step an event belongs to.
//!
//! What marks steps is known only at the end of the walk, so each op is noted with its context: the marks around it and
//! the ids of what launched it. Few contexts differ, and each is looked up once.

use super::event::Event;
use super::own::Few;
use super::plane::Plane;
use super::records::Records;
use super::stats::{Key, Stat, Texts};
use crate::model::names::{NameId, Names};
use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// By what steps were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// A pattern that was asked for.
    Marker,
    StepNum,
    StepsLine,
    FunctionCalls,
    Root,
    ModuleRuns,
    WholeProfile,
    #[default]
    None,
}

impl Rule {
    pub fn word(self) -> &'static str {
        match self {
            Rule::Marker => "step_marker",
            Rule::StepNum => "step_num",
            Rule::StepsLine => "Steps line",
            Rule::FunctionCalls => "function calls",
            Rule::Root => "root",
            Rule::ModuleRuns => "module runs",
            Rule::WholeProfile => "whole profile",
            Rule::None => "none",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Rule::Marker => "events that -step_marker matches",
            Rule::StepNum => "annotations with a step_num",
            Rule::StepsLine => "the device's own line of steps",
            Rule::FunctionCalls => "calls of a tf.function",
            Rule::Root => "runs of a function, which the runtime marks as roots",
            Rule::ModuleRuns => "runs of the XLA program that takes most time",
            Rule::WholeProfile => "nothing marks steps: all of it is one",
            Rule::None => "nothing has a start",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub number: i64,
    pub start: i64,
    pub end: i64,
}

/// The steps of a file.
#[derive(Debug, Default)]
pub struct Steps {
    pub rule: Rule,
    /// What marks them.
    pub marker: String,
    /// Other names that could have.
    pub others: Vec<String>,
    pub list: Vec<Step>,
    /// Starts and places in the list, by start.
    by_start: Vec<(i64, u32)>,
    /// How many steps began before the time that was asked for last.
    began: usize,
    /// Devices with a line of steps of their own: start, end and place of each.
    own: Vec<Vec<(i64, i64, u32)>>,
    /// By context, how its events find their step.
    ways: Vec<Way>,
}

/// How an event finds its step.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// A mark around it says so.
    Marked(u32),
    /// The device's own line of steps does.
    Device(u32),
    /// What launched it does.
    Launched(u32),
    Time,
}

/// How the step of an event was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Line,
    StepsLine,
    Launch,
    Time,
    Outside,
}

/// No step, or no event.
pub const NONE: u32 = u32::MAX;

impl Steps {
    /// The place of the step of an event, and how it was found.
    #[inline]
    pub fn of(&mut self, context: u32, start: i64) -> (Option<u32>, Found) {
        let (step, found) = match self.ways[context as usize] {
            Way::Marked(step) => (step, Found::Line),
            Way::Launched(step) => (step, Found::Launch),
            Way::Time => (self.near(start), Found::Time),
            Way::Device(device) => {
                let own = &self.own[device as usize];
                let after = own.partition_point(|(first, ..)| *first <= start);
                let step = own[..after].last().filter(|(_, end, _)| start < *end).map_or(NONE, |(.., step)| *step);
                (step, Found::StepsLine)
            }
        };
        if step == NONE { (None, Found::Outside) } else { (Some(step), found) }
    }

    /// The step with the latest start not after a time, which is near the one that was asked for last.
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

    /// The step with the latest start not after a time.
    fn at(&self, time: i64) -> u32 {
        let after = self.by_start.partition_point(|(start, _)| *start <= time);
        after.checked_sub(1).map_or(NONE, |last| self.by_start[last].1)
    }

    fn order(&mut self) {
        self.by_start = self.list.iter().zip(0..).map(|(step, place)| (step.start, place)).collect();
        self.by_start.sort_by_key(|(start, _)| *start);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Launch {
    Correlation,
    Run,
    Function,
}

/// What the steps of a rule are, before events are told which they belong to.
struct Chosen {
    rule: Rule,
    marker: String,
    others: Vec<String>,
    steps: Vec<Step>,
    /// Marks of the rule with the place of their step.
    marks: Vec<(usize, u32)>,
}

/// An event that may mark a step.
#[derive(Debug)]
struct Mark {
    start: i64,
    end: i64,
    name: NameId,
    number: Option<i64>,
    /// Of roots: whether it is a function, and its id.
    is_function: bool,
    id: Option<Key>,
}

/// The marks around an event, one of each kind at most, since only the outermost count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Around {
    marks: [u32; MARKS],
    /// The nearest `EagerExecute`.
    eager: u32,
    /// The nearest op of a program's run.
    run: u32,
}

impl Around {
    const NOTHING: Around = Around { marks: [NONE; MARKS], eager: NONE, run: NONE };
}

const CUSTOM: usize = 0;
const STEP: usize = 1;
const CALL: usize = 2;
const ROOT: usize = 3;
const MARKS: usize = 4;

/// What an event knows of its step before steps are known. Equal contexts have equal steps, but for their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Context {
    marks: [u32; MARKS],
    run: u32,
    plane: u32,
    /// It is an op of a run itself.
    is_run: bool,
    launches: [Option<Key>; 3],
}

/// What of an op's step is told by its own stats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Launches {
    correlation: Option<Key>,
    run: Option<Key>,
    /// The run that it is an op of, by its place among the runs.
    own_run: u32,
}

/// What an event says of its step, by places in what the collector holds of its line; 0 is nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Note {
    more: u32,
    pub launch: u32,
    /// It is an executor's work, for something.
    pub executor: u32,
}

impl Note {
    /// Whether events within this one need it.
    #[inline]
    pub fn is_something(self) -> bool {
        self.more | self.executor != 0
    }
}

/// Lists for the line at hand. The first of each stands for nothing.
#[derive(Debug)]
struct OfLine {
    more: Vec<More>,
    launches: Vec<Launches>,
    executors: Vec<Option<Key>>,
    arounds: Vec<Around>,
    /// The stats of the last op that said how it was launched, whether it was XLA's, and what it said.
    last_launch: Option<(Few, u32, u32)>,
    /// The last op's run, what lay around it without, and with it.
    last_run: (u32, u32, u32),
    /// The last context and what it was made of.
    last_context: (u32, u32, u32, u32),
}

impl OfLine {
    fn new() -> OfLine {
        OfLine {
            more: vec![More::default()],
            launches: vec![Launches { correlation: None, run: None, own_run: NONE }],
            executors: vec![None],
            arounds: vec![Around::NOTHING],
            last_launch: None,
            last_run: (NONE, NONE, NONE),
            last_context: (NONE, NONE, NONE, NONE),
        }
    }

    fn clear(&mut self) {
        self.more.truncate(1);
        self.launches.truncate(1);
        self.executors.truncate(1);
        self.arounds.truncate(1);
        self.last_launch = None;
        (self.last_run, self.last_context) = ((NONE, NONE, NONE), (NONE, NONE, NONE, NONE));
    }
}

/// Everything that may mark a step or launch something, as a walk comes to it.
#[derive(Debug)]
pub struct Collector<'m> {
    marker: Option<&'m Regex>,
    names: Names,
    marks: [Vec<Mark>; MARKS],
    eager: Vec<(NameId, bool)>,
    data_ids: FxHashSet<Option<Key>>,
    launches: FxHashMap<(Launch, Key), (Around, i64)>,
    device_steps: Vec<(String, Mark)>,
    texts: Texts,
    /// Programs and their runs, each once.
    runs: Vec<(NameId, Key)>,
    run_of: FxHashMap<(NameId, Key), u32>,
    last_run: u32,
    contexts: Vec<Context>,
    context_of: FxHashMap<Context, u32>,
    line: OfLine,
    /// What the names of the plane at hand say.
    by_name: Vec<ByName>,
    plane: u32,
    planes: Vec<String>,
}

/// What some events have.
#[derive(Debug, Default)]
struct More {
    name: NameId,
    is: [bool; MARKS],
    number: Option<i64>,
    id: Option<Key>,
    eager: Option<(NameId, bool)>,
    launches: [Option<(Launch, Key)>; 3],
}

/// What the name of an event says, found once for each of a plane's names.
#[derive(Clone, Copy, Debug, Default)]
struct ByName {
    matches_marker: bool,
    is_function_run: bool,
    is_eager: bool,
    is_data_run: bool,
    is_executor: bool,
    /// Any of those but the last.
    is_more: bool,
}

/// Stats that make an event one to look at.
const RELEVANT: u32 =
    Stat::StepNum.bit() | Stat::Root.bit() | Stat::FunctionCall.bit() | Stat::CorrelationId.bit() | Stat::RunId.bit();

/// Stats that say how an op was launched.
const OF_LAUNCHES: u32 = Stat::CorrelationId.bit() | Stat::RunId.bit() | Stat::HloModule.bit();

/// The stats that any of this looks at.
pub const OF_STEPS: u32 = RELEVANT
    | OF_LAUNCHES
    | Stat::HloOp.bit()
    | Stat::EagerOp.bit()
    | Stat::IsFunc.bit()
    | Stat::Id.bit()
    | Stat::GroupId.bit();

impl<'m> Collector<'m> {
    pub fn new(marker: Option<&'m Regex>) -> Self {
        Collector {
            marker,
            names: Names::default(),
            marks: Default::default(),
            eager: Vec::new(),
            data_ids: FxHashSet::default(),
            launches: FxHashMap::default(),
            device_steps: Vec::new(),
            texts: Texts::default(),
            runs: Vec::new(),
            run_of: FxHashMap::default(),
            last_run: NONE,
            contexts: Vec::new(),
            context_of: FxHashMap::default(),
            line: OfLine::new(),
            by_name: Vec::new(),
            plane: NONE,
            planes: Vec::new(),
        }
    }

    /// Lines of one plane come one after the other.
    pub fn turn_to(&mut self, place: usize, plane: &Plane) {
        if self.plane != place as u32 {
            self.plane = place as u32;
            self.planes.resize(place + 1, String::new());
            self.planes[place].clone_from(&plane.name);
            self.by_name = plane.metas.iter().map(|meta| ByName::new(&meta.name, self.marker)).collect();
        }
    }

    /// What an event says of steps and launches.
    #[inline]
    pub fn note(&mut self, event: &Event<'_>, is_host: bool, is_op: bool) -> Note {
        let by_name = event.meta_at.map_or(ByName::default(), |at| self.by_name[at]);
        let mask = event.mask();
        let mut note = Note::default();
        // Ops name their runs too, but launch nothing.
        let relevant = if mask & Stat::HloOp.bit() == 0 { RELEVANT } else { RELEVANT & !Stat::RunId.bit() };
        if is_host && (mask & relevant != 0 || by_name.is_more) {
            let more = self.more_of(event, by_name);
            note.more = push(&mut self.line.more, more);
        }
        if is_op && mask & (Stat::CorrelationId.bit() | Stat::RunId.bit()) != 0 {
            note.launch = self.launch(event);
        }
        if by_name.is_executor {
            let id = event.key(Stat::Id, &mut self.texts);
            note.executor = push(&mut self.line.executors, id);
        }
        note
    }

    fn more_of(&mut self, event: &Event<'_>, by_name: ByName) -> More {
        let id = event.key(Stat::Id, &mut self.texts);
        if by_name.is_data_run {
            self.data_ids.insert(id);
        }
        let number = event.int(Stat::StepNum);
        let mut key = |launch, stat, is: bool| {
            let key = if is { event.key(stat, &mut self.texts) } else { None };
            key.map(|key| (launch, key))
        };
        let launches = [
            key(Launch::Correlation, Stat::CorrelationId, true),
            key(Launch::Run, Stat::RunId, !event.has(Stat::HloOp)),
            key(Launch::Function, Stat::Id, by_name.is_function_run),
        ];
        let eager = by_name.is_eager.then(|| {
            let op = event.text(Stat::EagerOp).unwrap_or_default();
            let is_function = !event.has(Stat::IsFunc) || event.is_true(Stat::IsFunc);
            (self.names.intern(&op), is_function)
        });
        let is = [by_name.matches_marker, number.is_some(), event.has(Stat::FunctionCall), event.is_true(Stat::Root)];
        let name = if is.contains(&true) { self.names.intern(&event.full_name()) } else { NameId::EMPTY };
        More { name, is, number, id, eager, launches }
    }

    /// What an op says of its launch and of the run that it is part of.
    #[inline]
    fn launch(&mut self, event: &Event<'_>) -> u32 {
        // Neighbours are much alike, unless their metadata has a say.
        let is_own = event.meta_mask & (OF_LAUNCHES | Stat::HloOp.bit()) == 0;
        let is_xla = event.own_mask() & Stat::HloOp.bit();
        if is_own
            && let Some((stats, was_xla, launch)) = &self.line.last_launch
            && is_xla == *was_xla
            && event.has_same(OF_LAUNCHES, stats)
        {
            return *launch;
        }
        let correlation = event.key(Stat::CorrelationId, &mut self.texts);
        let run = event.key(Stat::RunId, &mut self.texts);
        let own_run = match run {
            Some(run) if event.has(Stat::HloOp) => self.run(event, run),
            _ => NONE,
        };
        let launch = push(&mut self.line.launches, Launches { correlation, run, own_run });
        self.line.last_launch = event.few(OF_LAUNCHES).filter(|_| is_own).map(|stats| (stats, is_xla, launch));
        launch
    }

    fn run(&mut self, event: &Event<'_>, run: Key) -> u32 {
        let module = event.text(Stat::HloModule).unwrap_or_default();
        // Ops of one run come one after the other.
        if let Some((last, key)) = self.runs.get(self.last_run as usize)
            && *key == run
            && self.names.get(*last) == module
        {
            return self.last_run;
        }
        let next = self.runs.len() as u32;
        let run = (self.names.intern(&module), run);
        self.last_run = *self.run_of.entry(run).or_insert(next);
        if self.last_run == next {
            self.runs.push(run);
        }
        self.last_run
    }

    /// Takes an event in its place, with what lies around it; says what lies around the events in it.
    #[inline]
    pub fn visit(&mut self, start: i64, end: i64, note: Note, around: u32) -> u32 {
        let run = self.line.launches[note.launch as usize].own_run;
        let around = if run == NONE { around } else { self.within_run(run, around) };
        if note.more == 0 { around } else { self.visit_more(start, end, note.more, around) }
    }

    fn within_run(&mut self, run: u32, outer: u32) -> u32 {
        let (last, last_outer, last_inner) = self.line.last_run;
        if (last, last_outer) == (run, outer) {
            return last_inner;
        }
        let around = self.line.arounds[outer as usize];
        let inner = if around.run == run { outer } else { push(&mut self.line.arounds, Around { run, ..around }) };
        self.line.last_run = (run, outer, inner);
        inner
    }

    fn visit_more(&mut self, start: i64, end: i64, more: u32, outer: u32) -> u32 {
        let mut around = self.line.arounds[outer as usize];
        let more = &self.line.more[more as usize];
        for kind in 0..MARKS {
            if more.is[kind] && around.marks[kind] == NONE {
                // A root is called by the function that was asked for around it.
                let eager = if kind == ROOT { self.eager.get(around.eager as usize) } else { None };
                let (name, is_function) = eager.copied().unwrap_or((more.name, true));
                around.marks[kind] = self.marks[kind].len() as u32;
                self.marks[kind].push(Mark { start, end, name, number: more.number, is_function, id: more.id });
            }
        }
        for key in more.launches.into_iter().flatten() {
            self.launches.entry(key).or_insert((around, start));
        }
        if let Some(eager) = more.eager {
            around.eager = self.eager.len() as u32;
            self.eager.push(eager);
        }
        if around == self.line.arounds[outer as usize] { outer } else { push(&mut self.line.arounds, around) }
    }

    pub fn end_line(&mut self) {
        self.line.clear();
    }

    /// An event of a device's own line of steps.
    pub fn device_step(&mut self, event: &Event<'_>) {
        let number = event.int(Stat::GroupId).or_else(|| first_number(&event.shown()));
        let (start, end) = (event.start, event.end);
        let mark = Mark { start, end, name: NameId::EMPTY, number, is_function: false, id: None };
        self.device_steps.push((event.plane.name.clone(), mark));
    }

    /// The number of an event's context.
    #[inline]
    pub fn context(&mut self, around: u32, launch: u32, executor: u32) -> u32 {
        let (last_around, last_launch, last_executor, last) = self.line.last_context;
        // Neighbours are much alike.
        if (last_around, last_launch, last_executor) == (around, launch, executor) {
            return last;
        }
        let number = self.context_number(around, launch, executor);
        self.line.last_context = (around, launch, executor, number);
        number
    }

    fn context_number(&mut self, around: u32, launch: u32, executor: u32) -> u32 {
        let around = &self.line.arounds[around as usize];
        let launch = &self.line.launches[launch as usize];
        let context = Context {
            marks: around.marks,
            run: around.run,
            plane: self.plane,
            is_run: launch.own_run != NONE,
            launches: [launch.correlation, launch.run, self.line.executors[executor as usize]],
        };
        let next = self.contexts.len() as u32;
        let number = *self.context_of.entry(context).or_insert(next);
        if number == next {
            self.contexts.push(context);
        }
        number
    }

    fn by_marker(&self) -> Option<Chosen> {
        let marks = &self.marks[CUSTOM];
        let all: Vec<usize> = (0..marks.len()).collect();
        let first = marks.first()?;
        let marker = self.names.get(first.name).to_owned();
        let numbered = marks.iter().all(|mark| mark.number.is_some());
        Some(if numbered {
            grouped(Rule::Marker, marker, Vec::new(), marks, &all)
        } else {
            by_place(Rule::Marker, marker, Vec::new(), marks, all)
        })
    }

    fn by_step_num(&self) -> Option<Chosen> {
        let marks = &self.marks[STEP];
        let (best, others) = self.best(marks, 0..marks.len(), false)?;
        let mine: Vec<_> = (0..marks.len()).filter(|at| marks[*at].name == best).collect();
        Some(grouped(Rule::StepNum, self.names.get(best).to_owned(), others, marks, &mine))
    }

    fn by_steps_line(&self) -> Option<Chosen> {
        let marks = &self.device_steps;
        if marks.is_empty() || marks.iter().any(|(_, mark)| mark.number.is_none()) {
            return None;
        }
        let all: Vec<usize> = (0..marks.len()).collect();
        Some(group(Rule::StepsLine, "Steps".to_owned(), Vec::new(), &all, |at| &marks[at].1))
    }

    fn by_function_call(&self) -> Option<Chosen> {
        let marks = &self.marks[CALL];
        let (best, others) = self.best(marks, 0..marks.len(), true)?;
        let mine = (0..marks.len()).filter(|at| marks[*at].name == best).collect();
        Some(by_place(Rule::FunctionCalls, self.names.get(best).to_owned(), others, marks, mine))
    }

    fn by_root(&self) -> Option<Chosen> {
        let marks = &self.marks[ROOT];
        let mut roots: Vec<_> = (0..marks.len()).filter(|at| !self.data_ids.contains(&marks[*at].id)).collect();
        if roots.iter().any(|at| marks[*at].is_function) {
            roots.retain(|at| marks[*at].is_function);
        }
        let (best, others) = self.best(marks, roots.iter().copied(), true)?;
        roots.retain(|at| marks[*at].name == best);
        Some(by_place(Rule::Root, self.names.get(best).to_owned(), others, marks, roots))
    }

    /// The name with the largest time, those that come at least twice first; and the other names.
    fn best(
        &self,
        marks: &[Mark],
        among: impl Iterator<Item = usize>,
        twice_first: bool,
    ) -> Option<(NameId, Vec<String>)> {
        let mut by_name: BTreeMap<NameId, (u64, i64)> = BTreeMap::new();
        for at in among {
            let (count, time) = by_name.entry(marks[at].name).or_default();
            *count += 1;
            *time = time.saturating_add(marks[at].end.saturating_sub(marks[at].start));
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

    /// Steps by the runs of the program that takes most time; nothing if there are no such runs.
    fn by_module(&self, records: &Records) -> Option<Chosen> {
        let mut totals: BTreeMap<NameId, i64> = BTreeMap::new();
        let mut spans: FxHashMap<u32, (i64, i64)> = FxHashMap::default();
        records.each(|record| {
            let context = &self.contexts[record.context as usize];
            if context.is_run {
                let total = totals.entry(self.runs[context.run as usize].0).or_default();
                *total = total.saturating_add(record.own);
                let end = record.start.saturating_add(record.total);
                let span = spans.entry(context.run).or_insert((record.start, end));
                *span = (span.0.min(record.start), span.1.max(end));
            }
        });
        let name = |module: &NameId| self.names.get(*module);
        let mut modules: Vec<_> = totals.iter().collect();
        modules.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| name(a).cmp(name(b))));
        let best = *modules.first()?.0;
        let of_best = |run: &u32| self.runs[*run as usize].0 == best;
        let mut runs: Vec<_> = spans
            .iter()
            .filter(|(run, _)| of_best(run))
            .map(|(run, span)| (*span, self.runs[*run as usize].1, *run))
            .collect();
        runs.sort_unstable();
        let steps = runs.iter().zip(0..).map(|(((start, end), ..), number)| Step { number, start: *start, end: *end });
        Some(Chosen {
            rule: Rule::ModuleRuns,
            marker: name(&best).to_owned(),
            others: modules.iter().skip(1).map(|(module, _)| name(module).to_owned()).collect(),
            steps: steps.collect(),
            marks: runs.iter().zip(0..).map(|((.., run), step)| (*run as usize, step)).collect(),
        })
    }

    /// Finds the steps. `whole` is when the first event began and the last one ended; `records` are all ops.
    pub fn settle(self, whole: Option<(i64, i64)>, records: &Records) -> Steps {
        let rules: [fn(&Self) -> Option<Chosen>; 5] =
            [Self::by_marker, Self::by_step_num, Self::by_steps_line, Self::by_function_call, Self::by_root];
        let everything = || {
            let (rule, start, end) = match whole {
                Some((start, end)) => (Rule::WholeProfile, start, end),
                None => (Rule::None, 0, 0),
            };
            let steps = if rule == Rule::None { Vec::new() } else { vec![Step { number: 0, start, end }] };
            Chosen { rule, marker: String::new(), others: Vec::new(), steps, marks: Vec::new() }
        };
        let chosen = rules.iter().find_map(|rule| rule(&self));
        let chosen = chosen.or_else(|| self.by_module(records)).unwrap_or_else(everything);
        self.place(chosen)
    }

    /// Contexts learn how to find their steps.
    fn place(self, chosen: Chosen) -> Steps {
        let mut steps = Steps {
            rule: chosen.rule,
            marker: chosen.marker,
            others: chosen.others,
            list: chosen.steps,
            ..Steps::default()
        };
        steps.order();
        let step_of: FxHashMap<u32, u32> = chosen.marks.iter().map(|(at, step)| (*at as u32, *step)).collect();
        let mut device_of: FxHashMap<&str, u32> = FxHashMap::default();
        if chosen.rule == Rule::StepsLine {
            for (at, step) in chosen.marks {
                let (plane, mark) = &self.device_steps[at];
                let next = device_of.len() as u32;
                let device = *device_of.entry(plane).or_insert(next);
                steps.own.resize(device_of.len(), Vec::new());
                steps.own[device as usize].push((mark.start, mark.end, step));
            }
            steps.own.iter_mut().for_each(|steps| steps.sort_unstable());
        }
        let marked = |marks: &[u32; MARKS], run: u32| {
            let mark = match chosen.rule {
                Rule::Marker => marks[CUSTOM],
                Rule::StepNum => marks[STEP],
                Rule::FunctionCalls => marks[CALL],
                Rule::Root => marks[ROOT],
                Rule::ModuleRuns => run,
                _ => return None,
            };
            step_of.get(&mark).copied()
        };
        let launched = |launch: Launch, key: Option<Key>| {
            let (around, start) = self.launches.get(&(launch, key?))?;
            let step = marked(&around.marks, around.run).unwrap_or_else(|| steps.at(*start));
            Some(step).filter(|step| *step != NONE)
        };
        let ways = self.contexts.iter().map(|context| {
            let plane = &self.planes[context.plane as usize];
            if let Some(step) = marked(&context.marks, context.run) {
                return Way::Marked(step);
            }
            if let Some(device) = device_of.get(plane.as_str()) {
                return Way::Device(*device);
            }
            let kinds = [Launch::Correlation, Launch::Run, Launch::Function];
            let mut launches = kinds.into_iter().zip(context.launches);
            launches.find_map(|(launch, key)| launched(launch, key)).map_or(Way::Time, Way::Launched)
        });
        let ways = ways.collect();
        steps.ways = ways;
        steps
    }
}

impl ByName {
    fn new(name: &str, marker: Option<&Regex>) -> ByName {
        let mut by_name = ByName {
            matches_marker: marker.is_some_and(|marker| marker.is_match(name)),
            is_function_run: name == "FunctionRun",
            is_eager: name == "EagerExecute",
            is_data_run: name.starts_with("InstantiatedCapturedFunction::Run"),
            is_executor: name == "ExecutorState::Process",
            is_more: false,
        };
        let ByName { matches_marker, is_function_run, is_eager, is_data_run, .. } = by_name;
        by_name.is_more = matches_marker || is_function_run || is_eager || is_data_run;
        by_name
    }
}

/// Steps by the numbers of their marks: equal numbers are one, from the first start to the last end.
fn grouped(rule: Rule, marker: String, others: Vec<String>, marks: &[Mark], mine: &[usize]) -> Chosen {
    group(rule, marker, others, mine, |at| &marks[at])
}

fn group<'m>(
    rule: Rule,
    marker: String,
    others: Vec<String>,
    mine: &[usize],
    mark: impl Fn(usize) -> &'m Mark,
) -> Chosen {
    let mut by_number: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for at in mine {
        let Mark { start, end, number, .. } = mark(*at);
        let step = by_number.entry(number.unwrap_or(0)).or_insert((*start, *end));
        *step = (step.0.min(*start), step.1.max(*end));
    }
    let mut steps: Vec<Step> =
        by_number.into_iter().map(|(number, (start, end))| Step { number, start, end }).collect();
    steps.sort_by_key(|step| (step.start, step.number));
    let place: FxHashMap<i64, u32> = steps.iter().zip(0..).map(|(step, place)| (step.number, place)).collect();
    let marks = mine.iter().map(|at| (*at, place[&mark(*at).number.unwrap_or(0)])).collect();
    Chosen { rule, marker, others, steps, marks }
}

/// Each mark a step, numbered from 0 by start.
fn by_place(rule: Rule, marker: String, others: Vec<String>, marks: &[Mark], mut mine: Vec<usize>) -> Chosen {
    mine.sort_by_key(|at| (marks[*at].start, marks[*at].end));
    let steps = mine.iter().zip(0..).map(|(at, number)| {
        let Mark { start, end, .. } = marks[*at];
        Step { number, start, end }
    });
    let steps = steps.collect();
    Chosen { rule, marker, others, steps, marks: mine.into_iter().zip(0..).collect() }
}

fn first_number(text: &str) -> Option<i64> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits = &text[start..];
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    Some(digits[..end].parse().unwrap_or(i64::MAX))
}

/// Puts something at the end of a list; says where it is.
#[inline]
fn push<T>(list: &mut Vec<T>, item: T) -> u32 {
    list.push(item);
    list.len() as u32 - 1
}
