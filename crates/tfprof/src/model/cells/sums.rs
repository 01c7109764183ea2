//! Numbers that are added, and the highest peaks of steps.

/// A number that is summed over the records of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Records with a start time.
    Runs,
    Micros,
    RequestedBytes,
    /// The peaks of all executions, as the original adds them up; [`StepPeaks`] has the highest.
    PeakBytes,
    ResidualBytes,
    OutputBytes,
    /// Temporary memory that the requested and peak bytes contain twice.
    RepeatedTemp,
}

impl Measure {
    pub const COUNT: usize = 7;
    pub(super) const ALL: [Measure; Measure::COUNT] = [
        Measure::Runs,
        Measure::Micros,
        Measure::RequestedBytes,
        Measure::PeakBytes,
        Measure::ResidualBytes,
        Measure::OutputBytes,
        Measure::RepeatedTemp,
    ];
    /// The first measure of memory; those after it are of memory, too.
    pub(super) const MEMORY: usize = Measure::RequestedBytes as usize;
}

/// A sum that counts its overflows, so that it can be read wrapped (as the original) or saturated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    wrapped: i64,
    carry: i8,
}

impl Sum {
    pub fn new(number: i64) -> Sum {
        Sum { wrapped: number, carry: 0 }
    }

    #[inline]
    pub fn add(&mut self, number: i64) {
        let (sum, over) = self.wrapped.overflowing_add(number);
        self.wrapped = sum;
        if over {
            self.carry = self.carry.saturating_add(if number < 0 { -1 } else { 1 });
        }
    }

    #[inline]
    pub fn add_sum(&mut self, other: Sum) {
        self.add(other.wrapped);
        self.carry = self.carry.saturating_add(other.carry);
    }

    #[inline(always)]
    pub(super) fn of_parts(wrapped: i64, carry: i8) -> Sum {
        Sum { wrapped, carry }
    }

    #[inline(always)]
    pub(super) fn parts(self) -> (i64, i8) {
        (self.wrapped, self.carry)
    }

    /// The sum without any limit.
    pub fn exact(self) -> i128 {
        i128::from(self.wrapped) + (i128::from(self.carry) << 64)
    }

    pub fn from_exact(sum: i128) -> Sum {
        let wrapped = sum as i64;
        let carry = (sum - i128::from(wrapped)) >> 64;
        Sum { wrapped, carry: carry.clamp(i8::MIN.into(), i8::MAX.into()) as i8 }
    }

    /// The sum as the original has it: wrapped.
    #[inline]
    pub fn wrapped(self) -> i64 {
        self.wrapped
    }

    /// The sum, saturated at the limit.
    #[inline]
    pub fn limited(self) -> i64 {
        match self.carry {
            0 => self.wrapped,
            1.. => i64::MAX,
            _ => i64::MIN,
        }
    }
}

pub type Sums = [Sum; Measure::COUNT];

/// The highest peak of each step, as far as answers need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepPeaks {
    pub highest: i64,
    /// The step being read, and its highest peak so far.
    run: u32,
    current: i64,
    /// The sum over earlier steps.
    earlier: i64,
}

impl StepPeaks {
    /// The peaks of steps that were summed before.
    pub fn of_steps(highest: i64, sum: i64) -> StepPeaks {
        StepPeaks { highest, earlier: sum, ..StepPeaks::default() }
    }

    /// Nothing yet, in a run.
    pub(super) fn of_run(run: u32) -> StepPeaks {
        StepPeaks { run, ..StepPeaks::default() }
    }

    /// The sum over all steps.
    #[inline]
    pub fn sum(self) -> i64 {
        self.earlier.saturating_add(self.current)
    }

    /// Starts a run of a step, unless it is the current one.
    #[inline]
    pub(super) fn begin(&mut self, run: u32) {
        if self.run != run {
            *self = StepPeaks { run, current: 0, earlier: self.sum(), ..*self };
        }
    }

    /// Adds a peak of the same step.
    #[inline]
    pub(super) fn record(&mut self, peak: i64) {
        self.current = self.current.max(peak);
        self.highest = self.highest.max(peak);
    }

    /// Lowers the peaks of a part of a step to their excess over those of the earlier parts.
    pub(super) fn beyond(&mut self, highest_before: i64) {
        self.current = (self.current - highest_before).max(0);
    }

    /// Adds other steps.
    pub(super) fn add(&mut self, other: StepPeaks) {
        self.earlier = self.earlier.saturating_add(other.sum());
        self.highest = self.highest.max(other.highest);
    }
}
