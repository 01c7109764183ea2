//! The op types that took the most time, or that have the most parameters if nothing ran:
//! `cargo run -p tfprof --example top_ops -- FILE...`
//!
//! The files may be of any format: graphs, runs, saved profiles, `XSpace` profiles, or a directory with such files.

use std::path::Path;
use tfprof::{Inputs, Metric, Options, Profiler, Question, ViewKind};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut inputs = Inputs::default();
    for path in std::env::args().skip(1) {
        inputs.add_path(Path::new(&path))?;
    }
    let mut options = Options::new().order_by(Metric::Micros).max_depth(10);
    // Read only the parts of the files that this question needs.
    let mut profiler = Profiler::new(Question::new(ViewKind::Op, &options).needs(&inputs)?);
    inputs.load(&mut profiler)?;
    if profiler.overview(&inputs)?.micros == 0 {
        options = options.select([Metric::Parameters]).order_by(Metric::Parameters);
    }
    let answer = profiler.ask(&Question::new(ViewKind::Op, &options))?;
    answer.write(&mut std::io::stdout().lock())?;
    Ok(())
}
