//! Graphs with functions that call each other, loops of both kinds, branches, and inputs that lead anywhere; runs and op
//! logs about their nodes; SavedModels with objects that refer to each other.

use crate::make::{Make, entry, message, number, text};

const OPS: &[&str] = &[
    "Placeholder", "Const", "Identity", "AddV2", "Mul", "MatMul", "Conv2D", "Einsum", "Reshape", "ConcatV2", "Pack", "Less",
    "LogicalAnd", "LogicalOr", "PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile", "If", "StatelessIf", "Case",
    "Enter", "RefEnter", "Exit", "Merge", "Switch", "NextIteration", "LoopCond", "VariableV2", "VarHandleOp", "ReadVariableOp",
    "AssignVariableOp", "TensorListReserve", "TensorListSetItem", "TensorListStack", "TensorArrayV3", "Shape", "StridedSlice", "Fill",
    "Range", "Tile", "BroadcastTo", "GatherV2", "Sum", "BatchMatMulV2", "DepthwiseConv2dNative", "Conv2DBackpropInput", "AddN", "NoOp",
    "_Arg", "_Retval", "IteratorGetNext", "SymbolicGradient", "RemoteCall", "ParseExampleV2", "f0", "f1", "f2", "f3", "f4",
];

const FUNCTIONS: [&str; 5] = ["f0", "f1", "f2", "f3", "f4"];
const FUNCTION_KEYS: &[&str] = &["f", "cond", "body", "then_branch", "else_branch"];
const NUMBER_KEYS: &[&str] = &["N", "axis", "num", "index", "output_dtype", "begin_mask", "groups", "Tidx"];
const TEXT_KEYS: &[&str] = &["frame_name", "equation", "padding", "data_format", "_class", "shared_name", "container", "_xla_scope"];
const TYPE_KEYS: &[&str] = &["T", "dtype", "DstT", "Tcond"];
const SHAPE_KEYS: &[&str] = &["shape", "_output_shapes", "element_shape", "output_shapes"];
const EQUATIONS: &[&str] = &["ij,jk->ik", "...->......", "ab...,...->", "i->iii", ",->", "a,b,c,d->abcd", "->"];

/// A `GraphDef`.
pub fn graph(make: &mut Make<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    while make.goes_on() {
        if make.once_in(4) {
            message(&mut out, 2, |out| {
                for _ in 0..1 + make.below(5) {
                    make.repeat(out, |make, out| message(out, 1, |out| function(make, out)));
                }
            });
        } else {
            make.repeat(&mut out, |make, out| message(out, 1, |out| node(make, out, "")));
        }
    }
    out
}

fn function(make: &mut Make<'_>, out: &mut Vec<u8>) {
    let name = match make.byte() {
        0..40 => [b"f", make.turn.to_string().as_bytes()].concat(),
        40..50 => make.name(),
        _ => make.pick(&FUNCTIONS).as_bytes().to_vec(),
    };
    message(out, 1, |out| {
        text(out, 1, name);
        for field in [2, 3] {
            for at in 0..1 + make.below(2) {
                message(out, field, |out| {
                    text(out, 1, if field == 2 { format!("x{at}") } else { format!("y{at}") });
                    number(out, 3, i64::from(make.pick(&[1_u8, 3, 7, 9, 10, 20])));
                });
            }
        }
    });
    for _ in 0..make.below(8) {
        make.repeat(out, |make, out| message(out, 3, |out| node(make, out, ":output:0")));
    }
    message(out, 4, |out| {
        text(out, 1, "y0");
        text(out, 2, format!("n{}:{}:0", make.small(), make.pick(&["output", "z", "y", "o"])));
    });
}

/// A node; its inputs are the nodes `n0`, `n1`, … that other nodes may be, one before, or any name.
fn node(make: &mut Make<'_>, out: &mut Vec<u8>, ending: &str) {
    let name = if make.once_in(8) { make.name() } else { format!("n{}", make.small() + make.turn as i64).into_bytes() };
    text(out, 1, name);
    let op = if make.once_in(16) { make.name() } else { make.pick(OPS).as_bytes().to_vec() };
    text(out, 2, op);
    for _ in 0..make.below(5) {
        make.repeat(out, |make, out| {
            let input = match make.byte() {
                0..20 => make.name(),
                20..60 => format!("n{}{ending}", make.turn.wrapping_sub(1) as u16).into_bytes(),
                60..100 => format!("x{}", make.small() & 1).into_bytes(),
                100..120 => format!("^n{}", make.small()).into_bytes(),
                120..140 => format!("n{}:{}", make.small(), make.number()).into_bytes(),
                _ => format!("n{}{ending}", make.small()).into_bytes(),
            };
            text(out, 3, input);
        });
    }
    if make.once_in(8) {
        text(out, 4, make.name());
    }
    for _ in 0..make.below(6) {
        attribute(make, out);
    }
}

fn attribute(make: &mut Make<'_>, out: &mut Vec<u8>) {
    message(out, 5, |out| match make.below(7) {
        0 => {
            text(out, 1, make.pick(FUNCTION_KEYS));
            message(out, 2, |out| message(out, 10, |out| text(out, 1, make.pick(&FUNCTIONS))));
        }
        1 => {
            text(out, 1, make.pick(NUMBER_KEYS));
            message(out, 2, |out| number(out, 3, make.number()));
        }
        2 => {
            text(out, 1, make.pick(TEXT_KEYS));
            let value = match make.byte() {
                0..60 => make.pick(EQUATIONS).as_bytes().to_vec(),
                60..90 => format!("frame{}", make.turn).into_bytes(),
                90..110 => format!("...->{}", "...".repeat(make.pick(&[1, 100, 5000]))).into_bytes(),
                _ => make.name(),
            };
            message(out, 2, |out| text(out, 2, value));
        }
        3 => {
            text(out, 1, make.pick(TYPE_KEYS));
            message(out, 2, |out| number(out, 6, i64::from(make.byte() % 26)));
        }
        4 => {
            let key = make.pick(SHAPE_KEYS);
            text(out, 1, key);
            message(out, 2, |out| {
                if key == "shape" || key == "element_shape" {
                    message(out, 7, |out| shape(make, out));
                } else {
                    message(out, 1, |out| make.repeat(out, |make, out| message(out, 7, |out| shape(make, out))));
                }
            });
        }
        5 => {
            text(out, 1, "value");
            message(out, 2, |out| message(out, 8, |out| tensor(make, out)));
        }
        _ => {
            text(out, 1, if make.once_in(4) { make.name() } else { b"is_constant".to_vec() });
            message(out, 2, |out| number(out, 5, 1));
        }
    });
}

pub fn shape(make: &mut Make<'_>, out: &mut Vec<u8>) {
    if make.once_in(16) {
        number(out, 3, 1);
    }
    for _ in 0..make.below(5) {
        make.repeat(out, |make, out| {
            let size = if make.once_in(4) { make.number() } else { make.small() };
            message(out, 2, |out| number(out, 1, size));
        });
    }
}

fn tensor(make: &mut Make<'_>, out: &mut Vec<u8>) {
    number(out, 1, i64::from(make.pick(&[1_u8, 2, 3, 7, 9, 10])));
    message(out, 2, |out| shape(make, out));
    let content = make.raw();
    text(out, u32::from(make.pick(&[4_u8, 7, 8, 10])), content);
}

/// A `RunMetadata` about the nodes that such a graph has.
pub fn run(make: &mut Make<'_>) -> Vec<u8> {
    let mut stats = Vec::new();
    while make.goes_on() {
        make.repeat(&mut stats, |make, out| {
            message(out, 1, |out| {
                let device = match make.byte() {
                    0..30 => make.name(),
                    30..60 => format!("/job:w/task:{}/device:GPU:0", make.turn).into_bytes(),
                    choice => ["/cpu:0", "/device:GPU:0/stream:1", "/device:GPU:0/stream:all", "/gpu:0"][usize::from(choice % 4)].into(),
                };
                text(out, 1, device);
                for _ in 0..1 + make.below(4) {
                    make.repeat(out, |make, out| message(out, 2, |out| execution(make, out)));
                }
            });
        });
    }
    let mut out = Vec::new();
    text(&mut out, 1, stats);
    out
}

fn execution(make: &mut Make<'_>, out: &mut Vec<u8>) {
    let name = if make.once_in(8) { make.name() } else { format!("n{}", make.small() + make.turn as i64).into_bytes() };
    text(out, 1, name);
    number(out, 2, if make.once_in(8) { make.number() } else { 1000 + make.small() + make.turn as i64 });
    for field in [3, 4, 5] {
        number(out, field, if make.once_in(16) { make.number() } else { make.small() });
    }
    if make.once_in(4) {
        message(out, 6, |out| {
            text(out, 1, allocator(make));
            (2..6).for_each(|field| number(out, field, make.number()));
            make.repeat(out, |make, out| {
                message(out, 6, |out| {
                    number(out, 1, make.number());
                    number(out, 2, make.number());
                });
            });
        });
    }
    if make.once_in(2) {
        message(out, 7, |out| {
            number(out, 1, make.small());
            message(out, 3, |out| {
                number(out, 1, 1);
                message(out, 2, |out| shape(make, out));
                message(out, 4, |out| {
                    number(out, 1, make.number());
                    number(out, 2, make.number());
                    text(out, 3, allocator(make));
                    number(out, 6, make.number());
                });
            });
        });
    }
    if make.once_in(8) {
        text(out, 8, make.name());
    }
}

fn allocator(make: &mut Make<'_>) -> Vec<u8> {
    match make.byte() {
        0..80 => format!("allocator{}", make.turn).into_bytes(),
        80..100 => make.name(),
        _ => b"cpu".to_vec(),
    }
}

/// An op log about the same nodes.
pub fn op_log(make: &mut Make<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    while make.goes_on() {
        if make.once_in(4) {
            make.repeat(&mut out, |make, out| {
                message(out, 2, |out| {
                    number(out, 1, make.small() + make.turn as i64);
                    text(out, 2, make.name());
                });
            });
        }
        make.repeat(&mut out, |make, out| {
            message(out, 1, |out| {
                text(out, 1, format!("n{}", make.small() + make.turn as i64));
                number(out, 2, make.number());
                if make.once_in(4) {
                    text(out, 3, make.name());
                }
                message(out, 4, |out| {
                    make.repeat(out, |make, out| {
                        message(out, 1, |out| {
                            number(out, 2, make.small() + make.turn as i64);
                            (6..9).for_each(|field| number(out, field, make.small()));
                        });
                    });
                });
            });
        });
    }
    out
}

/// A `SavedModel` with a graph and an object graph.
pub fn saved_model(make: &mut Make<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    number(&mut out, 1, 1);
    message(&mut out, 2, |out| {
        message(out, 1, |out| text(out, 4, "serve"));
        let mut objects = Vec::new();
        for _ in 0..1 + make.below(12) {
            make.repeat(&mut objects, |make, out| message(out, 1, |out| object(make, out)));
        }
        text(out, 7, objects);
        if make.once_in(2) {
            message(out, 5, |out| {
                text(out, 1, "serving_default");
                message(out, 2, |out| {
                    message(out, 1, |out| {
                        text(out, 1, "in");
                        message(out, 2, |out| text(out, 1, format!("n{}:0", make.small())));
                    });
                });
            });
        }
        text(out, 2, graph(make));
    });
    out
}

fn object(make: &mut Make<'_>, out: &mut Vec<u8>) {
    for _ in 0..make.below(4) {
        make.repeat(out, |make, out| {
            message(out, 1, |out| {
                number(out, 1, if make.once_in(8) { make.number() } else { make.small() + make.turn as i64 });
                text(out, 2, if make.once_in(2) { make.name() } else { make.pick(&["layers", "variables", "keras_api", "iter", "e"]).into() });
            });
        });
    }
    match make.below(4) {
        0 => message(out, 4, |out| {
            text(out, 1, make.name());
            text(out, 3, make.name());
        }),
        1 => message(out, 7, |out| {
            number(out, 1, 1);
            message(out, 2, |out| shape(make, out));
            number(out, 3, 1);
            text(out, 6, make.name());
        }),
        2 => message(out, 6, |out| make.repeat(out, |make, out| text(out, 1, make.pick(&FUNCTIONS)))),
        _ => entry(out, 11, 1, |out| number(out, 2, make.small())),
    }
}
