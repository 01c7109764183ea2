//! The JSON of all answers: one object with warnings, fields of the answer, and a list of rows, one per line.

use crate::checkpoint::Tensor;
use crate::error::Warning;
use crate::json::{write_fragment, write_warning};
use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// A tensor in a row.
#[derive(Serialize)]
pub struct TensorJson<'t> {
    pub name: &'t str,
    pub dtype: String,
    pub shape: &'t [i64],
    pub parameters: i64,
    pub bytes: Option<u64>,
}

impl TensorJson<'_> {
    pub fn new(tensor: &Tensor) -> TensorJson<'_> {
        TensorJson {
            name: &tensor.name,
            dtype: tensor.dtype.name(),
            shape: &tensor.shape,
            parameters: tensor.parameters(),
            bytes: tensor.bytes,
        }
    }
}

/// A number that may not be finite, which JSON can only express as a string.
pub struct Float(pub f64);

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            x if x.is_nan() => serializer.serialize_str("nan"),
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            x => serializer.serialize_f64(x),
        }
    }
}

/// Writes an answer. `fields` is JSON between the warnings and the rows.
pub fn write<R: Serialize>(
    warnings: &[Warning],
    fields: &str,
    rows: impl Iterator<Item = R>,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b"{\"version\":1,\"command\":\"checkpoint\",\n\"warnings\":[")?;
    for (i, warning) in warnings.iter().enumerate() {
        out.write_all(if i > 0 { b",\n" } else { b"\n" })?;
        write_warning(warning, out)?;
    }
    write!(out, "],\n{fields}:[")?;
    for (i, row) in rows.enumerate() {
        out.write_all(if i > 0 { b",\n" } else { b"\n" })?;
        row.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, SpacedLists))?;
    }
    out.write_all(b"]}\n")
}

/// Compact JSON with a space after the commas of lists, and floats as Rust writes them.
struct SpacedLists;

impl Formatter for SpacedLists {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        write_fragment(fragment, writer)
    }

    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value:?}")
    }
}
