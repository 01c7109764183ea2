//! Questions to a checkpoint alone: which tensors it has, what their numbers look like, how it differs from another.

use crate::checkpoint::stats::{Change, Stats};
use crate::checkpoint::values::Values;
use crate::checkpoint::{Checkpoint, Damage, Tensor};
use crate::error::Error;
use crate::metric::Metric;
use crate::options::{Options, OrderBy};
use crate::parallel;
use crate::view::filter::Patterns;
use crate::words;
use std::ops::Range;

/// The tensors of a checkpoint that were asked for, in the order that was asked for.
#[derive(Debug)]
pub struct Listing<'c> {
    pub checkpoint: &'c Checkpoint,
    pub rows: Vec<Listed<'c>>,
    /// Numbers were looked at.
    pub has_stats: bool,
    /// What was found wrong while numbers were read.
    pub damage: Vec<Damage>,
}

#[derive(Debug)]
pub struct Listed<'c> {
    pub tensor: &'c Tensor,
    pub parameters: i64,
    pub shards: Vec<u32>,
    pub summary: Option<Summary>,
}

/// What the numbers of a tensor look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub deviation: f64,
    pub zeros: u64,
    pub nan: u64,
    pub infinite: u64,
    /// How many numbers are finite; without any, the first four mean nothing.
    pub finite: u64,
    pub histogram: Vec<u64>,
}

impl<'c> Listing<'c> {
    pub fn new(checkpoint: &'c Checkpoint, options: &Options, has_stats: bool) -> Result<Listing<'c>, Error> {
        let filter = Filter::new(options)?;
        let tensors = checkpoint.tensors.iter().filter(|tensor| filter.shows(tensor));
        let mut rows: Vec<_> = tensors
            .map(|tensor| Listed {
                tensor,
                parameters: parameters(tensor),
                shards: checkpoint.shards(tensor),
                summary: None,
            })
            .collect();
        match options.order_by {
            // Tensors are in the order of their names, and sorting keeps what is equal in order.
            OrderBy::Name | OrderBy::Unordered => {}
            OrderBy::Depth => rows.sort_by_key(|row| row.tensor.name.matches('/').count()),
            OrderBy::Metric(Metric::Parameters) => rows.sort_by_key(|row| std::cmp::Reverse(row.parameters)),
            OrderBy::Metric(Metric::RequestedBytes) => rows.sort_by_key(|row| std::cmp::Reverse(row.tensor.bytes)),
            OrderBy::Metric(_) => {
                let word = options.order_by.word();
                return Err(Error::Question(words::unknown("order", word, &["name", "params", "bytes", "depth"])));
            }
        }
        let damage = if has_stats { look_at_numbers(checkpoint, &mut rows) } else { Vec::new() };
        Ok(Listing { checkpoint, rows, has_stats, damage })
    }
}

/// Each thread holds a part of a tensor in memory.
const MAX_THREADS: usize = 8;

/// Fills in what the numbers look like, on all processors; tells what is wrong in the order of the rows.
fn look_at_numbers(checkpoint: &Checkpoint, rows: &mut [Listed<'_>]) -> Vec<Damage> {
    let tensors: Vec<&Tensor> = rows.iter().map(|row| row.tensor).collect();
    let threads = parallel::processors(MAX_THREADS);
    let found = parallel::map(tensors, threads, |tensor| match checkpoint.stats(tensor) {
        Ok((stats, wrong)) => (stats.as_ref().map(summary), wrong),
        Err(lost) => (None, vec![lost]),
    });
    let mut damage = Vec::new();
    for (row, (summary, wrong)) in rows.iter_mut().zip(found) {
        row.summary = summary;
        damage.extend(wrong);
    }
    damage
}

/// Names and minimums.
struct Filter {
    show: Patterns,
    hide: Patterns,
    least_parameters: i64,
    least_bytes: i64,
}

impl Filter {
    fn new(options: &Options) -> Result<Filter, Error> {
        Ok(Filter {
            show: Patterns::new("show_name_regexes", &options.show_name_regexes)?,
            hide: Patterns::new("hide_name_regexes", &options.hide_name_regexes)?,
            least_parameters: options.min[Metric::Parameters as usize],
            least_bytes: options.min[Metric::RequestedBytes as usize],
        })
    }

    /// A tensor goes by its stored name and by the one people know it by.
    fn shows(&self, tensor: &Tensor) -> bool {
        let named = |patterns: &Patterns| {
            patterns.matches(&tensor.name) || tensor.readable.as_ref().is_some_and(|name| patterns.matches(name))
        };
        named(&self.show)
            && !named(&self.hide)
            && parameters(tensor) >= self.least_parameters
            && tensor.bytes.unwrap_or(0) as i64 >= self.least_bytes
    }
}

/// How many numbers a tensor has. A shape that makes no sense has none.
pub fn parameters(tensor: &Tensor) -> i64 {
    tensor.elements().and_then(|count| i64::try_from(count).ok()).unwrap_or(0)
}

/// How many columns a histogram has.
const COLUMNS: usize = 12;

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
        histogram: stats.histogram(COLUMNS),
    }
}

/// Two checkpoints, tensor by tensor.
#[derive(Debug)]
pub struct Comparison<'c> {
    pub before: &'c Checkpoint,
    pub after: &'c Checkpoint,
    /// Only those that differ: the missing and the new, then other shapes, then by how much values changed.
    pub rows: Vec<Compared<'c>>,
    /// How many do not differ, as far as was looked at.
    pub same: usize,
    pub has_stats: bool,
    pub damage: Vec<Damage>,
}

#[derive(Debug)]
pub struct Compared<'c> {
    pub before: Option<&'c Tensor>,
    pub after: Option<&'c Tensor>,
    pub change: Option<Change>,
}

impl Compared<'_> {
    pub fn name(&self) -> &str {
        self.before.or(self.after).map_or("", |tensor| &tensor.name)
    }

    /// What happened, in a word or two.
    pub fn kind(&self) -> &'static str {
        match (self.before, self.after) {
            (None, _) => "added",
            (_, None) => "removed",
            (Some(a), Some(b)) => match (a.dtype != b.dtype, a.shape != b.shape) {
                (true, true) => "dtype and shape",
                (true, false) => "dtype",
                (false, true) => "shape",
                (false, false) => "values",
            },
        }
    }
}

impl<'c> Comparison<'c> {
    pub fn new(
        before: &'c Checkpoint,
        after: &'c Checkpoint,
        options: &Options,
        has_stats: bool,
    ) -> Result<Comparison<'c>, Error> {
        let filter = Filter::new(options)?;
        let mut answer = Comparison { before, after, rows: Vec::new(), same: 0, has_stats, damage: Vec::new() };
        let (mut a, mut b) = (before.tensors.iter().peekable(), after.tensors.iter().peekable());
        while let Some(name) = [a.peek(), b.peek()].into_iter().flatten().map(|tensor| &tensor.name).min().cloned() {
            let pair = (a.next_if(|tensor| tensor.name == name), b.next_if(|tensor| tensor.name == name));
            if pair.0.or(pair.1).is_some_and(|tensor| filter.shows(tensor)) {
                answer.push(pair.0, pair.1);
            }
        }
        let rank = |row: &Compared<'_>| match row.kind() {
            "removed" => 0,
            "added" => 1,
            "values" => 3,
            _ => 2,
        };
        answer.rows.sort_by(|a, b| {
            let largest = |row: &Compared<'_>| row.change.map_or(0.0, |change| change.largest);
            rank(a).cmp(&rank(b)).then(largest(b).total_cmp(&largest(a)))
        });
        Ok(answer)
    }

    fn push(&mut self, before: Option<&'c Tensor>, after: Option<&'c Tensor>) {
        let mut row = Compared { before, after, change: None };
        if let (Some(a), Some(b), "values") = (before, after, row.kind()) {
            if self.has_stats {
                match self.change(a, b) {
                    Ok(change) => row.change = change,
                    Err(lost) => self.damage.push(lost),
                }
            }
            if row.change.is_none_or(|change| change.largest == 0.0) {
                self.same += 1;
                return;
            }
        }
        self.rows.push(row);
    }

    fn change(&self, a: &Tensor, b: &Tensor) -> Result<Option<Change>, Damage> {
        if a.dtype.size().is_some() {
            return self.before.change(a, self.after, b);
        }
        // Strings have no distance: they are the same or not.
        let (a, b) = (self.before.values(a)?, self.after.values(b)?);
        let same = a.len() == b.len() && (0..a.len()).all(|i| a.text(i) == b.text(i));
        let largest = if same { 0.0 } else { f64::NAN };
        Ok(Some(Change { largest, relative: largest }))
    }
}

/// A tensor, or a part of one, that was asked for as `NAME` or `NAME[0:2,:]`.
pub fn picked(checkpoint: &Checkpoint, question: &str) -> Result<(String, Values), Error> {
    let whole = checkpoint.find(question);
    let cut = question.strip_suffix(']').and_then(|text| text.rsplit_once('['));
    let (tensor, part) = match (whole, cut) {
        (Some(tensor), _) => return Ok((tensor.name.clone(), checkpoint.values(tensor)?)),
        (None, Some((name, part))) if checkpoint.find(name).is_some() => (checkpoint.find(name), part),
        (None, _) => (None, ""),
    };
    let Some(tensor) = tensor else {
        let name = cut.map_or(question, |(name, _)| name);
        let known = checkpoint.tensors.iter().flat_map(|tensor| [tensor.name.as_str(), tensor.label()]);
        let near = words::nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(Error::option("values", format!("there is no tensor `{name}` in {}{near}", checkpoint.name)));
    };
    let (ranges, shape) = parse_part(part, &tensor.shape)
        .map_err(|why| Error::option("values", format!("{why}; `{}` has the shape {:?}", tensor.name, tensor.shape)))?;
    let mut values = checkpoint.part(tensor, &ranges)?;
    values.shape = shape;
    Ok((tensor.name.clone(), values))
}

/// The ranges of `0:2,:,-1`, and the shape that is left: a single number takes its dimension away.
fn parse_part(text: &str, shape: &[i64]) -> Result<(Vec<Range<u64>>, Vec<i64>), String> {
    let mut items = text.split(',').map(str::trim);
    let mut items: Vec<&str> = if text.trim().is_empty() { Vec::new() } else { items.by_ref().collect() };
    if items.len() > shape.len() {
        return Err(format!("`[{text}]` has {} dimensions", items.len()));
    }
    items.resize(shape.len(), ":");
    let (mut ranges, mut left) = (Vec::new(), Vec::new());
    for (item, dim) in items.into_iter().zip(shape) {
        let number = |text: &str| text.trim().parse::<i64>().map_err(|_| format!("expected a number, found `{text}`"));
        // As in Python: what is below zero counts from the end, and what is too far is cut.
        let bound = |n: i64| if n < 0 { n.saturating_add(*dim).max(0) } else { n.min(*dim) };
        if let Some((from, to)) = item.split_once(':') {
            let from = if from.trim().is_empty() { 0 } else { bound(number(from)?) };
            let to = if to.trim().is_empty() { *dim } else { bound(number(to)?) };
            let to = to.max(from);
            ranges.push(from as u64..to as u64);
            left.push(to - from);
        } else {
            let n = number(item)?;
            let at = if n < 0 { n.saturating_add(*dim) } else { n };
            if at < 0 || at >= *dim {
                return Err(format!("{n} is outside of a dimension of {dim}"));
            }
            ranges.push(at as u64..at as u64 + 1);
        }
    }
    Ok((ranges, left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_as_in_python() {
        let part = |text| parse_part(text, &[4, 3]);
        assert_eq!(part("0:2,:"), Ok((vec![0..2, 0..3], vec![2, 3])));
        assert_eq!(part("-1"), Ok((vec![3..4, 0..3], vec![3])));
        assert_eq!(part("1,2"), Ok((vec![1..2, 2..3], vec![])));
        assert_eq!(part("2:99, -2:"), Ok((vec![2..4, 1..3], vec![2, 2])));
        assert_eq!(part("3:1"), Ok((vec![3..3, 0..3], vec![0, 3])));
        assert_eq!(part(""), Ok((vec![0..4, 0..3], vec![4, 3])));
        assert!(part("4").is_err() && part("x").is_err() && part("0,0,0").is_err());
    }
}
