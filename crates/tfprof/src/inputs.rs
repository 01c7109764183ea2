//! Which files to load, and as what: flags say so, directories hold files of known names, and other paths are
//! guessed from their content.

mod logdir;
mod parallel;

use crate::error::{Error, Place};
use crate::format::Format;
use crate::format::checkpoint::{Checkpoint, locate};
use crate::format::detect::{Guess, guess};
use crate::format::source::{Limits, STDIN, Source};
use crate::format::xspace::{self, ProfileFile};
use crate::infer::settings::Settings;
use crate::profiler::Profiler;
use crate::words;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes of standard input are looked at to tell what it is.
const STDIN_HEAD: u64 = 64 * 1024;

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
    pub fn is_empty(&self) -> bool {
        self.paths().next().is_none()
    }

    /// All files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let plain = self.graphs.iter().chain(&self.op_logs).chain(&self.profiles).chain(&self.checkpoints);
        let plain = plain.chain(&self.xspaces);
        plain.chain(self.runs.iter().map(|(_, path)| path)).map(PathBuf::as_path)
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

    /// Adds a file of any format, or a directory that holds such files.
    pub fn add_path(&mut self, path: &Path) -> Result<(), Error> {
        if path.is_dir() {
            return self.add_directory(path);
        }
        if logdir::is_profile(path) && path.exists() {
            self.xspaces.push(path.to_owned());
            return Ok(());
        }
        if !path.exists() {
            let paths = logdir::expand(path);
            if !paths.is_empty() {
                return paths.iter().try_for_each(|path| self.add_path(path));
            }
        }
        if locate::is_checkpoint(path) {
            self.checkpoints.push(path.to_owned());
            return Ok(());
        }
        let is_stdin = path.as_os_str() == "-";
        if is_stdin {
            let head = std::io::stdin().take(STDIN_HEAD).read_to_end(&mut self.stdin_head);
            head.map_err(|error| read_error(path, error))?;
        }
        let stdin_head = self.stdin_head.clone();
        let mut source = if is_stdin {
            Source::memory(STDIN, &stdin_head)?
        } else {
            Source::open_watched(path, self.limits, &|_| {})?
        };
        let head = source.head().map_err(|error| read_error(path, error))?;
        let unknown = || {
            let flags =
                "--graph_path, --run_meta_path, --op_log_path, --profile_path, --checkpoint_path or --xspace_path";
            input_error(path, format!("cannot tell what this file is; say so with {flags}"))
        };
        match guess(head) {
            Guess::Is(format) => self.add_as(format, path),
            Guess::XSpace => self.xspaces.push(path.to_owned()),
            // An empty message has no content to tell it by; its name may.
            Guess::Unknown => match format_by_name(path) {
                Some(format) if head.is_empty() => self.add_as(format, path),
                _ => return Err(unknown()),
            },
        }
        Ok(())
    }

    fn add_as(&mut self, format: Format, path: &Path) {
        match format {
            Format::GraphDef | Format::MetaGraphDef | Format::SavedModel => self.graphs.push(path.to_owned()),
            Format::OpLog => self.op_logs.push(path.to_owned()),
            Format::Profile => self.profiles.push(path.to_owned()),
            Format::RunMetadata => self.runs.push((step_by_name(path), path.to_owned())),
        }
    }

    /// A directory as the original's Python layer fills it: `graph.pb(txt)`, `run_meta_<N>`, `tfprof_log`, or only
    /// `profile_<N>`.
    fn add_directory(&mut self, dir: &Path) -> Result<(), Error> {
        let entries = std::fs::read_dir(dir).map_err(|error| read_error(dir, error))?;
        let mut files: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.sort();
        let named = |stem: &str| files.iter().find(|file| base_name(file) == stem);
        let saved_model = named("saved_model.pb").or_else(|| named("saved_model.pbtxt"));
        let graph = saved_model.or_else(|| named("graph.pb")).or_else(|| named("graph.pbtxt"));
        let graph = graph.or_else(|| only_meta_graph(&files));
        let mut runs: Vec<(i64, &PathBuf)> = files
            .iter()
            .filter(|file| base_name(file).starts_with("run_meta"))
            .filter_map(|file| Some((step_by_name(file)?, file)))
            .collect();
        runs.sort();
        if runs.is_empty() {
            runs.extend(named("run_meta").map(|file| (0, file)));
        }
        let profiles = files.iter().filter_map(|file| {
            let name = base_name(file);
            let step: i64 = name.strip_prefix("profile_")?.trim_end_matches(".pb").parse().ok()?;
            Some((step, file))
        });
        let profile = profiles.max().map(|(_, file)| file).or_else(|| named("profile.pb"));
        match (graph, profile) {
            (Some(graph), _) => self.graphs.push(graph.clone()),
            (None, Some(profile)) if runs.is_empty() => {
                self.profiles.push(profile.clone());
                return Ok(());
            }
            (None, _) if !runs.is_empty() => {}
            (None, _) if self.add_log_directory(dir)? => return Ok(()),
            (None, _) if locate::locate(dir).is_ok() => {
                self.checkpoints.push(dir.to_owned());
                return Ok(());
            }
            (None, _) => {
                let expected = "expected saved_model.pb, graph.pb, graph.pbtxt, run_meta_<N>, tfprof_log, profile_<N> or HOST.xplane.pb, plain or gzipped";
                return Err(input_error(dir, format!("nothing to read in this directory; {expected}")));
            }
        }
        self.op_logs.extend(named("tfprof_log").cloned());
        self.runs.extend(runs.into_iter().map(|(step, file)| (Some(step), file.clone())));
        Ok(())
    }

    /// A run of profiles, or a log directory of runs; false if it is neither.
    fn add_log_directory(&mut self, dir: &Path) -> Result<bool, Error> {
        let mut runs = logdir::runs(dir);
        let names = || runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>();
        if runs.is_empty() {
            return Ok(false);
        }
        let place = if self.run.is_empty() {
            runs.len() - 1
        } else {
            let unknown = || input_error(dir, words::unknown("run", &self.run, &names()));
            runs.iter().position(|run| run.name == self.run).ok_or_else(unknown)?
        };
        let run = runs.swap_remove(place);
        self.other_runs.extend(runs.into_iter().map(|run| run.name).filter(|name| *name != run.name));
        self.other_runs.sort();
        self.xspaces.extend(run.files);
        Ok(true)
    }

    /// The steps of the runs: those given, else 0, 1, 2 and so on by their places.
    pub fn steps(&self) -> Vec<i64> {
        self.runs.iter().enumerate().map(|(place, (step, _))| step.unwrap_or(place as i64)).collect()
    }

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
                if let Some(source) = debug_info_beside(path) {
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
            (Err(Error::Input { place, message }), [path]) => {
                Err(Error::Input { place, message: message + &self.looks_like(path) })
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

fn file_size(path: &Path) -> u64 {
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

/// Each file once, though it may have been named by itself and by its directory.
fn once_each(paths: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    let mut seen = std::collections::HashSet::new();
    paths.iter().filter(move |path| seen.insert(path.canonicalize().unwrap_or_else(|_| (*path).clone())))
}

/// The debug info of a `SavedModel`, which lies in a directory of its own.
fn debug_info_beside(path: &Path) -> Option<Source<'static>> {
    let is_saved_model = base_name(path).starts_with("saved_model.pb");
    let directory = path.parent().filter(|_| is_saved_model)?.join("debug");
    let names = ["saved_model_debug_info.pb", "saved_model_debug_info.pb.gz"];
    names.iter().map(|name| directory.join(name)).find(|file| file.is_file()).and_then(|file| Source::open(&file).ok())
}

/// The only `.meta` file, if there is just one.
fn only_meta_graph(files: &[PathBuf]) -> Option<&PathBuf> {
    let mut metas = files.iter().filter(|file| base_name(file).rsplit_once('.').is_some_and(|(_, end)| end == "meta"));
    metas.next().filter(|_| metas.next().is_none())
}

/// The last part of a path, without `.gz`.
fn base_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".gz").unwrap_or(&name).to_owned()
}

/// `run_meta_7`, `run_meta_7.pb` or `run_meta_7.pbtxt` is step 7.
fn step_by_name(path: &Path) -> Option<i64> {
    let name = base_name(path);
    let name = name.strip_suffix(".pbtxt").or_else(|| name.strip_suffix(".pb")).unwrap_or(&name);
    let digits = &name[name.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
    let before = &name[..name.len() - digits.len()];
    digits.parse().ok().filter(|_| before.ends_with(['_', '-']))
}

fn format_by_name(path: &Path) -> Option<Format> {
    let name = base_name(path);
    let starts = [
        ("graph", Format::GraphDef),
        ("run_meta", Format::RunMetadata),
        ("tfprof_log", Format::OpLog),
        ("profile", Format::Profile),
    ];
    starts.into_iter().find(|(start, _)| name.starts_with(start)).map(|(_, format)| format)
}

fn read_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { file: path.display().to_string(), action: "cannot read", source }
}

fn input_error(path: &Path, message: String) -> Error {
    Error::Input { place: Place { file: path.display().to_string(), spot: None }, message }
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

    #[test]
    fn steps_of_names() {
        let check = |name: &str, step| assert_eq!(step_by_name(Path::new(name)), step, "{name}");
        check("dir/run_meta_7", Some(7));
        check("run_meta_10.pb.gz", Some(10));
        check("run_meta_old", None);
        check("run_meta", None);
        check("run7", None);
    }
}
