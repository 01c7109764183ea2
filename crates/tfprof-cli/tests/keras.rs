//! Models of Keras by their configs: sequences, shared and nested layers, unknown ones, and damaged files.

use crate::common::{scratch, tfprof};

/// The cost of a config, as JSON.
fn cost(name: &str, config: &str) -> crate::common::Answer {
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
fn spectral_normalization_keeps_a_vector_of_the_last_size_of_the_kernel() {
    // A transposed kernel ends with the channels of its input: 2x2x3x6, a bias of 3, and 6.
    let inner =
        r#"{"class_name":"Conv2DTranspose","config":{"name":"t","filters":3,"kernel_size":[2,2],"strides":[1,1]}}"#;
    let layers = [
        r#"{"class_name":"InputLayer","config":{"name":"in","batch_shape":[null,5,5,6]}}"#.to_owned(),
        format!(r#"{{"class_name":"SpectralNormalization","config":{{"name":"s","layer":{inner}}}}}"#),
    ];
    let layers = layers.join(",");
    let config =
        format!(r#"{{"class_name":"Sequential","config":{{"name":"m","layers":[{layers}]}},"keras_version":"2.9.0"}}"#);
    check("spectral.json", &config, &["\"parameters\":81", "\"trainable_parameters\":75"]);
}

#[test]
fn pools_to_a_given_size_slide_two_windows() {
    // Of 8 places, 3 are wanted: windows of 3 at 6 places and of 4 at 5, for 2 channels.
    let layers = [
        r#"{"class_name":"InputLayer","config":{"name":"in","batch_shape":[null,8,2]}}"#,
        r#"{"class_name":"AdaptiveMaxPooling1D","config":{"name":"p","output_size":[3]}}"#,
    ];
    let layers = layers.join(",");
    let config =
        format!(r#"{{"class_name":"Sequential","config":{{"name":"m","layers":[{layers}]}},"keras_version":"2.9.0"}}"#);
    check("adaptive.json", &config, &["\"float_ops\":76,"]);
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

/// A functional model of Keras 3 with one input of `shape` and layers behind it.
fn functional(shape: &str, layers: &[String], output: &str) -> String {
    let input = format!(
        r#"{{"class_name":"InputLayer","module":"keras.layers","config":{{"batch_shape":{shape},"dtype":"float32","name":"x"}},"name":"x","inbound_nodes":[]}}"#
    );
    format!(
        r#"{{"class_name":"Functional","module":"keras","registered_name":null,"config":{{"name":"m","layers":[{input},{}],"input_layers":["x",0,0],"output_layers":["{output}",0,0]}}}}"#,
        layers.join(",")
    )
}

/// A layer or an op that is called with arguments, of which tensors are written `@name`.
fn called(module: &str, class: &str, name: &str, config: &str, arguments: &str) -> String {
    let mut parts = arguments.split('@');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (layer, rest) = part.split_at(part.find([',', ']']).expect("an end"));
        text += &format!(
            r#"{{"class_name":"__keras_tensor__","config":{{"dtype":"float32","keras_history":["{layer}",0,0]}}}}{rest}"#
        );
    }
    format!(
        r#"{{"class_name":"{class}","module":"{module}","config":{{"name":"{name}"{config}}},"name":"{name}","inbound_nodes":[{{"args":{text},"kwargs":{{}}}}]}}"#
    )
}

fn op(class: &str, name: &str, config: &str, arguments: &str) -> String {
    called("keras.src.ops.numpy", class, name, config, arguments)
}

fn dense(name: &str, units: usize, input: &str) -> String {
    let config = format!(r#","units":{units},"use_bias":false"#);
    called("keras.layers", "Dense", name, &config, &format!("[@{input}]"))
}

/// Each op is followed by a dense layer, whose work shows that the shape is right.
#[test]
fn ops_on_tensors_have_shapes_and_flops() {
    let known = |name: &str, layers: &[String], macs: i64| {
        let words = [format!("\"macs\":{macs},"), "\"unknown_ops\":0".to_owned()];
        check(name, &functional("[null,5,6]", layers, "fc"), &[&words[0], &words[1]]);
    };
    let whole = r#"{"class_name":"__slice__","config":{"start":null,"stop":null,"step":null}}"#;
    let part = r#"{"class_name":"__slice__","config":{"start":1,"stop":-1,"step":2}}"#;
    let dots = r#"{"class_name":"__ellipsis__","config":{}}"#;
    known("first.json", &[op("GetItem", "y", "", &format!("[@x,[{whole},0]]")), dense("fc", 3, "y")], 18);
    known("part.json", &[op("GetItem", "y", "", &format!("[@x,[{whole},{part}]]")), dense("fc", 3, "y")], 2 * 18);
    known("dots.json", &[op("GetItem", "y", "", &format!("[@x,[{dots},null,{part}]]")), dense("fc", 3, "y")], 5 * 6);
    known("mean.json", &[op("Mean", "y", r#","axis":1,"keepdims":false"#, "[@x]"), dense("fc", 3, "y")], 18);
    known("reshape.json", &[op("Reshape", "y", r#","newshape":[-1,15,2]"#, "[@x]"), dense("fc", 3, "y")], 15 * 6);
    known("turned.json", &[op("Transpose", "y", r#","axes":[0,2,1]"#, "[@x]"), dense("fc", 3, "y")], 6 * 15);
    known("stack.json", &[op("Stack", "y", r#","axis":1"#, "[[@x,@x]]"), dense("fc", 3, "y")], 2 * 5 * 18);
    known("pair.json", &[op("Subtract", "y", "", "[1.0,@x]"), dense("fc", 3, "y")], 5 * 18);
    known(
        "split.json",
        &[op("Split", "y", r#","indices_or_sections":[4],"axis":-1"#, "[@x]"), dense("fc", 3, "y")],
        5 * 12,
    );
    // 5 by 6 times 6 by 5, then a layer.
    let turned = op("Transpose", "t", r#","axes":[0,2,1]"#, "[@x]");
    known("matmul.json", &[turned, op("Matmul", "y", "", "[@x,@t]"), dense("fc", 3, "y")], 150 + 25 * 3);
    known(
        "einsum.json",
        &[op("Einsum", "y", r#","subscripts":"bij,bkj->bik""#, "[@x,@x]"), dense("fc", 3, "y")],
        150 + 25 * 3,
    );
}

/// The ops of TensorFlow in a model of tf.keras 2 name their arguments.
#[test]
fn functions_of_tensorflow_are_ops_as_well() {
    let input = r#"{"class_name":"InputLayer","name":"x","config":{"batch_input_shape":[null,5,6],"name":"x"},"inbound_nodes":[]}"#;
    let last = r#"{"class_name":"Dense","name":"fc","config":{"name":"fc","units":3,"use_bias":false},"inbound_nodes":[[["y",0,0,{}]]]}"#;
    let known = |name: &str, class: &str, function: &str, arguments: &str, macs: i64| {
        let layer = format!(
            r#"{{"class_name":"{class}","name":"y","config":{{"name":"y","function":"{function}"}},"inbound_nodes":[["x",0,0,{arguments}]]}}"#
        );
        let config = format!(
            r#"{{"class_name":"Functional","config":{{"name":"m","layers":[{input},{layer},{last}],"input_layers":[["x",0,0]],"output_layers":[["fc",0,0]]}},"keras_version":"2.15.0"}}"#
        );
        check(name, &config, &[&format!("\"macs\":{macs},"), "\"unknown_ops\":0"]);
    };
    known("reduced.json", "TFOpLambda", "math.reduce_mean", r#"{"axis":1}"#, 18);
    known("turned2.json", "TFOpLambda", "transpose", r#"{"perm":[0,2,1]}"#, 90);
    known("parts.json", "TFOpLambda", "split", r#"{"num_or_size_splits":[4,2],"axis":-1}"#, 60);
    let slice = r#"{"slice_spec":[{"start":null,"stop":null,"step":null},0]}"#;
    known("slice.json", "SlicingOpLambda", "__operators__.getitem", slice, 18);
    known("product.json", "TFOpLambda", "linalg.matmul", r#"{"b":["x",0,0],"transpose_b":true}"#, 150 + 75);
}

/// Numbers that no tensor has end in an unknown op, not in a fault.
#[test]
fn odd_arguments_of_ops_leave_the_op_unknown() {
    let odd = [
        ("Mean", r#","axis":[]"#, "[@x]"),
        ("Split", r#","indices_or_sections":9223372036854775807,"axis":[]"#, "[@x]"),
        ("Split", r#","indices_or_sections":0,"axis":0"#, "[@x]"),
        ("Tile", r#","repeats":[9223372036854775807,2,3]"#, "[@x]"),
        ("Swapaxes", r#","axis1":9,"axis2":-9"#, "[@x]"),
        ("Moveaxis", r#","source":[0,0],"destination":[5,1]"#, "[@x]"),
        ("GetItem", "", r"[@x,[0,0,0,0,0]]"),
        (
            "GetItem",
            "",
            r#"[@x,[{"class_name":"__slice__","config":{"start":-9223372036854775807,"stop":3,"step":-9223372036854775807}}]]"#,
        ),
        ("Take", r#","axis":2"#, "[@x,[[1]]]"),
        ("Tensordot", r#","axes":-7"#, "[@x,@x]"),
        ("Squeeze", r#","axis":[1,1]"#, "[@x]"),
        ("Pad", r#","pad_width":[[1,9223372036854775807],[0,0],[0,0]]"#, "[@x]"),
        ("Argmax", r#","axis":null"#, "[@x]"),
    ];
    for (at, (class, config, arguments)) in odd.into_iter().enumerate() {
        let config = functional("[null,5,6]", &[op(class, "y", config, arguments)], "y");
        let answer = cost(&format!("odd{at}.json"), &config);
        assert_eq!(answer.code, 0, "{class}: {}{}", answer.out, answer.err);
    }
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
