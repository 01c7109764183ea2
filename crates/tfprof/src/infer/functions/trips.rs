//! Trip counts of loops, derived from counters, constants and shapes.
//!
//! In iteration `t` a counter is `base + step·t`, so a comparison of two counters changes its result only a few times.
//! The first iteration in which the condition fails is next to one of these changes.

use crate::error::{Fix, Warning};
use crate::infer::fact::{Fact, Point};
use crate::infer::inference::Instance;
use crate::model::body::{Body, Tensor};

/// A trip count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trips {
    pub count: i64,
    /// False if another, unknown condition may end the loop earlier.
    pub exact: bool,
}

/// A number that changes by the same amount in each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    pub base: i64,
    pub step: i64,
}

impl Affine {
    /// The number after some iterations.
    pub fn after(self, trips: i64) -> Option<i64> {
        self.base.checked_add(self.step.checked_mul(trips)?)
    }
}

/// The limit of nested sums.
const MAX_DEPTH: u32 = 32;

/// The sources of the numbers in a condition.
pub trait Numbers {
    fn body(&self) -> &Body;
    fn fact(&self, tensor: Tensor) -> Option<&Fact>;
    /// The counter behind `tensor`, if it is a loop variable.
    fn counter(&self, tensor: Tensor) -> Option<Affine>;
    /// The input of a node that passes it on unchanged.
    fn passed(&self, node: u32) -> Option<Tensor> {
        passed(self.body(), node)
    }
}

/// The input of a node that passes it on unchanged.
pub fn passed(body: &Body, node: u32) -> Option<Tensor> {
    const PASSES: &[&str] =
        &["Identity", "StopGradient", "Snapshot", "EnsureShape", "PreventGradient", "Cast", "Squeeze", "Reshape"];
    let first = body.inputs(node).first().copied();
    first.filter(|_| PASSES.contains(&body.op(node)))
}

/// The facts of an instance at a size of the batch.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub instance: &'a Instance,
    pub point: Point,
}

impl<'a> Facts<'a> {
    pub fn get(&self, tensor: Tensor) -> Option<&'a Fact> {
        self.instance.fact(tensor).map(|fact| fact.at(self.point))
    }
}

/// The condition or the body of a `While`, with facts that hold in every iteration.
#[derive(Clone, Copy, Debug)]
pub struct LoopFunction<'a> {
    pub body: &'a Body,
    pub facts: Facts<'a>,
}

/// The trip count of a `While`. `args` are the facts before the first iteration.
pub fn of_functions(cond: LoopFunction<'_>, body: LoopFunction<'_>, args: &[Fact]) -> Option<Trips> {
    let numbers = Functions { cond, body, args };
    of_condition(&numbers, *cond.body.returns.first()?)
}

/// The trip count of a range.
pub fn of_range(start: i64, limit: i64, delta: i64) -> Option<Trips> {
    if delta == 0 {
        return None;
    }
    let distance = i128::from(limit) - i128::from(start);
    let (delta, up) = (i128::from(delta), delta > 0);
    let distance = if up { distance } else { -distance };
    let count = (distance.max(0) + delta.abs() - 1) / delta.abs();
    Some(Trips { count: i64::try_from(count).ok()?, exact: true })
}

/// The warning about a loop whose trip count is uncertain.
pub fn warning(name: &str, trips: Option<&Trips>) -> Option<Warning> {
    let message = match trips {
        None => format!("the trip count of the loop `{name}` is unknown; it counts once"),
        Some(Trips { count, exact: false }) => {
            format!("the loop `{name}` runs at most {count} times; the trip count is taken as {count}")
        }
        Some(_) => return None,
    };
    let fix = Fix::with_value("set it with", "trip_count", format!("{name}=N"));
    Some(Warning::new("trip_count", message).with_fix(fix))
}

struct Functions<'a> {
    cond: LoopFunction<'a>,
    body: LoopFunction<'a>,
    args: &'a [Fact],
}

impl Numbers for Functions<'_> {
    fn body(&self) -> &Body {
        self.cond.body
    }

    fn fact(&self, tensor: Tensor) -> Option<&Fact> {
        self.cond.facts.get(tensor)
    }

    fn counter(&self, tensor: Tensor) -> Option<Affine> {
        variable(self.body, self.args, self.cond.body.arg(tensor.node)?)
    }
}

/// A variable of a `While` as a counter, if its body adds the same number in each iteration.
pub fn variable(body: LoopFunction<'_>, args: &[Fact], index: usize) -> Option<Affine> {
    let LoopFunction { body, facts } = body;
    let base = args.get(index)?.at(facts.point).integer()?;
    let arg = Tensor { node: *body.args.get(index)?, output: 0 };
    let step = step(body, facts, &|node| passed(body, node), arg, *body.returns.get(index)?)?;
    Some(Affine { base, step })
}

/// The increment from `before` to `after`.
pub fn step(
    body: &Body,
    facts: Facts<'_>,
    passed: &dyn Fn(u32) -> Option<Tensor>,
    before: Tensor,
    after: Tensor,
) -> Option<i64> {
    let mut at = after;
    let mut sum = 0_i64;
    for _ in 0..MAX_DEPTH {
        if at.node == before.node {
            return Some(sum);
        }
        if at.node as usize >= body.len() {
            return None;
        }
        if let Some(next) = passed(at.node) {
            at = next;
            continue;
        }
        let [a, b] = body.inputs(at.node) else { return None };
        let number = |tensor: &Tensor| facts.get(*tensor).and_then(Fact::integer);
        let (next, change) = match (body.op(at.node), number(a), number(b)) {
            ("Add" | "AddV2", _, Some(n)) => (*a, n),
            ("Add" | "AddV2", Some(n), _) => (*b, n),
            ("Sub", _, Some(n)) => (*a, n.checked_neg()?),
            _ => return None,
        };
        (at, sum) = (next, sum.checked_add(change)?);
    }
    None
}

/// A part of a condition. Operands are positions in the list of all parts, before this one.
#[derive(Clone, Copy, Debug)]
enum Condition {
    Is(bool),
    /// `base + step·t` is negative.
    Negative(i128, i128),
    /// `base + step·t` is zero.
    Zero(i128, i128),
    Not(usize),
    And(usize, usize),
    Or(usize, usize),
    Unknown,
}

/// The trip count: the first iteration in which the condition fails.
pub fn of_condition(numbers: &dyn Numbers, condition: Tensor) -> Option<Trips> {
    let mut reader = ConditionReader { numbers, seen: Vec::new(), parts: Vec::new() };
    reader.read(condition);
    let parts = reader.parts;
    let mut candidates = vec![0_i128];
    for part in &parts {
        if let Condition::Negative(base, step) | Condition::Zero(base, step) = part
            && *step != 0
        {
            let root = -base / step;
            candidates.extend([root - 1, root, root + 1, root + 2]);
        }
    }
    candidates.retain(|iteration| *iteration >= 0);
    candidates.sort_unstable();
    candidates.dedup();
    let mut values = Vec::with_capacity(parts.len());
    // Unknown parts of the condition count as true, so the result is an upper bound.
    let first = candidates.into_iter().find(|iteration| holds(&parts, *iteration, &mut values) == Some(false))?;
    let exact = !parts.iter().any(|part| matches!(part, Condition::Unknown));
    Some(Trips { count: i64::try_from(first).ok()?, exact })
}

/// The nodes that a condition may have. Reading recurses at most this deep.
const MOST_NODES: usize = 64;

/// Reads each node of a condition once, however often it is used.
struct ConditionReader<'a> {
    numbers: &'a dyn Numbers,
    /// The tensors that were read, with their parts or their numbers.
    seen: Vec<(Tensor, Meaning)>,
    parts: Vec<Condition>,
}

#[derive(Clone, Copy)]
enum Meaning {
    /// Being read: met again, it is in a cycle.
    Open,
    Part(usize),
    Counter(Option<Affine>),
}

impl ConditionReader<'_> {
    /// The position of the part that a tensor stands for.
    fn read(&mut self, tensor: Tensor) -> usize {
        let known = self.seen.iter().find(|(seen, _)| *seen == tensor);
        if let Some((_, Meaning::Part(part))) = known {
            return *part;
        }
        let part = if known.is_some() || self.seen.len() >= MOST_NODES {
            Condition::Unknown
        } else {
            let at = self.seen.len();
            self.seen.push((tensor, Meaning::Open));
            let part = self.condition(tensor);
            self.seen[at].1 = Meaning::Part(self.parts.len());
            part
        };
        self.parts.push(part);
        self.parts.len() - 1
    }

    fn condition(&mut self, tensor: Tensor) -> Condition {
        let numbers = self.numbers;
        let body = numbers.body();
        if let Some(value) = numbers.fact(tensor).and_then(Fact::integer) {
            return Condition::Is(value != 0);
        }
        if tensor.node as usize >= body.len() {
            return Condition::Unknown;
        }
        if let Some(next) = numbers.passed(tensor.node) {
            let part = self.read(next);
            return self.parts[part];
        }
        match (body.op(tensor.node), body.inputs(tensor.node)) {
            ("LogicalNot", [a, ..]) => Condition::Not(self.read(*a)),
            ("LogicalAnd", [a, b, ..]) => Condition::And(self.read(*a), self.read(*b)),
            ("LogicalOr", [a, b, ..]) => Condition::Or(self.read(*a), self.read(*b)),
            (op, [a, b, ..]) if COMPARISONS.contains(&op) => match (self.counter(*a), self.counter(*b)) {
                (Some(a), Some(b)) => self.comparison(op, a, b),
                _ => Condition::Unknown,
            },
            _ => Condition::Unknown,
        }
    }

    fn comparison(&mut self, op: &str, a: Affine, b: Affine) -> Condition {
        let minus = |x: i64, y: i64| i128::from(x) - i128::from(y);
        let less = |a: Affine, b: Affine| Condition::Negative(minus(a.base, b.base), minus(a.step, b.step));
        let equal = Condition::Zero(minus(a.base, b.base), minus(a.step, b.step));
        let opposite = match op {
            "Less" => return less(a, b),
            "Greater" => return less(b, a),
            "Equal" => return equal,
            "GreaterEqual" => less(a, b),
            "LessEqual" => less(b, a),
            _ => equal,
        };
        self.parts.push(opposite);
        Condition::Not(self.parts.len() - 1)
    }

    /// A tensor as a counter.
    fn counter(&mut self, tensor: Tensor) -> Option<Affine> {
        let known = self.seen.iter().find(|(seen, _)| *seen == tensor);
        if let Some((_, Meaning::Counter(counter))) = known {
            return *counter;
        }
        if known.is_some() || self.seen.len() >= MOST_NODES {
            return None;
        }
        let at = self.seen.len();
        self.seen.push((tensor, Meaning::Open));
        let counter = self.affine(tensor);
        self.seen[at].1 = Meaning::Counter(counter);
        counter
    }

    fn affine(&mut self, tensor: Tensor) -> Option<Affine> {
        let numbers = self.numbers;
        if let Some(base) = numbers.fact(tensor).and_then(Fact::integer) {
            return Some(Affine { base, step: 0 });
        }
        if let Some(counter) = numbers.counter(tensor) {
            return Some(counter);
        }
        let body = numbers.body();
        if tensor.node as usize >= body.len() {
            return None;
        }
        if let Some(next) = numbers.passed(tensor.node) {
            return self.counter(next);
        }
        let [a, b] = body.inputs(tensor.node) else { return None };
        let sign = match body.op(tensor.node) {
            "Add" | "AddV2" => 1,
            "Sub" => -1,
            _ => return None,
        };
        let (a, b) = (self.counter(*a)?, self.counter(*b)?);
        let sum = |a: i64, b: i64| a.checked_add(b.checked_mul(sign)?);
        Some(Affine { base: sum(a.base, b.base)?, step: sum(a.step, b.step)? })
    }
}

const COMPARISONS: [&str; 6] = ["Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"];

/// The value of a condition, which is the last of its parts, in an iteration; `None` if unknown. `values` is scratch
/// space.
fn holds(parts: &[Condition], iteration: i128, values: &mut Vec<Option<bool>>) -> Option<bool> {
    let at = |base: i128, step: i128| base.saturating_add(step.saturating_mul(iteration));
    values.clear();
    for part in parts {
        let value = match *part {
            Condition::Is(value) => Some(value),
            Condition::Negative(base, step) => Some(at(base, step) < 0),
            Condition::Zero(base, step) => Some(at(base, step) == 0),
            Condition::Not(a) => values[a].map(|value| !value),
            Condition::And(a, b) => match (values[a], values[b]) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Condition::Or(a, b) => match (values[a], values[b]) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Condition::Unknown => None,
        };
        values.push(value);
    }
    values.last().copied().flatten()
}
