//! Detects text format.

use super::source::{BLANK, LETTER, WORD, is};
use crate::schema::Message;

/// Whether a file that starts with `prefix` is text format, most likely of `message`.
///
/// A binary graph starts with a newline (the tag of its first field) and a length, which may be any character, even
/// `#`. So blanks prove nothing, and a comment must be readable. Blanks and comments alone count as text.
pub fn looks_like_text(prefix: &[u8], message: &Message) -> bool {
    let Some(rest) = skip_blanks(prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix)) else { return false };
    if rest.is_empty() {
        return !prefix.is_empty();
    }
    if !is(rest[0], LETTER) {
        // An extension or the content of an `Any`.
        return rest[0] == b'[' && is_printable(prefix);
    }
    let length = rest.iter().take_while(|byte| is(**byte, WORD)).count();
    let (name, after) = rest.split_at(length);
    let blanks = after.iter().take_while(|byte| is(**byte, BLANK)).count();
    match after.get(blanks) {
        Some(b':' | b'{' | b'<') => message.field(name).is_some() || is_printable(prefix),
        // A comment in between, or the prefix ends before it can tell.
        Some(b'#') | None => is_printable(prefix),
        Some(_) => false,
    }
}

/// The text after blanks and comments; `None` if a comment is not readable.
fn skip_blanks(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let blanks = rest.iter().take_while(|byte| is(**byte, BLANK)).count();
        rest = &rest[blanks..];
        if rest.first() != Some(&b'#') {
            return Some(rest);
        }
        let comment = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        if !is_printable(comment) {
            return None;
        }
        rest = &rest[comment.len()..];
    }
}

/// Whether bytes are readable: UTF-8, possibly cut off, without control characters except those of text.
fn is_printable(bytes: &[u8]) -> bool {
    let control = |byte: &u8| *byte == 0x7f || *byte < 0x20 && !is(*byte, BLANK);
    let utf8 = std::str::from_utf8(bytes);
    !bytes.iter().any(control) && utf8.map_or_else(|error| error.error_len().is_none(), |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{GRAPH_DEF, RUN_METADATA};

    fn check(prefix: impl AsRef<[u8]>, text: bool) {
        let prefix = prefix.as_ref();
        assert_eq!(looks_like_text(prefix, &GRAPH_DEF), text, "{}", prefix.escape_ascii());
    }

    #[test]
    fn text_is_text() {
        check("node {", true);
        check("node{name: \"x\"", true);
        check("\n\n  node <", true);
        check("# a comment\nversions: {", true);
        check("\u{feff}node {", true);
        check("something_new: 5", true);
        check("node\n{", true);
        check("node", true);
        check("[some.extension] {", true);
        // Known fields may hold raw bytes further on.
        check(b"node { name: \"\x01\xff\" }", true);
        // Words cut in two.
        check(&"# ä: ö".as_bytes()[..3], true);
        assert!(looks_like_text(b"step_stats {", &RUN_METADATA));
    }

    #[test]
    fn nothing_but_blanks_and_comments_is_text() {
        check("", false);
        check("\n", true);
        check("  # nothing here\n", true);
        check("# nothing here", true);
    }

    #[test]
    fn binary_is_not() {
        check(b"\x0a\x0a\x0a\x01a\x12\x05Const", false);
        // Lengths that are `#`, a blank or a letter.
        check(b"\x0a#\x0a\x05hello\x12\x05Const", false);
        check(b"\x0a#\x12\x05Const\x0a\x05hello", false);
        check(b"\x0a \x0a\x0chello_world:\x12\x05Const", false);
        check(b"\x0a \x0a\x05node \x12\x05Const", false);
        check(b"\x12\x00", false);
        check(b"\x0anode\x0a\x01a", false);
        check("plain words, no format", false);
        check("{\"json\": 1}", false);
        check([0x1f, 0x8b, 8, 0], false);
    }
}
