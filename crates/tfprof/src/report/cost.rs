//! What a model costs, from its files alone: parameters, float operations, multiply-adds, bytes, where they are, and what is
//! not known.

pub mod baseline;
pub mod budget;
pub mod render;

use crate::engine::profiler::Profiler;
use crate::error::{Error, Warning};
use crate::metric::Metric;
use crate::model::Model;
use crate::model::costs::UnknownReason;
use crate::model::dtype::DType;
use crate::model::nodes::NodeId;
use crate::model::type_names::{OPTIMIZER_SLOT, SAME_VARIABLE, TRAINABLE};
use crate::options::{Options, ViewKind};
use crate::view::View;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The numbers of a cost, in the order of their columns.
pub const COLUMNS: [Metric; 5] =
    [Metric::Parameters, Metric::FloatOps, Metric::Macs, Metric::IoBytes, Metric::UnknownOps];

/// One number for each of [`COLUMNS`].
pub type Figures = [i64; COLUMNS.len()];

/// How many places of one kind are listed.
const LISTED: usize = 20;

/// A part of the model is split if it has more than one in this many of something.
const LARGE: i64 = 4;

/// The fewest parts to show, if there are as many.
const FEWEST_PARTS: usize = 8;

#[derive(Debug, Default)]
pub struct Cost {
    pub figures: Figures,
    /// None if nothing says which variables are trained.
    pub trainable: Option<i64>,
    /// Elements of variables that an optimizer keeps for itself.
    pub slots: i64,
    /// Parameters and their bytes by type of element.
    pub by_dtype: Vec<(String, i64, i64)>,
    pub nodes: i64,
    /// By op: nodes, and figures.
    pub op_types: Vec<(String, i64, Figures)>,
    pub unknown: Vec<UnknownType>,
    /// The first nodes whose shapes are not known, and where that begins.
    pub missing: Vec<MissingShape>,
    /// All parts, the whole first, each before what lies within it.
    pub scopes: Vec<Scope>,
    /// The size that open dimensions of what is fed were taken as.
    pub batch: Option<i64>,
    /// Float operations, multiply-adds and bytes as functions of the batch.
    pub per_batch: [PerBatch; 3],
    pub warnings: Vec<Warning>,
}

/// `constant + per_element·B`; none if it is not linear.
pub type PerBatch = Option<Linear>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    pub constant: i64,
    pub per_element: i64,
}

/// An op whose cost is not known in some nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownType {
    pub op: String,
    pub count: i64,
    pub why: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingShape {
    pub node: String,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    pub name: String,
    pub parent: usize,
    pub own: Figures,
    pub total: Figures,
}

impl Cost {
    /// Adds up what is loaded and was inferred.
    pub fn new(profiler: &Profiler) -> Result<Cost, Error> {
        let model = profiler.model();
        if model.costs.is_empty() {
            let how = "name a SavedModel, a frozen graph or a .meta file";
            return Err(Error::Missing(format!("the cost is computed from a graph, and there is none; {how}")));
        }
        let options = Options { max_depth: i64::from(i32::MAX), select: Some(select()), ..Options::default() };
        let view = profiler.view(ViewKind::Scope, &options)?;
        let warnings = profiler.warnings().iter().chain(&view.warnings).cloned().collect();
        let mut cost = Cost { warnings, batch: model.costs.batch, ..Cost::default() };
        cost.scopes = scopes(&view);
        cost.figures = cost.scopes.first().map(|root| root.total).unwrap_or_default();
        cost.add_variables(model, &view);
        cost.add_nodes(model, &view);
        cost.per_batch = profiler.per_batch();
        // An op log rules over what is computed.
        if model.nodes.float_ops.iter().any(|float_ops| *float_ops != 0) {
            cost.per_batch[0] = None;
            let message = "float operations are those of the op log; leave it out to have them computed".to_owned();
            cost.warnings.push(Warning { code: "op_log", location: None, message, damage: false });
        }
        Ok(cost)
    }

    pub fn get(&self, metric: Metric) -> i64 {
        get(&self.figures, metric)
    }

    /// Nodes whose cost is known.
    pub fn covered(&self) -> i64 {
        self.nodes.saturating_sub(self.get(Metric::UnknownOps))
    }

    fn add_variables(&mut self, model: &Model, view: &View) {
        let find = |name: &str| model.names.find(name.as_bytes());
        let (trainable, slot, same) = (find(TRAINABLE), find(OPTIMIZER_SLOT), find(SAME_VARIABLE));
        let mut by_dtype: BTreeMap<DType, (i64, i64)> = BTreeMap::new();
        let mut trained = 0_i64;
        for node in model.nodes.all() {
            let types = model.type_sets.get(model.nodes.types[node.index()]);
            let has = |ty| Option::is_some(&ty) && types.iter().any(|own| Some(*own) == ty);
            let elements = view.values().row(node)[Metric::Parameters as usize];
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
            let (count, bytes) = by_dtype.entry(dtype).or_default();
            *count = count.saturating_add(elements);
            *bytes = bytes.saturating_add(elements.saturating_mul(size));
        }
        self.trainable = (model.knows_trainable || trained > 0 || self.get(Metric::Parameters) == 0).then_some(trained);
        let name = |dtype: DType| if dtype == DType::UNKNOWN { "unknown".to_owned() } else { dtype.name() };
        self.by_dtype = by_dtype.into_iter().map(|(dtype, (count, bytes))| (name(dtype), count, bytes)).collect();
        self.by_dtype.sort_by_key(|(_, count, _)| Reverse(*count));
    }

    fn add_nodes(&mut self, model: &Model, view: &View) {
        let mut by_op: BTreeMap<&str, (i64, Figures)> = BTreeMap::new();
        let mut unknown: BTreeMap<(&str, &'static str), i64> = BTreeMap::new();
        for node in model.nodes.all() {
            let costs = model.costs.get(node);
            if !costs.counted {
                continue;
            }
            let op = model.names.get(model.nodes.op[node.index()]);
            self.nodes = self.nodes.saturating_add(1).saturating_add(costs.unlisted);
            let row = view.values().row(node);
            let (count, figures) = by_op.entry(op).or_default();
            *count += 1;
            add(figures, &COLUMNS.map(|metric| row[metric as usize]));
            if costs.unknown > 0 {
                let why = if costs.unlisted > 0 { "in functions that are too many to list" } else { reason(costs.why) };
                *unknown.entry((op, why)).or_default() += costs.unknown;
            }
        }
        self.op_types = by_op.into_iter().map(|(op, (count, figures))| (op.to_owned(), count, figures)).collect();
        self.op_types.sort_by_key(|(_, _, figures)| Reverse(get(figures, Metric::FloatOps)));
        self.unknown =
            unknown.into_iter().map(|((op, why), count)| UnknownType { op: op.to_owned(), count, why }).collect();
        self.unknown.sort_by_key(|unknown| Reverse(unknown.count));
        let place =
            |(node, why): &(NodeId, String)| MissingShape { node: model.name(*node).to_owned(), why: why.clone() };
        self.missing = model.costs.missing.iter().take(LISTED).map(place).collect();
    }

    /// The parts that most of a metric is in, the largest first: the whole is split where most of it is, until no part has
    /// most of it.
    pub fn parts(&self, metric: Metric) -> Vec<&Scope> {
        let size = |at: usize| get(&self.scopes[at].total, metric);
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.scopes.len()];
        for (at, scope) in self.scopes.iter().enumerate().skip(1) {
            if size(at) > 0 {
                children[scope.parent].push(at);
            }
        }
        let Some(whole) = self.scopes.first() else { return Vec::new() };
        let most = get(&whole.total, metric) / LARGE;
        // The largest that can be split is on top.
        let mut parts: BinaryHeap<(bool, i64, Reverse<usize>)> = BinaryHeap::new();
        let part = |at: usize| {
            let splits = !children[at].is_empty() && get(&self.scopes[at].own, metric) == 0;
            (splits, size(at), Reverse(at))
        };
        parts.extend(children[0].iter().map(|at| part(*at)));
        while let Some((splits, size, Reverse(at))) = parts.peek().copied() {
            if !splits || (parts.len() >= FEWEST_PARTS && size < most) {
                break;
            }
            parts.pop();
            parts.extend(children[at].iter().map(|at| part(*at)));
        }
        let mut parts: Vec<usize> = parts.into_iter().map(|(_, _, Reverse(at))| at).collect();
        parts.sort_by_key(|at| (Reverse(size(*at)), *at));
        parts.into_iter().map(|at| &self.scopes[at]).collect()
    }
}

/// The number of a metric among figures.
pub fn get(figures: &Figures, metric: Metric) -> i64 {
    COLUMNS.iter().position(|column| *column == metric).map_or(0, |at| figures[at])
}

fn add(sum: &mut Figures, more: &Figures) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
}

fn select() -> crate::options::Selection {
    let mut selection = crate::options::Selection::default();
    COLUMNS.into_iter().for_each(|metric| selection.add_metric(metric));
    selection
}

fn scopes(view: &View) -> Vec<Scope> {
    let scope = |row: &crate::view::VisibleRow| Scope {
        name: view.name(row).to_owned(),
        parent: row.parent,
        own: COLUMNS.map(|metric| view.self_value(metric, row)),
        total: COLUMNS.map(|metric| view.total(metric, row)),
    };
    view.rows().iter().map(scope).collect()
}

/// A few words on why a cost is not known.
pub fn reason(why: Option<UnknownReason>) -> &'static str {
    match why {
        Some(UnknownReason::Shape) => "shapes are not known",
        Some(UnknownReason::DataFormat) => "unknown layout of data",
        Some(UnknownReason::Malformed) => "not as the op is defined",
        Some(UnknownReason::NoFormula) | None => "no formula",
    }
}
