//! The wire format of an `XSpace`: bytes to planes, lines, events and stats.

pub mod event;
mod event_fields;
pub mod event_stats;
pub mod fast_varint;
pub mod lines;
pub mod plane;
pub mod stats;
pub mod window;
