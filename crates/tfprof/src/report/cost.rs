//! The cost of a model, computed from its files: parameters, FLOPs, multiply-adds and bytes by layer and op type, and the
//! ops whose cost is unknown.

pub mod baseline;
mod json;
pub(in crate::report) mod layers;
pub mod render;
mod scopes;
mod siblings;
mod tree;

use crate::error::{Error, Fix, Spelling, Warning};
use crate::hash::TrustedMap;
use crate::metric::Metric;
use crate::model::Model;
use crate::model::costs::{self, RunCost, UnknownReason};
use crate::model::dtype::DType;
use crate::model::names::NameId;
use crate::model::type_names::{OPTIMIZER_SLOT, SAME_VARIABLE, TRAINABLE};
use crate::options::Step;
use crate::quirks::Quirks;
use crate::view::values::Values;
use crate::view::{past_the_limit, tree::ROOT};
use scopes::Children;
pub use scopes::{Scope, Scopes};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// The numbers of a cost, in the order of their columns.
const COLUMNS: [Metric; 5] = [Metric::Parameters, Metric::FloatOps, Metric::Macs, Metric::IoBytes, Metric::UnknownOps];

/// One number for each of `COLUMNS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    #[serde(rename = "params")]
    pub parameters: i64,
    pub float_ops: i64,
    pub macs: i64,
    pub io_bytes: i64,
    pub unknown_ops: i64,
}

impl Figures {
    fn from_fn(number: impl Fn(Metric) -> i64) -> Figures {
        Figures {
            parameters: number(Metric::Parameters),
            float_ops: number(Metric::FloatOps),
            macs: number(Metric::Macs),
            io_bytes: number(Metric::IoBytes),
            unknown_ops: number(Metric::UnknownOps),
        }
    }

    /// The number of a metric; 0 if it is not one of `COLUMNS`.
    pub fn get(&self, metric: Metric) -> i64 {
        match metric {
            Metric::Parameters => self.parameters,
            Metric::FloatOps => self.float_ops,
            Metric::Macs => self.macs,
            Metric::IoBytes => self.io_bytes,
            Metric::UnknownOps => self.unknown_ops,
            _ => 0,
        }
    }

    pub(super) fn plus(&self, other: &Figures) -> Figures {
        Figures::from_fn(|metric| self.get(metric).saturating_add(other.get(metric)))
    }

    fn minus(&self, other: &Figures) -> Figures {
        Figures::from_fn(|metric| self.get(metric).saturating_sub(other.get(metric)))
    }
}

/// The maximum number of nodes listed as lacking a shape.
const LISTED: usize = 20;

/// A scope is split if it has more than one in this many of the whole.
const LARGE: i64 = 4;

/// Scopes are split until there are this many.
const FEWEST_PARTS: usize = 8;

#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Cost {
    pub figures: Figures,
    /// None if no file says which variables are trained.
    pub trainable: Option<i64>,
    /// Elements of the optimizer's own variables.
    pub slots: i64,
    /// Parameters by data type, the most first.
    pub by_dtype: Vec<TypedParameters>,
    pub nodes: i64,
    /// Nodes of unknown cost whose shapes depend on data.
    pub data_dependent: i64,
    pub op_types: Vec<OpType>,
    pub unknown: Vec<UnknownType>,
    /// The first nodes without a known shape, and why.
    pub missing: Vec<MissingShape>,
    /// The ops and the variables of a layer are in one.
    pub scopes: Scopes,
    /// The scope of the graph that the names of `scopes` leave out; empty if there is none.
    pub prefix: String,
    /// A scope around that one, which other names leave out.
    pub(super) around: String,
    pub shared: Vec<Shared>,
    /// The size that unknown dimensions of the inputs were taken as.
    pub batch: Option<i64>,
    pub per_batch: PerBatch,
    pub warnings: Vec<Warning>,
}

/// The cost as a function of the batch size; None where it is not linear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PerBatch {
    pub float_ops: Option<Linear>,
    pub macs: Option<Linear>,
    pub io_bytes: Option<Linear>,
}

impl PerBatch {
    /// From the costs of batches of 1, 2 and 3.
    fn new(costs: &[RunCost; 3]) -> PerBatch {
        let linear = |of: fn(&RunCost) -> i64| {
            let [one, two, three] = [0, 1, 2].map(|at| of(&costs[at]));
            let per_element = two.checked_sub(one)?;
            let is_linear = three.checked_sub(two)? == per_element;
            is_linear.then(|| Linear { constant: one - per_element, per_element })
        };
        PerBatch {
            float_ops: linear(|cost| cost.float_ops),
            macs: linear(|cost| cost.macs),
            io_bytes: linear(|cost| cost.io_bytes),
        }
    }
}

/// `constant + per_element·B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Linear {
    pub constant: i64,
    pub per_element: i64,
}

/// The parameters of one data type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypedParameters {
    pub dtype: String,
    pub elements: i64,
    pub bytes: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OpType {
    pub op: String,
    pub nodes: i64,
    #[serde(flatten)]
    pub figures: Figures,
}

/// An op type with nodes of unknown cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnknownType {
    pub op: String,
    pub nodes: i64,
    pub why: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingShape {
    pub node: String,
    pub why: String,
    /// How to state it.
    pub fix: Option<Fix>,
}

impl MissingShape {
    /// Why, and what to do.
    pub fn text(&self, spelling: Spelling) -> String {
        let fix = self.fix.as_ref().map(|fix| format!("; {}", fix.text(spelling))).unwrap_or_default();
        format!("{}{fix}", self.why)
    }
}

/// A variable that several layers compute with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Shared {
    pub name: String,
    /// The layers besides its own, or the first of them.
    pub readers: Vec<String>,
}

impl Cost {
    /// Sums up the loaded model and its inferred costs.
    pub(crate) fn new(model: &Arc<Model>, warnings: &[Warning]) -> Result<Cost, Error> {
        if model.costs.is_empty() {
            let how = "name a SavedModel, a frozen graph, a .meta file, or a Keras, ONNX or TensorFlow Lite model";
            if let Some(found) = warnings.iter().find(|warning| warning.code == "only_functions") {
                return Err(Error::Missing(format!("{found}; {how}")));
            }
            return Err(Error::Missing(format!("the cost is computed from a graph, and there is none; {how}")));
        }
        let values = Values::new(model, Step::Average, Quirks::NONE);
        let mut cost = Cost { warnings: warnings.to_vec(), batch: model.costs.batch, ..Cost::default() };
        let found = layers::layers(model, &values, ROOT, None);
        (cost.scopes, cost.prefix) = (found.scopes, found.prefix);
        (cost.around, cost.shared) = (found.around, found.shared);
        cost.figures = *cost.scopes.total(0);
        let past = COLUMNS.iter().find(|metric| matches!(cost.get(**metric), i64::MIN | i64::MAX));
        cost.warnings.extend(past.map(|metric| past_the_limit(*metric)));
        cost.add_variables(model, &values);
        cost.add_nodes(model, &values);
        cost.per_batch = model.costs.by_batch.as_ref().map(PerBatch::new).unwrap_or_default();
        cost.warnings.extend(frozen(model, cost.figures.parameters));
        // The op log has the figures of one batch size.
        let logged = model.nodes.float_ops.iter().filter(|float_ops| **float_ops != 0).count();
        if logged > 0 {
            cost.per_batch.float_ops = None;
            let message = format!("the FLOPs of {logged} nodes are those of the op log; the rest is computed");
            cost.warnings.push(Warning::new("op_log", message));
        }
        Ok(cost)
    }

    pub fn get(&self, metric: Metric) -> i64 {
        self.figures.get(metric)
    }

    /// Nodes whose cost is known.
    pub fn covered(&self) -> i64 {
        self.nodes.saturating_sub(self.get(Metric::UnknownOps))
    }

    fn add_variables(&mut self, model: &Model, values: &Values<'_>) {
        let find = |name: &str| model.names.find(name.as_bytes());
        let (trainable, slot, same) = (find(TRAINABLE), find(OPTIMIZER_SLOT), find(SAME_VARIABLE));
        let mut by_dtype: BTreeMap<DType, TypedParameters> = BTreeMap::new();
        let mut trained = 0_i64;
        for node in model.nodes.all() {
            let types = model.type_sets.get(model.nodes.types[node.index()]);
            let has = |ty| Option::is_some(&ty) && types.iter().any(|own| Some(*own) == ty);
            let elements = values.parameters(node);
            if has(slot) && !has(same) {
                let dims = model.shapes.get(model.nodes.shape[node.index()]);
                let size = dims.iter().fold(1_i64, |product, dim| product.saturating_mul((*dim).max(0)));
                self.slots = self.slots.saturating_add(if dims.is_empty() { 0 } else { size });
            }
            if elements == 0 {
                continue;
            }
            if has(trainable) {
                trained = trained.saturating_add(elements);
            }
            let dtype = model.costs.dtypes.get(&node).copied().unwrap_or_default();
            let size = dtype.size().unwrap_or(0) as i64;
            let name = || if dtype == DType::UNKNOWN { "unknown".to_owned() } else { dtype.name() };
            let empty = || TypedParameters { dtype: name(), elements: 0, bytes: 0 };
            let of_type = by_dtype.entry(dtype).or_insert_with(empty);
            of_type.elements = of_type.elements.saturating_add(elements);
            of_type.bytes = of_type.bytes.saturating_add(elements.saturating_mul(size));
        }
        self.trainable = (model.knows_trainable || trained > 0 || self.get(Metric::Parameters) == 0).then_some(trained);
        self.by_dtype = by_dtype.into_values().collect();
        self.by_dtype.sort_by_key(|of_type| Reverse(of_type.elements));
    }

    fn add_nodes(&mut self, model: &Model, values: &Values<'_>) {
        let mut by_op: TrustedMap<NameId, OpType> = TrustedMap::default();
        let mut unknown: BTreeMap<(&str, &'static str), i64> = BTreeMap::new();
        for node in model.nodes.all() {
            let costs = model.costs.get(node);
            if !costs.counted {
                continue;
            }
            let op_id = model.nodes.op[node.index()];
            let op = model.names.get(op_id);
            self.nodes = self.nodes.saturating_add(1).saturating_add(costs.unlisted);
            let row = values.row(node);
            let empty = || OpType { op: op.to_owned(), nodes: 0, figures: Figures::default() };
            let op_type = by_op.entry(op_id).or_insert_with(empty);
            op_type.nodes += 1;
            op_type.figures = op_type.figures.plus(&Figures::from_fn(|metric| row[metric as usize]));
            let unknown_nodes = row[Metric::UnknownOps as usize];
            if unknown_nodes > 0 {
                if costs.why == Some(UnknownReason::Data) {
                    self.data_dependent = self.data_dependent.saturating_add(unknown_nodes);
                }
                let why = if costs.unlisted > 0 { "in functions that are too many to list" } else { reason(costs.why) };
                let nodes = unknown.entry((op, why)).or_default();
                *nodes = nodes.saturating_add(unknown_nodes);
            }
        }
        self.op_types = by_op.into_values().collect();
        self.op_types.sort_by(|a, b| (Reverse(a.figures.float_ops), &a.op).cmp(&(Reverse(b.figures.float_ops), &b.op)));
        self.unknown =
            unknown.into_iter().map(|((op, why), nodes)| UnknownType { op: op.to_owned(), nodes, why }).collect();
        self.unknown.sort_by_key(|unknown| Reverse(unknown.nodes));
        let missing = |missing: &costs::MissingShape| MissingShape {
            node: model.name(missing.node).to_owned(),
            why: missing.why.clone(),
            fix: missing.fix.clone(),
        };
        let unlogged = |missing: &&costs::MissingShape| model.nodes.float_ops[missing.node.index()] == 0;
        self.missing = model.costs.missing.iter().filter(unlogged).take(LISTED).map(missing).collect();
    }

    /// The scopes to list, each part of the model in one of them: large scopes are replaced by their children until none is
    /// large or only layers are left.
    fn parts(&self) -> Vec<Scope<'_>> {
        let children = self.scopes.children();
        let mut is_split = vec![false; self.scopes.len()];
        for metric in [Metric::FloatOps, Metric::Parameters] {
            self.split(metric, &children, &mut is_split);
        }
        let is_part = |at: &usize| {
            let is_listed = !is_split[*at] && is_split[self.scopes.parent(*at)];
            is_listed && *self.scopes.total(*at) != Figures::default()
        };
        (1..self.scopes.len()).filter(is_part).map(|at| self.scopes.get(at)).collect()
    }

    /// Marks the scopes whose children are to be listed instead of them, for one metric.
    fn split(&self, metric: Metric, children: &Children, is_split: &mut [bool]) {
        if self.scopes.is_empty() {
            return;
        }
        is_split[0] = true;
        let size = |at: usize| self.scopes.total(at).get(metric);
        let most = size(0) / LARGE;
        // The largest scope that can be split is on top.
        let mut parts: BinaryHeap<(bool, i64, Reverse<usize>)> = BinaryHeap::new();
        let part = |at: usize| {
            let inner = children.of(at);
            let sum = |sum: Figures, child: &u32| sum.plus(self.scopes.total(*child as usize));
            let own = self.scopes.total(at).minus(&inner.iter().fold(Figures::default(), sum));
            let splits = !self.scopes.is_layer(at) && !inner.is_empty() && own.float_ops == 0 && own.parameters == 0;
            (splits, size(at), Reverse(at))
        };
        let parts_of = |at: usize| {
            let inner = children.of(at).iter().map(|at| *at as usize);
            inner.filter(|at| size(*at) > 0).map(part)
        };
        parts.extend(parts_of(0));
        while let Some((splits, size, Reverse(at))) = parts.peek().copied() {
            if !splits || (parts.len() >= FEWEST_PARTS && size < most) {
                break;
            }
            is_split[at] = true;
            parts.pop();
            parts.extend(parts_of(at));
        }
    }
}

/// The warning about a graph without parameters whose weights are constants.
pub(crate) fn frozen(model: &Model, parameters: i64) -> Option<Warning> {
    let weights = model.costs.frozen_weights;
    let why = "the graph has no variables, since it is frozen";
    let message = format!("{why}: its {weights} weights are constants");
    let fix = Fix::new("count them with", "const_params");
    (parameters == 0 && weights > 0).then(|| Warning::new("frozen", message).with_fix(fix))
}

fn reason(why: Option<UnknownReason>) -> &'static str {
    match why {
        Some(UnknownReason::Shape) => "shapes are not known",
        Some(UnknownReason::Data) => "shapes depend on data",
        Some(UnknownReason::DataFormat) => "unknown layout of data",
        Some(UnknownReason::Malformed) => "not as the op is defined",
        Some(UnknownReason::NoFormula) | None => "no formula",
    }
}
