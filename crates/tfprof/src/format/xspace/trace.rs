//! The events of a file one by one, with all their stats, for Chrome traces.

use super::wire::event::{Event, RawValue, raw_stat};
use super::wire::plane::{self, LineHeads, LineReader, Plane, Space, Stop};
use super::wire::stats::{self, DamageList, Dangling, LenientFields, Stat, StatMask, StoredValue};
use super::{ProfileFile, check, host_of, warn_damage, warn_odd};
use crate::budget;
use crate::error::{Error, Warning};
use crate::format::file_bytes::FileBytes;
use std::io;
use tfprof_proto::fields::xevent;
use tfprof_proto::wire::Value as WireValue;

pub use super::wire::plane::Meta;
pub use crate::events::{Key, KeyTexts};

/// A file whose names are read.
#[derive(Debug)]
pub struct HostTrace<'f> {
    bytes: &'f FileBytes,
    space: Space,
    host: String,
}

/// A plane as a trace shows it.
#[derive(Debug)]
pub struct PlaneNames<'a> {
    pub name: &'a str,
    pub lines: usize,
    /// The names of its lines.
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
    /// A string of the plane, by index.
    Name(usize),
    Text(&'a [u8]),
    /// The number of bytes.
    Bytes(u64),
}

impl<'a> Value<'a> {
    /// `None` if it refers to a string that does not exist.
    #[inline]
    fn new(raw: RawValue, bytes: &'a [u8], plane: &Plane) -> Option<Value<'a>> {
        Some(match raw {
            RawValue::Int(n) => Value::Int(n),
            RawValue::Uint(n) => Value::Uint(n),
            RawValue::Double(n) => Value::Double(n),
            RawValue::Text(slice) => Value::Text(slice.of(bytes)),
            RawValue::Bytes(slice) | RawValue::Gzip(slice) => Value::Bytes(u64::from(slice.length)),
            RawValue::Ref(id) => Value::Name(plane.string(id)?),
        })
    }
}

/// An event as a trace shows it.
#[derive(Debug)]
pub struct TracedEvent<'a> {
    pub id: i64,
    /// The index of its metadata.
    pub meta: Option<usize>,
    pub start: i64,
    pub length: i64,
    /// For an event that stands for several, how many.
    pub count: Option<i64>,
    event: &'a Event<'a>,
}

/// The identity of an arrow: a type and an id, equal at both ends.
pub type FlowKey = (u64, Key);

/// The type of arrows from launches to kernels; the profiler's own types are smaller.
const LAUNCH: u64 = u64::MAX;

impl<'f> HostTrace<'f> {
    pub fn new(file: &'f ProfileFile, warnings: &mut Vec<Warning>) -> Result<HostTrace<'f>, Error> {
        let ProfileFile { name, bytes, cut } = file;
        let space = plane::read(bytes, LineHeads::Whole).map_err(|source| Error::Io {
            file: name.clone(),
            action: "cannot read",
            source,
        })?;
        check(file, &space, warnings)?;
        let none = DamageList::default();
        warn_damage(name, &space, &none, cut.clone(), warnings);
        warn_odd(name, &space, Dangling::default(), &[], warnings);
        let host = space.hostnames.first().cloned().unwrap_or_else(|| host_of(name));
        bytes.close();
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
        let start = environment.stats.iter().find(|(name, _)| &**name == "profile_start_time");
        match start {
            Some((_, StoredValue::Uint(start))) => Some((*start as i64).saturating_add(self.space.base)),
            Some((_, StoredValue::Int(start))) => Some(start.saturating_add(self.space.base)),
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
        self.space.planes[plane].strings.iter().map(|name| &**name)
    }

    pub fn metas(&self, plane: usize) -> &[Meta] {
        &self.space.planes[plane].metas
    }

    /// Calls `then` for every event, line by line in the order of the file; with `flows`, events know their arrows.
    pub fn each(&self, flows: bool, mut then: impl FnMut(Lane, &TracedEvent<'_>) -> io::Result<()>) -> io::Result<()> {
        let is_timed = self.space.planes.iter().any(|plane| plane.mask & OF_TIMES != 0);
        let wanted = if is_timed { OF_TIMES } else { 0 } | if flows { OF_FLOWS } else { 0 };
        let mut reader = LineReader::new(self.bytes, &self.space, wanted);
        let mut lane = Lane { plane: usize::MAX, lane: 0 };
        for at in reader.lines() {
            lane = Lane { plane: at.plane_index, lane: if lane.plane == at.plane_index { lane.lane + 1 } else { 0 } };
            let walked = reader.events(at, |event| {
                let traced = TracedEvent {
                    id: event.id,
                    meta: event.meta_at,
                    start: event.start,
                    length: event.duration(),
                    count: event.count,
                    event,
                };
                then(lane, &traced).map_err(Stop::Io)
            });
            match walked {
                Ok(_) | Err(Stop::Unsorted | Stop::LateHead) => {}
                Err(Stop::Io(error)) => return Err(error),
            }
        }
        self.bytes.close();
        Ok(())
    }
}

const OF_TIMES: StatMask = Stat::DeviceOffset.bit() | Stat::DeviceDuration.bit();
const OF_FLOWS: StatMask = Stat::ProducerType.bit()
    | Stat::Producer.bit()
    | Stat::ConsumerType.bit()
    | Stat::Consumer.bit()
    | Stat::CorrelationId.bit();

/// The stat names that the current event has.
#[derive(Debug, Default)]
pub struct NamesOfEvent {
    event: u32,
    /// By name, the last event that had it.
    last: Vec<u32>,
}

impl NamesOfEvent {
    pub fn new(names: usize) -> NamesOfEvent {
        NamesOfEvent { event: 0, last: vec![0; names] }
    }

    #[inline]
    fn begin(&mut self) {
        self.event = self.event.wrapping_add(1);
        if self.event == 0 {
            self.last.fill(0);
            self.event = 1;
        }
    }

    #[inline]
    fn is_new(&mut self, name: usize) -> bool {
        std::mem::replace(&mut self.last[name], self.event) != self.event
    }
}

impl TracedEvent<'_> {
    /// The arrows that begin here, and those that end here.
    #[inline]
    pub fn flows(&self, texts: &mut KeyTexts) -> ([Option<FlowKey>; 2], [Option<FlowKey>; 2]) {
        let event = self.event;
        if event.mask() & OF_FLOWS == 0 {
            return ([None; 2], [None; 2]);
        }
        let mut flow = |kind: Option<Stat>, id: Stat| {
            let id = event.key(id, texts)?;
            Some((kind.and_then(|kind| event.int(kind)).unwrap_or(0) as u64, id))
        };
        let producer = flow(Some(Stat::ProducerType), Stat::Producer);
        let consumer = flow(Some(Stat::ConsumerType), Stat::Consumer);
        let launch = flow(None, Stat::CorrelationId).map(|(_, id)| (LAUNCH, id));
        let is_device = event.plane.is_device();
        ([producer, launch.filter(|_| !is_device)], [consumer, launch.filter(|_| is_device)])
    }

    /// Calls `then` for each stat of the event and of its metadata; of equal names, for the first.
    #[inline]
    pub fn each_stat(&self, met: &mut NamesOfEvent, mut then: impl FnMut(usize, Value<'_>)) {
        let plane = self.event.plane;
        let (bytes, mut at, end) = self.event.stat_fields();
        let meta = self.event.meta.map(|meta| meta.all.as_slice()).unwrap_or_default();
        if at == end && meta.is_empty() {
            return;
        }
        met.begin();
        // Many events may have one metadata.
        budget::work(meta.len() as u64);
        while let Some((id, value, next)) = raw_stat(bytes, at, end) {
            at = next;
            if let Some(name) = plane.string(id)
                && let Some(value) = Value::new(value, bytes, plane)
                && met.is_new(name)
            {
                then(name, value);
            }
        }
        if at < end {
            each_stat_general(plane, &bytes[at..end], |name, value| {
                if met.is_new(name) {
                    then(name, value);
                }
            });
        }
        for (id, held) in meta {
            if let Some(name) = plane.string(*id)
                && let Some(value) = shown(plane, held)
                && met.is_new(name)
            {
                then(name, value);
            }
        }
    }
}

fn shown<'a>(plane: &Plane, held: &'a StoredValue) -> Option<Value<'a>> {
    Some(match held {
        StoredValue::Int(n) => Value::Int(*n),
        StoredValue::Uint(n) => Value::Uint(*n),
        StoredValue::Double(n) => Value::Double(*n),
        StoredValue::Text(text) => Value::Text(text.as_bytes()),
        StoredValue::Bytes(span) => Value::Bytes(span.end - span.start),
        StoredValue::Ref(id) => Value::Name(plane.string(*id)?),
        StoredValue::Nothing => return None,
    })
}

/// Stats in any encoding. Damage ends the message that it is in.
#[inline(never)]
fn each_stat_general(plane: &Plane, bytes: &[u8], mut then: impl FnMut(usize, Value<'_>)) {
    for (number, field, offset) in LenientFields::new(bytes, 0) {
        let (xevent::STATS, WireValue::Bytes(stat)) = (number, field) else { continue };
        // The pass over names reported the damage.
        let (id, raw) = stats::read_stat(stat, offset, &mut DamageList::default());
        if let (Some(name), Some(value)) = (plane.string(id), raw.and_then(|raw| Value::new(raw, stat, plane))) {
            then(name, value);
        }
    }
}
