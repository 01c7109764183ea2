//! The differences of two checkpoints.

use super::Answer;
use super::cells;
use super::json::{self, Float, TensorJson};
use crate::checkpoint::Tensor;
use crate::checkpoint::query::{ChangeKind, Comparison, ComparisonRow};
use crate::error::Warning;
use crate::render::csv::write_field;
use crate::render::fit::write_table;
use crate::render::html::{self, Container, Grid};
use serde::Serialize;
use std::io::{self, Write};

impl Answer for Comparison<'_> {
    fn text(&self, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let grid = grid(self);
        if !grid.rows.is_empty() {
            write_table(&grid.head, &grid.rows, |column| grid.is_number[column], width, out)?;
            out.write_all(b"\n")?;
        }
        writeln!(out, "{}", grid.foot)
    }

    fn json(&self, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
        let columns = r#""columns":["name","change","before","after"],"#;
        let fields = format!("\"same\":{},\n{columns}\n\"rows\"", self.same);
        json::write(warnings, &fields, self.rows.iter().map(RowJson::new), out)
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"name,change,dtype_before,shape_before,dtype_after,shape_after,max_abs,relative\n")?;
        for row in &self.rows {
            write_field(row.name(), out)?;
            write!(out, ",{}", row.kind().word())?;
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

    fn html(&self, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
        let title = format!("{} → {}", self.before.name, self.after.name);
        html::write_grid(&title, &grid(self), container, out)
    }
}

fn grid(comparison: &Comparison<'_>) -> Grid {
    let mut head = vec!["name", "change", "before", "after"];
    if comparison.has_stats {
        head.extend(["max |a-b|", "relative"]);
    }
    let rows = comparison.rows.iter().map(|row| {
        let tensor = |tensor: Option<&Tensor>| match tensor {
            Some(tensor) => format!("{} {}", tensor.dtype.name(), cells::shape(tensor)),
            None => "-".to_owned(),
        };
        let change = row.kind().word().to_owned();
        let mut cells = vec![row.label(), change, tensor(row.before), tensor(row.after)];
        if comparison.has_stats {
            cells.extend(match row.change {
                Some(change) if row.kind() == ChangeKind::Values => {
                    [cells::float(change.largest), cells::float(change.relative)]
                }
                _ => [String::new(), String::new()],
            });
        }
        cells
    });
    Grid {
        rows: rows.collect(),
        is_number: (0..head.len()).map(|column| column >= 4).collect(),
        head,
        foot: foot(comparison),
    }
}

fn foot(comparison: &Comparison<'_>) -> String {
    let count = |kind: ChangeKind| comparison.rows.iter().filter(|row| row.kind() == kind).count();
    let (added, removed) = (count(ChangeKind::Added), count(ChangeKind::Removed));
    let values = count(ChangeKind::Values);
    let shapes = comparison.rows.len() - added - removed - values;
    let (changed, same) = if comparison.has_stats {
        (format!(", {values} with other values"), "the same")
    } else {
        (String::new(), "of the same dtype and shape")
    };
    let counts = format!("{added} added, {removed} removed, {shapes} of another dtype or shape{changed}");
    format!("{counts}, {} {same}", comparison.same)
}

#[derive(Serialize)]
struct RowJson<'r> {
    name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    before_name: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#match: Option<&'static str>,
    change: &'static str,
    before: Option<TensorJson<'r>>,
    after: Option<TensorJson<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_abs: Option<Float>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relative: Option<Float>,
}

impl<'r> RowJson<'r> {
    fn new(row: &'r ComparisonRow<'_>) -> RowJson<'r> {
        RowJson {
            name: row.name(),
            before_name: row.before_name(),
            r#match: row.before_name().map(|_| row.by.word()),
            change: row.kind().word(),
            before: row.before.map(TensorJson::new),
            after: row.after.map(TensorJson::new),
            max_abs: row.change.map(|change| Float(change.largest)),
            relative: row.change.map(|change| Float(change.relative)),
        }
    }
}
