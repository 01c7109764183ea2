//! Stats: the ones that some rule looks at, and their values.

use super::window::ByteRange;
use crate::model::names::escape_invalid;
use flate2::read::GzDecoder;
use std::io::Read;
use tfprof_proto::fields::xstat;
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
pub const OP_STATS: u32 = Stat::HloOp.bit()
    | Stat::HloModule.bit()
    | Stat::ProgramId.bit()
    | Stat::DeviceOrdinal.bit()
    | Stat::TfOp.bit()
    | Stat::HloCategory.bit()
    | Stat::Source.bit();

/// The value of an event's own stat. Text stays in the bytes of the event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OwnValue {
    Int(i64),
    Uint(u64),
    Double(f64),
    /// A string of the plane, by index.
    Name(u32),
    Text(Slice),
    Bytes(Slice),
    Gzip(Slice),
}

/// A part of an event's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    pub start: u32,
    pub length: u32,
}

impl Slice {
    #[inline]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..(self.start + self.length) as usize]
    }
}

/// The value of a stat of an event's metadata or of a plane.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredValue {
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(ByteRange),
    /// A string of the plane, by the id of its entry; resolved once the plane is read.
    Ref(i64),
    /// No value, or a reference to a string that does not exist.
    Nothing,
}

/// The limit of decompressed text.
const MAX_TEXT: u64 = 1 << 20;

/// Decompresses the text of a stat.
pub fn gunzip(bytes: &[u8]) -> Option<String> {
    let mut text = Vec::new();
    GzDecoder::new(bytes).take(MAX_TEXT).read_to_end(&mut text).ok()?;
    Some(escape_invalid(&text))
}

/// Reads the `XStat` of a plane or of metadata: the id of its name, and its value. `at` is its offset in the file.
pub fn read_stat_value(bytes: &[u8], at: u64, damaged: &mut dyn FnMut(u64, String)) -> (i64, StoredValue) {
    let (mut id, mut found) = (0, StoredValue::Nothing);
    each_field(bytes, at, damaged, |number, value, offset| match (number, value) {
        (xstat::METADATA_ID, Value::Varint(n)) => id = n as i64,
        (xstat::DOUBLE_VALUE, Value::Fixed64(n)) => found = StoredValue::Double(f64::from_bits(n)),
        (xstat::UINT64_VALUE, Value::Varint(n)) => found = StoredValue::Uint(n),
        (xstat::INT64_VALUE, Value::Varint(n)) => found = StoredValue::Int(n as i64),
        (xstat::STR_VALUE, Value::Bytes(text)) => found = StoredValue::Text(escape_invalid(text)),
        (xstat::BYTES_VALUE, Value::Bytes(content)) => {
            found = StoredValue::Bytes(ByteRange { start: offset, end: offset + content.len() as u64 });
        }
        (xstat::REF_VALUE, Value::Varint(n)) => found = StoredValue::Ref(n as i64),
        (xstat::GZIP_STR_VALUE, Value::Bytes(text)) => {
            found = gunzip(text).map_or(StoredValue::Nothing, StoredValue::Text);
        }
        _ => {}
    });
    (id, found)
}

/// Calls `then` for the fields of a message, with the offset of their content; ends at the first damage.
#[inline]
pub fn each_field<'a>(
    bytes: &'a [u8],
    at: u64,
    damaged: &mut dyn FnMut(u64, String),
    mut then: impl FnMut(u32, Value<'a>, u64),
) {
    let mut fields = Fields::new(bytes, at);
    loop {
        // Groups are older than this format, so one means damage.
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
                    // Of a truncated value, keep the part that exists.
                    then(u32::from(tag >> 3), Value::Bytes(fields.rest()), error.offset);
                }
                return damaged(error.offset, error.to_string());
            }
        }
    }
}
