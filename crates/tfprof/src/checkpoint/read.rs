//! Reads checkpoints. `arrays.rs` lists files of plain arrays, HDF5 and safetensors. `bundle.rs` lists the tensors of today's format, an index next to data files; `v1.rs` those of the
//! first format, tables that also hold the values. Both build on `table.rs`. `object_graph.rs` translates the keys of
//! TensorFlow 2 to variable names, and `values.rs` reads a tensor or a part of one.

pub(super) mod arrays;
mod bundle;
mod byte_source;
mod catalog;
mod crc;
mod layout;
mod lazy;
mod object_graph;
pub(super) mod safetensors;
mod slice_key;
mod strings;
mod table;
mod v1;
mod values;

pub use byte_source::ByteSource;
pub(super) use catalog::Store;
pub(super) use catalog::name_text;
pub use catalog::{Checkpoint, OBJECT_GRAPH, Tensor};
pub(super) use layout::elements;
pub(super) use strings::Strings;
pub use table::Table;
pub use values::Values;
