//! Files that h5py wrote (`scripts/make_array_samples.py`), whole and damaged.

use super::*;
use crate::budget::{Account, Limits};
use crate::checkpoint::Checkpoint;

const OLD: &[u8] = include_bytes!("../../../../../tests/keras/samples/old.h5");
const NEW: &[u8] = include_bytes!("../../../../../tests/keras/samples/new.h5");
const ARCHIVE: &[u8] = include_bytes!("../../../../../tests/keras/samples/packed.keras");
const SAFETENSORS: &[u8] = include_bytes!("../../../../../tests/keras/samples/model.safetensors");

fn file(bytes: &[u8]) -> Hdf5 {
    Hdf5::open(ByteSource::memory("sample", bytes.to_vec())).expect("an HDF5 file")
}

#[test]
fn attributes_of_old_and_new_files() {
    let old = file(OLD);
    let dense = old.at("dense").expect("no damage").expect("a group");
    let names = old.text_list(&dense, "weight_names").expect("no damage").expect("an attribute");
    assert_eq!(names, [b"kernel:0".to_vec(), b"bias:0".to_vec()]);
    assert_eq!(old.text(&dense, "config").expect("no damage"), Some(vec![b'x'; 300]));
    assert_eq!(old.text(&dense, "missing").expect("no damage"), None);
    assert!(old.at("dense/missing").expect("no damage").is_none());
    let new = file(NEW);
    let many = new.at("many").expect("no damage").expect("a group");
    // Cut into parts, as Keras does with long lists; the fourth is too large for a block of the heap.
    let parts = new.text_list(&many, "a").expect("no damage").expect("parts");
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5, 5, 5000, 5, 5, 5, 5, 5, 5, 5, 5]);
}

#[test]
fn values_of_all_layouts() {
    let numbers = |bytes: &[u8], name: &str| -> Vec<u8> {
        let checkpoint = Checkpoint::hdf5(ByteSource::memory("sample", bytes.to_vec())).expect("a checkpoint");
        let tensor = checkpoint.find(name).expect("a tensor");
        checkpoint.values(tensor).expect("values").plain().expect("numbers").to_vec()
    };
    let kernel: Vec<u8> = (0..12_u8).flat_map(|i| (f32::from(i) / 4.0).to_le_bytes()).collect();
    assert_eq!(numbers(ARCHIVE, "dense/packed"), kernel);
    let wide: Vec<u8> = (0..12_u8).flat_map(|i| (f64::from(i) / 4.0).to_le_bytes()).collect();
    assert_eq!(numbers(ARCHIVE, "dense/big_endian"), wide);
    let expect: Vec<u8> = (0..30_i16).flat_map(i16::to_le_bytes).collect();
    for name in ["single", "fixed", "growing", "tree"] {
        assert_eq!(numbers(&archived(NEW), name), expect, "{name}");
    }
    assert_eq!(numbers(&archived(NEW), "filled"), [7; 6]);
}

/// Values in memory are read through the file of an archive.
fn archived(bytes: &[u8]) -> Vec<u8> {
    let name = b"model.weights.h5";
    let (size, crc) = ((bytes.len() as u32).to_le_bytes(), {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum().to_le_bytes()
    });
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).expect("memory");
    let packed = encoder.finish().expect("memory");
    let packed_size = (packed.len() as u32).to_le_bytes();
    let both = [&[20, 0, 0, 0, 8, 0, 0, 0, 0, 0][..], &crc, &packed_size, &size, &[name.len() as u8, 0, 0, 0]].concat();
    let local = [&b"PK\x03\x04"[..], &both, name, &packed].concat();
    let entry = [&b"PK\x01\x02\x14\0"[..], &both, &[0; 14], name].concat();
    let end = [
        &b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..],
        &(entry.len() as u32).to_le_bytes(),
        &(local.len() as u32).to_le_bytes(),
    ];
    [local, entry, end.concat(), vec![0, 0]].concat()
}

/// Lists and reads everything; whatever comes out, it comes.
fn read_all(bytes: Vec<u8>) {
    let is_safetensors = bytes.get(8) == Some(&b'{');
    let source = ByteSource::memory("damaged", bytes);
    let opened = if is_safetensors { Checkpoint::safetensors(source) } else { Checkpoint::hdf5(source) };
    let Ok(checkpoint) = opened else { return };
    for tensor in &checkpoint.tensors {
        if let Ok(values) = checkpoint.values(tensor) {
            assert_eq!(Some(values.len() as u64), tensor.elements());
        }
    }
}

fn read_within_limits(bytes: Vec<u8>) {
    let _ = Account::new(Limits::default(), bytes.len() as u64).guard(|| {
        read_all(bytes);
        Ok(())
    });
}

#[test]
fn damaged_bytes_give_an_answer_or_an_error() {
    for (bytes, step) in [(OLD, 23), (NEW, 29), (ARCHIVE, 3), (SAFETENSORS, 1)] {
        for at in (0..bytes.len()).step_by(step) {
            for change in [0xff, 0x01] {
                let mut damaged = bytes.to_vec();
                damaged[at] ^= change;
                read_within_limits(damaged);
            }
        }
        for length in (0..bytes.len()).step_by(1 + bytes.len() / 60) {
            read_within_limits(bytes[..length].to_vec());
        }
    }
}

#[test]
fn addresses_that_point_anywhere_end() {
    for bytes in [OLD, NEW] {
        let addresses: Vec<usize> = (0..bytes.len() - 8)
            .filter(|at| {
                let number = u64::from_le_bytes(bytes[*at..*at + 8].try_into().expect("eight bytes"));
                (48..bytes.len() as u64).contains(&number) && bytes[*at + 1] != 0
            })
            .collect();
        assert!(addresses.len() > 50);
        for (number, at) in addresses.iter().enumerate() {
            for other in [addresses[(number * 7 + 3) % addresses.len()], addresses[number.saturating_sub(1)]] {
                let mut damaged = bytes.to_vec();
                damaged.copy_within(other..other + 8, *at);
                read_within_limits(damaged);
            }
        }
    }
}

#[test]
fn a_group_that_holds_itself_is_entered_once() {
    let mut bytes = OLD.to_vec();
    let old = file(OLD);
    let root = old.root().expect("a group");
    let links = old.links(&root).expect("links");
    let Target::Object(dense) = links[0].target else { panic!("a link") };
    let at = bytes.windows(8).position(|window| window == dense.to_le_bytes()).expect("its address");
    bytes[at..at + 8].copy_from_slice(&old.root.to_le_bytes());
    let mut damage = Vec::new();
    let found = file(&bytes).datasets(&mut damage).expect("datasets");
    assert!(found.iter().all(|found| found.path.starts_with("texts/")), "{found:?}");
}

#[test]
fn nothing_lies_behind_the_end() {
    let source = ByteSource::memory("sample", vec![0; 4]);
    assert_eq!(source.read(4, 0).expect("nothing, at the end"), b"");
    assert!(source.read(5, 0).is_err() && source.read(u64::MAX, 0).is_err() && source.read(0, 5).is_err());
}

#[test]
fn a_small_archive_cannot_claim_much() {
    let bomb = archived(&vec![0; 40 << 20]);
    assert!(bomb.len() < 1 << 20);
    let limits = Limits { memory: Some(16 << 20), ..Limits::default() };
    let outcome = Account::new(limits, bomb.len() as u64)
        .guard(|| Checkpoint::hdf5(ByteSource::memory("bomb", bomb.clone())).map(|_| ()));
    let error = outcome.expect_err("too much").to_string();
    assert!(error.contains("memory"), "{error}");
}
