//! Checkpoints: the names, shapes and values of variables, in every format in which TensorFlow wrote them.
//!
//! [`Checkpoint::open`] finds the files (`locate.rs`) and lists the tensors: `bundle.rs` reads today's format, an index
//! beside its data files; `v1.rs` reads the first one, in which a table holds the values as well. Both stand on
//! `table.rs`. `object_graph.rs` gives the keys of TensorFlow 2 names that people know. Only indexes are read to list;
//! `values.rs` reads one tensor, or a part of one, by offset, and `stats.rs` streams it.
//!
//! Nothing here trusts a length, an offset or a shape before it was compared with the bytes that are there.

mod bundle;
mod catalog;
mod crc;
mod damage;
mod layout;
pub mod locate;
mod object_graph;
mod ordered;
pub mod query;
pub mod render;
pub mod stats;
pub mod stored;
pub mod table;
mod texts;
mod v1;
pub mod values;
pub mod verify;

pub use catalog::{Checkpoint, OBJECT_GRAPH, Tensor};
pub use damage::Damage;
use layout::Extent;
