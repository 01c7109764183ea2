//! Compares two checkpoints, tensor by tensor.

use super::Filter;
use super::stats::Change;
use crate::checkpoint::{Checkpoint, Damage, Tensor};
use crate::error::Error;
use crate::options::{Comparing, Options};
use crate::pairing::{self, How, Likeness, Match, Row};

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
    /// How both were paired.
    pub by: Match,
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
        self.after.or(self.before).map_or("", |tensor| &tensor.name)
    }

    /// Its name before, if that is another one.
    pub fn before_name(&self) -> Option<&str> {
        self.before.map(|tensor| tensor.name.as_str()).filter(|before| *before != self.name())
    }

    /// Its name, and the one before.
    pub fn label(&self) -> String {
        pairing::label(self.name(), self.before_name(), self.by == Match::Guess)
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
        comparing: &Comparing,
        has_stats: bool,
    ) -> Result<Comparison<'c>, Error> {
        let filter = Filter::new(options)?;
        let mut comparison = Comparison { before, after, rows: Vec::new(), same: 0, has_stats, damage: Vec::new() };
        let how = How { renames: &comparing.renames, unique_names: true };
        let pairs = pairing::pair(&rows(before), &rows(after), &how, |side, row| likeness([before, after][side], row));
        for (tensor, partner) in before.tensors.iter().zip(pairs.before.iter().skip(1)) {
            let other = partner.map(|(row, by)| (&after.tensors[row as usize - 1], by));
            let by = other.map_or(Match::Name, |(_, by)| by);
            if filter.shows(other.map_or(tensor, |(tensor, _)| tensor)) {
                comparison.add(Some(tensor), other.map(|(tensor, _)| tensor), by);
            }
        }
        for (tensor, partner) in after.tensors.iter().zip(pairs.after.iter().skip(1)) {
            if partner.is_none() && filter.shows(tensor) {
                comparison.add(None, Some(tensor), Match::Name);
            }
        }
        comparison.rows.sort_by(|a, b| {
            let largest = |row: &ComparisonRow<'_>| row.change.map_or(0.0, |change| change.largest);
            let names = || a.name().cmp(b.name());
            a.kind().rank().cmp(&b.kind().rank()).then(largest(b).total_cmp(&largest(a))).then_with(names)
        });
        Ok(comparison)
    }

    fn add(&mut self, before: Option<&'c Tensor>, after: Option<&'c Tensor>, by: Match) {
        let mut row = ComparisonRow { before, after, by, change: None };
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

/// The tensors as the children of one root, to be paired by name, then by type, shape and name without numbers.
fn rows(checkpoint: &Checkpoint) -> Vec<Row<'_>> {
    let mut rows = vec![Row { parent: 0, name: "", label: "" }];
    rows.extend(checkpoint.tensors.iter().map(|Tensor { name, .. }| Row { parent: 0, name, label: name }));
    rows
}

/// Type and shape of the tensor of a row.
fn likeness(checkpoint: &Checkpoint, row: usize) -> Likeness {
    let tensor = row.checked_sub(1).and_then(|at| checkpoint.tensors.get(at));
    let structure = tensor.map_or(0, |tensor| pairing::digest_of(&(tensor.dtype.name(), &tensor.shape)));
    Likeness { structure, line: 0 }
}
