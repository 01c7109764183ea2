//! The details of a selection: its figures, steps, source lines, kernels and gradient.

use super::lists::{each_node, op_types};
use super::steps::{Parts, warm_up};
use super::table::{row_of, selected};
use crate::params::Params;
use crate::question::ViewQuestion;
use crate::reply::{Problem, Reply};
use crate::site::Site;
use crate::tree::{Tree, label, line_name, unit};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tfprof::internal::model::Model;
use tfprof::internal::model::names::NameId;
use tfprof::internal::model::nodes::NodeId;
use tfprof::internal::view::values::Values;
use tfprof::{METRICS, Quirks, Side, Step, ViewKind};

/// The budget of an answer, in steps times nodes.
const MOST_VALUES: usize = 4_000_000;
/// The maximum number of rows in each list.
const MOST: usize = 8;

pub fn node(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let sel = params.text("sel");
    let id: Option<usize> = params.number("id")?;
    let asked = site.asked(params)?;
    let (tree, id) = place(site, &asked, &sel, id)?;
    let mut nodes = Vec::new();
    let mut parts = Parts::default();
    let model = &tree.view.model;
    let directions = tree.node_directions();
    each_node(&tree, id, &mut |node, n| {
        nodes.push(node);
        parts.add(directions[node.index()], n);
    });
    let inside = tree.kids(id).iter().map(|kid| *kid as usize).filter(|kid| tree.parts(*kid) > 0);
    let mut inside: Vec<usize> = inside.collect();
    inside.sort_by_key(|kid| std::cmp::Reverse(tree.parts(*kid)));
    inside.truncate(MOST);
    let values = tree.view.values();
    let devices: BTreeSet<NameId> = nodes.iter().flat_map(|node| values.devices(*node)).collect();
    let mut devices: Vec<&str> = devices.into_iter().map(|device| model.names.get(device)).collect();
    devices.sort_unstable();
    let shapes = tree.node(id).map(|node| shapes(&tree, node)).unwrap_or_default();
    let twin = twin(&tree, id).map(|twin| tree.row_json(twin));
    let whole = tree.parts(id);
    Ok(site.frame(&tree).reply(json!({
        "columns": tree.columns(),
        "row": tree.row_json(id),
        "title": tree.short_name(id),
        "subtitle": if tree.view.kind == ViewKind::Code { tree.view.line(tree.row(id)).map(|line| line.file.to_owned()).unwrap_or_default() } else { tree.path(id) },
        "metrics": metrics(site, &tree, id)?,
        "parts": if tree.asked.metric().is_ratio() { Value::Null } else { parts.json(model.parts(tree.asked.metric()), whole) },
        "steps": steps(site, &tree, id, &nodes),
        "twin": twin,
        "inside": tree.rows_json(inside),
        "lines": lines(site, &tree, &nodes),
        "ops": op_types(&tree, id),
        "devices": devices,
        "shapes": shapes,
        "kernels": kernels(model, &nodes),
        "sel": tree.sel(id),
    })))
}

/// The row of a selection, under the filters if it is there, else without them.
fn place(site: &Site, asked: &ViewQuestion, sel: &str, id: Option<usize>) -> Result<(Arc<Tree>, usize), Problem> {
    if let Some(id) = id {
        let tree = site.tree(asked)?;
        return if id < tree.len() { Ok((tree, id)) } else { Err(Problem::not_found("there is no such row")) };
    }
    if sel.is_empty() {
        return Ok((site.tree(asked)?, 0));
    }
    let kind = match sel.split_once(':').map(|(kind, _)| kind) {
        Some("line") => ViewKind::Code,
        Some(word) => ViewKind::parse(word).ok_or_else(|| Problem::parameter("sel", "is KIND:PATH"))?,
        None => return Err(Problem::parameter("sel", "is KIND:PATH")),
    };
    let words = asked.words();
    let filtered = site.tree(&asked.with(kind, &words)?)?;
    if let Some(id) = selected(&filtered, sel) {
        return Ok((filtered, id));
    }
    let tree = site.tree(&asked.unfiltered(kind, &words)?)?;
    match selected(&tree, sel) {
        Some(id) => Ok((tree, id)),
        None => row_of(&tree, sel.split_once(':').map_or(sel, |(_, path)| path)).map(|id| (Arc::clone(&tree), id)),
    }
}

/// All available metrics of a row.
fn metrics(site: &Site, tree: &Tree, id: usize) -> Result<Value, Problem> {
    let words: Vec<&str> = METRICS.iter().filter_map(|info| info.word).collect();
    // The same rows in the same order, with all metrics.
    let first = tree.asked.metric().info().word.unwrap_or_default();
    let all: Vec<&str> = [first].into_iter().chain(words.into_iter().filter(|word| *word != first)).collect();
    let mut others = tree.asked.given.clone();
    others.retain(|(name, _)| name != "select" && name != "order_by");
    let tree_of_all = site.tree(&ViewQuestion::new(tree.view.kind, &all, None, others)?)?;
    let id = row_of(&tree_of_all, &tree.path(id))?;
    let one = |metric: &tfprof::Metric| {
        let total = tree_of_all.number(Side::Total, *metric, id);
        let info = metric.info();
        (!total.is_null()).then(|| {
            json!({
                "key": info.key, "word": info.word, "label": label(*metric), "unit": unit(*metric), "total": total,
                "own": tree_of_all.number(Side::SelfOnly, *metric, id), "share": tree_of_all.share(*metric, id),
            })
        })
    };
    Ok(tree_of_all.asked.metrics.iter().filter_map(one).collect())
}

/// The metric of a row in each step: the sum of its nodes.
fn steps(site: &Site, tree: &Tree, id: usize, nodes: &[NodeId]) -> Value {
    // The step of the view may exclude warm-up.
    let model = site.profiler.model();
    let metric = tree.asked.metric();
    if !metric.info().averaged || metric.is_ratio() {
        return json!([]);
    }
    let warm_up = warm_up(&site.overview, model);
    let whole = |n: i64| n as f64 / model.parts(metric) as f64;
    let is_all = id == 0
        && tree.asked.given.iter().all(|(name, _)| matches!(name.as_str(), "select" | "order_by" | "step" | "frames"));
    let one = |step: &tfprof::reports::StepTime| {
        let value = if is_all && metric == tfprof::Metric::Micros {
            Some(step.micros as f64)
        } else if nodes.len() * site.overview.steps.len() > MOST_VALUES || !model.runs.has(step.step) {
            None
        } else {
            let values = Values::new(model, Step::At(step.step), Quirks::NONE);
            Some(whole(nodes.iter().map(|node| values.row(*node)[metric as usize]).fold(0, i64::saturating_add)))
        };
        json!({ "step": step.step, "value": value, "warm_up": warm_up.steps.contains(&step.step) })
    };
    site.overview.steps.iter().take(400).map(one).collect()
}

/// The gradient scope of a forward scope, or the other way round.
fn twin(tree: &Tree, id: usize) -> Option<usize> {
    if tree.view.kind != ViewKind::Scope || id == 0 {
        return None;
    }
    let path = tree.name(id);
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    if first == "gradients" || first == "gradient_tape" {
        return tree.find(rest).or_else(|| tree.find(rest.strip_suffix("_grad")?)).filter(|twin| *twin != 0);
    }
    let paths = [format!("gradients/{path}"), format!("gradients/{path}_grad"), format!("gradient_tape/{path}")];
    paths.iter().find_map(|path| tree.find(path))
}

/// The source lines that created nodes, largest first.
fn lines(site: &Site, tree: &Tree, nodes: &[NodeId]) -> Value {
    let metric = tree.asked.metric();
    let word = metric.info().word.unwrap_or_default();
    let Ok(code) = tree.asked.unfiltered(ViewKind::Code, &[word]).and_then(|asked| site.tree(&asked)) else {
        return json!([]);
    };
    let row_of = code.rows_of_nodes();
    let values = tree.view.values();
    let mut sums: BTreeMap<(String, i32), (i64, usize)> = BTreeMap::new();
    for node in nodes {
        let Some(id) = row_of.get(node) else { continue };
        let Some(line) = code.view.line(code.row(*id)) else { continue };
        let sum = sums.entry((line.file.to_owned(), line.number)).or_insert((0, *id));
        sum.0 = sum.0.saturating_add(values.row(*node)[metric as usize]);
    }
    let mut sorted: Vec<_> = sums.into_iter().collect();
    sorted.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
    let one = |((file, number), (n, id)): &((String, i32), (i64, usize))| {
        let line = code.view.line(code.row(*id));
        json!({
            "file": file, "line": number, "function": line.map(|line| line.function), "name": line.map(|line| line_name(&line)),
            "value": tree.whole(*n), "share": tree.share_of(metric, *n as f64), "sel": format!("line:{file}:{number}"),
        })
    };
    sorted.iter().take(MOST).map(one).collect()
}

/// The kernels of nodes, longest first.
fn kernels(model: &Model, nodes: &[NodeId]) -> Vec<String> {
    let mut kernels: Vec<_> =
        nodes.iter().filter_map(|node| model.op_facts.get(*node)).flat_map(|facts| &facts.kernels).collect();
    kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.time));
    kernels.iter().take(MOST).map(ToString::to_string).collect()
}

fn shapes(tree: &Tree, node: NodeId) -> Vec<String> {
    let model = &tree.view.model;
    let text = |dims: &[i64]| {
        let dims: Vec<String> =
            dims.iter().map(|dim| if *dim < 0 { "?".to_owned() } else { dim.to_string() }).collect();
        format!("[{}]", dims.join(", "))
    };
    let shapes = model.nodes.output_shapes(node).iter();
    shapes.map(|shape| model.shapes.get(*shape)).filter(|shape| !shape.is_empty()).map(text).collect()
}
