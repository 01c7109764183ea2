//! The files to load and their formats: flags name them, directories hold files of known names, and any other path is
//! recognized by its content.

mod loading;
mod logdir;
mod recognize;

pub use loading::{OnProgress, ReadProgress};

use crate::budget::Limits;
use crate::checkpoint::locate;
use crate::comma_list;
use crate::error::{Error, Location};
use crate::format::source::{STDIN, Source};
use crate::format::{Format, Role};
use crate::model::settings::Settings;
use crate::report::overview::InputFile;
use loading::debug_info_beside;
use recognize::is_saved_model;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

/// A file, or another path that a format can read, such as a checkpoint's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub path: PathBuf,
    pub format: &'static Format,
    /// The step of a run, if a user or the file's name gave one.
    pub step: Option<i64>,
}

/// The files that a user named, in any order, and how to read them.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub list: Vec<Input>,
    /// Which part of a model counts, and values that its files leave open.
    pub settings: Settings,
    /// The memory and the work that the files may take.
    pub limits: Limits,
    /// The run to read of a log directory; empty for the newest.
    pub run: String,
    /// The files are a copy of a live model, and do not stay.
    pub live: bool,
    /// Log directories are the hosts of one run.
    pub hosts: bool,
    /// The log directories, the run that is read of the last one, and the runs that are not read.
    pub log_dirs: Vec<PathBuf>,
    pub read_run: String,
    pub other_runs: Vec<String>,
    /// A pattern of the events that mark steps; empty to find steps by rule.
    pub step_marker: String,
    /// The first bytes of standard input, if they were taken to recognize its format.
    stdin_head: Vec<u8>,
}

impl Inputs {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a file of a known format.
    pub fn add(&mut self, path: impl Into<PathBuf>, format: &'static Format) {
        self.list.push(Input { path: path.into(), format, step: None });
    }

    /// Adds the value of a format's flag: `FILE`, or `[STEP=]FILE,…` for runs.
    pub fn add_flag(&mut self, format: &'static Format, value: &str) {
        match format.role {
            Role::Run => self.add_runs(format, value),
            // As the original: an empty name is the same as none, as in --op_log_path=$LOG of a script.
            _ if value.is_empty() => {}
            _ => self.add(value, format),
        }
    }

    /// Adds `[STEP=]FILE,…`. A file whose name has commas may be given alone.
    fn add_runs(&mut self, format: &'static Format, list: &str) {
        if Path::new(list).exists() {
            return self.add(list, format);
        }
        for item in comma_list::split_list(list).iter().map(|item| comma_list::unescaped_commas(item)) {
            let step = item.split_once('=').and_then(|(step, path)| {
                let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
                Some((step.parse().ok().filter(|_| digits)?, path))
            });
            let (step, path) = step.map_or((None, item.as_str()), |(step, path)| (Some(step), path));
            self.list.push(Input { path: PathBuf::from(path), format, step });
        }
    }

    /// Adds all files of others. Settings stay as they are.
    pub fn extend(&mut self, others: &Inputs) {
        self.list.extend_from_slice(&others.list);
        self.other_runs.extend_from_slice(&others.other_runs);
        self.log_dirs.extend_from_slice(&others.log_dirs);
        self.read_run.clone_from(&others.read_run);
        self.live |= others.live;
        if self.stdin_head.is_empty() {
            self.stdin_head.clone_from(&others.stdin_head);
        }
    }

    /// The inputs that contribute the same, in the order in which they were named.
    pub fn of(&self, role: Role) -> impl Iterator<Item = &Input> {
        self.list.iter().filter(move |input| input.format.role == role)
    }

    /// The runs with their steps: those given, else 0, 1, 2 and so on by position.
    pub fn runs(&self) -> impl Iterator<Item = (i64, &Input)> {
        self.of(Role::Run).enumerate().map(|(at, input)| (input.step.unwrap_or(at as i64), input))
    }

    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.list.iter().map(|input| input.path.as_path())
    }

    /// The directory of a `SavedModel`, if there is one; empty if it does not stay.
    pub(super) fn saved_model(&self) -> Option<String> {
        let mut graphs = self.of(Role::Graph).filter(|input| is_saved_model(&input.path));
        let graph = graphs.next();
        if self.live {
            return graph.map(|_| String::new());
        }
        graph.map(|input| input.path.parent().unwrap_or(Path::new(".")).display().to_string())
    }

    /// The files with their labels, as an overview lists them.
    pub(super) fn labelled(&self) -> Vec<InputFile> {
        let file = |kind: String, path: &Path| InputFile {
            kind,
            name: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        };
        let roles = [Role::Graph, Role::Profile, Role::Checkpoint, Role::OpLog, Role::Host, Role::Partial];
        let plain = roles.into_iter().flat_map(|role| self.of(role));
        let plain = plain.map(|input| file(input.format.label.to_owned(), &input.path));
        plain.chain(self.runs().map(|(step, run)| file(format!("{} {step}", run.format.label), &run.path))).collect()
    }

    /// All files that will be read: those named, the parts of checkpoints, and the files beside a `SavedModel`.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.paths().map(named_file).collect();
        for Input { path, format, .. } in &self.list {
            files.extend(debug_info_beside(path));
            match format.role {
                Role::Checkpoint => files.extend(locate::files(path)),
                Role::Graph if is_saved_model(path) => files.extend(path.parent().into_iter().flat_map(locate::files)),
                _ => {}
            }
        }
        files
    }

    /// Opens an input. Standard input can be opened once, even if its format was recognized before.
    pub fn open(&self, path: &Path) -> Result<Source<'static>, Error> {
        self.open_with(path, &|_| {})
    }

    /// The same; `on_read` is called as [`Source::open_with`] says.
    fn open_with<'a>(&self, path: &Path, on_read: &'a dyn Fn(u64)) -> Result<Source<'a>, Error> {
        if path.as_os_str() == "-" && !self.stdin_head.is_empty() {
            let whole = Cursor::new(self.stdin_head.clone()).chain(std::io::stdin());
            return Source::with(STDIN.to_owned(), whole, self.limits, on_read);
        }
        Source::open_with(path, self.limits, on_read)
    }
}

fn read_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { file: path.display().to_string(), action: "cannot read", source }
}

/// The file of a path: standard input may be one.
fn named_file(path: &Path) -> PathBuf {
    if path.as_os_str() == "-" { PathBuf::from("/dev/stdin") } else { path.to_owned() }
}

fn input_error(path: &Path, message: String) -> Error {
    Error::Input { location: Location { file: path.display().to_string(), spot: None }, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_from_flags_names_and_positions() {
        let mut inputs = Inputs::default();
        inputs.add_flag(Format::of(Role::OpLog), "log");
        inputs.add_flag(Format::of(Role::Run), "a,7=b,x=c");
        inputs.add_flag(Format::of(Role::Graph), "");
        assert_eq!(inputs.runs().map(|(step, _)| step).collect::<Vec<_>>(), [0, 7, 2]);
        assert_eq!(inputs.list[3].path, PathBuf::from("x=c"));
    }
}
