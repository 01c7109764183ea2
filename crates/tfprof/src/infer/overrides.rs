//! [`Overrides`]: shapes that a user or a run states. They win over shapes that follow from the graph.

use super::fact::{ANY, BATCHES, Fact, Point, Shape};
use super::functions::calls::{Inferred, Program};
use super::shapes::checks::{Contradiction, contradiction};
use super::shapes::{self, Op};
use crate::error::Error;
use crate::hash::{UntrustedMap, UntrustedSet};
use crate::model::attr_value;
use crate::model::body::Body;
use crate::model::program::ObservedShapes;
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
    /// Shapes of placeholders and arguments, by the names of their nodes.
    pub inputs: UntrustedMap<String, Shape>,
    pub observed: Arc<ObservedShapes>,
}

impl Overrides {
    /// The overrides that the settings state for the inputs of a program, at a batch size.
    pub fn new(program: &Program, settings: &Settings, batch: i64) -> Overrides {
        let names = InputNames::new(program, settings);
        let shape_of_node = |(name, shape): &(String, Shape)| Some((names.node(name)?.to_owned(), shape.clone()));
        let inputs = settings.inputs.iter().filter_map(shape_of_node).collect();
        Overrides { batch: Some(batch), inputs, ..Overrides::default() }
    }

    /// Completes the shape of an input at a size of the batch. Returns whether the size was needed.
    pub fn complete_input(&self, name: &str, fact: &mut Fact, point: Point) -> bool {
        if let Some(shape) = self.inputs.get(name) {
            fact.shape = shape.and(&fact.shape);
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
    for (name, _) in &settings.inputs {
        if !names.contains(&name.as_str()) {
            let why = if names.is_empty() {
                format!("nothing is fed to this graph, so there is no `{name}`")
            } else {
                words::unknown("input", name, &names)
            };
            return Err(Error::option("input", why));
        }
    }
    let graph = &program.graph;
    for node in 0..graph.len() as u32 {
        let given = settings.inputs.iter().filter(|(name, _)| all.node(name) == Some(graph.name(node)));
        for (name, shape) in given {
            let declared = declared(graph, node);
            if !shape.fits(&declared) {
                let why = format!("{name}={shape} contradicts the graph, which declares `{name}` as {declared}");
                return Err(Error::option("input", why));
            }
        }
    }
    Ok(())
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
    let (name, op, why) = (body.name(contradiction.node), body.op(contradiction.node), contradiction.why);
    let verb = if given.len() == 1 { "contradicts" } else { "contradict" };
    Err(Error::option("input", format!("{} {verb} `{name}` ({op}): {why}", given.join(", "))))
}

/// The shape that the graph states for an input.
fn declared(graph: &Body, node: u32) -> Shape {
    let rule = shapes::rule(graph.op(node)).filter(|_| graph.arg(node).is_none());
    let outputs = rule.map(|rule| rule(&Op { body: graph, node, inputs: &[] })).unwrap_or_default();
    let of_rule = match outputs.as_slice() {
        [only] => only.shape.clone(),
        _ => Shape::UNKNOWN,
    };
    let attribute = |name: &str| graph.attribute(node, name);
    // The rule of a placeholder with a default is about the default.
    let of_default = attribute("shape").filter(|_| graph.op(node) == "PlaceholderWithDefault");
    let of_default = of_default.and_then(attr_value::shape).unwrap_or_default();
    let stated = attribute("_output_shapes").map(attr_value::shapes).unwrap_or_default();
    let stated = stated.into_iter().next().filter(|_| outputs.len() <= 1).unwrap_or_default();
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

    fn node(&self, name: &str) -> Option<&str> {
        self.nodes.iter().find(|(key, _)| key == name).map(|(_, node)| node.as_str())
    }
}
