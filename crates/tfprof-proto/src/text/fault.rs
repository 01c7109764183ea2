//! Errors of the text reader: what was expected, what was found, and where.

use super::source::{NUMBER, Source, is};
use crate::stream::{Spot, StreamError};

/// `expected …, found …` at the next token.
#[cold]
pub(super) fn expected(source: &mut Source<'_>, what: &str) -> StreamError {
    // Blanks and comments before the token, and the token itself, may lie beyond the window.
    if let Err(error) = source.peek().and_then(|_| source.want(LONGEST + 1)) {
        return StreamError::Io(error);
    }
    let found = match token(source.rest()) {
        [] => "the end of the file".to_owned(),
        token => quote(token),
    };
    StreamError::Text { spot: source.spot(), message: format!("expected {what}, found {found}") }
}

/// The same for a file that ends inside a message or list; the error says where that starts.
#[cold]
pub(super) fn unclosed(source: &mut Source<'_>, closer: u8, name: &str) -> StreamError {
    let Spot::Line { line, column } = source.spot_of_mark() else {
        return expected(source, &format!("`{}`", closer as char));
    };
    let closer = closer as char;
    expected(source, &format!("`{closer}` to close `{name}`, which was opened at {line}:{column}"))
}

/// The maximum number of bytes of a token in a message.
const LONGEST: usize = 60;

/// The token at the start of `rest`: a word, a number, a string, or any other single character.
fn token(rest: &[u8]) -> &[u8] {
    let n = match rest.first() {
        None => 0,
        Some(quote @ (b'"' | b'\'')) => {
            let end = rest[1..].iter().position(|byte| byte == quote || *byte == b'\n');
            end.map_or(rest.len(), |n| n + 1 + usize::from(rest[n + 1] == *quote))
        }
        // A minus sign belongs to the number that follows.
        Some(_) => 1 + rest[1..].iter().take_while(|byte| is(**byte, NUMBER)).count(),
    };
    let single = rest.first().is_some_and(|byte| !is(*byte, NUMBER) && !matches!(byte, b'"' | b'\'' | b'-'));
    &rest[..if single { 1 } else { n }]
}

/// A piece of the file for a one-line message.
pub(super) fn quote(token: &[u8]) -> String {
    let (shown, dots) = if token.len() > LONGEST { (&token[..LONGEST], "…") } else { (token, "") };
    let mut text = String::from("`");
    for chunk in shown.utf8_chunks() {
        // Escape control characters, but not quotes.
        for c in chunk.valid().chars() {
            if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
        }
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text.push_str(dots);
    text.push('`');
    text
}
