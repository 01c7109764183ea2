//! The last pass: an event for each record, and arrows from the ops that made its inputs.

use super::record::{OpLabel, OpRun, kernel};
use super::survey::Survey;
use super::tensors::Tensors;
use super::writer::Events;
use super::{Step, TraceOptions, walk};
use crate::render::chrome::Point;
use std::io;

/// Writes the ops of a step, and tells `tensors` which of them were read until when.
pub(super) fn walk(
    step: &Step<'_>,
    survey: &Survey,
    options: TraceOptions,
    tensors: &mut Tensors,
    events: &mut Events<'_>,
) -> io::Result<()> {
    walk::records(step, survey, |device, record, lane| {
        let begin = Point { process: device.compute, lane, time: record.start };
        let run = OpRun { begin, duration: record.duration, name: record.name, op: record.name };
        if device.has_kernels {
            let (name, op) = kernel(record);
            return events.op(&OpRun { name, op, ..run }, std::iter::empty());
        }
        // A transfer between workers has a label of another form.
        if record.name == b"RecvTensor" {
            return events.op(&run, std::iter::empty());
        }
        let label = OpLabel::parse(record.label);
        events.op(&OpRun { op: label.op, ..run }, label.inputs())?;
        if tensors.are_unused() {
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
