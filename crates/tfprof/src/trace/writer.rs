//! The events of a `RunMetadata` trace, as TensorFlow's own `timeline` module names them.

use super::record::OpRun;
use crate::render::chrome::{ArgKey, Event, EventWriter, Layout, Point};
use std::io::{self, Write};

pub(super) struct Events<'w> {
    writer: EventWriter<'w>,
    flows: u64,
    name: ArgKey,
    op: ArgKey,
    /// `input0`, `input1`, …
    inputs: Vec<ArgKey>,
    /// Tensors of earlier steps: ids are unique across steps.
    pub tensors_before: u64,
}

/// Keys of inputs beyond these are made each time.
const KEPT_INPUTS: usize = 64;

fn key(name: &str) -> ArgKey {
    ArgKey::of_text(name.as_bytes(), &Layout::INDENTED)
}

fn input_key(i: usize) -> ArgKey {
    key(&format!("input{i}"))
}

impl<'w> Events<'w> {
    pub fn begin(out: &'w mut dyn Write) -> Self {
        let writer = EventWriter::begin(&Layout::INDENTED, out);
        let inputs = (0..KEPT_INPUTS).map(input_key).collect();
        Events { writer, flows: 0, name: key("name"), op: key("op"), inputs, tensors_before: 0 }
    }

    pub fn end(self) -> io::Result<()> {
        self.writer.end()
    }

    pub fn process_name(&mut self, process: u32, name: &str) -> io::Result<()> {
        self.writer.process_name(process, name)
    }

    /// An op or a kernel that ran.
    pub fn op<'i>(&mut self, run: &OpRun<'_>, inputs: impl Iterator<Item = &'i [u8]>) -> io::Result<()> {
        let OpRun { begin, duration, name, op } = *run;
        let event = Event { phase: "X", category: "Op", name: op, at: begin, duration: Some(duration), id: None };
        self.writer.event_with(&event, |args| {
            args.text(&self.name, name);
            args.text(&self.op, op);
            for (i, input) in inputs.enumerate() {
                match self.inputs.get(i) {
                    Some(key) => args.text(key, input),
                    None => args.text(&input_key(i), input),
                }
            }
        })
    }

    /// An arrow from the op that made a tensor to one that reads it.
    pub fn flow(&mut self, tensor: &[u8], from: Point, to: Point) -> io::Result<()> {
        let id = self.flows;
        self.flows += 1;
        self.writer.event(&with_id("s", "DataFlow", tensor, from, id))?;
        self.writer.event(&with_id("t", "DataFlow", tensor, to, id))
    }

    pub fn tensor_created(&mut self, name: &[u8], at: Point, id: u64) -> io::Result<()> {
        self.writer.event(&with_id("N", "Tensor", name, at, id))
    }

    pub fn tensor_snapshot(&mut self, name: &[u8], at: Point, id: u64, description: &[u8]) -> io::Result<()> {
        self.writer.event_with(&with_id("O", "Tensor", name, at, id), |args| {
            args.object(b"snapshot", |args| args.string(b"tensor_description", description));
        })
    }

    pub fn tensor_deleted(&mut self, name: &[u8], at: Point, id: u64) -> io::Result<()> {
        self.writer.event(&with_id("D", "Tensor", name, at, id))
    }

    /// The bytes that an allocator holds from here on.
    pub fn allocated(&mut self, allocator: &[u8], at: Point, bytes: i128) -> io::Result<()> {
        let event = Event { phase: "C", category: "Memory", name: allocator, at, duration: None, id: None };
        self.writer.event_with(&event, |args| args.number(allocator, bytes))
    }
}

fn with_id<'a>(phase: &'static str, category: &'static str, name: &'a [u8], at: Point, id: u64) -> Event<'a> {
    Event { phase, category, name, at, duration: None, id: Some(id) }
}
