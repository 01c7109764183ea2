//! Shows where the parameters, FLOPs, time and memory of a model go: by name scope, by graph, by op type, by line of
//! Python. The library reads the files that TensorFlow and JAX write; it needs neither of them.
//!
//! 1. [`Inputs`] names the files, [`Inputs::load`] reads them into a [`Profiler`]. Bytes in memory are a [`Source`] and
//!    go straight to [`Profiler::add_graph`], [`Profiler::add_step`] and so on.
//! 2. A [`Question`] is one of the four views ([`ViewKind`]) and its [`Options`].
//! 3. [`Profiler::ask`] returns an [`Answer`], which writes itself in any of the [`FORMS`]; its [`View`] has the rows.
//!
//! ```
//! use tfprof::{Metric, Options, Profiler, Question, Source, ViewKind};
//!
//! let graph = br#"
//!     node { name: "dense/w" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 8 } dim { size: 4 } } } } }
//!     node { name: "dense/b" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 4 } } } } }"#;
//! let mut profiler = Profiler::default();
//! profiler.add_graph(Source::memory("graph.pbtxt", graph)?)?;
//!
//! let options = Options::new().select([Metric::Parameters]);
//! let answer = profiler.ask(&Question::new(ViewKind::Scope, &options))?;
//! let view = answer.view();
//! let rows: Vec<_> = view.rows().iter().map(|row| (view.name(row), view.total(Metric::Parameters, row))).collect();
//! assert_eq!(rows, [("_TFProfRoot", 36), ("dense", 36), ("dense/b", 4), ("dense/w", 32)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate's modules are private, and [`internal`] is for this workspace only: the names below are the whole API.

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod allocator;
mod budget;
mod checkpoint;
mod columnar;
mod comma_list;
mod engine;
mod error;
mod events;
mod foreign;
mod format;
mod hardware;
mod hash;
mod infer;
#[doc(hidden)]
pub mod internal;
mod json;
mod metric;
mod model;
mod options;
mod pairing;
mod parallel;
mod part;
mod quirks;
mod render;
mod report;
#[cfg(feature = "sql")]
mod sql;
mod tables;
mod trace;
mod units;
mod view;
mod words;

// Loading files. `Inputs::add_path` recognizes the format of a file; `Inputs::load` reads all into a `Profiler`.
pub use allocator::{CountingAllocator, exit_when_refused};
pub use budget::Limits;
pub use engine::inputs::{Input, Inputs, OnProgress, ReadProgress};
pub use engine::profiler::{Answer, Part, Profiler};
pub use format::source::Source;
pub use format::{FORMATS, Format, InputFlag, Role};
pub use model::builder::Keep;
pub use model::runs::KeepSteps;
pub use model::settings::Settings;
pub use model::shape::Shape;

// Asking questions: `Profiler::ask`. Build options by typed setters, or by name with `Options::set`.
pub use engine::compare::compare;
pub use engine::question::Question;
pub use options::{
    CodeStacks, Comparing, Events, Frames, GroupBy, OPTIONS, OptionInfo, Options, OrderBy, Output, Selection, Step,
    ValueKind, ViewKind, Warmup,
};
pub use quirks::Quirks;

// Metrics: the numbers of each row. `METRICS` describes them all.
pub use metric::{
    DETAILS, Detail, DetailInfo, METRICS, Metric, MetricInfo, MetricSet, Minimum, Source as MetricSource, Unit,
};
pub use units::Amount;

// Answers: `Answer::view` has rows and columns, `Answer::write` writes them in one of `FORMS`.
pub use pairing::{Match, Rename};
pub use render::html::{Container, Page};
pub use render::theme::Theme;
pub use render::{Dress, FORMS, Form};
pub use view::columns::{Column, Content, Kind as ColumnKind, Number, Side, Value as Cell};
pub use view::compare::{Compared, Figure, SideSteps, Status};
pub use view::{Line, View, VisibleRow};

// Reports: answers that are not a tree. Obtain them with `Profiler::cost`, `Profiler::overview` and `Profiler::advise`.
pub use report::advise::finding::{Confidence, EvidenceRow, Finding};
pub use report::advise::{Advice, CHECKERS, Checker};
pub use report::budget::{Budget, Checked, LimitTarget, Over};
pub use report::cost::Cost;
pub use report::layers::{Layer as ModelLayer, LayerReport};
pub use report::overview::Overview;

/// The parts of [`Cost`] and [`Overview`].
pub mod reports {
    pub use crate::model::hosts::HostFacts;
    pub use crate::report::cost::{
        Figures, Linear, MissingShape, OpType, PerBatch, Scope, Scopes, TypedParameters, UnknownType,
    };
    pub use crate::report::overview::{DeviceTime, InputFile, MemoryPeak, Missing, NextQuestion, StepTime, TopRows};
}

// Checkpoints: the variables of a model and their values. `Checkpoint::open` reads one without a profiler.
pub use checkpoint::Values as TensorValues;
pub use checkpoint::query::{Change as TensorChange, Stats as TensorStats, Verdict};
pub use checkpoint::{Checkpoint, Damage, Tensor};
pub use model::dtype::{DType, Element};

// Errors carry their fix as data; warnings come with an answer.
pub use error::{Error, Fix, FixOption, Location, Spelling, Warning};
pub use tfprof_proto::stream::Spot;
