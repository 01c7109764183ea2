//! Input formats: bytes become records, records go to the [`Builder`]. No policy lives here.
//!
//! Each format is a layout (which parts of the file it wants) and a sink (what it does with them); wire and text
//! format, plain or gzipped, are read by the same sink.

pub mod checkpoint;
pub mod debug_info;
pub mod detect;
mod graph_def;
pub mod hlo;
pub mod live_graph;
mod op_log;
pub(crate) mod profile;
mod run_metadata;
mod saved_model;
pub mod source;
pub mod xspace;

pub(crate) use graph_def::{attribute_shape, each_quietly, map_entry, shape_dims};

use crate::error::{Error, Place};
use crate::model::builder::Builder;
use source::Source;
use std::io;
use std::ops::ControlFlow;
use tfprof_proto::schema::{self, Message};
use tfprof_proto::stream::{self, Layout, Sink, Spot, StreamError};
use tfprof_proto::text;
use tfprof_proto::wire::{Fault, Field, Fields, WireError};

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
    match format {
        Format::SavedModel => drive(source, format, format.layout(), &mut saved_model::Reader::new(builder)),
        Format::MetaGraphDef if builder.settings.signature.is_some() => {
            drive(source, format, &saved_model::META_GRAPH, &mut saved_model::Reader::new(builder))
        }
        Format::GraphDef | Format::MetaGraphDef => {
            drive(source, format, format.layout(), &mut graph_def::Reader::new(builder))
        }
        Format::RunMetadata => drive(source, format, format.layout(), &mut run_metadata::Reader::new(builder, step)),
        Format::OpLog => drive(source, format, format.layout(), &mut op_log::Reader::new(builder)),
        Format::Profile => drive(source, format, format.layout(), &mut profile::Reader::new(builder)),
    }?;
    if let Some(message) = builder.refused.take() {
        return Err(Error::Question(format!("{}: {message}", builder.file())));
    }
    match builder.conflict.take() {
        None => Ok(()),
        Some(message) => Err(Error::Input { place: Place { file: builder.file().to_owned(), spot: None }, message }),
    }
}

/// A sink that can be told that the file is over.
trait Reader: Sink {
    /// How many records arrived.
    fn records(&self) -> u64;
    /// Puts in place what had to wait for the end of the file.
    fn finish(&mut self);
    fn builder(&mut self) -> &mut Builder;
}

fn drive(
    mut source: Source<'_>,
    format: Format,
    layout: &'static Layout,
    reader: &mut dyn Reader,
) -> Result<(), Error> {
    let io_error = |file: &str, source| Error::Io { file: file.to_owned(), action: "cannot read", source };
    let head = source.head().map_err(|error| io_error(reader.builder().file(), error))?;
    let outcome = if text::looks_like_text(head, format.message()) {
        text::read(&mut source.input, format.message(), layout, reader)
    } else {
        stream::read(&mut source.input, layout, reader)
    };
    reader.finish();
    let (spot, message) = match outcome {
        Ok(_) => return Ok(()),
        Err(StreamError::Io(error)) => match error.kind() {
            // A compressed file that ends early or is damaged: what came before it still counts.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                (None, format!("the compressed data is damaged or cut short ({error})"))
            }
            io::ErrorKind::FileTooLarge => (None, error.to_string()),
            _ => return Err(io_error(reader.builder().file(), error)),
        },
        Err(StreamError::Wire(error)) => (Some(Spot::Byte(error.offset)), error.to_string()),
        Err(StreamError::Text { spot, message }) => (Some(spot), message),
    };
    let read = reader.records();
    let builder = reader.builder();
    if read == 0 {
        let place = Place { file: builder.file().to_owned(), spot };
        return Err(Error::Input { place, message: format!("not a {}: {message}", format.name()) });
    }
    builder.warn_damage("damaged", spot, format!("{message}; the answer is about the {read} records before it"));
    Ok(())
}

/// Calls `each` for the fields of a record; at the first fault, warns and leaves the rest out.
fn each_field<'a>(
    builder: &mut Builder,
    mut fields: Fields<'a>,
    mut each: impl FnMut(&mut Builder, &Fields<'a>, Field<'a>),
) {
    let all = fields.clone();
    loop {
        match fields.next_field() {
            Ok(Some(field)) => each(builder, &all, field),
            Ok(None) => return,
            Err(error) => return warn_wire(builder, &error),
        }
    }
}

fn warn_wire(builder: &mut Builder, error: &WireError) {
    let WireError { offset, fault } = error;
    // The end of the file is reported once, by whoever reads the file.
    if !matches!(fault, Fault::Truncated { .. } | Fault::CutNumber) {
        builder.warn_damage(
            "damaged_record",
            Some(Spot::Byte(*offset)),
            format!("{fault}; a part of a record is left out"),
        );
    }
}

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());
