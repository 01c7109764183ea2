//! Collapsed stacks, the input of most flame graph tools: for each row with a self value, a line with the names from the
//! root and the value.

use super::nesting;
use crate::view::View;
use std::io::{self, Write};

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let boxes = nesting::boxes(view, nesting::metric(view));
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
        if nested.own > 0 {
            writeln!(out, "{path} {}", nested.own)?;
        }
    }
    Ok(())
}

/// The format has no escapes: separators are replaced by similar characters.
fn plain(c: char) -> char {
    match c {
        ';' => ',',
        c if c.is_control() => ' ',
        c => c,
    }
}
