//! The variables of a checkpoint, each with its first values:
//! `cargo run -p tfprof --example variables -- model.ckpt-100`

use std::io::Write;
use std::path::Path;
use tfprof::Checkpoint;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which checkpoint?")?;
    let checkpoint = Checkpoint::open(Path::new(&path))?;
    let mut out = std::io::stdout().lock();
    for tensor in &checkpoint.tensors {
        let (name, dtype, shape) = (tensor.label(), tensor.dtype.name(), &tensor.shape);
        match checkpoint.first_values(tensor, 3) {
            Ok(values) => {
                let first: Vec<_> = (0..values.len()).map(|number| values.get(number)).collect();
                writeln!(out, "{name} {dtype} {shape:?}: {first:?}")?;
            }
            Err(damage) => writeln!(out, "{name} {dtype} {shape:?}: {damage}")?,
        }
    }
    for damage in &checkpoint.damage {
        writeln!(out, "{damage}")?;
    }
    Ok(())
}
