//! Collects everything that may mark a step or launch an op during a walk, and the context of each op.

use super::NONE;
use crate::events::Key;
use crate::hash::{UntrustedMap, UntrustedSet};
use crate::model::names::{NameId, Names};

/// The id that a launch and the launched op share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaunchKind {
    Correlation,
    Run,
    Function,
}

/// How an event may mark a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// It matches the user's pattern.
    Custom,
    /// It has a step number.
    Step,
    /// It calls a function.
    Call,
    /// The runtime marks it as a root.
    Root,
}

impl MarkKind {
    pub const COUNT: usize = 4;
    const ALL: [MarkKind; MarkKind::COUNT] = [MarkKind::Custom, MarkKind::Step, MarkKind::Call, MarkKind::Root];
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

/// An event of a device's own line of steps or programs.
#[derive(Clone, Copy, Debug)]
pub struct DeviceEvent<'e> {
    pub plane: &'e str,
    pub name: &'e str,
    pub number: Option<i64>,
    pub start: i64,
    pub end: i64,
}

/// The same, stored.
#[derive(Debug)]
pub(super) struct DeviceMark {
    pub(super) plane: String,
    pub(super) mark: Mark,
}

/// The marks around an event: of each kind, the outermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Surroundings {
    pub(super) marks: [u32; MarkKind::COUNT],
    /// The nearest request for a function.
    pub(super) request: u32,
    /// The nearest op of a program's run.
    pub(super) run: u32,
}

impl Surroundings {
    const NOTHING: Surroundings = Surroundings { marks: [NONE; MarkKind::COUNT], request: NONE, run: NONE };
}

/// The context of an event: equal contexts have equal steps, unless the step is found by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Context {
    pub(super) marks: [u32; MarkKind::COUNT],
    pub(super) run: u32,
    pub(super) plane: u32,
    /// It is an op of a run itself.
    pub(super) is_run: bool,
    pub(super) launches: [Option<(LaunchKind, Key)>; 3],
}

/// A launch: its surroundings and its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaunchSite {
    pub(super) around: Surroundings,
    pub(super) start: i64,
}

/// A run of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProgramRun {
    pub(super) program: NameId,
    pub(super) id: Key,
}

/// The ids by which an op names its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launches {
    pub correlation: Option<Key>,
    pub run: Option<Key>,
    /// The run that it is an op of: a number of [`StepCollector::run`], or [`NONE`].
    pub own_run: u32,
}

/// The clues of an event about its step, as indices into the lists of its line; 0 is nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Note {
    pub clues: u32,
    pub launch: u32,
    /// It is an executor's work for a function.
    pub executor: u32,
}

impl Note {
    /// Whether events inside this one need it.
    #[inline]
    pub fn is_something(self) -> bool {
        self.clues | self.executor != 0
    }
}

/// The clues of an event that may mark a step or launch something.
#[derive(Debug, Default)]
pub struct StepClues {
    pub name: NameId,
    /// By [`MarkKind`].
    pub marks: [bool; MarkKind::COUNT],
    pub number: Option<i64>,
    pub id: Option<Key>,
    pub request: Option<FunctionRequest>,
    pub launches: [Option<(LaunchKind, Key)>; 3],
}

/// A request to run an op or a function, which names the root inside it.
#[derive(Clone, Copy, Debug)]
pub struct FunctionRequest {
    pub name: NameId,
    pub is_function: bool,
}

/// Surroundings inside a run, for the last op.
#[derive(Clone, Copy, Debug)]
struct LastRun {
    run: u32,
    outer: u32,
    inner: u32,
}

/// The last context and its parts.
#[derive(Clone, Copy, Debug)]
struct LastContext {
    around: u32,
    launch: u32,
    executor: u32,
    context: u32,
}

/// Lists for the current line. The first item of each stands for nothing.
#[derive(Debug)]
struct LineLists {
    clues: Vec<StepClues>,
    launches: Vec<Launches>,
    executors: Vec<Option<Key>>,
    surroundings: Vec<Surroundings>,
    last_run: LastRun,
    last_context: LastContext,
}

impl LineLists {
    const NO_RUN: LastRun = LastRun { run: NONE, outer: NONE, inner: NONE };
    const NO_CONTEXT: LastContext = LastContext { around: NONE, launch: NONE, executor: NONE, context: NONE };

    fn new() -> LineLists {
        LineLists {
            clues: vec![StepClues::default()],
            launches: vec![Launches { correlation: None, run: None, own_run: NONE }],
            executors: vec![None],
            surroundings: vec![Surroundings::NOTHING],
            last_run: LineLists::NO_RUN,
            last_context: LineLists::NO_CONTEXT,
        }
    }

    fn clear(&mut self) {
        self.clues.truncate(1);
        self.launches.truncate(1);
        self.executors.truncate(1);
        self.surroundings.truncate(1);
        (self.last_run, self.last_context) = (LineLists::NO_RUN, LineLists::NO_CONTEXT);
    }
}

/// Everything that may mark a step or launch an op, as a walk comes to it.
#[derive(Debug)]
pub struct StepCollector {
    pub names: Names,
    pub(super) marks: [Vec<Mark>; MarkKind::COUNT],
    requests: Vec<FunctionRequest>,
    /// Ids of functions that process input data: they are not steps.
    pub(super) data_ids: UntrustedSet<Option<Key>>,
    pub(super) launches: UntrustedMap<(LaunchKind, Key), LaunchSite>,
    pub(super) device_steps: Vec<DeviceMark>,
    pub(super) module_runs: Vec<DeviceMark>,
    pub(super) runs: Vec<ProgramRun>,
    run_of: UntrustedMap<ProgramRun, u32>,
    last_run: u32,
    pub(super) contexts: Vec<Context>,
    context_of: UntrustedMap<Context, u32>,
    line: LineLists,
    plane: u32,
    pub(super) planes: Vec<String>,
}

impl Default for StepCollector {
    fn default() -> Self {
        StepCollector {
            names: Names::default(),
            marks: Default::default(),
            requests: Vec::new(),
            data_ids: UntrustedSet::default(),
            launches: UntrustedMap::default(),
            device_steps: Vec::new(),
            module_runs: Vec::new(),
            runs: Vec::new(),
            run_of: UntrustedMap::default(),
            last_run: NONE,
            contexts: Vec::new(),
            context_of: UntrustedMap::default(),
            line: LineLists::new(),
            plane: NONE,
            planes: Vec::new(),
        }
    }
}

impl StepCollector {
    /// Begins a line of a plane.
    pub fn begin_line(&mut self, plane: usize, name: &str) {
        if self.plane != plane as u32 {
            self.plane = plane as u32;
            self.planes.resize(plane + 1, String::new());
            name.clone_into(&mut self.planes[plane]);
        }
    }

    pub fn end_line(&mut self) {
        self.line.clear();
    }

    /// Stores the clues of an event, for [`Note::clues`].
    pub fn add_clues(&mut self, clues: StepClues) -> u32 {
        push(&mut self.line.clues, clues)
    }

    /// Stores how an op was launched, for [`Note::launch`].
    pub fn add_launch(&mut self, launch: Launches) -> u32 {
        push(&mut self.line.launches, launch)
    }

    /// Stores the function that an executor works for, for [`Note::executor`].
    pub fn add_executor(&mut self, id: Option<Key>) -> u32 {
        push(&mut self.line.executors, id)
    }

    /// The function of this id processes input data.
    pub fn add_data_function(&mut self, id: Option<Key>) {
        self.data_ids.insert(id);
    }

    /// Adds an event of a device's own line of steps.
    pub fn add_device_step(&mut self, event: DeviceEvent<'_>) {
        let mark = self.device_mark(event);
        self.device_steps.push(mark);
    }

    /// Adds an event of a device's own line of programs.
    pub fn add_module_run(&mut self, event: DeviceEvent<'_>) {
        let mark = self.device_mark(event);
        self.module_runs.push(mark);
    }

    /// Adds an event that matches the user's pattern.
    pub fn add_custom_mark(&mut self, name: &str, number: Option<i64>, start: i64, end: i64) {
        let name = self.names.intern(name);
        let mark = Mark { start, end, name, number, is_function: false, id: None };
        self.marks[MarkKind::Custom as usize].push(mark);
    }

    /// Adds an event that marks a step by its number.
    pub fn add_step_mark(&mut self, name: &str, number: i64, start: i64, end: i64) {
        let name = self.names.intern(name);
        let mark = Mark { start, end, name, number: Some(number), is_function: false, id: None };
        self.marks[MarkKind::Step as usize].push(mark);
    }

    fn device_mark(&mut self, event: DeviceEvent<'_>) -> DeviceMark {
        let DeviceEvent { plane, name, number, start, end } = event;
        let mark = Mark { start, end, name: self.names.intern(name), number, is_function: false, id: None };
        DeviceMark { plane: plane.to_owned(), mark }
    }

    /// The number of a run of a program.
    pub fn run(&mut self, program: &str, id: Key) -> u32 {
        // Ops of one run are neighbours.
        if let Some(last) = self.runs.get(self.last_run as usize)
            && last.id == id
            && self.names.get(last.program) == program
        {
            return self.last_run;
        }
        let next = self.runs.len() as u32;
        let run = ProgramRun { program: self.names.intern(program), id };
        self.last_run = *self.run_of.entry(run).or_insert(next);
        if self.last_run == next {
            self.runs.push(run);
        }
        self.last_run
    }

    /// Visits an event in order; returns the surroundings of the events inside it.
    #[inline]
    pub fn visit(&mut self, start: i64, end: i64, note: Note, around: u32) -> u32 {
        let run = self.line.launches[note.launch as usize].own_run;
        let around = if run == NONE { around } else { self.inside_run(run, around) };
        if note.clues == 0 { around } else { self.visit_clues(start, end, note.clues, around) }
    }

    fn inside_run(&mut self, run: u32, outer: u32) -> u32 {
        let last = self.line.last_run;
        if (last.run, last.outer) == (run, outer) {
            return last.inner;
        }
        let around = self.line.surroundings[outer as usize];
        let inner =
            if around.run == run { outer } else { push(&mut self.line.surroundings, Surroundings { run, ..around }) };
        self.line.last_run = LastRun { run, outer, inner };
        inner
    }

    fn visit_clues(&mut self, start: i64, end: i64, clues: u32, outer: u32) -> u32 {
        let mut around = self.line.surroundings[outer as usize];
        let clues = &self.line.clues[clues as usize];
        for kind in MarkKind::ALL {
            let at = kind as usize;
            if clues.marks[at] && around.marks[at] == NONE {
                // A root is named by the request around it.
                let request = if kind == MarkKind::Root { self.requests.get(around.request as usize) } else { None };
                let named = request.copied().unwrap_or(FunctionRequest { name: clues.name, is_function: true });
                let FunctionRequest { name, is_function } = named;
                around.marks[at] = self.marks[at].len() as u32;
                self.marks[at].push(Mark { start, end, name, number: clues.number, is_function, id: clues.id });
            }
        }
        for key in clues.launches.into_iter().flatten() {
            self.launches.entry(key).or_insert(LaunchSite { around, start });
        }
        if let Some(request) = clues.request {
            around.request = self.requests.len() as u32;
            self.requests.push(request);
        }
        if around == self.line.surroundings[outer as usize] { outer } else { push(&mut self.line.surroundings, around) }
    }

    /// The number of an event's context.
    #[inline]
    pub fn context(&mut self, around: u32, launch: u32, executor: u32) -> u32 {
        let last = self.line.last_context;
        // Neighbours are much alike.
        if (last.around, last.launch, last.executor) == (around, launch, executor) {
            return last.context;
        }
        let context = self.context_number(around, launch, executor);
        self.line.last_context = LastContext { around, launch, executor, context };
        context
    }

    fn context_number(&mut self, around: u32, launch: u32, executor: u32) -> u32 {
        let around = &self.line.surroundings[around as usize];
        let launch = &self.line.launches[launch as usize];
        let function = self.line.executors[executor as usize];
        let context = Context {
            marks: around.marks,
            run: around.run,
            plane: self.plane,
            is_run: launch.own_run != NONE,
            launches: [
                launch.correlation.map(|key| (LaunchKind::Correlation, key)),
                launch.run.map(|key| (LaunchKind::Run, key)),
                function.map(|key| (LaunchKind::Function, key)),
            ],
        };
        let next = self.contexts.len() as u32;
        let number = *self.context_of.entry(context).or_insert(next);
        if number == next {
            self.contexts.push(context);
        }
        number
    }
}

/// Appends an item and returns its index.
#[inline]
fn push<T>(list: &mut Vec<T>, item: T) -> u32 {
    list.push(item);
    list.len() as u32 - 1
}
