//! The kinds of lines of a plane, by plane, name and id.

use crate::format::xspace::wire::plane::{Line, Plane};

/// The kind of a line, as far as it determines the class of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Host,
    /// On the plane with TensorFlow's ops.
    HostCpu,
    TpuOps,
    Device,
    Derived,
}

const DERIVED_IDS: std::ops::RangeInclusive<u32> = 0xdead_beef..=0xdead_beef + 289;
const DERIVED_NAMES: [&str; 14] = [
    "Steps",
    "Launch Stats",
    "Framework Name Scope",
    "Framework Ops",
    "TensorFlow Name Scope",
    "TensorFlow Ops",
    "XLA Modules",
    "XLA Ops",
    "Source code",
    "Async XLA Ops",
    "Sparse Core Steps",
    "Sparse Core Modules",
    "Sparse Core Ops",
    "_counters_",
];

impl LineKind {
    pub(super) const COUNT: usize = 5;

    pub fn of(plane: &Plane, line: &Line) -> LineKind {
        let name = line.name.as_str();
        if plane.is_tpu() {
            let ops = matches!(name, "XLA Ops" | "Sparse Core Ops");
            if ops { LineKind::TpuOps } else { LineKind::Derived }
        } else if plane.is_device() {
            // Some writers store the id as a number of 32 bits with a sign.
            let short_id = u32::try_from(line.id).ok().or_else(|| Some(i32::try_from(line.id).ok()?.cast_unsigned()));
            let has_derived_id = short_id.is_some_and(|id| DERIVED_IDS.contains(&id));
            if has_derived_id || DERIVED_NAMES.contains(&name) { LineKind::Derived } else { LineKind::Device }
        } else if plane.name == "/host:CPU" {
            LineKind::HostCpu
        } else {
            LineKind::Host
        }
    }
}
