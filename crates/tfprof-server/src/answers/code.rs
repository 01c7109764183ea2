//! Annotated source files.

use super::table::same_file;
use crate::params::Params;
use crate::reply::{Problem, Reply, object};
use crate::site::Site;
use crate::tree::{Tree, number};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use tfprof::{Amount, Metric, Number, ViewKind};

/// The largest source file that is shown, in bytes.
const LARGEST: u64 = 4 << 20;

/// Sums by metric, in stored units.
type Sums = Vec<i64>;

/// A source line: self and total, with and without the lines that it calls.
#[derive(Default)]
struct LineSums {
    function: String,
    own: Sums,
    total: Sums,
    forward: i64,
    gradient: i64,
}

#[derive(Default)]
struct FileSums {
    own: Sums,
    lines: BTreeMap<i32, LineSums>,
}

pub fn code(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let wanted = params.text("file");
    let asked = site.asked(params)?;
    let asked = asked.with(ViewKind::Code, &asked.words())?;
    let tree = match site.tree(&asked) {
        Ok(tree) => tree,
        Err(problem) => {
            let missing = site.overview.missing.iter().find(|missing| super::meta::NO_CODE.contains(&missing.code));
            return Err(Problem::no_data(problem.message().to_owned(), missing.cloned()));
        }
    };
    let files = sums(&tree);
    let mut by_size: Vec<(&String, &FileSums)> = files.iter().collect();
    by_size.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.own[0]));
    let chosen = match wanted.as_str() {
        "" => by_size.first().copied(),
        name => by_size.iter().find(|(file, _)| same_file(file, name)).copied(),
    };
    let Some((file, of_file)) = chosen else {
        return Err(Problem::not_found(format!("no line of `{wanted}` made an op")));
    };
    let (text, text_note) = match text(site, file) {
        Ok(text) => (Some(text), String::new()),
        Err(why) => (None, why),
    };
    let list: Value = by_size
        .iter()
        .map(|(file, sums)| {
            let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
            json!({ "file": file, "name": name, "user": true, "total": figures(&tree, &sums.own), "share": shares(&tree, &sums.own) })
        })
        .collect();
    let lines: Value = of_file
        .lines
        .iter()
        .map(|(line, sums)| {
            json!({
                "line": line, "function": sums.function,
                "own": figures(&tree, &sums.own), "total": figures(&tree, &sums.total), "share": shares(&tree, &sums.own),
                "forward": tree.whole(sums.forward), "gradient": tree.whole(sums.gradient),
                "sel": format!("line:{file}:{line}"),
            })
        })
        .collect();
    Ok(site.frame(&tree).reply(object! {
        "columns": tree.columns(),
        "files": list,
        "file": file.as_str(),
        "text": text,
        "text_note": text_note,
        "first": 1,
        "lines": lines,
        "functions": functions(&tree, of_file),
    }))
}

/// Sums by file and line. A line that calls itself counts once.
fn sums(tree: &Tree) -> BTreeMap<String, FileSums> {
    let metrics = &tree.asked.metrics;
    let none = || vec![0; metrics.len()];
    let add = |sums: &mut Sums, of: &dyn Fn(Metric) -> i64| {
        sums.iter_mut().zip(metrics).for_each(|(sum, metric)| *sum = sum.saturating_add(of(*metric)));
    };
    let mut files: BTreeMap<String, FileSums> = BTreeMap::new();
    // The lines around the current row, and where they end.
    let mut open: Vec<(String, i32, usize)> = Vec::new();
    let mut inside: HashSet<(String, i32)> = HashSet::new();
    for id in 1..tree.len() {
        while let Some((file, line, _)) = open.pop_if(|(_, _, end)| *end <= id) {
            inside.remove(&(file, line));
        }
        let row = tree.row(id);
        let Some(line) = tree.view.line(row) else { continue };
        let of_file =
            files.entry(line.file.to_owned()).or_insert_with(|| FileSums { own: none(), lines: BTreeMap::new() });
        let own = |metric: Metric| tree.view.exact_self(metric, row).n;
        add(&mut of_file.own, &own);
        let new =
            || LineSums { function: line.function.to_owned(), own: none(), total: none(), forward: 0, gradient: 0 };
        let sums = of_file.lines.entry(line.number).or_insert_with(new);
        add(&mut sums.own, &own);
        let part = if line.is_gradient { &mut sums.gradient } else { &mut sums.forward };
        *part = part.saturating_add(own(metrics[0]));
        if inside.insert((line.file.to_owned(), line.number)) {
            add(&mut sums.total, &|metric| tree.view.exact_total(metric, row).n);
            open.push((line.file.to_owned(), line.number, tree.below(id).end));
        }
    }
    files
}

/// Sums as JSON numbers; unknown ones and ratios are null.
fn figures(tree: &Tree, sums: &Sums) -> Value {
    let figure = |(metric, n): (&Metric, &i64)| {
        if metric.is_ratio() || !tree.view.knows(*metric) {
            return Value::Null;
        }
        match tree.view.model.parts(*metric) {
            1 => (*n).into(),
            parts => number(Number::Decimal(Amount { n: *n, parts })),
        }
    };
    tree.asked.metrics.iter().zip(sums).map(figure).collect()
}

fn shares(tree: &Tree, sums: &Sums) -> Value {
    tree.asked.metrics.iter().zip(sums).map(|(metric, n)| Value::from(tree.share_of(*metric, *n as f64))).collect()
}

fn functions(tree: &Tree, file: &FileSums) -> Value {
    let mut functions: BTreeMap<&str, (i32, Sums)> = BTreeMap::new();
    for (line, sums) in &file.lines {
        let (first, all) = functions.entry(&sums.function).or_insert_with(|| (*line, vec![0; sums.own.len()]));
        *first = (*first).min(*line);
        all.iter_mut().zip(&sums.own).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
    }
    let mut sorted: Vec<_> = functions.into_iter().collect();
    sorted.sort_by_key(|(_, (_, sums))| std::cmp::Reverse(sums[0]));
    let one = |(name, (line, sums)): &(&str, (i32, Sums))| json!({ "name": name, "line": line, "total": figures(tree, sums) });
    sorted.iter().map(one).collect()
}

/// The lines of a source file that the profile names, if it is a Python file below the source root.
fn text(site: &Site, file: &str) -> Result<Vec<String>, String> {
    let root = &site.setup.source_root;
    let again = format!("name the directory of the sources with --source_root, now {}", root.display());
    let Some(path) = locate(root, file) else {
        return Err(format!("There is no {file} below the source root; {again}"));
    };
    let size = std::fs::metadata(&path).map_or(u64::MAX, |meta| meta.len());
    if size > LARGEST {
        return Err(format!("{} is too large to be shown", path.display()));
    }
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: cannot read: {error}", path.display()))?;
    let plain = |c: char| {
        if c == '\t' {
            '\t'
        } else if c.is_control() {
            ' '
        } else {
            c
        }
    };
    Ok(String::from_utf8_lossy(&bytes).lines().map(|line| line.chars().map(plain).collect()).collect())
}

/// Resolves a file name of the profile below the root: the name itself, or its last components.
///
/// Symlinks are resolved before the check, so none leads out of the root.
pub fn locate(root: &Path, file: &str) -> Option<PathBuf> {
    if Path::new(file).extension().is_none_or(|ending| ending != "py") {
        return None;
    }
    let root = root.canonicalize().ok()?;
    let parts: Vec<&str> = file.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    let is_below = |path: &Path| {
        let path = path.canonicalize().ok()?;
        let is_python = path.extension().is_some_and(|ending| ending == "py");
        (path.starts_with(&root) && path.is_file() && is_python).then_some(path)
    };
    if Path::new(file).is_absolute()
        && let Some(path) = is_below(Path::new(file))
    {
        return Some(path);
    }
    if parts.contains(&"..") {
        return None;
    }
    // `/home/me/src/model.py` of another machine may be `src/model.py` or `model.py` on this one.
    (0..parts.len()).find_map(|from| is_below(&root.join(parts[from..].iter().collect::<PathBuf>())))
}
