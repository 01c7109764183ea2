//! The layers of a model with their shapes, costs, activation memory and, if a run is loaded, their time: the table that
//! people know from `model.summary()`, and figures of the whole model below it.

mod join;
pub mod memory;
mod picture;
pub mod render;
mod schedule;
pub mod what_if;

use crate::error::{Error, Warning};
use crate::metric::Metric;
use crate::model::Model;
use crate::model::nodes::{NodeId, ShapeId};
use crate::options::{Options, Step};
use crate::quirks::Quirks;
use crate::report::cost::Scopes;
use crate::report::cost::layers::layers;
use crate::view::ceilings::Peaks;
use crate::view::values::{Row, Values, plus};
use memory::Memory;
use schedule::{Moment, Schedule};
use std::sync::Arc;

/// A layer, or the whole model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Layer {
    pub name: String,
    /// The shape of its last output; empty if it is unknown.
    pub shape: Vec<i64>,
    pub parameters: i64,
    pub float_ops: i64,
    pub io_bytes: i64,
    /// Nodes of unknown cost.
    pub unknown_ops: i64,
    /// The bytes of all outputs of its ops; `None` if a size is unknown.
    pub activations: Option<i64>,
    /// Microseconds of device time a step; `None` without a run.
    pub micros: Option<f64>,
    pub flops_per_second: Option<f64>,
    /// Of the peak FLOP/s, and of the roofline.
    pub flops_share: Option<f64>,
    pub roofline_share: Option<f64>,
}

/// The answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct LayerReport {
    pub layers: Vec<Layer>,
    pub whole: Layer,
    /// Names leave out this scope.
    pub prefix: String,
    /// The share of the measured time that belongs to nodes of the model; `None` without a run.
    pub joined: Option<f64>,
    /// Microseconds from the start of a step to its end, on average.
    pub step_micros: Option<f64>,
    /// FLOPs of the model by the FLOP/s at the peak in the time of a step.
    pub utilization: Option<f64>,
    pub batch: Option<i64>,
    pub memory: Memory,
    /// The peaks for comparison.
    pub peaks: Vec<String>,
    pub warnings: Vec<Warning>,
}

impl LayerReport {
    pub(crate) fn new(model: &Arc<Model>, options: &Options, warnings: &[Warning]) -> Result<LayerReport, Error> {
        if model.costs.is_empty() && !model.is_trace {
            let how = "name a SavedModel, a frozen graph, a .meta file, or a trace";
            return Err(Error::Missing(format!("layers are those of a graph, and there is none; {how}")));
        }
        let peaks = Peaks::find(model, options)?;
        let mut values = Values::new(model, Step::Average, Quirks::NONE);
        values.lens.ceilings = peaks.ceilings;
        let ran = |node: NodeId| model.runs.totals().of(node).next().is_some();
        let found = layers(model, &values, "whole model", Some(&ran));
        let joined = join::times(model, &values);
        let listed = listed(&found.scopes, options.max_depth);
        let schedule = Schedule::new(model);
        let moments = schedule.moments(model);
        let mut sums: Vec<Sums> = vec![Sums::default(); found.scopes.len()];
        for (node, place) in &found.places {
            if !joined.moved.contains(node) {
                let row = joined.rows.get(node).copied().unwrap_or_else(|| values.row(*node));
                let of_layer = &mut sums[listed[*place as usize]];
                of_layer.add(model, *node, &row, &moments);
                of_layer.has_fused |= joined.fused.contains(node);
            }
        }
        let mut whole = Sums::default();
        sums.iter().for_each(|of_layer| whole.include(of_layer));
        let has_run = !model.runs.is_empty() || model.is_trace;
        let parts = model.parts(Metric::Micros) as f64;
        let layer = |name: &str, sums: &Sums| sums.layer(name, model, parts, has_run);
        let mut shown: Vec<usize> = (1..found.scopes.len()).filter(|at| sums[*at].nodes > 0).collect();
        // As `model.summary()` has them; those that never run keep the order of their names.
        shown.sort_by_key(|at| sums[*at].begins());
        let mut layers: Vec<Layer> = shown.into_iter().map(|at| layer(&found.scopes.name(at), &sums[at])).collect();
        if sums[0].nodes > 0 {
            layers.push(layer("(outside of layers)", &sums[0]));
        }
        let step_micros = step_micros(model);
        let compute = whole.row[Metric::ComputeMicros as usize] as f64 / parts;
        let utilization = step_micros.filter(|_| compute > 0.0 && whole.knows_flops()).map(|step| compute / step);
        Ok(LayerReport {
            layers,
            whole: layer("the whole model", &whole),
            prefix: found.prefix,
            joined: has_run.then_some(joined.share).flatten(),
            step_micros,
            utilization,
            batch: model.costs.batch,
            memory: Memory::new(model, &values, &schedule),
            peaks: peaks.said,
            warnings: warnings.to_vec(),
        })
    }
}

/// The scope that lists each scope: layers, and the largest scopes without a layer; not deeper than asked for.
fn listed(scopes: &Scopes, max_depth: Option<i64>) -> Vec<usize> {
    let count = scopes.len();
    let mut holds_layer = vec![false; count];
    for at in (1..count).rev() {
        if scopes.is_layer(at) || holds_layer[at] {
            holds_layer[scopes.parent(at)] = true;
        }
    }
    // Without any layer, as in traces, two levels of scopes are shown.
    let has_layers = holds_layer.first().copied().unwrap_or(false);
    let most = max_depth.unwrap_or(if has_layers { i64::MAX } else { 2 }).max(1);
    let (mut listed, mut depth) = (vec![0; count], vec![0_i64; count]);
    for at in 1..count {
        let parent = scopes.parent(at);
        depth[at] = depth[parent] + 1;
        let goes_on = !scopes.is_layer(parent) && (holds_layer[parent] || !has_layers) && depth[at] <= most;
        let is_inside = parent != 0 && !goes_on;
        listed[at] = if is_inside { listed[parent] } else { at };
    }
    listed
}

/// The sums of the nodes of a layer.
#[derive(Clone)]
struct Sums {
    row: Row,
    nodes: usize,
    activations: Option<i64>,
    shape: ShapeId,
    /// When the first op on an input of the model runs, or else the first one on constants.
    first: Option<u32>,
    first_constant: Option<u32>,
    /// When the op of `shape` runs.
    last: Option<u32>,
    /// FLOPs of nodes without time: a fused op has done their work, here or in another layer, or nobody has.
    untimed: i64,
    has_fused: bool,
}

impl Default for Sums {
    fn default() -> Self {
        let row = [0; Metric::COUNT];
        let (first, first_constant, last) = (None, None, None);
        let (activations, shape) = (Some(0), ShapeId::EMPTY);
        Sums { row, nodes: 0, activations, shape, first, first_constant, last, untimed: 0, has_fused: false }
    }
}

impl Sums {
    fn add(&mut self, model: &Model, node: NodeId, row: &Row, moments: &[Option<Moment>]) {
        self.nodes += 1;
        if row[Metric::DeviceMicros as usize] == 0 {
            self.untimed = self.untimed.saturating_add(row[Metric::FloatOps as usize]);
        }
        self.row.iter_mut().zip(row).for_each(|(sum, n)| *sum = plus(*sum, *n, false));
        let Some(moment) = moments[node.index()] else { return };
        let first = if moment.follows_input { &mut self.first } else { &mut self.first_constant };
        *first = Some(first.map_or(moment.at, |first| first.min(moment.at)));
        self.activations = self.activations.zip(moment.made).map(|(sum, bytes)| sum.saturating_add(bytes));
        let shape = model.costs.outputs(node).map_or(ShapeId::EMPTY, |outputs| outputs.shape);
        if shape != ShapeId::EMPTY && moment.made != Some(0) && Some(moment.at) >= self.last {
            (self.shape, self.last) = (shape, Some(moment.at));
        }
    }

    /// The place of a layer among the others.
    fn begins(&self) -> u32 {
        self.first.or(self.first_constant).unwrap_or(u32::MAX)
    }

    fn include(&mut self, other: &Sums) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.untimed = self.untimed.saturating_add(other.untimed);
        self.has_fused |= other.has_fused;
        self.row.iter_mut().zip(&other.row).for_each(|(sum, n)| *sum = plus(*sum, *n, false));
        self.activations = self.activations.zip(other.activations).map(|(sum, more)| sum.saturating_add(more));
        if other.shape != ShapeId::EMPTY && other.last >= self.last {
            (self.shape, self.last) = (other.shape, other.last);
        }
    }

    fn get(&self, metric: Metric) -> i64 {
        self.row[metric as usize]
    }

    /// Whether the FLOPs belong to the measured time. Folded constants hardly matter.
    fn is_timed(&self) -> bool {
        self.has_fused || self.untimed <= self.get(Metric::FloatOps) / 100
    }

    fn knows_flops(&self) -> bool {
        self.is_timed() && self.get(Metric::KnownFlopsMicros) >= self.get(Metric::DeviceMicros)
    }

    fn layer(&self, name: &str, model: &Model, parts: f64, has_run: bool) -> Layer {
        let device = self.get(Metric::DeviceMicros);
        let micros = device as f64 / parts;
        let share = |metric: Metric, covered: Metric| {
            let known = device > 0 && self.is_timed() && self.get(covered) >= device;
            known.then(|| self.get(metric) as f64 / device as f64).filter(|share| *share > 0.0)
        };
        let float_ops = self.get(Metric::FloatOps);
        let flops_per_second = (device > 0 && self.knows_flops()).then(|| float_ops as f64 / micros * 1e6);
        Layer {
            name: name.to_owned(),
            shape: model.shapes.get(self.shape).to_vec(),
            parameters: self.get(Metric::Parameters),
            float_ops,
            io_bytes: self.get(Metric::IoBytes),
            unknown_ops: self.get(Metric::UnknownOps),
            activations: self.activations.filter(|_| !model.costs.tensors.is_empty()),
            micros: has_run.then_some(micros),
            flops_per_second,
            flops_share: share(Metric::ComputeMicros, Metric::KnownFlopsMicros),
            roofline_share: share(Metric::RooflineMicros, Metric::CoveredMicros),
        }
    }
}

/// The length of a step on average: as the trace marks it, or from the first start to the last end.
fn step_micros(model: &Model) -> Option<f64> {
    let marked = model.hosts.iter().filter(|host| !host.steps.is_empty()).map(|host| {
        let sum = host.steps.iter().map(|step| step.length as f64).sum::<f64>();
        sum / host.steps.len() as f64 / 1e6
    });
    if let Some(longest) = marked.max_by(f64::total_cmp) {
        return Some(longest);
    }
    let parts = model.parts(Metric::Micros) as f64;
    let span = |step: i64| {
        let cells = model.runs.step(step)?.rows().filter(|cell| cell.first_start > 0);
        let start = cells.clone().map(|cell| cell.first_start).min()?;
        let end = cells.map(|cell| cell.last_end).max()?;
        Some((end.saturating_sub(start)) as f64 / parts)
    };
    let spans: Vec<f64> = model.runs.steps().filter_map(span).filter(|span| *span > 0.0).collect();
    (!spans.is_empty()).then(|| spans.iter().sum::<f64>() / spans.len() as f64)
}
