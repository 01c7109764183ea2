//! The planes of a profile without their events: names, strings, and where each line lies.
//!
//! Writers put a plane's lines before the names of their events, so this is the first walk. What it needs of a line
//! stands before the events; a line that was written in another order is found out when those are read.

use super::bytes::{Bytes, Damage, Head, Span, Walk, WalkError, Window};
use super::stats::{self, Held, Stat};
use crate::model::names::escape_invalid;
use rustc_hash::FxHashMap;
use std::io;
use tfprof_proto::wire::Value;

/// Everything of a file but its events.
#[derive(Debug, Default)]
pub struct Space {
    pub planes: Vec<Plane>,
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
    pub hostnames: Vec<String>,
    pub notes: Notes,
    /// Fields that a profile does not have.
    pub others: u64,
    /// The smallest time of a line, from which all times count.
    pub base: i64,
    pub heads: Heads,
}

/// How much of a line is read for what it says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heads {
    /// What stands before its first event.
    #[default]
    First,
    /// All of it.
    Whole,
}

#[derive(Debug, Default)]
pub struct Plane {
    pub name: String,
    pub lines: Vec<Line>,
    pub metas: Vec<Meta>,
    meta_of: Ids,
    /// Stat names, which are also the strings that stats refer to.
    pub strings: Vec<String>,
    /// By string: the stat that it is the name of.
    pub known: Vec<Option<Stat>>,
    string_of: Ids,
    /// By small ids of strings: what `Plane::code` says of them.
    codes: Vec<u8>,
    pub stats: Vec<(String, Held)>,
    /// The stats that some event of the plane may have.
    pub mask: u32,
    /// By metadata, what each of its events needs.
    pub briefs: Vec<Brief>,
}

/// What every event needs of its metadata.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brief {
    /// The stats that the metadata has.
    pub mask: u32,
    /// Some of its stats lead nowhere.
    pub dangles: bool,
}

#[derive(Debug, Default)]
pub struct Line {
    pub id: i64,
    pub name: String,
    pub display_name: String,
    pub timestamp: i64,
    pub span: Option<Span>,
    /// Where its first event is.
    pub events: Option<u64>,
    /// When the line begins, in picoseconds from the base.
    pub start: i64,
    /// Its clock is not that of the others.
    pub far: bool,
}

/// What all events of one kind have in common.
#[derive(Debug, Default)]
pub struct Meta {
    pub name: String,
    pub display_name: String,
    pub stats: Vec<(Stat, Held)>,
    /// The stats above, as bits.
    pub mask: u32,
    /// Stats of it without a name, and with a string that is not there.
    pub nameless: u64,
    pub lost: u64,
    /// All stats, by the ids of their names.
    pub all: Vec<(i64, Held)>,
    /// The key of the map, which stands in for the id of a program.
    pub key: i64,
}

/// What is wrong with the bytes: the first places, and how many there are.
#[derive(Debug, Default)]
pub struct Notes {
    pub first: Vec<Damage>,
    pub count: u64,
}

/// How many damaged places are worth reading.
const PLACES: usize = 5;

impl Notes {
    pub fn add(&mut self, offset: u64, what: String) {
        self.count += 1;
        if self.first.len() < PLACES {
            self.first.push(Damage { offset, what });
        }
    }
}

/// Places by id. Ids are small and dense in what profilers write, and anything in what a file may hold.
#[derive(Debug, Default)]
pub struct Ids {
    dense: Vec<u32>,
    sparse: FxHashMap<i64, u32>,
}

/// Codes of stats that no rule looks at, and of ids without a name.
pub const NO_STAT: u8 = 254;
pub const NO_NAME: u8 = 255;

const DENSE: i64 = 1 << 16;
const NONE: u32 = u32::MAX;

impl Ids {
    #[inline]
    pub fn get(&self, id: i64) -> Option<usize> {
        match self.dense.get(id as usize) {
            Some(&NONE) => None,
            Some(place) => Some(*place as usize),
            None if self.sparse.is_empty() => None,
            None => self.sparse.get(&id).map(|place| *place as usize),
        }
    }

    fn set(&mut self, id: i64, place: usize) {
        if (0..DENSE).contains(&id) {
            if id as usize >= self.dense.len() {
                self.dense.resize(id as usize + 1, NONE);
            }
            self.dense[id as usize] = place as u32;
        } else {
            self.sparse.insert(id, place as u32);
        }
    }
}

impl Plane {
    #[inline]
    pub fn meta(&self, id: i64) -> Option<usize> {
        self.meta_of.get(id)
    }

    #[inline]
    pub fn string(&self, id: i64) -> Option<usize> {
        self.string_of.get(id)
    }

    /// The stat that an id is the name of, as a number; `NO_STAT` if it means nothing to us, `NO_NAME` if it has none.
    #[inline]
    pub fn code(&self, id: i64) -> u8 {
        match self.codes.get(id as usize) {
            Some(code) => *code,
            None => self.code_slowly(id),
        }
    }

    fn code_slowly(&self, id: i64) -> u8 {
        self.string(id).map_or(NO_NAME, |name| self.known[name].map_or(NO_STAT, |stat| stat as u8))
    }

    pub fn is_device(&self) -> bool {
        self.name.starts_with("/device:")
    }

    pub fn is_tpu(&self) -> bool {
        self.name.starts_with("/device:TPU:")
    }

    /// Gives stats their names, once all strings are there.
    fn resolve(&mut self, raw: Vec<(i64, Held)>) {
        self.known = self.strings.iter().map(|name| Stat::by_name(name)).collect();
        self.codes = (0..self.string_of.dense.len() as i64).map(|id| self.code_slowly(id)).collect();
        self.mask = self.known.iter().flatten().fold(0, |mask, stat| mask | stat.bit());
        for (id, held) in raw {
            let Some(name) = self.string(id) else { continue };
            let held = self.value(held);
            self.stats.push((self.strings[name].clone(), held));
        }
        let mut metas = std::mem::take(&mut self.metas);
        for meta in &mut metas {
            for (id, held) in meta.all.clone() {
                let Some(name) = self.string(id) else {
                    meta.nameless += 1;
                    continue;
                };
                let held = self.value(held);
                if held == Held::Nothing {
                    meta.lost += 1;
                } else if let Some(stat) = self.known[name]
                    && meta.mask & stat.bit() == 0
                {
                    meta.mask |= stat.bit();
                    meta.stats.push((stat, held));
                }
            }
        }
        let brief = |meta: &Meta| Brief { mask: meta.mask, dangles: meta.nameless + meta.lost > 0 };
        self.briefs = metas.iter().map(brief).collect();
        self.metas = metas;
    }

    fn value(&self, held: Held) -> Held {
        match held {
            Held::Ref(id) => self.string(id).map_or(Held::Nothing, |at| Held::Text(self.strings[at].clone())),
            held => held,
        }
    }
}

/// Reads everything but the events.
pub fn read(bytes: &Bytes, heads: Heads) -> io::Result<Space> {
    let mut space = Space { heads, ..Space::default() };
    let mut reader = Reader { bytes, heads, notes: Notes::default(), windows: Default::default() };
    let mut walk = Walk::new(bytes, bytes.whole(), Window::default());
    while let Some((number, head)) = next(&mut walk, &mut reader.notes)? {
        let Head::Message(span) = head else {
            space.others += 1;
            continue;
        };
        match number {
            1 => space.planes.push(reader.plane(span)?),
            2 => space.errors.push(escape_invalid(walk.content(span)?)),
            3 => space.warnings.push(escape_invalid(walk.content(span)?)),
            4 => space.hostnames.push(escape_invalid(walk.content(span)?)),
            _ => space.others += 1,
        }
    }
    let notes = reader.notes;
    space.notes = notes;
    let lines = || space.planes.iter().flat_map(|plane| &plane.lines);
    let base = lines().map(|line| line.timestamp).min().unwrap_or(0);
    space.base = base;
    for line in space.planes.iter_mut().flat_map(|plane| &mut plane.lines) {
        let since = (i128::from(line.timestamp) - i128::from(base)) * 1000;
        line.far = since >= 1 << 62;
        line.start = if line.far { 0 } else { since as i64 };
    }
    Ok(space)
}

/// The next field of a message; damage is noted and ends it.
#[inline]
pub fn next(walk: &mut Walk<'_>, notes: &mut Notes) -> io::Result<Option<(u32, Head)>> {
    match walk.next_field() {
        Ok(field) => Ok(field),
        Err(WalkError::Io(error)) => Err(error),
        Err(WalkError::Damage(damage)) => {
            notes.add(damage.offset, damage.what);
            Ok(None)
        }
    }
}

struct Reader<'b> {
    bytes: &'b Bytes,
    heads: Heads,
    notes: Notes,
    /// For planes and for lines.
    windows: [Window; 2],
}

impl Reader<'_> {
    fn plane(&mut self, span: Span) -> io::Result<Plane> {
        let mut plane = Plane::default();
        let mut own_stats = Vec::new();
        let mut walk = Walk::new(self.bytes, span, std::mem::take(&mut self.windows[0]));
        while let Some((number, head)) = next(&mut walk, &mut self.notes)? {
            let Head::Message(span) = head else { continue };
            match number {
                2 => plane.name = escape_invalid(walk.content(span)?),
                3 => plane.lines.push(self.line(span)?),
                4 => {
                    let (key, meta) = read_meta(walk.content(span)?, span.start, &mut self.notes);
                    let place = plane.meta_of.get(key).unwrap_or(plane.metas.len());
                    if place == plane.metas.len() {
                        plane.metas.push(meta);
                    } else {
                        plane.metas[place] = meta;
                    }
                    plane.meta_of.set(key, place);
                }
                5 => {
                    let (key, name) = read_string(walk.content(span)?, span.start, &mut self.notes);
                    let place = plane.string_of.get(key).unwrap_or(plane.strings.len());
                    if place == plane.strings.len() {
                        plane.strings.push(name);
                    } else {
                        plane.strings[place] = name;
                    }
                    plane.string_of.set(key, place);
                }
                6 => {
                    let mut damaged = |at, what| self.notes.add(at, what);
                    own_stats.push(stats::read_held(walk.content(span)?, span.start, &mut damaged));
                }
                _ => {}
            }
        }
        self.windows[0] = walk.into_window();
        plane.resolve(own_stats);
        Ok(plane)
    }

    /// A line without its events.
    fn line(&mut self, span: Span) -> io::Result<Line> {
        let mut line = Line { span: Some(span), ..Line::default() };
        let mut walk = Walk::new(self.bytes, span, std::mem::take(&mut self.windows[1]));
        loop {
            let at = walk.place();
            let Some((number, head)) = next(&mut walk, &mut self.notes)? else { break };
            match (number, head) {
                (4, Head::Message(_)) if line.events.is_none() => {
                    line.events = Some(at);
                    if self.heads == Heads::First {
                        break;
                    }
                }
                (1, Head::Varint(n)) => line.id = n as i64,
                (2, Head::Message(span)) => line.name = escape_invalid(walk.content(span)?),
                (3, Head::Varint(n)) => line.timestamp = n as i64,
                (11, Head::Message(span)) => line.display_name = escape_invalid(walk.content(span)?),
                _ => {}
            }
        }
        self.windows[1] = walk.into_window();
        Ok(line)
    }
}

/// An entry of a map: its key and the bytes of its value.
fn entry<'a>(bytes: &'a [u8], at: u64, notes: &mut Notes) -> (i64, &'a [u8], u64) {
    let (mut key, mut value, mut offset) = (0, &bytes[..0], at);
    stats::each(bytes, at, &mut |at, what| notes.add(at, what), |number, field, content| match (number, field) {
        (1, Value::Varint(n)) => key = n as i64,
        (2, Value::Bytes(bytes)) => (value, offset) = (bytes, content),
        _ => {}
    });
    (key, value, offset)
}

fn read_meta(bytes: &[u8], at: u64, notes: &mut Notes) -> (i64, Meta) {
    let (key, value, at) = entry(bytes, at, notes);
    let mut meta = Meta { key, ..Meta::default() };
    let mut more = Vec::new();
    stats::each(value, at, &mut |at, what| notes.add(at, what), |number, field, offset| match (number, field) {
        (2, Value::Bytes(name)) => meta.name = escape_invalid(name),
        (4, Value::Bytes(name)) => meta.display_name = escape_invalid(name),
        (5, Value::Bytes(stat)) => more.push((stat, offset)),
        _ => {}
    });
    for (stat, offset) in more {
        meta.all.push(stats::read_held(stat, offset, &mut |at, what| notes.add(at, what)));
    }
    (key, meta)
}

fn read_string(bytes: &[u8], at: u64, notes: &mut Notes) -> (i64, String) {
    let (key, value, at) = entry(bytes, at, notes);
    let mut name = String::new();
    stats::each(value, at, &mut |at, what| notes.add(at, what), |number, field, _| {
        if let (2, Value::Bytes(text)) = (number, field) {
            name = escape_invalid(text);
        }
    });
    (key, name)
}
