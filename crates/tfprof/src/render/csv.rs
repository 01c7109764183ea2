//! An answer as CSV: the rows of the JSON form, one line each.

use crate::metric::Metric;
use crate::units::Amount;
use crate::view::View;
use std::io::{self, Write};

pub fn write(view: &View<'_, '_>, out: &mut dyn Write) -> io::Result<()> {
    let metrics: Vec<Metric> = view.metrics().iter().collect();
    out.write_all(b"id,parent,depth,name")?;
    for side in ["self", "total"] {
        for metric in &metrics {
            write!(out, ",{side}_{}", metric.info().key)?;
        }
    }
    out.write_all(b"\n")?;
    for (id, row) in view.rows().iter().enumerate() {
        if id == 0 {
            write!(out, "0,,0,")?;
        } else {
            write!(out, "{id},{},{},", row.parent, row.depth)?;
        }
        write_field(view.name(row), out)?;
        for metric in &metrics {
            write_number(view.knows(*metric).then(|| view.exact_own(*metric, row)), out)?;
        }
        for metric in &metrics {
            write_number(view.knows(*metric).then(|| view.exact_total(*metric, row)), out)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Writes a number and the comma before it; nothing for one that nobody knows.
fn write_number(number: Option<Amount>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b",")?;
    number.map_or(Ok(()), |number| write!(out, "{number}"))
}

/// Writes a field, in quotes where it needs them.
pub fn write_field(text: &str, out: &mut dyn Write) -> io::Result<()> {
    if text.contains([',', '"', '\n', '\r']) {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_all(text.as_bytes())
    }
}
