//! Questions about a fleet: step time per host, skew, the slowest hosts and what they do differently, outlier steps.
//!
//! A host is a recording of a partial. Hosts are compared by their median step, since single steps have rare, slow outliers.

pub mod heat;
pub mod render;

use crate::part::{Block, Partial, Recording};
use serde::Serialize;
use std::collections::BTreeMap;

/// The number of slow hosts that are explained, and the ops listed for each.
const SLOWEST: usize = 5;
const OPS: usize = 5;
/// The maximum number of outlier steps, skewed steps and rows with percentiles in the answer.
const LISTED: usize = 20;
/// A step is an outlier of its host if it is beyond this many deviations of the median, and a quarter above it.
const DEVIATIONS: f64 = 5.0;
const BEYOND: f64 = 1.25;

/// The answer. Times are in microseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Fleet {
    pub hosts: Vec<Host>,
    /// The skew of the median step: the percentage by which its slowest host is slower than its median host.
    pub skew_percent: Option<f64>,
    pub skewed_steps: Vec<SkewedStep>,
    pub slowest: Vec<SlowHost>,
    pub outliers: Vec<Outlier>,
    pub ops: Vec<OpTimes>,
    /// Hosts that are not in the answer, and why.
    pub missing: Vec<MissingHost>,
    pub damaged: Vec<MissingHost>,
    #[serde(skip)]
    pub heat: heat::Heat,
}

/// One host, slowest first.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Host {
    pub host: String,
    pub rank: Option<i64>,
    pub path: String,
    pub steps: usize,
    pub median_micros: Option<f64>,
    pub p99_micros: Option<f64>,
    pub max_micros: Option<f64>,
    /// How its median step compares with that of the median host.
    pub slower_percent: Option<f64>,
    /// By step, on average; unknown is absent.
    pub busy_micros: Option<f64>,
    pub idle_micros: Option<f64>,
    pub input_micros: Option<f64>,
    pub communication_micros: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SkewedStep {
    pub step: i64,
    pub hosts: usize,
    pub median_micros: f64,
    pub max_micros: f64,
    pub slowest: String,
    pub skew_percent: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct SlowHost {
    pub host: String,
    pub slower_percent: f64,
    /// The ops that take longer than on the median host, by step.
    pub ops: Vec<OpDifference>,
}

#[derive(Clone, Debug, Serialize)]
pub struct OpDifference {
    pub op: String,
    pub micros: f64,
    pub median_micros: f64,
    pub difference_micros: f64,
    pub runs: f64,
    pub median_runs: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Outlier {
    pub host: String,
    pub step: i64,
    pub micros: f64,
    pub median_micros: f64,
}

/// The self time of a row in single steps of single hosts, from its histogram: within 1 %.
#[derive(Clone, Debug, Serialize)]
pub struct OpTimes {
    pub name: String,
    pub op: String,
    pub device: String,
    pub host_steps: u64,
    pub total_micros: f64,
    pub mean_micros: f64,
    pub deviation_micros: f64,
    pub min_micros: f64,
    pub p50_micros: f64,
    pub p90_micros: f64,
    pub p99_micros: f64,
    pub max_micros: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct MissingHost {
    pub path: String,
    pub why: String,
}

impl Fleet {
    /// The error is that of a damaged block.
    pub fn new(partial: &Partial) -> Result<Fleet, String> {
        let mut fleet = Fleet::default();
        for recording in partial.missing() {
            let why = recording.failed.clone().unwrap_or_default();
            fleet.missing.push(MissingHost { path: recording.path().to_owned(), why });
        }
        for recording in partial.recordings.values() {
            let damaged = |why: &String| MissingHost { path: recording.path().to_owned(), why: why.clone() };
            fleet.damaged.extend(recording.lost.iter().map(damaged));
        }
        fleet.missing.sort_by(|a, b| a.path.cmp(&b.path));
        fleet.damaged.sort_by(|a, b| a.path.cmp(&b.path));
        let mut sides = Vec::new();
        for ((id, recording), name) in partial.read().into_iter().zip(partial.host_names()) {
            let Some(packed) = partial.blocks.get(&id) else { continue };
            sides.push(Side::new(name, recording, &packed.block()?));
        }
        fleet.compare(sides);
        fleet.ops = op_times(partial);
        Ok(fleet)
    }

    fn compare(&mut self, mut sides: Vec<Side>) {
        let middle = median(sides.iter().filter_map(|side| side.host.median_micros).collect());
        for side in &mut sides {
            let ratio = side.host.median_micros.zip(middle).filter(|(_, middle)| *middle > 0.0);
            side.host.slower_percent = ratio.map(|(own, middle)| 100.0 * (own / middle - 1.0));
        }
        let slowness = |side: &Side| side.host.slower_percent.unwrap_or(f64::NEG_INFINITY);
        sides.sort_by(|a, b| slowness(b).total_cmp(&slowness(a)).then_with(|| a.host.host.cmp(&b.host.host)));
        self.skew(&sides);
        let (ops, steps) = (median_ops(&sides), sides.iter().any(|side| side.host.steps > 0));
        let slow = |side: &&Side| steps && side.host.slower_percent.is_some_and(|percent| percent > 0.0);
        let compared = sides.len() > 1;
        for side in sides.iter().filter(|_| compared).filter(slow).take(SLOWEST) {
            let slower_percent = side.host.slower_percent.unwrap_or_default();
            self.slowest.push(SlowHost { host: side.host.host.clone(), slower_percent, ops: differences(side, &ops) });
        }
        let mut outliers: Vec<Outlier> = sides.iter().flat_map(Side::outliers).collect();
        outliers.sort_by(|a, b| (b.micros / b.median_micros).total_cmp(&(a.micros / a.median_micros)));
        outliers.truncate(LISTED);
        self.outliers = outliers;
        self.heat = heat::Heat::new(&sides);
        self.hosts = sides.into_iter().map(|side| side.host).collect();
    }

    /// By step, by how much the slowest host is slower than the median one.
    fn skew(&mut self, sides: &[Side]) {
        let mut by_step: BTreeMap<i64, Vec<(f64, usize)>> = BTreeMap::new();
        for (at, side) in sides.iter().enumerate() {
            side.times.iter().for_each(|(step, time)| by_step.entry(*step).or_default().push((*time, at)));
        }
        let mut steps: Vec<SkewedStep> = Vec::new();
        for (step, times) in by_step.into_iter().filter(|(_, times)| times.len() > 1) {
            let (max, slowest) = times.iter().copied().fold((f64::MIN, 0), |a, b| if b.0 > a.0 { b } else { a });
            let Some(middle) = median(times.iter().map(|(time, _)| *time).collect()).filter(|middle| *middle > 0.0)
            else {
                continue;
            };
            steps.push(SkewedStep {
                step,
                hosts: times.len(),
                median_micros: middle,
                max_micros: max,
                slowest: sides[slowest].host.host.clone(),
                skew_percent: 100.0 * (max / middle - 1.0),
            });
        }
        self.skew_percent = median(steps.iter().map(|step| step.skew_percent).collect());
        steps.sort_by(|a, b| b.skew_percent.total_cmp(&a.skew_percent).then(a.step.cmp(&b.step)));
        steps.truncate(LISTED);
        self.skewed_steps = steps;
    }
}

/// One host while hosts are compared.
pub(super) struct Side {
    pub host: Host,
    /// Steps and their times.
    pub times: Vec<(i64, f64)>,
    /// By op type, runs and microseconds by step.
    ops: BTreeMap<String, (f64, f64)>,
}

impl Side {
    fn new(name: String, recording: &Recording, block: &Block) -> Side {
        let parts = block.per_micro.max(1) as f64;
        let times: Vec<(i64, f64)> =
            block.steps.iter().filter_map(|step| Some((step.number, step.wall? as f64 / parts))).collect();
        let mut sorted: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let mean = |of: fn(&crate::part::StepRow) -> Option<i64>| {
            let known: Vec<f64> = block.steps.iter().filter_map(|step| Some(of(step)? as f64 / parts)).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        let host = Host {
            host: name,
            rank: block.rank,
            path: recording.path().to_owned(),
            steps: block.steps.len(),
            median_micros: median(sorted.clone()),
            p99_micros: quantile(&sorted, 0.99),
            max_micros: sorted.last().copied(),
            slower_percent: None,
            busy_micros: mean(|step| step.busy),
            idle_micros: mean(|step| step.idle),
            input_micros: mean(|step| step.input),
            communication_micros: mean(|step| step.communication),
        };
        let steps = block.steps.len().max(1) as f64;
        let ops = block.ops.iter();
        let ops = ops.map(|(op, (runs, time))| (op.clone(), (*runs as f64 / steps, *time as f64 / parts / steps)));
        Side { host, times, ops: ops.collect() }
    }

    /// The steps that took much longer than the others of the same host.
    fn outliers(&self) -> Vec<Outlier> {
        let Some(middle) = self.host.median_micros else { return Vec::new() };
        let distances = self.times.iter().map(|(_, time)| (time - middle).abs()).collect();
        let deviation = 1.4826 * median(distances).unwrap_or(0.0);
        let limit = (middle + DEVIATIONS * deviation).max(BEYOND * middle);
        let beyond = self.times.iter().filter(|(_, time)| self.times.len() > 2 && *time > limit);
        let host = &self.host.host;
        beyond
            .map(|(step, time)| Outlier { host: host.clone(), step: *step, micros: *time, median_micros: middle })
            .collect()
    }
}

/// By op type, the runs and time by step of the median host. A host without the op has 0 of it.
fn median_ops(sides: &[Side]) -> BTreeMap<String, (f64, f64)> {
    let mut all: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for (op, numbers) in sides.iter().flat_map(|side| &side.ops) {
        all.entry(op).or_default().push(*numbers);
    }
    let middle = |numbers: Vec<(f64, f64)>| {
        let of = |number: fn(&(f64, f64)) -> f64| {
            let mut own: Vec<f64> = numbers.iter().map(number).collect();
            own.resize(sides.len(), 0.0);
            median(own).unwrap_or(0.0)
        };
        (of(|(runs, _)| *runs), of(|(_, time)| *time))
    };
    all.into_iter().map(|(op, numbers)| (op.to_owned(), middle(numbers))).collect()
}

fn differences(side: &Side, median: &BTreeMap<String, (f64, f64)>) -> Vec<OpDifference> {
    let mut ops: Vec<OpDifference> = median
        .iter()
        .map(|(op, (median_runs, median_micros))| {
            let (runs, micros) = side.ops.get(op).copied().unwrap_or_default();
            OpDifference {
                op: op.clone(),
                micros,
                median_micros: *median_micros,
                difference_micros: micros - median_micros,
                runs,
                median_runs: *median_runs,
            }
        })
        .filter(|op| op.difference_micros > 0.0)
        .collect();
    ops.sort_by(|a, b| b.difference_micros.total_cmp(&a.difference_micros).then_with(|| a.op.cmp(&b.op)));
    ops.truncate(OPS);
    ops
}

/// The rows that took most time, with their percentiles.
fn op_times(partial: &Partial) -> Vec<OpTimes> {
    let parts = partial.about.per_micro.unwrap_or(1).max(1) as f64;
    let rows = &partial.rows;
    let mut cells = Vec::new();
    for (key, row) in rows.keys.iter().zip(&rows.rows).filter(|(key, _)| key.layer == 0) {
        cells.extend(row.cells.iter().filter(|(_, cell)| cell.times.count() > 0).map(|(device, cell)| {
            let names = (rows.get(key.name), rows.get(key.op), rows.get(*device));
            (cell.totals.added[crate::part::rows::TIME], names, &**cell)
        }));
    }
    cells.sort_by_key(|(time, names, _)| (std::cmp::Reverse(*time), *names));
    let times = |(time, (name, op, device), cell): (i128, (&str, &str, &str), &crate::part::rows::Cell)| {
        let micros = |number: i64| number as f64 / parts;
        let quantile = |thousandths| micros(cell.times.quantile(thousandths).unwrap_or(0).clamp(cell.least, cell.most));
        let count = cell.times.count();
        let mean = time as f64 / count as f64;
        let variance = (cell.squares as f64 / count as f64 - mean * mean).max(0.0);
        OpTimes {
            name: name.to_owned(),
            op: op.to_owned(),
            device: device.to_owned(),
            host_steps: count,
            total_micros: time as f64 / parts,
            mean_micros: mean / parts,
            deviation_micros: variance.sqrt() / parts,
            min_micros: micros(cell.least),
            p50_micros: quantile(500),
            p90_micros: quantile(900),
            p99_micros: quantile(990),
            max_micros: micros(cell.most),
        }
    };
    cells.into_iter().take(LISTED).map(times).collect()
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_unstable_by(f64::total_cmp);
    match numbers.len() {
        0 => None,
        n if n % 2 == 1 => Some(numbers[n / 2]),
        n => Some(f64::midpoint(numbers[n / 2 - 1], numbers[n / 2])),
    }
}

fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests;
