//! An answer as a table in Markdown, for issues, pull requests and reports: a row with its total and its own numbers.

use super::html::legend;
use super::{nesting, text, theme::Theme};
use crate::error::Spelling;
use crate::metric::Metric;
use crate::view::{Side, View};
use crate::words::is_deceptive;
use std::io::{self, Write};

/// Deeper rows are not indented further.
const INDENTED: usize = 24;

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let metrics: Vec<Metric> = view.selection.given().filter(|metric| !legend(*metric).is_empty()).collect();
    let chain = view.rules().chain;
    let mut head = vec!["name"];
    for metric in &metrics {
        head.push(legend(*metric));
        head.extend((!chain).then_some("self"));
    }
    writeln!(out, "| {} |\n|---{}|", head.join(" | "), "|---:".repeat(head.len() - 1))?;
    for (i, row) in view.rows().iter().enumerate() {
        // The root of the op view is no row of the table.
        if i == 0 && chain {
            continue;
        }
        let around = view.name(&view.rows()[row.parent]);
        let name = if i == 0 { nesting::ROOT } else { nesting::inner(view, view.name(row), around) };
        let indent = if chain { 0 } else { row.depth.min(INDENTED) };
        write!(out, "| {}{} |", "&emsp;".repeat(indent), code(name))?;
        for metric in &metrics {
            for side in [Side::Total, Side::SelfOnly].iter().take(if chain { 1 } else { 2 }) {
                let mut number = Vec::new();
                if *side == Side::Total || view.is_accounted(row) {
                    text::push_number(view.number(*side, *metric, row), *metric, &mut number);
                }
                write!(out, " {} |", String::from_utf8_lossy(&number))?;
            }
        }
        out.write_all(b"\n")?;
    }
    let mut rest = Vec::new();
    text::write_left_out(view, &Theme::PLAIN, Spelling::CommandLine, &mut rest)?;
    if rest.is_empty() { Ok(()) } else { out.write_all(b"\n").and_then(|()| out.write_all(&rest)) }
}

/// A name as code in a cell: nothing in it ends the code, the cell or the row.
pub(super) fn code(name: &str) -> String {
    let clean = |c: char| match c {
        '`' => '\'',
        c if c.is_control() || is_deceptive(c) => ' ',
        c => c,
    };
    let name: String = name.chars().map(clean).collect();
    format!("`{}`", name.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_cell() {
        assert_eq!(code("a|b`<i>`\n| c |"), "`a\\|b'<i>' \\| c \\|`");
    }
}
