//! A table as many files, by the values of some of its columns: `host=a/step=3/part-0.parquet`, as Hive, Spark, DuckDB,
//! polars and pyarrow read them. Memory is bounded: when it is full, the largest partitions are written.

use super::{Batch, BatchSink, Column, Field};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

/// Writes one file: its path below the table's directory, and its rows.
pub type WritePart<'w> = &'w mut dyn FnMut(&str, &[Field], &Batch) -> io::Result<()>;

/// Partitions rows by the values of some columns. Call [`finish`](Partitioned::finish) after the last batch.
pub struct Partitioned<'w> {
    names: Vec<String>,
    /// The columns that name the directories.
    by: Vec<usize>,
    /// The remaining columns, which go into the files.
    fields: Vec<Field>,
    parts: BTreeMap<String, Part>,
    held: usize,
    write: WritePart<'w>,
}

#[derive(Default)]
struct Part {
    rows: Batch,
    files: usize,
}

/// The maximum number of rows in memory.
const MOST_ROWS: usize = 1 << 18;
/// Hive's name for NULL.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

impl<'w> Partitioned<'w> {
    /// `by` names columns of the table.
    pub fn new(fields: &[Field], by: &[&str], write: WritePart<'w>) -> Partitioned<'w> {
        let place = |name: &&str| fields.iter().position(|field| field.name == **name);
        let places: Vec<usize> = by.iter().filter_map(place).collect();
        let rest = fields.iter().enumerate().filter(|(at, _)| !places.contains(at)).map(|(_, field)| field.clone());
        Partitioned {
            names: places.iter().map(|at| fields[*at].name.to_string()).collect(),
            fields: rest.collect(),
            by: places,
            parts: BTreeMap::new(),
            held: 0,
            write,
        }
    }

    /// Writes the remaining rows.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_beyond(0)
    }

    /// Writes the largest partitions until at most `most` rows are buffered.
    fn write_beyond(&mut self, most: usize) -> io::Result<()> {
        let mut sizes: Vec<(usize, String)> =
            self.parts.iter().map(|(path, part)| (part.rows.rows(), path.clone())).collect();
        sizes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        for (rows, path) in sizes {
            if self.held <= most || rows == 0 {
                break;
            }
            let Some(part) = self.parts.get_mut(&path) else { continue };
            (self.write)(&format!("{path}part-{}", part.files), &self.fields, &part.rows)?;
            part.files += 1;
            part.rows = Batch::default();
            self.held -= rows;
        }
        Ok(())
    }

    fn path(&self, batch: &Batch, row: usize) -> String {
        let mut path = String::new();
        for (name, at) in self.names.iter().zip(&self.by) {
            let _ = write!(path, "{name}=");
            match batch.columns[*at].datum(row) {
                super::Datum::Text(text) => escape(text, &mut path),
                super::Datum::Int(number) => drop(write!(path, "{number}")),
                super::Datum::Bool(is) => drop(write!(path, "{is}")),
                super::Datum::Real(_) | super::Datum::Null => path.push_str(NULL),
            }
            path.push('/');
        }
        path
    }
}

impl std::fmt::Debug for Partitioned<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partitioned").field("names", &self.names).finish_non_exhaustive()
    }
}

impl BatchSink for Partitioned<'_> {
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        let same =
            |a: usize, b: usize| self.by.iter().all(|at| batch.columns[*at].datum(a) == batch.columns[*at].datum(b));
        let mut start = 0;
        while start < batch.rows() {
            // Neighbours mostly belong together.
            let run = (start + 1..batch.rows()).take_while(|row| same(start, *row)).count() + 1;
            let path = self.path(batch, start);
            let part = self.parts.entry(path).or_default();
            if part.rows.columns.is_empty() {
                part.rows = Batch::new(&self.fields);
            }
            let kept: Vec<&Column> = batch
                .columns
                .iter()
                .enumerate()
                .filter(|(at, _)| !self.by.contains(at))
                .map(|(_, cells)| cells)
                .collect();
            for row in start..start + run {
                let mut cells = part.rows.row();
                for column in &kept {
                    cells.datum(column.datum(row));
                }
            }
            self.held += run;
            start += run;
        }
        if self.held >= MOST_ROWS { self.write_beyond(MOST_ROWS / 2) } else { Ok(()) }
    }
}

/// Escapes a value for a directory name, as Hive does: readers undo `%2F`.
fn escape(text: &str, out: &mut String) {
    if text.is_empty() || text == NULL {
        // Hive has no name for an empty text.
        return out.push_str(NULL);
    }
    for (at, byte) in text.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && at > 0);
        if is_plain {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::super::tests::field;
    use super::*;

    #[test]
    fn rows_go_to_the_directory_of_their_values() {
        let fields = [field("host", Kind::Text), field("n", Kind::Int), field("step", Kind::Int)];
        let mut batch = Batch::new(&fields);
        for (host, n, step) in
            [("a", 1, Some(0)), ("a", 2, Some(1)), ("../b", 3, Some(0)), ("a", 4, Some(0)), ("a", 5, None)]
        {
            batch.row().text(host).int(n).int(step);
        }
        let mut files = Vec::new();
        let mut write = |path: &str, fields: &[Field], rows: &Batch| {
            assert_eq!(fields.len(), 1);
            let numbers: Vec<String> =
                (0..rows.rows()).map(|row| format!("{:?}", rows.columns[0].datum(row))).collect();
            files.push(format!("{path} {}", numbers.join(" ")));
            Ok(())
        };
        let mut parts = Partitioned::new(&fields, &["host", "step"], &mut write);
        parts.batch(&batch).unwrap();
        parts.write_beyond(0).unwrap();
        parts.batch(&batch).unwrap();
        parts.finish().unwrap();
        assert_eq!(
            files[..4],
            [
                "host=a/step=0/part-0 Int(1) Int(4)",
                "host=%2E.%2Fb/step=0/part-0 Int(3)",
                "host=a/step=1/part-0 Int(2)",
                "host=a/step=__HIVE_DEFAULT_PARTITION__/part-0 Int(5)",
            ]
        );
        assert_eq!(files[4], "host=a/step=0/part-1 Int(1) Int(4)");
        assert_eq!(files.len(), 8);
    }
}
