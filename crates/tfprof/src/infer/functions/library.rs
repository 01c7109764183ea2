//! [`Library`]: the functions of a file, each with a [`Body`] whose inputs are resolved.
//!
//! Inputs in a function are spelled `node:output:index`. To number the outputs we need the definition of the node's op:
//! from the file, from the function of that name, or from our table of TensorFlow's ops.

use super::outputs::OUTPUTS;
use crate::hash::UntrustedMap;
use crate::model::attr_value::{self, Attr};
use crate::model::body::{Body, NO_NODE, Spelling, Tensor, UnresolvedBody};
use crate::model::functions::{FunctionDef, FunctionDefs, OutputDef, OutputLength};
use std::collections::BTreeSet;
use tfprof_proto::fields::attr_value::{FUNC, LIST, list_value};
use tfprof_proto::fields::name_attr_list;
use tfprof_proto::wire::{Fields, Value, each_field};

/// A function that can be called.
#[derive(Clone, Debug, Default)]
pub struct Function {
    pub name: String,
    /// The nodes that a call runs: those needed for its results and side effects.
    pub body: Body,
}

/// Functions by name.
#[derive(Clone, Debug, Default)]
pub struct Library {
    functions: Vec<Function>,
    by_name: UntrustedMap<Box<str>, u32>,
}

impl Library {
    /// Resolves the inputs of all functions. `producer` is the version of their graph.
    pub fn new(mut defs: FunctionDefs, producer: i64) -> Library {
        let bodies: Vec<UnresolvedBody> =
            defs.functions.iter_mut().map(|function| std::mem::take(&mut function.body)).collect();
        let resolve = |(body, def): (UnresolvedBody, &FunctionDef)| {
            let (mut body, nodes) = body.resolve_with(|body, node, output| output_number(&defs, body, node, output));
            let returned = |output: &OutputDef| {
                let Spelling { name, output, .. } = Spelling::new(def.returns.get(&output.name)?);
                let node = nodes.get(&body, name)?;
                Some(Tensor { node, output: output.map_or(0, |output| output_number(&defs, &body, node, output)) })
            };
            let unknown = Tensor { node: NO_NODE, output: 0 };
            body.returns = def.outputs.iter().map(|output| returned(output).unwrap_or(unknown)).collect();
            body.producer = producer;
            let controls = def.control_returns.iter().filter_map(|name| nodes.get(&body, name));
            let body = body.pruned(body.returns.iter().map(|tensor| tensor.node).chain(controls));
            Function { name: def.name.clone(), body }
        };
        let functions = bodies.into_iter().zip(&defs.functions).map(resolve).collect();
        Library { functions, by_name: defs.by_name }
    }

    /// The functions of a file of another dialect, whose inputs are resolved.
    pub fn of_bodies(bodies: Vec<(String, Body)>) -> Library {
        let mut library = Library::default();
        for (name, body) in bodies {
            library.by_name.entry(name.as_str().into()).or_insert(library.functions.len() as u32);
            library.functions.push(Function { name, body });
        }
        library
    }

    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    pub fn len(&self) -> usize {
        self.functions.len()
    }

    pub fn find(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    pub fn get(&self, function: u32) -> &Function {
        &self.functions[function as usize]
    }
}

/// The number of a node's output that is spelled `output` or `output:index`.
fn output_number(defs: &FunctionDefs, body: &Body, node: u32, spelling: &str) -> u32 {
    if node == NO_NODE {
        return 0;
    }
    let (name, index) = match spelling.split_once(':') {
        // `node:index`, as in a graph: some writers spell list arguments this way.
        None => match spelling.parse() {
            Ok(output) => return output,
            Err(_) => (spelling, 0),
        },
        Some((name, rest)) => (name, rest.split(':').next().and_then(|digits| digits.parse().ok()).unwrap_or(NO_NODE)),
    };
    first_tensor(defs, body, node, name).map_or(NO_NODE, |first| first.saturating_add(index))
}

/// The index of an output's first tensor among all output tensors of the node.
fn first_tensor(defs: &FunctionDefs, body: &Body, node: u32, output: &str) -> Option<u32> {
    let op = body.op(node);
    let function = defs.by_name.get(op).map(|at| &defs.functions[*at as usize].outputs);
    if let Some(outputs) = defs.op_outputs.get(op).or(function) {
        return first_tensor_of(outputs, body, node, output);
    }
    match OUTPUTS.binary_search_by(|(known, _)| (*known).cmp(op)) {
        Ok(at) => {
            let outputs: Vec<OutputDef> = OUTPUTS[at].1.split(' ').map(parse_output).collect();
            first_tensor_of(&outputs, body, node, output)
        }
        // The table lacks ops with a single output or list, and unknown ops.
        Err(_) => Some(0),
    }
}

fn first_tensor_of(outputs: &[OutputDef], body: &Body, node: u32, name: &str) -> Option<u32> {
    let mut first = 0_u32;
    for output in outputs {
        if output.name == name {
            return Some(first);
        }
        let length = match &output.length {
            OutputLength::One => 1,
            OutputLength::Number(attribute) => attr_value::int(body.attribute(node, attribute)?)?,
            OutputLength::Types(attribute) => attr_value::dtypes(body.attribute(node, attribute)?).len() as i64,
        };
        first = first.saturating_add(u32::try_from(length).ok()?);
    }
    None
}

/// Parses `name`, `name*N` or `name@T`, as in the table of outputs.
fn parse_output(spelling: &str) -> OutputDef {
    let (name, length) = if let Some((name, attribute)) = spelling.split_once('*') {
        (name, OutputLength::Number(attribute.to_owned()))
    } else if let Some((name, attribute)) = spelling.split_once('@') {
        (name, OutputLength::Types(attribute.to_owned()))
    } else {
        (spelling, OutputLength::One)
    };
    OutputDef { name: name.to_owned(), length }
}

/// The names in an attribute that is a function or a list of functions.
pub fn function_names(attribute: Attr<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let mut name_of = |function: &[u8]| {
        each_field(Fields::new(function, 0), |_, number, value| {
            if let (name_attr_list::NAME, Value::Bytes(name)) = (number, value) {
                names.push(String::from_utf8_lossy(name).into_owned());
            }
        });
    };
    each_field(Fields::new(attribute.0, 0), |all, number, value| match (number, value) {
        (FUNC, Value::Bytes(function)) => name_of(function),
        (LIST, Value::Bytes(list)) => each_field(all.nested(list), |_, number, value| {
            if let (list_value::FUNC, Value::Bytes(function)) = (number, value) {
                name_of(function);
            }
        }),
        _ => {}
    });
    names
}

/// For each function, whether it is recursive.
///
/// Repeatedly removes functions without callees, then those without callers. The rest is on call cycles.
pub fn recursive(library: &Library) -> Vec<bool> {
    let count = library.len();
    let mut callees: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut callers: Vec<Vec<u32>> = vec![Vec::new(); count];
    for caller in 0..count as u32 {
        let body = &library.get(caller).body;
        let mut called = BTreeSet::new();
        for node in 0..body.len() as u32 {
            called.extend(library.find(body.op(node)));
            called.extend(
                body.attributes(node)
                    .flat_map(|(_, value)| function_names(value))
                    .filter_map(|name| library.find(&name)),
            );
        }
        for callee in called {
            callees[caller as usize].push(callee);
            callers[callee as usize].push(caller);
        }
    }
    let mut left = vec![true; count];
    for (ahead, behind) in [(&callees, &callers), (&callers, &callees)] {
        let mut open: Vec<usize> =
            ahead.iter().map(|list| list.iter().filter(|at| left[**at as usize]).count()).collect();
        let mut free: Vec<usize> = (0..count).filter(|at| left[*at] && open[*at] == 0).collect();
        while let Some(at) = free.pop() {
            left[at] = false;
            for next in &behind[at] {
                let next = *next as usize;
                open[next] -= 1;
                if left[next] && open[next] == 0 {
                    free.push(next);
                }
            }
        }
    }
    left
}
