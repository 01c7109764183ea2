//! Tests with bundles written here, intact and damaged: intact tensors are listed, damage is reported.

use super::super::crc;
use super::super::table::tests::table;
use super::*;
use crate::checkpoint::{Checkpoint, Values};
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use tfprof_proto::write;

/// A bundle in a temporary directory.
struct Bundle {
    dir: PathBuf,
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    data: Vec<u8>,
}

impl Bundle {
    fn new() -> Bundle {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("tfprof-bundle-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let mut header = Vec::new();
        write::int(&mut header, 1, 1);
        Bundle { dir, entries: vec![(Vec::new(), header)], data: Vec::new() }
    }

    fn push(&mut self, name: &[u8], dtype: i32, shape: &[i64], bytes: &[u8]) -> &mut Bundle {
        let entry = self.entry(dtype, shape, bytes);
        self.entries.push((name.to_vec(), entry));
        self
    }

    fn entry(&mut self, dtype: i32, shape: &[i64], bytes: &[u8]) -> Vec<u8> {
        let mut entry = Vec::new();
        write::int(&mut entry, 1, i64::from(dtype));
        push_shape(&mut entry, shape);
        write::int(&mut entry, 4, self.data.len() as i64);
        write::int(&mut entry, 5, bytes.len() as i64);
        write::key(&mut entry, 6, 5);
        entry.extend_from_slice(&crc::masked(crc32c::crc32c(bytes)).to_le_bytes());
        self.data.extend_from_slice(bytes);
        entry
    }

    /// Adds a tensor of floats with one slice per row.
    fn push_sliced(&mut self, name: &[u8], rows: i64, columns: i64) {
        let mut whole = Vec::new();
        write::int(&mut whole, 1, 1);
        push_shape(&mut whole, &[rows, columns]);
        for row in 0..rows {
            let slice = [Extent { start: row, length: Some(1) }, Extent { start: 0, length: None }];
            write::message(&mut whole, 7, |out| {
                write::message(out, 1, |out| {
                    write::int(out, 1, row);
                    write::int(out, 2, 1);
                });
                write::message(out, 1, |_| {});
            });
            let bytes: Vec<u8> = (0..columns).flat_map(|i| ((row * columns + i) as f32).to_le_bytes()).collect();
            let entry = self.entry(1, &[1, columns], &bytes);
            self.entries.push((slice_key(name, &slice), entry));
        }
        self.entries.push((name.to_vec(), whole));
    }

    fn index(&mut self) -> Vec<u8> {
        self.entries.sort();
        table(&self.entries, 100, false)
    }

    fn open(&mut self) -> Checkpoint {
        let index = self.index();
        self.open_with(index)
    }

    fn open_with(&mut self, index: Vec<u8>) -> Checkpoint {
        std::fs::write(self.dir.join("m.data-00000-of-00001"), &self.data).unwrap();
        std::fs::write(self.dir.join("m.index"), index).unwrap();
        Checkpoint::open(&self.dir.join("m")).unwrap()
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn push_shape(entry: &mut Vec<u8>, shape: &[i64]) {
    write::message(entry, 2, |out| {
        shape.iter().for_each(|dim| write::message(out, 2, |out| write::int(out, 1, *dim)));
    });
}

fn sample() -> Bundle {
    let mut bundle = Bundle::new();
    for i in 0..8_u8 {
        bundle.push(format!("net/w{i}").as_bytes(), 1, &[2, 3], &[i; 24]);
    }
    bundle
}

fn numbers(values: &Values) -> Vec<f32> {
    values.plain().unwrap().chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect()
}

fn names(checkpoint: &Checkpoint) -> Vec<&str> {
    checkpoint.tensors.iter().map(|tensor| tensor.name.as_str()).collect()
}

#[test]
fn slices_are_joined() {
    let mut bundle = Bundle::new();
    bundle.push_sliced(b"w", 3, 4);
    bundle.push(b"v", 1, &[], &1.0_f32.to_le_bytes());
    let checkpoint = bundle.open();
    assert_eq!((names(&checkpoint), checkpoint.damage.len()), (vec!["v", "w"], 0));
    let w = checkpoint.find("w").unwrap();
    let expect: Vec<f32> = (0..12_u8).map(f32::from).collect();
    assert_eq!((w.bytes, numbers(&checkpoint.values(w).unwrap())), (Some(48), expect));
    assert_eq!(numbers(&checkpoint.part(w, &[1..3, 2..4]).unwrap()), [6.0, 7.0, 10.0, 11.0]);
    assert!(checkpoint.verify().damage.is_empty());
}

#[test]
fn strings_with_their_checksums() {
    let mut bundle = Bundle::new();
    let texts: [&[u8]; 3] = [b"one", b"", b"\xff three"];
    let (mut bytes, mut checked) = (Vec::new(), Vec::new());
    for text in texts {
        write::varint(&mut bytes, text.len() as u64);
        checked.extend_from_slice(&(text.len() as u32).to_le_bytes());
    }
    let lengths = crc::masked(crc32c::crc32c(&checked)).to_le_bytes();
    for out in [&mut bytes, &mut checked] {
        out.extend_from_slice(&lengths);
        texts.iter().for_each(|text| out.extend_from_slice(text));
    }
    bundle.push(b"s", 7, &[3], &bytes);
    let checksum = crc::masked(crc32c::crc32c(&checked)).to_le_bytes();
    let entry = &mut bundle.entries[1].1;
    let end = entry.len();
    entry[end - 4..].copy_from_slice(&checksum);
    let checkpoint = bundle.open();
    let values = checkpoint.values(&checkpoint.tensors[0]).unwrap();
    assert_eq!([0, 1, 2].map(|i| values.text(i).unwrap()), texts);
    assert!(checkpoint.verify().damage.is_empty());
    bundle.data[0] ^= 1;
    let damage = &bundle.open().verify().damage[0];
    assert_eq!(damage.tensor.as_deref(), Some("s"));
}

#[test]
fn a_flipped_bit_in_the_index_is_corrected_and_reported() {
    let mut bundle = sample();
    let index = bundle.index();
    for at in 30..index.len() - 60 {
        let mut damaged = index.clone();
        damaged[at] ^= 4;
        let checkpoint = bundle.open_with(damaged);
        assert_eq!(checkpoint.tensors.len(), 8, "byte {at}");
        assert!(!checkpoint.verify().damage.is_empty(), "byte {at}");
    }
    let at = index.windows(2).position(|w| w == b"w0").unwrap();
    let mut damaged = index;
    damaged[at + 1] ^= 4;
    let damage = &bundle.open_with(damaged).damage[0];
    assert_eq!((damage.offset, damage.tensor.as_deref()), (Some(at as u64 + 1), Some("net/w0")));
}

#[test]
fn a_truncated_index_lists_the_tensors_before_the_cut() {
    let mut bundle = sample();
    let index = bundle.index();
    for cut in [60, 100, index.len() / 2, index.len() - 49, index.len() - 1] {
        let checkpoint = bundle.open_with(index[..cut].to_vec());
        assert!(checkpoint.tensors.len() >= cut / 50 && !checkpoint.damage.is_empty(), "{cut}");
        for tensor in &checkpoint.tensors {
            assert!(tensor.name.starts_with("net/w") && tensor.shape == [2, 3], "{tensor:?}");
        }
    }
}

#[test]
fn damage_to_data_is_reported_with_tensor_and_offset() {
    let mut bundle = sample();
    bundle.data[24 * 3 + 5] ^= 0x80;
    let checkpoint = bundle.open();
    assert!(checkpoint.damage.is_empty());
    let damage = checkpoint.verify().damage;
    assert_eq!((damage.len(), damage[0].offset, damage[0].tensor.as_deref()), (1, Some(24 * 3 + 5), Some("net/w3")));
    bundle.data.truncate(24 * 6 + 3);
    let checkpoint = bundle.open();
    let lost: Vec<_> = checkpoint.damage.iter().map(|damage| (damage.offset, damage.tensor.as_deref())).collect();
    assert_eq!(lost, [(Some(24 * 6), Some("net/w6")), (Some(24 * 7), Some("net/w7"))]);
    assert_eq!(checkpoint.tensors.len(), 8);
    assert!(checkpoint.values(&checkpoint.tensors[7]).is_err() && checkpoint.values(&checkpoint.tensors[5]).is_ok());
}

#[test]
fn impossible_lengths_are_reported_without_allocating() {
    let mut bundle = sample();
    for (name, shape) in [(b"x/huge", [i64::MAX, 3]), (b"x/nega", [-5, 3]), (b"x/wide", [1 << 40, 1 << 40])] {
        let mut entry = Vec::new();
        write::int(&mut entry, 1, 1);
        push_shape(&mut entry, &shape);
        write::int(&mut entry, 4, i64::MAX);
        write::int(&mut entry, 5, i64::MAX);
        bundle.entries.push((name.to_vec(), entry));
    }
    let checkpoint = bundle.open();
    assert_eq!(checkpoint.tensors.len(), 11);
    for name in ["x/huge", "x/nega", "x/wide"] {
        assert!(checkpoint.damage.iter().any(|damage| damage.tensor.as_deref() == Some(name)), "{name}");
        let tensor = checkpoint.find(name).unwrap();
        assert!(checkpoint.values(tensor).is_err() && checkpoint.stats(tensor).is_err());
        assert!(checkpoint.first_values(tensor, 10).is_err());
    }
}

#[test]
fn a_missing_shard_is_reported_once() {
    let mut bundle = sample();
    bundle.open();
    std::fs::remove_file(bundle.dir.join("m.data-00000-of-00001")).unwrap();
    let checkpoint = Checkpoint::open(&bundle.dir.join("m.index")).unwrap();
    assert_eq!((checkpoint.tensors.len(), checkpoint.damage.len()), (8, 1));
    assert!(checkpoint.damage[0].what.contains("missing") && checkpoint.damage[0].file.ends_with("-of-00001"));
    assert_eq!(checkpoint.verify().damage.len(), 8);
}

#[test]
fn a_directory_means_the_latest() {
    let mut bundle = sample();
    bundle.open();
    std::fs::write(bundle.dir.join("checkpoint"), "model_checkpoint_path: \"/elsewhere/m\"\n").unwrap();
    assert_eq!(Checkpoint::open(&bundle.dir).unwrap().tensors.len(), 8);
    std::fs::write(bundle.dir.join("checkpoint"), "model_checkpoint_path: \"gone\"\n").unwrap();
    assert!(Checkpoint::open(&bundle.dir).unwrap_err().to_string().contains("`gone`"));
    std::fs::write(bundle.dir.join("checkpoint"), "model_checkpoint_path: \"checkpoint\"\n").unwrap();
    assert!(Checkpoint::open(&bundle.dir).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_bundles_end_without_a_panic(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bundle = sample();
        bundle.push_sliced(b"parts", 3, 2);
        let mut index = bundle.index();
        for (at, byte) in flips {
            let at = at.index(index.len());
            index[at] = byte;
        }
        if cut.index(3) == 0 {
            index.truncate(cut.index(index.len()));
        }
        std::fs::write(bundle.dir.join("m.data-00000-of-00001"), &bundle.data).unwrap();
        if let Ok(checkpoint) = Checkpoint::bundle(ByteSource::memory("m.index", index), &bundle.dir.join("m")) {
            checkpoint.verify();
            for tensor in &checkpoint.tensors {
                let _ = checkpoint.values(tensor);
                let _ = checkpoint.stats(tensor);
            }
        }
    }
}
