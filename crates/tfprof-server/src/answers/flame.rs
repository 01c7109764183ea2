//! The flame graph: the boxes of at least half a pixel below a row, or of the inverted tree.

use super::table::{row_of, search};
use crate::params::Params;
use crate::reply::{Problem, Reply, object};
use crate::site::Site;
use crate::tree::Tree;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use tfprof::internal::budget;

/// The width of a picture, unless the page says its own.
pub(super) const WIDTH: f64 = 1200.0;
/// The narrowest box, in pixels.
pub(super) const NARROWEST: f64 = 0.5;

/// Boxes as columns.
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
    value: Vec<f64>,
    own: Vec<f64>,
    share: Vec<Option<f64>>,
    kids: Vec<usize>,
    hit: Vec<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    path: Vec<String>,
}

/// Interned strings; the first is empty.
pub(super) struct Strings {
    pub list: Vec<String>,
    number: HashMap<String, u32>,
}

impl Strings {
    pub fn new() -> Strings {
        Strings { list: vec![String::new()], number: HashMap::from([(String::new(), 0)]) }
    }

    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.number.get(text) {
            return *number;
        }
        let number = self.list.len() as u32;
        self.list.push(text.to_owned());
        self.number.insert(text.to_owned(), number);
        number
    }
}

/// A flame graph under construction.
struct Picture<'t> {
    tree: &'t Tree,
    boxes: Boxes,
    names: Strings,
    ops: Strings,
    merged: (u64, i64),
    /// The minimum width of a box: half a pixel, in stored units.
    least: f64,
    whole: f64,
    hits: HashSet<usize>,
}

/// A box: its row, its extent in stored units, its children.
struct FlameBox {
    id: usize,
    parent: i64,
    depth: usize,
    start: i64,
    width: i64,
    own: i64,
    kids: usize,
}

impl Picture<'_> {
    /// Adds a box and returns its index.
    fn push(&mut self, place: &FlameBox) -> i64 {
        let FlameBox { id, parent, depth, start, width, own, kids } = *place;
        let (tree, boxes) = (self.tree, &mut self.boxes);
        boxes.id.push(id);
        boxes.parent.push(parent);
        boxes.depth.push(depth);
        boxes.x.push(start as f64 / self.whole);
        boxes.w.push(width as f64 / self.whole);
        boxes.name.push(self.names.number(&tree.short_name(id)));
        let is_op = tree.view.kind == tfprof::ViewKind::Op;
        boxes.op.push(self.ops.number(if is_op { tree.name(id) } else { tree.op(id) }));
        boxes.dir.push(tree.direction(id) as u8);
        boxes.unit.push(tree.unit(id));
        boxes.value.push(tree.whole(width));
        boxes.own.push(tree.whole(own));
        boxes.share.push(tree.share_of(tree.asked.metric(), width as f64));
        boxes.kids.push(kids);
        boxes.hit.push(u8::from(self.hits.contains(&id)));
        if matches!(tree.view.kind, tfprof::ViewKind::Code | tfprof::ViewKind::Graph) {
            boxes.path.push(tree.path(id));
        }
        budget::check();
        boxes.id.len() as i64 - 1
    }

    fn merge(&mut self, count: u64, width: i64) {
        self.merged.0 += count;
        self.merged.1 = self.merged.1.saturating_add(width);
    }

    /// Draws a row and the rows below it.
    fn draw(&mut self, root: usize) {
        let tree = self.tree;
        let place = |id: usize, parent: i64, depth: usize, start: i64| FlameBox {
            id,
            parent,
            depth,
            start,
            width: tree.parts(id),
            own: tree.own_parts(id),
            kids: tree.kids(id).len(),
        };
        let mut waiting = vec![place(root, -1, 0, 0)];
        while let Some(next) = waiting.pop() {
            let (id, depth, mut start) = (next.id, next.depth + 1, next.start);
            let number = self.push(&next);
            for kid in tree.kids(id) {
                let kid = *kid as usize;
                let width = tree.parts(kid);
                if width as f64 >= self.least && width > 0 {
                    waiting.push(place(kid, number, depth, start));
                } else if width > 0 {
                    self.merge(tree.below(kid).len() as u64, width);
                }
                start = start.saturating_add(width.max(0));
            }
        }
    }

    /// Draws the inverted tree: self figures by name, then by the name of the parent, and so on up.
    fn draw_inverted(&mut self, root: usize) {
        let tree = self.tree;
        let with_own = tree.below(root).filter(|id| tree.own_parts(*id) > 0).map(|id| (id, id)).collect();
        self.draw_up(root, root, true, with_own, Tree::own_parts);
    }

    /// Draws the ancestors of rows, weighted by the rows' totals.
    fn draw_around(&mut self, rows: &[usize]) {
        self.draw_up(0, rows[0], false, rows.iter().map(|id| (*id, *id)).collect(), Tree::parts);
    }

    /// Draws rows and their ancestors, up to `root`. `of_all`: the first box is not theirs, but that of everything.
    fn draw_up(
        &mut self,
        root: usize,
        first: usize,
        of_all: bool,
        rows: Vec<(usize, usize)>,
        parts: fn(&Tree, usize) -> i64,
    ) {
        let tree = self.tree;
        let width = self.whole as i64;
        let top = FlameBox { id: first, parent: -1, depth: 0, start: 0, width, own: 0, kids: 0 };
        // The rows that a box sums, each with the ancestor that the box shows.
        let mut waiting: Vec<(FlameBox, Vec<(usize, usize)>)> = vec![(top, rows)];
        while let Some((place, rows)) = waiting.pop() {
            // Each level visits the rows again.
            budget::work(rows.len() as u64);
            let (depth, mut start, is_top) = (place.depth + 1, place.start, of_all && place.depth == 0);
            let mut groups: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
            for (row, at) in rows {
                if !is_top && at == root {
                    continue;
                }
                let up = if is_top { at } else { tree.row(at).parent };
                if up != root || is_top {
                    groups.entry(tree.short_name(up)).or_default().push((row, up));
                }
            }
            let sum =
                |rows: &[(usize, usize)]| rows.iter().map(|(row, _)| parts(tree, *row)).fold(0, i64::saturating_add);
            let mut sized: Vec<(i64, Vec<(usize, usize)>)> =
                groups.into_values().map(|rows| (sum(&rows), rows)).collect();
            sized.sort_by_key(|(width, _)| std::cmp::Reverse(*width));
            let number = self.push(&FlameBox { kids: sized.len(), ..place });
            for (width, rows) in sized {
                if (width as f64) < self.least {
                    self.merge(1, width);
                    continue;
                }
                let id = rows[0].1;
                let own = if is_top { width } else { 0 };
                waiting.push((FlameBox { id, parent: number, depth, start, width, own, kids: 0 }, rows));
                start = start.saturating_add(width);
            }
        }
    }

    /// Draws rows as one box, and their descendants below it, merged by name.
    fn draw_merged(&mut self, rows: Vec<usize>) {
        let tree = self.tree;
        let sum = |rows: &[usize], parts: fn(&Tree, usize) -> i64| {
            rows.iter().map(|id| parts(tree, *id)).fold(0, i64::saturating_add)
        };
        let (width, own) = (self.whole as i64, sum(&rows, Tree::own_parts));
        let top = FlameBox { id: rows[0], parent: -1, depth: 0, start: 0, width, own, kids: 0 };
        let mut waiting = vec![(top, rows)];
        while let Some((place, rows)) = waiting.pop() {
            budget::work(rows.len() as u64);
            let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for kid in rows.iter().flat_map(|id| tree.kids(*id)).map(|kid| *kid as usize) {
                groups.entry(tree.short_name(kid)).or_default().push(kid);
            }
            let mut sized: Vec<(i64, Vec<usize>)> = groups
                .into_values()
                .map(|rows| (sum(&rows, Tree::parts), rows))
                .filter(|(width, _)| *width > 0)
                .collect();
            sized.sort_by_key(|(width, _)| std::cmp::Reverse(*width));
            let (depth, mut start) = (place.depth + 1, place.start);
            let parent = self.push(&FlameBox { kids: sized.len(), ..place });
            for (width, rows) in sized {
                if (width as f64) < self.least {
                    self.merge(rows.len() as u64, width);
                    continue;
                }
                let own = sum(&rows, Tree::own_parts);
                waiting.push((FlameBox { id: rows[0], parent, depth, start, width, own, kids: 0 }, rows));
                start = start.saturating_add(width);
            }
        }
    }
}

/// The outermost rows of a name or an op type, as in `name:conv1` or `op:Conv2D`.
fn rows_around(tree: &Tree, around: &str) -> Result<Vec<usize>, Problem> {
    let (kind, name) = around.split_once(':').unwrap_or(("", around));
    let is_it = |id: usize| match kind {
        "name" => Ok(tree.short_name(id) == name),
        "op" => Ok(tree.op(id) == name),
        _ => Err(Problem::parameter("around", "is name:NAME or op:TYPE")),
    };
    let (mut rows, mut counted_until) = (Vec::new(), 0);
    for id in 1..tree.len() {
        if id >= counted_until && is_it(id)? && tree.parts(id) > 0 {
            rows.push(id);
            counted_until = tree.below(id).end;
        }
    }
    if rows.is_empty() {
        return Err(Problem::not_found(format!("no row is called `{name}` under these filters")));
    }
    Ok(rows)
}

pub fn flame(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let (zoom, text) = (params.text("zoom"), params.text("find"));
    let width = params.number("px")?.unwrap_or(WIDTH).clamp(1.0, 20_000.0);
    let (invert, around) = (params.flag("invert"), params.text("around"));
    let asked = site.asked(params)?;
    if asked.metric().is_ratio() {
        return Err(Problem::parameter("metric", "is a ratio, which cannot be drawn as a sum; choose another"));
    }
    let tree = site.tree(&asked)?;
    let root = row_of(&tree, &zoom)?;
    let found = search(&tree, root, &text);
    let rows = if around.is_empty() { vec![root] } else { rows_around(&tree, &around)? };
    let whole = rows.iter().map(|id| tree.parts(*id)).fold(0, i64::saturating_add).max(1) as f64;
    let mut picture = Picture {
        tree: &tree,
        boxes: Boxes::default(),
        names: Strings::new(),
        ops: Strings::new(),
        merged: (0, 0),
        least: whole / width * NARROWEST,
        whole,
        hits: found.rows.iter().copied().collect(),
    };
    let mut top = tree.row_json(rows[0]);
    if !around.is_empty() {
        top["total"] = json!([tree.whole(whole as i64)]);
        top["share"] = json!([tree.share_of(tree.asked.metric(), whole)]);
        top["name"] = around.split_once(':').map_or("", |(_, name)| name).into();
    }
    let places = rows.len();
    match (invert, around.is_empty()) {
        (false, true) => picture.draw(root),
        (true, true) => picture.draw_inverted(root),
        (false, false) => picture.draw_merged(rows),
        (true, false) => picture.draw_around(&rows),
    }
    let Picture { boxes, names, ops, merged, .. } = picture;
    let depth = boxes.depth.iter().max().map_or(0, |depth| depth + 1);
    let mut frame = site.frame(&tree).leaving_out(merged.0, "narrower than half a pixel");
    frame.warnings.retain(|warning| warning.code != "nothing_to_draw");
    Ok(frame.reply(object! {
        "columns": tree.columns(),
        "root": top,
        "places": places,
        "crumbs": tree.rows_json(tree.fitting(&tree.chain(root)).iter().copied()),
        "names": names.list,
        "ops": ops.list,
        "boxes": json!(boxes),
        "depth": depth,
        "merged": json!({ "count": merged.0, "value": tree.whole(merged.1) }),
        "found": if text.is_empty() { Value::Null } else { found.json(&tree) },
    }))
}
