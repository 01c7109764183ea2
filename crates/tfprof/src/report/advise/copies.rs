//! Copies between host and GPU through pageable memory, which the driver copies twice.

use super::finding::{Confidence, Finding};
use super::waiting;
use super::{Advice, Evidence};
use crate::model::layers::Layer;
use crate::options::ViewKind;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(step) = waiting::average(evidence, advice) else { return };
    let is_pageable = |name: &str| name.contains("emcpy") && name.contains("Pageable");
    let copies =
        [Layer::Kernels, Layer::Ops].map(|layer| evidence.by_name(layer, |cell| is_pageable(evidence.op(cell.cell))));
    let copies = copies.concat();
    let time = copies.iter().fold(0_i64, |sum, (_, time)| sum.saturating_add(*time));
    let Some(share) = step.share(time) else { return };
    let problem = format!("copies between pageable memory of the host and the GPU take {share}");
    let change = "Pin the host's memory (DataLoader(pin_memory=True), tensor.pin_memory()) and copy with \
                  `non_blocking=True`, so that copies are faster and overlap with compute";
    advice.find(
        Finding::new("pageable copies", problem, change, Confidence::Low)
            .saves(time, "the time of these copies, if compute hides them once they are pinned".to_owned())
            .shown_by(ViewKind::Op, copies),
    );
}
