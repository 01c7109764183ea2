//! Reads text format by converting it to wire format, record by record.
//!
//! The [schema](crate::schema) maps names to numbers. Each record is encoded into a reused buffer; fields outside the
//! layout are skipped by matching brackets. Open messages are on an explicit stack, so deep nesting cannot overflow the
//! program's stack.

mod detect;
mod fault;
mod scalar;
mod skip;
mod source;
mod string;
mod unknown;

pub use detect::looks_like_text;

use crate::schema::{Field, Kind, Message};
use crate::stream::{Layout, Record, Rule, Sink, StreamError, Tag};
use crate::wire::Value;
use crate::write;
use fault::{expected, unclosed};
use source::{LETTER, Source, WORD, is};
use std::io::Read;
use std::ops::ControlFlow;
use unknown::Unknown;

/// Reads one `message` in text format and hands out the same records as [`stream::read`](crate::stream::read), with the
/// offsets of the field names.
///
/// A record with an error is handed out up to its last complete field. Unknown fields are skipped with a warning.
pub fn read(
    input: &mut dyn Read,
    message: &'static Message,
    layout: &'static Layout,
    sink: &mut dyn Sink,
) -> Result<bool, StreamError> {
    let top = Open { message, field: None, closer: 0, list: false, offset: 0, job: Job::Walk(0, layout) };
    let mut reader = Reader {
        source: Source::new(input),
        top,
        below: Vec::new(),
        out: Vec::new(),
        closers: Vec::new(),
        unknown: Unknown::default(),
        sink,
    };
    match reader.walk() {
        Ok(ControlFlow::Continue(())) => Ok(true),
        Ok(ControlFlow::Break(())) => Ok(false),
        Err(error) => {
            reader.abandon(matches!(error, StreamError::Text { .. }));
            Err(error)
        }
    }
}

type Outcome = Result<ControlFlow<()>, StreamError>;

struct Reader<'a, 'b> {
    source: Source<'a>,
    /// The innermost open message, and those around it.
    top: Open,
    below: Vec<Open>,
    /// The record so far.
    out: Vec<u8>,
    /// The open brackets of the value being skipped.
    closers: Vec<u8>,
    unknown: Unknown,
    sink: &'b mut dyn Sink,
}

/// A message whose end has not been read yet.
struct Open {
    message: &'static Message,
    /// None for the file itself.
    field: Option<&'static Field>,
    closer: u8,
    /// Whether it is an element of `[{...}, {...}]`.
    list: bool,
    offset: u64,
    job: Job,
}

/// How to handle a field, and the message that it opens.
#[derive(Clone, Copy)]
enum Job {
    /// Hand out its fields.
    Walk(Tag, &'static Layout),
    /// Hand it out.
    Record(Tag),
    /// Encode it as a part of a record; its content starts at `start`, after `reserved` bytes for its length.
    Part { start: usize, reserved: usize },
}

impl Reader<'_, '_> {
    fn walk(&mut self) -> Outcome {
        self.source.want(3)?;
        if self.source.rest().starts_with(b"\xef\xbb\xbf") {
            self.source.advance(3);
        }
        // One `,` or `;` may follow each field.
        let mut separator = false;
        loop {
            let flow = match self.source.peek()? {
                Some(byte) if is(byte, LETTER) => self.field()?,
                Some(byte) if byte == self.top.closer && byte != 0 => self.close()?,
                Some(b',' | b';') if separator => {
                    self.source.advance(1);
                    separator = false;
                    continue;
                }
                Some(byte) if byte == b'[' || is(byte, WORD) => self.unknown_field()?,
                None if self.top.field.is_none() => return Ok(ControlFlow::Continue(())),
                next => return Err(self.no_field(next)),
            };
            if flow.is_break() {
                return Ok(flow);
            }
            separator = true;
        }
    }

    /// Reads a field up to its end, or up to the start of the message that it holds.
    fn field(&mut self) -> Outcome {
        let length = self.source.run(0, WORD)?;
        let Some(field) = self.top.message.field(&self.source.rest()[..length]) else {
            return self.unknown_field();
        };
        let offset = self.source.offset();
        self.source.advance(length);
        let job = match self.top.job {
            Job::Walk(_, layout) => match (layout.rule(field.number), field.kind) {
                (Some(Rule::Enter(tag, layout)), Kind::Message(_)) => Job::Walk(tag, layout),
                (Some(Rule::Take(tag)), _) => Job::Record(tag),
                _ => {
                    skip::value(&mut self.source, field.name, &mut self.closers)?;
                    return Ok(ControlFlow::Continue(()));
                }
            },
            Job::Record(_) | Job::Part { .. } => Job::Part { start: 0, reserved: 0 },
        };
        let colon = self.source.eat(b':')?;
        if let Kind::Message(message) = field.kind {
            return self.message_field(field, message, job, offset);
        }
        if !colon {
            return Err(expected(&mut self.source, &format!("`:` after `{}`", field.name)));
        }
        if field.repeated && self.source.eat(b'[')? {
            return self.scalars(field, job);
        }
        self.scalar(field, job, offset)
    }

    fn message_field(&mut self, field: &'static Field, message: &'static Message, job: Job, offset: u64) -> Outcome {
        if field.repeated && self.source.eat(b'[')? {
            if self.source.eat(b']')? {
                return Ok(ControlFlow::Continue(()));
            }
            return self.open(field, message, job, None);
        }
        self.open(field, message, job, Some(offset))
    }

    /// Starts a message. Without an offset it is an element of a list.
    fn open(&mut self, field: &'static Field, message: &'static Message, job: Job, offset: Option<u64>) -> Outcome {
        let closer = match self.source.peek()? {
            Some(b'{') => b'}',
            Some(b'<') => b'>',
            _ => return Err(expected(&mut self.source, &format!("`{{` after `{}`", field.name))),
        };
        let list = offset.is_none();
        let offset = offset.unwrap_or(self.source.offset());
        let mut flow = ControlFlow::Continue(());
        let job = match job {
            Job::Walk(tag, _) => {
                flow = self.sink.open(tag, offset);
                job
            }
            Job::Record(_) => {
                self.out.clear();
                job
            }
            Job::Part { .. } => {
                write::key(&mut self.out, field.number, 2);
                // A length of more than two bytes moves the content. In deep messages that adds up, so these reserve
                // five bytes, although short lengths decode faster.
                let reserved = if self.below.len() < 16 { 2 } else { 5 };
                self.out.extend_from_slice(&[0; 5][..reserved]);
                Job::Part { start: self.out.len(), reserved }
            }
        };
        self.source.mark();
        self.source.advance(1);
        let open = Open { message, field: Some(field), closer, list, offset, job };
        self.below.push(std::mem::replace(&mut self.top, open));
        Ok(flow)
    }

    /// Ends the innermost message, and starts the next if it is an element of a list.
    fn close(&mut self) -> Outcome {
        self.source.advance(1);
        self.source.unmark();
        let Some(around) = self.below.pop() else { return Ok(ControlFlow::Continue(())) };
        let closed = std::mem::replace(&mut self.top, around);
        if self.finish(&closed, true).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if !closed.list || self.source.eat(b']')? {
            return Ok(ControlFlow::Continue(()));
        }
        let Some(field) = closed.field else { return Ok(ControlFlow::Continue(())) };
        if !self.source.eat(b',')? {
            return Err(self.no_separator(field));
        }
        self.open(field, closed.message, closed.job, None)
    }

    fn finish(&mut self, closed: &Open, whole: bool) -> ControlFlow<()> {
        match closed.job {
            Job::Walk(tag, _) => self.sink.close(tag),
            Job::Record(tag) => {
                self.sink.take(tag, Record { value: Value::Bytes(&self.out), offset: closed.offset, whole })
            }
            Job::Part { start, reserved } => {
                scalar::put_length(&mut self.out, start, reserved);
                ControlFlow::Continue(())
            }
        }
    }

    /// Reads the elements of a list, after its bracket.
    fn scalars(&mut self, field: &'static Field, job: Job) -> Outcome {
        if self.source.eat(b']')? {
            return Ok(ControlFlow::Continue(()));
        }
        loop {
            self.source.peek()?;
            let offset = self.source.offset();
            if self.scalar(field, job, offset)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if self.source.eat(b']')? {
                return Ok(ControlFlow::Continue(()));
            }
            if !self.source.eat(b',')? {
                return Err(self.no_separator(field));
            }
        }
    }

    fn scalar(&mut self, field: &'static Field, job: Job, offset: u64) -> Outcome {
        let Job::Record(tag) = job else {
            if !scalar::encode(&mut self.source, field, &mut self.out)? {
                self.unknown_value(field)?;
            }
            return Ok(ControlFlow::Continue(()));
        };
        self.out.clear();
        let value = match scalar::read(&mut self.source, field, &mut self.out) {
            Ok(Some(Value::Bytes(_))) => Value::Bytes(&self.out),
            Ok(Some(value)) => value,
            Ok(None) => {
                self.unknown_value(field)?;
                return Ok(ControlFlow::Continue(()));
            }
            Err(error) => {
                // As in wire format, a string at the cut end of a file is handed out incomplete.
                if !self.out.is_empty() && matches!(error, StreamError::Text { .. }) {
                    let record = Record { value: Value::Bytes(&self.out), offset, whole: false };
                    let _ = self.sink.take(tag, record);
                }
                return Err(error);
            }
        };
        Ok(self.sink.take(tag, Record { value, offset, whole: true }))
    }

    /// Skips an unknown field, an extension, or the content of an `Any`.
    #[cold]
    fn unknown_field(&mut self) -> Outcome {
        let name = unknown::name(&mut self.source)?;
        if let Some(message) = self.unknown.field(self.top.message, &name) {
            self.sink.warn(self.source.spot(), message);
        }
        self.source.advance(name.len());
        skip::value(&mut self.source, &unknown::shown(&name), &mut self.closers)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Skips an unknown enum value, such as a newer data type.
    #[cold]
    fn unknown_value(&mut self, field: &'static Field) -> Result<(), StreamError> {
        let length = self.source.run(0, WORD)?;
        let value = &self.source.rest()[..length];
        if let Some(message) = self.unknown.value(self.top.message, field, value) {
            self.sink.warn(self.source.spot(), message);
        }
        self.source.advance(length);
        Ok(())
    }

    #[cold]
    fn no_field(&mut self, next: Option<u8>) -> StreamError {
        let closer = self.top.closer;
        match (self.top.field, next) {
            (None, _) => expected(&mut self.source, "a field name"),
            (Some(field), None) => unclosed(&mut self.source, closer, field.name),
            (Some(_), Some(_)) => expected(&mut self.source, &format!("a field name or `{}`", closer as char)),
        }
    }

    #[cold]
    fn no_separator(&mut self, field: &Field) -> StreamError {
        expected(&mut self.source, &format!("`,` or `]` in the list of `{}`", field.name))
    }

    /// Hands out the incomplete record and closes all open messages.
    fn abandon(&mut self, cut_records: bool) {
        while let Some(around) = self.below.pop() {
            let cut = std::mem::replace(&mut self.top, around);
            let wanted = cut_records || matches!(cut.job, Job::Walk(..));
            if wanted && self.finish(&cut, false).is_break() {
                return;
            }
        }
    }
}
