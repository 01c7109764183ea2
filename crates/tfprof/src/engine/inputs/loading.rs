//! Loads all files into a profiler, in the order in which they need each other.

use super::recognize::is_saved_model;
use super::{Input, Inputs, input_error};
use crate::budget::{self, Account};
use crate::engine::parts::Made;
use crate::engine::profiler::Profiler;
use crate::error::{Error, Fix, Warning};
use crate::foreign;
use crate::format::kineto::{self, TraceFile};
use crate::format::source::{STDIN, Source};
use crate::format::xspace::{self, ProfileFile};
use crate::format::{Format, Reader, Role};
use crate::parallel;
use std::collections::HashSet;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Read progress: the file at hand, and the bytes of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadProgress<'a> {
    pub file: &'a str,
    pub read: u64,
    /// The size of all files; 0 if it is not known.
    pub total: u64,
}

/// Called now and then while files are read.
pub type OnProgress<'a> = &'a dyn Fn(&ReadProgress<'_>);

/// A share of runs below this size is read before a thread has started.
const WORTH_A_THREAD: u64 = 4 << 20;

/// Each thread that reads runs holds sums of its own, so many of them would cost memory.
const RUN_THREADS: usize = 8;

impl Inputs {
    /// Loads everything: graphs, then op logs, then runs, as the original's command line does.
    pub fn load(&self, profiler: &mut Profiler) -> Result<(), Error> {
        self.load_with(profiler, &|_| {})
    }

    /// The same; `on_progress` is called as files are read.
    pub fn load_with(&self, profiler: &mut Profiler, on_progress: OnProgress<'_>) -> Result<(), Error> {
        budget::guard(self.limits, profiler.input(), || {
            let loaded = self.load_all(profiler, on_progress);
            profiler.set_limits(self.limits, Account::current().map_or(0, |account| account.input()));
            loaded
        })
    }

    fn load_all(&self, profiler: &mut Profiler, on_progress: OnProgress<'_>) -> Result<(), Error> {
        profiler.set(&self.settings);
        if self.of(Role::Partial).next().is_some() {
            let Made { partial, warnings } = self.partial()?;
            warnings.into_iter().for_each(|warning| profiler.warn(Some(warning)));
            return profiler.add_partial(&partial);
        }
        let progress = Progress { read: AtomicU64::new(0), total: self.paths().map(file_size).sum() };
        // Runs come after these and are read side by side, and so are hosts.
        for input in self.in_load_order().into_iter().filter(|input| input.format.role < Role::Run) {
            if let Reader::Checkpoint(open) = input.format.reader {
                profiler.add_checkpoint(open(&input.path)?);
                continue;
            }
            self.load_here(input, 0, profiler, &progress, on_progress)?;
            // The debug info says where nodes were made, if the model was saved with it.
            if let Some(source) = debug_info_beside(&input.path).and_then(|file| Source::open(&file).ok()) {
                profiler.add_debug_info(source);
            }
        }
        self.load_runs(profiler, &progress, on_progress)?;
        profiler.infer()?;
        self.load_hosts(profiler, &|file, bytes| progress.report(file, bytes, on_progress))
    }

    /// The inputs by role. A file may be named by itself and by its directory: it counts once, but for runs.
    fn in_load_order(&self) -> Vec<&Input> {
        let mut seen = HashSet::new();
        let mut is_new = |input: &Input| {
            let path = input.path.canonicalize().unwrap_or_else(|_| input.path.clone());
            seen.insert((input.format.flag.name, path))
        };
        let mut list: Vec<&Input> =
            self.list.iter().filter(|input| input.format.role == Role::Run || is_new(input)).collect();
        list.sort_by_key(|input| input.format.role);
        list
    }

    /// Loads one file on the calling thread.
    fn load_here(
        &self,
        input: &Input,
        step: i64,
        profiler: &mut Profiler,
        progress: &Progress,
        on_progress: OnProgress<'_>,
    ) -> Result<(), Error> {
        let is_stdin = input.path.as_os_str() == "-";
        let file = if is_stdin { STDIN.to_owned() } else { input.path.display().to_string() };
        self.load_one(input, step, profiler, &|bytes| progress.report(&file, bytes, on_progress))
    }

    fn load_one(&self, input: &Input, step: i64, profiler: &mut Profiler, on_read: &dyn Fn(u64)) -> Result<(), Error> {
        let source = self.open_with(&input.path, on_read)?;
        let format = checked_format(input, source.head())?;
        profiler.add(source, format, step)
    }

    /// Loads runs: the first share on this thread, the others into forks of the profiler, which then join it in order.
    fn load_runs(
        &self,
        profiler: &mut Profiler,
        progress: &Progress,
        on_progress: OnProgress<'_>,
    ) -> Result<(), Error> {
        let runs: Vec<(i64, &Input)> = self.runs().collect();
        let sizes: Vec<u64> = runs.iter().map(|(_, input)| file_size(&input.path)).collect();
        let account = Account::current();
        let threads = account.as_ref().map_or(RUN_THREADS, |account| affordable_threads(account.times_left()));
        let mut shares = shares(&sizes, parallel::processors(threads)).into_iter().map(|share| &runs[share]);
        let load_here = |share: &[(i64, &Input)], profiler: &mut Profiler| {
            share.iter().try_for_each(|(step, input)| self.load_here(input, *step, profiler, progress, on_progress))
        };
        // Another thread cannot report progress, but its bytes count.
        let on_read = |bytes| progress.count(bytes);
        let load_fork = |share: &[(i64, &Input)], mut fork: Profiler| {
            let mut runs = share.iter();
            runs.try_for_each(|(step, input)| self.load_one(input, *step, &mut fork, &on_read)).map(|()| fork)
        };
        let first = shares.next().unwrap_or_default();
        thread::scope(|scope| {
            let mut forks = Vec::new();
            for share in shares {
                let (fork, at) = profiler.fork();
                let account = account.clone();
                let load = move || match account {
                    Some(account) => account.guard(|| load_fork(share, fork)),
                    None => load_fork(share, fork),
                };
                let thread = thread::Builder::new().spawn_scoped(scope, load);
                match thread {
                    Ok(thread) => forks.push((share, at, Some(thread))),
                    // Without another thread, this one reads the share after its own.
                    Err(_) => forks.push((share, at, None)),
                }
            }
            load_here(first, profiler)?;
            for (share, at, fork) in forks {
                let fork = fork.map(|fork| fork.join().unwrap_or_else(|panic| resume_unwind(panic)));
                let joined = fork.transpose()?.is_some_and(|fork| profiler.join(fork, at));
                if !joined {
                    load_here(share, profiler)?;
                }
            }
            Ok(())
        })
    }

    /// Opens all `XSpace` files, to write them as traces.
    #[doc(hidden)]
    pub fn open_profiles(&self) -> Result<Vec<ProfileFile>, Error> {
        self.open_hosts(|_| true, |input, source| xspace::open(&input.path, source))
    }

    /// Opens all traces in JSON, to write parts of them.
    #[doc(hidden)]
    pub fn open_traces(&self) -> Result<Vec<TraceFile>, Error> {
        self.open_hosts(|input| input.format.name == kineto::NAME, |input, source| kineto::open(&input.path, source))
    }

    /// Opens the traces of all hosts for random access.
    fn open_hosts<F>(
        &self,
        which: impl Fn(&Input) -> bool,
        open: impl Fn(&Input, Source<'_>) -> Result<F, Error>,
    ) -> Result<Vec<F>, Error> {
        let mut files = Vec::new();
        let is_host = |input: &&Input| input.format.role == Role::Host && which(input);
        for input in self.in_load_order().into_iter().filter(is_host) {
            let source = self.open(&input.path)?;
            checked_format(input, source.head())?;
            files.push(open(input, source)?);
        }
        Ok(files)
    }

    /// The warning that a log directory has other runs, if nobody chose one.
    fn unread_runs(&self) -> Option<Warning> {
        const LISTED: usize = 5;
        let others = self.other_runs.iter().rev();
        let dir = self.log_dirs.last().filter(|_| self.run.is_empty() && !self.other_runs.is_empty())?;
        let mut names: Vec<String> = others.take(LISTED).map(|run| format!("`{run}`")).collect();
        if self.other_runs.len() > LISTED {
            names.push(format!("{} more", self.other_runs.len() - LISTED));
        }
        let (dir, run) = (dir.display(), &self.read_run);
        let message = format!(
            "{dir} has {} runs: this is the newest, `{run}`, not {}",
            1 + self.other_runs.len(),
            names.join(", ")
        );
        Some(Warning::new("other_runs", message).with_fix(Fix::with_value("choose one with", "run", "NAME")))
    }

    /// Loads the profiles of hosts, several at a time.
    fn load_hosts(&self, profiler: &mut Profiler, done: &dyn Fn(&str, u64)) -> Result<(), Error> {
        let hosts: Vec<&Input> = self.of(Role::Host).collect();
        if hosts.is_empty() {
            return Ok(());
        }
        if self.list.iter().any(|input| matches!(input.format.role, Role::Run | Role::Profile)) {
            let trace = hosts[0].format;
            let rule = "cannot be loaded beside RunMetadata or a ProfileProto; ask about one of them at a time";
            return Err(Error::Question(format!("{trace} {rule}")));
        }
        profiler.warn(self.unread_runs());
        let marker = match self.step_marker.as_str() {
            "" => None,
            pattern => Some(regex::Regex::new(pattern).map_err(|error| {
                let why = error.to_string();
                let why = why.lines().last().unwrap_or_default().trim().to_owned();
                Error::option("step_marker", format!("`{pattern}` is not a pattern: {why}"))
            })?),
        };
        let files = self.open_hosts(
            |_| true,
            |input, source| match input.format.reader {
                Reader::Host(open) => open(&input.path, source),
                _ => Err(input_error(&input.path, format!("{} is not a trace", input.format))),
            },
        )?;
        let loaded = profiler.add_profiles(&files, marker, done);
        match (loaded, hosts.as_slice()) {
            (Err(Error::Input { location, message }), [input]) => match self.looks_like(input) {
                None => Err(Error::Input { location, message }),
                Some(found) => {
                    let error = Error::Input { location, message: format!("{message}; it looks like {found}") };
                    Err(error.with_fix(Fix::new("use", found.flag.name)))
                }
            },
            (loaded, _) => loaded,
        }
    }

    /// The format that a rejected file seems to have.
    fn looks_like(&self, input: &Input) -> Option<&'static Format> {
        let found = Format::recognize(self.open(&input.path).ok()?.head());
        found.filter(|found| *found != input.format)
    }
}

/// The bytes read so far, by all threads.
struct Progress {
    read: AtomicU64,
    total: u64,
}

impl Progress {
    fn count(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    fn report(&self, file: &str, bytes: u64, on_progress: OnProgress<'_>) {
        self.count(bytes);
        on_progress(&ReadProgress { file, read: self.read.load(Ordering::Relaxed), total: self.total });
    }
}

fn file_size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// The format of a file that starts with `head`; an error names the right flag if it was given with another one.
fn checked_format(input: &Input, head: &[u8]) -> Result<&'static Format, Error> {
    let Input { path, format, .. } = input;
    match Format::recognize(head).filter(|_| !format.is_path(path)) {
        Some(found) if found.flag != format.flag => {
            let error = input_error(path, format!("this is {found}, expected {format}"));
            Err(error.with_fix(Fix::new("use", found.flag.name)))
        }
        Some(found) => Ok(found),
        None if format.is_path(path) => Ok(format),
        None => {
            let name = path.display().to_string();
            // A page may start with blanks, which could be the tag of a record.
            let foreign = foreign::name(head.trim_ascii_start(), &name).or_else(|| {
                let unread = Format::flags_for(head).next().is_none();
                foreign::guess(head, &name).filter(|_| unread).map(|(_, message)| message)
            });
            foreign.map_or(Ok(format), |message| Err(input_error(path, message)))
        }
    }
}

/// The debug info of a `SavedModel`, in a directory beside it.
pub(super) fn debug_info_beside(path: &Path) -> Option<PathBuf> {
    let directory = path.parent().filter(|_| is_saved_model(path))?.join("debug");
    let names = ["saved_model_debug_info.pb", "saved_model_debug_info.pb.gz"];
    names.iter().map(|name| directory.join(name)).find(|file| file.is_file())
}

/// How many threads may read runs: the sums of each take about as much memory as the graph that is loaded.
fn affordable_threads(graphs_left: u64) -> usize {
    usize::try_from(graphs_left / 2).unwrap_or(RUN_THREADS).clamp(1, RUN_THREADS)
}

/// Splits files into contiguous shares of about the same size, at most one for each thread.
fn shares(sizes: &[u64], threads: usize) -> Vec<Range<usize>> {
    let all: u64 = sizes.iter().sum();
    let threads = (all / WORTH_A_THREAD).clamp(1, threads as u64);
    let mut shares: Vec<Range<usize>> = Vec::new();
    let (mut start, mut read) = (0, 0);
    for (i, size) in sizes.iter().enumerate() {
        read += size;
        // A share ends with the file that completes its part of the bytes, the last share with the last file.
        let number = shares.len() as u64 + 1;
        if (number < threads && read * threads >= all * number) || i + 1 == sizes.len() {
            shares.push(start..i + 1);
            start = i + 1;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_memory_is_for_one_thread() {
        assert_eq!([0, 1, 3, 4, 9, 1_000_000].map(affordable_threads), [1, 1, 1, 2, 4, RUN_THREADS]);
    }

    #[test]
    fn shares_are_whole_files_in_order() {
        let mb = 1 << 20;
        let check = |sizes: &[u64], threads, ends: &[usize]| {
            let sizes: Vec<u64> = sizes.iter().map(|size| size * mb).collect();
            assert_eq!(shares(&sizes, threads).iter().map(|share| share.end).collect::<Vec<_>>(), ends);
        };
        check(&[], 2, &[]);
        check(&[0, 0], 2, &[2]);
        check(&[1, 1, 1], 2, &[3]);
        check(&[10, 10, 10, 10], 2, &[2, 4]);
        check(&[10, 10, 10], 2, &[2, 3]);
        check(&[100, 1, 1], 2, &[1, 3]);
        check(&[10, 10], 8, &[1, 2]);
    }

    #[test]
    fn graphs_load_before_data_about_their_nodes() {
        let mut inputs = Inputs::default();
        for name in ["XSpace", "RunMetadata", "OpLogProto", "checkpoint", "SavedModel", "ProfileProto", "RunMetadata"] {
            inputs.add(name, Format::named(name).unwrap());
        }
        inputs.add("OpLogProto", Format::of(Role::OpLog));
        let order: Vec<_> = inputs.in_load_order().into_iter().map(|input| input.format.name).collect();
        let expected =
            ["ProfileProto", "SavedModel", "checkpoint", "OpLogProto", "RunMetadata", "RunMetadata", "XSpace"];
        assert_eq!(order, expected);
    }
}
