//! Tests with tables written here, intact and damaged.

use super::*;
use proptest::prelude::*;
use tfprof_proto::write;

/// A key and its value.
type Entry = (Vec<u8>, Vec<u8>);

/// Writes a table with a new block every `per_block` entries.
pub fn table(entries: &[Entry], per_block: usize, pack: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut index: Vec<Entry> = Vec::new();
    for block in entries.chunks(per_block.max(1)) {
        let handle = push_block(&mut out, block, pack);
        index.push((block.last().unwrap().0.clone(), handle));
    }
    let metaindex = push_block(&mut out, &[], false);
    let index = push_block(&mut out, &index, false);
    let mut footer = [metaindex, index].concat();
    footer.resize(40, 0);
    out.extend_from_slice(&footer);
    out.extend_from_slice(&MAGIC);
    out
}

fn push_block(out: &mut Vec<u8>, entries: &[Entry], pack: bool) -> Vec<u8> {
    let (mut block, mut restarts, mut before) = (Vec::new(), vec![0_u32], &Vec::new());
    for (i, (key, value)) in entries.iter().enumerate() {
        let mut shared = key.iter().zip(before).take_while(|(a, b)| a == b).count();
        if i % 4 == 0 {
            shared = 0;
            if i > 0 {
                restarts.push(block.len() as u32);
            }
        }
        for n in [shared, key.len() - shared, value.len()] {
            write::varint(&mut block, n as u64);
        }
        block.extend_from_slice(&key[shared..]);
        block.extend_from_slice(value);
        before = key;
    }
    restarts.iter().for_each(|at| block.extend_from_slice(&at.to_le_bytes()));
    block.extend_from_slice(&(restarts.len() as u32).to_le_bytes());
    if pack {
        block = snap::raw::Encoder::new().compress_vec(&block).unwrap();
    }
    let mut handle = Vec::new();
    write::varint(&mut handle, out.len() as u64);
    write::varint(&mut handle, block.len() as u64);
    block.push(u8::from(pack));
    let checksum = crc::masked(crc32c::crc32c(&block));
    out.extend_from_slice(&block);
    out.extend_from_slice(&checksum.to_le_bytes());
    handle
}

fn sample(n: usize) -> Vec<Entry> {
    (0..n).map(|i| (format!("scope/name_{i:04}").into_bytes(), format!("value {i}").into_bytes())).collect()
}

/// All entries and all damage.
fn read(bytes: Vec<u8>) -> (Vec<Entry>, Vec<Damage>) {
    let mut damage = Vec::new();
    let mut seen = Vec::new();
    let table = match Table::open(ByteSource::memory("t", bytes), &mut damage) {
        Ok(table) => table,
        Err(lost) => return (seen, vec![lost]),
    };
    for number in table.blocks() {
        let block = match table.block(number) {
            Ok(block) => block,
            Err(lost) => {
                damage.push(lost);
                continue;
            }
        };
        damage.extend(block.damage.clone());
        let mut entries = block.entries();
        while let Some(entry) = entries.next_entry() {
            match entry {
                Ok(value) => seen.push((entries.key().to_vec(), block.bytes[value].to_vec())),
                Err(error) => damage.push(table.file.damage(error.offset, error.message)),
            }
        }
    }
    (seen, damage)
}

#[test]
fn keys_are_found_by_the_index() {
    let entries = sample(50);
    let bytes = table(&entries, 7, true);
    let table = Table::open(ByteSource::memory("t", bytes), &mut Vec::new()).unwrap();
    for (key, value) in &entries {
        let block = table.block(table.block_of(key).unwrap()).unwrap();
        assert_eq!(&block.bytes[block.find(key).unwrap()], value);
    }
    assert!(table.block_of(b"zzz").is_none() && table.check_metaindex().is_none());
    assert!(Table::is_table(&table.file));
}

#[test]
fn blocks_that_overlap_are_read_once() {
    let entries = sample(40);
    let mut out = Vec::new();
    let handle = push_block(&mut out, &entries, false);
    // The index names the same block a hundred times.
    let index: Vec<Entry> = (0..100).map(|i| (format!("z{i:03}").into_bytes(), handle.clone())).collect();
    let handles = [push_block(&mut out, &[], false), push_block(&mut out, &index, false)];
    let mut footer = handles.concat();
    footer.resize(40, 0);
    out.extend_from_slice(&footer);
    out.extend_from_slice(&MAGIC);
    let (seen, damage) = read(out);
    assert_eq!(seen.len(), 40);
    assert!(damage.iter().any(|damage| damage.what.contains("overlap")), "{damage:?}");
}

#[test]
fn any_flipped_bit_of_the_blocks_is_corrected() {
    let entries = sample(12);
    let bytes = table(&entries, 5, false);
    for at in 0..bytes.len() - 48 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let (seen, damage) = read(damaged);
        assert_eq!(seen, entries, "byte {at}");
        // The metaindex is not read here.
        assert!(damage.iter().all(|damage| damage.offset.is_some_and(|offset| offset.abs_diff(at as u64) < 5)));
    }
}

#[test]
fn a_truncated_table_gives_the_blocks_before_the_cut() {
    let entries = sample(40);
    let bytes = table(&entries, 10, false);
    let (seen, damage) = read(bytes[..bytes.len() - 20].to_vec());
    assert_eq!((seen.len(), damage.len()), (40, 1));
    for cut in 50..bytes.len() - 48 {
        let (seen, damage) = read(bytes[..cut].to_vec());
        // An entry takes 18 bytes, without restart points and index.
        assert!(seen.len() + 3 >= (cut / 30).min(40), "{} entries in {cut} bytes", seen.len());
        let correct = entries.iter().zip(&seen).take_while(|(a, b)| a == b).count();
        assert!(correct + 3 >= seen.len().min(40), "{correct} of {}", seen.len());
        assert!(damage[0].what.contains("truncated"), "{}", damage[0].what);
    }
}

#[test]
fn reading_continues_at_the_next_restart_point() {
    let entries = sample(16);
    let mut bytes = table(&entries, 16, false);
    // The second entry claims more than there is.
    let at = bytes.windows(7).position(|w| w == b"value 0").unwrap() + 7;
    bytes[at + 1] = 0x7f;
    bytes[at + 2] = 0x7f;
    let (seen, damage) = read(bytes);
    assert!(entries[4..].iter().all(|entry| seen.contains(entry)));
    assert_eq!(damage.len(), 2);
}

proptest! {
    #[test]
    fn tables_round_trip(
        entries in proptest::collection::btree_map(proptest::collection::vec(any::<u8>(), 0..9), proptest::collection::vec(any::<u8>(), 0..40), 1..60),
        per_block in 1_usize..20,
        pack in any::<bool>(),
    ) {
        let entries: Vec<_> = entries.into_iter().collect();
        prop_assert_eq!(read(table(&entries, per_block, pack)), (entries, vec![]));
    }

    #[test]
    fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut bytes = bytes;
        read(bytes.clone());
        bytes.extend_from_slice(&MAGIC);
        read(bytes);
    }

    #[test]
    fn damaged_tables_end_without_a_panic(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<prop::sample::Index>(),
        pack in any::<bool>(),
    ) {
        let mut bytes = table(&sample(30), 8, pack);
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read(bytes.clone());
        bytes.truncate(cut.index(bytes.len()));
        read(bytes);
    }
}
