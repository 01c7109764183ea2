//! Where the lines of earlier sessions are kept: in the user's state directory, not in the current one.

use rustyline::history::FileHistory;
use rustyline::{Editor, Helper};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// `$XDG_STATE_HOME/tfprof/history`, else `~/.local/state/tfprof/history`; none without a home.
pub fn file() -> Option<PathBuf> {
    file_in(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"))
}

fn file_in(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    // The rule of the XDG directories: a path that is not absolute does not count.
    let state = state.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home.filter(|home| !home.is_empty()).map(|home| PathBuf::from(home).join(".local/state"));
    state.or(home).map(|state| state.join("tfprof/history"))
}

/// Adds the last line to the file, which other sessions may write to as well.
pub fn save(editor: &mut Editor<impl Helper, FileHistory>, file: &Path) {
    if let Some(dir) = file.parent() {
        // Without a history the shell still works.
        let _ = std::fs::create_dir_all(dir);
    }
    let _ = editor.append_history(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_in_the_state_directory() {
        let check = |state: Option<&str>, home: Option<&str>, expect: Option<&str>| {
            assert_eq!(file_in(state.map(OsString::from), home.map(OsString::from)), expect.map(PathBuf::from));
        };
        check(Some("/state"), Some("/home/x"), Some("/state/tfprof/history"));
        check(Some("relative"), Some("/home/x"), Some("/home/x/.local/state/tfprof/history"));
        check(None, Some("/home/x"), Some("/home/x/.local/state/tfprof/history"));
        check(None, Some(""), None);
    }
}
