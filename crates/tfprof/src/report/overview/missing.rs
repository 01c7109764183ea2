//! Data that the files lack: why, and the Python that records it with the framework of these files.

use super::{Overview, Sources};
use crate::model::Model;
use crate::model::nodes::ShapeId;
use serde::{Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// A stable word for programs.
    pub code: &'static str,
    pub what: &'static str,
    pub why: String,
    /// Lines of Python to type; advice in words is a comment.
    #[serde(serialize_with = "lines")]
    pub how: Vec<String>,
}

impl Missing {
    pub(super) fn new(code: &'static str, what: &'static str, why: impl Into<String>, how: &[&str]) -> Missing {
        Missing { code, what, why: why.into(), how: how.iter().map(|line| (*line).to_owned()).collect() }
    }
}

fn lines<S: Serializer>(lines: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&lines.join("\n"))
}

/// Saves a model of TensorFlow 2 with its lines of code. Keras takes the option in `model.export`, and ignores it.
pub const SAVE_WITH_LINES: &[&str] = &[
    "lines = tf.saved_model.SaveOptions(save_debug_info=True)",
    "tf.saved_model.save(model, 'with_lines', options=lines)  # not model.export, which drops the option",
    "# then: tfprof code with_lines -select float_ops",
];

/// Writes the lines of code and the FLOPs of a graph. TensorFlow does not make the directory.
const WRITE_OP_LOG: &[&str] =
    &["tf.io.gfile.makedirs('dump')", "tf.compat.v1.profiler.write_op_log(graph, 'dump')  # writes dump/tfprof_log"];

/// Everything that one would expect.
pub fn find(overview: &Overview, model: &Model, sources: &Sources) -> Vec<Missing> {
    let mut all = Vec::new();
    let unknown = unknown_shapes(model);
    if let Some(dir) = &sources.saved_model {
        if overview.steps.is_empty() {
            all.push(run_of_saved_model(dir, sources.signature.as_deref().unwrap_or("serving_default")));
        }
        if model.stacks.is_empty() {
            all.push(Missing::new("no_traces", "lines of code", "the model was saved without them", SAVE_WITH_LINES));
        }
    } else if model.dialect.is_none() {
        add_for_sessions(overview, model, sources.has_graph, &mut all);
    }
    if model.misses_streams {
        all.push(Missing::new(
            "no_streams",
            "accelerator time",
            "ops ran on a GPU, but no stream of it was recorded",
            &["# check that TensorFlow found CUPTI, the GPU's tracing library, in the log of the recording"],
        ));
    }
    if unknown > 0 {
        all.push(Missing::new(
            "unknown_shapes",
            "some parameters",
            format!("{unknown} variables have a shape that is not fully known"),
            &["# give the shape where the variable is made, or load the checkpoint"],
        ));
    }
    all
}

/// A `SavedModel` has no times: TensorFlow 2 runs it under its profiler. Without a directory, the model is at hand.
fn run_of_saved_model(dir: &str, signature: &str) -> Missing {
    if dir.is_empty() {
        let how =
            ["with tf.profiler.experimental.Profile('logdir'):", "    model.predict(x)", "# then: tfprof info logdir"];
        return Missing::new("no_steps", "time and memory", "the model has not run", &how);
    }
    let load = format!("model = tf.saved_model.load({dir:?})");
    let function = format!("f = model.signatures[{signature:?}]");
    let how = [
        "import tensorflow as tf",
        &load,
        &function,
        "specs = f.structured_input_signature[1]",
        "x = {name: tf.zeros([size or 1 for size in spec.shape], spec.dtype) for name, spec in specs.items()}",
        "f(**x)",
        "with tf.profiler.experimental.Profile('logdir'):",
        "    for step in range(10):",
        "        with tf.profiler.experimental.Trace('run', step_num=step, _r=1):",
        "            f(**x)",
        "# then: tfprof info logdir",
    ];
    Missing::new("no_steps", "time and memory", "a SavedModel has none", &how)
}

/// For graphs and runs of TensorFlow 1, and of `tf.compat.v1` in TensorFlow 2.
fn add_for_sessions(overview: &Overview, model: &Model, has_graph: bool, all: &mut Vec<Missing>) {
    let mut missing = |code, what, why, how| all.push(Missing::new(code, what, why, how));
    if !has_graph {
        missing(
            "no_graph",
            "op types, inputs and parameters",
            "no graph is loaded",
            &["open('graph.pb', 'wb').write(graph.as_graph_def(add_shapes=True).SerializeToString())"],
        );
    }
    if overview.steps.is_empty() {
        missing(
            "no_steps",
            "time and memory",
            "no step is loaded",
            &[
                "options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)",
                "run = tf.compat.v1.RunMetadata()",
                "session.run(train_op, options=options, run_metadata=run)",
                "open('run_meta_0', 'wb').write(run.SerializeToString())",
            ],
        );
    } else if overview.micros == 0 {
        missing(
            "no_times",
            "time",
            "the steps have no record with a start time",
            &["# record with trace_level=FULL_TRACE; software and hardware traces alone have no times of ops"],
        );
    }
    if model.stacks.is_empty() {
        missing("no_traces", "lines of code", "no op log with code traces is loaded", WRITE_OP_LOG);
    }
    if overview.float_ops == 0 {
        missing("no_float_ops", "FLOPs", "no op log with FLOPs is loaded", WRITE_OP_LOG);
    }
}

/// The number of variables without a shape, or with an unknown dimension.
fn unknown_shapes(model: &Model) -> usize {
    let is_variable = |op: &str| matches!(op, "Variable" | "VariableV2" | "VarHandleOp");
    let known = |shape: ShapeId| shape != ShapeId::EMPTY && model.shapes.get(shape).iter().all(|dim| *dim >= 0);
    let nodes = model.nodes.op.iter().zip(&model.nodes.shape);
    nodes.filter(|(op, shape)| is_variable(model.names.get(**op)) && !known(**shape)).count()
}
