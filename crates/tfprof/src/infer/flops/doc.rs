//! The documentation page about FLOPs: the convention, and the formulas as a table.

use super::{Count, FORMULAS, Formula, Io};
use crate::model::dialects::DIALECTS;
use std::io::{self, Write};

/// The convention, and the terms of the table.
const HEAD: &str = "\
# How FLOPs are counted

<!-- Written by `tfprof man flops`; a test compares. Change the formulas in the source, not this page. -->

1. A multiply-add is two FLOPs and one of `macs`. `macs` counts only matrix products and convolutions.
2. Arithmetic, comparison and logic are one FLOP per element, whatever the type. So is an elementary function such as
   `Exp`, `Log`, `Sqrt` or `Tanh`. Composite functions count their parts, as the table shows.
3. Data movement, shapes, control flow, random numbers, strings and files are zero by definition, and count as covered.
4. The 46 ops that the original counts, marked \u{25cf}, have the original's figures, with two exceptions: we respect a
   transposed first operand of `BatchMatMul`, and we count layouts with channels first. `-original_quirks` infers
   nothing: only the op log counts.
5. An op without a formula, or with an unknown shape, is one of `unknown_ops`, never a silent zero.

`io_bytes` are the bytes that an op reads and writes, computed from the shapes and types of its inputs and outputs. A
handle counts as the variable behind it. Tensors of unknown shape count as 0. Ops that pass on their input, such as
`Identity` and `Reshape`, move nothing.

Shapes come from shape inference, which also evaluates constants and arithmetic on shapes; where it knows none, from the
graph's `_output_shapes`; from the loaded runs, and from `--input NAME=1x224x224x3`. If inference and `_output_shapes`
contradict each other, a warning names both. All unknown leading dimensions of inputs are the same number, the batch:
`--batch N`, 1 by default. A figure in an op log overrides the computed one of its node; a node that the log leaves out,
or gives 0, is computed.

## Formulas

N(x) is the number of elements of a tensor; in0, in1, … are the inputs and out is the first output. A dot after an op
means that the original counts it.

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
        let others: Vec<String> = family.iter().map(names_in_dialects).collect();
        let has_others = others.iter().any(|names| !names.is_empty());
        writeln!(out, "| ops |{} FLOPs | bytes |", if has_others { " in other files |" } else { "" })?;
        writeln!(out, "|---|{}---|---|", if has_others { "---|" } else { "" })?;
        for (formula, names) in family.iter().zip(others) {
            let names = if has_others { format!(" {names} |") } else { String::new() };
            writeln!(out, "| {} |{names} {} | {} |", ops(formula), count(formula), bytes(formula))?;
        }
    }
    Ok(())
}

/// The ops, sorted by name, with a mark if the original counts them.
fn ops(formula: &Formula) -> String {
    let mut ops = formula.ops.to_vec();
    ops.sort_unstable();
    let mark = if formula.original { " ●" } else { "" };
    ops.iter().map(|op| format!("`{op}`{mark}")).collect::<Vec<_>>().join(", ")
}

/// The names of the ops in each dialect besides TensorFlow's.
fn names_in_dialects(formula: &Formula) -> String {
    let is_one = |lowered: &&str| formula.ops.contains(lowered);
    let names = DIALECTS.iter().filter_map(|dialect| {
        let all = dialect.ops.iter().filter(|(_, lowered)| lowered.iter().any(is_one));
        let all: Vec<String> = all.map(|(op, _)| format!("`{op}`")).collect();
        (!all.is_empty()).then(|| format!("{}: {}", dialect.name, all.join(", ")))
    });
    names.collect::<Vec<_>>().join("; ")
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
        Io::Indexed => "2 · gathered or scattered elements, and the indices".to_owned(),
        Io::Updates(1) => "in, and in0 again".to_owned(),
        Io::Updates(state) => format!("in, and in0 … in{} again", state - 1),
    }
}
