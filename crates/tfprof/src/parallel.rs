//! The one worker loop: spreads independent work over threads and returns the results in order.

use crate::budget::Account;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The number of processors, at most `limit`.
pub fn processors(limit: usize) -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(limit)
}

/// Applies `work` to every item on up to `threads` threads; results are in the order of the items.
pub fn map<T: Send, R: Send>(items: Vec<T>, threads: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.into_iter().map(work).collect();
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let account = Account::current();
    let worker = || {
        let _entered = account.as_ref().map(Account::enter);
        std::iter::from_fn(next).map(|(at, item)| (at, work(item))).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        // The calling thread works as well, so fewer threads than asked for, even none, only take longer.
        let start = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
        let workers: Vec<_> = (1..threads).map_while(start).collect();
        let own = worker();
        let joined = workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let mut results: Vec<(usize, R)> = joined.chain(own).collect();
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        for threads in [0, 1, 3, 200] {
            let squares = map((0..100).collect(), threads, |n: u64| n * n);
            assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<_>>(), "{threads}");
        }
    }
}
