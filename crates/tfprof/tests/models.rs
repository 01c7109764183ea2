//! Models of tests/models against what TensorFlow, or their definition, says of them; and functions that are hard to count.

use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tfprof::internal::infer::flops;
use tfprof::internal::report::cost::PerBatch;
use tfprof::{Cost, Format, Inputs, Metric, Profiler, Settings, Source};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn load(path: &Path, settings: Settings) -> Result<Profiler, String> {
    let mut inputs = Inputs::default();
    inputs.add_path(path).map_err(|error| error.to_string())?;
    inputs.settings = settings;
    let mut profiler = Profiler::default();
    inputs.load(&mut profiler).map_err(|error| error.to_string())?;
    Ok(profiler)
}

fn cost(path: &Path, settings: Settings) -> Cost {
    let profiler = load(path, settings).unwrap_or_else(|error| panic!("{error}"));
    profiler.cost().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn model(name: &str, settings: Settings) -> Cost {
    cost(&root("tests/models").join(name), settings)
}

fn facts(name: &str) -> Value {
    let text = std::fs::read_to_string(root("tests/models").join(name).join("facts.json")).expect("facts");
    serde_json::from_str(&text).expect("JSON")
}

fn names() -> Vec<String> {
    let entries =
        std::fs::read_dir(root("tests/models")).expect("models").flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().expect("a name")).collect();
    names.sort();
    names
}

/// The FLOPs of some op types together.
fn float_ops(cost: &Cost, is_wanted: impl Fn(&str) -> bool) -> i64 {
    let wanted = cost.op_types.iter().filter(|op_type| is_wanted(&op_type.op));
    wanted.map(|op_type| op_type.figures.float_ops).sum()
}

fn check_parameters(cost: &Cost, facts: &Value, name: &str) {
    assert_eq!(Some(cost.get(Metric::Parameters)), facts["parameters"].as_i64(), "{name}: parameters");
    if let Some(trainable) = facts.get("trainable_parameters") {
        assert_eq!(cost.trainable, trainable.as_i64(), "{name}: trainable");
    }
}

fn check_expected(cost: &Cost, facts: &Value, name: &str) {
    for (ops, expect) in facts["expect"].as_object().into_iter().flatten() {
        let found = float_ops(cost, |op| ops.split('+').any(|wanted| wanted == op));
        assert_eq!(Some(found), expect.as_i64(), "{name}: {ops}");
    }
}

#[test]
fn keras_applications_match_tensorflow() {
    let mut seen = 0;
    for name in names() {
        let facts = facts(&name);
        let Some(by_type) = facts.get("frozen").map(|frozen| frozen["by_type"].as_object().unwrap()) else { continue };
        seen += 1;
        let cost = model(&name, Settings::default());
        check_parameters(&cost, &facts, &name);
        for (op, expect) in by_type {
            let inside = facts["frozen"]["in_functions"][op].as_i64().unwrap_or(0);
            let found = float_ops(&cost, |own| own == op);
            assert_eq!(found, expect.as_i64().unwrap() + inside, "{name}: {op}");
        }
        let (covered, nodes) = (cost.covered(), cost.nodes);
        assert!(covered * 100 >= nodes * 99, "{name}: {covered} of {nodes} nodes, {:?}", cost.unknown);
        let PerBatch { float_ops, macs, io_bytes } = cost.per_batch;
        assert!([float_ops, macs, io_bytes].iter().all(Option::is_some), "{name}: {:?}", cost.per_batch);
    }
    assert_eq!(seen, 10);
}

#[test]
fn small_models_match_their_definition() {
    for name in names() {
        let facts = facts(&name);
        if facts.get("frozen").is_some() || facts.get("signatures").is_some() {
            continue;
        }
        let cost = model(&name, Settings::default());
        check_parameters(&cost, &facts, &name);
        check_expected(&cost, &facts, &name);
        if name != "tf1_meta" {
            assert_eq!(cost.get(Metric::UnknownOps), 0, "{name}: {:?}", cost.unknown);
        }
        let warned = cost.warnings.iter().any(|warning| warning.code == "trip_count");
        assert_eq!(warned, facts.get("warns").is_some(), "{name}: {:?}", cost.warnings);
    }
}

#[test]
fn the_batch_is_one_size_or_a_variable() {
    for name in ["dense_export", "dense_save"] {
        let per_element = facts(name)["per_element"].as_i64().unwrap();
        for batch in [1, 7] {
            let cost = model(name, Settings { batch: Some(batch), ..Settings::default() });
            assert_eq!(cost.get(Metric::FloatOps), batch * per_element);
            let linear = cost.per_batch.float_ops.unwrap();
            assert_eq!((linear.constant, linear.per_element, cost.batch), (0, per_element, Some(batch)));
        }
    }
}

#[test]
fn signatures_are_chosen_or_listed() {
    let path = root("tests/models/signatures");
    for (signature, facts) in facts("signatures")["signatures"].as_object().unwrap() {
        let settings = Settings { signature: Some(signature.clone()), ..Settings::default() };
        let cost = cost(&path, settings);
        check_parameters(&cost, facts, signature);
        check_expected(&cost, facts, signature);
    }
    let refused = |signature: Option<&str>| {
        let settings = Settings { signature: signature.map(str::to_owned), ..Settings::default() };
        load(&path, settings).unwrap_err()
    };
    assert!(refused(None).contains("several signatures, `both`, `decode`, `encode`; choose one with --signature=NAME"));
    assert!(refused(Some("decoder")).contains("unknown signature `decoder`; did you mean `decode`?"));
    // Everything: the variable that no signature reads, too.
    let all = model("signatures", Settings { all: true, ..Settings::default() });
    assert_eq!(all.get(Metric::Parameters), 128 + 128 + 100);
}

#[test]
fn a_frozen_graph_and_its_saved_model_agree() {
    let facts: Value =
        serde_json::from_str(&std::fs::read_to_string(root("corpus/keras_cnn/facts.json")).unwrap()).unwrap();
    let settings = || Settings { const_params: true, ..Settings::default() };
    for path in ["corpus/keras_cnn/graph.pb.gz", "corpus/keras_cnn/saved_model"] {
        let cost = cost(&root(path), settings());
        assert_eq!(Some(cost.get(Metric::Parameters)), facts["params_total"].as_i64(), "{path}");
        let known = |op: &str| flops::find(op).is_some_and(|formula| formula.original);
        assert_eq!(Some(float_ops(&cost, known)), facts["float_ops"].as_i64(), "{path}");
        assert_eq!(cost.get(Metric::UnknownOps), 0, "{path}");
    }
    let cost = cost(&root("corpus/keras_cnn/saved_model"), Settings::default());
    assert_eq!(cost.trainable, facts["params_trainable"].as_i64());
}

#[test]
fn constants_count_only_if_asked_for() {
    let count =
        |const_params| model("frozen_loop", Settings { const_params, ..Settings::default() }).get(Metric::Parameters);
    assert_eq!((count(false), count(true)), (0, 256));
}

#[test]
fn a_user_says_how_often_a_loop_runs() {
    let trip_counts = |name: &str| vec![(name.to_owned(), 9)];
    for name in ["while", "PartitionedCall/PartitionedCall/while"] {
        let cost = model("unknown_loop", Settings { trip_counts: trip_counts(name), ..Settings::default() });
        assert_eq!(float_ops(&cost, |op| op == "MatMul"), 9 * 8192);
        assert!(cost.warnings.is_empty(), "{:?}", cost.warnings);
    }
    let cost = model("unknown_loop", Settings { trip_counts: trip_counts("other"), ..Settings::default() });
    assert_eq!(float_ops(&cost, |op| op == "MatMul"), 8192);
    assert!(cost.warnings.iter().any(|warning| warning.code == "unknown_loop"), "{:?}", cost.warnings);
}

#[test]
fn debug_info_gives_source_lines() {
    use tfprof::{Options, ViewKind};
    let profiler = load(&root("tests/models/traced"), Settings::default()).unwrap();
    let mut options = Options::default();
    options.set("select", "float_ops").unwrap();
    options.set("max_depth", "100").unwrap();
    let view = profiler.view(ViewKind::Code, &options).unwrap();
    let product = view.rows().iter().filter(|row| view.line(row).is_some_and(|line| line.function == "product"));
    let float_ops: Vec<i64> = product.map(|row| view.self_value(Metric::FloatOps, row)).collect();
    assert_eq!(float_ops, [512]);
    assert!(view.rows().iter().filter_map(|row| view.line(row)).any(|line| line.file == "record_models.py"));
}

#[test]
fn damaged_files_are_read_up_to_the_damage() {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(root("tests/models/lstm_save/saved_model.pb.gz")).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    for cut in (0..bytes.len()).step_by(997) {
        let mut profiler = Profiler::default();
        let source = Source::memory("saved_model.pb", &bytes[..cut]).unwrap();
        if profiler.add(source, Format::named("SavedModel").expect("a format"), 0).is_ok() {
            profiler.infer().unwrap();
            let _ = profiler.cost();
        }
    }
    let mut random = 88_172_645_463_325_252_u64;
    for _ in 0..200 {
        let mut broken = bytes.clone();
        for _ in 0..8 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = (random % broken.len() as u64) as usize;
            broken[at] = (random >> 32) as u8;
        }
        let mut profiler = Profiler::default();
        let source = Source::memory("saved_model.pb", &broken).unwrap();
        if profiler.add(source, Format::named("SavedModel").expect("a format"), 0).is_ok() {
            profiler.infer().unwrap();
            let _ = profiler.cost();
        }
    }
}

// ---- graphs that are written by hand

/// A function of one matrix: `f(x)` is what `calls` make of it, one after the other.
fn function(name: &str, calls: &[&str]) -> String {
    let mut text = format!(
        "function {{ signature {{ name: '{name}' input_arg {{ name: 'x' type: DT_FLOAT }} \
         output_arg {{ name: 'y' type: DT_FLOAT }} }}\n"
    );
    let mut last = "x".to_owned();
    for (at, call) in calls.iter().enumerate() {
        if *call == "MatMul" {
            let _ = writeln!(text, "node_def {{ name: 'n{at}' op: 'MatMul' input: '{last}' input: '{last}' }}");
            last = format!("n{at}:product:0");
        } else {
            let _ = writeln!(
                text,
                "node_def {{ name: 'n{at}' op: 'PartitionedCall' input: '{last}' \
                 attr {{ key: 'f' value {{ func {{ name: '{call}' }} }} }} }}"
            );
            last = format!("n{at}:output:0");
        }
    }
    text + &format!("ret {{ key: 'y' value: '{last}' }} }}\n")
}

/// A graph that calls `f0` with a matrix of 4 x 4.
fn graph(library: &str) -> String {
    let shape = "shape { dim { size: 4 } dim { size: 4 } }";
    format!(
        "node {{ name: 'x' op: 'Placeholder' attr {{ key: 'shape' value {{ {shape} }} }} \
         attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }} }}\n\
         node {{ name: 'call' op: 'PartitionedCall' input: 'x' \
         attr {{ key: 'f' value {{ func {{ name: 'f0' }} }} }} }}\n\
         library {{ {library} }}"
    )
}

fn cost_of(text: &str) -> (Cost, Profiler) {
    let mut profiler = Profiler::default();
    profiler.add_graph(Source::memory("graph.pbtxt", text.as_bytes()).expect("memory")).expect("a graph");
    profiler.infer().expect("an inference");
    (profiler.cost().expect("a cost"), profiler)
}

fn has(profiler: &Profiler, name: &str) -> bool {
    let model = profiler.model();
    model.names.find(name.as_bytes()).and_then(|name| model.node(name)).is_some()
}

#[test]
fn nodes_of_functions_lie_under_the_call() {
    let library = function("f0", &["f1", "MatMul"]) + &function("f1", &["MatMul"]);
    let (cost, profiler) = cost_of(&graph(&library));
    assert_eq!(cost.get(Metric::FloatOps), 2 * 128);
    assert!(has(&profiler, "call/n0/n0") && has(&profiler, "call/n1") && !has(&profiler, "call/x"));
    assert_eq!((cost.nodes, cost.covered()), (5, 5));
}

#[test]
fn calls_that_fan_out_are_summed_up_where_they_are_too_many() {
    let mut library = String::new();
    for level in 0..40 {
        let next = format!("f{}", level + 1);
        library += &function(&format!("f{level}"), &[&next, &next]);
    }
    library += &function("f40", &["MatMul"]);
    let (cost, profiler) = cost_of(&graph(&library));
    assert_eq!(cost.get(Metric::FloatOps), 128 << 40);
    assert!(profiler.model().nodes.len() < 1_000_000);
    assert_eq!(cost.get(Metric::UnknownOps), 0);
}

#[test]
fn deep_calls_cost_no_stack() {
    let mut library = String::new();
    for level in 0..20_000 {
        library += &function(&format!("f{level}"), &[&format!("f{}", level + 1)]);
    }
    library += &function("f20000", &["MatMul"]);
    let (cost, _) = cost_of(&graph(&library));
    assert_eq!(cost.get(Metric::FloatOps), 128);
}

#[test]
fn functions_that_call_themselves_are_refused_politely() {
    let alone = function("f0", &["MatMul", "f0"]);
    let ring = function("f0", &["MatMul", "f1"]) + &function("f1", &["f2"]) + &function("f2", &["f1"]);
    for (library, flops) in [(alone, 0), (ring, 128)] {
        let (cost, _) = cost_of(&graph(&library));
        assert!(cost.get(Metric::UnknownOps) > 0);
        assert_eq!(cost.get(Metric::FloatOps), flops);
        let told =
            cost.warnings.iter().any(|warning| warning.message.contains("calls itself; calls to it are not expanded"));
        assert!(told, "{:?}", cost.warnings);
    }
}

#[test]
fn a_function_that_is_missing_is_named() {
    let (cost, _) = cost_of(&graph(&function("f1", &["MatMul"])));
    assert_eq!(cost.get(Metric::UnknownOps), 1);
    assert!(cost.warnings[0].message.contains("the function `f0` is called but not in the file"));
}

#[test]
fn quirks_close_functions() {
    use tfprof::{Options, ViewKind};
    let (_, profiler) = cost_of(&graph(&function("f0", &["MatMul"])));
    for (quirks, rows) in [("false", 4), ("true", 3)] {
        let mut options = Options::default();
        options.set("original_quirks", quirks).unwrap();
        options.set("select", "float_ops").unwrap();
        for kind in [ViewKind::Scope, ViewKind::Graph, ViewKind::Op] {
            let view = profiler.view(kind, &options).unwrap();
            assert_eq!(view.rows().len(), rows, "{quirks} {kind:?}");
            let float_ops = view.total(Metric::FloatOps, &view.rows()[0]);
            assert_eq!(float_ops, if quirks == "true" { 0 } else { 128 });
        }
    }
}

#[test]
fn an_empty_shape_of_a_placeholder_is_unknown_in_old_graphs() {
    let check = |versions: &str, shapes: &str, unknown: i64| {
        let text = format!(
            "node {{ name: 'x' op: 'Placeholder' attr {{ key: 'shape' value {{ shape {{ }} }} }} \
             attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }} {shapes} }}\n\
             node {{ name: 'y' op: 'Neg' input: 'x' attr {{ key: 'T' value {{ type: DT_FLOAT }} }} }}\n{versions}"
        );
        assert_eq!(cost_of(&text).0.get(Metric::UnknownOps), unknown, "{text}");
        // Versions may precede the nodes.
        assert_eq!(cost_of(&format!("{versions} {text}")).0.get(Metric::UnknownOps), unknown, "{text}");
    };
    check("", "", 1);
    check("versions { min_consumer: 12 }", "", 1);
    check("versions { producer: 21 }", "", 1);
    check("versions { producer: 22 }", "", 0);
    check("versions { producer: 1882 }", "", 0);
    // The file may state elsewhere that it is a scalar.
    check("", "attr { key: '_output_shapes' value { list { shape { } } } }", 0);
    check("", "attr { key: '_output_shapes' value { list { shape { dim { size: 3 } } } } }", 0);
}

#[test]
fn placeholders_of_functions_are_as_old_as_the_graph() {
    let placeholder = "node_def { name: 'p' op: 'Placeholder' attr { key: 'shape' value { shape { } } } \
        attr { key: 'dtype' value { type: DT_FLOAT } } } node_def { name: 'n' op: 'Neg' input: 'p:output:0' } \
        signature { name: 'f0' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } } \
        ret { key: 'y' value: 'n:y:0' }";
    for (producer, unknown) in [(21, 1), (22, 0)] {
        let text = format!("{} versions {{ producer: {producer} }}", graph(&format!("function {{ {placeholder} }}")));
        assert_eq!(cost_of(&text).0.get(Metric::UnknownOps), unknown, "{text}");
    }
}

/// A node of a graph in text form. Attributes are given as in the format, without their braces.
fn node(name: &str, op: &str, inputs: &[&str], attributes: &[(&str, &str)]) -> String {
    let inputs: Vec<String> = inputs.iter().map(|input| format!(" input: '{input}'")).collect();
    let attribute = |(key, value): &(&str, &str)| format!(" attr {{ key: '{key}' value {{ {value} }} }}");
    let attributes: Vec<String> = attributes.iter().map(attribute).collect();
    format!("name: '{name}' op: '{op}'{}{}", inputs.concat(), attributes.concat())
}

fn integers(name: &str, dims: &str, values: &[i64]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!(" int_val: {value}")).collect();
    let tensor = format!("tensor {{ dtype: DT_INT32 tensor_shape {{ {dims} }}{} }}", values.concat());
    node(name, "Const", &[], &[("dtype", "type: DT_INT32"), ("value", &tensor)])
}

fn placeholder(name: &str, shape: &str) -> String {
    node(name, "Placeholder", &[], &[("dtype", "type: DT_FLOAT"), ("shape", shape)])
}

fn graph_of(nodes: &[String], library: &str) -> String {
    let nodes: Vec<String> = nodes.iter().map(|node| format!("node {{ {node} }}\n")).collect();
    format!("{}library {{ {library} }} versions {{ producer: 1882 }}", nodes.concat())
}

/// Puts rows of three columns into a list in a loop of four iterations; the batch is open.
#[test]
fn the_elements_of_a_list_keep_their_shape_through_a_loop() {
    let float = [("T", "type: DT_FLOAT")];
    let variables = "input_arg { name: 'i' type: DT_INT32 } input_arg { name: 'l' type: DT_VARIANT } \
                     input_arg { name: 'x' type: DT_FLOAT }";
    let body = [
        integers("one", "", &[1]),
        node("next", "AddV2", &["i", "one:output:0"], &[("T", "type: DT_INT32")]),
        node("set", "TensorListSetItem", &["l", "i", "x"], &[("element_dtype", "type: DT_FLOAT")]),
    ];
    let cond = [integers("n", "", &[4]), node("less", "Less", &["i", "n:output:0"], &[("T", "type: DT_INT32")])];
    let nodes =
        |list: &[String]| list.iter().map(|node| format!("node_def {{ {node} }} ")).collect::<Vec<_>>().concat();
    let library = format!(
        "function {{ signature {{ name: 'body' {variables} output_arg {{ name: 'a' type: DT_INT32 }} \
         output_arg {{ name: 'b' type: DT_VARIANT }} output_arg {{ name: 'c' type: DT_FLOAT }} }} {} \
         ret {{ key: 'a' value: 'next:z:0' }} ret {{ key: 'b' value: 'set:output_handle:0' }} \
         ret {{ key: 'c' value: 'x' }} }} \
         function {{ signature {{ name: 'cond' {variables} output_arg {{ name: 'a' type: DT_BOOL }} }} {} \
         ret {{ key: 'a' value: 'less:z:0' }} }}",
        nodes(&body),
        nodes(&cond)
    );
    let functions = [("cond", "func { name: 'cond' }"), ("body", "func { name: 'body' }")];
    let text = graph_of(
        &[
            placeholder("x", "shape { dim { size: -1 } dim { size: 3 } }"),
            integers("zero", "", &[0]),
            integers("four", "", &[4]),
            integers("element", "dim { size: 2 }", &[-1, 3]),
            node("list", "TensorListReserve", &["element", "four"], &[("element_dtype", "type: DT_FLOAT")]),
            node("while", "While", &["zero", "list", "x"], &functions),
            node("stack", "TensorListStack", &["while:1", "element"], &[("element_dtype", "type: DT_FLOAT")]),
            node("y", "Neg", &["stack"], &float),
            node("item", "TensorListGetItem", &["while:1", "zero", "element"], &[("element_dtype", "type: DT_FLOAT")]),
            node("z", "Neg", &["item"], &float),
        ],
        &library,
    );
    let (cost, _) = cost_of(&text);
    // Ten integer operations of the loop: five comparisons and four sums, and 12 + 3 negations for each row.
    let law = cost.per_batch.float_ops.expect("a law");
    assert_eq!((cost.get(Metric::UnknownOps), law.per_element), (0, 15), "{:?}", cost.missing);
}

#[test]
fn shapes_that_contradict_the_file_are_told() {
    let stated = |shape: &str| {
        graph_of(
            &[
                placeholder("x", "shape { dim { size: 2 } dim { size: 3 } }"),
                node("y", "Neg", &["x"], &[("T", "type: DT_FLOAT"), ("_output_shapes", shape)]),
            ],
            "",
        )
    };
    let told = |shape: &str| {
        let (cost, _) = cost_of(&stated(shape));
        let told = cost.warnings.iter().find(|warning| warning.code == "shape_conflict");
        (cost.get(Metric::FloatOps), told.map(|warning| warning.message.clone()))
    };
    assert_eq!(told("list { shape { dim { size: -1 } dim { size: 3 } } }"), (6, None));
    let (float_ops, message) = told("list { shape { dim { size: 2 } dim { size: 4 } } }");
    assert_eq!(float_ops, 6);
    let expect = "the shape of `y` (Neg) is [2,3] by inference and [2,4] by its _output_shapes; the first counts";
    assert_eq!(message.as_deref(), Some(expect));
}

#[test]
fn shapes_that_depend_on_data_are_not_lost() {
    let int64 = [("T", "type: DT_INT64")];
    let float = [("T", "type: DT_FLOAT")];
    let rest = |source: &str| {
        vec![
            node("where", "Where", &[source], &float),
            node("neg", "Neg", &["where"], &int64),
            // The number of rows, as an integer that becomes a shape again.
            node("shape", "Shape", &["where"], &int64),
            integers("value", "", &[0]),
            node("fill", "Fill", &["shape", "value"], &[("T", "type: DT_INT32")]),
            node("square", "Square", &["fill"], &[("T", "type: DT_INT32")]),
        ]
    };
    let known = [vec![placeholder("x", "shape { dim { size: 2 } dim { size: 3 } }")], rest("x")].concat();
    let (cost, _) = cost_of(&graph_of(&known, ""));
    assert_eq!((cost.data_dependent, cost.get(Metric::UnknownOps)), (2, 2));
    assert!(cost.unknown.iter().all(|unknown| unknown.why == "shapes depend on data"), "{:?}", cost.unknown);
    assert_eq!(cost.missing[0].why, "it depends on data, from `where` (Where) on");
    // A shape that is lost before stays lost.
    let lost = [vec![placeholder("x", "shape { unknown_rank: true }")], rest("x")].concat();
    let (cost, _) = cost_of(&graph_of(&lost, ""));
    assert_eq!((cost.data_dependent, cost.get(Metric::UnknownOps)), (0, 2));
}

#[test]
fn one_pass_finds_the_law_of_the_batch() {
    let float = [("T", "type: DT_FLOAT")];
    let law = |product: &[String]| {
        let mut nodes = vec![
            placeholder("x", "shape { dim { size: -1 } dim { size: 3 } }"),
            placeholder("w", "shape { dim { size: 3 } dim { size: 5 } }"),
            node("constant", "Neg", &["w"], &float),
        ];
        nodes.extend_from_slice(product);
        cost_of(&graph_of(&nodes, "")).0.per_batch.float_ops.map(|law| (law.constant, law.per_element))
    };
    assert_eq!(law(&[node("y", "MatMul", &["x", "w"], &float)]), Some((15, 30)));
    let transposed = [("T", "type: DT_FLOAT"), ("transpose_b", "b: true")];
    assert_eq!(law(&[node("y", "MatMul", &["x", "x"], &transposed)]), None);
    assert_eq!(law(&[]), Some((15, 0)));
}
