//! Cells and layers of recurrent networks: matrix products, and elementwise work on the gates.

use super::{Count, Flops, Formula, Op, Work, dim, formula, product};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    formula(&["LSTMBlockCell"], Count::By(
        |op| block(op, 4, 23),
        "2 · b · (i + c) · 4c + 23 · b · c, in0 = b×i, in1 = b×c")),
    formula(&["LSTMBlockCellGrad"], Count::By(
        |op| Ok(Work::plain(product(&[30, dim(op.input(0)?, 0)?, dim(op.input(1)?, 1)?]))), "30 · b · c")),
    formula(&["BlockLSTM", "BlockLSTMV2"], Count::By(|op| layer(op, 1, 23), "LSTMBlockCell at each of t time steps, in1 = t×b×i, in2 = b×c")),
    formula(&["BlockLSTMGrad", "BlockLSTMGradV2"], Count::By(
        |op| layer(op, 2, 30), "twice the products of BlockLSTM, and 30 · t · b · c")),
    formula(&["GRUBlockCell"], Count::By(
        |op| block(op, 3, 18),
        "2 · b · (i + c) · 3c + 18 · b · c")),
    formula(&["GRUBlockCellGrad"], Count::By(
        |op| block(op, 3, 24),
        "2 · b · (i + c) · 3c + 24 · b · c")),
    formula(&["CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"], Count::By(
        |op| cudnn(op, 1), "as the cells, for each layer and direction; 4 gates for lstm, 3 for gru, else 1")),
    formula(&["CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"], Count::By(
        |op| cudnn(op, 2), "twice CudnnRNN")),
];

/// A recurrent cell, run once or at each time step.
#[derive(Clone, Copy)]
struct Cell<'a> {
    /// The factors of the number of runs: batch, time steps, directions.
    steps: &'a [i64],
    inputs: i64,
    states: i64,
    gates: i64,
    /// Matrix products per gate.
    products: i64,
    /// Elementwise FLOPs per state.
    elementwise: i64,
}

impl Cell<'_> {
    fn work(self) -> Work {
        let steps = product(self.steps);
        let macs = product(&[steps, self.inputs.saturating_add(self.states), self.states, self.gates, self.products]);
        Work::multiply_adds(macs).and(product(&[steps, self.states, self.elementwise]))
    }
}

/// One run of a cell.
fn block(op: &Op<'_>, gates: i64, elementwise: i64) -> Flops {
    let (x, states) = (op.input(0)?, dim(op.input(1)?, 1)?);
    Ok(Cell { steps: &[dim(x, 0)?], inputs: dim(x, 1)?, states, gates, products: 1, elementwise }.work())
}

/// An LSTM layer.
fn layer(op: &Op<'_>, products: i64, elementwise: i64) -> Flops {
    let (x, states) = (op.input(1)?, dim(op.input(2)?, 1)?);
    let steps = [dim(x, 0)?, dim(x, 1)?];
    Ok(Cell { steps: &steps, inputs: dim(x, 2)?, states, gates: 4, products, elementwise }.work())
}

fn cudnn(op: &Op<'_>, times: i64) -> Flops {
    let (x, h) = (op.input(0)?, op.input(1)?);
    let (gates, elementwise) = match op.text("rnn_mode") {
        b"lstm" | b"" => (4, 23),
        b"gru" => (3, 18),
        _ => (1, 2),
    };
    let directions = if op.text("direction") == b"bidirectional" { 2 } else { 1 };
    let (units, layers) = (dim(h, 2)?, dim(h, 0)? / directions);
    let steps = [dim(x, 0)?, dim(x, 1)?, directions];
    let cell = |inputs: i64| Cell {
        steps: &steps,
        inputs,
        states: units,
        gates,
        products: times,
        elementwise: elementwise * times,
    };
    let first = cell(dim(x, 2)?).work();
    let next = cell(units.saturating_mul(directions)).work();
    let others = (layers - 1).max(0);
    Ok(Work {
        float_ops: first.float_ops.saturating_add(next.float_ops.saturating_mul(others)),
        macs: first.macs.saturating_add(next.macs.saturating_mul(others)),
    })
}
