//! Skips values by their brackets and quotes alone.

use super::fault::{expected, unclosed};
use super::source::{NUMBER, STRUCTURE, Source, is};
use super::string;
use crate::stream::StreamError;

/// Skips the value of the field `name`, whose name was just read.
///
/// `closers` is scratch space for the open brackets.
pub(super) fn value(source: &mut Source<'_>, name: &str, closers: &mut Vec<u8>) -> Result<(), StreamError> {
    let colon = source.eat(b':')?;
    match source.peek()? {
        Some(b'{' | b'<' | b'[') => brackets(source, name, closers),
        _ if !colon => Err(expected(source, &format!("`:` or `{{` after `{name}`"))),
        Some(b'"' | b'\'') => string::skip(source),
        Some(b'-') => {
            source.advance(1);
            source.peek()?;
            word(source, name)
        }
        _ => word(source, name),
    }
}

/// Skips a number or a name.
fn word(source: &mut Source<'_>, name: &str) -> Result<(), StreamError> {
    let mut length = source.run(0, NUMBER)?;
    if length == 0 {
        return Err(expected(source, &format!("a value after `{name}:`")));
    }
    source.want(length + 1)?;
    // The exponent of `1e-5`; `0xe-5` is skipped, too.
    if let ([.., b'e' | b'E'], Some(b'+' | b'-')) = (&source.rest()[..length], source.rest().get(length)) {
        length = source.run(length + 1, NUMBER)?;
    }
    source.advance(length);
    Ok(())
}

/// Skips a message or a list, up to its end.
fn brackets(source: &mut Source<'_>, name: &str, closers: &mut Vec<u8>) -> Result<(), StreamError> {
    source.mark();
    closers.clear();
    loop {
        let rest = source.rest();
        let Some(n) = rest.iter().position(|byte| is(*byte, STRUCTURE)) else {
            source.advance(rest.len());
            if source.more()? {
                continue;
            }
            return Err(unclosed(source, closers.first().copied().unwrap_or(b'}'), name));
        };
        let byte = rest[n];
        source.advance(n);
        match byte {
            b'{' => closers.push(b'}'),
            b'<' => closers.push(b'>'),
            b'[' => closers.push(b']'),
            b'#' => {
                source.peek()?;
                continue;
            }
            b'"' | b'\'' => {
                source.advance(1);
                string::skip_one(source, byte)?;
                continue;
            }
            closer => match closers.pop() {
                Some(open) if open == closer => {}
                open => {
                    let open = char::from(open.unwrap_or(b'}'));
                    return Err(expected(source, &format!("`{open}` within `{name}`")));
                }
            },
        }
        source.advance(1);
        if closers.is_empty() {
            source.unmark();
            return Ok(());
        }
    }
}
