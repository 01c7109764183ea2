//! The timeline of a tree: a row starts where its parent does, after its elder siblings, and is as long as its total.

use crate::metric::Metric;
use crate::render::chrome::{Event, EventWriter, Layout, Point};
use crate::render::nesting;
use crate::view::View;
use std::io::{self, Write};

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let mut events = EventWriter::begin(&Layout::SORTED, out);
    // Each depth is a process, named when it is first needed.
    let mut named = 0;
    for nested in nesting::boxes(view, Metric::Micros) {
        let process = nested.depth as u32;
        if process >= named {
            events.process_name(process, &format!("Scope:{process}"))?;
            named = process + 1;
        }
        let name = view.name(&view.rows()[nested.row]).as_bytes();
        let at = Point { process, lane: 0, time: nested.start.into() };
        let event = Event { phase: "X", category: "Op", name, at, duration: Some(nested.width.into()), id: None };
        events.event_with(&event, |args| {
            args.string(b"name", name);
            args.string(b"op", name);
        })?;
    }
    events.end()
}
