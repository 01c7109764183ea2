//! Turns the events of a file into spans and walks over them: sums by op, call and runtime event, and by step.

use super::classify::{ClassCache, Classifier, LineKind};
use super::steps::{STEP_STATS, StepReader, device_step_number};
use super::wire::event::Event;
use super::wire::lines::{LineOfPlane, LineReader, Stop};
use super::wire::stats::{OP_STATS, Stat};
use crate::events::self_time::{OpenSpans, SpanOrder};
use crate::events::steps::{NONE, Note, Steps};
use crate::events::walk::{Class, Span, TraceSums, TraceWalk, Wanted};
use crate::model::hosts::{EventKind, LineFacts, SpanSums};
use regex::Regex;

/// The stats that events are asked for, as bits.
pub fn stats(wanted: Wanted) -> u32 {
    let always = [
        Stat::Flops,
        Stat::SelfDuration,
        Stat::DeviceOffset,
        Stat::DeviceDuration,
        Stat::PeakBytesInUse,
        Stat::AllocatorName,
    ];
    let of_steps = if wanted.step_marks { STEP_STATS } else { 0 };
    always.iter().fold(OP_STATS | of_steps, |mask, stat| mask | stat.bit())
}

/// By metadata of the current plane: the number of its runtime event or call, or [`NONE`].
#[derive(Default)]
struct ItemNumbers {
    plane: Option<usize>,
    of_meta: Vec<u32>,
}

impl ItemNumbers {
    fn begin_line(&mut self, at: LineOfPlane<'_>) {
        if self.plane != Some(at.plane_index) {
            self.plane = Some(at.plane_index);
            self.of_meta = vec![NONE; at.plane.metas.len()];
        }
    }
}

/// A walk over the events of a file.
struct FileWalk<'w, 'f, 'm> {
    walk: TraceWalk,
    classifier: &'w mut Classifier<'f>,
    classes: ClassCache,
    items: ItemNumbers,
    steps: StepReader<'m>,
    step_marks: bool,
}

/// Walks over all events.
pub fn walk(
    reader: &mut LineReader<'_>,
    classifier: &mut Classifier<'_>,
    marker: Option<&Regex>,
    wanted: Wanted,
) -> Result<(TraceSums, Steps), Stop> {
    reader.run(|reader| {
        let mut file = FileWalk {
            walk: TraceWalk::new(wanted),
            classifier,
            classes: ClassCache::default(),
            items: ItemNumbers::default(),
            steps: StepReader::new(marker),
            step_marks: wanted.step_marks,
        };
        for at in reader.lines() {
            file.line(reader, at)?;
        }
        Ok(file.walk.finish())
    })
}

impl FileWalk<'_, '_, '_> {
    fn line<'f>(&mut self, reader: &mut LineReader<'f>, at: LineOfPlane<'f>) -> Result<(), Stop> {
        let FileWalk { walk, classifier, classes, items, steps, step_marks } = self;
        let kind = LineKind::of(at.plane, at.line);
        classes.begin_line(at.plane_index, at.plane, kind);
        items.begin_line(at);
        steps.begin_line(at.plane_index, at.plane);
        let line = LineFacts {
            plane: at.plane.name.clone(),
            id: at.line.id,
            name: at.line.name.clone(),
            ..LineFacts::default()
        };
        walk.begin_line(at.plane_index, line);
        let has_memory = at.plane.mask & Stat::PeakBytesInUse.bit() != 0;
        let is_host = !at.plane.is_device();
        let is_steps_line = *step_marks && !is_host && at.line.name == "Steps";
        let mut order = SpanOrder::new(reader.whole_lines);
        let mut open = OpenSpans::default();
        let display_name = reader.events(at, |event| {
            let class = classifier.class(kind, event, classes)?;
            let item = if walk.wants_item(class.kind) { item(walk, class.kind, event, at, items) } else { NONE };
            if has_memory
                && event.has(Stat::PeakBytesInUse)
                && let Some(bytes) = event.number(Stat::PeakBytesInUse)
            {
                walk.memory(bytes, || event.text(Stat::AllocatorName).unwrap_or_default().into_owned());
            }
            if let Some(count) = event.count {
                walk.add_aggregated(class, item, &aggregated_sums(class, event, count));
                return Ok(());
            }
            if is_steps_line {
                let number = device_step_number(event);
                walk.collector.add_device_step(&event.plane.name, event.start, event.end, number);
            }
            let note = if *step_marks {
                steps.note(event, is_host, class.kind.is_op(), &mut walk.collector)
            } else {
                Note::default()
            };
            let span = Span { start: event.start, end: event.end, seq: event.seq, class, item, note };
            order.add(span, |span| walk.visit(&span, &mut open)).map_err(Stop::from)
        })?;
        order.flush(|span| walk.visit(&span, &mut open));
        open.close_all(|span| walk.close(&span));
        walk.end_line(display_name);
        Ok(())
    }
}

/// The number of a runtime event or of a call's name.
#[inline]
fn item(walk: &mut TraceWalk, kind: EventKind, event: &Event<'_>, at: LineOfPlane<'_>, items: &mut ItemNumbers) -> u32 {
    let known = event.meta_at.map_or(NONE, |at| items.of_meta[at]);
    if known != NONE {
        return known;
    }
    let item = if kind == EventKind::Python {
        // Their names begin with a dollar.
        walk.call(&event.name()[1..])
    } else {
        walk.runtime_event(at.plane_index, event.full_name().into_owned())
    };
    if let Some(at) = event.meta_at {
        items.of_meta[at] = item;
    }
    item
}

/// The sums of an event that stands for several.
fn aggregated_sums(class: Class, event: &Event<'_>, count: i64) -> SpanSums {
    let total = event.duration();
    let self_time = if class.kind.is_op() { event.number(Stat::SelfDuration).unwrap_or(total) } else { total };
    SpanSums { runs: if count == 0 { 1 } else { count }, total, self_time, first: 0, last: 0 }
}
