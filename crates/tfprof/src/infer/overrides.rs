//! [`Overrides`]: shapes that a user or a run states. They win over shapes that follow from the graph.

use super::fact::{ANY, Fact, Shape};
use super::functions::calls::Program;
use super::shapes;
use crate::error::Error;
use crate::hash::UntrustedMap;
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

    /// Completes the shape of an input. Returns whether the batch size was needed.
    pub fn complete_input(&self, name: &str, fact: &mut Fact) -> bool {
        if let Some(shape) = self.inputs.get(name) {
            fact.shape = shape.and(&fact.shape);
            fact.value = None;
        }
        let (Some(batch), Some([ANY, rest @ ..])) = (self.batch, fact.shape.dims()) else { return false };
        let mut dims = vec![batch];
        dims.extend(rest);
        fact.shape = Shape::of(&dims);
        fact.value = None;
        true
    }
}

/// Rejects settings for inputs that the program does not have.
pub fn check_inputs(program: &Program, settings: &Settings) -> Result<(), Error> {
    let names = InputNames::new(program, settings);
    let names: Vec<&str> = names.nodes.iter().map(|(name, _)| name.as_str()).collect();
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
    Ok(())
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
        let inputs = (0..graph.len() as u32)
            .filter(|node| shapes::is_program_input(graph.op(*node)) || graph.arg(*node).is_some());
        let names: Vec<&str> = inputs.map(|node| graph.name(node)).collect();
        let of_signature = names.iter().filter_map(|name| Some((name.strip_prefix(&prefix)?, *name)));
        let nodes = names.iter().map(|name| (*name, *name)).chain(of_signature);
        InputNames { nodes: nodes.map(|(name, node)| (name.to_owned(), node.to_owned())).collect() }
    }

    fn node(&self, name: &str) -> Option<&str> {
        self.nodes.iter().find(|(key, _)| key == name).map(|(_, node)| node.as_str())
    }
}
