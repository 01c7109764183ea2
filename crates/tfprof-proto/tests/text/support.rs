//! A sink that writes down what it gets, and messages in a form that can be compared.

use std::io::Read;
use std::ops::ControlFlow;
use tfprof_proto::schema::{self, Kind, Message};
use tfprof_proto::stream::{Layout, Record, Rule, Sink, Spot, StreamError, Tag};
use tfprof_proto::text;
use tfprof_proto::wire::{self, Fields, Value};

/// Takes some and enters some, so that all ways through the reader are seen.
pub static GRAPH: Layout =
    Layout { fields: &[(1, Rule::Take(1)), (2, Rule::Enter(2, &LIBRARY)), (3, Rule::Take(3)), (4, Rule::Take(4))] };
static LIBRARY: Layout = Layout { fields: &[(1, Rule::Enter(21, &FUNCTION)), (2, Rule::Take(22))] };
static FUNCTION: Layout = Layout { fields: &[(3, Rule::Take(213))] };

/// The messages that the tags of [`GRAPH`] stand for.
fn message_of(tag: Tag) -> Option<&'static Message> {
    schema::message(match tag {
        1 | 213 => "tensorflow.NodeDef",
        4 => "tensorflow.VersionDef",
        8 => "tensorflow.TensorProto",
        22 => "tensorflow.GradientDef",
        _ => return None,
    })
}

/// The result of reading a text.
#[derive(Debug, Default, PartialEq)]
pub struct Log {
    pub records: Vec<String>,
    pub offsets: Vec<u64>,
    pub warnings: Vec<String>,
    pub error: Option<String>,
}

impl Sink for Log {
    fn open(&mut self, tag: Tag, offset: u64) -> ControlFlow<()> {
        self.records.push(format!("open {tag}"));
        self.offsets.push(offset);
        ControlFlow::Continue(())
    }

    fn close(&mut self, tag: Tag) -> ControlFlow<()> {
        self.records.push(format!("close {tag}"));
        ControlFlow::Continue(())
    }

    fn take(&mut self, tag: Tag, record: Record<'_>) -> ControlFlow<()> {
        let cut = if record.whole { "" } else { " (cut)" };
        self.offsets.push(record.offset);
        self.records.push(match (record.value, message_of(tag)) {
            (Value::Bytes(bytes), Some(message)) => format!("{tag} {{{}}}{cut}", dump(message, bytes)),
            (Value::Bytes(bytes), None) => format!("{tag} \"{}\"{cut}", bytes.escape_ascii()),
            (value, _) => format!("{tag} {value:?}{cut}"),
        });
        ControlFlow::Continue(())
    }

    fn warn(&mut self, spot: Spot, message: String) {
        self.warnings.push(format!("{}: {message}", show(spot)));
    }
}

pub fn read(input: &mut dyn Read, message: &'static Message, layout: &'static Layout) -> Log {
    let mut log = Log::default();
    match text::read(input, message, layout, &mut log) {
        Ok(finished) => assert!(finished),
        Err(StreamError::Text { spot, message }) => log.error = Some(format!("{}: {message}", show(spot))),
        Err(error) => log.error = Some(format!("{error:?}")),
    }
    log
}

pub fn read_graph(text: impl AsRef<[u8]>) -> Log {
    read(&mut text.as_ref(), &schema::GRAPH_DEF, &GRAPH)
}

fn show(spot: Spot) -> String {
    match spot {
        Spot::Byte(offset) => format!("byte {offset}"),
        Spot::Line { line, column } => format!("{line}:{column}"),
    }
}

/// A message in wire format as one line: fields by number, packed ones unpacked, map entries sorted.
pub fn dump(message: &Message, bytes: &[u8]) -> String {
    let mut parts = Vec::new();
    let mut fields = Fields::new(bytes, 0);
    while let Some(field) = fields.next_field().expect("the reader writes whole messages") {
        let known = message.fields.iter().find(|known| known.number == field.number).expect("a known field");
        let name = known.name;
        let mut add = |text: String| parts.push((field.number, is_map(known.kind), text));
        match (known.kind, field.value) {
            (Kind::Message(inner), Value::Bytes(bytes)) => add(format!("{name} {{{}}}", dump(inner, bytes))),
            (Kind::String | Kind::Bytes, Value::Bytes(bytes)) => add(format!("{name}: \"{}\"", bytes.escape_ascii())),
            (Kind::Float, Value::Bytes(bytes)) => {
                for n in bytes.chunks_exact(4) {
                    add(format!("{name}: {:?}", f32::from_le_bytes(n.try_into().unwrap())));
                }
            }
            (Kind::Double, Value::Bytes(bytes)) => {
                for n in bytes.chunks_exact(8) {
                    add(format!("{name}: {:?}", f64::from_le_bytes(n.try_into().unwrap())));
                }
            }
            (Kind::Float, Value::Fixed32(n)) => add(format!("{name}: {:?}", f32::from_bits(n))),
            (Kind::Double, Value::Fixed64(n)) => add(format!("{name}: {:?}", f64::from_bits(n))),
            (Kind::Fixed64, Value::Fixed64(n)) | (Kind::Uint64, Value::Varint(n)) => add(format!("{name}: {n}")),
            (_, value) => wire::each_int(value, |n| add(format!("{name}: {n}"))).expect("whole numbers"),
        }
    }
    // Order matters within a field, except for maps.
    parts
        .sort_by(|a, b| a.0.cmp(&b.0).then_with(|| if a.1 && b.1 { a.2.cmp(&b.2) } else { std::cmp::Ordering::Equal }));
    parts.into_iter().map(|(_, _, text)| text).collect::<Vec<_>>().join(" ")
}

fn is_map(kind: Kind) -> bool {
    matches!(kind, Kind::Message(inner) if inner.name.ends_with("Entry"))
}

/// Hands out a few bytes at a time.
pub struct Dribble<'a>(pub &'a [u8], pub usize);

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.min(self.0.len()).min(buffer.len());
        buffer[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}
