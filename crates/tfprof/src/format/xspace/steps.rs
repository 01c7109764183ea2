//! Where a step begins and ends: the first rule that finds any, and which step an event belongs to.
//!
//! What marks steps is known only at the end of the walk, so each op is noted with its context: the marks around it and
//! the ids of what launched it. Few contexts differ, and each is looked up once.

mod collector;
mod rules;

pub use collector::{Collector, Note, OF_STEPS};

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
