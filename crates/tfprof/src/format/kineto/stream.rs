//! A trace as a stream of events through a sliding window: the top level of the file, its list of events, and
//! resynchronization after broken text.

use super::event::{Event, begins};
use super::scan::{Stop, blanks, string, value};
use memchr::memchr_iter;
use std::io::{self, Read};
use tfprof_proto::window::Window;

/// The largest event, and the largest value at the top level that is looked at.
const MOST: u64 = 16 << 20;
/// Bytes per read.
const PACE: u64 = 64 << 10;

/// The parts of a file, as they come.
pub trait Visitor {
    fn event(&mut self, event: &Event<'_>, raw: &[u8]);
    /// A value at the top level that [`Visitor::wants`]: its text.
    fn top_level(&mut self, key: &[u8], value: &[u8]);
    fn wants(&self, key: &[u8]) -> bool;
}

/// The outcome of reading a file.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Events read.
    pub events: u64,
    /// Places where the text is broken: an event is lost at each.
    pub lost: u64,
    /// The offset of the first.
    pub first_lost: Option<u64>,
    /// Events with invalid UTF-8, which is not JSON, and the offset of the first.
    pub garbled: u64,
    pub first_garbled: Option<u64>,
    /// The offset and the cause of a premature end.
    pub cut: Option<(u64, String)>,
    /// Whether the file has a list of events, or is one.
    pub has_list: bool,
    pub is_bare_list: bool,
}

/// The reason to stop reading.
#[derive(Debug)]
pub enum Fault {
    Io(io::Error),
    /// Not JSON of a trace, at this offset.
    NotATrace(u64),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Io(error)
    }
}

/// Reads a whole file.
pub fn read(input: impl Read, visitor: &mut impl Visitor) -> Result<Outcome, Fault> {
    let mut stream = Stream { window: Window::new(input), outcome: Outcome::default(), broken: None };
    match stream.run(visitor) {
        Ok(()) => {}
        Err(Fault::Io(error)) if stream.outcome.events > 0 && is_damage(&error) => {
            let why = format!("the compressed data is damaged or cut short ({error})");
            stream.outcome.cut = Some((stream.window.offset(), why));
        }
        Err(fault) => return Err(fault),
    }
    Ok(stream.outcome)
}

/// Whether compressed data ended early; otherwise a read failed.
pub fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
}

struct Stream<I> {
    window: Window<I>,
    outcome: Outcome,
    /// An error of the input that waits until the bytes before it are used up.
    broken: Option<io::Error>,
}

/// The next item of a list.
enum Next {
    Event(usize),
    ListEnd,
    FileEnd,
    Broken(usize),
}

impl<I: Read> Stream<I> {
    /// Ensures that the window holds `wanted` bytes, or all that are left. Damage counts once the intact bytes are used up.
    fn fill(&mut self, wanted: u64) -> io::Result<u64> {
        if self.broken.is_some() {
            return Ok(self.window.bytes().len() as u64);
        }
        match self.window.fill(wanted) {
            Err(error) if is_damage(&error) => {
                self.broken = Some(error);
                Ok(self.window.bytes().len() as u64)
            }
            filled => filled,
        }
    }

    /// Doubles the content of the window; false at the end of the input.
    fn grow(&mut self) -> io::Result<bool> {
        let held = self.window.bytes().len() as u64;
        let wanted = (held * 2).max(PACE);
        Ok(self.fill(wanted)? > held)
    }

    /// Skips blanks, and returns the next byte.
    fn next_byte(&mut self) -> io::Result<Option<u8>> {
        loop {
            let bytes = self.window.bytes();
            if let Ok(at) = blanks(bytes, 0) {
                let byte = bytes[at];
                self.window.advance(at);
                return Ok(Some(byte));
            }
            let held = bytes.len();
            self.window.advance(held);
            if self.fill(PACE)? == 0 {
                return Ok(None);
            }
        }
    }

    fn run(&mut self, visitor: &mut impl Visitor) -> Result<(), Fault> {
        self.fill(PACE)?;
        if self.window.bytes().starts_with(b"\xef\xbb\xbf") {
            self.window.advance(3);
        }
        match self.next_byte()? {
            Some(b'[') => {
                self.outcome.is_bare_list = true;
                self.list(visitor)?;
                // The list may end without a bracket: writers of Chrome traces append to it until they are killed.
                if self.outcome.cut.as_ref().is_some_and(|(_, why)| why == NO_END) {
                    self.outcome.cut = None;
                }
            }
            Some(b'{') => {
                self.window.advance(1);
                self.object(visitor)?;
            }
            _ => return Err(Fault::NotATrace(self.window.offset())),
        }
        if let Some(error) = self.broken.take() {
            if self.outcome.events == 0 {
                return Err(error.into());
            }
            let why = format!("the compressed data is damaged or cut short ({error})");
            self.outcome.cut = Some((self.window.offset(), why));
        }
        Ok(())
    }

    /// The fields of the file.
    fn object(&mut self, visitor: &mut impl Visitor) -> Result<(), Fault> {
        loop {
            let offset = self.window.offset();
            match self.next_byte()? {
                Some(b'"') => {}
                Some(b'}') => return Ok(()),
                Some(b',') => {
                    self.window.advance(1);
                    continue;
                }
                Some(_) => {
                    if !self.find_list()? {
                        return self.no_list(offset);
                    }
                    self.outcome.note_loss(offset);
                    self.list(visitor)?;
                    continue;
                }
                None => {
                    self.outcome.cut(offset);
                    return Ok(());
                }
            }
            let Some((key, length)) = self.key()? else {
                self.outcome.cut(offset);
                return Ok(());
            };
            self.window.advance(length);
            match (key.as_slice(), self.next_byte()?) {
                (b"traceEvents", Some(b'[')) => self.list(visitor)?,
                (_, None) => self.outcome.cut(offset),
                _ if visitor.wants(&key) => self.keep_value(&key, visitor)?,
                _ => self.skip_value()?,
            }
        }
    }

    fn no_list(&mut self, offset: u64) -> Result<(), Fault> {
        if self.outcome.has_list {
            self.outcome.note_loss(offset);
            return Ok(());
        }
        Err(Fault::NotATrace(offset))
    }

    /// The key at the position and the length up to its value; `None` if the file ends first.
    fn key(&mut self) -> Result<Option<(Vec<u8>, usize)>, Fault> {
        loop {
            let bytes = self.window.bytes();
            let found = string(bytes, 0).and_then(|(key, end)| {
                let colon = blanks(bytes, end)?;
                if bytes[colon] == b':' { Ok((key.to_vec(), colon + 1)) } else { Err(Stop::Bad(colon)) }
            });
            match found {
                Ok(found) => return Ok(Some(found)),
                // A key that a user added may have bare quotes: skip to its colon.
                Err(Stop::Bad(at)) => return Ok(Some((Vec::new(), at))),
                Err(Stop::End) if (self.window.bytes().len() as u64) < MOST && self.grow()? => {}
                Err(Stop::End) => return Ok(None),
            }
        }
    }

    fn keep_value(&mut self, key: &[u8], visitor: &mut impl Visitor) -> Result<(), Fault> {
        loop {
            match value(self.window.bytes(), 0) {
                Ok(end) => {
                    visitor.top_level(key, &self.window.bytes()[..end]);
                    self.window.advance(end);
                    return Ok(());
                }
                Err(Stop::End) if (self.window.bytes().len() as u64) < MOST && self.grow()? => {}
                _ => return self.skip_value(),
            }
        }
    }

    /// Skips a value of any size without holding it.
    fn skip_value(&mut self) -> Result<(), Fault> {
        let (mut depth, mut in_string, mut escaped, mut any) = (0_u64, false, false, false);
        loop {
            let bytes = self.window.bytes();
            let mut at = 0;
            while let Some(byte) = bytes.get(at) {
                if in_string {
                    match byte {
                        _ if escaped => escaped = false,
                        b'\\' => escaped = true,
                        // A quote is missing: the value ends with its line.
                        b'\n' if depth == 0 => break,
                        b'"' | b'\n' => in_string = false,
                        _ => {}
                    }
                } else {
                    match byte {
                        b'"' => in_string = true,
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' if depth == 0 => break,
                        b'}' | b']' => depth -= 1,
                        b',' if depth == 0 && any => break,
                        _ => {}
                    }
                }
                any = true;
                at += 1;
            }
            let ended = at < bytes.len();
            self.window.advance(at);
            if ended {
                return Ok(());
            }
            if self.fill(PACE)? == 0 {
                self.outcome.cut(self.window.offset());
                return Ok(());
            }
        }
    }

    /// Resynchronizes at the top level: skips to the list of events, if one follows.
    fn find_list(&mut self) -> Result<bool, Fault> {
        const LIST: &[u8] = b"\"traceEvents\"";
        if self.outcome.has_list {
            return Ok(false);
        }
        loop {
            let bytes = self.window.bytes();
            if let Some(at) = memchr::memmem::find(bytes, LIST) {
                self.window.advance(at + LIST.len());
                self.next_byte()?;
                self.window.advance(1);
                return Ok(self.next_byte()? == Some(b'['));
            }
            let seen = bytes.len().saturating_sub(LIST.len());
            self.window.advance(seen);
            if self.fill(PACE)? <= LIST.len() as u64 {
                return Ok(false);
            }
        }
    }

    /// The list of events, from its bracket on.
    fn list(&mut self, visitor: &mut impl Visitor) -> Result<(), Fault> {
        self.outcome.has_list = true;
        self.window.advance(1);
        let mut at = 0;
        loop {
            match self.step(&mut at, visitor)? {
                Next::Event(end) => at = end,
                Next::ListEnd => return Ok(()),
                Next::FileEnd => {
                    self.outcome.cut(self.window.offset() + at as u64);
                    let held = self.window.bytes().len();
                    self.window.advance(held);
                    return Ok(());
                }
                Next::Broken(bad) => {
                    self.outcome.note_loss(self.window.offset() + at as u64);
                    self.window.advance(at);
                    if !self.resynchronize(bad - at)? {
                        return Ok(());
                    }
                    at = 0;
                }
            }
        }
    }

    /// Reads the next event of the list. `at` is a position in the window, which moves only when it runs out.
    #[inline]
    fn step(&mut self, at: &mut usize, visitor: &mut impl Visitor) -> Result<Next, Fault> {
        loop {
            let bytes = self.window.bytes();
            let next = blanks(bytes, *at).and_then(|start| match bytes[start] {
                b',' => blanks(bytes, start + 1),
                _ => Ok(start),
            });
            let found = next.and_then(|start| match bytes[start] {
                b'{' => Event::read(bytes, start).map(|(event, end)| Some((event, start, end))),
                b']' => Ok(None),
                _ => Err(Stop::Bad(start)),
            });
            match found {
                Ok(Some((event, start, end))) => {
                    self.outcome.events += 1;
                    let raw = &bytes[start..end];
                    if !raw.is_ascii()
                        && let Err(error) = std::str::from_utf8(raw)
                    {
                        let offset = self.window.offset() + (start + error.valid_up_to()) as u64;
                        self.outcome.garbled += 1;
                        self.outcome.first_garbled.get_or_insert(offset);
                    }
                    visitor.event(&event, raw);
                    return Ok(Next::Event(end));
                }
                Ok(None) => {
                    self.window.advance(next.unwrap_or(*at) + 1);
                    return Ok(Next::ListEnd);
                }
                Err(Stop::Bad(bad)) => return Ok(Next::Broken(bad)),
                Err(Stop::End) => {
                    self.window.advance(*at);
                    *at = 0;
                    let held = self.window.bytes().len() as u64;
                    if held > MOST {
                        return Ok(Next::Broken(held as usize));
                    }
                    if !self.grow()? {
                        return Ok(Next::FileEnd);
                    }
                }
            }
        }
    }

    /// Resynchronizes: skips broken text, which begins at the window, up to the next event; false if there is none.
    ///
    /// A place is tried if an event may begin there. A try that fails far away moves on by half of that way, so that all
    /// tries together cost no more than the text is long.
    fn resynchronize(&mut self, bad: usize) -> Result<bool, Fault> {
        // The broken event begins here: look after it.
        let mut from = bad.clamp(1, 64);
        loop {
            let bytes = self.window.bytes();
            let start = memchr_iter(b'{', &bytes[from.min(bytes.len())..]).map(|at| from + at);
            let start = start.into_iter().find(|at| follows_event(bytes, *at) && may_begin(bytes, *at));
            let Some(start) = start else {
                let held = bytes.len();
                // Keep an item that may be cut in the middle.
                self.window.advance(held.saturating_sub(256).max(from.min(held)).min(held));
                from = 0;
                let kept = self.window.bytes().len() as u64;
                if self.fill(kept + PACE)? <= kept {
                    let held = self.window.bytes().len();
                    self.window.advance(held);
                    return Ok(false);
                }
                continue;
            };
            match Event::read(bytes, start) {
                Ok((event, _)) if event.phase != 0 => {
                    self.window.advance(start);
                    return Ok(true);
                }
                Ok((_, end)) => from = end,
                Err(Stop::Bad(at)) => from = start + ((at - start) / 2).max(1),
                Err(Stop::End) => {
                    let held = bytes.len() - start;
                    self.window.advance(start);
                    from = 0;
                    if held as u64 > MOST || !self.grow()? {
                        from = (held / 2).max(1);
                    }
                }
            }
        }
    }
}

/// Whether an event may follow these bytes: a comma, or the opening bracket of the list.
fn follows_event(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev().take(64).find(|byte| !byte.is_ascii_whitespace());
    // At the start of the window nothing is known.
    before.is_none_or(|byte| matches!(byte, b',' | b'['))
}

fn may_begin(bytes: &[u8], at: usize) -> bool {
    begins(bytes, at) || at + 64 > bytes.len()
}

const NO_END: &str = "the list of events has no end";

impl Outcome {
    fn cut(&mut self, offset: u64) {
        self.cut.get_or_insert((offset, NO_END.to_owned()));
    }

    fn note_loss(&mut self, offset: u64) {
        self.lost += 1;
        self.first_lost.get_or_insert(offset);
    }
}
