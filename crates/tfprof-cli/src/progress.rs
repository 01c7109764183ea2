//! Read progress: a bar on a terminal if reading takes long.

use crate::terminal::Terminal;
use std::cell::RefCell;
use std::io::Write;
use std::time::{Duration, Instant};
use tfprof::internal::render::theme::ESCAPE;
use tfprof::internal::units;
use tfprof::{Error, Inputs, Profiler, ReadProgress, Unit};

/// The bar appears after this time.
const DELAY: Duration = Duration::from_millis(500);

/// Clears the line and moves the cursor to its start.
const CLEAR: &[u8] = &[ESCAPE, b'[', b'G', ESCAPE, b'[', b'K'];

/// The bar is redrawn this often.
const INTERVAL: Duration = Duration::from_millis(100);

/// Loads the inputs and shows progress.
pub fn load(inputs: &Inputs, profiler: &mut Profiler, terminal: Terminal, err: &mut dyn Write) -> Result<(), Error> {
    if !terminal.stderr {
        return inputs.load(profiler);
    }
    let bar = RefCell::new(Bar { began: Instant::now(), drawn: None, err });
    let outcome = inputs.load_with(profiler, &|reading| bar.borrow_mut().tick(reading, Instant::now()));
    bar.into_inner().clear();
    outcome
}

struct Bar<'a> {
    began: Instant,
    drawn: Option<Instant>,
    err: &'a mut dyn Write,
}

impl Bar<'_> {
    fn tick(&mut self, reading: &ReadProgress<'_>, now: Instant) {
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

    fn clear(&mut self) {
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
    let name = reading.file.rsplit('/').next().unwrap_or(reading.file);
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
        let mut bar = Bar { began, drawn: None, err: &mut err };
        let reading = ReadProgress { file: "g", read: 1, total: 2 };
        bar.tick(&reading, began + Duration::from_millis(400));
        bar.clear();
        assert!(err.is_empty());
        let mut bar = Bar { began, drawn: None, err: &mut err };
        bar.tick(&reading, began + Duration::from_millis(600));
        bar.clear();
        let drawn = err.strip_prefix(CLEAR).and_then(|drawn| drawn.strip_suffix(CLEAR)).expect("cleared twice");
        assert!(drawn.starts_with(b"reading g"), "{drawn:?}");
    }
}
