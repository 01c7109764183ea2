use std::process::ExitCode;
use tfprof::CountingAllocator;
use tfprof_cli::Terminal;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    tfprof::exit_when_refused();
    tfprof_cli::own_process();
    let words = std::env::args_os().skip(1);
    tfprof_cli::run(words, Terminal::of_process(), &mut std::io::stdout(), &mut std::io::stderr())
}
