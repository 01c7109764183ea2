//! Takes a file through the reader of its format: wire or text, whole or damaged.
//!
//! A format brings a layout and a [`FormatReader`]; what is the same for all of them is done here, once.

use super::Format;
use super::source::Source;
use crate::error::{Error, Location};
use crate::model::builder::Builder;
use std::io;
use std::ops::ControlFlow;
use tfprof_proto::lenient::first_fault;
use tfprof_proto::stream::{self, Layout, Record, Sink, Spot, StreamError, Tag};
use tfprof_proto::text;
use tfprof_proto::wire::Value;

/// What a format does with the parts that its layout asks for.
pub(super) trait FormatReader {
    /// Tags of what stands beside the records: a file that has only such things has nothing to say.
    const BESIDE: &'static [Tag] = &[];

    fn open(&mut self, _tag: Tag) {}
    fn close(&mut self, _tag: Tag) {}
    fn take(&mut self, tag: Tag, record: Record<'_>);
    /// Puts in place what had to wait for the end of the file.
    fn finish(&mut self);
    fn builder(&mut self) -> &mut Builder;
}

/// Reads a file to its end, or to where it is damaged: what came before still counts, with a warning.
pub(super) fn drive<R: FormatReader>(
    mut source: Source<'_>,
    format: Format,
    layout: &'static Layout,
    reader: R,
) -> Result<(), Error> {
    let mut driver = Driver { reader, records: 0 };
    let head = source.head().map_err(|error| cannot_read(driver.reader.builder(), error))?;
    let outcome = if text::looks_like_text(head, format.message()) {
        text::read(&mut source.input, format.message(), layout, &mut driver)
    } else {
        stream::read(&mut source.input, layout, &mut driver)
    };
    // Of a file that is something else entirely there is nothing more to say than that.
    if outcome.is_ok() || driver.records > 0 {
        driver.reader.finish();
    }
    driver.reader.builder().settle_types();
    match outcome {
        Ok(_) => Ok(()),
        Err(error) => report(error, format, driver.records, driver.reader.builder()),
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

/// Says what is wrong with a file: a warning if `records` of it could be read.
fn report(error: StreamError, format: Format, records: u64, builder: &mut Builder) -> Result<(), Error> {
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
        let article = if format == Format::OpLog { "an" } else { "a" };
        return Err(Error::Input { location, message: format!("not {article} {}: {message}", format.name()) });
    }
    builder.warn_damage("damaged", spot, format!("{message}; the answer is about the {records} records before it"));
    Ok(())
}

fn cannot_read(builder: &Builder, source: io::Error) -> Error {
    Error::Io { file: builder.file().to_owned(), action: "cannot read", source }
}

pub(super) const GO_ON: ControlFlow<()> = ControlFlow::Continue(());
