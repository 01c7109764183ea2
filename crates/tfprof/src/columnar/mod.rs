//! Tables as columns, and how they are written: Parquet, Arrow, SQLite, CSV, JSON, Markdown and text.
//!
//! A [`Batch`] holds a range of rows of a table. Its schema is a list of [`Field`]s; strings are dictionary-encoded, so that a
//! name is stored once however many rows have it. A [`BatchSink`] receives batch after batch, in bounded memory.

pub mod arrow;
mod flatbuffer;
mod forms;
mod ints;
pub mod parquet;
pub mod partition;
#[cfg(feature = "sql")]
pub mod sqlite;
pub mod text;
mod thrift;

pub use forms::{Fill, TABLE_FORMS, TableForm, TableHead, table_form};

use crate::budget;
use crate::hash::UntrustedState;
use hashbrown::HashTable;
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::io;
use std::sync::LazyLock;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Real,
    Bool,
    Text,
}

impl Kind {
    /// The type in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            Kind::Int => "INTEGER",
            Kind::Real => "REAL",
            Kind::Bool => "BOOLEAN",
            Kind::Text => "TEXT",
        }
    }
}

/// The schema of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: Cow<'static, str>,
    pub kind: Kind,
    /// The unit of a number, such as `ps`; empty if it is a count or a name.
    pub unit: &'static str,
    /// The column may contain NULL: unknown, or not applicable.
    pub nullable: bool,
    pub about: Cow<'static, str>,
}

/// Receives the rows of a table, batch by batch.
pub trait BatchSink {
    fn batch(&mut self, batch: &Batch) -> io::Result<()>;
}

/// Some rows of a table.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub columns: Vec<Column>,
    rows: usize,
}

/// The cells of one column.
#[derive(Clone, Debug)]
pub enum Column {
    Ints(Cells<i64>),
    Reals(Cells<f64>),
    Bools(Cells<bool>),
    /// Indices into the dictionary.
    Texts(Cells<u32>, Dictionary),
}

/// Values with nulls.
#[derive(Clone, Debug, Default)]
pub struct Cells<T> {
    /// The values; arbitrary where a cell is null.
    pub values: Vec<T>,
    /// For each row, whether it is null; trailing `false` may be omitted.
    missing: Vec<bool>,
    pub nulls: usize,
}

/// Interned strings.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    text: String,
    ends: Vec<usize>,
    table: HashTable<(u64, u32)>,
    /// String indices by the caller's key.
    by_key: Vec<u32>,
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    Null,
    Int(i64),
    Real(f64),
    Bool(bool),
    Text(&'a str),
}

/// Rows per batch: enough for dictionaries to pay off, few enough to hold in memory.
const BATCH_ROWS: usize = 1 << 18;
/// A batch is also full once its strings reach this many bytes.
const BATCH_TEXT: usize = 16 << 20;
const UNSET: u32 = u32::MAX;

impl<T: Copy + Default> Cells<T> {
    #[inline]
    pub fn push(&mut self, value: Option<T>) {
        let Some(value) = value else {
            self.missing.resize(self.values.len(), false);
            self.missing.push(true);
            self.nulls += 1;
            return self.values.push(T::default());
        };
        self.values.push(value);
    }

    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls > 0 && self.missing.get(row).copied().unwrap_or(false)
    }

    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        if self.is_null(row) { None } else { self.values.get(row).copied() }
    }

    /// The values that are not null.
    pub fn present(&self) -> Cow<'_, [T]> {
        if self.nulls == 0 {
            return Cow::Borrowed(&self.values);
        }
        (0..self.values.len()).filter_map(|row| self.get(row)).collect::<Vec<T>>().into()
    }

    fn clear(&mut self) {
        self.values.clear();
        self.missing.clear();
        self.nulls = 0;
    }
}

impl Dictionary {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    #[inline]
    pub fn get(&self, number: u32) -> &str {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }

    /// Interns a string and returns its index.
    pub fn intern(&mut self, text: &str) -> u32 {
        let hash = Dictionary::hash(text);
        let Dictionary { text: all, ends, table, .. } = self;
        let start = |at: usize| if at == 0 { 0 } else { ends[at - 1] };
        let is_it = |(known, number): &(u64, u32)| {
            let at = *number as usize;
            *known == hash && &all[start(at)..ends[at]] == text
        };
        if let Some((_, number)) = table.find(hash, is_it) {
            return *number;
        }
        budget::check();
        let number = ends.len() as u32;
        all.push_str(text);
        ends.push(all.len());
        table.insert_unique(hash, (hash, number), |(hash, _)| *hash);
        number
    }

    /// The index of a string, if it is interned.
    pub fn find(&self, text: &str) -> Option<u32> {
        let hash = Dictionary::hash(text);
        let found = self.table.find(hash, |(known, number)| *known == hash && self.get(*number) == text);
        found.map(|(_, number)| *number)
    }

    fn hash(text: &str) -> u64 {
        // One seed for the process: equal texts of two batches need not have equal hashes, but it costs nothing.
        static SEED: LazyLock<UntrustedState> = LazyLock::new(UntrustedState::default);
        SEED.hash_one(text)
    }

    /// The index of a key's string, which is computed once per key.
    #[inline]
    fn intern_key<'t>(&mut self, key: u32, text: impl FnOnce() -> &'t str) -> u32 {
        match self.by_key.get(key as usize) {
            Some(known) if *known != UNSET => *known,
            _ => {
                let number = self.intern(text());
                if key as usize >= self.by_key.len() {
                    self.by_key.resize(key as usize + 1, UNSET);
                }
                self.by_key[key as usize] = number;
                number
            }
        }
    }

    /// The rank of each string in byte order.
    pub fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_unstable_by(|a, b| self.get(*a).cmp(self.get(*b)));
        let mut ranks = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(number, rank)| ranks[*number as usize] = rank);
        ranks
    }

    fn clear(&mut self) {
        *self = Dictionary::default();
    }
}

impl Column {
    fn new(kind: Kind) -> Column {
        match kind {
            Kind::Int => Column::Ints(Cells::default()),
            Kind::Real => Column::Reals(Cells::default()),
            Kind::Bool => Column::Bools(Cells::default()),
            Kind::Text => Column::Texts(Cells::default(), Dictionary::default()),
        }
    }

    #[inline]
    pub fn datum(&self, row: usize) -> Datum<'_> {
        match self {
            Column::Ints(cells) => cells.get(row).map_or(Datum::Null, Datum::Int),
            Column::Reals(cells) => cells.get(row).map_or(Datum::Null, Datum::Real),
            Column::Bools(cells) => cells.get(row).map_or(Datum::Null, Datum::Bool),
            Column::Texts(cells, texts) => cells.get(row).map_or(Datum::Null, |text| Datum::Text(texts.get(text))),
        }
    }

    pub fn nulls(&self) -> usize {
        match self {
            Column::Ints(cells) => cells.nulls,
            Column::Reals(cells) => cells.nulls,
            Column::Bools(cells) => cells.nulls,
            Column::Texts(cells, _) => cells.nulls,
        }
    }

    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Column::Ints(cells) => cells.is_null(row),
            Column::Reals(cells) => cells.is_null(row),
            Column::Bools(cells) => cells.is_null(row),
            Column::Texts(cells, _) => cells.is_null(row),
        }
    }

    fn clear(&mut self) {
        match self {
            Column::Ints(cells) => cells.clear(),
            Column::Reals(cells) => cells.clear(),
            Column::Bools(cells) => cells.clear(),
            Column::Texts(cells, texts) => {
                cells.clear();
                texts.clear();
            }
        }
    }
}

impl Batch {
    pub fn new(fields: &[Field]) -> Batch {
        Batch { columns: fields.iter().map(|field| Column::new(field.kind)).collect(), rows: 0 }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Begins the next row; its cells are pushed in column order.
    #[inline]
    pub fn row(&mut self) -> RowWriter<'_> {
        budget::check();
        self.rows += 1;
        RowWriter { columns: self.columns.iter_mut() }
    }

    /// Whether the batch is full.
    pub fn is_full(&self) -> bool {
        let text = |column: &Column| if let Column::Texts(_, texts) = column { texts.text.len() } else { 0 };
        self.rows >= BATCH_ROWS || self.columns.iter().map(text).sum::<usize>() >= BATCH_TEXT
    }

    /// Flushes the batch if it is full.
    #[inline]
    pub fn flush_if_full(&mut self, sink: &mut dyn BatchSink) -> io::Result<()> {
        // Summing all dictionaries for every row would be slow.
        if self.rows.is_multiple_of(256) && self.is_full() { self.flush(sink) } else { Ok(()) }
    }

    /// Flushes the pending rows, if any.
    pub fn flush(&mut self, sink: &mut dyn BatchSink) -> io::Result<()> {
        if self.rows > 0 {
            sink.batch(self)?;
        }
        self.rows = 0;
        self.columns.iter_mut().for_each(Column::clear);
        Ok(())
    }
}

/// Pushes the cells of one row, column by column.
#[derive(Debug)]
pub struct RowWriter<'b> {
    columns: std::slice::IterMut<'b, Column>,
}

impl RowWriter<'_> {
    #[inline]
    pub fn int(&mut self, value: impl Into<Option<i64>>) -> &mut Self {
        if let Some(Column::Ints(cells)) = self.columns.next() {
            cells.push(value.into());
        }
        self
    }

    pub fn real(&mut self, value: impl Into<Option<f64>>) -> &mut Self {
        if let Some(Column::Reals(cells)) = self.columns.next() {
            cells.push(value.into());
        }
        self
    }

    pub fn bool(&mut self, value: impl Into<Option<bool>>) -> &mut Self {
        if let Some(Column::Bools(cells)) = self.columns.next() {
            cells.push(value.into());
        }
        self
    }

    pub fn text<'t>(&mut self, text: impl Into<Option<&'t str>>) -> &mut Self {
        if let Some(Column::Texts(cells, texts)) = self.columns.next() {
            cells.push(text.into().map(|text| texts.intern(text)));
        }
        self
    }

    /// A string that the caller identifies by a key: equal keys are equal strings.
    #[inline]
    pub fn keyed<'t>(&mut self, key: Option<u32>, text: impl FnOnce(u32) -> &'t str) -> &mut Self {
        if let Some(Column::Texts(cells, texts)) = self.columns.next() {
            cells.push(key.map(|key| texts.intern_key(key, || text(key))));
        }
        self
    }

    /// A cell of any type; NULL if its type is not the column's.
    pub fn datum(&mut self, datum: Datum<'_>) -> &mut Self {
        match (self.columns.next(), datum) {
            (Some(Column::Ints(cells)), Datum::Int(n)) => cells.push(Some(n)),
            (Some(Column::Reals(cells)), Datum::Real(x)) => cells.push(Some(x)),
            (Some(Column::Reals(cells)), Datum::Int(n)) => cells.push(Some(n as f64)),
            (Some(Column::Bools(cells)), Datum::Bool(is)) => cells.push(Some(is)),
            (Some(Column::Texts(cells, texts)), Datum::Text(text)) => cells.push(Some(texts.intern(text))),
            (Some(Column::Ints(cells)), _) => cells.push(None),
            (Some(Column::Reals(cells)), _) => cells.push(None),
            (Some(Column::Bools(cells)), _) => cells.push(None),
            (Some(Column::Texts(cells, _)), _) => cells.push(None),
            (None, _) => {}
        }
        self
    }
}

/// Collects all batches into one.
#[derive(Debug, Default)]
pub struct Collected {
    pub all: Batch,
}

impl Collected {
    pub fn new(fields: &[Field]) -> Collected {
        Collected { all: Batch::new(fields) }
    }
}

impl BatchSink for Collected {
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        if self.all.rows == 0 {
            self.all = batch.clone();
            return Ok(());
        }
        for (all, more) in self.all.columns.iter_mut().zip(&batch.columns) {
            budget::check();
            match (all, more) {
                (Column::Ints(all), Column::Ints(more)) => (0..batch.rows).for_each(|row| all.push(more.get(row))),
                (Column::Reals(all), Column::Reals(more)) => (0..batch.rows).for_each(|row| all.push(more.get(row))),
                (Column::Bools(all), Column::Bools(more)) => (0..batch.rows).for_each(|row| all.push(more.get(row))),
                (Column::Texts(all, texts), Column::Texts(more, other)) => {
                    let number: Vec<u32> = (0..other.len() as u32).map(|at| texts.intern(other.get(at))).collect();
                    (0..batch.rows).for_each(|row| all.push(more.get(row).map(|text| number[text as usize])));
                }
                _ => {}
            }
        }
        self.all.rows += batch.rows;
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Datum::{Int, Null, Text};
    use super::*;

    pub fn field(name: &'static str, kind: Kind) -> Field {
        Field { name: name.into(), kind, unit: "", nullable: true, about: "".into() }
    }

    #[test]
    fn batches_become_one() {
        let fields = [field("n", Kind::Int), field("t", Kind::Text)];
        let mut all = Collected::default();
        let mut batch = Batch::new(&fields);
        for (n, text) in [(Some(1), Some("b")), (None, Some("a"))] {
            batch.row().int(n).text(text);
        }
        batch.flush(&mut all).unwrap();
        batch.row().int(3).text(None);
        batch.row().int(4).text("a");
        batch.flush(&mut all).unwrap();
        let rows: Vec<_> = (0..all.all.rows()).map(|row| [0, 1].map(|at| all.all.columns[at].datum(row))).collect();
        assert_eq!(rows, [[Int(1), Text("b")], [Null, Text("a")], [Int(3), Null], [Int(4), Text("a")]]);
    }

    #[test]
    fn ranks_are_places_in_the_order_of_bytes() {
        let mut texts = Dictionary::default();
        for text in ["b", "", "ä", "a"] {
            texts.intern(text);
        }
        assert_eq!(texts.ranks(), [2, 0, 3, 1]);
        assert_eq!(texts.intern("ä"), 2);
    }
}
