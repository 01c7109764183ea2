//! `-select`: the metrics and details to show for each row.

use crate::metric::{self, DETAILS, Detail, METRICS, Metric, MetricSet};

/// The words of `-select`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    metrics: MetricSet,
    details: u32,
    /// The metric whose word came first.
    first: Option<Metric>,
}

impl Selection {
    /// All words, in ascending order.
    pub fn all_words() -> Vec<&'static str> {
        let mut words: Vec<_> = METRICS.iter().filter_map(|info| info.word).collect();
        words.extend(DETAILS.iter().map(|info| info.word));
        words.sort_unstable();
        words
    }

    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Selection, String> {
        let mut selection = Selection::default();
        for word in words.iter().map(AsRef::as_ref) {
            if let Some(metric) = Metric::of_word(word) {
                selection.add_metric(metric);
            } else if let Some(info) = DETAILS.iter().find(|info| info.word == word) {
                selection.add_detail(info.detail);
            } else {
                return Err(metric::unknown_word("metric", word, &Selection::all_words()));
            }
        }
        Ok(selection)
    }

    pub fn add_metric(&mut self, metric: Metric) {
        self.metrics.add(metric);
        self.first.get_or_insert(metric);
    }

    pub fn add_detail(&mut self, detail: Detail) {
        self.details |= 1 << detail as u32;
    }

    /// Whether the word of this metric was given.
    pub fn has(self, metric: Metric) -> bool {
        self.metrics.has(metric)
    }

    /// The metrics whose words were given, in the order of [`METRICS`].
    pub(crate) fn given(self) -> impl Iterator<Item = Metric> {
        self.metrics.iter()
    }

    /// The first metric that was given, if the files know it; else the first one that they do.
    pub(crate) fn first(self, unknown: MetricSet) -> Option<Metric> {
        self.first.into_iter().chain(self.given()).find(|metric| !unknown.has_part_of(*metric))
    }

    pub fn has_detail(self, detail: Detail) -> bool {
        self.details & 1 << detail as u32 != 0
    }

    /// The words that were given, in ascending order.
    pub fn words(self) -> Vec<&'static str> {
        let mut words: Vec<_> = self.metrics.iter().filter_map(|metric| metric.info().word).collect();
        words.extend(DETAILS.iter().filter(|info| self.has_detail(info.detail)).map(|info| info.word));
        words.sort_unstable();
        words
    }

    /// The metrics that the words show, in the order of [`METRICS`].
    pub fn metrics(self) -> MetricSet {
        let mut all = self.metrics;
        for metric in self.metrics.iter() {
            metric.info().with.iter().for_each(|metric| all.add(*metric));
        }
        all
    }
}
