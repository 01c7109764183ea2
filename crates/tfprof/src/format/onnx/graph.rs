//! ONNX graphs to bodies. Subgraphs of nodes become functions; the outer values that they read become arguments.
//! Open graphs wait on an explicit stack, so that nesting does not exhaust the native stack.

use super::lower::{self, NodeContext};
use super::wire::{Attribute, AttributeValue, Node, OnnxFile, Tensor as Constant, ValueInfo};
use crate::budget;
use crate::format::lowered::{Input, Made, push_hidden, push_settings};
use crate::hash::{UntrustedMap, UntrustedSet};
use crate::model::attr_value::{AttrValue, Elements};
use crate::model::body::{Body, NO_NODE, Tensor};
use crate::model::dtype::DType;
use crate::model::lowered::{Lowered, UniqueNames};
use crate::model::shape::Shape;
use std::io;
use std::ops::Range;
use std::rc::Rc;
use tfprof_proto::window::{ByteRange, Head};

/// A function of the file.
#[derive(Debug, Default)]
pub struct FunctionDef {
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub nodes: Vec<ByteRange>,
    /// Defaults of its attributes.
    pub defaults: Vec<Attribute>,
}

/// The facts about a model that all its graphs share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Versions of op sets, by domain.
    pub versions: UntrustedMap<String, i64>,
    /// Functions by domain and name.
    pub functions: UntrustedMap<(String, String), FunctionDef>,
}

/// The maximum number of function calls, more than any model has; calls beyond it are unknown.
const MAX_FUNCTIONS: usize = 10_000;

/// The deepest nesting of graphs; nodes with deeper subgraphs are unknown.
const DEEPEST: usize = 256;

/// A graph under construction.
#[derive(Default)]
struct Frame {
    body: Body,
    nodes: std::vec::IntoIter<ByteRange>,
    values: UntrustedMap<String, Tensor>,
    /// Initializers that no node has read yet.
    unread: UntrustedMap<String, Constant>,
    unread_order: Vec<String>,
    /// Small constants.
    ints: UntrustedMap<String, Vec<i64>>,
    stated: UntrustedMap<String, (DType, Shape)>,
    outputs: Vec<String>,
    names: UniqueNames,
    /// Outer values that became arguments.
    captures: Vec<String>,
    /// Whether values may come from the enclosing graph.
    is_inner: bool,
    /// Inputs that name a value before its node.
    forward: Vec<(usize, String)>,
    /// The attributes of the call, inside a function of the file.
    attributes: UntrustedMap<String, Rc<AttributeValue>>,
    name: String,
    waiting: Option<PendingNode>,
    count: usize,
}

/// A node whose subgraphs are being read.
struct PendingNode {
    node: Node,
    left: Vec<(&'static str, ByteRange)>,
    done: Vec<(&'static str, String)>,
    captures: Vec<String>,
}

/// Reads the graphs of a model.
pub struct Reader<'w, 'f> {
    walk: &'w mut OnnxFile<'f>,
    shared: &'w Shared,
    frames: Vec<Frame>,
    pub lowered: Lowered,
    /// Pending calls of the file's functions, by the name of the lowered function.
    calls: Vec<(String, (String, String), Vec<Attribute>)>,
    known_calls: UntrustedSet<String>,
    values: KnownValues,
    pub nodes: usize,
}

/// Ids of attribute values; equal values share one. A value that a function passes on is stored once.
#[derive(Default)]
struct KnownValues {
    by_place: UntrustedMap<*const AttributeValue, (Rc<AttributeValue>, usize)>,
    by_content: UntrustedMap<String, usize>,
}

impl KnownValues {
    fn number(&mut self, value: &Rc<AttributeValue>) -> usize {
        let next = self.by_content.len();
        // The address stays unique as long as the value is held here.
        let (_, number) = self
            .by_place
            .entry(Rc::as_ptr(value))
            .or_insert_with(|| (value.clone(), *self.by_content.entry(format!("{value:?}")).or_insert(next)));
        *number
    }
}

impl<'w, 'f> Reader<'w, 'f> {
    pub fn new(walk: &'w mut OnnxFile<'f>, shared: &'w Shared) -> Reader<'w, 'f> {
        Reader {
            walk,
            shared,
            frames: Vec::new(),
            lowered: Lowered::default(),
            calls: Vec::new(),
            known_calls: UntrustedSet::default(),
            values: KnownValues::default(),
            nodes: 0,
        }
    }

    /// Reads the graph of the model and everything that it calls.
    pub fn read(&mut self, graph: ByteRange) -> io::Result<()> {
        let frame = self.frame(graph, false, String::new())?;
        self.frames.push(frame);
        self.run()?;
        let mut next = 0;
        while next < self.calls.len() {
            let (name, function, attributes) = self.calls[next].clone();
            next += 1;
            let frame = self.function_frame(name, &function, &attributes);
            self.frames.push(frame);
            self.run()?;
        }
        Ok(())
    }

    /// Reads nodes until all open graphs are done.
    fn run(&mut self) -> io::Result<()> {
        while let Some(frame) = self.frames.last_mut() {
            budget::check();
            if let Some(waiting) = &mut frame.waiting {
                if let Some((part, graph)) = waiting.left.pop() {
                    let name = format!("{}/{part}@{}", waiting.node.op, graph.start);
                    let captures = waiting.captures.clone();
                    waiting.done.push((part, name.clone()));
                    let mut inner = self.frame(graph, true, name)?;
                    // The second branch of a conditional has the arguments of the first.
                    for value in captures {
                        inner.capture(&value);
                    }
                    self.frames.push(inner);
                } else if let Some(waiting) = frame.waiting.take() {
                    self.call_graphs(waiting);
                }
                continue;
            }
            match frame.nodes.next() {
                Some(span) => {
                    self.nodes += 1;
                    let node = Node::read(self.walk, span)?;
                    self.node(node);
                }
                None => self.close(),
            }
        }
        Ok(())
    }

    /// Opens a `GraphProto`.
    fn frame(&mut self, graph: ByteRange, is_inner: bool, name: String) -> io::Result<Frame> {
        let mut frame = Frame { is_inner, name, ..Frame::default() };
        let (mut nodes, mut inputs) = (Vec::new(), Vec::new());
        for (number, head) in self.walk.fields(graph)? {
            let Head::Message(span) = head else { continue };
            match number {
                1 => nodes.push(span),
                5 => frame.add_initializer(Constant::read(self.walk, span)?),
                15 => frame.add_initializer(sparse(self.walk, span)?),
                11 => inputs.push(ValueInfo::read(self.walk, span)?),
                12 => {
                    let output = ValueInfo::read(self.walk, span)?;
                    frame.outputs.push(output.name.clone());
                    frame.state(&output);
                }
                13 => {
                    let value = ValueInfo::read(self.walk, span)?;
                    frame.state(&value);
                }
                _ => {}
            }
        }
        frame.nodes = nodes.into_iter();
        for input in inputs {
            frame.state(&input);
            // Old files list initializers among the inputs.
            if frame.unread.contains_key(&input.name) {
                continue;
            }
            let own = frame.names.take(&shown_name(&input.name));
            let tensor = if is_inner {
                frame.body.push_argument(&own, "Input")
            } else {
                let tensor = frame.body.push_model_input(&own, "Input", input.dtype, &input.shape);
                input.symbols.iter().for_each(|(axis, name)| frame.body.push_symbol(tensor, *axis, name));
                tensor
            };
            frame.values.insert(input.name, tensor);
        }
        Ok(frame)
    }

    /// Opens a function of the file.
    fn function_frame(&self, name: String, key: &(String, String), attributes: &[Attribute]) -> Frame {
        let mut frame = Frame { name, ..Frame::default() };
        let Some(function) = self.shared.functions.get(key) else { return frame };
        budget::work((function.nodes.len() + function.defaults.len() + function.outputs.len()) as u64);
        frame.nodes = function.nodes.clone().into_iter();
        frame.outputs.clone_from(&function.outputs);
        // The call comes before the defaults.
        for given in attributes.iter().chain(&function.defaults) {
            frame.attributes.entry(given.name.clone()).or_insert_with(|| given.value.clone());
        }
        for input in &function.inputs {
            let own = frame.names.take(&shown_name(input));
            let tensor = frame.body.push_argument(&own, "Input");
            frame.values.insert(input.clone(), tensor);
        }
        frame
    }

    /// Ends the innermost graph.
    fn close(&mut self) {
        let Some(mut frame) = self.frames.pop() else { return };
        let is_main = self.frames.is_empty() && frame.name.is_empty();
        // Weights that no node reads are parameters of the model, too.
        for name in if is_main { std::mem::take(&mut frame.unread_order) } else { Vec::new() } {
            if let Some(weight) =
                frame.unread.remove(&name).filter(|weight| weight.dtype.is_float() && !weight.dims.is_empty())
            {
                frame.push_constant(&name, &weight, true);
            }
        }
        for (slot, name) in std::mem::take(&mut frame.forward) {
            frame.values.get(&name).into_iter().for_each(|tensor| frame.body.set_input(slot, *tensor));
        }
        let outputs = std::mem::take(&mut frame.outputs);
        let returns: Vec<Tensor> = outputs.iter().map(|output| frame.value(output)).collect();
        if is_main {
            self.lowered.graph = frame.body;
            return;
        }
        frame.body.returns = returns;
        let (name, captures) = (frame.name, frame.captures);
        if let Some(waiting) = self.frames.last_mut().and_then(|outer| outer.waiting.as_mut()) {
            // An earlier branch gets the arguments that only this one has.
            for (_, earlier) in waiting.done.iter().filter(|(_, earlier)| *earlier != name) {
                let at = self.lowered.functions.iter().rposition(|(of, _)| of == earlier);
                budget::work(1 + at.map_or(0, |at| self.lowered.functions.len() - at) as u64);
                if let Some((_, body)) = at.map(|at| &mut self.lowered.functions[at]) {
                    for more in captures.iter().skip(waiting.captures.len()) {
                        body.push_argument(more, "Input");
                    }
                }
            }
            waiting.captures = captures;
        }
        self.lowered.functions.push((name, frame.body));
    }

    /// Lowers a node, or defers it until its subgraphs are read.
    fn node(&mut self, mut node: Node) {
        let is_deepest = self.frames.len() >= DEEPEST;
        let Some(frame) = self.frames.last_mut() else { return };
        frame.count += 1;
        for attribute in &mut node.attributes {
            if let Some(of_call) = attribute.of_call.take() {
                attribute.value = frame.attributes.get(&of_call).cloned().unwrap_or_default();
            }
        }
        let mut graphs = Vec::new();
        let graph = |name: &str| node.attribute(name).and_then(|attribute| attribute.graph);
        for part in ["else_branch", "then_branch", "body"] {
            graphs.extend(graph(part).map(|span| (part, span)));
        }
        // The first version of `Scan` had batches and lengths.
        let is_first_scan = node.op == "Scan" && self.shared.versions.get("").is_some_and(|version| *version < 9);
        if !graphs.is_empty() && !is_deepest && !is_first_scan && lower::is_known_domain(&node.domain) {
            frame.waiting = Some(PendingNode { node, left: graphs, done: Vec::new(), captures: Vec::new() });
            return;
        }
        if node.op == "Constant" && lower::is_known_domain(&node.domain) {
            frame.constant(&node);
            return;
        }
        if let Some(call) = self.call_of(&node) {
            let Some(frame) = self.frames.last_mut() else { return };
            let inputs = (0..node.inputs.len()).map(|at| frame.input(&node, at)).collect();
            frame.push(&node, "PartitionedCall", inputs, 0..node.outputs.len());
            frame.body.push_value("f", AttrValue::Function(&call));
            return;
        }
        let made = lower::lower(&node, &OpenGraphs { frames: &self.frames, shared: self.shared });
        if let Some(frame) = self.frames.last_mut() {
            frame.push_made(&node, &made);
        }
    }

    /// The lowered function that a node calls, if its op is a function of the file.
    fn call_of(&mut self, node: &Node) -> Option<String> {
        let key = (node.domain.clone(), node.op.clone());
        self.shared.functions.get(&key)?;
        let mut name = format!("{}.{}", node.domain, node.op);
        for attribute in &node.attributes {
            let number = self.values.number(&attribute.value);
            name.push_str(&format!(" {}={number}", attribute.name));
        }
        if !self.known_calls.contains(&name) {
            if self.calls.len() >= MAX_FUNCTIONS {
                return None;
            }
            self.known_calls.insert(name.clone());
            self.calls.push((name.clone(), key, node.attributes.clone()));
        }
        Some(name)
    }

    /// Pushes a node whose subgraphs have become functions.
    fn call_graphs(&mut self, waiting: PendingNode) {
        let PendingNode { node, done, captures, .. } = waiting;
        let Some(frame) = self.frames.last_mut() else { return };
        let captured: Vec<Tensor> = captures.iter().map(|value| frame.value(value)).collect();
        let function = |part: &str| done.iter().find(|(of, _)| *of == part).map(|(_, name)| name.clone());
        match (node.op.as_str(), function("then_branch"), function("else_branch"), function("body")) {
            ("If", Some(then), Some(other), _) => {
                let mut inputs = vec![frame.input(&node, 0)];
                inputs.extend(captured);
                frame.push(&node, "If", inputs, 0..node.outputs.len());
                frame.body.push_value("then_branch", AttrValue::Function(&then));
                frame.body.push_value("else_branch", AttrValue::Function(&other));
            }
            ("Loop", _, _, Some(body)) => {
                let limit = frame.input(&node, 0);
                let range = [frame.hidden(0), limit, frame.hidden(1)];
                let states = (1..node.inputs.len()).map(|at| frame.input(&node, at));
                let inputs: Vec<Tensor> = range.into_iter().chain(states).chain(captured).collect();
                let count = node.outputs.len();
                let stacked = count.saturating_sub(node.inputs.len().saturating_sub(2));
                // The body also returns its condition.
                frame.push(&node, "For", inputs, 1..count + 1);
                frame.body.push_value("body", AttrValue::Function(&body));
                frame.body.push_value("stacked", AttrValue::Int(stacked as i64));
            }
            ("Scan", _, _, Some(body)) => {
                let sequences = node.int("num_scan_inputs").unwrap_or(0).max(0) as usize;
                let states = node.inputs.len().saturating_sub(sequences);
                let range = [frame.hidden(0), Tensor { node: NO_NODE, output: 0 }, frame.hidden(1)];
                let own = (0..node.inputs.len()).map(|at| frame.input(&node, at));
                let inputs: Vec<Tensor> = range.into_iter().chain(own).chain(captured).collect();
                frame.push(&node, "For", inputs, 0..node.outputs.len());
                frame.body.push_value("body", AttrValue::Function(&body));
                frame.body.push_value("stacked", AttrValue::Int(node.outputs.len().saturating_sub(states) as i64));
                frame.body.push_value("no_index", AttrValue::Flag(true));
                frame.body.push_value("sequences", AttrValue::Ints(&[states as i64, node.inputs.len() as i64]));
            }
            _ => {
                let inputs = (0..node.inputs.len()).map(|at| frame.input(&node, at)).collect();
                frame.push(&node, "", inputs, 0..node.outputs.len());
            }
        }
        frame.state_outputs(&node);
    }
}

/// The open graphs, for looking up values.
struct OpenGraphs<'a> {
    frames: &'a [Frame],
    shared: &'a Shared,
}

impl OpenGraphs<'_> {
    /// The graphs that may define a value of the innermost one.
    fn visible(&self) -> impl Iterator<Item = &Frame> {
        let outermost = self.frames.iter().rposition(|frame| !frame.is_inner).unwrap_or(0);
        self.frames[outermost..].iter().rev()
    }
}

impl NodeContext for OpenGraphs<'_> {
    fn version(&self, domain: &str) -> i64 {
        let domain = if domain == "ai.onnx" { "" } else { domain };
        self.shared.versions.get(domain).copied().unwrap_or(i64::MAX)
    }

    fn ints(&self, value: &str) -> Option<Vec<i64>> {
        self.visible().find_map(|frame| frame.ints.get(value).cloned())
    }

    fn stated(&self, value: &str) -> (DType, Shape) {
        self.visible().find_map(|frame| frame.stated.get(value).cloned()).unwrap_or_default()
    }
}

impl Frame {
    fn state(&mut self, value: &ValueInfo) {
        self.stated.insert(value.name.clone(), (value.dtype, value.shape.clone()));
    }

    fn add_initializer(&mut self, weight: Constant) {
        self.stated.insert(weight.name.clone(), (weight.dtype, weight.shape()));
        if let Some(ints) = &weight.ints {
            self.ints.insert(weight.name.clone(), ints.clone());
        }
        self.unread_order.push(weight.name.clone());
        self.unread.insert(weight.name.clone(), weight);
    }

    /// The tensor of an input of a node; a constant becomes a node here, unless it is one already.
    fn input(&mut self, node: &Node, at: usize) -> Tensor {
        let Some(name) = node.input(at) else { return Tensor { node: NO_NODE, output: 0 } };
        if let Some(tensor) = self.values.get(name) {
            return *tensor;
        }
        if let Some(weight) = self.unread.remove(name) {
            let is_weight = if weight.dtype.is_float() {
                let single = weight.shape().elements() == Some(1) && lower::is_factor(node);
                !weight.dims.is_empty() && !single && !lower::is_setting(node, at)
            } else {
                lower::is_quantized_weight(node, at) && !weight.dims.is_empty()
            };
            return self.push_constant(name, &weight, is_weight);
        }
        self.value(name)
    }

    /// The tensor of a value.
    fn value(&mut self, name: &str) -> Tensor {
        if let Some(tensor) = self.values.get(name) {
            return *tensor;
        }
        if let Some(weight) = self.unread.remove(name) {
            return self.push_constant(name, &weight, weight.dtype.is_float() && !weight.dims.is_empty());
        }
        if self.is_inner { self.capture(name) } else { Tensor { node: NO_NODE, output: 0 } }
    }

    /// Makes an outer value an argument.
    fn capture(&mut self, name: &str) -> Tensor {
        if let Some(tensor) = self.values.get(name) {
            return *tensor;
        }
        let own = self.names.take(&shown_name(name));
        let tensor = self.body.push_argument(&own, "Input");
        self.values.insert(name.to_owned(), tensor);
        self.captures.push(name.to_owned());
        tensor
    }

    fn push_constant(&mut self, name: &str, of: &Constant, is_weight: bool) -> Tensor {
        let own = self.names.take(&shown_name(name));
        let tensor = if is_weight {
            self.body.push_parameter(&own, "Initializer", of.dtype, &of.shape(), None)
        } else {
            self.body.push_constant(&own, "Initializer", of.dtype, &of.shape(), elements(of))
        };
        self.values.insert(name.to_owned(), tensor);
        tensor
    }

    /// A constant that no view shows.
    fn hidden(&mut self, n: i64) -> Tensor {
        push_hidden(&mut self.body, &Input::Int(n))
    }

    /// A `Constant` node.
    fn constant(&mut self, node: &Node) {
        let Some(output) = node.outputs.first() else { return };
        let number = |dtype, dims: Vec<i64>| Constant { dtype, dims, ..Constant::default() };
        let attribute = node.attributes.first();
        let constant = match attribute.map(|attribute| (attribute.name.as_str(), attribute)) {
            Some(("value", attribute)) => attribute.tensor.clone().unwrap_or_default(),
            Some(("value_int", attribute)) => {
                Constant { ints: attribute.int.map(|n| vec![n]), ..number(DType::INT64, Vec::new()) }
            }
            Some(("value_ints", attribute)) => Constant {
                ints: Some(attribute.ints.clone()),
                ..number(DType::INT64, vec![attribute.ints.len() as i64])
            },
            Some(("value_float", _)) => number(DType::FLOAT, Vec::new()),
            Some(("value_floats", attribute)) => Constant {
                floats: Some(attribute.floats.clone()),
                ..number(DType::FLOAT, vec![attribute.floats.len() as i64])
            },
            Some(("value_string", _)) => number(DType::STRING, Vec::new()),
            _ => Constant { dims: vec![-1], ..Constant::default() },
        };
        // It counts as an initializer: the node that reads it tells whether it is a weight.
        self.add_initializer(Constant { name: output.clone(), ..constant });
        self.unread_order.pop();
    }

    /// Pushes a lowered node.
    fn push_made(&mut self, node: &Node, made: &Made) {
        let tensor = |input: &Input| match input {
            Input::Of(at) => self.input(node, *at),
            hidden => push_hidden(&mut self.body, hidden),
        };
        let inputs: Vec<Tensor> = made.inputs.iter().map(tensor).collect();
        let first = self.body.input_count();
        self.push(node, made.op, inputs, 0..node.outputs.len());
        push_settings(&mut self.body, &made.settings);
        self.state_outputs(node);
        // Graphs are sorted; a value that comes later is found at the end.
        for (place, input) in made.inputs.iter().enumerate() {
            if let Input::Of(at) = input
                && let Some(name) = node.input(*at).filter(|name| !self.values.contains_key(*name))
            {
                self.forward.push((first + place, name.to_owned()));
            }
        }
    }

    /// Pushes a node and gives its outputs their names.
    fn push(&mut self, node: &Node, op: &str, inputs: Vec<Tensor>, outputs: Range<usize>) {
        let name = self.names.take(&self.node_name(node));
        let shown = match node.domain.as_str() {
            domain if lower::is_known_domain(domain) => node.op.clone(),
            domain => format!("{domain}.{}", node.op),
        };
        let at = self.body.push_lowered(&name, op, &shown);
        inputs.into_iter().for_each(|input| self.body.push_input(input));
        for (output, name) in outputs.zip(&node.outputs).filter(|(_, name)| !name.is_empty()) {
            self.values.insert(name.clone(), Tensor { node: at, output: output as u32 });
        }
    }

    /// States the types and shapes that the file has for the outputs of the last node.
    fn state_outputs(&mut self, node: &Node) {
        let stated = |output: &String| self.stated.get(output).cloned().unwrap_or_default();
        let (types, shapes): (Vec<DType>, Vec<Shape>) = node.outputs.iter().map(stated).unzip();
        if shapes.iter().any(|shape| shape.dims().is_some()) && self.body.op(self.body.len() as u32 - 1) != "For" {
            self.body.push_value("_output_shapes", AttrValue::Shapes(&shapes));
            self.body.push_value("_output_types", AttrValue::Types(&types));
        }
    }

    /// The name of a node, or one after its first output.
    fn node_name(&self, node: &Node) -> String {
        if !node.name.is_empty() {
            return shown_name(&node.name);
        }
        match node.outputs.iter().find(|output| !output.is_empty()) {
            Some(output) if output.bytes().any(|byte| byte.is_ascii_alphabetic()) => {
                let output = output.split_once("_output_").map_or(output.as_str(), |(name, _)| name);
                shown_name(output)
            }
            _ => format!("{}_{}", node.op, self.count),
        }
    }
}

fn elements(of: &Constant) -> Elements<'_> {
    match (&of.ints, &of.floats) {
        (Some(ints), _) => Elements::Ints(ints),
        (None, Some(floats)) if floats.len() <= 16 => Elements::Floats(floats),
        _ => Elements::Unread,
    }
}

/// Exporters write scopes as `/layer/op`, and outputs as `op:0`.
fn shown_name(name: &str) -> String {
    let name = name.trim_start_matches('/');
    name.strip_suffix(":0").unwrap_or(name).to_owned()
}

/// A `SparseTensorProto` as the dense tensor that it stands for.
fn sparse(walk: &mut OnnxFile<'_>, span: ByteRange) -> io::Result<Constant> {
    let mut tensor = Constant::default();
    for (number, head) in walk.fields(span)? {
        match (number, head) {
            (1, Head::Message(values)) => {
                let values = Constant::read(walk, values)?;
                (tensor.name, tensor.dtype) = (values.name, values.dtype);
            }
            (3, Head::Varint(n)) => tensor.dims.push(n as i64),
            (3, Head::Message(span)) => {
                let dims = ByteRange { ..span };
                let mut all = Vec::new();
                walk.ints(Head::Message(dims), &mut all)?;
                tensor.dims.extend(all);
            }
            _ => {}
        }
    }
    Ok(tensor)
}
