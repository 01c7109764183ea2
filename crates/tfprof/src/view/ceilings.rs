//! The peaks that a question compares with, and where they come from: given, recorded in the profile, published for a
//! device that the profile names, or measured on this machine.

use super::demand::Demand;
use crate::error::{Error, Fix, Warning};
use crate::hardware::{Ceiling, Device, Devices, Precision};
use crate::metric::{Detail, Metric, MetricSet};
use crate::model::Model;
use crate::model::activity::Activity;
use crate::model::hosts::{FactValue, PlaneFacts, is_accelerator};
use crate::model::nodes::NodeId;
use crate::options::{Options, Selection};

/// The peaks of the device that did the work of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ceilings {
    pub accelerator: Ceiling,
    pub cpu: Ceiling,
}

impl Ceilings {
    pub fn is_known(&self) -> bool {
        self.accelerator.is_known() || self.cpu.is_known()
    }
}

/// Peaks with a word on where they come from.
#[derive(Clone, Debug, Default)]
pub struct Peaks {
    pub ceilings: Ceilings,
    /// One line for each device.
    pub said: Vec<String>,
    /// The accelerators of the profile, by the names under which tables may know them.
    pub names: Vec<String>,
}

impl Peaks {
    /// The peaks of a question, if it compares with any.
    pub fn of_question(
        model: &Model,
        options: &Options,
        selection: Selection,
        demand: &Demand,
    ) -> Result<Peaks, Error> {
        let summed = options.summed_metrics().and(demand.metrics(selection).summed());
        let asks = selection.has_detail(Detail::BoundBy)
            || need_peaks().iter().any(|metric| summed.has(metric) && !demand.all_metrics);
        if asks { Peaks::find(model, options) } else { Ok(Peaks::default()) }
    }

    /// The metrics that cannot be known without peaks.
    pub fn unknown(&self) -> MetricSet {
        if self.ceilings.is_known() { MetricSet::default() } else { need_peaks() }
    }

    /// The warning about metrics that need a peak, if they do and none is known.
    pub fn missing(&self, asked: &[Metric]) -> Option<Warning> {
        let needing = need_peaks();
        if self.ceilings.is_known() || !asked.iter().any(|metric| needing.has_part_of(*metric)) {
            return None;
        }
        let of = self.names.first().map_or("the CPU", String::as_str);
        let message = format!(
            "no peak of {of} is known, so nothing can be compared with it; name the device, measure this machine's CPU with \
             tfprof peak, or state the peak"
        );
        Some(Warning::new("no_peak", message).with_fix(Fix::with_value("as in", "peak_flops", "312T")))
    }

    /// Finds the peaks to compare with.
    pub fn find(model: &Model, options: &Options) -> Result<Peaks, Error> {
        let devices = Devices::load(&options.devices)?;
        let mut peaks = Peaks { names: names(model), ..Peaks::default() };
        let has_accelerator = !peaks.names.is_empty() || planes(model).next().is_some();
        let mut given = Ceiling::default();
        given.parse_flops(&options.peak_flops).map_err(|why| Error::option("peak_flops", why))?;
        if !options.peak_bandwidth.is_empty() {
            given.parse_bandwidth(&options.peak_bandwidth).map_err(|why| Error::option("peak_bandwidth", why))?;
        }
        let named = if options.device.is_empty() {
            None
        } else {
            Some(devices.named(&options.device).map_err(|why| Error::option("device", why))?)
        };
        let is_cpu = options.device.starts_with("cpu");
        if has_accelerator && !is_cpu {
            peaks.accelerator(model, &devices, given, named.as_ref());
        } else {
            peaks.cpu(&devices, given, named.as_ref());
        }
        if has_accelerator && !is_cpu {
            peaks.cpu(&devices, Ceiling::default(), None);
        }
        Ok(peaks)
    }

    fn accelerator(&mut self, model: &Model, devices: &Devices, given: Ceiling, named: Option<&Device>) {
        let table = self.names.iter().find_map(|name| devices.of_profile(name));
        let recorded = planes(model).map(recorded).find(Ceiling::is_known).unwrap_or_default();
        // A compute capability is no name.
        let name = self.names.iter().find(|name| !name.starts_with("cc")).cloned();
        let name =
            name.or_else(|| table.map(|device| device.name.clone())).unwrap_or_else(|| "the accelerator".to_owned());
        self.ceilings.accelerator = self.choose(&name, given, named, recorded, table);
    }

    fn cpu(&mut self, devices: &Devices, given: Ceiling, named: Option<&Device>) {
        let measured = devices.measured();
        self.ceilings.cpu = self.choose("the CPU", given, named, Ceiling::default(), measured);
    }

    /// The first known figure of each kind, and a line that says which.
    fn choose(
        &mut self,
        name: &str,
        given: Ceiling,
        named: Option<&Device>,
        recorded: Ceiling,
        table: Option<&Device>,
    ) -> Ceiling {
        let mut chosen = Ceiling::default();
        let mut origins: Vec<String> = Vec::new();
        let mut take = |from: &Ceiling, origin: String| {
            let before = chosen;
            chosen.fill_from(from);
            if chosen != before {
                let mut part = Ceiling::default();
                if chosen.flops(None) != before.flops(None) {
                    part.fill_from(&chosen);
                    part.set_bandwidth(0.0);
                }
                if chosen.bandwidth() != before.bandwidth() {
                    part.set_bandwidth(chosen.bandwidth().unwrap_or_default());
                }
                origins.push(format!("{part} ({origin})"));
            }
        };
        take(&given, "given".to_owned());
        if let Some(device) = named {
            take(&device.ceiling, format!("{}: {}", device.name, device.source));
        }
        take(&recorded, "recorded in the profile".to_owned());
        if let Some(device) = table {
            take(&device.ceiling, format!("{}: {}", device.name, device.source));
        }
        if !origins.is_empty() {
            self.said.push(format!("peak of {name}: {}", origins.join("; ")));
        }
        chosen
    }
}

/// The planes of accelerators.
fn planes(model: &Model) -> impl Iterator<Item = &PlaneFacts> {
    model.hosts.iter().flat_map(|host| &host.planes).filter(|plane| is_accelerator(&plane.name))
}

fn stat(plane: &PlaneFacts, name: &str) -> Option<f64> {
    let (_, value) = plane.stats.iter().find(|(known, _)| known == name)?;
    match value {
        FactValue::Int(n) => Some(*n as f64),
        FactValue::Uint(n) => Some(*n as f64),
        FactValue::Double(x) => Some(*x),
        FactValue::Text(_) | FactValue::Other => None,
    }
    .filter(|x| x.is_finite() && *x > 0.0)
}

/// The peaks that a plane states about its device.
fn recorded(plane: &PlaneFacts) -> Ceiling {
    let mut ceiling = Ceiling::default();
    if let Some(tera) = stat(plane, "peak_teraflops_per_second") {
        ceiling.set_flops(None, tera * 1e12);
    }
    let bandwidth = stat(plane, "peak_hbm_bw_gigabytes_per_second").map(|giga| giga * 1e9);
    if let Some(bandwidth) = bandwidth.or_else(|| stat(plane, "memory_bandwidth")) {
        ceiling.set_bandwidth(bandwidth);
    }
    ceiling
}

/// The names of accelerators: of the device's type, by its compute capability, and as Kineto has them.
fn names(model: &Model) -> Vec<String> {
    let mut names = Vec::new();
    for plane in planes(model) {
        if let Some((_, FactValue::Text(name))) = plane.stats.iter().find(|(known, _)| known == "device_type_string") {
            names.push(name.clone());
        }
        let [major, minor, cores, kilohertz] =
            ["compute_cap_major", "compute_cap_minor", "core_count", "clock_rate"].map(|name| stat(plane, name));
        if let (Some(major), Some(cores)) = (major, cores) {
            let clock = kilohertz.map(|clock| format!("@{}", clock / 1000.0)).unwrap_or_default();
            names.push(format!("cc{major}.{}:{cores}{clock}", minor.unwrap_or(0.0)));
        }
    }
    let about = model.hosts.iter().flat_map(|host| &host.about).filter(|(key, _)| key == "devices");
    for (_, list) in about {
        // `8 x NVIDIA A100-SXM4-80GB, …`
        let one = |text: &str| text.split_once(" x ").map_or(text, |(_, name)| name).trim().to_owned();
        names.extend(list.split(", ").map(one));
    }
    names.dedup();
    names
}

/// The metrics that need a peak.
pub fn need_peaks() -> MetricSet {
    let all = [
        Metric::ComputeMicros,
        Metric::MemoryMicros,
        Metric::RooflineMicros,
        Metric::LostMicros,
        Metric::CoveredMicros,
    ];
    let mut set = MetricSet::default();
    all.into_iter().for_each(|metric| set.add(metric));
    set
}

/// The bound of a row, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Communication,
    Overhead,
    Compute,
    Memory,
}

impl Bound {
    pub fn word(self) -> &'static str {
        match self {
            Bound::Communication => "communication",
            Bound::Overhead => "overhead",
            Bound::Compute => "compute",
            Bound::Memory => "memory",
        }
    }

    /// From totals of a row in the same unit: the time at the peak of each kind, and the time that it took in so many runs.
    ///
    /// Short runs far below both peaks are bound by what starting them takes.
    pub fn of(compute: f64, memory: f64, took_micros: f64, roofline_micros: f64, runs: i64) -> Bound {
        let each = took_micros / runs.max(1) as f64;
        if each < SHORT && roofline_micros < took_micros * FAR {
            Bound::Overhead
        } else if compute > memory {
            Bound::Compute
        } else {
            Bound::Memory
        }
    }
}

/// A run that takes less may be bound by its launch, in microseconds.
const SHORT: f64 = 10.0;
/// A smaller share of the peak is far from it.
const FAR: f64 = 0.1;

/// Whether a node exchanges results between devices.
pub fn communicates(model: &Model, node: NodeId) -> bool {
    let op = model.names.get(model.nodes.op[node.index()]);
    let category = model.op_facts.get(node).and_then(|facts| facts.categories.first());
    let category = category.map_or("", |category| model.names.get(*category));
    Activity::on_device([model.name(node), op, category]) == Activity::Collective
}

/// The precision of a node's inputs, as far as the trace tells.
pub fn precision(model: &Model, node: NodeId) -> Option<Precision> {
    model.op_facts.get(node)?.precision
}
