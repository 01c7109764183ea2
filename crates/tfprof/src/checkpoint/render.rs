//! The tensors of a checkpoint, and the differences of two, as a table, as HTML, as JSON and as CSV.

use crate::checkpoint::query::{Compared, Comparison, Listed, Listing, Summary};
use crate::checkpoint::verify::Verdict;
use crate::checkpoint::{Damage, Tensor};
use crate::error::Warning;
use crate::json::{write_string, write_warning};
use crate::metric::Unit;
use crate::render::csv::write_field;
use crate::render::html::{self, Grid, Place};
use crate::render::tensor::json_float;
use crate::units;
use std::io::{self, Write};

/// A table for people.
pub fn text(listing: &Listing<'_>, out: &mut dyn Write) -> io::Result<()> {
    let grid = grid(listing);
    table(&grid, out)?;
    writeln!(out, "\n{}", grid.foot)
}

pub fn html(listing: &Listing<'_>, place: Place, out: &mut dyn Write) -> io::Result<()> {
    html::write_grid(&listing.checkpoint.name, &grid(listing), place, out)
}

fn grid(listing: &Listing<'_>) -> Grid {
    let readable = listing.rows.iter().any(|row| row.tensor.readable.is_some());
    let mut head = vec!["name", "dtype", "shape", "parameters", "bytes", "shard"];
    if listing.has_stats {
        head.extend(["min", "max", "mean", "std", "zeros", "nan/inf", "histogram"]);
    }
    if readable {
        head.push("known as");
    }
    let cells = listing.rows.iter().map(|row| {
        let mut cells = vec![
            row.tensor.name.clone(),
            row.tensor.dtype.name(),
            shape_text(row.tensor),
            units::text(Unit::Count, row.parameters),
            bytes_text(row.tensor),
            shards_text(&row.shards),
        ];
        if listing.has_stats {
            cells.extend(summary_cells(row.summary.as_ref()));
        }
        if readable {
            cells.push(row.tensor.readable.clone().unwrap_or_default());
        }
        cells
    });
    let is_number = |column: usize| (3..=5).contains(&column) || (listing.has_stats && (6..=11).contains(&column));
    let parameters = listing.rows.iter().fold(0_i64, |sum, row| sum.saturating_add(row.parameters));
    let bytes = listing.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.tensor.bytes.unwrap_or(0)));
    let of = match listing.checkpoint.tensors.len() {
        all if all == listing.rows.len() => String::new(),
        all => format!(" of {all}"),
    };
    let tensors = plural(listing.rows.len(), "tensor", &of);
    let parameters = units::text(Unit::Count, parameters);
    let bytes = units::text(Unit::Bytes, i64::try_from(bytes).unwrap_or(i64::MAX));
    let shards = plural(listing.checkpoint.shard_count(), "shard", "");
    Grid {
        rows: cells.collect(),
        is_number: (0..head.len()).map(is_number).collect(),
        head,
        foot: format!("{tensors}, {parameters} parameters, {bytes} in {shards}"),
    }
}

/// One object, with a row for each tensor.
pub fn json(listing: &Listing<'_>, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    json_head(warnings, out)?;
    out.write_all(b"\"columns\":[\"name\",\"dtype\",\"shape\",\"parameters\",\"bytes\",\"shard\"],\n\"rows\":[")?;
    for (i, row) in listing.rows.iter().enumerate() {
        out.write_all(if i > 0 { b",\n{" } else { b"\n{" })?;
        json_row(row, out)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"]}\n")
}

fn json_head(warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"version\":1,\"command\":\"checkpoint\",\n\"warnings\":[")?;
    for (i, warning) in warnings.iter().enumerate() {
        out.write_all(if i > 0 { b",\n" } else { b"\n" })?;
        write_warning(warning, out)?;
    }
    out.write_all(b"],\n")
}

fn json_row(row: &Listed<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"\"name\":")?;
    write_string(&row.tensor.name, out)?;
    json_tensor(row.tensor, out)?;
    out.write_all(b",\"shard\":")?;
    match &row.shards[..] {
        [] => out.write_all(b"null")?,
        [shard] => write!(out, "{shard}")?,
        shards => write!(out, "{shards:?}")?,
    }
    if let Some(readable) = &row.tensor.readable {
        out.write_all(b",\"readable\":")?;
        write_string(readable, out)?;
    }
    let Some(summary) = &row.summary else { return Ok(()) };
    out.write_all(b",\"stats\":{")?;
    for (key, number) in
        [("min", summary.min), ("max", summary.max), ("mean", summary.mean), ("std", summary.deviation)]
    {
        write!(out, "\"{key}\":")?;
        if summary.finite == 0 {
            out.write_all(b"null")?;
        } else {
            json_float(number, out)?;
        }
        out.write_all(b",")?;
    }
    let Summary { zeros, nan, infinite, histogram, .. } = summary;
    write!(out, "\"zeros\":{zeros},\"nan\":{nan},\"inf\":{infinite},\"histogram\":{histogram:?}}}")
}

fn json_tensor(tensor: &Tensor, out: &mut dyn Write) -> io::Result<()> {
    write!(out, ",\"dtype\":\"{}\",\"shape\":{:?},", tensor.dtype.name(), tensor.shape)?;
    write!(out, "\"parameters\":{},\"bytes\":", crate::checkpoint::query::parameters(tensor))?;
    match tensor.bytes {
        Some(bytes) => write!(out, "{bytes}"),
        None => out.write_all(b"null"),
    }
}

/// The rows of the JSON form, one line each. A shape is a list there too.
pub fn csv(listing: &Listing<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"name,dtype,shape,parameters,bytes,shard")?;
    if listing.has_stats {
        out.write_all(b",min,max,mean,std,zeros,nan,inf")?;
    }
    out.write_all(b"\n")?;
    for row in &listing.rows {
        write_field(&row.tensor.name, out)?;
        write!(out, ",{},", row.tensor.dtype.name())?;
        write_field(&format!("{:?}", row.tensor.shape), out)?;
        let bytes = row.tensor.bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
        let shards: Vec<_> = row.shards.iter().map(u32::to_string).collect();
        write!(out, ",{},{bytes},{}", row.parameters, shards.join(" "))?;
        match &row.summary {
            Some(s) if s.finite > 0 => write!(out, ",{},{},{},{}", s.min, s.max, s.mean, s.deviation)?,
            _ if listing.has_stats => out.write_all(b",,,,")?,
            _ => {}
        }
        match &row.summary {
            Some(s) => write!(out, ",{},{},{}", s.zeros, s.nan, s.infinite)?,
            None if listing.has_stats => out.write_all(b",,,")?,
            None => {}
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The differences, for people.
pub fn comparison_text(comparison: &Comparison<'_>, out: &mut dyn Write) -> io::Result<()> {
    let grid = comparison_grid(comparison);
    if !grid.rows.is_empty() {
        table(&grid, out)?;
        out.write_all(b"\n")?;
    }
    writeln!(out, "{}", grid.foot)
}

pub fn comparison_html(comparison: &Comparison<'_>, place: Place, out: &mut dyn Write) -> io::Result<()> {
    let title = format!("{} → {}", comparison.before.name, comparison.after.name);
    html::write_grid(&title, &comparison_grid(comparison), place, out)
}

fn comparison_grid(comparison: &Comparison<'_>) -> Grid {
    let mut head = vec!["name", "change", "before", "after"];
    if comparison.has_stats {
        head.extend(["max |a-b|", "relative"]);
    }
    let cells = comparison.rows.iter().map(|row| {
        let tensor = |tensor: Option<&Tensor>| match tensor {
            Some(tensor) => format!("{} {}", tensor.dtype.name(), shape_text(tensor)),
            None => "-".to_owned(),
        };
        let mut cells = vec![row.name().to_owned(), row.kind().to_owned(), tensor(row.before), tensor(row.after)];
        if comparison.has_stats {
            cells.extend(match row.change {
                Some(change) if row.kind() == "values" => [short(change.largest), short(change.relative)],
                _ => [String::new(), String::new()],
            });
        }
        cells
    });
    let count = |kind: &dyn Fn(&str) -> bool| comparison.rows.iter().filter(|row| kind(row.kind())).count();
    let (added, removed) = (count(&|kind| kind == "added"), count(&|kind| kind == "removed"));
    let values = count(&|kind| kind == "values");
    let shapes = comparison.rows.len() - added - removed - values;
    let looked = if comparison.has_stats { format!(", {values} with other values") } else { String::new() };
    let same = if comparison.has_stats { "the same" } else { "of the same dtype and shape" };
    let counts = format!("{added} added, {removed} removed, {shapes} of another dtype or shape{looked}");
    Grid {
        rows: cells.collect(),
        is_number: (0..head.len()).map(|column| column >= 4).collect(),
        head,
        foot: format!("{counts}, {} {same}", comparison.same),
    }
}

pub fn comparison_json(comparison: &Comparison<'_>, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    json_head(warnings, out)?;
    write!(out, "\"same\":{},\n\"columns\":[\"name\",\"change\",\"before\",\"after\"],\n\"rows\":[", comparison.same)?;
    for (i, row) in comparison.rows.iter().enumerate() {
        out.write_all(if i > 0 { b",\n" } else { b"\n" })?;
        comparison_row(row, out)?;
    }
    out.write_all(b"]}\n")
}

fn comparison_row(row: &Compared<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"name\":")?;
    write_string(row.name(), out)?;
    write!(out, ",\"change\":\"{}\"", row.kind())?;
    for (key, tensor) in [("before", row.before), ("after", row.after)] {
        write!(out, ",\"{key}\":")?;
        match tensor {
            None => out.write_all(b"null")?,
            Some(tensor) => {
                out.write_all(b"{\"name\":")?;
                write_string(&tensor.name, out)?;
                json_tensor(tensor, out)?;
                out.write_all(b"}")?;
            }
        }
    }
    if let Some(change) = row.change {
        out.write_all(b",\"max_abs\":")?;
        json_float(change.largest, out)?;
        out.write_all(b",\"relative\":")?;
        json_float(change.relative, out)?;
    }
    out.write_all(b"}")
}

pub fn comparison_csv(comparison: &Comparison<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"name,change,dtype_before,shape_before,dtype_after,shape_after,max_abs,relative\n")?;
    for row in &comparison.rows {
        write_field(row.name(), out)?;
        write!(out, ",{}", row.kind())?;
        for tensor in [row.before, row.after] {
            let (dtype, shape) = tensor.map(|t| (t.dtype.name(), format!("{:?}", t.shape))).unwrap_or_default();
            write!(out, ",{dtype},")?;
            write_field(&shape, out)?;
        }
        match row.change {
            Some(change) => writeln!(out, ",{},{}", change.largest, change.relative)?,
            None => out.write_all(b",,\n")?,
        }
    }
    Ok(())
}

/// What a check of everything found, for people.
pub fn verdict_text(verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    for damage in &verdict.damage {
        writeln!(out, "{damage}")?;
    }
    writeln!(out, "{}", verdict_foot(verdict))
}

pub fn verdict_html(verdict: &Verdict, place: Place, out: &mut dyn Write) -> io::Result<()> {
    let cells = verdict.damage.iter().map(|damage| {
        let offset = damage.offset.map(|offset| offset.to_string()).unwrap_or_default();
        vec![damage.tensor.clone().unwrap_or_default(), damage.what.clone(), damage.file.clone(), offset]
    });
    let grid = Grid {
        head: vec!["tensor", "what is wrong", "file", "offset"],
        rows: cells.collect(),
        is_number: vec![false, false, false, true],
        foot: verdict_foot(verdict),
    };
    html::write_grid("verify", &grid, place, out)
}

fn verdict_foot(verdict: &Verdict) -> String {
    let bytes = units::text(Unit::Bytes, i64::try_from(verdict.bytes).unwrap_or(i64::MAX));
    let found = match verdict.damage.len() {
        0 => "no damage".to_owned(),
        n => plural(n, "damaged place", ""),
    };
    format!("{} with {bytes} checked: {found}", plural(verdict.tensors, "tensor", ""))
}

pub fn verdict_json(verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    let warnings: Vec<_> = verdict.damage.iter().map(Damage::warning).collect();
    json_head(&warnings, out)?;
    write!(out, "\"tensors\":{},\"bytes\":{},\"damage\":[", verdict.tensors, verdict.bytes)?;
    for (i, damage) in verdict.damage.iter().enumerate() {
        out.write_all(if i > 0 { b",\n{\"file\":" } else { b"\n{\"file\":" })?;
        write_string(&damage.file, out)?;
        match damage.offset {
            Some(offset) => write!(out, ",\"offset\":{offset},\"tensor\":")?,
            None => out.write_all(b",\"offset\":null,\"tensor\":")?,
        }
        match &damage.tensor {
            Some(tensor) => write_string(tensor, out)?,
            None => out.write_all(b"null")?,
        }
        out.write_all(b",\"message\":")?;
        write_string(&damage.what, out)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"]}\n")
}

pub fn verdict_csv(verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"file,offset,tensor,message\n")?;
    for damage in &verdict.damage {
        write_field(&damage.file, out)?;
        write!(out, ",{},", damage.offset.map(|offset| offset.to_string()).unwrap_or_default())?;
        write_field(damage.tensor.as_deref().unwrap_or_default(), out)?;
        out.write_all(b",")?;
        write_field(&damage.what, out)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Columns side by side; numbers to the right.
fn table(grid: &Grid, out: &mut dyn Write) -> io::Result<()> {
    let width = |column: usize| {
        let cells = grid.rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(grid.head[column].len())
    };
    let widths: Vec<usize> = (0..grid.head.len()).map(width).collect();
    let mut line = |cells: &[&str]| -> io::Result<()> {
        let mut text = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let width = widths[column];
            text += &if grid.is_number[column] { format!("{cell:>width$}  ") } else { format!("{cell:width$}  ") };
        }
        writeln!(out, "{}", text.trim_end())
    };
    line(&grid.head)?;
    grid.rows.iter().try_for_each(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>()))
}

fn shape_text(tensor: &Tensor) -> String {
    let dims: Vec<_> = tensor.shape.iter().map(i64::to_string).collect();
    if dims.is_empty() { "scalar".to_owned() } else { dims.join("x") }
}

fn bytes_text(tensor: &Tensor) -> String {
    tensor.bytes.map_or_else(|| "?".to_owned(), |n| units::text(Unit::Bytes, i64::try_from(n).unwrap_or(i64::MAX)))
}

/// `0`, or the first and the last of several.
fn shards_text(shards: &[u32]) -> String {
    match shards {
        [] => "-".to_owned(),
        [shard] => shard.to_string(),
        [first, .., last] => format!("{first}..{last}"),
    }
}

fn summary_cells(summary: Option<&Summary>) -> [String; 7] {
    let Some(s) = summary else { return Default::default() };
    let number = |x: f64| if s.finite == 0 { "-".to_owned() } else { short(x) };
    let zeros = units::text(Unit::Count, s.zeros as i64);
    let odd = format!("{}/{}", s.nan, s.infinite);
    [number(s.min), number(s.max), number(s.mean), number(s.deviation), zeros, odd, bar(&s.histogram)]
}

/// Four digits, and an exponent where they need one.
fn short(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-3..1e6).contains(&size) {
        let text = format!("{x:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else if x.is_finite() {
        format!("{x:.3e}")
    } else if x.is_nan() {
        "nan".to_owned()
    } else {
        x.to_string()
    }
}

/// A column of eighths for each count.
fn bar(histogram: &[u64]) -> String {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = histogram.iter().copied().max().unwrap_or(0).max(1);
    let column = |count: &u64| EIGHTHS[(u128::from(*count) * 8).div_ceil(u128::from(most)) as usize];
    histogram.iter().map(column).collect()
}

fn plural(count: usize, word: &str, of: &str) -> String {
    format!("{count}{of} {word}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers() {
        let check = |x, expect| assert_eq!(short(x), expect);
        check(0.0, "0");
        check(1.5, "1.5");
        check(-0.012_345_6, "-0.0123");
        check(1.5e-9, "1.500e-9");
        check(123_456_789.0, "1.235e8");
        check(f64::NEG_INFINITY, "-inf");
    }

    #[test]
    fn bars_show_what_is_there() {
        assert_eq!(bar(&[0, 1, 50, 100]), " ▁▄█");
        assert_eq!(bar(&[0, 0]), "  ");
    }
}
