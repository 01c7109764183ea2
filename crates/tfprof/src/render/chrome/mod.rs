//! Chrome trace events: one writer for `trace` and for timelines, which differ only in their [`Layout`].

mod buffer;
mod lanes;

pub use buffer::{Buffer, Fragment};
pub use lanes::Lanes;

use crate::json;
use std::io::{self, Write};

/// Microseconds. Wider than the 64-bit times of files: an end is the sum of two of them.
pub type Micros = i128;

/// A time in a lane of a process.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub process: u32,
    pub lane: u32,
    pub time: Micros,
}

#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Chrome's letter for the kind of event, such as `X` for one with a duration.
    pub phase: &'static str,
    pub category: &'static str,
    pub name: &'a [u8],
    pub at: Point,
    pub duration: Option<Micros>,
    pub id: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Phase,
    Category,
    Name,
    Process,
    Lane,
    Time,
    Duration,
    Id,
    Args,
}

use Field::{Args as ArgsField, Category, Duration, Id, Lane, Name, Phase, Process, Time};

impl Field {
    fn key(self) -> &'static str {
        match self {
            Phase => "ph",
            Category => "cat",
            Name => "name",
            Process => "pid",
            Lane => "tid",
            Time => "ts",
            Duration => "dur",
            Id => "id",
            ArgsField => "args",
        }
    }
}

/// The order of keys, and where lines begin.
#[derive(Debug)]
pub struct Layout {
    begin: &'static str,
    end: &'static str,
    /// Line breaks before an event, its fields, its arguments, and their fields.
    line_starts: [&'static [u8]; 4],
    is_indented: bool,
    event_fields: [Field; 9],
    /// The order of the fields of process and thread names.
    name_fields: [Field; 5],
}

impl Layout {
    /// As Python's `json.dumps(…, indent=4)` writes the events of TensorFlow's `timeline` module.
    pub const INDENTED: Layout = Layout {
        begin: "{\n    \"traceEvents\": [",
        end: "\n    ]\n}",
        line_starts: [b"\n        ", b"\n            ", b"\n                ", b"\n                    "],
        is_indented: true,
        event_fields: [Phase, Category, Name, Process, Lane, Time, Duration, Id, ArgsField],
        name_fields: [Name, Phase, Process, Lane, ArgsField],
    };

    /// As the original writes timelines: compact, keys in ascending order.
    pub const SORTED: Layout = Layout {
        begin: "{\"traceEvents\":[",
        end: "]}\n",
        line_starts: [b""; 4],
        is_indented: false,
        event_fields: [ArgsField, Category, Duration, Id, Name, Phase, Process, Lane, Time],
        name_fields: [ArgsField, Name, Phase, Process, Lane],
    };

    /// One event per line, with times of a fraction of a microsecond.
    pub const LINES: Layout = Layout {
        begin: "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[",
        end: "\n]}\n",
        line_starts: [b"\n", b"", b"", b""],
        is_indented: false,
        event_fields: [Phase, Category, Name, Process, Lane, Time, Duration, Id, ArgsField],
        name_fields: [Phase, Name, Process, Lane, ArgsField],
    };

    /// A key with the space around it.
    fn key(&self, field: Field) -> Vec<u8> {
        let space = if self.is_indented { " " } else { "" };
        [self.line_starts[1], format!("\"{}\":{space}", field.key()).as_bytes()].concat()
    }

    /// The line break before the end of an object.
    fn line_before_end(&self, depth: usize) -> &'static [u8] {
        if self.is_indented { self.line_starts[depth] } else { b"" }
    }
}

/// Writes events to a file in one layout.
#[derive(Debug)]
pub struct EventWriter<'w> {
    buffer: Buffer<'w>,
    layout: &'static Layout,
    /// The kinds of events so far.
    kinds: Vec<Kind>,
    /// Nothing stands yet in the list or object that is being written.
    is_first: bool,
    depth: usize,
}

/// Events of one phase and category with the same fields: the text between their values never changes.
#[derive(Debug)]
struct Kind {
    phase: &'static str,
    category: &'static str,
    /// Whether they have a duration, an id and arguments.
    has: [bool; 3],
    /// Each value with the text before it.
    values: Vec<(Fragment, Field)>,
    end: Fragment,
}

impl Kind {
    fn new(phase: &'static str, category: &'static str, has: [bool; 3], layout: &Layout) -> Kind {
        let [has_duration, has_id, has_args] = has;
        let mut values = Vec::new();
        let mut text = [layout.line_starts[0], b"{"].concat();
        let is_there = |field: &&Field| match field {
            Duration => has_duration,
            Id => has_id,
            ArgsField => has_args,
            _ => true,
        };
        for (i, field) in layout.event_fields.iter().filter(is_there).enumerate() {
            text.extend_from_slice(if i > 0 { b"," } else { b"" });
            text.extend_from_slice(&layout.key(*field));
            match field {
                Phase => text.extend_from_slice(format!("\"{phase}\"").as_bytes()),
                Category => text.extend_from_slice(format!("\"{category}\"").as_bytes()),
                _ => {
                    let (before, after): (&[u8], &[u8]) = match field {
                        Name => (b"\"", b"\""),
                        ArgsField => (b"{", b"}"),
                        _ => (b"", b""),
                    };
                    text.extend_from_slice(before);
                    values.push((Fragment::new(&text), *field));
                    text.clear();
                    if *field == ArgsField {
                        text.extend_from_slice(layout.line_before_end(1));
                    }
                    text.extend_from_slice(after);
                }
            }
        }
        text.extend_from_slice(layout.line_before_end(0));
        text.push(b'}');
        Kind { phase, category, has, values, end: Fragment::new(&text) }
    }

    #[inline]
    fn is(&self, phase: &'static str, category: &'static str, has: [bool; 3]) -> bool {
        let same = |a: &'static str, b: &'static str| a.as_ptr() == b.as_ptr() && a.len() == b.len();
        same(self.phase, phase) && same(self.category, category) && self.has == has
    }
}

/// A key of the arguments of events, with the text around it.
#[derive(Debug)]
pub struct ArgKey {
    first: Fragment,
    later: Fragment,
}

impl ArgKey {
    /// The key of a text.
    pub fn of_text(key: &[u8], layout: &Layout) -> ArgKey {
        let mut text = layout.line_starts[2].to_vec();
        json::push_ascii(key, &mut text);
        text.extend_from_slice(if layout.is_indented { b": \"" } else { b":\"" });
        ArgKey { first: Fragment::new(&text), later: Fragment::new(&[b",", &text[..]].concat()) }
    }
}

impl<'w> EventWriter<'w> {
    pub fn begin(layout: &'static Layout, out: &'w mut dyn Write) -> Self {
        let mut buffer = Buffer::new(out);
        buffer.put(layout.begin.as_bytes());
        EventWriter { buffer, layout, kinds: Vec::new(), is_first: true, depth: 0 }
    }

    pub fn end(mut self) -> io::Result<()> {
        self.buffer.put(self.layout.end.as_bytes());
        self.buffer.flush()
    }

    /// The buffer, for whoever puts events together from fragments. There must have been an event before.
    #[inline]
    pub fn buffer(&mut self) -> &mut Buffer<'w> {
        &mut self.buffer
    }

    pub fn process_name(&mut self, process: u32, name: &str) -> io::Result<()> {
        self.metadata("process_name", process, None, name)
    }

    pub fn thread_name(&mut self, process: u32, lane: u32, name: &str) -> io::Result<()> {
        self.metadata("thread_name", process, Some(lane), name)
    }

    pub fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.write(event, None::<fn(&mut Args<'_, 'w>)>)
    }

    /// Writes an event with arguments.
    pub fn event_with(&mut self, event: &Event<'_>, args: impl FnOnce(&mut Args<'_, 'w>)) -> io::Result<()> {
        self.write(event, Some(args))
    }

    fn metadata(&mut self, kind: &str, process: u32, lane: Option<u32>, name: &str) -> io::Result<()> {
        self.open();
        for field in self.layout.name_fields {
            match field {
                Phase => self.string(Phase, b"M"),
                Name => self.string(Name, kind.as_bytes()),
                Process => self.number(Process, process.into()),
                ArgsField => self.args(|args| args.string(b"name", name.as_bytes())),
                _ => lane.into_iter().for_each(|lane| self.number(Lane, lane.into())),
            }
        }
        self.close();
        self.buffer.flush_if_full()
    }

    fn write(&mut self, event: &Event<'_>, args: Option<impl FnOnce(&mut Args<'_, 'w>)>) -> io::Result<()> {
        let mut args = args;
        let has = [event.duration.is_some(), event.id.is_some(), args.is_some()];
        let kind = self.kinds.iter().position(|kind| kind.is(event.phase, event.category, has));
        let kind = kind.unwrap_or_else(|| {
            self.kinds.push(Kind::new(event.phase, event.category, has, self.layout));
            self.kinds.len() - 1
        });
        self.comma();
        for value in 0..self.kinds[kind].values.len() {
            let (before, field) = &self.kinds[kind].values[value];
            self.buffer.fragment(before);
            match field {
                Name => self.buffer.unquoted(event.name),
                Process => self.buffer.unsigned(event.at.process.into()),
                Lane => self.buffer.unsigned(event.at.lane.into()),
                Time => self.buffer.wide_integer(event.at.time),
                Duration => event.duration.into_iter().for_each(|duration| self.buffer.wide_integer(duration)),
                Id => event.id.into_iter().for_each(|id| self.buffer.unsigned(id)),
                _ => {
                    (self.is_first, self.depth) = (true, 2);
                    args.take().into_iter().for_each(|args| args(&mut Args { writer: self }));
                }
            }
        }
        self.buffer.fragment(&self.kinds[kind].end);
        (self.is_first, self.depth) = (false, 0);
        self.buffer.flush_if_full()
    }

    fn args(&mut self, args: impl FnOnce(&mut Args<'_, 'w>)) {
        self.key(ArgsField);
        self.is_first = true;
        self.depth += 1;
        self.buffer.fixed(b"{");
        args(&mut Args { writer: self });
        self.close();
    }

    fn string(&mut self, field: Field, text: &[u8]) {
        self.key(field);
        self.buffer.string(text);
    }

    fn number(&mut self, field: Field, n: i128) {
        self.key(field);
        self.buffer.wide_integer(n);
    }

    fn key(&mut self, field: Field) {
        self.comma();
        self.buffer.put(&self.layout.key(field));
    }

    #[inline]
    fn comma(&mut self) {
        if !self.is_first {
            self.buffer.fixed(b",");
        }
        self.is_first = false;
    }

    /// Begins an event.
    fn open(&mut self) {
        self.comma();
        self.buffer.put(self.layout.line_starts[0]);
        self.buffer.fixed(b"{");
        self.is_first = true;
        self.depth = 1;
    }

    /// Ends an event, its arguments or an object within them.
    fn close(&mut self) {
        self.depth -= 1;
        self.buffer.put(self.layout.line_before_end(self.depth));
        self.buffer.fixed(b"}");
        self.is_first = false;
    }
}

/// The arguments of an event.
#[derive(Debug)]
pub struct Args<'e, 'w> {
    writer: &'e mut EventWriter<'w>,
}

impl<'w> Args<'_, 'w> {
    /// A text under a key that many events have. It must not be within an object.
    pub fn text(&mut self, key: &ArgKey, text: &[u8]) {
        let writer = &mut *self.writer;
        writer.buffer.fragment(if writer.is_first { &key.first } else { &key.later });
        writer.is_first = false;
        writer.buffer.unquoted(text);
        writer.buffer.fixed(b"\"");
    }

    pub fn string(&mut self, key: &[u8], text: &[u8]) {
        self.key(key);
        self.writer.buffer.string(text);
    }

    pub fn number(&mut self, key: &[u8], n: i128) {
        self.key(key);
        self.writer.buffer.wide_integer(n);
    }

    pub fn object(&mut self, key: &[u8], fields: impl FnOnce(&mut Args<'_, 'w>)) {
        self.key(key);
        self.writer.buffer.fixed(b"{");
        self.writer.is_first = true;
        self.writer.depth += 1;
        fields(&mut Args { writer: self.writer });
        self.writer.close();
    }

    fn key(&mut self, key: &[u8]) {
        let writer = &mut *self.writer;
        writer.comma();
        writer.buffer.put(writer.layout.line_starts[writer.depth]);
        writer.buffer.string(key);
        writer.buffer.put(if writer.layout.is_indented { b": " } else { b":" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(layout: &'static Layout) -> String {
        let mut out = Vec::new();
        let mut events = EventWriter::begin(layout, &mut out);
        events.process_name(1, "p").unwrap();
        let at = Point { process: 1, lane: 2, time: -3 };
        let event = Event { phase: "X", category: "Op", name: b"n", at, duration: Some(4), id: None };
        events.event_with(&event, |args| args.object(b"o", |args| args.number(b"k", 1 << 70))).unwrap();
        events.event(&Event { phase: "s", duration: None, id: Some(5), ..event }).unwrap();
        events.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn layouts_differ_in_order_and_space() {
        assert_eq!(
            written(&Layout::SORTED),
            "{\"traceEvents\":[{\"args\":{\"name\":\"p\"},\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1},\
             {\"args\":{\"o\":{\"k\":1180591620717411303424}},\"cat\":\"Op\",\"dur\":4,\"name\":\"n\",\"ph\":\"X\",\
             \"pid\":1,\"tid\":2,\"ts\":-3},\
             {\"cat\":\"Op\",\"id\":5,\"name\":\"n\",\"ph\":\"s\",\"pid\":1,\"tid\":2,\"ts\":-3}]}\n"
        );
        let indented = written(&Layout::INDENTED);
        let event = "\n        },\n        {\n            \"ph\": \"X\",\n            \"cat\": \"Op\",\
                     \n            \"name\": \"n\",\n            \"pid\": 1,\n            \"tid\": 2,\
                     \n            \"ts\": -3,\n            \"dur\": 4,\n            \"args\": {\
                     \n                \"o\": {\n                    \"k\": 1180591620717411303424\
                     \n                }\n            }\n        },";
        assert!(indented.contains(event), "{indented}");
        assert!(written(&Layout::LINES).contains("[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{"));
    }
}
