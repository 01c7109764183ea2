//! Tables as HTML.

use super::{Container, begin, end, grouped};
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

/// Length limit of a cell, in characters.
const CELL: usize = 300;

pub fn write_grid(title: &str, grid: &Grid, container: Container, out: &mut dyn Write) -> io::Result<()> {
    begin(title, container, out)?;
    writeln!(out, "<div class=\"title\">{}</div>", Xml(&fit(title, CELL)))?;
    let shown = grid.rows.len().min(container.most_rows());
    if shown > 0 {
        let bounded = if container == Container::Cell { " bounded" } else { "" };
        write!(out, "<div class=\"frame{bounded}\"><table><thead><tr>")?;
        let class = |column: usize| match grid.head[column] {
            "histogram" => " class=\"hist\"",
            _ if grid.is_number.get(column).copied().unwrap_or(false) => " class=\"num\"",
            _ => "",
        };
        for (column, name) in grid.head.iter().enumerate() {
            write!(out, "<th{}>{}</th>", class(column), Xml(name))?;
        }
        out.write_all(b"</tr></thead><tbody>\n")?;
        for row in &grid.rows[..shown] {
            out.write_all(b"<tr>")?;
            for (column, cell) in row.iter().enumerate().take(grid.head.len()) {
                write!(out, "<td{}>{}</td>", class(column), Xml(&fit(cell, CELL)))?;
            }
            out.write_all(b"</tr>\n")?;
        }
        out.write_all(b"</tbody></table></div>\n")?;
    }
    if shown < grid.rows.len() {
        writeln!(out, "<div class=\"more\">… {} more rows</div>", grouped(grid.rows.len() - shown))?;
    }
    writeln!(out, "<div class=\"note\">{}</div>", Xml(&grid.foot))?;
    end(container, out)
}
