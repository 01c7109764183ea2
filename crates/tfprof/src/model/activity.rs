//! The breakdown of device time and step time: compute, copies, waiting.

use crate::json::picos_as_micros;
use serde::{Serialize, Serializer};

/// The activity of an op. Where several run at once, the first of this order counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    #[default]
    Compute,
    /// Devices exchange results.
    Collective,
    /// Copies within a device or between devices.
    DeviceCopy,
    /// Data from the host to a device, and back.
    Input,
    Output,
    /// The host's input pipeline.
    HostInput,
    /// Other ops of the host.
    Host,
    /// It only holds other ops, which count themselves.
    Container,
}

impl Activity {
    /// Those that take time of their own.
    pub const ALL: [Activity; 7] = [
        Activity::Compute,
        Activity::Collective,
        Activity::DeviceCopy,
        Activity::Input,
        Activity::Output,
        Activity::HostInput,
        Activity::Host,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Activity::Compute => "compute",
            Activity::Collective => "collectives",
            Activity::DeviceCopy => "device copies",
            Activity::Input => "input",
            Activity::Output => "output",
            Activity::HostInput => "input pipeline",
            Activity::Host => "host ops",
            Activity::Container => "",
        }
    }

    /// The activity of work on a device, by the texts that describe it: its name, its type, its category.
    pub fn on_device(texts: [&str; 3]) -> Activity {
        let is = |words: &[&str]| texts.iter().any(|text| words.contains(text));
        let has = |words: &[&str]| texts.iter().any(|text| words.iter().any(|word| text.contains(word)));
        if is(&["while", "conditional", "call"]) {
            Activity::Container
        } else if has(&COLLECTIVES) {
            Activity::Collective
        } else if is(&["MemcpyHToD", "infeed", "host recv", "host recv-done", "recv", "recv-done"])
            || has(&["HostToDevice"])
        {
            Activity::Input
        } else if is(&["MemcpyDToH", "outfeed", "host send", "host send-done", "send", "send-done"])
            || has(&["DeviceToHost"])
        {
            Activity::Output
        } else if is(&["MemcpyDToD", "MemcpyPToP", "Memset"]) || has(&["DeviceToDevice"]) {
            Activity::DeviceCopy
        } else {
            Activity::Compute
        }
    }

    /// The device does the work that it is there for.
    pub fn is_on_duty(self) -> bool {
        matches!(self, Activity::Compute | Activity::Collective | Activity::DeviceCopy)
    }
}

/// Words in the names of collectives, of XLA and of the libraries.
#[rustfmt::skip]
const COLLECTIVES: [&str; 8] = [
    "all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-permute", "collective-broadcast", "nccl", "rccl",
];

/// How busy a device was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    pub name: String,
    /// From its first event to its last.
    pub span: i64,
    /// The part of it in which some op was running that is on duty, on whichever stream.
    pub on_duty: i64,
    /// The same for all ops.
    pub busy: i64,
    /// From the start of its first op to the end of its last.
    pub working: i64,
    /// The part in which it computed, in which it exchanged results, and in which it did only that.
    pub compute: i64,
    pub collectives: i64,
    pub exposed: i64,
}

impl DeviceFacts {
    /// The share of collective time that overlapped compute, in percent; `None` without collectives.
    pub fn overlap(&self) -> Option<f64> {
        let hidden = self.collectives.saturating_sub(self.exposed);
        (self.collectives > 0).then(|| 100.0 * hidden as f64 / self.collectives as f64)
    }

    /// The share of time on duty, in percent; `None` if its ops took no time.
    pub fn duty_cycle(&self) -> Option<f64> {
        (self.span > 0).then(|| 100.0 * self.on_duty as f64 / self.span as f64)
    }
}

/// The time of a step by activity, in the order of [`Activity::ALL`], and the rest, in which no op ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepParts {
    pub by_activity: [i64; Activity::ALL.len()],
    pub idle: i64,
}

impl StepParts {
    pub fn add(&mut self, more: &StepParts) {
        for (sum, more) in self.by_activity.iter_mut().zip(more.by_activity) {
            *sum = sum.saturating_add(more);
        }
        self.idle = self.idle.saturating_add(more.idle);
    }

    /// The parts that took time, each with its word.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let parts = Activity::ALL.into_iter().map(Activity::word).zip(self.by_activity);
        parts.chain([("idle", self.idle)]).filter(|(_, time)| *time > 0)
    }
}

impl Serialize for DeviceFacts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct DeviceJson<'a> {
            device: &'a str,
            #[serde(serialize_with = "picos_as_micros")]
            span_micros: i64,
            #[serde(serialize_with = "picos_as_micros")]
            busy_micros: i64,
            #[serde(serialize_with = "picos_as_micros")]
            on_duty_micros: i64,
            duty_cycle_percent: Option<f64>,
            #[serde(serialize_with = "picos_as_micros")]
            working_micros: i64,
            #[serde(serialize_with = "picos_as_micros")]
            compute_micros: i64,
            #[serde(serialize_with = "picos_as_micros")]
            collectives_micros: i64,
            #[serde(serialize_with = "picos_as_micros")]
            exposed_collectives_micros: i64,
            overlap_percent: Option<f64>,
        }
        let DeviceFacts { name, span, on_duty, busy, working, compute, collectives, exposed } = self;
        let duty_cycle_percent = self.duty_cycle();
        DeviceJson {
            device: name,
            span_micros: *span,
            busy_micros: *busy,
            on_duty_micros: *on_duty,
            duty_cycle_percent,
            working_micros: *working,
            compute_micros: *compute,
            collectives_micros: *collectives,
            exposed_collectives_micros: *exposed,
            overlap_percent: self.overlap(),
        }
        .serialize(serializer)
    }
}

/// `{"compute_micros": …, "idle_micros": …}`
impl Serialize for StepParts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Micros(#[serde(serialize_with = "picos_as_micros")] i64);
        let words = Activity::ALL.into_iter().map(Activity::word).chain(["idle"]);
        let parts = words.zip(self.by_activity.into_iter().chain([self.idle]));
        serializer.collect_map(parts.map(|(word, time)| (format!("{}_micros", word.replace(' ', "_")), Micros(time))))
    }
}
