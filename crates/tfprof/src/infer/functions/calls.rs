//! Infers a graph and all its callees: one specialization for each function and list of arguments.
//!
//! Callers wait on an explicit stack while their callees are inferred, so deep calls do not exhaust the native stack.
//! Results are memoized by function and arguments, so repeated calls are free. Recursive functions are not expanded.

use super::frames;
use super::specialization::{Call, Specialization, Target, Total};

use super::library::{Library, function_names, recursive};
use super::trip_counts::TripCounts;
use super::trips::{self, Facts, LoopFunction, Trips};
use crate::budget;
use crate::error::Warning;
use crate::hash::UntrustedMap;
use crate::infer::fact::{ANY, BATCHES, Fact, Point, Shape};
use crate::infer::inference::{Answer, Calls, Cost, Inference, Instance, NodeCost};
use crate::infer::overrides::Overrides;
use crate::infer::shapes::Op;
use crate::model::attr_value;
use crate::model::body::Body;
use crate::model::dtype::DType;
use crate::model::functions::CALL_OPS;
use crate::model::program::ProgramBuilder;
use std::collections::{BTreeMap, BTreeSet};

/// After this many rounds of widening the facts of a loop, only their types are kept.
const MAX_WIDENINGS: usize = 8;

/// The limit of inferred nodes over all specializations.
const MAX_NODES: usize = 4_000_000;

/// The memory for each inferred node.
const BYTES_PER_NODE: u64 = 128;

/// Further ops that call functions.
const MORE_CALL_OPS: &[&str] = &["BatchFunction", "XlaLaunch"];

/// A graph, its functions, and the user's trip counts.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub graph: Body,
    pub library: Library,
    pub trip_counts: TripCounts,
}

/// The result of inference. Callees come before their callers; the last instance is the graph itself.
#[derive(Clone, Debug, Default)]
pub struct Inferred {
    pub instances: Vec<Specialization>,
    /// Warnings, each with a stable code.
    pub warnings: BTreeSet<Warning>,
}

impl Program {
    /// Moves the graph and the functions read since the last call out of the builder.
    pub fn update(&mut self, builder: &mut ProgramBuilder) {
        if !builder.graph.is_empty() {
            self.graph = std::mem::take(&mut builder.graph).resolve();
        } else if !builder.served.is_empty() {
            self.graph = std::mem::take(&mut builder.served);
        }
        if !builder.lowered.is_empty() {
            self.library = Library::of_bodies(std::mem::take(&mut builder.lowered));
        } else if !builder.functions.is_empty() {
            self.library = Library::new(std::mem::take(&mut builder.functions), self.graph.producer);
        }
        if !self.graph.is_empty() {
            self.trip_counts = TripCounts::new(&builder.settings.trip_counts);
        }
    }

    /// The body of an instance.
    pub fn body(&self, function: Option<u32>) -> &Body {
        function.map_or(&self.graph, |function| &self.library.get(function).body)
    }

    /// Infers the graph and all its callees.
    pub fn infer(&self, overrides: &Overrides) -> Inferred {
        let no_overrides = Overrides::default();
        let mut resolver = Resolver {
            program: self,
            recursive: recursive(&self.library),
            known: vec![UntrustedMap::default(); self.library.len()],
            done: Inferred::default(),
            missing: Vec::new(),
            nodes: 0,
            conflicts: BTreeMap::new(),
        };
        let mut waiting = vec![Pending { function: None, args: Vec::new(), inference: None }];
        while let Some(mut pending) = waiting.pop() {
            // Another caller may have needed it first.
            if pending.inference.is_none() && resolver.knows(pending.function, &pending.args) {
                continue;
            }
            let body = self.body(pending.function);
            let overrides = if pending.function.is_some() { &no_overrides } else { overrides };
            let inference = pending.inference.get_or_insert_with(|| Inference::new(body, &pending.args, &resolver));
            resolver.missing.clear();
            if !inference.run(body, overrides, &mut resolver) {
                waiting.push(pending);
                let missing = std::mem::take(&mut resolver.missing).into_iter().rev();
                let later = |Missing { function, args }| Pending { function: Some(function), args, inference: None };
                waiting.extend(missing.map(later));
            } else if let Pending { function, args, inference: Some(inference) } = pending {
                resolver.finish(function, args, inference.finish());
            }
        }
        resolver.warn_of_conflicts();
        resolver.done
    }

    fn trip_count(&self, name: &str) -> Option<i64> {
        self.trip_counts.get(name)
    }
}

/// A body whose inference waits for a callee, or has not started.
struct Pending {
    /// `None` for the graph.
    function: Option<u32>,
    args: Vec<Fact>,
    inference: Option<Inference>,
}

/// Answers calls from finished instances, and remembers the missing ones.
struct Resolver<'p> {
    program: &'p Program,
    recursive: Vec<bool>,
    /// By function: the arguments and indices of its finished instances.
    known: Vec<UntrustedMap<Vec<Fact>, u32>>,
    done: Inferred,
    missing: Vec<Missing>,
    nodes: usize,
    /// Contradictory shapes, by function and node.
    conflicts: BTreeMap<(Option<u32>, u32), (Shape, Shape)>,
}

/// An instance that must be inferred first.
struct Missing {
    function: u32,
    args: Vec<Fact>,
}

/// The outputs and callees of a call; both empty if the callee is unknown.
#[derive(Default)]
struct Resolved {
    outputs: Vec<Fact>,
    targets: Vec<Target>,
}

impl Calls for Resolver<'_> {
    fn is_call(&self, op: &str) -> bool {
        CALL_OPS.contains(&op) || MORE_CALL_OPS.contains(&op) || self.program.library.find(op).is_some()
    }

    fn call(&mut self, call: &Op<'_>) -> Answer {
        match self.resolve(call, false) {
            Ok(resolved) => Answer::Outputs(resolved.outputs),
            Err(missing) => {
                self.missing.push(missing);
                Answer::Later
            }
        }
    }
}

impl Resolver<'_> {
    /// Adds a finished instance.
    fn finish(&mut self, function: Option<u32>, args: Vec<Fact>, instance: Instance) {
        let program = self.program;
        let body = program.body(function);
        let mut calls = Vec::new();
        if body.ops().0.any(|op| self.is_call(op)) {
            for node in (0..body.len() as u32).filter(|node| instance.cost(*node) == NodeCost::Call) {
                let fact = |tensor: &_| instance.fact(*tensor).cloned().unwrap_or_default();
                let inputs: Vec<Fact> = body.inputs(node).iter().map(fact).collect();
                let targets =
                    self.resolve(&Op { body, node, inputs: &inputs }, true).map_or(Vec::new(), |call| call.targets);
                calls.push(Call { node, targets });
            }
        }
        if instance.has_conflicts() {
            let conflict = |node| Some(((function, node), instance.conflict(node)?.clone()));
            self.conflicts.extend((0..body.len() as u32).filter_map(conflict));
        }
        let mut inferred = Specialization { function, instance, calls, runs: None, total: Total::default() };
        let (runs, warnings) = self.runs(body, &inferred, Point::Asked);
        self.done.warnings.extend(warnings);
        let is_variable = runs.is_some() && inferred.instance.is_symbolic();
        let runs_at = |index| self.runs(body, &inferred, Point::Batch(index)).0;
        let by_batch = is_variable.then(|| std::array::from_fn(runs_at));
        inferred.runs = runs;
        inferred.total = self.total(body, &inferred, by_batch.as_ref());
        if let Some(function) = function {
            self.known[function as usize].insert(args, self.done.instances.len() as u32);
        }
        self.done.instances.push(inferred);
    }

    /// The runs of each node at a size of the batch, by its loops and conditionals. Also returns warnings.
    fn runs(&self, body: &Body, inferred: &Specialization, point: Point) -> (Option<Vec<i64>>, Vec<Warning>) {
        let facts = Facts { instance: &inferred.instance, point };
        let frames::Runs { runs, warnings } = frames::runs(body, facts, &|name| self.program.trip_count(name));
        let price = |node: u32| {
            let runs = runs.as_ref().map_or(1, |runs| runs[node as usize]);
            let call = inferred.calls.binary_search_by_key(&node, |call| call.node).ok();
            let own = self.own_total(body, inferred, node, call.map(|at| &inferred.calls[at]));
            let mut cost = Cost::default();
            cost.add(&own.cost_at(point), runs);
            (cost.float_ops, cost.io_bytes, if runs > 0 { own.unknown } else { 0 })
        };
        let value = |predicate| facts.get(predicate).and_then(Fact::integer);
        (inferred.instance.branches.choose(price, value, runs.clone()), warnings)
    }

    /// The cost of one run of a body. `by_batch` are the runs of its nodes at each of [`BATCHES`], if they vary.
    fn total(
        &self,
        body: &Body,
        inferred: &Specialization,
        by_batch: Option<&[Option<Vec<i64>>; BATCHES.len()]>,
    ) -> Total {
        let mut total = Total { nodes: -(body.args.len() as i64), ..Total::default() };
        let mut calls = inferred.calls.iter().peekable();
        let count = |runs: Option<&Vec<i64>>, node: u32| runs.map_or(1, |runs| runs[node as usize]);
        for node in 0..body.len() as u32 {
            let runs = count(inferred.runs.as_ref(), node);
            let by_batch = by_batch
                .map_or([runs; BATCHES.len()], |all| std::array::from_fn(|index| count(all[index].as_ref(), node)));
            let call = calls.next_if(|call| call.node == node);
            total.add(&self.own_total(body, inferred, node, call), runs, by_batch);
        }
        total
    }

    /// The total of one run of a node, with its callees.
    fn own_total(&self, body: &Body, inferred: &Specialization, node: u32, call: Option<&Call>) -> Total {
        let instance = &inferred.instance;
        let mut own = Total { nodes: 1, cost: instance.cost_at(node, Point::Asked), ..Total::default() };
        own.by_batch = std::array::from_fn(|index| instance.cost_at(node, Point::Batch(index)));
        match instance.cost(node) {
            NodeCost::Known(_) => {}
            NodeCost::Unknown(..) => own.unknown = i64::from(body.arg(node).is_none()),
            NodeCost::Call => {
                let targets = call.map_or(&[][..], |call| &call.targets);
                own.unknown = i64::from(targets.is_empty());
                for target in targets {
                    own.add(&self.done.instances[target.instance as usize].total, target.runs, target.by_batch);
                }
            }
        }
        own
    }

    /// Warns of shapes that contradict those of the file.
    fn warn_of_conflicts(&mut self) {
        let Some(((function, node), (own, stated))) = self.conflicts.first_key_value() else { return };
        let body = self.program.body(*function);
        let more = match self.conflicts.len() - 1 {
            0 => String::new(),
            1 => "; another node has such shapes".to_owned(),
            more => format!("; {more} more nodes have such shapes"),
        };
        let what = format!(
            "the shape of `{}` ({}) is {own:?} by inference and {stated:?} by its _output_shapes; the first counts{more}",
            body.name(*node),
            body.shown_op(*node)
        );
        self.done.warnings.insert(Warning::new("shape_conflict", what));
    }

    fn knows(&self, function: Option<u32>, args: &[Fact]) -> bool {
        function.is_some_and(|function| self.known[function as usize].contains_key(args))
    }

    /// The instance of a function for these arguments; `None` if the function is not expanded.
    fn instance(&mut self, function: u32, args: &[Fact]) -> Result<Option<u32>, Missing> {
        let name = || self.program.library.get(function).name.clone();
        if self.recursive[function as usize] {
            let what =
                format!("the function `{}` calls itself; calls to it are not expanded and count as unknown", name());
            self.done.warnings.insert(Warning::new("recursion", what));
            return Ok(None);
        }
        let body = &self.program.library.get(function).body;
        let args = &args[..args.len().min(body.args.len())];
        if let Some(index) = self.known[function as usize].get(args) {
            return Ok(Some(*index));
        }
        let size = body.len() as u64 + 1;
        if self.nodes > MAX_NODES || !budget::can_afford(size, size.saturating_mul(BYTES_PER_NODE)) {
            let what =
                "functions are called with too many different arguments to infer them all; some calls count as unknown";
            self.done.warnings.insert(Warning::new("too_many_calls", what));
            return Ok(None);
        }
        self.nodes += body.len() + 1;
        Err(Missing { function, args: args.to_vec() })
    }

    fn returns(&self, instance: u32) -> Vec<Fact> {
        let inferred = &self.done.instances[instance as usize];
        inferred.instance.returns(self.program.body(inferred.function))
    }

    /// The outputs and callees of a call. Trip counts are determined only the `last` time.
    fn resolve(&mut self, call: &Op<'_>, last: bool) -> Result<Resolved, Missing> {
        let op = call.body.op(call.node);
        if let Some(function) = self.program.library.find(op) {
            return self.direct_call(call, function, 0);
        }
        match op {
            "If" | "StatelessIf" | "_If" => {
                let branches = [("then", "then_branch"), ("else", "else_branch")];
                let functions = branches.map(|(part, attribute)| (part.to_owned(), self.function(call, attribute)));
                self.branches(call, &functions, |flag| usize::from(flag == 0))
            }
            "Case" | "StatelessCase" => {
                let names = call.body.attribute(call.node, "branches").map(function_names).unwrap_or_default();
                let branch = |(at, name): (usize, &String)| (format!("branch{at}"), self.named(name));
                let functions: Vec<_> = names.iter().enumerate().map(branch).collect();
                // As TensorFlow: an index out of range means the last branch.
                let last_branch = functions.len().saturating_sub(1);
                self.branches(call, &functions, |index| usize::try_from(index).unwrap_or(last_branch).min(last_branch))
            }
            "While" | "StatelessWhile" | "_While" => self.while_loop(call, last),
            "For" => self.for_loop(call),
            "MapDefun" => self.map_defun(call),
            // The file does not contain the gradient function.
            "SymbolicGradient" => {
                // Each gradient is shaped like its argument.
                let types = call.body.attribute(call.node, "Tout").map(attr_value::dtypes).unwrap_or_default();
                let gradient = |(dtype, of): (DType, &Fact)| of.map(|of| Fact::new(dtype, of.shape));
                let outputs = types.into_iter().zip(call.inputs).map(gradient).collect();
                Ok(Resolved { outputs, targets: Vec::new() })
            }
            "RemoteCall" => self.attribute_call(call, "f", 1),
            "XlaLaunch" => self.attribute_call(call, "function", 0),
            _ => self.attribute_call(call, "f", 0),
        }
    }

    fn attribute_call(&mut self, call: &Op<'_>, attribute: &str, skipped: u32) -> Result<Resolved, Missing> {
        match self.function(call, attribute) {
            Some(function) => self.direct_call(call, function, skipped),
            None => Ok(Resolved::default()),
        }
    }

    fn direct_call(&mut self, call: &Op<'_>, function: u32, skipped: u32) -> Result<Resolved, Missing> {
        let args = call.inputs.get(skipped as usize..).unwrap_or_default();
        let Some(instance) = self.instance(function, args)? else { return Ok(Resolved::default()) };
        let targets = vec![Target::new(instance, String::new(), [1; Point::ALL.len()], skipped)];
        Ok(Resolved { outputs: self.returns(instance), targets })
    }

    /// A call that runs one of several branches: the one that `choose` returns for the first input if that is known,
    /// otherwise the costliest.
    fn branches(
        &mut self,
        call: &Op<'_>,
        functions: &[(String, Option<u32>)],
        choose: impl Fn(i64) -> usize,
    ) -> Result<Resolved, Missing> {
        let args = call.inputs.get(1..).unwrap_or_default();
        let mut targets = Vec::new();
        // All missing ones at once: the branches are looked at again after they are inferred.
        let (mut missing, mut seen) = (Vec::new(), BTreeSet::new());
        for (part, function) in functions {
            let Some(function) = function.filter(|function| !seen.contains(function)) else { continue };
            match self.instance(function, args) {
                Ok(Some(instance)) => targets.push(Target::new(instance, part.clone(), [0; Point::ALL.len()], 1)),
                Ok(None) => {}
                Err(more) => {
                    seen.insert(function);
                    missing.push(more);
                }
            }
        }
        if let Some(last) = missing.pop() {
            self.missing.extend(missing);
            return Err(last);
        }
        let all_known = targets.len() == functions.len();
        if targets.is_empty() {
            return Ok(Resolved { outputs: Vec::new(), targets });
        }
        let switch = call.inputs.first().unwrap_or(&Fact::UNKNOWN);
        let taken = |point| switch.at(point).integer().map(&choose).filter(|_| all_known);
        let price = |target: &Target, point| {
            let total = &self.done.instances[target.instance as usize].total;
            let cost = total.cost_at(point);
            (cost.float_ops, cost.io_bytes, total.unknown)
        };
        // The first of equals.
        let costliest = |point| (0..targets.len()).rev().max_by_key(|at| price(&targets[*at], point));
        let chosen = Point::ALL.map(|point| taken(point).or_else(|| costliest(point)).unwrap_or_default());
        let returns: Vec<Vec<Fact>> = targets.iter().map(|target| self.returns(target.instance)).collect();
        let fact =
            |branch: usize, place: usize, point| returns[branch].get(place).unwrap_or(&Fact::UNKNOWN).plain(point);
        let output = |place: usize| {
            Fact::at_each(|point| match taken(point) {
                Some(branch) => fact(branch, place, point),
                None => (1..returns.len())
                    .fold(fact(0, place, point), |all, branch| all.either(&fact(branch, place, point))),
            })
        };
        let count = returns.iter().map(Vec::len).min().unwrap_or(0);
        let outputs = if all_known { (0..count).map(output).collect() } else { Vec::new() };
        targets[chosen[0]].runs = 1;
        chosen[1..].iter().enumerate().for_each(|(at, branch)| targets[*branch].by_batch[at] = 1);
        Ok(Resolved { outputs, targets })
    }

    /// `While`: widens the facts of the loop variables until another iteration does not change them.
    fn while_loop(&mut self, call: &Op<'_>, last: bool) -> Result<Resolved, Missing> {
        let (Some(cond_function), Some(body_function)) = (self.function(call, "cond"), self.function(call, "body"))
        else {
            return Ok(Resolved::default());
        };
        let mut facts = call.inputs.to_vec();
        let mut widenings = 0;
        let body = loop {
            let Some(body) = self.instance(body_function, &facts)? else { return Ok(Resolved::default()) };
            let after = self.returns(body);
            let unknown = Fact::default();
            let widened: Vec<Fact> =
                facts.iter().enumerate().map(|(at, fact)| fact.either(after.get(at).unwrap_or(&unknown))).collect();
            if widened == facts {
                break body;
            }
            widenings += 1;
            facts = widened;
            if widenings >= MAX_WIDENINGS {
                facts.iter_mut().for_each(|fact| *fact = Fact::of_type(fact.dtype));
            }
            if widenings > MAX_WIDENINGS {
                // Facts without shapes and values hold for any iteration.
                break body;
            }
        };
        let Some(cond) = self.instance(cond_function, &facts)? else { return Ok(Resolved::default()) };
        let trips = self.trips(call, |resolver, point| {
            trips::of_functions(resolver.loop_function(cond, point), resolver.loop_function(body, point), call.inputs)
        });
        let counts = if last { self.counts(call, trips) } else { [1; Point::ALL.len()] };
        // The loop of a gradient runs as often as the counter of the forward loop says in the end.
        for (at, fact) in facts.iter_mut().enumerate().filter(|(_, fact)| fact.shape.rank() == Some(0)) {
            *fact = Fact::at_each(|point| self.last_value(fact.plain(point), at, call, body, trips, point));
        }
        let targets = vec![
            Target::new(cond, "cond".to_owned(), counts.map(|count| count.saturating_add(1)), 0),
            Target::new(body, "body".to_owned(), counts, 0),
        ];
        if let Some(stated) = call.body.attribute(call.node, "output_shapes") {
            for (fact, shape) in facts.iter_mut().zip(attr_value::shapes(stated)) {
                *fact = fact.map(|fact| Fact { shape: fact.shape.and(&shape), ..fact });
            }
        }
        Ok(Resolved { outputs: facts, targets })
    }

    /// The condition or the body of a loop.
    fn loop_function(&self, instance: u32, point: Point) -> LoopFunction<'_> {
        let inferred = &self.done.instances[instance as usize];
        let facts = Facts { instance: &inferred.instance, point };
        LoopFunction { body: self.program.body(inferred.function), facts }
    }

    /// A loop variable after the loop: a counter has a number if the trip count is known.
    fn last_value(&self, fact: Fact, at: usize, call: &Op<'_>, body: u32, trips: TripsAtEach, point: Point) -> Fact {
        let count = Point::ALL.iter().zip(trips).find(|(of, _)| **of == point).and_then(|(_, trips)| trips);
        let Some(Trips { count, exact: true }) = count.filter(|_| fact.integer().is_none()) else { return fact };
        let counter = trips::variable(self.loop_function(body, point), call.inputs, at);
        match counter.and_then(|counter| counter.after(count)) {
            Some(number) => Fact::with_value(fact.dtype, fact.shape, Some(vec![number])),
            None => fact,
        }
    }

    /// The trip counts of a loop at each size of the batch: what the user says, else what `find` finds.
    fn trips(&self, call: &Op<'_>, find: impl Fn(&Self, Point) -> Option<Trips>) -> TripsAtEach {
        let given = self.program.trip_count(call.body.name(call.node));
        Point::ALL.map(|point| given.map(|count| Trips { count, exact: true }).or_else(|| find(self, point)))
    }

    /// How often a loop counts; with a warning if that is uncertain.
    fn counts(&mut self, call: &Op<'_>, trips: TripsAtEach) -> [i64; Point::ALL.len()] {
        self.done.warnings.extend(trips::warning(call.body.name(call.node), trips[0].as_ref()));
        trips.map(|trips| trips.map_or(1, |trips| trips.count))
    }

    /// `For`: start, limit and delta, then the loop variables. The body takes the index, then the loop variables.
    fn for_loop(&mut self, call: &Op<'_>) -> Result<Resolved, Missing> {
        let Some(body) = self.function(call, "body") else { return Ok(Resolved::default()) };
        let index = call.inputs.first().map_or_else(Fact::default, |fact| Fact::new(fact.dtype, Shape::scalar()));
        let attribute = |name: &str| call.body.attribute(call.node, name);
        // ONNX: a loop over the elements of some inputs, which has no index.
        let sequences = attribute("sequences").and_then(attr_value::ints).unwrap_or_default();
        let is_sequence = |at: usize| matches!(sequences[..], [from, to] if (from..to).contains(&(at as i64)));
        let has_index = !attribute("no_index").is_some_and(attr_value::flag);
        let mut args = if has_index { vec![index] } else { Vec::new() };
        args.extend(call.inputs.iter().skip(3).enumerate().map(|(at, fact)| {
            let fact = fact.map(|fact| Fact { value: None, ..fact });
            if is_sequence(at) { fact.map(|fact| element_of(&fact)) } else { fact }
        }));
        let Some(instance) = self.instance(body, &args)? else { return Ok(Resolved::default()) };
        let trips = self.trips(call, |_, point| {
            let range: Vec<_> = call.inputs.iter().take(3).map(|fact| fact.at(point).integer()).collect();
            match range[..] {
                [Some(start), Some(limit), Some(delta)] => trips::of_range(start, limit, delta),
                _ => {
                    let mut lengths = call.inputs.iter().skip(3).enumerate().filter(|(at, _)| is_sequence(*at));
                    let length =
                        lengths.next().map(|(_, fact)| fact.at(point).shape.dim(0)).filter(|length| *length >= 0);
                    length.map(|count| Trips { count, exact: true })
                }
            }
        });
        let counts = self.counts(call, trips);
        let skipped = if has_index { 2 } else { 3 };
        let targets = vec![Target::new(instance, "body".to_owned(), counts, skipped)];
        let mut outputs = self.returns(instance);
        // ONNX: the last outputs collect a tensor of each iteration.
        let stacked = attribute("stacked").and_then(attr_value::int).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let first = outputs.len().saturating_sub(stacked);
        let of_trips =
            |point: Point| Point::ALL.iter().zip(counts).find(|(of, _)| **of == point).map_or(ANY, |(_, count)| count);
        for output in &mut outputs[first..] {
            *output = Fact::at_each(|point| {
                let dims = output.at(point).shape.dims().map(|dims| [&[of_trips(point)], dims].concat());
                Fact::new(output.dtype, dims.map_or(Shape::UNKNOWN, |dims| Shape::of(&dims)))
            });
        }
        Ok(Resolved { outputs, targets })
    }

    /// `MapDefun`: the function takes one element of each argument, and captured tensors as a whole.
    fn map_defun(&mut self, call: &Op<'_>) -> Result<Resolved, Missing> {
        let Some(function) = self.function(call, "f") else { return Ok(Resolved::default()) };
        let mapped = call.body.attribute(call.node, "Targuments").map_or(0, |types| attr_value::dtypes(types).len());
        let args: Vec<Fact> = call
            .inputs
            .iter()
            .enumerate()
            .map(|(at, fact)| if at < mapped { fact.map(|fact| element_of(&fact)) } else { fact.clone() })
            .collect();
        let Some(instance) = self.instance(function, &args)? else { return Ok(Resolved::default()) };
        let length =
            |point| call.inputs.iter().take(mapped).map(|fact| fact.at(point).shape.dim(0)).find(|dim| *dim >= 0);
        let trips = self.trips(call, |_, point| length(point).map(|count| Trips { count, exact: true }));
        let counts = self.counts(call, trips);
        let batched = |fact: &Fact| {
            Fact::at_each(|point| {
                let dims = fact.at(point).shape.dims().map(|dims| [&[length(point).unwrap_or(ANY)], dims].concat());
                Fact::new(fact.dtype, dims.map_or(Shape::UNKNOWN, |dims| Shape::of(&dims)))
            })
        };
        let outputs = self.returns(instance).iter().map(batched).collect();
        Ok(Resolved { outputs, targets: vec![Target::new(instance, "body".to_owned(), counts, 0)] })
    }

    /// The function named by an attribute.
    fn function(&mut self, call: &Op<'_>, attribute: &str) -> Option<u32> {
        let names = call.body.attribute(call.node, attribute).map(function_names).unwrap_or_default();
        let name = names.first()?;
        let function = self.named(name);
        if function.is_none() {
            let what = format!("the function `{name}` is called but not in the file; calls to it count as unknown");
            self.done.warnings.insert(Warning::new("missing_function", what));
        }
        function
    }

    fn named(&self, name: &str) -> Option<u32> {
        self.program.library.find(name)
    }
}

/// The trip count of a loop at each of [`Point::ALL`].
type TripsAtEach = [Option<Trips>; Point::ALL.len()];

/// An element of a tensor along its first dimension.
fn element_of(fact: &Fact) -> Fact {
    let shape = fact.shape.dims().and_then(|dims| dims.get(1..)).map_or(Shape::UNKNOWN, Shape::of);
    Fact::new(fact.dtype, shape)
}
