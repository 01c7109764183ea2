//! The columns of a view: one schema and one way to get a cell, for JSON, CSV, HTML, Python and any other table.

use super::ceilings::{self, Bound};
use super::compare::Figure;
use super::values::DeviceTimes;
use super::{Line, View, VisibleRow};
use crate::checkpoint::Values as TensorValues;
use crate::metric::{DETAILS, Detail, Metric, Source, Unit};
use crate::model::names::NameId;
use crate::model::nodes::NodeId;
use crate::units::Amount;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Whether a number is about the row alone, about the row and everything below it, or a running sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    SelfOnly,
    Total,
    /// Op view only: the row and all rows after it.
    Cumulative,
}

/// The schema of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    pub name: Cow<'static, str>,
    pub kind: Kind,
    pub unit: Option<Unit>,
    /// Some cells may be [`Value::Missing`].
    pub nullable: bool,
    pub about: &'static str,
    pub content: Content,
}

/// The type of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Real,
    Bool,
    Text,
    Texts,
    Ints,
    /// Lists of dimensions; each may be unknown.
    Shapes,
    /// Nested values, which only JSON can hold.
    Record,
}

/// Where a column's cells come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    Id,
    Parent,
    Depth,
    Name,
    Accounted,
    Number(Side, Metric),
    /// Of a comparison: a number of one side, or of both.
    Figure(Figure, Side, Metric),
    Status,
    Match,
    BeforeName,
    Detail(Detail),
    /// Runs and time on each device.
    ByDevice,
    Frame,
    Shape,
}

/// A number of a row.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Number {
    Missing,
    Int(i64),
    /// Finer than its unit, and exact.
    Decimal(Amount),
    Real(f64),
}

impl From<Number> for Value<'_> {
    fn from(number: Number) -> Self {
        match number {
            Number::Missing => Value::Missing,
            Number::Int(n) => Value::Int(n),
            Number::Decimal(amount) => Value::Decimal(amount),
            Number::Real(x) => Value::Real(x),
        }
    }
}

/// A cell. Numbers and names are borrowed or copied, never allocated.
#[derive(Debug)]
#[non_exhaustive]
pub enum Value<'v> {
    Missing,
    Int(i64),
    /// Finer than its unit, and exact.
    Decimal(Amount),
    Real(f64),
    Bool(bool),
    Text(Cow<'v, str>),
    Texts(Vec<Cow<'v, str>>),
    Ints(&'v [i64]),
    /// An empty shape is unknown.
    Shapes(Vec<&'v [i64]>),
    ByDevice(Vec<(&'v str, DeviceTimes)>),
    Tensor(Box<TensorValues>),
}

impl Column {
    fn new(name: &'static str, kind: Kind, content: Content, about: &'static str) -> Column {
        Column { name: name.into(), kind, unit: None, nullable: false, about, content }
    }

    pub(super) fn optional(name: &'static str, kind: Kind, content: Content, about: &'static str) -> Column {
        Column { nullable: true, ..Column::new(name, kind, content, about) }
    }

    fn number(view: &View, side: Side, metric: Metric) -> Column {
        let info = metric.info();
        Column {
            name: format!("{}_{}", side.word(), info.key).into(),
            kind: if info.is_ratio() || view.parts(metric) > 1 { Kind::Real } else { Kind::Int },
            unit: Some(info.unit),
            nullable: info.is_ratio() || !view.knows(metric),
            about: info.about,
            content: Content::Number(side, metric),
        }
    }

    /// The metric of a number, and its side.
    pub fn metric(&self) -> Option<(Side, Metric)> {
        if let Content::Number(side, metric) = self.content { Some((side, metric)) } else { None }
    }

    /// Whether it comes after the numbers.
    pub fn is_detail(&self) -> bool {
        matches!(self.content, Content::Detail(_) | Content::ByDevice | Content::Frame | Content::Shape)
    }
}

impl Side {
    pub fn word(self) -> &'static str {
        match self {
            Side::SelfOnly => "self",
            Side::Total => "total",
            Side::Cumulative => "cumulative",
        }
    }
}

impl View {
    /// The columns of the answer: the place of a row, its numbers, its details.
    pub fn columns(&self) -> Vec<Column> {
        let mut columns = vec![
            Column::new("id", Kind::Int, Content::Id, "the number of the row, from 0 on"),
            Column::optional("parent", Kind::Int, Content::Parent, "the row that it lies in; the root has none"),
            Column::new("depth", Kind::Int, Content::Depth, "how many rows it lies in"),
            Column::new("name", Kind::Text, Content::Name, "the name of a scope, a node, an op type or a line"),
            Column::new("accounted", Kind::Bool, Content::Accounted, "whether the row itself counts"),
        ];
        if let Some(compared) = self.compared() {
            self.push_compared(compared, &mut columns);
            self.push_details(&mut columns);
            return columns;
        }
        let sides = [Side::SelfOnly, Side::Total, Side::Cumulative];
        for side in &sides[..if self.rules().chain { 3 } else { 2 }] {
            columns.extend(self.metrics().iter().map(|metric| Column::number(self, *side, metric)));
        }
        self.push_details(&mut columns);
        columns
    }

    fn push_details(&self, columns: &mut Vec<Column>) {
        let push = |detail: Detail, name: &'static str, kind: Kind, columns: &mut Vec<Column>| {
            if self.selection.has_detail(detail) {
                let about = DETAILS[detail as usize].about;
                columns.push(Column::optional(name, kind, Content::Detail(detail), about));
            }
        };
        push(Detail::Device, "devices", Kind::Texts, columns);
        if self.model.is_trace {
            if self.selection.has_detail(Detail::Device) {
                columns.push(Column::optional("by_device", Kind::Record, Content::ByDevice, "runs and time by device"));
            }
            columns.push(Column::optional("frame", Kind::Text, Content::Frame, "the source line of the row"));
        }
        push(Detail::OpTypes, "op_types", Kind::Texts, columns);
        push(Detail::Category, "category", Kind::Texts, columns);
        push(Detail::Program, "program", Kind::Texts, columns);
        push(Detail::Kernels, "kernels", Kind::Texts, columns);
        push(Detail::BoundBy, "bound_by", Kind::Texts, columns);
        push(Detail::TensorValue, "tensor_value", Kind::Record, columns);
        if self.selection.has(Metric::Parameters) {
            columns.push(Column::optional("shape", Kind::Ints, Content::Shape, "the shape of a variable"));
        }
        push(Detail::InputShapes, "input_shapes", Kind::Shapes, columns);
    }

    /// The cell of a column in the row of a number.
    #[inline]
    pub fn cell(&self, column: &Column, id: usize) -> Value<'_> {
        let row = &self.rows()[id];
        match column.content {
            Content::Number(side, metric) => self.number(side, metric, row).into(),
            Content::Figure(figure, side, metric) => self.figure(figure, side, metric, row).into(),
            Content::Status | Content::Match | Content::BeforeName => self.compared_text(column.content, row),
            Content::Id => Value::Int(id as i64),
            Content::Parent if id == 0 => Value::Missing,
            Content::Parent => Value::Int(row.parent as i64),
            Content::Depth => Value::Int(row.depth as i64),
            Content::Name => Value::Text(self.name(row).into()),
            Content::Accounted => Value::Bool(self.is_accounted(row)),
            detail => self.detail(detail, row),
        }
    }

    /// A number of a row; missing if the files do not say, or if a ratio has nothing to divide by.
    #[inline]
    pub fn number(&self, side: Side, metric: Metric, row: &VisibleRow) -> Number {
        if self.unknown.has(metric) {
            return Number::Missing;
        }
        if let Source::Ratio { numerator, denominator, .. } = metric.info().source {
            return self.ratio(side, metric, (numerator, denominator), row);
        }
        let n = self.table(side).get(metric, row.row);
        if n == 0 && self.model.is_trace && self.is_unknown_cost(side, metric, row) {
            return Number::Missing;
        }
        match self.parts(metric) {
            1 => Number::Int(n),
            parts => Number::Decimal(Amount { n, parts }),
        }
    }

    /// Whether [`number`](Self::number) is missing.
    #[inline]
    pub(in crate::view) fn is_missing(&self, side: Side, metric: Metric, row: &VisibleRow) -> bool {
        if metric.is_ratio() {
            return matches!(self.number(side, metric, row), Number::Missing);
        }
        self.unknown.has(metric) || (self.model.is_trace && self.is_unknown_cost(side, metric, row))
    }

    /// Apart from [`number`](Self::number), which is called for every cell of large texts.
    #[cold]
    fn ratio(&self, side: Side, metric: Metric, of: (Metric, Metric), row: &VisibleRow) -> Number {
        let (numerator, denominator) = of;
        let parts = self.parts(denominator) as f64 / self.parts(numerator) as f64;
        let ratio = self.table(side).ratio(metric, row.row).filter(|_| self.knows(metric));
        let ratio = ratio.filter(|_| !self.is_unknown_cost(side, numerator, row) && self.is_covered(side, metric, row));
        ratio.map_or(Number::Missing, |ratio| Number::Real(ratio * parts))
    }

    /// A number of a row as a real one; none if it is missing.
    pub fn real(&self, side: Side, metric: Metric, row: &VisibleRow) -> Option<f64> {
        match self.number(side, metric, row) {
            Number::Missing => None,
            Number::Int(n) => Some(n as f64),
            Number::Decimal(amount) => Some(amount.n as f64 / amount.parts as f64),
            Number::Real(x) => Some(x),
        }
    }

    /// Whether all of a row's time is in ops whose part of a ratio is known.
    fn is_covered(&self, side: Side, metric: Metric, row: &VisibleRow) -> bool {
        let table = self.table(side);
        metric
            .info()
            .covered_by
            .is_none_or(|covered| table.get(covered, row.row) >= table.get(Metric::DeviceMicros, row.row))
    }

    /// The bound of a row and everything below it; none if any part of it is unknown.
    pub(crate) fn bound_by(&self, row: &VisibleRow) -> Option<Bound> {
        let mut nodes = self.node(row).into_iter().chain(self.bag(row)).peekable();
        if nodes.peek().is_some() && nodes.all(|node| ceilings::communicates(&self.model, node)) {
            return Some(Bound::Communication);
        }
        let total = |metric: Metric| self.rows.totals.get(metric, row.row);
        let took = total(Metric::DeviceMicros);
        if took <= 0 || total(Metric::CoveredMicros) < took {
            return None;
        }
        let parts = self.parts(Metric::Micros) as f64;
        let micros = |metric: Metric| total(metric) as f64 / parts;
        let [compute, memory, roofline] =
            [Metric::ComputeMicros, Metric::MemoryMicros, Metric::RooflineMicros].map(micros);
        Some(Bound::of(compute, memory, took as f64 / parts, roofline, total(Metric::Runs)))
    }

    /// Whether a row has nothing of a cost because its ops in a trace are of unknown cost.
    fn is_unknown_cost(&self, side: Side, metric: Metric, row: &VisibleRow) -> bool {
        let table = self.table(side);
        matches!(metric, Metric::FloatOps | Metric::IoBytes)
            && self.model.is_trace
            && table.get(metric, row.row) == 0
            && table.get(Metric::UnknownOps, row.row) > 0
    }

    /// A detail of traces about the ops of a row, as sorted texts.
    pub(crate) fn trace_detail(&self, detail: Detail, row: &VisibleRow) -> Vec<Cow<'_, str>> {
        if detail == Detail::BoundBy {
            return self.bound_by(row).map(|bound| bound.word().into()).into_iter().collect();
        }
        let mut texts = Vec::new();
        for facts in self.node(row).into_iter().chain(self.bag(row)).filter_map(|node| self.model.op_facts.get(node)) {
            let names = |names: &[NameId]| names.iter().map(|name| self.model.names.get(*name).into()).collect();
            let more: Vec<Cow<'_, str>> = match detail {
                Detail::Category => names(&facts.categories),
                Detail::Program => names(&facts.programs),
                Detail::Kernels => facts.kernels.iter().map(|kernel| kernel.to_string().into()).collect(),
                _ => Vec::new(),
            };
            texts.extend(more);
        }
        sorted(texts)
    }

    fn detail(&self, detail: Content, row: &VisibleRow) -> Value<'_> {
        if let Some((before, row)) = self.removed(row) {
            return before.detail(detail, row);
        }
        let nodes = || self.node(row).into_iter().chain(self.bag(row));
        let name = |name| self.model.names.get(name);
        match detail {
            Content::Detail(Detail::Device) => {
                let devices = nodes().flat_map(|node| self.values().devices(node));
                Value::Texts(sorted(devices.map(|device| name(device).into()).collect()))
            }
            Content::Detail(Detail::OpTypes) => {
                Value::Texts(sorted(nodes().flat_map(|node| self.values().types(node)).map(Cow::from).collect()))
            }
            Content::Detail(detail @ (Detail::Category | Detail::Program | Detail::Kernels | Detail::BoundBy)) => {
                Value::Texts(self.trace_detail(detail, row))
            }
            Content::ByDevice => Value::ByDevice(self.by_device(nodes())),
            Content::Frame => self.line(row).map_or(Value::Missing, |Line { file, function, number, .. }| {
                let line = if number < 0 { String::new() } else { format!(":{number}") };
                Value::Text(format!("{file}{line} {function}").into())
            }),
            Content::Detail(Detail::TensorValue) => {
                self.tensor(row, None).map_or(Value::Missing, |values| Value::Tensor(Box::new(values)))
            }
            Content::Shape => {
                let shape = |node: NodeId| self.model.shapes.get(self.model.nodes.shape[node.index()]);
                self.node(row).map(shape).filter(|shape| !shape.is_empty()).map_or(Value::Missing, Value::Ints)
            }
            Content::Detail(Detail::InputShapes) => self.node(row).map_or(Value::Missing, |node| {
                let inputs = self.model.nodes.inputs(node).iter();
                Value::Shapes(inputs.map(|input| self.model.shapes.get(self.values().input_shape(*input))).collect())
            }),
            _ => Value::Missing,
        }
    }

    /// Runs and time of nodes on each device, by the device's name.
    fn by_device(&self, nodes: impl Iterator<Item = NodeId>) -> Vec<(&str, DeviceTimes)> {
        let mut sums: BTreeMap<&str, DeviceTimes> = BTreeMap::new();
        for (device, times) in nodes.flat_map(|node| self.values().by_device(node)) {
            sums.entry(self.model.devices.spelled(device)).or_default().add(times);
        }
        sums.into_iter().collect()
    }
}

fn sorted(mut texts: Vec<Cow<'_, str>>) -> Vec<Cow<'_, str>> {
    texts.sort_unstable();
    texts.dedup();
    texts
}
