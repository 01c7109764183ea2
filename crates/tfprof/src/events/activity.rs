//! From spans of ops to busy devices and to the parts of steps: unions of intervals by device and activity.

use crate::hash::UntrustedMap;
use crate::model::activity::{Activity, DeviceFacts, StepParts};
use crate::model::hosts::{LineFacts, StepSpan};

/// Intervals of time.
type Intervals = Vec<(i64, i64)>;

/// The device and the activity of each variant of an op.
#[derive(Debug, Default)]
pub struct Activities {
    pub devices: Vec<String>,
    /// By variant; the device is an index into the devices.
    pub of_variant: Vec<(u32, Activity)>,
}

/// The spans of ops by device and activity.
#[derive(Debug)]
pub struct Spans<'a> {
    activities: &'a Activities,
    by_device: Vec<[Union; Activity::ALL.len()]>,
}

/// Intervals that are joined whenever they have doubled, so that many spans of few busy times take little memory.
#[derive(Debug, Default)]
struct Union {
    spans: Intervals,
    /// As many were left when they were last joined.
    joined: usize,
}

/// Fewer intervals than these are not joined before the end.
const FEW: usize = 1 << 16;

impl Union {
    fn add(&mut self, start: i64, end: i64) {
        match self.spans.last_mut() {
            // Neighbours that touch are one.
            Some((first, last)) if *first <= start && start <= *last => return *last = end.max(*last),
            _ => self.spans.push((start, end)),
        }
        if self.spans.len() >= FEW.max(self.joined * 2) {
            merge(&mut self.spans);
            self.joined = self.spans.len();
        }
    }
}

impl<'a> Spans<'a> {
    pub fn new(activities: &'a Activities) -> Spans<'a> {
        Spans { activities, by_device: activities.devices.iter().map(|_| Default::default()).collect() }
    }

    /// Adds a span of a variant.
    pub fn add(&mut self, variant: u32, start: i64, end: i64) {
        let Some((device, activity)) = self.activities.of_variant.get(variant as usize) else { return };
        if *activity == Activity::Container || end <= start {
            return;
        }
        self.by_device[*device as usize][*activity as usize].add(start, end);
    }

    /// How busy each device was, from the first event on any of its lines to the last, and what the time of each step was
    /// spent on.
    pub fn finish(self, lines: &[LineFacts], steps: &[StepSpan]) -> (Vec<DeviceFacts>, Vec<StepParts>) {
        let Spans { activities, by_device } = self;
        let mut by_device: Vec<[Intervals; Activity::ALL.len()]> =
            by_device.into_iter().map(|all| all.map(|union| union.spans)).collect();
        let mut devices = Vec::new();
        // By plane, its first and last event.
        let mut bounds: UntrustedMap<&str, (Option<i64>, Option<i64>)> = UntrustedMap::default();
        for line in lines {
            let (first, last) = bounds.entry(&line.plane).or_default();
            *first = [*first, line.first].into_iter().flatten().min();
            *last = [*last, line.last].into_iter().flatten().max();
        }
        let mut together: [Intervals; Activity::ALL.len()] = Default::default();
        for (name, spans) in activities.devices.iter().zip(&mut by_device) {
            spans.iter_mut().for_each(merge);
            let (mut on_duty, mut all) = (Vec::new(), Vec::new());
            for (activity, spans) in Activity::ALL.into_iter().zip(&*spans) {
                all.extend_from_slice(spans);
                if activity.is_on_duty() {
                    on_duty.extend_from_slice(spans);
                }
            }
            merge(&mut on_duty);
            merge(&mut all);
            if let (Some((first, _)), Some((_, last))) = (all.first(), all.last()) {
                let (own_first, own_last) = bounds.get(name.as_str()).copied().unwrap_or_default();
                let first = own_first.map_or(*first, |own| own.min(*first));
                let last = own_last.map_or(*last, |own| own.max(*last));
                let span = last.saturating_sub(first);
                let working = all.last().map_or(0, |(_, end)| end.saturating_sub(all[0].0));
                let [on_duty, busy] = [length(&on_duty), length(&all)];
                let [compute, collectives] =
                    [Activity::Compute, Activity::Collective].map(|activity| &spans[activity as usize]);
                let mut either = [&compute[..], &collectives[..]].concat();
                merge(&mut either);
                let [compute, collectives, either] = [compute, collectives, &either].map(length);
                devices.push(DeviceFacts {
                    name: name.clone(),
                    span,
                    working,
                    on_duty,
                    busy,
                    compute,
                    collectives,
                    exposed: either.saturating_sub(compute),
                });
            }
            together.iter_mut().zip(spans).for_each(|(all, spans)| all.append(spans));
        }
        (devices, parts(together, steps))
    }
}

/// The parts of steps: an activity gets the time in which none before it was going on.
fn parts(mut spans: [Intervals; Activity::ALL.len()], steps: &[StepSpan]) -> Vec<StepParts> {
    let mut parts: Vec<StepParts> = steps.iter().map(|_| StepParts::default()).collect();
    let mut covered: Vec<i64> = vec![0; steps.len()];
    let mut so_far: Intervals = Vec::new();
    for (at, more) in spans.iter_mut().enumerate().filter(|(_, more)| !more.is_empty()) {
        so_far.append(more);
        merge(&mut so_far);
        let clock = Clock::new(&so_far);
        for (step, (parts, covered)) in steps.iter().zip(parts.iter_mut().zip(&mut covered)) {
            let now = clock.within(step.longest, step.longest.saturating_add(step.length));
            parts.by_activity[at] = now.saturating_sub(*covered);
            *covered = now;
        }
    }
    for (step, (parts, covered)) in steps.iter().zip(parts.iter_mut().zip(covered)) {
        parts.idle = step.length.saturating_sub(covered).max(0);
    }
    parts
}

/// Sorts intervals and joins those that overlap or touch.
fn merge(intervals: &mut Intervals) {
    if !intervals.is_sorted_by(|(_, end), (start, _)| end < start) {
        intervals.sort_unstable();
        intervals.dedup_by(|(start, end), (_, last)| {
            let joins = *start <= *last;
            if joins {
                *last = (*last).max(*end);
            }
            joins
        });
    }
}

fn length(intervals: &Intervals) -> i64 {
    intervals.iter().fold(0, |sum: i64, (start, end)| sum.saturating_add(end.saturating_sub(*start)))
}

/// The total length of disjoint, sorted intervals before a time.
struct Clock<'a> {
    intervals: &'a Intervals,
    /// By interval, the length of those before it.
    before: Vec<i64>,
}

impl Clock<'_> {
    fn new(intervals: &Intervals) -> Clock<'_> {
        let mut sum = 0_i64;
        let before = intervals.iter().map(|(start, end)| {
            let before = sum;
            sum = sum.saturating_add(end.saturating_sub(*start));
            before
        });
        Clock { intervals, before: before.collect() }
    }

    fn at(&self, time: i64) -> i64 {
        let next = self.intervals.partition_point(|(start, _)| *start < time);
        next.checked_sub(1).map_or(0, |at| {
            let (start, end) = self.intervals[at];
            self.before[at].saturating_add(end.min(time).saturating_sub(start))
        })
    }

    fn within(&self, start: i64, end: i64) -> i64 {
        self.at(end).saturating_sub(self.at(start)).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_step_is_divided_by_what_ran() {
        let activities = Activities {
            devices: vec!["/device:GPU:0".into(), "/host:CPU".into()],
            of_variant: vec![
                (0, Activity::Compute),
                (0, Activity::Input),
                (1, Activity::HostInput),
                (0, Activity::Container),
            ],
        };
        let mut spans = Spans::new(&activities);
        // Two streams overlap; half of the copy overlaps compute, and the pipeline overlaps both.
        for (variant, start, end) in [(0, 10, 20), (0, 15, 30), (1, 25, 40), (2, 0, 50), (3, 0, 100), (0, 110, 120)] {
            spans.add(variant, start, end);
        }
        let steps = [StepSpan::new(0, 0, 100), StepSpan::new(1, 100, 130)];
        let line = LineFacts { plane: "/device:GPU:0".into(), first: Some(5), last: Some(115), ..LineFacts::default() };
        let (devices, parts) = spans.finish(&[line], &steps);
        assert_eq!(
            devices[0],
            DeviceFacts {
                name: "/device:GPU:0".into(),
                span: 115,
                working: 110,
                on_duty: 30,
                busy: 40,
                compute: 30,
                collectives: 0,
                exposed: 0
            }
        );
        assert_eq!(devices[1].busy, 50);
        let each = |step: usize| parts[step].each().collect::<Vec<_>>();
        assert_eq!(each(0), [("compute", 20), ("input", 10), ("input pipeline", 20), ("idle", 50)]);
        assert_eq!(each(1), [("compute", 10), ("idle", 20)]);
    }

    proptest! {
        #[test]
        fn parts_of_a_step_are_the_step(
            ops in prop::collection::vec((0_u32..7, 0_i64..200, 0_i64..50), 0..40),
            start in 0_i64..100, length in 0_i64..150,
        ) {
            let activities = Activities {
                devices: vec!["a".into(), "b".into()],
                of_variant: Activity::ALL.into_iter().zip([0, 1, 0, 1, 0, 1, 0]).map(|(activity, device)| (device, activity)).collect(),
            };
            let mut spans = Spans::new(&activities);
            ops.iter().for_each(|(variant, start, length)| spans.add(*variant, *start, start + length));
            let step = StepSpan::new(0, start, start + length);
            let (_, parts) = spans.finish(&[], &[step]);
            prop_assert_eq!(parts[0].by_activity.iter().sum::<i64>() + parts[0].idle, length);
            let ran = |time: i64, activity: Activity| {
                ops.iter().any(|(variant, start, length)| *variant == activity as u32 && *start <= time && time < start + length)
            };
            for activity in Activity::ALL {
                let first = |time: &i64| Activity::ALL.into_iter().find(|other| ran(*time, *other)) == Some(activity);
                prop_assert_eq!(parts[0].by_activity[activity as usize], (start..start + length).filter(first).count() as i64);
            }
        }
    }
}
