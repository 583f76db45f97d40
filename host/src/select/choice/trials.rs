//! Trials: which formats are measured before one is chosen, and what follows from their times.

use super::{Candidate, Choice, Exclusion, Measure, Selection, per_multiplication};
use crate::error::Error;
use crate::format::Format;

/// Maximum number of formats tried. With eight, the best of them was within 5 % of the fastest on 97 to 98 % of 240 recorded
/// cases, and with six on 95 to 97 % (docs/results/choice.md).
const MOST_TRIED: usize = 8;

/// Number of rivals whose likely gains together must exceed the cost of measuring the best.
const RIVALS: usize = 3;

/// Part of all multiplications that measuring the best may cost in any case: a prediction can be wrong by far more than its
/// likely error, and only its own time reveals that.
const INSURANCE: f64 = 0.01;

/// Correlation of the errors of predictions for one matrix. It was 0.41 and 0.36 in two suites (docs/results/choice.md).
const CORRELATION: f64 = 0.4;

/// Untimed multiplications before the timed ones of a measured format.
pub(crate) const WARM_UPS: usize = 2;

/// Timed multiplications per measured format. The minimum counts: formats are timed sequentially, and other work of the
/// machine only adds time.
pub(crate) const REPETITIONS: usize = 7;

/// Cost of trying a format besides its conversion, in multiplications: the timed ones, those before them, and two for a copy
/// of the matrix. On a CPU, the fastest format so far takes turns.
const TRIAL: f64 = (WARM_UPS + REPETITIONS + 2) as f64;
const TRIAL_ON_CPU: f64 = TRIAL + (WARM_UPS + REPETITIONS) as f64;

/// What a trial takes on a GPU in addition, in seconds: a plan, its arrays, waits for the device, and what is copied ahead of
/// the multiplications (docs/results/choice.md).
const TRIAL_ON_GPU: f64 = 4.5e-4;

/// A format that was tried, and the time of a multiplication in seconds, unless it failed.
pub type Trial = (Format, Option<f64>);

impl Choice {
    /// The next format to be measured, after these.
    pub(crate) fn next_trial(&self, tried: &[Trial], selection: &Selection) -> Option<Format> {
        let next = match selection.measure {
            Measure::Never => None,
            Measure::WhereUnsure if selection.memory_budget.is_some() => None,
            Measure::WhereUnsure => match tried {
                [] => self.first_worth_trying(),
                // Without a time of the best, those of its rivals are meaningless.
                [(_, None), ..] => None,
                _ => self.next_worth_trying(tried),
            },
            Measure::Best(count) => {
                let is_new = |candidate: &&Candidate| candidate.measured.is_none() && !has(tried, candidate.format);
                self.possible().take(count).find(is_new)
            }
        };
        next.map(|candidate| candidate.format)
    }

    /// The best candidate, if it was not measured before, and if that and trials of its rivals pay.
    fn first_worth_trying(&self) -> Option<&Candidate> {
        let mut possible = self.possible();
        let best = possible.next().filter(|best| best.measured.is_none())?;
        // The best is converted in any case, and the matrix of the fastest trial is kept.
        let price = self.trial(best.multiply);
        let profit = |rival: &Candidate| {
            let trial = if rival.measured.is_some() { 0.0 } else { self.trial(rival.multiply) };
            best.gain(rival) - (rival.share(self.multiplications) + trial)
        };
        let mut profits: Vec<_> = possible.map(profit).collect();
        profits.sort_by(|left, right| right.total_cmp(left));
        let likely: f64 = profits.iter().take(RIVALS).filter(|&&profit| profit > 0.0).sum();
        let pays = likely > price || !profits.is_empty() && price <= INSURANCE * best.multiply;
        pays.then_some(best)
    }

    /// The candidate whose trial is likely to save most, if any saves more than it costs.
    fn next_worth_trying(&self, tried: &[Trial]) -> Option<&Candidate> {
        if tried.len() >= MOST_TRIED {
            return None;
        }
        let seconds = |format| tried.iter().find(|(other, _)| *other == format).and_then(|&(_, seconds)| seconds);
        // The fastest of these is stored.
        let mut least = tried.iter().filter_map(|&(_, seconds)| seconds).fold(f64::INFINITY, f64::min);
        let mut shared = Shared::default();
        for candidate in self.possible() {
            let Some(seconds) = candidate.measured.or_else(|| seconds(candidate.format)) else { continue };
            least = least.min(seconds + candidate.share(self.multiplications));
            shared.add((seconds / candidate.multiply).ln() / candidate.error);
        }
        let profit = |candidate: &Candidate| {
            let (predicted, deviation) = shared.prediction(candidate);
            let price = candidate.share(self.multiplications) + self.trial(predicted);
            least * expected_gain((predicted / least).ln(), deviation) - price
        };
        // Of formats with bitwise equal predictions, such as ELL and HYB with all entries in its ELL part, one is enough.
        let alike = |left: &Candidate, right: &Candidate| {
            (left.multiply, left.traffic.stored) == (right.multiply, right.traffic.stored)
        };
        let is_new = |candidate: &&Candidate| {
            let before = |other: &Candidate| other.measured.is_some() || has(tried, other.format);
            !self.possible().any(|other| before(other) && alike(other, candidate))
        };
        let with_profits = self.possible().filter(is_new).map(|candidate| (profit(candidate), candidate));
        let most = with_profits.max_by(|left, right| left.0.total_cmp(&right.0));
        most.filter(|&(profit, _)| profit > 0.0).map(|(_, candidate)| candidate)
    }

    /// The cost of a trial in seconds, without the conversion, if a multiplication takes this long.
    #[doc(hidden)]
    pub fn trial_seconds(&self, multiply: f64) -> f64 {
        if self.has_kernels { TRIAL * multiply + TRIAL_ON_GPU } else { TRIAL_ON_CPU * multiply }
    }

    /// The same per planned multiplication.
    fn trial(&self, multiply: f64) -> f64 {
        per_multiplication(self.trial_seconds(multiply), self.multiplications)
    }

    /// Decides as [`Plan::automatic`](crate::Plan::automatic) does, if its trials give these times. Returns what is tried.
    ///
    /// # Errors
    /// When no format can be chosen.
    #[doc(hidden)]
    pub fn try_with(
        &mut self,
        seconds: impl Fn(Format) -> Option<f64>,
        selection: &Selection,
    ) -> Result<Vec<Trial>, Error> {
        let mut tried = Vec::new();
        while let Some(format) = self.next_trial(&tried, selection) {
            tried.push((format, seconds(format)));
        }
        let lead = self.lead();
        let fastest = tried.iter().filter_map(|&(format, seconds)| Some((format, seconds? * lead(format, true))));
        let fastest = fastest.min_by(|left, right| left.1.total_cmp(&right.1));
        self.take(&tried, fastest.map(|(format, _)| format), selection)?;
        Ok(tried)
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
        measured: &[Trial],
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

/// Whether the format was tried.
fn has(tried: &[Trial], format: Format) -> bool {
    tried.iter().any(|&(other, _)| other == format)
}

/// What the times of some formats reveal about the predictions for others: the part of the errors that all have in common,
/// as a normal distribution, after the errors of those measured.
#[derive(Clone, Copy, Default)]
struct Shared {
    /// Number of formats measured.
    count: f64,
    /// The logarithms of their measured times over the predicted ones, each in units of its likely error, added up.
    sum: f64,
}

impl Shared {
    fn add(&mut self, error: f64) {
        self.count += 1.0;
        self.sum += error;
    }

    /// The likely time of another format in seconds, and the deviation of its logarithm.
    fn prediction(self, candidate: &Candidate) -> (f64, f64) {
        let own = 1.0 - CORRELATION;
        let precision = 1.0 + self.count * CORRELATION / own;
        let mean = CORRELATION / own * self.sum / precision;
        let deviation = candidate.error * (CORRELATION / precision + own).sqrt();
        (candidate.multiply * (candidate.error * mean).exp(), deviation)
    }
}

impl Candidate {
    /// The average saving per multiplication, in seconds, from knowing the times of this format and a rival.
    fn gain(&self, rival: &Self) -> f64 {
        let ratio = rival.multiply / self.multiply;
        let common = 2.0 * CORRELATION * self.error * rival.error;
        let deviation = (self.error.powi(2) + rival.error.powi(2) - common).sqrt();
        self.multiply * expected_gain(ratio.ln(), deviation)
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
    // A rival may be predicted to be faster, without its conversion or CSR's lead on a CPU.
    deviation * loss + (-ahead.exp_m1()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Traffic;

    /// Candidates with these predicted times in microseconds, and conversions that take 100 µs.
    fn choice(multiplications: u64, of: &[(Format, f64)]) -> Choice {
        let traffic = Traffic { stored: 1 << 20, needed: 1 << 20, gathered: 0.0, far: 0.0, exact: true };
        let candidate = |&(format, micro): &(Format, f64)| Candidate {
            format,
            narrow: None,
            traffic,
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

    /// The formats tried for this number of multiplications, if each takes `slower` times its prediction.
    fn tried(multiplications: u64, of: &[(Format, f64)], slower: impl Fn(Format) -> f64) -> Vec<Format> {
        tried_of(&choice(multiplications, of), slower)
    }

    fn tried_of(choice: &Choice, slower: impl Fn(Format) -> f64) -> Vec<Format> {
        let mut tried = Vec::new();
        while let Some(format) = choice.next_trial(&tried, &Selection::default()) {
            let candidate = choice.candidates.iter().find(|candidate| candidate.format == format).unwrap();
            tried.push((format, Some(candidate.multiply * slower(format))));
        }
        tried.into_iter().map(|(format, _)| format).collect()
    }

    #[test]
    fn trials_end_when_no_rival_is_likely_to_be_faster() {
        let [best, near, far, slow] =
            ["cmrs", "csr-tiled", "sell-p", "ell"].map(|name| name.parse::<Format>().unwrap());
        let times = [(best, 10.0), (near, 10.5), (far, 11.5), (slow, 20.0)];
        assert_eq!(tried(10_000, &times, |_| 1.0), [best, near]);
        // If these take longer than predicted, another may well be faster; only partly will it take longer, too.
        assert_eq!(tried(10_000, &times, |format| if format == best { 1.3 } else { 1.0 }), [best, near]);
        assert_eq!(tried(10_000, &times, |_| 1.3), [best, near, far]);
        // But one that is far behind is not faster if all predictions are wrong together.
        assert_eq!(tried(10_000, &times, |_| 2.5), [best, near, far]);
        // If few multiplications are planned, none is tried.
        assert_eq!(tried(20, &times, |_| 1.0), []);
        // Nor is one tried twice under two names.
        let twice = [times[0], ("cmrs-8".parse().unwrap(), 10.0), times[1]];
        assert_eq!(tried(10_000, &twice, |_| 1.0), [best, near]);
        let mut with_two_conversions = choice(10_000, &twice);
        with_two_conversions.candidates[1].convert *= 2.0;
        assert_eq!(tried_of(&with_two_conversions, |_| 1.0), [best, near]);
    }

    #[test]
    fn the_best_is_measured_where_that_costs_next_to_nothing() {
        let [best, other] = ["cmrs", "ell"].map(|name| name.parse::<Format>().unwrap());
        let times = [(best, 10.0), (other, 20.0)];
        assert_eq!(tried(1_000, &times, |_| 1.0), []);
        assert_eq!(tried(10_000, &times, |_| 1.0), [best]);
        assert_eq!(tried(10_000, &times, |format| if format == best { 3.0 } else { 1.0 }), [best, other]);
        assert_eq!(tried(10_000, &times[..1], |_| 1.0), []);
        // Without its time, the others' are meaningless.
        let choice = choice(10_000, &times);
        assert_eq!(choice.next_trial(&[(best, None)], &Selection::default()), None);
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
