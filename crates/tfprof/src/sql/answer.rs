//! The answer to a statement: columns whose types follow from their cells, and rows.

use crate::budget;
use crate::columnar::{Batch, Datum, Field, Kind};
use rusqlite::Statement;
use rusqlite::types::Value;
use std::borrow::Cow;

/// The columns and rows that a statement gave.
#[derive(Clone, Debug)]
pub struct QueryAnswer {
    pub fields: Vec<Field>,
    pub rows: Batch,
}

impl QueryAnswer {
    pub(super) fn of(statement: &mut Statement<'_>) -> rusqlite::Result<QueryAnswer> {
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut kinds: Vec<Option<Kind>> = vec![None; names.len()];
        let mut cells: Vec<Value> = Vec::new();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for (at, kind) in kinds.iter_mut().enumerate() {
                let value: Value = row.get(at)?;
                *kind = wider(*kind, &value);
                cells.push(value);
            }
            budget::work(1);
        }
        let field = |(name, kind): (String, &Option<Kind>)| Field {
            name: name.into(),
            kind: kind.unwrap_or(Kind::Text),
            unit: "",
            nullable: true,
            about: Cow::Borrowed(""),
        };
        let fields: Vec<Field> = unique(names).into_iter().zip(&kinds).map(field).collect();
        let mut batch = Batch::new(&fields);
        for cells in cells.chunks(fields.len().max(1)) {
            let mut row = batch.row();
            for (field, value) in fields.iter().zip(cells) {
                push(&mut row, field.kind, value);
            }
        }
        Ok(QueryAnswer { fields, rows: batch })
    }
}

/// The kind that holds the cells so far and one more.
fn wider(kind: Option<Kind>, value: &Value) -> Option<Kind> {
    let of_value = match value {
        Value::Null => return kind,
        Value::Integer(_) => Kind::Int,
        Value::Real(_) => Kind::Real,
        Value::Text(_) | Value::Blob(_) => Kind::Text,
    };
    Some(match kind {
        None => of_value,
        Some(kind) if kind == of_value => kind,
        Some(Kind::Int | Kind::Real) if of_value != Kind::Text => Kind::Real,
        Some(_) => Kind::Text,
    })
}

fn push(row: &mut crate::columnar::RowWriter<'_>, kind: Kind, value: &Value) {
    let text;
    let datum = match (value, kind) {
        (Value::Null, _) => Datum::Null,
        (Value::Integer(n), Kind::Text) => {
            text = n.to_string();
            Datum::Text(&text)
        }
        (Value::Real(x), Kind::Text) => {
            text = x.to_string();
            Datum::Text(&text)
        }
        (Value::Integer(n), _) => Datum::Int(*n),
        (Value::Real(x), _) => Datum::Real(*x),
        (Value::Text(text), _) => Datum::Text(text),
        (Value::Blob(bytes), _) => {
            text = bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
            Datum::Text(&text)
        }
    };
    row.datum(datum);
}

/// Names without repetition: files of tables have each once.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    let mut result = Vec::with_capacity(names.len());
    for name in names {
        let mut unique = name.clone();
        let mut count = 1;
        while !seen.insert(unique.to_lowercase()) {
            count += 1;
            unique = format!("{name}_{count}");
        }
        result.push(unique);
    }
    result
}
