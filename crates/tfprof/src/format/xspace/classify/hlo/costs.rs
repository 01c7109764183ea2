//! The cost of one run of an XLA instruction: FLOPs by formula, bytes by the shapes that it reads and writes, category.
//!
//! The formulas are those of `infer/flops`, as far as ops correspond: an elementary function is one FLOP, a multiply-add
//! two, a conversion or a selection none. A fusion is the sum of its parts and touches memory only at its edges.

use super::module::{Array, Computation, Instruction, Module, product, read_numbers};
use super::{convolution, custom_calls, each};
use crate::events::OpCost;
use tfprof_proto::fields::dot_dimension_numbers;

/// Calls `then` for each instruction of a program, with its name, its cost and its category.
pub fn each_cost<'a>(module: &Module<'a>, mut then: impl FnMut(&'a [u8], OpCost, String)) {
    let mut wholes: Vec<Option<Whole>> = module.computations.iter().map(|_| None).collect();
    for at in callees_first(module) {
        let computation = &module.computations[at];
        let mut flops = Some(0_i64);
        for instruction in &computation.instructions {
            let view = Costing { module, wholes: &wholes, instruction };
            let cost = OpCost { flops: view.flops(), bytes: view.bytes(), precision: None };
            flops = flops.zip(cost.flops).map(|(sum, more)| sum.saturating_add(more));
            then(instruction.name, cost, category(instruction));
        }
        wholes[at] = Some(Whole { flops, reads: reads(module, computation), writes: writes(module, computation) });
    }
}

/// A computation as its callers see it.
#[derive(Debug)]
struct Whole {
    flops: Option<i64>,
    /// By parameter.
    reads: Vec<Read>,
    /// The bytes that its result takes, if that is less than the result.
    writes: Option<i64>,
}

/// The part of a parameter that a computation reads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Read {
    /// Only slices, of so many bytes.
    Slices(i64),
    All,
}

/// The computations, those that are called before their callers. No recursion: programs may be nested deeply.
fn callees_first(module: &Module<'_>) -> Vec<usize> {
    let mut order = Vec::with_capacity(module.computations.len());
    let mut seen = vec![false; module.computations.len()];
    let called = |at: usize| {
        let instructions = module.computations[at].instructions.iter();
        instructions.flat_map(|instruction| &instruction.called).filter_map(|id| module.computation(*id))
    };
    for start in 0..module.computations.len() {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut open = vec![(start, called(start))];
        while let Some((at, left)) = open.last_mut() {
            match left.next() {
                Some(next) if std::mem::replace(&mut seen[next], true) => {}
                Some(next) => open.push((next, called(next))),
                None => {
                    order.push(*at);
                    open.pop();
                }
            }
        }
    }
    order
}

fn reads(module: &Module<'_>, computation: &Computation<'_>) -> Vec<Read> {
    let parameters = computation.instructions.iter().filter(|instruction| instruction.opcode == "parameter").count();
    let mut reads = vec![Read::Slices(0); parameters];
    for user in &computation.instructions {
        for (at, operand) in user.operands.iter().enumerate() {
            let Some(parameter) = module.instruction(*operand).filter(|source| source.opcode == "parameter") else {
                continue;
            };
            let Some(read) = reads.get_mut(parameter.parameter) else { continue };
            let part = match user.opcode {
                "slice" | "dynamic-slice" | "gather" if at == 0 => user.shape.bytes(),
                // In place: only the slice is touched, as output.
                "dynamic-update-slice" | "scatter" if at == 0 => Some(0),
                "get-tuple-element" => Some(0),
                _ => None,
            };
            *read = match (*read, part) {
                (Read::Slices(sum), Some(part)) => Read::Slices(sum.saturating_add(part)),
                _ => Read::All,
            };
        }
    }
    reads
}

/// The bytes that a computation writes if its root updates a part of something.
fn writes(module: &Module<'_>, computation: &Computation<'_>) -> Option<i64> {
    let root = module.instruction(computation.root)?;
    let updated = |instruction: &Instruction<'_>| {
        let update = match instruction.opcode {
            "dynamic-update-slice" => 1,
            "scatter" => 2,
            _ => return None,
        };
        module.array(instruction, update).and_then(Array::bytes)
    };
    if root.opcode != "tuple" {
        return updated(root);
    }
    root.operands.iter().try_fold(0, |sum: i64, operand| {
        let part = module.instruction(*operand)?;
        Some(sum.saturating_add(updated(part).or_else(|| part.shape.bytes())?))
    })
}

/// An instruction in its program.
struct Costing<'m, 'a> {
    module: &'m Module<'a>,
    wholes: &'m [Option<Whole>],
    instruction: &'m Instruction<'a>,
}

impl Costing<'_, '_> {
    fn flops(&self) -> Option<i64> {
        let instruction = self.instruction;
        let out = || instruction.shape.first()?.elements();
        let input = || self.module.array(instruction, 0)?.elements();
        let times = |count: Option<i64>, each: Option<i64>| Some(count?.saturating_mul(each?));
        match instruction.opcode {
            opcode if FREE.contains(&opcode) || MOVING.contains(&opcode) => Some(0),
            opcode if ARITHMETIC.contains(&opcode) => out(),
            "logistic" => times(out(), Some(4)),
            "dot" => self.dot(),
            "convolution" => convolution::flops(
                instruction.convolution,
                instruction.window,
                self.module.array(instruction, 0)?,
                self.module.array(instruction, 1)?,
                instruction.shape.first()?,
            ),
            "custom-call" => custom_calls::flops(self.module, instruction),
            "fusion" | "async-start" => self.called()?.flops,
            "map" => times(out(), self.called()?.flops),
            "reduce" => times(Some(input()?.saturating_sub(out()?).max(0)), self.called()?.flops),
            "all-reduce" | "all-reduce-start" => times(instruction.shape.elements(), self.called()?.flops),
            "reduce-scatter" => times(input(), self.called()?.flops),
            "reduce-window" => {
                let window: Vec<i64> = convolution::window(instruction.window)?.iter().map(|step| step.size).collect();
                times(times(out(), Some(product(&window)?.saturating_sub(1).max(0))), self.called()?.flops)
            }
            "scatter" => times(self.module.array(instruction, 2)?.elements(), self.called()?.flops),
            // One comparison for each element and level.
            "sort" | "topk" => times(input(), Some(log2_ceil(*self.module.array(instruction, 0)?.dims.last()?))),
            "fft" => {
                times(times(Some(5), Some(input()?.max(out()?))), Some(log2_ceil(product(&instruction.fft_length)?)))
            }
            "cholesky" => {
                let size = *instruction.shape.first()?.dims.last()?;
                Some(out()?.saturating_mul(size) / 3)
            }
            "triangular-solve" => times(out(), self.module.array(instruction, 0)?.dims.last().copied()),
            _ => None,
        }
    }

    fn dot(&self) -> Option<i64> {
        let mut summed = Vec::new();
        let read = each(self.instruction.dot, |number, value| {
            if number == dot_dimension_numbers::LHS_CONTRACTING_DIMENSIONS {
                read_numbers(value, &mut summed)?;
            }
            Ok(())
        });
        read.ok()?;
        let left = self.module.array(self.instruction, 0)?;
        let size = |dimension: &i64| left.dims.get(usize::try_from(*dimension).ok()?).copied();
        let sizes: Option<Vec<i64>> = summed.iter().map(size).collect();
        let out = self.instruction.shape.first()?.elements()?;
        Some(out.saturating_mul(product(&sizes?)?).saturating_mul(2))
    }

    fn called(&self) -> Option<&Whole> {
        let at = self.module.computation(*self.instruction.called.first()?)?;
        self.wholes[at].as_ref()
    }

    fn bytes(&self) -> Option<i64> {
        let instruction = self.instruction;
        let out = || instruction.shape.bytes();
        let operand = |at: usize| self.module.array(instruction, at)?.bytes();
        let twice = |n: Option<i64>| Some(n?.saturating_mul(2));
        match instruction.opcode {
            opcode if FREE.contains(&opcode) => Some(0),
            "slice" | "dynamic-slice" => twice(out()),
            "gather" => Some(twice(out())?.saturating_add(operand(1)?)),
            "dynamic-update-slice" => twice(operand(1)),
            "scatter" => Some(twice(operand(2))?.saturating_add(operand(1)?)),
            // Their result holds what they read and what they will have written.
            "copy-start" | "all-gather-start" | "collective-permute-start" | "async-start" => out(),
            "fusion" => self.fusion_bytes(),
            "custom-call" if custom_calls::is_free(instruction.target) => Some(0),
            "custom-call" if custom_calls::has_workspace(instruction.target) => {
                Some(self.read_bytes()?.saturating_add(instruction.shape.first()?.bytes()?))
            }
            "custom-call" if custom_calls::flops(self.module, instruction).is_none() => None,
            opcode if is_known(opcode) => Some(self.read_bytes()?.saturating_add(out()?)),
            _ => None,
        }
    }

    /// The bytes of all operands.
    fn read_bytes(&self) -> Option<i64> {
        let operands = self.instruction.operands.iter();
        operands
            .clone()
            .try_fold(0, |sum: i64, id| Some(sum.saturating_add(self.module.instruction(*id)?.shape.bytes()?)))
    }

    fn fusion_bytes(&self) -> Option<i64> {
        let whole = self.called()?;
        let mut bytes = whole.writes.or_else(|| self.instruction.shape.bytes())?;
        for (at, id) in self.instruction.operands.iter().enumerate() {
            let all = self.module.instruction(*id)?.shape.bytes()?;
            let read = match whole.reads.get(at) {
                Some(Read::Slices(some)) => all.min(*some),
                _ => all,
            };
            bytes = bytes.saturating_add(read);
        }
        Some(bytes)
    }
}

fn log2_ceil(n: i64) -> i64 {
    if n <= 1 { 0 } else { i64::from(64 - (n as u64 - 1).leading_zeros()) }
}

/// Instructions that neither compute nor move anything, and those whose parts run as instructions of their own.
#[rustfmt::skip]
const FREE: [&str; 22] = [
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "add-dependency", "opt-barrier",
    "optimization-barrier", "domain", "partition-id", "replica-id", "while", "call", "conditional", "copy-done",
    "all-reduce-done", "all-gather-done", "collective-permute-done", "async-done", "async-update",
    "get-dimension-size",
];

/// Instructions that move data without a float operation.
#[rustfmt::skip]
const MOVING: [&str; 39] = [
    "all-gather", "all-gather-start", "all-to-all", "bitcast-convert", "broadcast", "collective-broadcast",
    "collective-permute", "collective-permute-start", "complex", "concatenate", "convert", "copy", "copy-start",
    "dynamic-reshape", "dynamic-slice", "dynamic-update-slice", "gather", "imag", "infeed", "iota", "outfeed", "pad",
    "ragged-all-to-all", "real", "recv", "recv-done", "reduce-precision", "reshape", "reverse", "rng",
    "rng-bit-generator", "rng-get-and-update-state", "select", "send", "send-done", "set-dimension-size", "slice",
    "stochastic-convert", "transpose",
];

/// One FLOP an element.
#[rustfmt::skip]
const ARITHMETIC: [&str; 51] = [
    "abs", "acos", "acosh", "add", "and", "asin", "asinh", "atan2", "atanh", "cbrt", "ceil", "clamp", "compare",
    "cosh", "cosine", "count-leading-zeros", "divide", "erf", "exponential", "exponential-minus-one", "floor",
    "is-finite", "log", "log-plus-one", "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt", "power",
    "remainder", "round-nearest-afz", "round-nearest-even", "rsqrt", "shift-left", "shift-right-arithmetic",
    "shift-right-logical", "sign", "sine", "sinh", "sqrt", "subtract", "tan", "tanh", "xor", "clz", "round", "erfc",
    "atan",
];

/// Other instructions with a formula.
#[rustfmt::skip]
const OTHERS: [&str; 17] = [
    "logistic", "dot", "convolution", "custom-call", "fusion", "map", "reduce", "all-reduce", "all-reduce-start",
    "reduce-scatter", "reduce-window", "scatter", "sort", "topk", "fft", "cholesky", "triangular-solve",
];

fn is_known(opcode: &str) -> bool {
    [&FREE[..], &MOVING, &ARITHMETIC, &OTHERS].iter().any(|list| list.contains(&opcode))
}

/// The category of an instruction, as XLA names it.
fn category(instruction: &Instruction<'_>) -> String {
    let word = match instruction.opcode {
        "fusion" => match instruction.fusion_kind {
            "kLoop" => "loop fusion",
            "kInput" => "input fusion",
            "kOutput" => "output fusion",
            "kCustom" => "custom fusion",
            _ => "fusion",
        },
        "convolution" => match convolution::dilations(instruction.window) {
            [false, false] => "convolution",
            [true, false] => "convolution base-dilated",
            [false, true] => "convolution window-dilated",
            [true, true] => "convolution base-dilated window-dilated",
        },
        "transpose" | "copy" | "reshape" | "dynamic-reshape" => "data formatting",
        "logistic" | "convert" | "bitcast-convert" | "select" | "real" | "imag" | "complex" | "reduce-precision"
        | "stochastic-convert" | "map" => "non-fusion elementwise",
        opcode if ARITHMETIC.contains(&opcode) => "non-fusion elementwise",
        opcode => opcode,
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfprof_proto::write as pb;

    const F32: i64 = 11;
    const S8: i64 = 2;

    /// A program in parts: computations of instructions.
    #[derive(Default)]
    struct Source {
        module: Vec<u8>,
    }

    type Fields<'a> = &'a dyn Fn(&mut Vec<u8>);

    type Arrays<'a> = &'a [(i64, &'a [i64])];

    /// Id, name, opcode, shapes (several are a tuple), operands, called computations.
    type Line<'a> = (i64, &'a str, &'a str, Arrays<'a>, &'a [i64], &'a [i64], Fields<'a>);

    fn put_shape(out: &mut Vec<u8>, field: u32, shapes: Arrays<'_>) {
        pb::message(out, field, |shape| match shapes {
            [(kind, dims)] => {
                pb::int(shape, 2, *kind);
                pb::packed(shape, 3, dims);
            }
            shapes => {
                pb::int(shape, 2, 13);
                shapes.iter().for_each(|part| put_shape(shape, 4, &[*part]));
            }
        });
    }

    impl Source {
        fn computation(mut self, id: i64, root: i64, lines: &[Line<'_>]) -> Source {
            pb::message(&mut self.module, 3, |computation| {
                for (id, name, opcode, shapes, operands, called, more) in lines {
                    pb::message(computation, 2, |instruction| {
                        pb::bytes(instruction, 1, name.as_bytes());
                        pb::bytes(instruction, 2, opcode.as_bytes());
                        put_shape(instruction, 3, shapes);
                        more(instruction);
                        pb::int(instruction, 35, *id);
                        pb::packed(instruction, 36, operands);
                        pb::packed(instruction, 38, called);
                    });
                }
                pb::int(computation, 5, id);
                pb::int(computation, 6, root);
            });
            self
        }

        /// The cost and category of the instruction `x`.
        fn cost(&self) -> (Option<i64>, Option<i64>, String) {
            let module = Module::read(&self.module).unwrap();
            let mut found = None;
            each_cost(&module, |name, cost, category| {
                if name == b"x" {
                    found = Some((cost.flops, cost.bytes, category));
                }
            });
            found.expect("x")
        }
    }

    const NOTHING: Fields<'static> = &|_| {};

    fn known(flops: i64, bytes: i64, category: &str) -> (Option<i64>, Option<i64>, String) {
        (Some(flops), Some(bytes), category.to_owned())
    }

    fn two<'a>(a: Arrays<'a>, b: Arrays<'a>) -> [Line<'a>; 2] {
        [(1, "a", "parameter", a, &[], &[], NOTHING), (2, "b", "parameter", b, &[], &[], NOTHING)]
    }

    fn of_two(a: Arrays<'_>, b: Arrays<'_>, x: Line<'_>) -> (Option<i64>, Option<i64>, String) {
        let [a, b] = two(a, b);
        Source::default().computation(1, 3, &[a, b, x]).cost()
    }

    #[test]
    fn products_of_matrices_count_their_multiply_adds() {
        let dot: Fields<'_> = &|x| pb::message(x, 30, |dims| pb::packed(dims, 1, &[1]));
        let (a, b, out): (Arrays<'_>, Arrays<'_>, Arrays<'_>) =
            (&[(F32, &[4, 5])], &[(F32, &[5, 6])], &[(F32, &[4, 6])]);
        let cost = of_two(a, b, (3, "x", "dot", out, &[1, 2], &[], dot));
        assert_eq!(cost, known(2 * 4 * 5 * 6, 4 * (20 + 30 + 24), "dot"));
        // The library's call has a workspace, which is no output.
        let with_workspace: Arrays<'_> = &[(F32, &[4, 6]), (S8, &[1 << 20])];
        let gemm: Fields<'_> = &|x| {
            pb::bytes(x, 28, b"__cublas$gemm");
            pb::bytes(
                x,
                43,
                br#"{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}"#,
            );
        };
        let cost = of_two(a, b, (3, "x", "custom-call", with_workspace, &[1, 2], &[], gemm));
        assert_eq!(cost, known(2 * 4 * 5 * 6, 4 * (20 + 30 + 24), "custom-call"));
        let bare: Fields<'_> = &|x| pb::bytes(x, 28, b"my_gemm");
        assert_eq!(of_two(a, b, (3, "x", "custom-call", out, &[1, 2], &[], bare)).0, Some(2 * 4 * 5 * 6));
        let unknown: Fields<'_> = &|x| pb::bytes(x, 28, b"my_kernel");
        let cost = of_two(a, b, (3, "x", "custom-call", out, &[1, 2], &[], unknown));
        assert_eq!(cost, (None, None, "custom-call".to_owned()));
    }

    #[test]
    fn convolutions_cost_the_same_in_all_directions() {
        // Batch, features, width; a window of 3 with padding 1.
        let dims: Fields<'_> = &|x| {
            pb::message(x, 15, |window| {
                pb::message(window, 1, |step| {
                    [(1, 3), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)].iter().for_each(|(f, n)| pb::int(step, *f, *n));
                });
            });
            pb::message(x, 16, |numbers| {
                [(3, 1), (8, 1), (10, 1)].iter().for_each(|(field, n)| pb::int(numbers, *field, *n));
                [6, 11, 12].iter().for_each(|field| pb::packed(numbers, *field, &[2]));
            });
        };
        let (input, kernel, output): (Arrays<'_>, Arrays<'_>, Arrays<'_>) =
            (&[(F32, &[2, 5, 8])], &[(F32, &[7, 5, 3])], &[(F32, &[2, 7, 8])]);
        // Of 24 pairs of an output and a tap, two meet padding.
        let flops = 2 * (2 * 7) * 5 * 22;
        let bytes = 4 * (2 * 5 * 8 + 7 * 5 * 3 + 2 * 7 * 8);
        let cost = of_two(input, kernel, (3, "x", "convolution", output, &[1, 2], &[], dims));
        assert_eq!(cost, known(flops, bytes, "convolution"));
        for (target, a, b, out) in [
            ("__cudnn$convForward", input, kernel, output),
            ("__cudnn$convBackwardInput", output, kernel, input),
            ("__cudnn$convBackwardFilter", input, output, kernel),
        ] {
            let call: Fields<'_> = &|x| {
                dims(x);
                pb::bytes(x, 28, target.as_bytes());
            };
            let cost = of_two(a, b, (3, "x", "custom-call", out, &[1, 2], &[], call));
            assert_eq!(cost, known(flops, bytes, "custom-call"), "{target}");
        }
    }

    #[test]
    fn attention_is_two_products_forward_and_five_backward() {
        let shape: Arrays<'_> = &[(F32, &[2, 64, 4, 8])];
        let at = |target: &str| {
            let name: Fields<'_> = &|x| pb::bytes(x, 28, target.as_bytes());
            let x = (3, "x", "custom-call", shape, &[1, 2, 1][..], &[][..], name);
            of_two(shape, shape, x).0
        };
        let one = 2 * 2 * 4 * 64 * 64 * 8;
        assert_eq!((at("__cudnn$fmhaSoftmax"), at("__cudnn$fmhaSoftmaxBackward")), (Some(2 * one), Some(5 * one)));
    }

    #[test]
    fn fusions_sum_their_parts_and_touch_memory_at_their_edges() {
        let kind: Fields<'_> = &|x| pb::bytes(x, 11, b"kLoop");
        let big: Arrays<'_> = &[(F32, &[100, 10])];
        let small: Arrays<'_> = &[(F32, &[10])];
        let second: Fields<'_> = &|x| pb::int(x, 9, 1);
        let source = Source::default().computation(
            7,
            14,
            &[
                (11, "p0", "parameter", big, &[], &[], NOTHING),
                (12, "p1", "parameter", small, &[], &[], second),
                (13, "s", "slice", small, &[11], &[], NOTHING),
                (14, "sum", "add", small, &[13, 12], &[], NOTHING),
            ],
        );
        let [a, b] = two(big, small);
        let source = source.computation(1, 3, &[a, b, (3, "x", "fusion", small, &[1, 2], &[7], kind)]);
        assert_eq!(source.cost(), known(10, 4 * (10 + 10 + 10), "loop fusion"));
    }

    #[test]
    fn reductions_apply_their_computation_and_unknown_parts_stay_unknown() {
        let scalar: Arrays<'_> = &[(F32, &[])];
        let add: [Line<'_>; 3] = [
            (11, "p", "parameter", scalar, &[], &[], NOTHING),
            (12, "q", "parameter", scalar, &[], &[], NOTHING),
            (13, "r", "add", scalar, &[11, 12], &[], NOTHING),
        ];
        let [a, b] = two(&[(F32, &[6, 10])], scalar);
        let reduce: Line<'_> = (3, "x", "reduce", &[(F32, &[10])], &[1, 2], &[7], NOTHING);
        let source = Source::default().computation(1, 3, &[a, b, reduce]).computation(7, 13, &add);
        assert_eq!(source.cost(), known(50, 4 * (60 + 1 + 10), "reduce"));
        // A computation that calls itself, and an opcode of the future.
        let [a, b] = two(scalar, scalar);
        let itself: Line<'_> = (3, "x", "fusion", scalar, &[1, 2], &[1], NOTHING);
        assert_eq!(Source::default().computation(1, 3, &[a, b, itself]).cost().0, None);
        assert_eq!(
            of_two(scalar, scalar, (3, "x", "teleport", scalar, &[1], &[], NOTHING)),
            (None, None, "teleport".into())
        );
        assert_eq!(of_two(scalar, scalar, (3, "x", "while", scalar, &[1], &[], NOTHING)), known(0, 0, "while"));
    }
}
