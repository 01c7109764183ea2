//! Does a change stand out from the noise? A rank interval for each row, and one decision over all rows.
//!
//! A row has one number per step on each side. Its shift is the Hodges–Lehmann estimate of the difference of logarithms: the
//! median of all differences between a step after and a step before. The interval is that of Mann and Whitney's rank test.
//! Ranks, since times have rare, very slow outliers: they move a mean, and hardly a rank; where there are none, little is lost.
//! No random numbers are drawn, so equal inputs have equal answers.
//!
//! Two runs of one program differ by more than their steps do: another layout of memory, another clock rate. Rows have
//! that in common, so it can be seen: the median of their shifts is taken off, and their errors are widened until most rows
//! agree ([`Calibration`]). A row must stand out from no change, too. Of the rows that do, Benjamini and Hochberg's procedure keeps false ones below 5 %.

/// The least number of steps on each side for an interval.
pub const FEWEST_STEPS: usize = 5;
/// The maximum number of steps examined per side, evenly spread: more would cost more and tell little.
pub const MOST_STEPS: usize = 32;
/// The share of false rows among those that are reported.
const FALSE_SHARE: f64 = 0.05;
/// The quantile of 95 % intervals.
const Z: f64 = 1.959_964;
/// From this share of a number on, its resolution says more than its steps.
const COARSE: f64 = 0.03;
/// A calibration needs this many rows.
const FEWEST_ROWS: usize = 12;

/// The log ratio of the numbers after to those before, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    pub log: f64,
    pub error: f64,
    /// The degrees of freedom of the error.
    pub freedom: f64,
    /// The numbers are hardly larger than their resolution, so most of the error is rounding.
    pub is_coarse: bool,
}

/// Room for the numbers of a row, kept from one row to the next.
#[derive(Debug, Default)]
pub struct Room {
    pub before: Vec<f64>,
    pub after: Vec<f64>,
    differences: Vec<f64>,
}

impl Room {
    /// The shift of positive numbers, at least [`FEWEST_STEPS`] on each side; the numbers are used up. `resolution` is the
    /// uncertainty of a single number, which no repetition removes: times in whole microseconds are no more precise than
    /// that.
    pub fn shift(&mut self, resolution: f64) -> Option<Shift> {
        let Room { before: old, after: new, differences } = self;
        let usable = |side: &[f64]| side.len() >= FEWEST_STEPS && side.iter().all(|x| *x >= 0.0);
        if !usable(old) || !usable(new) {
            return None;
        }
        for x in old.iter_mut().chain(new.iter_mut()) {
            *x = x.max(resolution).max(f64::MIN_POSITIVE).ln();
        }
        differences.clear();
        differences.extend(new.iter().flat_map(|y| old.iter().map(move |x| y - x)));
        let (m, n) = (old.len() as f64, new.len() as f64);
        let rank = (m * n / 2.0 - Z * (m * n * (m + n + 1.0) / 12.0).sqrt()).floor().max(0.0) as usize;
        // Three places are needed, so nothing is sorted: there may be a thousand differences.
        // With the fewest steps, the rank is 3 of 25: always far below the half.
        let count = differences.len();
        let (below, high, _) = differences.select_nth_unstable_by(count - 1 - rank, f64::total_cmp);
        let (below, upper, _) = below.select_nth_unstable_by(count / 2, f64::total_cmp);
        let lower = if count % 2 == 1 { *upper } else { below.iter().copied().fold(f64::NEG_INFINITY, f64::max) };
        let (high, log) = (*high, f64::midpoint(lower, *upper));
        let low = *below.select_nth_unstable_by(rank, f64::total_cmp).1;
        let smallest = old.iter().chain(new.iter()).copied().fold(f64::INFINITY, f64::min);
        let coarse = resolution / smallest.exp();
        let error = ((high - low) / (2.0 * Z)).hypot(coarse);
        Some(Shift { log, error, freedom: m + n - 2.0, is_coarse: coarse > COARSE })
    }
}

impl Shift {
    /// The change that the interval allows, as factors.
    pub fn interval(&self, spread: f64) -> (f64, f64) {
        let half = Z * self.error * spread;
        ((self.log - half).exp(), (self.log + half).exp())
    }

    /// The distance from `center`, in standard deviations.
    fn score(&self, center: f64, spread: f64) -> f64 {
        let distance = self.log - center;
        if distance == 0.0 {
            return 0.0;
        }
        let error = self.error * spread;
        if error <= 0.0 {
            return f64::INFINITY.copysign(distance);
        }
        // Wallace's approximation of Student's distribution by the normal one.
        let (t, df) = (distance / error, self.freedom.max(1.0));
        let z = (8.0 * df + 1.0) / (8.0 * df + 3.0) * (df * (t * t / df).ln_1p()).sqrt();
        z.copysign(distance)
    }
}

/// The shift and the error that all rows share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// The shift of the median row, as a logarithm.
    pub center: f64,
    /// The factor by which errors are widened.
    pub spread: f64,
}

impl Calibration {
    pub const NONE: Calibration = Calibration { center: 0.0, spread: 1.0 };

    /// From rows of which none contains another. Of few rows, nothing is concluded.
    pub fn new(shifts: &[Shift]) -> Calibration {
        let shifts: Vec<&Shift> = shifts.iter().filter(|shift| !shift.is_coarse).collect();
        if shifts.len() < FEWEST_ROWS {
            return Calibration::NONE;
        }
        let mut found = Calibration::NONE;
        // Rows that have changed would widen it: leave out those beyond three errors, and look again.
        for _ in 0..3 {
            let usual =
                |shift: &&&Shift| found == Calibration::NONE || shift.score(found.center, found.spread).abs() < 3.0;
            let usual: Vec<&Shift> = shifts.iter().filter(usual).copied().collect();
            let center = median(usual.iter().map(|shift| shift.log).collect());
            let scores = usual.iter().map(|shift| shift.score(center, 1.0).abs()).filter(|score| score.is_finite());
            // Half of all normal scores are within 0.6745; the estimate itself has an error, which is not a reason to widen.
            let spread = median(scores.collect()) / 0.674_5 - 1.17 / (usual.len() as f64).sqrt();
            found = Calibration { center, spread: if spread.is_finite() { spread.max(1.0) } else { 1.0 } };
        }
        found
    }
}

/// Which rows stand out: one decision over all of them.
pub fn stand_out(shifts: &[Option<Shift>], calibration: Calibration) -> Vec<bool> {
    let probability = |shift: &Shift| {
        let Calibration { center, spread } = calibration;
        // The nearer of no change and the common shift; a row between them does not stand out.
        let (zero, common) = (shift.score(0.0, spread), shift.score(center, spread));
        two_sided(if zero * common > 0.0 { zero.abs().min(common.abs()) } else { 0.0 })
    };
    let mut order: Vec<(f64, usize)> =
        shifts.iter().enumerate().filter_map(|(i, shift)| Some((probability(shift.as_ref()?), i))).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let all = order.len() as f64;
    let holds = |(rank, (p, _)): &(usize, &(f64, usize))| *p <= FALSE_SHARE * (rank + 1) as f64 / all;
    let kept = order.iter().enumerate().filter(holds).map(|(rank, _)| rank + 1).max().unwrap_or(0);
    let mut found = vec![false; shifts.len()];
    order[..kept].iter().for_each(|(_, i)| found[*i] = true);
    found
}

/// Whether a single row, such as the whole step, has changed, whatever others do.
pub fn has_changed(shift: &Shift, spread: f64) -> bool {
    two_sided(shift.score(0.0, spread)) <= FALSE_SHARE
}

/// The number of leading steps that are slower than the rest: those above all but the outliers of the second half.
pub fn warm_up(times: &[f64]) -> usize {
    let half = times.len() / 2;
    if half < 2 {
        return 0;
    }
    let settled = &times[half..];
    let middle = median(settled.to_vec());
    let deviation = 1.4826 * median(settled.iter().map(|time| (time - middle).abs()).collect());
    let limit = (middle + 5.0 * deviation).max(1.25 * middle);
    times[..half].iter().take_while(|time| **time > limit).count()
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&numbers)
}

fn median_of_sorted(numbers: &[f64]) -> f64 {
    match numbers.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => numbers[n / 2],
        n => f64::midpoint(numbers[n / 2 - 1], numbers[n / 2]),
    }
}

/// The probability of a normal number at least this far from 0.
fn two_sided(z: f64) -> f64 {
    // The complementary error function by a Chebyshev fit, to seven digits at any distance.
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let x = z.abs() / std::f64::consts::SQRT_2;
    if !x.is_finite() {
        return 0.0;
    }
    let t = 1.0 / (1.0 + 0.5 * x);
    let sum = FIT.iter().rev().fold(0.0, |sum, c| sum * t + c);
    (t * (sum - x * x).exp()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of random numbers, the same in every run.
    struct Random(u64);

    impl Random {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }

        /// A time around `mean` with a spread of 5 %; one in 50 steps is up to twice as slow.
        fn time(&mut self, mean: f64) -> f64 {
            let slow = if self.uniform() < 0.02 { 1.0 + self.uniform() } else { 1.0 };
            mean * (0.05 * self.normal()).exp() * slow
        }
    }

    fn shift(before: &[f64], after: &[f64], resolution: f64) -> Option<Shift> {
        Room { before: before.to_vec(), after: after.to_vec(), ..Room::default() }.shift(resolution)
    }

    /// The share of unchanged and of changed rows that are reported, over pairs of runs with 40 rows, 4 of them changed.
    fn rates(random: &mut Random, pairs: usize, steps: usize, effect: f64, run_to_run: f64) -> (f64, f64) {
        const ROWS: usize = 40;
        let (mut wrong, mut right) = (0, 0);
        for _ in 0..pairs {
            let common = 1.0 + 2.0 * run_to_run * random.normal();
            let mut shifts = Vec::new();
            for row in 0..ROWS {
                let mean = 100.0 * (1 + row) as f64;
                let factor =
                    common * (run_to_run * random.normal()).exp() * if row % 10 == 3 { 1.0 + effect } else { 1.0 };
                let before: Vec<f64> = (0..steps).map(|_| random.time(mean)).collect();
                let after: Vec<f64> = (0..steps).map(|_| random.time(mean * factor)).collect();
                shifts.push(shift(&before, &after, 0.3));
            }
            let calibration = Calibration::new(&shifts.iter().flatten().copied().collect::<Vec<_>>());
            for (row, found) in stand_out(&shifts, calibration).into_iter().enumerate() {
                *(if row % 10 == 3 { &mut right } else { &mut wrong }) += usize::from(found);
            }
        }
        (wrong as f64 / (pairs * ROWS * 9 / 10) as f64, right as f64 / (pairs * ROWS / 10) as f64)
    }

    /// The figures of docs/compare.md: 1,000 pairs of 20 steps, and the same with runs that differ by 2 % in each row.
    #[test]
    fn changes_are_found_and_noise_is_not() {
        let mut random = Random(7);
        let check = |(wrong, right): (f64, f64), most_wrong: f64, least_right: f64| {
            assert!(wrong <= most_wrong && right >= least_right, "{wrong:.4} {right:.4}");
        };
        check(rates(&mut random, 250, 20, 0.0, 0.0), 0.01, 0.0);
        check(rates(&mut random, 250, 20, 0.02, 0.0), 0.02, 0.0);
        check(rates(&mut random, 250, 20, 0.05, 0.0), 0.02, 0.2);
        check(rates(&mut random, 250, 20, 0.10, 0.0), 0.02, 0.9);
        check(rates(&mut random, 100, 20, 0.0, 0.02), 0.02, 0.0);
        check(rates(&mut random, 100, 5, 0.0, 0.0), 0.02, 0.0);
    }

    #[test]
    #[ignore = "prints the table of docs/compare.md"]
    #[expect(clippy::print_stdout, reason = "the table is its purpose")]
    fn table() {
        let mut random = Random(11);
        for (steps, run_to_run) in [(5, 0.0), (10, 0.0), (20, 0.0), (32, 0.0), (20, 0.02)] {
            for effect in [0.0, 0.02, 0.05, 0.10] {
                let (wrong, right) = rates(&mut random, 250, steps, effect, run_to_run);
                println!("{steps:2} steps, {run_to_run}: effect {effect}: wrong {wrong:.4}, found {right:.3}");
            }
        }
    }

    #[test]
    fn few_steps_say_nothing_and_equal_numbers_are_equal() {
        assert_eq!(shift(&[1.0; 4], &[1.0; 9], 0.0), None);
        let same = shift(&[8.0; 5], &[8.0; 5], 0.0).unwrap();
        assert_eq!((same.log, same.error), (0.0, 0.0));
        let other = shift(&[8.0; 5], &[9.0; 5], 0.0);
        assert_eq!(stand_out(&[Some(same), other, None], Calibration::NONE), [false, true, false]);
        // Whole microseconds: 2 against 3 is one tick.
        let coarse = shift(&[2.0; 5], &[3.0; 5], 0.5);
        assert_eq!(stand_out(&[coarse], Calibration::NONE), [false]);
    }

    #[test]
    fn places_are_those_of_the_sorted_differences() {
        let mut random = Random(3);
        for (m, n) in [(5, 5), (5, 6), (6, 6), (7, 32), (32, 32)] {
            let [before, after] = [m, n].map(|steps| (0..steps).map(|_| random.time(100.0)).collect::<Vec<f64>>());
            let mut sorted: Vec<f64> = after.iter().flat_map(|y| before.iter().map(|x| y.ln() - x.ln())).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let count = f64::from(m * n);
            let rank = (count / 2.0 - Z * (count * f64::from(m + n + 1) / 12.0).sqrt()) as usize;
            let error = (sorted[sorted.len() - 1 - rank] - sorted[rank]) / (2.0 * Z);
            let found = shift(&before, &after, 0.0).unwrap();
            assert_eq!((found.log, found.error), (median_of_sorted(&sorted), error), "{m} {n}");
        }
    }

    #[test]
    fn the_first_steps_are_warm_up_if_they_are_slow() {
        assert_eq!(warm_up(&[90.0, 30.0, 10.0, 11.0, 10.0, 10.5, 9.9, 10.1]), 2);
        assert_eq!(warm_up(&[10.4, 10.0, 10.2, 9.9, 10.1, 10.0]), 0);
        assert_eq!(warm_up(&[50.0, 1.0, 1.0]), 0, "too few to tell");
        assert_eq!(warm_up(&[]), 0);
    }

    #[test]
    fn tails_are_those_of_the_normal_distribution() {
        assert!((two_sided(1.959_964) - 0.05).abs() < 1e-6);
        assert!((two_sided(0.0) - 1.0).abs() < 1e-6);
        assert!((two_sided(6.0) / 1.973e-9 - 1.0).abs() < 1e-3);
    }
}
