//! Statistics over many measurements: means, performance profiles and speed-ups.

use std::collections::BTreeMap;

use crate::record::{Entry, Run};

/// Largest factor over the best time that counts for the order of [`performance_profiles`].
const WORST_FACTOR: f64 = 10.0;

/// Returns the geometric mean of positive numbers; `None` without numbers.
pub fn geometric_mean(numbers: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for number in numbers {
        sum += number.ln();
        count += 1;
    }
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

/// Returns the first quartile, the median and the third quartile; `None` without numbers. O(n log n).
pub fn quartiles(numbers: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (last, middle, quarter) = (sorted.len().checked_sub(1)?, sorted.len() / 2, sorted.len() / 4);
    Some([sorted[quarter], (sorted[last - middle] + sorted[middle]) / 2.0, sorted[last - quarter]])
}

/// Returns 2 nonzeros over the run's time, in 10^9 per second; `None` for a run without a result.
pub fn gflops(entry: &Entry, run: &Run) -> Option<f64> {
    Some(2.0 * entry.nonzeros as f64 / run.seconds()? / 1e9)
}

/// Returns the floating-point operations per byte that must be moved; `None` if the bytes are unknown.
pub fn intensity(entry: &Entry, run: &Run) -> Option<f64> {
    run.bytes_needed.filter(|&bytes| bytes > 0).map(|bytes| 2.0 * entry.nonzeros as f64 / bytes as f64)
}

/// How often a format or peer is within a factor of the best of all (Anzt et al. 2020, eq. 8).
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name in [`Entry::spmv`].
    pub name: String,
    /// The ratios of its time to the best, ascending, for the entries where it has a result.
    factors: Vec<f64>,
    /// The number of entries with any result.
    entries: usize,
}

impl Profile {
    /// Returns the fraction of the entries on which it is within `factor` of the best. O(log entries).
    pub fn within(&self, factor: f64) -> f64 {
        self.factors.partition_point(|&own| own <= factor) as f64 / self.entries as f64
    }

    /// Returns the factors at which [`within`](Self::within) increases, ascending.
    pub fn steps(&self) -> impl Iterator<Item = f64> {
        self.factors.iter().copied()
    }

    /// Returns the largest factor.
    pub fn worst(&self) -> f64 {
        self.factors.last().copied().unwrap_or(1.0)
    }

    /// Returns the mean of [`within`](Self::within) over the logarithm of the factors from 1 to [`WORST_FACTOR`].
    fn area(&self) -> f64 {
        let kept = self.factors.iter().map(|factor| 1.0 - (factor.ln() / WORST_FACTOR.ln()).min(1.0));
        kept.sum::<f64>() / self.entries as f64
    }
}

/// Returns the profiles of all formats and peers with a result, the closest to the best first.
pub fn performance_profiles(entries: &[Entry]) -> Vec<Profile> {
    let mut factors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut counted = 0;
    for entry in entries {
        let Some((_, best)) = entry.fastest(|_, _| true) else { continue };
        counted += 1;
        for (name, run) in &entry.spmv {
            if let Some(seconds) = run.seconds() {
                factors.entry(name).or_default().push(seconds / best);
            }
        }
    }
    let profiles = factors.into_iter().map(|(name, mut factors)| {
        factors.sort_by(f64::total_cmp);
        Profile { name: name.into(), factors, entries: counted }
    });
    let mut profiles: Vec<_> = profiles.collect();
    profiles.sort_by(|left, right| right.area().total_cmp(&left.area()));
    profiles
}

/// Speed-ups of one side over the other, entry by entry.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedUps {
    /// The indices of the entries where both sides have a result, and the ratios of the other side's times to ours.
    pub ratios: Vec<(usize, f64)>,
    /// The number of entries where only the other side has a result.
    pub unanswered: usize,
}

impl SpeedUps {
    /// Returns the geometric mean.
    pub fn mean(&self) -> Option<f64> {
        geometric_mean(self.ratios.iter().map(|&(_, ratio)| ratio))
    }

    /// Returns the entry's index and the speed-up where ours is worst.
    pub fn worst(&self) -> Option<(usize, f64)> {
        self.ratios.iter().copied().min_by(|(_, left), (_, right)| left.total_cmp(right))
    }

    /// Returns the entry's index and the speed-up where ours is best.
    pub fn best(&self) -> Option<(usize, f64)> {
        self.ratios.iter().copied().max_by(|(_, left), (_, right)| left.total_cmp(right))
    }
}

/// Returns the speed-ups of the fastest run accepted by `ours` over the fastest accepted by `theirs`.
pub fn speed_ups(
    entries: &[Entry],
    ours: impl Fn(&str, &Run) -> bool,
    theirs: impl Fn(&str, &Run) -> bool,
) -> SpeedUps {
    let mut speed_ups = SpeedUps { ratios: Vec::new(), unanswered: 0 };
    for (place, entry) in entries.iter().enumerate() {
        match (entry.fastest(&ours), entry.fastest(&theirs)) {
            (Some((_, own)), Some((_, other))) => speed_ups.ratios.push((place, other / own)),
            (None, Some(_)) => speed_ups.unanswered += 1,
            (_, None) => {}
        }
    }
    speed_ups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry with these names and times; a time of 0 means a failure.
    fn entry(times: &[(&str, f64)]) -> Entry {
        let run = |seconds: f64| match seconds {
            0.0 => Run { error: Some("no".into()), ..Run::default() },
            _ => Run { completed: true, time: Some(seconds), ..Run::default() },
        };
        let spmv = times.iter().map(|&(name, seconds)| (name.to_owned(), run(seconds))).collect();
        Entry { nonzeros: 1_000, spmv, ..Entry::default() }
    }

    #[test]
    fn means_are_geometric() {
        assert_eq!(geometric_mean([]), None);
        assert!((geometric_mean([0.5, 8.0]).unwrap() - 2.0).abs() < 1e-15);
        // Without overflow or underflow of intermediate results.
        assert!((geometric_mean([1e300, 1e300, 1e-300, 1e-300]).unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn medians_and_quartiles() {
        assert_eq!(quartiles(&[]), None);
        assert_eq!(quartiles(&[3.0]), Some([3.0; 3]));
        assert_eq!(quartiles(&[5.0, 1.0, 3.0]), Some([1.0, 3.0, 5.0]));
        assert_eq!(quartiles(&[4.0, 1.0, 8.0, 3.0]), Some([3.0, 3.5, 4.0]));
        assert_eq!(quartiles(&[9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]), Some([3.0, 5.0, 7.0]));
    }

    #[test]
    fn a_failed_run_is_within_no_factor() {
        let entries =
            [entry(&[("a", 1.0), ("b", 2.0)]), entry(&[("a", 0.0), ("b", 1.0)]), entry(&[("a", 1.0), ("b", 3.0)])];
        let profiles = performance_profiles(&entries);
        let within = |name: &str| {
            let profile = profiles.iter().find(|profile| profile.name == name).unwrap();
            [1.0, 1.99, 2.0, 3.0, 1e9].map(|factor| (profile.within(factor) * 3.0).round())
        };
        assert_eq!(within("a"), [2.0, 2.0, 2.0, 2.0, 2.0]);
        assert_eq!(within("b"), [1.0, 1.0, 2.0, 3.0, 3.0]);
        // An entry without any result is ignored.
        let with_nothing = [&entries[..], &[entry(&[("a", 0.0)])]].concat();
        assert_eq!(performance_profiles(&with_nothing), profiles);
        assert_eq!(performance_profiles(&[]), []);
    }

    #[test]
    fn the_profile_nearest_to_the_best_is_first() {
        let entries = [entry(&[("a", 4.0), ("b", 1.0), ("c", 1.5)]), entry(&[("a", 1.0), ("b", 50.0), ("c", 1.5)])];
        let names: Vec<_> = performance_profiles(&entries).into_iter().map(|profile| profile.name).collect();
        assert_eq!(names, ["c", "a", "b"]);
    }

    #[test]
    fn speed_ups_are_of_the_fastest_of_each_side() {
        let entries = [
            entry(&[("a", 1.0), ("b", 2.0), ("peer", 4.0)]),
            entry(&[("a", 3.0), ("b", 2.0), ("peer", 1.0)]),
            entry(&[("a", 0.0), ("b", 0.0), ("peer", 1.0)]),
            entry(&[("a", 1.0), ("peer", 0.0)]),
        ];
        let found = speed_ups(&entries, |name, _| name != "peer", |name, _| name == "peer");
        assert_eq!(found, SpeedUps { ratios: vec![(0, 4.0), (1, 0.5)], unanswered: 1 });
        assert_eq!((found.worst(), found.best()), (Some((1, 0.5)), Some((0, 4.0))));
        assert!((found.mean().unwrap() - 2f64.sqrt()).abs() < 1e-15);
        assert_eq!(speed_ups(&[], |_, _| true, |_, _| true).mean(), None);
    }

    #[test]
    fn rates_need_a_result() {
        let entry = entry(&[("a", 1e-6), ("b", 0.0)]);
        assert_eq!(gflops(&entry, &entry.spmv["a"]), Some(2.0));
        assert_eq!(gflops(&entry, &entry.spmv["b"]), None);
        assert_eq!(intensity(&entry, &Run { bytes_needed: Some(8_000), ..Run::default() }), Some(0.25));
        assert_eq!(intensity(&entry, &Run { bytes_needed: Some(0), ..Run::default() }), None);
    }
}
