//! A part of a trace in JSON as a smaller trace: some steps, some lanes, no short events.
//!
//! Events are copied as they are written; the keys at the top of the file, which may tell more than was asked for, are not.
//! The file is read twice: for the steps and the names of lanes, then for the events.

use crate::error::{Error, Warning};
use crate::format::kineto::stream::Visitor;
use crate::format::kineto::{Event, TraceFile, is_step, nanos, step_number, unescape};
use crate::hash::UntrustedMap;
use crate::words::{is_deceptive, lossy};
use regex::Regex;
use std::borrow::Cow;
use std::io::{self, Write};

/// Which events to keep.
#[derive(Clone, Debug, Default)]
pub struct Excerpt {
    /// Numbers of steps, each from first to last; everything if empty.
    pub steps: Vec<(i64, i64)>,
    /// The shortest event, in nanoseconds.
    pub shortest: i64,
    pub lanes: Option<Regex>,
}

impl Excerpt {
    /// Parses the words of the user: `3,5-7`, microseconds, a pattern.
    pub fn parse(steps: &str, shortest: &str, lanes: &str) -> Result<Excerpt, Error> {
        let refused =
            |option: &'static str, word: &str, what: &str| Error::option(option, format!("`{word}` is not {what}"));
        let step = |word: &str| -> Result<(i64, i64), Error> {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let number = |text: &str| text.trim().parse::<i64>().ok();
            number(first)
                .zip(number(last))
                .ok_or_else(|| refused("steps", word, "a step or a range of steps, as 3 or 3-5"))
        };
        let words = steps.split(',').map(str::trim).filter(|word| !word.is_empty());
        let steps = words.map(step).collect::<Result<_, _>>()?;
        let shortest = match shortest {
            "" => 0,
            word => nanos(word.as_bytes()).ok_or_else(|| refused("min_dur", word, "a number of microseconds"))?,
        };
        let lanes = match lanes {
            "" => None,
            word => Some(Regex::new(word).map_err(|_| refused("lanes", word, "a pattern"))?),
        };
        Ok(Excerpt { steps, shortest, lanes })
    }

    pub fn is_everything(&self) -> bool {
        self.steps.is_empty() && self.shortest == 0 && self.lanes.is_none()
    }
}

/// A trace whose steps and lanes are known: ready to be written.
#[derive(Debug)]
pub struct ExcerptTrace<'f> {
    file: &'f TraceFile,
    excerpt: Excerpt,
    survey: Survey,
    pub warnings: Vec<Warning>,
}

impl<'f> ExcerptTrace<'f> {
    pub fn new(file: &'f TraceFile, excerpt: Excerpt) -> Result<Self, Error> {
        let mut survey = Survey { excerpt: excerpt.clone(), ..Survey::default() };
        let outcome = file.visit(&mut survey)?;
        let warnings = file.damage(&outcome)?;
        if !excerpt.steps.is_empty() {
            if survey.windows.is_empty() {
                let known = survey.steps.iter().map(i64::to_string).collect::<Vec<_>>();
                let known =
                    if known.is_empty() { "it marks none".to_owned() } else { format!("it has {}", known.join(", ")) };
                return Err(Error::option("steps", format!("the trace has no such step; {known}")));
            }
            join(&mut survey.windows);
            // Launches come before or after the steps that they are in.
            let Survey { launches, launched, windows, .. } = &mut survey;
            launched.extend(launches.drain(..).map(|(start, correlation)| (correlation, inside(windows, start))));
        }
        Ok(ExcerptTrace { file, excerpt, survey, warnings })
    }

    /// Writes the trace as JSON.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        let mut copy = Copy { trace: self, out, is_first: true, error: None };
        // The file was read once already: what is wrong with it is known.
        if let Err(error) = self.file.visit(&mut copy) {
            return Err(io::Error::other(error.to_string()));
        }
        if let Some(error) = copy.error {
            return Err(error);
        }
        out.write_all(b"\n]}\n")
    }

    fn keeps(&self, event: &Event<'_>) -> bool {
        if event.phase == b'M' {
            return true;
        }
        let start = nanos(event.start).unwrap_or(i64::MIN);
        let is_long = event.phase != b'X' || nanos(event.duration).unwrap_or(0) >= self.excerpt.shortest;
        is_long && self.is_in_steps(event, start) && self.is_in_lanes(event)
    }

    fn is_in_steps(&self, event: &Event<'_>, start: i64) -> bool {
        if self.excerpt.steps.is_empty() {
            return true;
        }
        // Work on a device is part of the step that launched it. If the launch was not recorded, its own time counts.
        let is_work =
            matches!(event.category, b"kernel" | b"Kernel" | b"gpu_memcpy" | b"Memcpy" | b"gpu_memset" | b"Memset");
        if is_work && let Some(is_inside) = self.survey.launched.get(event.args.correlation) {
            return *is_inside;
        }
        inside(&self.survey.windows, start)
    }

    fn is_in_lanes(&self, event: &Event<'_>) -> bool {
        let Some(lanes) = &self.excerpt.lanes else { return true };
        let key = (event.process.to_vec(), event.thread.to_vec());
        let title = self.survey.lanes.get(&key).cloned().unwrap_or_default();
        let (process, thread) = (unescape(event.process), unescape(event.thread));
        let device = unescape(event.args.device);
        let label = if device.is_empty() {
            format!("{process} {thread} {title}")
        } else {
            format!("GPU {device} stream {thread} {title}")
        };
        lanes.is_match(&label)
    }
}

/// Whether a time lies in one of the intervals, which are in order and apart.
fn inside(windows: &[(i64, i64)], time: i64) -> bool {
    let after = windows.partition_point(|(start, _)| *start <= time);
    after > 0 && time <= windows[after - 1].1
}

/// Sorts intervals, and joins those that overlap.
fn join(windows: &mut Vec<(i64, i64)>) {
    windows.sort_unstable();
    windows.dedup_by(|(start, end), (_, last)| {
        let joins = *start <= *last;
        if joins {
            *last = (*last).max(*end);
        }
        joins
    });
}

/// Steps, launches and names of lanes.
#[derive(Debug, Default)]
struct Survey {
    excerpt: Excerpt,
    windows: Vec<(i64, i64)>,
    steps: Vec<i64>,
    launches: Vec<(i64, Vec<u8>)>,
    /// By correlation, whether the launch is in the steps.
    launched: UntrustedMap<Vec<u8>, bool>,
    lanes: UntrustedMap<(Vec<u8>, Vec<u8>), String>,
}

impl Visitor for Survey {
    fn event(&mut self, event: &Event<'_>, _raw: &[u8]) {
        let start = || nanos(event.start).unwrap_or(i64::MIN);
        match event.phase {
            b'M' if event.name == b"thread_name" => {
                self.lanes.insert((event.process.to_vec(), event.thread.to_vec()), unescape(event.args.name));
            }
            b'X' if is_step(event) => {
                let Some(number) = step_number(&unescape(event.name)) else { return };
                self.steps.push(number);
                if self.excerpt.steps.iter().any(|(first, last)| (*first..=*last).contains(&number)) {
                    let start = start();
                    self.windows.push((start, start.saturating_add(nanos(event.duration).unwrap_or(0))));
                }
            }
            b'X' if !self.excerpt.steps.is_empty()
                && !event.args.correlation.is_empty()
                && (event.category.ends_with(b"untime") || event.category.ends_with(b"_driver")) =>
            {
                self.launches.push((start(), event.args.correlation.to_vec()));
            }
            _ => {}
        }
    }

    fn top_level(&mut self, _key: &[u8], _value: &[u8]) {}

    fn wants(&self, _key: &[u8]) -> bool {
        false
    }
}

/// The same JSON with control codes and deceptive characters spelled out.
fn harmless(raw: &[u8]) -> Cow<'_, [u8]> {
    let is_space = |c: char| matches!(c, '\n' | '\r' | '\t');
    if raw.iter().all(|byte| matches!(byte, b' '..=b'~') || is_space(char::from(*byte))) {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len() + 16);
    for c in lossy(raw).chars() {
        if is_deceptive(c) || (c.is_control() && !is_space(c)) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text.into_bytes())
}

/// Copies the events that are kept.
struct Copy<'t, 'f, 'o> {
    trace: &'t ExcerptTrace<'f>,
    out: &'o mut dyn Write,
    is_first: bool,
    error: Option<io::Error>,
}

impl Visitor for Copy<'_, '_, '_> {
    fn event(&mut self, event: &Event<'_>, raw: &[u8]) {
        if self.error.is_some() || !self.trace.keeps(event) {
            return;
        }
        let before: &[u8] = if self.is_first { b"\n" } else { b",\n" };
        self.is_first = false;
        self.error = self.out.write_all(before).and_then(|()| self.out.write_all(&harmless(raw))).err();
    }

    fn top_level(&mut self, _key: &[u8], _value: &[u8]) {}

    fn wants(&self, _key: &[u8]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_events_have_no_deceptive_characters() {
        let plain = b"{\"name\": \"aten::mm\",\n\t\"ts\": 1}";
        assert!(matches!(harmless(plain), Cow::Borrowed(_)));
        let odd = "{\"name\": \"a\u{202e}b\u{2028}\u{9b}\u{7f}\u{1b}界\"}";
        let expected = "{\"name\": \"a\\u202eb\\u2028\\u009b\\u007f\\u001b界\"}";
        assert_eq!(String::from_utf8_lossy(&harmless(odd.as_bytes())), expected);
        assert_eq!(&*harmless(b"\xff"), "\u{fffd}".as_bytes());
    }
}
