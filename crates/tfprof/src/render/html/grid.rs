//! Tables as HTML.

use super::{Container, begin, end, grouped, write_prose};
use crate::render::direction::is_gradient_scope;
use crate::render::markup::{Xml, fit};
use std::io::{self, Write};

/// A table of text with a line below it.
#[derive(Debug, Default)]
pub struct Grid {
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
    /// By column: numbers are right-aligned.
    pub is_number: Vec<bool>,
    pub foot: String,
}

/// Length limits in characters: a cell, a finding.
const CELL: usize = 300;
const PROSE: usize = 20_000;
/// The head of a column with whole sentences, in which commands are links.
pub const FINDING: &str = "finding";

/// Writes one table.
pub fn write_grid(title: &str, grid: &Grid, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    begin(title, container, out)?;
    write_table(grid, container, out)?;
    end(container, out)
}

/// Writes a table as a part of a page.
pub fn write_table(grid: &Grid, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    let shown = grid.rows.len().min(container.most_rows());
    if shown > 0 {
        write!(out, "<div class=\"frame{}\"><table><thead><tr>", container.bounded())?;
        let class = |column: usize| match grid.head[column] {
            "histogram" => "hist",
            FINDING => "wide",
            _ if grid.is_number.get(column).copied().unwrap_or(false) => "num",
            _ => "",
        };
        for (column, name) in grid.head.iter().enumerate() {
            write!(out, "<th{}>{}</th>", Class(class(column)), Xml(name))?;
        }
        out.write_all(b"</tr></thead><tbody>\n")?;
        for row in &grid.rows[..shown] {
            out.write_all(b"<tr>")?;
            let colour = if row.first().is_some_and(|name| is_gradient_scope(name)) { "grad" } else { "count" };
            for (column, cell) in row.iter().enumerate().take(grid.head.len()) {
                write_cell(class(column), cell, colour, container, out)?;
            }
            out.write_all(b"</tr>\n")?;
        }
        out.write_all(b"</tbody></table></div>\n")?;
    }
    if shown < grid.rows.len() {
        writeln!(out, "<div class=\"more\">… {} more rows</div>", grouped(grid.rows.len() - shown))?;
    }
    if grid.foot.is_empty() { Ok(()) } else { writeln!(out, "<div class=\"note\">{}</div>", Xml(&grid.foot)) }
}

fn write_cell(class: &str, cell: &str, colour: &str, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    if class == "wide" {
        write!(out, "<td class=\"wide\">")?;
        write_prose(&fit(cell, PROSE), container, out)?;
        return out.write_all(b"</td>");
    }
    // A share has a bar.
    let share: Option<f64> = cell.strip_suffix('%').and_then(|share| share.parse().ok());
    if let Some(share) = share.filter(|_| class == "num") {
        let share = share.clamp(0.0, 100.0);
        return write!(
            out,
            "<td class=\"num b\" style=\"--bar:var(--{colour});--p:{share:.1}%\">{}</td>",
            Xml(&fit(cell, CELL))
        );
    }
    write!(out, "<td{}>{}</td>", Class(class), Xml(&fit(cell, CELL)))
}

/// The attribute of a class; nothing if there is none.
struct Class<'a>(&'a str);

impl std::fmt::Display for Class<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " class=\"{}\"", self.0) }
    }
}
