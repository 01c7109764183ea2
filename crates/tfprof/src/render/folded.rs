//! Collapsed stacks, the input of most flame graph tools: for each row with a self value, a line with the names from the
//! root and the value.

use super::nesting;
use crate::metric::Metric;
use crate::view::View;
use crate::words::is_deceptive;
use std::io::{self, Write};

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let metric = nesting::metric(view);
    let boxes = nesting::boxes(view, metric);
    // Of a comparison, the self value on each side, as tools for differential flame graphs read them.
    let own = view.compared().map(|_| [true, false].map(|is_before| own(view, metric, is_before)));
    let mut path = String::new();
    // Where the path of each depth ends.
    let mut ends: Vec<usize> = Vec::new();
    for (i, nested) in boxes.iter().enumerate() {
        ends.truncate(nested.depth);
        path.truncate(ends.last().copied().unwrap_or(0));
        if i > 0 {
            path.push(';');
        }
        path.extend(nesting::label(view, &boxes, i).chars().map(plain));
        ends.push(path.len());
        if let Some([before, after]) = &own {
            let (before, after) = (before[nested.row], after[nested.row]);
            if before > 0 || after > 0 {
                writeln!(out, "{path} {before} {after}")?;
            }
            continue;
        }
        if nested.own > 0 {
            writeln!(out, "{path} {}", nested.own)?;
        }
    }
    Ok(())
}

/// By row: its total on one side minus those of its children there, in whole units.
fn own(view: &View, metric: Metric, is_before: bool) -> Vec<i64> {
    let mut own = vec![0; view.rows().len()];
    for nested in nesting::boxes_of_side(view, metric, is_before) {
        own[nested.row] = nested.own.max(0);
    }
    own
}

/// The format has no escapes: separators are replaced by similar characters.
fn plain(c: char) -> char {
    match c {
        ';' => ',',
        c if c.is_control() || is_deceptive(c) => ' ',
        c => c,
    }
}
