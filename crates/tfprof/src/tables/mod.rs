//! [`TABLES`]: everything that is loaded as tables, with one schema for files, SQL, Python and the documentation.
//!
//! Times are picoseconds: whole numbers that are exact for every format. A fact that is not known is NULL, never 0.

mod executions;
mod graph;
mod machine;
mod schema;
mod totals;

pub use schema::{TABLES, VERSION};

use crate::budget;
use crate::columnar::{Batch, BatchSink, Field};
use crate::error::Warning;
use crate::model::Model;
use crate::model::layers::{Layers, NodeFilter};
use crate::model::nodes::NodeId;
use crate::words;
use std::io;
use std::sync::OnceLock;

/// A table: its name, its columns, and how to fill it.
#[derive(Debug)]
pub struct TableInfo {
    pub name: &'static str,
    pub about: &'static str,
    pub fields: &'static [Field],
    fill: fn(&Facts<'_>, &mut Writer<'_>) -> io::Result<()>,
}

/// A file that was loaded.
#[derive(Clone, Debug, Default)]
pub struct FileFact {
    pub path: String,
    /// What it is, such as `RunMetadata`.
    pub format: &'static str,
    pub bytes: Option<i64>,
    pub step: Option<i64>,
}

/// The sources of the tables.
#[derive(Clone, Debug)]
pub struct Facts<'f> {
    pub model: &'f Model,
    pub files: Vec<FileFact>,
    pub warnings: &'f [Warning],
    /// When the first execution of all runs began; found once.
    origin: OnceLock<i64>,
    /// Which nodes have rows; found once.
    filter: OnceLock<NodeFilter>,
}

impl TableInfo {
    /// The table of that name.
    pub fn named(name: &str) -> Result<&'static TableInfo, String> {
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        let found = TABLES.iter().find(|table| table.name == name);
        found.ok_or_else(|| words::unknown("table", name, &names))
    }

    /// Hands all rows to a sink, in bounded memory.
    pub fn fill(&self, facts: &Facts<'_>, sink: &mut dyn BatchSink) -> io::Result<()> {
        let mut writer = Writer { batch: Batch::new(self.fields), sink };
        (self.fill)(facts, &mut writer)?;
        writer.batch.flush(writer.sink)
    }
}

/// Adds rows to a table.
struct Writer<'s> {
    batch: Batch,
    sink: &'s mut dyn BatchSink,
}

impl Writer<'_> {
    /// Begins the next row.
    #[inline]
    fn row(&mut self) -> io::Result<crate::columnar::RowWriter<'_>> {
        self.batch.flush_if_full(self.sink)?;
        budget::check();
        Ok(self.batch.row())
    }
}

impl<'f> Facts<'f> {
    pub fn new(model: &'f Model, files: Vec<FileFact>, warnings: &'f [Warning]) -> Facts<'f> {
        Facts { model, files, warnings, origin: OnceLock::new(), filter: OnceLock::new() }
    }

    /// The nodes that have rows: ops; if a trace has none, its other events.
    fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let filter = self.filter();
        self.model.shown(filter)
    }

    fn has(&self, node: NodeId) -> bool {
        self.model.is_shown(node, self.filter())
    }

    fn filter(&self) -> NodeFilter {
        *self.filter.get_or_init(|| {
            let has_ops = self.model.ops().next().is_some();
            let layers = if has_ops { Layers::OPS } else { Layers::ALL_EVENTS };
            NodeFilter { layers, inside_functions: true }
        })
    }

    /// When the first execution of all runs began, in microseconds.
    fn origin(&self) -> i64 {
        let first = || {
            let cells = self.model.runs.everything().rows();
            cells.map(|cell| cell.first_start).filter(|start| *start > 0).min().unwrap_or(0)
        };
        *self.origin.get_or_init(first)
    }

    /// Picoseconds per time unit of the model.
    fn picos(&self) -> i64 {
        1_000_000 / self.model.time_unit.per_micro()
    }

    /// The name of the host of a trace.
    fn host(&self, at: u32) -> &str {
        self.model.hosts.get(at as usize).map_or("", |host| &host.host)
    }
}
