//! Writes the answers to questions about checkpoints as text tables, JSON, CSV and HTML.

mod cells;
mod comparison;
mod json;
mod listing;
mod values;
mod verdict;

use crate::error::Warning;
use crate::render::html::Place;
use std::io::{self, Write};

/// An answer that can be written in every form.
pub trait Answer {
    fn text(&self, out: &mut dyn Write) -> io::Result<()>;
    fn json(&self, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()>;
    fn csv(&self, out: &mut dyn Write) -> io::Result<()>;
    fn html(&self, place: Place, out: &mut dyn Write) -> io::Result<()>;
}
