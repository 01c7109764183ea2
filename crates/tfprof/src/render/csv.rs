//! An answer as CSV: the rows of the JSON form, one line each.

use super::write_each;
use crate::units;
use crate::view::View;
use crate::view::columns::{Column, Content, Value};
use std::io::{self, Write};

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let columns = view.columns();
    let flat = |column: &&Column| !column.is_detail() && column.content != Content::Accounted;
    let columns: Vec<&Column> = columns.iter().filter(flat).collect();
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    writeln!(out, "{}", names.join(","))?;
    let mut id = 0;
    write_each(view.rows(), out, |_, text| {
        for (i, column) in columns.iter().enumerate() {
            text.extend_from_slice(if i > 0 { b"," } else { b"" });
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

/// Writes a field, in quotes where it needs them.
pub fn write_field(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let bytes = text.as_bytes();
    if memchr::memchr3(b',', b'"', b'\n', bytes).is_some() || memchr::memchr(b'\r', bytes).is_some() {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_all(text.as_bytes())
    }
}
