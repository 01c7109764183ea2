//! Files that tfprof does not read: whatever is asked about them, the answer is the same true sentence.

use crate::common::{Answer, corpus, scratch, tfprof, tfprof_with};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::Path;

/// A zip archive of empty files, as `zipfile` writes it.
fn zip(names: &[&str]) -> Vec<u8> {
    let entry = |name: &&str| {
        let length = (name.len() as u16).to_le_bytes();
        [b"PK\x03\x04\x14\0\0\0\0\0", &[0; 16][..], &length, &[0, 0], name.as_bytes()].concat()
    };
    names.iter().flat_map(entry).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

const CONVERTED: &str = "tfprof does not read it yet; if it was made from a SavedModel or a Keras model, name that one";
const TORCH: &str = "this is a PyTorch file; tfprof does not read PyTorch yet: \
                     `torch.utils.flop_counter.FlopCounterMode` counts its FLOPs, `torch.profiler` its time";
const TENSORS: &str = "it has tensors but no graph, and tfprof does not read it";
const OTHER: &str = "tfprof reads models, profiles and checkpoints (tfprof help inputs)";

/// Each file, and the sentence about it; `FILE` is its path.
fn files() -> Vec<(&'static str, Vec<u8>, String)> {
    let legacy = [0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, b'.'];
    let file = |name, bytes: &[u8], sentence: &str| (name, bytes.to_vec(), sentence.to_owned());
    vec![
        file(
            "model.json",
            b"{\"format\": \"graph-model\", \"modelTopology\": {\"node\": []}, \"weightsManifest\": []}",
            &format!("this is a TensorFlow.js model; {CONVERTED}"),
        ),
        file(
            "model.xml",
            b"<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\">",
            &format!("this is an OpenVINO model; {CONVERTED}"),
        ),
        file("model.pt", &zip(&["model/data.pkl", "model/byteorder", "model/data/0"]), TORCH),
        file("last.ckpt", &zip(&["archive/data.pkl", "archive/version"]), TORCH),
        file("pytorch_model.bin", &legacy, TORCH),
        file("a.npz", &zip(&["arr_0.npy"]), &format!("this is an archive of NumPy arrays (.npz); {TENSORS}")),
        file(
            "cpu.pprof",
            &gzip(b"\x0a\x04\x08\x01\x10\x02\x12\x04\x0a\x01\x01\x12\0\x32\0"),
            "this is a pprof profile; tfprof does not read it; open it with `go tool pprof -http=: FILE`",
        ),
        file("plot.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &format!("this is a PNG picture; {OTHER}")),
        file(
            "libtensorflow.so",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0",
            &format!("this is a program or a library (ELF); {OTHER}"),
        ),
        file(
            "pointer.pb",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab\nsize 98765\n",
            "this is a git-LFS pointer to a file of 98765 bytes, not the file; fetch it with `git lfs pull`",
        ),
        file("graph.pb", b"\n\n<!DOCTYPE html>\n<html><body>Not Found</body></html>\n", PAGE),
        file("frozen.pb", b"\n<!DOCTYPE html>\n<html><body>Not Found</body></html>\n", PAGE),
        file(
            "notebook.ipynb",
            b"{\n \"cells\": [{\"cell_type\": \"code\"}]\n}",
            &format!("this is a Jupyter notebook; {OTHER}"),
        ),
        file(
            "train.py",
            b"import tensorflow as tf\nmodel = tf.keras.Sequential()\n",
            &format!("this is Python source code; {OTHER}"),
        ),
        file("config.yaml", b"model:\n  layers: 3\n", &format!("this is a YAML file; {OTHER}")),
        file("versions.yml", b"version: 2\nupdates:\n  - a\n", &format!("this is a YAML file; {OTHER}")),
        file("times.csv", b"name,time\na,1\nb,2\n", &format!("this is a CSV table; {OTHER}")),
        file("notes.txt", b"The second run was faster.\n", &format!("this is plain text; {OTHER}")),
        file(
            "run.tar.gz",
            &gzip(&[&b"run/"[..], &[0; 253], b"ustar\x0000"].concat()),
            "this is a tar archive; unpack it, and name what is in it",
        ),
        file("program.mlir", b"module @jit_f {\n  func.func public @main() {\n  }\n}\n", PROGRAM),
    ]
}

const PAGE: &str = "this is a web page, perhaps an error page that was saved as the file; download the file again, from the \
                    link of the file itself";
const PROGRAM: &str = "this is an XLA program (MLIR as text); record a run with `jax.profiler.trace(\"DIR\")` or \
                       `tf.profiler.experimental.start(\"DIR\")`, then ask `tfprof info DIR`";

fn refused(answer: &Answer, path: &str, sentence: &str, question: &str) {
    let expected = format!("tfprof: {path}: {}\n", sentence.replace("FILE", path));
    assert_eq!((answer.code, &answer.err, &answer.out), (1, &expected, &String::new()), "{question}");
}

#[test]
fn every_command_and_flag_says_the_same_about_a_foreign_file() {
    let dir = scratch("foreign");
    for (name, bytes, sentence) in files() {
        let path = dir.join(name).display().to_string();
        std::fs::write(&path, bytes).expect("room");
        let commands = [
            "op P",
            "cost P",
            "info P",
            "advise P",
            "trace P",
            "checkpoint P",
            "shell P",
            "P",
            "save P --outfile=F",
            "op --graph_path=P",
            "cost --graph_path=P",
            "op --run_meta_path=P",
            "op --op_log_path=P",
            "op --profile_path=P",
            "op --xspace_path=P",
            "op --checkpoint_path=P",
            "trace --run_meta_path=P",
        ];
        for command in commands {
            let words: Vec<String> = command.split(' ').map(|word| word.replace('P', &path)).collect();
            refused(&tfprof(&words), &path, &sentence, command);
        }
    }
}

#[test]
fn a_page_saved_as_an_index_is_named() {
    let path = scratch("foreign_index").join("model.index").display().to_string();
    std::fs::write(&path, "<html><head><title>404</title></head></html>\n").expect("room");
    for words in [["checkpoint", &path], ["op", &path], ["checkpoint", path.trim_end_matches(".index")]] {
        refused(&tfprof(&words), &path, PAGE, words[0]);
    }
}

#[test]
fn a_directory_of_foreign_files_names_the_one_that_matters() {
    let dir = scratch("foreign_directory");
    let path = dir.display().to_string();
    let check = |words: &str| {
        let answer = tfprof(&["cost", &path]);
        assert_eq!(answer.code, 1);
        assert!(answer.err.contains(words), "{words}: {}", answer.err);
    };
    check("nothing to read in this directory; expected saved_model.pb");
    std::fs::write(dir.join("README.md"), "# A model\n\nIt is good.\n").expect("room");
    check("README.md: this is plain text");
    for (name, bytes, _) in files().into_iter().filter(|(name, ..)| ["model.json", "plot.png"].contains(name)) {
        std::fs::write(dir.join(name), bytes).expect("room");
    }
    check(&format!(
        "{path}: nothing to read in this directory; model.json: this is a TensorFlow.js model; {CONVERTED}"
    ));
    // Serving keeps each version of a model in a directory of its own.
    let versions = scratch("versions");
    std::fs::create_dir_all(versions.join("7")).expect("room");
    std::fs::write(versions.join("7/saved_model.pb"), b"\x08\x01").expect("room");
    let answer = tfprof(&["cost", &versions.display().to_string()]);
    assert!(
        answer.err.contains("this directory holds a SavedModel one level deeper; name one, as `"),
        "{}",
        answer.err
    );
}

#[test]
fn standard_input_and_the_shell_name_foreign_files_too() {
    let arrays = zip(&["arr_0.npy"]);
    let sentence = format!("this is an archive of NumPy arrays (.npz); {TENSORS}");
    let answer = tfprof_with(&["op", "-"], &arrays);
    assert_eq!(answer.err, format!("tfprof: standard input: {sentence}\n"));
    let dir = scratch("foreign_load");
    let path = dir.join("arrays.npz").display().to_string();
    std::fs::write(&path, arrays).expect("room");
    let answer = tfprof_with(&["demo", "shell"], format!("load {path}\n").as_bytes());
    assert_eq!(answer.err, format!("tfprof: line 1: {path}: {sentence}\n"));
}

#[test]
fn flags_are_suggested_only_if_they_can_help() {
    let dir = scratch("unknown_files");
    let check = |name: &str, bytes: &[u8], words: &str| {
        let path = dir.join(name).display().to_string();
        std::fs::write(Path::new(&path), bytes).expect("room");
        let answer = tfprof(&["op", &path]);
        assert!(answer.code == 1 && answer.err.contains(words), "{name}: {}", answer.err);
    };
    check(
        "noise",
        &[0xff, 0x17, 0x03, 0x88, 0xfe, 0x01],
        "cannot tell what this file is; tfprof reads models, profiles and checkpoints (tfprof help inputs)",
    );
    check("empty", b"", "the file is empty");
    // A graph behind a field that we do not know: the flag reads it.
    let text = b"added_later: 3\nnode { name: 'a' op: 'NoOp' }\n";
    check("graph", text, "cannot tell what this file is; say so with --graph_path");
    let path = dir.join("graph").display().to_string();
    assert_eq!(tfprof(&["op", &format!("--graph_path={path}"), "-select", "params"]).code, 0);
    assert_eq!(tfprof(&["info", &corpus("mlp_small")]).code, 0);
}
