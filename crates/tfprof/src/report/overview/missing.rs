//! Data that the files lack: why, and how to record it.

use super::Overview;
use crate::model::Model;
use crate::model::nodes::ShapeId;
use serde::{Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// A stable word for programs.
    pub code: &'static str,
    pub what: &'static str,
    pub why: String,
    /// Lines to type.
    #[serde(serialize_with = "lines")]
    pub how: &'static [&'static str],
}

fn lines<S: Serializer>(lines: &[&str], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&lines.join("\n"))
}

/// Everything that one would expect.
pub fn find(overview: &Overview, model: &Model, has_graph: bool) -> Vec<Missing> {
    let mut all = Vec::new();
    let mut missing = |code, what, why: String, how| all.push(Missing { code, what, why, how });
    let unknown = unknown_shapes(model);
    if !has_graph {
        missing(
            "no_graph",
            "op types, inputs and parameters",
            "no graph is loaded".to_owned(),
            &["open('graph.pb', 'wb').write(graph.as_graph_def(add_shapes=True).SerializeToString())"],
        );
    }
    if overview.steps.is_empty() {
        missing(
            "no_steps",
            "time and memory",
            "no step is loaded".to_owned(),
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
            "the steps have no record with a start time".to_owned(),
            &["record with trace_level=FULL_TRACE; software and hardware traces alone have no times of ops"],
        );
    }
    if model.misses_streams {
        missing(
            "no_streams",
            "accelerator time",
            "ops ran on a GPU, but no stream of it was recorded".to_owned(),
            &["check that TensorFlow found CUPTI, the GPU's tracing library, in the log of the recording"],
        );
    }
    if model.stacks.is_empty() {
        missing(
            "no_traces",
            "lines of code",
            "no op log with code traces is loaded".to_owned(),
            &["tf.compat.v1.profiler.write_op_log(graph, 'dump', run_meta=run)  # writes dump/tfprof_log"],
        );
    }
    if overview.float_ops == 0 {
        missing(
            "no_float_ops",
            "FLOPs",
            "no op log with FLOPs is loaded".to_owned(),
            &["tf.compat.v1.profiler.write_op_log(graph, 'dump', run_meta=run)  # counts them where shapes are known"],
        );
    }
    if unknown > 0 {
        missing(
            "unknown_shapes",
            "some parameters",
            format!("{unknown} variables have a shape that is not fully known"),
            &["give the shape where the variable is made, or load the checkpoint"],
        );
    }
    all
}

/// The number of variables without a shape, or with an unknown dimension.
fn unknown_shapes(model: &Model) -> usize {
    let is_variable = |op: &str| matches!(op, "Variable" | "VariableV2" | "VarHandleOp");
    let known = |shape: ShapeId| shape != ShapeId::EMPTY && model.shapes.get(shape).iter().all(|dim| *dim >= 0);
    let nodes = model.nodes.op.iter().zip(&model.nodes.shape);
    nodes.filter(|(op, shape)| is_variable(model.names.get(**op)) && !known(**shape)).count()
}
