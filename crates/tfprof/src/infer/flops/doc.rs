//! The formulas as a table in Markdown, for the documentation.

use super::{Count, FORMULAS, Formula, Io};
use std::io::{self, Write};

/// Writes all formulas, family by family.
pub fn write_table(out: &mut dyn Write) -> io::Result<()> {
    for (at, (title, family)) in FORMULAS.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "### {title}\n")?;
        writeln!(out, "| ops | float operations | bytes |")?;
        writeln!(out, "|---|---|---|")?;
        for formula in *family {
            writeln!(out, "| {} | {} | {} |", ops(formula), count(formula), bytes(formula))?;
        }
    }
    Ok(())
}

/// Ops in the order of their names; those whose figures are the original's are marked.
fn ops(formula: &Formula) -> String {
    let mut ops = formula.ops.to_vec();
    ops.sort_unstable();
    let mark = if formula.original { " ●" } else { "" };
    ops.iter().map(|op| format!("`{op}`{mark}")).collect::<Vec<_>>().join(", ")
}

fn count(formula: &Formula) -> String {
    let each = |times: i64, of: &str| if times == 1 { of.to_owned() } else { format!("{times} · {of}") };
    match formula.count {
        Count::In(times) => each(times, "N(in0)"),
        Count::Out(times) => each(times, "N(out)"),
        Count::Reduce => "N(in0) − N(out)".to_owned(),
        Count::Zero => "0".to_owned(),
        Count::By(_, text) => text.to_owned(),
    }
}

fn bytes(formula: &Formula) -> String {
    match formula.io {
        Io::All => "in + out".to_owned(),
        Io::None => "0".to_owned(),
        Io::Picks => "2 · what is picked or placed, and the indices".to_owned(),
        Io::Updates(1) => "in, and in0 again".to_owned(),
        Io::Updates(state) => format!("in, and in0 … in{} again", state - 1),
    }
}
