//! How often loops go round because a user says so, and whether there are such loops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Numbers of rounds by the names of loops; of two for one loop the last counts.
#[derive(Clone, Debug, Default)]
pub struct TripCounts {
    given: Vec<(String, i64)>,
    /// Whether a loop of that name was met.
    met: Arc<[AtomicBool]>,
}

impl TripCounts {
    pub fn new(given: &[(String, i64)]) -> TripCounts {
        TripCounts { given: given.to_vec(), met: given.iter().map(|_| AtomicBool::new(false)).collect() }
    }

    /// What was said of a loop; it may be named with the scopes around it.
    pub fn get(&self, name: &str) -> Option<i64> {
        let names = |given: &str| given == name || given.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'));
        let mut last = None;
        for ((given, count), met) in self.given.iter().zip(&*self.met) {
            if names(given) {
                met.store(true, Ordering::Relaxed);
                last = Some(*count);
            }
        }
        last
    }

    /// The names that no loop had so far.
    pub fn not_met(&self) -> impl Iterator<Item = &str> {
        let all = self.given.iter().zip(&*self.met);
        all.filter(|(_, met)| !met.load(Ordering::Relaxed)).map(|((name, _), _)| name.as_str())
    }
}
