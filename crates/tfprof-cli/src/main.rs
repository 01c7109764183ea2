mod closed;

use std::io::Write;
use std::process::ExitCode;
use tfprof::CountingAllocator;
use tfprof_cli::Terminal;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    tfprof::exit_when_refused();
    tfprof_cli::own_process();
    let words = std::env::args_os().skip(1);
    let (mut open, mut closed) = (std::io::stdout(), closed::ClosedStream);
    let out: &mut dyn Write = if closed::stdout_was_closed() { &mut closed } else { &mut open };
    tfprof_cli::run(words, Terminal::of_process(), out, &mut std::io::stderr())
}
