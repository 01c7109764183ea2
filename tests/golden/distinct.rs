//! No content is in the corpus twice: cases with equal answers name the same file.

use libtest_mimic::Failed;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub fn check(corpus: &Path) -> Result<(), Failed> {
    let mut open = vec![corpus.to_owned()];
    let mut seen: HashMap<Vec<u8>, PathBuf> = HashMap::new();
    let mut duplicates = Vec::new();
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if let Some(first) = seen.insert(std::fs::read(&path)?, path.clone()) {
                duplicates.push(format!("{} and {} have the same content", first.display(), path.display()));
            }
        }
    }
    if duplicates.is_empty() {
        return Ok(());
    }
    Err(format!("{}\nimport them with scripts/import_corpus.py", duplicates.join("\n")).into())
}
