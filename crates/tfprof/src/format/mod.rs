//! Input formats: readers turn bytes into records and push them into the [`Builder`](crate::model::builder::Builder). They decide nothing else.
//!
//! Each format is a layout (the parts of the file it wants) and a reader (what to do with them). One reader serves wire
//! and text format, plain or gzipped. The table of all formats is in `engine/formats.rs`.

pub mod debug_info;
pub(crate) mod detect;
mod driver;
mod function_def;
pub(crate) mod graph_def;
pub mod live_graph;
pub(crate) mod op_log;
pub mod profile;
pub(crate) mod run_metadata;
pub(crate) mod saved_model;
pub mod source;
pub mod xspace;

pub use driver::{ReadRecords, read};
