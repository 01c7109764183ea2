//! Writes the answers to questions about checkpoints as text tables, JSON, CSV and HTML.

mod cells;
mod comparison;
mod json;
mod listing;

use crate::checkpoint::Damage;
use crate::checkpoint::query::{SelectedValues, Verdict};
use crate::error::{OneLine, Warning};
use crate::json::write_string;
use crate::quirks::Quirks;
use crate::render::csv::write_field;
use crate::render::html::{self, Container, Grid};
use crate::render::tensor;
use cells::plural;
use serde::Serialize;
use std::io::{self, Write};

/// An answer that can be written in every form.
pub trait Answer {
    /// `width` is that of a terminal.
    fn text(&self, width: Option<usize>, out: &mut dyn Write) -> io::Result<()>;
    fn json(&self, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()>;
    fn csv(&self, out: &mut dyn Write) -> io::Result<()>;
    fn html(&self, container: Container<'_>, out: &mut dyn Write) -> io::Result<()>;
}

impl Answer for Verdict {
    fn text(&self, _: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        for damage in &self.damage {
            writeln!(out, "{damage}")?;
        }
        writeln!(out, "{}", foot(self))
    }

    /// The warnings are the damage itself.
    fn json(&self, _: &[Warning], out: &mut dyn Write) -> io::Result<()> {
        let warnings: Vec<_> = self.damage.iter().map(Damage::warning).collect();
        let fields = format!("\"tensors\":{},\"bytes\":{},\"damage\"", self.tensors, self.bytes);
        json::write(&warnings, &fields, self.damage.iter().map(DamageJson::new), out)
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"file,offset,tensor,message\n")?;
        for damage in &self.damage {
            write_field(&damage.file, out)?;
            write!(out, ",{},", damage.offset.map(|offset| offset.to_string()).unwrap_or_default())?;
            write_field(damage.tensor.as_deref().unwrap_or_default(), out)?;
            out.write_all(b",")?;
            write_field(&damage.what, out)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn html(&self, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
        let rows = self.damage.iter().map(|damage| {
            let offset = damage.offset.map(|offset| offset.to_string()).unwrap_or_default();
            vec![damage.tensor.clone().unwrap_or_default(), damage.what.clone(), damage.file.clone(), offset]
        });
        let grid = Grid {
            head: vec!["tensor", "what is wrong", "file", "offset"],
            rows: rows.collect(),
            is_number: vec![false, false, false, true],
            foot: foot(self),
        };
        html::write_grid("verify", &grid, container, out)
    }
}

fn foot(verdict: &Verdict) -> String {
    let found = match verdict.damage.len() {
        0 => "no damage".to_owned(),
        n => plural(n, "damaged place"),
    };
    format!("{} with {} checked: {found}", plural(verdict.tensors, "tensor"), cells::bytes(verdict.bytes))
}

#[derive(Serialize)]
struct DamageJson<'d> {
    file: &'d str,
    offset: Option<u64>,
    tensor: Option<&'d str>,
    message: &'d str,
}

impl DamageJson<'_> {
    fn new(damage: &Damage) -> DamageJson<'_> {
        let Damage { file, offset, tensor, what, .. } = damage;
        DamageJson { file, offset: *offset, tensor: tensor.as_deref(), message: what }
    }
}

impl Answer for SelectedValues {
    fn text(&self, _: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", OneLine(&title(self)))?;
        tensor::rows(&self.values, out)
    }

    fn json(&self, _: &[Warning], out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"name\":")?;
        write_string(&self.name, out)?;
        let (dtype, shape) = (self.values.dtype.name(), &self.values.shape);
        write!(out, ",\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"values\":")?;
        tensor::json(&self.values, out)?;
        out.write_all(b"}\n")
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        tensor::csv(&self.values, out)
    }

    fn html(&self, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
        let text = tensor::text(&self.values, &Quirks::NONE);
        html::write_text(&title(self), &String::from_utf8_lossy(&text), container, out)
    }
}

fn title(selected: &SelectedValues) -> String {
    format!("{} ({}, {:?})", selected.name, selected.values.dtype.name(), selected.values.shape)
}
