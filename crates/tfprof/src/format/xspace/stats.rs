//! The stats that mean something to us, and the values that stats have.

use super::bytes::Span;
use crate::model::names::escape_invalid;
use flate2::read::GzDecoder;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::io::Read;
use tfprof_proto::wire::{Fields, Value};

/// A stat that some rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stat {
    StepNum,
    Root,
    FunctionCall,
    EagerOp,
    IsFunc,
    Id,
    HloOp,
    HloModule,
    ProgramId,
    RunId,
    DeviceOrdinal,
    TfOp,
    CorrelationId,
    HloCategory,
    Flops,
    Source,
    GroupId,
    DeviceOffset,
    DeviceDuration,
    SelfDuration,
    ProducerType,
    Producer,
    ConsumerType,
    Consumer,
    HloProto,
    PeakBytesInUse,
    AllocatorName,
}

/// The names of the stats, in the order of [`Stat`].
const NAMES: [(&str, Stat); 28] = [
    ("step_num", Stat::StepNum),
    ("_r", Stat::Root),
    ("tf_function_call", Stat::FunctionCall),
    ("eager_op", Stat::EagerOp),
    ("is_func", Stat::IsFunc),
    ("id", Stat::Id),
    ("hlo_op", Stat::HloOp),
    ("hlo_module", Stat::HloModule),
    ("program_id", Stat::ProgramId),
    ("run_id", Stat::RunId),
    ("device_ordinal", Stat::DeviceOrdinal),
    ("tf_op", Stat::TfOp),
    ("correlation_id", Stat::CorrelationId),
    ("hlo_category", Stat::HloCategory),
    ("flops", Stat::Flops),
    ("source", Stat::Source),
    ("group_id", Stat::GroupId),
    ("device_offset_ps", Stat::DeviceOffset),
    ("device_duration_ps", Stat::DeviceDuration),
    ("self_duration_ps", Stat::SelfDuration),
    ("_pt", Stat::ProducerType),
    ("_p", Stat::Producer),
    ("_ct", Stat::ConsumerType),
    ("_c", Stat::Consumer),
    ("Hlo Proto", Stat::HloProto),
    ("hlo_proto", Stat::HloProto),
    ("peak_bytes_in_use", Stat::PeakBytesInUse),
    ("allocator_name", Stat::AllocatorName),
];

impl Stat {
    pub const COUNT: usize = 27;

    pub fn by_name(name: &str) -> Option<Stat> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, stat)| *stat)
    }

    #[inline]
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// The stats that say which op an event is.
pub const OF_OPS: u32 = Stat::HloOp.bit()
    | Stat::HloModule.bit()
    | Stat::ProgramId.bit()
    | Stat::DeviceOrdinal.bit()
    | Stat::TfOp.bit()
    | Stat::HloCategory.bit()
    | Stat::Source.bit();

/// The value of a stat of an event. Text is told by where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    Int(i64),
    Uint(u64),
    Double(f64),
    /// A string of the plane, by its place there.
    Name(u32),
    /// Bytes of the event: where they begin, and how many.
    Text(u32, u32),
    Bytes(u32, u32),
    Gzip(u32, u32),
}

/// The value of a stat of an event's metadata or of a plane.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Span),
    /// A string of the plane, by the id of its entry; resolved once the plane is read.
    Ref(i64),
    /// No value, or one that leads nowhere.
    Nothing,
}

/// What compressed text may grow to.
const TEXT: u64 = 1 << 20;

/// Text of a stat, unpacked if it is compressed.
pub fn gunzip(bytes: &[u8]) -> Option<String> {
    let mut text = Vec::new();
    GzDecoder::new(bytes).take(TEXT).read_to_end(&mut text).ok()?;
    Some(escape_invalid(&text))
}

/// Reads an `XStat` that is kept. `at` is where `bytes` begin in the file.
pub fn read_held(bytes: &[u8], at: u64, damaged: &mut dyn FnMut(u64, String)) -> (i64, Held) {
    let (mut id, mut held) = (0, Held::Nothing);
    each(bytes, at, damaged, |number, value, offset| match (number, value) {
        (1, Value::Varint(n)) => id = n as i64,
        (2, Value::Fixed64(n)) => held = Held::Double(f64::from_bits(n)),
        (3, Value::Varint(n)) => held = Held::Uint(n),
        (4, Value::Varint(n)) => held = Held::Int(n as i64),
        (5, Value::Bytes(text)) => held = Held::Text(escape_invalid(text)),
        (6, Value::Bytes(content)) => {
            held = Held::Bytes(Span { start: offset, end: offset + content.len() as u64 });
        }
        (7, Value::Varint(n)) => held = Held::Ref(n as i64),
        (8, Value::Bytes(text)) => held = gunzip(text).map_or(Held::Nothing, Held::Text),
        _ => {}
    });
    (id, held)
}

/// Calls `then` for the fields of a message, with the offset of their content; damage ends it.
#[inline]
pub fn each<'a>(
    bytes: &'a [u8],
    at: u64,
    damaged: &mut dyn FnMut(u64, String),
    mut then: impl FnMut(u32, Value<'a>, u64),
) {
    let mut fields = Fields::new(bytes, at);
    loop {
        // A group is from before this format: it means damage.
        if fields.rest().first().is_some_and(|tag| tag & 7 == 3) {
            return damaged(fields.offset(), "expected a field, found a group; is this protobuf?".to_owned());
        }
        let before = fields.clone();
        match fields.next_field() {
            Ok(Some(field)) => {
                let length = field.value.bytes().map_or(0, <[u8]>::len) as u64;
                then(field.number, field.value, fields.offset() - length);
            }
            Ok(None) => return,
            Err(error) => {
                let tag = before.rest().first().copied().unwrap_or(0);
                if tag & 7 == 2 && (8..0x80).contains(&tag) && error.offset > before.offset() {
                    // What is there of a value that runs past the end counts.
                    then(u32::from(tag >> 3), Value::Bytes(fields.rest()), error.offset);
                }
                return damaged(error.offset, error.to_string());
            }
        }
    }
}

/// Numbers and texts that name runs and launches: equal keys are the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// By bits: the same id may be written as a signed and as an unsigned number.
    Number(u64),
    Text(u32),
    Double(u64),
}

/// Texts that are used as keys, each with a number.
#[derive(Debug, Default)]
pub struct Texts(FxHashMap<String, u32>);

impl Texts {
    pub fn key(&mut self, text: Cow<'_, str>) -> Key {
        let next = self.0.len() as u32;
        Key::Text(*self.0.entry(text.into_owned()).or_insert(next))
    }
}
