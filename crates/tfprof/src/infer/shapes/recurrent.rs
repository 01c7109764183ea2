//! Fused cells and layers of recurrent networks.

use super::super::fact::{ANY, Fact, Shape};
use super::{Family, Op, times};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["LSTMBlockCell"], |op| vec![Fact::new(op.t(), Shape::of(&[op.shape(0).dim(0), op.shape(1).dim(1)])); 7]),
    (&["LSTMBlockCellGrad"], |op| {
        let (batch, cell) = (op.shape(0).dim(0), op.shape(1).dim(1));
        let mut facts = vec![of(op, &[batch, cell]), of(op, &[batch, times(4, cell)])];
        facts.extend(vec![of(op, &[cell]); 3]);
        facts
    }),
    (&["BlockLSTM", "BlockLSTMV2"], |op| {
        let cell = op.shape(2).dim(1).max(super::over(op.shape(8).dim(0), 4));
        let dims = [op.shape(1).dim(0), op.shape(1).dim(1), cell];
        vec![Fact::new(op.dtype_or("T", op.input(1).dtype), Shape::of(&dims)); 7]
    }),
    (&["BlockLSTMGrad", "BlockLSTMGradV2"], |op| {
        let dtype = op.dtype_or("T", op.input(1).dtype);
        (1..9).map(|at| Fact::new(dtype, op.shape(at).clone())).collect()
    }),
    (&["GRUBlockCell"], |op| vec![of(op, &[op.shape(0).dim(0), op.shape(1).dim(1)]); 4]),
    (&["GRUBlockCellGrad"], |op| {
        let (batch, cell) = (op.shape(1).dim(0), op.shape(1).dim(1));
        vec![
            Fact::new(op.t(), op.shape(0).clone()),
            of(op, &[batch, cell]),
            of(op, &[batch, cell]),
            of(op, &[batch, times(2, cell)]),
        ]
    }),
    (&["CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"], |op| {
        let directions = if op.text("direction") == b"bidirectional" { 2 } else { 1 };
        let (time, batch, units) = (op.shape(0).dim(0), op.shape(0).dim(1), op.shape(1).dim(2));
        let lstm = op.text("rnn_mode") == b"lstm" || op.text("rnn_mode").is_empty();
        let state = if lstm { op.shape(2).clone() } else { Shape::UNKNOWN };
        let mut facts = vec![of(op, &[time, batch, times(units, directions)]), Fact::new(op.t(), op.shape(1).clone())];
        facts.extend([Fact::new(op.t(), state), of(op, &[ANY])]);
        if op.body.op(op.node) != "CudnnRNN" {
            facts.push(Fact::new(DType(6), Shape::UNKNOWN));
        }
        facts
    }),
    (&["CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"], |op| {
        (0..4).map(|at| Fact::new(op.t(), op.shape(at).clone())).collect()
    }),
    (&["CudnnRNNParamsSize"], |op| vec![Fact::new(op.dtype_or("S", DType::INT32), Shape::of(&[1]))]),
];

fn of(op: &Op<'_>, dims: &[i64]) -> Fact {
    Fact::new(op.t(), Shape::of(dims))
}
