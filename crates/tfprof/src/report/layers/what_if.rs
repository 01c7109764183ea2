//! `whatif`: the least time, the memory and the cost of a step at another batch size, precision or device, by roofline. Each
//! op takes its FLOPs or its bytes at the peak, whichever is longer, and no op waits for another.

use super::memory::Memory;
use super::schedule::Schedule;
use crate::hardware::{Ceiling, Precision};
use crate::metric::Metric;
use crate::model::Model;
use crate::model::dtype::DType;
use crate::options::Step;
use crate::quirks::Quirks;
use crate::view::values::Values;
use serde::Serialize;
use std::sync::Arc;

/// A case of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Case {
    pub batch: Option<i64>,
    pub device: String,
    pub float_ops: i64,
    pub io_bytes: i64,
    /// Nodes of unknown cost, which count as nothing.
    pub unknown_ops: i64,
    /// The least time of a step, in microseconds, and of it the time at the peak of each kind.
    pub micros: Option<f64>,
    pub compute_micros: Option<f64>,
    pub memory_micros: Option<f64>,
    /// The share of the time in ops that are bound by compute.
    pub compute_bound: Option<f64>,
    pub per_second: Option<f64>,
    pub memory: Memory,
}

/// Computes a case from a model that was inferred at its batch size. With a `precision`, numbers of float32 have its size
/// and its FLOP/s.
pub fn case(model: &Arc<Model>, device: &str, ceiling: &Ceiling, precision: Option<Precision>) -> Case {
    let values = Values::new(model, Step::Average, Quirks::NONE);
    let shrink = precision.map_or(1.0, |precision| precision.bytes() as f64 / 4.0);
    let asked = precision.unwrap_or(Precision::F32);
    let (mut float_ops, mut io_bytes, mut unknown_ops) = (0_i64, 0_i64, 0_i64);
    let (mut least, mut compute, mut memory, mut bound) = (0.0, 0.0, 0.0, 0.0);
    for node in model.nodes.all().filter(|node| model.costs.get(*node).counted) {
        let costs = model.costs.get(node);
        let row = values.row(node);
        unknown_ops = unknown_ops.saturating_add(row[Metric::UnknownOps as usize]);
        let flops = costs.float_ops.saturating_mul(costs.runs);
        let bytes = costs.io_bytes.saturating_mul(costs.runs);
        let bytes = (bytes as f64 * shrink) as i64;
        float_ops = float_ops.saturating_add(flops);
        io_bytes = io_bytes.saturating_add(bytes);
        let at_compute = ceiling.flops(Some(asked)).map_or(0.0, |peak| flops as f64 / peak * 1e6);
        let at_memory = ceiling.bandwidth().map_or(0.0, |peak| bytes as f64 / peak * 1e6);
        compute += at_compute;
        memory += at_memory;
        least += at_compute.max(at_memory);
        bound += if at_compute > at_memory { at_compute } else { 0.0 };
    }
    let knows = ceiling.flops(Some(asked)).is_some() && ceiling.bandwidth().is_some() && least > 0.0;
    let batch = model.costs.batch;
    Case {
        batch,
        device: device.to_owned(),
        float_ops,
        io_bytes,
        unknown_ops,
        micros: knows.then_some(least),
        compute_micros: knows.then_some(compute),
        memory_micros: knows.then_some(memory),
        compute_bound: knows.then(|| bound / least),
        per_second: batch.filter(|_| knows).map(|batch| batch as f64 / least * 1e6),
        memory: scaled(Memory::new(model, &values, &Schedule::new(model)), shrink),
    }
}

fn scaled(memory: Memory, by: f64) -> Memory {
    let scale = |bytes: i64| (bytes as f64 * by) as i64;
    Memory {
        parameters: scale(memory.parameters),
        gradients: memory.gradients.map(scale),
        optimizer: memory.optimizer.map(scale),
        activations: memory.activations.map(scale),
        schedule_peak: memory.schedule_peak.map(scale),
        ..memory
    }
}

/// The assumptions behind the figures, one line each.
pub fn assumptions(model: &Model, precision: Option<Precision>, seq: Option<i64>) -> Vec<String> {
    let mut lines = vec![
        "a lower bound: every op runs at the peak of its FLOPs or of its bytes, and nothing waits".to_owned(),
        "each op reads its inputs from memory and writes its outputs to it; a compiler that fuses ops moves less"
            .to_owned(),
    ];
    let floats = model.costs.dtypes.values().any(|dtype| *dtype != DType::FLOAT);
    match precision {
        Some(precision) => {
            let word = precision.word();
            let mixed =
                if floats { "; the model also has variables of other types, which count the same way" } else { "" };
            lines.push(format!("all numbers are {word}: bytes scale from float32, FLOP/s are those of {word}{mixed}"));
        }
        None => lines.push("numbers have the types of the model; FLOP/s are those of float32".to_owned()),
    }
    lines.extend(seq.map(|seq| format!("open dimensions of inputs after the first are {seq}")));
    lines
}
