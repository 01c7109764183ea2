//! Input formats: readers turn bytes into records and push them into the [`Builder`]. They decide nothing else.
//!
//! Each format is a layout (the parts of the file it wants) and a reader (what to do with them). One reader serves wire
//! and text format, plain or gzipped. The table of all formats is in `engine/formats.rs`.

pub mod debug_info;
pub(crate) mod detect;
mod driver;
mod function_def;
pub(crate) mod graph_def;
pub mod live_graph;
pub(crate) mod op_log;
pub mod profile;
pub(crate) mod run_metadata;
pub(crate) mod saved_model;
pub mod source;
pub mod xspace;

use crate::error::{Error, Location};
use crate::model::builder::Builder;
use source::Source;

/// Reads one file into the builder. The number is the step to file a run under; other formats ignore it.
pub type ReadRecords = fn(Source<'_>, i64, &mut Builder) -> Result<(), Error>;

/// Reads one file into the builder with the reader of its format.
///
/// A damaged file gives what could be read and a warning; an error means that nothing could be read.
pub fn read(read_records: ReadRecords, source: Source<'_>, step: i64, builder: &mut Builder) -> Result<(), Error> {
    builder.begin_file(&source.name);
    let outcome = read_records(source, step, builder);
    let (refused, conflict) = (builder.refused.take(), builder.conflict.take());
    let file = builder.file().to_owned();
    builder.end_file();
    outcome?;
    match (refused, conflict) {
        (Some(refusal), _) => Err(refusal.into_error(|why| Error::Question(format!("{file}: {why}")))),
        (None, Some(message)) => Err(Error::Input { location: Location { file, spot: None }, message }),
        (None, None) => Ok(()),
    }
}
