//! Traces in JSON, as PyTorch and other programs write them: events that name each other, odd numbers, deep values.

use crate::make::Make;

const CATEGORIES: &[&str] = &[
    "cpu_op", "kernel", "cuda_runtime", "python_function", "user_annotation", "gpu_user_annotation", "gpu_memcpy", "gpu_memset", "ac2g",
    "fwdbwd", "cpu_instant_event", "overhead", "Trace", "nccl", "collective", "",
];
const PHASES: &[&str] = &["X", "X", "X", "X", "B", "E", "i", "s", "f", "t", "M", "C", "b", "e", "N", "D", "", "XX"];
const NAMES: &[&str] = &[
    "aten::mm", "aten::conv2d", "ProfilerStep#1", "ProfilerStep#999999999999", "[memory]", "process_name", "thread_name", "nn.Module: A_0",
    "cudaLaunchKernel", "nccl:all_reduce", "process_sort_index", "autograd::engine::evaluate_function: MmBackward0",
];
const KEYS: &[&str] = &[
    "External id", "correlation", "Input Dims", "Input type", "Python id", "Python parent id", "stream", "device", "Bytes", "Addr",
    "Device Type", "Total Allocated", "Sequence number", "Fwd thread id", "Ev Idx", "labels", "name", "sort_index", "Concrete Inputs",
];

pub fn trace(make: &mut Make<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let is_list = make.once_in(8);
    if !is_list {
        out.extend(b"{\"schemaVersion\": 1, ");
        for key in ["deviceProperties", "distributedInfo", "displayTimeUnit", "baseTimeNanoseconds", "traceName"] {
            if make.once_in(8) {
                string(&mut out, key.as_bytes());
                out.push(b':');
                value(make, &mut out);
                out.push(b',');
            }
        }
        out.extend(b"\"traceEvents\":");
    }
    out.push(b'[');
    let mut first = true;
    while make.goes_on() {
        make.repeat(&mut out, |make, out| {
            if !std::mem::take(&mut first) {
                out.extend(b",\n");
            }
            event(make, out);
        });
        if make.once_in(32) {
            out.extend(make.raw());
        }
    }
    out.push(b']');
    if !is_list {
        out.push(b'}');
    }
    out
}

fn event(make: &mut Make<'_>, out: &mut Vec<u8>) {
    out.extend(b"{\"ph\":");
    string(out, make.pick(PHASES).as_bytes());
    out.extend(b",\"cat\":");
    string(out, make.pick(CATEGORIES).as_bytes());
    out.extend(b",\"name\":");
    let name = if make.once_in(4) { make.name() } else { make.pick(NAMES).as_bytes().to_vec() };
    string(out, &name);
    for key in ["pid", "tid"] {
        out.extend(format!(",\"{key}\":").bytes());
        match make.byte() {
            0..20 => value(make, out),
            20..40 => out.extend(make.turn.to_string().bytes()),
            choice => out.extend((choice & 3).to_string().bytes()),
        }
    }
    for key in ["ts", "dur", "id", "bp"] {
        if !make.once_in(8) {
            out.extend(format!(",\"{key}\":").bytes());
            digits(make, out);
        }
    }
    if make.once_in(2) {
        out.extend(b",\"args\":{");
        for at in 0..make.below(6) {
            if at > 0 {
                out.push(b',');
            }
            string(out, make.pick(KEYS).as_bytes());
            out.push(b':');
            value(make, out);
        }
        out.push(b'}');
    }
    out.push(b'}');
}

fn digits(make: &mut Make<'_>, out: &mut Vec<u8>) {
    const ODD: &[&str] = &["1e308", "-1", "1e-400", "0.0001", "123456789012345678901234567890", "NaN", "-0", "1.5e3", "\"7\"", "\"0x7f\"", "null"];
    match make.byte() {
        0..20 => out.extend(make.pick(ODD).bytes()),
        20..40 => out.extend(make.number().to_string().bytes()),
        choice => out.extend((i64::from(choice) + 10 * make.turn as i64).to_string().bytes()),
    }
}

fn value(make: &mut Make<'_>, out: &mut Vec<u8>) {
    match make.byte() {
        0..60 => digits(make, out),
        60..120 => {
            let name = make.name();
            string(out, &name);
        }
        120..130 => {
            let deep = make.pick(&[3, 300, 20_000]);
            let (open, close) = if make.once_in(2) { ("{\"a\":", "}") } else { ("[", "]") };
            out.extend(open.repeat(deep).bytes());
            out.push(b'1');
            out.extend(close.repeat(deep).bytes());
        }
        130..160 => {
            out.push(b'[');
            let mut first = true;
            make.repeat(out, |make, out| {
                if !std::mem::take(&mut first) {
                    out.push(b',');
                }
                out.push(b'[');
                digits(make, out);
                out.push(b']');
            });
            out.push(b']');
        }
        _ => out.extend(make.number().to_string().bytes()),
    }
}

/// A string with the bytes of a name, escaped as little as JSON needs, in two ways.
fn string(out: &mut Vec<u8>, content: &[u8]) {
    out.push(b'"');
    for byte in content {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend(b"\\n"),
            0..0x20 => out.extend(format!("\\u{byte:04x}").bytes()),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
}
