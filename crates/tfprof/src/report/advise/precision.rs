//! Products of matrices and convolutions in float32, while the tensor cores of the GPU idle.

use super::finding::{Confidence, Finding};
use super::work::{self, OpWork};
use super::{Advice, Evidence};
use crate::hardware::{Precision, rate};
use crate::options::Options;
use crate::view::ceilings::{self, Peaks};

/// Parts of the names of kernels that use tensor cores, also for float32 by way of tf32.
#[rustfmt::skip]
const TENSOR_CORES: [&str; 9] = ["tf32", "tensorop", "s1688", "s16816", "h1688", "h16816", "hmma", "gmma", "mma_"];

/// Types of ops that tensor cores can do, as [`OpWork::short`] has them.
#[rustfmt::skip]
const PRODUCTS: &[&str] = &[
    "addmm", "baddbmm", "bmm", "convolution_backward", "cudnn_convolution", "cudnn_convolution_backward", "cudnn_convolution_transpose", "linear",
    "miopen_convolution", "mm", "cudnn_convolution_backward_input", "cudnn_convolution_backward_weight", "conv2d", "convolution", "_convolution",
];

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let model = evidence.model;
    let Ok(peaks) = Peaks::find(model, &Options::default()) else { return };
    // Names of kernels tell it of NVIDIA's GPUs only.
    let is_nvidia = |name: &String| ["NVIDIA", "Tesla", "GeForce"].iter().any(|maker| name.contains(maker));
    if !peaks.names.iter().any(is_nvidia) {
        return advice.note("no profile of a GPU of NVIDIA that names it is loaded");
    }
    let flops = |precision| peaks.ceilings.accelerator.own_flops(precision);
    let faster = [Precision::Tf32, Precision::Bf16, Precision::F16].into_iter().find_map(|to| Some((to, flops(to)?)));
    let (Some(slow), Some((to, fast))) = (flops(Precision::F32), faster) else {
        return advice.note("no accelerator of known FLOP/s in float32 and in shorter floats ran anything");
    };
    let ops = work::ops(evidence);
    let knows = ops.iter().any(|op| ceilings::precision(model, op.node).is_some());
    if !knows {
        return advice.note("the precision of ops is unknown; PyTorch records it with record_shapes=True");
    }
    let slow_ops: Vec<&OpWork<'_>> = ops
        .iter()
        .filter(|op| {
            PRODUCTS.contains(&op.short().as_str()) && ceilings::precision(model, op.node) == Some(Precision::F32)
        })
        .filter(|op| {
            let kernels = model.op_facts.get(op.node).map_or(&[][..], |facts| &facts.kernels);
            let has = |name: &str| TENSOR_CORES.iter().any(|part| name.contains(part));
            !kernels.is_empty() && !kernels.iter().any(|kernel| has(&kernel.name))
        })
        .collect();
    if fast <= slow {
        return;
    }
    let time = slow_ops.iter().map(|op| op.micros).sum::<f64>();
    let Some(share) = work::share(time, work::total(&ops)) else { return };
    let (saving, why) = work::saving(evidence, slow_ops.iter().map(|op| (*op, op.micros * (1.0 - slow / fast))));
    let problem = format!("products and convolutions in float32 without tensor cores take {share}");
    let change = match to {
        Precision::Tf32 => {
            "Allow tf32 (torch.set_float32_matmul_precision(\"high\"), torch.backends.cudnn.allow_tf32), or \
                            train in bfloat16 (torch.autocast)"
        }
        Precision::Bf16 => "Train in bfloat16 (torch.autocast)",
        _ => "Train in float16 (torch.autocast with dtype=torch.float16, and a gradient scaler)",
    };
    let arithmetic = format!(
        "at {} of {} instead of {} of float32{why}, if they are bound by compute",
        rate(fast, "FLOP/s"),
        to.word(),
        rate(slow, "FLOP/s")
    );
    advice.find(
        Finding::new("float32 without tensor cores", problem, change, Confidence::Low)
            .saves(saving, arithmetic)
            .shown_by_ops(slow_ops),
    );
}
