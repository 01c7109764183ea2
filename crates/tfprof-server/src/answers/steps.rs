//! Steps: warm-up, and their time by direction.

use crate::tree::Direction;
use serde_json::{Value, json};
use tfprof::internal::model::Model;
use tfprof::internal::model::layers::Layers;
use tfprof::internal::model::nodes::NodeId;
use tfprof::internal::view::compare::noise;
use tfprof::internal::view::values::Values;
use tfprof::reports::StepTime;
use tfprof::{Metric, Overview, Quirks, Step};

/// The warm-up steps at the start of a run.
#[derive(Debug)]
pub struct WarmUp {
    pub steps: Vec<i64>,
    /// The remaining steps: one, or all from one on. None if there is no warm-up to exclude.
    pub others: Option<Step>,
}

/// Detects warm-up by the rule of `tfprof diff`, which needs at least four steps.
pub const RULE: &str = "the first steps, while they are clearly longer than those of the second half; of two or three steps \
                        the first, if it took a tenth longer than the median of the others";

pub fn warm_up(overview: &Overview, model: &Model) -> WarmUp {
    let list = &overview.steps;
    let lengths: Vec<f64> =
        list.iter().map(|step| if step.span > 0 { step.span as f64 } else { step.micros as f64 }).collect();
    let count = match &lengths[..] {
        [first, one] => usize::from(*first >= 1.1 * one),
        [first, one, other] => usize::from(*first >= 1.1 * one.max(*other)),
        lengths => noise::warm_up(lengths),
    };
    let steps: Vec<i64> = list[..count].iter().map(|step| step.step).collect();
    let are_apart = model.runs.steps().all(|step| model.runs.step(step).is_some());
    let others = match &list[count..] {
        [one] => Some(Step::At(one.step)),
        [first, ..] if are_apart => Some(Step::From(first.step)),
        _ => None,
    };
    WarmUp { others: others.filter(|_| count > 0), steps }
}

/// The time of forward ops, gradients and others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    pub forward: i64,
    pub gradient: i64,
    pub other: i64,
}

impl Parts {
    pub fn add(&mut self, direction: Direction, n: i64) {
        let sum = match direction {
            Direction::Gradient => &mut self.gradient,
            Direction::Other => &mut self.other,
            Direction::Forward | Direction::Unknown => &mut self.forward,
        };
        *sum = sum.saturating_add(n);
    }

    pub fn sum(&self) -> i64 {
        self.forward.saturating_add(self.gradient).saturating_add(self.other)
    }

    /// As JSON; `parts` is the scale of stored units.
    pub fn json(&self, parts: i64, whole: i64) -> Value {
        // If nothing is a gradient or bookkeeping, the names may simply not say.
        if self.gradient == 0 && self.other == 0 {
            return Value::Null;
        }
        let part = |n: i64| {
            let share = (whole > 0).then(|| n as f64 / whole as f64);
            json!({ "value": n as f64 / parts as f64, "share": share })
        };
        json!({ "forward": part(self.forward), "gradient": part(self.gradient), "other": part(self.other) })
    }
}

/// The time of ops in a step by direction.
pub fn parts_of_step(model: &Model, step: i64, directions: &[Direction]) -> Option<Parts> {
    let cells = model.runs.step(step)?;
    let values = Values::new(model, Step::At(step), Quirks::NONE);
    let mut parts = Parts::default();
    let mut last = None;
    // A trace also has sums of calls, shapes and kernels. Like a view, count ops only, or all events if there are no ops.
    let is_in = |layers: Layers, node: NodeId| layers.has(model.nodes.layer(node));
    let has_ops = cells.nodes().any(|node| is_in(Layers::OPS, node));
    let layers = if has_ops { Layers::OPS } else { Layers::ALL_EVENTS };
    for node in cells.nodes().filter(|node| is_in(layers, *node)) {
        if last != Some(node) {
            parts.add(directions[node.index()], values.row(node)[Metric::Micros as usize]);
        }
        last = Some(node);
    }
    Some(parts)
}

pub fn json(step: &StepTime, warm_up: &WarmUp) -> Value {
    let known = |n: i64| (n > 0).then_some(n);
    json!({
        "step": step.step,
        "micros": known(step.micros),
        "span": known(step.span),
        "warm_up": warm_up.steps.contains(&step.step),
    })
}
