//! The FLOPs and bytes of PyTorch's ops, from the shapes and types that a trace recorded.
//!
//! Of ops inside each other that do the same work, the innermost counts it, since it takes the time:
//! `aten::mkldnn_convolution` and not the `aten::conv2d` around it; `aten::linear` only if no product of matrices is inside it.

use crate::events::{HostProfile, Op};
use crate::hardware::Precision;
use crate::hash::UntrustedSet;
use crate::infer::flops::torch::{Counted, Inputs, counted, flops};
use crate::infer::flops::torch_bytes::{Types, bytes};

/// Adds the cost of one run to the ops of a host whose shapes are known.
pub fn add(host: &mut HostProfile) {
    if host.shapes.is_empty() {
        return;
    }
    let own = |op: &Op| {
        let shapes = op.about.shapes.map(|at| &host.shapes[at as usize])?;
        flops(&op.key.kind, Inputs { dims: &shapes.dims, values: &shapes.values })
    };
    let holders = holders(&host.ops, own);
    for op in host.ops.iter_mut().filter(|op| !op.about.no_work) {
        let Some(shapes) = op.about.shapes.map(|at| &host.shapes[at as usize]) else { continue };
        let inputs = Inputs { dims: &shapes.dims, values: &shapes.values };
        let own = flops(&op.key.kind, inputs);
        let is_part = ancestors(&op.key.name).any(|(_, kind)| counted(kind) == Some(Counted::Whole));
        let is_counted_elsewhere = match counted(&op.key.kind) {
            Some(_) => holders.contains(op.key.name.as_str()) || is_part && own.is_none(),
            None => is_part,
        };
        op.about.cost.flops = if is_counted_elsewhere { Some(0) } else { own };
        op.about.cost.precision = shapes.types.iter().find_map(|name| Precision::of(name));
        let types = Types { inputs, names: &shapes.types };
        op.about.cost.bytes =
            if is_counted_elsewhere { Some(0) } else { bytes(&op.key.kind, types, op.about.cost.flops) };
    }
}

/// The names of ops around those that do work by themselves, and whose work is known.
fn holders(ops: &[Op], own: impl Fn(&Op) -> Option<i64>) -> UntrustedSet<String> {
    let working = ops.iter().filter(|op| counted(&op.key.kind) == Some(Counted::Whole) && own(op).is_some());
    working.flat_map(|op| ancestors(&op.key.name).map(|(name, _)| name.to_owned())).collect()
}

/// The ops around an op, by name and type.
fn ancestors(name: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = name.rmatch_indices('/').map(|(at, _)| at);
    ends.map(|end| {
        let outer = &name[..end];
        (outer, outer.rsplit('/').next().unwrap_or(outer))
    })
}
