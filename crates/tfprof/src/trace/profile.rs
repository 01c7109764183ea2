//! An `XSpace` as a Chrome trace: a process for each plane, a thread for each line, every event once with all its stats.
//!
//! Names stand behind the events that they belong to, so the file is walked as a profile is: names, then the ends of
//! arrows, then the events, each written and forgotten.

use super::arrows::{Arrows, End};
use super::page::{Page, Phrase};
use super::writer::string;
use crate::error::{Error, Warning};
use crate::format::xspace::ProfileFile;
use crate::format::xspace::trace::{HostTrace, Lane, Met, Meta, TracedEvent, Value};
use std::io::{self, Write};

/// Profiles that are ready to be written.
#[derive(Debug)]
pub struct ProfileTrace<'f> {
    hosts: Vec<HostTrace<'f>>,
    show_flows: bool,
    pub warnings: Vec<Warning>,
}

impl<'f> ProfileTrace<'f> {
    /// Reads the names; what is no profile is an error here, not half-way through the writing.
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
        let mut writer = Writer { page: Page::new(out), first: true };
        writer.page.put(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        let first = self.hosts.iter().filter_map(HostTrace::began).min();
        let several = self.hosts.len() > 1;
        let mut process = 0;
        for host in &self.hosts {
            // Hosts are put in line by when their recordings began.
            let shift = match (host.began(), first) {
                (Some(began), Some(first)) if several => began.saturating_sub(first).saturating_mul(1000),
                _ => 0,
            };
            let arrows = if self.show_flows { Arrows::find(host)? } else { Arrows::default() };
            process = host.write(arrows, shift, several, process, &mut writer)?;
        }
        writer.page.put(b"\n]}\n");
        writer.page.flush()
    }
}

impl HostTrace<'_> {
    /// Writes all planes; says which number the next process has.
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
            writer.meta("process_name", next, None, &format!("{prefix}{}", plane.name))?;
            for (lane, name) in plane.names.iter().zip(0..).map(|(name, lane)| (lane, name)) {
                writer.meta("thread_name", next, Some(lane), name)?;
            }
            next += 1;
        }
        let mut phrases = Phrases::default();
        let flow_base = u64::from(first_process) << 32;
        self.each(false, |Lane { plane, lane }, event| {
            phrases.turn_to(self, plane, process_of[plane], lane);
            let at = event.start.saturating_add(shift);
            writer.event(at, event, &mut phrases)?;
            while let Some((id, end)) = arrows.next_here() {
                // Arrows of several hosts must not be mixed up.
                writer.flow(end, u64::from(id) + flow_base, at, &phrases)?;
            }
            arrows.go_on();
            Ok(())
        })?;
        Ok(next)
    }
}

struct Writer<'w> {
    page: Page<'w>,
    first: bool,
}

impl Writer<'_> {
    /// The name of a process or of a thread.
    fn meta(&mut self, what: &str, process: u32, lane: Option<u32>, name: &str) -> io::Result<()> {
        let page = &mut self.page;
        page.put(if self.first { b"\n" } else { b",\n" });
        self.first = false;
        page.put(b"{\"ph\":\"M\",\"name\":\"");
        page.put(what.as_bytes());
        page.put(b"\",\"pid\":");
        page.unsigned(process.into());
        if let Some(lane) = lane {
            page.put(b",\"tid\":");
            page.unsigned(lane.into());
        }
        page.put(b",\"args\":{\"name\":");
        page.text(name.as_bytes());
        page.put(b"}}");
        page.end()
    }

    #[inline]
    fn event(&mut self, at: i64, event: &TracedEvent<'_>, phrases: &mut Phrases) -> io::Result<()> {
        let Phrases { keys, texts, met, event: begin, names, long_names, .. } = phrases;
        let page = &mut self.page;
        page.phrase(begin);
        page.micros(at);
        page.fixed(b",\"dur\":");
        page.micros(event.length);
        match event.meta {
            Some(meta) => page.phrase(&names[meta]),
            None => {
                page.put(b",\"name\":");
                page.text(format!("<unknown event {}>", event.id).as_bytes());
            }
        }
        let mut is_first = true;
        let mut key = |page: &mut Page<'_>, key: &Phrase| {
            if is_first {
                page.fixed(b",\"args\":{");
            } else {
                page.fixed(b",");
            }
            is_first = false;
            page.phrase(key);
        };
        if let Some(long_name) = event.meta.and_then(|meta| long_names[meta].as_ref()) {
            key(page, long_name);
        }
        if let Some(count) = event.count {
            key(page, &Phrase::new(b"\"num_occurrences\":"));
            page.integer(count);
        }
        event.each_stat(met, |name, value| {
            key(page, &keys[name]);
            match value {
                Value::Int(n) => page.integer(n),
                Value::Uint(n) => page.unsigned(n),
                Value::Name(at) => page.phrase(&texts[at]),
                Value::Text(text) => page.text(text),
                Value::Double(n) if n.is_finite() => page.put(n.to_string().as_bytes()),
                Value::Double(n) => page.text(n.to_string().as_bytes()),
                Value::Bytes(length) => page.text(format!("{length} bytes").as_bytes()),
            }
        });
        if is_first {
            page.fixed(b"}");
        } else {
            page.fixed(b"}}");
        }
        page.end()
    }

    /// One end of an arrow.
    #[inline]
    fn flow(&mut self, end: End, id: u64, at: i64, phrases: &Phrases) -> io::Result<()> {
        let page = &mut self.page;
        page.phrase(if end == End::Start { &phrases.arrow_start } else { &phrases.arrow_end });
        page.micros(at);
        page.fixed(b",\"id\":");
        page.unsigned(id);
        page.fixed(b"}");
        page.end()
    }
}

/// What is written again and again for the events of a line, made once.
#[derive(Default)]
struct Phrases {
    plane: Option<usize>,
    line: Option<(u32, u32)>,
    /// How an event and both ends of an arrow begin, up to the time.
    event: Phrase,
    arrow_start: Phrase,
    arrow_end: Phrase,
    /// The strings of the plane: as keys, and as values.
    keys: Vec<Phrase>,
    texts: Vec<Phrase>,
    met: Met,
    /// By metadata: the name with its key, and the long one with its key where that is another.
    names: Vec<Phrase>,
    long_names: Vec<Option<Phrase>>,
}

impl Phrases {
    #[inline]
    fn turn_to(&mut self, host: &HostTrace<'_>, plane: usize, process: u32, lane: u32) {
        if self.line == Some((process, lane)) {
            return;
        }
        self.line = Some((process, lane));
        if self.plane != Some(plane) {
            self.turn_to_plane(host, plane);
        }
        let place = format!(",\"pid\":{process},\"tid\":{lane},\"ts\":");
        self.event = Phrase::new(format!(",\n{{\"ph\":\"X\"{place}").as_bytes());
        let arrow = ",\"cat\":\"flow\",\"name\":\"flow\"";
        self.arrow_start = Phrase::new(format!(",\n{{\"ph\":\"s\"{arrow}{place}").as_bytes());
        self.arrow_end = Phrase::new(format!(",\n{{\"ph\":\"f\"{arrow},\"bp\":\"e\"{place}").as_bytes());
    }

    fn turn_to_plane(&mut self, host: &HostTrace<'_>, plane: usize) {
        self.plane = Some(plane);
        let quoted = |before: &[u8], text: &str, after: &[u8]| {
            let mut out = before.to_vec();
            string(&mut out, text.as_bytes());
            out.extend_from_slice(after);
            Phrase::new(&out)
        };
        self.keys = host.strings(plane).map(|text| quoted(b"", text, b":")).collect();
        self.texts = host.strings(plane).map(|text| quoted(b"", text, b"")).collect();
        self.met = Met::new(self.keys.len());
        let metas = host.metas(plane);
        let shown = |meta: &Meta| [&meta.display_name, &meta.name][usize::from(meta.display_name.is_empty())].clone();
        self.names = metas.iter().map(|meta| quoted(b",\"name\":", &shown(meta), b"")).collect();
        let long = |meta: &Meta| (shown(meta) != meta.name).then(|| quoted(b"\"long_name\":", &meta.name, b""));
        self.long_names = metas.iter().map(long).collect();
    }
}
