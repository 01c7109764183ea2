//! Names and numbers of the fields of the messages that tfprof reads as text.
//!
//! `schema/tables.rs` is generated from TensorFlow's own descriptors (`scripts/generate_schema.py`) and committed, so
//! that no build needs `protoc`. A map is a repeated message with the fields `key` = 1 and `value` = 2, as on the wire.

mod tables;

pub use tables::{
    ADVICE_PROTO as ADVICE, ATTR_VALUE, CHECKPOINT_STATE, GRAPH_DEBUG_INFO, GRAPH_DEF, GRAPH_NODE_PROTO as GRAPH_NODE,
    META_GRAPH_DEF, MULTI_GRAPH_NODE_PROTO as MULTI_GRAPH_NODE, NODE_DEF, OP_LOG_PROTO as OP_LOG,
    OPTIONS_PROTO as OPTIONS, PROFILE_PROTO as PROFILE, RUN_METADATA, SAVED_MODEL, SAVED_OBJECT_GRAPH,
    TRACKABLE_OBJECT_GRAPH, VARIABLE_DEF,
};

/// A message: its full name and its fields, sorted by name.
#[derive(Debug)]
pub struct Message {
    pub name: &'static str,
    pub fields: &'static [Field],
}

/// A field of a message.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub number: u32,
    pub kind: Kind,
    pub repeated: bool,
    /// The name's first letters, see [`head`].
    head: u64,
}

/// The type of a field, as far as its wire form depends on it.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint64,
    Fixed64,
    Bool,
    Float,
    Double,
    String,
    Bytes,
    /// The names of the values and their numbers, sorted by name.
    Enum(&'static [(&'static str, i32)]),
    Message(&'static Message),
}

/// Finds a message by its full name, such as `tensorflow.GraphDef`.
pub fn message(name: &str) -> Option<&'static Message> {
    let found = tables::MESSAGES.binary_search_by(|message| message.name.cmp(name));
    found.ok().map(|i| tables::MESSAGES[i])
}

impl Message {
    /// Finds a field by its name.
    #[inline]
    pub fn field(&self, name: &[u8]) -> Option<&'static Field> {
        let wanted = head(name);
        self.fields.iter().find(|field| {
            field.head == wanted
                && field.name.len() == name.len()
                && (name.len() <= 8 || field.name.as_bytes()[8..] == name[8..])
        })
    }

    /// The name without its package: `NodeDef`, `AttrValue.ListValue`.
    pub fn short_name(&self) -> &'static str {
        let packages = self.name.split('.').take_while(|part| part.starts_with(char::is_lowercase));
        &self.name[packages.map(|part| part.len() + 1).sum::<usize>()..]
    }
}

impl Field {
    const fn new(name: &'static str, number: u32, kind: Kind, repeated: bool) -> Field {
        Field { name, number, kind, repeated, head: head(name.as_bytes()) }
    }
}

/// The first eight letters of a name as one number, which decides most comparisons.
#[inline]
const fn head(name: &[u8]) -> u64 {
    if let Some(letters) = name.first_chunk() {
        return u64::from_le_bytes(*letters);
    }
    let mut head = 0;
    let mut i = name.len();
    while i > 0 {
        i -= 1;
        head = head << 8 | name[i] as u64;
    }
    head
}

/// The number of an enum's value.
pub(crate) fn enum_value(values: &[(&str, i32)], name: &[u8]) -> Option<i32> {
    values.binary_search_by(|(value, _)| value.as_bytes().cmp(name)).ok().map(|i| values[i].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_found_by_its_name_and_every_field_by_its_own() {
        for known in tables::MESSAGES {
            assert!(std::ptr::eq(message(known.name).unwrap(), *known), "{}", known.name);
            for field in known.fields {
                assert!(std::ptr::eq(known.field(field.name.as_bytes()).unwrap(), field), "{}", field.name);
                if let Kind::Enum(values) = field.kind {
                    assert!(values.iter().all(|(name, n)| enum_value(values, name.as_bytes()) == Some(*n)));
                }
            }
        }
        assert!(message("tensorflow.Nothing").is_none());
        assert!(GRAPH_DEF.field(b"nod").is_none());
    }

    #[test]
    fn short_names_keep_the_message_around() {
        assert_eq!(GRAPH_DEF.short_name(), "GraphDef");
        assert_eq!(OP_LOG.short_name(), "OpLogProto");
        assert_eq!(message("tensorflow.AttrValue.ListValue").unwrap().short_name(), "AttrValue.ListValue");
    }

    #[test]
    fn numbers_are_those_of_tensorflow() {
        let number = |message: &Message, name: &str| message.field(name.as_bytes()).map(|field| field.number);
        assert_eq!(number(&GRAPH_DEF, "library"), Some(2));
        assert_eq!(number(&RUN_METADATA, "step_stats"), Some(1));
        assert_eq!(number(&PROFILE, "id_to_string"), Some(4));
        assert_eq!(number(&CHECKPOINT_STATE, "model_checkpoint_path"), Some(1));
    }
}
