//! One minimal file of each kind, with the real header of its format, and the words its sentence must have.

use super::*;

fn zip(names: &[&str]) -> Vec<u8> {
    let entry = |name: &&str| {
        let mut header = b"PK\x03\x04".to_vec();
        header.extend([0; 22]);
        header.extend((name.len() as u16).to_le_bytes());
        header.extend([0; 2]);
        [header, name.as_bytes().to_vec()].concat()
    };
    names.iter().flat_map(entry).collect()
}

/// Checks what is said about a file, whether it comes with a flag or not.
fn check(file: &str, content: impl AsRef<[u8]>, words: &str) {
    let said = name(content.as_ref(), file);
    assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{file}: {said:?}");
    assert_eq!(said, guess(content.as_ref(), file).map(|(_, said)| said), "{file}");
}

#[test]
fn models_have_names_and_next_steps() {
    check("m.mlmodel", b"\x08\x04\x12\x04\x0a\x02\x0a\0", "a Core ML model");
    check("model.json", "{\"format\": \"layers-model\", \"modelTopology\": {}}", "a TensorFlow.js model");
    check("m.xml", "<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\">", "an OpenVINO model");
    check("m.pt", zip(&["m/data.pkl", "m/data/0"]), "a PyTorch file; tfprof does not read PyTorch yet");
    check("m.ckpt", [TORCH_LEGACY, b"."].concat(), "a PyTorch file");
    check("m.gguf", b"GGUF\x03\0\0\0", "GGUF");
    check("m.mlirbc", b"ML\xefR\x0d", "MLIR bytecode");
    check("m.txt", "HloModule jit_f\n", "jax.profiler.trace(\"DIR\")");
}

#[test]
fn traces_and_weights_have_names() {
    check("t.json", "[[-1, 1, 37888, 7], [-1, 1, 512, 7]]", "a memory timeline of PyTorch");
    check("t.json", "{\"schema\": \"1.1.1\", \"pid\": 1, \"nodes\": []}", "an execution trace of PyTorch");
    check("t.json", "{\"rocprofiler-sdk-tool\": []}", "a trace of rocprof");
    check("cpu.pprof", b"\x0a\x04\x08\x01\x10\x02\x12\x02\x0a\0", "`go tool pprof -http=: cpu.pprof`");
    check(
        "events",
        b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\0\0\0\0\0\0\x1a\x0dbrain.Event:2",
        "a TensorBoard event file",
    );
    check("a.npz", zip(&["a.npy", "b.npy"]), "an archive of NumPy arrays");
    check("a.npy", b"\x93NUMPY\x01\0", "a NumPy array");
    check("a.pkl", b"\x80\x04\x95\x0a\0", "tfprof never loads pickles");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    check("g.pb", pointer, "a git-LFS pointer to a file of 12345 bytes, not the file; fetch it with `git lfs pull`");
    check("g.pb", &pointer[..45], "pointer to a file, not");
    check("g.cpb", [KINDS_RIEGELI, &[0; 8]].concat(), "split into chunks");
}

const KINDS_RIEGELI: &[u8] = &[0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f];

#[test]
fn other_files_have_names() {
    check("n.ipynb", "{\n \"cells\": [{\"cell_type\": \"code\"}]}", "a Jupyter notebook");
    check("c.json", "{}", "a JSON file");
    check("page.pb", "<!doctype HTML>\n<html>", "download the file again");
    check("p.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG picture");
    check("p.jpg", b"\xff\xd8\xff\xe0", "a JPEG picture");
    check("a.out", b"\x7fELF\x02", "a program or a library (ELF)");
    check("a.dylib", b"\xcf\xfa\xed\xfe", "(Mach-O)");
    check("page.html", "<?xml version=\"1.0\"?>\n<!DOCTYPE html>\n<html>", "a web page");
    check("p.svg", "<!-- made by hand -->\n<svg>", "an SVG picture");
    check("train.py", b"x = 1\n", "Python source code");
    check(".readthedocs.YML", b"version: 2\n", "a YAML file");
    check("t.csv", b"a\n", "a CSV table");
    check("d.pdf", b"%PDF-1.7", "a PDF document");
    check("t.parquet", b"PAR1", "a Parquet table");
    check("a.zip", zip(&["readme"]), "a zip archive; unpack it");
    check("a.tar", [&[b'a'; 257][..], b"ustar\0"].concat(), "a tar archive");
}

#[test]
fn names_and_text_are_guesses_that_never_refuse_a_file() {
    let check = |file: &str, content: &[u8], words: &str| {
        assert_eq!(name(content, file), None, "{file}");
        let said = guess(content, file).map(|(_, said)| said);
        assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{file}: {said:?}");
    };
    check("page.pb", b"\n\n<!DOCTYPE html><html>", "a web page");
    check("m.mlir", b"module @f {\n  func.func public @main() {}\n}", "MLIR as text");
    check("t", b"a,b\n1,2\n", "a CSV table");
    check("notes", b"some notes\n", "plain text");
    check("fingerprint.pb", b"\x08\xa5\xb1\xda\xa8\xa5\xb6\xae\xfe\x96\x01", "a part of a SavedModel");
}

#[test]
fn our_own_files_are_not_foreign() {
    let ours: &[&[u8]] = &[
        b"",
        b"\x0a\x07\x0a\x01a\x12\x02Op",        // a GraphDef
        b"\x08\x01\x12\x06\x0a\x04\x0a\x02ab", // a SavedModel
        b"\x0a\x04\x08\x01\x12\0",             // a ProfileProto
        b"\x0a\x08\x08\x01\x12\x04/job",       // an XSpace
        b"\n{\"\x79",                          // a GraphDef whose first node has 123 bytes and begins with its device
        b"node { name: \"a\" }",
        b"# a comment\nnode { name: \"a\" }",
        b"versions { producer: 3 }",
        b"[a.b] { }",
    ];
    for head in ours {
        assert_eq!(name(head, "graph.pb"), None, "{}", head.escape_ascii());
    }
}

/// Checks what is said about a file that tfprof reads, where it cannot be used.
fn check_ours(file: &str, content: impl AsRef<[u8]>, words: &str) {
    assert_eq!(name(content.as_ref(), file), None, "{file}");
    let said = guess(content.as_ref(), file).map(|(_, said)| said);
    assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{file}: {said:?}");
}

#[test]
fn files_that_are_read_elsewhere_say_where() {
    let keras = zip(&["metadata.json", "config.json", "model.weights.h5"]);
    check_ours("m.keras", &keras, "a Keras model (.keras); ask `tfprof cost m.keras`");
    check_ours("my model.keras", &keras, "ask `tfprof cost FILE`");
    let hdf5 = b"\x89HDF\r\n\x1a\n".to_vec();
    check_ours("m.h5", [&hdf5[..], b"\0model_config\0"].concat(), "a Keras model (.h5); ask `tfprof cost m.h5`");
    check_ours("m.weights.h5", [&hdf5[..], b"\0vars\0"].concat(), "`tfprof checkpoint m.weights.h5` lists its tensors");
    check_ours("m.h5", &hdf5, "an HDF5 file");
    check_ours("m.json", "{\"class_name\": \"Functional\", \"keras_version\": \"3\"}", "ask `tfprof cost m.json`");
    check_ours("m.safetensors", b"\x40\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\"", "a safetensors file");
}
