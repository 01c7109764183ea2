//! Two profiles side by side: the differential flame graph, and the rows that changed. All figures are those of `tfprof diff`.

use super::flame::{NARROWEST, Strings, WIDTH};
use super::table::{row_of, search};
use crate::params::Params;
use crate::question::{ViewQuestion, keywords, python_string};
use crate::reply::{Frame, Problem, Reply, object};
use crate::site::{Baseline, Site};
use crate::tree::{Tree, column, number, unit_word};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tfprof::internal::engine::compare;
use tfprof::internal::render::nesting::{self, Nested};
use tfprof::internal::report::overview::difference::{Fact, facts};
use tfprof::internal::view::compare::{Compared, Figure, SideSteps, Status};
use tfprof::{Comparing, Match, Number, Question, Side, Unit, ViewKind, VisibleRow, Warmup};

/// The maximum number of rows in a list.
const MOST: usize = 2000;

/// A question about both sides.
struct TwoSided<'s> {
    site: &'s Site,
    baseline: &'s Baseline,
    tree: Arc<Tree>,
    /// The page's own profile comes first.
    swapped: bool,
    keeps_warmup: bool,
}

impl<'s> TwoSided<'s> {
    fn take(site: &'s Site, params: &mut Params) -> Result<TwoSided<'s>, Problem> {
        let Some(baseline) = &site.baseline else {
            let typed = site.setup.command.side();
            let how = format!("name a second profile to compare with: tfprof web {typed} --baseline OTHER");
            return Err(Problem::no_data(how, None));
        };
        let (swapped, keeps_warmup) = (params.flag("swap"), params.take("warm").is_some_and(|warm| warm == "0"));
        let asked = ViewQuestion::take(params, site.default_metric(), &site.setup.defaults)?;
        if asked.metric().is_ratio() {
            return Err(Problem::parameter("metric", "is a ratio, which cannot be drawn as a sum; choose another"));
        }
        let key = format!("diff {swapped} {keeps_warmup} {}", asked.key);
        let tree = site.remembered(&key, || {
            let after = site.setup.command.side();
            let mut sides = [(baseline.name.as_str(), &baseline.profiler), (after.as_str(), &site.profiler)];
            if swapped {
                sides.reverse();
            }
            let warmup = if keeps_warmup { Warmup::Keep } else { Warmup::Auto };
            let comparing = Comparing { warmup, unchanged: Some(true), ..Comparing::default() };
            let question = Question::new(asked.kind, &asked.options.clone().form("json"));
            let view = compare::view(sides[0], sides[1], &question, &comparing)?;
            Ok(Tree::new(view, asked.clone()))
        })?;
        Ok(TwoSided { site, baseline, tree, swapped, keeps_warmup })
    }

    fn compared(&self) -> Result<&Compared, Problem> {
        self.tree.view.compared().ok_or_else(|| Problem::request("the answer has one side"))
    }

    /// The command that prints the same figures.
    fn frame(&self) -> Frame {
        let command = &self.site.setup.command;
        let after = command.side();
        let mut sides = [self.baseline.name.as_str(), after.as_str()];
        if self.swapped {
            sides.reverse();
        }
        let (kind, options) = (self.tree.view.kind.word(), self.tree.command_options());
        let mut typed = options.clone();
        typed.extend(self.keeps_warmup.then(|| ("warmup".to_owned(), "keep".to_owned())));
        let warmup = if self.keeps_warmup { ", warmup=\"keep\"" } else { "" };
        let [old, new] = sides.map(python_string);
        let python = format!("import tfprof\nd = tfprof.diff({old}, {new}{warmup})\nd.{kind}({})", keywords(&options));
        Frame::new(command.compare(kind, sides, &typed), python).warn(&self.tree.view.warnings)
    }

    fn row(&self, id: usize) -> &VisibleRow {
        self.tree.row(id)
    }

    fn figure(&self, figure: Figure, side: Side, id: usize) -> Number {
        self.tree.view.figure(figure, side, self.tree.asked.metric(), self.row(id))
    }

    fn value(&self, figure: Figure, id: usize) -> Value {
        number(self.figure(figure, Side::Total, id))
    }

    fn real(&self, figure: Figure, id: usize) -> Option<f64> {
        number(self.figure(figure, Side::Total, id)).as_f64()
    }

    /// Whether two rows have the same figures on both sides.
    fn is_same(&self, id: usize, other: usize) -> bool {
        let of = |id| [Figure::Before, Figure::After].map(|figure| self.value(figure, id));
        self.tree.view.kind == ViewKind::Scope && of(id) == of(other)
    }

    /// The direction of the change: 1, -1 or 0.
    fn sign(&self, id: usize) -> i64 {
        let difference = self.real(Figure::Difference, id).unwrap_or(0.0);
        i64::from(difference > 0.0) - i64::from(difference < 0.0)
    }

    /// The change on a scale from -1 (half or less) to 1 (double or more).
    fn heat(&self, id: usize, status: Status) -> f64 {
        match (status, self.real(Figure::Before, id), self.real(Figure::After, id)) {
            (Status::Added, ..) => 1.0,
            (Status::Removed, ..) => -1.0,
            (_, Some(before), Some(after)) if before > 0.0 && after > 0.0 => (after / before).log2().clamp(-1.0, 1.0),
            _ => self.sign(id) as f64,
        }
    }

    /// A row with the figures of both sides.
    fn row_json(&self, compared: &Compared, id: usize) -> Value {
        let (tree, row) = (&self.tree, self.row(id));
        let status = if id == 0 { root_status(compared, row) } else { compared.status(row) };
        // The interval in the metric's unit, around the number before.
        let of_before = |percent: Option<f64>| Some(percent? / 100.0 * self.real(Figure::Before, id)?);
        let (low, high) = (self.real(Figure::Low, id), self.real(Figure::High, id));
        let own = |figure| number(self.figure(figure, Side::SelfOnly, id));
        json!({
            "id": id,
            "path": tree.path(id),
            "name": tree.short_name(id),
            "kind": tree.view.kind.word(),
            "dir": tree.direction(id).word(),
            "op": if tree.view.kind == ViewKind::Op && id > 0 { tree.name(id) } else { tree.op(id) },
            "kids": tree.kids(id).len(),
            "before": self.value(Figure::Before, id),
            "after": self.value(Figure::After, id),
            "difference": self.value(Figure::Difference, id),
            "percent": self.value(Figure::Percent, id),
            "low": of_before(low),
            "high": of_before(high),
            "low_percent": low,
            "high_percent": high,
            "own": { "before": own(Figure::Before), "after": own(Figure::After), "difference": own(Figure::Difference) },
            "sign": self.sign(id),
            "heat": self.heat(id, status),
            "status": status.word(),
            "match": compared.matched(row).map(Match::word),
            "before_name": compared.before_name(row),
        })
    }
}

/// Both sides have the root.
fn root_status(compared: &Compared, row: &VisibleRow) -> Status {
    match compared.status(row) {
        Status::Added | Status::Removed => Status::Differs,
        status => status,
    }
}

/// Boxes as columns: those of a flame graph, with the figures of both sides.
#[derive(Default, Serialize)]
struct Boxes {
    id: Vec<usize>,
    parent: Vec<i64>,
    depth: Vec<usize>,
    x: Vec<f64>,
    w: Vec<f64>,
    name: Vec<u32>,
    op: Vec<u32>,
    dir: Vec<u8>,
    unit: Vec<f32>,
    value: Vec<Value>,
    kids: Vec<usize>,
    hit: Vec<u8>,
    before: Vec<Value>,
    after: Vec<Value>,
    difference: Vec<Value>,
    percent: Vec<Value>,
    heat: Vec<f64>,
    status: Vec<&'static str>,
    path: Vec<String>,
}

pub fn compare(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let (zoom, text) = (params.text("zoom"), params.text("find"));
    let width = params.number("px")?.unwrap_or(WIDTH).clamp(1.0, 20_000.0);
    let both = TwoSided::take(site, params)?;
    let (tree, compared) = (&both.tree, both.compared()?);
    let root = row_of(tree, &zoom)?;
    let found = search(tree, root, &text);
    let mut is_hit = vec![false; if text.is_empty() { 0 } else { tree.len() }];
    found.rows.iter().for_each(|id| is_hit[*id] = true);
    let (boxes, names, ops, merged) = picture(&both, compared, root, width, &is_hit);
    let depth = boxes.depth.iter().max().map_or(0, |depth| depth + 1);
    let chain = tree.chain(root);
    let crumbs: Value =
        tree.fitting(&chain).iter().map(|id| json!({ "path": tree.path(*id), "name": tree.short_name(*id) })).collect();
    let metric = tree.asked.metric();
    let unknown = tree.view.warnings.iter().any(|warning| warning.code == "noise_unknown");
    let shift = compared.common_shift().filter(|(shifted, _)| *shifted == metric);
    let frame = both.frame().leaving_out(merged, "narrower than half a pixel");
    Ok(frame.reply(object! {
        "columns": vec![column(metric, tree.view.knows(metric))],
        "sides": sides(compared),
        "root": both.row_json(compared, root),
        "crumbs": crumbs,
        "names": names.list,
        "ops": ops.list,
        "boxes": json!(boxes),
        "depth": depth,
        "merged": json!({ "count": merged }),
        "found": (!text.is_empty()).then_some(found.rows.len()),
        "noise": !unknown,
        "common_shift": shift.map(|(_, factor)| 100.0 * (factor - 1.0)),
        "guesses": compared.guesses(),
        "figures": figures(&both),
    }))
}

/// The boxes of at least half a pixel below a row, and how many rows are narrower.
fn picture(
    both: &TwoSided<'_>,
    compared: &Compared,
    root: usize,
    width: f64,
    is_hit: &[bool],
) -> (Boxes, Strings, Strings, u64) {
    let tree = &both.tree;
    let nested = nesting::boxes(&tree.view, tree.asked.metric());
    let below = tree.below(root);
    let (mut boxes, mut names, mut ops, mut merged) = (Boxes::default(), Strings::new(), Strings::new(), 0);
    let Some(top) = nested.iter().find(|nested| nested.row == root).copied() else {
        return (boxes, names, ops, merged);
    };
    let whole = top.width.max(1) as f64;
    let is_op = tree.view.kind == ViewKind::Op;
    let has_paths = matches!(tree.view.kind, ViewKind::Code | ViewKind::Graph);
    // Maps boxes of the full picture to boxes of this one.
    let mut place = vec![-1_i64; nested.len()];
    for (at, Nested { row: id, parent, depth, start, width: wide, .. }) in nested.iter().copied().enumerate() {
        let is_top = id == root;
        if !below.contains(&id) || (!is_top && place[parent] < 0) {
            continue;
        }
        if !is_top && (wide as f64) < whole / width * NARROWEST {
            merged += tree.below(id).len() as u64;
            continue;
        }
        place[at] = boxes.id.len() as i64;
        let status = if id == 0 { root_status(compared, both.row(0)) } else { compared.status(both.row(id)) };
        let gone = status == Status::Removed;
        boxes.id.push(id);
        boxes.parent.push(if is_top { -1 } else { place[parent] });
        boxes.depth.push(depth - top.depth);
        boxes.x.push((start - top.start) as f64 / whole);
        boxes.w.push(wide as f64 / whole);
        boxes.name.push(names.number(&tree.short_name(id)));
        boxes.op.push(ops.number(if is_op && id > 0 { tree.name(id) } else { tree.op(id) }));
        boxes.dir.push(tree.direction(id) as u8);
        boxes.unit.push(tree.unit(id));
        boxes.value.push(both.value(if gone { Figure::Before } else { Figure::After }, id));
        boxes.kids.push(tree.kids(id).len());
        boxes.hit.push(u8::from(is_hit.get(id).copied().unwrap_or(false)));
        boxes.before.push(both.value(Figure::Before, id));
        boxes.after.push(both.value(Figure::After, id));
        boxes.difference.push(both.value(Figure::Difference, id));
        boxes.percent.push(both.value(Figure::Percent, id));
        boxes.heat.push(both.heat(id, status));
        boxes.status.push(status.word());
        if has_paths {
            boxes.path.push(tree.path(id));
        }
    }
    (boxes, names, ops, merged)
}

fn sides(compared: &Compared) -> Value {
    let one = |(name, steps): (&String, &SideSteps)| json!({ "name": name, "steps": steps.counted.len(), "warm_up": steps.warmup });
    compared.names.iter().zip(&compared.steps).map(one).collect()
}

/// The most important figures of both sides, by `tfprof diff info`.
fn figures(both: &TwoSided<'_>) -> Value {
    let (site, baseline) = (both.site, both.baseline);
    let mut overviews = [&baseline.overview, &site.overview];
    let typed = site.setup.command.side();
    let mut names = [baseline.name.as_str(), typed.as_str()];
    if both.swapped {
        overviews.reverse();
        names.reverse();
    }
    let command = site.setup.command.compare("info", names, &[]);
    let one = |fact: &Fact| {
        let label = match fact.key {
            "span_micros" => "Step time".to_owned(),
            "peak_bytes" => "Memory peak".to_owned(),
            "params" => "Parameters".to_owned(),
            "float_ops" => "Float operations".to_owned(),
            "nodes" => "Nodes".to_owned(),
            _ => fact.name.clone(),
        };
        let unit = match (fact.unit, fact.key) {
            (Unit::Count, "float_ops") => "flop",
            (unit, _) => unit_word(unit),
        };
        json!({
            "key": fact.key, "label": label, "unit": unit, "before": fact.before, "after": fact.after,
            "difference": fact.difference(), "percent": fact.percent(), "note": fact.name, "command": command,
        })
    };
    let shown = ["nodes", "params", "float_ops", "span_micros", "peak_bytes"];
    facts(overviews[0], overviews[1]).iter().filter(|fact| shown.contains(&fact.key)).map(one).collect()
}

pub fn changes(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let limit = params.number("limit")?.unwrap_or(MOST).min(MOST);
    let text = params.text("find").to_lowercase();
    let both = TwoSided::take(site, params)?;
    let (tree, compared) = (&both.tree, both.compared()?);
    let mut counts: Vec<(Status, i64, u64)> = Vec::new();
    let mut rows: Vec<(bool, f64, usize)> = Vec::new();
    for id in 1..tree.len() {
        let (status, sign) = (compared.status(both.row(id)), both.sign(id));
        match counts.iter_mut().find(|(known, way, _)| *known == status && *way == sign) {
            Some((.., n)) => *n += 1,
            None => counts.push((status, sign, 1)),
        }
        // Skip rows that differ only by one row inside them.
        let is_that_of_a_kid = tree.kids(id).iter().any(|kid| both.is_same(id, *kid as usize));
        let is_found = text.is_empty() || tree.name(id).to_lowercase().contains(&text);
        let size = both.real(Figure::Difference, id).map_or(0.0, f64::abs);
        if is_found && !is_that_of_a_kid && (size > 0.0 || matches!(status, Status::Added | Status::Removed)) {
            rows.push((status.stands_out(), size, id));
        }
    }
    // Significant changes first, then those within the noise, each by size.
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    let all = rows.len();
    rows.truncate(limit);
    let ids: Vec<usize> = rows.iter().map(|(.., id)| *id).collect();
    let shown: Vec<Value> = tree.fitting(&ids).iter().map(|id| both.row_json(compared, *id)).collect();
    let reach = rows.iter().map(|(_, size, _)| *size).fold(0.0, f64::max);
    counts.sort_unstable();
    let counts: Value =
        counts.iter().map(|(status, sign, n)| json!({ "status": status.word(), "sign": sign, "n": n })).collect();
    let metric = tree.asked.metric();
    let frame = both.frame().leaving_out((all - shown.len()) as u64, "smaller changes");
    Ok(frame.reply(object! {
        "columns": vec![column(metric, tree.view.knows(metric))],
        "counts": counts,
        "rows": all,
        // The end of the axis of changes.
        "reach": reach,
        "changes": shown,
    }))
}
