//! Protobuf as tfprof needs it: files come from strangers and may be huge, so nothing here builds a tree of
//! messages, recurses, or believes a length that no bytes stand behind.
//!
//! * [`wire`] walks the fields of one message that is in memory, without copying.
//! * [`lenient`] does so for damaged messages: what precedes the damage counts. [`shape`] and
//!   [`node_def`] read shapes and nodes of graphs this way.
//! * [`stream`] walks a whole file through a sliding window and hands out one record at a time, as a
//!   [`Layout`](stream::Layout) of the file asks for.
//! * [`text`] does the same for text format: it turns each record into wire bytes with the help of
//!   [`schema`], so that every message has one decoder, whatever its spelling.
//! * [`fields`] names the field numbers of every message that tfprof reads or writes.
//! * [`mod@write`] writes messages, and [`canonical`] brings those of others into one form.

pub mod canonical;
pub mod fields;
pub mod lenient;
pub mod node_def;
pub mod schema;
pub mod shape;
pub mod stream;
pub mod text;
pub mod wire;
pub mod write;
