//! Dependencies between modules point one way. [`LAYERS`] says who may import whom; this test reads every path in
//! the sources that starts at the crate root (`crate::` or a chain of `super::`) and checks it. Tests are exempt.

use crate::sources::rust_files;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Modules without dependencies; everything may import them.
const BASE: &[&str] = &[
    "allocator",
    "budget",
    "comma_list",
    "error",
    "foreign",
    "hardware",
    "hash",
    "json",
    "metric",
    "options",
    "pairing",
    "parallel",
    "quirks",
    "units",
    "words",
];

/// Each module, and what it may import besides [`BASE`]: a module, or `module::part` for a part of one.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    (
        "checkpoint",
        &["model", "view::filter", "render::csv", "render::fit", "render::html", "render::json", "render::tensor"],
    ),
    ("events", &["model"]),
    ("format", &["model", "events", "checkpoint", "part"]),
    ("infer", &["model"]),
    ("part", &["model"]),
    ("view", &["model", "checkpoint"]),
    ("columnar", &["render::csv", "render::fit"]),
    ("render", &["model", "view", "checkpoint", "columnar"]),
    ("tables", &["model", "view", "columnar"]),
    ("sql", &["model", "columnar", "tables"]),
    ("report", &["model", "part", "view", "render::fit", "render::html", "render::markup", "render::theme"]),
    ("trace", &["model", "format", "events", "render::chrome"]),
    (
        "engine",
        &[
            "model",
            "checkpoint",
            "columnar",
            "events",
            "format",
            "infer",
            "part",
            "view",
            "render",
            "report",
            "sql",
            "tables",
            "trace",
        ],
    ),
];

/// Imports that break the rules today: the file and the module it imports. Remove a line when you fix it.
const KNOWN_VIOLATIONS: &[(&str, &str)] = &[];

#[test]
fn modules_import_only_the_layers_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeSet::new();
    for file in sources(&root) {
        let text = std::fs::read_to_string(root.join(&file)).expect("a source file");
        let module = module_path(&file);
        // The root and `internal` re-export anything.
        let Some(layer) = module.first().filter(|module| *module != "internal") else { continue };
        for path in crate_paths(&text, &module) {
            if !may_import(layer, &path) {
                found.insert((file.clone(), path[0].clone()));
            }
        }
    }
    let known: BTreeSet<_> = KNOWN_VIOLATIONS.iter().map(|(file, to)| ((*file).to_owned(), (*to).to_owned())).collect();
    let new: Vec<_> = found.difference(&known).collect();
    let fixed: Vec<_> = known.difference(&found).collect();
    assert!(new.is_empty(), "imports against the direction of LAYERS: {new:#?}");
    assert!(fixed.is_empty(), "fixed; remove them from KNOWN_VIOLATIONS: {fixed:#?}");
}

fn may_import(layer: &str, path: &[String]) -> bool {
    let target = path[0].as_str();
    let part = format!("{target}::{}", path.get(1).map_or("", String::as_str));
    if target == layer || BASE.contains(&target) {
        return true;
    }
    let allowed = LAYERS.iter().find(|(module, _)| *module == layer).map_or(&[][..], |(_, allowed)| allowed);
    allowed.contains(&target) || allowed.contains(&part.as_str())
}

/// All source files below the root except those of tests, relative to it.
fn sources(root: &Path) -> Vec<String> {
    let relative = |path: PathBuf| {
        let file = path.strip_prefix(root).expect("a file below the root");
        file.to_string_lossy().replace('\\', "/")
    };
    let mut files: Vec<String> = rust_files(root).into_iter().map(relative).collect();
    files.retain(|file| !file.ends_with("tests.rs"));
    files
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`; `lib.rs` is the root.
fn module_path(file: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// Every path of a file that starts at the crate root, as segments after the root.
fn crate_paths(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let tokens = without_tests(&tokens(text));
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let mut depth = match tokens[at].as_str() {
            "crate" => 0,
            "super" => module.len().saturating_sub(1),
            _ => {
                at += 1;
                continue;
            }
        };
        at += 1;
        while depth > 0 && tokens[at..].starts_with(&["::".to_owned(), "super".to_owned()]) {
            depth -= 1;
            at += 2;
        }
        if depth == 0 && tokens.get(at).is_some_and(|token| token == "::") {
            expand(&tokens, at + 1, &[], &mut paths);
        }
    }
    paths
}

/// Expands a use tree (`a`, `a::b`, `{a, b::{c, d}}`) to paths, and returns the position behind it.
fn expand(tokens: &[String], mut at: usize, prefix: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    if tokens.get(at).is_some_and(|token| token == "{") {
        at += 1;
        while tokens.get(at).is_some_and(|token| token != "}") {
            at = expand(tokens, at, prefix, paths);
            while tokens.get(at).is_some_and(|token| token != "," && token != "}") {
                at += 1;
            }
            at += usize::from(tokens.get(at).is_some_and(|token| token == ","));
        }
        return at + 1;
    }
    let Some(segment) = tokens.get(at) else { return at };
    let path = [prefix, std::slice::from_ref(segment)].concat();
    if tokens.get(at + 1).is_some_and(|token| token == "::") {
        return expand(tokens, at + 2, &path, paths);
    }
    paths.push(path);
    at + 1
}

/// Identifiers, `::` and single characters; comments, strings and characters are left out.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = literal(rest) {
            length
        } else if first.is_alphanumeric() || first == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of a string, raw string or character at the start of a text.
fn literal(text: &str) -> Option<usize> {
    let plain = text.strip_prefix('b').unwrap_or(text);
    let prefix = text.len() - plain.len();
    if let Some(raw) = plain.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = hashes + 1;
            return Some(prefix + 1 + body + raw[body..].find(&end).map_or(raw.len() - body, |at| at + end.len()));
        }
    }
    let quote = plain.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let mut characters = plain.char_indices().skip(1);
    if quote == '\'' {
        // A lifetime has no closing quote.
        let (_, first) = characters.clone().next()?;
        let (_, second) = characters.clone().nth(1)?;
        if first != '\\' && second != '\'' {
            return None;
        }
    }
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote {
            return Some(prefix + at + 1);
        }
    }
    None
}

/// Leaves out every item behind `#[cfg(test)]`, up to its `;` or closing brace.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let attribute: Vec<String> = ["#", "[", "cfg", "(", "test", ")", "]"].map(str::to_owned).into();
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..].starts_with(&attribute) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0;
        while at < tokens.len() {
            depth += i32::from(tokens[at] == "{") - i32::from(tokens[at] == "}");
            at += 1;
            if depth == 0 && (tokens[at - 1] == ";" || tokens[at - 1] == "}") {
                break;
            }
        }
    }
    kept
}

/// A public function or constant is named in some other file of the workspace, or it need not be public.
#[test]
fn public_functions_have_callers_elsewhere() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["crates", "python/src", "tests", "fuzz/src", "fuzz/fuzz_targets"];
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| rust_files(&workspace.join(folder))).collect();
    let texts: Vec<Vec<String>> =
        files.iter().map(|file| tokens(&std::fs::read_to_string(file).expect("a source file"))).collect();
    let mut users: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, text) in texts.iter().enumerate() {
        text.iter().for_each(|word| _ = users.entry(word).or_default().insert(at));
    }
    let is_source = |file: &Path| file.components().any(|part| part.as_os_str() == "src");
    let mut lonely = Vec::new();
    for (file, text) in files.iter().zip(&texts).filter(|(file, _)| is_source(file)) {
        // Generated tables are complete, used or not.
        if file.ends_with("tfprof-proto/src/fields.rs") || file.ends_with("tfprof-proto/src/schema/tables.rs") {
            continue;
        }
        for name in public_values(&without_tests(text)) {
            if users[name.as_str()].len() == 1 {
                lonely.push(format!("{}: {name}", file.display()));
            }
        }
    }
    assert_eq!(lonely, Vec::<String>::new(), "used in no other file: make them private, or remove them");
}

/// The names of public functions, constants and statics.
fn public_values(tokens: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, word)| *word == "pub") {
        let mut rest = tokens[at + 1..].iter();
        let mut word = rest.next();
        if word.is_some_and(|word| word == "(") {
            // In an inline module, `pub(super)` means this file.
            if rest.next().is_some_and(|word| word == "super") {
                continue;
            }
            word = rest.by_ref().skip_while(|word| *word != ")").nth(1);
        }
        let (mut kind, mut name) = (word, rest.next());
        while name.is_some_and(|word| matches!(word.as_str(), "fn" | "unsafe" | "async" | "mut")) {
            (kind, name) = (name, rest.next());
        }
        if let (Some(kind), Some(name)) = (kind, name)
            && matches!(kind.as_str(), "fn" | "const" | "static")
        {
            names.push(name.clone());
        }
    }
    names
}

#[test]
fn security_lists_unsafe_code() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let promises = std::fs::read_to_string(workspace.join("SECURITY.md")).expect("SECURITY.md");
    let mut found = 0;
    for part in [
        "crates/tfprof/src",
        "crates/tfprof-cli/src",
        "crates/tfprof-proto/src",
        "crates/tfprof-server/src",
        "python/src",
    ] {
        for file in sources(&workspace.join(part)) {
            let text = std::fs::read_to_string(workspace.join(part).join(&file)).expect("a source");
            // A lint of the workspace denies it elsewhere.
            if text.contains("allow(unsafe_code)") {
                found += 1;
                assert!(promises.contains(&format!("`{file}`")), "SECURITY.md does not name {part}/{file}");
            }
        }
    }
    assert!(found > 0);
}

#[test]
fn paths_are_found_in_every_spelling() {
    let check = |file: &str, text: &str, expect: &[&str]| {
        let paths = crate_paths(text, &module_path(file));
        let paths: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, expect, "{file}: {text}");
    };
    check(
        "model/mod.rs",
        "use crate::format::{self, fields::{a, b as c}, d::*}; fn f() {}",
        &["format::self", "format::fields::a", "format::fields::b", "format::d::*"],
    );
    check("model/builder/runs.rs", "use super::super::super::view::View; use super::Builder;", &["view::View"]);
    check(
        "model/nodes.rs",
        "use super::{names, super::infer}; use super::super::{view, infer::body};",
        &["view", "infer::body"],
    );
    check("a.rs", "fn f<'a>(x: &'a crate::view::Row) -> char { '\"' }", &["view::Row"]);
    check("a.rs", "// use crate::b::c;\nconst A: &str = \"crate::d::e\"; /* crate::f */", &[]);
    check("a.rs", "#[cfg(test)]\nmod tests { use crate::b; fn f() { {} } }\nuse crate::c::d;", &["c::d"]);
    check("a.rs", "#[cfg(test)] mod tests; use crate::{b, c};", &["b", "c"]);
    check("a.rs", "const A: &[u8] = br#\"crate::b::\"#; use crate::c::d;", &["c::d"]);
}
