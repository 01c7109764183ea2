//! `tfprof run SCRIPT`: hands over to the Python package, which records the script from within.

use super::Exit;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, ExitCode};

/// The interpreters to try: that of an active virtual environment is first in the path.
const INTERPRETERS: [&str; 2] = ["python3", "python"];

/// Runs `python3 -m tfprof run WORDS…`. The words belong to the script, so this parses none.
pub fn run(words: &[OsString], err: &mut dyn Write) -> ExitCode {
    for interpreter in INTERPRETERS {
        match has_package(interpreter) {
            Err(_) => {}
            Ok(false) => {
                let message = format!("{interpreter} does not have the Python package tfprof, which records scripts");
                return failed(err, &format!("{message}; type {interpreter} -m pip install tfprof"));
            }
            Ok(true) => {
                let status = Command::new(interpreter).args(["-m", "tfprof", "run"]).args(words).status();
                // A script that a signal ended has no code of its own.
                return match status {
                    Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
                    Err(error) => failed(err, &format!("cannot start {interpreter}: {error}")),
                };
            }
        }
    }
    failed(err, "tfprof run needs Python, and neither python3 nor python is in the path")
}

/// Whether an interpreter can import the package; an error if there is no such interpreter.
fn has_package(interpreter: &str) -> io::Result<bool> {
    let probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('tfprof') is None)";
    Ok(Command::new(interpreter).args(["-c", probe]).status()?.success())
}

fn failed(err: &mut dyn Write, message: &str) -> ExitCode {
    // Ignore a closed standard error.
    let _ = writeln!(err, "tfprof: {message}");
    ExitCode::from(Exit::CouldNotAnswer as u8)
}
