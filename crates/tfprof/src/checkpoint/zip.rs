//! Zip archives: the list of their files at the end, and single files, in place if they are stored as they are.

use super::{ByteSource, Damage};
use crate::budget;
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::io::Read;

/// The first bytes of an archive that has files.
pub const SIGNATURE: &[u8; 4] = b"PK\x03\x04";

/// An open archive.
#[derive(Debug)]
pub struct Zip {
    source: ByteSource,
    pub entries: Vec<Entry>,
}

/// A file of the archive.
#[derive(Debug)]
pub struct Entry {
    pub name: Vec<u8>,
    pub size: u64,
    packed_size: u64,
    method: u16,
    encrypted: bool,
    checksum: u32,
    /// Where its own header is.
    header: u64,
}

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The end of an archive: its record, and a comment of at most 65535 bytes.
const END: u64 = 22;
const MAX_COMMENT: u64 = 65535;
/// Deflate packs at most this many bytes into one.
const MAX_GROWTH: u64 = 1032;

impl Zip {
    pub fn open(source: ByteSource) -> Result<Zip, Damage> {
        let (directory, size, base) = find_directory(&source)?;
        budget::work(1 + size / 16);
        let bytes = source.read(base.saturating_add(directory), size)?;
        let mut entries = Vec::new();
        let mut rest = &bytes[..];
        while rest.starts_with(b"PK\x01\x02") {
            let at = directory + (bytes.len() - rest.len()) as u64;
            let cut = || source.damage(at, "the list of the archive is cut short; is it damaged?".to_owned());
            let head = rest.get(..46).ok_or_else(cut)?;
            let lengths = [28, 30, 32].map(|at| usize::from(number16(head, at)));
            let end = 46 + lengths.iter().sum::<usize>();
            let names = rest.get(46..end).ok_or_else(cut)?;
            let mut entry = Entry {
                name: names[..lengths[0]].to_vec(),
                size: u64::from(number32(head, 24)),
                packed_size: u64::from(number32(head, 20)),
                method: number16(head, 10),
                encrypted: number16(head, 8) & 1 != 0,
                checksum: number32(head, 16),
                header: u64::from(number32(head, 42)),
            };
            entry.widen(&names[lengths[0]..lengths[0] + lengths[1]]);
            entry.header = entry.header.saturating_add(base);
            entries.push(entry);
            budget::work(1);
            rest = &rest[end..];
        }
        if entries.is_empty() {
            return Err(source.damage(directory, "the list of the archive is empty or damaged".to_owned()));
        }
        Ok(Zip { source, entries })
    }

    /// The name of the archive itself.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name.as_bytes())
    }

    /// The bytes of a file: a part of the archive, or unpacked in memory.
    pub fn source(&self, entry: &Entry) -> Result<ByteSource, Damage> {
        let name = super::read::name_text(&entry.name);
        let wrong = |what: String| self.source.damage(entry.header, format!("`{name}` in the archive {what}"));
        if entry.encrypted {
            return Err(wrong("is encrypted".to_owned()));
        }
        let head = self.source.read(entry.header, 30)?;
        if !head.starts_with(SIGNATURE) {
            return Err(wrong("is not where the list says; is the archive damaged?".to_owned()));
        }
        let start = entry.header + 30 + u64::from(number16(&head, 26)) + u64::from(number16(&head, 28));
        let packed = self.source.part(start, entry.packed_size)?;
        match entry.method {
            STORED => Ok(packed),
            DEFLATED => {
                let most = entry.size.min(entry.packed_size.saturating_mul(MAX_GROWTH));
                let plain = inflate(&packed, most).map_err(wrong)?;
                let mut crc = Crc::new();
                crc.update(&plain);
                if crc.sum() != entry.checksum || plain.len() as u64 != entry.size {
                    return Err(wrong("does not unpack to what the list says; is the archive damaged?".to_owned()));
                }
                Ok(ByteSource::memory(&format!("{} ({name})", self.source.name), plain))
            }
            method => Err(wrong(format!("is packed by method {method}, which tfprof does not read"))),
        }
    }
}

impl Entry {
    /// Whether it is in the archive as it is.
    pub fn is_stored(&self) -> bool {
        self.method == STORED
    }

    /// Takes sizes of large files from the extra field, where 32 bits were not enough.
    fn widen(&mut self, mut extra: &[u8]) {
        while let (Some(head), true) = (extra.get(..4), extra.len() > 4) {
            let (id, length) = (number16(head, 0), usize::from(number16(head, 2)));
            let Some(mut body) = extra.get(4..4 + length) else { return };
            extra = &extra[4 + length..];
            if id != 1 {
                continue;
            }
            for field in [&mut self.size, &mut self.packed_size, &mut self.header] {
                if *field == u64::from(u32::MAX)
                    && let Some((number, rest)) = body.split_first_chunk::<8>()
                {
                    *field = u64::from_le_bytes(*number);
                    body = rest;
                }
            }
        }
    }
}

/// Where the list of files is, its size, and where the archive starts in the file.
fn find_directory(source: &ByteSource) -> Result<(u64, u64, u64), Damage> {
    let wrong = || source.damage(0, "this zip archive has no end; is it truncated?".to_owned());
    let from = source.len().saturating_sub(END + MAX_COMMENT);
    let tail = source.read(from, source.len() - from)?;
    let at = (0..tail.len().saturating_sub(END as usize - 1)).rev().find(|at| tail[*at..].starts_with(b"PK\x05\x06"));
    let at = at.ok_or_else(wrong)?;
    let end = &tail[at..];
    let (mut size, mut offset) = (u64::from(number32(end, 12)), u64::from(number32(end, 16)));
    let mut end_of_list = from + at as u64;
    if let Some(locator) = at.checked_sub(20).map(|start| &tail[start..at])
        && locator.starts_with(b"PK\x06\x07")
    {
        let large = source.read(number64(locator, 8), 56)?;
        if !large.starts_with(b"PK\x06\x06") {
            return Err(source.damage(number64(locator, 8), "the end of the archive is damaged".to_owned()));
        }
        (size, offset) = (number64(&large, 40), number64(&large, 48));
        end_of_list = number64(locator, 8);
    }
    // Bytes before the archive shift everything.
    let base = end_of_list.checked_sub(size).and_then(|start| start.checked_sub(offset)).ok_or_else(wrong)?;
    Ok((offset, size, base))
}

fn inflate(packed: &ByteSource, most: u64) -> Result<Vec<u8>, String> {
    let bytes = packed.read(0, packed.len()).map_err(|damage| damage.what)?;
    budget::work(1 + most / 16);
    budget::reserve(most);
    let mut plain = Vec::with_capacity(usize::try_from(most).unwrap_or(0));
    let read = DeflateDecoder::new(&bytes[..]).take(most + 1).read_to_end(&mut plain);
    read.map_err(|error| format!("cannot be unpacked: {error}"))?;
    Ok(plain)
}

fn number16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn number32(bytes: &[u8], at: usize) -> u32 {
    u32::from(number16(bytes, at)) | u32::from(number16(bytes, at + 2)) << 16
}

fn number64(bytes: &[u8], at: usize) -> u64 {
    u64::from(number32(bytes, at)) | u64::from(number32(bytes, at + 4)) << 32
}
