//! An answer of the engine with an index: children, paths, directions. It is computed once for each question and shared.

use crate::question::ViewQuestion;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use tfprof::internal::budget::check;
use tfprof::internal::model::Model;
use tfprof::internal::model::names::NameId;
use tfprof::internal::model::nodes::NodeId;
use tfprof::internal::render::direction;
use tfprof::{Line, Metric, Number, Side, Unit, View, ViewKind, VisibleRow};

/// Forward, gradient or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Direction {
    Unknown = 0,
    Forward = 1,
    Gradient = 2,
    Other = 3,
}

impl Direction {
    pub fn word(self) -> &'static str {
        ["", "f", "g", "o"][self as usize]
    }

    /// The direction of an op by its name and type.
    pub fn of(name: &str, op: &str) -> Direction {
        if direction::is_gradient_scope(name) {
            Direction::Gradient
        } else if is_bookkeeping(op) {
            Direction::Other
        } else {
            Direction::Forward
        }
    }
}

/// By node, its direction.
pub fn directions(model: &Model) -> Vec<Direction> {
    let name = |of: &[NameId], at: usize| model.names.get(of[at]);
    let direction = |at: usize| Direction::of(name(&model.nodes.name, at), name(&model.nodes.op, at));
    (0..model.nodes.len()).map(direction).collect()
}

/// Whether names tell forward from gradient. A graph without gradients is all forward; a trace without their names may hold them.
pub fn tells_directions(model: &Model) -> bool {
    let is_gradient = |node: NodeId| direction::is_gradient_scope(model.names.get(model.nodes.name[node.index()]));
    !model.is_trace || model.nodes.all().any(is_gradient)
}

/// Ops that update, save or feed a model: neither forward nor gradient.
fn is_bookkeeping(op: &str) -> bool {
    const STARTS: &[&str] =
        &["Apply", "ResourceApply", "Assign", "Save", "Restore", "Iterator", "Queue", "RandomShuffleQueue"];
    const ENDS: &[&str] = &["Dataset", "DatasetV2", "QueueV2", "ManyV2"];
    const WHOLE: &[&str] = &["NoOp", "VariableV2", "VarHandleOp", "IteratorGetNext", "MergeV2Checkpoints"];
    WHOLE.contains(&op) || STARTS.iter().any(|start| op.starts_with(start)) || ENDS.iter().any(|end| op.ends_with(end))
}

/// The rows of a view with their parents and children.
#[derive(Debug)]
pub struct Tree {
    pub view: View,
    pub asked: ViewQuestion,
    /// By row, the end of the rows below it.
    end: Vec<u32>,
    /// The children of each row, one after the other.
    kids: Vec<u32>,
    kids_end: Vec<u32>,
    directions: OnceLock<Vec<Direction>>,
    /// By node of the model; trees of one model share it.
    of_nodes: Arc<OnceLock<Vec<Direction>>>,
    units: OnceLock<Vec<f32>>,
    by_path: OnceLock<HashMap<u64, u32>>,
    rows_of_nodes: OnceLock<HashMap<NodeId, usize>>,
    /// Code view: the hashes of call paths.
    hashes: OnceLock<Vec<u64>>,
    /// The start of the hashes of names.
    seed: u64,
    pub levels: usize,
}

/// The maximum number of path bytes in one answer.
const MOST_TEXT: usize = 2 << 20;

impl Tree {
    pub fn new(view: View, asked: ViewQuestion) -> Tree {
        let rows = view.rows();
        let mut end: Vec<u32> = (1..=rows.len() as u32).collect();
        let mut counts = vec![0_u32; rows.len()];
        let mut levels = 0;
        for (at, row) in rows.iter().enumerate().skip(1).rev() {
            end[row.parent] = end[row.parent].max(end[at]);
            counts[row.parent] += 1;
            levels = levels.max(row.depth);
        }
        let mut kids_end = counts;
        let mut sum = 0;
        for count in &mut kids_end {
            sum += *count;
            *count = sum;
        }
        let mut next: Vec<u32> = (0..rows.len()).map(|at| if at == 0 { 0 } else { kids_end[at - 1] }).collect();
        let mut kids = vec![0; rows.len().saturating_sub(1)];
        for (at, row) in rows.iter().enumerate().skip(1) {
            kids[next[row.parent] as usize] = at as u32;
            next[row.parent] += 1;
        }
        let levels = if view.kind == ViewKind::Op { rows.len() } else { levels + 1 };
        let (directions, of_nodes, units, by_path, rows_of_nodes, hashes) = Default::default();
        let seed = RandomState::new().hash_one(levels);
        Tree {
            view,
            asked,
            end,
            kids,
            kids_end,
            directions,
            of_nodes,
            units,
            by_path,
            rows_of_nodes,
            hashes,
            seed,
            levels,
        }
    }

    /// The same, with directions of nodes that were found for another tree of the same graph.
    #[must_use]
    pub fn sharing(mut self, of_nodes: &Arc<OnceLock<Vec<Direction>>>) -> Tree {
        self.of_nodes = Arc::clone(of_nodes);
        self
    }

    /// By node, its direction.
    pub fn node_directions(&self) -> &[Direction] {
        self.of_nodes.get_or_init(|| directions(&self.view.model))
    }

    pub fn len(&self) -> usize {
        self.view.rows().len()
    }

    pub fn row(&self, id: usize) -> &VisibleRow {
        &self.view.rows()[id]
    }

    pub fn kids(&self, id: usize) -> &[u32] {
        let start = if id == 0 { 0 } else { self.kids_end[id - 1] as usize };
        &self.kids[start..self.kids_end[id] as usize]
    }

    /// The row and all rows below it.
    pub fn below(&self, id: usize) -> Range<usize> {
        id..self.end[id] as usize
    }

    /// The row and the rows around it, the root first.
    pub fn chain(&self, id: usize) -> Vec<usize> {
        let mut chain = vec![id];
        let mut at = id;
        while at != 0 {
            at = self.row(at).parent;
            chain.push(at);
        }
        chain.reverse();
        chain
    }

    pub fn name(&self, id: usize) -> &str {
        self.view.name(self.row(id))
    }

    /// The last part of a name.
    pub fn short_name(&self, id: usize) -> String {
        if id == 0 {
            return "all".to_owned();
        }
        let name = self.name(id);
        match self.view.kind {
            ViewKind::Op => name.to_owned(),
            ViewKind::Code => self.view.line(self.row(id)).map_or_else(|| name.to_owned(), |line| line_name(&line)),
            _ => self.within_parent(id).unwrap_or(name).to_owned(),
        }
    }

    /// The name of a row without that of the row around it, if it starts with that and a slash.
    fn within_parent(&self, id: usize) -> Option<&str> {
        let (parent, name) = (self.row(id).parent, self.name(id));
        if parent == 0 {
            return None;
        }
        let prefix = self.name(parent);
        // A scope's name starts with the scopes around it: reading them again for each row would take the square of the depth.
        let is_inside =
            (self.view.kind == ViewKind::Scope && self.view.compared().is_none()) || name.starts_with(prefix);
        if is_inside { name.get(prefix.len()..)?.strip_prefix('/') } else { None }
    }

    /// The rows whose paths fit into one answer. Paths of deep rows repeat all their ancestors.
    pub fn fitting<'i>(&self, ids: &'i [usize]) -> &'i [usize] {
        let mut room = MOST_TEXT;
        let fits = |id: &&usize| {
            let taken = self.name(**id).len();
            let has_room = room >= taken;
            room = room.saturating_sub(taken);
            has_room
        };
        &ids[..ids.iter().take_while(fits).count()]
    }

    /// The key of the row, unique within the view.
    pub fn path(&self, id: usize) -> String {
        match (id, self.view.kind) {
            (0, _) => String::new(),
            (_, ViewKind::Code) => format!("{:016x}", self.hashes()[id]),
            _ => self.name(id).to_owned(),
        }
    }

    fn hashes(&self) -> &[u64] {
        self.hashes.get_or_init(|| {
            let mut hashes: Vec<u64> = Vec::with_capacity(self.len());
            for (id, row) in self.view.rows().iter().enumerate() {
                let before = if id == 0 { 0xcbf2_9ce4_8422_2325 } else { hashes[row.parent] };
                hashes.push(fnv(before, self.name(id).as_bytes()));
            }
            hashes
        })
    }

    /// The row of a path.
    pub fn find(&self, path: &str) -> Option<usize> {
        if path.is_empty() {
            return Some(0);
        }
        let is_code = self.view.kind == ViewKind::Code;
        let by_path = self.by_path.get_or_init(|| {
            let hashes = if is_code { self.hashes() } else { &self.name_hashes() };
            (1..self.len()).rev().map(|id| (hashes[id], id as u32)).collect()
        });
        if is_code {
            return by_path.get(&u64::from_str_radix(path, 16).ok()?).map(|id| *id as usize);
        }
        let id = by_path.get(&fnv(self.seed, path.as_bytes())).map(|id| *id as usize)?;
        if self.name(id) == path { Some(id) } else { (1..self.len()).find(|id| self.name(*id) == path) }
    }

    /// The hashes of names, each from that of the row around it if it starts with that.
    fn name_hashes(&self) -> Vec<u64> {
        let mut hashes: Vec<u64> = Vec::with_capacity(self.len());
        for (id, row) in self.view.rows().iter().enumerate() {
            let hash = match self.within_parent(id) {
                Some(rest) if id > 0 => fnv_more(fnv_more(hashes[row.parent], b"/"), rest.as_bytes()),
                _ => fnv_more(self.seed, self.name(id).as_bytes()),
            };
            hashes.push(hash);
        }
        hashes.iter_mut().for_each(|hash| *hash = fnv(*hash, b""));
        hashes
    }

    /// By node, the row of the op or code view that it is in.
    pub fn rows_of_nodes(&self) -> &HashMap<NodeId, usize> {
        self.rows_of_nodes.get_or_init(|| {
            let nodes = |id: usize| self.view.bag(self.row(id)).map(move |node| (node, id));
            (1..self.len()).flat_map(nodes).collect()
        })
    }

    /// The node of a row of the scope or graph view.
    pub fn node(&self, id: usize) -> Option<NodeId> {
        self.view.node(self.row(id))
    }

    /// The op type of a node's row.
    pub fn op(&self, id: usize) -> &str {
        match self.node(id) {
            Some(node) => self.view.model.names.get(self.view.model.nodes.op[node.index()]),
            None => "",
        }
    }

    pub fn direction(&self, id: usize) -> Direction {
        self.directions.get_or_init(|| self.find_directions())[id]
    }

    /// A scope is what the rows in it are: forward, gradient, or if it has both, neither.
    fn find_directions(&self) -> Vec<Direction> {
        const FORWARD: u8 = 1;
        const GRADIENT: u8 = 2;
        const OTHER: u8 = 4;
        const UPDATE: u8 = 8;
        let rows = self.view.rows();
        let mut has = vec![0_u8; rows.len()];
        let of_nodes = self.node_directions();
        for (id, row) in rows.iter().enumerate().rev() {
            let own = match self.view.kind {
                _ if id == 0 => 0,
                ViewKind::Scope | ViewKind::Graph if self.kids(id).is_empty() || self.node(id).is_some() => {
                    let op = self.op(id);
                    let direction = match self.node(id) {
                        Some(node) => of_nodes[node.index()],
                        None => Direction::of(self.view.name(row), op),
                    };
                    match direction {
                        Direction::Gradient => GRADIENT,
                        _ if op.starts_with("Apply") || op.starts_with("ResourceApply") => OTHER | UPDATE,
                        Direction::Other => OTHER,
                        _ => FORWARD,
                    }
                }
                ViewKind::Scope | ViewKind::Graph => 0,
                ViewKind::Op => {
                    let of = |node: NodeId| match of_nodes[node.index()] {
                        Direction::Gradient => GRADIENT,
                        Direction::Other => OTHER,
                        _ => FORWARD,
                    };
                    self.view.bag(row).fold(0, |has, node| has | of(node))
                }
                _ if direction::is_gradient(&self.view, row) => GRADIENT,
                _ => FORWARD,
            };
            has[id] |= own;
            if id > 0 && self.view.kind != ViewKind::Graph {
                has[row.parent] |= has[id];
            }
        }
        let tells = tells_directions(&self.view.model);
        // The preparation of an update is part of it.
        let direction = |has: u8| match (has & GRADIENT != 0, has & FORWARD != 0, has & OTHER != 0) {
            (false, ..) if has & UPDATE != 0 => Direction::Other,
            (true, false, _) => Direction::Gradient,
            (false, true, _) if tells => Direction::Forward,
            (false, false, true) => Direction::Other,
            _ => Direction::Unknown,
        };
        has.into_iter().map(direction).collect()
    }

    /// The hue of a row: the position of its unit among its siblings, from 0 to 1, so that neighbours look similar.
    pub fn unit(&self, id: usize) -> f32 {
        self.units.get_or_init(|| self.find_units())[id]
    }

    fn find_units(&self) -> Vec<f32> {
        let rows = self.view.rows();
        // The level where the tree branches; everything below belongs to a unit.
        let mut level = 1;
        let mut at = 0;
        while let [only] = self.kids(at) {
            at = *only as usize;
            level += 1;
        }
        // A gradient scope that holds the gradients of all units is no unit.
        let holds_gradients = |id: usize| direction::is_gradient_scope(self.name(id)) && rows[id].depth == level;
        let mut unit_of: Vec<u32> = vec![0; rows.len()];
        let mut names: HashMap<String, u32> = HashMap::new();
        for (id, row) in rows.iter().enumerate().skip(1) {
            let begins = row.depth == level || (row.depth == level + 1 && holds_gradients(row.parent));
            unit_of[id] = if begins && !(row.depth == level && holds_gradients(id) && !self.kids(id).is_empty()) {
                let next = names.len() as u32 + 1;
                *names.entry(self.short_name(id)).or_insert(next)
            } else {
                unit_of[row.parent]
            };
        }
        let mut sorted: Vec<(&String, &u32)> = names.iter().collect();
        sorted.sort_unstable();
        let mut place = vec![0.5_f32; names.len() + 1];
        for (at, (_, unit)) in sorted.iter().enumerate() {
            place[**unit as usize] = at as f32 / sorted.len().max(1) as f32;
        }
        unit_of.into_iter().map(|unit| place[unit as usize]).collect()
    }

    /// A figure of a row, and its share of the whole.
    pub fn number(&self, side: Side, metric: Metric, id: usize) -> Value {
        number(self.view.number(side, metric, self.row(id)))
    }

    pub fn share(&self, metric: Metric, id: usize) -> Option<f64> {
        self.share_of(metric, self.view.exact_total(metric, self.row(id)).n as f64)
    }

    /// An amount in stored units as a share of the whole.
    pub fn share_of(&self, metric: Metric, parts: f64) -> Option<f64> {
        let whole = self.view.exact_total(metric, self.row(0)).n as f64;
        (whole > 0.0 && !metric.is_ratio() && self.view.knows(metric)).then(|| parts / whole)
    }

    /// The total of a row in stored units.
    pub fn parts(&self, id: usize) -> i64 {
        self.view.exact_total(self.asked.metric(), self.row(id)).n
    }

    pub fn own_parts(&self, id: usize) -> i64 {
        self.view.exact_self(self.asked.metric(), self.row(id)).n
    }

    /// Converts stored units to the metric's unit.
    pub fn whole(&self, parts: i64) -> f64 {
        parts as f64 / self.view.model.parts(self.asked.metric()) as f64
    }

    pub fn columns(&self) -> Value {
        self.asked.metrics.iter().map(|metric| column(*metric, self.view.knows(*metric))).collect()
    }

    /// A row as every answer has it.
    pub fn row_json(&self, id: usize) -> Value {
        let metrics = &self.asked.metrics;
        let all =
            |figure: &dyn Fn(Metric) -> Value| -> Value { metrics.iter().map(|metric| figure(*metric)).collect() };
        let mut row = json!({
            "id": id,
            "path": self.path(id),
            "name": self.short_name(id),
            "kind": self.view.kind.word(),
            "dir": self.direction(id).word(),
            "op": if self.view.kind == ViewKind::Op && id > 0 { self.name(id) } else { self.op(id) },
            "unit": self.unit(id),
            "kids": self.kids(id).len(),
            "depth": self.row(id).depth,
            "total": all(&|metric| self.number(Side::Total, metric, id)),
            "own": all(&|metric| self.number(Side::SelfOnly, metric, id)),
            "share": all(&|metric| self.share(metric, id).into()),
        });
        check();
        if let Some(line) = self.view.line(self.row(id)) {
            row["file"] = line.file.into();
            row["line"] = line.number.into();
            row["function"] = line.function.into();
        }
        row
    }

    pub fn rows_json(&self, ids: impl IntoIterator<Item = usize>) -> Value {
        ids.into_iter().map(|id| self.row_json(id)).collect()
    }

    /// The selection that a row stands for.
    pub fn sel(&self, id: usize) -> String {
        format!("{}:{}", self.view.kind.word(), self.path(id))
    }

    /// The depth of the view, for the command that shows all of it.
    pub fn command_options(&self) -> Vec<(String, String)> {
        self.asked.command_options(self.levels)
    }
}

/// The name of a line on the page: `model.py:30 conv`.
pub fn line_name(line: &Line<'_>) -> String {
    let file = line.file.rsplit(['/', '\\']).next().unwrap_or(line.file);
    let number = if line.number < 0 { String::new() } else { format!(":{}", line.number) };
    let mark = if line.is_gradient { " ∂" } else { "" };
    format!("{file}{number} {}{mark}", line.function)
}

fn fnv(start: u64, bytes: &[u8]) -> u64 {
    fnv_more(fnv_more(start, bytes), &[0xff])
}

fn fnv_more(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A number of the engine as JSON; unknown is null.
pub fn number(number: Number) -> Value {
    match number {
        Number::Int(n) => n.into(),
        Number::Decimal(amount) => (amount.n as f64 / amount.parts as f64).into(),
        Number::Real(x) => x.into(),
        _ => Value::Null,
    }
}

pub fn column(metric: Metric, known: bool) -> Value {
    let info = metric.info();
    json!({
        "key": info.key,
        "word": info.word,
        "label": label(metric),
        "unit": unit(metric),
        "about": info.about,
        "known": known,
    })
}

/// The name of a metric on the page.
pub fn label(metric: Metric) -> String {
    let known = match metric {
        Metric::Micros => "Time",
        Metric::CpuMicros => "CPU time",
        Metric::AcceleratorMicros => "Accelerator time",
        Metric::Runs => "Runs",
        Metric::FloatOps => "Float operations",
        Metric::Parameters => "Parameters",
        Metric::IoBytes => "Bytes in and out",
        Metric::FlopsPerByte => "FLOPs per byte",
        Metric::FlopsPerSecond => "FLOP/s",
        Metric::BytesPerSecond => "Bytes/s",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    let legend = metric.info().legend.trim_start_matches("# ").replace('_', " ");
    let mut letters = legend.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The unit of a metric, as the page knows it.
pub fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::FlopsPerByte => "ratio",
        Metric::FloatOps => "flop",
        _ => unit_word(metric.info().unit),
    }
}

pub fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => "share",
        Unit::Bytes => "bytes",
        Unit::Micros => "us",
        Unit::BytesPerSecond => "bytes_per_s",
        Unit::FlopsPerSecond => "flop_per_s",
        _ => "count",
    }
}
