//! An answer as CSV: the rows of the JSON form, one line each.

use super::write_each;
use crate::units;
use crate::view::View;
use crate::view::columns::{Column, Content, Number, Value};
use std::io::{self, Write};

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let columns = view.columns();
    let flat = |column: &&Column| !column.is_detail() && column.content != Content::Accounted;
    let columns: Vec<&Column> = columns.iter().filter(flat).collect();
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    writeln!(out, "{}", names.join(","))?;
    let mut id = 0;
    write_each(view.rows(), out, |row, text| {
        for (i, column) in columns.iter().enumerate() {
            text.extend_from_slice(if i > 0 { b"," } else { b"" });
            if let Some((side, metric)) = column.metric() {
                push_number(view.number(side, metric, row), text)?;
                continue;
            }
            match view.cell(column, id) {
                Value::Int(n) => units::push_int(text, n),
                Value::Decimal(amount) => amount.push_exact(text),
                Value::Real(x) => write!(text, "{x}")?,
                Value::Text(name) => write_field(&name, text)?,
                _ => {}
            }
        }
        text.push(b'\n');
        id += 1;
        Ok(())
    })
}

/// Appends a number with all its digits; nothing if it is missing.
#[inline]
pub(super) fn push_number(number: Number, out: &mut Vec<u8>) -> io::Result<()> {
    match number {
        Number::Int(n) => units::push_int(out, n),
        Number::Decimal(amount) => amount.push_exact(out),
        Number::Real(x) => write!(out, "{x}")?,
        Number::Missing => {}
    }
    Ok(())
}

/// Writes a field, in quotes where it needs them.
pub fn write_field(text: &str, out: &mut dyn Write) -> io::Result<()> {
    // A spreadsheet would run it as a formula.
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let quoted = if formula { format!("'{text}") } else { String::new() };
    let text = if formula { &quoted } else { text };
    let bytes = text.as_bytes();
    if memchr::memchr3(b',', b'"', b'\n', bytes).is_some() || memchr::memchr(b'\r', bytes).is_some() {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_all(text.as_bytes())
    }
}
