//! Trials: which formats are measured before one is chosen, and what follows from their times.

use super::{Candidate, Choice, Exclusion, Measure, Selection};
use crate::error::Error;
use crate::format::Format;

/// Maximum number of formats tried if the prediction is uncertain. With three, the best of them was within 5 % of the
/// fastest on 95 to 99 % of the suite `real` (docs/results/choice.md).
const MOST_TRIED: usize = 4;

/// Untimed multiplications before the timed ones of a measured format.
pub(crate) const WARM_UPS: usize = 2;

/// Timed multiplications per measured format. The minimum counts: formats are timed sequentially, and other work of the
/// machine only adds time.
pub(crate) const REPETITIONS: usize = 7;

/// Cost of trying a format besides its conversion, in multiplications: the timed ones, those before them, and two for a copy
/// of the matrix.
const TRIAL: f64 = (WARM_UPS + REPETITIONS + 2) as f64;

impl Choice {
    /// The formats to be measured, the most promising first, unless they were measured before.
    pub(crate) fn to_measure(&self, selection: &Selection) -> Vec<Format> {
        match selection.measure {
            Measure::Never => Vec::new(),
            Measure::WhereUnsure if selection.memory_budget.is_some() => Vec::new(),
            Measure::WhereUnsure => self.worth_trying(),
            Measure::Best(count) => {
                let best = self.possible().take(count);
                best.filter(|candidate| candidate.measured.is_none()).map(|candidate| candidate.format).collect()
            }
        }
    }

    /// The best candidate and its likely rivals, if trying all of them pays; otherwise none. Those of a kernel that has
    /// better candidates count for less, since predictions of one kernel are wrong together.
    fn worth_trying(&self) -> Vec<Format> {
        let multiplications = self.multiplications.map_or(f64::INFINITY, |count| count as f64);
        let mut possible = self.possible();
        let Some(best) = possible.next().filter(|best| best.measured.is_none()) else { return Vec::new() };
        // The best is converted in any case, and the matrix of the fastest trial is kept.
        let price = |candidate: &Candidate| match candidate.measured {
            Some(_) => candidate.convert,
            None if candidate.format == best.format => TRIAL * candidate.multiply,
            None => candidate.convert + TRIAL * candidate.multiply,
        };
        let profit = |rival: &Candidate| multiplications * best.gain(rival) - price(rival);
        // Of formats with bitwise equal predictions, such as HYB with all entries in the same part, one is enough.
        let prediction = |candidate: &Candidate| {
            (candidate.multiply.to_bits(), candidate.convert.to_bits(), candidate.traffic.stored)
        };
        // Each rival with its profit, divided by the square of the number of candidates of its kernel up to it.
        let mut rivals: Vec<(f64, &Candidate)> = Vec::new();
        for rival in possible.filter(|rival| profit(rival) > 0.0) {
            let before = || [best].into_iter().chain(rivals.iter().map(|&(_, other)| other));
            if before().all(|other| prediction(other) != prediction(rival)) {
                let alike = before().filter(|other| other.kernel == rival.kernel).count();
                rivals.push((profit(rival) / ((alike + 1) as f64).powi(2), rival));
            }
        }
        rivals.sort_by(|left, right| right.0.total_cmp(&left.0));
        rivals.truncate(MOST_TRIED - 1);
        if rivals.iter().map(|&(_, rival)| profit(rival)).sum::<f64>() <= price(best) {
            return Vec::new();
        }
        let all = [best].into_iter().chain(rivals.into_iter().map(|(_, rival)| rival));
        all.filter(|candidate| candidate.measured.is_none()).map(|candidate| candidate.format).collect()
    }

    /// Whether a candidate of another choice for the same matrix may be chosen instead, by prediction, trial or earlier
    /// measurement.
    pub(crate) fn may_prefer(&self, other: &Self) -> bool {
        let Some(best) = self.possible().next() else { return true };
        let Some(multiplications) = self.multiplications else { return true };
        other.possible().any(|rival| {
            let gain = multiplications.max(1) as f64 * best.gain(rival);
            rival.measured.is_some() || gain + best.convert > rival.convert
        })
    }

    /// Decides again with measurements; a format without a time failed. The matrix is already stored in `converted`.
    ///
    /// # Errors
    /// When no format can be chosen.
    pub(crate) fn take(
        &mut self,
        measured: &[(Format, Option<f64>)],
        converted: Option<Format>,
        selection: &Selection,
    ) -> Result<(), Error> {
        for candidate in &mut self.candidates {
            candidate.converted = converted == Some(candidate.format);
            match measured.iter().find(|(format, _)| *format == candidate.format) {
                Some((_, Some(seconds))) => candidate.measured = Some(*seconds),
                Some((_, None)) => candidate.excluded = Some(Exclusion::Failed),
                None => {}
            }
        }
        self.decide(selection)
    }
}

impl Candidate {
    /// The average saving per multiplication, in seconds, from knowing the times of this format and a rival.
    fn gain(&self, rival: &Self) -> f64 {
        let ratio = rival.multiply / self.multiply;
        self.multiply * expected_gain(ratio.ln(), self.error.hypot(rival.error))
    }
}

/// The average saving from knowing the times of two formats, relative to a multiplication, if the logarithm of the ratio of
/// their predictions is `ahead` and its error has this deviation. This is the deviation times the normal distribution's loss
/// function, which the exponential below approximates to within about 3 %, up to two deviations; zero beyond three.
fn expected_gain(ahead: f64, deviation: f64) -> f64 {
    if ahead > 3.0 * deviation {
        return 0.0;
    }
    let lead = (ahead / deviation).abs();
    let loss = (-0.919 - 1.24 * lead - 0.335 * lead * lead).exp();
    // A rival may be predicted to be faster, but not by enough for its conversion or for CSR's lead on a CPU.
    deviation * loss + (-ahead.exp_m1()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Traffic;

    /// Candidates with these kernels and predicted times in microseconds, and conversions that take 100 µs.
    fn choice(multiplications: u64, of: &[(Format, &'static str, f64)]) -> Choice {
        let traffic = Traffic { stored: 1 << 20, needed: 1 << 20, gathered: 0.0, far: 0.0, exact: true };
        let candidate = |&(format, kernel, micro): &(Format, &'static str, f64)| Candidate {
            format,
            narrow: None,
            traffic,
            kernel,
            multiply: micro * 1e-6,
            convert: 1e-4,
            error: 0.1,
            measured: None,
            converted: false,
            excluded: None,
        };
        Choice {
            format: of[0].0,
            candidates: of.iter().map(candidate).collect(),
            multiplications: Some(multiplications),
            calibration: String::new(),
            note: None,
            has_kernels: true,
        }
    }

    #[test]
    fn rivals_with_other_kernels_are_tried_before_variants() {
        let [best, same, also, other, third, slow] =
            ["cmrs", "cmrs-4", "cmrs-8", "csr-tiled", "sell-p", "ell"].map(|name| name.parse::<Format>().unwrap());
        let times = [
            (best, "cmrs", 10.0),
            (same, "cmrs", 10.1),
            (also, "cmrs", 10.2),
            (other, "csr-tiled", 10.5),
            (third, "sell-p", 11.0),
            (slow, "ell", 20.0),
        ];
        let tried = |count: u64, of: &[_]| choice(count, of).to_measure(&Selection::default());
        assert_eq!(tried(10_000, &times), [best, other, third, same]);
        // If nothing else is near, the same kernel is tried.
        assert_eq!(tried(10_000, &[times[0], times[1], times[2], times[5]]), [best, same, also]);
        // Nor is a format tried twice under two names, or at all if few multiplications are planned.
        let twice = (also, "cmrs", 10.1);
        assert_eq!(tried(10_000, &[times[0], times[1], twice, times[3]]), [best, other, same]);
        assert_eq!(tried(20, &times), []);
        // A variant comes before other kernels that are far behind, even if only it makes trials pay.
        let far = [times[0], times[1], (other, "csr-tiled", 14.5), (third, "sell-p", 14.6), (slow, "ell", 14.7)];
        assert_eq!(tried(15_000, &far)[..2], [best, same]);
    }

    #[test]
    fn what_trying_saves_falls_with_the_distance() {
        // For two with equal predictions, half the mean of the larger half of a normal distribution.
        assert!((expected_gain(0.0, 0.1) - 0.0399).abs() < 1e-3);
        let gains = [-0.2, -0.1, 0.0, 0.1, 0.2, 0.5].map(|ahead| expected_gain(ahead, 0.1));
        assert!(gains.is_sorted_by(|left, right| left > right), "{gains:?}");
        assert!(gains[0] > 0.18 && gains[0] < 0.2 && gains[5] < 1e-6, "{gains:?}");
        assert!(expected_gain(0.1, 0.2) > expected_gain(0.1, 0.1));
    }
}
