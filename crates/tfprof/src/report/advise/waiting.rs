//! Devices that wait: for input, for the host, for other devices, or for nothing that was recorded.
//!
//! In each step, time counts for the first of these that holds: an accelerator computes, exchanges results, copies; the
//! input pipeline runs; another op of the host runs; nothing runs.

use super::finding::Confidence;
use super::{Advice, Evidence, micros};
use crate::model::TimeUnit;
use crate::model::activity::{Activity, StepParts};
use crate::model::hosts::{EventKind, HostFacts, StepRule, is_accelerator};

/// Ignore smaller parts of a step, in percent …
const LEAST_SHARE: f64 = 5.0;
/// … and in microseconds.
const LEAST_MICROS: i64 = 100;

/// The average step of the host whose steps take longest.
pub(super) struct Average<'m> {
    pub host: &'m HostFacts,
    parts: StepParts,
    steps: i64,
}

impl Average<'_> {
    /// Picoseconds of all steps as microseconds of one.
    pub fn micros(&self, picos: i64) -> i64 {
        picos / self.steps / TimeUnit::Picos.per_micro()
    }

    /// A part of the average step, in microseconds.
    pub fn part(&self, activities: &[Activity]) -> i64 {
        let time = activities.iter().fold(0_i64, |sum, at| sum.saturating_add(self.parts.by_activity[*at as usize]));
        self.micros(time)
    }

    pub fn idle(&self) -> i64 {
        self.micros(self.parts.idle)
    }

    fn whole(&self) -> i64 {
        self.part(&Activity::ALL).saturating_add(self.idle())
    }

    /// The part in which an accelerator does anything.
    pub fn on_device(&self) -> i64 {
        let others = self.part(&[Activity::Host, Activity::HostInput]);
        self.part(&Activity::ALL).saturating_sub(others)
    }

    /// Nothing marks steps, so that all of the recording counts as one.
    pub fn is_whole(&self) -> bool {
        self.host.rule == StepRule::WholeProfile
    }

    /// How sure a finding is: without steps, less than otherwise, since start and end of the program are part of it.
    pub fn confidence(&self, of_steps: Confidence) -> Confidence {
        if self.is_whole() { Confidence::Low } else { of_steps }
    }

    /// Adds to the arithmetic of a finding that there are no steps.
    pub fn arithmetic(&self, text: &str) -> String {
        let whole =
            if self.is_whole() { "; nothing marks steps, so that all of the recording counts as one" } else { "" };
        format!("{text}{whole}")
    }

    /// `12.00ms of 40.00ms a step (30%)`, if that is worth a word.
    pub fn share(&self, part: i64) -> Option<String> {
        let whole = self.whole();
        let share = super::percent(part, whole);
        (part >= LEAST_MICROS && share >= LEAST_SHARE)
            .then(|| format!("{} of {} a step ({share:.0}%)", micros(part), micros(whole)))
    }
}

/// The average step, if an accelerator was recorded; else a note says why there is none.
pub(super) fn average<'m>(evidence: &Evidence<'m>, advice: &mut Advice) -> Option<Average<'m>> {
    if !evidence.model.hosts.iter().any(has_accelerator) {
        advice.note("no trace of an accelerator is loaded");
        return None;
    }
    any_average(evidence, advice)
}

pub(super) fn has_accelerator(host: &HostFacts) -> bool {
    host.devices.iter().any(|device| is_accelerator(&device.name))
}

/// Whether anything of the host was recorded besides calls of a device's runtime.
pub(super) fn has_host(host: &HostFacts) -> bool {
    let of_devices = [EventKind::Derived, EventKind::Hlo, EventKind::Kernel, EventKind::Runtime];
    EventKind::ALL.into_iter().any(|kind| !of_devices.contains(&kind) && host.kinds[kind as usize].runs > 0)
}

/// The devices that a trace names without any work of theirs: the times of ops may be those of launches and waits.
pub(super) fn unseen_devices(host: &HostFacts) -> Option<&str> {
    let (_, names) = host.about.iter().find(|(key, names)| key == "devices" && !names.is_empty())?;
    (!has_accelerator(host)).then_some(names)
}

/// The same, also if only a CPU was recorded.
pub(super) fn any_average<'m>(evidence: &Evidence<'m>, advice: &mut Advice) -> Option<Average<'m>> {
    let hosts = || evidence.model.hosts.iter();
    if hosts().next().is_none() {
        advice.note("no trace is loaded");
        return None;
    }
    let of_host = |host: &'m HostFacts| {
        let steps = i64::try_from(host.step_parts.len()).ok().filter(|steps| *steps > 0)?;
        let mut parts = StepParts::default();
        host.step_parts.iter().for_each(|step| parts.add(step));
        Some(Average { host, parts, steps })
    };
    let longest = hosts().filter_map(of_host).max_by_key(Average::whole);
    if longest.is_none() {
        advice.note("the trace has no steps");
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::super::{Advice, advise};
    use crate::model::Model;
    use crate::model::activity::{Activity, DeviceFacts, StepParts};
    use crate::model::hosts::{EventKind, HostFacts, StepRule};
    use crate::quirks::Quirks;
    use std::sync::Arc;

    /// Two steps of 1 ms each: these parts in microseconds, and the rest compute.
    fn profile(parts: &[(Activity, i64)], idle: i64, device: &str) -> Arc<Model> {
        let rest = 1000 - idle - parts.iter().map(|(_, time)| time).sum::<i64>();
        let mut step = StepParts { idle: idle * 1_000_000, ..StepParts::default() };
        for (activity, time) in parts.iter().chain([&(Activity::Compute, rest)]) {
            step.by_activity[*activity as usize] = time * 1_000_000;
        }
        let (name, span) = (device.to_owned(), 2_000_000_000);
        let mut device =
            DeviceFacts { name, span, on_duty: 0, busy: 0, working: 0, compute: 0, collectives: 0, exposed: 0 };
        device.busy = span;
        let host = HostFacts { devices: vec![device], step_parts: vec![step; 2], ..HostFacts::default() };
        let mut model = Model::default();
        model.hosts = vec![host];
        Arc::new(model)
    }

    fn advice(model: &Arc<Model>, checker: &str) -> Advice {
        advise(model, &[checker.to_owned()], Quirks::NONE).expect("a checker").remove(0)
    }

    /// A checker, the parts of a step on which it fires, its idle time, and the saving.
    type Case<'a> = (&'a str, &'a [(Activity, i64)], i64, i64);

    #[test]
    fn each_checker_fires_on_its_part_of_a_step_and_on_no_other() {
        let cases: [Case<'_>; 4] = [
            ("InputChecker", &[(Activity::Input, 100), (Activity::HostInput, 200)], 0, 300),
            ("HostChecker", &[(Activity::Host, 400)], 0, 400),
            ("IdleChecker", &[], 250, 250),
            ("CommunicationChecker", &[(Activity::Collective, 300)], 0, 300),
        ];
        for (checker, parts, idle, saving) in cases {
            let model = profile(parts, idle, "/device:GPU:0");
            for (other, ..) in cases {
                let found = advice(&model, other);
                let savings: Vec<_> = found.findings.iter().map(|finding| finding.saving_micros).collect();
                let expected = if other == checker { vec![Some(saving)] } else { Vec::new() };
                assert_eq!(savings, expected, "{other} on the profile of {checker}");
                assert_eq!(found.reports.len(), savings.len());
            }
        }
    }

    #[test]
    fn small_parts_and_hosts_without_accelerators_are_no_findings() {
        for (checker, idle, device, notes) in
            [("IdleChecker", 40, "/device:TPU:0", 0), ("HostChecker", 900, "/host:CPU", 1)]
        {
            let found = advice(&profile(&[], idle, device), checker);
            assert_eq!((found.findings.len(), found.notes.len()), (0, notes), "{device}");
        }
    }

    #[test]
    fn gaps_of_an_accelerator_alone_say_nothing_of_the_host() {
        let mut model = profile(&[], 250, "/device:GPU:0");
        let report = |model: &Arc<Model>| advice(model, "IdleChecker").reports.remove(0);
        assert!(report(&model).contains("the host was not recorded"), "{}", report(&model));
        Arc::get_mut(&mut model).expect("one owner").hosts[0].kinds[EventKind::Op as usize].runs = 1;
        assert!(report(&model).contains("no op of the host or of an accelerator"), "{}", report(&model));
    }

    #[test]
    fn gaps_of_a_cpu_are_found_and_say_so() {
        let found = advice(&profile(&[(Activity::Host, 100)], 900, "/host:CPU"), "IdleChecker");
        assert_eq!(found.findings[0].saving_micros, Some(900));
        assert!(!found.reports[0].contains("accelerator"), "{}", found.reports[0]);
    }

    /// An apparent gap may be work of a device that tfprof does not know.
    #[test]
    fn gaps_beside_an_unknown_device_are_no_finding() {
        let mut model = profile(&[(Activity::Host, 100)], 900, "/host:CPU");
        let about = ("devices".to_owned(), "ARTEMIS".to_owned());
        Arc::get_mut(&mut model).expect("one owner").hosts[0].about.push(about);
        let found = advice(&model, "IdleChecker");
        assert!(found.findings.is_empty(), "{:?}", found.reports);
        assert!(found.notes[0].contains("ARTEMIS"), "{:?}", found.notes);
    }

    #[test]
    fn a_recording_without_steps_is_said_to_be_one() {
        let mut model = profile(&[(Activity::Host, 400)], 0, "/device:GPU:0");
        Arc::get_mut(&mut model).expect("one owner").hosts[0].rule = StepRule::WholeProfile;
        let found = advice(&model, "HostChecker");
        assert!(found.reports[0].contains("nothing marks steps"), "{}", found.reports[0]);
        assert_eq!(found.findings[0].confidence.word(), "low");
    }
}
