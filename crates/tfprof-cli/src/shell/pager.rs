//! Sends answers that do not fit on the screen through a pager.

use crate::signals;
use crate::terminal::Guard;
use signal_hook::consts::SIGINT;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The pager program.
#[derive(Clone, Debug)]
pub struct Pager {
    /// For the system's shell; empty means none.
    command: String,
    /// Whether Ctrl-C ends this program. While a pager is up, it is the pager's.
    ctrl_c_ends: Arc<AtomicBool>,
}

impl Pager {
    /// For scripts, in which Ctrl-C is left to the system.
    pub fn of_script() -> Pager {
        Pager { command: String::new(), ctrl_c_ends: Arc::new(AtomicBool::new(true)) }
    }

    /// Another command, under the same Ctrl-C.
    pub fn with(&self, command: String) -> Pager {
        Pager { command, ctrl_c_ends: Arc::clone(&self.ctrl_c_ends) }
    }

    pub fn command(&self) -> &str {
        &self.command
    }

    /// `$PAGER`, else `less -R`.
    pub fn of_process() -> Pager {
        let command = std::env::var("PAGER").unwrap_or_else(|_| "less -R".to_owned());
        let ctrl_c_ends = Arc::new(AtomicBool::new(true));
        // If this fails, Ctrl-C in a pager ends us as well: a nuisance, but harmless.
        let _ = signal_hook::flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&ctrl_c_ends));
        Pager { command: command.trim().to_owned(), ctrl_c_ends }
    }

    /// Starts the command; the caller says when it has [`ended`](Pager::ended).
    pub fn start(&self) -> io::Result<(Child, ChildStdin)> {
        self.ctrl_c_ends.store(false, Ordering::SeqCst);
        signals::hold();
        let child = Command::new("sh").arg("-c").arg(&self.command).stdin(Stdio::piped()).spawn();
        let started = child.and_then(|mut child| {
            let stdin = child.stdin.take().ok_or_else(|| io::Error::other("it cannot be written to"))?;
            Ok((child, stdin))
        });
        if started.is_err() {
            self.ctrl_c_ends.store(true, Ordering::SeqCst);
            signals::release(true);
        }
        started
    }

    /// Runs something that looks at [`signals::is_waiting`]: Ctrl-C stops it, and does not end this program.
    pub fn keep_ctrl_c<T>(&self, run: impl FnOnce() -> T) -> T {
        self.ctrl_c_ends.store(false, Ordering::SeqCst);
        signals::hold();
        let outcome = run();
        self.ended();
        outcome
    }

    pub fn ended(&self) {
        self.ctrl_c_ends.store(true, Ordering::SeqCst);
        signals::release(true);
    }
}

/// Buffers an answer until it is clear whether it fits.
pub struct Screen<'a> {
    out: &'a mut dyn Write,
    pager: Pager,
    /// The size of the terminal in lines and columns; `None` if unknown.
    size: Option<(usize, usize)>,
    held: Vec<u8>,
    lines: usize,
    column: usize,
    /// The pager, and what it reads.
    child: Option<(Child, Guard<ChildStdin>)>,
    /// The answer goes straight to the terminal.
    direct: bool,
}

impl<'a> Screen<'a> {
    /// `size` is columns and rows.
    pub fn new(out: &'a mut dyn Write, size: Option<(u16, u16)>, pager: Pager) -> Screen<'a> {
        let size = size.map(|(columns, rows)| (usize::from(rows), usize::from(columns)));
        let direct = pager.command.is_empty() || size.is_none();
        Screen { out, pager, size, held: Vec::new(), lines: 0, column: 0, child: None, direct }
    }

    fn is_full(&mut self, bytes: &[u8]) -> bool {
        let (rows, columns) = self.size.unwrap_or((usize::MAX, usize::MAX));
        for byte in bytes {
            if *byte == b'\n' {
                self.lines += 1 + self.column.saturating_sub(1) / columns.max(1);
                self.column = 0;
            } else if byte & 0xc0 != 0x80 {
                // Escape sequences count as well: a page too many is better than half an answer.
                self.column += 1;
            }
        }
        // The prompt needs a line, too.
        self.lines + 1 > rows
    }

    /// Writes the rest and waits for the pager.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some((mut child, stdin)) = self.child.take() {
            drop(stdin);
            let ended = child.wait();
            self.pager.ended();
            return ended.map(drop);
        }
        self.out.write_all(&self.held)?;
        self.out.flush()
    }
}

impl Write for Screen<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some((_, stdin)) = &mut self.child {
            return stdin.write(bytes);
        }
        if self.direct {
            return self.out.write(bytes);
        }
        self.held.extend_from_slice(bytes);
        if self.is_full(bytes) {
            let held = std::mem::take(&mut self.held);
            match self.pager.start() {
                Ok((child, stdin)) => {
                    let mut stdin = Guard::new(stdin);
                    let written = stdin.write_all(&held);
                    self.child = Some((child, stdin));
                    written?;
                }
                Err(_) => {
                    self.direct = true;
                    self.out.write_all(&held)?;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.child {
            Some((_, stdin)) => stdin.flush(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: u16, text: &str, command: &str) -> String {
        let mut out = Vec::new();
        let pager = Pager { command: command.to_owned(), ctrl_c_ends: Arc::default() };
        let mut screen = Screen::new(&mut out, Some((10, rows)), pager);
        screen.write_all(text.as_bytes()).unwrap();
        screen.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn short_text_is_printed_directly() {
        assert_eq!(shown(4, "a\nb\nc\n", "false"), "a\nb\nc\n");
        assert_eq!(shown(3, "a\nb\nc\n", ""), "a\nb\nc\n");
    }

    #[test]
    fn long_text_goes_through_the_pager() {
        let dir = std::env::temp_dir().join(format!("tfprof-pager-{}", std::process::id()));
        let file = dir.display().to_string();
        assert_eq!(shown(3, "a\nb\nc\n", &format!("cat > {file}")), "");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\nb\nc\n");
        // A line longer than the screen is wide takes more than one.
        assert_eq!(shown(3, "0123456789abcdefghij\nx\n", &format!("cat > {file}")), "");
        std::fs::remove_file(&file).unwrap();
    }
}
