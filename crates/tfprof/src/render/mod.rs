//! Answers as bytes. Renderers read a [`View`](crate::view::View) and write to anything that takes bytes.

pub(crate) mod chrome;
pub mod csv;
pub mod flamegraph;
pub mod folded;
pub mod html;
pub mod json;
pub(crate) mod markup;
mod nesting;
pub mod pprof;
pub mod proto;
mod rows;
pub mod speedscope;
pub mod tensor;
pub mod text;
pub mod theme;
pub mod timeline;
