//! The graph by scopes: boxes for scopes, opened on demand, and edges weighted by the bytes of their tensors.

use crate::params::Params;
use crate::reply::{Problem, Reply, object};
use crate::site::Site;
use crate::tree::{Direction, Tree};
use serde_json::{Value, json};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use tfprof::internal::model::Model;
use tfprof::internal::model::nodes::{Input, NodeId};
use tfprof::internal::render::direction::is_gradient_scope;
use tfprof::{Side, ViewKind};

/// The maximum number of boxes.
const MOST: usize = 60;
/// Scopes above this share of the metric are opened automatically.
const WHOLE: f64 = 0.9;
/// The maximum number of single nodes of one op type that get their own boxes.
const FEW: usize = 3;
/// The maximum number of shapes named on an edge, and of edges listed, widest first.
const SHAPES: usize = 4;
const WIDEST: usize = 12;

/// A scope or a node.
struct GraphBox {
    row: usize,
    /// Further nodes of the same op type, if the box groups several.
    more: Vec<usize>,
    parent: Option<usize>,
    open: bool,
    /// The node that comes first in the graph.
    first: u32,
}

/// The tensors between two boxes.
#[derive(Default)]
struct Edge {
    bytes: Option<i64>,
    tensors: u64,
    shapes: Vec<String>,
}

pub fn graph(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let opened: Vec<String> =
        params.text("expand").split(',').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    let asked = site.asked(params)?;
    let tree = site.tree(&asked.with(ViewKind::Scope, &asked.words())?)?;
    let model = &tree.view.model;
    let mut all = boxes(&tree, &opened);
    let sums = take_sums(&tree, &mut all);
    let mut boxes = merge(&tree, all);
    let left = shorten(&tree, &mut boxes);
    let box_of = boxes_of_rows(&tree, &boxes);
    let row_of: HashMap<NodeId, usize> = (1..tree.len()).filter_map(|row| Some((tree.node(row)?, row))).collect();
    let place = |node: NodeId| row_of.get(&node).and_then(|row| box_of[*row]);
    for (row, node) in (1..tree.len()).filter_map(|row| Some((row, tree.node(row)?))) {
        let mut at = box_of[row];
        while let Some(number) = at {
            boxes[number].first = boxes[number].first.min(node.index() as u32);
            at = boxes[number].parent;
        }
    }
    let edges = edges(model, &place);
    if edges.is_empty() && model.nodes.all().all(|node| model.nodes.inputs(node).is_empty()) {
        let missing = site.overview.missing.iter().find(|missing| missing.code == "no_graph");
        return Err(Problem::no_data("the files do not say which op reads from which", missing.cloned()));
    }
    let twins = twins(&tree, &boxes);
    let ladder = twins.iter().any(Option::is_some);
    let ranks = ranks(&boxes, &edges, &twins);
    let largest = boxes.iter().filter(|place| !place.open).map(|place| place.parts(&tree)).max().unwrap_or(0).max(1);
    let metric = tree.asked.metric();
    let value = |place: &GraphBox| match tree.number(Side::Total, metric, place.row) {
        Value::Null => Value::Null,
        one if place.more.is_empty() => one,
        _ => tree.whole(place.parts(&tree)).into(),
    };
    let list: Value = boxes
        .iter()
        .enumerate()
        .map(|(id, place)| {
            json!({
                "id": id, "path": tree.path(place.row), "name": place.name(&tree),
                "dir": tree.direction(place.row).word(), "op": tree.op(place.row),
                "kids": tree.kids(place.row).len(), "open": place.open, "parent": place.parent,
                "twin": twins[id], "rank": ranks[id], "value": value(place),
                "share": tree.share_of(metric, place.parts(&tree) as f64), "heat": place.parts(&tree).max(0) as f64 / largest as f64,
            })
        })
        .collect();
    let direction = |id: usize| tree.direction(boxes[id].row);
    let is_kept =
        |from: usize, to: usize| direction(from) == Direction::Forward && direction(to) == Direction::Gradient;
    let drawn: Value = edges
        .iter()
        .map(|((from, to), edge)| {
            json!({
                "from": from, "to": to, "bytes": edge.bytes, "tensors": edge.tensors, "shapes": edge.shapes,
                "kept": is_kept(*from, *to), "back": boxes[*from].first > boxes[*to].first,
            })
        })
        .collect();
    let frame = site.frame(&tree).leaving_out(left, "scopes smaller than those shown, which are part of the edges");
    let of_sums = sums.iter().map(|row| tree.parts(*row)).fold(0, i64::saturating_add);
    Ok(frame.reply(object! {
        "columns": tree.columns(),
        "sums": json!({ "count": sums.len(), "value": tree.whole(of_sums) }),
        "ladder": ladder,
        "boxes": list,
        "edges": drawn,
        "kept": kept(&tree, &boxes, &edges, &is_kept),
    }))
}

/// The scopes at the level where the tree branches, opened as asked. A scope that holds all gradients is always open.
fn boxes(tree: &Tree, opened: &[String]) -> Vec<GraphBox> {
    let opened: HashSet<&str> = opened.iter().map(String::as_str).collect();
    let mut top = 0;
    while let [only] = tree.kids(top) {
        if tree.kids(*only as usize).is_empty() {
            break;
        }
        top = *only as usize;
    }
    let whole = tree.parts(0).max(1) as f64;
    let mut boxes = Vec::new();
    let mut waiting: Vec<(usize, Option<usize>)> =
        tree.kids(top).iter().rev().map(|kid| (*kid as usize, None)).collect();
    while let Some((row, parent)) = waiting.pop() {
        let kids = tree.kids(row);
        let last = tree.name(row).rsplit('/').next().unwrap_or_default();
        let holds_gradients =
            parent.is_none() && !kids.is_empty() && is_gradient_scope(last) && !last.ends_with("_grad");
        // A scope that holds nearly everything says nothing; those inside it do.
        let is_whole = parent.is_none() && !kids.is_empty() && tree.parts(row) as f64 > WHOLE * whole;
        if holds_gradients || is_whole {
            waiting.extend(kids.iter().rev().map(|kid| (*kid as usize, None)));
            continue;
        }
        let open = !kids.is_empty() && opened.contains(tree.name(row));
        let number = boxes.len();
        boxes.push(GraphBox { row, more: Vec::new(), parent, open, first: u32::MAX });
        if open {
            waiting.extend(kids.iter().rev().map(|kid| (*kid as usize, Some(number))));
        }
    }
    boxes
}

/// The maximum number of sums of gradients that are drawn as boxes.
const FEW_SUMS: usize = 2;

/// Removes the sums of gradients beside scopes if forward and gradient scopes face each other: a column of a hundred `AddN` tells nothing, and the
/// edges through them tell which scopes they join.
fn take_sums(tree: &Tree, boxes: &mut Vec<GraphBox>) -> Vec<usize> {
    if twins(tree, boxes).iter().all(Option::is_none) {
        return Vec::new();
    }
    let is_sum = |place: &GraphBox| {
        let is_alone = tree.kids(place.row).is_empty() && place.parent.is_none();
        is_alone && tree.op(place.row) == "AddN" && tree.direction(place.row) == Direction::Gradient
    };
    let sums: Vec<usize> = boxes.iter().filter(|place| is_sum(place)).map(|place| place.row).collect();
    if sums.len() <= FEW_SUMS {
        return Vec::new();
    }
    let mut number = vec![None; boxes.len()];
    let mut kept = 0;
    for (place, number) in boxes.iter().zip(&mut number) {
        if is_sum(place) {
            continue;
        }
        *number = Some(kept);
        kept += 1;
    }
    boxes.retain(|place| !is_sum(place));
    boxes.iter_mut().for_each(|place| place.parent = place.parent.and_then(|parent| number[parent]));
    sums
}

/// Groups single nodes of one op type and direction beside scopes into one box if there are many.
fn merge(tree: &Tree, boxes: Vec<GraphBox>) -> Vec<GraphBox> {
    let key = |place: &GraphBox| {
        (tree.kids(place.row).is_empty() && place.parent.is_none())
            .then(|| (tree.op(place.row), tree.direction(place.row) as u8))
    };
    let mut counts: BTreeMap<(&str, u8), usize> = BTreeMap::new();
    boxes.iter().filter_map(key).for_each(|key| *counts.entry(key).or_default() += 1);
    let mut place_of: BTreeMap<(&str, u8), usize> = BTreeMap::new();
    let mut number = Vec::new();
    let mut merged: Vec<GraphBox> = Vec::new();
    for mut place in boxes {
        place.parent = place.parent.map(|parent| number[parent]);
        let key = key(&place).filter(|key| counts[key] > FEW);
        if let Some(at) = key.and_then(|key| place_of.get(&key)) {
            merged[*at].more.push(place.row);
            number.push(*at);
            continue;
        }
        if let Some(key) = key {
            place_of.insert(key, merged.len());
        }
        number.push(merged.len());
        merged.push(place);
    }
    merged
}

impl GraphBox {
    /// The sum of its rows, in stored units.
    fn parts(&self, tree: &Tree) -> i64 {
        self.more.iter().map(|row| tree.parts(*row)).fold(tree.parts(self.row), i64::saturating_add)
    }

    fn name(&self, tree: &Tree) -> String {
        if self.more.is_empty() {
            tree.short_name(self.row)
        } else {
            format!("{} × {}", tree.op(self.row), self.more.len() + 1)
        }
    }
}

/// Drops the smallest boxes if there are too many; the others keep their order.
fn shorten(tree: &Tree, boxes: &mut Vec<GraphBox>) -> u64 {
    if boxes.len() <= MOST {
        return 0;
    }
    let mut by_size: Vec<usize> = (0..boxes.len()).collect();
    by_size.sort_by_key(|at| {
        let size = (boxes[*at].parts(tree), tree.below(boxes[*at].row).len());
        (std::cmp::Reverse(boxes[*at].open), std::cmp::Reverse(size))
    });
    let kept: HashSet<usize> = by_size.into_iter().take(MOST).collect();
    let before = boxes.len();
    let mut number = vec![None; before];
    let mut short: Vec<GraphBox> = Vec::new();
    for (at, mut place) in std::mem::take(boxes).into_iter().enumerate() {
        if kept.contains(&at) {
            place.parent = place.parent.and_then(|parent| number[parent]);
            number[at] = Some(short.len());
            short.push(place);
        }
    }
    *boxes = short;
    (before - boxes.len()) as u64
}

/// The innermost box around each row.
fn boxes_of_rows(tree: &Tree, boxes: &[GraphBox]) -> Vec<Option<usize>> {
    let mut box_of = vec![None; tree.len()];
    for (number, place) in boxes.iter().enumerate() {
        box_of[place.row] = Some(number);
        place.more.iter().for_each(|row| box_of[*row] = Some(number));
    }
    for row in 1..tree.len() {
        if box_of[row].is_none() {
            box_of[row] = box_of[tree.row(row).parent];
        }
    }
    box_of
}

/// A tensor: an output of a node.
type Tensor = (NodeId, u32);

/// The maximum number of tensors followed through nodes without a box.
const MOST_THROUGH: usize = 64;

/// For each node without a box, the tensors of boxes that reach it through other nodes without boxes.
fn through(model: &Model, place: &dyn Fn(NodeId) -> Option<usize>) -> HashMap<NodeId, Vec<Tensor>> {
    let mut reached: HashMap<NodeId, Vec<Tensor>> = HashMap::new();
    let inputs = |node: NodeId| {
        let inputs = model.nodes.inputs(node).iter();
        inputs.filter_map(|Input { source, output }| Some((model.node(*source)?, *output)))
    };
    for start in model.nodes.all().filter(|node| place(*node).is_none()) {
        // Each node is visited twice: before and after its inputs. One that is met again in between lies on a cycle and has nothing yet.
        let mut waiting = vec![(start, false)];
        while let Some((node, is_ready)) = waiting.pop() {
            if is_ready {
                let mut tensors: Vec<Tensor> = Vec::new();
                for (from, output) in inputs(node) {
                    if place(from).is_some() {
                        tensors.push((from, output));
                    } else if let Some(more) = reached.get(&from) {
                        tensors.extend(more);
                    }
                }
                tensors.sort_unstable();
                tensors.dedup();
                tensors.truncate(MOST_THROUGH);
                reached.insert(node, tensors);
            } else if let Entry::Vacant(first) = reached.entry(node) {
                first.insert(Vec::new());
                waiting.push((node, true));
                waiting.extend(inputs(node).map(|(from, _)| (from, false)).filter(|(from, _)| place(*from).is_none()));
            }
        }
    }
    reached
}

/// The tensors that flow from one box to another, also through nodes without a box; each counts once per pair.
fn edges(model: &Model, place: &dyn Fn(NodeId) -> Option<usize>) -> BTreeMap<(usize, usize), Edge> {
    let sizes = tensor_bytes(model);
    let through = through(model, place);
    let mut seen: HashSet<(NodeId, u32, usize)> = HashSet::new();
    let mut edges: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
    for node in model.nodes.all() {
        let Some(to) = place(node) else { continue };
        let read = model.nodes.inputs(node).iter().filter_map(|input| Some((model.node(input.source)?, input.output)));
        let read = read.flat_map(|(from, output)| match through.get(&from) {
            Some(tensors) => tensors.clone(),
            None => vec![(from, output)],
        });
        for (from, output) in &read.collect::<Vec<Tensor>>() {
            let from = *from;
            let Some(box_from) = place(from).filter(|number| *number != to) else { continue };
            if !seen.insert((from, *output, to)) {
                continue;
            }
            let edge = edges.entry((box_from, to)).or_default();
            edge.tensors += 1;
            if let Some(bytes) = sizes.get(&(from, *output)) {
                edge.bytes = Some(edge.bytes.unwrap_or(0).saturating_add(*bytes));
            }
            let shape = model.nodes.output_shapes(from).get(*output as usize).map(|shape| model.shapes.get(*shape));
            if let Some(shape) = shape.filter(|shape| !shape.is_empty() && edge.shapes.len() < SHAPES) {
                let dims: Vec<String> =
                    shape.iter().map(|dim| if *dim < 0 { "?".to_owned() } else { dim.to_string() }).collect();
                edge.shapes.push(dims.join("×"));
            }
        }
    }
    edges
}

/// The size of each output that a run recorded.
fn tensor_bytes(model: &Model) -> HashMap<(NodeId, u32), i64> {
    let mut sizes = HashMap::new();
    for records in model.runs.steps().filter_map(|step| model.runs.records(step)) {
        for node in model.nodes.all() {
            for output in records.memory(node).iter().flat_map(|memory| records.outputs(memory)) {
                let size: &mut i64 = sizes.entry((node, output.slot.max(0) as u32)).or_default();
                *size = (*size).max(output.bytes);
            }
        }
    }
    sizes
}

/// For each box, the box of its gradient or of its forward scope.
fn twins(tree: &Tree, boxes: &[GraphBox]) -> Vec<Option<usize>> {
    let number: HashMap<&str, usize> = boxes.iter().enumerate().map(|(at, place)| (tree.name(place.row), at)).collect();
    let mut twins = vec![None; boxes.len()];
    for (at, place) in boxes.iter().enumerate() {
        let Some((first, rest)) = tree.name(place.row).split_once('/') else { continue };
        if !is_gradient_scope(first) {
            continue;
        }
        let forward = number.get(rest).or_else(|| number.get(rest.strip_suffix("_grad")?)).copied();
        if let Some(forward) = forward.filter(|forward| *forward != at && twins[*forward].is_none()) {
            (twins[at], twins[forward]) = (Some(forward), Some(at));
        }
    }
    twins
}

/// The rank of each box: the length of the longest path from the inputs. Forward and gradient twins share a rank.
fn ranks(boxes: &[GraphBox], edges: &BTreeMap<(usize, usize), Edge>, twins: &[Option<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by_key(|at| boxes[*at].first);
    if twins.iter().any(Option::is_some) {
        // Each box takes the next rank in the order of the graph; a gradient takes that of its forward twin.
        let mut ranks = vec![0; boxes.len()];
        order.iter().enumerate().for_each(|(rank, at)| ranks[*at] = rank);
        let is_gradient = |at: usize| twins[at].is_some_and(|twin| boxes[twin].first < boxes[at].first);
        return (0..boxes.len())
            .map(|at| if is_gradient(at) { ranks[twins[at].unwrap_or(at)] } else { ranks[at] })
            .collect();
    }
    let mut ranks = vec![0; boxes.len()];
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); boxes.len()];
    edges
        .keys()
        .filter(|(from, to)| boxes[*from].first < boxes[*to].first)
        .for_each(|(from, to)| into[*to].push(*from));
    for at in order {
        ranks[at] = into[at].iter().map(|from| ranks[*from] + 1).max().unwrap_or(0);
    }
    ranks
}

/// The forward tensors that gradients read.
fn kept(
    tree: &Tree,
    boxes: &[GraphBox],
    edges: &BTreeMap<(usize, usize), Edge>,
    is_kept: &dyn Fn(usize, usize) -> bool,
) -> Value {
    let mut by_box: BTreeMap<usize, i64> = BTreeMap::new();
    let (mut count, mut bytes) = (0, None);
    for ((from, _), edge) in edges.iter().filter(|((from, to), _)| is_kept(*from, *to)) {
        count += 1;
        if let Some(n) = edge.bytes {
            bytes = Some(bytes.unwrap_or(0_i64).saturating_add(n));
            let sum = by_box.entry(*from).or_default();
            *sum = sum.saturating_add(n);
        }
    }
    let mut widest: Vec<_> = by_box.into_iter().collect();
    widest.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let one = |(at, bytes): &(usize, i64)| json!({ "name": tree.path(boxes[*at].row), "bytes": bytes });
    json!({ "bytes": bytes, "edges": count, "widest": widest.iter().take(WIDEST).map(one).collect::<Value>() })
}
