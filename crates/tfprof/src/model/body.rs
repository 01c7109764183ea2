//! [`Body`]: one graph or the body of one function, ready for inference. Nodes are columns, inputs are node numbers,
//! attributes are typed values. The contents of large constants are dropped. An op is one that rules and formulas know;
//! a node of another dialect also has the name of its op there.

mod strings;

use super::attr_value::{Attr, AttrValue};
use super::names::{NameHash, Recent};
use crate::hash::UntrustedState;
use crate::words::lossy;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::borrow::Cow;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;
use strings::{StringList, StringSet};
use tfprof_proto::fields::{attr_value, graph_def, tensor, version_def};
use tfprof_proto::node_def::{Attribute, NodeDef, each_node};
use tfprof_proto::shape::attribute_value;
use tfprof_proto::wire::{Fields, Value, each_field};
use tfprof_proto::write as pb;

/// The number of a node that does not exist.
pub const NO_NODE: u32 = u32::MAX;

/// The attribute under which a body keeps `experimental_debug_info`: the node's names before the graph was rewritten.
pub const ORIGINAL_NAMES: &str = "_original";

/// Longer tensors are stored in attributes without their contents: no shape is that long.
const LONGEST_TENSOR: usize = 16 * 1024;

/// An output of a node of the body. If the number is not that of a node, nothing is known about the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    pub node: u32,
    pub output: u32,
}

/// Nodes are numbered in the order in which they were pushed. Inputs may point forward, and there may be cycles.
#[derive(Clone, Debug, Default)]
pub struct Body {
    names: StringList,
    /// By node, the position of its op in `ops`.
    op: Vec<u32>,
    ops: StringSet,
    /// By node, the position of its name in another dialect in `shown_ops`; empty for a graph of TensorFlow.
    shown: Vec<u32>,
    shown_ops: StringSet,
    inputs: Vec<Tensor>,
    inputs_end: Vec<u32>,
    controls: Vec<u32>,
    controls_end: Vec<u32>,
    /// By node, its set of attributes. Nodes with equal attributes share one.
    attribute_set: Vec<u32>,
    sets: AttributeSets,
    /// Positions in `keys` and ranges of `bytes`.
    attributes: Vec<(u32, Range<usize>)>,
    keys: StringSet,
    bytes: Vec<u8>,
    /// The version of the TensorFlow that wrote the graph, `VersionDef.producer`; 0 if the file does not say.
    pub producer: i64,
    /// The nodes that stand for the arguments: output 0 of `args[i]` is argument `i`. Empty for a graph.
    pub args: Vec<u32>,
    /// The results of the function. Empty for a graph.
    pub returns: Vec<Tensor>,
    /// Sizes of inputs that the file leaves open and names.
    pub symbols: Vec<Symbol>,
}

/// A named open size: a dimension of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub node: u32,
    pub axis: u32,
}

impl Body {
    /// Reads the nodes of a `GraphDef` as far as it is not damaged. Of two nodes of one name the first wins.
    pub fn of_graph(graph: &[u8]) -> Body {
        let mut body = UnresolvedBody::default();
        each_node(graph, |node, _| {
            body.push_node(node);
        });
        each_field(Fields::new(graph, 0), |_, number, value| {
            if let (graph_def::VERSIONS, Value::Bytes(versions)) = (number, value) {
                body.read_versions(versions);
            }
        });
        body.resolve()
    }

    pub fn len(&self) -> usize {
        self.op.len()
    }

    pub fn is_empty(&self) -> bool {
        self.op.is_empty()
    }

    /// Adds a node; inputs and attributes are pushed to the last one.
    pub fn push_node(&mut self, name: &str, op: &str) -> u32 {
        self.share_attributes();
        self.names.push(name);
        self.op.push(self.ops.id(op));
        if !self.shown.is_empty() {
            self.shown.push(self.shown_ops.id(op));
        }
        self.inputs_end.push(self.inputs.len() as u32);
        self.controls_end.push(self.controls.len() as u32);
        self.attribute_set.push(self.sets.ends.len() as u32);
        self.sets.ends.push(self.attributes.len() as u32);
        self.op.len() as u32 - 1
    }

    /// Adds a node of another dialect, lowered to an op that rules and formulas know; empty if there is none. `shown` is
    /// its op in that dialect.
    pub fn push_lowered(&mut self, name: &str, op: &str, shown: &str) -> u32 {
        if self.shown.is_empty() {
            for before in 0..self.len() {
                let before = self.shown_ops.id(self.ops.list.get(self.op[before] as usize));
                self.shown.push(before);
            }
        }
        let node = self.push_node(name, op);
        let shown = self.shown_ops.id(shown);
        self.shown.truncate(node as usize);
        self.shown.push(shown);
        node
    }

    /// Adds a typed attribute to the last node.
    pub fn push_value(&mut self, key: &str, value: AttrValue<'_>) {
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        self.push_attribute(key, &bytes);
    }

    /// Gives the last node the set of an earlier node with the same attributes, if there is one.
    fn share_attributes(&mut self) {
        let Some(last) = self.attribute_set.last_mut() else { return };
        let AttributeSets { ends, by_contents, state } = &mut self.sets;
        let contents = |set: u32| {
            let attributes = &self.attributes[range(ends, set)];
            attributes.iter().map(|(key, range)| (*key, &self.bytes[range.clone()]))
        };
        let hash = |set: u32| {
            let mut hasher = state.build_hasher();
            contents(set).for_each(|attribute| attribute.hash(&mut hasher));
            hasher.finish()
        };
        let hashed = hash(*last);
        match by_contents.entry(hashed, |set| contents(*set).eq(contents(*last)), |set| hash(*set)) {
            Entry::Vacant(slot) => drop(slot.insert(*last)),
            Entry::Occupied(same) => {
                let own = range(ends, *last).start;
                *last = *same.get();
                ends.pop();
                let bytes = self.attributes.get(own).map_or(self.bytes.len(), |(_, range)| range.start);
                self.attributes.truncate(own);
                self.bytes.truncate(bytes);
            }
        }
    }

    /// The number of a node's set of attributes. Equal numbers mean equal attributes.
    pub fn attributes_id(&self, node: u32) -> u32 {
        self.attribute_set[node as usize]
    }

    /// Adds a data input to the last node.
    pub fn push_input(&mut self, tensor: Tensor) {
        self.inputs.push(tensor);
        if let Some(end) = self.inputs_end.last_mut() {
            *end += 1;
        }
    }

    /// Changes an input, by its place among the inputs of all nodes.
    pub fn set_input(&mut self, place: usize, tensor: Tensor) {
        if let Some(input) = self.inputs.get_mut(place) {
            *input = tensor;
        }
    }

    /// The number of inputs of all nodes.
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    /// Whether no view shows a node: a constant that its dialect has as an attribute.
    pub fn is_hidden(&self, node: u32) -> bool {
        self.shown.get(node as usize).is_some_and(|shown| self.shown_ops.list.get(*shown as usize).is_empty())
    }

    /// Adds a control input to the last node.
    pub fn push_control(&mut self, node: u32) {
        self.controls.push(node);
        if let Some(end) = self.controls_end.last_mut() {
            *end += 1;
        }
    }

    /// Adds an attribute to the last node: the bytes of an `AttrValue`. Of two of one name the last wins.
    pub fn push_attribute(&mut self, key: &str, value: &[u8]) {
        let start = self.bytes.len();
        if value.len() <= LONGEST_TENSOR || !push_without_contents(value, &mut self.bytes) {
            self.bytes.truncate(start);
            self.bytes.extend_from_slice(value);
        }
        self.attributes.push((self.keys.id(key), start..self.bytes.len()));
        if let Some(end) = self.sets.ends.last_mut() {
            *end += 1;
        }
    }

    pub fn name(&self, node: u32) -> &str {
        self.names.get(node as usize)
    }

    /// The op of a node that may not exist.
    pub fn op_of(&self, node: u32) -> Option<&str> {
        ((node as usize) < self.len()).then(|| self.op(node))
    }

    /// Which argument a node stands for. Arguments are in the order of nodes.
    pub fn arg(&self, node: u32) -> Option<usize> {
        self.args.binary_search(&node).ok()
    }

    pub fn op(&self, node: u32) -> &str {
        self.ops.list.get(self.op[node as usize] as usize)
    }

    /// The op of a node in the dialect of its file.
    pub fn shown_op(&self, node: u32) -> &str {
        match self.shown.get(node as usize) {
            Some(shown) => self.shown_ops.list.get(*shown as usize),
            None => self.op(node),
        }
    }

    /// The distinct ops, and by node the position of its own among them.
    pub fn ops(&self) -> (impl Iterator<Item = &str>, &[u32]) {
        ((0..self.ops.list.len()).map(|op| self.ops.list.get(op)), &self.op)
    }

    /// Data inputs, in order.
    pub fn inputs(&self, node: u32) -> &[Tensor] {
        &self.inputs[range(&self.inputs_end, node)]
    }

    pub fn controls(&self, node: u32) -> &[u32] {
        &self.controls[range(&self.controls_end, node)]
    }

    /// The value of an attribute.
    pub fn attribute(&self, node: u32, name: &str) -> Option<Attr<'_>> {
        let key = *self.keys.ids.get(name)?;
        let attributes = &self.attributes[range(&self.sets.ends, self.attribute_set[node as usize])];
        attributes.iter().rev().find(|(of, _)| *of == key).map(|(_, range)| Attr(&self.bytes[range.clone()]))
    }

    /// All attributes of a node, in the order of the file.
    pub fn attributes(&self, node: u32) -> impl Iterator<Item = (&str, Attr<'_>)> {
        let attributes = &self.attributes[range(&self.sets.ends, self.attribute_set[node as usize])];
        attributes.iter().map(|(key, range)| (self.keys.list.get(*key as usize), Attr(&self.bytes[range.clone()])))
    }

    /// A copy with only the nodes that `wanted` depend on, by data or control. Arguments stay.
    #[must_use]
    pub fn pruned(&self, wanted: impl Iterator<Item = u32>) -> Body {
        let mut is_needed = vec![false; self.len()];
        let mut waiting: Vec<u32> = wanted.chain(self.args.iter().copied()).collect();
        while let Some(node) = waiting.pop() {
            let Some(slot) = is_needed.get_mut(node as usize) else { continue };
            if !std::mem::replace(slot, true) {
                waiting.extend(self.inputs(node).iter().map(|input| input.node));
                waiting.extend(self.controls(node));
            }
        }
        if is_needed.iter().all(|needed| *needed) {
            return self.clone();
        }
        let mut next = 0;
        let renumbered: Vec<u32> = is_needed
            .iter()
            .map(|needed| {
                next += u32::from(*needed);
                if *needed { next - 1 } else { NO_NODE }
            })
            .collect();
        let moved = |node: u32| renumbered.get(node as usize).copied().unwrap_or(NO_NODE);
        let moved_tensor = |tensor: &Tensor| Tensor { node: moved(tensor.node), output: tensor.output };
        let mut smaller = Body::default();
        for node in (0..self.len() as u32).filter(|node| is_needed[*node as usize]) {
            if self.shown.is_empty() {
                smaller.push_node(self.name(node), self.op(node));
            } else {
                smaller.push_lowered(self.name(node), self.op(node), self.shown_op(node));
            }
            self.inputs(node).iter().for_each(|input| smaller.push_input(moved_tensor(input)));
            self.controls(node).iter().for_each(|control| smaller.push_control(moved(*control)));
            self.attributes(node).for_each(|(key, value)| smaller.push_attribute(key, value.0));
        }
        smaller.producer = self.producer;
        let symbol = |symbol: &Symbol| Some(Symbol { node: moved(symbol.node), ..symbol.clone() });
        smaller.symbols = self.symbols.iter().filter_map(symbol).filter(|symbol| symbol.node != NO_NODE).collect();
        smaller.args = self.args.iter().map(|arg| moved(*arg)).collect();
        smaller.returns = self.returns.iter().map(moved_tensor).collect();
        smaller
    }
}

/// The sets of attributes of a body.
#[derive(Clone, Debug, Default)]
struct AttributeSets {
    /// Where the attributes of each set end.
    ends: Vec<u32>,
    by_contents: HashTable<u32>,
    state: UntrustedState,
}

/// A body under construction. Inputs may name nodes that come later.
#[derive(Clone, Debug, Default)]
pub struct UnresolvedBody {
    body: Body,
    by_name: NodesByName,
    /// By input, the node that it names, if that came before.
    producers: Vec<u32>,
    /// By input, its spelling; without the name if the node is known.
    spellings: StringList,
    /// Where the inputs of each node end.
    spellings_end: Vec<u32>,
    /// Some name was not UTF-8, so that another one may look like it.
    pub has_invalid_names: bool,
}

/// Numbers of nodes by name. The first node of a name wins.
#[derive(Clone, Debug, Default)]
pub struct NodesByName {
    nodes: HashTable<NamedNode>,
    /// The newest nodes, which are not in the table yet: many at once wait for the memory of a large table together.
    newest: Vec<NamedNode>,
    recent: Recent<NamedNode>,
}

/// The number of nodes that enter the table at once.
const AT_ONCE: usize = 32;

/// The hash rejects most other names without reading the text, and lets the table grow without it.
#[derive(Clone, Copy, Debug)]
struct NamedNode {
    hash: NameHash,
    node: u32,
}

impl NodesByName {
    /// The node of that name in the body that this is about.
    pub fn get(&self, body: &Body, name: &str) -> Option<u32> {
        self.find(body, name, NameHash::of(name.as_bytes()))
    }

    fn find(&self, body: &Body, name: &str, hash: NameHash) -> Option<u32> {
        let is_it = |named: &NamedNode| named.hash == hash && body.name(named.node) == name;
        let recent = self.recent.get(hash).filter(|named| is_it(named));
        let known = recent.or_else(|| self.newest.iter().find(|named| is_it(named)));
        known.or_else(|| self.nodes.find(hash.spread(), is_it)).map(|named| named.node)
    }

    /// Adds a node whose name is new.
    fn insert(&mut self, hash: NameHash, node: u32) {
        let named = NamedNode { hash, node };
        self.newest.push(named);
        self.recent.put(hash, named, self.nodes.len());
        if self.newest.len() == AT_ONCE {
            for named in self.newest.drain(..) {
                self.nodes.insert_unique(named.hash.spread(), named, |named| named.hash.spread());
            }
        }
    }
}

impl UnresolvedBody {
    /// Adds a node; false if there is one of that name.
    pub fn push_node(&mut self, node: &NodeDef<'_>) -> bool {
        let name = lossy(node.name);
        self.has_invalid_names |= matches!(name, Cow::Owned(_));
        let hash = NameHash::of(name.as_bytes());
        if self.by_name.find(&self.body, &name, hash).is_some() {
            return false;
        }
        self.push_new(node, &name, hash);
        true
    }

    /// Adds a node whose name is known to be new.
    pub fn push_new(&mut self, node: &NodeDef<'_>, name: &str, hash: NameHash) {
        let at = self.body.push_node(name, &lossy(node.op));
        self.by_name.insert(hash, at);
        node.inputs.iter().for_each(|input| self.push_input(&lossy(input)));
        self.spellings_end.push(self.spellings.len() as u32);
        node.attributes.iter().for_each(|attribute| self.push_attribute(attribute));
        if let Some(original_names) = node.original_names {
            self.body.push_attribute(ORIGINAL_NAMES, original_names);
        }
    }

    fn push_input(&mut self, spelling: &str) {
        let Spelling { is_control, name, output } = Spelling::new(spelling);
        let producer = self.by_name.get(&self.body, name).unwrap_or(NO_NODE);
        self.producers.push(producer);
        self.spellings.push(match (producer, is_control, output) {
            (NO_NODE, ..) => spelling,
            (_, true, _) => &spelling[..1],
            (_, false, None) => "",
            (_, false, Some(output)) => &spelling[spelling.len() - output.len() - 1..],
        });
    }

    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Takes the producer from a `VersionDef`.
    pub fn read_versions(&mut self, versions: &[u8]) {
        each_field(Fields::new(versions, 0), |_, number, value| {
            if let (version_def::PRODUCER, Value::Varint(producer)) = (number, value) {
                self.body.producer = producer as i64;
            }
        });
    }

    /// Adds a node that stands for an argument of a function.
    pub fn push_arg(&mut self, name: &str) {
        let at = self.body.push_node(name, "_Arg");
        self.body.args.push(at);
        let hash = NameHash::of(name.as_bytes());
        if self.by_name.find(&self.body, name, hash).is_none() {
            self.by_name.insert(hash, at);
        }
        self.spellings_end.push(self.spellings.len() as u32);
    }

    /// Adds an attribute to the last node.
    pub fn push_attribute(&mut self, attribute: &Attribute<'_>) {
        self.body.push_attribute(&lossy(attribute.key), attribute.value.unwrap_or_default());
    }

    /// Resolves inputs as a graph spells them.
    pub fn resolve(self) -> Body {
        self.resolve_named().0
    }

    /// Like [`resolve`](Self::resolve); also returns the numbers of nodes by name.
    pub fn resolve_named(self) -> (Body, NodesByName) {
        self.resolve_with(|_, _, output| output.parse().unwrap_or(NO_NODE))
    }

    /// Resolves inputs. `output` numbers an output of a node by its spelling, the text after the first colon.
    pub fn resolve_with(self, mut output: impl FnMut(&Body, u32, &str) -> u32) -> (Body, NodesByName) {
        let UnresolvedBody { mut body, by_name, producers, spellings, spellings_end, .. } = self;
        body.inputs_end.clear();
        body.controls_end.clear();
        for node in 0..body.op.len() as u32 {
            for at in range(&spellings_end, node) {
                let spelling = Spelling::new(spellings.get(at));
                let producer = match producers[at] {
                    NO_NODE => by_name.get(&body, spelling.name).unwrap_or(NO_NODE),
                    known => known,
                };
                if spelling.is_control {
                    body.controls.push(producer);
                    continue;
                }
                let output = spelling.output.map_or(0, |text| output(&body, producer, text));
                body.inputs.push(Tensor { node: producer, output });
            }
            body.inputs_end.push(body.inputs.len() as u32);
            body.controls_end.push(body.controls.len() as u32);
        }
        (body, by_name)
    }
}

/// `^node`, `node` or `node:output`.
#[derive(Clone, Copy, Debug)]
pub struct Spelling<'a> {
    pub is_control: bool,
    pub name: &'a str,
    pub output: Option<&'a str>,
}

impl Spelling<'_> {
    pub fn new(text: &str) -> Spelling<'_> {
        if let Some(name) = text.strip_prefix('^') {
            return Spelling { is_control: true, name, output: None };
        }
        match text.split_once(':') {
            None => Spelling { is_control: false, name: text, output: None },
            Some((name, output)) => Spelling { is_control: false, name, output: Some(output) },
        }
    }
}

fn range(ends: &[u32], node: u32) -> Range<usize> {
    let start = if node == 0 { 0 } else { ends[node as usize - 1] as usize };
    start..ends[node as usize] as usize
}

/// Copies an attribute that is a tensor without its elements; false if it is not a tensor.
fn push_without_contents(value: &[u8], out: &mut Vec<u8>) -> bool {
    let Some((attr_value::TENSOR, Value::Bytes(bytes))) = attribute_value(value) else { return false };
    pb::message(out, attr_value::TENSOR, |out| {
        each_field(Fields::new(bytes, 0), |_, number, value| match (number, value) {
            (tensor::DTYPE, Value::Varint(dtype)) => pb::int(out, tensor::DTYPE, dtype as i64),
            (tensor::TENSOR_SHAPE, Value::Bytes(shape)) => pb::element(out, tensor::TENSOR_SHAPE, shape),
            _ => {}
        });
    });
    true
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
        assert_eq!(body.inputs(0), [tensor(1, 1), tensor(NO_NODE, 0), tensor(1, 0)]);
        assert_eq!((body.controls(0), body.inputs(1)), (&[2][..], &[tensor(0, NO_NODE)][..]));
        assert_eq!((body.name(2), body.op(2), body.inputs(2)), ("c", "Op", &[][..]));
        assert_eq!((body.attribute(0, "x"), body.attribute(0, "y")), (Some(Attr(b"2")), None));
        assert_eq!(body.attributes(2).collect::<Vec<_>>(), [("y", Attr(b"3"))]);
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
        assert_eq!(body.attribute(0, "value"), Some(Attr(b"\x42\x09\x08\x01\x12\x05shape")));
    }
}
