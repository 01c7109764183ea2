//! Models that are not TensorFlow's graphs: configs of Keras, ONNX, TensorFlow Lite, and the HDF5 files and archives of their
//! weights. Parts refer to each other, to themselves and to places where nothing is.

use crate::make::{Make, message, number, text};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;

/// Models nest this deep.
const DEPTH: usize = 4;

// ---- Keras

const CLASSES: &[&str] = &[
    "Dense", "Conv2D", "Conv2DTranspose", "DepthwiseConv2D", "SeparableConv2D", "LSTM", "GRU", "Bidirectional", "TimeDistributed", "Add", "Concatenate",
    "Flatten", "Reshape", "Embedding", "BatchNormalization", "MultiHeadAttention", "MaxPooling2D", "Permute", "Own>Layer", "RepeatVector", "Dot",
];
const KEYS: &[&str] = &[
    "units", "filters", "kernel_size", "strides", "dilation_rate", "axis", "target_shape", "input_dim", "output_dim", "num_heads", "key_dim", "pool_size",
    "dims", "n", "axes", "groups", "data_format", "padding", "build_input_shape", "activation", "return_sequences", "batch_input_shape", "layer", "name",
];

/// The config of a model, as JSON.
pub fn keras(make: &mut Make<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    model(make, &mut out, 0);
    out
}

fn model(make: &mut Make<'_>, out: &mut Vec<u8>, depth: usize) {
    let class = make.pick(&["Functional", "Sequential", "Model", "Own"]);
    out.extend(format!("{{\"class_name\":\"{class}\",\"registered_name\":null,\"name\":\"n{}\",\"config\":{{\"layers\":[", make.small()).bytes());
    let mut first = true;
    for _ in 0..1 + make.below(8) {
        make.repeat(out, |make, out| {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            layer(make, out, depth + 1);
        });
    }
    out.extend(b"],\"input_layers\":");
    references(make, out);
    out.extend(b",\"output_layers\":");
    references(make, out);
    out.extend(b"}");
    if depth > 0 {
        out.extend(b",\"inbound_nodes\":[");
        references(make, out);
        out.push(b']');
    }
    out.push(b'}');
}

fn layer(make: &mut Make<'_>, out: &mut Vec<u8>, depth: usize) {
    if depth < DEPTH && make.once_in(8) {
        return model(make, out, depth);
    }
    let class = if make.once_in(4) { "InputLayer" } else { make.pick(CLASSES) };
    let name = if make.once_in(2) { make.small() as usize } else { make.turn };
    out.extend(format!("{{\"class_name\":\"{class}\",\"name\":\"n{name}\",\"config\":{{\"name\":\"n{name}\"").bytes());
    for _ in 0..make.below(5) {
        out.extend(format!(",\"{}\":", make.pick(KEYS)).bytes());
        value(make, out, depth);
    }
    out.extend(b"},\"inbound_nodes\":[");
    references(make, out);
    out.extend(b"]}");
}

fn value(make: &mut Make<'_>, out: &mut Vec<u8>, depth: usize) {
    match make.below(8) {
        0 => out.extend(b"null"),
        1 => out.extend(b"true"),
        2 => out.extend(make.pick(&["\"same\"", "\"channels_first\"", "\"relu\"", "\"\\u2028<script>alert(1)</script>\""]).bytes()),
        3 if depth < DEPTH => layer(make, out, depth + 1),
        4 | 5 => {
            let all: Vec<String> = (0..make.below(6)).map(|_| if make.once_in(8) { "null".to_owned() } else { make.number().to_string() }).collect();
            out.extend(format!("[{}]", all.join(",")).bytes());
        }
        _ => out.extend(make.number().to_string().bytes()),
    }
}

/// Lists of `[layer, call, output]`.
fn references(make: &mut Make<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    let mut first = true;
    for _ in 0..make.below(4) {
        make.repeat(out, |make, out| {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            let name = if make.once_in(2) { make.small() as usize } else { make.turn };
            out.extend(format!("[\"n{name}\",{},{},{{}}]", make.small() & 1, make.small() & 3).bytes());
        });
    }
    out.push(b']');
}

// ---- ONNX

const OPS: &[&str] = &[
    "Conv", "Gemm", "MatMul", "Relu", "Reshape", "Transpose", "Concat", "Slice", "Gather", "Pad", "Resize", "Einsum", "LSTM", "If", "Loop", "Scan", "Constant",
    "Shape", "ConstantOfShape", "ReduceSum", "Split", "TopK", "MaxPool", "Expand", "QLinearConv", "Own", "f0", "f1", "f2", "Squeeze", "Cast",
];
const ATTRIBUTES: &[&str] = &[
    "axis", "axes", "kernel_shape", "strides", "pads", "perm", "shape", "split", "equation", "mode", "value", "value_ints", "then_branch", "else_branch", "body",
    "num_scan_inputs", "group", "auto_pad", "to", "k", "a", "b",
];

/// A `ModelProto`.
pub fn onnx(make: &mut Make<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    number(&mut out, 1, 8);
    text(&mut out, 2, "made");
    for at in 0..make.below(3) {
        message(&mut out, 25, |out| {
            text(out, 1, format!("f{at}"));
            text(out, 4, "v0");
            text(out, 5, "v1");
            nodes(make, out, 7, DEPTH);
            make.repeat(out, |make, out| message(out, 11, |out| attribute(make, out, DEPTH)));
            text(out, 10, make.pick(&["", "own"]));
        });
    }
    message(&mut out, 8, |out| number(out, 2, make.small() + 7));
    message(&mut out, 7, |out| graph(make, out, 0));
    out
}

fn graph(make: &mut Make<'_>, out: &mut Vec<u8>, depth: usize) {
    text(out, 2, "g");
    for field in [11, 12, 13] {
        for _ in 0..make.below(3) {
            make.repeat(out, |make, out| {
                message(out, field, |out| {
                    text(out, 1, name(make));
                    message(out, 2, |out| {
                        message(out, 1, |out| {
                            number(out, 1, make.small());
                            message(out, 2, |out| {
                                for _ in 0..make.below(5) {
                                    message(out, 1, |out| if make.once_in(4) { text(out, 2, make.name()) } else { number(out, 1, make.number()) });
                                }
                            });
                        });
                    });
                });
            });
        }
    }
    for _ in 0..make.below(3) {
        make.repeat(out, |make, out| message(out, 5, |out| tensor(make, out)));
    }
    nodes(make, out, 1, depth);
}

fn name(make: &mut Make<'_>) -> Vec<u8> {
    match make.byte() {
        0..10 => make.name(),
        10..60 => format!("v{}", make.turn).into_bytes(),
        choice => format!("v{}", choice & 7).into_bytes(),
    }
}

fn tensor(make: &mut Make<'_>, out: &mut Vec<u8>) {
    for _ in 0..make.below(4) {
        number(out, 1, if make.once_in(4) { make.number() } else { make.small() });
    }
    number(out, 2, make.small());
    text(out, 8, name(make));
    match make.below(4) {
        0 => text(out, 9, make.raw()),
        1 => make.repeat(out, |make, out| number(out, 7, make.number())),
        2 => message(out, 13, |out| {
            text(out, 1, "location");
            text(out, 2, make.name());
        }),
        _ => {}
    }
}

fn nodes(make: &mut Make<'_>, out: &mut Vec<u8>, field: u32, depth: usize) {
    for _ in 0..1 + make.below(6) {
        make.repeat(out, |make, out| {
            message(out, field, |out| {
                for input in [1, 2] {
                    for _ in 0..make.below(4) {
                        make.repeat(out, |make, out| text(out, input, name(make)));
                    }
                }
                if make.once_in(4) {
                    text(out, 3, make.name());
                }
                text(out, 4, make.pick(OPS));
                for _ in 0..make.below(4) {
                    make.repeat(out, |make, out| message(out, 5, |out| attribute(make, out, depth)));
                }
                if make.once_in(4) {
                    text(out, 7, make.pick(&["own", "com.microsoft", "ai.onnx"]));
                }
            });
        });
    }
}

fn attribute(make: &mut Make<'_>, out: &mut Vec<u8>, depth: usize) {
    text(out, 1, make.pick(ATTRIBUTES));
    match make.below(8) {
        0 => number(out, 3, make.number()),
        1 => text(out, 4, make.name()),
        2 => message(out, 5, |out| tensor(make, out)),
        3 | 4 if depth < DEPTH => message(out, 6, |out| graph(make, out, depth + 1)),
        5 => text(out, 21, make.pick(&["a", "b", "axis"])),
        _ => make.repeat(out, |make, out| number(out, 8, make.number())),
    }
}

// ---- TensorFlow Lite: tables whose offsets lead to any other

/// A model whose tables, lists and texts are in one row, each with offsets to those behind it, or anywhere.
pub fn tflite(make: &mut Make<'_>) -> Vec<u8> {
    let mut out = b"\0\0\0\0TFL3".to_vec();
    let (mut places, mut offsets) = (Vec::new(), vec![0]);
    while make.goes_on() {
        make.repeat(&mut out, |make, out| {
            out.resize(out.len().next_multiple_of(4), 0);
            let kind = make.below(4);
            if kind < 2 {
                table(make, out, &mut places, &mut offsets);
                return;
            }
            places.push(out.len());
            let content = if kind == 2 { make.name() } else { Vec::new() };
            let count = if kind == 2 { content.len() } else { make.below(40) };
            out.extend((if make.once_in(32) { make.number() as u32 } else { count as u32 }).to_le_bytes());
            out.extend(&content);
            for _ in 0..if kind == 3 { count } else { 0 } {
                offsets.push(out.len());
                out.extend((make.small() as u32).to_le_bytes());
            }
        });
    }
    for place in offsets {
        // Small numbers may also be numbers, so some stay.
        let behind = places.partition_point(|target| *target <= place);
        let target = match make.byte() {
            0..16 => continue,
            16..24 => make.number() as u32,
            choice if behind < places.len() => (places[behind + usize::from(choice) % (places.len() - behind)] - place) as u32,
            _ => continue,
        };
        if let Some(four) = out.get_mut(place..place + 4) {
            four.copy_from_slice(&target.to_le_bytes());
        }
    }
    out
}

fn table(make: &mut Make<'_>, out: &mut Vec<u8>, places: &mut Vec<usize>, offsets: &mut Vec<usize>) {
    let vtable = out.len();
    let count = 1 + make.below(8) as u16;
    out.extend((4 + 2 * count).to_le_bytes());
    out.extend((4 + 4 * count).to_le_bytes());
    for field in 0..count {
        out.extend((if make.once_in(8) { 0 } else { 4 + 4 * field }).to_le_bytes());
    }
    out.resize(out.len().next_multiple_of(4), 0);
    places.push(out.len());
    out.extend(((out.len() - vtable) as u32).to_le_bytes());
    for _ in 0..count {
        if make.once_in(2) {
            out.extend((make.small() as u32).to_le_bytes());
        } else {
            offsets.push(out.len());
            out.extend([0; 4]);
        }
    }
}

// ---- HDF5 and archives

/// An HDF5 file of groups and datasets that lead to each other.
pub fn hdf5(make: &mut Make<'_>) -> Vec<u8> {
    let mut out = vec![0; 48];
    let (mut objects, mut links) = (Vec::new(), Vec::new());
    while make.goes_on() || objects.is_empty() {
        make.repeat(&mut out, |make, out| {
            objects.push(out.len());
            let mut messages = Vec::new();
            // Where in the messages addresses are.
            let mut own = Vec::new();
            for _ in 0..make.below(6) {
                make.repeat(&mut messages, |make, out| part(make, out, &mut own));
            }
            out.extend(b"OHDR\x02\x02");
            out.extend((messages.len() as u32).to_le_bytes());
            links.extend(own.into_iter().map(|at| out.len() + at));
            out.extend(messages);
            out.extend([0; 4]);
        });
    }
    for place in links {
        let target = if make.once_in(16) { make.number() as u64 } else { make.pick(&objects) as u64 };
        if let Some(eight) = out.get_mut(place..place + 8) {
            eight.copy_from_slice(&target.to_le_bytes());
        }
    }
    let mut head = b"\x89HDF\r\n\x1a\n\x02\x08\x08\0".to_vec();
    for address in [0, u64::MAX, out.len() as u64, objects[0] as u64] {
        head.extend(address.to_le_bytes());
    }
    out[..head.len()].copy_from_slice(&head);
    out
}

/// A message of an object: a link, a dataspace, a type, a layout, an attribute, a continuation, or a shared one.
fn part(make: &mut Make<'_>, out: &mut Vec<u8>, addresses: &mut Vec<usize>) {
    let (kind, flags) = (make.pick(&[6_u8, 6, 6, 1, 3, 8, 12, 16, 2, 21, 11, 17]), if make.once_in(16) { 2 } else { 0 });
    let mut body = Vec::new();
    let mut own = Vec::new();
    match kind {
        6 => {
            let name = make.name();
            body.extend([1, 1]);
            body.extend((name.len().min(60_000) as u16).to_le_bytes());
            body.extend(&name[..name.len().min(60_000)]);
            own.push(body.len());
            body.extend([0; 8]);
        }
        1 => {
            let rank = make.small() as u8 & 3;
            body.extend([2, rank, 0, 1]);
            (0..rank).for_each(|_| body.extend((if make.once_in(4) { make.number() } else { make.small() }).to_le_bytes()));
        }
        3 => body.extend([0x11, 0x20, 0x1f, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0]),
        8 => {
            body.extend([3, 1]);
            own.push(body.len());
            body.extend([0; 8]);
            body.extend(make.number().to_le_bytes());
        }
        16 => {
            own.push(0);
            body.extend([0; 8]);
            body.extend(make.number().to_le_bytes());
        }
        _ => body = make.raw(),
    }
    out.push(kind);
    out.extend((body.len() as u16).to_le_bytes());
    out.push(flags);
    addresses.extend(own.into_iter().map(|at| out.len() + at));
    out.extend(body);
}

/// An archive with these files, packed or not; sometimes its list says something else.
pub fn archive(make: &mut Make<'_>, files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut list) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let packed = make.once_in(2);
        let (method, bytes) = if packed {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(content).expect("memory");
            (8_u16, encoder.finish().expect("memory"))
        } else {
            (0, content.to_vec())
        };
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let size = if make.once_in(16) { make.number() as u32 } else { content.len() as u32 };
        let packed_size = if make.once_in(16) { make.number() as u32 } else { bytes.len() as u32 };
        let mut both = vec![20, 0, 0, 0];
        both.extend(method.to_le_bytes());
        both.extend([0; 4]);
        [crc.sum(), packed_size, size].iter().for_each(|n| both.extend(n.to_le_bytes()));
        both.extend((name.len() as u16).to_le_bytes());
        both.extend([0; 2]);
        let at = if make.once_in(16) { make.number() as u32 } else { out.len() as u32 };
        out.extend(b"PK\x03\x04");
        out.extend(&both);
        out.extend(name.bytes());
        out.extend(bytes);
        make.repeat(&mut list, |_, list| {
            list.extend(b"PK\x01\x02\x14\0");
            list.extend(&both);
            list.extend([0; 10]);
            list.extend(at.to_le_bytes());
            list.extend(name.bytes());
        });
    }
    let (start, size) = (out.len() as u32, list.len() as u32);
    out.extend(list);
    out.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    out.extend(size.to_le_bytes());
    out.extend((if make.once_in(16) { make.number() as u32 } else { start }).to_le_bytes());
    out.extend([0; 2]);
    out
}

/// The header of a safetensors file, and some bytes.
pub fn safetensors(make: &mut Make<'_>) -> Vec<u8> {
    let mut index = b"{\"__metadata__\":{\"a\":\"b\"}".to_vec();
    while make.goes_on() {
        make.repeat(&mut index, |make, out| {
            let name: String = String::from_utf8_lossy(&make.name()).chars().filter(|c| !c.is_control() && *c != '"' && *c != '\\').collect();
            let (start, end) = if make.once_in(4) { (make.number(), make.number()) } else { (0, 4 * make.small()) };
            let dims: Vec<String> = (0..make.below(4)).map(|_| if make.once_in(8) { make.number() } else { make.small() }.to_string()).collect();
            let kind = make.pick(&["F32", "F32", "BF16", "I64", "F8_E4M3", "X"]);
            out.extend(format!(",\"{name}\":{{\"dtype\":\"{kind}\",\"shape\":[{}],\"data_offsets\":[{start},{end}]}}", dims.join(",")).bytes());
        });
    }
    index.push(b'}');
    let mut out = (index.len() as u64).to_le_bytes().to_vec();
    out.extend(index);
    out.extend([0; 64]);
    out
}
