//! Recognizes foreign files by their first bytes: zip archives, JSON, protobuf of other programs, text.

use tfprof_proto::wire::{Fields, Value};

/// The names of the first entries of a zip archive.
pub(super) struct Archive<'a> {
    names: Vec<&'a [u8]>,
}

/// The first bytes of an entry.
const SIGNATURE: &[u8] = b"PK\x03\x04";

/// The entries of an archive that are looked at.
const ENTRIES: usize = 64;

impl<'a> Archive<'a> {
    /// The entries whose headers lie within the first bytes of a file; `None` if it is no archive.
    pub fn of(head: &'a [u8]) -> Option<Archive<'a>> {
        let mut names = Vec::new();
        let mut rest = head;
        while names.len() < ENTRIES && rest.starts_with(SIGNATURE) {
            let number =
                |at: usize| rest.get(at..at + 2).map(|bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])));
            let (Some(low), Some(high), Some(name), Some(extra)) = (number(18), number(20), number(26), number(28))
            else {
                break;
            };
            let Some(text) = rest.get(30..30 + name) else { break };
            names.push(text);
            let next = 30 + name + extra + (low | high << 16);
            // The size of a streamed entry follows its content.
            let streamed = rest[6] & 8 != 0;
            let next = if streamed { memchr::memmem::find(&rest[4..], SIGNATURE).map(|at| at + 4) } else { Some(next) };
            rest = next.and_then(|next| rest.get(next..)).unwrap_or_default();
        }
        (!names.is_empty()).then_some(Archive { names })
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.contains(&name.as_bytes())
    }

    /// Whether all entries end like this.
    pub fn ends(&self, ending: &str) -> bool {
        self.names.iter().all(|name| name.ends_with(ending.as_bytes()))
    }
}

/// `torch.save`, `TorchScript` and `torch.export` write into a directory of the archive.
pub(super) fn is_torch(archive: &Archive<'_>) -> bool {
    let known = ["data.pkl", "constants.pkl", "archive_format", "models/model.json", ".format_version"];
    let inside = |name: &[u8]| {
        let at = memchr::memchr(b'/', name)?;
        known.iter().find(|known| known.as_bytes() == &name[at + 1..])
    };
    archive.names.iter().any(|name| inside(name).is_some())
}

/// Whether a name ends like this, in capitals or not.
pub(super) fn has_ending(file: &str, ending: &str) -> bool {
    let end = file.len().checked_sub(ending.len()).and_then(|at| file.as_bytes().get(at..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(ending.as_bytes()))
}

pub(super) fn contains(head: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(head, needle).is_some()
}

pub(super) fn is_hdf5(head: &[u8]) -> bool {
    head.starts_with(b"\x89HDF\r\n\x1a\n")
}

// ---- JSON

/// Whether a file starts like JSON: an object or a list that has something in it, or nothing.
pub(super) fn is_json(head: &[u8]) -> bool {
    let after = |open: &[u8]| Some(head.strip_prefix(open)?.trim_ascii_start().first().copied().unwrap_or(b'"'));
    let object = after(b"{").is_some_and(|byte| matches!(byte, b'"' | b'}'));
    let list = after(b"[").is_some_and(|byte| matches!(byte, b'{' | b'[' | b'"' | b']' | b'-' | b'0'..=b'9'));
    object || list
}

pub(super) fn is_keras_json(head: &[u8]) -> bool {
    let keys = [&b"\"keras_version\""[..], b"\"registered_name\"", b"\"batch_input_shape\"", b"\"inbound_nodes\""];
    contains(head, b"\"class_name\"") && keys.iter().any(|key| contains(head, key))
}

/// A trace of PyTorch, or another Chrome trace: an object with events, or a list of them. tfprof reads these.
pub(super) fn is_trace(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    match head.first() {
        Some(b'{') => {
            contains(head, b"\"traceEvents\"")
                || contains(head, b"\"schemaVersion\"")
                    && [&b"\"deviceProperties\""[..], b"\"trace_id\"", b"\"distributedInfo\""]
                        .iter()
                        .any(|key| contains(head, key))
        }
        Some(b'[') => contains(head, b"\"ph\""),
        _ => false,
    }
}

/// A list of `[time, action, bytes, category]`, the time -1 for memory from before.
pub(super) fn is_memory_timeline(head: &[u8]) -> bool {
    let compact: Vec<u8> = head.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(256).collect();
    let Some(first) = compact.strip_prefix(b"[[") else { return false };
    let entry = first.split(|byte| *byte == b']').next().unwrap_or_default();
    let is_part =
        |part: &[u8]| !part.is_empty() && part.iter().all(|byte| byte.is_ascii_digit() || b"-.e+".contains(byte));
    let parts: Vec<&[u8]> = entry.split(|byte| *byte == b',').collect();
    parts.len() == 4 && parts.iter().all(|part| is_part(part))
}

// ---- protobuf and binary files of other programs

/// The first fields of a message, up to damage.
fn fields(bytes: &[u8]) -> impl Iterator<Item = (u32, Value<'_>)> {
    let mut fields = Fields::new(bytes, 0);
    std::iter::from_fn(move || {
        let field = fields.next_field().ok()??;
        Some((field.number, field.value))
    })
}

/// A `ModelProto` starts with its version, then its producer, its graph or its opsets. A `SavedModel` has a message as
/// A `Model` of Core ML starts with the version of its specification, then its description.
pub(super) fn is_core_ml(head: &[u8]) -> bool {
    let mut fields = fields(head);
    let version = matches!(fields.next(), Some((1, Value::Varint(2..=100))));
    version
        && match fields.next() {
            Some((2, Value::Bytes(description))) => description.starts_with(&[0x0a]),
            // A description that is longer than the head.
            None => head.get(2) == Some(&0x12),
            _ => false,
        }
}

/// A `Profile` of pprof starts with a type of its samples: two numbers, and nothing else.
pub(super) fn is_pprof(head: &[u8]) -> bool {
    let Some((1, Value::Bytes(sample_type))) = fields(head).next() else { return false };
    let mut inner = fields(sample_type);
    let (kind, unit) = (inner.next(), inner.next());
    let number = |field: &Option<(u32, Value<'_>)>, expected| matches!(field, Some((number, Value::Varint(_))) if *number == expected);
    number(&kind, 1) && number(&unit, 2) && inner.next().is_none() && sample_type.len() <= 12
}

/// A `TFRecord` whose content starts with a time and says what it is.
pub(super) fn is_event_file(head: &[u8]) -> bool {
    head.get(4..8) == Some(&[0; 4])
        && head.get(12) == Some(&0x09)
        && contains(&head[..head.len().min(64)], b"brain.Event:")
}

/// The length of a JSON header, then the header.
pub(super) fn is_safetensors(head: &[u8]) -> bool {
    let length = head.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    length.is_some_and(|length| (2..=100 << 20).contains(&length)) && head[8..].starts_with(b"{\"")
}

/// A pickle of protocol 2 or later. Protocol 4 and later begin with a frame.
pub(super) fn is_pickle(head: &[u8]) -> bool {
    match head {
        [0x80, 4 | 5, 0x95, ..] => true,
        [0x80, 2 | 3, opcode, ..] => matches!(opcode, b'}' | b']' | b'(' | b'c' | b'X' | b'N' | b'K' | b'J' | 0x8a),
        _ => false,
    }
}

pub(super) fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

pub(super) fn is_pe(head: &[u8]) -> bool {
    let at = head.get(0x3c..0x40).map(|at| u32::from_le_bytes([at[0], at[1], at[2], at[3]]) as usize);
    head.starts_with(b"MZ") && at.and_then(|at| head.get(at..)).is_some_and(|rest| rest.starts_with(b"PE\0\0"))
}

// ---- text

/// Whether bytes are text, possibly cut off within a character.
pub(super) fn is_readable(head: &[u8]) -> bool {
    let control = |byte: &u8| *byte == 0x7f || *byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c);
    !head.is_empty()
        && !head.iter().any(control)
        && std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true)
}

fn starts_like(head: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| head.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes())))
}

pub(super) fn is_html(head: &[u8]) -> bool {
    let start = &head[..head.len().min(1000)];
    starts_like(head, &["<!doctype html", "<html", "<head", "<body"]) || is_xml(head) && contains(start, b"<html")
}

pub(super) fn is_xml(head: &[u8]) -> bool {
    starts_like(head, &["<?xml", "<svg", "<net ", "<!doctype", "<!--"])
}

pub(super) fn is_mlir(head: &[u8]) -> bool {
    let dialects = [&b"func.func"[..], b"stablehlo.", b"mhlo.", b"tf_executor.", b"chlo."];
    starts_like(head, &["module", "func.func", "#loc", "builtin.module", "\"builtin.module\""])
        && dialects.iter().any(|word| contains(head, word))
}

pub(super) fn is_python(head: &[u8]) -> bool {
    let shebang = head.starts_with(b"#!") && contains(&head[..head.len().min(80)], b"python");
    shebang || starts_like(head, &["import ", "from __future__ import"])
}

pub(super) fn is_csv(head: &[u8]) -> bool {
    if !is_prose(head) {
        return false;
    }
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| memchr::memchr_iter(b',', line).count());
    let first = lines.next().unwrap_or_default();
    first > 0 && lines.next() == Some(first) && lines.next().is_none_or(|third| third == first || third == 0)
}

/// Whether no line starts like a field of a message in text format.
pub(super) fn is_prose(head: &[u8]) -> bool {
    let is_field = |line: &[u8]| {
        let word = line.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let rest = line[word..].trim_ascii_start();
        word > 0 && matches!(rest.first(), Some(b':' | b'{' | b'<'))
    };
    !head.split(|byte| *byte == b'\n').any(|line| is_field(line.trim_ascii()))
}
