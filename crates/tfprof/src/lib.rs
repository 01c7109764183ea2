//! Where do a model's parameters, float operations, time and memory go?
pub mod advise;
pub mod error;
pub mod format;
pub mod infer;
pub mod inputs;
pub mod metric;
pub mod model;
pub mod options;
pub mod profiler;
pub mod quirks;
pub mod render;
pub mod trace;
pub mod units;
pub mod view;
pub mod words;
