//! [`Overrides`]: shapes that a user or a run states. They win over shapes that follow from the graph.

use super::fact::{ANY, BATCHES, Fact, Point, Shape};
use super::functions::calls::{Inferred, Program};
use super::shapes::checks::{Contradiction, contradiction};
use super::shapes::{self, Op};
use crate::error::Error;
use crate::hash::{UntrustedMap, UntrustedSet};
use crate::model::attr_value;
use crate::model::body::Body;
use crate::model::observed::ObservedShapes;
use crate::model::settings::Settings;
use crate::words;
use std::sync::Arc;

/// Statements from outside. The default states nothing, so that unknown sizes stay unknown.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The size of unknown leading dimensions of inputs: placeholders, iterators and the arguments of the body.
    ///
    /// Leave it out for the body of a function that is called: the caller passes its arguments.
    pub batch: Option<i64>,
    /// The size of other unknown dimensions of inputs.
    pub seq: Option<i64>,
    /// Shapes of placeholders, iterators and arguments, by the names of their tensors: `node`, or `node:1` for a further
    /// output.
    pub inputs: UntrustedMap<String, Shape>,
    pub observed: Arc<ObservedShapes>,
}

impl Overrides {
    /// The overrides that the settings state for the inputs of a program, at a batch size.
    pub fn new(program: &Program, settings: &Settings, batch: i64) -> Overrides {
        let names = InputNames::new(program, settings);
        let shape_of_tensor = |(name, shape): &(String, Shape)| Some((names.tensor(name)?.spelled(), shape.clone()));
        let mut inputs: UntrustedMap<String, Shape> = settings.inputs.iter().filter_map(shape_of_tensor).collect();
        for (name, size) in sizes(&names, settings) {
            for symbol in program.graph.symbols.iter().filter(|symbol| symbol.name == name) {
                let declared = declared(&program.graph, symbol.node, 0);
                let mut dims = vec![ANY; declared.rank().unwrap_or(0)];
                let Some(dim) = dims.get_mut(symbol.axis as usize) else { continue };
                *dim = size;
                let stated = inputs.entry(program.graph.name(symbol.node).to_owned()).or_default();
                *stated = stated.and(&Shape::of(&dims));
            }
        }
        Overrides { batch: Some(batch), seq: settings.seq, inputs, ..Overrides::default() }
    }

    /// Completes the shape of an input at a size of the batch. Returns whether the size was needed.
    pub fn complete_input(&self, name: &str, output: usize, fact: &mut Fact, point: Point) -> bool {
        let given = match output {
            0 => self.inputs.get(name),
            _ if self.inputs.is_empty() => None,
            output => self.inputs.get(&InputTensor { node: name, output }.spelled()),
        };
        if let Some(shape) = given {
            fact.shape = shape.and(&fact.shape);
            fact.value = None;
        }
        if let (Some(seq), Some([first, rest @ ..])) = (self.seq, fact.shape.dims())
            && rest.contains(&ANY)
        {
            let rest = rest.iter().map(|size| if *size == ANY { seq } else { *size });
            fact.shape = Shape::of(&[*first].into_iter().chain(rest).collect::<Vec<_>>());
            fact.value = None;
        }
        let (Some(asked), Some([ANY, rest @ ..])) = (self.batch, fact.shape.dims()) else { return false };
        let mut dims = vec![match point {
            Point::Asked => asked,
            Point::Batch(index) => BATCHES[index],
        }];
        dims.extend(rest);
        fact.shape = Shape::of(&dims);
        fact.value = None;
        true
    }
}

/// Rejects settings for inputs that the program does not have, or declares otherwise.
pub fn check_inputs(program: &Program, settings: &Settings) -> Result<(), Error> {
    if settings.inputs.is_empty() {
        return Ok(());
    }
    let all = InputNames::new(program, settings);
    let names: Vec<&str> = all.nodes.iter().map(|(name, _)| name.as_str()).collect();
    for (name, shape) in &settings.inputs {
        if all.tensor(name).is_none() {
            if program.graph.symbols.iter().any(|symbol| symbol.name == *name) {
                if matches!(shape.dims(), Some([size]) if *size >= 0) {
                    continue;
                }
                return Err(Error::option("input", format!("`{name}` is one size, as in {name}=8; found {shape}")));
            }
            let symbols = program.graph.symbols.iter().map(|symbol| symbol.name.as_str());
            let names: Vec<&str> = names.iter().copied().chain(symbols).collect();
            let why = if names.is_empty() {
                format!("nothing is fed to this graph, so there is no `{name}`")
            } else {
                words::unknown("input", name, &names)
            };
            return Err(Error::option("input", why));
        }
    }
    let graph = &program.graph;
    let given = settings.inputs.iter().filter_map(|(name, shape)| Some((name, shape, all.tensor(name)?)));
    let given: Vec<_> = given.collect();
    for node in inputs(graph) {
        for (name, shape, tensor) in given.iter().filter(|(_, _, tensor)| tensor.node == graph.name(node)) {
            let outputs = output_count(graph, node);
            if tensor.output >= outputs {
                let why = format!("there is no `{name}`: `{}` has {outputs} outputs, from 0 on", tensor.node);
                return Err(Error::option("input", why));
            }
            let declared = declared(graph, node, tensor.output);
            if !shape.fits(&declared) {
                let why = format!("{name}={shape} contradicts the graph, which declares `{name}` as {declared}");
                return Err(Error::option("input", why));
            }
        }
    }
    Ok(())
}

/// The open sizes that the settings state by name.
fn sizes<'s>(names: &InputNames, settings: &'s Settings) -> impl Iterator<Item = (&'s str, i64)> {
    let size = |(name, shape): &'s (String, Shape)| match shape.dims() {
        Some([size]) if *size >= 0 && names.tensor(name).is_none() => Some((name.as_str(), *size)),
        _ => None,
    };
    settings.inputs.iter().filter_map(size)
}

/// The names of the nodes that are inputs of a program.
pub fn input_names(program: &Program) -> UntrustedSet<&str> {
    inputs(&program.graph).map(|node| program.graph.name(node)).collect()
}

fn inputs(graph: &Body) -> impl Iterator<Item = u32> + '_ {
    (0..graph.len() as u32).filter(|node| shapes::is_program_input(graph.op(*node)) || graph.arg(*node).is_some())
}

/// Rejects stated shapes of inputs that an op refuses.
pub fn check_shapes(program: &Program, inferred: &Inferred, overrides: &Overrides) -> Result<(), Error> {
    if overrides.inputs.is_empty() {
        return Ok(());
    }
    let found = |inferred: &Inferred| {
        inferred.instances.iter().rev().find_map(|instance| {
            let body = program.body(instance.function);
            let contradiction = contradiction(body, &instance.instance)?;
            Some((instance.function, contradiction))
        })
    };
    let Some((function, contradiction)) = found(inferred) else { return Ok(()) };
    // A graph that contradicts itself is not the user's fault.
    let without = Overrides { inputs: UntrustedMap::default(), ..overrides.clone() };
    let node = |(function, contradiction): (Option<u32>, Contradiction)| (function, contradiction.node);
    if found(&program.infer(&without)).map(node) == Some((function, contradiction.node)) {
        return Ok(());
    }
    let body = program.body(function);
    let mut given: Vec<String> = overrides.inputs.iter().map(|(name, shape)| format!("{name}={shape}")).collect();
    given.sort_unstable();
    let (name, op, why) = (body.name(contradiction.node), body.shown_op(contradiction.node), contradiction.why);
    let verb = if given.len() == 1 { "contradicts" } else { "contradict" };
    Err(Error::option("input", format!("{} {verb} `{name}` ({op}): {why}", given.join(", "))))
}

/// The number of tensors that an input feeds.
fn output_count(graph: &Body, node: u32) -> usize {
    let rule = shapes::rule(graph.op(node)).filter(|_| graph.arg(node).is_none());
    rule.map_or(1, |rule| rule(&Op { body: graph, node, inputs: &[] }).len().max(1))
}

/// The shape that the graph states for an output of an input.
fn declared(graph: &Body, node: u32, output: usize) -> Shape {
    let rule = shapes::rule(graph.op(node)).filter(|_| graph.arg(node).is_none());
    let outputs = rule.map(|rule| rule(&Op { body: graph, node, inputs: &[] })).unwrap_or_default();
    let of_rule = outputs.get(output).map(|fact| fact.shape.clone()).unwrap_or_default();
    let attribute = |name: &str| graph.attribute(node, name);
    // The rule of a placeholder with a default is about the default.
    let of_default = attribute("shape").filter(|_| graph.op(node) == "PlaceholderWithDefault");
    let of_default = of_default.and_then(attr_value::shape).unwrap_or_default();
    let stated = attribute("_output_shapes").map(attr_value::shapes).unwrap_or_default();
    let stated = stated.into_iter().nth(output).unwrap_or_default();
    stated.and(&of_rule).and(&of_default)
}

/// The inputs of a program by every name that a user may call them: that of the node, and that of the signature.
struct InputNames {
    /// A name and the node that it means.
    nodes: Vec<(String, String)>,
}

impl InputNames {
    fn new(program: &Program, settings: &Settings) -> InputNames {
        let graph = &program.graph;
        let prefix = format!("{}_", settings.signature.as_deref().unwrap_or("serving_default"));
        let names: Vec<&str> = inputs(graph).map(|node| graph.name(node)).collect();
        let of_signature = names.iter().filter_map(|name| Some((name.strip_prefix(&prefix)?, *name)));
        let nodes = names.iter().map(|name| (*name, *name)).chain(of_signature);
        InputNames { nodes: nodes.map(|(name, node)| (name.to_owned(), node.to_owned())).collect() }
    }

    /// The tensor that a name means: `image`, or `iterator:1` for the second output.
    fn tensor(&self, name: &str) -> Option<InputTensor<'_>> {
        let node = |name: &str| self.nodes.iter().find(|(key, _)| key == name).map(|(_, node)| node.as_str());
        let further = || {
            let (name, output) = name.rsplit_once(':')?;
            Some(InputTensor { node: node(name)?, output: output.parse().ok()? })
        };
        node(name).map(|node| InputTensor { node, output: 0 }).or_else(further)
    }
}

/// An output of a node that is an input of the program.
struct InputTensor<'p> {
    node: &'p str,
    output: usize,
}

impl InputTensor<'_> {
    fn spelled(&self) -> String {
        match self.output {
            0 => self.node.to_owned(),
            output => format!("{}:{output}", self.node),
        }
    }
}
