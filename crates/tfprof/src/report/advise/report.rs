//! Advice as text, as an `AdviceProto` and as JSON.

use super::Advice;
use crate::error::Warning;
use crate::json::{write_string, write_warning};
use crate::quirks::Quirks;
use std::io::{self, Write};
use tfprof_proto::fields::advice::{self, checker};
use tfprof_proto::fields::map_entry;
use tfprof_proto::write as pb;

/// Writes advice as text: a block for each checker. Notes are part of it unless the original's quirks are asked for.
pub fn write_text(advice: &[Advice], quirks: Quirks, out: &mut dyn Write) -> io::Result<()> {
    for advice in advice {
        writeln!(out, "\n{}:", advice.checker)?;
        for report in &advice.reports {
            writeln!(out, "{report}")?;
        }
        if quirks == Quirks::ORIGINAL {
            continue;
        }
        for note in &advice.notes {
            writeln!(out, "({note})")?;
        }
        if advice.reports.is_empty() && advice.notes.is_empty() {
            writeln!(out, "(nothing stands out)")?;
        }
    }
    Ok(())
}

/// Writes advice as an `AdviceProto`, with its entries by name. As the original: none of ours if its quirks are on.
pub fn write_proto(advice: &[Advice], quirks: Quirks, out: &mut dyn Write) -> io::Result<()> {
    let mut entries: Vec<_> = advice.iter().filter(|advice| advice.original || quirks != Quirks::ORIGINAL).collect();
    entries.sort_by_key(|advice| advice.checker);
    let mut bytes = Vec::new();
    for advice in entries {
        pb::message(&mut bytes, advice::CHECKERS, |out| {
            pb::element(out, map_entry::KEY, advice.checker.as_bytes());
            pb::message(out, map_entry::VALUE, |out| {
                advice.reports.iter().for_each(|report| pb::element(out, checker::REPORTS, report.as_bytes()));
            });
        });
    }
    out.write_all(&bytes)
}

/// Writes advice in the shape of all JSON: one row for each checker, with what it reports and what it could not look
/// at. `warnings` are those of loading.
pub fn write_json(advice: &[Advice], warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"version\":1,\"command\":\"advise\",\n\"warnings\":[")?;
    for (i, warning) in warnings.iter().enumerate() {
        out.write_all(if i > 0 { b",\n" } else { b"\n" })?;
        write_warning(warning, out)?;
    }
    out.write_all(b"],\n\"columns\":[\"name\",\"reports\",\"notes\"],\n\"rows\":[")?;
    for (i, advice) in advice.iter().enumerate() {
        write!(out, "{}\n{{\"name\":\"{}\"", if i > 0 { "," } else { "" }, advice.checker)?;
        for (key, sentences) in [("reports", &advice.reports), ("notes", &advice.notes)] {
            write!(out, ",\"{key}\":[")?;
            for (i, sentence) in sentences.iter().enumerate() {
                out.write_all(if i > 0 { b"," } else { b"" })?;
                write_string(sentence, out)?;
            }
            out.write_all(b"]")?;
        }
        out.write_all(b"}")?;
    }
    out.write_all(b"]}\n")
}
