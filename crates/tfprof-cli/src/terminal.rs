//! Which standard streams are terminals, their protection from control codes in names, and the progress bar.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use tfprof::internal::render::theme::ESCAPE;
use tfprof::internal::{units, words};
use tfprof::{ReadProgress, Unit};

/// Which streams are terminals; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    /// Text on the terminal may have colour and bars.
    pub colour: bool,
    /// The columns of standard output.
    pub width: Option<usize>,
    /// The words of views were explained before, in this shell.
    pub explained: bool,
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
            width: terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into()),
            explained: false,
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

/// The bar appears after this time.
const DELAY: Duration = Duration::from_millis(500);

/// Clears the line and moves the cursor to its start.
const CLEAR: &[u8] = &[ESCAPE, b'[', b'G', ESCAPE, b'[', b'K'];

/// The bar is redrawn this often.
const INTERVAL: Duration = Duration::from_millis(100);

/// Read progress: a bar on a terminal if reading takes long.
pub struct ProgressBar<'a> {
    began: Instant,
    drawn: Option<Instant>,
    err: &'a mut dyn Write,
}

impl<'a> ProgressBar<'a> {
    pub fn new(err: &'a mut dyn Write) -> ProgressBar<'a> {
        ProgressBar { began: Instant::now(), drawn: None, err }
    }

    pub fn tick(&mut self, reading: &ReadProgress<'_>) {
        self.tick_at(reading, Instant::now());
    }

    fn tick_at(&mut self, reading: &ReadProgress<'_>, now: Instant) {
        let due = match self.drawn {
            None => now - self.began >= DELAY,
            Some(drawn) => now - drawn >= INTERVAL,
        };
        if due {
            self.drawn = Some(now);
            // Failing to draw the bar is not an error.
            let _ = self.err.write_all(CLEAR);
            let _ = write!(self.err, "{}", line(reading, now - self.began));
            let _ = self.err.flush();
        }
    }

    pub fn clear(&mut self) {
        if self.drawn.is_some() {
            let _ = self.err.write_all(CLEAR);
            let _ = self.err.flush();
        }
    }
}

/// `reading graph.pbtxt  ━━━━━━╸      45%  121.50MB of 270.00MB  243.00MB/s`, within 79 columns.
fn line(reading: &ReadProgress<'_>, elapsed: Duration) -> String {
    let bytes = |n: u64| units::text(Unit::Bytes, n as i64);
    let rate = bytes((reading.read as f64 / elapsed.as_secs_f64().max(0.001)) as u64);
    let name = words::base_name(reading.file);
    let name: String = name.chars().take(20).collect();
    // The size of a pipe is unknown, and a file may grow while it is read.
    if reading.total < reading.read {
        return format!("reading {name}  {}  {rate}/s", bytes(reading.read));
    }
    let share = reading.read as f64 / reading.total as f64;
    let full = (share * 12.0) as usize;
    let bar = "━".repeat(full) + &" ".repeat(12 - full);
    format!(
        "reading {name}  {bar} {:3.0}%  {} of {}  {rate}/s",
        share * 100.0,
        bytes(reading.read),
        bytes(reading.total)
    )
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

    #[test]
    fn the_bar_shows_file_share_and_rate() {
        let second = Duration::from_secs(1);
        let reading = ReadProgress { file: "dump/graph.pbtxt", read: 25_000_000, total: 100_000_000 };
        assert_eq!(line(&reading, second), "reading graph.pbtxt  ━━━           25%  25.00MB of 100.00MB  25.00MB/s");
        let pipe = ReadProgress { file: "standard input", read: 5_000, total: 0 };
        assert_eq!(line(&pipe, second), "reading standard input  5.00KB  5.00KB/s");
    }

    #[test]
    fn nothing_is_drawn_in_the_first_half_second() {
        let mut err = Vec::new();
        let began = Instant::now();
        let mut bar = ProgressBar { began, drawn: None, err: &mut err };
        let reading = ReadProgress { file: "g", read: 1, total: 2 };
        bar.tick_at(&reading, began + Duration::from_millis(400));
        bar.clear();
        assert!(err.is_empty());
        let mut bar = ProgressBar { began, drawn: None, err: &mut err };
        bar.tick_at(&reading, began + Duration::from_millis(600));
        bar.clear();
        let drawn = err.strip_prefix(CLEAR).and_then(|drawn| drawn.strip_suffix(CLEAR)).expect("cleared twice");
        assert!(drawn.starts_with(b"reading g"), "{drawn:?}");
    }
}
