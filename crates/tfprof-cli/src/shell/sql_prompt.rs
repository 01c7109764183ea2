//! The prompt for SQL: statements over several lines, with completion of keywords, tables and columns.

use super::history;
use super::pager::{Pager, Screen};
use crate::commands::sql::line;
use crate::flags::Request;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::io::Write;
use tfprof::Error;
use tfprof::internal::budget::Account;
use tfprof::internal::sql::Database;
use tfprof::internal::tables::TABLES;

const PROMPT: &str = "sql> ";
const MORE: &str = "...> ";

/// Asks until the user leaves.
pub fn interact(database: &Database, request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<(), Error> {
    let mut editor = editor().map_err(|error| super::terminal_error(&error))?;
    let history = history::file().map(|file| file.with_file_name("sql_history"));
    if let Some(file) = &history {
        // Start a new history if the old one cannot be read.
        let _ = editor.load_history(file);
    }
    let greeting = ".tables lists tables, .schema their columns; a statement ends with ;\n";
    crate::commands::write_text(out, greeting)?;
    let pager = Pager::of_process();
    let mut statement = String::new();
    loop {
        let typed = match editor.readline(if statement.is_empty() { PROMPT } else { MORE }) {
            Ok(typed) => typed,
            Err(ReadlineError::Interrupted) => {
                statement.clear();
                continue;
            }
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(super::terminal_error(&error)),
        };
        let is_word = statement.is_empty() && typed.trim_start().starts_with('.');
        if is_word && matches!(typed.trim(), ".quit" | ".exit") {
            return Ok(());
        }
        statement.push_str(&typed);
        if !(is_word || typed.trim_end().ends_with(';')) {
            if !statement.trim().is_empty() {
                statement.push('\n');
            }
            continue;
        }
        let whole = std::mem::take(&mut statement);
        let _ = editor.add_history_entry(whole.replace('\n', " "));
        history.iter().for_each(|file| history::save(&mut editor, file));
        let mut screen = Screen::new(out, editor.dimensions(), pager.clone());
        let (outcome, shown) = pager.keep_ctrl_c(|| {
            // Each statement is an answer of its own.
            let account = Account::again(request.flags.inputs.limits);
            let outcome = account.guard(|| line(database, whole.trim(), request, &mut screen));
            (outcome, screen.finish())
        });
        shown.map_err(|source| Error::Io { file: "standard output".to_owned(), action: "cannot write", source })?;
        if let Err(error) = outcome {
            // Nothing can be done if even standard error is closed.
            let _ = writeln!(err, "tfprof: {error}");
        }
    }
}

fn editor() -> rustyline::Result<Editor<SqlWords, FileHistory>> {
    let config = Config::builder()
        .max_history_size(1000)?
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(SqlWords));
    Ok(editor)
}

/// Completes keywords, tables and columns.
struct SqlWords;

const KEYWORDS: &[&str] = &[
    "select ",
    "from ",
    "where ",
    "group by ",
    "order by ",
    "having ",
    "limit ",
    "join ",
    "left join ",
    "on ",
    "as ",
    "with ",
    "desc",
    "asc",
    "and ",
    "or ",
    "not ",
    "null",
    "is ",
    "in ",
    "like ",
    "distinct ",
    "union all ",
    "case ",
    "when ",
    "then ",
    "else ",
    "end",
    "count(",
    "sum(",
    "avg(",
    "min(",
    "max(",
    "over (",
    "partition by ",
    "explain ",
    ".tables",
    ".schema ",
    ".help",
    ".quit",
];

/// Where the last word begins, and what it may become.
fn offer(text: &str) -> (usize, Vec<String>) {
    let start = text.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).map_or(0, |at| at + 1);
    let word = &text[start..];
    // `n.na` is a column of some table.
    let (start, word, is_column) = match word.rsplit_once('.') {
        Some((alias, column)) if !alias.is_empty() => (start + alias.len() + 1, column, true),
        _ => (start, word, false),
    };
    let tables = TABLES.iter().map(|table| table.name);
    let columns = TABLES.iter().flat_map(|table| table.fields).map(|field| &*field.name);
    let others = tables.chain(KEYWORDS.iter().copied()).filter(|_| !is_column);
    let mut words: Vec<String> =
        columns.chain(others).filter(|known| known.starts_with(word)).map(str::to_owned).collect();
    words.sort_unstable();
    words.dedup();
    (start, words)
}

impl Completer for SqlWords {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, words) = offer(line.get(..pos).unwrap_or(line));
        let pair = |word: String| Pair { display: word.clone(), replacement: word };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Hinter for SqlWords {
    type Hint = String;
}
impl Highlighter for SqlWords {}
impl Validator for SqlWords {}
impl Helper for SqlWords {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_columns_are_offered() {
        assert_eq!(offer("select count(*) from exec"), (21, vec!["executions".to_owned()]));
        assert_eq!(offer("select n.source_n"), (9, vec!["source_name".to_owned()]));
        assert!(offer("sel").1.contains(&"select ".to_owned()));
        assert_eq!(offer(".sch"), (0, vec![".schema ".to_owned()]));
    }
}
