//! How rows nest, as if time were what they are made of: a row begins where its parent does, behind its elder siblings.

use super::events::{At, Events};
use crate::metric::Metric;
use crate::render::nesting;
use crate::view::View;
use std::io::{self, Write};

pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events::begin(out)?;
    // Each depth is a process, named when it is first needed.
    let mut named = 0;
    for nested in nesting::boxes(view, Metric::Micros) {
        let process = nested.depth;
        if process >= named {
            events.process(process, &format!("Scope:{process}"))?;
            named = process + 1;
        }
        let name = view.name(&view.rows()[nested.row]);
        events.region(At { process, lane: 0, micros: nested.start }, nested.width, name, true)?;
    }
    events.end()
}
