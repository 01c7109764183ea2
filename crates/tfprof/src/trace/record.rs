//! One `NodeExecStats` record of a run, and its labels.

use crate::render::chrome::{Micros, Point};
use tfprof_proto::fields::{allocation_description, node_exec_stats as node, node_output, tensor_description};
use tfprof_proto::wire::{Fields, Value, each_field, each_message};

/// The part of a `NodeExecStats` that a trace needs.
pub(super) struct Record<'a> {
    pub name: &'a [u8],
    pub label: &'a [u8],
    pub start: Micros,
    pub duration: Micros,
    /// The number of its outputs.
    pub outputs: u64,
    fields: Fields<'a>,
}

/// An op or a kernel that ran, as one event.
#[derive(Clone, Copy)]
pub(super) struct OpRun<'a> {
    pub begin: Point,
    pub duration: Micros,
    pub name: &'a [u8],
    pub op: &'a [u8],
}

/// The memory of an output.
#[derive(Default)]
pub(super) struct Allocation<'a> {
    pub allocator: &'a [u8],
    pub requested: i64,
}

impl<'a> Record<'a> {
    pub fn new(bytes: &'a [u8], offset: u64) -> Self {
        let fields = Fields::new(bytes, offset);
        let mut record = Record { name: b"", label: b"", start: 0, duration: 0, outputs: 0, fields: fields.clone() };
        each_field(fields, |_, number, value| match (number, value) {
            (node::NODE_NAME, Value::Bytes(name)) => record.name = name,
            (node::ALL_START_MICROS, Value::Varint(n)) => record.start = Micros::from(n as i64),
            (node::ALL_END_REL_MICROS, Value::Varint(n)) => record.duration = Micros::from(n as i64),
            (node::TIMELINE_LABEL, Value::Bytes(label)) => record.label = label,
            (node::OUTPUT, Value::Bytes(_)) => record.outputs += 1,
            _ => {}
        });
        record
    }

    pub fn end(&self) -> Micros {
        self.start + self.duration
    }

    /// Calls `each` for every output with the parts of its tensor description.
    pub fn each_output(&self, mut each: impl FnMut(&[Fields<'a>])) {
        let mut descriptions = Vec::new();
        each_message(self.fields.clone(), node::OUTPUT, |output| {
            descriptions.clear();
            each_message(output, node_output::TENSOR_DESCRIPTION, |description| descriptions.push(description));
            each(&descriptions);
        });
    }
}

/// The allocation in a tensor description, whose parts count as one message.
pub(super) fn allocation<'a>(description: &[Fields<'a>]) -> Allocation<'a> {
    let mut found = Allocation::default();
    for part in description {
        each_message(part.clone(), tensor_description::ALLOCATION_DESCRIPTION, |allocation| {
            each_field(allocation, |_, number, value| match (number, value) {
                (allocation_description::REQUESTED_BYTES, Value::Varint(n)) => found.requested = n as i64,
                (allocation_description::ALLOCATOR_NAME, Value::Bytes(name)) => found.allocator = name,
                _ => {}
            });
        });
    }
    found
}

/// The op and the inputs of a label `name = op(input, input)`.
pub(super) struct OpLabel<'a> {
    pub op: &'a [u8],
    inputs: &'a [u8],
}

impl<'a> OpLabel<'a> {
    /// As the original's greedy pattern: the inputs begin at the last opening bracket before the last closing one, and
    /// the op at the last ` = ` before that.
    pub fn parse(label: &'a [u8]) -> Self {
        let line = &label[..memchr::memchr(b'\n', label).unwrap_or(label.len())];
        let parts = || {
            let close = memchr::memrchr(b')', line)?;
            let open = memchr::memrchr(b'(', &line[..close])?;
            let found = memchr::memrchr_iter(b'=', &line[..open]).find(|at| surrounded(&line[..open], *at))?;
            let equals = found - 1;
            Some(OpLabel { op: &line[equals + 3..open], inputs: &line[open + 1..close] })
        };
        parts().unwrap_or(OpLabel { op: b"unknown", inputs: b"" })
    }

    pub fn inputs(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = (!self.inputs.is_empty()).then_some(self.inputs);
        std::iter::from_fn(move || {
            let inputs = rest?;
            let ends = |at: &usize| inputs.get(at + 1) == Some(&b' ');
            let Some(comma) = memchr::memchr_iter(b',', inputs).find(ends) else { return rest.take() };
            rest = Some(&inputs[comma + 2..]);
            Some(&inputs[..comma])
        })
    }
}

/// Whether there is a blank on both sides of a byte.
fn surrounded(text: &[u8], at: usize) -> bool {
    at > 0 && text[at - 1] == b' ' && text.get(at + 1) == Some(&b' ')
}

/// Name and op of a kernel: its label is `kernel:…@@name:op#…`, or its name is `name:op`.
pub(super) fn kernel<'a>(record: &Record<'a>) -> (&'a [u8], &'a [u8]) {
    let label = record.label;
    // Most labels have no mark, and one byte is found faster than two.
    let hash = memchr::memchr(b'#', label);
    let marked = hash.and_then(|hash| Some((memchr::memmem::find(label, b"@@")?, hash)));
    let name = match marked {
        Some((at, hash)) if at + 2 < hash => &label[at + 2..hash],
        _ => record.name,
    };
    match split_at_colon(name) {
        (name, None) => (name, b"unknown"),
        (name, Some(rest)) => (name, split_at_colon(rest).0),
    }
}

fn split_at_colon(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b':', text) {
        None => (text, None),
        Some(colon) => (&text[..colon], Some(&text[colon + 1..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_ops() {
        let check = |label: &str, op: &str, inputs: &[&str]| {
            let parsed = OpLabel::parse(label.as_bytes());
            let found: Vec<_> = parsed.inputs().map(|input| String::from_utf8_lossy(input)).collect();
            assert_eq!(
                (String::from_utf8_lossy(parsed.op), found),
                (op.into(), inputs.iter().map(|i| (*i).into()).collect())
            );
        };
        check("a = Add(b, c:1)", "Add", &["b", "c:1"]);
        check("a = Const()", "Const", &[]);
        check("a = b = Add(c)", "Add", &["c"]);
        check("a = Add(b) = Mul(c)", "Mul", &["c"]);
        check("a = Add((b), c", "Add(", &["b"]);
        check("a = Add(b) and more", "Add", &["b"]);
        check("a=Add(b)", "unknown", &[]);
        check("x\na = Add(b)", "unknown", &[]);
        check("a = Add(b,c, , d)", "Add", &["b,c", "", "d"]);
        check("a(b) = c", "unknown", &[]);
    }

    #[test]
    fn labels_of_kernels() {
        let check = |name: &str, label: &str, expect: (&str, &str)| {
            let mut record = Record::new(b"", 0);
            (record.name, record.label) = (name.as_bytes(), label.as_bytes());
            let (name, op) = kernel(&record);
            assert_eq!(
                (String::from_utf8_lossy(name), String::from_utf8_lossy(op)),
                (expect.0.into(), expect.1.into())
            );
        };
        check("n", "k@@a:Add#id", ("a", "Add"));
        check("a:Add:x", "", ("a", "Add"));
        check("a", "k@@#", ("a", "unknown"));
        check("a", "#k@@b", ("a", "unknown"));
    }
}
