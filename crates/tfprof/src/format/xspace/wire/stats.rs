//! Stats: the ones that some rule looks at, their values, and the decoder for those of events. Most equal those of the
//! last event with the same metadata, so only differences are decoded.

use super::event::{BYTES_PER_WORK, RawValue, StatHead, VARINT, is_varint, raw_value, stat_head, tag, word};
use super::plane::{NO_NAME, NO_STAT, Plane};
use crate::budget;
use crate::model::names::escape_invalid;
use flate2::read::GzDecoder;
use std::io::Read;
use std::sync::Arc;
use tfprof_proto::fields::xstat;
use tfprof_proto::window::{ByteRange, Damage};
use tfprof_proto::wire::{Fields, Value};

macro_rules! stats {
    ($($stat:ident: $($name:literal)|+,)*) => {
        /// A stat that some rule looks at.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Stat {
            $($stat,)*
        }

        const NAMES: &[(&str, Stat)] = &[$($(($name, Stat::$stat),)+)*];

        impl Stat {
            pub const COUNT: usize = [$(Stat::$stat),*].len();
        }
    };
}

stats! {
    StepNum: "step_num",
    Root: "_r",
    FunctionCall: "tf_function_call",
    EagerOp: "eager_op",
    IsFunc: "is_func",
    Id: "id",
    HloOp: "hlo_op",
    HloModule: "hlo_module",
    ProgramId: "program_id",
    RunId: "run_id",
    DeviceOrdinal: "device_ordinal",
    TfOp: "tf_op",
    CorrelationId: "correlation_id",
    HloCategory: "hlo_category",
    Flops: "flops",
    Source: "source",
    GroupId: "group_id",
    DeviceOffset: "device_offset_ps",
    DeviceDuration: "device_duration_ps",
    SelfDuration: "self_duration_ps",
    ProducerType: "_pt",
    Producer: "_p",
    ConsumerType: "_ct",
    Consumer: "_c",
    HloProto: "Hlo Proto" | "hlo_proto",
    PeakBytesInUse: "peak_bytes_in_use",
    BytesReserved: "bytes_reserved",
    BytesAllocated: "bytes_allocated",
    IndexOnHost: "index_on_host",
    Annotation: "annotation",
    AllocatorName: "allocator_name",
    BytesAvailable: "bytes_available",
    Fragmentation: "fragmentation",
    BytesAccessed: "bytes_accessed",
    KernelDetails: "kernel_details",
    Occupancy: "theoretical_occupancy_pct",
}

/// A set of stats, by their bits.
pub type StatMask = u64;

impl Stat {
    pub fn by_name(name: &str) -> Option<Stat> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, stat)| *stat)
    }

    #[inline]
    pub const fn bit(self) -> StatMask {
        1 << self as u32
    }
}

/// The stats that say which op an event is.
pub const OP_STATS: StatMask = Stat::HloOp.bit()
    | Stat::HloModule.bit()
    | Stat::ProgramId.bit()
    | Stat::DeviceOrdinal.bit()
    | Stat::TfOp.bit()
    | Stat::Annotation.bit()
    | Stat::HloCategory.bit()
    | Stat::Source.bit()
    | Stat::KernelDetails.bit();

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

impl OwnValue {
    /// `None` if it refers to a string that does not exist.
    #[inline(always)]
    pub fn new(raw: RawValue, plane: &Plane) -> Option<OwnValue> {
        Some(match raw {
            RawValue::Uint(n) => OwnValue::Uint(n),
            RawValue::Int(n) => OwnValue::Int(n),
            RawValue::Ref(id) => OwnValue::Name(plane.string(id)? as u32),
            RawValue::Double(n) => OwnValue::Double(n),
            RawValue::Text(slice) => OwnValue::Text(slice),
            RawValue::Bytes(slice) => OwnValue::Bytes(slice),
            RawValue::Gzip(slice) => OwnValue::Gzip(slice),
        })
    }
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
    Text(Arc<str>),
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
    budget::work(text.len() as u64 / BYTES_PER_WORK);
    Some(escape_invalid(&text))
}

/// Reads the `XStat` of a plane or of metadata: the id of its name, and its value. `at` is its offset in the file.
pub fn read_stat_value(bytes: &[u8], at: u64, damage: &mut DamageList) -> (i64, StoredValue) {
    let (id, raw) = read_stat(bytes, at, damage);
    let value = raw.map_or(StoredValue::Nothing, |raw| match raw {
        RawValue::Double(n) => StoredValue::Double(n),
        RawValue::Uint(n) => StoredValue::Uint(n),
        RawValue::Int(n) => StoredValue::Int(n),
        RawValue::Text(slice) => StoredValue::Text(escape_invalid(slice.of(bytes)).into()),
        RawValue::Bytes(Slice { start, length }) => {
            let start = at + u64::from(start);
            StoredValue::Bytes(ByteRange { start, end: start + u64::from(length) })
        }
        RawValue::Ref(id) => StoredValue::Ref(id),
        RawValue::Gzip(slice) => {
            gunzip(slice.of(bytes)).map_or(StoredValue::Nothing, |text| StoredValue::Text(text.into()))
        }
    });
    (id, value)
}

/// Reads any `XStat`: the id of its name, and its value. `at` is its offset in the file.
pub fn read_stat(bytes: &[u8], at: u64, damage: &mut DamageList) -> (i64, Option<RawValue>) {
    let (mut id, mut found) = (0, None);
    let mut fields = LenientFields::new(bytes, at);
    for (number, value, offset) in &mut fields {
        let slice = |content: &[u8]| Slice { start: (offset - at) as u32, length: content.len() as u32 };
        found = Some(match (number, value) {
            (xstat::METADATA_ID, Value::Varint(n)) => {
                id = n as i64;
                continue;
            }
            (xstat::DOUBLE_VALUE, Value::Fixed64(n)) => RawValue::Double(f64::from_bits(n)),
            (xstat::UINT64_VALUE, Value::Varint(n)) => RawValue::Uint(n),
            (xstat::INT64_VALUE, Value::Varint(n)) => RawValue::Int(n as i64),
            (xstat::STR_VALUE, Value::Bytes(text)) => RawValue::Text(slice(text)),
            (xstat::BYTES_VALUE, Value::Bytes(content)) => RawValue::Bytes(slice(content)),
            (xstat::REF_VALUE, Value::Varint(n)) => RawValue::Ref(n as i64),
            (xstat::GZIP_STR_VALUE, Value::Bytes(text)) => RawValue::Gzip(slice(text)),
            _ => continue,
        });
    }
    damage.extend(fields.damage);
    (id, found)
}

/// The fields of a message with the offsets of their content, up to the first damage. Of a truncated value, the part
/// that exists comes last.
pub struct LenientFields<'a> {
    fields: Fields<'a>,
    pub damage: Option<Damage>,
}

impl<'a> LenientFields<'a> {
    /// `at` is the offset of the message in the file.
    pub fn new(bytes: &'a [u8], at: u64) -> Self {
        LenientFields { fields: Fields::new(bytes, at), damage: None }
    }
}

impl<'a> Iterator for LenientFields<'a> {
    type Item = (u32, Value<'a>, u64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.damage.is_some() {
            return None;
        }
        let (start, tag) = (self.fields.offset(), self.fields.rest().first().copied().unwrap_or(0));
        // Groups are older than this format, so one means damage.
        if tag & 7 == 3 {
            let what = "expected a field, found a group; is this protobuf?".to_owned();
            self.damage = Some(Damage { offset: start, what });
            return None;
        }
        match self.fields.next_field() {
            Ok(field) => field.map(|field| {
                let length = field.value.bytes().map_or(0, <[u8]>::len) as u64;
                (field.number, field.value, self.fields.offset() - length)
            }),
            Err(error) => {
                self.damage = Some(Damage { offset: error.offset, what: error.to_string() });
                let is_cut = tag & 7 == 2 && (8..0x80).contains(&tag) && error.offset > start;
                is_cut.then(|| (u32::from(tag >> 3), Value::Bytes(self.fields.rest()), error.offset))
            }
        }
    }
}

/// Damage in the bytes: the first of it, and how much there is.
#[derive(Debug, Default)]
pub struct DamageList {
    pub first: Vec<Damage>,
    pub count: u64,
}

/// The number of faults that are reported individually.
const REPORTED: usize = 5;

impl DamageList {
    pub fn extend(&mut self, damage: Option<Damage>) {
        self.count += u64::from(damage.is_some());
        if self.first.len() < REPORTED {
            self.first.extend(damage);
        }
    }
}

/// The stats of one event. The mask says which values are valid, so that none needs clearing.
#[derive(Debug)]
pub struct EventStats {
    pub mask: StatMask,
    pub values: [OwnValue; Stat::COUNT],
    /// Changes whenever one of [`OP_STATS`] does; 0 is unknown.
    pub version: u32,
}

impl EventStats {
    const fn new() -> Self {
        EventStats { mask: 0, values: [OwnValue::Int(0); Stat::COUNT], version: 0 }
    }
}

/// A few stats of an event, in the order of their bits, to compare with those of others.
#[derive(Clone, Copy, Debug)]
pub struct StatSnapshot {
    pub mask: StatMask,
    pub values: [OwnValue; StatSnapshot::MOST],
}

impl StatSnapshot {
    pub const MOST: usize = 6;
}

/// The number of ids without an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dangling {
    pub events: u64,
    pub stats: u64,
    pub strings: u64,
}

/// Decodes the stats that are wanted.
#[derive(Debug)]
pub struct StatReader {
    /// As bits.
    wanted: StatMask,
    /// In all events so far.
    pub dangling: Dangling,
    /// The stats of an event without a template.
    own: EventStats,
    plane: Option<usize>,
    /// By metadata.
    templates: Vec<Option<Box<Template>>>,
}

/// The number of metadata entries of a plane that have templates.
const MAX_TEMPLATES: usize = 4096;

impl StatReader {
    pub fn new(wanted: StatMask) -> StatReader {
        StatReader { wanted, dangling: Dangling::default(), own: EventStats::new(), plane: None, templates: Vec::new() }
    }

    /// Begins a line. The lines of a plane are neighbours.
    pub fn begin_line(&mut self, plane_index: usize, plane: &Plane) {
        if self.plane != Some(plane_index) {
            self.plane = Some(plane_index);
            self.templates.clear();
            self.templates.resize_with(plane.metas.len().min(MAX_TEMPLATES), || None);
        }
    }

    /// Decodes the stats between two offsets on the fast path.
    #[inline(always)]
    pub fn read(
        &mut self,
        plane: &Plane,
        meta: Option<usize>,
        bytes: &[u8],
        at: usize,
        end: usize,
    ) -> Option<&EventStats> {
        let before = self.dangling;
        self.count(plane, meta);
        if at == end || self.wanted == 0 {
            // No stats, or none wanted.
            self.own.mask = 0;
            return Some(&self.own);
        }
        let template = meta.and_then(|meta| self.templates.get_mut(meta));
        let read = match template {
            Some(template) => {
                let template = template.get_or_insert_with(|| Box::new(Template::new()));
                let read = template.read(plane, self.wanted, bytes, at, end, &mut self.dangling);
                if read.is_none() {
                    template.length = 0;
                }
                read.map(|()| &template.own)
            }
            None => {
                self.own.mask = 0;
                let mut at = at;
                loop {
                    if at == end {
                        break Some(&self.own);
                    }
                    let Some(stat) = ParsedStat::read(plane, self.wanted, bytes, at, end) else { break None };
                    stat.keep(&mut self.own, &mut self.dangling);
                    at = stat.end;
                }
            }
        };
        if read.is_none() {
            self.dangling = before;
        }
        read
    }

    /// Counts dangling ids of an event and its metadata.
    #[inline(always)]
    pub fn count(&mut self, plane: &Plane, meta: Option<usize>) {
        match meta {
            None => self.dangling.events += 1,
            Some(meta) if plane.summaries[meta].dangles => {
                self.dangling.stats += plane.metas[meta].nameless;
                self.dangling.strings += plane.metas[meta].lost;
            }
            Some(_) => {}
        }
    }

    /// Forgets the stats of the last event; [`StatReader::put`] adds those of the next.
    pub fn clear(&mut self) {
        self.own.mask = 0;
    }

    pub fn put(&mut self, code: u8, found: Option<OwnValue>) {
        let stat = ParsedStat { code, found, is_wanted: is_wanted(code, self.wanted), end: 0 };
        stat.keep(&mut self.own, &mut self.dangling);
    }

    pub fn own(&self) -> &EventStats {
        &self.own
    }
}

#[inline(always)]
fn is_wanted(code: u8, wanted: StatMask) -> bool {
    code < 64 && wanted & 1 << code != 0
}

/// A decoded stat of an event.
struct ParsedStat {
    code: u8,
    is_wanted: bool,
    found: Option<OwnValue>,
    end: usize,
}

impl ParsedStat {
    #[inline(always)]
    fn read(plane: &Plane, wanted: StatMask, bytes: &[u8], at: usize, limit: usize) -> Option<ParsedStat> {
        const UINT64: u8 = tag(xstat::UINT64_VALUE, VARINT);
        const INT64: u8 = tag(xstat::INT64_VALUE, VARINT);
        let StatHead { id, value, end } = stat_head(bytes, at, limit)?;
        let code = plane.code(id);
        let is_wanted = is_wanted(code, wanted);
        if !is_wanted && matches!(bytes[value], UINT64 | INT64) {
            // Unwanted: check its encoding, skip its value.
            let found = Some(OwnValue::Int(0));
            return is_varint(bytes, value + 1, end).then_some(ParsedStat { code, is_wanted, found, end });
        }
        let found = OwnValue::new(raw_value(bytes, value, end)?, plane);
        Some(ParsedStat { code, is_wanted, found, end })
    }

    /// Stores it unless the event has it already; returns whether it did.
    #[inline(always)]
    fn keep(&self, own: &mut EventStats, dangling: &mut Dangling) -> bool {
        match (self.code, self.found) {
            (NO_NAME, _) => dangling.stats += 1,
            (_, None) => dangling.strings += 1,
            (code, Some(found)) if self.is_wanted && own.mask & 1 << code == 0 => {
                own.mask |= 1 << code;
                own.values[usize::from(code)] = found;
                return true;
            }
            _ => {}
        }
        false
    }
}

/// The stats of the last event with some metadata, with their encoding.
#[derive(Debug)]
struct Template {
    length: usize,
    stats: [EncodedStat; Template::MOST],
    own: EventStats,
}

/// The encoding of a stat, if it has at most eight bytes.
#[derive(Clone, Copy, Debug)]
struct EncodedStat {
    bytes: u64,
    /// The valid bits of `bytes`.
    mask: u64,
    length: u8,
    code: u8,
    /// It is stored in the event, so that a new value replaces it.
    counts: bool,
}

impl EncodedStat {
    const NOTHING: EncodedStat = EncodedStat { bytes: 0, mask: u64::MAX, length: 0, code: NO_STAT, counts: false };

    #[inline(always)]
    fn new(bytes: &[u8], at: usize, stat: &ParsedStat, counts: bool) -> EncodedStat {
        let length = stat.end - at;
        // A stat with a dangling value is not stored, so the next event with a value must be decoded anew.
        let code = if stat.found.is_none() { NO_STAT } else { stat.code };
        let nothing = EncodedStat { code, counts, ..EncodedStat::NOTHING };
        // The offset of text differs from event to event, and dangling ids are counted each time.
        let is_comparable = !matches!(stat.found, None | Some(OwnValue::Text(_))) && stat.code != NO_NAME;
        match word(bytes, at) {
            Some(word) if is_comparable && length <= 8 => {
                let mask = u64::MAX >> (64 - 8 * length);
                EncodedStat { bytes: word & mask, mask, length: length as u8, ..nothing }
            }
            _ => nothing,
        }
    }
}

impl Template {
    const MOST: usize = 12;

    fn new() -> Template {
        Template { length: 0, stats: [EncodedStat::NOTHING; Template::MOST], own: EventStats::new() }
    }

    #[inline(always)]
    fn read(
        &mut self,
        plane: &Plane,
        wanted: StatMask,
        bytes: &[u8],
        start: usize,
        end: usize,
        dangling: &mut Dangling,
    ) -> Option<()> {
        let before = *dangling;
        let mut at = start;
        for written in &mut self.stats[..self.length] {
            if (word(bytes, at)? ^ written.bytes) & written.mask == 0 {
                at += usize::from(written.length);
                continue;
            }
            let stat = ParsedStat::read(plane, wanted, bytes, at, end)?;
            if stat.code != written.code || stat.code == NO_NAME || stat.found.is_none() {
                at = 0;
                break;
            }
            if written.counts {
                if let Some(found) = stat.found {
                    self.own.values[usize::from(stat.code)] = found;
                }
                if OP_STATS & 1 << stat.code != 0 {
                    self.own.version = self.own.version.wrapping_add(1).max(1);
                }
            }
            *written = EncodedStat::new(bytes, at, &stat, written.counts);
            at = stat.end;
        }
        if at == end && self.length > 0 {
            return Some(());
        }
        *dangling = before;
        self.learn(plane, wanted, bytes, start, end, dangling)
    }

    /// Decodes all stats, and stores their encoding.
    #[inline(never)]
    fn learn(
        &mut self,
        plane: &Plane,
        wanted: StatMask,
        bytes: &[u8],
        mut at: usize,
        end: usize,
        dangling: &mut Dangling,
    ) -> Option<()> {
        self.own.version = self.own.version.wrapping_add(1).max(1);
        self.own.mask = 0;
        let mut length = 0;
        while at < end {
            let stat = ParsedStat::read(plane, wanted, bytes, at, end)?;
            let counts = stat.keep(&mut self.own, dangling);
            if let Some(written) = self.stats.get_mut(length) {
                *written = EncodedStat::new(bytes, at, &stat, counts);
            }
            length += 1;
            at = stat.end;
        }
        self.length = if length <= Template::MOST { length } else { 0 };
        Some(())
    }
}
