//! The command line: parses a request, runs its command, and returns an exit code.
//!
//! The binary only calls [`run`], and so does the `tfprof` command of the Python package.

mod commands;
mod flags;
mod shell;
mod signals;
pub mod target;
mod terminal;

pub use commands::demo::Sample;
pub use commands::run;
pub use commands::stubs::python_type;
pub use signals::own_process;
pub use terminal::Terminal;

/// Whether the shell can parse a line. For fuzzing.
#[cfg(fuzzing)]
pub fn understands_line(line: &str) -> bool {
    flags::parse_line(line, &tfprof::Options::default(), Terminal::default()).is_ok()
}
