//! JSON strings and warnings: the one escaper behind every JSON that is streamed by hand.

use crate::error::Warning;
use crate::words::escape_invalid;
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
    escape::<false>(text, out);
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

/// Whether a text is printable ASCII that needs no escapes.
#[inline]
pub fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| is_plain_byte(*byte))
}

#[inline]
fn is_plain_byte(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

fn escape<const ASCII: bool>(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        if is_plain_byte(byte) || (!ASCII && byte >= 0x80) {
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

/// Writes a warning as an object.
pub fn write_warning(warning: &Warning, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"code\":\"{}\",\"file\":", warning.code)?;
    match &warning.location {
        None => out.write_all(b"null,\"place\":null")?,
        Some(location) => {
            write_string(&location.file, out)?;
            match location.spot {
                None => out.write_all(b",\"place\":null")?,
                Some(Spot::Byte(byte)) => write!(out, ",\"place\":\"byte {byte}\"")?,
                Some(Spot::Line { line, column }) => write!(out, ",\"place\":\"{line}:{column}\"")?,
            }
        }
    }
    out.write_all(b",\"message\":")?;
    write_string(&warning.message, out)?;
    out.write_all(b"}")
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
    fn strings_keep_other_alphabets() {
        check(|out| push_string("é😀\"\\\n\u{8}\u{1}\u{7f}", out), "\"é😀\\\"\\\\\\n\\b\\u0001\\u007f\"");
    }
}
