//! An answer as a table of typed columns, for Parquet, Arrow and SQLite. Lists are texts in JSON.

use crate::columnar::{Batch, BatchSink, Datum, Field, Kind, TableHead, table_form};
use crate::json::push_string;
use crate::metric::Unit;
use crate::view::View;
use crate::view::columns::{Column, Kind as CellKind, Value};
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes the rows in a form of tables.
pub fn write(view: &View, form: &str, out: &mut dyn Write) -> io::Result<()> {
    let (fields, columns) = fields(view);
    let head = TableHead { name: view.kind.word(), fields: &fields, metadata: metadata() };
    let Some(form) = table_form(form) else { return Err(io::Error::other("this form is not built in")) };
    (form.write)(&head, &mut |sink| fill(view, &columns, Batch::new(&fields), sink), out)
}

/// Words that every file of tables carries.
pub fn metadata() -> Vec<(String, String)> {
    vec![("tfprof.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]
}

/// The columns that a table can hold, and the same as the view knows them.
pub fn fields(view: &View) -> (Vec<Field>, Vec<Column>) {
    let columns: Vec<Column> = view.columns().into_iter().filter(|column| column.kind != CellKind::Record).collect();
    let field = |column: &Column| Field {
        name: column.name.clone(),
        kind: match column.kind {
            CellKind::Int => Kind::Int,
            CellKind::Real => Kind::Real,
            CellKind::Bool => Kind::Bool,
            CellKind::Text | CellKind::Texts | CellKind::Ints | CellKind::Shapes | CellKind::Record => Kind::Text,
        },
        unit: match column.unit {
            Some(Unit::Micros) => "us",
            Some(Unit::Bytes) => "bytes",
            Some(Unit::BytesPerSecond) => "bytes/s",
            Some(Unit::FlopsPerSecond) => "FLOP/s",
            Some(Unit::Share) => "share",
            Some(Unit::Count) | None => "",
        },
        // A view of a comparison may lack any cell.
        nullable: column.nullable || view.compared().is_some(),
        about: Cow::Borrowed(column.about),
    };
    (columns.iter().map(field).collect(), columns)
}

/// Hands all rows to a sink.
pub fn fill(view: &View, columns: &[Column], mut batch: Batch, sink: &mut dyn BatchSink) -> io::Result<()> {
    for id in 0..view.rows().len() {
        batch.flush_if_full(sink)?;
        let mut row = batch.row();
        for column in columns {
            match view.cell(column, id) {
                Value::Int(n) => row.datum(Datum::Int(n)),
                Value::Decimal(amount) => row.datum(Datum::Real(amount.n as f64 / amount.parts as f64)),
                Value::Real(x) => row.datum(Datum::Real(x)),
                Value::Bool(is) => row.datum(Datum::Bool(is)),
                Value::Text(text) => row.datum(Datum::Text(&text)),
                Value::Texts(texts) => row.datum(Datum::Text(&list(&texts))),
                Value::Ints(sizes) => row.datum(Datum::Text(&shape(sizes))),
                Value::Shapes(shapes) => {
                    let one = |dims: &&[i64]| if dims.is_empty() { "null".to_owned() } else { shape(dims) };
                    let list: Vec<String> = shapes.iter().map(one).collect();
                    row.datum(Datum::Text(&format!("[{}]", list.join(","))))
                }
                Value::Missing | Value::ByDevice(_) | Value::Tensor(_) => row.datum(Datum::Null),
            };
        }
    }
    batch.flush(sink)
}

fn list(texts: &[Cow<'_, str>]) -> String {
    let mut list = vec![b'['];
    for (at, text) in texts.iter().enumerate() {
        list.extend_from_slice(if at > 0 { b"," } else { b"" });
        push_string(text, &mut list);
    }
    list.push(b']');
    String::from_utf8_lossy(&list).into_owned()
}

fn shape(sizes: &[i64]) -> String {
    let size = |size: &i64| if *size < 0 { "null".to_owned() } else { size.to_string() };
    format!("[{}]", sizes.iter().map(size).collect::<Vec<_>>().join(","))
}
