//! Log directories, `LOGDIR/plugins/profile/RUN/HOST.xplane.pb`, and glob patterns.

use crate::format::xspace::is_xplane_path;
use std::path::{Path, PathBuf};

/// A run: the profiles of all its hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub name: String,
    pub files: Vec<PathBuf>,
}

/// The runs below a directory, sorted by name, which is by the time of recording.
pub fn runs(dir: &Path) -> Vec<Run> {
    let mut found = Vec::new();
    // A run itself, the directory of all runs, or those of a log directory, which may lie two levels deeper.
    let mut levels = vec![dir.to_owned()];
    add_run(dir, &mut found);
    for level in 0..=2 {
        for dir in &levels {
            for runs in [dir.join("plugins/profile"), dir.join("profile")] {
                below(&runs).iter().for_each(|run| add_run(run, &mut found));
            }
            if level == 0 {
                below(dir).iter().for_each(|run| add_run(run, &mut found));
            }
        }
        levels = levels.iter().flat_map(|dir| below(dir)).collect();
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn add_run(dir: &Path, found: &mut Vec<Run>) {
    let files: Vec<PathBuf> = entries(dir).into_iter().filter(|path| is_xplane_path(path) && path.is_file()).collect();
    if !files.is_empty() && !found.iter().any(|run| run.files == files) {
        let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push(Run { name, files });
    }
}

pub(super) fn below(dir: &Path) -> Vec<PathBuf> {
    entries(dir).into_iter().filter(|path| path.is_dir()).collect()
}

/// The entries of a directory, sorted by name; empty if it cannot be read.
pub fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The paths that match a glob pattern of `*` and `?`, sorted by name; empty if it has neither.
pub fn expand(pattern: &Path) -> Vec<PathBuf> {
    let is_pattern = |part: &str| part.contains(['*', '?']);
    if !is_pattern(&pattern.to_string_lossy()) {
        return Vec::new();
    }
    let mut paths = vec![PathBuf::new()];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy().into_owned();
        paths = paths
            .into_iter()
            .flat_map(|path| {
                if !is_pattern(&text) {
                    return vec![path.join(part)];
                }
                let dir = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
                let names = entries(dir).into_iter().filter_map(|entry| Some(entry.file_name()?.to_owned()));
                let fits = |name: &std::ffi::OsString| matches(text.as_bytes(), name.to_string_lossy().as_bytes());
                names.filter(fits).map(|name| path.join(name)).collect()
            })
            .collect();
    }
    paths.retain(|path| path.exists());
    paths
}

/// Whether a name matches a pattern. Only the last star backtracks, which bounds the time by the product of the lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                back = Some((p, n));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[n] => (p, n) = (p + 1, n + 1),
            _ => match back {
                Some((star, from)) => {
                    (p, n) = (star + 1, from + 1);
                    back = Some((star, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        let check = |pattern: &str, name: &str, fits| assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), fits);
        check("*.xplane.pb", "a.xplane.pb", true);
        check("*.xplane.pb", "a.xplane.pb.gz", false);
        check("w?rker-*", "worker-12", true);
        check("*a*b*", "xaxxb", true);
        check("*a*b", "xbxxa", false);
        check("", "", true);
    }
}
