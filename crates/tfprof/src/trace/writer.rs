//! Events as JSON, to the byte as Python's `json.dumps(…, indent=4)` lays them out.

use super::record::Micros;
use crate::model::names::escape_invalid;
use std::io::{self, Write};

/// A place in the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub process: u32,
    pub lane: u32,
    pub at: Micros,
}

pub(super) struct Events<'w> {
    out: &'w mut dyn Write,
    /// The event at hand.
    text: Vec<u8>,
    first: bool,
    flows: u64,
    /// Tensors of the steps before: each has a number of its own.
    pub tensors_before: u64,
}

impl<'w> Events<'w> {
    pub fn begin(out: &'w mut dyn Write) -> io::Result<Self> {
        out.write_all(b"{\n    \"traceEvents\": [")?;
        Ok(Events { out, text: Vec::new(), first: true, flows: 0, tensors_before: 0 })
    }

    pub fn end(self) -> io::Result<()> {
        self.out.write_all(b"\n    ]\n}")
    }

    /// The name of a process.
    pub fn process(&mut self, process: u32, name: &str) -> io::Result<()> {
        self.open();
        self.text.extend_from_slice(b"\n            \"name\": \"process_name\",\n            \"ph\": \"M\"");
        self.number("pid", process.into());
        self.text.extend_from_slice(b",\n            \"args\": {\n                \"name\": ");
        string(&mut self.text, name.as_bytes());
        self.text.extend_from_slice(b"\n            }");
        self.close()
    }

    /// An op or a kernel that ran.
    pub fn op<'i>(
        &mut self,
        begin: Point,
        length: Micros,
        name: &[u8],
        op: &[u8],
        inputs: impl Iterator<Item = &'i [u8]>,
    ) -> io::Result<()> {
        self.head("X", "Op", op, begin);
        self.number("dur", length);
        self.text.extend_from_slice(b",\n            \"args\": {\n                \"name\": ");
        string(&mut self.text, name);
        self.text.extend_from_slice(b",\n                \"op\": ");
        string(&mut self.text, op);
        for (i, input) in inputs.enumerate() {
            let _ = write!(self.text, ",\n                \"input{i}\": ");
            string(&mut self.text, input);
        }
        self.text.extend_from_slice(b"\n            }");
        self.close()
    }

    /// An arrow from the op that made a tensor to one that reads it.
    pub fn flow(&mut self, tensor: &[u8], from: Point, to: Point) -> io::Result<()> {
        let id = self.flows;
        self.flows += 1;
        self.with_id("s", "DataFlow", tensor, from, id)?;
        self.with_id("t", "DataFlow", tensor, to, id)
    }

    pub fn tensor_made(&mut self, name: &[u8], at: Point, id: u64) -> io::Result<()> {
        self.with_id("N", "Tensor", name, at, id)
    }

    pub fn tensor_seen(&mut self, name: &[u8], at: Point, id: u64, description: &[u8]) -> io::Result<()> {
        self.head("O", "Tensor", name, at);
        self.number("id", id.into());
        self.text
            .extend_from_slice(b",\n            \"args\": {\n                \"snapshot\": {\n                    ");
        self.text.extend_from_slice(b"\"tensor_description\": ");
        string(&mut self.text, description);
        self.text.extend_from_slice(b"\n                }\n            }");
        self.close()
    }

    pub fn tensor_gone(&mut self, name: &[u8], at: Point, id: u64) -> io::Result<()> {
        self.with_id("D", "Tensor", name, at, id)
    }

    /// How many bytes an allocator holds from here on.
    pub fn held(&mut self, allocator: &[u8], at: Point, bytes: i128) -> io::Result<()> {
        self.head("C", "Memory", allocator, at);
        self.text.extend_from_slice(b",\n            \"args\": {\n                ");
        string(&mut self.text, allocator);
        let _ = write!(self.text, ": {bytes}\n            }}");
        self.close()
    }

    fn with_id(&mut self, phase: &str, category: &str, name: &[u8], at: Point, id: u64) -> io::Result<()> {
        self.head(phase, category, name, at);
        self.number("id", id.into());
        self.close()
    }

    fn head(&mut self, phase: &str, category: &str, name: &[u8], at: Point) {
        self.open();
        let _ = write!(self.text, "\n            \"ph\": \"{phase}\",\n            \"cat\": \"{category}\"");
        self.text.extend_from_slice(b",\n            \"name\": ");
        string(&mut self.text, name);
        self.number("pid", at.process.into());
        self.number("tid", at.lane.into());
        self.number("ts", at.at);
    }

    fn open(&mut self) {
        let start: &[u8] = if self.first { b"\n        {" } else { b",\n        {" };
        self.text.extend_from_slice(start);
        self.first = false;
    }

    fn number(&mut self, key: &str, n: i128) {
        self.text.extend_from_slice(b",\n            \"");
        self.text.extend_from_slice(key.as_bytes());
        // The wide form is slow to print and hardly ever needed. Writing to memory cannot fail.
        let _ = match i64::try_from(n) {
            Ok(n) => write!(self.text, "\": {n}"),
            Err(_) => write!(self.text, "\": {n}"),
        };
    }

    fn close(&mut self) -> io::Result<()> {
        self.text.extend_from_slice(b"\n        }");
        self.out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }
}

/// A string, with all that is not plain ASCII escaped, as Python does by default.
pub(super) fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    if text.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(text);
    } else {
        match std::str::from_utf8(text) {
            Ok(text) => escape(out, text),
            Err(_) => escape(out, &escape_invalid(text)),
        }
    }
    out.push(b'"');
}

fn escape(out: &mut Vec<u8>, text: &str) {
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            ' '..='~' => out.push(c as u8),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_plain_ascii() {
        let check = |text: &[u8], expect: &str| {
            let mut out = Vec::new();
            string(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), expect);
        };
        check(b"a/b:0", r#""a/b:0""#);
        check(b"\"\\\n\x01\x7f", r#""\"\\\n\u0001\u007f""#);
        check("é😀".as_bytes(), r#""\u00e9\ud83d\ude00""#);
        check(b"\xff", r#""\\xff""#);
    }
}
