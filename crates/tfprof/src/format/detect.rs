//! Recognizing formats from the first bytes of a file: the parts that the rows of `FORMATS` look at.

use tfprof_proto::schema::{Field, Message};
use tfprof_proto::text::looks_like_text;
use tfprof_proto::wire::{Fault, Fields, Value, WireError};

/// The number and the value of a field.
pub(crate) type NumberedValue<'a> = (u32, Value<'a>);

/// The start of a wire-format file: a field of the message, and the first two fields inside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    pub field: NumberedValue<'a>,
    pub first: Option<NumberedValue<'a>>,
    pub second: Option<NumberedValue<'a>>,
}

impl<'a> Head<'a> {
    fn new(field: NumberedValue<'a>) -> Head<'a> {
        let mut inside = Fields::new(field.1.bytes().unwrap_or_default(), 0);
        let first = next_field(&mut inside);
        Head { field, first, second: next_field(&mut inside) }
    }
}

/// The number of records examined after the first one.
const RECORDS: usize = 100;

/// The first field of a file, and if that is a record in field 1, some of the records that follow it.
///
/// A name may consist of any bytes, which proves nothing; one of the first records has an ordinary one.
pub(crate) fn heads(bytes: &[u8]) -> impl Iterator<Item = Head<'_>> {
    let is_record = |(number, value): &NumberedValue<'_>| *number == 1 && matches!(value, Value::Bytes(_));
    let mut fields = Fields::new(bytes, 0);
    let first = next_field(&mut fields);
    let count = if first.as_ref().is_some_and(is_record) { RECORDS } else { 0 };
    let others = std::iter::from_fn(move || next_field(&mut fields)).take(count).filter(is_record);
    first.into_iter().chain(others).map(Head::new)
}

/// Whether a file is text, and its first word a field of the message.
pub(crate) fn is_text_of(head: &[u8], message: &'static Message) -> bool {
    let names_a_field = || {
        let text = String::from_utf8_lossy(head);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        let word = line.unwrap_or_default().trim_start_matches('\u{feff}');
        let word = word.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        message.fields.iter().any(|field| field.name == word)
    };
    looks_like_text(head, message) && names_a_field()
}

/// A head of this size was cut off; a shorter one is the whole file.
const LONG: usize = 4096;

/// Whether a file could be read as this message: it has a record of the message, and is nothing but fields.
pub(crate) fn may_be(head: &[u8], message: &'static Message) -> bool {
    let is_cut = |fault: &WireError| matches!(fault.fault, Fault::Truncated { .. } | Fault::CutNumber);
    let is_message = |bytes: &[u8]| {
        let mut inside = Fields::new(bytes, 0);
        loop {
            match inside.next_field() {
                Ok(Some(_)) => {}
                Ok(None) => return !bytes.is_empty(),
                Err(fault) => return is_cut(&fault),
            }
        }
    };
    if let Some(text) = text_of(head).filter(|text| !text.contains('\0') && !text.starts_with('\n')) {
        return words_of(text).any(|word| message.fields.iter().any(|field| field.name == word));
    }
    let mut known = false;
    let mut fields = Fields::new(head, 0);
    loop {
        let tag = fields.rest().first().copied().unwrap_or_default();
        match fields.next_field() {
            Ok(Some(field)) => {
                let named = message.fields.iter().any(|known| known.number == field.number);
                known |= named && field.value.bytes().is_some_and(is_message);
            }
            Ok(None) => return known,
            // The head ends within a record.
            Err(fault) if is_cut(&fault) => {
                let is_record = |field: &Field| field.number == u32::from(tag >> 3) && tag & 7 == 2;
                return known || (head.len() >= LONG && message.fields.iter().any(is_record));
            }
            Err(_) => return false,
        }
    }
}

/// The head of a file as text, if it is nothing else; its end may lie within a character.
fn text_of(head: &[u8]) -> Option<&str> {
    match std::str::from_utf8(head) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&head[..error.valid_up_to()]).ok(),
        Err(_) => None,
    }
}

/// The words before `:`, `{` or `<` that lines of a text begin with; none if the first line is not like that.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim_start);
    let mut words = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let word = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        let rest = line[word.len()..].trim_start();
        Some(word).filter(|word| !word.is_empty() && rest.starts_with([':', '{', '<']))
    });
    let first = words.next().flatten();
    words.take(if first.is_some() { usize::MAX } else { 0 }).chain([first]).flatten()
}

/// Whether bytes can be a name: text without control characters.
pub(crate) fn is_name(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.chars().any(char::is_control))
}

/// The first field of a message.
pub(crate) fn first_field(bytes: &[u8]) -> Option<NumberedValue<'_>> {
    next_field(&mut Fields::new(bytes, 0))
}

/// The next field; one that runs past the end of the head counts up to there.
fn next_field<'a>(fields: &mut Fields<'a>) -> Option<NumberedValue<'a>> {
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
