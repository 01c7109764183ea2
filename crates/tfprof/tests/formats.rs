//! Format detection, and what each format contributes to the model.

use std::path::{Path, PathBuf};
use tfprof::internal::render;
use tfprof::{Format, Options, Profiler, Source, ViewKind};

fn corpus(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(path)
}

#[test]
fn every_real_file_is_recognized() {
    let mut seen = 0;
    for model in ["mlp_small", "resnet32", "rnn", "ps_workers", "keras_cnn", "gpu_synthetic", "ckpt_dtypes"] {
        for entry in std::fs::read_dir(corpus(model)).expect("a model") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let expect = match name.trim_end_matches(".gz") {
                "graph.pb" | "graph.pbtxt" => "GraphDef",
                "profile.pb" => "ProfileProto",
                name if name.starts_with("run_meta") => "RunMetadata",
                name if name.starts_with("tfprof_log") => "OpLogProto",
                _ => continue,
            };
            let source = Source::open(&path).expect("a file");
            let found = Format::recognize(source.head()).map(|format| format.name);
            assert_eq!(found, Some(expect), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn a_meta_graph_names_trainable_variables() {
    let text = br#"
        meta_info_def { tensorflow_version: "2.21.0" }
        collection_def { key: "trainable_variables" value { bytes_list { value: "\n\003w:0" } } }
        collection_def { key: "variables" value { bytes_list { value: "\n\003w:0" value: "\n\003s:0" } } }
        graph_def {
            node { name: "w" op: "VarHandleOp" attr { key: "shape" value { shape { dim { size: 6 } } } } }
            node { name: "s" op: "VarHandleOp" attr { key: "shape" value { shape { dim { size: 2 } } } } }
        }"#;
    let source = Source::memory("x.meta", text).expect("memory");
    let format = Format::recognize(source.head()).expect("a known format");
    assert_eq!(format.name, "MetaGraphDef");
    let mut profiler = Profiler::default();
    profiler.add(source, format, 0).expect("a meta graph");
    let mut options = Options::default();
    options.set("select", "params,op_types").expect("an option");
    options.set("account_type_regexes", "_trainable_variables").expect("an option");
    let mut out = Vec::new();
    render::text::write_report(&profiler.view(ViewKind::Scope, &options).expect("a view"), &mut out).expect("memory");
    let out = String::from_utf8(out).expect("UTF-8");
    assert!(
        out.ends_with(
            "_TFProfRoot (--/6 params, _kTFScopeParent)\n  w (6, 6/6 params, VarHandleOp|_trainable_variables)\n"
        ),
        "{out}"
    );
}

#[test]
fn a_device_may_be_named_after_its_records() {
    // StepStats { dev_stats { node_stats { node_name: "a" … } device: "/cpu:0" } }, the fields in this order.
    let stats = [b"\x0a\x01a".as_slice(), b"\x10\x64\x20\x09"].concat();
    let device = [&[0x12, stats.len() as u8], &stats[..], b"\x0a\x06/cpu:0"].concat();
    let step = [&[0x0a, device.len() as u8], &device[..]].concat();
    let run = [&[0x0a, step.len() as u8], &step[..]].concat();
    let mut profiler = Profiler::default();
    profiler.add_step(0, Source::memory("run", &run).expect("memory")).expect("a run");
    let mut options = Options::default();
    options.set("select", "cpu_micros,device").expect("an option");
    let mut out = Vec::new();
    render::text::write_report(&profiler.view(ViewKind::Scope, &options).expect("a view"), &mut out).expect("memory");
    assert!(String::from_utf8_lossy(&out).ends_with("  a (9us/9us, /cpu:0)\n"), "{}", String::from_utf8_lossy(&out));
}

#[test]
fn names_that_are_not_utf8_are_escaped_with_a_warning() {
    let graph = b"\x0a\x08\x0a\x03a\xff/\x12\x01A";
    let mut profiler = Profiler::default();
    profiler.add_graph(Source::memory("g", graph).expect("memory")).expect("a graph");
    assert_eq!(profiler.warnings()[0].to_string(), "g: byte 2: a name is not valid UTF-8; it is shown as `a\\xff/`");
}
