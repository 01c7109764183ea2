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
    let places = Places::of(&host.ops, own);
    for op in host.ops.iter_mut().filter(|op| !op.about.no_work) {
        let Some(shapes) = op.about.shapes.map(|at| &host.shapes[at as usize]) else { continue };
        let inputs = Inputs { dims: &shapes.dims, values: &shapes.values };
        let own = flops(&op.key.kind, inputs);
        let is_counted_elsewhere = places.counts_elsewhere(&op.key.name, counted(&op.key.kind), own);
        op.about.cost.flops = if is_counted_elsewhere { Some(0) } else { own };
        op.about.cost.precision = shapes.types.iter().find_map(|name| Precision::of(name));
        let types = Types { inputs, names: &shapes.types };
        op.about.cost.bytes =
            if is_counted_elsewhere { Some(0) } else { bytes(&op.key.kind, types, op.about.cost.flops) };
    }
}

/// Where work is counted, by the names of ops.
struct Places {
    /// Ops that do the work of all inside them, and whose work is known.
    whole: UntrustedSet<String>,
    /// Ops around those.
    around_whole: UntrustedSet<String>,
    /// Ops around others that work.
    around_work: UntrustedSet<String>,
}

impl Places {
    fn of(ops: &[Op], own: impl Fn(&Op) -> Option<i64>) -> Places {
        let is_whole = |op: &&Op| counted(&op.key.kind) == Some(Counted::Whole) && own(op).is_some();
        let works = |op: &&Op| own(op).is_some_and(|flops| flops > 0);
        let around = |op: &Op| ancestors(&op.key.name).map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        Places {
            whole: ops.iter().filter(is_whole).map(|op| op.key.name.clone()).collect(),
            around_whole: ops.iter().filter(is_whole).flat_map(around).collect(),
            around_work: ops.iter().filter(works).flat_map(around).collect(),
        }
    }

    fn counts_elsewhere(&self, name: &str, counted: Option<Counted>, own: Option<i64>) -> bool {
        // The work of an op around that has another such op inside it is counted there, and so are other ops inside it.
        let is_part =
            || ancestors(name).any(|(outer, _)| self.whole.contains(outer) && !self.around_whole.contains(outer));
        match counted {
            Some(Counted::Whole) => self.around_whole.contains(name) || own.is_none() && is_part(),
            Some(Counted::IfLeaf) => own.is_some() && self.around_work.contains(name) || is_part(),
            Some(Counted::Never) => self.around_work.contains(name) || is_part(),
            None => is_part(),
        }
    }
}

/// The ops around an op, by name and type.
fn ancestors(name: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = name.rmatch_indices('/').map(|(at, _)| at);
    ends.map(|end| {
        let outer = &name[..end];
        (outer, outer.rsplit('/').next().unwrap_or(outer))
    })
}
