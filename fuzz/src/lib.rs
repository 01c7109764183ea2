//! Shared by the fuzz targets: bounds of a run (`meter`), files made of any bytes (`make`, `files`), profilers loaded with
//! them and checks of their answers (`answers`); a layout, a sink that keeps everything, an input in small pieces.

pub mod answers;
pub mod files;
pub mod make;
pub mod meter;

pub use make::Make;
pub use meter::{budgeted, metered};

use std::io::Read;
use std::ops::ControlFlow;
use tfprof::internal::engine::needs;
use tfprof::internal::report::cost::render::{Report, Style, write_json, write_tables};
use tfprof::{Format, Profiler, Source, Spelling};
use tfprof_proto::schema::{self, Kind, Message};
use tfprof_proto::stream::{Layout, Record, Rule, Sink, Spot, Tag};
use tfprof_proto::wire::{Fields, Value};

/// A graph: nodes and versions taken, the library entered.
pub static GRAPH: Layout =
    Layout { fields: &[(1, Rule::Take(1)), (2, Rule::Enter(2, &LIBRARY)), (3, Rule::Take(3)), (4, Rule::Take(4))] };
static LIBRARY: Layout = Layout { fields: &[(1, Rule::Enter(21, &FUNCTION)), (2, Rule::Take(22))] };
static FUNCTION: Layout = Layout { fields: &[(3, Rule::Take(213))] };

fn message_of(tag: Tag) -> Option<&'static Message> {
    schema::message(match tag {
        1 | 213 => "tensorflow.NodeDef",
        4 => "tensorflow.VersionDef",
        22 => "tensorflow.GradientDef",
        _ => return None,
    })
}

#[derive(Debug, Default, PartialEq)]
pub struct Log(Vec<Event>);

#[derive(Debug, PartialEq)]
enum Event {
    Open(Tag, u64),
    Close(Tag),
    Take { tag: Tag, bytes: Vec<u8>, number: Option<u64>, offset: u64, whole: bool },
    Warn(Spot, String),
}

impl Sink for Log {
    fn open(&mut self, tag: Tag, offset: u64) -> ControlFlow<()> {
        self.0.push(Event::Open(tag, offset));
        ControlFlow::Continue(())
    }

    fn close(&mut self, tag: Tag) -> ControlFlow<()> {
        self.0.push(Event::Close(tag));
        ControlFlow::Continue(())
    }

    fn take(&mut self, tag: Tag, record: Record<'_>) -> ControlFlow<()> {
        let (bytes, number) = match record.value {
            Value::Bytes(bytes) => (bytes.to_vec(), None),
            Value::Varint(n) | Value::Fixed64(n) => (Vec::new(), Some(n)),
            Value::Fixed32(n) => (Vec::new(), Some(u64::from(n))),
        };
        self.0.push(Event::Take { tag, bytes, number, offset: record.offset, whole: record.whole });
        ControlFlow::Continue(())
    }

    fn warn(&mut self, spot: Spot, message: String) {
        self.0.push(Event::Warn(spot, message));
    }
}

impl Log {
    /// Opens and closes pair up; nothing but the last record is cut.
    pub fn check(&self) {
        let mut open = Vec::new();
        let mut cut = false;
        for event in &self.0 {
            match event {
                Event::Open(tag, _) => open.push(*tag),
                Event::Close(tag) => assert_eq!(open.pop(), Some(*tag)),
                Event::Take { whole, .. } => {
                    assert!(!cut);
                    cut = !whole;
                }
                Event::Warn(_, message) => assert!(!message.contains('\n')),
            }
        }
        assert!(open.is_empty());
    }

    /// Every record is a message of its kind, through and through.
    pub fn check_messages(&self) {
        for event in &self.0 {
            let Event::Take { tag, bytes, number: None, .. } = event else { continue };
            let Some(message) = message_of(*tag) else { continue };
            let mut todo = vec![(message, bytes.as_slice())];
            while let Some((message, bytes)) = todo.pop() {
                let mut fields = Fields::new(bytes, 0);
                while let Some(field) = fields.next_field().expect("the reader writes whole messages") {
                    let known = message.fields.iter().find(|known| known.number == field.number);
                    let known = known.expect("the reader writes known fields");
                    if let (Kind::Message(inner), Value::Bytes(bytes)) = (known.kind, field.value) {
                        todo.push((inner, bytes));
                    }
                }
            }
        }
    }
}

/// Hands out one to seven bytes at a time, by a fixed rule.
pub struct Dribble<'a> {
    bytes: &'a [u8],
    turn: usize,
}

impl<'a> Dribble<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Dribble { bytes, turn: bytes.len() }
    }
}

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.turn = self.turn.wrapping_mul(5).wrapping_add(3);
        let n = (self.turn % 7 + 1).min(self.bytes.len()).min(buffer.len());
        buffer[..n].copy_from_slice(&self.bytes[..n]);
        self.bytes = &self.bytes[n..];
        Ok(n)
    }
}

/// Reads bytes as a model of a format, and asks for its cost: an answer or a typed error, within the bounds of its size.
pub fn cost_of(format: &str, bytes: &[u8]) {
    budgeted(bytes.len(), || {
        let mut profiler = Profiler::new(needs::COST);
        profiler.add(Source::memory("fuzz", bytes)?, Format::named(format).expect("a format"), 0)?;
        profiler.infer()?;
        let cost = profiler.cost()?;
        let report = Report { cost: &cost, over: None, changes: None, spelling: Spelling::CommandLine };
        let mut out = Vec::new();
        write_json(&report, &mut out).expect("memory");
        answers::check_json(&out);
        out.clear();
        write_tables(&report, Style::Text(Some(80)), &mut out).expect("memory");
        answers::check_text(&out);
        Ok(())
    });
}
