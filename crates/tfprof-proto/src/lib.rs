//! Protobuf for huge, untrusted files: nothing here builds a tree of messages, recurses, or trusts a length before the
//! bytes are there.
//!
//! * [`wire`] iterates over the fields of one message in memory, without copying; of damaged messages, what precedes the
//!   damage counts. [`shape`] and [`node_def`] read shapes and nodes of graphs this way.
//! * [`quick`] does the same for millions of usual records, and gives up at anything else.
//! * [`window`] is the sliding window through which inputs are read, with random access where an input has it.
//! * [`stream`] walks a whole file through a window and hands out one record at a time, as selected by a
//!   [`Layout`](stream::Layout).
//! * [`text`] does the same for text format: it turns each record into wire bytes with the help of
//!   [`schema`], so that every message has one decoder, for both formats.
//! * [`fields`] names the field numbers of every message that tfprof reads or writes.
//! * [`mod@write`] writes messages, and [`canonical`] converts messages to canonical form.

pub mod canonical;
pub mod fields;
pub mod node_def;
pub mod quick;
pub mod schema;
pub mod shape;
pub mod stream;
pub mod text;
pub mod window;
pub mod wire;
pub mod write;
