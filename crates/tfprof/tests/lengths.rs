//! Functions have at most 80 lines and files at most 600, in all Rust of the workspace, tests included. Where that cannot
//! be, [`LONG`] says why. And every file of tests is part of a test binary.

use crate::sources::rust_files;
use std::path::Path;

const FUNCTION: usize = 80;
const FILE: usize = 600;

/// Files, and functions as `file: name`, that are longer, each with its reason.
const LONG: &[(&str, &str)] = &[
    ("crates/tfprof-proto/src/fields.rs", "a generated table"),
    ("crates/tfprof-proto/src/schema/tables.rs", "a generated table"),
];

#[test]
fn functions_and_files_are_short() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut long = Vec::new();
    for folder in ["crates", "python/src", "tests", "fuzz"] {
        for path in rust_files(&workspace.join(folder)) {
            let file =
                path.strip_prefix(&workspace).expect("a file of the workspace").to_string_lossy().replace('\\', "/");
            if file.contains("/target/") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source file");
            let lines = text.lines().count();
            if lines > FILE {
                long.push((file.clone(), lines));
            }
            long.extend(
                functions(&text)
                    .filter(|(_, lines)| *lines > FUNCTION)
                    .map(|(name, lines)| (format!("{file}: {name}"), lines)),
            );
        }
    }
    let excused = |name: &str| LONG.iter().any(|(known, _)| *known == name);
    let new: Vec<_> = long.iter().filter(|(name, _)| !excused(name)).collect();
    assert!(new.is_empty(), "more than {FUNCTION} lines in a function or {FILE} in a file: {new:#?}");
    let short: Vec<_> = LONG.iter().filter(|(known, _)| !long.iter().any(|(name, _)| name == known)).collect();
    assert!(short.is_empty(), "short by now; remove them from LONG: {short:#?}");
}

/// The tests of a crate are one binary, and Cargo does not look for others.
#[test]
fn every_file_of_tests_is_compiled() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["tfprof", "tfprof-cli", "tfprof-server"] {
        let folder = crates.join(name).join("tests");
        let main = std::fs::read_to_string(folder.join("main.rs")).expect("the root of the tests");
        for path in rust_files(&folder) {
            let module = path.file_stem().expect("a name").to_string_lossy();
            let is_compiled = ["main", "mod"].contains(&&*module) || main.contains(&format!("\nmod {module};"));
            assert!(is_compiled, "{}: no `mod {module};` in main.rs", path.display());
        }
    }
}

/// The names of all functions with their lines, from the signature to the closing brace. In formatted code the brace has the
/// indent of the signature.
fn functions(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    (0..lines.len()).filter_map(move |start| {
        let name = function_name(lines[start].trim_start())?;
        let ends = |line: &&str| indent(line) == indent(lines[start]) && line.trim_start() == "}";
        // One without a body, or with all of it in the line of the signature, is short.
        let body = lines[start..].iter().position(|line| line.ends_with('{'))?;
        let is_declared = lines[start..start + body].iter().any(|line| line.ends_with([';', '}']));
        let length = lines[start..].iter().position(ends)? + 1;
        (!is_declared).then_some((name, length))
    })
}

/// The name of the function whose signature begins a line.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_modifier =
        |word: &str| word.starts_with("pub") || ["const", "async", "unsafe", "extern", "\"C\""].contains(&word);
    let is_scope = |word: &str| ["in"].contains(&word) || word.ends_with(')');
    let end = after.find(|character: char| !character.is_alphanumeric() && character != '_')?;
    before.split_whitespace().all(|word| is_modifier(word) || is_scope(word)).then_some(&after[..end])
}

#[test]
fn functions_are_found_and_counted() {
    let text = "\
pub(crate) fn a() {
    if b {
    }
}
trait T {
    fn declared(&self);
    fn short(&self) -> u32 { 1 }
    const fn with_lines(
        x: u32,
    ) -> u32
    where
        u32: Copy,
    {
        x
    }
}
// fn commented() {
let f = |x: fn (u32)| {
};
";
    let found: Vec<_> = functions(text).collect();
    assert_eq!(found, [("a", 4), ("with_lines", 8)]);
}
