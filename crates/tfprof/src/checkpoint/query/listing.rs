//! Lists the tensors of a checkpoint, with statistics of their values on request.

use super::Filter;
use super::stats::Stats;
use crate::checkpoint::{Checkpoint, Damage, Tensor};
use crate::error::Error;
use crate::metric::Metric;
use crate::options::{Options, OrderBy};
use crate::{parallel, words};

/// The selected tensors of a checkpoint, in the requested order.
#[derive(Debug)]
pub struct Listing<'c> {
    pub checkpoint: &'c Checkpoint,
    pub rows: Vec<ListingRow<'c>>,
    pub has_stats: bool,
    /// Damage found while reading values for the statistics.
    pub damage: Vec<Damage>,
}

#[derive(Debug)]
pub struct ListingRow<'c> {
    pub tensor: &'c Tensor,
    pub shards: Vec<u32>,
    /// `None` if no statistics were requested, or the tensor has no numbers.
    pub summary: Option<Summary>,
}

/// Statistics of the values of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub deviation: f64,
    pub zeros: u64,
    pub nan: u64,
    pub infinite: u64,
    /// The number of finite values. If it is zero, `min`, `max`, `mean` and `deviation` are meaningless.
    pub finite: u64,
    pub histogram: Vec<u64>,
}

const HISTOGRAM_COLUMNS: usize = 12;
const MAX_WORKERS: usize = 8;

impl<'c> Listing<'c> {
    pub fn new(checkpoint: &'c Checkpoint, options: &Options, has_stats: bool) -> Result<Listing<'c>, Error> {
        let filter = Filter::new(options)?;
        let tensors = checkpoint.tensors.iter().filter(|tensor| filter.shows(tensor));
        let mut rows: Vec<_> =
            tensors.map(|tensor| ListingRow { tensor, shards: checkpoint.shards(tensor), summary: None }).collect();
        match options.order_by {
            // The tensors are sorted by name, and sorting is stable.
            OrderBy::Name | OrderBy::Auto | OrderBy::Unordered => {}
            OrderBy::Depth => rows.sort_by_key(|row| row.tensor.name.matches('/').count()),
            OrderBy::Metric(Metric::Parameters) => rows.sort_by_key(|row| std::cmp::Reverse(row.tensor.parameters())),
            OrderBy::Metric(Metric::RequestedBytes) => rows.sort_by_key(|row| std::cmp::Reverse(row.tensor.bytes)),
            OrderBy::Metric(_) => {
                let word = options.order_by.word();
                return Err(Error::Question(words::unknown("order", word, &["name", "params", "bytes", "depth"])));
            }
        }
        let damage = if has_stats { add_summaries(checkpoint, &mut rows) } else { Vec::new() };
        Ok(Listing { checkpoint, rows, has_stats, damage })
    }
}

/// Computes the statistics of all rows, in parallel. Returns damage in the order of the rows.
fn add_summaries(checkpoint: &Checkpoint, rows: &mut [ListingRow<'_>]) -> Vec<Damage> {
    let tensors = rows.iter().map(|row| row.tensor).collect();
    let found = parallel::map(tensors, parallel::processors(MAX_WORKERS), |tensor| match checkpoint.stats(tensor) {
        Ok((stats, damage)) => (stats.as_ref().map(summary), damage),
        Err(lost) => (None, vec![lost]),
    });
    let mut all_damage = Vec::new();
    for (row, (summary, damage)) in rows.iter_mut().zip(found) {
        row.summary = summary;
        all_damage.extend(damage);
    }
    all_damage
}

fn summary(stats: &Stats) -> Summary {
    Summary {
        min: stats.min,
        max: stats.max,
        mean: stats.mean,
        deviation: stats.deviation(),
        zeros: stats.zeros,
        nan: stats.nan,
        infinite: stats.infinite,
        finite: stats.finite(),
        histogram: stats.histogram(HISTOGRAM_COLUMNS),
    }
}
