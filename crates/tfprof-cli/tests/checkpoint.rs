//! The command `checkpoint`, and views with a checkpoint, end to end: outputs and exit codes.

use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Checkpoints of the corpus, unpacked; they go when the test ends.
struct Home(PathBuf);

impl Home {
    fn new(test: &str, model: &str) -> Home {
        let home = std::env::temp_dir().join(format!("tfprof-cli-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&home).expect("a directory for temporary files");
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(model);
        for entry in std::fs::read_dir(corpus).expect("the corpus").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(name) = name.strip_suffix(".gz").filter(|name| name.contains(".ckpt") || *name == "graph.pb") {
                let file = std::fs::File::open(entry.path()).expect("a file of the corpus");
                let mut bytes = Vec::new();
                flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes).expect("a gzipped file");
                std::fs::write(home.join(name), bytes).expect("room for temporary files");
            }
        }
        Home(home)
    }

    fn run(&self, line: &str) -> (i32, String, String) {
        let words = line.split_whitespace();
        let output = Command::new(env!("CARGO_BIN_EXE_tfprof")).current_dir(&self.0).args(words).output();
        let Output { status, stdout, stderr } = output.expect("the binary");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (status.code().expect("an exit code"), text(stdout), text(stderr))
    }

    fn json(&self, line: &str) -> Value {
        let (_, out, err) = self.run(&format!("{line} -output json:outfile=-"));
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"))
    }

    fn change(&self, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.0.join(file)).expect("a file of this test");
        change(&mut bytes);
        std::fs::write(self.0.join(file), bytes).expect("room for temporary files");
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn tensors_are_listed_filtered_and_sorted() {
    let home = Home::new("list", "mlp_small");
    let (code, out, err) = home.run("checkpoint model.ckpt -order_by params");
    assert_eq!((code, err.as_str()), (0, ""));
    let names: Vec<_> = out.lines().map(|line| line.split_whitespace().next().unwrap_or_default()).collect();
    assert_eq!(names, ["name", "hidden/w", "out/w", "hidden/b", "out/b", "", "4"]);
    assert!(out.ends_with("4 tensors, 178 parameters, 712B in 1 shard\n"), "{out}");
    for path in ["model.ckpt", "model.ckpt.index", "model.ckpt.data-00000-of-00001", "model_v1.ckpt"] {
        let answer = home.json(&format!("checkpoint {path} -show_name_regexes out/.*"));
        let row = &answer["rows"][1];
        assert_eq!(answer["rows"].as_array().unwrap().len(), 2);
        assert_eq!((&row["name"], &row["dtype"]), (&"out/w".into(), &"float32".into()));
        assert_eq!(row["shape"].to_string(), "[16,2]");
        assert_eq!((&row["parameters"], &row["bytes"], &row["shard"]), (&32.into(), &128.into(), &0.into()));
    }
    let (_, out, _) = home.run("checkpoint model.ckpt --format=csv");
    assert_eq!(out.lines().nth(2), Some("hidden/w,float32,\"[8, 16]\",128,512,0"));
    assert_eq!(home.run("checkpoint model.ckpt -order_by micros").0, 2);
    assert_eq!(home.run("checkpoint nothing.ckpt").0, 1);
    assert_eq!(home.run("checkpoint").0, 2);
    assert_eq!(home.run("scope graph.pb --stats").0, 2);
}

#[test]
fn values_and_parts_of_them() {
    let home = Home::new("values", "ckpt_dtypes");
    let answer = home.json("checkpoint model.ckpt --values floats/float32");
    assert_eq!(answer["values"][1], -0.0);
    assert_eq!(answer["values"].as_array().unwrap()[13..], ["inf", "-inf", "nan"]);
    let answer = home.json("checkpoint model.ckpt --values ranks/r3_2x2x3[1,:,0:2]");
    assert_eq!(
        answer.to_string(),
        "{\"dtype\":\"float32\",\"name\":\"ranks/r3_2x2x3\",\"shape\":[2,2],\"values\":[[3.0,3.5],[4.5,5.0]]}"
    );
    assert_eq!(home.json("checkpoint model.ckpt --values others/complex64")["values"][0].as_array().unwrap().len(), 2);
    assert_eq!(home.json("checkpoint model.ckpt --values empty/inner")["values"].to_string(), "[[],[]]");
    let (code, _, err) = home.run("checkpoint model.ckpt --values floats/float31");
    assert!(code == 2 && err.contains("did you mean `floats/float32`?"), "{err}");
    assert_eq!(home.run("checkpoint model.ckpt --values floats/float32[99]").0, 2);
    let stats = &home.json("checkpoint model.ckpt --stats -show_name_regexes ints/int32")["rows"][0]["stats"];
    assert_eq!((&stats["min"], &stats["nan"]), (&(-2_147_483_648.0).into(), &0.into()));
}

#[test]
fn damage_is_named_and_the_rest_is_listed() {
    let home = Home::new("damage", "mlp_small");
    assert_eq!(home.run("checkpoint model.ckpt --verify").0, 0);
    assert_eq!(home.run("checkpoint model_v1.ckpt --verify").0, 0);
    home.change("model.ckpt.data-00000-of-00001", |bytes| bytes[70] ^= 1);
    let (code, out, _) = home.run("checkpoint model.ckpt --verify");
    assert!(code == 3 && out.starts_with("model.ckpt.data-00000-of-00001: byte 70: tensor `hidden/w`: "), "{out}");
    // Listing reads no data; what reads data says what is wrong with it.
    assert_eq!(home.run("checkpoint model.ckpt").0, 0);
    assert_eq!(home.run("checkpoint model.ckpt --stats").0, 4);
    assert_eq!(home.run("checkpoint model.ckpt --values hidden/b").0, 0);
    let (code, out, err) = home.run("scope graph.pb --checkpoint_path=model.ckpt -select tensor_value");
    assert!(code == 4 && out.contains("[[") && err.contains("tensor `hidden/w`"), "{err}");
    home.change("model.ckpt.data-00000-of-00001", |bytes| bytes.truncate(600));
    let (code, out, err) = home.run("checkpoint model.ckpt");
    assert!(code == 4 && out.contains("4 tensors") && err.contains("byte 584: tensor `out/w`"), "{err}");
    assert_eq!(home.run("checkpoint model.ckpt -strict").0, 1);
    home.change("model.ckpt.index", |bytes| bytes.truncate(bytes.len() / 2));
    let (code, out, _) = home.run("checkpoint model.ckpt");
    assert!(code == 4 && out.contains("hidden/b"), "{out}");
    home.change("model_v1.ckpt", |bytes| bytes[100] ^= 0x20);
    let (code, out, _) = home.run("checkpoint model_v1.ckpt --verify");
    assert!(code == 3 && out.contains("model_v1.ckpt: byte 100: "), "{out}");
    home.change("model_v1.ckpt", |bytes| bytes.truncate(20));
    assert_eq!(home.run("checkpoint model_v1.ckpt --verify").0, 3);
    assert_eq!(home.run("checkpoint model_v1.ckpt").0, 1);
}

#[test]
fn two_checkpoints_are_compared() {
    let home = Home::new("compare", "mlp_small");
    let other = Home::new("compare_other", "ckpt_dtypes");
    let (code, out, _) = home.run("checkpoint model.ckpt model_v1.ckpt --stats");
    assert_eq!(
        (code, out.as_str()),
        (0, "0 added, 0 removed, 0 of another dtype or shape, 0 with other values, 4 the same\n")
    );
    let answer = home.json(&format!("checkpoint model.ckpt {}", other.0.join("model.ckpt").display()));
    assert_eq!(answer["rows"].as_array().unwrap().len(), 4 + 27);
    assert_eq!(answer["rows"][0]["change"], "removed");
    // One value and its checksum change.
    for end in ["index", "data-00000-of-00001"] {
        std::fs::copy(home.0.join(format!("model.ckpt.{end}")), home.0.join(format!("b.{end}"))).unwrap();
    }
    home.change("b.data-00000-of-00001", |bytes| bytes[64..68].copy_from_slice(&7.5_f32.to_le_bytes()));
    let answer = home.json("checkpoint model.ckpt b --stats");
    let row = &answer["rows"][0];
    assert_eq!((&row["name"], &row["change"], &answer["same"]), (&"hidden/w".into(), &"values".into(), &3.into()));
    assert!(row["max_abs"].as_f64().unwrap() > 7.0 && row["relative"].as_f64().unwrap() > 1.0);
}

#[test]
fn a_checkpoint_alone_is_a_model() {
    let home = Home::new("alone", "resnet32");
    let (code, out, err) = home.run("scope --checkpoint_path=model.ckpt -select params -max_depth 1");
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("_TFProfRoot (--/"), "{out}");
    let question = "-show_name_regexes unit_1_0.*gamma -select tensor_value -max_depth 5";
    let (_, alone, _) = home.run(&format!("scope model.ckpt {question}"));
    let (_, with_graph, _) = home.run(&format!("scope graph.pb --checkpoint_path=model.ckpt {question}"));
    let report = |text: &str| text[text.find("Profile:").unwrap()..].to_owned();
    assert_eq!(report(&alone), report(&with_graph));
    assert!(alone.contains("unit_1_0/shared_activation/init_bn/gamma ()\n["), "{alone}");
}

#[test]
fn an_index_is_listed_without_its_data() {
    let home = Home::new("absent", "mlp_small");
    let (_, listed, _) = home.run("checkpoint model.ckpt");
    let data = "model.ckpt.data-00000-of-00001";
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4567\n";
    std::fs::write(home.0.join(data), pointer).expect("room");
    let (code, out, err) = home.run("checkpoint model.ckpt");
    assert_eq!((code, out.as_str()), (0, listed.as_str()));
    assert!(err.contains("the data files are missing; names, types and shapes come from the index"), "{err}");
    std::fs::remove_file(home.0.join(data)).expect("a file");
    let (code, out, err) = home.run("checkpoint model.ckpt");
    assert_eq!((code, out.as_str(), err.lines().count()), (0, listed.as_str(), 1), "{err}");
    // The values are needed here.
    assert_eq!(home.run("checkpoint model.ckpt --verify").0, 3);
    assert_eq!(home.run("checkpoint model.ckpt --stats").0, 4);
    assert_ne!(home.run("checkpoint model.ckpt --values hidden/b").0, 0);
    home.change("model.ckpt.index", |bytes| *bytes = pointer.as_bytes().to_vec());
    let (code, _, err) = home.run("checkpoint model.ckpt");
    assert!(code == 1 && err.contains("git-LFS pointer to a file of 4567 bytes"), "{err}");
}

#[test]
fn odd_names_of_checkpoints() {
    let home = Home::new("names", "mlp_small");
    let (_, listed, _) = home.run("checkpoint model.ckpt");
    let copy = |from: &str, to: &str| std::fs::copy(home.0.join(from), home.0.join(to)).expect("room");
    // No prefix at all.
    std::fs::create_dir(home.0.join("bare")).expect("room");
    copy("model.ckpt.index", "bare/.index");
    copy("model.ckpt.data-00000-of-00001", "bare/.data-00000-of-00001");
    for path in ["bare", "bare/", "bare/.index", "bare/.data-00000-of-00001"] {
        assert_eq!(home.run(&format!("checkpoint {path}")), (0, listed.clone(), String::new()), "{path}");
        assert_eq!(home.run(&format!("checkpoint {path} --verify")).0, 0, "{path}");
    }
    // A directory of the name that the state file gives.
    std::fs::create_dir_all(home.0.join("both/cp")).expect("room");
    copy("model.ckpt.index", "both/cp.index");
    copy("model.ckpt.data-00000-of-00001", "both/cp.data-00000-of-00001");
    std::fs::write(home.0.join("both/checkpoint"), "model_checkpoint_path: \"cp\"\n").expect("room");
    for path in ["both", "both/cp", "both/checkpoint"] {
        assert_eq!(home.run(&format!("checkpoint {path}")), (0, listed.clone(), String::new()), "{path}");
    }
}
