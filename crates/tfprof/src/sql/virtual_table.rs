//! The tables as SQLite sees them. The one place of this module that needs `unsafe`: SQLite reads the first field of these
//! structs through C, so their layout is a promise that the compiler cannot check.
#![allow(unsafe_code)]

use super::Source;
use super::index::{Indexed, Wanted};
use crate::columnar::{Datum, sqlite};
use crate::tables::TABLES;
use rusqlite::ffi::{sqlite3_hard_heap_limit64, sqlite3_vtab, sqlite3_vtab_cursor};
use rusqlite::types::ValueRef;
use rusqlite::vtab::{Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConnection, VTabCursor};
use rusqlite::{Connection, Error, Result};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::sync::Arc;

/// Limits SQLite's own memory while it lives. The limit is one for the process: statements that run side by side
/// share the one that was set last.
#[derive(Debug)]
pub struct MemoryLimit {
    before: i64,
}

impl MemoryLimit {
    pub fn set(bytes: u64) -> MemoryLimit {
        // 0 means no limit to SQLite.
        let bytes = i64::try_from(bytes.max(1)).unwrap_or(0);
        // SAFETY: it takes a number, and SQLite guards it with a lock of its own.
        MemoryLimit { before: unsafe { sqlite3_hard_heap_limit64(bytes) } }
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { sqlite3_hard_heap_limit64(self.before) };
    }
}

/// Makes a table known to a connection.
pub fn register(connection: &Connection, at: usize, source: Arc<Source>) -> Result<()> {
    const MODULE: &Module<'static, FactTable> = &Module::eponymous_only_module();
    connection.create_module(TABLES[at].name, MODULE, Some((source, at)))
}

/// A table that a statement names.
#[repr(C)]
#[derive(Debug)]
struct FactTable {
    /// SQLite's own part, which must come first.
    base: sqlite3_vtab,
    source: Arc<Source>,
    at: usize,
}

/// A reader of its rows.
#[repr(C)]
#[derive(Debug)]
struct FactCursor {
    /// SQLite's own part, which must come first.
    base: sqlite3_vtab_cursor,
    source: Arc<Source>,
    table: usize,
    /// The rows to read; all of them in their own order if there is no list.
    list: Option<Vec<u32>>,
    place: usize,
    end: usize,
}

/// The way to read a table, as a text that SQLite hands from one call to the next: `=3` for the rows whose column 3 has
/// a value, `3,-5` for the order by column 3, then by column 5 descending.
fn order_text(by: &[(usize, bool)]) -> String {
    let term = |(column, descending): &(usize, bool)| format!("{}{column}", if *descending { "-" } else { "" });
    by.iter().map(term).collect::<Vec<_>>().join(",")
}

fn order_of(text: &str) -> Vec<(usize, bool)> {
    let term = |term: &str| Some((term.trim_start_matches('-').parse().ok()?, term.starts_with('-')));
    text.split(',').filter_map(term).collect()
}

// SAFETY: the struct is `repr(C)`, and SQLite's part is its first field.
unsafe impl<'vtab> VTab<'vtab> for FactTable {
    type Aux = (Arc<Source>, usize);
    type Cursor = FactCursor;

    fn connect(
        _: &mut VTabConnection,
        aux: Option<&Self::Aux>,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, FactTable)> {
        let Some((source, at)) = aux else { return Err(Error::ModuleError("no such table".to_owned())) };
        source.table(*at).map_err(Error::ModuleError)?;
        let schema = CString::new(sqlite::create_table("x", TABLES[*at].fields))?;
        let table = FactTable { base: sqlite3_vtab::default(), source: Arc::clone(source), at: *at };
        Ok((Cow::Owned(schema), table))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let table = self.source.table(self.at).map_err(Error::ModuleError)?;
        let rows = table.rows.rows() as f64;
        let found = info.constraints().enumerate().find_map(|(at, constraint)| {
            let column = usize::try_from(constraint.column()).ok()?;
            let equals = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            (equals && constraint.is_usable() && table.can_find(column)).then_some((at, column))
        });
        // Texts are in the order of their bytes.
        let found = found.filter(|(at, _)| info.collation(*at).is_ok_and(|name| name == "BINARY"));
        if let Some((at, column)) = found {
            info.constraint_usage(at).set_argv_index(1);
            info.set_idx_str(&format!("={column}"));
            info.set_estimated_cost(rows.max(2.0).log2() + 10.0);
            info.set_estimated_rows(10.min(rows as i64 + 1));
            return Ok(true);
        }
        info.set_estimated_cost(rows + 1.0);
        info.set_estimated_rows(rows as i64);
        let by: Option<Vec<(usize, bool)>> = info
            .order_bys()
            .map(|term| Some((usize::try_from(term.column()).ok()?, term.is_order_by_desc())))
            .collect();
        if let Some(by) = by.filter(|by| !by.is_empty()) {
            info.set_idx_str(&order_text(&by));
            info.set_order_by_consumed(true);
        }
        Ok(true)
    }

    fn open(&'vtab mut self) -> Result<FactCursor> {
        let (source, table) = (Arc::clone(&self.source), self.at);
        Ok(FactCursor { base: sqlite3_vtab_cursor::default(), source, table, list: None, place: 0, end: 0 })
    }
}

impl FactCursor {
    fn table(&self) -> Result<&Indexed> {
        self.source.table(self.table).map_err(Error::ModuleError)
    }

    #[inline]
    fn row(&self) -> usize {
        self.list.as_ref().map_or(self.place, |list| list[self.place] as usize)
    }

    /// The rows whose cell equals a value; `None` to look at all of them, which SQLite compares itself.
    fn found(&self, column: usize, value: ValueRef<'_>) -> Result<Option<Vec<u32>>> {
        let wanted = match value {
            ValueRef::Integer(n) => Wanted::Int(n),
            ValueRef::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => Wanted::Text(text),
                Err(_) => return Ok(None),
            },
            ValueRef::Null => return Ok(Some(Vec::new())),
            ValueRef::Real(_) | ValueRef::Blob(_) => return Ok(None),
        };
        Ok(self.table()?.find(column, wanted).map(|(rows, range)| rows[range].to_vec()))
    }
}

// SAFETY: the struct is `repr(C)`, and SQLite's part is its first field.
unsafe impl VTabCursor for FactCursor {
    fn filter(&mut self, _: c_int, way: Option<&str>, args: &Filters<'_>) -> Result<()> {
        let list = match way {
            None => None,
            Some(way) => match (way.strip_prefix('='), args.iter().next()) {
                (Some(column), Some(value)) => self.found(column.parse().unwrap_or(usize::MAX), value)?,
                _ => Some(self.table()?.ordered(&order_of(way))),
            },
        };
        self.end = match &list {
            Some(list) => list.len(),
            None => self.table()?.rows.rows(),
        };
        (self.list, self.place) = (list, 0);
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.place += 1;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.place >= self.end
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        let cells = usize::try_from(column).ok().and_then(|at| self.table().ok()?.rows.columns.get(at));
        context.set_result(cells.map_or(Datum::Null, |cells| cells.datum(self.row())))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.row() as i64)
    }
}
