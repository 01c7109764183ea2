//! Which standard streams are terminals, and protection of terminals from control codes in names.

use std::io::{self, IsTerminal, Write};
use tfprof::internal::render::theme::ESCAPE;

/// Which streams are terminals; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    /// Text on the terminal may have colour and bars.
    pub colour: bool,
}

impl Terminal {
    /// The terminals of this process. `NO_COLOR` and a dumb terminal turn colour off.
    pub fn of_process() -> Terminal {
        let stdout = io::stdout().is_terminal();
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        Terminal {
            stdin: io::stdin().is_terminal(),
            stdout,
            stderr: io::stderr().is_terminal(),
            colour: stdout && !refused && !dumb,
        }
    }
}

/// Escapes control characters and changes of text direction on the way to a terminal, so that names in a file cannot
/// move the cursor or set the title. Newlines and tabs pass. Our own sequences start with [`ESCAPE`] and pass, too.
#[derive(Debug)]
pub struct Guard<W> {
    out: W,
    /// The first bytes of an incomplete character that may need escaping.
    partial: Vec<u8>,
    escaped: Vec<u8>,
}

impl<W: Write> Guard<W> {
    pub fn new(out: W) -> Guard<W> {
        Guard { out, partial: Vec::new(), escaped: Vec::new() }
    }
}

impl<W: Write> Write for Guard<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.escaped.clear();
        for byte in bytes {
            match (self.partial.as_slice(), *byte) {
                ([], _) => {}
                // U+0080 to U+009F: some terminals accept U+009B as the start of a sequence.
                ([0xc2], 0x80..=0x9f)
                // Direction marks and overrides, line and paragraph separators.
                | ([0xe2, 0x80], 0x8e | 0x8f | 0xa8..=0xae)
                | ([0xe2, 0x81], 0xa6..=0xa9) => {
                    self.partial.push(*byte);
                    let character = String::from_utf8_lossy(&self.partial).escape_unicode().to_string();
                    self.escaped.extend_from_slice(character.as_bytes());
                    self.partial.clear();
                    continue;
                }
                ([0xe2], 0x80 | 0x81) => {
                    self.partial.push(*byte);
                    continue;
                }
                _ => self.escaped.append(&mut self.partial),
            }
            match *byte {
                ESCAPE => self.escaped.push(0x1b),
                0xc2 | 0xe2 => self.partial.push(*byte),
                b'\n' | b'\t' => self.escaped.push(*byte),
                0..0x20 | 0x7f => self.escaped.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
                byte => self.escaped.push(byte),
            }
        }
        self.out.write_all(&self.escaped)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_emit_no_control_codes() {
        let mut guard = Guard::new(Vec::new());
        // A title, a carriage return, a one-byte sequence in UTF-8, and a letter that starts with the same byte.
        for piece in ["a\x1b]0;t\x07", "b\r\x7f", "\u{9b}31m\t\u{a9}\n", "\u{202e}\u{2030}\u{2066}\u{2578}\u{e9}"] {
            guard.write_all(piece.as_bytes()).unwrap();
        }
        for byte in [ESCAPE, b'[', b'1', b'm', 0xc2, 0x85] {
            guard.write_all(&[byte]).unwrap();
        }
        let text = String::from_utf8(guard.out).unwrap();
        assert_eq!(
            text,
            "a\\x1b]0;t\\x07b\\x0d\\x7f\\u{9b}31m\t\u{a9}\n\\u{202e}\u{2030}\\u{2066}\u{2578}\u{e9}\x1b[1m\\u{85}"
        );
    }
}
