//! Advice as text, as an `AdviceProto` and as JSON.

use super::Advice;
use crate::error::Warning;
use crate::json::{self, Level};
use crate::quirks::Quirks;
use serde::Serialize;
use std::io::{self, Write};
use tfprof_proto::fields::advice::{self, checker};
use tfprof_proto::fields::map_entry;
use tfprof_proto::write as pb;

/// Writes advice as text, one block per checker; without notes under the original's quirks.
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

/// Writes advice as an `AdviceProto`, sorted by name; under the original's quirks, only its own checkers.
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

const LINES: &[Level] = &[Level { keys: &["warnings", "columns", "rows"], rows: &["warnings", "rows"] }];

#[derive(Serialize)]
struct ReportJson<'a> {
    version: u32,
    command: &'static str,
    warnings: &'a [Warning],
    columns: [&'static str; 3],
    rows: &'a [Advice],
}

/// Writes advice as JSON: one row per checker, with its reports and notes. `warnings` are those of loading.
pub fn write_json(advice: &[Advice], warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    let columns = ["name", "reports", "notes"];
    json::write_report(&ReportJson { version: 1, command: "advise", warnings, columns, rows: advice }, LINES, out)
}
