//! The op log that TensorFlow's Python layer makes of a graph: float operations by formula, the variables that are
//! trained, and where in the program each node was made.
//!
//! Everything comes from bytes: a `GraphDef` with `_output_shapes`, a `RunMetadata` that completes shapes which the
//! graph does not know, and the log of a caller, whose entries come first and win.

use super::flops::{self, Dims, Op, Unknown};
use crate::model::type_names::TRAINABLE;
use rustc_hash::FxHashMap;
use tfprof_proto::lenient::{each_quietly, map_entry};
use tfprof_proto::shape::shape_dims;
use tfprof_proto::wire::{Fields, Value};
use tfprof_proto::write as pb;

/// Where in a program nodes were made, as Python hands it over: each distinct frame once.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    pub frames: Vec<SourceFrame>,
    /// For each node, its frames from the outermost to the innermost, as places in `frames`.
    pub nodes: FxHashMap<String, Vec<u32>>,
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

/// Shapes that runs told of outputs whose shape the graph does not know. The first run that tells counts.
#[derive(Clone, Debug, Default)]
pub struct RunShapes {
    shapes: FxHashMap<(Vec<u8>, usize), Vec<i64>>,
}

/// What goes into a log besides the graph.
#[derive(Debug, Default)]
pub struct Parts<'a> {
    /// Nodes of variables that are trained.
    pub trainable: &'a [String],
    pub traces: Option<&'a Traces>,
    pub run_shapes: Option<&'a RunShapes>,
    /// Float operations are found in another way.
    pub without_float_ops: bool,
    /// The bytes of a caller's `OpLogProto`.
    pub caller: Option<&'a [u8]>,
}

/// A log, and what it could not say.
#[derive(Debug)]
pub struct OpLog {
    /// The bytes of the `OpLogProto`.
    pub bytes: Vec<u8>,
    /// How many ops have a formula but not the shapes it needs.
    pub missing_shapes: usize,
}

/// Makes the log of a graph.
pub fn op_log(graph: &GraphShapes<'_>, parts: &Parts<'_>) -> OpLog {
    let mut missing_shapes = 0;
    let mut entries = Entries::default();
    if let Some(caller) = parts.caller {
        entries.read(caller);
    }
    let made_from = entries.list.len();
    let mut strings = Strings::default();
    let mut made: Vec<Entry> = Vec::new();
    let mut made_at: FxHashMap<&[u8], usize> = FxHashMap::default();
    for (place, node) in graph.nodes.iter().enumerate() {
        let counted = if parts.without_float_ops { None } else { graph.float_ops(place, parts.run_shapes) };
        let float_ops = match counted {
            Some(Ok(work)) => work.float_ops,
            Some(Err(Unknown::Shape | Unknown::DataFormat)) => {
                missing_shapes += 1;
                0
            }
            Some(Err(Unknown::Malformed | Unknown::NoFormula)) | None => 0,
        };
        if float_ops == 0 && parts.traces.is_none() {
            continue;
        }
        let name = node.name.to_vec();
        let code = parts.traces.map(|traces| strings.code(traces, node.name)).unwrap_or_default();
        made_at.insert(node.name, made.len());
        made.push(Entry { name, float_ops, types: Vec::new(), code });
    }
    for variable in parts.trainable {
        let at = *made_at.entry(variable.as_bytes()).or_insert_with(|| {
            made.push(Entry { name: variable.as_bytes().to_vec(), ..Entry::default() });
            made.len() - 1
        });
        made[at].types.push(TRAINABLE.as_bytes().to_vec());
    }
    for entry in made {
        entries.merge(entry, made_from);
    }
    let mut bytes = Vec::new();
    entries.list.iter().for_each(|entry| entry.write(&mut bytes));
    strings.write(&mut bytes);
    OpLog { bytes, missing_shapes }
}

#[derive(Debug, Default)]
struct Entry {
    name: Vec<u8>,
    float_ops: i64,
    types: Vec<Vec<u8>>,
    /// The bytes of a `CodeDef`; empty if there is no trace.
    code: Vec<u8>,
}

impl Entry {
    fn write(&self, out: &mut Vec<u8>) {
        pb::message(out, 1, |out| {
            pb::bytes(out, 1, &self.name);
            pb::int(out, 2, self.float_ops);
            self.types.iter().for_each(|ty| pb::element(out, 3, ty));
            pb::bytes(out, 4, &self.code);
        });
    }
}

/// Entries in order, one for each name.
#[derive(Default)]
struct Entries {
    list: Vec<Entry>,
    places: FxHashMap<Vec<u8>, usize>,
}

impl Entries {
    /// Reads a caller's log. As the original: of two entries of one name the later counts, in the place of the first.
    fn read(&mut self, log: &[u8]) {
        each_quietly(Fields::new(log, 0), |all, number, value| {
            let (1, Value::Bytes(bytes)) = (number, value) else { return };
            let mut entry = Entry::default();
            each_quietly(all.nested(bytes), |_, number, value| match (number, value) {
                (1, Value::Bytes(name)) => entry.name = name.to_vec(),
                (2, Value::Varint(n)) => entry.float_ops = n as i64,
                (3, Value::Bytes(ty)) => entry.types.push(ty.to_vec()),
                (4, Value::Bytes(code)) => entry.code.extend_from_slice(code),
                _ => {}
            });
            match self.places.get(&entry.name) {
                Some(place) => self.list[*place] = entry,
                None => {
                    self.places.insert(entry.name.clone(), self.list.len());
                    self.list.push(entry);
                }
            }
        });
    }

    /// Adds an entry, or completes the caller's entry of that name.
    fn merge(&mut self, made: Entry, callers: usize) {
        let place = if callers > 0 { self.places.get(&made.name) } else { None };
        let Some(place) = place else { return self.list.push(made) };
        let entry = &mut self.list[*place];
        entry.types.extend(made.types);
        if entry.float_ops == 0 && made.float_ops > 0 {
            entry.float_ops = made.float_ops;
        }
        if entry.code.is_empty() {
            entry.code = made.code;
        }
    }
}

/// The table of strings that frames refer to by number; 0 is what is not known.
struct Strings<'a> {
    ids: FxHashMap<&'a str, i64>,
    all: Vec<&'a str>,
    /// The bytes of each frame that was met, as a field of a `CodeDef`.
    frames: Vec<Vec<u8>>,
}

impl Default for Strings<'_> {
    fn default() -> Self {
        Strings { ids: FxHashMap::from_iter([("none", 0)]), all: vec!["none"], frames: Vec::new() }
    }
}

impl<'a> Strings<'a> {
    fn id(&mut self, text: &'a str) -> i64 {
        if text.is_empty() {
            return 0;
        }
        let next = self.all.len() as i64;
        let id = *self.ids.entry(text).or_insert(next);
        if id == next {
            self.all.push(text);
        }
        id
    }

    /// `CodeDef` of a node.
    fn code(&mut self, traces: &'a Traces, node: &[u8]) -> Vec<u8> {
        self.frames.resize_with(traces.frames.len(), Vec::new);
        let mut out = Vec::new();
        let frames = std::str::from_utf8(node).ok().and_then(|node| traces.nodes.get(node));
        for frame in frames.into_iter().flatten() {
            let place = *frame as usize;
            let Some(frame) = traces.frames.get(place) else { continue };
            if self.frames[place].is_empty() {
                let [file, function, line] = [&frame.file, &frame.function, &frame.line].map(|text| self.id(text));
                let lineno = if frame.line_number == 0 { -1 } else { frame.line_number };
                pb::message(&mut self.frames[place], 1, |out| {
                    pb::int(out, 2, lineno);
                    pb::int(out, 5, -1);
                    pb::int(out, 6, file);
                    pb::int(out, 7, function);
                    pb::int(out, 8, line);
                });
            }
            out.extend_from_slice(&self.frames[place]);
        }
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        for (id, text) in self.all.iter().enumerate() {
            pb::message(out, 2, |out| {
                pb::key(out, 1, 0);
                pb::varint(out, id as u64);
                pb::element(out, 2, text.as_bytes());
            });
        }
    }
}

/// A graph, as far as float operations need it: it borrows the bytes of a `GraphDef`.
#[derive(Debug)]
pub struct GraphShapes<'a> {
    nodes: Vec<Node<'a>>,
    places: FxHashMap<&'a [u8], usize>,
}

#[derive(Debug)]
struct Node<'a> {
    name: &'a [u8],
    op: &'a [u8],
    bytes: &'a [u8],
    /// The shapes of its outputs, each a `TensorShapeProto`.
    shapes: Vec<&'a [u8]>,
}

impl<'a> GraphShapes<'a> {
    /// Reads the nodes of a `GraphDef`; what is damaged is left out.
    pub fn new(graph: &'a [u8]) -> Self {
        let mut nodes = Vec::new();
        each_quietly(Fields::new(graph, 0), |_, number, value| {
            let (1, Value::Bytes(bytes)) = (number, value) else { return };
            let mut node = Node { name: b"", op: b"", bytes, shapes: Vec::new() };
            each_quietly(Fields::new(bytes, 0), |_, number, value| match (number, value) {
                (1, Value::Bytes(name)) => node.name = name,
                (2, Value::Bytes(op)) => node.op = op,
                (5, Value::Bytes(entry)) => {
                    if let (b"_output_shapes", Some(value)) = map_entry(entry) {
                        node.shapes = list_of_shapes(value);
                    }
                }
                _ => {}
            });
            nodes.push(node);
        });
        let places = nodes.iter().enumerate().map(|(place, node)| (node.name, place)).collect();
        GraphShapes { nodes, places }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The `GraphDef` with the shapes that runs told; none if they told nothing new.
    // As the original, which completes the graph of its caller for this, and for good.
    pub fn completed(&self, graph: &[u8], run_shapes: &RunShapes) -> Option<Vec<u8>> {
        if run_shapes.shapes.is_empty() {
            return None;
        }
        let mut nodes = self.nodes.iter();
        let mut out = Vec::with_capacity(graph.len() + graph.len() / 8);
        let mut fields = Fields::new(graph, 0);
        while let Ok(Some(field)) = fields.next_field() {
            let node = if field.number == 1 && field.value.bytes().is_some() { nodes.next() } else { None };
            match node {
                Some(node) if (0..node.shapes.len()).any(|output| run_shapes.get(node.name, output).is_some()) => {
                    pb::bytes(&mut out, 1, &node.completed(run_shapes));
                }
                _ => out.extend_from_slice(&graph[field.offset as usize..fields.offset() as usize]),
            }
        }
        Some(out)
    }

    /// The shape of an output: as the graph has it, completed by what ran. Empty if it is not known at all.
    fn shape(&self, place: usize, output: usize, run_shapes: Option<&RunShapes>) -> Vec<i64> {
        let node = &self.nodes[place];
        if let Some(run_shapes) = run_shapes
            && let Some(dims) = run_shapes.get(node.name, output)
        {
            return dims.to_vec();
        }
        let mut dims = Vec::new();
        if let Some(shape) = node.shapes.get(output) {
            shape_dims(shape, &mut dims);
        }
        dims
    }

    /// The float operations of a node; none if there is no formula for its op.
    fn float_ops(&self, place: usize, run_shapes: Option<&RunShapes>) -> Option<flops::Flops> {
        let node = &self.nodes[place];
        let op = std::str::from_utf8(node.op).ok()?;
        let formula = flops::find(op).filter(|formula| formula.original)?;
        let mut inputs = Vec::new();
        let mut attributes = Vec::new();
        each_quietly(Fields::new(node.bytes, 0), |_, number, value| match (number, value) {
            (3, Value::Bytes(input)) => inputs.push(self.input_shape(input, run_shapes)),
            (5, Value::Bytes(entry)) => attributes.push(map_entry(entry)),
            _ => {}
        });
        let inputs: Vec<Option<Dims<'_>>> = inputs.iter().map(|dims| ranked(dims)).collect();
        let output = self.shape(place, 0, run_shapes);
        let attribute =
            |name: &str| attributes.iter().rev().find(|(key, _)| *key == name.as_bytes()).and_then(|(_, value)| *value);
        let output = ranked(&output);
        Some(formula.count(&Op {
            name: op,
            inputs: &inputs,
            output,
            facts: &[],
            attribute: &attribute,
            as_original: true,
        }))
    }

    /// The shape of `name` or `name:1`; that of a control input is not known.
    fn input_shape(&self, input: &[u8], run_shapes: Option<&RunShapes>) -> Vec<i64> {
        let (source, output) = match memchr::memrchr(b':', input) {
            None => (input, 0),
            Some(colon) => {
                let output = std::str::from_utf8(&input[colon + 1..]).ok().and_then(|digits| digits.parse().ok());
                (&input[..colon], output.unwrap_or(usize::MAX))
            }
        };
        self.places.get(source).map(|place| self.shape(*place, output, run_shapes)).unwrap_or_default()
    }
}

impl Node<'_> {
    /// The `NodeDef` with completed shapes.
    fn completed(&self, run_shapes: &RunShapes) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 32);
        let mut fields = Fields::new(self.bytes, 0);
        while let Ok(Some(field)) = fields.next_field() {
            let attribute = field.value.bytes().filter(|_| field.number == 5);
            if attribute.is_none_or(|entry| map_entry(entry).0 != b"_output_shapes") {
                out.extend_from_slice(&self.bytes[field.offset as usize..fields.offset() as usize]);
            }
        }
        let mut list = Vec::new();
        for (output, known) in self.shapes.iter().enumerate() {
            match run_shapes.get(self.name, output) {
                None => pb::element(&mut list, 7, known),
                Some(dims) => {
                    let mut shape = Vec::new();
                    for dim in dims {
                        let mut size = Vec::new();
                        pb::int(&mut size, 1, *dim);
                        pb::element(&mut shape, 2, &size);
                    }
                    pb::element(&mut list, 7, &shape);
                }
            }
        }
        let (mut value, mut entry) = (Vec::new(), Vec::new());
        pb::bytes(&mut value, 1, &list);
        pb::bytes(&mut entry, 1, b"_output_shapes");
        pb::bytes(&mut entry, 2, &value);
        pb::bytes(&mut out, 5, &entry);
        out
    }
}

impl RunShapes {
    fn get(&self, node: &[u8], output: usize) -> Option<&[i64]> {
        if self.shapes.is_empty() {
            return None;
        }
        self.shapes.get(&(node.to_vec(), output)).map(Vec::as_slice)
    }

    /// Takes the shapes of a `RunMetadata` for outputs whose shape the graph does not fully know. Returns the nodes
    /// whose shapes contradict the graph; they keep what the graph says.
    pub fn add(&mut self, graph: &GraphShapes<'_>, run_meta: &[u8]) -> Vec<String> {
        let mut contradictions = Vec::new();
        each_quietly(Fields::new(run_meta, 0), |all, number, value| {
            let (1, Value::Bytes(stats)) = (number, value) else { return };
            each_quietly(all.nested(stats), |all, number, value| {
                let (1, Value::Bytes(device)) = (number, value) else { return };
                each_quietly(all.nested(device), |_, number, value| {
                    if let (2, Value::Bytes(record)) = (number, value) {
                        self.add_record(graph, record, &mut contradictions);
                    }
                });
            });
        });
        contradictions
    }

    fn add_record(&mut self, graph: &GraphShapes<'_>, record: &[u8], contradictions: &mut Vec<String>) {
        let mut name = &b""[..];
        let mut outputs = Vec::new();
        each_quietly(Fields::new(record, 0), |_, number, value| match (number, value) {
            (1, Value::Bytes(bytes)) => name = bytes,
            (7, Value::Bytes(output)) => outputs.push(output),
            _ => {}
        });
        let Some(place) = graph.places.get(name).copied() else { return };
        if outputs.len() != graph.nodes[place].shapes.len() {
            return;
        }
        for (output, bytes) in outputs.into_iter().enumerate() {
            let known = graph.shape(place, output, Some(self));
            if !known.is_empty() && known.iter().all(|dim| *dim >= 0) {
                continue;
            }
            let ran = output_dims(bytes);
            if known.is_empty() || fits(&known, &ran) {
                self.shapes.insert((name.to_vec(), output), ran);
            } else {
                contradictions.push(String::from_utf8_lossy(name).into_owned());
            }
        }
    }
}

fn fits(known: &[i64], ran: &[i64]) -> bool {
    known.len() == ran.len() && known.iter().zip(ran).all(|(known, ran)| *known < 0 || known == ran)
}

/// The dimensions in `NodeOutput.tensor_description.shape`.
fn output_dims(output: &[u8]) -> Vec<i64> {
    let mut dims = vec![1];
    each_quietly(Fields::new(output, 0), |all, number, value| {
        let (3, Value::Bytes(tensor)) = (number, value) else { return };
        each_quietly(all.nested(tensor), |_, number, value| {
            if let (2, Value::Bytes(shape)) = (number, value) {
                shape_dims(shape, &mut dims);
            }
        });
    });
    if dims.is_empty() { vec![1] } else { dims }
}

/// As the original has it, no dimensions are an unknown rank.
fn ranked(dims: &[i64]) -> Option<Dims<'_>> {
    Some(dims).filter(|dims| !dims.is_empty())
}

/// The shapes of an attribute that is a list.
fn list_of_shapes(attribute: &[u8]) -> Vec<&[u8]> {
    let mut shapes = Vec::new();
    each_quietly(Fields::new(attribute, 0), |_, number, value| {
        let (1, Value::Bytes(list)) = (number, value) else { return };
        each_quietly(Fields::new(list, 0), |_, number, value| {
            if let (7, Value::Bytes(shape)) = (number, value) {
                shapes.push(shape);
            }
        });
    });
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Name, float operations, types and whether there is a trace, of each entry.
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
        let traces = Traces { frames: vec![frame], nodes: FxHashMap::from_iter([("sq".to_owned(), vec![0])]) };
        let parts =
            Parts { caller: Some(&caller), trainable: &["sq".to_owned()], traces: Some(&traces), ..Parts::default() };
        let rows = read(&op_log(&graph, &parts).bytes);
        assert_eq!(rows[0], ("sq".into(), 5, 2, true));
        assert_eq!(rows[1], ("x".into(), 7, 1, false));
        assert_eq!(rows.len(), 4);
    }
}
