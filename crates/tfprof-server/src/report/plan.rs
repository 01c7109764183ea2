//! The plan of a report: which answers it has, the most important first, so that a small file still gives an overview.

use super::Settings;
use crate::answers::{meta, steps};
use crate::params::key;
use crate::question::ViewQuestion;
use crate::site::Site;
use tfprof::{METRICS, Metric, ViewKind};

/// Answers that belong together.
pub struct Part {
    /// The name of these answers in the note on omissions.
    pub what: String,
    pub keys: Keys,
    /// Whether some of them are useful without the rest.
    pub fits_partly: bool,
}

/// The keys of answers. Those of rows are produced lazily, since a deep row's key contains the names of all its ancestors.
pub enum Keys {
    All(Vec<String>),
    /// The children of so many of the largest rows of a view.
    Rows(ViewKind, Params, usize),
    /// The details of the largest rows of some views.
    Details(Vec<ViewKind>, Params),
    /// The executions of these rows.
    Events(Vec<ViewKind>),
}

impl Keys {
    /// An iterator over the keys, and their number.
    pub fn spelled(self, site: &Site) -> (Box<dyn Iterator<Item = String>>, usize) {
        match self {
            Keys::All(keys) => {
                let count = keys.len();
                (Box::new(keys.into_iter()), count)
            }
            Keys::Rows(view, asked, most) => rows(site, view, asked, most),
            Keys::Details(views, plain) => {
                largest_rows(site, &views, move |sel| spelled("node", &with(&plain, "sel", sel)))
            }
            Keys::Events(views) => largest_rows(site, &views, |sel| spelled("events", &vec![("sel", sel)])),
        }
    }
}

/// Parameters that differ from their defaults.
pub type Params = Vec<(&'static str, String)>;

fn spelled(route: &str, params: &Params) -> String {
    let pairs: Vec<(&str, &str)> = params.iter().map(|(name, value)| (*name, value.as_str())).collect();
    key(route, &pairs)
}

fn with(params: &Params, name: &'static str, value: impl Into<String>) -> Params {
    let mut more = params.clone();
    more.push((name, value.into()));
    more
}

/// The maximum number of steps that a report has one by one.
const MOST_STEPS: usize = 20;
/// The maximum number of rows whose children a report has, per question.
const MOST_PARENTS: usize = 20_000;
/// The same for all metrics but the default one.
const MOST_PARENTS_OF_OTHERS: usize = 100;
/// The maximum number of rows whose details a report has.
const MOST_DETAILS: usize = 300;
/// The deepest level of tiles: 512 of them.
const DEEPEST: u32 = 9;

pub fn parts(site: &Site, settings: &Settings) -> Vec<Part> {
    let views: Vec<ViewKind> = ViewKind::ALL.into_iter().filter(|kind| site.knows_view(*kind).is_ok()).collect();
    let variants = variants(site);
    let metrics = metrics(site, settings);
    let (first, others) = metrics.split_at(1.min(metrics.len()));
    let mut parts = Vec::new();
    let mut part = |what: String, keys: Keys, fits_partly: bool| parts.push(Part { what, keys, fits_partly });
    let glance = |metric: &Params, variants: &[Params]| {
        let mut keys = Vec::new();
        for variant in variants {
            let plain: Params = variant.iter().chain(metric).cloned().collect();
            keys.extend(["overview", "code", "graph", "node"].map(|route| spelled(route, &plain)));
            if metric.is_empty() {
                keys.extend(views.iter().map(|view| match view {
                    ViewKind::Scope => spelled("roofline", variant),
                    view => spelled("roofline", &with(variant, "view", view.word())),
                }));
            }
            for view in &views {
                let asked = if *view == ViewKind::Scope { plain.clone() } else { with(&plain, "view", view.word()) };
                keys.extend(["flame", "lists", "rows"].map(|route| spelled(route, &asked)));
            }
        }
        keys
    };
    for metric in first {
        part("the first screens".to_owned(), Keys::All(glance(metric, &variants[..1])), true);
    }
    part("the timeline as a whole".to_owned(), Keys::All(timeline(0, 2)), false);
    part("memory".to_owned(), Keys::All(memory(site)), true);
    for metric in first {
        part("single steps".to_owned(), Keys::All(glance(metric, &variants[1..])), true);
    }
    if site.baseline.is_some() {
        let keys = metrics.iter().flat_map(|metric| comparison(&views, metric)).collect();
        part("the comparison".to_owned(), Keys::All(keys), true);
    }
    for metric in others {
        let name = metric.first().map_or("", |(_, word)| word.as_str());
        part(format!("the metric {name}"), Keys::All(glance(metric, &variants)), true);
    }
    // The rows of all metrics and steps, the most important first.
    for (at, metric) in metrics.iter().enumerate() {
        for (number, variant) in variants.iter().enumerate() {
            let plain: Params = variant.iter().chain(metric).cloned().collect();
            let most = if at == 0 { MOST_PARENTS } else { MOST_PARENTS_OF_OTHERS };
            for view in &views {
                let asked = if *view == ViewKind::Scope { plain.clone() } else { with(&plain, "view", view.word()) };
                part(format!("rows of the {} view", view.word()), Keys::Rows(*view, asked, most), true);
            }
            if (at, number) == (0, 0) {
                part("events of single rows".to_owned(), Keys::Events(views.clone()), true);
                part("details of single rows".to_owned(), Keys::Details(views.clone(), plain), true);
            }
        }
    }
    for level in 3..=DEEPEST {
        part("the timeline zoomed in".to_owned(), Keys::All(timeline(level, level)), false);
    }
    parts
}

/// The average without warm-up as the page asks it, the average, and each step.
fn variants(site: &Site) -> Vec<Params> {
    let mut variants: Vec<Params> = Vec::new();
    if steps::warm_up(&site.overview, site.profiler.model()).others.is_some() {
        variants.push(vec![("warm", "1".to_owned())]);
    }
    variants.push(Vec::new());
    let steps = site.overview.steps.iter().take(MOST_STEPS);
    variants.extend(steps.map(|step| vec![("step", step.step.to_string())]));
    variants
}

/// The default metric, which has no parameter, and the others.
fn metrics(site: &Site, settings: &Settings) -> Vec<Params> {
    let default = site.default_metric();
    let mut metrics = vec![Vec::new()];
    let is_there = |metric: Metric| match meta::all_metrics(site) {
        Ok(tree) => tree.view.knows(metric) && tree.view.total(metric, tree.row(0)) != 0,
        Err(_) => false,
    };
    for info in METRICS.iter().filter(|info| info.metric != default && !info.is_ratio()) {
        let Some(word) = info.word else { continue };
        let wanted = settings.metrics.is_empty() || settings.metrics.iter().any(|metric| metric == word);
        if wanted && is_there(info.metric) {
            metrics.push(vec![("metric", word.to_owned())]);
        }
    }
    metrics
}

/// The comparison in every view, and the lists of changes.
fn comparison(views: &[ViewKind], metric: &Params) -> Vec<String> {
    let of_view = |view: &ViewKind| match view {
        ViewKind::Scope => metric.clone(),
        view => with(metric, "view", view.word()),
    };
    let asked = views.iter().map(of_view);
    asked.flat_map(|asked| ["compare", "changes"].map(|route| spelled(route, &asked))).collect()
}

fn memory(site: &Site) -> Vec<String> {
    let steps = site.overview.steps.iter().take(MOST_STEPS);
    let steps = steps.map(|step| spelled("memory", &vec![("step", step.step.to_string())]));
    ["memory".to_owned()].into_iter().chain(steps).collect()
}

/// The tiles of some levels; with the first, the lanes and names.
fn timeline(from: u32, to: u32) -> Vec<String> {
    let mut keys = Vec::new();
    if from == 0 {
        keys.extend(["timeline", "names", "range"].map(str::to_owned));
    }
    for level in from..=to {
        let index = |index: u32| vec![("level", level.to_string()), ("index", index.to_string())];
        keys.extend((0..1 << level).map(|at| spelled("tile", &index(at))));
    }
    keys
}

/// The children of every row, the largest rows first.
fn rows(site: &Site, view: ViewKind, asked: Params, most: usize) -> (Box<dyn Iterator<Item = String>>, usize) {
    let mut params = crate::params::Params::default();
    asked.iter().for_each(|(name, value)| params.push(name, value));
    let Ok(tree) = site.asked(&mut params).and_then(|asked: ViewQuestion| site.tree(&asked)) else {
        return (Box::new(std::iter::empty()), 0);
    };
    debug_assert_eq!(tree.view.kind, view);
    let mut parents: Vec<usize> = (1..tree.len()).filter(|id| !tree.kids(*id).is_empty()).collect();
    parents.sort_by_key(|id| std::cmp::Reverse(tree.parts(*id)));
    parents.truncate(most);
    let count = parents.len();
    let key = move |id| spelled("rows", &with(&asked, "parent", tree.path(id)));
    (Box::new(parents.into_iter().map(key)), count)
}

/// A key for each of the largest rows.
fn largest_rows(
    site: &Site,
    views: &[ViewKind],
    key: impl Fn(String) -> String + 'static,
) -> (Box<dyn Iterator<Item = String>>, usize) {
    let mut largest: Vec<String> = Vec::new();
    for view in views {
        let word = site.default_metric().info().word.unwrap_or_default();
        let tree = ViewQuestion::new(*view, &[word], None, Vec::new()).and_then(|asked| site.tree(&asked));
        let Ok(tree) = tree else { continue };
        let mut rows: Vec<usize> = (1..tree.len()).filter(|id| tree.parts(*id) > 0).collect();
        rows.sort_by_key(|id| std::cmp::Reverse(tree.parts(*id)));
        rows.truncate(MOST_DETAILS);
        largest.extend(rows.into_iter().map(|id| tree.sel(id)));
    }
    let count = largest.len();
    (Box::new(largest.into_iter().map(key)), count)
}
