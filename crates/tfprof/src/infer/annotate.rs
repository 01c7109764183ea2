//! Writes the results of inference into the model: costs of nodes, nodes of functions under the calls that run them
//! (`call/inner/MatMul`), and types of variables and constants.

use crate::budget;
use crate::error::{Error, Fix, Warning};
use crate::hash::{TrustedMap, TrustedSet, UntrustedMap, UntrustedSet};
use crate::infer::fact::{Fact, product};
use crate::infer::functions::calls::{Inferred, Program};
use crate::infer::functions::specialization::{Specialization, Target, Total};
use crate::infer::inference::{Cost, Instance, NodeCost};
use crate::infer::overrides::{Overrides, check_shapes, input_names};
use crate::infer::readers::{self, Readers, Roles, Variable};
use crate::infer::suggest::shape_to_type;
use crate::model::body::{Body, ORIGINAL_NAMES, Tensor};
use crate::model::builder::Builder;
use crate::model::costs::{Costs, MissingShape, NodeCosts, Outputs, RunCost, UnknownReason};
use crate::model::lowered::PARAMETER;
use crate::model::names::NameId;
use crate::model::nodes::{Input, NodeId, ShapeId};
use crate::model::stacks::StackId;
use crate::model::type_names::{CONST_PARAMETER, SAME_VARIABLE, TRAINABLE};
use crate::model::{Model, attr_value};
use tfprof_proto::fields::node_def::experimental_debug_info::{ORIGINAL_FUNC_NAMES, ORIGINAL_NODE_NAMES};
use tfprof_proto::wire::{Fields, each_field};

/// For so many nodes that lack shapes, the place where the shape got lost is listed.
const LISTED: usize = 20;

/// Infers a program and writes the results into the model. May be repeated when more files are loaded. Fails if an op
/// refuses the shape that the user states for an input.
pub fn annotate(program: &Program, builder: &mut Builder) -> Result<(), Error> {
    let settings = builder.program.settings.clone();
    let overrides = Overrides::new(program, &settings, settings.batch.unwrap_or(1));
    let overrides = Overrides { observed: builder.program.observed_shapes.clone(), ..overrides };
    let inferred = program.infer(&overrides);
    check_shapes(program, &inferred, &overrides)?;
    let uses_batch = inferred.instances.last().is_some_and(|graph| graph.instance.uses_batch);
    let mut annotator = Annotator { inputs: input_names(program), ..Annotator::default() };
    annotator.costs.batch = uses_batch.then_some(settings.batch.unwrap_or(1));
    annotator.costs.reserve(builder.model.nodes.len());
    annotator.costs.by_batch = inferred.instances.last().map(|graph| {
        graph.total.by_batch.map(|Cost { float_ops, macs, io_bytes }| RunCost { float_ops, macs, io_bytes })
    });
    let with_inputs = builder.keep.inputs || builder.keep.output_shapes;
    let readers = builder.keep.costs.then(|| Readers::new(settings.const_params));
    expand(program, &inferred, with_inputs, readers, &mut |node| {
        annotator.add(node, builder);
    });
    annotator.find_readers(&builder.model);
    // Trip counts matter to costs alone.
    let matters = |warning: &Warning| builder.keep.costs || warning.code != "trip_count";
    let mut warnings: Vec<Warning> = inferred.warnings.into_iter().filter(matters).collect();
    if builder.keep.costs {
        if uses_batch && settings.batch.is_none() {
            let open = Warning::new("batch", "the batch size is open and counts as 1");
            warnings.push(open.with_fix(Fix::with_value("set it with", "batch", "N")));
        }
        for name in program.trip_counts.unmatched() {
            let message = format!("no loop is named `{name}`, so its trip count has no effect");
            warnings.push(Warning::new("unknown_loop", message));
        }
        builder.model.costs = annotator.costs;
    }
    builder.add_warnings(warnings);
    Ok(())
}

#[derive(Default)]
struct Annotator<'p> {
    costs: Costs,
    /// The model's node that is expected next.
    next: u32,
    /// By trace of the debug info, its call stack.
    stacks: UntrustedMap<u64, StackId>,
    /// The inputs of the program.
    inputs: UntrustedSet<&'p str>,
    /// Variables whose handle we have seen, and further handles of the same variables.
    variables: UntrustedMap<String, NodeId>,
    same: TrustedMap<NodeId, NodeId>,
    /// Variables by name, and the nodes that compute with them.
    reads: Vec<(NameId, NodeId)>,
    /// Constants that we have seen, by function and node.
    constants: TrustedSet<(Option<u32>, u32)>,
}

impl Annotator<'_> {
    fn add(&mut self, node: &Node<'_>, builder: &mut Builder) {
        if node.body.is_hidden(node.id) {
            return;
        }
        let Some(id) = self.node(node, builder) else { return };
        let costs = NodeCosts {
            float_ops: node.cost.float_ops,
            macs: node.cost.macs,
            io_bytes: node.cost.io_bytes,
            unknown: node.unknown,
            why: node.why,
            runs: node.runs,
            counted: true,
            unlisted: node.unlisted,
        };
        self.costs.set(id, costs);
        if builder.keep.output_shapes {
            self.outputs(node, id, builder);
        }
        find_stack(node, id, &mut self.stacks, builder);
        self.reads.extend(node.variables.iter().flatten().map(|variable| (builder.model.names.intern(variable), id)));
        if matches!(node.why, Some(UnknownReason::Shape | UnknownReason::Data)) && self.costs.missing.len() < LISTED {
            let (why, fix) = node.blame(&self.inputs);
            self.costs.missing.push(MissingShape { node: id, why, fix });
        }
        match node.body.op(node.id) {
            "VarHandleOp" => {
                self.variable(node, id);
                self.handle(node, id, builder);
            }
            "Variable" | "VariableV2" => self.variable(node, id),
            "Const" => self.constant(node, id, builder),
            PARAMETER => self.parameter(node, id, builder),
            _ => {}
        }
    }

    /// Finds or adds the model's node. Nodes of the graph exist; those of functions may, if a run recorded them.
    fn node(&mut self, node: &Node<'_>, builder: &mut Builder) -> Option<NodeId> {
        if node.function.is_none() {
            // Mostly, the model has the nodes in the same order.
            let next = NodeId(self.next);
            let is_next = next.index() < builder.model.nodes.len() && builder.model.name(next) == node.name;
            let id =
                if is_next { next } else { builder.model.node(builder.model.names.find(node.name.as_bytes())?)? };
            self.next = id.0 + 1;
            add_inputs_and_shapes(node, id, builder);
            return Some(id);
        }
        let mut name = builder.model.names.intern(node.name);
        let op = builder.model.names.intern(node.body.shown_op(node.id));
        let mut copy = 1;
        let id = loop {
            match builder.model.node(name) {
                None => break builder.add_node(name, op)?,
                // Only a run mentions it, or an earlier call of `annotate` added it.
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
        builder.set_shape_attribute(id, node.body.attribute(node.id, "shape").map(|shape| shape.0));
        add_inputs_and_shapes(node, id, builder);
        Some(id)
    }

    /// Keeps the shape of the first output, and the bytes of all.
    fn outputs(&mut self, node: &Node<'_>, id: NodeId, builder: &mut Builder) {
        let bytes = |fact: &Fact| {
            let dims = fact.shape.known()?;
            Some(product(dims).saturating_mul(fact.dtype.size()? as i64))
        };
        let sum = node.outputs.iter().try_fold(0_i64, |sum, fact| Some(sum.saturating_add(bytes(fact)?)));
        let shape = match node.outputs.first().and_then(|fact| fact.shape.dims()) {
            Some(dims) => builder.shape(dims),
            None => ShapeId::EMPTY,
        };
        if self.costs.tensors.len() <= id.index() {
            self.costs.tensors.resize(id.index() + 1, Outputs::default());
        }
        self.costs.tensors[id.index()] = Outputs { shape, bytes: sum };
    }

    fn variable(&mut self, node: &Node<'_>, id: NodeId) {
        if let Some(dtype) = node.body.attribute(node.id, "dtype").and_then(attr_value::dtype) {
            self.costs.dtypes.insert(id, dtype);
        }
    }

    /// Each variable counts once, however many handles it has.
    fn handle(&mut self, node: &Node<'_>, id: NodeId, builder: &mut Builder) {
        let text = |key: &str| node.body.attribute(node.id, key).and_then(attr_value::text).unwrap_or_default();
        let shared = String::from_utf8_lossy(text("shared_name"));
        let variable = if shared.is_empty() {
            node.body.name(node.id).to_owned()
        } else {
            format!("{}\0{shared}", String::from_utf8_lossy(text("container")))
        };
        let first = *self.variables.entry(variable).or_insert(id);
        if first != id {
            self.same.insert(id, first);
            let ty = builder.model.names.intern(SAME_VARIABLE);
            builder.add_type(id, ty);
        }
    }

    /// Finds the variables that nodes compute with, now that all are known.
    fn find_readers(&mut self, model: &Model) {
        let variable = |name| model.node(name).map(|id| self.same.get(&id).copied().unwrap_or(id));
        let reads = self.reads.drain(..).filter_map(|(name, reader)| Some((variable(name)?, reader)));
        self.costs.reads = reads.collect();
    }

    /// A parameter of another dialect. A shared one is one node, so it counts once.
    fn parameter(&mut self, node: &Node<'_>, id: NodeId, builder: &mut Builder) {
        let Some(fact) = node.outputs.first() else { return };
        if !self.constants.insert((node.function, node.id)) {
            return;
        }
        self.costs.dtypes.insert(id, fact.dtype);
        // As in the views, the shape of a scalar is `[1]`.
        let dims = fact.shape.known().map(|dims| if dims.is_empty() { &[1] } else { dims });
        builder.model.nodes.shape[id.index()] = builder.shape(dims.unwrap_or_default());
        let mut types = vec![CONST_PARAMETER];
        if let Some(trainable) = node.body.attribute(node.id, "trainable") {
            builder.model.knows_trainable = true;
            types.extend(attr_value::flag(trainable).then_some(TRAINABLE));
        }
        for ty in types {
            let ty = builder.model.names.intern(ty);
            builder.add_type(id, ty);
        }
    }

    /// Constants that were variables before the graph was frozen: floats, or quantized ones, with at least one dimension.
    fn constant(&mut self, node: &Node<'_>, id: NodeId, builder: &mut Builder) {
        let Some(fact) = node.outputs.first().filter(|fact| fact.dtype.is_float() || fact.dtype.is_quantized()) else {
            return;
        };
        let Some(dims @ [_, ..]) = fact.shape.known() else { return };
        if !builder.program.settings.const_params {
            self.costs.frozen_weights = self.costs.frozen_weights.saturating_add(product(dims));
        } else if self.constants.insert((node.function, node.id)) {
            self.costs.dtypes.insert(id, fact.dtype);
            builder.model.nodes.shape[id.index()] = builder.shape(dims);
            let ty = builder.model.names.intern(CONST_PARAMETER);
            builder.add_type(id, ty);
        }
    }
}

/// Finds the call stack of a node, by its name or by the name it had before the graph was rewritten.
fn find_stack(node: &Node<'_>, id: NodeId, known: &mut UntrustedMap<u64, StackId>, builder: &mut Builder) {
    if builder.program.debug_info.is_empty() || builder.model.nodes.stack[id.index()].has_frames() {
        return;
    }
    let Builder { model, program, .. } = builder;
    let debug_info = &program.debug_info;
    let Model { names, stacks, .. } = model;
    let mut stack = debug_info.stack(node.body.name(node.id), node.function_name, known, (&mut *names, &mut *stacks));
    if stack.is_none()
        && let Some(original) = node.body.attribute(node.id, ORIGINAL_NAMES)
    {
        let (mut of_node, mut of_function) = (None, None);
        each_field(Fields::new(original.0, 0), |_, number, value| match number {
            ORIGINAL_NODE_NAMES => of_node = of_node.or(value.bytes()),
            ORIGINAL_FUNC_NAMES => of_function = of_function.or(value.bytes()),
            _ => {}
        });
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (of_node, of_function) = (of_node.map(text), of_function.filter(|name| !name.is_empty()).map(text));
        stack = of_node
            .and_then(|of_node| debug_info.stack(&of_node, of_function.as_deref(), known, (&mut *names, &mut *stacks)));
    }
    if let Some(stack) = stack {
        model.nodes.stack[id.index()] = stack;
        model.has_traces = true;
    }
}

/// Gives inputs and output shapes to a node that calls functions or belongs to one. A call reads what it returns.
fn add_inputs_and_shapes(node: &Node<'_>, id: NodeId, builder: &mut Builder) {
    let keep = builder.keep;
    if !(keep.inputs || keep.output_shapes) || (node.function.is_none() && node.returned.is_empty()) {
        return;
    }
    // A call lists again what its function returns.
    budget::work(WORK_PER_OUTPUT * (node.returned.len() + node.outputs.len()) as u64);
    let mut inputs = Vec::new();
    if keep.inputs {
        if node.function.is_none() {
            inputs.extend_from_slice(builder.model.nodes.inputs(id));
        } else {
            for (source, output) in node.inputs.iter().filter(|(source, _)| !source.is_empty()) {
                inputs.push(Input { source: builder.model.names.intern(source), output: *output });
            }
        }
        for (source, output) in node.returned {
            let input = Input { source: builder.model.names.intern(source), output: *output };
            budget::work(inputs.len() as u64 / 4);
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

/// The limit of listed nodes. Beyond it, a call is not expanded: its node has the cost of its callees.
const MAX_NODES: i64 = 500_000;

/// The work for each output of a call or of a node within it.
const WORK_PER_OUTPUT: u64 = 16;

/// The memory for each listed node, besides its name.
const BYTES_PER_NODE: u64 = 256;

/// Calls with longer names are not expanded, since names grow with each level of calls.
const MAX_NAME_LENGTH: usize = 4096;

/// A node at one position of the program.
#[derive(Debug)]
struct Node<'a> {
    pub name: &'a str,
    pub body: &'a Body,
    pub id: u32,
    /// `None` for a node of the graph itself.
    pub function: Option<u32>,
    pub function_name: Option<&'a str>,
    /// Runs per run of the graph.
    pub runs: i64,
    /// The cost of one run. For a call that is not expanded, the cost of its callees.
    pub cost: Cost,
    /// The number of nodes of unknown cost, including itself and unlisted nodes of callees.
    pub unknown: i64,
    /// Why its own cost is unknown.
    pub why: Option<UnknownReason>,
    /// The number of callees' nodes that are not listed.
    pub unlisted: i64,
    pub outputs: &'a [Fact],
    instance: &'a Instance,
    /// The sources of the arguments of its function.
    args: &'a [(String, u32)],
    /// Its data inputs: name and output of the source. Arguments are traced to the caller.
    pub inputs: &'a [(String, u32)],
    /// For an expanded call, the inner tensors that it returns.
    pub returned: &'a [(String, u32)],
    /// The variables that it computes with.
    variables: &'a [Option<Variable>],
}

impl Node<'_> {
    /// Explains where inference lost a missing shape, and how to state it. `inputs` are the inputs of the program.
    pub fn blame(&self, inputs: &UntrustedSet<&str>) -> (String, Option<Fix>) {
        let culprit = self.instance.blame(self.body, self.id);
        let (name, op) = (self.body.name(culprit), self.body.shown_op(culprit));
        if self.why == Some(UnknownReason::Data) {
            return (format!("it depends on data, from `{name}` ({op}) on"), None);
        }
        let arg = self.body.arg(culprit);
        // An argument of a function may come from an input of the program.
        let input = match arg {
            Some(at) if self.function.is_some() => self.args.get(at).map(|(source, _)| source.as_str()),
            _ => Some(name),
        };
        if let Some(input) = input.filter(|input| inputs.contains(input)) {
            let fix = format!("{input}={}", shape_to_type(self.body, self.instance, culprit));
            return (format!("the shape gets lost at `{input}`"), Some(Fix::with_value("say", "input", fix)));
        }
        let why = match () {
            () if culprit == self.id => format!("the output shape of {op} cannot be inferred"),
            () if arg.is_some() => format!("the argument `{name}` has no known shape"),
            () => format!("the shape gets lost at `{name}` ({op})"),
        };
        (why, None)
    }
}

/// A body being listed.
struct Visit<'a> {
    inferred: &'a Specialization,
    prefix: String,
    /// A prefix of inner names to strip, since it repeats the name of the call.
    repeated: String,
    runs: i64,
    args: Vec<(String, u32)>,
    /// The roles of its ops, if reads of variables are followed, and the variables behind the arguments.
    roles: Option<Roles>,
    variables: Vec<Option<Variable>>,
    next: u32,
    next_call: usize,
}

/// Calls `each` for all nodes of a program. A call precedes its callee's nodes. The sources of inputs are found only for
/// calls unless they are wanted for all nodes; the variables behind them, if there are `readers`.
fn expand(
    program: &Program,
    inferred: &Inferred,
    with_inputs: bool,
    mut readers: Option<Readers>,
    each: &mut dyn FnMut(&Node<'_>),
) {
    let Some(graph) = inferred.instances.last() else { return };
    let mut listed = graph.instance.len() as i64;
    let mut roles = |function| Some(readers.as_mut()?.roles(function, program.body(function)));
    let mut open = vec![Visit { roles: roles(graph.function), ..Visit::new(graph, 1) }];
    let (mut name, mut inputs) = (String::new(), Vec::new());
    while let Some(visit) = open.last_mut() {
        let body = program.body(visit.inferred.function);
        let node = visit.next;
        if node as usize >= body.len() {
            open.pop();
            continue;
        }
        visit.next += 1;
        budget::work(1);
        if body.arg(node).is_some() {
            continue;
        }
        // Names of the graph itself are as they are, and need no copy.
        let is_inner = !visit.prefix.is_empty();
        if is_inner {
            visit.name_of(body, node, &mut name);
        }
        let name = if is_inner { name.as_str() } else { body.name(node) };
        let runs = visit.runs.saturating_mul(visit.inferred.runs.as_ref().map_or(1, |runs| runs[node as usize]));
        let (mut cost, mut unknown, why) = parts(visit.inferred.instance.cost(node));
        let mut targets = &[][..];
        if let Some(call) = visit.inferred.calls.get(visit.next_call).filter(|call| call.node == node) {
            visit.next_call += 1;
            targets = &call.targets;
            unknown = i64::from(targets.is_empty());
        }
        inputs.clear();
        if with_inputs || !targets.is_empty() {
            inputs.extend(body.inputs(node).iter().map(|tensor| visit.source(body, *tensor)));
        }
        let variables = visit.variables(body, node, !targets.is_empty());
        let total = total_of(inferred, targets);
        let is_unlisted = !targets.is_empty() && is_too_large(&total, listed, name.len());
        if is_unlisted {
            (cost, unknown) = (total.cost, total.unknown);
        } else {
            listed += total.nodes;
        }
        let mut visits = Vec::new();
        for target in if is_unlisted { &[] } else { targets } {
            let mut callee = Visit::of_callee(inferred, target, name, body.name(node), runs, &inputs);
            callee.variables = variables.get(target.skipped as usize..).unwrap_or_default().to_vec();
            callee.roles = roles(callee.inferred.function);
            visits.push(callee);
        }
        let returned = if with_inputs { returned_by(program, &visits, name) } else { Vec::new() };
        each(&Node {
            name,
            body,
            id: node,
            function: visit.inferred.function,
            function_name: visit.inferred.function.map(|function| program.library.get(function).name.as_str()),
            runs,
            cost,
            unknown: if runs > 0 { unknown } else { 0 },
            why: if unknown > 0 { why.or(Some(UnknownReason::NoFormula)) } else { None },
            unlisted: if is_unlisted { total.nodes } else { 0 },
            outputs: visit.inferred.instance.outputs(node),
            instance: &visit.inferred.instance,
            args: &visit.args,
            inputs: &inputs,
            returned: &returned,
            // An expanded call does not compute; its nodes do.
            variables: if visits.is_empty() { &variables } else { &[] },
        });
        open.extend(visits.into_iter().rev());
    }
}

/// A cost, the number of nodes whose cost is unknown, and the reason.
fn parts(cost: NodeCost) -> (Cost, i64, Option<UnknownReason>) {
    match cost {
        NodeCost::Known(cost) => (cost, 0, None),
        NodeCost::Unknown(why, cost) => (cost, 1, Some(why)),
        NodeCost::Call => (Cost::default(), 0, None),
    }
}

/// Whether the callees of a call have more nodes than can be listed besides those `listed` so far.
fn is_too_large(total: &Total, listed: i64, name_length: usize) -> bool {
    let nodes = total.nodes.max(0).unsigned_abs();
    // Each inner node has a name that starts with that of the call.
    let memory = nodes.saturating_mul(BYTES_PER_NODE + 4 * name_length as u64);
    let too_many = listed.saturating_add(total.nodes) > MAX_NODES || name_length > MAX_NAME_LENGTH;
    too_many || !budget::can_afford(nodes, memory)
}

/// The cost of all callees of a call.
fn total_of(inferred: &Inferred, targets: &[Target]) -> Total {
    let mut total = Total::default();
    for target in targets {
        total.add(&inferred.instances[target.instance as usize].total, target.runs, target.by_batch);
    }
    total
}

/// The tensors that callees return to the call `name`, but for arguments that they pass on.
fn returned_by(program: &Program, callees: &[Visit<'_>], name: &str) -> Vec<(String, u32)> {
    let mut returned = Vec::new();
    for callee in callees {
        let body = program.body(callee.inferred.function);
        returned.extend(body.returns.iter().map(|tensor| callee.source(body, *tensor)));
    }
    returned.retain(|(source, _)| source.starts_with(name));
    returned
}

impl<'a> Visit<'a> {
    fn new(inferred: &'a Specialization, runs: i64) -> Visit<'a> {
        let (prefix, repeated) = (String::new(), String::new());
        let (args, variables) = (Vec::new(), Vec::new());
        Visit { inferred, prefix, repeated, runs, args, roles: None, variables, next: 0, next_call: 0 }
    }

    /// The body of a callee. `name` is the listed name of the call, `local` its name in the caller's body.
    fn of_callee(
        all: &'a Inferred,
        target: &Target,
        name: &str,
        local: &str,
        runs: i64,
        inputs: &[(String, u32)],
    ) -> Visit<'a> {
        let inferred = &all.instances[target.instance as usize];
        let mut visit = Visit::new(inferred, runs.saturating_mul(target.runs));
        visit.prefix = format!("{name}/");
        if !target.part.is_empty() {
            visit.prefix.push_str(&target.part);
            visit.prefix.push('/');
            visit.repeated = format!("{local}/");
        }
        visit.args = inputs.get(target.skipped as usize..).unwrap_or_default().to_vec();
        visit
    }

    fn name_of(&self, body: &Body, node: u32, out: &mut String) {
        let inner = body.name(node);
        out.clear();
        out.push_str(&self.prefix);
        out.push_str(inner.strip_prefix(&self.repeated).unwrap_or(inner));
    }

    /// The variables behind the inputs of a call, or those that another op computes with.
    fn variables(&self, body: &Body, node: u32, is_call: bool) -> Vec<Option<Variable>> {
        let Some(roles) = &self.roles else { return Vec::new() };
        if !is_call && !readers::computes(body, roles, node) {
            return Vec::new();
        }
        let name = |node| {
            let mut name = String::new();
            self.name_of(body, node, &mut name);
            name
        };
        let variable = |tensor: &Tensor| readers::variable(body, roles, *tensor, &self.variables, name);
        body.inputs(node).iter().map(variable).filter(|variable| is_call || variable.is_some()).collect()
    }

    /// The source of a tensor, by its listed name.
    fn source(&self, body: &Body, tensor: Tensor) -> (String, u32) {
        if tensor.node as usize >= body.len() || body.is_hidden(tensor.node) {
            return (String::new(), 0);
        }
        if let Some(arg) = body.arg(tensor.node) {
            return self.args.get(arg).cloned().unwrap_or_default();
        }
        let mut name = String::new();
        self.name_of(body, tensor.node, &mut name);
        (name, tensor.output)
    }
}
