//! The table: children of a row in pages, the way to a selection, several levels at once, and search.

use crate::params::Params;
use crate::reply::{Problem, Reply, object};
use crate::site::Site;
use crate::tree::{Tree, number};
use serde_json::{Value, json};
use tfprof::{Amount, Metric, ViewKind};

/// The maximum number of rows in a page of children.
const PAGE: usize = 500;
/// The maximum number of rows when several levels are asked for.
const LEVELS: usize = 5000;
/// The maximum number of search results.
const FOUND: usize = 50;

pub fn rows(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let (parent, offset) = (params.text("parent"), params.number("offset")?.unwrap_or(0_usize));
    let limit = if params.whole { usize::MAX } else { params.number("limit")?.unwrap_or(PAGE).min(PAGE) };
    let tree = site.tree(&site.asked(params)?)?;
    let parent = row_of(&tree, &parent)?;
    let kids = tree.kids(parent);
    let from = offset.min(kids.len());
    let to = from.saturating_add(limit).min(kids.len());
    let smaller = &kids[to..];
    let totals: Value = tree.asked.metrics.iter().map(|metric| sum(&tree, *metric, smaller)).collect();
    let smaller = json!({ "count": smaller.len(), "total": totals });
    let words = tree.asked.words();
    let all = site.tree(&tree.asked.unfiltered(tree.view.kind, &words)?).map_or(tree.len(), |all| all.len());
    let frame = site.frame(&tree).leaving_out((kids.len() - (to - from)) as u64, "on other pages");
    Ok(frame.reply(object! {
        "columns": tree.columns(),
        "parent": tree.row_json(parent),
        "rows": tree.rows_json(kids[from..to].iter().map(|id| *id as usize)),
        "count": kids.len(),
        "smaller": if to < kids.len() { smaller } else { Value::Null },
        "shown": tree.len() - 1,
        "of": all - 1,
    }))
}

/// The sum of rows that do not contain each other.
fn sum(tree: &Tree, metric: Metric, ids: &[u32]) -> Value {
    if metric.is_ratio() || !tree.view.knows(metric) {
        return Value::Null;
    }
    let parts = tree.view.model.parts(metric);
    let totals = ids.iter().map(|id| tree.view.exact_total(metric, tree.row(*id as usize)).n);
    let n = totals.fold(0, i64::saturating_add);
    number(if parts == 1 { tfprof::Number::Int(n) } else { tfprof::Number::Decimal(Amount { n, parts }) })
}

/// The row of a path.
pub fn row_of(tree: &Tree, path: &str) -> Result<usize, Problem> {
    let kind = tree.view.kind.word();
    tree.find(path)
        .ok_or_else(|| Problem::not_found(format!("the {kind} view has no row `{path}` under these filters")))
}

/// The row of a selection in a view, if there is one.
pub fn selected(tree: &Tree, sel: &str) -> Option<usize> {
    let (kind, path) = sel.split_once(':').unwrap_or(("", sel));
    match (kind, tree.view.kind) {
        ("line", ViewKind::Code) => {
            let (file, line) = path.rsplit_once(':')?;
            let line: i32 = line.parse().ok()?;
            let is_it = |id: &usize| {
                let found = tree.view.line(tree.row(*id));
                found.is_some_and(|found| found.number == line && same_file(found.file, file))
            };
            (1..tree.len()).filter(is_it).max_by_key(|id| tree.parts(*id))
        }
        // A node of the graph is a row of the scope view, too.
        ("scope" | "graph", ViewKind::Scope | ViewKind::Graph) => tree.find(path),
        (word, kind) if word == kind.word() => tree.find(path),
        _ => None,
    }
}

/// Whether two names refer to the same file: full paths, or the file name alone.
pub fn same_file(file: &str, name: &str) -> bool {
    file == name || (!name.contains(['/', '\\']) && file.rsplit(['/', '\\']).next() == Some(name))
}

pub fn path(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let sel = params.text("sel");
    let tree = site.tree(&site.asked(params)?)?;
    let chain = selected(&tree, &sel).map(|id| tree.chain(id)).unwrap_or_default();
    let shown = tree.fitting(&chain);
    let frame = site.frame(&tree).leaving_out((chain.len() - shown.len()) as u64, "too deep");
    Ok(frame.reply(object! { "columns": tree.columns(), "rows": tree.rows_json(shown.iter().copied()) }))
}

pub fn all(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let depth = params.number("depth")?.unwrap_or(usize::MAX);
    let limit = params.number("limit")?.unwrap_or(LEVELS).min(LEVELS);
    let tree = site.tree(&site.asked(params)?)?;
    let within: Vec<usize> = (0..tree.len()).filter(|id| tree.row(*id).depth <= depth).collect();
    let mut place = vec![-1_i64; tree.len()];
    let mut rows = Vec::new();
    for id in tree.fitting(&within[..limit.min(within.len())]).iter().copied() {
        let mut row = tree.row_json(id);
        row["parent"] = if id == 0 { -1 } else { place[tree.row(id).parent] }.into();
        place[id] = rows.len() as i64;
        rows.push(row);
    }
    let left = (tree.len() - rows.len()) as u64;
    let frame = site.frame(&tree).leaving_out(left, "rows beyond the limit or below the depth");
    Ok(frame.reply(object! { "columns": tree.columns(), "rows": rows, "count": tree.len() }))
}

/// The rows that a search finds.
pub struct Found {
    pub rows: Vec<usize>,
    /// In stored units; nested hits count once.
    pub parts: i64,
}

/// Searches the rows below one for a text, ignoring case.
pub fn search(tree: &Tree, root: usize, text: &str) -> Found {
    let text = text.to_lowercase();
    let is_path = text.contains('/') && tree.view.kind != ViewKind::Code;
    let mut found = Found { rows: Vec::new(), parts: 0 };
    if text.is_empty() {
        return found;
    }
    let mut counted_until = root;
    for id in tree.below(root).skip(1) {
        let name = if is_path { tree.name(id).to_owned() } else { tree.short_name(id) };
        if !name.to_lowercase().contains(&text) {
            continue;
        }
        found.rows.push(id);
        if id >= counted_until {
            found.parts = found.parts.saturating_add(tree.parts(id));
            counted_until = tree.below(id).end;
        }
    }
    found
}

impl Found {
    pub fn json(&self, tree: &Tree) -> Value {
        let known = tree.view.knows(tree.asked.metric()) && !tree.asked.metric().is_ratio();
        json!({
            "count": self.rows.len(),
            "value": known.then(|| tree.whole(self.parts)),
            "share": tree.share_of(tree.asked.metric(), self.parts as f64),
        })
    }
}

pub fn find(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let text = params.text("find");
    let tree = site.tree(&site.asked(params)?)?;
    let found = search(&tree, 0, &text);
    let mut reply = found.json(&tree);
    let mut largest = found.rows.clone();
    largest.sort_by_key(|id| std::cmp::Reverse(tree.parts(*id)));
    largest.truncate(FOUND);
    reply["columns"] = tree.columns();
    let shown = tree.fitting(&largest);
    reply["rows"] = tree.rows_json(shown.iter().copied());
    let left = (found.rows.len() - shown.len()) as u64;
    Ok(site.frame(&tree).leaving_out(left, "smaller ones").reply(reply))
}
