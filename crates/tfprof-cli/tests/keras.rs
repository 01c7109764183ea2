//! Models of Keras by their configs: sequences, shared and nested layers, unknown ones, and damaged files.

mod common;

use common::{scratch, tfprof};

/// The cost of a config, as JSON.
fn cost(name: &str, config: &str) -> common::Answer {
    let path = scratch(&format!("keras_{name}")).join(name);
    std::fs::write(&path, config).expect("room");
    tfprof(&["cost", &path.display().to_string(), "--format=json"])
}

fn check(name: &str, config: &str, words: &[&str]) {
    let answer = cost(name, config);
    for words in words {
        assert!(answer.out.contains(words), "{name}: {words}: {}{}", answer.out, answer.err);
    }
}

const DENSE: &str = r#"{"class_name":"Dense","config":{"name":"fc","units":5,"use_bias":true,"activation":"relu"}}"#;

#[test]
fn a_sequence_has_parameters_and_multiply_adds() {
    let input = r#"{"class_name":"InputLayer","config":{"batch_input_shape":[null,8],"dtype":"float32","name":"x"}}"#;
    let config = format!(
        r#"{{"class_name":"Sequential","config":{{"name":"m","layers":[{input},{DENSE}]}},"keras_version":"2.9.0"}}"#
    );
    check("sequence.json", &config, &["\"parameters\":45", "\"macs\":40", "\"name\":\"fc\""]);
}

#[test]
fn a_shared_layer_counts_its_parameters_once_and_its_work_twice() {
    let input = |name: &str| {
        format!(
            r#"{{"class_name":"InputLayer","name":"{name}","config":{{"batch_input_shape":[null,8],"name":"{name}"}},"inbound_nodes":[]}}"#
        )
    };
    let shared = r#"{"class_name":"Dense","name":"fc","config":{"name":"fc","units":5},"inbound_nodes":[[["a",0,0,{}]],[["b",0,0,{}]]]}"#;
    let sum =
        r#"{"class_name":"Add","name":"sum","config":{"name":"sum"},"inbound_nodes":[[["fc",0,0,{}],["fc",1,0,{}]]]}"#;
    let config = format!(
        r#"{{"class_name":"Functional","config":{{"name":"m","layers":[{},{},{sum},{shared}],"input_layers":[["a",0,0],["b",0,0]],"output_layers":[["sum",0,0]]}},"keras_version":"2.9.0"}}"#,
        input("a"),
        input("b")
    );
    check("shared.json", &config, &["\"parameters\":45", "\"macs\":80"]);
}

/// The first call of the inner model is known. In the second, the convolution reads from a custom layer, so its work is not,
/// but its weights are those of the first.
#[test]
fn weights_of_a_model_that_is_called_again_count_once() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/keras/samples/nested.h5");
    let answer = tfprof(&["cost", sample, "--format=json"]);
    // 38 of the convolution, 2 of the custom layer, 9 of the dense one.
    assert!(answer.out.contains("\"parameters\":49,"), "{}{}", answer.out, answer.err);
    // One convolution, and the dense layer, which says what it was built for.
    assert!(answer.out.contains(&format!("\"macs\":{},", 36 * 2 * 9 * 2 + 36 * 2 * 3)), "{}", answer.out);
}

/// `inner` is called twice in `mid` and once beside it. The config lists it in both places, the archive has its weights once.
#[test]
fn a_layer_in_two_models_counts_once_in_an_archive() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/keras/samples/again.keras");
    let answer = tfprof(&["cost", sample, "--format=json"]);
    assert!(answer.out.contains("\"parameters\":72,"), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains(&format!("\"macs\":{},", 3 * 64)), "{}", answer.out);
}

/// Keras 2 counts calls of a model from 1, here the second of two, whose first is read by nobody but the output.
#[test]
fn calls_of_a_model_are_counted_from_one() {
    let input = r#"{"class_name":"InputLayer","name":"x","config":{"batch_input_shape":[null,8],"name":"x"},"inbound_nodes":[]}"#;
    let dense = r#"{"class_name":"Dense","name":"fc","config":{"name":"fc","units":8,"use_bias":false},"inbound_nodes":[[["x",0,0,{}]]]}"#;
    let last = r#"{"class_name":"Dense","name":"last","config":{"name":"last","units":2,"use_bias":false},"inbound_nodes":[[["inner",2,0,{}]]]}"#;
    let inner = format!(
        r#"{{"class_name":"Functional","name":"inner","config":{{"name":"inner","layers":[{input},{dense}],"input_layers":[["x",0,0]],"output_layers":[["fc",0,0]]}},"inbound_nodes":[[["x",0,0,{{}}]],[["x",0,0,{{}}]]]}}"#
    );
    let config = format!(
        r#"{{"class_name":"Functional","config":{{"name":"m","layers":[{input},{inner},{last}],"input_layers":[["x",0,0]],"output_layers":[["inner",1,0],["last",0,0]]}},"keras_version":"2.9.0"}}"#
    );
    check("calls.json", &config, &["\"parameters\":80", "\"macs\":144"]);
}

#[test]
fn an_unknown_layer_is_listed_by_its_class() {
    let config = r#"{"class_name":"Sequential","config":{"name":"m","layers":[{"class_name":"Mine","registered_name":"p>Mine","config":{"name":"mine","batch_input_shape":[null,8]}}]},"keras_version":"3"}"#;
    check("unknown.json", config, &["\"op\":\"Mine\"", "\"unknown_ops\":1"]);
}

#[test]
fn damaged_configs_get_one_sentence() {
    let deep = format!("{{\"class_name\":\"Sequential\",\"keras_version\":\"3\",\"config\":{}", "[".repeat(100_000));
    let waits = r#"{"class_name":"Functional","keras_version":"3","config":{"layers":[{"class_name":"Dense","name":"a","config":{"units":1},"inbound_nodes":[[["b",0,0,{}]]]},{"class_name":"Dense","name":"b","config":{"units":1},"inbound_nodes":[[["a",0,0,{}]]]}]}}"#;
    for (name, config, words) in [
        ("deep.json", deep.as_str(), "is damaged: recursion limit exceeded"),
        ("loop.json", waits, "waits for"),
        (
            "cut.json",
            "{\"class_name\": \"Sequential\", \"keras_version\": \"3\", ",
            "the config of this Keras model is damaged",
        ),
    ] {
        let answer = cost(name, config);
        assert!(answer.code == 1 && answer.err.contains(words), "{name}: {} {}", answer.code, answer.err);
    }
}
