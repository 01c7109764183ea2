//! The documentation page about FLOPs: the convention, and the formulas as a table.

use super::{Count, FORMULAS, Formula, Io};
use std::io::{self, Write};

/// The convention, and the terms of the table.
const HEAD: &str = "\
# How float operations are counted

<!-- Written by `tfprof man flops`; a test compares. Change the formulas in the source, not this page. -->

1. A multiply-add is two float operations, and one of `macs`, which counts nothing but products of matrices and
   convolutions.
2. Arithmetic, comparison and logic are one for each element, whatever the type; so is an elementary function such as
   `Exp`, `Log`, `Sqrt` or `Tanh`. Functions that are made of others count their parts, as the table says.
3. Data movement, shapes, control, random numbers, strings and files are zero by definition, and count as covered.
4. The 46 ops that the original counts, marked \u{25cf}, have the original's figures, with two differences: a transposed first
   operand of `BatchMatMul` is noticed, and layouts with channels first are counted. `-original_quirks` infers nothing.
5. An op without a formula, or with a shape that is not known, is one of `unknown_ops`, never a silent zero.

`io_bytes` are the bytes of what an op reads and writes, by the shapes and types of its inputs and outputs; variables
behind handles count as what they hold, and tensors of unknown shape as nothing. Ops that hand on what they get, such as
`Identity` and `Reshape`, move nothing.

Shapes come from the graph: from what it states (`_output_shapes`), from the rules of its ops, which follow constants
and the arithmetic on shapes, from runs that are loaded, and from `--input NAME=1x224x224x3`. Leading dimensions that
are left open are one number, the batch: `--batch N`, 1 if it is not said. Where an op log has float operations, it is
the only source of them.

## Formulas

N(x) is the number of elements of a tensor; in0, in1, … are the inputs and out is the first output. A dot behind an op
marks those that the original counts.

";

/// Writes the page about FLOPs.
pub fn write_page(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(HEAD.as_bytes())?;
    write_table(out)
}

/// Writes all formulas, family by family.
fn write_table(out: &mut dyn Write) -> io::Result<()> {
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

/// Ops sorted by name; those that are counted as the original does are marked.
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
