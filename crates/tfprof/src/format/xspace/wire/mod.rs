//! The wire format of an `XSpace`: bytes to planes, lines, events and stats.

pub mod event;
pub mod plane;
pub mod stats;
