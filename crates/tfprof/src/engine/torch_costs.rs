//! The FLOPs and bytes of PyTorch's ops, from the shapes and types that a trace recorded.
//!
//! Of ops inside each other that do the same work, one counts it: `aten::conv2d` and not the `aten::convolution` within it;
//! `aten::linear` only if no product of matrices is inside it.

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
    let holders = holders(&host.ops);
    for op in host.ops.iter_mut().filter(|op| !op.about.no_work) {
        let Some(shapes) = op.about.shapes.map(|at| &host.shapes[at as usize]) else { continue };
        let is_part = ancestors(&op.key.name).any(|(_, kind)| counted(kind) == Some(Counted::Whole));
        let is_holder = counted(&op.key.kind) == Some(Counted::IfLeaf) && holders.contains(op.key.name.as_str());
        let inputs = Inputs { dims: &shapes.dims, values: &shapes.values };
        op.about.cost.flops = if is_part || is_holder { Some(0) } else { flops(&op.key.kind, inputs) };
        op.about.cost.precision = shapes.types.iter().find_map(|name| Precision::of(name));
        let types = Types { inputs, names: &shapes.types };
        op.about.cost.bytes =
            if is_part || is_holder { Some(0) } else { bytes(&op.key.kind, types, op.about.cost.flops) };
    }
}

/// The names of ops around those that do work by themselves.
fn holders(ops: &[Op]) -> UntrustedSet<String> {
    let working = ops.iter().filter(|op| counted(&op.key.kind) == Some(Counted::Whole));
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
