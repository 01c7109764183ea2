//! Chrome trace events: one writer for `trace` and for timelines, which differ only in their [`Layout`].

mod buffer;
mod lanes;

pub use buffer::{Buffer, Fragment};
pub use lanes::Lanes;

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
    const ALL: [Field; 9] = [Phase, Category, Name, Process, Lane, Time, Duration, Id, ArgsField];

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
}

/// Writes events to a file in one layout.
#[derive(Debug)]
pub struct EventWriter<'w> {
    buffer: Buffer<'w>,
    layout: &'static Layout,
    /// By field: its key with what stands around it.
    keys: [Fragment; Field::ALL.len()],
    /// Nothing stands yet in the list or object that is being written.
    is_first: bool,
    depth: usize,
}

impl<'w> EventWriter<'w> {
    pub fn begin(layout: &'static Layout, out: &'w mut dyn Write) -> Self {
        let mut buffer = Buffer::new(out);
        buffer.put(layout.begin.as_bytes());
        let key = |field: Field| {
            let space = if layout.is_indented { " " } else { "" };
            let quoted = format!("\"{}\":{space}", field.key());
            Fragment::new(&[layout.line_starts[1], quoted.as_bytes()].concat())
        };
        EventWriter { buffer, layout, keys: Field::ALL.map(key), is_first: true, depth: 0 }
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
        self.open();
        for field in &self.layout.event_fields {
            match field {
                Phase => self.string(Phase, event.phase.as_bytes()),
                Category => self.string(Category, event.category.as_bytes()),
                Name => self.string(Name, event.name),
                Process => self.number(Process, event.at.process.into()),
                Lane => self.number(Lane, event.at.lane.into()),
                Time => self.number(Time, event.at.time),
                Duration => event.duration.into_iter().for_each(|duration| self.number(Duration, duration)),
                Id => event.id.into_iter().for_each(|id| self.number(Id, id.into())),
                ArgsField => args.take().into_iter().for_each(|args| self.args(args)),
            }
        }
        self.close();
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

    #[inline]
    fn key(&mut self, field: Field) {
        self.comma();
        self.buffer.fragment(&self.keys[field as usize]);
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
        if self.layout.is_indented {
            self.buffer.put(self.layout.line_starts[self.depth]);
        }
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
