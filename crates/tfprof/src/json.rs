//! JSON: the escaper behind all JSON that is streamed by hand, and reports through serde.

use crate::error::{Spelling, Warning};
use crate::units::Amount;
use crate::words::{escape_invalid, is_deceptive};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::ser::{CharEscape, Formatter};
use serde_json::value::RawValue;
use std::io::{self, Write};
use tfprof_proto::stream::Spot;

/// Writes a quoted string.
pub fn write_string(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    push_string(text, &mut quoted);
    out.write_all(&quoted)
}

/// Appends a quoted string; non-ASCII text stays as it is.
pub fn push_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    if is_plain(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        escape::<false>(text, out);
    }
    out.push(b'"');
}

/// Appends a quoted string in plain ASCII, as Python's `json.dumps` does by default. Invalid UTF-8 becomes `\xNN`.
pub fn push_ascii(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    match std::str::from_utf8(text) {
        Ok(text) => escape::<true>(text, out),
        Err(_) => escape::<true>(&escape_invalid(text), out),
    }
    out.push(b'"');
}

/// Whether a text is printable ASCII that needs no escapes. Most texts are, so many bytes are looked at together.
#[inline]
pub fn is_plain(text: &[u8]) -> bool {
    let (chunks, rest) = text.as_chunks::<CHUNK>();
    let chunks_are_plain = chunks.iter().all(|chunk| !has_special(chunk));
    // The last bytes once more with those before them, unless there are too few.
    chunks_are_plain
        && match text.last_chunk() {
            Some(last) => rest.is_empty() || !has_special(last),
            None => rest.iter().all(|byte| is_plain_byte(*byte)),
        }
}

const CHUNK: usize = 16;

#[inline]
fn has_special(chunk: &[u8; CHUNK]) -> bool {
    chunk.iter().fold(0, |found, byte| found | u8::from(!is_plain_byte(*byte))) != 0
}

#[inline]
fn is_plain_byte(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

fn escape<const ASCII: bool>(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        if is_plain_byte(byte) {
            continue;
        }
        if !ASCII && byte >= 0x80 {
            if let Some(c) = deceptive(text, at) {
                out.extend_from_slice(&bytes[copied..at]);
                out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
                copied = at + c.len_utf8();
            }
            continue;
        }
        out.extend_from_slice(&bytes[copied..at]);
        copied = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => {
                // The first byte of a character escapes all of it; its other bytes are not at a boundary.
                let character = text.get(at..).and_then(|rest| rest.chars().next());
                for unit in character.iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
    out.extend_from_slice(&bytes[copied..]);
}

/// The character at a position, if it is escaped even where other text is not.
fn deceptive(text: &str, at: usize) -> Option<char> {
    // Their first bytes.
    if !matches!(text.as_bytes()[at], 0xc2 | 0xd8 | 0xe2) {
        return None;
    }
    text[at..].chars().next().filter(|c| is_deceptive(*c))
}

/// Writes a warning as an object.
pub fn write_warning(warning: &Warning, out: &mut dyn Write) -> io::Result<()> {
    write_value(warning, &[], out)
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            code: &'a str,
            file: Option<&'a str>,
            place: Option<String>,
            message: String,
        }
        let place = self.location.as_ref().and_then(|location| location.spot).map(|spot| match spot {
            Spot::Byte(byte) => format!("byte {byte}"),
            Spot::Line { line, column } => format!("{line}:{column}"),
        });
        let file = self.location.as_ref().map(|location| location.file.as_str());
        Fields { code: self.code, file, place, message: self.message(Spelling::CommandLine) }.serialize(serializer)
    }
}

/// Serializes picoseconds as exact microseconds.
pub fn picos_as_micros<S: Serializer>(picos: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    let micros = Amount { n: *picos, parts: 1_000_000 }.to_string();
    RawValue::from_string(micros).map_err(S::Error::custom)?.serialize(serializer)
}

/// The same where there may be none.
pub fn maybe_picos_as_micros<S: Serializer>(picos: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    match picos {
        Some(picos) => picos_as_micros(picos, serializer),
        None => serializer.serialize_none(),
    }
}

/// Where lines begin within objects of one level: before these keys, and before each element of these lists.
#[derive(Debug)]
pub struct Level {
    pub keys: &'static [&'static str],
    pub rows: &'static [&'static str],
}

/// Writes a report as an object and a newline. `levels` are those of its objects, the outermost first; the rest is
/// compact.
pub fn write_report(report: &impl Serialize, levels: &'static [Level], out: &mut dyn Write) -> io::Result<()> {
    write_value(report, levels, out)?;
    out.write_all(b"\n")
}

fn write_value(value: &impl Serialize, levels: &'static [Level], out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    let lines = Lines { levels, depth: 0, key_pending: false, rows_follow: false, lists: Vec::new() };
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, lines))?;
    out.write_all(&text)
}

/// Writes a part of a string in which serde has escaped nothing: the characters that it lets through and we do not.
pub fn write_fragment<W: ?Sized + Write>(fragment: &str, out: &mut W) -> io::Result<()> {
    if is_plain(fragment.as_bytes()) {
        return out.write_all(fragment.as_bytes());
    }
    let mut escaped = Vec::with_capacity(fragment.len() + 16);
    escape::<false>(fragment, &mut escaped);
    out.write_all(&escaped)
}

/// Lays out serde's JSON in lines.
struct Lines {
    levels: &'static [Level],
    /// The number of objects around.
    depth: usize,
    /// A key follows; its opening quote is still to be written, perhaps on a new line.
    key_pending: bool,
    /// The value of the last key is a list of rows.
    rows_follow: bool,
    /// For each list around, whether its elements begin lines.
    lists: Vec<bool>,
}

impl Lines {
    /// Opens the pending key, whose text is known now.
    fn open_key<W: ?Sized + Write>(&mut self, key: &str, out: &mut W) -> io::Result<()> {
        if !std::mem::take(&mut self.key_pending) {
            return Ok(());
        }
        let level = self.levels.get(self.depth.wrapping_sub(1));
        self.rows_follow = level.is_some_and(|level| level.rows.contains(&key));
        let begins_line = level.is_some_and(|level| level.keys.contains(&key));
        out.write_all(if begins_line { b"\n\"" } else { b"\"" })
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.lists.push(std::mem::take(&mut self.rows_follow));
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.lists.pop();
        out.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"" } else { b"," })?;
        out.write_all(if self.lists.last() == Some(&true) { b"\n" } else { b"" })
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.key_pending = true;
        out.write_all(if first { b"" } else { b"," })
    }

    fn begin_string<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.key_pending { Ok(()) } else { out.write_all(b"\"") }
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        self.open_key(fragment, out)?;
        write_fragment(fragment, out)
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        self.open_key("", out)?;
        serde_json::ser::CompactFormatter.write_char_escape(out, escape)
    }

    fn end_string<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open_key("", out)?;
        out.write_all(b"\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(push: impl FnOnce(&mut Vec<u8>), expect: &str) {
        let mut out = Vec::new();
        push(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn ascii_strings() {
        check(|out| push_ascii(b"a/b<c>:0", out), r#""a/b<c>:0""#);
        check(|out| push_ascii(b"\"\\\n\t\x01\x7f", out), r#""\"\\\n\t\u0001\u007f""#);
        check(|out| push_ascii("é😀𝄞.".as_bytes(), out), r#""\u00e9\ud83d\ude00\ud834\udd1e.""#);
        check(|out| push_ascii(b"\xff", out), r#""\\xff""#);
    }

    #[test]
    fn a_special_byte_is_found_anywhere() {
        for length in 0..70 {
            let plain = vec![b'~'; length];
            assert!(is_plain(&plain), "{length}");
            for (at, byte) in (0..length).flat_map(|at| [b'"', b'\\', 0x1f, 0x7f, 0x80, 0xff].map(|byte| (at, byte))) {
                let mut text = plain.clone();
                text[at] = byte;
                assert!(!is_plain(&text), "{byte} at {at} of {length}");
            }
        }
    }

    #[test]
    fn strings_keep_other_alphabets() {
        check(|out| push_string("é😀\"\\\n\u{8}\u{1}\u{7f}", out), "\"é😀\\\"\\\\\\n\\b\\u0001\\u007f\"");
    }

    #[test]
    fn reports_are_laid_out_in_lines() {
        #[derive(Serialize)]
        struct Report {
            version: u32,
            rows: Vec<Row>,
            end: Vec<u32>,
        }
        #[derive(Serialize)]
        struct Row {
            rows: Vec<u32>,
            name: &'static str,
        }
        const LINES: &[Level] = &[Level { keys: &["rows", "end"], rows: &["rows"] }];
        let row = |name| Row { rows: vec![1, 2], name };
        let report = Report { version: 1, rows: vec![row("\u{7f}\n"), row("")], end: vec![3] };
        let expect = "{\"version\":1,\n\"rows\":[\n{\"rows\":[1,2],\"name\":\"\\u007f\\n\"},\n\
                      {\"rows\":[1,2],\"name\":\"\"}],\n\"end\":[3]}\n";
        check(|out| write_report(&report, LINES, out).unwrap(), expect);
    }
}
