//! Traces of other programs: events that begin and end, on each thread in the order of the file.

use crate::events::held::CallSpan;
use crate::hash::TrustedMap;
use crate::model::names::NameId;

/// Events that have begun, by line, the innermost last.
#[derive(Debug, Default)]
pub struct OpenBegins {
    open: TrustedMap<u32, Vec<(i64, NameId, NameId)>>,
}

impl OpenBegins {
    pub fn begin(&mut self, line: u32, time: i64, name: NameId, category: NameId) {
        self.open.entry(line).or_default().push((time, name, category));
    }

    /// Ends the innermost event of a line; `None` if none is open: it began before the recording.
    pub fn end(&mut self, line: u32, time: i64) -> Option<(CallSpan, NameId)> {
        let (start, name, category) = self.open.get_mut(&line)?.pop()?;
        Some((CallSpan { start, end: time.max(start), name, line, is_module: false }, category))
    }

    /// Ends all events with the recording, and returns how many there were.
    pub fn close_all(&mut self, time: i64, mut then: impl FnMut(CallSpan, NameId)) -> u64 {
        let mut lines: Vec<_> = self.open.drain().collect();
        lines.sort_unstable_by_key(|(line, _)| *line);
        let mut count = 0;
        for (line, open) in lines {
            for (start, name, category) in open {
                count += 1;
                then(CallSpan { start, end: time.max(start), name, line, is_module: false }, category);
            }
        }
        count
    }
}
