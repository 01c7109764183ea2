//! Input formats: bytes become records, records go to the [`Builder`]. No policy lives here.
//!
//! Each format is a layout (which parts of the file it wants) and a reader (what it does with them); wire and text
//! format, plain or gzipped, are read by the same one.

pub mod debug_info;
pub mod detect;
mod driver;
mod graph_def;
pub mod live_graph;
mod op_log;
pub mod profile;
mod run_metadata;
mod saved_model;
pub mod source;
pub mod xspace;

use crate::error::{Error, Location};
use crate::model::builder::Builder;
use driver::drive;
use source::Source;
use tfprof_proto::schema::{self, Message};
use tfprof_proto::stream::Layout;

/// What a file can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    GraphDef,
    MetaGraphDef,
    SavedModel,
    RunMetadata,
    OpLog,
    Profile,
}

impl Format {
    pub const ALL: [Format; 6] = [
        Format::GraphDef,
        Format::MetaGraphDef,
        Format::SavedModel,
        Format::RunMetadata,
        Format::OpLog,
        Format::Profile,
    ];

    /// The name of the message.
    pub fn name(self) -> &'static str {
        match self {
            Format::GraphDef => "GraphDef",
            Format::MetaGraphDef => "MetaGraphDef",
            Format::SavedModel => "SavedModel",
            Format::RunMetadata => "RunMetadata",
            Format::OpLog => "OpLogProto",
            Format::Profile => "ProfileProto",
        }
    }

    pub fn message(self) -> &'static Message {
        match self {
            Format::GraphDef => &schema::GRAPH_DEF,
            Format::MetaGraphDef => &schema::META_GRAPH_DEF,
            Format::SavedModel => &schema::SAVED_MODEL,
            Format::RunMetadata => &schema::RUN_METADATA,
            Format::OpLog => &schema::OP_LOG,
            Format::Profile => &schema::PROFILE,
        }
    }

    fn layout(self) -> &'static Layout {
        match self {
            Format::SavedModel => &saved_model::SAVED_MODEL,
            Format::GraphDef => &graph_def::GRAPH,
            Format::MetaGraphDef => &graph_def::META_GRAPH,
            Format::RunMetadata => &run_metadata::RUN,
            Format::OpLog => &op_log::LOG,
            Format::Profile => &profile::PROFILE,
        }
    }
}

/// Reads one file into the builder. `step` is what a run is filed under.
///
/// A file that is damaged half-way gives what could be read and a warning; an error means that nothing could.
pub fn read(source: Source<'_>, format: Format, step: i64, builder: &mut Builder) -> Result<(), Error> {
    builder.begin_file(&source.name);
    if format == Format::GraphDef && builder.settings.signature.is_some() {
        builder.warn("no_signatures", None, || "a GraphDef has no signatures; all of it counts".to_owned());
    }
    match format {
        Format::SavedModel => drive(source, format, format.layout(), saved_model::Reader::new(builder)),
        Format::MetaGraphDef if builder.settings.signature.is_some() => {
            drive(source, format, &saved_model::META_GRAPH, saved_model::Reader::new(builder))
        }
        Format::GraphDef | Format::MetaGraphDef => {
            drive(source, format, format.layout(), graph_def::Reader::new(builder))
        }
        Format::RunMetadata => drive(source, format, format.layout(), run_metadata::Reader::new(builder, step)),
        Format::OpLog => drive(source, format, format.layout(), op_log::Reader::new(builder)),
        Format::Profile => drive(source, format, format.layout(), profile::ProfileReader::new(builder)),
    }?;
    if let Some(message) = builder.refused.take() {
        return Err(Error::Question(format!("{}: {message}", builder.file())));
    }
    match builder.conflict.take() {
        None => Ok(()),
        Some(message) => {
            Err(Error::Input { location: Location { file: builder.file().to_owned(), spot: None }, message })
        }
    }
}
