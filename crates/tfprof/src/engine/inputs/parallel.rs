//! Runs read side by side: each thread takes some that follow one another, and what it read joins the rest in order.

use super::loading::file_size;
use crate::engine::profiler::Profiler;
use crate::error::Error;
use std::path::Path;
use std::thread;

/// Fewer bytes than this are read before a thread has started.
const WORTH_A_THREAD: u64 = 4 << 20;

/// Each reader holds sums of its own, so many of them would cost memory.
const MOST_THREADS: usize = 8;

type Run<'a> = (i64, &'a Path);

/// Loads runs, the first of them by `here` on this thread and others by `there` on threads of their own.
pub(super) fn load_runs(
    runs: &[Run<'_>],
    profiler: &mut Profiler,
    here: &dyn Fn(Run<'_>, &mut Profiler) -> Result<(), Error>,
    there: &(dyn Fn(Run<'_>, &mut Profiler) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let sizes: Vec<u64> = runs.iter().map(|(_, path)| file_size(path)).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let mut shares = shares(&sizes, threads).into_iter().map(|share| &runs[share]);
    let first = shares.next().unwrap_or_default();
    let forks: Vec<_> = shares.map(|share| (share, profiler.fork())).collect();
    thread::scope(|scope| {
        let readers: Vec<_> = forks
            .into_iter()
            .map(|(share, (mut fork, at))| {
                let read = scope.spawn(move || {
                    let outcome = share.iter().try_for_each(|run| there(*run, &mut fork));
                    (outcome, fork)
                });
                (share, read, at)
            })
            .collect();
        let mut outcome = first.iter().try_for_each(|run| here(*run, profiler));
        for (share, reader, at) in readers {
            let (read, fork) = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            if outcome.is_err() {
                continue;
            }
            outcome = match read {
                // What was read before the fault is not needed: there is no answer then.
                Err(error) => Err(error),
                Ok(()) if profiler.join(fork, at) => Ok(()),
                Ok(()) => share.iter().try_for_each(|run| here(*run, profiler)),
            };
        }
        outcome
    })
}

/// Splits files into as many parts as there are threads, each of about the same size and in their order.
fn shares(sizes: &[u64], threads: usize) -> Vec<std::ops::Range<usize>> {
    let all: u64 = sizes.iter().sum();
    let threads = (all / WORTH_A_THREAD).clamp(1, threads as u64);
    let mut shares: Vec<std::ops::Range<usize>> = Vec::new();
    let (mut start, mut read) = (0, 0);
    for (i, size) in sizes.iter().enumerate() {
        read += size;
        // A share ends with the file in which its part of the bytes ends, and the last one with the last file.
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
}
