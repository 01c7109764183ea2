//! The steps that a question counts: one that was loaded, or all without the first ones.

use crate::error::Error;
use crate::model::Model;
use std::sync::Arc;

/// Refuses a step that was not loaded, and one whose own sums were not kept.
pub fn check_step(model: &Model, step: i64) -> Result<(), Error> {
    if model.is_partial && model.runs.has(step) && model.runs.step(step).is_none() {
        let kept: Vec<_> = model.runs.steps().filter(|step| model.runs.step(*step).is_some()).collect();
        let kept = kept.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let why = format!("the sums of step {step} are not in the partial, which keeps a sample of steps: {kept}");
        return Err(Error::option("step", why));
    }
    if model.runs.has(step) {
        return Ok(());
    }
    Err(Error::option("step", format!("there is no step {step}; {}", loaded(model))))
}

fn loaded(model: &Model) -> String {
    let steps: Vec<_> = model.runs.steps().map(|step| step.to_string()).collect();
    match steps.len() {
        0 => "no steps are loaded".to_owned(),
        1..=20 => format!("loaded steps: {}", steps.join(", ")),
        n => format!("{n} steps are loaded, from {} to {}", steps[0], steps[n - 1]),
    }
}

/// The model without the steps before this one; the same if there are none.
pub fn from_step(model: &Arc<Model>, first: i64) -> Result<Arc<Model>, Error> {
    let (earlier, later): (Vec<i64>, Vec<i64>) = model.runs.steps().partition(|step| *step < first);
    if later.is_empty() {
        return Err(Error::option("step", format!("no step is {first} or later; {}", loaded(model))));
    }
    if earlier.is_empty() {
        return Ok(Arc::clone(model));
    }
    let kept = model.runs.steps().filter(|step| model.runs.step(*step).is_some()).count();
    let all = earlier.len() + later.len();
    if kept < all {
        let why = format!("the sums of {kept} of {all} steps are there one by one, so none can be left out");
        return Err(Error::option("step", why));
    }
    Ok(without(model, &earlier))
}

/// The model without some of its steps. The sums of all of them must have been kept.
pub fn without(model: &Model, left_out: &[i64]) -> Arc<Model> {
    let mut shorter = Model::clone(model);
    shorter.runs = model.runs.without(left_out, &model.placement, &model.devices);
    Arc::new(shorter)
}
