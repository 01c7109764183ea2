//! The memory that a model needs, from its shapes alone: parameters, gradients, optimizer state, activations, and the peak
//! of live memory if ops run one after the other, in the order of a schedule.

use super::schedule::{Schedule, op_of};
use crate::metric::Metric;
use crate::model::Model;
use crate::model::dtype::DType;
use crate::model::type_names::{OPTIMIZER_SLOT, SAME_VARIABLE, TRAINABLE};
use crate::view::values::Values;
use serde::Serialize;

/// Bytes by what they are for; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Memory {
    pub parameters: i64,
    /// One number for each trained parameter; `None` if no file says which are trained.
    pub gradients: Option<i64>,
    /// Variables of the optimizer; `None` if the file has none, as that of a model for inference.
    pub optimizer: Option<i64>,
    /// All outputs of ops together: a forward pass that keeps everything for its gradients.
    pub activations: Option<i64>,
    /// The most that is alive at once in a schedule without parallel ops, besides variables.
    pub schedule_peak: Option<i64>,
    /// The graph computes gradients itself, so that the peak is that of a training step.
    pub has_gradients: bool,
    /// The ops whose outputs have an unknown size.
    pub unknown: i64,
}

impl Memory {
    pub(super) fn new(model: &Model, values: &Values<'_>, schedule: &Schedule) -> Memory {
        let mut memory = Memory::default();
        memory.add_variables(model, values);
        if model.costs.tensors.is_empty() {
            return memory;
        }
        let mut sum = 0_i64;
        for (node, made) in schedule.nodes.iter().zip(&schedule.made) {
            let op = op_of(model, *node);
            memory.has_gradients |= op.ends_with("Grad") || op.contains("Backprop");
            match made {
                Some(bytes) => sum = sum.saturating_add(*bytes),
                None => memory.unknown += 1,
            }
        }
        memory.activations = (memory.unknown == 0).then_some(sum);
        memory.schedule_peak = (memory.unknown == 0).then(|| schedule.peak());
        memory
    }

    fn add_variables(&mut self, model: &Model, values: &Values<'_>) {
        let find = |name: &str| model.names.find(name.as_bytes());
        let (trainable, slot, same) = (find(TRAINABLE), find(OPTIMIZER_SLOT), find(SAME_VARIABLE));
        let (mut trained, mut knows_trained) = (0_i64, model.knows_trainable);
        for node in model.nodes.all() {
            let types = model.type_sets.get(model.nodes.types[node.index()]);
            let has = |ty| Option::is_some(&ty) && types.iter().any(|own| Some(*own) == ty);
            let size = |dtype: DType| dtype.size().unwrap_or(4) as i64;
            let width = model.costs.dtypes.get(&node).map_or(4, |dtype| size(*dtype));
            if has(slot) && !has(same) {
                let dims = model.shapes.get(model.nodes.shape[node.index()]);
                let elements = dims.iter().fold(1_i64, |product, dim| product.saturating_mul((*dim).max(0)));
                let bytes = if dims.is_empty() { 0 } else { elements.saturating_mul(width) };
                self.optimizer = Some(self.optimizer.unwrap_or(0).saturating_add(bytes));
            }
            let elements = values.row(node)[Metric::Parameters as usize];
            if elements == 0 {
                continue;
            }
            self.parameters = self.parameters.saturating_add(elements.saturating_mul(width));
            if has(trainable) {
                knows_trained = true;
                trained = trained.saturating_add(elements.saturating_mul(width));
            }
        }
        self.gradients = knows_trained.then_some(trained);
    }
}
