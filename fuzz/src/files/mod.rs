//! Whole files of each format, made of any bytes: `message.rs` fills any message of the schema, the others make parts that
//! refer to each other.

pub mod checkpoint;
pub mod graph;
pub mod message;
pub mod network;
pub mod trace_json;
pub mod xspace;
