//! Reads all files into a profiler, in the order in which they need each other.

use super::recognize::is_saved_model;
use super::{Inputs, input_error, logdir, parallel, read_error};
use crate::checkpoint::Checkpoint;
use crate::engine::profiler::Profiler;
use crate::error::{Error, Location};
use crate::format::Format;
use crate::format::detect::{Guess, guess};
use crate::format::source::{STDIN, Source};
use crate::format::xspace::{self, ProfileFile};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tfprof_proto::stream::Spot;
use tfprof_proto::wire::{Fault, Fields, WireError};

/// How far reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading<'a> {
    /// The file that is being read.
    pub file: &'a str,
    /// Bytes of all files so far, and of all files in all; 0 if that is not known.
    pub read: u64,
    pub of: u64,
}

/// Who wants to know how far reading is.
pub type Watch<'a> = &'a dyn Fn(&Reading<'_>);

impl Inputs {
    /// Loads everything: graphs, then op logs, then runs, as the original's command line does.
    pub fn load(&self, profiler: &mut Profiler) -> Result<(), Error> {
        self.load_watched(profiler, &|_| {})
    }

    /// The same, and `watch` is told how far reading is.
    pub fn load_watched(&self, profiler: &mut Profiler, watch: Watch<'_>) -> Result<(), Error> {
        profiler.set(&self.settings);
        let (read, of) = (AtomicU64::new(0), self.paths().map(file_size).sum());
        let load = |path: &Path, format, step, profiler: &mut Profiler| {
            let file = if path.as_os_str() == "-" { STDIN.to_owned() } else { path.display().to_string() };
            let count = |bytes| {
                let read = read.fetch_add(bytes, Ordering::Relaxed) + bytes;
                watch(&Reading { file: &file, read, of });
            };
            load_one(self.open_watched(path, &count)?, path, format, step, profiler)
        };
        for (paths, format) in [(&self.profiles, Format::Profile), (&self.graphs, Format::GraphDef)] {
            for path in once_each(paths) {
                load(path, format, 0, profiler)?;
                // Where nodes were made, if the model was saved with it.
                if let Some(source) = debug_info_beside(path).and_then(|file| Source::open(&file).ok()) {
                    profiler.add_debug_info(source);
                }
            }
        }
        // Before op logs, which speak of nodes that are there: a checkpoint alone makes its own.
        for path in &self.checkpoints {
            profiler.add_checkpoint(Checkpoint::open(path)?);
        }
        for path in once_each(&self.op_logs) {
            load(path, Format::OpLog, 0, profiler)?;
        }
        let runs: Vec<(i64, &Path)> = self.steps().into_iter().zip(self.runs.iter().map(|(_, path)| &**path)).collect();
        let load_here =
            |(step, path): (i64, &Path), profiler: &mut Profiler| load(path, Format::RunMetadata, step, profiler);
        // On another thread nobody is told, but the bytes count.
        let load_there = |(step, path): (i64, &Path), profiler: &mut Profiler| {
            let count = |bytes| {
                read.fetch_add(bytes, Ordering::Relaxed);
            };
            load_one(self.open_watched(path, &count)?, path, Format::RunMetadata, step, profiler)
        };
        parallel::load_runs(&runs, profiler, &load_here, &load_there)?;
        profiler.infer()?;
        let done = |file: &str, bytes: u64| {
            let read = read.fetch_add(bytes, Ordering::Relaxed) + bytes;
            watch(&Reading { file, read, of });
        };
        self.load_profiles(profiler, &done)
    }

    /// Opens the profiles, each to be read at any place.
    pub fn open_profiles(&self) -> Result<Vec<ProfileFile>, Error> {
        let mut files = Vec::new();
        for path in once_each(&self.xspaces) {
            let mut source = self.open(path)?;
            let head = source.head().map_err(|error| read_error(path, error))?;
            if let Guess::Is(found) = guess(head)
                && !logdir::is_profile(path)
            {
                let message = format!("this is a {}, expected an XSpace; use {}", found.name(), found.flag());
                return Err(input_error(path, message));
            }
            // What is no protobuf is not read to its end, which it may not have.
            if let Err(WireError { fault: fault @ (Fault::BadTag { .. } | Fault::LongNumber), .. }) =
                Fields::new(head, 0).next_field()
            {
                let location = Location { file: path.display().to_string(), spot: Some(Spot::Byte(0)) };
                return Err(Error::Input { location, message: format!("not an XSpace: {fault}") });
            }
            files.push(xspace::open(path, source)?);
        }
        Ok(files)
    }

    /// Loads profiles, several at a time.
    fn load_profiles(&self, profiler: &mut Profiler, done: &dyn Fn(&str, u64)) -> Result<(), Error> {
        if self.xspaces.is_empty() {
            return Ok(());
        }
        if !self.runs.is_empty() || !self.profiles.is_empty() {
            let message =
                "an XSpace cannot be loaded beside RunMetadata or a ProfileProto; ask about one of them at a time";
            return Err(Error::Question(message.to_owned()));
        }
        let marker = match self.step_marker.as_str() {
            "" => None,
            pattern => Some(regex::Regex::new(pattern).map_err(|error| {
                let why = error.to_string();
                let why = why.lines().last().unwrap_or_default().trim().to_owned();
                Error::Question(format!("-step_marker: `{pattern}` is not a pattern: {why}"))
            })?),
        };
        let loaded = profiler.add_profiles(&self.open_profiles()?, marker, done);
        match (loaded, self.xspaces.as_slice()) {
            (Err(Error::Input { location, message }), [path]) => {
                Err(Error::Input { location, message: message + &self.looks_like(path) })
            }
            (loaded, _) => loaded,
        }
    }

    /// What a file that is no profile looks like, if that can be told.
    fn looks_like(&self, path: &Path) -> String {
        let head = self.open(path).ok().and_then(|mut source| Some(guess(source.head().ok()?)));
        match head {
            Some(Guess::Is(found)) => format!("; it looks like a {}, for {}", found.name(), found.flag()),
            _ => String::new(),
        }
    }
}

pub(super) fn file_size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Loads a file as what a flag says it is; if it plainly is something else, says which flag is right.
fn load_one(
    mut source: Source<'_>,
    path: &Path,
    format: Format,
    step: i64,
    profiler: &mut Profiler,
) -> Result<(), Error> {
    let head = source.head().map_err(|error| read_error(path, error))?;
    let format = match (format, guess(head)) {
        (Format::GraphDef, Guess::Is(found @ (Format::MetaGraphDef | Format::SavedModel))) => found,
        (format, Guess::Is(found)) if found != format => {
            let message = format!("this is a {}, expected a {}; use {}", found.name(), format.name(), found.flag());
            return Err(input_error(path, message));
        }
        (_, Guess::XSpace) => {
            let message = format!("this is an XSpace, expected a {}; use --xspace_path", format.name());
            return Err(input_error(path, message));
        }
        (format, _) => format,
    };
    profiler.add(source, format, step)
}

/// Each file once, though it may have been named by itself and by its directory.
fn once_each(paths: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    let mut seen = std::collections::HashSet::new();
    paths.iter().filter(move |path| seen.insert(path.canonicalize().unwrap_or_else(|_| (*path).clone())))
}

/// The debug info of a `SavedModel`, which lies in a directory of its own.
pub(super) fn debug_info_beside(path: &Path) -> Option<PathBuf> {
    let directory = path.parent().filter(|_| is_saved_model(path))?.join("debug");
    let names = ["saved_model_debug_info.pb", "saved_model_debug_info.pb.gz"];
    names.iter().map(|name| directory.join(name)).find(|file| file.is_file())
}
