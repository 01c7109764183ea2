//! Columns of whole numbers, of which reports have millions: they are found once, and a row's are put together in a buffer of
//! a fixed size, where writing a number takes no call.

use super::{Column, push_number};
use crate::metric::{self, Metric, Unit};
use crate::units;
use crate::view::columns::Number;
use crate::view::{Side, View, VisibleRow};

/// The numbers of a row under way.
pub(super) struct Numbers<'v> {
    /// By column, if all of its numbers are whole and known.
    whole: Vec<Option<Whole<'v>>>,
    text: Box<[u8; ROOM]>,
    at: usize,
}

struct Whole<'v> {
    unit: Unit,
    own: metric::Column<'v>,
    total: metric::Column<'v>,
}

const ROOM: usize = 1024;
/// More than a column takes.
const COLUMN: usize = 256;
/// Most numbers are shorter: copying a fixed size takes no call.
const PIECE: usize = 16;

impl<'v> Numbers<'v> {
    pub fn new(view: &'v View, columns: &[Column]) -> Numbers<'v> {
        let whole = |column: &Column| match column {
            Column::Metric(info) => Whole::of(view, info.metric),
            _ => None,
        };
        Numbers { whole: columns.iter().map(whole).collect(), text: Box::new([0; ROOM]), at: 0 }
    }

    /// Appends the number of a row itself and its total, unless the column has others.
    #[inline]
    pub fn pair(&mut self, column: usize, is_accounted: bool, row: &VisibleRow) -> bool {
        let Some(Some(Whole { unit, own, total })) = self.whole.get(column) else { return false };
        let (unit, own, total) = (*unit, own[row.row], total[row.row]);
        let start = self.at;
        let Some(room) = self.text.get_mut(start..).and_then(|room| room.first_chunk_mut()) else { return false };
        let mut length = if is_accounted {
            units::put(unit, own, room)
        } else {
            room[..2].copy_from_slice(b"--");
            2
        };
        room[length] = b'/';
        length += 1;
        if is_accounted && own == total && length <= PIECE {
            let again: [u8; PIECE] = room.first_chunk().copied().unwrap_or_default();
            room[length..length + PIECE].copy_from_slice(&again);
            self.at += 2 * length - 1;
            return true;
        }
        self.at += length;
        if let Some(room) = self.text.get_mut(self.at..).and_then(|room| room.first_chunk_mut()) {
            self.at += units::put(unit, total, room);
        }
        true
    }

    /// Appends a short text.
    #[inline]
    pub fn text(&mut self, text: &str) {
        let text = text.as_bytes();
        if let Some(room) = self.text.get_mut(self.at..self.at + text.len()) {
            // Most are a comma and a space.
            if let ([a, b], [to_a, to_b]) = (text, &mut *room) {
                (*to_a, *to_b) = (*a, *b);
            } else {
                room.copy_from_slice(text);
            }
            self.at += text.len();
        }
    }

    /// Hands over what is written so far.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text[..self.at]);
        self.at = 0;
    }

    /// Makes room for another column.
    #[inline]
    pub fn flush_if_full(&mut self, out: &mut Vec<u8>) {
        if self.at > ROOM - COLUMN {
            self.flush(out);
        }
    }
}

impl<'v> Whole<'v> {
    fn of(view: &'v View, metric: Metric) -> Option<Whole<'v>> {
        let [own, total] = view.whole_numbers(metric)?;
        Some(Whole { unit: metric.info().unit, own, total })
    }
}

/// Appends the number of a row itself and its total, of any kind.
pub(super) fn push_pair(view: &View, metric: Metric, row: &VisibleRow, out: &mut Vec<u8>) {
    let own = if view.is_accounted(row) { view.number(Side::SelfOnly, metric, row) } else { Number::Missing };
    let total = view.number(Side::Total, metric, row);
    if let (Number::Int(own), Number::Int(total)) = (own, total) {
        return units::push_pair(out, metric.info().unit, own, total);
    }
    push_number(own, metric, out);
    out.push(b'/');
    push_number(total, metric, out);
}
