//! Names and numbers of the fields of the messages that tfprof reads as text.

/// A message: its name and its fields.
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
}

/// What a field holds, as far as its wire form depends on it.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Bool,
    Float,
    Double,
    String,
    Bytes,
    Enum(&'static [(&'static str, i32)]),
    Message(&'static Message),
}
pub static GRAPH_DEF: Message = Message { name: "GraphDef", fields: &[] };
pub static META_GRAPH_DEF: Message = Message { name: "MetaGraphDef", fields: &[] };
pub static RUN_METADATA: Message = Message { name: "RunMetadata", fields: &[] };
pub static OP_LOG: Message = Message { name: "OpLogProto", fields: &[] };
pub static PROFILE: Message = Message { name: "ProfileProto", fields: &[] };
