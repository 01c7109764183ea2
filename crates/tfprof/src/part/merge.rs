//! Merging: rows are added, recordings collected. The result depends only on the set of recordings.

use super::recording::Recording;
use super::steps::sample;
use super::{Partial, PartialFacts};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Adds partials one by one; memory is bounded by the result and one part.
#[derive(Debug, Default)]
pub struct Merger {
    partial: Partial,
    measured: BTreeSet<(u128, u64)>,
    /// Parts whose recordings were all there already; they count once.
    pub repeated: Vec<String>,
}

/// Why two partials cannot be merged: a sentence.
pub type Overlap = String;

impl Merger {
    /// Sorts parts into the order in which they are merged: those with most recordings first, so that a
    /// part contained in others comes after them.
    pub fn order(ledgers: &[BTreeMap<u128, Recording>]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..ledgers.len()).collect();
        order.sort_by_key(|at| (Reverse(ledgers[*at].len()), ledgers[*at].keys().collect::<Vec<_>>()));
        order
    }

    /// Adds a part. If all of its recordings are there already, it is listed in `repeated` and not counted again.
    pub fn add(&mut self, part: Partial, name: &str) -> Result<(), Overlap> {
        let measured: BTreeSet<(u128, u64)> = part.recordings.values().flat_map(Recording::measured).collect();
        let known = measured.intersection(&self.measured).count();
        if known > 0 && known < measured.len() {
            let both = part.recordings.values().find(|one| one.measured().any(|input| self.measured.contains(&input)));
            let path = both.map_or("", Recording::path);
            return Err(format!(
                "its recording of `{path}` is in another part, too, but others of it are not, so neither can be left out; \
                 merge the parts that these were merged from"
            ));
        }
        if let (Some(mine), Some(other)) = (self.partial.about.per_micro, part.about.per_micro)
            && mine != other
        {
            return Err(
                "steps of TensorFlow 1 and traces cannot be merged: their times mean different things".to_owned()
            );
        }
        let about = join(&self.partial.about, &part.about);
        let is_new = known == 0 || measured.is_empty();
        if is_new {
            let same = measured.is_empty() && part.recordings.keys().all(|id| self.partial.recordings.contains_key(id));
            if !same {
                self.partial.rows.merge(&part.rows, sample(&about.steps));
            } else if !part.recordings.is_empty() {
                self.repeated.push(name.to_owned());
            }
        } else {
            self.repeated.push(name.to_owned());
        }
        self.partial.about = about;
        self.measured.extend(measured);
        for (id, recording) in part.recordings {
            let mine = self.partial.recordings.entry(id).or_insert_with(|| recording.clone());
            // The same content may have been read by two paths.
            if recording < *mine {
                *mine = recording;
            }
        }
        for (id, block) in part.blocks {
            self.partial.blocks.entry(id).or_insert(block);
        }
        Ok(())
    }

    /// The result. A recording that is missing in one part and present in another is present.
    pub fn finish(mut self) -> Partial {
        let read: BTreeSet<String> = self
            .partial
            .recordings
            .values()
            .filter(|recording| recording.failed.is_none())
            .flat_map(|recording| recording.inputs.iter().map(|input| input.path.clone()))
            .collect();
        self.partial.recordings.retain(|_, recording| recording.failed.is_none() || !read.contains(recording.path()));
        self.partial
    }
}

fn join(one: &PartialFacts, other: &PartialFacts) -> PartialFacts {
    PartialFacts {
        per_micro: one.per_micro.or(other.per_micro),
        is_trace: one.is_trace || other.is_trace,
        knows_trainable: one.knows_trainable || other.knows_trainable,
        has_traces: one.has_traces || other.has_traces,
        misses_streams: one.misses_streams || other.misses_streams,
        known: one.known.union(&other.known).cloned().collect(),
        batch: one.batch.max(other.batch),
        by_batch: one.by_batch.max(other.by_batch),
        frozen_weights: one.frozen_weights.max(other.frozen_weights),
        steps: one.steps.union(&other.steps),
    }
}
