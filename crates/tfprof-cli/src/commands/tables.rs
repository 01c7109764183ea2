//! `tfprof tables`: everything that is loaded as tables, in files that other programs read.

use super::{Exit, check_form, load, open, to_file, to_stdout};
use crate::flags::Request;
use crate::target;
use std::io::{self, Write};
use std::path::PathBuf;
use tfprof::internal::columnar::partition::Partitioned;
use tfprof::internal::columnar::{Batch, BatchSink, Field, TABLE_FORMS, TableForm, TableHead, table_form, text};
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
    check(&output, table, request.flags.partition)?;
    let needs = needs::of_table(table.map(|table| table.name));
    let (profiler, exit) = load(request, needs, err)?;
    let facts = profiler.facts(&request.flags.inputs);
    let files = request.flags.files();
    match table {
        _ if output.to_nowhere() => {}
        table if output.is_directory() => write_files(&facts, &output, table, request, err)?,
        None if output.to_screen() => list(&facts, request, out)?,
        None => write_database(&facts, &output, &files)?,
        Some(table) => write_one(table, &facts, &output, request, out)?,
    }
    Ok(exit)
}

/// Refuses targets that cannot hold what was asked for, before anything is read.
fn check(output: &Output, table: Option<&TableInfo>, partition: bool) -> Result<(), Error> {
    if partition && !output.is_directory() {
        return Err(Error::Question("--partition writes directories; name one, as in -output DIR/".to_owned()));
    }
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

/// All tables or one, each in a file of a directory, or in directories by host and step.
fn write_files(
    facts: &Facts<'_>,
    output: &Output,
    table: Option<&'static TableInfo>,
    request: &Request,
    err: &mut dyn Write,
) -> Result<(), Error> {
    let (dir, files) = (&output.outfile, request.flags.files());
    let word = if output.form == "html" { IN_DIRECTORY } else { &output.form };
    let Some(form) = table_form(word) else { return Ok(()) };
    let ending = tfprof::FORMS.iter().find(|form| form.word == word).map_or("", |form| form.endings[0]);
    let tables = TABLES.iter().filter(|other| table.is_none_or(|table| table.name == other.name));
    let mut count = 0;
    for table in tables {
        if request.flags.partition && PARTITIONED.contains(&table.name) {
            let dir = format!("{dir}{}/", table.name);
            write_partitions(table, facts, (form, ending), &dir, &files)?;
        } else {
            create_dir(dir)?;
            let file = format!("{dir}{}{ending}", table.name);
            target::to_file(&file, &files, |out| write_table(form, table, facts, out))?;
        }
        count += 1;
    }
    // Nothing can be done if even standard error is closed.
    let _ = writeln!(err, "tfprof: wrote {count} table{} to {dir}", if count == 1 { "" } else { "s" });
    Ok(())
}

fn create_dir(dir: &str) -> Result<(), Error> {
    let create = |source| Error::Io { file: dir.to_owned(), action: "cannot create", source };
    std::fs::create_dir_all(dir).map_err(create)
}

/// The tables that `--partition` splits; the others are small.
const PARTITIONED: &[&str] = &["totals", "executions"];

/// A table in directories by host and step. Files of another run would count as its rows, so there must be none.
fn write_partitions(
    table: &'static TableInfo,
    facts: &Facts<'_>,
    (form, ending): (&TableForm, &str),
    dir: &str,
    inputs: &[PathBuf],
) -> Result<(), Error> {
    if std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        let why =
            format!("{dir} is not empty, and its files would count as rows; remove it, or name another directory");
        return Err(Error::Question(why));
    }
    create_dir(dir)?;
    let mut failure = None;
    let metadata = head(table).metadata;
    let mut write = |path: &str, fields: &[Field], rows: &Batch| {
        let file = format!("{dir}{path}{ending}");
        let head = TableHead { name: table.name, fields, metadata: metadata.clone() };
        let parent = file.rsplit_once('/').map_or(dir, |(parent, _)| parent);
        let written = create_dir(parent).and_then(|()| {
            target::to_file(&file, inputs, |out| (form.write)(&head, &mut |sink| sink.batch(rows), out))
        });
        written.map_err(|error| {
            failure = Some(error);
            io::Error::other("a part could not be written")
        })
    };
    let mut parts = Partitioned::new(table.fields, &["host", "step"], &mut write);
    let filled = table.fill(facts, &mut parts).and_then(|()| parts.finish());
    match (filled, failure) {
        (_, Some(error)) => Err(error),
        (Err(source), None) => Err(Error::Io { file: dir.to_owned(), action: "cannot write", source }),
        (Ok(()), None) => Ok(()),
    }
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
