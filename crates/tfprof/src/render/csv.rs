//! An answer as CSV: the rows of the JSON form, one line each.

use super::rows::write_each;
use crate::digits;
use crate::metric::Metric;
use crate::units::Amount;
use crate::view::View;
use std::io::{self, Write};

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let metrics: Vec<Metric> = view.metrics().iter().collect();
    out.write_all(b"id,parent,depth,name")?;
    for side in ["self", "total"] {
        for metric in &metrics {
            write!(out, ",{side}_{}", metric.info().key)?;
        }
    }
    out.write_all(b"\n")?;
    let mut id = 0;
    write_each(view.rows(), out, |row, text| {
        digits::push_unsigned(text, id);
        text.push(b',');
        if id > 0 {
            digits::push_unsigned(text, row.parent as u64);
        }
        text.push(b',');
        digits::push_unsigned(text, row.depth as u64);
        text.push(b',');
        write_field(view.name(row), text)?;
        for metric in &metrics {
            push_number(view.knows(*metric).then(|| view.exact_own(*metric, row)), text);
        }
        for metric in &metrics {
            push_number(view.knows(*metric).then(|| view.exact_total(*metric, row)), text);
        }
        text.push(b'\n');
        id += 1;
        Ok(())
    })
}

/// Appends a number and the comma before it; nothing for one that nobody knows.
fn push_number(number: Option<Amount>, out: &mut Vec<u8>) {
    out.push(b',');
    if let Some(number) = number {
        number.push_exact(out);
    }
}

/// Writes a field, in quotes where it needs them.
pub fn write_field(text: &str, out: &mut dyn Write) -> io::Result<()> {
    if text.contains([',', '"', '\n', '\r']) {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_all(text.as_bytes())
    }
}
