//! Which format is this? A guess from the first bytes, for files that no flag names.

use super::Format;
use tfprof_proto::text::looks_like_text;
use tfprof_proto::wire::{Fields, Value};

/// What the head of a file looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    Is(Format),
    /// A profile of TensorFlow 2 or JAX.
    XSpace,
    Unknown,
}

/// Guesses the format from the first bytes of a file.
pub fn guess(head: &[u8]) -> Guess {
    if let Some(guess) = guess_text(head) {
        return guess;
    }
    let mut fields = Fields::new(head, 0);
    let Some((number, value)) = first(&mut fields) else { return Guess::Unknown };
    match (number, value) {
        (1, Value::Varint(_)) => Guess::Is(Format::SavedModel),
        (1, Value::Bytes(inner)) => {
            // Names of any bytes are legal, and tell nothing; one of the first records will have an ordinary one.
            let others = std::iter::from_fn(|| first(&mut fields)).take(LOOKED_AT);
            let others = others.filter_map(|(number, value)| value.bytes().filter(|_| number == 1));
            let guesses = std::iter::once(inner).chain(others).map(guess_first_record);
            guesses.into_iter().find(|guess| *guess != Guess::Unknown).unwrap_or(Guess::Unknown)
        }
        (2, Value::Bytes(inner)) => match first_of(inner) {
            Some((1, Value::Varint(_))) => Guess::Is(Format::OpLog),
            Some((1, Value::Bytes(_))) => Guess::Is(Format::MetaGraphDef),
            _ => Guess::Unknown,
        },
        (4, Value::Bytes(_)) => Guess::Is(Format::GraphDef),
        _ => Guess::Unknown,
    }
}

/// How many records behind the first are looked at.
const LOOKED_AT: usize = 100;

fn guess_text(head: &[u8]) -> Option<Guess> {
    let known = |format: &Format| looks_like_text(head, format.message()) && names_a_field(head, *format);
    Format::ALL.iter().find(|format| known(format)).map(|format| Guess::Is(*format))
}

/// Whether the first word of a text is a field of the format's message.
fn names_a_field(head: &[u8], format: Format) -> bool {
    let text = String::from_utf8_lossy(head);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let word = line.unwrap_or_default().trim_start_matches('\u{feff}');
    let word = word.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    format.message().fields.iter().any(|field| field.name == word)
}

/// The first message in field 1: a node, a step, an entry of a log, a node of a profile or the head of a meta graph.
fn guess_first_record(record: &[u8]) -> Guess {
    let mut fields = Fields::new(record, 0);
    let Some((number, value)) = first(&mut fields) else {
        return Guess::Unknown;
    };
    match (number, value) {
        // A plane begins with a number and a name, a node of a profile with a number and a message.
        (1, Value::Varint(_)) => match first(&mut fields) {
            Some((2, Value::Bytes(name))) if !name.is_empty() && is_name(name) => Guess::XSpace,
            _ => Guess::Is(Format::Profile),
        },
        (2, Value::Bytes(name)) if !name.is_empty() && is_name(name) => Guess::XSpace,
        (1, Value::Bytes(inner)) if looks_like_device_stats(inner) => Guess::Is(Format::RunMetadata),
        (1, Value::Bytes(name)) if is_name(name) => match first(&mut fields) {
            Some((2, Value::Varint(_)) | (3 | 4, Value::Bytes(_))) => Guess::Is(Format::OpLog),
            Some((2, Value::Bytes(op))) if is_name(op) => Guess::Is(Format::GraphDef),
            _ => Guess::Unknown,
        },
        (2 | 4 | 5, Value::Bytes(_)) => Guess::Is(Format::MetaGraphDef),
        _ => Guess::Unknown,
    }
}

/// A device and its records: the device's name comes first, or else a record.
fn looks_like_device_stats(bytes: &[u8]) -> bool {
    match first_of(bytes) {
        Some((1, Value::Bytes(device))) => device.starts_with(b"/") && is_name(device),
        Some((2, Value::Bytes(record))) => {
            matches!(first_of(record), Some((1, Value::Bytes(name))) if is_name(name))
        }
        _ => false,
    }
}

fn is_name(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.chars().any(char::is_control))
}

fn first_of(bytes: &[u8]) -> Option<(u32, Value<'_>)> {
    first(&mut Fields::new(bytes, 0))
}

/// The next field; one that runs past the end of the head counts as far as it goes.
fn first<'a>(fields: &mut Fields<'a>) -> Option<(u32, Value<'a>)> {
    let before = fields.clone();
    match fields.next_field() {
        Ok(Some(field)) => Some((field.number, field.value)),
        Ok(None) => None,
        // The length was believed only as far as there are bytes.
        Err(_) => before
            .rest()
            .first()
            .filter(|tag| *tag & 7 == 2)
            .map(|tag| (u32::from(*tag >> 3), Value::Bytes(fields.rest()))),
    }
}
