use std::process::ExitCode;
use tfprof_cli::Terminal;

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1);
    tfprof_cli::run(words, Terminal::of_process(), &mut std::io::stdout(), &mut std::io::stderr())
}
