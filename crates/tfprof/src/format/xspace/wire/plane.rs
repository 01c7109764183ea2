//! The planes of a profile and their lines: first names, strings and the offset of each line, then the events.
//!
//! Writers put a plane's lines before the names of their events, so names are a pass of their own. It reads a line up to
//! its first event; a line with its fields in another order is detected when its events are read.

use super::event::Event;
use super::stats::{self, DamageList, LenientFields, Stat, StatMask, StatReader, StoredValue};
use crate::budget;
use crate::events::spans::Unsorted;
use crate::format::file_bytes::{ByteCursor, ByteWindow, FileBytes};
use crate::hash::UntrustedMap;
use crate::model::names::escape_invalid;
use crate::words::cut;
use std::io;
use std::sync::Arc;
use tfprof_proto::fields::{map_entry, xevent_metadata, xline, xplane, xspace, xstat_metadata};
use tfprof_proto::window::{ByteRange, FieldError, FieldReader, Head};
use tfprof_proto::wire::Value;

/// A file without its events.
#[derive(Debug, Default)]
pub struct Space {
    pub planes: Vec<Plane>,
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
    pub hostnames: Vec<String>,
    pub damage: DamageList,
    /// Fields that a profile does not have.
    pub unknown_fields: u64,
    /// The earliest time of a line; all times are relative to it.
    pub base: i64,
    pub heads: LineHeads,
}

/// The number of bytes of a line that are read for its name, id and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineHeads {
    /// The part before its first event.
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
    meta_of: IdMap,
    /// Stat names, which are also the strings that stats refer to.
    pub strings: Vec<Arc<str>>,
    /// By string: the stat that it names.
    pub stat_of_string: Vec<Option<Stat>>,
    string_of: IdMap,
    /// By small ids of strings: see [`Plane::code`].
    codes: Vec<u8>,
    pub stats: Vec<(Arc<str>, StoredValue)>,
    /// The stats that some event of the plane may have.
    pub mask: StatMask,
    /// By metadata.
    pub summaries: Vec<MetaSummary>,
}

/// The part of metadata that every event needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct MetaSummary {
    /// The stats that the metadata has.
    pub mask: StatMask,
    /// Some of its stats refer to missing entries.
    pub dangles: bool,
}

#[derive(Debug, Default)]
pub struct Line {
    pub id: i64,
    pub name: String,
    pub display_name: String,
    pub timestamp: i64,
    pub span: Option<ByteRange>,
    /// The offset of its first event.
    pub events: Option<u64>,
    /// When the line begins, in picoseconds from the base.
    pub start: i64,
    /// Its clock differs from that of the first line.
    pub other_clock: bool,
}

/// The name and stats that events share.
#[derive(Debug, Default)]
pub struct Meta {
    pub name: String,
    pub display_name: String,
    pub stats: Vec<(Stat, StoredValue)>,
    /// The stats above, as bits.
    pub mask: StatMask,
    /// Stats without a name, and those that refer to a missing string.
    pub nameless: u64,
    pub lost: u64,
    /// All stats, by the ids of their names.
    pub all: Vec<(i64, StoredValue)>,
    /// The key of the map, which stands in for the id of a program.
    pub key: i64,
}

/// Indices by id. Profilers write small, dense ids, but a file may hold any.
#[derive(Debug, Default)]
pub struct IdMap {
    dense: Vec<u32>,
    sparse: UntrustedMap<i64, u32>,
}

/// Codes of stats without a meaning to us, and of ids without a name.
pub const NO_STAT: u8 = 254;
pub const NO_NAME: u8 = 255;

const DENSE: i64 = 1 << 16;
const NONE: u32 = u32::MAX;

impl IdMap {
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

    /// The stat that an id names, as a number, or [`NO_STAT`] or [`NO_NAME`].
    #[inline]
    pub fn code(&self, id: i64) -> u8 {
        match self.codes.get(id as usize) {
            Some(code) => *code,
            None => self.code_slowly(id),
        }
    }

    fn code_slowly(&self, id: i64) -> u8 {
        self.string(id).map_or(NO_NAME, |name| self.stat_of_string[name].map_or(NO_STAT, |stat| stat as u8))
    }

    pub fn is_device(&self) -> bool {
        self.name.starts_with("/device:")
    }

    pub fn has_events(&self) -> bool {
        self.lines.iter().any(|line| line.events.is_some())
    }

    pub fn is_tpu(&self) -> bool {
        self.name.starts_with("/device:TPU:")
    }

    /// Resolves the names of stats, once all strings are read.
    fn resolve(&mut self, raw: Vec<(i64, StoredValue)>) {
        self.stat_of_string = self.strings.iter().map(|name| Stat::by_name(name)).collect();
        self.codes = (0..self.string_of.dense.len() as i64).map(|id| self.code_slowly(id)).collect();
        self.mask = self.stat_of_string.iter().flatten().fold(0, |mask, stat| mask | stat.bit());
        for (id, held) in raw {
            let Some(name) = self.string(id) else { continue };
            let held = self.value(held);
            self.stats.push((Arc::clone(&self.strings[name]), held));
        }
        let mut metas = std::mem::take(&mut self.metas);
        for meta in &mut metas {
            budget::check();
            for (id, held) in meta.all.clone() {
                let Some(name) = self.string(id) else {
                    meta.nameless += 1;
                    continue;
                };
                let held = self.value(held);
                if held == StoredValue::Nothing {
                    meta.lost += 1;
                } else if let Some(stat) = self.stat_of_string[name]
                    && meta.mask & stat.bit() == 0
                {
                    meta.mask |= stat.bit();
                    meta.stats.push((stat, held));
                }
            }
        }
        let brief = |meta: &Meta| MetaSummary { mask: meta.mask, dangles: meta.nameless + meta.lost > 0 };
        self.summaries = metas.iter().map(brief).collect();
        self.metas = metas;
    }

    fn value(&self, held: StoredValue) -> StoredValue {
        match held {
            StoredValue::Ref(id) => {
                self.string(id).map_or(StoredValue::Nothing, |at| StoredValue::Text(Arc::clone(&self.strings[at])))
            }
            held => held,
        }
    }
}

/// Reads a file without its events.
pub fn read(bytes: &FileBytes, heads: LineHeads) -> io::Result<Space> {
    let mut space = Space { heads, ..Space::default() };
    let mut reader =
        PlaneReader { heads, damage: DamageList::default(), planes: bytes.window(), lines: bytes.window() };
    let mut window = bytes.window();
    let mut walk = FieldReader::new(&mut window, bytes.whole())?;
    while let Some((number, head)) = next(&mut walk, &mut reader.damage)? {
        let Head::Message(span) = head else {
            space.unknown_fields += 1;
            continue;
        };
        match number {
            xspace::PLANES => space.planes.push(reader.plane(span)?),
            xspace::ERRORS => space.errors.push(escape_invalid(walk.content(span)?)),
            xspace::WARNINGS => space.warnings.push(escape_invalid(walk.content(span)?)),
            xspace::HOSTNAMES => space.hostnames.push(escape_invalid(walk.content(span)?)),
            _ => space.unknown_fields += 1,
        }
    }
    space.damage = reader.damage;
    let lines = || space.planes.iter().flat_map(|plane| &plane.lines);
    let base = lines().map(|line| line.timestamp).min().unwrap_or(0);
    space.base = base;
    for line in space.planes.iter_mut().flat_map(|plane| &mut plane.lines) {
        let since = (i128::from(line.timestamp) - i128::from(base)) * 1000;
        line.other_clock = since >= 1 << 62;
        line.start = if line.other_clock { 0 } else { since as i64 };
    }
    Ok(space)
}

/// The next field of a message; damage is noted and ends it.
#[inline]
fn next(walk: &mut FieldReader<'_, ByteCursor<'_>>, damage: &mut DamageList) -> io::Result<Option<(u32, Head)>> {
    match walk.next_field() {
        Ok(field) => Ok(field),
        Err(FieldError::Io(error)) => Err(error),
        Err(FieldError::Damage(found)) => {
            damage.extend(Some(found));
            Ok(None)
        }
    }
}

struct PlaneReader<'b> {
    heads: LineHeads,
    damage: DamageList,
    planes: ByteWindow<'b>,
    lines: ByteWindow<'b>,
}

impl PlaneReader<'_> {
    fn plane(&mut self, span: ByteRange) -> io::Result<Plane> {
        let mut plane = Plane::default();
        let mut own_stats = Vec::new();
        let PlaneReader { heads, damage, planes, lines } = self;
        let mut walk = FieldReader::new(planes, span)?;
        while let Some((number, head)) = next(&mut walk, damage)? {
            budget::check();
            let Head::Message(span) = head else { continue };
            match number {
                xplane::NAME => plane.name = cut(&escape_invalid(walk.content(span)?)).into_owned(),
                xplane::LINES => plane.lines.push(read_line(lines, span, *heads, damage)?),
                xplane::EVENT_METADATA => {
                    let (key, meta) = read_meta(walk.content(span)?, span.start, damage);
                    let place = plane.meta_of.get(key).unwrap_or(plane.metas.len());
                    if place == plane.metas.len() {
                        plane.metas.push(meta);
                    } else {
                        plane.metas[place] = meta;
                    }
                    plane.meta_of.set(key, place);
                }
                xplane::STAT_METADATA => {
                    let (key, name) = read_string(walk.content(span)?, span.start, damage);
                    let place = plane.string_of.get(key).unwrap_or(plane.strings.len());
                    if place == plane.strings.len() {
                        plane.strings.push(name.into());
                    } else {
                        plane.strings[place] = name.into();
                    }
                    plane.string_of.set(key, place);
                }
                xplane::STATS => {
                    own_stats.push(stats::read_stat_value(walk.content(span)?, span.start, damage));
                }
                _ => {}
            }
        }
        plane.resolve(own_stats);
        Ok(plane)
    }
}

/// A line without its events.
fn read_line(
    window: &mut ByteWindow<'_>,
    span: ByteRange,
    heads: LineHeads,
    damage: &mut DamageList,
) -> io::Result<Line> {
    let mut line = Line { span: Some(span), ..Line::default() };
    let mut walk = FieldReader::new(window, span)?;
    loop {
        let at = walk.next_offset();
        let Some((number, head)) = next(&mut walk, damage)? else { return Ok(line) };
        match (number, head) {
            (xline::EVENTS, Head::Message(_)) if line.events.is_none() => {
                line.events = Some(at);
                if heads == LineHeads::First {
                    return Ok(line);
                }
            }
            (xline::ID, Head::Varint(n)) => line.id = n as i64,
            (xline::NAME, Head::Message(span)) => line.name = escape_invalid(walk.content(span)?),
            (xline::TIMESTAMP_NS, Head::Varint(n)) => line.timestamp = n as i64,
            (xline::DISPLAY_NAME, Head::Message(span)) => line.display_name = escape_invalid(walk.content(span)?),
            _ => {}
        }
    }
}

/// An entry of a map: its key, and the bytes and the offset of its value.
fn entry<'a>(bytes: &'a [u8], at: u64, damage: &mut DamageList) -> (i64, &'a [u8], u64) {
    let (mut key, mut value, mut value_at) = (0, &bytes[..0], at);
    let mut fields = LenientFields::new(bytes, at);
    for (number, field, offset) in &mut fields {
        match (number, field) {
            (map_entry::KEY, Value::Varint(n)) => key = n as i64,
            (map_entry::VALUE, Value::Bytes(bytes)) => (value, value_at) = (bytes, offset),
            _ => {}
        }
    }
    damage.extend(fields.damage);
    (key, value, value_at)
}

fn read_meta(bytes: &[u8], at: u64, damage: &mut DamageList) -> (i64, Meta) {
    let (key, value, at) = entry(bytes, at, damage);
    let mut meta = Meta { key, ..Meta::default() };
    let mut fields = LenientFields::new(value, at);
    for (number, field, offset) in &mut fields {
        match (number, field) {
            (xevent_metadata::NAME, Value::Bytes(name)) => meta.name = escape_invalid(name),
            (xevent_metadata::DISPLAY_NAME, Value::Bytes(name)) => meta.display_name = escape_invalid(name),
            (xevent_metadata::STATS, Value::Bytes(stat)) => {
                meta.all.push(stats::read_stat_value(stat, offset, damage));
            }
            _ => {}
        }
    }
    damage.extend(fields.damage);
    (key, meta)
}

fn read_string(bytes: &[u8], at: u64, damage: &mut DamageList) -> (i64, String) {
    let (key, value, at) = entry(bytes, at, damage);
    let mut name = String::new();
    let mut fields = LenientFields::new(value, at);
    for (number, field, _) in &mut fields {
        if let (xstat_metadata::NAME, Value::Bytes(text)) = (number, field) {
            name = escape_invalid(text);
        }
    }
    damage.extend(fields.damage);
    (key, name)
}

/// A file that is being read.
#[derive(Debug)]
pub struct LineReader<'f> {
    pub space: &'f Space,
    /// Some line is not sorted, so all of them are sorted in memory.
    pub whole_lines: bool,
    pub stat_reader: StatReader,
    pub damage: DamageList,
    window: ByteWindow<'f>,
}

/// A line and its plane.
#[derive(Clone, Copy, Debug)]
pub struct LineOfPlane<'f> {
    pub plane: &'f Plane,
    pub line: &'f Line,
    /// The index of the plane in the file.
    pub plane_index: usize,
}

/// Why reading ended early.
#[derive(Debug)]
pub enum Stop {
    Io(io::Error),
    Unsorted,
    /// A line has its name, id or time after its events.
    LateHead,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Io(error)
    }
}

impl From<Unsorted> for Stop {
    fn from(_: Unsorted) -> Self {
        Stop::Unsorted
    }
}

impl<'f> LineReader<'f> {
    /// `wanted` are the stats that events are asked for, as bits.
    pub fn new(bytes: &'f FileBytes, space: &'f Space, wanted: StatMask) -> LineReader<'f> {
        LineReader {
            space,
            whole_lines: false,
            stat_reader: StatReader::new(wanted),
            damage: DamageList::default(),
            window: bytes.window(),
        }
    }

    /// Calls `walk`; if a line is not sorted, once more with whole lines.
    pub fn run<T>(&mut self, mut walk: impl FnMut(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        loop {
            (self.stat_reader.dangling, self.damage) = Default::default();
            match walk(self) {
                Err(Stop::Unsorted) if !self.whole_lines => self.whole_lines = true,
                done => return done,
            }
        }
    }

    /// All lines, in the order of the file.
    pub fn lines(&self) -> impl Iterator<Item = LineOfPlane<'f>> + use<'f> {
        let planes = self.space.planes.iter().enumerate();
        planes.flat_map(|(plane_index, plane)| {
            plane.lines.iter().map(move |line| LineOfPlane { plane, line, plane_index })
        })
    }

    /// Calls `then` for every event of a line, in the order of the file. Returns the display name of the line.
    #[inline]
    pub fn events(
        &mut self,
        at: LineOfPlane<'f>,
        mut then: impl FnMut(&Event<'_>) -> Result<(), Stop>,
    ) -> Result<String, Stop> {
        let LineOfPlane { plane, line, .. } = at;
        let mut shown = line.display_name.clone();
        self.stat_reader.begin_line(at.plane_index, plane);
        let (Some(span), Some(start)) = (line.span, line.events) else { return Ok(shown) };
        let mut walk = FieldReader::new(&mut self.window, ByteRange { start, ..span })?;
        let mut seq = 0_u32;
        let heads = self.space.heads;
        loop {
            let (ready, limit) = walk.ready()?;
            let mut done = 0;
            while let Some((event, length)) =
                Event::fast(plane, line, &ready[done..], limit - done, seq, &mut self.stat_reader)
            {
                done += length;
                seq = seq.wrapping_add(1);
                then(&event)?;
            }
            if done > 0 {
                walk.take(done);
            }
            // The next event is the last in the window, or needs the general path.
            // Damage that the first pass reported already is dropped.
            let mut known = DamageList::default();
            let damage = if heads == LineHeads::First { &mut self.damage } else { &mut known };
            let Some((number, head)) = next(&mut walk, damage)? else { break };
            match (number, head) {
                (xline::EVENTS, Head::Message(span)) => {
                    let bytes = walk.content(span)?;
                    let (at, damage) = ((bytes, span.start), &mut self.damage);
                    let event = Event::general(plane, line, at, seq, &mut self.stat_reader, damage);
                    seq = seq.wrapping_add(1);
                    then(&event)?;
                }
                (xline::ID | xline::TIMESTAMP_NS, Head::Varint(_)) | (xline::NAME, Head::Message(_))
                    if heads == LineHeads::First =>
                {
                    return Err(Stop::LateHead);
                }
                (xline::DISPLAY_NAME, Head::Message(span)) => shown = escape_invalid(walk.content(span)?),
                _ => {}
            }
        }
        Ok(shown)
    }
}
