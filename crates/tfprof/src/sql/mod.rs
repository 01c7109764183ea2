//! SQL over the tables of everything that is loaded, by SQLite: [`Database::query`] runs one statement, which reads only.
//!
//! The tables are virtual: a table is put into columns when a statement first names it, and SQLite reads cells of those
//! columns. Nothing else can be reached: no file, no other database, no extension.

mod answer;
mod index;
mod virtual_table;

pub use answer::QueryAnswer;

use crate::budget::{self, Account, Limits};
use crate::columnar::{Collected, sqlite};
use crate::error::{Error, Fix, Warning};
use crate::model::Model;
use crate::tables::{Facts, FileFact, TABLES, TableInfo};
use index::Indexed;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, ErrorCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The sources of the tables, shared between threads.
#[derive(Debug)]
pub struct Source {
    pub model: Arc<Model>,
    pub files: Vec<FileFact>,
    pub warnings: Vec<Warning>,
    /// The limits for the cost of a statement, and the bytes of the files.
    limits: Limits,
    input: u64,
    /// By table, its columns, once they were needed.
    loaded: Vec<OnceLock<Result<Indexed, String>>>,
    /// Why a table could not be put into columns, for the answer.
    failure: Mutex<Option<Error>>,
}

impl Source {
    pub fn new(model: Arc<Model>, files: Vec<FileFact>, warnings: Vec<Warning>) -> Source {
        let loaded = TABLES.iter().map(|_| OnceLock::new()).collect();
        let (limits, input) = Default::default();
        Source { model, files, warnings, limits, input, loaded, failure: Mutex::new(None) }
    }

    /// The same with limits for each statement, unless the thread charges an account for it.
    #[must_use]
    pub fn limited(self, limits: Limits, input: u64) -> Source {
        Source { limits, input, ..self }
    }

    /// The columns of a table, by its place in [`TABLES`].
    fn table(&self, at: usize) -> Result<&Indexed, String> {
        self.loaded[at].get_or_init(|| self.load(&TABLES[at])).as_ref().map_err(String::clone)
    }

    fn load(&self, table: &TableInfo) -> Result<Indexed, String> {
        let facts = Facts::new(&self.model, self.files.clone(), &self.warnings);
        let load = || {
            let mut rows = Collected::new(table.fields);
            let filled = table.fill(&facts, &mut rows);
            filled.map_err(|source| Error::Io { file: table.name.to_owned(), action: "cannot read", source })?;
            Ok(rows.all)
        };
        // SQLite calls this, and an exhausted budget must not unwind through C.
        budget::guard(Limits::default(), u64::MAX, load).map(Indexed::new).map_err(|error| {
            let message = error.to_string();
            self.fails(Err(error));
            message
        })
    }

    /// Keeps an error for the answer, since it must not unwind through SQLite.
    fn fails(&self, outcome: Result<(), Error>) -> bool {
        let failed = outcome.is_err();
        if let (Err(error), Ok(mut failure)) = (outcome, self.failure.lock()) {
            *failure = Some(error);
        }
        failed
    }
}

/// A connection that answers statements about the tables.
pub struct Database {
    connection: Connection,
    source: Arc<Source>,
    stopped: Arc<AtomicBool>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("connection", &self.connection).finish_non_exhaustive()
    }
}

/// The number of SQLite's virtual machine steps between two checks whether it should stop. A row takes ten or twenty steps.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;
const WORK_BETWEEN_LOOKS: u64 = 100;

impl Database {
    /// `stop` says whether the statement at hand should end, because someone pressed Ctrl-C.
    pub fn new(source: Arc<Source>, stop: impl Fn() -> bool + Send + 'static) -> Result<Database, Error> {
        let stopped = Arc::new(AtomicBool::new(false));
        let held = Arc::clone(&source);
        let open = || -> rusqlite::Result<Connection> {
            let mut connection = Connection::open_in_memory()?;
            // Sorting stays in memory, which the limit bounds.
            connection.execute_batch("PRAGMA temp_store = MEMORY")?;
            for at in 0..TABLES.len() {
                virtual_table::register(&connection, at, Arc::clone(&held))?;
            }
            let note = Arc::clone(&stopped);
            let looked = move || {
                let stops = stop();
                note.fetch_or(stops, Ordering::SeqCst);
                stops || held.fails(budget::spend(WORK_BETWEEN_LOOKS))
            };
            connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(looked))?;
            connection.authorizer(Some(|context: AuthContext<'_>| may(&context.action)))?;
            Ok(connection)
        };
        let connection = open().map_err(|error| Error::Missing(format!("SQL cannot start: {error}")))?;
        Ok(Database { connection, source, stopped })
    }

    /// Runs one statement that reads, and returns its columns and rows.
    pub fn query(&self, statement: &str) -> Result<QueryAnswer, Error> {
        budget::guard(self.source.limits, self.source.input, || self.answer(statement))
    }

    fn answer(&self, statement: &str) -> Result<QueryAnswer, Error> {
        self.stopped.store(false, Ordering::SeqCst);
        let limit = Account::current().map_or(u64::MAX, |account| account.memory_left());
        let _limited = virtual_table::MemoryLimit::set(limit);
        let mut statement = self.connection.prepare(statement).map_err(|error| self.explain(error))?;
        if statement.column_count() == 0 {
            return Err(Error::Question("SQL: expected a statement that gives rows".to_owned()));
        }
        QueryAnswer::of(&mut statement).map_err(|error| self.explain(error))
    }

    /// The error in one sentence.
    fn explain(&self, error: rusqlite::Error) -> Error {
        let failure = self.source.failure.lock().ok().and_then(|mut failure| failure.take());
        if let Some(failure) = failure {
            return failure;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) if self.stopped.load(Ordering::SeqCst) => {
                return Error::Missing("the statement was stopped".to_owned());
            }
            Some(ErrorCode::OutOfMemory) => {
                let message = "the statement needs more memory than it may take".to_owned();
                return Error::Limit(message).with_fix(Fix::new("allow more with", "max_memory"));
            }
            Some(ErrorCode::AuthorizationForStatementDenied) => return only_reads(),
            _ => {}
        }
        let why = match error {
            rusqlite::Error::SqlInputError { msg, .. } if msg.ends_with("may not be modified") => return only_reads(),
            rusqlite::Error::SqlInputError { msg, .. } => msg,
            rusqlite::Error::SqliteFailure(_, Some(msg)) if msg.ends_with("may not be modified") => {
                return only_reads();
            }
            rusqlite::Error::SqliteFailure(_, Some(message)) => message,
            rusqlite::Error::MultipleStatement => "expected one statement, found several".to_owned(),
            rusqlite::Error::NulError(_) => "a statement cannot hold a NUL".to_owned(),
            error => error.to_string(),
        };
        Error::Question(format!("SQL: {why}{}", hint(&why)))
    }
}

/// The error for a statement that would change something.
fn only_reads() -> Error {
    Error::Question("SQL only reads here: expected a statement with select, with or values".to_owned())
}

/// The nearest name to one that SQLite does not know.
fn hint(why: &str) -> String {
    let near = |wrong: &str, known: Vec<&'static str>| {
        let wrong = wrong.rsplit('.').next().unwrap_or(wrong);
        let near = crate::words::nearest(wrong, known);
        near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
    };
    if let Some(table) = why.strip_prefix("no such table: ") {
        let hint = near(table, TABLES.iter().map(|table| table.name).collect());
        return format!("{hint} (.tables lists them)");
    }
    if let Some(column) = why.strip_prefix("no such column: ") {
        let columns = TABLES.iter().flat_map(|table| table.fields);
        let names = columns
            .filter_map(|field| if let std::borrow::Cow::Borrowed(name) = field.name { Some(name) } else { None });
        return format!("{} (.schema lists them)", near(column, names.collect()));
    }
    String::new()
}

/// Authorizes a statement: it may read tables and call functions, except the one that loads code.
fn may(action: &AuthAction<'_>) -> Authorization {
    let allowed = match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !function_name.eq_ignore_ascii_case("load_extension"),
        _ => false,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}

/// The tables as SQL declares them, with a word on each column; of one table, or of all.
pub fn schema(name: Option<&str>) -> Result<String, Error> {
    let mut text = String::new();
    let tables: Vec<&TableInfo> = match name {
        None => TABLES.iter().collect(),
        Some(name) => vec![TableInfo::named(name).map_err(Error::Question)?],
    };
    for table in tables {
        text += if text.is_empty() { "" } else { "\n" };
        text += &format!("-- {}\nCREATE TABLE {}(\n", table.about, table.name);
        for (at, field) in table.fields.iter().enumerate() {
            let not_null = if field.nullable { "" } else { " NOT NULL" };
            let comma = if at + 1 < table.fields.len() { "," } else { "" };
            let unit = if field.unit.is_empty() { String::new() } else { format!(" [{}]", field.unit) };
            let column = format!("  {} {}{not_null}{comma}", sqlite::quoted(&field.name), field.kind.sql());
            text += &format!("{column:40} -- {}{unit}\n", field.about);
        }
        text += ");\n";
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::Datum;
    use crate::engine::profiler::Profiler;
    use crate::format::source::Source as Bytes;

    fn database() -> Database {
        let graph = br#"
            node { name: "a/w" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 8 } dim { size: 4 } } } } }
            node { name: "a/m\000x" op: "MatMul" input: "a/w" input: "gone" }
            node { name: "b" op: "Relu" input: "a/m\000x" }"#;
        let mut profiler = Profiler::default();
        profiler.add_graph(Bytes::memory("graph.pbtxt", graph).unwrap()).unwrap();
        let source = Source::new(Arc::clone(profiler.model()), Vec::new(), Vec::new());
        Database::new(Arc::new(source), || false).unwrap()
    }

    fn cells(database: &Database, statement: &str) -> Vec<Vec<String>> {
        let answer = database.query(statement).unwrap();
        let shown = |datum: Datum<'_>| {
            if datum == Datum::Null { "NULL".to_owned() } else { crate::columnar::text::shown(datum) }
        };
        (0..answer.rows.rows())
            .map(|row| answer.rows.columns.iter().map(|column| shown(column.datum(row))).collect())
            .collect()
    }

    #[test]
    fn tables_join_group_and_order() {
        let database = database();
        assert_eq!(cells(&database, "select count(*) from nodes"), [["3"]]);
        assert_eq!(cells(&database, "select op from nodes order by op desc"), [["VariableV2"], ["Relu"], ["MatMul"]]);
        assert_eq!(cells(&database, "select name from nodes where op = 'Relu'"), [["b"]]);
        let joined = "select n.op, s.op, e.source_name from edges e join nodes n on n.id = e.node
                      left join nodes s on s.id = e.source order by n.id, e.input";
        let expected = [["MatMul", "VariableV2", "a/w"], ["MatMul", "NULL", "gone"], ["Relu", "MatMul", "a/m\0x"]];
        assert_eq!(cells(&database, joined), expected);
        assert_eq!(cells(&database, "select scope, count(*) from nodes group by scope"), [["NULL", "1"], ["a", "2"]]);
        assert_eq!(cells(&database, "select id from nodes where id > 0 and id <= 2 order by id desc"), [["2"], ["1"]]);
        assert_eq!(cells(&database, "select parameters from nodes where name = 'a/w' collate nocase"), [["32"]]);
        assert_eq!(cells(&database, "select id from nodes where id = '1' or id = 2.0"), [["1"], ["2"]]);
    }

    #[test]
    fn nothing_is_written_and_no_file_is_opened() {
        let database = database();
        for statement in [
            "create table x(y)",
            "create temp table x as select 1",
            "insert into nodes values (1)",
            "delete from nodes",
            "attach 'file.db' as f",
            "select load_extension('x')",
            "pragma journal_mode = wal",
            "vacuum into 'x.db'",
            "drop table nodes",
            "begin",
        ] {
            let error = database.query(statement).unwrap_err().to_string();
            assert!(error.contains("SQL") || error.contains("not authorized"), "{statement}: {error}");
        }
    }

    #[test]
    fn wrong_names_are_answered_with_the_nearest() {
        let database = database();
        let error = |statement: &str| database.query(statement).unwrap_err().to_string();
        assert!(error("select * from node").contains("did you mean `nodes`?"), "{}", error("select * from node"));
        assert!(error("select paramters from nodes").contains("did you mean `parameters`?"));
        assert!(error("select 1; select 2").contains("one statement"));
        assert!(error("selec 1").contains("syntax error"));
        assert!(error("").contains("SQL"));
    }

    #[test]
    fn a_statement_stops_when_its_work_is_done() {
        let source = Source::new(Arc::default(), Vec::new(), Vec::new());
        let database = Database::new(Arc::new(source), || false).unwrap();
        let limits = Limits { work: Some(10_000), ..Limits::default() };
        for wanted in ["count(*)", "x"] {
            let endless =
                format!("with recursive n(x) as (select 1 union all select x + 1 from n) select {wanted} from n");
            let error = budget::guard(limits, 0, || database.query(&endless)).unwrap_err().to_string();
            assert!(error.contains("--max_work"), "{error}");
        }
        // The next one is not to blame.
        assert_eq!(cells(&database, "select 1"), [["1"]]);
    }

    #[test]
    fn a_statement_stops_when_asked() {
        let source = Source::new(Arc::default(), Vec::new(), Vec::new());
        let database = Database::new(Arc::new(source), || true).unwrap();
        let endless = "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n";
        assert!(database.query(endless).unwrap_err().to_string().contains("stopped"));
    }
}
