//! Steps that wait for PyTorch's data loader.

use super::finding::{Confidence, Finding};
use super::{Advice, Evidence, micros, percent};
use crate::model::TimeUnit;
use crate::model::layers::Layer;
use crate::options::ViewKind;

/// Ignore smaller parts of the time of a step, in percent and in microseconds.
const LEAST_PERCENT: f64 = 5.0;
const LEAST_MICROS: i64 = 100;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let hosts = &evidence.model.hosts;
    if !hosts.iter().any(|host| host.recording.is_some()) {
        return advice.note("no trace of PyTorch is loaded");
    }
    // `enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__`
    let rows = evidence.by_name(Layer::Ops, |cell| {
        let op = evidence.op(cell.cell);
        op.starts_with("enumerate(DataLoader)") && op.ends_with("__next__")
    });
    let waited = rows.iter().fold(0_i64, |sum, (_, time)| sum.saturating_add(*time));
    let steps = hosts.iter().flat_map(|host| &host.steps);
    let length = steps.clone().fold(0_i64, |sum, step| sum.saturating_add(step.length));
    let length = length / TimeUnit::Picos.per_micro() / (steps.count() as i64).max(1);
    let share = percent(waited, length);
    if waited < LEAST_MICROS || share < LEAST_PERCENT {
        return;
    }
    let has_workers = rows.iter().any(|(name, _)| name.contains("MultiProcessing"));
    let change = if has_workers {
        "Raise num_workers or prefetch_factor, keep workers (persistent_workers=True), or make a sample cheaper"
    } else {
        "Load in other processes: DataLoader(num_workers=…, pin_memory=True)"
    };
    let problem = format!(
        "the training loop waits for its data loader during {} of {} a step ({share:.0}%)",
        micros(waited),
        micros(length)
    );
    advice.find(
        Finding::new("waiting for data", problem, change, Confidence::Medium)
            .saves(waited, "the time of the loader's `__next__` without the ops inside it".to_owned())
            .shown_by(ViewKind::Op, rows),
    );
}
