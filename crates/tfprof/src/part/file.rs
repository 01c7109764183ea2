//! The file format of partials: a magic number, a version, sections, and an end mark. Each section is compressed and checksummed on its own; the
//! ledger comes first, so that it can be read without the rest.
//!
//! ```text
//! "TFPROFPT"  version:u32le  section…  0x00
//! section     kind:u8  packed_length:varint  length:varint  crc32(kind, lengths, packed bytes):u32le  bytes (deflate)
//! ```

use super::bytes::{Cursor, Fault, put, put_len, put_maybe, put_signed, put_text};
use super::recording::{Block, Recording};
use super::rows::Rows;
use super::steps::StepSet;
use super::{Partial, PartialFacts};
use crate::budget;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

pub const MAGIC: &[u8; 8] = b"TFPROFPT";
const VERSION: u32 = 2;

const END: u8 = 0;
const LEDGER: u8 = 1;
const BLOCK: u8 = 2;
const ROWS: u8 = 3;

/// Deflate cannot compress better than 1 : 1,032; a partial comes nowhere near.
const GROWTH: u64 = 300;
const HARMLESS: u64 = 1 << 16;
/// A step of a recording takes at least this many bytes.
const LEAST_STEP: u64 = 9;

pub fn recognizes(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Compressed bytes and their uncompressed length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    bytes: Box<[u8]>,
    length: u64,
}

impl Packed {
    pub fn new(bytes: &[u8]) -> Packed {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        // Writing into memory cannot fail.
        let packed = encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default();
        Packed { bytes: packed.into(), length: bytes.len() as u64 }
    }

    fn check(&self) -> Result<(), Fault> {
        let packed = self.bytes.len() as u64;
        let is_plausible = self.length <= packed.saturating_mul(GROWTH).max(HARMLESS);
        if is_plausible { Ok(()) } else { Err(format!("{packed} bytes claim to hold {}", self.length)) }
    }

    fn unpack(&self) -> Result<Vec<u8>, Fault> {
        self.check()?;
        budget::reserve(self.length);
        let mut bytes = Vec::new();
        let mut input = DeflateDecoder::new(&*self.bytes).take(self.length + 1);
        input.read_to_end(&mut bytes).map_err(|error| format!("its packed data is damaged ({error})"))?;
        budget::add_input((bytes.len() as u64).min(self.bytes.len() as u64 * budget::PACKED_GROWTH));
        budget::check();
        if bytes.len() as u64 == self.length {
            Ok(bytes)
        } else {
            Err("a section has not its stated length".to_owned())
        }
    }

    /// The steps of a recording.
    pub fn block(&self) -> Result<Block, Fault> {
        Block::read(&self.unpack()?)
    }

    fn write(&self, kind: u8, out: &mut dyn Write) -> io::Result<()> {
        let mut head = vec![kind];
        put_len(&mut head, self.bytes.len());
        put(&mut head, self.length.into());
        let mut crc = Crc::new();
        crc.update(&head);
        crc.update(&self.bytes);
        out.write_all(&head)?;
        out.write_all(&crc.sum().to_le_bytes())?;
        out.write_all(&self.bytes)
    }
}

impl Partial {
    /// Writes it. Equal partials are equal bytes.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        Packed::new(&self.ledger()).write(LEDGER, out)?;
        self.blocks.values().try_for_each(|block| block.write(BLOCK, out))?;
        Packed::new(&self.rows.write()).write(ROWS, out)?;
        out.write_all(&[END])
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // Writing into memory cannot fail.
        drop(self.write(&mut out));
        out
    }

    /// Reads everything; the steps of recordings are checked, and stay compressed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Partial, Fault> {
        let mut sections = Sections::open(bytes)?;
        let mut partial = sections.ledger()?;
        let ids: Vec<u128> = partial.blocks.keys().copied().collect();
        for id in ids {
            let (kind, packed) = sections.next()?.ok_or("it ends early")?;
            if kind != BLOCK {
                return Err("the steps of a recording are missing".to_owned());
            }
            packed.check()?;
            partial.blocks.insert(id, packed);
        }
        // Steps become a list: a range of a few bytes must not become a long one.
        let room = partial.blocks.values().fold(0, |sum: u64, block| sum.saturating_add(block.length)) / LEAST_STEP;
        if partial.about.steps.count() > room {
            return Err(format!("it claims {} steps, and its recordings have fewer", partial.about.steps.count()));
        }
        let Some((ROWS, packed)) = sections.next()? else { return Err("its rows are missing".to_owned()) };
        partial.rows = Rows::read(&packed.unpack()?)?;
        match sections.next()? {
            None => sections.cursor.end().map(|()| partial),
            Some(_) => Err("it has a section that this version does not know".to_owned()),
        }
    }

    /// Reads the ledger alone, which is at the start.
    pub fn ledger_of(bytes: &[u8]) -> Result<BTreeMap<u128, Recording>, Fault> {
        Ok(Sections::open(bytes)?.ledger()?.recordings)
    }

    fn ledger(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let about = &self.about;
        put_maybe(&mut out, about.per_micro);
        for flag in [about.is_trace, about.knows_trainable, about.has_traces, about.misses_streams] {
            out.push(flag.into());
        }
        put_len(&mut out, about.known.len());
        about.known.iter().for_each(|metric| put_text(&mut out, metric));
        put_maybe(&mut out, about.batch);
        out.push(about.by_batch.is_some().into());
        about.by_batch.iter().flatten().flatten().for_each(|number| put_signed(&mut out, (*number).into()));
        put_signed(&mut out, about.frozen_weights.into());
        about.steps.write(&mut out);
        put_len(&mut out, self.recordings.len());
        for (id, recording) in &self.recordings {
            recording.write(&mut out);
            out.push(self.blocks.contains_key(id).into());
        }
        out
    }
}

/// The sections of a file, one after the other.
struct Sections<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Sections<'a> {
    fn open(bytes: &'a [u8]) -> Result<Sections<'a>, Fault> {
        let mut cursor = Cursor::new(bytes);
        if cursor.bytes(MAGIC.len())? != MAGIC {
            return Err("it does not start like a partial".to_owned());
        }
        let mut version = [0; 4];
        version.copy_from_slice(cursor.bytes(4)?);
        match u32::from_le_bytes(version) {
            VERSION => Ok(Sections { cursor }),
            other => {
                Err(format!("it has version {other}, and this tfprof reads version {VERSION}; update the older one"))
            }
        }
    }

    fn next(&mut self) -> Result<Option<(u8, Packed)>, Fault> {
        let cursor = &mut self.cursor;
        let kind = cursor.byte()?;
        if kind == END {
            return Ok(None);
        }
        let (packed, length) = (cursor.u64()?, cursor.u64()?);
        let mut crc = Crc::new();
        let mut head = vec![kind];
        put(&mut head, packed.into());
        put(&mut head, length.into());
        crc.update(&head);
        let mut stated = [0; 4];
        stated.copy_from_slice(cursor.bytes(4)?);
        let left = cursor.left();
        let size = usize::try_from(packed).ok().filter(|size| *size <= left);
        let size = size.ok_or_else(|| format!("a section of {packed} bytes runs past the end ({left} bytes left)"))?;
        let bytes = cursor.bytes(size)?;
        crc.update(bytes);
        if crc.sum() != u32::from_le_bytes(stated) {
            return Err("a checksum is wrong: the file was changed or damaged".to_owned());
        }
        Ok(Some((kind, Packed { bytes: bytes.into(), length })))
    }

    /// The partial without rows, its blocks empty.
    fn ledger(&mut self) -> Result<Partial, Fault> {
        let Some((LEDGER, packed)) = self.next()? else { return Err("its ledger is missing".to_owned()) };
        let bytes = packed.unpack()?;
        let mut cursor = Cursor::new(&bytes);
        let cursor = &mut cursor;
        let mut about = PartialFacts { per_micro: cursor.maybe()?, ..PartialFacts::default() };
        if about.per_micro.is_some_and(|parts| parts != 1 && parts != 1_000_000) {
            return Err("its unit of time is not known".to_owned());
        }
        for flag in [&mut about.is_trace, &mut about.knows_trainable, &mut about.has_traces, &mut about.misses_streams]
        {
            *flag = cursor.flag()?;
        }
        for _ in 0..cursor.count(1, "metrics")? {
            about.known.insert(cursor.text()?.to_owned());
        }
        about.batch = cursor.maybe()?;
        if cursor.flag()? {
            let mut costs = [[0; 3]; 3];
            for number in costs.iter_mut().flatten() {
                *number = cursor.int()?;
            }
            about.by_batch = Some(costs);
        }
        about.frozen_weights = cursor.int()?;
        about.steps = StepSet::read(cursor)?;
        let mut partial = Partial { about, ..Partial::default() };
        for _ in 0..cursor.count(7, "recordings")? {
            let recording = Recording::read(cursor)?;
            let id = recording.id();
            if cursor.flag()? {
                partial.blocks.insert(id, Packed { bytes: Box::default(), length: 0 });
            }
            if partial.recordings.insert(id, recording).is_some() {
                return Err("a recording is in its ledger twice".to_owned());
            }
        }
        cursor.end()?;
        Ok(partial)
    }
}
