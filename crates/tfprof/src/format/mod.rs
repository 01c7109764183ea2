//! Input formats: readers turn bytes into records and push them into the [`Builder`]. They decide nothing else.
//!
//! [`FORMATS`] is the one list of formats. A row says which flag names a file, how to recognize it, how to read it and
//! what it contributes; a new format is a file of this folder, and its `mod` line and row here. A reader of records is a
//! layout (the parts of the file it wants) and a [`FormatReader`] (what to do with them); it serves wire and text format,
//! plain or gzipped, whole or damaged.

pub mod debug_info;
pub(crate) mod detect;
pub mod file_bytes;
mod function_def;
pub(crate) mod graph_def;
pub(crate) mod keras;
pub mod kineto;
pub mod live_graph;
pub mod lowered;
pub mod onnx;
pub(crate) mod op_log;
pub mod profile;
pub(crate) mod run_metadata;
pub(crate) mod saved_model;
pub mod source;
pub mod tflite;
pub mod xspace;

use crate::budget;
use crate::checkpoint::{Checkpoint, locate};
use crate::error::{Error, Location};
use crate::events::HostFile;
use crate::foreign;
use crate::model::builder::Builder;
use crate::part;
use crate::words::with_article;
use detect::{Head, heads, is_text_of, may_be};
use file_bytes::FileBytes;
use source::Source;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::{fmt, io};
use tfprof_proto::schema::{self, Message};
use tfprof_proto::stream::{self, Layout, Record, Sink, Spot, StreamError, Tag};
use tfprof_proto::text;
use tfprof_proto::wire::{Value, first_fault};

/// An input format: a row of [`FORMATS`].
#[non_exhaustive]
pub struct Format {
    /// The name of its message, as errors print it.
    pub name: &'static str,
    /// The contents of such a file, for help.
    pub about: &'static str,
    /// The label of such a file in an overview; a run is labelled by its step.
    pub label: &'static str,
    /// Formats may share a flag: the content tells them apart.
    pub flag: InputFlag,
    pub role: Role,
    /// The message, if it can also be in text format.
    text: Option<&'static Message>,
    /// Whether a wire-format file starts like one of these.
    wire: fn(&Head<'_>) -> bool,
    /// Whether a file that is no protobuf starts like one of these.
    content: fn(&[u8]) -> bool,
    /// Whether a path says so, whatever the content.
    path: fn(&Path) -> bool,
    /// How the names of such files start, if an empty file may be one.
    stem: Option<&'static str>,
    #[doc(hidden)]
    pub reader: Reader,
}

/// The flag that names files of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputFlag {
    /// `graph_path`; Python calls the same file `graph`.
    pub name: &'static str,
    pub about: &'static str,
}

impl InputFlag {
    /// The name without `_path`.
    pub fn word(self) -> &'static str {
        self.name.strip_suffix("_path").unwrap_or(self.name)
    }
}

/// The contribution of a file, in load order: graphs define the nodes that op logs and runs refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
    /// A saved model with all its steps.
    Profile,
    Graph,
    /// Variables, or the shapes of those that a graph defines.
    Checkpoint,
    OpLog,
    /// One step.
    Run,
    /// The steps of one host.
    Host,
    /// Sums of other inputs, read alone.
    Partial,
}

impl Role {
    /// Whether such a file can be added to a loaded model. After other files, everything has to be loaded again: op logs
    /// refer to nodes that must be there.
    pub fn adds_to_loaded(self) -> bool {
        matches!(self, Role::OpLog | Role::Run)
    }
}

/// Opens the trace of a host.
pub type OpenHost = fn(&Path, Source<'_>) -> Result<Box<dyn HostFile>, Error>;

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub enum Reader {
    /// Record by record into the model.
    Records(ReadRecords),
    /// At any offset, into the model: a model of another dialect, whose weights are skipped.
    Model(ReadModel),
    /// The path stands for several files, of which values are read when asked for.
    Checkpoint(fn(&Path) -> Result<Checkpoint, Error>),
    /// The files of all hosts are opened first, then read side by side.
    Host(OpenHost),
    /// Partials are merged before they become a model.
    Partial,
}

/// The words of the error about a trace in which nothing was recorded; a page shows them instead of an answer.
pub const NO_EVENTS: &str = "holds no events";

/// All input formats. No two of them recognize the same file; of flags and text formats the first row wins.
pub static FORMATS: &[Format] = &[
    Format { wire: graph_def::recognizes, ..GRAPH },
    Format {
        name: "MetaGraphDef",
        about: "the same, and which variables are trainable (.meta)",
        text: Some(&schema::META_GRAPH_DEF),
        wire: graph_def::recognizes_meta_graph,
        stem: None,
        reader: Reader::Records(graph_def::read_meta_graph),
        ..GRAPH
    },
    Format {
        name: "SavedModel",
        about: "a directory or its saved_model.pb: the served graph, its functions and variables",
        text: Some(&schema::SAVED_MODEL),
        wire: saved_model::recognizes,
        stem: None,
        reader: Reader::Records(saved_model::read),
        ..GRAPH
    },
    Format {
        name: "ONNX model",
        about: "a model that PyTorch or a converter exported (.onnx); its weights are not read",
        label: "model",
        text: None,
        wire: |_| false,
        content: onnx::recognizes,
        path: |path| has_extension(path, "onnx"),
        stem: None,
        reader: Reader::Model(onnx::read),
        ..GRAPH
    },
    Format {
        name: "TensorFlow Lite model",
        about: "a model for phones and microcontrollers (.tflite); its weights are not read",
        label: "model",
        text: None,
        wire: |_| false,
        content: tflite::recognizes,
        stem: None,
        reader: Reader::Model(tflite::read),
        ..GRAPH
    },
    Format {
        name: "Keras model",
        about: "the layers of a model of Keras (.keras, .h5, or model.to_json()), and the shapes of its weights",
        text: None,
        wire: |_| false,
        content: keras::recognizes,
        path: keras::is_model,
        stem: None,
        reader: Reader::Model(keras::read),
        ..GRAPH
    },
    Format {
        name: "RunMetadata",
        about: "one step: the time, memory and device of each op",
        label: "step",
        flag: InputFlag {
            name: "run_meta_path",
            about: "RunMetadata files, [STEP=]FILE,...; without STEP the first is step 0, the next step 1",
        },
        role: Role::Run,
        text: Some(&schema::RUN_METADATA),
        wire: run_metadata::recognizes,
        content: never,
        path: by_content,
        stem: Some("run_meta"),
        reader: Reader::Records(run_metadata::read),
    },
    Format {
        name: "OpLogProto",
        about: "custom types, FLOPs, and the lines of code that made ops",
        label: "op log",
        flag: InputFlag { name: "op_log_path", about: "an OpLogProto: types, FLOPs and code traces" },
        role: Role::OpLog,
        text: Some(&schema::OP_LOG),
        wire: op_log::recognizes,
        content: never,
        path: by_content,
        stem: Some("tfprof_log"),
        reader: Reader::Records(op_log::read),
    },
    Format {
        name: "ProfileProto",
        about: "all of the above in one file, as `tfprof save` writes it",
        label: "profile",
        flag: InputFlag { name: "profile_path", about: "a ProfileProto, which holds all of the above" },
        role: Role::Profile,
        text: Some(&schema::PROFILE),
        wire: profile::recognizes,
        content: never,
        path: by_content,
        stem: Some("profile"),
        reader: Reader::Records(profile::read),
    },
    Format {
        name: "checkpoint",
        about: "names, shapes and values of variables: a prefix, one of its files, or its directory",
        label: "checkpoint",
        flag: InputFlag { name: "checkpoint_path", about: "a checkpoint: the prefix of its files, or its directory" },
        role: Role::Checkpoint,
        text: None,
        wire: |_| false,
        content: never,
        path: locate::is_checkpoint,
        stem: None,
        reader: Reader::Checkpoint(Checkpoint::open),
    },
    Format {
        name: "XSpace",
        about: "a profile of TensorFlow 2 or JAX (HOST.xplane.pb), or the log directory that holds it",
        label: "XSpace",
        flag: InputFlag {
            name: "xspace_path",
            about: "an XSpace of TensorFlow 2 or JAX (HOST.xplane.pb); may be given for each host",
        },
        role: Role::Host,
        text: None,
        wire: xspace::recognizes,
        content: never,
        path: xspace::is_xplane_path,
        stem: None,
        reader: Reader::Host(|path, source| Ok(Box::new(xspace::open(path, source)?))),
    },
    Format {
        name: kineto::NAME,
        about: "a trace of PyTorch (.pt.trace.json), or another Chrome trace; a directory of them is one run",
        label: "trace",
        flag: InputFlag {
            name: "trace_path",
            about: "a trace of PyTorch (.pt.trace.json) or another Chrome trace; may be given for each rank",
        },
        role: Role::Host,
        text: None,
        wire: |_| false,
        content: kineto::recognizes,
        path: by_content,
        stem: None,
        reader: Reader::Host(|path, source| Ok(Box::new(kineto::open(path, source)?))),
    },
    Format {
        name: "partial",
        about: "sums of one or many inputs, mergeable in any order (tfprof save --partial, tfprof merge)",
        label: "partial",
        flag: InputFlag {
            name: "partial_path",
            about: "a partial that `tfprof save --partial` or `tfprof merge` wrote",
        },
        role: Role::Partial,
        text: None,
        wire: |_| false,
        content: part::recognizes,
        path: by_content,
        stem: None,
        reader: Reader::Partial,
    },
];

const GRAPH: Format = Format {
    name: "GraphDef",
    about: "a graph: its ops, inputs, shapes and devices",
    label: "graph",
    flag: InputFlag {
        name: "graph_path",
        about: "a GraphDef, MetaGraphDef or SavedModel, binary or text; an ONNX or TensorFlow Lite model",
    },
    role: Role::Graph,
    text: Some(&schema::GRAPH_DEF),
    wire: graph_def::recognizes,
    content: never,
    path: by_content,
    stem: Some("graph"),
    reader: Reader::Records(graph_def::read),
};

fn by_content(_: &Path) -> bool {
    false
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension)) && path.is_file()
}

fn never(_: &[u8]) -> bool {
    false
}

impl Format {
    /// The format of that name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The first format of a role: the one to assume where the content says nothing.
    pub fn of(role: Role) -> &'static Format {
        FORMATS.iter().find(|format| format.role == role).unwrap_or(&FORMATS[0])
    }

    /// The first format that Python calls by this word: `graph`, `run_meta`, ….
    pub fn by_word(word: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.flag.word() == word)
    }

    /// The format of a file that starts with these bytes, if it can be recognized.
    pub fn recognize(head: &[u8]) -> Option<&'static Format> {
        let content = FORMATS.iter().find(|format| (format.content)(head));
        let by_text = || FORMATS.iter().find(|format| format.text.is_some_and(|message| is_text_of(head, message)));
        let text = content.or_else(by_text);
        text.or_else(|| heads(head).find_map(|head| FORMATS.iter().find(|format| (format.wire)(&head))))
    }

    /// The format of a path whose name says it, whatever the content.
    pub(crate) fn of_path(path: &Path) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.is_path(path))
    }

    /// The format of an empty file, by its name.
    pub(crate) fn of_empty(file_name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.stem.is_some_and(|stem| file_name.starts_with(stem)))
    }

    /// Whether the path says that the file has this format.
    pub(crate) fn is_path(&self, path: &Path) -> bool {
        (self.path)(path)
    }

    /// Of the formats that share a flag, the one of a file that starts with these bytes.
    pub fn refined(&'static self, head: &[u8]) -> &'static Format {
        Format::recognize(head).filter(|found| found.flag == self.flag).unwrap_or(self)
    }

    /// The flags that may read a file that starts with these bytes, though nothing recognizes it.
    pub(crate) fn flags_for(head: &[u8]) -> impl Iterator<Item = InputFlag> {
        let fits = |flag: &InputFlag| {
            let formats = FORMATS.iter().filter(|format| format.flag == *flag);
            formats.filter_map(|format| format.text).any(|message| may_be(head, message))
        };
        Format::flags().filter(fits)
    }

    /// The flags of all formats, each once.
    pub fn flags() -> impl Iterator<Item = InputFlag> {
        let flag = |at: usize| FORMATS[at].flag;
        (0..FORMATS.len()).filter(move |at| !(0..*at).any(|before| flag(before) == flag(*at))).map(flag)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The name with its article: an `XSpace`, a `GraphDef`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&with_article(self.name))
    }
}

// ---- records

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

/// A model file that is open for random access.
#[derive(Debug)]
pub struct ModelFile {
    pub name: String,
    /// Where it is, unless it came through a pipe or from memory; files that belong to it are beside it.
    pub path: Option<PathBuf>,
    pub bytes: FileBytes,
}

/// Reads a model file into the builder.
pub type ReadModel = fn(&ModelFile, &mut Builder) -> Result<(), Error>;

/// Reads a model file into the builder with the reader of its format.
pub fn read_model(read_model: ReadModel, source: Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let (name, path) = (source.name.clone(), source.path.clone());
    let (bytes, cut) = FileBytes::open(path.as_deref().unwrap_or(Path::new("")), source)?;
    builder.begin_file(&name);
    if let Some(cut) = cut {
        builder.warn_damage("damaged", None, cut);
    }
    let outcome = read_model(&ModelFile { name: name.clone(), path, bytes }, builder);
    let refused = builder.refused.take();
    builder.end_file();
    outcome?;
    refused.map_or(Ok(()), |refusal| Err(refusal.into_error(|why| Error::Question(format!("{name}: {why}")))))
}

/// Handles the parts of a file that a format's layout selects.
trait FormatReader {
    /// Tags that are not records: a file that has nothing else is empty.
    const BESIDE: &'static [Tag] = &[];

    fn open(&mut self, _tag: Tag) {}
    fn close(&mut self, _tag: Tag) {}
    fn take(&mut self, tag: Tag, record: Record<'_>);
    /// Called at the end of the file.
    fn finish(&mut self);
    fn builder(&mut self) -> &mut Builder;
}

/// Reads a file to its end, or to where it is damaged: what came before still counts, with a warning.
fn drive<R: FormatReader>(
    mut source: Source<'_>,
    message: &'static Message,
    layout: &'static Layout,
    reader: R,
) -> Result<(), Error> {
    let mut driver = Driver { reader, records: 0 };
    let head = source.head();
    let outcome = if text::looks_like_text(head, message) {
        text::read(&mut source.input, message, layout, &mut driver)
    } else {
        stream::read(&mut source.input, layout, &mut driver)
    };
    // A file of another format gets one error and no warnings.
    if outcome.is_ok() || driver.records > 0 {
        driver.reader.finish();
    }
    driver.reader.builder().settle_types();
    match outcome {
        Ok(_) => Ok(()),
        Err(error) => report(error, message, driver.records, source.head(), driver.reader.builder()),
    }
}

/// Counts the records on their way to a reader, and passes warnings on to its builder.
struct Driver<R> {
    reader: R,
    records: u64,
}

impl<R: FormatReader> Sink for Driver<R> {
    fn open(&mut self, tag: Tag, _offset: u64) -> ControlFlow<()> {
        self.reader.open(tag);
        GO_ON
    }

    fn close(&mut self, tag: Tag) -> ControlFlow<()> {
        self.reader.close(tag);
        GO_ON
    }

    fn take(&mut self, tag: Tag, record: Record<'_>) -> ControlFlow<()> {
        // A number where a message should be is a sign of another format, not a record.
        if matches!(record.value, Value::Bytes(_)) && !R::BESIDE.contains(&tag) {
            self.records += 1;
        }
        budget::check();
        let fault = first_fault(|| self.reader.take(tag, record));
        // The end of the file is reported once, when it is reached.
        if let (Some(error), true) = (fault, record.whole) {
            let fault = error.fault.to_string();
            let what = fault.split(';').next().unwrap_or_default();
            let message = format!("the record that begins here is damaged ({what}); a part of it is left out");
            self.reader.builder().warn_damage("damaged_record", Some(Spot::Byte(record.offset)), message);
        }
        GO_ON
    }

    fn warn(&mut self, spot: Spot, message: String) {
        self.reader.builder().warn("unknown_field", Some(spot), || message);
    }
}

/// Reports damage: a warning if `records` of the file could be read, else an error.
fn report(
    error: StreamError,
    expected: &Message,
    records: u64,
    head: &[u8],
    builder: &mut Builder,
) -> Result<(), Error> {
    let (spot, message) = match error {
        StreamError::Io(error) => match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                (None, format!("the compressed data is damaged or cut short ({error})"))
            }
            io::ErrorKind::FileTooLarge => (None, error.to_string()),
            _ => return Err(cannot_read(builder, error)),
        },
        StreamError::Wire(error) => (Some(Spot::Byte(error.offset)), error.to_string()),
        StreamError::Text { spot, message } => (Some(spot), message),
    };
    if records == 0 {
        let file = builder.file().to_owned();
        if let Some((_, message)) = foreign::guess(head, &file) {
            return Err(Error::Input { location: Location { file, spot: None }, message });
        }
        let location = Location { file, spot };
        let name = expected.name.rsplit('.').next().unwrap_or_default();
        return Err(Error::Input { location, message: format!("not {}: {message}", with_article(name)) });
    }
    builder.warn_damage("damaged", spot, format!("{message}; the answer is about the {records} records before it"));
    Ok(())
}

fn cannot_read(builder: &Builder, source: io::Error) -> Error {
    Error::Io { file: builder.file().to_owned(), action: "cannot read", source }
}

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_and_word_has_a_format() {
        let names = |word| Format::by_word(word).map(|format| format.name);
        assert_eq!(names("graph"), Some("GraphDef"));
        assert_eq!(names("xspace"), Some("XSpace"));
        assert_eq!(names("micros"), None);
        assert_eq!(Format::of(Role::Run).to_string(), "a RunMetadata");
        assert_eq!(Format::of(Role::Host).to_string(), "an XSpace");
        let flags: Vec<_> = Format::flags().map(|flag| flag.name).collect();
        assert_eq!(flags[..2], ["graph_path", "run_meta_path"]);
        assert_eq!(flags.len(), 8);
    }
}
