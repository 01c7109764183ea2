//! Tables of checkpoints with right checksums: keys that share prefixes, blocks that overlap, restarts that lead
//! anywhere; bundles and tables of the first format.

use super::graph::shape;
use crate::make::{Make, message, number, text};
use tfprof_proto::write::varint;

const MAGIC: [u8; 8] = [0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb];

/// The index of a bundle.
pub fn bundle(make: &mut Make<'_>) -> Vec<u8> {
    let mut header = Vec::new();
    number(&mut header, 1, if make.once_in(16) { make.number() } else { 1 });
    message(&mut header, 3, |out| number(out, 1, 1));
    table(make, &header, |make, out| {
        number(out, 1, i64::from(make.pick(&[1_u8, 2, 3, 7, 7, 9, 14])));
        message(out, 2, |out| shape(make, out));
        number(out, 3, if make.once_in(16) { make.number() } else { 0 });
        number(out, 4, if make.once_in(8) { make.number() } else { 8 * make.small() });
        number(out, 5, if make.once_in(4) { make.number() } else { 4 * make.small() });
        if make.once_in(8) {
            message(out, 7, |out| extents(make, out));
        }
    })
}

/// A table of the first format.
pub fn tables(make: &mut Make<'_>) -> Vec<u8> {
    let mut meta = Vec::new();
    message(&mut meta, 1, |out| {
        for _ in 0..1 + make.below(4) {
            make.repeat(out, |make, out| {
                message(out, 1, |out| {
                    text(out, 1, make.name());
                    message(out, 2, |out| shape(make, out));
                    number(out, 3, i64::from(make.pick(&[1_u8, 2, 3, 7])));
                    message(out, 4, |out| extents(make, out));
                });
            });
        }
    });
    table(make, &meta, |make, out| {
        message(out, 2, |out| {
            text(out, 1, make.name());
            message(out, 2, |out| extents(make, out));
            message(out, 3, |out| {
                number(out, 1, i64::from(make.pick(&[1_u8, 2, 3, 7])));
                text(out, u32::from(make.pick(&[4_u8, 5, 7, 8])), make.raw());
            });
        });
    })
}

fn extents(make: &mut Make<'_>, out: &mut Vec<u8>) {
    for _ in 0..make.below(4) {
        message(out, 1, |out| {
            number(out, 1, make.small());
            number(out, 2, if make.once_in(8) { make.number() } else { make.small() });
        });
    }
}

fn table(make: &mut Make<'_>, first: &[u8], mut value: impl FnMut(&mut Make<'_>, &mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut handles = Vec::new();
    for at in 0..1 + make.below(3) {
        let mut entries = Vec::new();
        if at == 0 {
            key(&mut entries, 0, b"", first);
        }
        let mut restarts = vec![0];
        for _ in 0..make.below(8) {
            make.repeat(&mut entries, |make, out| {
                if make.once_in(8) {
                    restarts.push(if make.once_in(4) { make.number() as u32 } else { out.len() as u32 });
                }
                let (name, mut content) = (make.name(), Vec::new());
                value(make, &mut content);
                let shared = match make.byte() {
                    0..40 => make.small() as u64,
                    40..50 => make.number() as u64,
                    50..60 => 4000,
                    _ => 0,
                };
                key(out, shared, &name, &content);
            });
        }
        if at == 0 && make.once_in(8) {
            let end = entries.len() as u32;
            restarts.extend((0..end.min(3000)).map(|at| at % end.max(1)));
        }
        handles.push(block(&mut out, &entries, &restarts));
        // The same block again, and a part of it.
        make.repeat(&mut Vec::new(), |make, _| {
            if make.once_in(2) {
                let (start, length) = handles[handles.len() - 1];
                let skipped = if make.once_in(4) { make.small() as u64 } else { 0 };
                handles.push((start + skipped, length.saturating_sub(skipped)));
            }
        });
    }
    let meta = block(&mut out, b"", &[0]);
    let mut index = Vec::new();
    for (at, handle) in handles.iter().enumerate() {
        let last = format!("\u{7f}{at:06}");
        let mut value = Vec::new();
        [handle.0, handle.1].iter().for_each(|n| varint(&mut value, *n));
        key(&mut index, 0, last.as_bytes(), &value);
    }
    let index = block(&mut out, &index, &[0]);
    let mut footer = Vec::new();
    [meta.0, meta.1, index.0, index.1].iter().for_each(|n| varint(&mut footer, *n));
    footer.resize(40, 0);
    out.extend(footer);
    out.extend(MAGIC);
    // Damage of the bytes themselves, which checksums find.
    if make.once_in(8) {
        let at = make.below(out.len());
        out[at] ^= make.byte();
    }
    out
}

fn key(out: &mut Vec<u8>, shared: u64, own: &[u8], value: &[u8]) {
    varint(out, shared);
    varint(out, own.len() as u64);
    varint(out, value.len() as u64);
    out.extend(own);
    out.extend(value);
}

/// Appends a block with its checksum; returns its place.
fn block(out: &mut Vec<u8>, entries: &[u8], restarts: &[u32]) -> (u64, u64) {
    let start = out.len();
    out.extend(entries);
    restarts.iter().for_each(|at| out.extend(at.to_le_bytes()));
    out.extend((restarts.len() as u32).to_le_bytes());
    let end = out.len();
    out.push(0);
    let crc = crc32c::crc32c(&out[start..]);
    out.extend((crc.rotate_right(15).wrapping_add(0xa282_ead8)).to_le_bytes());
    (start as u64, (end - start) as u64)
}
