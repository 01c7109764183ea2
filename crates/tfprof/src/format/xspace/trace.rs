//! The events of a file one by one, with all their stats, for whoever draws them.

use super::bytes::Bytes;
use super::event::Event;
use super::plane::{Heads, Meta, Notes, Space};
use super::stats::{self, Held, Stat, Texts};
use super::walk::{Stop, Walker};
use super::{ProfileFile, check, plane, warn_damage, warn_odd};
use crate::error::{Error, Warning};
use std::io;

pub use super::stats::Key;

/// A file whose names are read.
#[derive(Debug)]
pub struct HostTrace<'f> {
    bytes: &'f Bytes,
    space: Space,
    host: String,
}

/// A plane as a trace shows it.
#[derive(Debug)]
pub struct PlaneNames<'a> {
    pub name: &'a str,
    pub lines: usize,
    /// What each line is called.
    pub names: Vec<&'a str>,
}

/// Where an event is drawn: the plane, and the line within it.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    pub plane: usize,
    pub lane: u32,
}

/// A value of a stat.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Int(i64),
    Uint(u64),
    Double(f64),
    /// A string of the plane, by its place.
    Name(usize),
    Text(&'a [u8]),
    /// How many bytes there are.
    Bytes(u64),
}

/// An event with its place and what it points to.
#[derive(Debug)]
pub struct TracedEvent<'a> {
    pub id: i64,
    /// The place of its metadata.
    pub meta: Option<usize>,
    pub start: i64,
    pub length: i64,
    /// For an event that stands for several, how many.
    pub count: Option<i64>,
    /// The arrows that begin and that end here.
    pub starts: [Option<(u64, Key)>; 2],
    pub ends: [Option<(u64, Key)>; 2],
    event: &'a Event<'a>,
}

/// Arrows from a launch on the host to what it launched: no type of the profiler's is as large.
const LAUNCH: u64 = u64::MAX;

impl<'f> HostTrace<'f> {
    pub fn new(file: &'f ProfileFile, warnings: &mut Vec<Warning>) -> Result<HostTrace<'f>, Error> {
        let ProfileFile { name, bytes, cut } = file;
        let space =
            plane::read(bytes, Heads::Whole).map_err(|source| Error::Io { file: name.clone(), action: "cannot read", source })?;
        check(name, &space, cut.as_deref())?;
        let none = Notes::default();
        warn_damage(name, &space, &none, cut.clone(), warnings);
        warn_odd(name, &space, super::event::Dangling::default(), &[], warnings);
        let host = space.hostnames.first().cloned().unwrap_or_else(|| super::host_of(name));
        Ok(HostTrace { bytes, space, host })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// When the first line begins, in nanoseconds since 1970, if that is known.
    pub fn began(&self) -> Option<i64> {
        // Older files have such times in their lines, newer ones count from the start of the recording.
        const DAYS: i64 = 1_000_000_000 * 86_400 * 1000;
        if self.space.base > DAYS {
            return Some(self.space.base);
        }
        let environment = self.space.planes.iter().find(|plane| plane.name == "Task Environment")?;
        let start = environment.stats.iter().find(|(name, _)| name == "profile_start_time");
        match start {
            Some((_, Held::Uint(start))) => Some((*start as i64).saturating_add(self.space.base)),
            Some((_, Held::Int(start))) => Some(start.saturating_add(self.space.base)),
            _ => None,
        }
    }

    pub fn planes(&self) -> impl Iterator<Item = PlaneNames<'_>> {
        self.space.planes.iter().map(|plane| {
            let names = plane
                .lines
                .iter()
                .map(|line| [&*line.display_name, &line.name][usize::from(line.display_name.is_empty())]);
            PlaneNames { name: &plane.name, lines: plane.lines.len(), names: names.collect() }
        })
    }

    pub fn strings(&self, plane: usize) -> impl Iterator<Item = &str> {
        self.space.planes[plane].strings.iter().map(String::as_str)
    }

    pub fn metas(&self, plane: usize) -> &[Meta] {
        &self.space.planes[plane].metas
    }

    /// Calls `then` for every event, line by line in the order of the file.
    pub fn each(&self, mut then: impl FnMut(Lane, &TracedEvent<'_>) -> io::Result<()>) -> io::Result<()> {
        let mut walker = Walker::new(self.bytes, &self.space, u32::MAX);
        let mut texts = Texts::default();
        let mut lane = Lane { plane: usize::MAX, lane: 0 };
        for at in walker.lines() {
            lane = Lane { plane: at.plane_place, lane: if lane.plane == at.plane_place { lane.lane + 1 } else { 0 } };
            let is_device = at.plane.is_device();
            let walked = walker.events(at, |event| {
                let mut flow = |kind: Option<Stat>, id: Stat| {
                    let id = event.key(id, &mut texts)?;
                    Some((kind.and_then(|kind| event.int(kind)).unwrap_or(0) as u64, id))
                };
                let producer = flow(Some(Stat::ProducerType), Stat::Producer);
                let consumer = flow(Some(Stat::ConsumerType), Stat::Consumer);
                let launch = flow(None, Stat::CorrelationId).map(|(_, id)| (LAUNCH, id));
                let traced = TracedEvent {
                    id: event.id,
                    meta: event.meta_at,
                    start: event.start,
                    length: event.duration(),
                    count: event.count,
                    starts: [producer, launch.filter(|_| !is_device)],
                    ends: [consumer, launch.filter(|_| is_device)],
                    event,
                };
                then(lane, &traced).map_err(Stop::Io)
            });
            match walked {
                Ok(_) | Err(Stop::Unsorted | Stop::LateHead) => {}
                Err(Stop::Io(error)) => return Err(error),
            }
        }
        Ok(())
    }
}

impl TracedEvent<'_> {
    /// Calls `then` for each stat of the event and of its metadata; of equal names, for the first.
    pub fn each_stat(&self, mut then: impl FnMut(usize, Value<'_>)) {
        let plane = self.event.plane;
        let mut seen = 0_u64;
        let mut many: Vec<usize> = Vec::new();
        let mut is_new = |name: usize| {
            if name < 64 {
                let bit = 1 << name;
                let new = seen & bit == 0;
                seen |= bit;
                return new;
            }
            let new = !many.contains(&name);
            if new && many.len() < 1000 {
                many.push(name);
            }
            new
        };
        self.event.each_stat(|name, value| {
            if is_new(name) {
                then(name, value);
            }
        });
        for (id, held) in self.event.meta.map(|meta| meta.all.as_slice()).unwrap_or_default() {
            let Some(name) = plane.string(*id) else { continue };
            let value = match held {
                Held::Int(n) => Value::Int(*n),
                Held::Uint(n) => Value::Uint(*n),
                Held::Double(n) => Value::Double(*n),
                Held::Text(text) => Value::Text(text.as_bytes()),
                Held::Bytes(span) => Value::Bytes(span.end - span.start),
                Held::Ref(id) => match plane.string(*id) {
                    Some(at) => Value::Name(at),
                    None => continue,
                },
                Held::Nothing => continue,
            };
            if is_new(name) {
                then(name, value);
            }
        }
    }
}

impl Event<'_> {
    /// Calls `then` for each stat of its own that leads somewhere.
    fn each_stat(&self, mut then: impl FnMut(usize, Value<'_>)) {
        use tfprof_proto::wire::Value as Wire;
        let mut quiet = |_, _| {};
        let mut deep_quiet = |_, _| {};
        stats::each(self.stat_fields(), 0, &mut quiet, |number, value, _| {
            let (4, Wire::Bytes(stat)) = (number, value) else { return };
            let (mut id, mut found) = (0, None);
            stats::each(stat, 0, &mut deep_quiet, |number, value, _| {
                found = match (number, value) {
                    (1, Wire::Varint(n)) => {
                        id = n as i64;
                        return;
                    }
                    (2, Wire::Fixed64(n)) => Some(Value::Double(f64::from_bits(n))),
                    (3, Wire::Varint(n)) => Some(Value::Uint(n)),
                    (4, Wire::Varint(n)) => Some(Value::Int(n as i64)),
                    (5, Wire::Bytes(text)) => Some(Value::Text(text)),
                    (7, Wire::Varint(n)) => self.plane.string(n as i64).map(Value::Name),
                    (6 | 8, Wire::Bytes(bytes)) => Some(Value::Bytes(bytes.len() as u64)),
                    _ => return,
                };
            });
            if let (Some(name), Some(found)) = (self.plane.string(id), found) {
                then(name, found);
            }
        });
    }
}
