//! An `XSpace` as a Chrome trace: a process for each plane, a thread for each line, every event once with all its stats.
//!
//! Names stand behind the events that they belong to, so the file is walked as a profile is: names, then the ends of
//! arrows, then the events, each written and forgotten.

use super::writer::string;
use crate::error::{Error, Warning};
use crate::format::xspace::ProfileFile;
use crate::format::xspace::trace::{HostTrace, Key, Lane, TracedEvent, Value};
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// Profiles that are ready to be written.
#[derive(Debug)]
pub struct ProfileTrace<'f> {
    hosts: Vec<HostTrace<'f>>,
    show_flows: bool,
    pub warnings: Vec<Warning>,
}

/// What an arrow goes by: a kind of its own for launches on devices, else the type that the profiler gave it.
type FlowKey = (u64, Key);

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
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let mut writer = Writer { out, text: Vec::with_capacity(1 << 16), first: true };
        let first = self.hosts.iter().filter_map(HostTrace::began).min();
        let several = self.hosts.len() > 1;
        let mut process = 0;
        for host in &self.hosts {
            // Hosts are put in line by when their recordings began.
            let shift = match (host.began(), first) {
                (Some(began), Some(first)) if several => began.saturating_sub(first).saturating_mul(1000),
                _ => 0,
            };
            let flows = if self.show_flows { flows(host)? } else { FxHashMap::default() };
            process = host.write(&flows, shift, several, process, &mut writer)?;
        }
        writer.flush()?;
        writer.out.write_all(b"\n]}\n")
    }
}

/// The arrows whose both ends are there, each with a number.
fn flows(host: &HostTrace<'_>) -> io::Result<FxHashMap<FlowKey, u32>> {
    let mut starts: FxHashMap<FlowKey, bool> = FxHashMap::default();
    let mut ends: Vec<FlowKey> = Vec::new();
    host.each(|_, event| {
        for key in event.starts.into_iter().flatten() {
            starts.entry(key).or_insert(false);
        }
        ends.extend(event.ends.into_iter().flatten());
        Ok(())
    })?;
    for key in ends {
        if let Some(has_end) = starts.get_mut(&key) {
            *has_end = true;
        }
    }
    starts.retain(|_, has_end| *has_end);
    let mut keys: Vec<_> = starts.into_keys().collect();
    keys.sort_unstable();
    Ok(keys.into_iter().zip(0..).collect())
}

impl HostTrace<'_> {
    /// Writes all planes; says which number the next process has.
    fn write(
        &self,
        flows: &FxHashMap<FlowKey, u32>,
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
        let mut prepared = Prepared::default();
        let mut begun = vec![false; flows.len()];
        self.each(|Lane { plane, lane }, event| {
            let at = Point { process: process_of[plane], lane, at: event.start.saturating_add(shift) };
            prepared.turn_to(self, plane);
            writer.event(at, event, &prepared)?;
            for key in event.starts.into_iter().flatten() {
                if let Some(id) = flows.get(&key)
                    && !std::mem::replace(&mut begun[*id as usize], true)
                {
                    writer.flow("s", u64::from(*id) + flow_base(first_process), at)?;
                }
            }
            for key in event.ends.into_iter().flatten() {
                if let Some(id) = flows.get(&key) {
                    writer.flow("f", u64::from(*id) + flow_base(first_process), at)?;
                }
            }
            Ok(())
        })?;
        Ok(next)
    }
}

/// Arrows of several hosts must not be mixed up.
fn flow_base(first_process: u32) -> u64 {
    u64::from(first_process) << 32
}

#[derive(Clone, Copy)]
struct Point {
    process: u32,
    lane: u32,
    at: i64,
}

/// The names of a plane as they stand in JSON, made once.
#[derive(Default)]
struct Prepared {
    plane: Option<usize>,
    strings: Vec<Vec<u8>>,
    /// By metadata: the name with its key, and what stands in the arguments of each such event.
    names: Vec<Vec<u8>>,
    args: Vec<Vec<u8>>,
}

impl Prepared {
    fn turn_to(&mut self, host: &HostTrace<'_>, plane: usize) {
        if self.plane == Some(plane) {
            return;
        }
        self.plane = Some(plane);
        let quoted = |text: &str| {
            let mut out = Vec::new();
            string(&mut out, text.as_bytes());
            out
        };
        self.strings = host.strings(plane).map(quoted).collect();
        (self.names, self.args) = (Vec::new(), Vec::new());
        for meta in host.metas(plane) {
            self.names.push(quoted(if meta.display_name.is_empty() { &meta.name } else { &meta.display_name }));
            let mut args = Vec::new();
            if !meta.display_name.is_empty() && meta.display_name != meta.name {
                args.extend_from_slice(b"\"long_name\":");
                string(&mut args, meta.name.as_bytes());
            }
            self.args.push(args);
        }
    }
}

struct Writer<'w> {
    out: &'w mut dyn Write,
    text: Vec<u8>,
    first: bool,
}

/// How much is held before it is written.
const PIECE: usize = 1 << 16;

impl Writer<'_> {
    fn begin(&mut self) {
        let start: &[u8] = if self.first { b"\n{" } else { b",\n{" };
        self.text.extend_from_slice(start);
        self.first = false;
    }

    fn end(&mut self) -> io::Result<()> {
        self.text.push(b'}');
        if self.text.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// The name of a process or of a thread.
    fn meta(&mut self, what: &str, process: u32, lane: Option<u32>, name: &str) -> io::Result<()> {
        self.begin();
        self.text.extend_from_slice(b"\"ph\":\"M\",\"name\":\"");
        self.text.extend_from_slice(what.as_bytes());
        self.text.push(b'"');
        self.number(b",\"pid\":", process.into());
        if let Some(lane) = lane {
            self.number(b",\"tid\":", lane.into());
        }
        self.text.extend_from_slice(b",\"args\":{\"name\":");
        string(&mut self.text, name.as_bytes());
        self.text.push(b'}');
        self.end()
    }

    fn event(&mut self, at: Point, event: &TracedEvent<'_>, prepared: &Prepared) -> io::Result<()> {
        self.begin();
        self.text.extend_from_slice(b"\"ph\":\"X\"");
        self.place(at);
        self.text.extend_from_slice(b",\"dur\":");
        micros(&mut self.text, event.length);
        self.text.extend_from_slice(b",\"name\":");
        match event.meta {
            Some(meta) => self.text.extend_from_slice(&prepared.names[meta]),
            None => string(&mut self.text, format!("<unknown event {}>", event.id).as_bytes()),
        }
        let start = self.text.len();
        self.text.extend_from_slice(b",\"args\":{");
        let empty = self.text.len();
        if let Some(meta) = event.meta {
            self.text.extend_from_slice(&prepared.args[meta]);
        }
        let comma = |text: &mut Vec<u8>| {
            if text.len() > empty {
                text.push(b',');
            }
        };
        if let Some(count) = event.count {
            comma(&mut self.text);
            self.number(b"\"num_occurrences\":", count);
        }
        event.each_stat(|name, value| {
            comma(&mut self.text);
            self.text.extend_from_slice(&prepared.strings[name]);
            self.text.push(b':');
            match value {
                Value::Int(n) => integer(&mut self.text, n),
                Value::Uint(n) => {
                    // Writing to memory cannot fail.
                    let _ = write!(self.text, "{n}");
                }
                Value::Double(n) if n.is_finite() => {
                    let _ = write!(self.text, "{n}");
                }
                Value::Double(n) => string(&mut self.text, n.to_string().as_bytes()),
                Value::Name(at) => self.text.extend_from_slice(&prepared.strings[at]),
                Value::Text(text) => string(&mut self.text, text),
                Value::Bytes(length) => string(&mut self.text, format!("{length} bytes").as_bytes()),
            }
        });
        if self.text.len() == empty {
            self.text.truncate(start);
        } else {
            self.text.push(b'}');
        }
        self.end()
    }

    /// One end of an arrow.
    fn flow(&mut self, phase: &str, id: u64, at: Point) -> io::Result<()> {
        self.begin();
        self.text.extend_from_slice(b"\"ph\":\"");
        self.text.extend_from_slice(phase.as_bytes());
        self.text.extend_from_slice(b"\",\"cat\":\"flow\",\"name\":\"flow\"");
        self.number(b",\"id\":", id as i64);
        if phase == "f" {
            self.text.extend_from_slice(b",\"bp\":\"e\"");
        }
        self.place(at);
        self.end()
    }

    fn place(&mut self, at: Point) {
        self.number(b",\"pid\":", at.process.into());
        self.number(b",\"tid\":", at.lane.into());
        self.text.extend_from_slice(b",\"ts\":");
        micros(&mut self.text, at.at);
    }

    fn number(&mut self, key: &[u8], n: i64) {
        self.text.extend_from_slice(key);
        integer(&mut self.text, n);
    }
}

/// Picoseconds as microseconds, exactly.
fn micros(out: &mut Vec<u8>, picos: i64) {
    if picos < 0 {
        out.push(b'-');
    }
    let picos = picos.unsigned_abs();
    digits(out, picos / 1_000_000);
    let mut rest = picos % 1_000_000;
    if rest > 0 {
        out.push(b'.');
        let mut unit = 100_000;
        while rest > 0 {
            out.push(b'0' + (rest / unit) as u8);
            rest %= unit;
            unit /= 10;
        }
    }
}

fn integer(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        out.push(b'-');
    }
    digits(out, n.unsigned_abs());
}

fn digits(out: &mut Vec<u8>, mut n: u64) {
    let mut buffer = [0; 20];
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&buffer[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        let check = |picos, expect: &str| {
            let mut out = Vec::new();
            micros(&mut out, picos);
            assert_eq!(String::from_utf8(out).unwrap(), expect);
        };
        check(0, "0");
        check(1, "0.000001");
        check(24_403_000, "24.403");
        check(-1_500_000, "-1.5");
        check(i64::MIN, "-9223372036854.775808");
    }
}
