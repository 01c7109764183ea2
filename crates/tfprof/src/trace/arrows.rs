//! The arrows of an `XSpace`: they connect events with equal flow keys if both ends are in the file.

use crate::format::xspace::trace::{FlowKey, HostTrace, Key, KeyTexts};
use crate::hash::UntrustedMap;
use std::io;

/// The arrows of a file, in the order of the events at their ends.
#[derive(Debug, Default)]
pub(super) struct Arrows {
    ends: Vec<ArrowEnd>,
    at: usize,
    /// Events since the last end.
    since: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Start,
    Tip,
}

#[derive(Clone, Copy, Debug)]
struct ArrowEnd {
    /// The number of events between the previous end and this one.
    gap: u32,
    /// The number of the arrow, and whether this is its tip.
    arrow: u32,
}

/// The bit of [`ArrowEnd::arrow`] that tells the tip from the start.
const TIP: u32 = 1 << 31;

impl Arrows {
    /// Reads all events.
    pub fn find(host: &HostTrace<'_>) -> io::Result<Arrows> {
        let mut numbers = Numbers::default();
        let mut has = Vec::new();
        let mut ends: Vec<ArrowEnd> = Vec::new();
        let mut since = 0_u32;
        let mut texts = KeyTexts::default();
        host.each(true, |_, event| {
            let (starts, tips) = event.flows(&mut texts);
            let starts = starts.into_iter().flatten().map(|key| (key, 0));
            for (key, tip) in starts.chain(tips.into_iter().flatten().map(|key| (key, TIP))) {
                let number = numbers.of(key);
                if number as usize == has.len() {
                    has.push(0_u8);
                }
                let has = &mut has[number as usize];
                let is = if tip == 0 { 1 } else { 2 };
                // An arrow has one start and any number of tips.
                if tip != 0 || *has & is == 0 {
                    ends.push(ArrowEnd { gap: since, arrow: number | tip });
                    since = 0;
                }
                *has |= is;
            }
            since = since.saturating_add(1);
            Ok(())
        })?;
        drop(numbers);
        // Ends without a counterpart are dropped; their gaps go to the next end.
        let mut carried = 0_u32;
        ends.retain_mut(|end| {
            carried = carried.saturating_add(end.gap);
            let is_whole = has[(end.arrow & !TIP) as usize] == 3;
            if is_whole {
                end.gap = std::mem::take(&mut carried);
            }
            is_whole
        });
        Ok(Arrows { ends, at: 0, since: 0 })
    }

    /// The next end at the current event.
    #[inline]
    pub fn next_here(&mut self) -> Option<(u32, End)> {
        let ArrowEnd { gap, arrow } = *self.ends.get(self.at)?;
        if gap != self.since {
            return None;
        }
        self.at += 1;
        self.since = 0;
        Some((arrow & !TIP, if arrow & TIP == 0 { End::Start } else { End::Tip }))
    }

    #[inline]
    pub fn next_event(&mut self) {
        self.since = self.since.saturating_add(1);
    }
}

/// Numbers flow keys in the order of their first use. Most keys are integers of a few kinds.
#[derive(Debug, Default)]
struct Numbers {
    next: u32,
    group_of: UntrustedMap<(u64, u8), usize>,
    groups: Vec<UntrustedMap<u64, u32>>,
    last: Option<((u64, u8), usize)>,
}

impl Numbers {
    #[inline]
    fn of(&mut self, (kind, key): FlowKey) -> u32 {
        let (form, bits) = match key {
            Key::Number(n) => (0, n),
            Key::Text(n) => (1, n.into()),
            Key::Double(n) => (2, n),
        };
        let group = match self.last {
            Some((last, group)) if last == (kind, form) => group,
            _ => self.group((kind, form)),
        };
        let next = self.next;
        let number = *self.groups[group].entry(bits).or_insert(next);
        self.next += u32::from(number == next);
        number
    }

    fn group(&mut self, kind: (u64, u8)) -> usize {
        let next = self.groups.len();
        let group = *self.group_of.entry(kind).or_insert(next);
        if group == next {
            self.groups.push(UntrustedMap::default());
        }
        self.last = Some((kind, group));
        group
    }
}
