//! The look of text on a terminal: a bar for the share of a row, bold for large rows, faint for empty ones. The plain
//! theme adds nothing.

use crate::view::compare::Status;
use crate::view::{View, VisibleRow};
use std::io::{self, Write};

/// Marks around parts of a text; empty ones add nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    bars: bool,
    bar: &'static [u8],
    strong: &'static [u8],
    faint: &'static [u8],
    /// More than before, and less.
    more: &'static [u8],
    less: &'static [u8],
    end: &'static [u8],
    /// The columns of the terminal: rows are fitted to them, and numbers that are 0 throughout are dropped.
    pub(crate) width: Option<usize>,
}

/// Stands for the escape character in the output of a theme. UTF-8 never has this byte, so the writer to the terminal
/// can tell our marks from escape sequences in names.
pub const ESCAPE: u8 = 0xff;

/// The cells of a full bar.
const CELLS: usize = 8;

/// The share from which a row is bold.
const LARGE: f64 = 0.1;

impl Theme {
    pub const PLAIN: Theme =
        Theme { bars: false, bar: b"", strong: b"", faint: b"", more: b"", less: b"", end: b"", width: None };

    /// For a terminal with ANSI escape sequences, behind a writer that translates [`ESCAPE`].
    pub const COLOUR: Theme = Theme {
        bars: true,
        bar: b"\xff[36m",
        strong: b"\xff[1m",
        faint: b"\xff[2m",
        more: b"\xff[31m",
        less: b"\xff[32m",
        end: b"\xff[0m",
        width: None,
    };

    /// The columns that a bar takes.
    pub(crate) fn margin(&self) -> usize {
        if self.bars { CELLS + 1 } else { 0 }
    }

    pub fn is_plain(&self) -> bool {
        !self.bars
    }

    /// Fits rows to the columns of a terminal.
    #[must_use]
    pub fn fitting(self, width: Option<usize>) -> Theme {
        Theme { width, ..self }
    }

    /// Secondary text.
    pub(crate) fn faint(&self, out: &mut dyn Write, text: &[u8]) -> io::Result<()> {
        self.marked(self.faint, out, text)
    }

    pub(crate) fn strong(&self, out: &mut dyn Write, text: &[u8]) -> io::Result<()> {
        self.marked(self.strong, out, text)
    }

    /// A row of a comparison: faint if it does not stand out, otherwise by whether it has more or less than before.
    pub(crate) fn change(&self, status: Status, growth: i8, text: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let mark = match growth {
            _ if !status.stands_out() => self.faint,
            1 => self.more,
            -1 => self.less,
            _ => b"",
        };
        self.marked(mark, out, text)
    }

    fn marked(&self, mark: &[u8], out: &mut dyn Write, text: &[u8]) -> io::Result<()> {
        out.write_all(mark)?;
        out.write_all(text)?;
        if mark.is_empty() { Ok(()) } else { out.write_all(self.end) }
    }

    /// The bar before a row; an empty row is faint to its end.
    pub(crate) fn begin_row(&self, share: f64, out: &mut dyn Write) -> io::Result<()> {
        if !self.bars {
            return Ok(());
        }
        self.marked(self.bar, out, bar(share).as_bytes())?;
        out.write_all(b" ")?;
        out.write_all(if share > 0.0 { b"" } else { self.faint })
    }

    /// A name within a row.
    pub(crate) fn name(&self, share: f64, name: &[u8], out: &mut dyn Write) -> io::Result<()> {
        if share >= LARGE { self.strong(out, name) } else { out.write_all(name) }
    }

    pub(crate) fn end_row(&self, share: f64, out: &mut dyn Write) -> io::Result<()> {
        if self.bars && share <= 0.0 { out.write_all(self.end) } else { Ok(()) }
    }
}

/// A bar with a resolution of an eighth of a cell; every nonzero share is visible.
fn bar(share: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (PARTS.len() * CELLS) as f64).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    let drawn = "█".repeat(eighths / PARTS.len()) + PARTS[eighths % PARTS.len()];
    drawn + &" ".repeat(CELLS - eighths.div_ceil(PARTS.len()))
}

/// The share of a row in the leading metric.
pub fn share(view: &View, row: &VisibleRow) -> f64 {
    let Some(metric) = view.lead_metric() else { return 0.0 };
    let whole = view.exact_total(metric, &view.rows()[0]).n;
    if whole > 0 { view.exact_total(metric, row).n as f64 / whole as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_differ() {
        assert_eq!(bar(0.0), "        ");
        assert_eq!(bar(0.001), "▏       ");
        assert_eq!(bar(0.08), "▋       ");
        assert_eq!(bar(0.25), "██      ");
        assert_eq!(bar(0.5625), "████▌   ");
        assert_eq!(bar(1.0), "████████");
        assert_eq!(bar(7.0), "████████");
    }
}
