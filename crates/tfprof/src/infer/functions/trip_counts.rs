//! [`TripCounts`]: the trip counts given by the user.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Trip counts by the names of loops. If a loop is named twice, the last count wins.
#[derive(Clone, Debug, Default)]
pub struct TripCounts {
    given: Vec<(String, i64)>,
    /// Whether a loop of that name was found.
    matched: Arc<[AtomicBool]>,
}

impl TripCounts {
    pub fn new(given: &[(String, i64)]) -> TripCounts {
        TripCounts { given: given.to_vec(), matched: given.iter().map(|_| AtomicBool::new(false)).collect() }
    }

    /// The trip count of a loop. The user may name the loop with its enclosing scopes.
    pub fn get(&self, name: &str) -> Option<i64> {
        let names = |given: &str| given == name || given.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'));
        let mut last = None;
        for ((given, count), matched) in self.given.iter().zip(&*self.matched) {
            if names(given) {
                matched.store(true, Ordering::Relaxed);
                last = Some(*count);
            }
        }
        last
    }

    /// The names for which no loop was found yet.
    pub fn unmatched(&self) -> impl Iterator<Item = &str> {
        let all = self.given.iter().zip(&*self.matched);
        all.filter(|(_, matched)| !matched.load(Ordering::Relaxed)).map(|((name, _), _)| name.as_str())
    }
}
