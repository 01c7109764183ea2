//! Which events of a profile arrows go between: those of equal keys, where both ends are there.

use crate::format::xspace::trace::{FlowKey, HostTrace, Key, Texts};
use rustc_hash::FxHashMap;
use std::io;

/// The arrows of a file, in the order of the events at their ends.
#[derive(Debug, Default)]
pub(super) struct Arrows {
    /// For each end, how many events lie between it and the one before, and which arrow it is of.
    ends: Vec<(u32, u32)>,
    at: usize,
    /// How many events went by since the last end.
    since: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Start,
    Tip,
}

/// The bit of an arrow's number that tells the tip from the start.
const TIP: u32 = 1 << 31;

impl Arrows {
    /// Walks over all events.
    pub fn find(host: &HostTrace<'_>) -> io::Result<Arrows> {
        let mut numbers = Numbers::default();
        let mut has = Vec::new();
        let mut ends: Vec<(u32, u32)> = Vec::new();
        let mut since = 0_u32;
        let mut texts = Texts::default();
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
                    ends.push((since, number | tip));
                    since = 0;
                }
                *has |= is;
            }
            since = since.saturating_add(1);
            Ok(())
        })?;
        drop(numbers);
        // Ends that lead nowhere are left out; those behind them count from the one before.
        let mut carried = 0_u32;
        ends.retain_mut(|(since, number)| {
            carried = carried.saturating_add(*since);
            let is_whole = has[(*number & !TIP) as usize] == 3;
            if is_whole {
                *since = std::mem::take(&mut carried);
            }
            is_whole
        });
        Ok(Arrows { ends, at: 0, since: 0 })
    }

    /// The next end at the event at hand.
    #[inline]
    pub fn next_here(&mut self) -> Option<(u32, End)> {
        let (since, number) = *self.ends.get(self.at)?;
        if since != self.since {
            return None;
        }
        self.at += 1;
        self.since = 0;
        Some((number & !TIP, if number & TIP == 0 { End::Start } else { End::Tip }))
    }

    /// Goes on to the next event.
    #[inline]
    pub fn go_on(&mut self) {
        self.since = self.since.saturating_add(1);
    }
}

/// Numbers of keys, as they are first met. Most keys are numbers of a few types.
#[derive(Debug, Default)]
struct Numbers {
    next: u32,
    group_of: FxHashMap<(u64, u8), usize>,
    groups: Vec<FxHashMap<u64, u32>>,
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
            self.groups.push(FxHashMap::default());
        }
        self.last = Some((kind, group));
        group
    }
}
