//! Tiles: a window of the timeline as columns of boxes, at most one per pixel and lane.

use super::{LaneInfo, Timeline};

/// The pixels of a tile.
pub const WIDTH: u32 = 1024;
/// Steps of a pixel in which boxes are placed.
const FINE: u64 = 32;
const MAGIC: u32 = 0x3154_4654;

const BEGINS_BEFORE: u8 = 4;
const ENDS_AFTER: u8 = 8;

/// Boxes as columns.
#[derive(Default)]
struct Columns {
    name: Vec<u32>,
    count: Vec<u32>,
    lane: Vec<u16>,
    x: Vec<u16>,
    width: Vec<u16>,
    op: Vec<u8>,
    flags: Vec<u8>,
}

/// A span of time, and how to place boxes in it.
struct Window {
    begin: u64,
    end: u64,
    /// Nanoseconds of a pixel; a fraction at the deepest levels.
    pixel: f64,
}

impl Window {
    /// Where a time lies, in steps of a pixel.
    fn fine(&self, time: u64) -> u64 {
        let time = time.clamp(self.begin, self.end) - self.begin;
        (time as f64 / self.pixel * FINE as f64) as u64
    }

    /// When the pixel of a time ends.
    fn pixel_end(&self, time: u64) -> u64 {
        let pixel = ((time.max(self.begin) - self.begin) as f64 / self.pixel).floor() + 1.0;
        let end = self.begin as f64 + pixel * self.pixel;
        (end.ceil() as u64).max(time + 1)
    }
}

impl Timeline {
    /// The tile of a number at a level; `None` if there is none.
    pub fn tile(&self, level: u32, index: u64) -> Option<Vec<u8>> {
        if level > self.levels() || index >> level != 0 {
            return None;
        }
        let span = self.tile_ns() >> level;
        let begin = span * index;
        let window = Window { begin, end: begin + span, pixel: span as f64 / f64::from(WIDTH) };
        let mut columns = Columns::default();
        for (number, LaneInfo { lane, .. }) in self.lanes.iter().enumerate() {
            let range = lane.within(window.begin, window.end);
            let mut at = range.start;
            while at < range.end {
                // All that start in one pixel are one box, which may reach beyond it: only the last of them can.
                let from = lane.start_of(at);
                let next = lane.next_from(at + 1, window.pixel_end(from)).min(range.end);
                let longest = lane.longest(at, next);
                let name = lane.name_of(longest);
                let until = lane.end_of(next - 1);
                let x = window.fine(from);
                let width = window.fine(until).saturating_sub(x).max(1);
                let info = &self.names[name as usize];
                let edges = if from < window.begin { BEGINS_BEFORE } else { 0 }
                    | if until > window.end { ENDS_AFTER } else { 0 };
                columns.name.push(name);
                columns.count.push((next - at) as u32);
                columns.lane.push(number as u16);
                columns.x.push(x as u16);
                columns.width.push(width as u16);
                columns.op.push(info.op_index);
                columns.flags.push(info.direction as u8 | edges);
                at = next;
            }
        }
        Some(columns.bytes(&window))
    }
}

impl Columns {
    fn bytes(&self, window: &Window) -> Vec<u8> {
        let count = self.name.len();
        let mut out = Vec::with_capacity(24 + count * 16);
        out.extend(MAGIC.to_le_bytes());
        out.extend((count as u32).to_le_bytes());
        out.extend((window.begin as f64).to_le_bytes());
        out.extend(window.pixel.to_le_bytes());
        [&self.name, &self.count].into_iter().flatten().for_each(|n| out.extend(n.to_le_bytes()));
        [&self.lane, &self.x, &self.width].into_iter().flatten().for_each(|n| out.extend(n.to_le_bytes()));
        out.extend(&self.op);
        out.extend(&self.flags);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::lane::Event;
    use super::super::{Name, Timeline};
    use super::*;
    use crate::tree::Direction;

    /// A box of a tile, as the page reads it.
    #[derive(Debug, PartialEq)]
    struct Read {
        name: u32,
        count: u32,
        lane: u16,
        x: u16,
        width: u16,
        flags: u8,
    }

    fn read(tile: &[u8]) -> Vec<Read> {
        let u32_at = |at: usize| u32::from_le_bytes(tile[at..at + 4].try_into().unwrap());
        let u16_at = |at: usize| u16::from_le_bytes(tile[at..at + 2].try_into().unwrap());
        assert_eq!(u32_at(0), MAGIC);
        let n = u32_at(4) as usize;
        assert_eq!(tile.len(), 24 + 16 * n);
        let one = |i: usize| Read {
            name: u32_at(24 + 4 * i),
            count: u32_at(24 + 4 * (n + i)),
            lane: u16_at(24 + 8 * n + 2 * i),
            x: u16_at(24 + 10 * n + 2 * i),
            width: u16_at(24 + 12 * n + 2 * i),
            flags: tile[24 + 15 * n + i],
        };
        (0..n).map(one).collect()
    }

    fn timeline(lines: Vec<Vec<(u64, u64)>>) -> Timeline {
        let mut timeline = Timeline::default();
        let mut name = 0;
        for line in lines {
            let events = line.into_iter().map(|(start, length)| {
                name += 1;
                Event { start, length, name: name - 1 }
            });
            timeline.add_line("line", 0, events.collect());
        }
        let one = |_| Name {
            name: "n".to_owned(),
            op: "Op".to_owned(),
            direction: Direction::Gradient,
            path: None,
            op_index: 0,
        };
        timeline.names = (0..name).map(one).collect();
        timeline.finish();
        timeline
    }

    #[test]
    fn single_events_are_where_they_are() {
        // One tile of level 0 is 1,048,576 ns wide: a pixel has 1,024.
        let timeline = timeline(vec![vec![(0, 2048), (4096, 1024)], vec![(1_000_000, 20_000)]]);
        let boxes = read(&timeline.tile(0, 0).unwrap());
        assert_eq!(
            boxes,
            [
                Read { name: 0, count: 1, lane: 0, x: 0, width: 64, flags: 2 },
                Read { name: 1, count: 1, lane: 0, x: 128, width: 32, flags: 2 },
                Read { name: 2, count: 1, lane: 1, x: 31250, width: 625, flags: 2 },
            ]
        );
        let half = read(&timeline.tile(10, 1).unwrap());
        assert_eq!(half, [Read { name: 0, count: 1, lane: 0, x: 0, width: 32768, flags: 2 | BEGINS_BEFORE }]);
        assert!(
            timeline.tile(0, 1).is_none() && timeline.tile(11, 0).is_none() && timeline.tile(3, u64::MAX).is_none()
        );
    }

    #[test]
    fn a_pixel_has_one_box_and_no_event_is_forgotten() {
        let mut seed = 5_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 40
        };
        let mut at = 0;
        let line: Vec<(u64, u64)> = (0..200_000)
            .map(|_| {
                let length = if next() % 500 == 0 { next() % 100_000 } else { next() % 30 };
                let event = (at, length);
                at += length + next() % 20;
                event
            })
            .collect();
        let timeline = timeline(vec![line.clone()]);
        for (level, index) in [(0, 0), (1, 0), (3, 2), (7, 11)] {
            let span = timeline.tile_ns() >> level;
            let (begin, end) = (span * index, span * (index + 1));
            let boxes = read(&timeline.tile(level, index).unwrap());
            let inside =
                line.iter().filter(|(start, length)| *start < end && (start + length > begin || *start >= begin));
            assert_eq!(boxes.iter().map(|one| u64::from(one.count)).sum::<u64>(), inside.count() as u64);
            assert!(boxes.len() <= 2 * WIDTH as usize, "{}", boxes.len());
            for pair in boxes.windows(2).filter(|pair| pair[0].lane == pair[1].lane) {
                assert!(
                    u32::from(pair[0].x) + u32::from(pair[0].width)
                        <= u32::from(pair[1].x).max(u32::from(pair[0].x) + 1)
                );
            }
        }
    }
}
