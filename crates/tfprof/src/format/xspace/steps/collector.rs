//! What may mark a step or launch something, noted as a walk comes to it, and the context of each op.

use super::NONE;
use crate::format::xspace::event::Event;
use crate::format::xspace::own::Few;
use crate::format::xspace::plane::Plane;
use crate::format::xspace::stats::{Key, Stat, Texts};
use crate::model::names::{NameId, Names};
use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Launch {
    Correlation,
    Run,
    Function,
}

/// An event that may mark a step.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) name: NameId,
    pub(super) number: Option<i64>,
    /// Of roots: whether it is a function, and its id.
    pub(super) is_function: bool,
    pub(super) id: Option<Key>,
}

/// The marks around an event, one of each kind at most, since only the outermost count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Around {
    pub(super) marks: [u32; MARKS],
    /// The nearest `EagerExecute`.
    pub(super) eager: u32,
    /// The nearest op of a program's run.
    pub(super) run: u32,
}

impl Around {
    const NOTHING: Around = Around { marks: [NONE; MARKS], eager: NONE, run: NONE };
}

pub(super) const CUSTOM: usize = 0;
pub(super) const STEP: usize = 1;
pub(super) const CALL: usize = 2;
pub(super) const ROOT: usize = 3;
pub(super) const MARKS: usize = 4;

/// What an event knows of its step before steps are known. Equal contexts have equal steps, but for their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Context {
    pub(super) marks: [u32; MARKS],
    pub(super) run: u32,
    pub(super) plane: u32,
    /// It is an op of a run itself.
    pub(super) is_run: bool,
    pub(super) launches: [Option<Key>; 3],
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
    pub(super) names: Names,
    pub(super) marks: [Vec<Mark>; MARKS],
    eager: Vec<(NameId, bool)>,
    pub(super) data_ids: FxHashSet<Option<Key>>,
    pub(super) launches: FxHashMap<(Launch, Key), (Around, i64)>,
    pub(super) device_steps: Vec<(String, Mark)>,
    texts: Texts,
    /// Programs and their runs, each once.
    pub(super) runs: Vec<(NameId, Key)>,
    run_of: FxHashMap<(NameId, Key), u32>,
    last_run: u32,
    pub(super) contexts: Vec<Context>,
    context_of: FxHashMap<Context, u32>,
    line: OfLine,
    /// What the names of the plane at hand say.
    by_name: Vec<ByName>,
    plane: u32,
    pub(super) planes: Vec<String>,
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
