use std::process::ExitCode;

fn main() -> ExitCode {
    tfprof_cli::run(std::env::args_os().skip(1), &mut std::io::stdout(), &mut std::io::stderr())
}
