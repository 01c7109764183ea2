//! Text that fits the width of a terminal.

use super::theme::ESCAPE;
use crate::budget;
use crate::error::OneLine;
use std::io::{self, Write};
use unicode_width::UnicodeWidthChar;

/// The columns that a text takes on a terminal, where control characters are shown escaped.
pub fn width(text: &str) -> usize {
    if is_plain(text) { text.len() } else { text.chars().map(columns).sum() }
}

/// Whether each byte is a character that takes one column, as in nearly all names.
pub fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |plain, byte| plain & (b' '..=b'~').contains(&byte))
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

/// Breaks lines that are wider than the terminal between words; the rest lies under the description, or under the line.
/// Commands can still be pasted: they break with a backslash, below their comment. Code stays in one line.
pub fn wrapped(text: &[u8], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut is_code = false;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let plain = without_marks(line);
        let plain = plain.trim_end();
        is_code = plain.ends_with("to record it:") || (is_code && !plain.is_empty());
        if self::width(plain) <= width || (is_code && plain.starts_with("  ")) {
            out.extend_from_slice(line);
        } else if plain.starts_with("  tfprof ") {
            push_command(&mut out, plain, width);
        } else {
            push_wrapped(&mut out, line, under(plain, width), width);
        }
    }
    out
}

/// A command that a shell takes as one line, with its comment above or its description below.
fn push_command(out: &mut Vec<u8>, line: &str, most: usize) {
    let (command, comment) = line.split_once("  # ").unwrap_or((line, ""));
    let (command, about) = command.trim_start().split_once("  ").unwrap_or((command.trim_start(), ""));
    if !comment.is_empty() {
        push_wrapped(out, format!("  # {comment}\n").as_bytes(), 4, most);
    }
    // An option stays beside its value, and a backslash must fit, too.
    let (mut column, mut is_quoted) = (0, false);
    for (i, part) in command.split(" -").enumerate() {
        let part = if i == 0 { format!("  {part}") } else { format!(" -{part}") };
        if i > 0 && !is_quoted && column + width(&part) + " \\".len() > most {
            out.extend_from_slice(b" \\\n     ");
            column = 5;
        }
        is_quoted ^= part.matches('\'').count() % 2 == 1;
        column += width(&part);
        out.extend_from_slice(part.as_bytes());
    }
    out.push(b'\n');
    if !about.is_empty() {
        push_wrapped(out, format!("      {}\n", about.trim_start()).as_bytes(), 6, most);
    }
}

/// A column of descriptions is at least this wide.
const LEAST_COLUMN: usize = 24;

/// The column of a line's description, where its further lines begin.
fn under(line: &str, most: usize) -> usize {
    let indent = line.len() - line.trim_start().len();
    let gap = line[indent..].find("  ").map(|gap| indent + gap);
    let column = gap.map_or(indent, |at| width(&line[..at]) + line[at..].len() - line[at..].trim_start().len());
    if column + LEAST_COLUMN > most { indent + 2 } else { column }
}

fn push_wrapped(out: &mut Vec<u8>, line: &[u8], under: usize, most: usize) {
    let mut column = 0;
    for piece in line.split_inclusive(|byte| *byte == b' ') {
        let length = width(without_marks(piece).trim_end());
        if column + length > most && column > under {
            out.truncate(out.trim_ascii_end().len());
            out.push(b'\n');
            out.resize(out.len() + under, b' ');
            column = under;
        }
        out.extend_from_slice(piece);
        column += width(without_marks(piece).trim_end_matches('\n'));
    }
}

/// A text without the marks of a theme.
fn without_marks(text: &[u8]) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut in_mark = false;
    for byte in text {
        match *byte {
            ESCAPE => in_mark = true,
            b'm' if in_mark => in_mark = false,
            _ if in_mark => {}
            byte => plain.push(byte),
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Longer cells are not aligned: padding every row to one long name would multiply it.
const WIDEST: usize = 200;

/// Names are not shortened further.
const LEAST_NAME: usize = 12;

/// Writes a table in aligned columns, numbers to the right. On a terminal of some width, names in the first column are
/// shortened, and rows that still do not fit are cut. Control characters in cells are escaped: a line break would forge a
/// row.
pub fn write_table(
    head: &[&str],
    rows: &[Vec<String>],
    is_number: impl Fn(usize) -> bool,
    most: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    // It may look at all rows, so it is asked once for each column.
    let is_number: Vec<bool> = (0..head.len()).map(is_number).collect();
    let one_line = |row: &Vec<String>| {
        budget::check();
        row.iter().map(|cell| OneLine(cell).to_string()).collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(one_line).collect();
    let width_of = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).filter(|width| *width <= WIDEST).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..head.len()).map(width_of).collect();
    let whole = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
    if let (Some(most), Some(name)) = (most, widths.first_mut()) {
        *name = name.saturating_sub(whole.saturating_sub(most)).max(LEAST_NAME.min(*name));
    }
    let mut line = |cells: &[&str]| {
        let mut text = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let width = widths[column];
            let short = (column == 0 && most.is_some()).then(|| middle(cell, width));
            let cell = short.as_deref().unwrap_or(cell);
            text += &if is_number[column] { format!("{cell:>width$}  ") } else { format!("{cell:width$}  ") };
        }
        let text = text.trim_end();
        match most {
            Some(most) => writeln!(out, "{}", end(text, most)),
            None => writeln!(out, "{text}"),
        }
    };
    line(head)?;
    rows.iter().try_for_each(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>()))
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
    fn prose_breaks_between_words_and_commands_do_not() {
        let wrap = |text: &str, width| String::from_utf8(wrapped(text.as_bytes(), width)).unwrap();
        assert_eq!(wrap("  -x N      a b c d e\n", 36), "  -x N      a b c d e\n");
        assert_eq!(
            wrap("  -x N      every word of this text counts\n", 36),
            "  -x N      every word of this text\n            counts\n"
        );
        assert_eq!(wrap("one two three\n", 8), "one two\n  three\n");
        let command = "  tfprof op somewhere -select micros -order_by micros  # the slowest\n";
        assert_eq!(wrap(command, 80), command);
        assert_eq!(
            wrap(command, 40),
            "  # the slowest\n  tfprof op somewhere -select micros \\\n      -order_by micros\n"
        );
        let code = "no lines: none is loaded; to record it:\n  with open('a long file') as f:\n\n";
        assert!(wrap(code, 20).ends_with("it:\n  with open('a long file') as f:\n\n"));
        let marked = wrapped(b"\xff[1mfiles     \xff[0mone two three four five six\n", 36);
        assert!(marked.ends_with(b"[0mone two three four five\n          six\n"));
    }

    #[test]
    fn tables_fit() {
        let rows = [vec!["a/very/long/name/of/a/tensor".to_owned(), "12".to_owned()], vec!["b".into(), "3".into()]];
        let table = |most| {
            let mut out = Vec::new();
            write_table(&["name", "size"], &rows, |column| column == 1, most, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(table(None).lines().map(width).max(), Some(34));
        let short = table(Some(24));
        assert!(short.lines().all(|line| width(line) <= 24), "{short}");
        assert!(short.contains(&format!("{}    12", middle(&rows[0][0], 18))), "{short}");
        assert!(table(Some(8)).lines().all(|line| width(line) <= 8));
    }

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
