//! Rows on their way out: made in one buffer that is used again, so that a number or a comma is no call of a writer.

use std::io::{self, Write};

/// How much is gathered before it is written.
const FULL: usize = 64 << 10;

/// Writes each item as `push` makes it.
pub fn write_each<'i, T: 'i>(
    items: impl IntoIterator<Item = &'i T>,
    out: &mut dyn Write,
    mut push: impl FnMut(&'i T, &mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::with_capacity(2 * FULL);
    for item in items {
        push(item, &mut text)?;
        if text.len() >= FULL {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)
}
