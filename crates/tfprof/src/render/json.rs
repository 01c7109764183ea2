//! An answer as JSON: a flat list of rows in the order of printing, each with the id of its parent.

use super::csv::push_number;
use super::write_each;
use super::{compare, tensor};
use crate::error::Warning;
use crate::json::{push_string, write_string, write_warning};
use crate::metric::Metric;
use crate::options::OPTIONS;
use crate::units;
use crate::units::Amount;
use crate::view::View;
use crate::view::columns::{Column, Content, Number, Side, Value};
use crate::view::compare::Figure;
use std::io::{self, Write};

/// Writes one object and a newline. `warnings` come from loading; the view adds its own.
pub fn write(view: &View, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    let (kind, compared) = (view.kind.word(), view.compared());
    match compared {
        None => write!(out, "{{\"version\":2,\"command\":\"{kind}\",\"options\":{{")?,
        Some(_) => write!(out, "{{\"version\":2,\"command\":\"diff\",\"view\":\"{kind}\",\"options\":{{")?,
    }
    for (i, option) in OPTIONS.iter().enumerate() {
        write!(out, "{}\"{}\":", if i > 0 { "," } else { "" }, option.name)?;
        let value = match option.name {
            "select" => view.selection.words().join(","),
            _ => option.show(&view.options),
        };
        write_string(&value, out)?;
    }
    out.write_all(b"},\n\"warnings\":[")?;
    for (i, warning) in warnings.iter().chain(&view.warnings).enumerate() {
        out.write_all(if i > 0 { b",\n" } else { b"\n" })?;
        write_warning(warning, out)?;
    }
    out.write_all(b"],\n")?;
    if let Some(compared) = compared {
        compare::write_summary(view, compared, out)?;
    }
    if view.folded() > 0 {
        writeln!(out, "\"folded_frames\":{},", view.folded())?;
    }
    if !view.peaks().is_empty() {
        out.write_all(b"\"peaks\":[")?;
        for (i, line) in view.peaks().iter().enumerate() {
            out.write_all(if i > 0 { b"," } else { b"" })?;
            write_string(line, out)?;
        }
        out.write_all(b"],\n")?;
    }
    out.write_all(b"\"columns\":[")?;
    for (i, metric) in view.metrics().iter().enumerate() {
        write!(out, "{}\"{}\"", if i > 0 { "," } else { "" }, metric.info().key)?;
    }
    out.write_all(b"],\n\"rows\":[")?;
    let columns = view.columns();
    let groups = Groups::new(&columns);
    let mut id = 0;
    write_each(view.rows(), out, |_, text| {
        text.extend_from_slice(if id > 0 { b",\n" } else { b"\n" });
        groups.write_row(view, id, text)?;
        id += 1;
        Ok(())
    })?;
    out.write_all(b"]}\n")
}

/// The columns of a row by the JSON object that holds them.
struct Groups<'c> {
    row: Vec<Keyed<'c>>,
    own: Vec<Keyed<'c>>,
    total: Vec<Keyed<'c>>,
    /// Op view only.
    cumulative: Vec<Keyed<'c>>,
    /// Of a comparison: the name of each figure, and its groups.
    figures: Vec<FigureGroup<'c>>,
    /// A missing detail is left out.
    details: Vec<Keyed<'c>>,
}

/// A figure, and its columns on each side.
type FigureGroup<'c> = (Figure, Vec<(Side, Vec<Keyed<'c>>)>);

struct Keyed<'c> {
    /// The comma and key before the value.
    before: String,
    column: &'c Column,
}

impl<'c> Groups<'c> {
    fn new(columns: &'c [Column]) -> Self {
        let group = |is_first: bool, wanted: &dyn Fn(&Column) -> bool| -> Vec<Keyed<'c>> {
            let columns = columns.iter().filter(|column| wanted(column)).enumerate();
            let keyed = |(i, column): (usize, &'c Column)| {
                let key = match column.content {
                    Content::Number(_, metric) | Content::Figure(_, _, metric) => metric.info().key,
                    _ => &*column.name,
                };
                Keyed { before: format!("{}\"{key}\":", if is_first && i == 0 { "" } else { "," }), column }
            };
            columns.map(keyed).collect()
        };
        let side = |wanted: Side| move |column: &Column| column.metric().is_some_and(|(side, _)| side == wanted);
        Groups {
            row: group(true, &|column| {
                !matches!(column.content, Content::Number(..) | Content::Figure(..)) && !column.is_detail()
            }),
            figures: figures(columns, &group),
            own: group(true, &side(Side::SelfOnly)),
            total: group(true, &side(Side::Total)),
            cumulative: group(true, &side(Side::Cumulative)),
            details: group(false, &Column::is_detail),
        }
    }

    fn write_row(&self, view: &View, id: usize, out: &mut Vec<u8>) -> io::Result<()> {
        out.push(b'{');
        write_cells(&self.row, view, id, out)?;
        if view.compared().is_some() {
            self.write_figures(view, id, out)?;
            self.write_details(view, id, out)?;
            out.push(b'}');
            return Ok(());
        }
        out.extend_from_slice(b",\"self\":{");
        write_cells(&self.own, view, id, out)?;
        out.extend_from_slice(b"},\"total\":{");
        write_cells(&self.total, view, id, out)?;
        if !self.cumulative.is_empty() {
            out.extend_from_slice(b"},\"cumulative\":{");
            write_cells(&self.cumulative, view, id, out)?;
        }
        out.push(b'}');
        self.write_details(view, id, out)?;
        out.push(b'}');
        Ok(())
    }

    /// Each figure as an object of its sides.
    fn write_figures(&self, view: &View, id: usize, out: &mut Vec<u8>) -> io::Result<()> {
        for (figure, sides) in &self.figures {
            write!(out, ",\"{}\":{{", figure.word())?;
            for (i, (side, cells)) in sides.iter().enumerate() {
                write!(out, "{}\"{}\":{{", if i > 0 { "," } else { "" }, side.word())?;
                write_cells(cells, view, id, out)?;
                out.push(b'}');
            }
            out.push(b'}');
        }
        Ok(())
    }

    fn write_details(&self, view: &View, id: usize, out: &mut Vec<u8>) -> io::Result<()> {
        for Keyed { before, column } in &self.details {
            match view.cell(column, id) {
                Value::Missing => {}
                value => {
                    out.extend_from_slice(before.as_bytes());
                    write_value(view, &value, out)?;
                }
            }
        }
        Ok(())
    }
}

/// Chooses columns, and gives each its comma and key.
type Group<'g, 'c> = dyn Fn(bool, &dyn Fn(&Column) -> bool) -> Vec<Keyed<'c>> + 'g;

/// The groups of figures that the columns have.
fn figures<'c>(columns: &'c [Column], group: &Group<'_, 'c>) -> Vec<FigureGroup<'c>> {
    let mut figures = Vec::new();
    for figure in Figure::ALL {
        let has = |side: &Side| {
            columns.iter().any(|c| matches!(c.content, Content::Figure(f, s, _) if (f, s) == (figure, *side)))
        };
        let sides: Vec<Side> = [Side::SelfOnly, Side::Total].into_iter().filter(has).collect();
        let of_side = |side: Side| {
            let is_it = move |c: &Column| matches!(c.content, Content::Figure(f, s, _) if (f, s) == (figure, side));
            (side, group(true, &is_it))
        };
        if !sides.is_empty() {
            figures.push((figure, sides.into_iter().map(of_side).collect()));
        }
    }
    figures
}

#[inline]
fn write_cells(cells: &[Keyed<'_>], view: &View, id: usize, out: &mut Vec<u8>) -> io::Result<()> {
    for Keyed { before, column } in cells {
        out.extend_from_slice(before.as_bytes());
        match column.metric().map(|(side, metric)| view.number(side, metric, &view.rows()[id])) {
            None => write_value(view, &view.cell(column, id), out)?,
            Some(Number::Missing) => out.extend_from_slice(b"null"),
            Some(number) => push_number(number, out)?,
        }
    }
    Ok(())
}

#[inline]
fn write_value(view: &View, value: &Value<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    match value {
        Value::Missing => out.extend_from_slice(b"null"),
        Value::Int(n) => units::push_int(out, *n),
        Value::Decimal(amount) => amount.push_exact(out),
        Value::Real(x) => write!(out, "{x}")?,
        Value::Bool(is) => out.extend_from_slice(if *is { b"true" } else { b"false" }),
        Value::Text(text) => push_string(text, out),
        Value::Texts(texts) => push_list(texts, out, |text, out| push_string(text, out)),
        Value::Ints(dims) => write!(out, "{dims:?}")?,
        Value::Shapes(shapes) => push_list(shapes, out, |dims, out| match *dims {
            [] => out.extend_from_slice(b"null"),
            dims => out.extend_from_slice(format!("{dims:?}").as_bytes()),
        }),
        Value::ByDevice(devices) => push_list(devices, out, |(device, times), out| {
            out.extend_from_slice(b"{\"device\":");
            push_string(device, out);
            let parts = view.parts(Metric::Micros);
            let [own, inclusive] = [times.own, times.inclusive].map(|n| Amount { n, parts });
            let numbers = format!(",\"runs\":{},\"micros\":{own},\"inclusive_micros\":{inclusive}}}", times.runs);
            out.extend_from_slice(numbers.as_bytes());
        }),
        Value::Tensor(values) => {
            write!(out, "{{\"dtype\":\"{}\",\"shape\":{:?},\"values\":", values.dtype.name(), values.shape)?;
            tensor::json(values, out)?;
            out.push(b'}');
        }
    }
    Ok(())
}

fn push_list<T>(items: &[T], out: &mut Vec<u8>, push: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (i, item) in items.iter().enumerate() {
        out.extend_from_slice(if i > 0 { b"," } else { b"" });
        push(item, out);
    }
    out.push(b']');
}
