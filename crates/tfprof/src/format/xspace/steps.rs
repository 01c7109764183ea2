//! The stats and names by which events of an `XSpace` mark steps and name launches.

use super::wire::event::Event;
use super::wire::event_stats::StatSnapshot;
use super::wire::plane::Plane;
use super::wire::stats::Stat;
use crate::events::steps::{FunctionRequest, LaunchKind, Launches, NONE, Note, StepClues, StepCollector};
use crate::events::{Key, KeyTexts};
use crate::model::names::NameId;
use regex::Regex;

/// Stats that may mark a step or a launch.
const RELEVANT: u32 =
    Stat::StepNum.bit() | Stat::Root.bit() | Stat::FunctionCall.bit() | Stat::CorrelationId.bit() | Stat::RunId.bit();

/// Stats that say how an op was launched.
const OF_LAUNCHES: u32 = Stat::CorrelationId.bit() | Stat::RunId.bit() | Stat::HloModule.bit();

/// All stats that this file looks at.
pub const STEP_STATS: u32 = RELEVANT
    | OF_LAUNCHES
    | Stat::HloOp.bit()
    | Stat::EagerOp.bit()
    | Stat::IsFunc.bit()
    | Stat::Id.bit()
    | Stat::GroupId.bit();

/// Reads the clues about steps and launches from events.
#[derive(Debug)]
pub struct StepReader<'m> {
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
    xla_bit: u32,
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
pub fn device_step_number(event: &Event<'_>) -> Option<i64> {
    event.int(Stat::GroupId).or_else(|| first_number(&event.shown()))
}

fn first_number(text: &str) -> Option<i64> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits = &text[start..];
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    Some(digits[..end].parse().unwrap_or(i64::MAX))
}
