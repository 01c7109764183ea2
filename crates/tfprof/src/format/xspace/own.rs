//! The stats of an event, taken as they differ from those of the last event of the same metadata: most do not.

use super::plane::{NO_NAME, NO_STAT, Plane};
use super::quick::{Raw, is_varint, raw_value, stat_head, word};
use super::stats::{Found, OF_OPS, Stat};

/// The stats of one event, by kind; which of them are its own is told by a mask, so that nothing need be cleared.
#[derive(Debug)]
pub struct Own {
    pub mask: u32,
    pub values: [Found; Stat::COUNT],
    /// Changes when one changes that says which op the event is; 0 if that is not told.
    pub version: u32,
}

impl Own {
    const fn new() -> Self {
        Own { mask: 0, values: [Found::Int(0); Stat::COUNT], version: 0 }
    }
}

/// A few stats of an event, in the order of their bits.
#[derive(Clone, Copy, Debug)]
pub struct Few {
    pub mask: u32,
    pub values: [Found; Few::MOST],
}

impl Few {
    pub const MOST: usize = 4;
}

/// What leads nowhere: ids without an entry, and lines by another clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dangling {
    pub events: u64,
    pub stats: u64,
    pub strings: u64,
}

/// Takes the stats of events that someone asks for.
#[derive(Debug)]
pub struct Taker {
    /// The stats that are taken, as bits.
    wanted: u32,
    /// What led nowhere in all events so far.
    pub dangling: Dangling,
    /// The stats of an event that has no template.
    own: Own,
    plane: Option<usize>,
    /// By the place of a metadata.
    templates: Vec<Option<Box<Template>>>,
}

/// How many metadata of a plane have templates.
const TEMPLATES: usize = 4096;

impl Taker {
    pub fn new(wanted: u32) -> Taker {
        Taker { wanted, dangling: Dangling::default(), own: Own::new(), plane: None, templates: Vec::new() }
    }

    /// Lines of one plane come one after the other.
    pub fn turn_to(&mut self, place: usize, plane: &Plane) {
        if self.plane != Some(place) {
            self.plane = Some(place);
            self.templates.clear();
            self.templates.resize_with(plane.metas.len().min(TEMPLATES), || None);
        }
    }

    /// Takes the stats between two places, if they are written as profilers do.
    #[inline(always)]
    pub fn take(&mut self, plane: &Plane, meta: Option<usize>, bytes: &[u8], at: usize, end: usize) -> Option<&Own> {
        let before = self.dangling;
        self.count(plane, meta);
        if at == end || self.wanted == 0 {
            // Whoever wants none passes over those that are there.
            self.own.mask = 0;
            return Some(&self.own);
        }
        let template = meta.and_then(|meta| self.templates.get_mut(meta));
        let taken = match template {
            Some(template) => {
                let template = template.get_or_insert_with(|| Box::new(Template::new()));
                let taken = template.take(plane, self.wanted, bytes, at, end, &mut self.dangling);
                if taken.is_none() {
                    template.length = 0;
                }
                taken.map(|()| &template.own)
            }
            None => {
                self.own.mask = 0;
                let mut at = at;
                loop {
                    if at == end {
                        break Some(&self.own);
                    }
                    let Some(stat) = Stated::read(plane, self.wanted, bytes, at, end) else { break None };
                    stat.keep(&mut self.own, &mut self.dangling);
                    at = stat.end;
                }
            }
        };
        if taken.is_none() {
            self.dangling = before;
        }
        taken
    }

    /// Counts what leads nowhere in the metadata of an event.
    #[inline(always)]
    pub fn count(&mut self, plane: &Plane, meta: Option<usize>) {
        match meta {
            None => self.dangling.events += 1,
            Some(meta) if plane.briefs[meta].dangles => {
                self.dangling.stats += plane.metas[meta].nameless;
                self.dangling.strings += plane.metas[meta].lost;
            }
            Some(_) => {}
        }
    }

    /// Stats one by one, in any form: `put` adds to those of the event at hand.
    pub fn clear(&mut self) {
        self.own.mask = 0;
    }

    pub fn put(&mut self, code: u8, found: Option<Found>) {
        let stat = Stated { code, found, is_wanted: is_wanted(code, self.wanted), end: 0 };
        stat.keep(&mut self.own, &mut self.dangling);
    }

    pub fn own(&self) -> &Own {
        &self.own
    }
}

#[inline(always)]
fn is_wanted(code: u8, wanted: u32) -> bool {
    code < 32 && wanted & 1 << code != 0
}

/// A stat as it was found in an event.
struct Stated {
    code: u8,
    is_wanted: bool,
    found: Option<Found>,
    end: usize,
}

impl Stated {
    #[inline(always)]
    fn read(plane: &Plane, wanted: u32, bytes: &[u8], at: usize, limit: usize) -> Option<Stated> {
        let (id, value, end) = stat_head(bytes, at, limit)?;
        let code = plane.code(id);
        let is_wanted = is_wanted(code, wanted);
        if !is_wanted && matches!(bytes[value], 0x18 | 0x20) {
            // Nobody asks what the number is.
            let found = Some(Found::Int(0));
            return is_varint(bytes, value + 1, end).then_some(Stated { code, is_wanted, found, end });
        }
        let found = match raw_value(bytes, value, end)? {
            Raw::Uint(n) => Some(Found::Uint(n)),
            Raw::Int(n) => Some(Found::Int(n)),
            Raw::Ref(n) => plane.string(n).map(|at| Found::Name(at as u32)),
            Raw::Double(n) => Some(Found::Double(n)),
            Raw::Text(text, length) => Some(Found::Text(text as u32, length as u32)),
        };
        Some(Stated { code, is_wanted, found, end })
    }

    /// Puts it among the event's own; says whether it counts there. The first of two does.
    #[inline(always)]
    fn keep(&self, own: &mut Own, dangling: &mut Dangling) -> bool {
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

/// The stats of the last event of a metadata, as they were written.
#[derive(Debug)]
struct Template {
    length: usize,
    stats: [Written; Template::MOST],
    own: Own,
}

/// A stat that was written in at most eight bytes.
#[derive(Clone, Copy, Debug)]
struct Written {
    bytes: u64,
    /// Which bits of that count.
    mask: u64,
    length: u8,
    code: u8,
    /// It is among the event's own, so that another value goes there.
    counts: bool,
}

impl Written {
    const NOTHING: Written = Written { bytes: 0, mask: u64::MAX, length: 0, code: NO_STAT, counts: false };

    #[inline(always)]
    fn new(bytes: &[u8], at: usize, stat: &Stated, counts: bool) -> Written {
        let length = stat.end - at;
        let nothing = Written { code: stat.code, counts, ..Written::NOTHING };
        // Text is told by its place, which says nothing about another event's; what leads nowhere is counted each time.
        let is_told = !matches!(stat.found, None | Some(Found::Text(..))) && stat.code != NO_NAME;
        match word(bytes, at) {
            Some(word) if is_told && length <= 8 => {
                let mask = u64::MAX >> (64 - 8 * length);
                Written { bytes: word & mask, mask, length: length as u8, ..nothing }
            }
            _ => nothing,
        }
    }
}

impl Template {
    const MOST: usize = 12;

    fn new() -> Template {
        Template { length: 0, stats: [Written::NOTHING; Template::MOST], own: Own::new() }
    }

    #[inline(always)]
    fn take(
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
            let stat = Stated::read(plane, wanted, bytes, at, end)?;
            if stat.code != written.code || stat.code == NO_NAME || stat.found.is_none() {
                at = 0;
                break;
            }
            if written.counts {
                if let Some(found) = stat.found {
                    self.own.values[usize::from(stat.code)] = found;
                }
                if OF_OPS & 1 << stat.code != 0 {
                    self.own.version = self.own.version.wrapping_add(1).max(1);
                }
            }
            *written = Written::new(bytes, at, &stat, written.counts);
            at = stat.end;
        }
        if at == end && self.length > 0 {
            return Some(());
        }
        *dangling = before;
        self.learn(plane, wanted, bytes, start, end, dangling)
    }

    /// Takes all stats, and how they are written.
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
            let stat = Stated::read(plane, wanted, bytes, at, end)?;
            let counts = stat.keep(&mut self.own, dangling);
            if let Some(written) = self.stats.get_mut(length) {
                *written = Written::new(bytes, at, &stat, counts);
            }
            length += 1;
            at = stat.end;
        }
        self.length = if length <= Template::MOST { length } else { 0 };
        Some(())
    }
}
