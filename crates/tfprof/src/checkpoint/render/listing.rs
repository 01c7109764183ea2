//! The tensors of a checkpoint.

use super::Answer;
use super::cells::{self, plural};
use super::json::{self, Float, TensorJson};
use crate::checkpoint::query::{Listing, ListingRow, Summary};
use crate::error::Warning;
use crate::metric::Unit;
use crate::render::csv::write_field;
use crate::render::fit::write_table;
use crate::render::html::{self, Container, Grid};
use crate::units;
use serde::Serialize;
use std::io::{self, Write};

impl Answer for Listing<'_> {
    fn text(&self, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let grid = grid(self);
        write_table(&grid.head, &grid.rows, |column| grid.is_number[column], width, out)?;
        writeln!(out, "\n{}", grid.foot)
    }

    fn json(&self, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
        let columns = r#""columns":["name","dtype","shape","parameters","bytes","shard"],"#;
        json::write(warnings, &format!("{columns}\n\"rows\""), self.rows.iter().map(RowJson::new), out)
    }

    /// The columns of JSON, without the histogram. A shape is a list, too.
    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"name,dtype,shape,parameters,bytes,shard")?;
        if self.has_stats {
            out.write_all(b",min,max,mean,std,zeros,nan,inf")?;
        }
        out.write_all(b"\n")?;
        for row in &self.rows {
            write_field(&row.tensor.name, out)?;
            write!(out, ",{},", row.tensor.dtype.name())?;
            write_field(&format!("{:?}", row.tensor.shape), out)?;
            let bytes = row.tensor.bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
            let shards: Vec<_> = row.shards.iter().map(u32::to_string).collect();
            write!(out, ",{},{bytes},{}", row.tensor.parameters(), shards.join(" "))?;
            match &row.summary {
                Some(s) if s.finite > 0 => write!(out, ",{},{},{},{}", s.min, s.max, s.mean, s.deviation)?,
                _ if self.has_stats => out.write_all(b",,,,")?,
                _ => {}
            }
            match &row.summary {
                Some(s) => write!(out, ",{},{},{}", s.zeros, s.nan, s.infinite)?,
                None if self.has_stats => out.write_all(b",,,")?,
                None => {}
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn html(&self, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
        html::write_grid(&self.checkpoint.name, &grid(self), container, out)
    }
}

fn grid(listing: &Listing<'_>) -> Grid {
    let has_variables = listing.rows.iter().any(|row| row.tensor.readable.is_some());
    let mut head = vec!["name", "dtype", "shape", "parameters", "bytes", "shard"];
    if listing.has_stats {
        head.extend(["min", "max", "mean", "std", "zeros", "nan/inf", "histogram"]);
    }
    if has_variables {
        head.push("known as");
    }
    let rows = listing.rows.iter().map(|row| {
        let mut cells = vec![
            row.tensor.name.clone(),
            row.tensor.dtype.name(),
            cells::shape(row.tensor),
            units::text(Unit::Count, row.tensor.parameters()),
            row.tensor.bytes.map_or_else(|| "?".to_owned(), cells::bytes),
            shards_cell(&row.shards),
        ];
        if listing.has_stats {
            cells.extend(summary_cells(row.summary.as_ref()));
        }
        if has_variables {
            cells.push(row.tensor.readable.clone().unwrap_or_default());
        }
        cells
    });
    let is_number = |column: usize| (3..=5).contains(&column) || (listing.has_stats && (6..=11).contains(&column));
    Grid { rows: rows.collect(), is_number: (0..head.len()).map(is_number).collect(), head, foot: foot(listing) }
}

fn foot(listing: &Listing<'_>) -> String {
    let tensors = match (listing.rows.len(), listing.checkpoint.tensors.len()) {
        (shown, all) if shown == all => plural(all, "tensor"),
        (shown, all) => format!("{shown} of {all} tensor{}", if shown == 1 { "" } else { "s" }),
    };
    let parameters = listing.rows.iter().fold(0_i64, |sum, row| sum.saturating_add(row.tensor.parameters()));
    let bytes = listing.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.tensor.bytes.unwrap_or(0)));
    let (parameters, bytes) = (units::text(Unit::Count, parameters), cells::bytes(bytes));
    format!("{tensors}, {parameters} parameters, {bytes} in {}", plural(listing.checkpoint.shard_count(), "shard"))
}

/// `0`, or the first and last of several shards.
fn shards_cell(shards: &[u32]) -> String {
    match shards {
        [] => "-".to_owned(),
        [shard] => shard.to_string(),
        [first, .., last] => format!("{first}..{last}"),
    }
}

fn summary_cells(summary: Option<&Summary>) -> [String; 7] {
    let Some(s) = summary else { return Default::default() };
    let number = |x: f64| if s.finite == 0 { "-".to_owned() } else { cells::float(x) };
    let zeros = units::text(Unit::Count, s.zeros as i64);
    let non_finite = format!("{}/{}", s.nan, s.infinite);
    let histogram = cells::histogram(&s.histogram);
    [number(s.min), number(s.max), number(s.mean), number(s.deviation), zeros, non_finite, histogram]
}

#[derive(Serialize)]
struct RowJson<'r> {
    #[serde(flatten)]
    tensor: TensorJson<'r>,
    shard: ShardJson<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    readable: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<StatsJson<'r>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ShardJson<'r> {
    None,
    One(u32),
    Several(&'r [u32]),
}

#[derive(Serialize)]
struct StatsJson<'r> {
    min: Option<Float>,
    max: Option<Float>,
    mean: Option<Float>,
    std: Option<Float>,
    zeros: u64,
    nan: u64,
    inf: u64,
    histogram: &'r [u64],
}

impl<'r> RowJson<'r> {
    fn new(row: &'r ListingRow<'_>) -> RowJson<'r> {
        RowJson {
            tensor: TensorJson::new(row.tensor),
            shard: match &row.shards[..] {
                [] => ShardJson::None,
                [shard] => ShardJson::One(*shard),
                shards => ShardJson::Several(shards),
            },
            readable: row.tensor.readable.as_deref(),
            stats: row.summary.as_ref().map(StatsJson::new),
        }
    }
}

impl<'r> StatsJson<'r> {
    fn new(summary: &'r Summary) -> StatsJson<'r> {
        let number = |x: f64| (summary.finite > 0).then_some(Float(x));
        StatsJson {
            min: number(summary.min),
            max: number(summary.max),
            mean: number(summary.mean),
            std: number(summary.deviation),
            zeros: summary.zeros,
            nan: summary.nan,
            inf: summary.infinite,
            histogram: &summary.histogram,
        }
    }
}
