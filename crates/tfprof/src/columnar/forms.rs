//! [`TABLE_FORMS`]: the output forms of tables. `render::FORMS` lists their names and file extensions as well.

use super::arrow::ArrowWriter;
use super::parquet::ParquetWriter;
use super::text::{self, CsvWriter, JsonWriter, MarkdownWriter};
use super::{BatchSink, Field};
use std::io::{self, Write};

/// The name and the columns of a table, and its origin as metadata.
#[derive(Clone, Debug)]
pub struct TableHead<'t> {
    pub name: &'t str,
    pub fields: &'t [Field],
    pub metadata: Vec<(String, String)>,
}

/// Writes all rows of a table to a sink.
pub type Fill<'f> = &'f mut dyn FnMut(&mut dyn BatchSink) -> io::Result<()>;

/// An output form of tables.
#[derive(Debug)]
pub struct TableForm {
    pub word: &'static str,
    pub write: fn(&TableHead<'_>, Fill<'_>, &mut dyn Write) -> io::Result<()>,
}

/// All output forms of tables. The first is plain text.
pub const TABLE_FORMS: &[TableForm] = &[
    TableForm { word: crate::options::Output::TEXT, write: |head, fill, out| text::write(head, None, fill, out) },
    TableForm {
        word: "json",
        write: |head, fill, out| {
            let mut writer = JsonWriter::new(head, out)?;
            fill(&mut writer)?;
            writer.finish()
        },
    },
    TableForm { word: "csv", write: |head, fill, out| fill(&mut CsvWriter::new(head, out)?) },
    TableForm { word: "markdown", write: |head, fill, out| fill(&mut MarkdownWriter::new(head, out)?) },
    TableForm {
        word: "parquet",
        write: |head, fill, out| {
            let mut writer = ParquetWriter::new(out, head.fields, head.metadata.clone())?;
            fill(&mut writer)?;
            writer.finish().map(drop)
        },
    },
    TableForm {
        word: "arrow",
        write: |head, fill, out| {
            let mut writer = ArrowWriter::new(out, head.fields, &head.metadata)?;
            fill(&mut writer)?;
            writer.finish()
        },
    },
    #[cfg(feature = "sql")]
    TableForm { word: "sqlite", write: super::sqlite::write_one },
];

/// Looks up a form by its name.
pub fn table_form(word: &str) -> Option<&'static TableForm> {
    TABLE_FORMS.iter().find(|form| form.word == word)
}
