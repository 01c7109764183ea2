//! Drives the reader of a format through a file: wire or text format, whole or damaged.
//!
//! A format brings a layout and a [`FormatReader`]; everything else is shared and done here.

use super::source::Source;
use crate::error::{Error, Location};
use crate::model::builder::Builder;
use crate::words::with_article;
use std::io;
use std::ops::ControlFlow;
use tfprof_proto::lenient::first_fault;
use tfprof_proto::schema::Message;
use tfprof_proto::stream::{self, Layout, Record, Sink, Spot, StreamError, Tag};
use tfprof_proto::text;
use tfprof_proto::wire::Value;

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

/// Handles the parts of a file that a format's layout selects.
pub(super) trait FormatReader {
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
pub(super) fn drive<R: FormatReader>(
    mut source: Source<'_>,
    message: &'static Message,
    layout: &'static Layout,
    reader: R,
) -> Result<(), Error> {
    let mut driver = Driver { reader, records: 0 };
    let head = source.head().map_err(|error| cannot_read(driver.reader.builder(), error))?;
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
        Err(error) => report(error, message, driver.records, driver.reader.builder()),
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
fn report(error: StreamError, expected: &Message, records: u64, builder: &mut Builder) -> Result<(), Error> {
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
        let location = Location { file: builder.file().to_owned(), spot };
        let name = expected.name.rsplit('.').next().unwrap_or_default();
        return Err(Error::Input { location, message: format!("not {}: {message}", with_article(name)) });
    }
    builder.warn_damage("damaged", spot, format!("{message}; the answer is about the {records} records before it"));
    Ok(())
}

fn cannot_read(builder: &Builder, source: io::Error) -> Error {
    Error::Io { file: builder.file().to_owned(), action: "cannot read", source }
}

pub(super) const GO_ON: ControlFlow<()> = ControlFlow::Continue(());
