//! Compares two checkpoints, tensor by tensor.

use super::Filter;
use super::stats::Change;
use crate::checkpoint::{Checkpoint, Damage, Tensor};
use crate::error::Error;
use crate::options::Options;

#[derive(Debug)]
pub struct Comparison<'c> {
    pub before: &'c Checkpoint,
    pub after: &'c Checkpoint,
    /// The tensors that differ, by [`ChangeKind`], the largest change of values first.
    pub rows: Vec<ComparisonRow<'c>>,
    /// The number of tensors without a known difference.
    pub same: usize,
    /// Values were compared, not only types and shapes.
    pub has_stats: bool,
    pub damage: Vec<Damage>,
}

#[derive(Debug)]
pub struct ComparisonRow<'c> {
    pub before: Option<&'c Tensor>,
    pub after: Option<&'c Tensor>,
    pub change: Option<Change>,
}

/// How a tensor differs, in the order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Removed,
    Added,
    Type,
    Shape,
    TypeAndShape,
    Values,
}

impl ChangeKind {
    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Removed => "removed",
            ChangeKind::Added => "added",
            ChangeKind::Type => "dtype",
            ChangeKind::Shape => "shape",
            ChangeKind::TypeAndShape => "dtype and shape",
            ChangeKind::Values => "values",
        }
    }

    /// Rows are sorted by this.
    fn rank(self) -> u8 {
        match self {
            ChangeKind::Removed => 0,
            ChangeKind::Added => 1,
            ChangeKind::Type | ChangeKind::Shape | ChangeKind::TypeAndShape => 2,
            ChangeKind::Values => 3,
        }
    }
}

impl ComparisonRow<'_> {
    pub fn name(&self) -> &str {
        self.before.or(self.after).map_or("", |tensor| &tensor.name)
    }

    pub fn kind(&self) -> ChangeKind {
        match (self.before, self.after) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            (Some(a), Some(b)) => match (a.dtype != b.dtype, a.shape != b.shape) {
                (true, true) => ChangeKind::TypeAndShape,
                (true, false) => ChangeKind::Type,
                (false, true) => ChangeKind::Shape,
                (false, false) => ChangeKind::Values,
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
        let mut comparison = Comparison { before, after, rows: Vec::new(), same: 0, has_stats, damage: Vec::new() };
        let (mut a, mut b) = (before.tensors.iter().peekable(), after.tensors.iter().peekable());
        while let Some(name) = [a.peek(), b.peek()].into_iter().flatten().map(|tensor| &tensor.name).min().cloned() {
            let pair = (a.next_if(|tensor| tensor.name == name), b.next_if(|tensor| tensor.name == name));
            if pair.0.or(pair.1).is_some_and(|tensor| filter.shows(tensor)) {
                comparison.add(pair.0, pair.1);
            }
        }
        comparison.rows.sort_by(|a, b| {
            let largest = |row: &ComparisonRow<'_>| row.change.map_or(0.0, |change| change.largest);
            a.kind().rank().cmp(&b.kind().rank()).then(largest(b).total_cmp(&largest(a)))
        });
        Ok(comparison)
    }

    fn add(&mut self, before: Option<&'c Tensor>, after: Option<&'c Tensor>) {
        let mut row = ComparisonRow { before, after, change: None };
        if let (Some(a), Some(b), ChangeKind::Values) = (before, after, row.kind()) {
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
        // Strings have no distance.
        let (a, b) = (self.before.values(a)?, self.after.values(b)?);
        let same = a.len() == b.len() && (0..a.len()).all(|i| a.text(i) == b.text(i));
        let largest = if same { 0.0 } else { f64::NAN };
        Ok(Some(Change { largest, relative: largest }))
    }
}
