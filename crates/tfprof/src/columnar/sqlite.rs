//! SQLite files: a table for each table, with the same columns.

use super::forms::{Fill, TableHead};
use super::{Batch, BatchSink, Datum, Field};
use crate::budget;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Statement, ToSql};
use std::io::{self, Write};
use std::path::Path;

/// Writes a database, table by table.
#[derive(Debug)]
pub struct SqliteWriter {
    connection: Connection,
}

impl SqliteWriter {
    /// A database in a file, which must be new or empty. `version` is that of the schema.
    pub fn create(path: &Path, version: u32) -> io::Result<SqliteWriter> {
        SqliteWriter::new(Connection::open(path).map_err(failed)?, version)
    }

    fn in_memory(version: u32) -> io::Result<SqliteWriter> {
        SqliteWriter::new(Connection::open_in_memory().map_err(failed)?, version)
    }

    fn new(connection: Connection, version: u32) -> io::Result<SqliteWriter> {
        // The file is written under another name and renamed: a journal would only cost time.
        let settings = format!("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA user_version = {version};");
        connection.execute_batch(&settings).map_err(failed)?;
        Ok(SqliteWriter { connection })
    }

    /// Adds a table.
    pub fn table(&mut self, head: &TableHead<'_>, fill: Fill<'_>) -> io::Result<()> {
        self.connection.execute_batch(&format!("{}; BEGIN", create_table(head.name, head.fields))).map_err(failed)?;
        let places = vec!["?"; head.fields.len()].join(",");
        let insert = format!("INSERT INTO {} VALUES ({places})", quoted(head.name));
        let statement = self.connection.prepare(&insert).map_err(failed)?;
        let mut rows = Rows { statement };
        fill(&mut rows)?;
        drop(rows);
        self.connection.execute_batch("COMMIT").map_err(failed)
    }

    /// Closes the file.
    pub fn finish(self) -> io::Result<()> {
        self.connection.close().map_err(|(_, error)| failed(error))
    }
}

/// A database with one table, as bytes.
pub fn write_one(head: &TableHead<'_>, fill: Fill<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = SqliteWriter::in_memory(0)?;
    writer.table(head, fill)?;
    let data = writer.connection.serialize("main").map_err(failed)?;
    out.write_all(&data)
}

/// The statement that makes a table.
pub fn create_table(name: &str, fields: &[Field]) -> String {
    let column = |field: &Field| {
        let not_null = if field.nullable { "" } else { " NOT NULL" };
        format!("{} {}{not_null}", quoted(&field.name), field.kind.sql())
    };
    format!("CREATE TABLE {}({})", quoted(name), fields.iter().map(column).collect::<Vec<_>>().join(", "))
}

/// Quotes a name for SQL. NUL would end the statement, so a blank replaces it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\0', " ").replace('"', "\"\""))
}

/// An error of SQLite as one of writing.
fn failed(error: rusqlite::Error) -> io::Error {
    io::Error::other(error)
}

struct Rows<'c> {
    statement: Statement<'c>,
}

impl BatchSink for Rows<'_> {
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        for row in 0..batch.rows() {
            budget::check();
            let cells = batch.columns.iter().map(|column| column.datum(row));
            self.statement.execute(rusqlite::params_from_iter(cells)).map_err(failed)?;
        }
        Ok(())
    }
}

impl ToSql for Datum<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match *self {
            Datum::Null => ToSqlOutput::Owned(Value::Null),
            Datum::Int(n) => ToSqlOutput::Owned(Value::Integer(n)),
            Datum::Real(x) => ToSqlOutput::Owned(Value::Real(x)),
            Datum::Bool(is) => ToSqlOutput::Owned(Value::Integer(i64::from(is))),
            Datum::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::super::tests::field;
    use super::*;

    #[test]
    fn evil_names_come_back() {
        let evil = "a\0b\"'; drop table t;--\u{202e}";
        let fields = [field("na\"me", Kind::Text), field("n", Kind::Int)];
        let head = TableHead { name: "t\"t", fields: &fields, metadata: Vec::new() };
        let mut writer = SqliteWriter::in_memory(7).unwrap();
        let mut fill = |sink: &mut dyn BatchSink| {
            let mut batch = Batch::new(&fields);
            batch.row().text(evil).int(i64::MIN);
            batch.row().text(None).int(None);
            batch.flush(sink)
        };
        writer.table(&head, &mut fill).unwrap();
        let row = |at: i64| {
            let get = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<i64>>(1)?));
            writer.connection.query_row("select * from \"t\"\"t\" limit 1 offset ?", [at], get).unwrap()
        };
        assert_eq!(row(0), (Some(evil.to_owned()), Some(i64::MIN)));
        assert_eq!(row(1), (None, None));
    }
}
