//! Where do a model's parameters, float operations, time and memory go: by name scope, by graph, by operation type, by
//! line of Python? This library reads what TensorFlow writes and answers, without TensorFlow.
//!
//! A [`Profiler`](engine::profiler::Profiler) holds what was loaded. [`Options`](options::Options) are a question,
//! [`ViewKind`](options::ViewKind) says which of the four views it is put to, and a [`View`](view::View) is the answer,
//! which [`render`] writes as text, JSON, CSV, messages, timelines or flame graphs:
//!
//! ```
//! use tfprof::format::source::Source;
//! use tfprof::options::{Options, ViewKind};
//! use tfprof::engine::profiler::Profiler;
//! use tfprof::render;
//!
//! let graph = br#"
//!     node { name: "dense/w" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 8 } dim { size: 4 } } } } }
//!     node { name: "dense/b" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 4 } } } } }"#;
//! let mut profiler = Profiler::default();
//! profiler.add_graph(Source::memory("graph.pbtxt", graph)?)?;
//!
//! let mut options = Options::default();
//! options.set("select", "params")?;
//! let view = profiler.view(ViewKind::Scope, &options)?;
//! let mut text = Vec::new();
//! render::text::write_report(&view, &mut text)?;
//! assert_eq!(String::from_utf8(text)?, "\
//! Profile:
//! node name | # parameters
//! _TFProfRoot (--/36 params)
//!   dense (0/36 params)
//!     dense/b (4, 4/4 params)
//!     dense/w (8x4, 32/32 params)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Data flows in one direction: [`mod@format`] reads files, [`model`] is what they say, [`infer`] adds what follows from it,
//! [`view`] groups, sums and filters, [`render`] writes. [`engine`] knows which files to read; [`metric`] and
//! [`options`] are the tables that everything else is made of; [`quirks`] are the faults of the original that can be
//! played back.

pub mod checkpoint;
pub mod digits;
pub mod engine;
pub mod error;
pub mod events;
pub mod format;
mod hash;
pub mod infer;
pub mod json;
pub mod metric;
pub mod model;
pub mod options;
pub(crate) mod parallel;
pub mod quirks;
pub mod render;
pub mod report;
pub mod trace;
pub mod units;
pub mod view;
pub mod words;
