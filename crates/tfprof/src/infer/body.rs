//! One graph or function body, ready for inference: nodes as columns, inputs by place, attributes as bytes.
//!
//! A body owns what it needs and no more: the contents of large constants are left out.

use rustc_hash::FxHashMap;
use std::ops::Range;
use tfprof_proto::lenient::{each_quietly, map_entry};
use tfprof_proto::wire::{Fields, Value};
use tfprof_proto::write as pb;

/// What stands for a node that is not there.
pub const NOWHERE: u32 = u32::MAX;

/// The attribute under which a node keeps its `experimental_debug_info`: what it was called before it was rewritten.
pub const ORIGINAL: &str = "_original";

/// The longest tensor that is kept in an attribute with its contents: longer ones hold no shapes.
const LONGEST_TENSOR: usize = 16 * 1024;

/// An output of a node of the body. The node may be [`NOWHERE`], or any number that is not a node: then nothing is
/// known of the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    pub node: u32,
    pub output: u32,
}

/// Nodes are numbered in the order in which they were pushed. Inputs may point forward, and there may be cycles.
#[derive(Clone, Debug, Default)]
pub struct Body {
    names: Texts,
    /// By node, the place of its op in `ops`.
    op: Vec<u32>,
    ops: Words,
    inputs: Vec<Tensor>,
    inputs_end: Vec<u32>,
    controls: Vec<u32>,
    controls_end: Vec<u32>,
    /// Places in `keys` and ranges of `bytes`.
    attributes: Vec<(u32, Range<usize>)>,
    attributes_end: Vec<u32>,
    keys: Words,
    bytes: Vec<u8>,
    /// The nodes that stand for the arguments: output 0 of `args[i]` is argument `i`. Empty for a graph.
    pub args: Vec<u32>,
    /// What the function returns. Empty for a graph.
    pub returns: Vec<Tensor>,
}

impl Body {
    /// The nodes of a `GraphDef`; what is damaged is left out. Of two nodes of one name the first counts.
    pub fn of_graph(graph: &[u8]) -> Body {
        let mut pending = PendingBody::default();
        each_quietly(Fields::new(graph, 0), |_, number, value| {
            if let (1, Value::Bytes(node)) = (number, value) {
                pending.push_node(node);
            }
        });
        pending.finish()
    }

    pub fn len(&self) -> usize {
        self.op.len()
    }

    pub fn is_empty(&self) -> bool {
        self.op.is_empty()
    }

    // ---- filling

    /// Adds a node; inputs and attributes are pushed to the last one.
    pub fn push_node(&mut self, name: &str, op: &str) -> u32 {
        self.names.push(name);
        self.op.push(self.ops.id(op));
        self.inputs_end.push(self.inputs.len() as u32);
        self.controls_end.push(self.controls.len() as u32);
        self.attributes_end.push(self.attributes.len() as u32);
        self.op.len() as u32 - 1
    }

    /// Adds a data input to the last node.
    pub fn push_input(&mut self, tensor: Tensor) {
        self.inputs.push(tensor);
        if let Some(end) = self.inputs_end.last_mut() {
            *end += 1;
        }
    }

    /// Adds a control input to the last node.
    pub fn push_control(&mut self, node: u32) {
        self.controls.push(node);
        if let Some(end) = self.controls_end.last_mut() {
            *end += 1;
        }
    }

    /// Adds an attribute to the last node: the bytes of an `AttrValue`. Of two of one name the last counts.
    pub fn push_attribute(&mut self, key: &str, value: &[u8]) {
        let start = self.bytes.len();
        if value.len() <= LONGEST_TENSOR || !push_without_contents(value, &mut self.bytes) {
            self.bytes.truncate(start);
            self.bytes.extend_from_slice(value);
        }
        self.attributes.push((self.keys.id(key), start..self.bytes.len()));
        if let Some(end) = self.attributes_end.last_mut() {
            *end += 1;
        }
    }

    // ---- reading

    pub fn name(&self, node: u32) -> &str {
        self.names.get(node as usize)
    }

    /// Which argument a node stands for. Arguments are in the order of nodes.
    pub fn arg(&self, node: u32) -> Option<usize> {
        self.args.binary_search(&node).ok()
    }

    pub fn op(&self, node: u32) -> &str {
        self.ops.texts.get(self.op[node as usize] as usize)
    }

    /// The distinct ops, and by node the place of its own among them.
    pub fn ops(&self) -> (impl Iterator<Item = &str>, &[u32]) {
        ((0..self.ops.texts.len()).map(|op| self.ops.texts.get(op)), &self.op)
    }

    /// Data inputs, in order.
    pub fn inputs(&self, node: u32) -> &[Tensor] {
        &self.inputs[range(&self.inputs_end, node)]
    }

    pub fn controls(&self, node: u32) -> &[u32] {
        &self.controls[range(&self.controls_end, node)]
    }

    /// The bytes of an attribute's `AttrValue`.
    pub fn attribute(&self, node: u32, name: &str) -> Option<&[u8]> {
        let key = *self.keys.ids.get(name)?;
        let attributes = &self.attributes[range(&self.attributes_end, node)];
        attributes.iter().rev().find(|(of, _)| *of == key).map(|(_, range)| &self.bytes[range.clone()])
    }

    /// All attributes of a node, in the order of the file.
    pub fn attributes(&self, node: u32) -> impl Iterator<Item = (&str, &[u8])> {
        let attributes = &self.attributes[range(&self.attributes_end, node)];
        attributes.iter().map(|(key, range)| (self.keys.texts.get(*key as usize), &self.bytes[range.clone()]))
    }
}

/// A body of nodes as a `GraphDef` has them, whose inputs name nodes that may come later.
#[derive(Clone, Debug, Default)]
pub struct PendingBody {
    body: Body,
    /// By name; the first of a name counts.
    places: FxHashMap<Box<str>, u32>,
    /// Inputs of all nodes, and where those of each end.
    spellings: Texts,
    spellings_end: Vec<u32>,
}

impl PendingBody {
    /// Adds a `NodeDef`; false if there is a node of that name.
    pub fn push_node(&mut self, node: &[u8]) -> bool {
        let (mut name, mut op) = (&b""[..], &b""[..]);
        each_quietly(Fields::new(node, 0), |_, number, value| match (number, value) {
            (1, Value::Bytes(bytes)) => name = bytes,
            (2, Value::Bytes(bytes)) => op = bytes,
            _ => {}
        });
        let name = String::from_utf8_lossy(name);
        if self.places.contains_key(&*name) {
            return false;
        }
        let at = self.body.push_node(&name, &String::from_utf8_lossy(op));
        self.places.insert(name.into(), at);
        each_quietly(Fields::new(node, 0), |_, number, value| match (number, value) {
            (3, Value::Bytes(input)) => self.spellings.push(&String::from_utf8_lossy(input)),
            (5, Value::Bytes(entry)) => {
                let (key, value) = map_entry(entry);
                self.body.push_attribute(&String::from_utf8_lossy(key), value.unwrap_or_default());
            }
            (6, Value::Bytes(info)) => self.body.push_attribute(ORIGINAL, info),
            _ => {}
        });
        self.spellings_end.push(self.spellings.len() as u32);
        true
    }

    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Adds a node that stands for an argument of a function.
    pub fn push_arg(&mut self, name: &str) {
        let at = self.body.push_node(name, "_Arg");
        self.body.args.push(at);
        self.places.entry(name.into()).or_insert(at);
        self.spellings_end.push(self.spellings.len() as u32);
    }

    /// Adds an attribute to the node that was pushed last.
    pub fn push_attribute(&mut self, key: &str, value: &[u8]) {
        self.body.push_attribute(key, value);
    }

    /// The body, its inputs in place.
    pub fn finish(self) -> Body {
        self.finish_named().0
    }

    /// The same, and the places of nodes by their names.
    pub fn finish_named(self) -> (Body, FxHashMap<Box<str>, u32>) {
        self.finish_with(|_, places, spelling| {
            let (name, output) = match spelling.rsplit_once(':') {
                None => (spelling, 0),
                Some((name, digits)) => (name, digits.parse().unwrap_or(NOWHERE)),
            };
            Tensor { node: places.get(name).copied().unwrap_or(NOWHERE), output }
        })
    }

    /// The same, where data inputs are spelled in another way; and where the nodes are.
    pub fn finish_with(
        self,
        mut tensor: impl FnMut(&Body, &FxHashMap<Box<str>, u32>, &str) -> Tensor,
    ) -> (Body, FxHashMap<Box<str>, u32>) {
        let PendingBody { mut body, places, spellings, spellings_end } = self;
        body.inputs_end.clear();
        body.controls_end.clear();
        for node in 0..body.op.len() as u32 {
            for at in range(&spellings_end, node) {
                let spelling = spellings.get(at);
                if let Some(control) = spelling.strip_prefix('^') {
                    body.controls.push(places.get(control).copied().unwrap_or(NOWHERE));
                    continue;
                }
                let input = tensor(&body, &places, spelling);
                body.inputs.push(input);
            }
            body.inputs_end.push(body.inputs.len() as u32);
            body.controls_end.push(body.controls.len() as u32);
        }
        (body, places)
    }
}

fn range(ends: &[u32], node: u32) -> Range<usize> {
    let start = if node == 0 { 0 } else { ends[node as usize - 1] as usize };
    start..ends[node as usize] as usize
}

/// Copies an attribute that is a tensor without its numbers; false if it is no tensor.
fn push_without_contents(value: &[u8], out: &mut Vec<u8>) -> bool {
    let mut tensor = None;
    each_quietly(Fields::new(value, 0), |_, number, value| {
        tensor = value.bytes().filter(|_| number == 8);
    });
    let Some(tensor) = tensor else { return false };
    pb::message(out, 8, |out| {
        each_quietly(Fields::new(tensor, 0), |_, number, value| match (number, value) {
            (1, Value::Varint(dtype)) => pb::int(out, 1, dtype as i64),
            (2, Value::Bytes(shape)) => pb::element(out, 2, shape),
            _ => {}
        });
    });
    true
}

/// Texts one after the other.
#[derive(Clone, Debug, Default)]
struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }
}

/// Words that come again and again, each once.
#[derive(Clone, Debug, Default)]
struct Words {
    texts: Texts,
    ids: FxHashMap<Box<str>, u32>,
}

impl Words {
    fn id(&mut self, word: &str) -> u32 {
        if let Some(id) = self.ids.get(word) {
            return *id;
        }
        let id = self.texts.len() as u32;
        self.texts.push(word);
        self.ids.insert(word.into(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `NodeDef` as a field of a `GraphDef`.
    fn node(out: &mut Vec<u8>, name: &str, inputs: &[&str], attributes: &[(&str, &[u8])]) {
        pb::message(out, 1, |out| {
            pb::bytes(out, 1, name.as_bytes());
            pb::bytes(out, 2, b"Op");
            inputs.iter().for_each(|input| pb::element(out, 3, input.as_bytes()));
            for (key, value) in attributes {
                pb::message(out, 5, |out| {
                    pb::element(out, 1, key.as_bytes());
                    pb::element(out, 2, value);
                });
            }
        });
    }

    #[test]
    fn inputs_point_forward_and_to_nothing() {
        let mut graph = Vec::new();
        node(&mut graph, "a", &["b:1", "^c", "gone", "b"], &[("x", b"1"), ("x", b"2")]);
        node(&mut graph, "b", &["a:x"], &[]);
        node(&mut graph, "c", &[], &[("y", b"3")]);
        node(&mut graph, "c", &["a"], &[]);
        let body = Body::of_graph(&graph);
        let tensor = |node, output| Tensor { node, output };
        assert_eq!(body.len(), 3);
        assert_eq!(body.inputs(0), [tensor(1, 1), tensor(NOWHERE, 0), tensor(1, 0)]);
        assert_eq!((body.controls(0), body.inputs(1)), (&[2][..], &[tensor(0, NOWHERE)][..]));
        assert_eq!((body.name(2), body.op(2), body.inputs(2)), ("c", "Op", &[][..]));
        assert_eq!((body.attribute(0, "x"), body.attribute(0, "y")), (Some(&b"2"[..]), None));
        assert_eq!(body.attributes(2).collect::<Vec<_>>(), [("y", &b"3"[..])]);
    }

    #[test]
    fn large_constants_lose_their_contents() {
        let mut value = Vec::new();
        pb::message(&mut value, 8, |out| {
            pb::int(out, 1, 1);
            pb::element(out, 2, b"shape");
            pb::element(out, 4, &[0; LONGEST_TENSOR]);
        });
        let mut body = Body::default();
        body.push_node("w", "Const");
        body.push_attribute("value", &value);
        assert_eq!(body.attribute(0, "value"), Some(&b"\x42\x09\x08\x01\x12\x05shape"[..]));
    }
}
