//! What inference finds, put into the model: costs of nodes, and the nodes of functions under those that call them.

use super::body::ORIGINAL;
use super::functions::calls::Program;
use super::functions::expand::{self, MOST_NODES, Node};
use super::inference::Cost;
use super::known::Overrides;
use super::settings::Settings;
use super::shapes;
use crate::error::{Error, Warning};
use crate::infer::attributes;
use crate::infer::flops::Unknown;
use crate::model::Model;
use crate::model::builder::Builder;
use crate::model::costs::{Costs, NodeCosts};
use crate::model::nodes::{Input, NodeId};
use crate::model::type_names::{CONST_PARAMETER, SAME_VARIABLE};
use crate::words;
use rustc_hash::FxHashSet;
use tfprof_proto::lenient::each_quietly;
use tfprof_proto::wire::Fields;

/// What one run of a program takes at a size of the batch.
pub fn total(program: &Program, settings: &Settings, batch: i64) -> Cost {
    let inferred = program.infer(&overrides(program, settings, batch));
    inferred.instances.last().map(|graph| graph.total.cost).unwrap_or_default()
}

fn overrides(program: &Program, settings: &Settings, batch: i64) -> Overrides {
    let fed = fed(program, settings);
    let node = |name: &String| fed.iter().find(|(key, _)| key == name).map(|(_, node)| node.clone());
    let inputs = settings.inputs.iter().filter_map(|(name, shape)| Some((node(name)?, shape.clone()))).collect();
    Overrides { batch: Some(batch), inputs, ..Overrides::default() }
}

/// What is fed, by the name that a user may give it: that of the node, and that which a signature has for it.
fn fed(program: &Program, settings: &Settings) -> Vec<(String, String)> {
    let graph = &program.graph;
    let prefix = format!("{}_", settings.signature.as_deref().unwrap_or("serving_default"));
    let nodes = (0..graph.len() as u32).filter(|node| shapes::is_fed(graph.op(*node)) || graph.arg(*node).is_some());
    let names = nodes.map(|node| graph.name(node).to_owned());
    let mut fed: Vec<(String, String)> = names.map(|name| (name.clone(), name)).collect();
    let keys: Vec<_> =
        fed.iter().filter_map(|(_, name)| Some((name.strip_prefix(&prefix)?.to_owned(), name.clone()))).collect();
    fed.extend(keys);
    fed
}

/// Refuses names of inputs that nothing has.
pub fn check_inputs(program: &Program, settings: &Settings) -> Result<(), Error> {
    let fed = fed(program, settings);
    let names: Vec<&str> = fed.iter().map(|(key, _)| key.as_str()).collect();
    for (name, _) in &settings.inputs {
        if !names.contains(&name.as_str()) {
            let why = if names.is_empty() {
                format!("nothing is fed to this graph, so there is no `{name}`")
            } else {
                words::unknown("input", name, &names)
            };
            return Err(Error::Question(format!("-input: {why}")));
        }
    }
    Ok(())
}

/// How many nodes that lack shapes are looked into.
const LISTED: usize = 20;

/// Infers a program and adds what comes out to the model. May be done again when more is known.
pub fn open(program: &Program, builder: &mut Builder) {
    let settings = builder.settings.clone();
    let known = Overrides { ran: builder.ran.clone(), ..overrides(program, &settings, settings.batch.unwrap_or(1)) };
    let inferred = program.infer(&known);
    let uses_batch = inferred.instances.last().is_some_and(|graph| graph.instance.uses_batch);
    let mut filler = Filler { costs: Costs::default(), handles: FxHashSet::default(), constants: FxHashSet::default() };
    filler.costs.batch = uses_batch.then_some(settings.batch.unwrap_or(1));
    expand::expand(program, &inferred, MOST_NODES, &mut |node| {
        filler.add(node, builder);
    });
    // How often loops run matters to costs alone.
    let matters = |code: &str| builder.keep.costs || code != "trip_count";
    let mut warnings: Vec<(&'static str, String)> =
        inferred.warnings.into_iter().filter(|(code, _)| matters(code)).collect();
    if builder.keep.costs {
        if uses_batch && settings.batch.is_none() {
            warnings.push(("batch", "the size of the batch is left open; it counts as 1 (say --batch=N)".to_owned()));
        }
        for name in program.trip_counts.not_met() {
            let message = format!("no loop is named `{name}`; what --trip_count says of it changes nothing");
            warnings.push(("unknown_loop", message));
        }
        builder.model.costs = filler.costs;
    }
    for (code, message) in warnings {
        let warning = Warning { code, location: None, message, damage: false };
        if !builder.warnings.contains(&warning) {
            builder.warnings.push(warning);
        }
    }
}

struct Filler {
    costs: Costs,
    /// Variables that a handle was met of.
    handles: FxHashSet<String>,
    /// Constants of functions that were met.
    constants: FxHashSet<(Option<u32>, u32)>,
}

impl Filler {
    fn add(&mut self, node: &Node<'_>, builder: &mut Builder) {
        let Some(id) = Filler::node(node, builder) else { return };
        let costs = NodeCosts {
            float_ops: node.cost.float_ops,
            macs: node.cost.macs,
            io_bytes: node.cost.io_bytes,
            unknown: node.unknown,
            why: node.why,
            runs: node.runs,
            counted: true,
            closed: node.closed,
        };
        self.costs.set(id, costs);
        trace(node, id, builder);
        if node.why == Some(Unknown::Shape) && self.costs.missing.len() < LISTED {
            self.costs.missing.push((id, node.blame()));
        }
        match node.body.op(node.node) {
            "VarHandleOp" => {
                self.variable(node, id);
                self.handle(node, id, builder);
            }
            "Variable" | "VariableV2" => self.variable(node, id),
            "Const" if builder.settings.const_params => self.constant(node, id, builder),
            _ => {}
        }
    }

    /// The node of the model: there already if it is one of the graph, or if a run told of it.
    fn node(node: &Node<'_>, builder: &mut Builder) -> Option<NodeId> {
        let mut name = builder.model.names.intern(node.name);
        if node.function.is_none() {
            let id = builder.model.node(name)?;
            lead_inside(node, id, builder);
            return Some(id);
        }
        let op = builder.model.names.intern(node.body.op(node.node));
        let mut copy = 1;
        let id = loop {
            match builder.model.node(name) {
                None => break builder.add_node(name, op)?,
                // Only a run has told of it, or it was opened before.
                Some(id) if builder.model.nodes.op[id.index()] == name || builder.model.nodes.inner[id.index()] => {
                    builder.model.nodes.op[id.index()] = op;
                    break id;
                }
                Some(_) => {
                    copy += 1;
                    name = builder.model.names.intern(&format!("{}_{copy}", node.name));
                }
            }
        };
        builder.model.nodes.inner[id.index()] = true;
        builder.set_shape_attribute(id, node.body.attribute(node.node, "shape"));
        lead_inside(node, id, builder);
        Some(id)
    }

    fn variable(&mut self, node: &Node<'_>, id: NodeId) {
        if let Some(dtype) = node.body.attribute(node.node, "dtype").and_then(attributes::dtype) {
            self.costs.dtypes.insert(id, dtype);
        }
    }

    /// Each variable counts once, however many handles it has.
    fn handle(&mut self, node: &Node<'_>, id: NodeId, builder: &mut Builder) {
        let text = |key: &str| node.body.attribute(node.node, key).and_then(attributes::text).unwrap_or_default();
        let shared = String::from_utf8_lossy(text("shared_name"));
        let variable = if shared.is_empty() {
            node.body.name(node.node).to_owned()
        } else {
            format!("{}\0{shared}", String::from_utf8_lossy(text("container")))
        };
        if !self.handles.insert(variable) {
            let ty = builder.model.names.intern(SAME_VARIABLE);
            builder.add_type(id, ty);
        }
    }

    /// Constants that were variables before the graph was frozen: numbers with at least one dimension.
    fn constant(&mut self, node: &Node<'_>, id: NodeId, builder: &mut Builder) {
        let Some(fact) = node.outputs.first() else { return };
        let Some(dims @ [_, ..]) = fact.shape.known() else { return };
        if fact.dtype.is_float() && self.constants.insert((node.function, node.node)) {
            self.costs.dtypes.insert(id, fact.dtype);
            builder.model.nodes.shape[id.index()] = builder.shape(dims);
            let ty = builder.model.names.intern(CONST_PARAMETER);
            builder.add_type(id, ty);
        }
    }
}

/// Finds where a node was made, by its name or by the one that it had before the graph was rewritten.
fn trace(node: &Node<'_>, id: NodeId, builder: &mut Builder) {
    if builder.debug_info.is_empty() || builder.model.nodes.stack[id.index()].has_frames() {
        return;
    }
    let Builder { model, debug_info, .. } = builder;
    let Model { names, stacks, .. } = model;
    let mut stack = debug_info.stack(node.body.name(node.node), node.function_name, names, stacks);
    if stack.is_none()
        && let Some(original) = node.body.attribute(node.node, ORIGINAL)
    {
        let (mut of_node, mut of_function) = (None, None);
        each_quietly(Fields::new(original, 0), |_, number, value| match number {
            1 => of_node = of_node.or(value.bytes()),
            2 => of_function = of_function.or(value.bytes()),
            _ => {}
        });
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (of_node, of_function) = (of_node.map(text), of_function.filter(|name| !name.is_empty()).map(text));
        stack = of_node.and_then(|of_node| debug_info.stack(&of_node, of_function.as_deref(), names, stacks));
    }
    if let Some(stack) = stack {
        model.nodes.stack[id.index()] = stack;
        model.has_traces = true;
    }
}

/// Gives a node of a function, or one that calls functions, its inputs; what a call returns is one of them.
fn lead_inside(node: &Node<'_>, id: NodeId, builder: &mut Builder) {
    let keep = builder.keep;
    if !(keep.inputs || keep.output_shapes) || (node.function.is_none() && node.inside.is_empty()) {
        return;
    }
    let mut inputs = Vec::new();
    if keep.inputs {
        if node.function.is_none() {
            inputs.extend_from_slice(builder.model.nodes.inputs(id));
        } else {
            for (source, output) in node.inputs.iter().filter(|(source, _)| !source.is_empty()) {
                inputs.push(Input { source: builder.model.names.intern(source), output: *output });
            }
        }
        for (source, output) in node.inside {
            let input = Input { source: builder.model.names.intern(source), output: *output };
            if !inputs.contains(&input) {
                inputs.push(input);
            }
        }
    }
    let mut shapes = builder.model.nodes.output_shapes(id).to_vec();
    if keep.output_shapes && shapes.is_empty() {
        for fact in node.outputs {
            let dims = match fact.shape.dims() {
                // As the original: a scalar is `[1]`.
                Some([]) => vec![1],
                Some(dims) => dims.to_vec(),
                None => Vec::new(),
            };
            shapes.push(builder.shape(&dims));
        }
    }
    builder.model.nodes.define_late(id, inputs, shapes);
}
