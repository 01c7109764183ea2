//! `tfprof sql`: statements about everything that is loaded, from the command line, from a script or at a prompt.

use super::{Exit, check_form, exit_of, load, open, to_file, to_stdout, write_text};
use crate::flags::Request;
use crate::shell::sql_prompt;
use crate::signals;
use std::io::{self, Read, Write};
use tfprof::Error;
use tfprof::internal::columnar::{TABLE_FORMS, TableHead, table_form, text};
use tfprof::internal::engine::needs;
use tfprof::internal::render::tabular;
use tfprof::internal::sql::{Database, QueryAnswer, schema};
use tfprof::internal::tables::TABLES;

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let output = open::target(request)?;
    check_form(&output, "sql", &TABLE_FORMS.iter().map(|form| form.word).collect::<Vec<_>>())?;
    let statement = request.flags.statement.trim();
    // The schema is the same for all files.
    if let Some(told) = about_tables(statement) {
        return write_text(out, &told?);
    }
    let (profiler, exit) = load(request, needs::TABLES, err)?;
    let database = Database::new(profiler.sql_source(&request.flags.inputs), signals::is_waiting)?;
    if !statement.is_empty() {
        answer(&database, statement, request, out)?;
        return Ok(exit);
    }
    if request.terminal.stdin && request.terminal.stdout {
        sql_prompt::interact(&database, request, out, err)?;
        return Ok(exit);
    }
    let mut script = String::new();
    let read = io::stdin().lock().read_to_string(&mut script);
    read.map_err(|source| Error::Io { file: "standard input".to_owned(), action: "cannot read", source })?;
    for statement in statements(&script) {
        if let Err(error) = line(&database, statement, request, out) {
            // Nothing can be done if even standard error is closed.
            let _ = writeln!(err, "tfprof: {error}");
            return Ok(exit_of(&error));
        }
    }
    Ok(exit)
}

/// Runs a statement, or a word with a dot.
pub fn line(database: &Database, statement: &str, request: &Request, out: &mut dyn Write) -> Result<(), Error> {
    match about_tables(statement) {
        Some(told) => write_text(out, &told?).map(drop),
        None => answer(database, statement, request, out),
    }
}

/// The answer to `.tables`, `.schema [TABLE]` and `.help`.
fn about_tables(line: &str) -> Option<Result<String, Error>> {
    let line = line.trim().trim_end_matches(';').trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word {
        ".tables" => {
            let row = |table: &tfprof::internal::tables::TableInfo| format!("{:12}{}\n", table.name, table.about);
            Some(Ok(TABLES.iter().map(row).collect()))
        }
        ".schema" => Some(schema(Some(rest.trim()).filter(|name| !name.is_empty()))),
        ".help" => Some(Ok(HELP.to_owned())),
        word if word.starts_with('.') => {
            let known = [".tables", ".schema", ".help", ".quit"];
            let message = tfprof::internal::words::unknown("word", word, &known);
            Some(Err(Error::Question(message)))
        }
        _ => None,
    }
}

const HELP: &str = "\
select ...;      any statement of SQLite that reads; it may take several lines
.tables          the tables
.schema [TABLE]  their columns, with units
.quit            leave; so does Ctrl-D
Ctrl-C stops a statement. Times are in picoseconds: sum(self_ps) / 1e6 is in microseconds.
";

/// Runs a statement and writes its rows to the target of `-output`.
fn answer(database: &Database, statement: &str, request: &Request, out: &mut dyn Write) -> Result<(), Error> {
    let QueryAnswer { fields, rows } = database.query(statement)?;
    let head = TableHead { name: "answer", fields: &fields, metadata: tabular::metadata() };
    let output = open::target(request)?;
    if output.to_nowhere() {
        return Ok(());
    }
    if output.to_screen() {
        let width = request.terminal.width;
        return to_stdout(out, |out| text::write(&head, width, &mut |sink| sink.batch(&rows), out));
    }
    let Some(form) = table_form(&output.form) else { return Ok(()) };
    to_file(&output.outfile, &request.flags.files(), out, |out| {
        (form.write)(&head, &mut |sink| if rows.rows() > 0 { sink.batch(&rows) } else { Ok(()) }, out)
    })
}

/// The statements of a script: a semicolon ends one, unless it is part of a text or a comment. A word with a dot ends
/// with its line.
fn statements(script: &str) -> Vec<&str> {
    let mut list = Vec::new();
    let (mut start, mut quote, mut before) = (0, None, ' ');
    let mut comment = None;
    // The first letter of the statement.
    let mut first = None;
    for (at, c) in script.char_indices() {
        if !c.is_whitespace() {
            first.get_or_insert(c);
        }
        match (quote, comment, c) {
            (_, Some('-'), '\n') => comment = None,
            (_, Some('*'), '/') if before == '*' => comment = None,
            (Some(open), None, c) if c == open => quote = None,
            (None, None, '\'' | '"' | '`') => quote = Some(c),
            (None, None, '-') if before == '-' => comment = Some('-'),
            (None, None, '*') if before == '/' => comment = Some('*'),
            (None, None, ';') => {
                list.push(&script[start..at]);
                (start, first) = (at + 1, None);
            }
            (None, None, '\n') if first == Some('.') => {
                list.push(&script[start..at]);
                (start, first) = (at + 1, None);
            }
            _ => {}
        }
        before = c;
    }
    list.push(&script[start..]);
    list.retain(|statement| !statement.trim().is_empty());
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_ends_a_statement() {
        let split = |script| statements(script).into_iter().map(str::trim).collect::<Vec<_>>();
        assert_eq!(split("select 1; select 2"), ["select 1", "select 2"]);
        assert_eq!(split("select ';' ; -- a; b\nselect \"x;\""), ["select ';'", "-- a; b\nselect \"x;\""]);
        assert_eq!(split(".tables\n.schema nodes\nselect 1\n;\n"), [".tables", ".schema nodes", "select 1"]);
        assert_eq!(split("/* ; */ select 1;"), ["/* ; */ select 1"]);
        assert!(split(" ;\n; ").is_empty());
        // In one pass: with a look at the whole statement for each letter, this takes minutes.
        assert_eq!(split(&("\n ".repeat(500_000) + ".tables\n")), [".tables"]);
    }
}
