//! The last walk: a region for each record, and arrows from the makers of its inputs.

use super::record::{OpLabel, kernel};
use super::survey::Survey;
use super::tensors::Tensors;
use super::writer::{Events, Point};
use super::{Step, TraceOptions, walk};
use std::io;

/// Writes the ops of a step; tells `tensors` who read what.
pub(super) fn walk(
    step: &Step<'_>,
    survey: &Survey,
    options: TraceOptions,
    tensors: &mut Tensors,
    events: &mut Events<'_>,
) -> io::Result<()> {
    walk::records(step, survey, |device, record, lane| {
        let begin = Point { process: device.compute, lane, at: record.start };
        if device.has_kernels {
            let (name, op) = kernel(record);
            return events.op(begin, record.length, name, op, std::iter::empty());
        }
        // A transfer between workers; its label says something else.
        if record.name == b"RecvTensor" {
            return events.op(begin, record.length, record.name, record.name, std::iter::empty());
        }
        let label = OpLabel::parse(record.label);
        events.op(begin, record.length, record.name, label.op, label.inputs())?;
        if tensors.are_of_no_use() {
            return Ok(());
        }
        for input in label.inputs() {
            let Some((input, origin)) = tensors.read(input, record.end() - 1) else { continue };
            // As the original: an arrow along one lane would only hide what lies below it.
            if options.show_dataflow && (origin.process, origin.lane) != (begin.process, begin.lane) {
                events.flow(input, origin, begin)?;
            }
        }
        Ok(())
    })
}
