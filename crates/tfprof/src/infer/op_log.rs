//! The op log that TensorFlow's Python layer makes of a graph: FLOPs by formula, trainable variables, and the call
//! stack that created each node.
//!
//! Everything comes from bytes: a `GraphDef` with `_output_shapes`, a `RunMetadata` that completes shapes which the
//! graph does not know, and a caller's log, whose entries come first and win.

mod entries;
mod graph;
mod strings;

pub use graph::{GraphShapes, RunShapes};

use crate::hash::UntrustedMap;
use crate::model::costs::UnknownReason;
use crate::model::type_names::TRAINABLE;
use entries::{Entries, Entry};
use strings::Strings;

/// Call stacks of nodes, as Python hands them over: each distinct frame once.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    pub frames: Vec<SourceFrame>,
    /// By node, its frames from the outermost to the innermost, as positions in `frames`.
    pub nodes: UntrustedMap<String, Vec<u32>>,
}

/// A frame of a call stack.
#[derive(Clone, Debug, Default)]
pub struct SourceFrame {
    pub file: String,
    pub line_number: i64,
    pub function: String,
    /// The text of the line.
    pub line: String,
}

/// Contents of a log besides the graph.
#[derive(Debug, Default)]
pub struct Parts<'a> {
    /// Nodes of trainable variables.
    pub trainable: &'a [String],
    pub traces: Option<&'a Traces>,
    pub run_shapes: Option<&'a RunShapes>,
    /// The caller counts FLOPs in another way.
    pub without_float_ops: bool,
    /// The caller's frames keep their file and function names. As the original, a live graph loses them.
    pub keep_strings: bool,
    /// The bytes of a caller's `OpLogProto`.
    pub caller: Option<&'a [u8]>,
}

/// A log, and how complete it is.
#[derive(Debug)]
pub struct OpLog {
    /// The bytes of the `OpLogProto`.
    pub bytes: Vec<u8>,
    /// The number of ops that have a formula but not the shapes it needs.
    pub missing_shapes: usize,
}

/// Makes the log of a graph.
pub fn op_log(graph: &GraphShapes<'_>, parts: &Parts<'_>) -> OpLog {
    let mut missing_shapes = 0;
    let mut entries = Entries::default();
    if let Some(caller) = parts.caller {
        entries.read(caller);
    }
    let has_caller = !entries.list.is_empty();
    let mut strings = Strings::default();
    let mut made: Vec<Entry> = Vec::new();
    let mut made_at: UntrustedMap<&[u8], usize> = UntrustedMap::default();
    for (at, node) in graph.nodes().iter().enumerate() {
        let counted = if parts.without_float_ops { None } else { graph.float_ops(at, parts.run_shapes) };
        let float_ops = match counted {
            Some(Ok(work)) => work.float_ops,
            Some(Err(UnknownReason::Shape | UnknownReason::Data | UnknownReason::DataFormat)) => {
                missing_shapes += 1;
                0
            }
            Some(Err(UnknownReason::Malformed | UnknownReason::NoFormula)) | None => 0,
        };
        if float_ops == 0 && parts.traces.is_none() {
            continue;
        }
        let code = parts.traces.map(|traces| strings.code(traces, node.name)).unwrap_or_default();
        made_at.insert(node.name, made.len());
        made.push(Entry { name: node.name.to_vec(), float_ops, types: Vec::new(), code });
    }
    for variable in parts.trainable {
        let at = *made_at.entry(variable.as_bytes()).or_insert_with(|| {
            made.push(Entry { name: variable.as_bytes().to_vec(), ..Entry::default() });
            made.len() - 1
        });
        made[at].types.push(TRAINABLE.as_bytes().to_vec());
    }
    for entry in made {
        entries.merge(entry, has_caller);
    }
    let mut bytes = Vec::new();
    entries.write(&mut bytes);
    match parts.caller {
        Some(caller) if parts.keep_strings && parts.traces.is_none() => strings::copy(caller, &mut bytes),
        _ => strings.write(&mut bytes),
    }
    OpLog { bytes, missing_shapes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfprof_proto::write as pb;

    fn shape(out: &mut Vec<u8>, field: u32, dims: &[i64]) {
        pb::message(out, field, |out| {
            for dim in dims {
                pb::message(out, 2, |out| pb::int(out, 1, *dim));
            }
        });
    }

    fn node(out: &mut Vec<u8>, name: &str, op: &str, inputs: &[&str], dims: &[i64]) {
        pb::message(out, 1, |out| {
            pb::bytes(out, 1, name.as_bytes());
            pb::bytes(out, 2, op.as_bytes());
            inputs.iter().for_each(|input| pb::element(out, 3, input.as_bytes()));
            pb::message(out, 5, |out| {
                pb::element(out, 1, b"_output_shapes");
                pb::message(out, 2, |out| pb::message(out, 1, |out| shape(out, 7, dims)));
            });
        });
    }

    fn graph() -> Vec<u8> {
        let mut out = Vec::new();
        node(&mut out, "x", "Placeholder", &[], &[-1, 2]);
        node(&mut out, "w", "VariableV2", &[], &[2, 4]);
        node(&mut out, "mul", "MatMul", &["x", "w"], &[-1, 4]);
        node(&mut out, "sq", "Square", &["w"], &[2, 4]);
        out
    }

    fn ran(node: &str, dims: &[i64]) -> Vec<u8> {
        let mut out = Vec::new();
        pb::message(&mut out, 1, |out| {
            pb::message(out, 1, |out| {
                pb::message(out, 2, |out| {
                    pb::bytes(out, 1, node.as_bytes());
                    pb::message(out, 7, |out| pb::message(out, 3, |out| shape(out, 2, dims)));
                });
            });
        });
        out
    }

    /// Name, FLOPs, types and whether there is a trace, of each entry.
    fn read(log: &[u8]) -> Vec<(String, i64, usize, bool)> {
        let mut entries = Entries::default();
        entries.read(log);
        let row = |entry: &Entry| {
            let name = String::from_utf8(entry.name.clone()).unwrap();
            (name, entry.float_ops, entry.types.len(), !entry.code.is_empty())
        };
        entries.list.iter().map(row).collect()
    }

    #[test]
    fn only_ops_with_figures_and_variables_are_logged() {
        let bytes = graph();
        let graph = GraphShapes::new(&bytes);
        let log = op_log(&graph, &Parts { trainable: &["w".to_owned()], ..Parts::default() });
        assert_eq!(log.missing_shapes, 1);
        assert_eq!(read(&log.bytes), [("sq".into(), 8, 0, false), ("w".into(), 0, 1, false)]);
    }

    #[test]
    fn strings_of_a_caller_stay_if_wanted() {
        let bytes = graph();
        let graph = GraphShapes::new(&bytes);
        let mut caller = Vec::new();
        pb::message(&mut caller, 2, |out| {
            pb::int(out, 1, 7);
            pb::bytes(out, 2, b"train.py");
        });
        let parts = |keep_strings| Parts { caller: Some(&caller), keep_strings, ..Parts::default() };
        let has_name = |log: OpLog| log.bytes.windows(8).any(|part| part == b"train.py");
        assert!(has_name(op_log(&graph, &parts(true))));
        assert!(!has_name(op_log(&graph, &parts(false))));
    }

    #[test]
    fn runs_complete_shapes_and_the_first_counts() {
        let bytes = graph();
        let graph = GraphShapes::new(&bytes);
        let mut shapes = RunShapes::default();
        assert!(shapes.add(&graph, &ran("x", &[3, 2])).is_empty());
        assert!(shapes.add(&graph, &ran("x", &[9, 2])).is_empty());
        assert_eq!(shapes.add(&graph, &ran("mul", &[3, 5])), ["mul"]);
        assert!(shapes.add(&graph, &ran("mul", &[3, 4])).is_empty());
        let log = op_log(&graph, &Parts { run_shapes: Some(&shapes), ..Parts::default() });
        assert_eq!(log.missing_shapes, 0);
        assert_eq!(read(&log.bytes)[0], ("mul".into(), 2 * 2 * 12, 0, false));
    }

    #[test]
    fn a_completed_graph_keeps_scalars_and_sizes_of_zero() {
        let mut shapes = Vec::new();
        // An output of any rank, and a scalar, whose shape is an empty message.
        pb::element(&mut shapes, 7, &[0x18, 1]);
        pb::element(&mut shapes, 7, &[]);
        let (mut value, mut entry, mut bytes, mut graph) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        pb::bytes(&mut value, 1, &shapes);
        pb::bytes(&mut entry, 1, b"_output_shapes");
        pb::bytes(&mut entry, 2, &value);
        pb::bytes(&mut bytes, 1, b"a");
        pb::bytes(&mut bytes, 5, &entry);
        pb::bytes(&mut graph, 1, &bytes);
        let mut ran = RunShapes::default();
        let known = GraphShapes::new(&graph);
        assert_eq!(known.completed(&graph, &ran), None);
        ran.shapes.insert((b"a".to_vec(), 0), vec![0, 3]);
        let completed = known.completed(&graph, &ran).unwrap();
        let completed = GraphShapes::new(&completed);
        assert_eq!((completed.shape(0, 0, None), completed.shape(0, 1, None)), (vec![0, 3], vec![1]));
    }

    #[test]
    fn a_callers_entries_come_first_and_win() {
        let bytes = graph();
        let graph = GraphShapes::new(&bytes);
        let mut caller = Vec::new();
        for (name, float_ops) in [("sq", 5), ("x", 0), ("x", 7)] {
            pb::message(&mut caller, 1, |out| {
                pb::bytes(out, 1, name.as_bytes());
                pb::int(out, 2, float_ops);
                pb::element(out, 3, b"mine");
            });
        }
        let frame = SourceFrame { file: "a.py".into(), function: "f".into(), ..SourceFrame::default() };
        let traces = Traces { frames: vec![frame], nodes: UntrustedMap::from_iter([("sq".to_owned(), vec![0])]) };
        let parts =
            Parts { caller: Some(&caller), trainable: &["sq".to_owned()], traces: Some(&traces), ..Parts::default() };
        let rows = read(&op_log(&graph, &parts).bytes);
        assert_eq!(rows[0], ("sq".into(), 5, 2, true));
        assert_eq!(rows[1], ("x".into(), 7, 1, false));
        assert_eq!(rows.len(), 4);
    }
}
