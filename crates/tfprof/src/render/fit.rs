//! Text that fits the width of a terminal.

use unicode_width::UnicodeWidthChar;

/// The columns that a text takes on a terminal, where control characters are shown escaped.
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    match c {
        '\n' | '\t' | '\r' => "\\n".len(),
        c if c.is_control() => "\\u{85}".len(),
        c => c.width().unwrap_or(0),
    }
}

/// Shortens a name in the middle, so that both its scope and its last part can be read.
pub fn middle(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    // The end of a name tells more than its beginning.
    let before = room.saturating_sub(1) / 3;
    let after = room.saturating_sub(1) - before;
    let tail: String = taken(text.chars().rev(), after).chars().rev().collect();
    taken(text.chars(), before) + "…" + &tail
}

/// Cuts off the end of a text.
pub fn end(text: &str, room: usize) -> String {
    if width(text) <= room { text.to_owned() } else { taken(text.chars(), room.saturating_sub(1)) + "…" }
}

/// The characters that fit.
fn taken(text: impl Iterator<Item = char>, room: usize) -> String {
    let mut left = room;
    text.take_while(|c| {
        let fits = columns(*c) <= left;
        left = left.saturating_sub(columns(*c));
        fits
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_both_ends() {
        assert_eq!(middle("model/dense_1/MatMul", 20), "model/dense_1/MatMul");
        assert_eq!(middle("model/dense_1/MatMul", 13), "mode…1/MatMul");
        assert_eq!(middle("日本語の名前/層", 9), "日…前/層");
        assert_eq!(end("total execution time", 9), "total ex…");
        assert_eq!((middle("abc", 1), end("abc", 0)), ("…".to_owned(), "…".to_owned()));
        for room in 1..30 {
            assert!(width(&middle("a/層/\u{1b}[1m/é/日本語日本語日本語", room)) <= room);
        }
    }
}
