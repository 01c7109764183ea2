//! Decodes the stats of events. Most equal those of the last event with the same metadata, so only differences are
//! decoded.

use super::fast_varint::{RawValue, StatHead, VARINT, is_varint, raw_value, stat_head, tag, word};
use super::plane::{NO_NAME, NO_STAT, Plane};
use super::stats::{OP_STATS, OwnValue, Stat};
use tfprof_proto::fields::xstat;

/// The stats of one event. The mask says which values are valid, so that none needs clearing.
#[derive(Debug)]
pub struct EventStats {
    pub mask: u32,
    pub values: [OwnValue; Stat::COUNT],
    /// Changes whenever one of [`OP_STATS`] does; 0 is unknown.
    pub version: u32,
}

impl EventStats {
    const fn new() -> Self {
        EventStats { mask: 0, values: [OwnValue::Int(0); Stat::COUNT], version: 0 }
    }
}

/// A few stats of an event, in the order of their bits, to compare with those of others.
#[derive(Clone, Copy, Debug)]
pub struct StatSnapshot {
    pub mask: u32,
    pub values: [OwnValue; StatSnapshot::MOST],
}

impl StatSnapshot {
    pub const MOST: usize = 4;
}

/// How many ids have no entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dangling {
    pub events: u64,
    pub stats: u64,
    pub strings: u64,
}

/// Decodes the stats that are wanted.
#[derive(Debug)]
pub struct StatReader {
    /// As bits.
    wanted: u32,
    /// In all events so far.
    pub dangling: Dangling,
    /// The stats of an event without a template.
    own: EventStats,
    plane: Option<usize>,
    /// By metadata.
    templates: Vec<Option<Box<Template>>>,
}

/// How many metadata of a plane have templates.
const MAX_TEMPLATES: usize = 4096;

impl StatReader {
    pub fn new(wanted: u32) -> StatReader {
        StatReader { wanted, dangling: Dangling::default(), own: EventStats::new(), plane: None, templates: Vec::new() }
    }

    /// Begins a line. The lines of a plane are neighbours.
    pub fn begin_line(&mut self, plane_index: usize, plane: &Plane) {
        if self.plane != Some(plane_index) {
            self.plane = Some(plane_index);
            self.templates.clear();
            self.templates.resize_with(plane.metas.len().min(MAX_TEMPLATES), || None);
        }
    }

    /// Decodes the stats between two offsets on the fast path.
    #[inline(always)]
    pub fn read(
        &mut self,
        plane: &Plane,
        meta: Option<usize>,
        bytes: &[u8],
        at: usize,
        end: usize,
    ) -> Option<&EventStats> {
        let before = self.dangling;
        self.count(plane, meta);
        if at == end || self.wanted == 0 {
            // No stats, or none wanted.
            self.own.mask = 0;
            return Some(&self.own);
        }
        let template = meta.and_then(|meta| self.templates.get_mut(meta));
        let read = match template {
            Some(template) => {
                let template = template.get_or_insert_with(|| Box::new(Template::new()));
                let read = template.read(plane, self.wanted, bytes, at, end, &mut self.dangling);
                if read.is_none() {
                    template.length = 0;
                }
                read.map(|()| &template.own)
            }
            None => {
                self.own.mask = 0;
                let mut at = at;
                loop {
                    if at == end {
                        break Some(&self.own);
                    }
                    let Some(stat) = ParsedStat::read(plane, self.wanted, bytes, at, end) else { break None };
                    stat.keep(&mut self.own, &mut self.dangling);
                    at = stat.end;
                }
            }
        };
        if read.is_none() {
            self.dangling = before;
        }
        read
    }

    /// Counts dangling ids of an event and its metadata.
    #[inline(always)]
    pub fn count(&mut self, plane: &Plane, meta: Option<usize>) {
        match meta {
            None => self.dangling.events += 1,
            Some(meta) if plane.summaries[meta].dangles => {
                self.dangling.stats += plane.metas[meta].nameless;
                self.dangling.strings += plane.metas[meta].lost;
            }
            Some(_) => {}
        }
    }

    /// Forgets the stats of the last event; [`StatReader::put`] adds those of the next.
    pub fn clear(&mut self) {
        self.own.mask = 0;
    }

    pub fn put(&mut self, code: u8, found: Option<OwnValue>) {
        let stat = ParsedStat { code, found, is_wanted: is_wanted(code, self.wanted), end: 0 };
        stat.keep(&mut self.own, &mut self.dangling);
    }

    pub fn own(&self) -> &EventStats {
        &self.own
    }
}

#[inline(always)]
fn is_wanted(code: u8, wanted: u32) -> bool {
    code < 32 && wanted & 1 << code != 0
}

/// A decoded stat of an event.
struct ParsedStat {
    code: u8,
    is_wanted: bool,
    found: Option<OwnValue>,
    end: usize,
}

impl ParsedStat {
    #[inline(always)]
    fn read(plane: &Plane, wanted: u32, bytes: &[u8], at: usize, limit: usize) -> Option<ParsedStat> {
        const UINT64: u8 = tag(xstat::UINT64_VALUE, VARINT);
        const INT64: u8 = tag(xstat::INT64_VALUE, VARINT);
        let StatHead { id, value, end } = stat_head(bytes, at, limit)?;
        let code = plane.code(id);
        let is_wanted = is_wanted(code, wanted);
        if !is_wanted && matches!(bytes[value], UINT64 | INT64) {
            // Unwanted: check its encoding, skip its value.
            let found = Some(OwnValue::Int(0));
            return is_varint(bytes, value + 1, end).then_some(ParsedStat { code, is_wanted, found, end });
        }
        let found = match raw_value(bytes, value, end)? {
            RawValue::Uint(n) => Some(OwnValue::Uint(n)),
            RawValue::Int(n) => Some(OwnValue::Int(n)),
            RawValue::Ref(n) => plane.string(n).map(|at| OwnValue::Name(at as u32)),
            RawValue::Double(n) => Some(OwnValue::Double(n)),
            RawValue::Text(slice) => Some(OwnValue::Text(slice)),
        };
        Some(ParsedStat { code, is_wanted, found, end })
    }

    /// Stores it unless the event has it already; returns whether it did.
    #[inline(always)]
    fn keep(&self, own: &mut EventStats, dangling: &mut Dangling) -> bool {
        match (self.code, self.found) {
            (NO_NAME, _) => dangling.stats += 1,
            (_, None) => dangling.strings += 1,
            (code, Some(found)) if self.is_wanted && own.mask & 1 << code == 0 => {
                own.mask |= 1 << code;
                own.values[usize::from(code)] = found;
                return true;
            }
            _ => {}
        }
        false
    }
}

/// The stats of the last event with some metadata, with their encoding.
#[derive(Debug)]
struct Template {
    length: usize,
    stats: [EncodedStat; Template::MOST],
    own: EventStats,
}

/// The encoding of a stat, if it has at most eight bytes.
#[derive(Clone, Copy, Debug)]
struct EncodedStat {
    bytes: u64,
    /// The valid bits of `bytes`.
    mask: u64,
    length: u8,
    code: u8,
    /// It is stored in the event, so that a new value replaces it.
    counts: bool,
}

impl EncodedStat {
    const NOTHING: EncodedStat = EncodedStat { bytes: 0, mask: u64::MAX, length: 0, code: NO_STAT, counts: false };

    #[inline(always)]
    fn new(bytes: &[u8], at: usize, stat: &ParsedStat, counts: bool) -> EncodedStat {
        let length = stat.end - at;
        // A stat with a dangling value is not stored, so the next event with a value must be decoded anew.
        let code = if stat.found.is_none() { NO_STAT } else { stat.code };
        let nothing = EncodedStat { code, counts, ..EncodedStat::NOTHING };
        // The offset of text differs from event to event, and dangling ids are counted each time.
        let is_comparable = !matches!(stat.found, None | Some(OwnValue::Text(_))) && stat.code != NO_NAME;
        match word(bytes, at) {
            Some(word) if is_comparable && length <= 8 => {
                let mask = u64::MAX >> (64 - 8 * length);
                EncodedStat { bytes: word & mask, mask, length: length as u8, ..nothing }
            }
            _ => nothing,
        }
    }
}

impl Template {
    const MOST: usize = 12;

    fn new() -> Template {
        Template { length: 0, stats: [EncodedStat::NOTHING; Template::MOST], own: EventStats::new() }
    }

    #[inline(always)]
    fn read(
        &mut self,
        plane: &Plane,
        wanted: u32,
        bytes: &[u8],
        start: usize,
        end: usize,
        dangling: &mut Dangling,
    ) -> Option<()> {
        let before = *dangling;
        let mut at = start;
        for written in &mut self.stats[..self.length] {
            if (word(bytes, at)? ^ written.bytes) & written.mask == 0 {
                at += usize::from(written.length);
                continue;
            }
            let stat = ParsedStat::read(plane, wanted, bytes, at, end)?;
            if stat.code != written.code || stat.code == NO_NAME || stat.found.is_none() {
                at = 0;
                break;
            }
            if written.counts {
                if let Some(found) = stat.found {
                    self.own.values[usize::from(stat.code)] = found;
                }
                if OP_STATS & 1 << stat.code != 0 {
                    self.own.version = self.own.version.wrapping_add(1).max(1);
                }
            }
            *written = EncodedStat::new(bytes, at, &stat, written.counts);
            at = stat.end;
        }
        if at == end && self.length > 0 {
            return Some(());
        }
        *dangling = before;
        self.learn(plane, wanted, bytes, start, end, dangling)
    }

    /// Decodes all stats, and stores their encoding.
    #[inline(never)]
    fn learn(
        &mut self,
        plane: &Plane,
        wanted: u32,
        bytes: &[u8],
        mut at: usize,
        end: usize,
        dangling: &mut Dangling,
    ) -> Option<()> {
        self.own.version = self.own.version.wrapping_add(1).max(1);
        self.own.mask = 0;
        let mut length = 0;
        while at < end {
            let stat = ParsedStat::read(plane, wanted, bytes, at, end)?;
            let counts = stat.keep(&mut self.own, dangling);
            if let Some(written) = self.stats.get_mut(length) {
                *written = EncodedStat::new(bytes, at, &stat, counts);
            }
            length += 1;
            at = stat.end;
        }
        self.length = if length <= Template::MOST { length } else { 0 };
        Some(())
    }
}
