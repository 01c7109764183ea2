//! The values of a tensor or of a part of it. There may be millions, so JSON is streamed.

use super::Answer;
use crate::checkpoint::query::SelectedValues;
use crate::error::Warning;
use crate::json;
use crate::quirks::Quirks;
use crate::render::html::{self, Place};
use crate::render::tensor;
use std::io::{self, Write};

impl Answer for SelectedValues {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", title(self))?;
        tensor::rows(&self.values, out)
    }

    fn json(&self, _: &[Warning], out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"name\":")?;
        json::write_string(&self.name, out)?;
        let (dtype, shape) = (self.values.dtype.name(), &self.values.shape);
        write!(out, ",\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"values\":")?;
        tensor::json(&self.values, out)?;
        out.write_all(b"}\n")
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        tensor::csv(&self.values, out)
    }

    fn html(&self, place: Place, out: &mut dyn Write) -> io::Result<()> {
        let text = tensor::text(&self.values, &Quirks::NONE);
        html::write_text(&title(self), &String::from_utf8_lossy(&text), place, out)
    }
}

fn title(selected: &SelectedValues) -> String {
    format!("{} ({}, {:?})", selected.name, selected.values.dtype.name(), selected.values.shape)
}
