//! Paths without a flag: recognizes a file by its content or its name, and picks the files of a directory.

use super::{Input, Inputs, input_error, logdir, read_error};
use crate::checkpoint::locate;
use crate::error::{Error, Fix};
use crate::foreign;
use crate::format::kineto;
use crate::format::source::{STDIN, Source, named_file};
use crate::format::xspace::is_xplane_path;
use crate::format::{Format, Role};
use crate::words;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The maximum number of bytes read from a recording's list of files.
const MANIFEST_SIZE: u64 = 1024 * 1024;

/// The part of `recording.json` that is read.
#[derive(serde::Deserialize)]
struct Recording {
    files: Vec<String>,
}

/// The number of bytes of standard input that are read to recognize its format.
const STDIN_HEAD: u64 = 64 * 1024;

impl Inputs {
    /// Adds a file of any format, or a directory that holds such files.
    pub fn add_path(&mut self, path: &Path) -> Result<(), Error> {
        if path.is_dir() {
            return self.add_directory(path);
        }
        if !path.exists() {
            let paths = logdir::expand(path);
            if !paths.is_empty() {
                return paths.iter().try_for_each(|path| self.add_path(path));
            }
        }
        if let Some(format) = Format::of_path(path) {
            self.add(path, format);
            return Ok(());
        }
        let is_stdin = path.as_os_str() == "-";
        if is_stdin {
            let head = std::io::stdin().take(STDIN_HEAD).read_to_end(&mut self.stdin_head);
            head.map_err(|error| read_error(path, error))?;
        }
        let stdin_head = self.stdin_head.clone();
        let source =
            if is_stdin { Source::memory(STDIN, &stdin_head)? } else { Source::open_with(path, self.limits, &|_| {})? };
        let head = source.head();
        // An empty message has no content to recognize; its name may tell.
        let by_name = || head.is_empty().then(|| Format::of_empty(&base_name(path))).flatten();
        let Some(format) = Format::recognize(head).or_else(by_name) else {
            let path = if is_stdin { Path::new(STDIN) } else { path };
            return Err(unrecognized(path, head));
        };
        let step = if format.role == Role::Run { step_by_name(path) } else { None };
        self.list.push(Input { path: path.to_owned(), format, step });
        Ok(())
    }

    /// A directory as the original's Python layer fills it: `graph.pb(txt)`, `run_meta_<N>`, `tfprof_log`, or only
    /// `profile_<N>`.
    fn add_directory(&mut self, dir: &Path) -> Result<(), Error> {
        let entries = std::fs::read_dir(dir).map_err(|error| read_error(dir, error))?;
        let mut files: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.sort();
        if self.add_recording(dir)? {
            return Ok(());
        }
        let named = |stem: &str| files.iter().find(|file| base_name(file) == stem);
        let saved_model = named("saved_model.pb").or_else(|| named("saved_model.pbtxt"));
        // A model that was split into chunks is named for what it is when it is opened.
        let saved_model = saved_model.or_else(|| named("saved_model.cpb"));
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
            (Some(graph), _) => self.add(graph, Format::of(Role::Graph)),
            (None, Some(profile)) if runs.is_empty() => {
                self.add(profile, Format::of(Role::Profile));
                return Ok(());
            }
            (None, _) if !runs.is_empty() => {}
            (None, _) if self.add_log_directory(dir)? => return Ok(()),
            (None, _) if self.add_traces(dir, &files) => return Ok(()),
            (None, _) if locate::locate(dir).is_ok() => {
                self.add(dir, Format::of(Role::Checkpoint));
                return Ok(());
            }
            (None, _) => return Err(nothing_in(dir, &files)),
        }
        if let Some(log) = named("tfprof_log") {
            self.add(log, Format::of(Role::OpLog));
        }
        let run = |(step, file): (i64, &PathBuf)| Input {
            path: file.clone(),
            format: Format::of(Role::Run),
            step: Some(step),
        };
        self.list.extend(runs.into_iter().map(run));
        Ok(())
    }

    /// A directory that `tfprof.record` wrote: all its profiles, which may be those of several frameworks; false if it
    /// is not one, or if the rules for other directories find the same.
    fn add_recording(&mut self, dir: &Path) -> Result<bool, Error> {
        let Ok(manifest) = std::fs::File::open(dir.join("recording.json")) else { return Ok(false) };
        let mut text = String::new();
        if manifest.take(MANIFEST_SIZE).read_to_string(&mut text).is_err() {
            return Ok(false);
        }
        let Ok(Recording { files }) = serde_json::from_str(&text) else { return Ok(false) };
        // A name, not a path: nothing outside the directory is read.
        let is_name = |file: &&String| Path::new(file).file_name().is_some_and(|name| name == file.as_str());
        let profiles: Vec<PathBuf> = files.iter().filter(is_name).map(|file| dir.join(file)).collect();
        let is_host =
            |file: &PathBuf| is_xplane_path(file) || Path::new(&base_name(file)).extension() == Some("json".as_ref());
        if profiles.len() < 2 || !profiles.iter().all(is_host) {
            return Ok(false);
        }
        profiles.iter().try_for_each(|profile| self.add_path(profile))?;
        Ok(true)
    }

    /// The traces of all ranks of a run, in the directory or one level deeper; false if there are none.
    fn add_traces(&mut self, dir: &Path, files: &[PathBuf]) -> bool {
        let is_trace = |file: &&PathBuf| {
            let may_be = base_name(file).to_ascii_lowercase().rsplit('.').next() == Some("json");
            may_be
                && Source::open_with(file, self.limits, &|_| {}).is_ok_and(|source| kineto::recognizes(source.head()))
        };
        let mut traces: Vec<PathBuf> = files.iter().filter(is_trace).cloned().collect();
        if traces.is_empty() {
            let below: Vec<PathBuf> = logdir::below(dir).iter().flat_map(|dir| logdir::entries(dir)).collect();
            traces = below.iter().filter(|file| file.is_file()).filter(is_trace).cloned().collect();
        }
        let Some(format) = Format::named(kineto::NAME) else { return false };
        traces.sort();
        traces.iter().for_each(|trace| self.add(trace, format));
        !traces.is_empty()
    }

    /// A run of profiles, or a log directory of runs; false if it is neither.
    fn add_log_directory(&mut self, dir: &Path) -> Result<bool, Error> {
        let mut runs = logdir::runs(dir);
        let names = || runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>();
        if runs.is_empty() {
            return Ok(false);
        }
        let chosen = if self.run.is_empty() {
            runs.len() - 1
        } else {
            let unknown = || input_error(dir, words::unknown("run", &self.run, &names()));
            runs.iter().position(|run| run.name == self.run).ok_or_else(unknown)?
        };
        if let Some(other) = self.log_dirs.first().filter(|other| !self.hosts && *other != dir) {
            let (other, dir) = (other.display(), dir.display());
            let message = format!("{other} and {dir} are two recordings; ask about one of them");
            let fix = Fix::new("or, if they are hosts that ran together, say so with", "hosts");
            return Err(Error::Question(message).with_fix(fix));
        }
        self.log_dirs.push(dir.to_owned());
        let run = runs.swap_remove(chosen);
        self.read_run.clone_from(&run.name);
        self.other_runs.extend(runs.into_iter().map(|run| run.name).filter(|name| *name != run.name));
        self.other_runs.sort();
        run.files.into_iter().for_each(|file| self.add(file, Format::of(Role::Host)));
        Ok(true)
    }
}

/// Names a file that no format recognizes, or the flags that may still read it.
fn unrecognized(path: &Path, head: &[u8]) -> Error {
    if head.is_empty() {
        return input_error(path, "the file is empty; was it written completely?".to_owned());
    }
    if let Some((_, message)) = foreign::guess(head, named_file(&path.display().to_string())) {
        return input_error(path, message);
    }
    let flags: Vec<_> = Format::flags_for(head).map(|flag| flag.name).collect();
    if flags.is_empty() {
        if let Some(message) = foreign::text(head) {
            return input_error(path, message);
        }
        let reads = "tfprof reads models, profiles and checkpoints (tfprof help inputs)";
        return input_error(path, format!("cannot tell what this file is; {reads}"));
    }
    input_error(path, "cannot tell what this file is".to_owned()).with_fix(Fix::any("say so with", flags))
}

/// The maximum number of files of a directory that are examined for a message.
const LOOKED_AT: usize = 200;

/// Says what a directory without anything to read holds instead: a model of another kind, or models one level deeper.
fn nothing_in(dir: &Path, files: &[PathBuf]) -> Error {
    let kinds = files.iter().take(LOOKED_AT).filter_map(|file| Some((foreign::of_path(file)?, file)));
    if let Some(((_, message), file)) = kinds.min_by_key(|((place, _), _)| *place) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        return input_error(dir, format!("nothing to read in this directory; {name}: {message}"));
    }
    let models = logdir::below(dir).into_iter().filter(|dir| dir.join("saved_model.pb").is_file());
    let models: Vec<_> = models.map(|dir| dir.display().to_string()).collect();
    if let Some(last) = models.last() {
        let count = if models.len() == 1 { "a SavedModel".to_owned() } else { format!("{} SavedModels", models.len()) };
        return input_error(dir, format!("this directory holds {count} one level deeper; name one, as `{last}`"));
    }
    let expected = "expected saved_model.pb, graph.pb, graph.pbtxt, run_meta_<N>, tfprof_log, profile_<N>, HOST.xplane.pb or traces of PyTorch (*.json), plain or gzipped";
    input_error(dir, format!("nothing to read in this directory; {expected}"))
}

/// The only `.meta` file, if there is just one.
fn only_meta_graph(files: &[PathBuf]) -> Option<&PathBuf> {
    let mut metas = files.iter().filter(|file| base_name(file).rsplit_once('.').is_some_and(|(_, end)| end == "meta"));
    metas.next().filter(|_| metas.next().is_none())
}

pub(super) fn is_saved_model(path: &Path) -> bool {
    base_name(path).starts_with("saved_model.pb")
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

#[cfg(test)]
mod tests {
    use super::*;

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
