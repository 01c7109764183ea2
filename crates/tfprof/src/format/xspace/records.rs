//! Ops that wait for their steps, in as few bytes as they take: each is told by how it differs from the one before.

/// An event that waits for its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub item: u32,
    pub context: u32,
    pub start: i64,
    pub total: i64,
    pub own: i64,
}

/// Records in the order in which they came.
#[derive(Debug, Default)]
pub struct Records {
    pieces: Vec<Vec<u8>>,
    last: Last,
}

/// What a record is told by.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    context: u32,
    end: i64,
}

impl Last {
    #[inline]
    fn turn_to(&mut self, record: &Record) {
        *self = Last { context: record.context, end: record.start.wrapping_add(record.total) };
    }
}

const PIECE: usize = 1 << 18;
/// More than one record takes.
const MOST: usize = 48;
const SAME_CONTEXT: u8 = 1;
/// Nothing lies in it, so its own time is all of it.
const NO_PARTS: u8 = 2;
/// Its times take eight bytes each, else four.
const WIDE: u8 = 4;

impl Records {
    #[inline]
    pub fn push(&mut self, record: &Record) {
        let Last { context, end } = self.last;
        let since = record.start.wrapping_sub(end);
        let mut out = Out { bytes: [0; MOST], at: 1 };
        out.put(record.item.to_le_bytes());
        if let (Ok(since), Ok(total), Ok(own)) =
            (i32::try_from(since), u32::try_from(record.total), u32::try_from(record.own))
        {
            out.put(since.to_le_bytes());
            out.put(total.to_le_bytes());
            if own == total {
                out.bytes[0] |= NO_PARTS;
            } else {
                out.put(own.to_le_bytes());
            }
        } else {
            out.bytes[0] |= WIDE;
            [since, record.total, record.own].iter().for_each(|time| out.put(time.to_le_bytes()));
        }
        if record.context == context {
            out.bytes[0] |= SAME_CONTEXT;
        } else {
            out.put(record.context.to_le_bytes());
        }
        self.last.turn_to(record);
        let bytes = &out.bytes[..out.at];
        match self.pieces.last_mut() {
            Some(piece) if piece.len() + MOST <= PIECE => piece.extend_from_slice(bytes),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.extend_from_slice(bytes);
                self.pieces.push(piece);
            }
        }
    }

    pub fn each(&self, mut then: impl FnMut(&Record)) {
        let mut last = Last::default();
        self.pieces.iter().for_each(|piece| read(piece, &mut last, &mut then));
    }

    /// Hands out all records, and gives back their memory on the way.
    pub fn drain(self, mut then: impl FnMut(&Record)) {
        let mut last = Last::default();
        self.pieces.into_iter().for_each(|piece| read(&piece, &mut last, &mut then));
    }
}

struct Out {
    bytes: [u8; MOST],
    at: usize,
}

impl Out {
    #[inline]
    fn put<const N: usize>(&mut self, number: [u8; N]) {
        self.bytes[self.at..self.at + N].copy_from_slice(&number);
        self.at += N;
    }
}

#[inline]
fn read(mut piece: &[u8], last: &mut Last, then: &mut impl FnMut(&Record)) {
    while let Some((flags, rest)) = piece.split_first() {
        piece = rest;
        let item = u32::from_le_bytes(take(&mut piece));
        let (since, total, own);
        if flags & WIDE == 0 {
            since = i64::from(i32::from_le_bytes(take(&mut piece)));
            total = i64::from(u32::from_le_bytes(take(&mut piece)));
            own = if flags & NO_PARTS == 0 { u32::from_le_bytes(take(&mut piece)).into() } else { total };
        } else {
            [since, total, own] = [(); 3].map(|()| i64::from_le_bytes(take(&mut piece)));
        }
        let context = if flags & SAME_CONTEXT == 0 { u32::from_le_bytes(take(&mut piece)) } else { last.context };
        let record = Record { item, context, start: last.end.wrapping_add(since), total, own };
        last.turn_to(&record);
        then(&record);
    }
}

#[inline]
fn take<const N: usize>(piece: &mut &[u8]) -> [u8; N] {
    let Some((number, rest)) = piece.split_first_chunk() else { return [0; N] };
    *piece = rest;
    *number
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_out_as_they_went_in(
            records in proptest::collection::vec((any::<u32>(), 0..3_u32, any::<i64>(), any::<i64>(), any::<bool>()), 0..50),
            times in 1..400_usize,
        ) {
            let record = |(item, context, start, total, whole): &(u32, u32, i64, i64, bool)| {
                Record { item: *item, context: *context, start: *start, total: *total, own: if *whole { *total } else { total / 3 } }
            };
            let mut kept = Records::default();
            let all: Vec<Record> = (0..times).flat_map(|_| records.iter().map(record)).collect();
            all.iter().for_each(|record| kept.push(record));
            let mut out = Vec::new();
            kept.each(|record| out.push(*record));
            prop_assert_eq!(&out, &all);
            out.clear();
            kept.drain(|record| out.push(*record));
            prop_assert_eq!(&out, &all);
        }
    }
}
