//! A whole file, read through a sliding window and handed out one record at a time.
//!
//! A [`Layout`] says which fields of a message are entered and which are taken as records; the others are skipped
//! unread. A format's reader is a [`Sink`] with a layout; [`read`] drives it from wire format and
//! [`text::read`](crate::text::read) from text format. Memory is one window and the largest record.

use crate::window::{HEAD, Window};
use crate::wire::{self, Fault, Value, WireError};
use std::io::{self, Read};
use std::ops::ControlFlow;

/// The fields of one message that a reader wants; all others are skipped.
#[derive(Debug)]
pub struct Layout {
    pub fields: &'static [(u32, Rule)],
}

/// The treatment of a field. The tag is the reader's own name for it.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// A message too large to hold: its fields are handed out one by one, between `open` and `close`.
    Enter(Tag, &'static Layout),
    /// A value to hand out whole.
    Take(Tag),
}

pub type Tag = u16;

/// A value that the layout selects.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub value: Value<'a>,
    /// Where the value begins in the file: its first content byte in wire format, its field's name in text.
    pub offset: u64,
    /// False if the file ends inside the value, which is then incomplete.
    pub whole: bool,
}

/// A position in a file, as precise as its format allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spot {
    Byte(u64),
    Line { line: u64, column: u64 },
}

/// Receives the parts that a layout selects, in the order of the file.
pub trait Sink {
    fn open(&mut self, tag: Tag, offset: u64) -> ControlFlow<()> {
        let _ = (tag, offset);
        ControlFlow::Continue(())
    }

    fn close(&mut self, tag: Tag) -> ControlFlow<()> {
        let _ = tag;
        ControlFlow::Continue(())
    }

    fn take(&mut self, tag: Tag, record: Record<'_>) -> ControlFlow<()>;

    /// Reports an oddity that does not stop reading.
    fn warn(&mut self, spot: Spot, message: String);
}

/// Why reading ended before the end of the file.
#[derive(Debug)]
pub enum StreamError {
    Io(io::Error),
    Wire(WireError),
    Text { spot: Spot, message: String },
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        StreamError::Io(error)
    }
}

impl Layout {
    #[inline]
    pub fn rule(&self, number: u32) -> Option<Rule> {
        self.fields.iter().find(|(field, _)| *field == number).map(|(_, rule)| *rule)
    }
}

/// Reads one message in wire format. `Ok(false)` means that the sink stopped it.
///
/// After an error, all open messages are closed, so that the sink can finish them.
pub fn read(input: &mut dyn Read, layout: &'static Layout, sink: &mut dyn Sink) -> Result<bool, StreamError> {
    let mut open = vec![Open { tag: 0, layout, end: u64::MAX, overrun: None }];
    let outcome = Walker { window: Window::new(input), open: &mut open }.walk(sink);
    if outcome.is_err() {
        while open.len() > 1 {
            let message = open.pop();
            if message.is_some_and(|message| sink.close(message.tag).is_break()) {
                break;
            }
        }
    }
    outcome
}

struct Open {
    tag: Tag,
    layout: &'static Layout,
    end: u64,
    /// Set if the message overruns the one around it. Then `end` is the end of that one, and reaching it is this error.
    overrun: Option<WireError>,
}

struct Walker<'a, 'b> {
    window: Window<&'a mut dyn Read>,
    open: &'b mut Vec<Open>,
}

/// Hands a number to the sink if it is wanted.
#[inline]
fn take(rule: Option<Rule>, record: Record<'_>, sink: &mut dyn Sink) -> ControlFlow<()> {
    match rule {
        Some(Rule::Take(tag)) => sink.take(tag, record),
        _ => ControlFlow::Continue(()),
    }
}

impl Walker<'_, '_> {
    fn walk(&mut self, sink: &mut dyn Sink) -> Result<bool, StreamError> {
        loop {
            let at = self.window.offset();
            // `open` always holds the outermost message, which ends with the file.
            let Some(inner) = self.open.last() else { return Ok(true) };
            let (layout, end) = (inner.layout, inner.end);
            if at >= end {
                if let Some(error) = &inner.overrun {
                    return Err(StreamError::Wire(error.clone()));
                }
                let tag = inner.tag;
                self.open.pop();
                if sink.close(tag).is_break() {
                    return Ok(false);
                }
                continue;
            }
            if let Some((rule_tag, head, whole)) = self.short_record(layout, end - at) {
                let value = Value::Bytes(&self.window.bytes()[head..whole]);
                let flow = sink.take(rule_tag, Record { value, offset: at + head as u64, whole: true });
                self.window.advance(whole);
                if flow.is_break() {
                    return Ok(false);
                }
                continue;
            }
            if self.window.fill(HEAD)? == 0 {
                if end == u64::MAX {
                    return Ok(true);
                }
                let fault = Fault::Truncated { claimed: end - at, left: 0 };
                return Err(StreamError::Wire(WireError { offset: at, fault }));
            }
            let tag = self.varint(end)?;
            let number = (tag >> 3) as u32;
            if number == 0 || tag > u64::from(u32::MAX) {
                return Err(StreamError::Wire(WireError { offset: at, fault: Fault::BadTag { tag } }));
            }
            let rule = layout.rule(number);
            let flow = match tag & 7 {
                0 => {
                    let offset = self.window.offset();
                    let value = Value::Varint(self.varint(end)?);
                    take(rule, Record { value, offset, whole: true }, sink)
                }
                kind @ (1 | 5) => {
                    let offset = self.window.offset();
                    let value = match kind {
                        1 => Value::Fixed64(u64::from_le_bytes(self.array(end)?)),
                        _ => Value::Fixed32(u32::from_le_bytes(self.array(end)?)),
                    };
                    take(rule, Record { value, offset, whole: true }, sink)
                }
                2 => self.content(rule, end, sink)?,
                3 => {
                    self.skip_group(end)?;
                    ControlFlow::Continue(())
                }
                4 => return Err(StreamError::Wire(WireError { offset: at, fault: Fault::StrayGroupEnd })),
                _ => return Err(StreamError::Wire(WireError { offset: at, fault: Fault::BadTag { tag } })),
            };
            if flow.is_break() {
                return Ok(false);
            }
        }
    }

    /// A message or text: entered, taken or skipped.
    fn content(&mut self, rule: Option<Rule>, end: u64, sink: &mut dyn Sink) -> Result<ControlFlow<()>, StreamError> {
        let length = self.varint(end)?;
        let start = self.window.offset();
        let room = end - start;
        let cut = |left| WireError { offset: start, fault: Fault::Truncated { claimed: length, left } };
        match rule {
            None => {
                self.skip(length, end)?;
                Ok(ControlFlow::Continue(()))
            }
            Some(Rule::Enter(tag, layout)) => {
                let flow = sink.open(tag, start);
                if flow.is_continue() {
                    let overrun = (length > room).then(|| cut(room));
                    let inner_end = if length > room { end } else { start.saturating_add(length) };
                    self.open.push(Open { tag, layout, end: inner_end, overrun });
                }
                Ok(flow)
            }
            Some(Rule::Take(tag)) => {
                let wanted = length.min(room);
                let got = self.window.fill(wanted)?.min(wanted);
                let whole = got == length;
                let value = Value::Bytes(&self.window.bytes()[..got as usize]);
                let flow = sink.take(tag, Record { value, offset: start, whole });
                self.window.advance(got as usize);
                if whole || flow.is_break() { Ok(flow) } else { Err(StreamError::Wire(cut(got))) }
            }
        }
    }

    /// The fast path: if the window starts with a complete record to take, its tag and the start and end of its content.
    #[inline(always)]
    fn short_record(&self, layout: &'static Layout, room: u64) -> Option<(Tag, usize, usize)> {
        let bytes = self.window.bytes();
        let (tag, head, length) = match bytes {
            [tag @ 8..=0x7f, length @ 0..=0x7f, ..] => (*tag, 2, usize::from(*length)),
            [tag @ 8..=0x7f, low, high @ 0..=0x7f, ..] => (*tag, 3, usize::from(low & 0x7f) | usize::from(*high) << 7),
            _ => return None,
        };
        let whole = head + length;
        if tag & 7 != 2 || whole > bytes.len() || whole as u64 > room {
            return None;
        }
        match layout.rule(u32::from(tag >> 3))? {
            Rule::Take(tag) => Some((tag, head, whole)),
            Rule::Enter(..) => None,
        }
    }

    /// A number that ends before `end`.
    #[inline]
    fn varint(&mut self, end: u64) -> Result<u64, StreamError> {
        let offset = self.window.offset();
        let room = (end - offset).min(10);
        if self.window.bytes().len() < 10 {
            self.window.fill(10)?;
        }
        let bytes = self.window.bytes();
        let bytes = &bytes[..bytes.len().min(room as usize)];
        let decoded = wire::short_varint(bytes).map_or_else(|| wire::decode_varint(bytes), Ok);
        match decoded {
            Ok((n, length)) => {
                self.window.advance(length);
                Ok(n)
            }
            Err(fault) => Err(StreamError::Wire(WireError { offset, fault })),
        }
    }

    /// The bytes of a fixed-size number that ends before `end`.
    fn array<const N: usize>(&mut self, end: u64) -> Result<[u8; N], StreamError> {
        let offset = self.window.offset();
        self.window.fill(N as u64)?;
        let bytes = self.window.bytes();
        let left = (bytes.len() as u64).min(end - offset);
        match bytes.first_chunk() {
            Some(array) if left >= N as u64 => {
                let array = *array;
                self.window.advance(N);
                Ok(array)
            }
            _ => {
                let fault = Fault::Truncated { claimed: N as u64, left };
                Err(StreamError::Wire(WireError { offset, fault }))
            }
        }
    }

    fn skip(&mut self, length: u64, end: u64) -> Result<(), StreamError> {
        let start = self.window.offset();
        let skipped = self.window.skip(length.min(end - start))?;
        if skipped < length {
            let fault = Fault::Truncated { claimed: length, left: skipped };
            return Err(StreamError::Wire(WireError { offset: start, fault }));
        }
        Ok(())
    }

    fn skip_group(&mut self, end: u64) -> Result<(), StreamError> {
        let mut open = 1_u64;
        while open > 0 {
            let offset = self.window.offset();
            let tag = self.varint(end)?;
            match tag & 7 {
                0 => drop(self.varint(end)?),
                1 => self.skip(8, end)?,
                2 => {
                    let length = self.varint(end)?;
                    self.skip(length, end)?;
                }
                3 => open += 1,
                4 => open -= 1,
                5 => self.skip(4, end)?,
                _ => return Err(StreamError::Wire(WireError { offset, fault: Fault::BadTag { tag } })),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::SIZE;
    use proptest::prelude::*;

    static INNER: Layout = Layout { fields: &[(1, Rule::Take(11)), (2, Rule::Take(12))] };
    static OUTER: Layout = Layout { fields: &[(1, Rule::Enter(1, &INNER)), (3, Rule::Take(3))] };

    #[derive(Default)]
    struct Log(Vec<String>);

    impl Sink for Log {
        fn open(&mut self, tag: Tag, offset: u64) -> ControlFlow<()> {
            self.0.push(format!("open {tag} at {offset}"));
            ControlFlow::Continue(())
        }
        fn close(&mut self, tag: Tag) -> ControlFlow<()> {
            self.0.push(format!("close {tag}"));
            ControlFlow::Continue(())
        }
        fn take(&mut self, tag: Tag, record: Record<'_>) -> ControlFlow<()> {
            let cut = if record.whole { "" } else { " cut" };
            self.0.push(match record.value {
                Value::Bytes(bytes) => format!("{tag}: {}{cut}", String::from_utf8_lossy(bytes)),
                value => format!("{tag}: {value:?}"),
            });
            ControlFlow::Continue(())
        }
        fn warn(&mut self, _: Spot, _: String) {}
    }

    fn run(mut bytes: &[u8]) -> (Vec<String>, bool) {
        let mut log = Log::default();
        let result = read(&mut bytes, &OUTER, &mut log);
        (log.0, result.is_ok())
    }

    #[test]
    fn enters_takes_and_passes_over() {
        let bytes = [0x0a, 6, 0x0a, 2, b'h', b'i', 0x10, 7, 0x12, 1, b'x', 0x18, 9];
        assert_eq!(
            run(&bytes),
            (["open 1 at 2", "11: hi", "12: Varint(7)", "close 1", "3: Varint(9)"].map(str::to_owned).to_vec(), true)
        );
    }

    #[test]
    fn numbers_of_fixed_size_are_taken_too() {
        let bytes = [0x1d, 1, 0, 0, 0, 0x19, 2, 0, 0, 0, 0, 0, 0, 0, 0x25, 9, 9, 9, 9];
        assert_eq!(run(&bytes), (["3: Fixed32(1)", "3: Fixed64(2)"].map(str::to_owned).to_vec(), true));
        assert_eq!(run(&bytes[..8]), (["3: Fixed32(1)"].map(str::to_owned).to_vec(), false));
    }

    #[test]
    fn a_message_that_overruns_the_one_around_it_is_read_up_to_its_end_and_reported() {
        static OUTERMOST: Layout = Layout { fields: &[(1, Rule::Enter(0, &OUTER))] };
        let mut log = Log::default();
        let result = read(&mut &[0x0a, 6, 0x0a, 9, 0x0a, 2, b'h', b'i', 0x18, 1][..], &OUTERMOST, &mut log);
        assert_eq!(log.0, ["open 0 at 2", "open 1 at 4", "11: hi", "close 1", "close 0"]);
        let Err(StreamError::Wire(error)) = result else { panic!("{result:?}") };
        assert_eq!(error, WireError { offset: 4, fault: Fault::Truncated { claimed: 9, left: 4 } });
    }

    #[test]
    fn a_truncated_record_is_handed_out_cut() {
        let (log, ok) = run(&[0x0a, 6, 0x0a, 4, b'h', b'i']);
        assert_eq!((log, ok), (["open 1 at 2", "11: hi cut", "close 1"].map(str::to_owned).to_vec(), false));
    }

    #[test]
    fn a_record_longer_than_the_window_arrives_whole() {
        let text = vec![b'a'; 3 * SIZE + 5];
        let mut bytes = vec![0x1a];
        let mut n = text.len();
        while n > 127 {
            bytes.push((n & 127) as u8 | 128);
            n >>= 7;
        }
        bytes.push(n as u8);
        bytes.extend(&text);
        let (log, ok) = run(&bytes);
        assert!(ok && log[0].len() == text.len() + 3);
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            run(&bytes);
        }
    }
}
