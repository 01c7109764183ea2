//! `ProfileProto`: a saved model with all its steps, read and written.

mod reader;
mod writer;

pub(crate) use reader::{read, recognizes};
pub use writer::{warnings, write};

/// Our own fields of `ProfileNode`, which other readers skip.
mod own_fields {
    /// The output that each input reads, in the order of the inputs. Written where `src_output_index`, which has one
    /// number for each source, cannot say it.
    pub const INPUT_OUTPUTS: u32 = 1000;
    /// The device that the graph asks for.
    pub const DECLARED_DEVICE: u32 = 1001;
    /// Computed costs of the node: the step whose shapes it used, FLOPs, multiply-adds, bytes, unknown nodes and
    /// runs. `float_ops` keeps the op log's figure.
    pub const COSTS: u32 = 1002;
}
