//! Files of plain arrays as checkpoints: HDF5, `.keras` archives and safetensors, whole, in shards and damaged. Most
//! samples were written by h5py (`scripts/make_array_samples.py`).

use crate::common::{scratch, tfprof};
use std::path::{Path, PathBuf};

fn sample(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/keras/samples");
    root.join(name).display().to_string()
}

#[test]
fn tensors_are_listed_with_statistics() {
    for name in ["old.h5", "packed.keras"] {
        let answer = tfprof(&["checkpoint", &sample(name), "--stats", "--format=csv"]);
        assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{name}");
        let row = answer.out.lines().find(|line| line.starts_with("dense/packed,")).expect("a row");
        assert!(row.starts_with("dense/packed,float32,") && row.contains("2.75") && row.contains("1.375"), "{row}");
    }
}

#[test]
fn values_of_numbers_and_text() {
    let check = |file: &str, name: &str, values: &str| {
        let answer = tfprof(&["checkpoint", &sample(file), "--values", name, "--format=json"]);
        assert!(answer.out.contains(&format!("\"values\":{values}}}")), "{} {}", answer.out, answer.err);
    };
    check("old.h5", "dense/packed[1]", "[1.0,1.25,1.5,1.75]");
    check("old.h5", "dense/big_endian[2,1:3]", "[2.25,2.5]");
    check("packed.keras", "texts/variable", "[\"d\",\"\",\"efg\"]");
    check("new.h5", "growing[4,4:]", "[28,29]");
    check("model.safetensors", "b.weight", "[1.0,2.0]");
}

#[test]
fn formats_compare_with_each_other() {
    let answer = tfprof(&["diff", "checkpoint", &sample("old.h5"), &sample("packed.keras"), "--stats"]);
    assert!(answer.out.contains("6 the same"), "{}{}", answer.out, answer.err);
    let answer = tfprof(&["checkpoint", &sample("old.h5"), "--verify"]);
    assert!(answer.out.contains("no damage"), "{}", answer.out);
}

/// A file of float32 tensors of two values each.
fn safetensors(path: &Path, names: &[&str]) -> String {
    let entry = |(i, name): (usize, &&str)| {
        format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[{},{}]}}", i * 8, i * 8 + 8)
    };
    let header = format!("{{{}}}", names.iter().enumerate().map(entry).collect::<Vec<_>>().join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend((0..names.len() * 2).flat_map(|value| (value as f32).to_le_bytes()));
    std::fs::write(path, bytes).expect("room");
    path.display().to_string()
}

#[test]
fn tensors_of_other_numbers_are_the_same_tensors() {
    let dir = scratch("renumbered");
    let before = safetensors(&dir.join("a.safetensors"), &["dense/kernel", "head/kernel", "old"]);
    let after = safetensors(&dir.join("b.safetensors"), &["dense_2/kernel", "tail/kernel", "new_bias"]);
    let ask = |more: &[&str]| {
        let words = ["diff", "checkpoint", &before, &after, "--stats"];
        tfprof(&words.into_iter().chain(more.iter().copied()).collect::<Vec<_>>()).out
    };
    assert!(ask(&[]).contains("2 added, 2 removed, 0 of another dtype or shape, 0 with other values, 1 the same"));
    let renamed = ask(&["--rename", "s/^head/tail/"]);
    assert!(renamed.contains("1 added, 1 removed") && renamed.contains("2 the same"), "{renamed}");
}

/// A directory with an index of two shards, of which one is there.
fn shards() -> PathBuf {
    let dir = scratch("safetensors_shards");
    std::fs::copy(sample("model.safetensors"), dir.join("model-00001-of-00002.safetensors")).expect("room");
    let index = r#"{"metadata":{"total_size":20},"weight_map":{"a.weight":"model-00001-of-00002.safetensors",
        "b.weight":"model-00001-of-00002.safetensors","c.weight":"model-00002-of-00002.safetensors","d":"../outside"}}"#;
    std::fs::write(dir.join("model.safetensors.index.json"), index).expect("room");
    dir
}

#[test]
fn shards_of_an_index_are_one_checkpoint() {
    let dir = shards().display().to_string();
    for path in [dir.clone(), format!("{dir}/model.safetensors.index.json")] {
        let answer = tfprof(&["checkpoint", &path]);
        assert_eq!(answer.code, 4, "{}", answer.err);
        assert!(answer.out.contains("a.weight") && answer.out.contains("2 tensors, 6 parameters"), "{}", answer.out);
        assert!(answer.err.contains("model-00002-of-00002.safetensors: this shard is missing"), "{}", answer.err);
        assert!(answer.err.contains("outside of its directory"), "{}", answer.err);
    }
}

#[test]
fn damage_is_said_in_one_sentence() {
    let dir = scratch("damaged_arrays");
    let check = |name: &str, length: usize, words: &str| {
        let whole = std::fs::read(sample(name)).expect("a sample");
        let path = dir.join(name);
        std::fs::write(&path, &whole[..length.min(whole.len())]).expect("room");
        let answer = tfprof(&["checkpoint", &path.display().to_string()]);
        assert!(answer.code == 1 || answer.code == 4, "{name}: {}", answer.code);
        assert!(answer.err.contains(words) && answer.err.lines().count() < 8, "{name}: {}", answer.err);
    };
    check("old.h5", 3000, "is it truncated?");
    check("packed.keras", 500, "this zip archive has no end; is it truncated?");
    check("model.safetensors", 190, "run past the end of the file");
    check("model.safetensors", 40, "runs past the end of the file");
}
