//! The functions of a file: `FunctionDef` becomes a body whose inputs are in place.
//!
//! Nodes of a function read `node:name:place`; which output that is follows from the definition of the node's op: the
//! one that the file brings, that of the function which the op names, or that of our own table.

use super::outputs::OUTPUTS;
use crate::infer::attributes;
use crate::infer::body::{Body, NOWHERE, PendingBody, Tensor};
use rustc_hash::FxHashMap;
use tfprof_proto::lenient::{each_quietly, map_entry};
use tfprof_proto::wire::{Fields, Value};

/// A function that can be called.
#[derive(Clone, Debug, Default)]
pub struct Function {
    pub name: String,
    /// What a call runs: nodes that neither what is returned nor a side effect needs are left out.
    pub body: Body,
}

/// Functions by name.
#[derive(Clone, Debug, Default)]
pub struct Library {
    functions: Vec<Function>,
    places: FxHashMap<Box<str>, u32>,
}

impl Library {
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    pub fn len(&self) -> usize {
        self.functions.len()
    }

    pub fn find(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }

    pub fn get(&self, place: u32) -> &Function {
        &self.functions[place as usize]
    }
}

/// Functions that are being read: what their inputs mean is known when all of them are there.
#[derive(Clone, Debug, Default)]
pub struct PendingLibrary {
    functions: Vec<PendingFunction>,
    places: FxHashMap<Box<str>, u32>,
    /// Outputs of ops, as the file defines them.
    ops: FxHashMap<Box<str>, Vec<Output>>,
}

#[derive(Clone, Debug, Default)]
struct PendingFunction {
    name: String,
    outputs: Vec<Output>,
    body: PendingBody,
    returns: FxHashMap<String, String>,
    controls: Vec<String>,
}

/// An output of an op: one tensor, or a list as long as an attribute says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Output {
    name: String,
    length: Length,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Length {
    #[default]
    One,
    Number(String),
    Types(String),
}

impl PendingLibrary {
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Adds an `OpDef`: the names of its outputs.
    pub fn push_op(&mut self, op: &[u8]) {
        let (name, _, outputs) = signature(op);
        self.ops.insert(name.into(), outputs);
    }

    /// Adds a `FunctionDef`; the first of a name counts.
    pub fn push_function(&mut self, function: &[u8]) {
        let mut pending = PendingFunction::default();
        let mut args = Vec::new();
        each_quietly(Fields::new(function, 0), |_, number, value| {
            if let (1, Value::Bytes(definition)) = (number, value) {
                (pending.name, args, pending.outputs) = signature(definition);
            }
        });
        if self.places.contains_key(&*pending.name) {
            return;
        }
        let stated = argument_attributes(function);
        for (at, arg) in args.iter().enumerate() {
            pending.body.push_arg(arg);
            for (key, value) in stated.get(&(at as u64)).into_iter().flatten() {
                pending.body.push_attribute(&String::from_utf8_lossy(key), value);
            }
        }
        each_quietly(Fields::new(function, 0), |_, number, value| {
            let Value::Bytes(bytes) = value else { return };
            match number {
                3 => {
                    pending.body.push_node(bytes);
                }
                4 => {
                    let (key, value) = map_entry(bytes);
                    pending.returns.insert(text(key), text(value.unwrap_or_default()));
                }
                6 => pending.controls.push(text(map_entry(bytes).1.unwrap_or_default())),
                _ => {}
            }
        });
        self.places.insert(pending.name.as_str().into(), self.functions.len() as u32);
        self.functions.push(pending);
    }

    /// The library, its inputs in place.
    pub fn finish(mut self) -> Library {
        let bodies: Vec<PendingBody> =
            self.functions.iter_mut().map(|function| std::mem::take(&mut function.body)).collect();
        let functions = bodies.into_iter().enumerate().map(|(at, body)| {
            let PendingFunction { name, outputs, returns, controls, .. } = &self.functions[at];
            let (mut body, places) = body.finish_with(|body, places, spelling| self.tensor(body, places, spelling));
            let spelled = outputs.iter().map(|output| returns.get(&output.name).map_or("", String::as_str));
            body.returns = spelled.map(|spelling| self.tensor(&body, &places, spelling)).collect();
            let place = |name: &String| places.get(name.as_str()).copied();
            let wanted = body.returns.iter().map(|tensor| tensor.node).chain(controls.iter().filter_map(place));
            let body = needed(&body, wanted);
            Function { name: name.clone(), body }
        });
        let functions = functions.collect();
        Library { functions, places: self.places }
    }

    /// `argument`, `node:name` or `node:name:place`.
    fn tensor(&self, body: &Body, places: &FxHashMap<Box<str>, u32>, spelling: &str) -> Tensor {
        let mut parts = spelling.split(':');
        let node = parts.next().and_then(|name| places.get(name)).copied().unwrap_or(NOWHERE);
        let Some(name) = parts.next() else { return Tensor { node, output: 0 } };
        if node == NOWHERE {
            return Tensor { node, output: 0 };
        }
        if let (None, Ok(output)) = (parts.clone().next(), name.parse()) {
            // As in a graph, which some writers use for arguments that are lists.
            return Tensor { node, output };
        }
        let place: u32 = parts.next().map_or(Some(0), |digits| digits.parse().ok()).unwrap_or(NOWHERE);
        Tensor { node, output: self.first_of(body, node, name).map_or(NOWHERE, |first| first.saturating_add(place)) }
    }

    /// The place of an output, or of the first of a list, among all outputs of a node.
    fn first_of(&self, body: &Body, node: u32, name: &str) -> Option<u32> {
        let op = body.op(node);
        let function = self.places.get(op).map(|at| &self.functions[*at as usize].outputs);
        if let Some(outputs) = self.ops.get(op).or(function) {
            return first_of(outputs, body, node, name);
        }
        match OUTPUTS.binary_search_by(|(known, _)| (*known).cmp(op)) {
            Ok(at) => first_of(&OUTPUTS[at].1.split(' ').map(Output::parse).collect::<Vec<_>>(), body, node, name),
            // Ops with one output, or one list of them; and those that nobody knows.
            Err(_) => Some(0),
        }
    }
}

fn first_of(outputs: &[Output], body: &Body, node: u32, name: &str) -> Option<u32> {
    let mut first = 0_u32;
    for output in outputs {
        if output.name == name {
            return Some(first);
        }
        let length = match &output.length {
            Length::One => 1,
            Length::Number(attribute) => attributes::int(body.attribute(node, attribute)?)?,
            Length::Types(attribute) => attributes::dtypes(body.attribute(node, attribute)?).len() as i64,
        };
        first = first.saturating_add(u32::try_from(length).ok()?);
    }
    None
}

impl Output {
    /// `name`, `name*N` or `name@T`.
    fn parse(spelling: &str) -> Output {
        if let Some((name, attribute)) = spelling.split_once('*') {
            return Output { name: name.to_owned(), length: Length::Number(attribute.to_owned()) };
        }
        if let Some((name, attribute)) = spelling.split_once('@') {
            return Output { name: name.to_owned(), length: Length::Types(attribute.to_owned()) };
        }
        Output { name: spelling.to_owned(), length: Length::One }
    }
}

/// Name, names of the inputs, and outputs of an `OpDef`.
fn signature(definition: &[u8]) -> (String, Vec<String>, Vec<Output>) {
    let (mut name, mut inputs, mut outputs) = (String::new(), Vec::new(), Vec::new());
    each_quietly(Fields::new(definition, 0), |all, number, value| {
        let Value::Bytes(bytes) = value else { return };
        if number == 1 {
            name = text(bytes);
        }
        if number != 2 && number != 3 {
            return;
        }
        let mut output = Output::default();
        each_quietly(all.nested(bytes), |_, number, value| match (number, value) {
            (1, Value::Bytes(bytes)) => output.name = text(bytes),
            (5, Value::Bytes(bytes)) if !bytes.is_empty() => output.length = Length::Number(text(bytes)),
            (6, Value::Bytes(bytes)) if !bytes.is_empty() => output.length = Length::Types(text(bytes)),
            _ => {}
        });
        if number == 2 { inputs.push(output.name) } else { outputs.push(output) }
    });
    (name, inputs, outputs)
}

/// Key and value.
type Attribute<'a> = (&'a [u8], &'a [u8]);

/// What a `FunctionDef` says of its arguments, by their places: attributes such as `_output_shapes`.
fn argument_attributes(function: &[u8]) -> FxHashMap<u64, Vec<Attribute<'_>>> {
    let mut all = FxHashMap::default();
    each_quietly(Fields::new(function, 0), |fields, number, value| {
        let (7, Value::Bytes(entry)) = (number, value) else { return };
        let (mut place, mut list) = (0, Vec::new());
        each_quietly(fields.nested(entry), |fields, number, value| match (number, value) {
            (1, Value::Varint(n)) => place = n,
            (2, Value::Bytes(attributes)) => each_quietly(fields.nested(attributes), |_, number, value| {
                if let (1, Value::Bytes(entry)) = (number, value)
                    && let (key, Some(value)) = map_entry(entry)
                {
                    list.push((key, value));
                }
            }),
            _ => {}
        });
        all.insert(place, list);
    });
    all
}

/// The nodes that those `wanted` need, data and control; the others are left out. Arguments stay.
pub fn needed(body: &Body, wanted: impl Iterator<Item = u32>) -> Body {
    let mut is_needed = vec![false; body.len()];
    let mut waiting: Vec<u32> = wanted.chain(body.args.iter().copied()).collect();
    while let Some(node) = waiting.pop() {
        let Some(slot) = is_needed.get_mut(node as usize) else { continue };
        if !std::mem::replace(slot, true) {
            waiting.extend(body.inputs(node).iter().map(|input| input.node));
            waiting.extend(body.controls(node));
        }
    }
    if is_needed.iter().all(|needed| *needed) {
        return body.clone();
    }
    let mut place = 0;
    let places: Vec<u32> = is_needed
        .iter()
        .map(|needed| {
            place += u32::from(*needed);
            if *needed { place - 1 } else { NOWHERE }
        })
        .collect();
    let moved = |node: u32| places.get(node as usize).copied().unwrap_or(NOWHERE);
    let moved_tensor = |tensor: &Tensor| Tensor { node: moved(tensor.node), output: tensor.output };
    let mut smaller = Body::default();
    for node in (0..body.len() as u32).filter(|node| is_needed[*node as usize]) {
        smaller.push_node(body.name(node), body.op(node));
        body.inputs(node).iter().for_each(|input| smaller.push_input(moved_tensor(input)));
        body.controls(node).iter().for_each(|control| smaller.push_control(moved(*control)));
        body.attributes(node).for_each(|(key, value)| smaller.push_attribute(key, value));
    }
    smaller.args = body.args.iter().map(|arg| moved(*arg)).collect();
    smaller.returns = body.returns.iter().map(moved_tensor).collect();
    smaller
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
