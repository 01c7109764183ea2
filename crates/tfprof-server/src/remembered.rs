//! A cache of answers by key. Concurrent requests for one key compute it once; the least recently used entry is evicted first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

type Slot<T> = Arc<OnceLock<T>>;

/// Values by key, up to a sum of weights and a number.
#[derive(Debug)]
pub struct Remembered<T> {
    slots: Mutex<Slots<T>>,
    weight: fn(&T) -> usize,
    most_weight: usize,
    most: usize,
}

#[derive(Debug)]
struct Slots<T> {
    by_key: HashMap<String, (u64, Slot<T>)>,
    clock: u64,
}

impl<T: Clone> Remembered<T> {
    pub fn new(weight: fn(&T) -> usize, most_weight: usize, most: usize) -> Remembered<T> {
        let slots = Mutex::new(Slots { by_key: HashMap::new(), clock: 0 });
        Remembered { slots, weight, most_weight, most }
    }

    /// The value of a key, made if it is not there.
    pub fn get(&self, key: &str, make: impl FnOnce() -> T) -> T {
        let slot = self.slot(key);
        slot.get_or_init(make).clone()
    }

    /// Forgets a value.
    pub fn forget(&self, key: &str) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).by_key.remove(key);
    }

    /// Forgets all values.
    pub fn clear(&self) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        // Drop the values after releasing the lock.
        let gone = std::mem::take(&mut slots.by_key);
        drop(slots);
        drop(gone);
    }

    fn slot(&self, key: &str) -> Slot<T> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.clock += 1;
        let clock = slots.clock;
        if let Some((used, slot)) = slots.by_key.get_mut(key) {
            *used = clock;
            return Arc::clone(slot);
        }
        self.make_room(&mut slots);
        let slot = Slot::default();
        slots.by_key.insert(key.to_owned(), (clock, Arc::clone(&slot)));
        slot
    }

    fn make_room(&self, slots: &mut Slots<T>) {
        let weight = |slot: &Slot<T>| slot.get().map_or(0, |value| (self.weight)(value));
        let mut by_use: Vec<(u64, usize)> = slots.by_key.values().map(|(used, slot)| (*used, weight(slot))).collect();
        let mut sum: usize = by_use.iter().map(|(_, weight)| weight).sum();
        let mut left = by_use.len();
        if left < self.most && sum < self.most_weight {
            return;
        }
        by_use.sort_unstable();
        for (used, weight) in by_use {
            if left < self.most && sum < self.most_weight {
                break;
            }
            slots.by_key.retain(|_, slot| slot.0 != used);
            left -= 1;
            sum -= weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_many_ask_is_made_once() {
        let made = AtomicUsize::new(0);
        let kept = Remembered::new(String::len, 100, 10);
        let ask = || {
            kept.get("a", || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                made.fetch_add(1, Ordering::SeqCst);
                "answer".to_owned()
            })
        };
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..20).map(|_| scope.spawn(ask)).collect();
            asked.into_iter().for_each(|asked| assert_eq!(asked.join().unwrap(), "answer"));
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn the_oldest_go_first_by_number_and_by_weight() {
        let kept = Remembered::new(String::len, 10, 3);
        let is_kept = |key: &str| kept.slots.lock().unwrap().by_key.contains_key(key);
        for key in ["a", "b", "c"] {
            kept.get(key, || "1".to_owned());
        }
        kept.get("a", || unreachable!("it is there"));
        kept.get("d", || "123456789".to_owned());
        assert!(is_kept("a") && !is_kept("b") && is_kept("d"));
        kept.get("e", String::new);
        assert!(!is_kept("a") && is_kept("e"), "the weight of d leaves no room");
        kept.forget("e");
        assert!(!is_kept("e"));
    }
}
