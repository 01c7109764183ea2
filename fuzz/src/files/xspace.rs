//! XSpaces whose events, metadata and planes refer to each other and to long strings, and compiled programs in them.

use crate::make::{Make, entry, message, number, text};

const PLANES: &[&str] = &["/host:CPU", "/device:GPU:0", "/device:TPU:0", "/host:metadata", "/device:GPU:1", "Task Environment", "/host:python-tracer"];
const LINES: &[&str] = &["Stream #1", "XLA Ops", "XLA Modules", "Steps", "Framework Ops", "Framework Name Scope", "Source code", "python", "tf_XLA/1"];
const STATS: &[&str] = &[
    "tf_op", "hlo_op", "hlo_module", "program_id", "kernel_details", "correlation_id", "step_num", "group_id", "long_name", "flops",
    "bytes_accessed", "hlo_category", "hlo_proto", "source", "source_stack", "_pt", "_p", "_ct", "_c", "bytes_allocated", "allocation_bytes",
    "peak_bytes_in_use", "memory_access_breakdown", "device_type_string", "model_flops", "equation", "is_root", "step_name",
];

/// An `XSpace`.
pub fn space(make: &mut Make<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    while make.goes_on() {
        make.repeat(&mut out, |make, out| message(out, 1, |out| plane(make, out)));
    }
    if make.turn == 0 {
        text(&mut out, 4, "host");
    }
    out
}

fn plane(make: &mut Make<'_>, out: &mut Vec<u8>) {
    number(out, 1, make.small());
    let name = match make.byte() {
        0..30 => make.name(),
        30..60 => format!("/device:GPU:{}", make.turn).into_bytes(),
        60..80 => format!("/device:GPU:{}", "0".repeat(make.pick(&[10, 5000, 40_000]))).into_bytes(),
        choice => PLANES[usize::from(choice) % PLANES.len()].into(),
    };
    text(out, 2, name);
    for at in 0..1 + make.below(10) {
        let id = at as i64 + 1;
        let name = if make.once_in(4) { make.name() } else { make.pick(STATS).as_bytes().to_vec() };
        entry(out, 5, id, |out| {
            number(out, 1, id);
            text(out, 2, name);
        });
    }
    for _ in 0..make.below(6) {
        make.repeat(out, |make, out| {
            let id = if make.once_in(16) { make.number() } else { make.small() + make.turn as i64 };
            entry(out, 4, id, |out| {
                number(out, 1, id);
                text(out, 2, make.name());
                if make.once_in(4) {
                    text(out, 4, make.name());
                }
                stats(make, out, 5);
            });
        });
    }
    for _ in 0..make.below(4) {
        make.repeat(out, |make, out| message(out, 3, |out| line(make, out)));
    }
    stats(make, out, 6);
}

fn line(make: &mut Make<'_>, out: &mut Vec<u8>) {
    number(out, 1, make.small() + make.turn as i64);
    text(out, 2, if make.once_in(4) { make.name() } else { make.pick(LINES).into() });
    number(out, 3, make.number());
    for _ in 0..make.below(6) {
        make.repeat(out, |make, out| {
            message(out, 4, |out| {
                number(out, 1, make.small() + if make.once_in(2) { make.turn as i64 } else { 0 });
                number(out, 2, if make.once_in(8) { make.number() } else { 10 * make.turn as i64 + make.small() });
                number(out, 3, if make.once_in(8) { make.number() } else { make.small() });
                stats(make, out, 4);
            });
        });
    }
}

fn stats(make: &mut Make<'_>, out: &mut Vec<u8>, field: u32) {
    for _ in 0..make.below(4) {
        make.repeat(out, |make, out| {
            message(out, field, |out| {
                number(out, 1, 1 + make.small());
                match make.below(6) {
                    0 => number(out, 3, make.number()),
                    1 => number(out, 4, make.number()),
                    2 => text(out, 5, make.name()),
                    3 => text(out, 6, program(make)),
                    _ => number(out, 7, 1 + make.small()),
                }
            });
        });
    }
}

/// An `HloProto`: instructions that refer to each other, computations that call each other, and stack frames.
pub fn program(make: &mut Make<'_>) -> Vec<u8> {
    let mut module = Vec::new();
    text(&mut module, 1, if make.once_in(4) { make.name() } else { b"jit_f".to_vec() });
    for _ in 0..make.below(4) {
        make.repeat(&mut module, |make, out| {
            message(out, 3, |out| {
                number(out, 5, make.small() + make.turn as i64);
                for _ in 0..make.below(6) {
                    make.repeat(out, |make, out| message(out, 2, |out| instruction(make, out)));
                }
            });
        });
    }
    message(&mut module, 17, |out| {
        for field in [1, 2] {
            make.repeat(out, |make, out| text(out, field, make.name()));
        }
        for field in [3, 4] {
            make.repeat(out, |make, out| {
                message(out, field, |out| {
                    number(out, 1, 1 + (make.small() & 3));
                    number(out, 2, make.small() + make.turn as i64);
                    number(out, 3, make.small());
                });
            });
        }
    });
    let mut out = Vec::new();
    text(&mut out, 1, module);
    out
}

fn instruction(make: &mut Make<'_>, out: &mut Vec<u8>) {
    const OPCODES: &[&str] = &["dot", "fusion", "while", "call", "convolution", "parameter", "add", "custom-call", "conditional", "reduce", "tuple"];
    text(out, 1, if make.once_in(4) { make.name() } else { format!("dot.{}", make.turn).into_bytes() });
    text(out, 2, make.pick(OPCODES));
    message(out, 3, |out| {
        number(out, 2, make.small());
        make.repeat(out, |make, out| number(out, 3, make.number()));
    });
    message(out, 7, |out| {
        text(out, 2, make.name());
        number(out, 15, make.small());
    });
    number(out, 35, make.small() + make.turn as i64);
    make.repeat(out, |make, out| number(out, 36, make.small()));
    make.repeat(out, |make, out| number(out, 38, make.small()));
}
