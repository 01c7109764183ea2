//! What stands at the three standard streams. Nothing else in the program asks the system for it.

use std::io::IsTerminal;

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
        let stdout = std::io::stdout().is_terminal();
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        Terminal {
            stdin: std::io::stdin().is_terminal(),
            stdout,
            stderr: std::io::stderr().is_terminal(),
            colour: stdout && !refused && !dumb,
        }
    }
}
