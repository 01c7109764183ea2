//! A partial: the sums of one or many recordings, small, in integers alone, and mergeable in any order and grouping.
//!
//! [`Rows`] hold what all hosts have in common: nodes, sums by device, histograms, and the sums of a sample of steps. The ledger
//! is one [`Recording`] for each host's recording; its steps are a [`Block`]. Merging adds rows and collects recordings, so
//! memory follows distinct rows and the table of hosts and steps, not the sum of the parts. `file` has the layout on disk.

pub mod bytes;
mod file;
mod fill;
mod gather;
pub mod histogram;
mod merge;
pub mod recording;
pub mod rows;
mod rows_bytes;
pub mod steps;

pub use file::{MAGIC, Packed, recognizes};
pub use fill::fill;
pub use gather::gather;
pub use merge::{Merger, Overlap};
pub use recording::{Block, InputEntry, Recording, StepRow};

use rows::Rows;
use std::collections::{BTreeMap, BTreeSet};
use steps::StepSet;

/// Facts about a whole partial. The version of the program that wrote it is not among them, so that equal contents are equal files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialFacts {
    /// Time units per microsecond; `None` if nothing ran.
    pub per_micro: Option<i64>,
    /// Times come from traces of single events.
    pub is_trace: bool,
    pub knows_trainable: bool,
    pub has_traces: bool,
    pub misses_streams: bool,
    /// The keys of the metrics that are known; a trace lacks some.
    pub known: BTreeSet<String>,
    /// The batch size, and the costs of one run at batch sizes 1, 2 and 3, if costs were computed.
    pub batch: Option<i64>,
    pub by_batch: Option<[[i64; 3]; 3]>,
    pub frozen_weights: i64,
    /// All steps.
    pub steps: StepSet,
}

/// A partial in memory. Blocks stay compressed until they are needed.
#[derive(Clone, Debug, Default)]
pub struct Partial {
    pub about: PartialFacts,
    pub rows: Rows,
    /// Recordings by id.
    pub recordings: BTreeMap<u128, Recording>,
    pub blocks: BTreeMap<u128, Packed>,
}

impl Partial {
    /// A ledger with one recording that could not be read.
    pub fn lost(path: &str, reason: &str) -> Partial {
        let lost = Recording::lost(path, reason);
        Partial { recordings: BTreeMap::from([(lost.id(), lost)]), ..Partial::default() }
    }

    /// Renames inputs: pairs of a path and the path that it is a copy of.
    pub fn rename(&mut self, names: &[(String, String)]) {
        let rename = |mut recording: Recording| {
            for (path, name) in names {
                recording.inputs = std::mem::take(&mut recording.inputs)
                    .into_iter()
                    .map(|input| if input.path == *path { InputEntry { path: name.clone(), ..input } } else { input })
                    .collect();
                recording.lost.iter_mut().for_each(|text| *text = text.replace(path, name));
                recording.failed = recording.failed.map(|text| text.replace(path, name));
            }
            recording
        };
        for recording in self.recordings.values_mut() {
            *recording = rename(std::mem::take(recording));
        }
    }

    /// The recordings that could not be read, ordered by their paths.
    pub fn missing(&self) -> impl Iterator<Item = &Recording> {
        let mut missing: Vec<&Recording> =
            self.recordings.values().filter(|recording| recording.failed.is_some()).collect();
        missing.sort_by_key(|recording| recording.path());
        missing.into_iter()
    }

    /// The recordings that were, ordered by their names.
    pub fn read(&self) -> Vec<(u128, &Recording)> {
        let read = self.recordings.iter().filter(|(id, _)| self.blocks.contains_key(id));
        let mut read: Vec<(u128, &Recording)> = read.map(|(id, recording)| (*id, recording)).collect();
        read.sort_by_key(|(id, recording)| (&recording.host, &recording.label, *id));
        read
    }

    /// Display names of these hosts: their own name, else the file name, else the full path, as needed to tell them apart.
    pub fn host_names(&self) -> Vec<String> {
        let read = self.read();
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, recording) in &read {
            *count.entry(&recording.host).or_default() += 1;
            *count.entry(&recording.label).or_default() += usize::from(recording.label != recording.host);
        }
        let name = |(_, recording): &(u128, &Recording)| {
            let names = [recording.host.as_str(), &recording.label];
            let alone = names.into_iter().find(|name| !name.is_empty() && count[name] == 1);
            alone.unwrap_or_else(|| recording.path()).to_owned()
        };
        read.iter().map(name).collect()
    }
}

#[cfg(test)]
mod tests;
