//! Layers: which part of a trace a node stands for. A question is about some of them.

/// The part of a trace that a node stands for. Nodes of graphs are ops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layer {
    #[default]
    Ops,
    /// Work of the runtime around ops.
    Runtime,
    /// Python calls, each with its call stack.
    Calls,
    /// The ops once more, each under the compiled program that it is part of; its type is the program.
    Programs,
    /// The work of devices once more, each kernel below the op that launched it.
    Kernels,
    /// The ops once more, by the shapes of their inputs.
    Shapes,
    /// The ops once more, by the Python stack that called them.
    Stacks,
}

/// A set of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers(u8);

impl Layers {
    pub const OPS: Layers = Layers(1 << Layer::Ops as u8);
    pub const CALLS: Layers = Layers(1 << Layer::Calls as u8);
    pub const PROGRAMS: Layers = Layers(1 << Layer::Programs as u8);
    pub const OPS_AND_KERNELS: Layers = Layers(1 << Layer::Ops as u8 | 1 << Layer::Kernels as u8);
    pub const ALL_EVENTS: Layers =
        Layers(1 << Layer::Ops as u8 | 1 << Layer::Kernels as u8 | 1 << Layer::Runtime as u8);
    pub const SHAPES: Layers = Layers(1 << Layer::Shapes as u8);
    pub const STACKS: Layers = Layers(1 << Layer::Stacks as u8);

    #[inline]
    pub fn has(self, layer: Layer) -> bool {
        self.0 & 1 << layer as u8 != 0
    }
}

/// The nodes that a view groups.
#[derive(Clone, Copy, Debug)]
pub struct NodeFilter {
    pub layers: Layers,
    /// Nodes in the bodies of functions, too.
    pub inside_functions: bool,
}
