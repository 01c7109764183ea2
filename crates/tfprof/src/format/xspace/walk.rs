//! Walks over the events of a file, line by line.

use super::bytes::{Bytes, Head, Span, Walk, Window};
use super::event::Event;
use super::nest::Unsorted;
use super::own::Taker;
use super::plane::{self, Heads, Line, Notes, Plane, Space};
use crate::model::names::escape_invalid;
use std::io;

/// A file that is being read: its bytes, what is known of it besides its events, and how lines are ordered.
#[derive(Debug)]
pub struct Walker<'f> {
    pub bytes: &'f Bytes,
    pub space: &'f Space,
    /// Some line was found to be out of order: all are taken whole.
    pub whole_lines: bool,
    pub taker: Taker,
    pub notes: Notes,
    window: Window,
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
    /// A line tells of itself behind its events.
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

impl<'f> Walker<'f> {
    /// `wanted` are the stats that events are asked for, as bits.
    pub fn new(bytes: &'f Bytes, space: &'f Space, wanted: u32) -> Walker<'f> {
        Walker {
            bytes,
            space,
            whole_lines: false,
            taker: Taker::new(wanted),
            notes: Notes::default(),
            window: Window::default(),
        }
    }

    /// Calls `walk` until it is through; if a line is not in order, once more with lines taken whole.
    pub fn run<T>(&mut self, mut walk: impl FnMut(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        loop {
            (self.taker.dangling, self.notes) = Default::default();
            match walk(self) {
                Err(Stop::Unsorted) if !self.whole_lines => self.whole_lines = true,
                done => return done,
            }
        }
    }

    /// All lines, in the order of the file.
    pub fn lines(&self) -> impl Iterator<Item = At<'f>> + use<'f> {
        let planes = self.space.planes.iter().enumerate();
        planes.flat_map(|(plane_place, plane)| plane.lines.iter().map(move |line| At { plane, line, plane_place }))
    }

    /// Calls `then` for every event of a line, in the order of the file. Says how the line is shown.
    #[inline]
    pub fn events(&mut self, at: At<'f>, mut then: impl FnMut(&Event<'_>) -> Result<(), Stop>) -> Result<String, Stop> {
        let At { plane, line, .. } = at;
        let mut shown = line.display_name.clone();
        self.taker.turn_to(at.plane_place, plane);
        let (Some(span), Some(start)) = (line.span, line.events) else { return Ok(shown) };
        let mut walk = Walk::new(self.bytes, Span { start, ..span }, std::mem::take(&mut self.window));
        let mut seq = 0_u32;
        let heads = self.space.heads;
        loop {
            let (ready, limit) = walk.ready();
            let mut done = 0;
            while let Some((event, length)) =
                Event::quickly(plane, line, &ready[done..], limit - done, seq, &mut self.taker)
            {
                done += length;
                seq = seq.wrapping_add(1);
                then(&event)?;
            }
            if done > 0 {
                walk.take(done);
            }
            // What is left is the last in the window, or written in another way.
            let mut told = Notes::default();
            let notes = if heads == Heads::First { &mut self.notes } else { &mut told };
            let Some((number, head)) = plane::next(&mut walk, notes)? else { break };
            match (number, head) {
                (4, Head::Message(span)) => {
                    let bytes = walk.content(span)?;
                    let mut damaged = |offset, what| self.notes.add(span.start + offset, what);
                    let event = Event::slowly(plane, line, bytes, seq, &mut self.taker, &mut damaged);
                    seq = seq.wrapping_add(1);
                    then(&event)?;
                }
                (1 | 3, Head::Varint(_)) | (2, Head::Message(_)) if heads == Heads::First => {
                    return Err(Stop::LateHead);
                }
                (11, Head::Message(span)) => shown = escape_invalid(walk.content(span)?),
                _ => {}
            }
        }
        self.window = walk.into_window();
        Ok(shown)
    }
}
