//! Checkpoints: the names, shapes and values of variables, in both formats that TensorFlow has written. A library of its
//! own within the library.
//!
//! [`Checkpoint::open`] finds the files of a path (`locate.rs`) and lists the tensors (`read/`). `query/` answers
//! questions: list, compare, summarize, verify. `render/` writes the answers.
//!
//! Listing reads only indexes; values are read by offset, on demand. No length, offset or shape is trusted before it has
//! been checked against the bytes that exist.

mod damage;
pub mod locate;
pub mod query;
mod read;
pub mod render;

pub use damage::Damage;
pub use read::{ByteSource, Checkpoint, OBJECT_GRAPH, Table, Tensor, Values};
