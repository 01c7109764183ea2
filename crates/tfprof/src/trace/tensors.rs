//! The op that made each tensor last, where arrows begin; and the lifetime of each tensor, if memory is shown.

use super::record::allocation;
use super::survey::Survey;
use super::writer::Events;
use super::{Peak, Step, TensorLife, TraceOptions, describe, walk};
use crate::hash::{TrustedMap, UntrustedState};
use crate::model::names::{NameId, Names, escape_invalid};
use crate::render::chrome::{Micros, Point};
use crate::units;
use hashbrown::HashTable;
use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::io;

/// The tensors of one step, by name.
pub(super) enum Tensors {
    /// Neither arrows nor memory are shown.
    None,
    /// Only arrows: names are stored as fingerprints, so a tensor takes 32 bytes.
    Makers(Makers),
    Lives(Lives),
}

/// Makers by fingerprint.
pub(super) struct Makers {
    /// In parts, so that a growing table copies only one part.
    parts: Vec<HashTable<Maker>>,
    /// Random, so that nobody can make a file whose names collide.
    hashes: [UntrustedState; 2],
}

/// The op that made a tensor last.
pub(super) struct Maker {
    /// 128 bits of two independent hashes; collisions are negligible.
    name: [u64; 2],
    /// The end wrapped to 64 bits; `lane_and_over` has the direction of the overflow.
    end: i64,
    process: u32,
    lane_and_over: u32,
}

#[derive(Default)]
pub(super) struct Lives {
    names: Names,
    /// By name. The empty name is always interned and may have no lifetime.
    life_of: Vec<Option<Life>>,
    order: Vec<NameId>,
}

struct Life {
    id: u64,
    process: u32,
    made: Micros,
    last_read: Micros,
    allocator: NameId,
    bytes: i64,
    origin: Point,
}

/// A tensor is allocated or, with negative bytes, freed.
struct Change {
    time: Micros,
    bytes: i128,
    name: NameId,
}

/// Adds all outputs of a step to `tensors`, and writes their creation if memory is shown.
pub(super) fn walk(step: &Step<'_>, survey: &Survey, tensors: &mut Tensors, events: &mut Events<'_>) -> io::Result<()> {
    let mut numbered = Vec::new();
    walk::records(step, survey, |device, record, lane| {
        let origin = Point { process: device.compute, lane, time: record.end() };
        let lives = match tensors {
            Tensors::None => return Ok(()),
            Tensors::Makers(makers) => {
                for place in 0..record.outputs {
                    makers.make(tensor_name(record.name, place, &mut numbered), origin);
                }
                return Ok(());
            }
            Tensors::Lives(lives) => lives,
        };
        let (mut place, mut written) = (0, Ok(()));
        record.each_output(|description| {
            let name = tensor_name(record.name, place, &mut numbered);
            place += 1;
            let born = Point { process: device.tensors, lane, time: record.start };
            let id = events.tensors_before + lives.make(name, born, origin, &allocation(description));
            if written.is_ok() {
                written = events.tensor_created(name, born, id).and_then(|()| {
                    let seen = Point { time: record.end() - 1, ..born };
                    events.tensor_snapshot(name, seen, id, &describe::tensor(description))
                });
            }
        });
        written
    })
}

/// The name of an output of an op: the first has the name of the op.
fn tensor_name<'n>(op: &'n [u8], place: u64, numbered: &'n mut Vec<u8>) -> &'n [u8] {
    if place == 0 {
        return op;
    }
    numbered.clear();
    numbered.extend_from_slice(op);
    numbered.push(b':');
    units::push_unsigned(numbered, place);
    numbered
}

impl Tensors {
    pub fn new(options: TraceOptions) -> Tensors {
        match options {
            TraceOptions { show_memory: true, .. } => Tensors::Lives(Lives::default()),
            TraceOptions { show_dataflow: true, .. } => Tensors::Makers(Makers::default()),
            _ => Tensors::None,
        }
    }

    pub fn are_unused(&self) -> bool {
        matches!(self, Tensors::None)
    }

    /// The lives of all tensors, if memory is shown.
    pub fn lives(&self) -> Vec<TensorLife> {
        let Tensors::Lives(lives) = self else { return Vec::new() };
        let life = |(name, life): (NameId, &Life)| TensorLife {
            tensor: lives.names.get(name).to_owned(),
            allocator: lives.names.get(life.allocator).to_owned(),
            bytes: life.bytes,
            made: life.made,
            last_read: life.last_read,
        };
        lives.in_order().map(life).collect()
    }

    /// An op reads a tensor until `end`. Returns the name of the tensor and the point where it was made.
    pub fn read<'n>(&mut self, name: &'n [u8], end: Micros) -> Option<(&'n [u8], Point)> {
        if let Some(origin) = self.read_exactly(name, end) {
            return Some((name, origin));
        }
        // A graph that is split between devices reads `x/_7` where it was built to read `x`.
        let cut = memchr::memmem::rfind(name, b"/_").filter(|at| *at > 0)?;
        let name = &name[..cut];
        self.read_exactly(name, end).map(|origin| (name, origin))
    }

    fn read_exactly(&mut self, name: &[u8], end: Micros) -> Option<Point> {
        match self {
            Tensors::None => None,
            Tensors::Makers(makers) => makers.origin(name),
            Tensors::Lives(lives) => {
                let id = lives.names.find(clean(name).as_bytes())?;
                let life = lives.life_of.get_mut(id.index())?.as_mut()?;
                life.last_read = life.last_read.max(end);
                Some(life.origin)
            }
        }
    }

    /// Writes the end of each tensor and the bytes of each allocator over time. Returns the peaks.
    pub fn write_memory(&self, process: u32, events: &mut Events<'_>) -> io::Result<Vec<Peak>> {
        let Tensors::Lives(lives) = self else { return Ok(Vec::new()) };
        let mut changes: Vec<(NameId, Vec<Change>)> = Vec::new();
        let mut places: TrustedMap<NameId, usize> = TrustedMap::default();
        for (name, life) in lives.in_order() {
            let end = Point { process: life.process, lane: 0, time: life.last_read };
            events.tensor_deleted(lives.names.get(name).as_bytes(), end, events.tensors_before + life.id)?;
            let place = *places.entry(life.allocator).or_insert_with(|| {
                changes.push((life.allocator, Vec::new()));
                changes.len() - 1
            });
            let bytes = i128::from(life.bytes);
            changes[place].1.extend([
                Change { time: life.made, bytes, name },
                Change { time: life.last_read, bytes: -bytes, name },
            ]);
        }
        let mut peaks = Vec::new();
        let place_of: TrustedMap<NameId, usize> =
            lives.order.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        for (allocator, mut changes) in changes {
            let order = |change: &Change| (change.time, change.bytes, lives.names.get(change.name));
            changes.sort_by(|a, b| order(a).cmp(&order(b)));
            let (mut held, mut most, mut until) = (0, 0, 0);
            for (i, Change { time, bytes, .. }) in changes.iter().enumerate() {
                held += bytes;
                if held > most {
                    (most, until) = (held, i + 1);
                }
                events.allocated(
                    lives.names.get(allocator).as_bytes(),
                    Point { process, lane: 0, time: *time },
                    held,
                )?;
            }
            peaks.push(lives.peak(allocator, most, &changes[..until], &place_of));
        }
        events.tensors_before += lives.order.len() as u64;
        Ok(peaks)
    }
}

impl Lives {
    /// A tensor is made, perhaps not for the first time. Returns its id.
    fn make(&mut self, name: &[u8], born: Point, origin: Point, allocation: &super::record::Allocation<'_>) -> u64 {
        // As the original: the number is that of the names known so far, so one that is made again shares its number
        // with the next new one.
        let id = self.order.len() as u64;
        let name = self.names.intern(&clean(name));
        let allocator = self.names.intern(&clean(allocation.allocator));
        self.life_of.resize_with(self.names.len(), || None);
        let life = Life {
            id,
            process: born.process,
            made: born.time,
            last_read: origin.time,
            allocator,
            bytes: allocation.requested,
            origin,
        };
        if self.life_of[name.index()].replace(life).is_none() {
            self.order.push(name);
        }
        id
    }

    /// The peak of an allocator after these changes. `place_of` is the order of tensors.
    fn peak(&self, allocator: NameId, bytes: i128, changes: &[Change], place_of: &TrustedMap<NameId, usize>) -> Peak {
        // As the original: a tensor of zero bytes is never freed, since its end is not negative.
        let last: TrustedMap<NameId, bool> = changes.iter().map(|change| (change.name, change.bytes >= 0)).collect();
        let mut tensors: Vec<NameId> = last.into_iter().filter(|(_, held)| *held).map(|(name, _)| name).collect();
        tensors.sort_unstable_by_key(|name| place_of.get(name));
        Peak {
            allocator: self.names.get(allocator).to_owned(),
            at: changes.last().map_or(0, |change| change.time),
            bytes,
            tensors: tensors.iter().map(|name| self.names.get(*name).to_owned()).collect(),
        }
    }

    fn in_order(&self) -> impl Iterator<Item = (NameId, &Life)> {
        self.order.iter().filter_map(|name| Some((*name, self.life_of[name.index()].as_ref()?)))
    }
}

impl Maker {
    fn new(name: [u64; 2], origin: Point) -> Maker {
        let end = origin.time as i64;
        let over = (origin.time - Micros::from(end)).signum() + 1;
        Maker { name, end, process: origin.process, lane_and_over: origin.lane << 2 | over as u32 }
    }

    fn origin(&self) -> Point {
        let over = Micros::from(self.lane_and_over & 3) - 1;
        Point { process: self.process, lane: self.lane_and_over >> 2, time: Micros::from(self.end) + (over << 64) }
    }
}

impl Default for Makers {
    fn default() -> Self {
        let hashes = [UntrustedState::default(), UntrustedState::default()];
        Makers { parts: (0..64).map(|_| HashTable::new()).collect(), hashes }
    }
}

impl Makers {
    #[inline]
    fn make(&mut self, name: &[u8], origin: Point) {
        let name = self.fingerprint(name);
        let maker = Maker::new(name, origin);
        let part = name[1] as usize % self.parts.len();
        let part = &mut self.parts[part];
        match part.find_mut(name[0], |maker| maker.name == name) {
            Some(old) => *old = maker,
            None => drop(part.insert_unique(name[0], maker, |maker| maker.name[0])),
        }
    }

    #[inline]
    fn origin(&self, name: &[u8]) -> Option<Point> {
        let name = self.fingerprint(name);
        let part = &self.parts[name[1] as usize % self.parts.len()];
        part.find(name[0], |maker| maker.name == name).map(Maker::origin)
    }

    #[inline]
    fn fingerprint(&self, name: &[u8]) -> [u64; 2] {
        [0, 1].map(|i| {
            let mut hasher = self.hashes[i].build_hasher();
            hasher.write(name);
            hasher.finish()
        })
    }
}

fn clean(name: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(name) {
        Ok(name) => Cow::Borrowed(name),
        Err(_) => Cow::Owned(escape_invalid(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_past_the_limits_of_the_file_are_kept() {
        for at in [0, 1, -1, i128::from(i64::MAX) * 2, i128::from(i64::MIN) * 2, 1 << 63, -(1 << 63) - 1] {
            let origin = Maker::new([0, 0], Point { process: 3, lane: 9, time: at }).origin();
            assert_eq!((origin.process, origin.lane, origin.time), (3, 9, at));
        }
    }
}
