//! All events of a profile, ready to be drawn at any zoom: the page receives at most one box per pixel and lane.

pub mod arrows;
pub mod lane;
mod read;
mod tile;

use crate::reply::Problem;
use crate::site::Site;
use crate::tree::Direction;
use arrows::{Arrow, Arrows, End};
use lane::Lane;
use std::collections::HashMap;

pub use tile::WIDTH;

/// Lanes in groups, and the names of their events.
#[derive(Debug, Default)]
pub struct Timeline {
    pub groups: Vec<Group>,
    pub lanes: Vec<LaneInfo>,
    pub names: Vec<Name>,
    /// The op types with the most time; the first stands for all others.
    pub ops: Vec<String>,
    pub steps: Vec<StepMark>,
    /// When the last event ends.
    pub end: u64,
    pub events: u64,
    /// Events that fit into no lane.
    pub dropped: u64,
    /// From launches to what they started.
    pub arrows: Arrows,
    /// Of a trace, the time of the first event in picoseconds.
    pub zero: i64,
    /// A note on the time that the axis leaves out, if any.
    pub note: String,
}

/// A host or a device.
#[derive(Debug)]
pub struct Group {
    pub name: String,
    pub is_device: bool,
    pub detail: String,
    pub lanes: std::ops::Range<usize>,
}

#[derive(Debug)]
pub struct LaneInfo {
    pub name: String,
    /// Lanes of one thread have the same number.
    pub thread: u32,
    pub lane: Lane,
}

/// The name of events, and what it stands for.
#[derive(Debug)]
pub struct Name {
    pub name: String,
    pub op: String,
    pub direction: Direction,
    /// The node of the graph.
    pub path: Option<String>,
    /// An index into [`Timeline::ops`].
    pub op_index: u8,
}

#[derive(Debug)]
pub struct StepMark {
    pub step: i64,
    pub start: u64,
    pub end: u64,
    pub events: u64,
}

/// The maximum number of lanes: lane numbers have 16 bits.
const MOST_LANES: usize = 4096;
/// The op types that have a number of their own.
const MOST_OPS: usize = 255;

impl Timeline {
    pub fn of(site: &Site) -> Result<Timeline, Problem> {
        read::read(site)
    }

    /// Adds a line of events as one or more lanes, and says which.
    pub fn add_line(&mut self, name: &str, thread: u32, events: Vec<lane::Event>) -> std::ops::Range<usize> {
        let first = self.lanes.len();
        let room = MOST_LANES - self.lanes.len().min(MOST_LANES);
        let (lanes, dropped) = lane::place(events, room);
        self.dropped += dropped;
        for (at, lane) in lanes.into_iter().enumerate() {
            self.end = self.end.max(lane.end());
            self.events += lane.len() as u64;
            let name = if at == 0 { name.to_owned() } else { String::new() };
            self.lanes.push(LaneInfo { name, thread, lane });
        }
        first..self.lanes.len()
    }

    /// The end of an arrow: the event of these lanes that starts at a time.
    pub fn end_at(&self, lanes: std::ops::Range<usize>, start: u64) -> Option<End> {
        let starts = |lane: &Lane| lane.within(start, start.saturating_add(1)).any(|at| lane.start_of(at) == start);
        let lane = lanes.into_iter().find(|at| starts(&self.lanes[*at].lane))?;
        Some(End { lane: lane as u32, start })
    }

    /// Adds the arrows; call this after the last line.
    pub fn point(&mut self, list: Vec<Arrow>) {
        self.arrows = Arrows::new(list, |lane| self.lanes[lane as usize].thread);
    }

    /// Numbers the op types with the most time; call this after the last line.
    pub fn finish(&mut self) {
        let mut time = vec![0_u64; self.names.len()];
        for LaneInfo { lane, .. } in &self.lanes {
            for at in 0..lane.len() {
                let sum = &mut time[lane.name_of(at) as usize];
                *sum = sum.saturating_add(lane.length_of(at));
            }
        }
        let mut by_op: HashMap<&str, u64> = HashMap::new();
        for (name, time) in self.names.iter().zip(&time) {
            let sum = by_op.entry(&name.op).or_default();
            *sum = sum.saturating_add(*time);
        }
        let mut sorted: Vec<(&str, u64)> = by_op.into_iter().filter(|(op, _)| !op.is_empty()).collect();
        sorted.sort_unstable_by_key(|(op, time)| (std::cmp::Reverse(*time), *op));
        sorted.truncate(MOST_OPS);
        self.ops = ["other"].into_iter().chain(sorted.into_iter().map(|(op, _)| op)).map(str::to_owned).collect();
        let number: HashMap<&str, usize> =
            self.ops.iter().enumerate().skip(1).map(|(at, op)| (op.as_str(), at)).collect();
        for name in &mut self.names {
            name.op_index = number.get(name.op.as_str()).map_or(0, |at| *at as u8);
        }
    }

    /// The width of the tile of level 0: a power of two that holds everything.
    pub fn tile_ns(&self) -> u64 {
        self.end.max(1 << 10).checked_next_power_of_two().unwrap_or(1 << 63)
    }

    /// The level at which a pixel is a nanosecond.
    pub fn levels(&self) -> u32 {
        self.tile_ns().trailing_zeros() - WIDTH.trailing_zeros()
    }

    /// The step at a time.
    pub fn step_at(&self, time: u64) -> Option<i64> {
        self.steps.iter().find(|step| (step.start..step.end).contains(&time)).map(|step| step.step)
    }
}
