//! What stands at the three standard streams. Nothing else in the program asks the system for it.

use std::io::{self, IsTerminal, Write};
use tfprof::render::theme::ESCAPE;

/// Which streams are a terminal; none of them unless the process says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    /// Answers on the terminal may have colour and bars.
    pub colour: bool,
}

impl Terminal {
    /// The terminal of this process. `NO_COLOR` and a dumb terminal mean no colour.
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

/// A writer in front of a terminal: names from a file move no cursor, set no title and turn no text around. Our own
/// marks, which begin with [`ESCAPE`], become sequences; control characters of a text are written out, all but the ends
/// of lines and tabs, and so are those that change the direction of writing.
#[derive(Debug)]
pub struct Guard<W> {
    out: W,
    /// The first bytes of a character that may have to be written out, the last of which has not come yet.
    begun: Vec<u8>,
    clean: Vec<u8>,
}

impl<W: Write> Guard<W> {
    pub fn new(out: W) -> Guard<W> {
        Guard { out, begun: Vec::new(), clean: Vec::new() }
    }
}

impl<W: Write> Write for Guard<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.clean.clear();
        for byte in bytes {
            match (self.begun.as_slice(), *byte) {
                ([], _) => {}
                // U+0080 to U+009F, of which some terminals take one for the beginning of a sequence.
                ([0xc2], 0x80..=0x9f)
                // Marks and overrides of direction, and the ends of lines and paragraphs.
                | ([0xe2, 0x80], 0x8e | 0x8f | 0xa8..=0xae)
                | ([0xe2, 0x81], 0xa6..=0xa9) => {
                    self.begun.push(*byte);
                    let character = String::from_utf8_lossy(&self.begun).escape_unicode().to_string();
                    self.clean.extend_from_slice(character.as_bytes());
                    self.begun.clear();
                    continue;
                }
                ([0xe2], 0x80 | 0x81) => {
                    self.begun.push(*byte);
                    continue;
                }
                _ => self.clean.append(&mut self.begun),
            }
            match *byte {
                ESCAPE => self.clean.push(0x1b),
                0xc2 | 0xe2 => self.begun.push(*byte),
                b'\n' | b'\t' => self.clean.push(*byte),
                0..0x20 | 0x7f => self.clean.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
                byte => self.clean.push(byte),
            }
        }
        self.out.write_all(&self.clean)?;
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
        // A title, a line that goes back, a one-byte sequence in UTF-8; then an ordinary letter that begins alike.
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
