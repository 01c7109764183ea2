//! `tfprof tables`: everything that is loaded as tables, in files that other programs read.

use super::{Exit, check_form, load, open, to_file, to_stdout};
use crate::flags::Request;
use crate::target;
use std::io::{self, Write};
use std::path::PathBuf;
use tfprof::internal::columnar::{Batch, BatchSink, TABLE_FORMS, TableForm, TableHead, table_form, text};
use tfprof::internal::engine::needs;
use tfprof::internal::render::tabular;
use tfprof::internal::tables::{Facts, TABLES, TableInfo, VERSION};
use tfprof::{Error, Output};

/// The form of the files in a directory, if none is given.
const IN_DIRECTORY: &str = "parquet";

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let table = match request.flags.table.as_str() {
        "" => None,
        name => Some(TableInfo::named(name).map_err(|why| Error::option("table", why))?),
    };
    let output = open::target(request)?;
    check(&output, table)?;
    let (profiler, exit) = load(request, needs::TABLES, err)?;
    let facts = profiler.facts(&request.flags.inputs);
    let files = request.flags.files();
    match table {
        _ if output.to_nowhere() => {}
        None if output.is_directory() => write_all(&facts, &output, &files, err)?,
        None if output.to_screen() => list(&facts, request, out)?,
        None => write_database(&facts, &output, &files)?,
        Some(table) => write_one(table, &facts, &output, request, out)?,
    }
    Ok(exit)
}

/// Refuses targets that cannot hold what was asked for, before anything is read.
fn check(output: &Output, table: Option<&TableInfo>) -> Result<(), Error> {
    if output.to_nowhere() || output.to_screen() {
        return Ok(());
    }
    let words: Vec<&str> = TABLE_FORMS.iter().map(|form| form.word).collect();
    if output.is_directory() {
        // The name of a directory alone means pages elsewhere.
        return if output.form == "html" { Ok(()) } else { check_form(output, "tables", &words) };
    }
    check_form(output, "tables", &words)?;
    if table.is_none() && output.form != "sqlite" {
        let file = &output.outfile;
        let why = format!("{file} holds one table; choose it, as in --table=totals, or write all with -output DIR/");
        return Err(Error::Question(why));
    }
    Ok(())
}

fn head(table: &TableInfo) -> TableHead<'static> {
    let mut metadata = tabular::metadata();
    metadata.push(("tfprof.tables".to_owned(), VERSION.to_string()));
    metadata.push(("tfprof.table".to_owned(), table.name.to_owned()));
    TableHead { name: table.name, fields: table.fields, metadata }
}

fn write_table(form: &TableForm, table: &TableInfo, facts: &Facts<'_>, out: &mut dyn Write) -> io::Result<()> {
    (form.write)(&head(table), &mut |sink| table.fill(facts, sink), out)
}

/// One table, in any form.
fn write_one(
    table: &TableInfo,
    facts: &Facts<'_>,
    output: &Output,
    request: &Request,
    out: &mut dyn Write,
) -> Result<(), Error> {
    if output.to_screen() {
        let width = request.terminal.width;
        return to_stdout(out, |out| text::write(&head(table), width, &mut |sink| table.fill(facts, sink), out));
    }
    let Some(form) = table_form(&output.form) else { return Ok(()) };
    to_file(&output.outfile, &request.flags.files(), out, |out| write_table(form, table, facts, out))
}

/// All tables, each in a file of a directory.
fn write_all(facts: &Facts<'_>, output: &Output, files: &[PathBuf], err: &mut dyn Write) -> Result<(), Error> {
    let dir = &output.outfile;
    let word = if output.form == "html" { IN_DIRECTORY } else { &output.form };
    let Some(form) = table_form(word) else { return Ok(()) };
    let ending = tfprof::FORMS.iter().find(|form| form.word == word).map_or("", |form| form.endings[0]);
    let create = |source| Error::Io { file: dir.clone(), action: "cannot create", source };
    std::fs::create_dir_all(dir).map_err(create)?;
    for table in TABLES {
        let file = format!("{dir}{}{ending}", table.name);
        target::to_file(&file, files, |out| write_table(form, table, facts, out))?;
    }
    // Nothing can be done if even standard error is closed.
    let _ = writeln!(err, "tfprof: wrote {} tables to {dir}", TABLES.len());
    Ok(())
}

/// All tables in one database.
#[cfg(feature = "sql")]
fn write_database(facts: &Facts<'_>, output: &Output, files: &[PathBuf]) -> Result<(), Error> {
    use tfprof::internal::columnar::sqlite::SqliteWriter;
    let fill = |path: &std::path::Path| {
        let mut writer = SqliteWriter::create(path, VERSION)?;
        for table in TABLES {
            writer.table(&head(table), &mut |sink| table.fill(facts, sink))?;
        }
        writer.finish()
    };
    if target::is_stream(&output.outfile) {
        let why = format!("{} cannot hold a database; name a file, as in -output run.sqlite", output.outfile);
        return Err(Error::Question(why));
    }
    target::to_path(&output.outfile, files, fill)
}

/// Never called: without SQLite, there is no form that holds all tables.
#[cfg(not(feature = "sql"))]
fn write_database(_: &Facts<'_>, output: &Output, _: &[PathBuf]) -> Result<(), Error> {
    Err(Error::Question(format!("{} cannot be written: this program was built without SQLite", output.outfile)))
}

/// The names of the tables, how many rows they have, and what they hold.
fn list(facts: &Facts<'_>, request: &Request, out: &mut dyn Write) -> Result<(), Error> {
    let mut rows = Vec::new();
    for table in TABLES {
        let mut count = Count(0);
        let filled = table.fill(facts, &mut count);
        filled.map_err(|source| Error::Io { file: table.name.to_owned(), action: "cannot count", source })?;
        rows.push(vec![table.name.to_owned(), count.0.to_string(), table.about.to_owned()]);
    }
    let width = request.terminal.width;
    let write = |out: &mut dyn Write| {
        tfprof::internal::render::fit::write_table(&["table", "rows", "about"], &rows, |at| at == 1, width, out)
    };
    to_stdout(out, write)
}

/// Counts rows.
struct Count(usize);

impl BatchSink for Count {
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        self.0 += batch.rows();
        Ok(())
    }
}
