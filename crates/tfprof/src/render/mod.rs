//! Answers as bytes. Renderers read a [`View`](crate::view::View) and write to anything that takes bytes.

pub mod csv;
pub mod json;
pub mod proto;
pub mod text;
