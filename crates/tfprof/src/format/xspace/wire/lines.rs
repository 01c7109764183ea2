//! Reads the events of a file, line by line.

use super::event::Event;
use super::event_stats::StatReader;
use super::plane::{self, DamageList, Line, LineHeads, Plane, Space};
use super::window::{ByteRange, FieldReader, FileBytes, Head, Window};
use crate::events::self_time::Unsorted;
use crate::model::names::escape_invalid;
use std::io;
use tfprof_proto::fields::xline;

/// A file that is being read.
#[derive(Debug)]
pub struct LineReader<'f> {
    pub bytes: &'f FileBytes,
    pub space: &'f Space,
    /// Some line is not sorted, so all of them are sorted in memory.
    pub whole_lines: bool,
    pub stat_reader: StatReader,
    pub damage: DamageList,
    window: Window,
}

/// A line and its plane.
#[derive(Clone, Copy, Debug)]
pub struct LineOfPlane<'f> {
    pub plane: &'f Plane,
    pub line: &'f Line,
    /// The index of the plane in the file.
    pub plane_index: usize,
}

/// Why reading ended early.
#[derive(Debug)]
pub enum Stop {
    Io(io::Error),
    Unsorted,
    /// A line has its name, id or time after its events.
    LateHead,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Io(error)
    }
}

impl From<Unsorted> for Stop {
    fn from(_: Unsorted) -> Self {
        Stop::Unsorted
    }
}

impl<'f> LineReader<'f> {
    /// `wanted` are the stats that events are asked for, as bits.
    pub fn new(bytes: &'f FileBytes, space: &'f Space, wanted: u32) -> LineReader<'f> {
        LineReader {
            bytes,
            space,
            whole_lines: false,
            stat_reader: StatReader::new(wanted),
            damage: DamageList::default(),
            window: Window::default(),
        }
    }

    /// Calls `walk`; if a line is not sorted, once more with whole lines.
    pub fn run<T>(&mut self, mut walk: impl FnMut(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        loop {
            (self.stat_reader.dangling, self.damage) = Default::default();
            match walk(self) {
                Err(Stop::Unsorted) if !self.whole_lines => self.whole_lines = true,
                done => return done,
            }
        }
    }

    /// All lines, in the order of the file.
    pub fn lines(&self) -> impl Iterator<Item = LineOfPlane<'f>> + use<'f> {
        let planes = self.space.planes.iter().enumerate();
        planes.flat_map(|(plane_index, plane)| {
            plane.lines.iter().map(move |line| LineOfPlane { plane, line, plane_index })
        })
    }

    /// Calls `then` for every event of a line, in the order of the file. Returns the display name of the line.
    #[inline]
    pub fn events(
        &mut self,
        at: LineOfPlane<'f>,
        mut then: impl FnMut(&Event<'_>) -> Result<(), Stop>,
    ) -> Result<String, Stop> {
        let LineOfPlane { plane, line, .. } = at;
        let mut shown = line.display_name.clone();
        self.stat_reader.begin_line(at.plane_index, plane);
        let (Some(span), Some(start)) = (line.span, line.events) else { return Ok(shown) };
        let mut walk = FieldReader::new(self.bytes, ByteRange { start, ..span }, std::mem::take(&mut self.window));
        let mut seq = 0_u32;
        let heads = self.space.heads;
        loop {
            let (ready, limit) = walk.ready();
            let mut done = 0;
            while let Some((event, length)) =
                Event::fast(plane, line, &ready[done..], limit - done, seq, &mut self.stat_reader)
            {
                done += length;
                seq = seq.wrapping_add(1);
                then(&event)?;
            }
            if done > 0 {
                walk.take(done);
            }
            // The next event is the last in the window, or needs the general path.
            // Damage that the first pass reported already is dropped.
            let mut known = DamageList::default();
            let damage = if heads == LineHeads::First { &mut self.damage } else { &mut known };
            let Some((number, head)) = plane::next(&mut walk, damage)? else { break };
            match (number, head) {
                (xline::EVENTS, Head::Message(span)) => {
                    let bytes = walk.content(span)?;
                    let mut damaged = |offset, what| self.damage.add(span.start + offset, what);
                    let event = Event::general(plane, line, bytes, seq, &mut self.stat_reader, &mut damaged);
                    seq = seq.wrapping_add(1);
                    then(&event)?;
                }
                (xline::ID | xline::TIMESTAMP_NS, Head::Varint(_)) | (xline::NAME, Head::Message(_))
                    if heads == LineHeads::First =>
                {
                    return Err(Stop::LateHead);
                }
                (xline::DISPLAY_NAME, Head::Message(span)) => shown = escape_invalid(walk.content(span)?),
                _ => {}
            }
        }
        self.window = walk.into_window();
        Ok(shown)
    }
}
