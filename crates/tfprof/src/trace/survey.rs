//! The first pass: lists the devices, and finds out whether the file can be read at all.

use crate::error::{Error, Location, Warning};
use crate::foreign;
use crate::hash::UntrustedMap;
use crate::model::names::escape_invalid;
use crate::render::chrome::Micros;
use crate::trace::record::{Record, kernel};
use crate::trace::walk::{self, DEVICE, DEVICE_STATS, DEVICES};
use crate::trace::writer::Events;
use crate::trace::{OpTime, Step};
use std::io;
use std::ops::ControlFlow;
use tfprof_proto::stream::{Record as Part, Sink, Spot, StreamError, Tag};
use tfprof_proto::wire::Value;

/// The facts of a step that the first pass collects.
#[derive(Debug)]
pub(super) struct Survey {
    /// In the order of the file.
    pub devices: Vec<Device>,
    pub kernels: Kernels,
    /// The process that shows the memory of the allocators.
    pub allocators: u32,
    prefix: String,
}

#[derive(Debug)]
pub(super) struct Device {
    name: String,
    /// The processes of its ops and of its tensors.
    pub compute: u32,
    pub tensors: u32,
    /// Its records are kernels and copies rather than ops.
    pub has_kernels: bool,
    /// Its ops may have launched kernels.
    pub has_ops: bool,
    /// It lists the kernels of all streams of a GPU.
    pub has_all_streams: bool,
}

impl Survey {
    pub fn new(
        step: &Step<'_>,
        op_time: OpTime,
        prefix: String,
        next_process: &mut u32,
        warnings: &mut Vec<Warning>,
    ) -> Result<Survey, Error> {
        let source = (step.open)()?;
        let file = source.name.clone();
        let mut names = Names { file: file.clone(), found: Vec::new(), warnings };
        let outcome = walk::read(source, &DEVICES, &mut names);
        names.end(outcome).map_err(|error| {
            let guess = (step.open)().ok().and_then(|source| foreign::guess(source.head(), &file));
            guess.map_or(error, |(_, message)| Error::Input { location: Location { file, spot: None }, message })
        })?;
        let names = names.found;
        let allocators = *next_process;
        let mut devices: Vec<Device> = (allocators + 1..)
            .step_by(2)
            .zip(names)
            .map(|(process, name)| Device {
                compute: process,
                tensors: process + 1,
                has_kernels: name.contains("/stream:") || name.contains("/memcpy"),
                has_ops: name.contains("/job") && !name.contains("/stream:all"),
                has_all_streams: name.contains("/stream:all"),
                name,
            })
            .collect();
        *next_process += 1 + 2 * devices.len() as u32;
        share_processes(&mut devices);
        let mut survey = Survey { devices, kernels: Kernels::default(), allocators, prefix };
        if op_time != OpTime::Schedule {
            survey.kernels = survey.kernels_of(step, op_time)?;
        }
        Ok(survey)
    }

    fn kernels_of(&self, step: &Step<'_>, op_time: OpTime) -> Result<Kernels, Error> {
        let mut kernels = Kernels::new(op_time);
        let read = walk::records(step, self, |device, record, _| {
            if device.has_all_streams {
                kernels.add(record);
            }
            Ok(())
        });
        read.map_err(|source| Error::Io { file: format!("step {}", step.step), action: "cannot read", source })?;
        Ok(kernels)
    }

    /// The events that name the processes.
    pub fn write_processes(&self, events: &mut Events<'_>) -> io::Result<()> {
        let Survey { prefix, .. } = self;
        events.process_name(self.allocators, &format!("{prefix}Allocators"))?;
        for (process, device) in (self.allocators + 1..).step_by(2).zip(&self.devices) {
            events.process_name(process, &format!("{prefix}{} Compute", device.name))?;
            events.process_name(process + 1, &format!("{prefix}{} Tensors", device.name))?;
        }
        Ok(())
    }
}

/// As the original: all entries of a device share the processes of the last one.
fn share_processes(devices: &mut [Device]) {
    let mut last = UntrustedMap::default();
    for device in devices.iter() {
        last.insert(device.name.clone(), (device.compute, device.tensors));
    }
    for device in devices {
        if let Some((compute, tensors)) = last.get(&device.name) {
            (device.compute, device.tensors) = (*compute, *tensors);
        }
    }
}

/// The names of the devices in the order of the file.
struct Names<'w> {
    file: String,
    found: Vec<String>,
    warnings: &'w mut Vec<Warning>,
}

impl Names<'_> {
    fn end(&mut self, outcome: Result<bool, StreamError>) -> Result<(), Error> {
        let (spot, message) = match outcome {
            Ok(_) => return Ok(()),
            Err(StreamError::Io(source)) => match source.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                    (None, format!("the compressed data is damaged or cut short ({source})"))
                }
                _ => return Err(Error::Io { file: self.file.clone(), action: "cannot read", source }),
            },
            Err(StreamError::Wire(error)) => (Some(Spot::Byte(error.offset)), error.to_string()),
            Err(StreamError::Text { spot, message }) => (Some(spot), message),
        };
        let location = Location { file: self.file.clone(), spot };
        if self.found.is_empty() {
            return Err(Error::Input { location, message: format!("not a RunMetadata: {message}") });
        }
        let message = format!("{message}; the trace ends there");
        self.warnings.push(Warning::new("damaged", message).at(location).with_damage());
        Ok(())
    }
}

impl Sink for Names<'_> {
    fn open(&mut self, tag: Tag, _offset: u64) -> ControlFlow<()> {
        if tag == DEVICE_STATS {
            self.found.push(String::new());
        }
        ControlFlow::Continue(())
    }

    fn take(&mut self, tag: Tag, part: Part<'_>) -> ControlFlow<()> {
        if let (DEVICE, Value::Bytes(name), Some(last), true) = (tag, part.value, self.found.last_mut(), part.whole) {
            *last = escape_invalid(name);
        }
        ControlFlow::Continue(())
    }

    fn warn(&mut self, spot: Spot, message: String) {
        let location = Location { file: self.file.clone(), spot: Some(spot) };
        self.warnings.push(Warning::new("unknown_field", message).at(location));
    }
}

/// By op: the first start and the last end of its kernels.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    op_time: OpTime,
    spans: UntrustedMap<Vec<u8>, Span>,
}

#[derive(Debug)]
struct Span {
    start: Micros,
    end: Micros,
}

impl Kernels {
    pub fn new(op_time: OpTime) -> Self {
        Kernels { op_time, spans: UntrustedMap::default() }
    }

    /// Adds a kernel of a device that lists all streams.
    pub fn add(&mut self, record: &Record<'_>) {
        let (name, _) = kernel(record);
        match self.spans.get_mut(name) {
            Some(span) => {
                span.start = span.start.min(record.start);
                span.end = span.end.max(record.end());
            }
            None => drop(self.spans.insert(name.to_vec(), Span { start: record.start, end: record.end() })),
        }
    }

    /// Moves the record of an op to the time of its kernels.
    pub fn adjust(&self, device: &Device, record: &mut Record<'_>) {
        if !device.has_ops || self.spans.is_empty() {
            return;
        }
        let Some(span) = self.spans.get(record.name) else { return };
        let end = span.end.max(record.end());
        if self.op_time == OpTime::Gpu {
            record.start = span.start;
        }
        record.duration = end - record.start;
    }
}
