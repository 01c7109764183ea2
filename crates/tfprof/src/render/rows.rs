//! Writes rows through one reused buffer, so that numbers and commas do not each call a writer.

use std::io::{self, Write};

/// The buffer is written when it holds this many bytes.
const FULL: usize = 64 << 10;

/// Writes each item in the form that `push` appends.
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
