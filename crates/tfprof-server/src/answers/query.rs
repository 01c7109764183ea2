//! A statement in SQL about the tables of the profile: columns and rows for the screen *Query*.

use crate::params::Params;
use crate::question::python_string;
use crate::reply::{Frame, Problem, Reply, object};
use crate::site::Site;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tfprof::internal::budget::check;
use tfprof::internal::columnar::Datum;
use tfprof::internal::sql::Database;
use tfprof::internal::tables::{TABLES, TableInfo};
use tfprof::internal::words::quoted;

/// The maximum number of rows in an answer; the page shows no more.
const MOST_ROWS: usize = 10_000;
/// The timeout of a statement: a page cannot press Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(30);

/// The tables with their columns, without `sql`; else the rows of the statement.
pub fn query(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let statement = params.text("sql");
    let limit = params.number("limit")?.unwrap_or(MOST_ROWS).min(MOST_ROWS);
    let command = format!("{} {}", site.setup.command.line("sql", &[]), quoted(&statement));
    let python = format!("{}\np.sql({})", site.setup.command.python, python_string(&statement));
    let frame = Frame::new(command, python);
    if statement.trim().is_empty() {
        return Ok(frame.reply(json!({ "tables": TABLES.iter().map(table).collect::<Vec<_>>() })));
    }
    let (began, stop) = (Instant::now(), Arc::clone(&params.stop));
    let source = Arc::clone(site.sql_source());
    let ends = move || began.elapsed() > PATIENCE || stop.load(Ordering::Relaxed);
    let answer = Database::new(source, ends).and_then(|database| database.query(&statement)).map_err(Problem::from)?;
    let columns: Vec<Value> =
        answer.fields.iter().map(|field| json!({ "name": field.name, "type": field.kind.sql() })).collect();
    let shown = answer.rows.rows().min(limit);
    let row = |at: usize| -> Value {
        check();
        answer.rows.columns.iter().map(|column| cell(column.datum(at))).collect()
    };
    let rows: Vec<Value> = (0..shown).map(row).collect();
    let left_out = (answer.rows.rows() - shown) as u64;
    Ok(frame.leaving_out(left_out, "limit").reply(object! { "columns": columns, "rows": rows }))
}

fn table(table: &TableInfo) -> Value {
    let columns: Vec<Value> = table
        .fields
        .iter()
        .map(|field| json!({ "name": field.name, "type": field.kind.sql(), "unit": field.unit, "about": field.about }))
        .collect();
    json!({ "name": table.name, "about": table.about, "columns": columns })
}

/// A cell. Numbers that JavaScript would round are strings.
fn cell(datum: Datum<'_>) -> Value {
    const EXACT: i64 = 1 << 53;
    match datum {
        Datum::Null => Value::Null,
        Datum::Int(n) if (-EXACT..=EXACT).contains(&n) => n.into(),
        Datum::Int(n) => n.to_string().into(),
        Datum::Real(x) => x.into(),
        Datum::Bool(is) => is.into(),
        Datum::Text(text) => text.into(),
    }
}
