//! The table of ops: a scope, the shapes of its inputs, its stack and its device; and the kernels of each.

use super::{DeviceWork, NONE};
use crate::events::Variant;
use crate::hash::TrustedMap;
use crate::model::names::NameId;

/// The identity of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpIdent {
    pub path: u32,
    pub shapes: u32,
    pub stack: u32,
    /// An index into the planes.
    pub device: u32,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// An op or range of the host.
    Host,
    /// The work that an op launched.
    Launched,
    /// A kernel or copy that no op launched.
    Lone,
}

/// A kernel or copy as a row of its own, below the op that launched it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelRow {
    pub path: u32,
    pub device: u32,
    pub name: NameId,
    pub kind: DeviceWork,
}

#[derive(Debug, Default)]
pub struct OpTable {
    pub ops: Vec<OpIdent>,
    op_of: TrustedMap<OpIdent, u32>,
    pub variants: Vec<Variant>,
    /// By variant: the name of its kernel, and the attributes of its launch.
    pub kernels: Vec<(NameId, u32)>,
    variant_of: TrustedMap<(u32, u32, u32), u32>,
}

impl OpTable {
    /// The number of an op's variant. `kernel` and `attributes` are those of device work.
    pub fn variant(&mut self, ident: OpIdent, kernel: NameId, attributes: u32) -> u32 {
        let next = self.ops.len() as u32;
        let op = *self.op_of.entry(ident).or_insert(next);
        if op == next {
            self.ops.push(ident);
        }
        let next = self.variants.len() as u32;
        let variant = *self.variant_of.entry((op, kernel.0, attributes)).or_insert(next);
        if variant == next {
            self.variants.push(Variant { op, kernel: kernel.0, ..Variant::default() });
            self.kernels.push((kernel, attributes));
        }
        variant
    }

    /// The variant of an op of the host.
    pub fn host(&mut self, path: u32, shapes: u32, stack: u32) -> u32 {
        self.variant(OpIdent { path, shapes, stack, device: 0, role: Role::Host }, NameId::EMPTY, NONE)
    }
}
