//! Walks over the events of a file, line by line.

use super::bytes::{Bytes, Head, Walk};
use super::event::{Dangling, Event, Own};
use super::nest::Unsorted;
use super::plane::{self, Line, Notes, Plane, Space};
use std::io;

/// A file that is being read: its bytes, what is known of it besides its events, and how lines are ordered.
#[derive(Debug)]
pub struct Walker<'f> {
    pub bytes: &'f Bytes,
    pub space: &'f Space,
    /// Some line was found to be out of order: all are taken whole.
    pub whole_lines: bool,
    pub dangling: Dangling,
    pub notes: Notes,
    window: Vec<u8>,
    own: Own,
}

/// A line and its plane.
#[derive(Clone, Copy, Debug)]
pub struct At<'f> {
    pub plane: &'f Plane,
    pub line: &'f Line,
    /// The place of the plane in the file.
    pub plane_place: usize,
}

/// Why a walk ended early.
#[derive(Debug)]
pub enum Stop {
    Io(io::Error),
    Unsorted,
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

impl<'f> Walker<'f> {
    pub fn new(bytes: &'f Bytes, space: &'f Space) -> Walker<'f> {
        Walker {
            bytes,
            space,
            whole_lines: false,
            dangling: Dangling::default(),
            notes: Notes::default(),
            window: Vec::new(),
            own: Own::default(),
        }
    }

    /// Calls `walk` until it is through; if a line is not in order, once more with lines taken whole.
    pub fn run<T>(&mut self, mut walk: impl FnMut(&mut Self) -> Result<T, Stop>) -> io::Result<T> {
        loop {
            (self.dangling, self.notes) = (Dangling::default(), Notes::default());
            match walk(self) {
                Ok(done) => return Ok(done),
                Err(Stop::Io(error)) => return Err(error),
                Err(Stop::Unsorted) if !self.whole_lines => self.whole_lines = true,
                Err(Stop::Unsorted) => return Err(io::Error::other("a line cannot be put in order")),
            }
        }
    }

    /// All lines, in the order of the file.
    pub fn lines(&self) -> impl Iterator<Item = At<'f>> + use<'f> {
        let planes = self.space.planes.iter().enumerate();
        planes.flat_map(|(plane_place, plane)| plane.lines.iter().map(move |line| At { plane, line, plane_place }))
    }

    /// Calls `then` for every event of a line, in the order of the file.
    #[inline]
    pub fn events(&mut self, at: At<'f>, mut then: impl FnMut(&Event<'_>) -> Result<(), Stop>) -> Result<(), Stop> {
        let At { plane, line, .. } = at;
        let Some(span) = line.span else { return Ok(()) };
        let mut walk = Walk::with_window(self.bytes, span, std::mem::take(&mut self.window));
        let mut seq = 0;
        // The first walk has told of damage between events.
        let mut told = Notes::default();
        let notes = &mut self.notes;
        while let Some((number, head)) = plane::next(&mut walk, &mut told)? {
            let (4, Head::Message(span)) = (number, head) else { continue };
            let bytes = walk.content(span)?;
            let mut damaged = |offset, what| notes.add(span.start + offset, what);
            let event = Event::read(plane, line, bytes, seq, &mut self.own, &mut self.dangling, &mut damaged);
            seq += 1;
            then(&event)?;
        }
        self.window = walk.into_window();
        Ok(())
    }
}
