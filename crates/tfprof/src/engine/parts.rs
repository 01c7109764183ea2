//! Partials of inputs, and partials of partials: reads files, fills ledgers, and merges in an order that does not depend on
//! how the parts were named.

use super::inputs::{Input, Inputs};
use super::needs;
use super::profiler::Profiler;
use crate::budget::{self, Limits};
use crate::error::{Error, Location, Warning};
use crate::format::source::Source;
use crate::format::{Format, Role};
use crate::model::Model;
use crate::model::cells::Measure;
use crate::parallel;
use crate::part::bytes::Tag;
use crate::part::{InputEntry, Merger, Partial, Recording, gather};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A partial, and what was noticed on the way.
#[derive(Debug, Default)]
pub struct Made {
    pub partial: Partial,
    pub warnings: Vec<Warning>,
}

impl Inputs {
    /// The partial of all inputs. Traces of several hosts are read side by side, each as a recording of its own; one that
    /// cannot be read does not hide the others.
    #[doc(hidden)]
    pub fn partial(&self) -> Result<Made, Error> {
        let of = |role: Role| self.of(role).count();
        let (parts, hosts) = (of(Role::Partial), of(Role::Host));
        if parts > 0 {
            self.refuse_others(Role::Partial)?;
            let paths: Vec<PathBuf> = self.of(Role::Partial).map(|input| input.path.clone()).collect();
            return merge_files(&paths, self.limits);
        }
        if hosts == 0 {
            return self.one_partial();
        }
        if of(Role::Run) + of(Role::Profile) > 0 {
            let trace = self.of(Role::Host).next().map_or(Format::of(Role::Host), |input| input.format);
            let rule = "cannot be loaded beside RunMetadata or a ProfileProto; ask about one of them at a time";
            return Err(Error::Question(format!("{trace} {rule}")));
        }
        let each: Vec<&Input> = self.of(Role::Host).collect();
        let threads = parallel::processors(each.len());
        let made = parallel::map(each.clone(), threads, |host| self.with_host(host).one_partial());
        let mut all = Vec::new();
        let mut failures = Vec::new();
        for (made, host) in made.into_iter().zip(each) {
            match made {
                Ok(made) => all.push(made),
                Err(error) => failures.push((host.path.display().to_string(), error)),
            }
        }
        match (failures.pop(), all.is_empty()) {
            (Some((_, error)), true) => return Err(error),
            (Some(last), false) => failures.push(last),
            (None, _) => {}
        }
        let mut result = Made::default();
        let mut parts: Vec<(String, Partial)> = Vec::new();
        for (path, error) in failures {
            result.warnings.push(lost_warning(&path, &error));
            parts.push((path.clone(), Partial::lost(&path, &error.to_string())));
        }
        for mut made in all {
            result.warnings.append(&mut made.warnings);
            let name = made.partial.recordings.values().next().map_or("", Recording::path).to_owned();
            parts.push((name, made.partial));
        }
        result.partial = merge(parts, &mut result.warnings)?;
        Ok(result)
    }

    /// These inputs with one host alone.
    fn with_host(&self, host: &Input) -> Inputs {
        let mut inputs = self.clone();
        inputs.list.retain(|input| input.format.role != Role::Host);
        inputs.list.push(host.clone());
        inputs.other_runs = Vec::new();
        inputs
    }

    /// The partial of inputs that are one recording.
    fn one_partial(&self) -> Result<Made, Error> {
        budget::guard(self.limits, 0, || self.gathered())
    }

    fn gathered(&self) -> Result<Made, Error> {
        let mut profiler = Profiler::new(needs::PARTIAL);
        self.load(&mut profiler)?;
        let model = profiler.model();
        let warnings = profiler.warnings().to_vec();
        let mut recording = Recording { records: records(model), ..self.ledger_entry()? };
        if let Some(facts) = model.hosts.first() {
            recording.host.clone_from(&facts.host);
        }
        recording.lost =
            warnings.iter().filter(|warning| warning.damage).map(|warning| warning.message.clone()).collect();
        Ok(Made { partial: gather(model, recording), warnings })
    }

    fn ledger_entry(&self) -> Result<Recording, Error> {
        let mut recording = Recording::default();
        for input in &self.list {
            let is_measured = matches!(input.format.role, Role::Run | Role::Host | Role::Profile);
            let path = input.path.display().to_string();
            if is_measured && recording.label.is_empty() {
                let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
                recording.label = name(&input.path).unwrap_or_else(|| path.clone());
                // Steps of TensorFlow 1 do not name their host: the directory that they are in does.
                let directory = input.path.canonicalize().ok().and_then(|path| path.parent().and_then(name));
                recording.host = directory.unwrap_or_else(|| recording.label.clone());
            }
            let (size, tag) = if input.path.is_file() { content(&input.path)? } else { (0, 0) };
            recording.inputs.insert(InputEntry { path, size, tag, is_measured });
        }
        Ok(recording)
    }

    /// A partial is loaded with nothing but partials.
    pub(super) fn refuse_others(&self, role: Role) -> Result<(), Error> {
        match self.list.iter().find(|input| input.format.role != role) {
            None => Ok(()),
            Some(other) => {
                let (path, format) = (other.path.display(), other.format);
                let why = format!("{path} is {format}, which cannot be read beside a partial: save it as one first");
                Err(Error::Question(format!("{why}, as in `tfprof save --partial {path} -outfile=FILE.part`")))
            }
        }
    }
}

/// Size and tag of a file.
fn content(path: &Path) -> Result<(u64, u128), Error> {
    let cannot = |source| Error::Io { file: path.display().to_string(), action: "cannot read", source };
    let mut file = File::open(path).map_err(cannot)?;
    let mut tag = Tag::default();
    let mut size = 0;
    let mut buffer = vec![0; 256 << 10];
    loop {
        let length = file.read(&mut buffer).map_err(cannot)?;
        if length == 0 {
            return Ok((size, tag.finish()));
        }
        size += length as u64;
        tag.add(&buffer[..length]);
    }
}

/// The number of records behind a model: events of traces, else executions.
fn records(model: &Model) -> u64 {
    if !model.hosts.is_empty() {
        return model.hosts.iter().flat_map(|host| &host.lines).map(|line| line.events).sum();
    }
    let runs = model.runs.totals().rows().map(|cell| cell.sum(Measure::Runs).limited());
    runs.fold(0_i64, i64::saturating_add).unsigned_abs()
}

/// Applies work to every task on all processors; results are in the order of the tasks.
pub fn map<T: Send, R: Send>(tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = parallel::processors(tasks.len());
    parallel::map(tasks, threads, work)
}

/// Reads and merges partials. One that is damaged or missing is named in the ledger of the result.
pub fn merge_files(paths: &[PathBuf], limits: Limits) -> Result<Made, Error> {
    budget::guard(limits, 0, || {
        let mut made = Made::default();
        let mut merger = Merger::default();
        let mut ledgers = Vec::new();
        let mut readable = Vec::new();
        for path in paths {
            let name = path.display().to_string();
            let ledger = read_bytes(path, limits)
                .and_then(|bytes| Partial::ledger_of(&bytes).map_err(|fault| not_a_partial(&name, &fault)));
            match ledger {
                Ok(ledger) => {
                    ledgers.push(ledger);
                    readable.push(path);
                }
                Err(error) if paths.len() == 1 => return Err(error),
                Err(error) => {
                    made.warnings.push(lost_warning(&name, &error));
                    add(&mut merger, Partial::lost(&name, &error.to_string()), &name)?;
                }
            }
        }
        let mut added = 0;
        let mut last = None;
        for at in Merger::order(&ledgers) {
            let path = readable[at];
            let name = path.display().to_string();
            match read_partial(&name, &read_bytes(path, limits)?) {
                Ok(partial) => {
                    add(&mut merger, partial, &name)?;
                    added += 1;
                }
                Err(error) => {
                    made.warnings.push(lost_warning(&name, &error));
                    add(&mut merger, Partial::lost(&name, &error.to_string()), &name)?;
                    last = Some(error);
                }
            }
        }
        if let (0, Some(error)) = (added, last) {
            return Err(error);
        }
        made.warnings.extend(merger.repeated.iter().map(|name| repeated_warning(name)));
        made.partial = merger.finish();
        Ok(made)
    })
}

/// Merges partials in memory; an error names the part by its number, from 1.
pub fn merge_bytes(parts: &[&[u8]], limits: Limits) -> Result<Made, Error> {
    budget::guard(limits, parts.iter().map(|part| part.len() as u64).sum(), || {
        let mut made = Made::default();
        let name = |at: usize| format!("part {} of {}", at + 1, parts.len());
        let mut ledgers: Vec<BTreeMap<u128, Recording>> = Vec::with_capacity(parts.len());
        for (at, part) in parts.iter().enumerate() {
            ledgers.push(Partial::ledger_of(part).map_err(|fault| not_a_partial(&name(at), &fault))?);
        }
        let mut merger = Merger::default();
        for at in Merger::order(&ledgers) {
            add(&mut merger, read_partial(&name(at), parts[at])?, &name(at))?;
        }
        made.warnings.extend(merger.repeated.iter().map(|name| repeated_warning(name)));
        made.partial = merger.finish();
        Ok(made)
    })
}

/// Merges partials that were just made.
fn merge(parts: Vec<(String, Partial)>, warnings: &mut Vec<Warning>) -> Result<Partial, Error> {
    let ledgers: Vec<_> = parts.iter().map(|(_, part)| part.recordings.clone()).collect();
    let mut parts: Vec<_> = parts.into_iter().map(Some).collect();
    let mut merger = Merger::default();
    for at in Merger::order(&ledgers) {
        if let Some((name, part)) = parts[at].take() {
            add(&mut merger, part, &name)?;
        }
    }
    warnings.extend(merger.repeated.iter().map(|name| repeated_warning(name)));
    Ok(merger.finish())
}

fn add(merger: &mut Merger, partial: Partial, name: &str) -> Result<(), Error> {
    budget::check();
    merger.add(partial, name).map_err(|why| input_error(name, why))
}

/// Reads one partial from memory.
pub fn read_partial(name: &str, bytes: &[u8]) -> Result<Partial, Error> {
    Partial::from_bytes(bytes).map_err(|fault| not_a_partial(name, &fault))
}

/// Reads all of a source, which is as long as it is.
pub(super) fn read_source(mut source: Source<'_>) -> Result<Partial, Error> {
    let mut bytes = Vec::new();
    let name = source.name.clone();
    source.input.read_to_end(&mut bytes).map_err(|source| Error::Io {
        file: name.clone(),
        action: "cannot read",
        source,
    })?;
    read_partial(&name, &bytes)
}

fn read_bytes(path: &Path, limits: Limits) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let mut source = Source::open_with(path, limits, &|_| {})?;
    let name = source.name.clone();
    source.input.read_to_end(&mut bytes).map_err(|source| Error::Io { file: name, action: "cannot read", source })?;
    Ok(bytes)
}

fn not_a_partial(name: &str, fault: &str) -> Error {
    input_error(name, format!("not a whole partial: {fault}; make it again with `tfprof save --partial`"))
}

fn input_error(name: &str, message: String) -> Error {
    Error::Input { location: Location { file: name.to_owned(), spot: None }, message }
}

fn lost_warning(path: &str, error: &Error) -> Warning {
    let text = error.to_string();
    let text = if text.contains(path) { text } else { format!("{path}: {text}") };
    Warning::new("lost_host", format!("{text}; the answer is about the others")).with_damage()
}

fn repeated_warning(name: &str) -> Warning {
    Warning::new("same_input", format!("{name}: all of its inputs are in other parts already, so they count once"))
}
