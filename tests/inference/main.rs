//! Infers shapes and FLOPs from the graphs of the corpus and compares them with TensorFlow's: the shapes in the graphs, and
//! the FLOPs of the op logs.

use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use tfprof::internal::infer::flops;
use tfprof::internal::infer::inference::{Instance, NoCalls, NodeCost, infer};
use tfprof::internal::infer::overrides::Overrides;
use tfprof::internal::model::body::Body;
use tfprof::internal::model::{Model, attr_value};
use tfprof::{Metric, Options, Profiler, Source, ViewKind};
use tfprof_proto::wire::{Fields, Value};

const MODELS: [&str; 5] = ["keras_cnn", "mlp_small", "ps_workers", "resnet32", "rnn"];

fn corpus(model: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(model)
}

fn read(path: &Path) -> Vec<u8> {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).expect("gzipped");
    bytes
}

/// The original's text for a case, which several cases may share.
fn golden_text(model: &str, name: &str) -> PathBuf {
    let cases = std::fs::read_to_string(corpus(model).join("cases.json")).expect("a case file");
    let cases: serde_json::Value = serde_json::from_str(&cases).expect("a case file");
    let mut cases = cases["cases"].as_array().expect("a list of cases").iter();
    let case = cases.find(|case| case["name"] == name).unwrap_or_else(|| panic!("{model} has no case {name}"));
    let text = case["expect"]["text"].as_str().expect("a golden text");
    corpus(model).join(format!("{}.gz", text.trim_end_matches(".gz")))
}

/// The graph without the shapes that it states.
fn without_shapes(graph: &Body) -> Body {
    let mut bare = Body::default();
    for node in 0..graph.len() as u32 {
        bare.push_node(graph.name(node), graph.op(node));
        graph.inputs(node).iter().for_each(|input| bare.push_input(*input));
        graph.controls(node).iter().for_each(|control| bare.push_control(*control));
        let attributes = graph.attributes(node).filter(|(key, _)| *key != "_output_shapes");
        attributes.for_each(|(key, value)| bare.push_attribute(key, value.0));
    }
    bare
}

fn inferred(body: &Body) -> Instance {
    infer(body, &[], &Overrides::default(), &mut NoCalls)
}

#[test]
fn shapes_are_those_that_tensorflow_stated() {
    for model in MODELS {
        let graph = Body::of_graph(&read(&corpus(model).join("graph.pb.gz")));
        let instance = inferred(&without_shapes(&graph));
        let (mut stated, mut found) = (0, 0);
        for node in 0..graph.len() as u32 {
            let Some(shapes) = graph.attribute(node, "_output_shapes") else { continue };
            for (output, shape) in attr_value::shapes(shapes).iter().enumerate() {
                let fact = instance.outputs(node).get(output).cloned().unwrap_or_default();
                let name = graph.name(node);
                assert!(fact.shape.fits(shape), "{model}: {name}: {:?}, stated {shape:?}", fact.shape);
                stated += i32::from(shape.is_known());
                found += i32::from(shape.is_known() && fact.shape.is_known());
            }
        }
        assert!(stated > 50, "{model}: {stated} shapes are stated");
        assert!(found * 100 >= stated * 99, "{model}: {found} of {stated} shapes are found");
    }
}

/// Float operations by node, as an op log has them.
fn logged(log: &[u8]) -> BTreeMap<String, i64> {
    let mut logged = BTreeMap::new();
    let mut entries = Fields::new(log, 0);
    while let Ok(Some(field)) = entries.next_field() {
        let (1, Value::Bytes(entry)) = (field.number, field.value) else { continue };
        let (mut name, mut float_ops) = (String::new(), 0);
        let mut fields = Fields::new(entry, 0);
        while let Ok(Some(field)) = fields.next_field() {
            match (field.number, field.value) {
                (1, Value::Bytes(bytes)) => name = String::from_utf8_lossy(bytes).into_owned(),
                (2, Value::Varint(n)) => float_ops = n as i64,
                _ => {}
            }
        }
        if float_ops != 0 {
            logged.insert(name, float_ops);
        }
    }
    logged
}

fn is_original(op: &str) -> bool {
    flops::find(op).is_some_and(|formula| formula.original)
}

/// Loads the graph of a model, and its runs, but no op log.
fn load(model: &str, runs: bool) -> Profiler {
    let mut profiler = Profiler::default();
    let dir = corpus(model);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&dir).expect("a directory").flatten().map(|entry| entry.path()).collect();
    files.sort();
    profiler.add_graph(Source::open(&dir.join("graph.pb.gz")).expect("a graph")).expect("a graph");
    let is_run = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run_meta"));
    for (step, path) in files.iter().filter(is_run).enumerate().filter(|_| runs) {
        profiler.add_step(step as i64, Source::open(path).expect("a run")).expect("a run");
    }
    profiler.infer().expect("no inputs are named");
    profiler
}

/// The cost of one execution of each node.
fn float_ops(model: &Model) -> BTreeMap<String, (String, i64)> {
    let node = |id| {
        let op = model.names.get(model.nodes.op[tfprof::internal::model::nodes::NodeId::index(id)]).to_owned();
        (model.name(id).to_owned(), (op, model.costs.get(id).float_ops))
    };
    model.nodes.all().map(node).collect()
}

#[test]
fn float_operations_are_those_of_the_op_logs() {
    let mut compared = 0;
    for (model, log, runs) in [
        ("keras_cnn", "tfprof_log.gz", true),
        ("mlp_small", "tfprof_log.gz", true),
        ("ps_workers", "tfprof_log.gz", true),
        ("resnet32", "tfprof_log.gz", true),
        ("rnn", "tfprof_log.gz", true),
        ("rnn", "tfprof_log_static.gz", false),
    ] {
        let ours = float_ops(load(model, runs).model());
        for (name, float_ops) in logged(&read(&corpus(model).join(log))) {
            let Some((op, own)) = ours.get(&name) else { continue };
            assert!(is_original(op), "{model}: {name}: the original knows no {op}");
            assert_eq!(*own, float_ops, "{model}, {log}: {name} ({op})");
            compared += 1;
        }
    }
    assert!(compared > 2000, "{compared} nodes were compared");
}

#[test]
fn shapes_of_runs_do_not_contradict_those_of_the_graph() {
    for model in MODELS {
        let profiler = load(model, true);
        let contradictions: Vec<_> = profiler
            .warnings()
            .iter()
            .filter(|warning| warning.code == "shape_conflict")
            .map(ToString::to_string)
            .collect();
        assert!(contradictions.is_empty(), "{model}: {contradictions:?}");
    }
}

#[test]
fn a_frozen_model_is_known_from_its_graph_alone() {
    let facts = std::fs::read_to_string(corpus("keras_cnn").join("facts.json")).expect("facts");
    let facts: serde_json::Value = serde_json::from_str(&facts).expect("facts");
    let graph = without_shapes(&Body::of_graph(&read(&corpus("keras_cnn").join("graph.pb.gz"))));
    let instance = inferred(&graph);
    let mut float_ops = 0;
    for node in 0..graph.len() as u32 {
        let cost = instance.cost(node);
        let NodeCost::Known(cost) = cost else { panic!("{} has no cost", graph.name(node)) };
        if is_original(graph.op(node)) {
            float_ops += cost.float_ops;
        }
    }
    assert_eq!(Some(float_ops), facts["float_ops"].as_i64());
}

#[test]
fn parameters_come_from_graphs_alone() {
    for (model, case) in
        [("mlp_small", "preset_params_scope"), ("resnet32", "manual_trainable"), ("rnn", "preset_params_scope")]
    {
        let answer = read(&golden_text(model, case));
        let profiler = load(model, false);
        let options = Options::default();
        let view = profiler.view(ViewKind::Scope, &options).expect("a view");
        let mut compared = 0;
        // Lines are `name (3x4, 12/12 params)`.
        for line in String::from_utf8_lossy(&answer).lines() {
            let Some((name, numbers)) = line.trim().split_once(" (") else { continue };
            let own = numbers.split_once(", ").and_then(|(_, numbers)| numbers.split_once('/'));
            let Some(own) = own.and_then(|(own, _)| own.parse::<i64>().ok()) else { continue };
            let node = profiler.model().names.find(name.as_bytes()).and_then(|name| profiler.model().node(name));
            let parameters = view.values().row(node.expect("a node"))[Metric::Parameters as usize];
            assert_eq!(parameters, own, "{model}: {name}");
            compared += 1;
        }
        assert!(compared >= 4, "{model}: {compared} variables were compared");
    }
}
