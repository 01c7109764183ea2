//! Which files to load, and as what: flags say so, directories hold files of known names, and other paths are
//! guessed from their content.

mod loading;
mod logdir;
mod parallel;
mod recognize;

pub use loading::{Reading, Watch};

use crate::checkpoint::locate;
use crate::error::{Error, Location};
use crate::format::Format;
use crate::format::source::{Limits, STDIN, Source};
use crate::infer::settings::Settings;
use crate::words;
use loading::debug_info_beside;
use recognize::is_saved_model;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

/// What a user named, in the order of loading.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub graphs: Vec<PathBuf>,
    pub op_logs: Vec<PathBuf>,
    /// Runs with the step that a user or a file's name gave them.
    pub runs: Vec<(Option<i64>, PathBuf)>,
    pub profiles: Vec<PathBuf>,
    /// What the names of their files begin with, or any other path that means a checkpoint.
    pub checkpoints: Vec<PathBuf>,
    /// What counts of a model, and what its files leave open.
    pub settings: Settings,
    /// How much the files may ask of the machine.
    pub limits: Limits,
    /// Profiles of TensorFlow 2 and JAX, one for each host.
    pub xspaces: Vec<PathBuf>,
    /// The run of a log directory that was asked for; empty for the newest.
    pub run: String,
    /// The runs of log directories that are not read.
    pub other_runs: Vec<String>,
    /// A pattern of the events that mark steps of profiles; empty to find them by rule.
    pub step_marker: String,
    /// The first bytes of standard input, if they were taken from it to tell what it is.
    stdin_head: Vec<u8>,
}

impl Inputs {
    pub fn is_empty(&self) -> bool {
        self.paths().next().is_none()
    }

    /// All files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let plain = self.graphs.iter().chain(&self.op_logs).chain(&self.profiles).chain(&self.checkpoints);
        let plain = plain.chain(&self.xspaces);
        plain.chain(self.runs.iter().map(|(_, path)| path)).map(PathBuf::as_path)
    }

    /// All files that are read: those that were named, the parts of checkpoints, and what lies beside a `SavedModel`.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.paths().map(named_file).collect();
        files.extend(self.graphs.iter().filter_map(|path| debug_info_beside(path)));
        let models = self.graphs.iter().filter(|path| is_saved_model(path)).filter_map(|path| path.parent());
        for checkpoint in self.checkpoints.iter().map(PathBuf::as_path).chain(models) {
            files.extend(locate::files(checkpoint));
        }
        files
    }

    /// Adds `[STEP=]FILE,…`. A file whose name has commas may be given alone.
    pub fn add_runs(&mut self, list: &str) {
        if Path::new(list).exists() {
            return self.runs.push((None, PathBuf::from(list)));
        }
        for item in words::split_list(list) {
            let step = item.split_once('=').and_then(|(step, path)| {
                let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
                Some((step.parse().ok().filter(|_| digits)?, path))
            });
            match step {
                Some((step, path)) => self.runs.push((Some(step), PathBuf::from(path))),
                None => self.runs.push((None, PathBuf::from(item))),
            }
        }
    }

    /// The steps of the runs: those given, else 0, 1, 2 and so on by their places.
    pub fn steps(&self) -> Vec<i64> {
        self.runs.iter().enumerate().map(|(place, (step, _))| step.unwrap_or(place as i64)).collect()
    }

    /// Opens an input. Standard input can be opened once, even if it was looked at before.
    pub fn open(&self, path: &Path) -> Result<Source<'static>, Error> {
        self.open_watched(path, &|_| {})
    }

    /// The same, with a watch as [`Source::open_watched`] has it.
    fn open_watched<'a>(&self, path: &Path, watch: &'a dyn Fn(u64)) -> Result<Source<'a>, Error> {
        if path.as_os_str() == "-" && !self.stdin_head.is_empty() {
            let whole = Cursor::new(self.stdin_head.clone()).chain(std::io::stdin());
            return Source::watched(STDIN.to_owned(), whole, self.limits, watch);
        }
        Source::open_watched(path, self.limits, watch)
    }
}

impl Format {
    /// The flag that names a file of this format.
    pub fn flag(self) -> &'static str {
        match self {
            Format::GraphDef | Format::MetaGraphDef | Format::SavedModel => "--graph_path",
            Format::RunMetadata => "--run_meta_path",
            Format::OpLog => "--op_log_path",
            Format::Profile => "--profile_path",
        }
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
    fn steps_come_from_flags_names_and_places() {
        let mut inputs = Inputs::default();
        inputs.add_runs("a,7=b,x=c");
        assert_eq!(inputs.steps(), [0, 7, 2]);
        assert_eq!(inputs.runs[2].1, PathBuf::from("x=c"));
    }
}
