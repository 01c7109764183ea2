//! Trip counts of loops, derived from counters, constants and shapes.
//!
//! A counter is `base + step·t` in iteration `t`, and a comparison of two counters changes its result at most a few
//! times. So the first iteration in which the condition fails is next to one of these changes.

use crate::infer::fact::Fact;
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

/// The limit of nested conditions and sums.
const DEEPEST: u32 = 32;

/// The sources of the numbers in a condition.
pub trait Numbers {
    fn body(&self) -> &Body;
    fn fact(&self, tensor: Tensor) -> Option<&Fact>;
    /// The counter behind `tensor`, if it is a loop variable.
    fn counter(&self, tensor: Tensor) -> Option<Affine>;
    /// The input of a node that only passes it on.
    fn passed(&self, node: u32) -> Option<Tensor> {
        passed(self.body(), node)
    }
}

/// The input that a node passes on unchanged.
pub fn passed(body: &Body, node: u32) -> Option<Tensor> {
    const PASSES: &[&str] =
        &["Identity", "StopGradient", "Snapshot", "EnsureShape", "PreventGradient", "Cast", "Squeeze", "Reshape"];
    let first = body.inputs(node).first().copied();
    first.filter(|_| PASSES.contains(&body.op(node)))
}

/// The trip count of a loop with a condition function and a body function, each with facts that hold in any iteration.
/// `args` are the facts before the first iteration.
pub fn of_functions(cond: (&Body, &Instance), body: (&Body, &Instance), args: &[Fact]) -> Option<Trips> {
    let numbers = Functions { cond, body, args };
    of_condition(&numbers, *cond.0.returns.first()?)
}

/// The trip count of a range.
pub fn of_range(start: i64, limit: i64, delta: i64) -> Option<Trips> {
    if delta == 0 {
        return None;
    }
    let distance = i128::from(limit) - i128::from(start);
    let (delta, up) = (i128::from(delta), delta > 0);
    let distance = if up { distance } else { -distance };
    let rounds = (distance.max(0) + delta.abs() - 1) / delta.abs();
    Some(Trips { count: i64::try_from(rounds).ok()?, exact: true })
}

/// The warning about a loop whose trip count is uncertain.
pub fn warning(name: &str, trips: &Option<Trips>) -> Option<(&'static str, String)> {
    let say = format!("say how often with --trip_count={name}=N");
    match trips {
        None => Some(("trip_count", format!("how often the loop `{name}` runs is not known; it counts once ({say})"))),
        Some(Trips { count, exact: false }) => Some((
            "trip_count",
            format!("the loop `{name}` runs {count} times at the most, and counts as often ({say})"),
        )),
        Some(_) => None,
    }
}

struct Functions<'a> {
    cond: (&'a Body, &'a Instance),
    body: (&'a Body, &'a Instance),
    args: &'a [Fact],
}

impl Numbers for Functions<'_> {
    fn body(&self) -> &Body {
        self.cond.0
    }

    fn fact(&self, tensor: Tensor) -> Option<&Fact> {
        self.cond.1.fact(tensor)
    }

    fn counter(&self, tensor: Tensor) -> Option<Affine> {
        let place = self.cond.0.arg(tensor.node)?;
        let base = self.args.get(place)?.integer()?;
        let (body, instance) = self.body;
        let arg = Tensor { node: *body.args.get(place)?, output: 0 };
        let step = step(body, instance, &|node| passed(body, node), arg, *body.returns.get(place)?)?;
        Some(Affine { base, step })
    }
}

/// The increment from `before` to `after`.
pub fn step(
    body: &Body,
    instance: &Instance,
    passed: &dyn Fn(u32) -> Option<Tensor>,
    before: Tensor,
    after: Tensor,
) -> Option<i64> {
    let mut at = after;
    let mut sum = 0_i64;
    for _ in 0..DEEPEST {
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
        let number = |tensor: &Tensor| instance.fact(*tensor).and_then(Fact::integer);
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

/// A condition as a tree of comparisons.
#[derive(Debug)]
enum Condition {
    Is(bool),
    /// Whether `base + step·t` is negative.
    Negative(i128, i128),
    Zero(i128, i128),
    Not(Box<Condition>),
    And(Box<(Condition, Condition)>),
    Or(Box<(Condition, Condition)>),
    Unknown,
}

/// The first iteration in which a condition fails.
pub fn of_condition(numbers: &dyn Numbers, condition: Tensor) -> Option<Trips> {
    let condition = read(numbers, condition, DEEPEST);
    let mut rounds = vec![0_i128];
    changes(&condition, &mut rounds);
    rounds.retain(|round| *round >= 0);
    rounds.sort_unstable();
    rounds.dedup();
    // An unknown condition counts as true, so that the result is an upper bound.
    let first = rounds.into_iter().find(|round| holds(&condition, *round) == Some(false))?;
    Some(Trips { count: i64::try_from(first).ok()?, exact: !has_unknown(&condition) })
}

fn read(numbers: &dyn Numbers, tensor: Tensor, depth: u32) -> Condition {
    let body = numbers.body();
    if let Some(value) = numbers.fact(tensor).and_then(Fact::integer) {
        return Condition::Is(value != 0);
    }
    if depth == 0 || tensor.node as usize >= body.len() {
        return Condition::Unknown;
    }
    if let Some(next) = numbers.passed(tensor.node) {
        return read(numbers, next, depth - 1);
    }
    let inputs = body.inputs(tensor.node);
    let negated = |condition| Condition::Not(Box::new(condition));
    match (body.op(tensor.node), inputs) {
        ("LogicalNot", [a, ..]) => negated(read(numbers, *a, depth - 1)),
        (op @ ("LogicalAnd" | "LogicalOr"), [a, b, ..]) => {
            let both = Box::new((read(numbers, *a, depth - 1), read(numbers, *b, depth - 1)));
            if op == "LogicalAnd" { Condition::And(both) } else { Condition::Or(both) }
        }
        (op @ ("Less" | "LessEqual" | "Greater" | "GreaterEqual" | "Equal" | "NotEqual"), [a, b, ..]) => {
            let (Some(a), Some(b)) = (affine(numbers, *a, depth - 1), affine(numbers, *b, depth - 1)) else {
                return Condition::Unknown;
            };
            let minus = |x: i64, y: i64| i128::from(x) - i128::from(y);
            match op {
                "Less" => Condition::Negative(minus(a.base, b.base), minus(a.step, b.step)),
                "GreaterEqual" => negated(Condition::Negative(minus(a.base, b.base), minus(a.step, b.step))),
                "Greater" => Condition::Negative(minus(b.base, a.base), minus(b.step, a.step)),
                "LessEqual" => negated(Condition::Negative(minus(b.base, a.base), minus(b.step, a.step))),
                "Equal" => Condition::Zero(minus(a.base, b.base), minus(a.step, b.step)),
                _ => negated(Condition::Zero(minus(a.base, b.base), minus(a.step, b.step))),
            }
        }
        _ => Condition::Unknown,
    }
}

fn affine(numbers: &dyn Numbers, tensor: Tensor, depth: u32) -> Option<Affine> {
    if let Some(base) = numbers.fact(tensor).and_then(Fact::integer) {
        return Some(Affine { base, step: 0 });
    }
    if let Some(counter) = numbers.counter(tensor) {
        return Some(counter);
    }
    let body = numbers.body();
    if depth == 0 || tensor.node as usize >= body.len() {
        return None;
    }
    if let Some(next) = numbers.passed(tensor.node) {
        return affine(numbers, next, depth - 1);
    }
    let [a, b] = body.inputs(tensor.node) else { return None };
    let sign = match body.op(tensor.node) {
        "Add" | "AddV2" => 1,
        "Sub" => -1,
        _ => return None,
    };
    let (a, b) = (affine(numbers, *a, depth - 1)?, affine(numbers, *b, depth - 1)?);
    let sum = |a: i64, b: i64| a.checked_add(b.checked_mul(sign)?);
    Some(Affine { base: sum(a.base, b.base)?, step: sum(a.step, b.step)? })
}

/// The iterations next to which a part of the condition changes.
fn changes(condition: &Condition, rounds: &mut Vec<i128>) {
    match condition {
        Condition::Negative(base, step) | Condition::Zero(base, step) if *step != 0 => {
            let root = -base / step;
            rounds.extend([root - 1, root, root + 1, root + 2]);
        }
        Condition::Not(inner) => changes(inner, rounds),
        Condition::And(both) | Condition::Or(both) => {
            changes(&both.0, rounds);
            changes(&both.1, rounds);
        }
        _ => {}
    }
}

fn holds(condition: &Condition, round: i128) -> Option<bool> {
    let at = |base: &i128, step: &i128| base.saturating_add(step.saturating_mul(round));
    match condition {
        Condition::Is(value) => Some(*value),
        Condition::Negative(base, step) => Some(at(base, step) < 0),
        Condition::Zero(base, step) => Some(at(base, step) == 0),
        Condition::Not(inner) => holds(inner, round).map(|value| !value),
        Condition::And(both) => match (holds(&both.0, round), holds(&both.1, round)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Condition::Or(both) => match (holds(&both.0, round), holds(&both.1, round)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        Condition::Unknown => None,
    }
}

fn has_unknown(condition: &Condition) -> bool {
    match condition {
        Condition::Unknown => true,
        Condition::Not(inner) => has_unknown(inner),
        Condition::And(both) | Condition::Or(both) => has_unknown(&both.0) || has_unknown(&both.1),
        _ => false,
    }
}
