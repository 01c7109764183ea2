//! An answer as JSON: a flat list of rows in the order of printing, each with the id of its parent.

use super::csv::push_number;
use super::tensor;
use super::write_each;
use crate::error::Warning;
use crate::json::{push_string, write_string, write_warning};
use crate::metric::Metric;
use crate::options::OPTIONS;
use crate::units;
use crate::units::Amount;
use crate::view::View;
use crate::view::columns::{Column, Number, Side, Value};
use std::io::{self, Write};

/// Writes one object and a newline. `warnings` come from loading; the view adds its own.
pub fn write(view: &View, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"version\":2,\"command\":\"{}\",\"options\":{{", view.kind.word())?;
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
    if view.folded() > 0 {
        writeln!(out, "\"folded_frames\":{},", view.folded())?;
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
    /// A missing detail is left out.
    details: Vec<Keyed<'c>>,
}

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
                let key = column.metric().map_or(&*column.name, |(_, metric)| metric.info().key);
                Keyed { before: format!("{}\"{key}\":", if is_first && i == 0 { "" } else { "," }), column }
            };
            columns.map(keyed).collect()
        };
        let side = |wanted: Side| move |column: &Column| column.metric().is_some_and(|(side, _)| side == wanted);
        Groups {
            row: group(true, &|column| column.metric().is_none() && !column.is_detail()),
            own: group(true, &side(Side::SelfOnly)),
            total: group(true, &side(Side::Total)),
            cumulative: group(true, &side(Side::Cumulative)),
            details: group(false, &Column::is_detail),
        }
    }

    fn write_row(&self, view: &View, id: usize, out: &mut Vec<u8>) -> io::Result<()> {
        out.push(b'{');
        write_cells(&self.row, view, id, out)?;
        out.extend_from_slice(b",\"self\":{");
        write_cells(&self.own, view, id, out)?;
        out.extend_from_slice(b"},\"total\":{");
        write_cells(&self.total, view, id, out)?;
        if !self.cumulative.is_empty() {
            out.extend_from_slice(b"},\"cumulative\":{");
            write_cells(&self.cumulative, view, id, out)?;
        }
        out.push(b'}');
        for Keyed { before, column } in &self.details {
            match view.cell(column, id) {
                Value::Missing => {}
                value => {
                    out.extend_from_slice(before.as_bytes());
                    write_value(view, &value, out)?;
                }
            }
        }
        out.push(b'}');
        Ok(())
    }
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
            let parts = view.model.parts(Metric::Micros);
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
