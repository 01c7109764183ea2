//! Parameters and FLOPs of a model, and the op types with the most FLOPs:
//! `cargo run -p tfprof --example model_cost -- saved_model.pb [BATCH]`

use std::io::Write;
use std::path::Path;
use tfprof::{Inputs, Metric, Profiler};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let mut inputs = Inputs::default();
    inputs.add_path(Path::new(&args.next().ok_or("which model?")?))?;
    inputs.settings.batch = args.next().map(|batch| batch.parse()).transpose()?;
    let mut profiler = Profiler::default();
    inputs.load(&mut profiler)?;

    let mut out = std::io::stdout().lock();
    let cost = profiler.cost()?;
    writeln!(out, "{:>14} parameters", cost.get(Metric::Parameters))?;
    writeln!(out, "{:>14} FLOPs for one batch", cost.get(Metric::FloatOps))?;
    writeln!(out, "{:>14} of {} nodes have a known cost", cost.covered(), cost.nodes)?;
    for op in cost.op_types.iter().take(10) {
        writeln!(out, "{:>14} by {} nodes of type {}", op.figures.float_ops, op.nodes, op.op)?;
    }
    for warning in &cost.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}
