//! Steps: the rules that find them, and which step an event belongs to.
//!
//! The marks of steps are known only at the end of a walk, so each event is stored with its context: the marks around it
//! and the ids of its launch. Few contexts differ, and each is resolved once.

mod collector;
mod rules;

pub use collector::{FunctionRequest, LaunchKind, Launches, Note, StepClues, StepCollector};

use crate::model::hosts::{StepRule, StepSpan};

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
    /// How many steps began before the time of the last lookup.
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

    fn sort(&mut self) {
        self.by_start = self.list.iter().zip(0..).map(|(step, index)| (step.start, index)).collect();
        self.by_start.sort_by_key(|(start, _)| *start);
    }
}
