//! One pass over a `RunMetadata`, record by record.

use super::Step;
use super::record::Record;
use super::survey::{Device, Survey};
use crate::error::Error;
use crate::format::source::Source;
use crate::render::chrome::{Lanes, Micros};
use std::io;
use std::ops::ControlFlow;
use tfprof_proto::fields::{device_step_stats, run_metadata, step_stats};
use tfprof_proto::stream::{self, Layout, Record as Part, Rule, Sink, Spot, StreamError, Tag};
use tfprof_proto::wire::Value;
use tfprof_proto::{schema, text};

const STEP_STATS: Tag = 1;
pub(super) const DEVICE_STATS: Tag = 2;
pub(super) const DEVICE: Tag = 3;
const NODE_STATS: Tag = 4;

static DEVICE_ONLY: Layout = Layout { fields: &[(device_step_stats::DEVICE, Rule::Take(DEVICE))] };
static STEP_DEVICES: Layout = Layout { fields: &[(step_stats::DEV_STATS, Rule::Enter(DEVICE_STATS, &DEVICE_ONLY))] };
/// Only the names of the devices.
pub(super) static DEVICES: Layout =
    Layout { fields: &[(run_metadata::STEP_STATS, Rule::Enter(STEP_STATS, &STEP_DEVICES))] };

static RECORDS_ONLY: Layout = Layout { fields: &[(device_step_stats::NODE_STATS, Rule::Take(NODE_STATS))] };
static STEP_RECORDS: Layout = Layout { fields: &[(step_stats::DEV_STATS, Rule::Enter(DEVICE_STATS, &RECORDS_ONLY))] };
/// Only the records: the first pass numbered the devices.
static RECORDS: Layout = Layout { fields: &[(run_metadata::STEP_STATS, Rule::Enter(STEP_STATS, &STEP_RECORDS))] };

/// Reads a file in wire or text format.
pub(super) fn read(mut source: Source<'_>, layout: &'static Layout, sink: &mut dyn Sink) -> Result<bool, StreamError> {
    let head = source.head();
    if text::looks_like_text(head, &schema::RUN_METADATA) {
        text::read(&mut source.input, &schema::RUN_METADATA, layout, sink)
    } else {
        stream::read(&mut source.input, layout, sink)
    }
}

/// Calls `each` with every whole record of a step, its device and its lane.
///
/// The first pass reported all damage; here it only ends the pass.
pub(super) fn records(
    step: &Step<'_>,
    survey: &Survey,
    each: impl FnMut(&Device, &Record<'_>, u32) -> io::Result<()>,
) -> io::Result<()> {
    let source = (step.open)().map_err(|error| match error {
        Error::Io { source, .. } => source,
        error => io::Error::other(error.to_string()),
    })?;
    let mut sink = Records { survey, devices_seen: 0, lanes: Lanes::new(FREE_FROM), each, failure: None };
    // The survey read the same bytes and reported any error.
    let _ = read(source, &RECORDS, &mut sink);
    sink.failure.map_or(Ok(()), Err)
}

/// As the original: the first lane of a device is busy until time 0, and a lane is free once its last record has ended.
const FREE_FROM: Micros = 1;

struct Records<'a, F> {
    survey: &'a Survey,
    devices_seen: usize,
    lanes: Lanes,
    each: F,
    failure: Option<io::Error>,
}

impl<F: FnMut(&Device, &Record<'_>, u32) -> io::Result<()>> Sink for Records<'_, F> {
    fn open(&mut self, tag: Tag, _offset: u64) -> ControlFlow<()> {
        if tag == DEVICE_STATS {
            self.devices_seen += 1;
            self.lanes = Lanes::new(FREE_FROM);
        }
        ControlFlow::Continue(())
    }

    fn take(&mut self, _tag: Tag, part: Part<'_>) -> ControlFlow<()> {
        let Value::Bytes(bytes) = part.value else { return ControlFlow::Continue(()) };
        let Some(device) = self.survey.devices.get(self.devices_seen.wrapping_sub(1)) else {
            return ControlFlow::Continue(());
        };
        if !part.whole {
            return ControlFlow::Continue(());
        }
        let mut record = Record::new(bytes, part.offset);
        self.survey.kernels.adjust(device, &mut record);
        let lane = self.lanes.place(record.start, record.end() + 1);
        match (self.each)(device, &record, lane) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn warn(&mut self, _: Spot, _: String) {}
}
