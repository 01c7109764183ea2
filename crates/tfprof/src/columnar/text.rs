//! Tables as text: aligned columns, CSV, JSON and Markdown. Missing cells are empty, in JSON null.

use super::forms::{Fill, TableHead};
use super::{Batch, BatchSink, Collected, Datum, Kind};
use crate::json::push_string;
use crate::render::csv::write_field;
use crate::render::fit;
use crate::words::is_deceptive;
use std::io::{self, Write};

/// Writes aligned columns; names are cut to the width of the terminal.
pub fn write(head: &TableHead<'_>, width: Option<usize>, fill: Fill<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut collected = Collected::default();
    fill(&mut collected)?;
    let all = collected.all;
    let names: Vec<String> = head.fields.iter().map(|field| one_line(&field.name)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let cells = |row: usize| all.columns.iter().map(|column| one_line(&shown(column.datum(row)))).collect();
    let rows: Vec<Vec<String>> = (0..all.rows()).map(cells).collect();
    let is_number = |at: usize| matches!(head.fields[at].kind, Kind::Int | Kind::Real);
    fit::write_table(&names, &rows, is_number, width, out)
}

/// A cell as text for people.
pub fn shown(datum: Datum<'_>) -> String {
    match datum {
        Datum::Null => String::new(),
        Datum::Int(n) => n.to_string(),
        Datum::Real(x) => x.to_string(),
        Datum::Bool(is) => is.to_string(),
        Datum::Text(text) => text.to_owned(),
    }
}

/// Replaces line breaks and control codes by spaces, so that a cell stays in its row.
fn one_line(text: &str) -> String {
    let clean = |c: char| if c.is_control() || is_deceptive(c) { ' ' } else { c };
    text.chars().map(clean).collect()
}

/// CSV with a line of names.
pub struct CsvWriter<'o> {
    out: &'o mut dyn Write,
}

impl<'o> CsvWriter<'o> {
    pub fn new(head: &TableHead<'_>, out: &'o mut dyn Write) -> io::Result<CsvWriter<'o>> {
        let mut line = Vec::new();
        for (at, field) in head.fields.iter().enumerate() {
            line.extend_from_slice(if at > 0 { b"," } else { b"" });
            write_field(&field.name, &mut line)?;
        }
        line.push(b'\n');
        out.write_all(&line)?;
        Ok(CsvWriter { out })
    }
}

impl BatchSink for CsvWriter<'_> {
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        let mut line = Vec::new();
        for row in 0..batch.rows() {
            line.clear();
            for (at, column) in batch.columns.iter().enumerate() {
                line.extend_from_slice(if at > 0 { b"," } else { b"" });
                match column.datum(row) {
                    Datum::Text(text) => write_field(text, &mut line)?,
                    datum => line.extend_from_slice(shown(datum).as_bytes()),
                }
            }
            line.push(b'\n');
            self.out.write_all(&line)?;
        }
        Ok(())
    }
}

/// `{"table": …, "columns": […], "rows": [{…}, …]}`
pub struct JsonWriter<'o> {
    out: &'o mut dyn Write,
    names: Vec<Vec<u8>>,
    first: bool,
}

impl<'o> JsonWriter<'o> {
    pub fn new(head: &TableHead<'_>, out: &'o mut dyn Write) -> io::Result<JsonWriter<'o>> {
        let quoted = |text: &str| {
            let mut quoted = Vec::new();
            push_string(text, &mut quoted);
            quoted
        };
        out.write_all(b"{\"version\":1,\"table\":")?;
        out.write_all(&quoted(head.name))?;
        out.write_all(b",\n\"columns\":[")?;
        for (at, field) in head.fields.iter().enumerate() {
            out.write_all(if at > 0 { b",\n" } else { b"\n" })?;
            out.write_all(b"{\"name\":")?;
            out.write_all(&quoted(&field.name))?;
            write!(out, ",\"type\":\"{}\"", field.kind.sql())?;
            if !field.unit.is_empty() {
                write!(out, ",\"unit\":\"{}\"", field.unit)?;
            }
            out.write_all(b"}")?;
        }
        out.write_all(b"],\n\"rows\":[")?;
        let names = head.fields.iter().map(|field| quoted(&field.name)).collect();
        Ok(JsonWriter { out, names, first: true })
    }

    pub fn finish(self) -> io::Result<()> {
        self.out.write_all(b"]}\n")
    }
}

impl BatchSink for JsonWriter<'_> {
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        let mut line = Vec::new();
        for row in 0..batch.rows() {
            line.clear();
            line.extend_from_slice(if self.first { b"\n{" } else { b",\n{" });
            self.first = false;
            for (at, (name, column)) in self.names.iter().zip(&batch.columns).enumerate() {
                line.extend_from_slice(if at > 0 { b"," } else { b"" });
                line.extend_from_slice(name);
                line.push(b':');
                match column.datum(row) {
                    Datum::Null => line.extend_from_slice(b"null"),
                    Datum::Text(text) => push_string(text, &mut line),
                    // JSON has no such numbers.
                    Datum::Real(x) if !x.is_finite() => line.extend_from_slice(b"null"),
                    datum => line.extend_from_slice(shown(datum).as_bytes()),
                }
            }
            line.push(b'}');
            self.out.write_all(&line)?;
        }
        Ok(())
    }
}

/// A table in Markdown.
pub struct MarkdownWriter<'o> {
    out: &'o mut dyn Write,
}

impl<'o> MarkdownWriter<'o> {
    pub fn new(head: &TableHead<'_>, out: &'o mut dyn Write) -> io::Result<MarkdownWriter<'o>> {
        out.write_all(b"|")?;
        for field in head.fields {
            write!(out, " {} |", cell(&field.name))?;
        }
        out.write_all(b"\n|")?;
        for field in head.fields {
            out.write_all(if matches!(field.kind, Kind::Int | Kind::Real) { b"---:|" } else { b"---|" })?;
        }
        out.write_all(b"\n")?;
        Ok(MarkdownWriter { out })
    }
}

/// A text as a cell: nothing in it ends the cell or the row, or is markup.
fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '|' | '\\' | '`' | '*' | '[' | ']' => {
                cell.push('\\');
                cell.push(c);
            }
            '<' => cell.push_str("&lt;"),
            '&' => cell.push_str("&amp;"),
            c => cell.push(c),
        }
    }
    cell
}

impl BatchSink for MarkdownWriter<'_> {
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        for row in 0..batch.rows() {
            let mut line = String::from("|");
            for column in &batch.columns {
                line.push_str(&format!(" {} |", cell(&shown(column.datum(row)))));
            }
            line.push('\n');
            self.out.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for CsvWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CsvWriter")
    }
}

impl std::fmt::Debug for JsonWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JsonWriter")
    }
}

impl std::fmt::Debug for MarkdownWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MarkdownWriter")
    }
}

#[cfg(test)]
mod tests {
    use super::super::TABLE_FORMS;
    use super::super::tests::field;
    use super::*;

    fn written(word: &str) -> String {
        let fields = [field("name", Kind::Text), field("n", Kind::Int), field("x", Kind::Real)];
        let head = TableHead { name: "t", fields: &fields, metadata: Vec::new() };
        let mut out = Vec::new();
        let form = TABLE_FORMS.iter().find(|form| form.word == word).unwrap();
        let mut fill = |sink: &mut dyn BatchSink| {
            let mut batch = Batch::new(&fields);
            batch.row().text("a\n|\"b\0").int(3).real(0.5);
            batch.row().text("=1+1").int(None).real(f64::NAN);
            batch.flush(sink)
        };
        (form.write)(&head, &mut fill, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn evil_names_stay_in_their_cells() {
        assert_eq!(written("csv"), "name,n,x\n\"a\n|\"\"b\0\",3,0.5\n'=1+1,,NaN\n");
        assert_eq!(
            written("markdown"),
            "| name | n | x |\n|---|---:|---:|\n| a \\|\"b  | 3 | 0.5 |\n| =1+1 |  | NaN |\n"
        );
        assert_eq!(written("file"), "name    n    x\na |\"b   3  0.5\n=1+1       NaN\n");
        let json: serde_json::Value = serde_json::from_str(&written("json")).unwrap();
        assert_eq!(json["rows"][0]["name"], "a\n|\"b\0");
        assert!(json["rows"][1]["n"].is_null() && json["rows"][1]["x"].is_null());
    }
}
