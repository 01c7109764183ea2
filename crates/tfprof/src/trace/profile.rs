//! An `XSpace` as a Chrome trace: a process for each plane, a thread for each line, every event once with all its stats.
//!
//! Names follow the events that refer to them, so the file is read several times: names, then the ends of arrows, then
//! the events, each written at once.

use crate::error::{Error, Warning};
use crate::format::xspace::ProfileFile;
use crate::format::xspace::trace::{FlowKey, HostTrace, Key, KeyTexts, Lane, Meta, NamesOfEvent, TracedEvent, Value};
use crate::hash::UntrustedMap;
use crate::json;
use crate::render::chrome::{Buffer, EventWriter, Fragment, Layout};
use std::io::{self, Write};

/// Profiles whose names are read: ready to be written.
#[derive(Debug)]
pub struct ProfileTrace<'f> {
    hosts: Vec<HostTrace<'f>>,
    show_flows: bool,
    pub warnings: Vec<Warning>,
}

impl<'f> ProfileTrace<'f> {
    /// Reads the names. A file that is not a profile is an error here, not half-way through the output.
    pub fn new(files: &'f [ProfileFile], show_flows: bool) -> Result<Self, Error> {
        let mut hosts = Vec::new();
        let mut warnings = Vec::new();
        for file in files {
            hosts.push(HostTrace::new(file, &mut warnings)?);
        }
        Ok(ProfileTrace { hosts, show_flows, warnings })
    }

    /// Writes the trace as JSON.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = Writer { events: EventWriter::begin(&Layout::LINES, out) };
        let first = self.hosts.iter().filter_map(HostTrace::began).min();
        let several = self.hosts.len() > 1;
        let mut process = 0;
        for host in &self.hosts {
            // Hosts are aligned by the start of their recordings.
            let shift = match (host.began(), first) {
                (Some(began), Some(first)) if several => began.saturating_sub(first).saturating_mul(1000),
                _ => 0,
            };
            let arrows = if self.show_flows { Arrows::find(host)? } else { Arrows::default() };
            process = host.write(arrows, shift, several, process, &mut writer)?;
        }
        writer.events.end()
    }
}

impl HostTrace<'_> {
    /// Writes all planes and returns the number of the next process.
    fn write(
        &self,
        mut arrows: Arrows,
        shift: i64,
        several: bool,
        first_process: u32,
        writer: &mut Writer<'_>,
    ) -> io::Result<u32> {
        let prefix = if several { format!("{} ", self.host()) } else { String::new() };
        let mut next = first_process;
        let mut process_of = Vec::new();
        for plane in self.planes() {
            process_of.push(next);
            if plane.lines == 0 {
                continue;
            }
            writer.events.process_name(next, &format!("{prefix}{}", plane.name))?;
            for (lane, name) in (0..).zip(&plane.names) {
                writer.events.thread_name(next, lane, name)?;
            }
            next += 1;
        }
        let mut fragments = Fragments::default();
        let flow_base = u64::from(first_process) << 32;
        self.each(false, |Lane { plane, lane }, event| {
            fragments.switch_to(self, plane, process_of[plane], lane);
            let at = event.start.saturating_add(shift);
            writer.event(at, event, &mut fragments)?;
            while let Some((id, end)) = arrows.next_here() {
                // Arrows of different hosts have different ids.
                writer.flow(end, u64::from(id) + flow_base, at, &fragments)?;
            }
            arrows.next_event();
            Ok(())
        })?;
        Ok(next)
    }
}

/// Puts events together from the fragments of their line.
struct Writer<'w> {
    events: EventWriter<'w>,
}

impl Writer<'_> {
    #[inline]
    fn event(&mut self, at: i64, event: &TracedEvent<'_>, fragments: &mut Fragments) -> io::Result<()> {
        let Fragments { keys, texts, met, event: begin, names, long_names, .. } = fragments;
        let buffer = self.events.buffer();
        buffer.fragment(begin);
        buffer.micros(at);
        buffer.fixed(b",\"dur\":");
        buffer.micros(event.length);
        match event.meta {
            Some(meta) => buffer.fragment(&names[meta]),
            None => {
                buffer.put(b",\"name\":");
                buffer.string(format!("<unknown event {}>", event.id).as_bytes());
            }
        }
        let mut is_first = true;
        let mut key = |buffer: &mut Buffer<'_>, key: &Fragment| {
            if is_first {
                buffer.fixed(b",\"args\":{");
            } else {
                buffer.fixed(b",");
            }
            is_first = false;
            buffer.fragment(key);
        };
        if let Some(long_name) = event.meta.and_then(|meta| long_names[meta].as_ref()) {
            key(buffer, long_name);
        }
        if let Some(count) = event.count {
            key(buffer, &Fragment::new(b"\"num_occurrences\":"));
            buffer.integer(count);
        }
        event.each_stat(met, |name, value| {
            key(buffer, &keys[name]);
            match value {
                Value::Int(n) => buffer.integer(n),
                Value::Uint(n) => buffer.unsigned(n),
                Value::Name(at) => buffer.fragment(&texts[at]),
                Value::Text(text) => buffer.string(text),
                Value::Double(n) if n.is_finite() => buffer.put(n.to_string().as_bytes()),
                Value::Double(n) => buffer.string(n.to_string().as_bytes()),
                Value::Bytes(length) => buffer.string(format!("{length} bytes").as_bytes()),
            }
        });
        if is_first {
            buffer.fixed(b"}");
        } else {
            buffer.fixed(b"}}");
        }
        buffer.flush_if_full()
    }

    /// One end of an arrow.
    #[inline]
    fn flow(&mut self, end: End, id: u64, at: i64, fragments: &Fragments) -> io::Result<()> {
        let buffer = self.events.buffer();
        buffer.fragment(if end == End::Start { &fragments.arrow_start } else { &fragments.arrow_end });
        buffer.micros(at);
        buffer.fixed(b",\"id\":");
        buffer.unsigned(id);
        buffer.fixed(b"}");
        buffer.flush_if_full()
    }
}

/// The fragments that all events of a line, or of its plane, share.
#[derive(Default)]
struct Fragments {
    plane: Option<usize>,
    line: Option<(u32, u32)>,
    /// The beginnings of an event and of both ends of an arrow, up to the time.
    event: Fragment,
    arrow_start: Fragment,
    arrow_end: Fragment,
    /// The strings of the plane as keys and as values.
    keys: Vec<Fragment>,
    texts: Vec<Fragment>,
    met: NamesOfEvent,
    /// By metadata: the name with its key, and the long name with its key where it differs.
    names: Vec<Fragment>,
    long_names: Vec<Option<Fragment>>,
}

impl Fragments {
    #[inline]
    fn switch_to(&mut self, host: &HostTrace<'_>, plane: usize, process: u32, lane: u32) {
        if self.line == Some((process, lane)) {
            return;
        }
        self.line = Some((process, lane));
        if self.plane != Some(plane) {
            self.switch_to_plane(host, plane);
        }
        let position = format!(",\"pid\":{process},\"tid\":{lane},\"ts\":");
        self.event = Fragment::new(format!(",\n{{\"ph\":\"X\"{position}").as_bytes());
        let arrow = ",\"cat\":\"flow\",\"name\":\"flow\"";
        self.arrow_start = Fragment::new(format!(",\n{{\"ph\":\"s\"{arrow}{position}").as_bytes());
        self.arrow_end = Fragment::new(format!(",\n{{\"ph\":\"f\"{arrow},\"bp\":\"e\"{position}").as_bytes());
    }

    fn switch_to_plane(&mut self, host: &HostTrace<'_>, plane: usize) {
        self.plane = Some(plane);
        let quoted = |before: &[u8], text: &str, after: &[u8]| {
            let mut out = before.to_vec();
            json::push_ascii(text.as_bytes(), &mut out);
            out.extend_from_slice(after);
            Fragment::new(&out)
        };
        self.keys = host.strings(plane).map(|text| quoted(b"", text, b":")).collect();
        self.texts = host.strings(plane).map(|text| quoted(b"", text, b"")).collect();
        self.met = NamesOfEvent::new(self.keys.len());
        let metas = host.metas(plane);
        let shown = |meta: &Meta| [&meta.display_name, &meta.name][usize::from(meta.display_name.is_empty())].clone();
        self.names = metas.iter().map(|meta| quoted(b",\"name\":", &shown(meta), b"")).collect();
        let long = |meta: &Meta| (shown(meta) != meta.name).then(|| quoted(b"\"long_name\":", &meta.name, b""));
        self.long_names = metas.iter().map(long).collect();
    }
}

/// The arrows of a file, in the order of the events at their ends.
#[derive(Debug, Default)]
struct Arrows {
    ends: Vec<ArrowEnd>,
    at: usize,
    /// Events since the last end.
    since: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Start,
    Tip,
}

#[derive(Clone, Copy, Debug)]
struct ArrowEnd {
    /// The number of events between the previous end and this one.
    gap: u32,
    /// The number of the arrow, and whether this is its tip.
    arrow: u32,
}

/// The bit of [`ArrowEnd::arrow`] that tells the tip from the start.
const TIP: u32 = 1 << 31;

impl Arrows {
    /// Reads all events.
    fn find(host: &HostTrace<'_>) -> io::Result<Arrows> {
        let mut numbers = Numbers::default();
        let mut has = Vec::new();
        let mut ends: Vec<ArrowEnd> = Vec::new();
        let mut since = 0_u32;
        let mut texts = KeyTexts::default();
        host.each(true, |_, event| {
            let (starts, tips) = event.flows(&mut texts);
            let starts = starts.into_iter().flatten().map(|key| (key, 0));
            for (key, tip) in starts.chain(tips.into_iter().flatten().map(|key| (key, TIP))) {
                let number = numbers.of(key);
                if number as usize == has.len() {
                    has.push(0_u8);
                }
                let has = &mut has[number as usize];
                let is = if tip == 0 { 1 } else { 2 };
                // An arrow has one start and any number of tips.
                if tip != 0 || *has & is == 0 {
                    ends.push(ArrowEnd { gap: since, arrow: number | tip });
                    since = 0;
                }
                *has |= is;
            }
            since = since.saturating_add(1);
            Ok(())
        })?;
        drop(numbers);
        // Ends without a counterpart are dropped; their gaps go to the next end.
        let mut carried = 0_u32;
        ends.retain_mut(|end| {
            carried = carried.saturating_add(end.gap);
            let is_whole = has[(end.arrow & !TIP) as usize] == 3;
            if is_whole {
                end.gap = std::mem::take(&mut carried);
            }
            is_whole
        });
        Ok(Arrows { ends, at: 0, since: 0 })
    }

    /// The next end at the current event.
    #[inline]
    fn next_here(&mut self) -> Option<(u32, End)> {
        let ArrowEnd { gap, arrow } = *self.ends.get(self.at)?;
        if gap != self.since {
            return None;
        }
        self.at += 1;
        self.since = 0;
        Some((arrow & !TIP, if arrow & TIP == 0 { End::Start } else { End::Tip }))
    }

    #[inline]
    fn next_event(&mut self) {
        self.since = self.since.saturating_add(1);
    }
}

/// Numbers flow keys in the order of their first use. Most keys are integers of a few kinds.
#[derive(Debug, Default)]
struct Numbers {
    next: u32,
    group_of: UntrustedMap<(u64, u8), usize>,
    groups: Vec<UntrustedMap<u64, u32>>,
    last: Option<((u64, u8), usize)>,
}

impl Numbers {
    #[inline]
    fn of(&mut self, (kind, key): FlowKey) -> u32 {
        let (form, bits) = match key {
            Key::Number(n) => (0, n),
            Key::Text(n) => (1, n.into()),
            Key::Double(n) => (2, n),
        };
        let group = match self.last {
            Some((last, group)) if last == (kind, form) => group,
            _ => self.group((kind, form)),
        };
        let next = self.next;
        let number = *self.groups[group].entry(bits).or_insert(next);
        self.next += u32::from(number == next);
        number
    }

    fn group(&mut self, kind: (u64, u8)) -> usize {
        let next = self.groups.len();
        let group = *self.group_of.entry(kind).or_insert(next);
        if group == next {
            self.groups.push(UntrustedMap::default());
        }
        self.last = Some((kind, group));
        group
    }
}
