//! How often and how long ops ran in single steps, where that is all that is asked of them: 16 bytes for each row of the
//! sums, an eighth of its sums. They are added while records are read, so that a step of its own costs next to nothing.

use super::cells::{Cells, Measure, Sum, Sums};

/// Runs and microseconds in one step, by row of the sums over all steps.
#[derive(Clone, Debug, Default)]
pub struct StepTimes {
    rows: Vec<Times>,
}

/// Of a row that the step has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub runs: i64,
    pub micros: i64,
}

impl Times {
    /// The step does not have the row.
    const NONE: Times = Times { runs: -1, micros: 0 };

    fn is_some(self) -> bool {
        self.runs >= 0
    }

    fn add(&mut self, more: Times) {
        self.runs = self.runs.max(0).saturating_add(more.runs.max(0));
        self.micros = self.micros.saturating_add(more.micros);
    }
}

impl StepTimes {
    /// Notes that the step has a row, even if none of its records counts.
    #[inline]
    pub fn see(&mut self, row: usize) {
        if row >= self.rows.len() {
            self.rows.resize(row + 1, Times::NONE);
        }
        let times = &mut self.rows[row];
        times.runs = times.runs.max(0);
    }

    /// Adds a record of a row that was seen.
    #[inline]
    pub fn add(&mut self, row: usize, numbers: [i64; Measure::COUNT]) {
        let of = |measure: Measure| numbers[measure as usize];
        self.rows[row].add(Times { runs: of(Measure::Runs), micros: of(Measure::Micros) });
    }

    /// The rows that the step has.
    pub fn rows(&self) -> impl Iterator<Item = (usize, Times)> + '_ {
        self.rows.iter().copied().enumerate().filter(|(_, times)| times.is_some())
    }

    /// Adds another part of the step, whose rows have other numbers.
    pub fn merge(&mut self, other: &StepTimes, new_row: impl Fn(usize) -> usize) {
        for (row, times) in other.rows() {
            let row = new_row(row);
            self.see(row);
            self.rows[row].add(times);
        }
    }

    /// The same as sums; memory and the times of starts are not known.
    pub fn cells(&self, totals: &Cells) -> Cells {
        let mut cells = Cells::default();
        for (row, Times { runs, micros }) in self.rows() {
            let of = totals.get(row);
            let mut sums = Sums::default();
            (sums[Measure::Runs as usize], sums[Measure::Micros as usize]) = (Sum::new(runs), Sum::new(micros));
            cells.at(of.node, of.device).record(&sums, 0, 0, 0);
        }
        cells
    }

    /// The time of the whole step, on all devices together.
    pub fn micros(&self) -> f64 {
        self.rows().map(|(_, times)| times.micros as f64).sum()
    }
}
