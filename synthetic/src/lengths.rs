//! Row lengths with a given total, by rank.

/// The spread of the lengths about their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spread {
    /// All the same, except for rounding.
    Even,
    /// From a shortest to a longest length with a standard deviation: many near a middle length, and a power of the
    /// rank towards both ends.
    Bounded {
        /// No row is shorter.
        shortest: f64,
        /// Few rows are longer, and those by one.
        longest: f64,
        /// The standard deviation, met as nearly as possible between these.
        deviation: f64,
    },
    /// A long tail from a longest length down to a shortest, as a power of the rank that gives the standard deviation.
    Tail {
        /// No row is shorter.
        shortest: u32,
        /// No row is much longer.
        longest: u32,
        /// The standard deviation.
        deviation: f64,
    },
    /// Rank to the power −β, 0 ≤ β < 1: a tail without bounds.
    Skew(f64),
}

/// The lengths of `rows` rows, in O(1) each. They add up to the total exactly: the length of a row is the increase of
/// the spread's integral over its rank, rounded down at each end. The integrals use the platform's `powf`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    rows: u64,
    /// The part of the length that all rows have.
    shortest: u64,
    /// The total of the remaining lengths, and their spread.
    rest: u64,
    curve: Curve,
}

/// The length beyond the shortest, at rank x · rows.
#[derive(Clone, Copy, Debug)]
enum Curve {
    Even,
    /// In proportion to x^(exponent − 1).
    Power {
        exponent: f64,
    },
    Bounded(TwoSided),
    /// In proportion to (1 + steepness · x)^−exponent.
    Tail {
        steepness: f64,
        exponent: f64,
    },
}

/// The length middle + above · x^power − below · (1 − x)^power.
#[derive(Clone, Copy, Debug)]
struct TwoSided {
    middle: f64,
    above: f64,
    below: f64,
    power: f64,
}

impl Lengths {
    /// Lengths with this total: even ones if the mean is not between the bounds.
    pub(crate) fn new(rows: usize, total: u64, spread: Spread) -> Self {
        let mean = total as f64 / rows as f64;
        let (shortest, curve) = match spread {
            Spread::Bounded { shortest, longest, deviation } if shortest < mean && mean < longest => {
                // The whole part is separated, so that no row is shorter by rounding.
                let whole = shortest.floor();
                let curve = TwoSided::new(shortest - whole, longest - whole, mean - whole, deviation);
                (whole as u64, Curve::Bounded(curve))
            }
            Spread::Tail { shortest, longest, deviation }
                if f64::from(shortest) < mean && mean < f64::from(longest) =>
            {
                let range = f64::from(longest - shortest);
                let (steepness, exponent) = tail((mean - f64::from(shortest)) / range, deviation / range);
                (shortest.into(), Curve::Tail { steepness, exponent })
            }
            Spread::Skew(beta) if beta > 0.0 => (0, Curve::Power { exponent: 1.0 - beta }),
            _ => (0, Curve::Even),
        };
        Self { rows: rows as u64, shortest, rest: total - rows as u64 * shortest, curve }
    }

    /// The length of the row with this rank.
    pub(crate) fn of(&self, rank: usize) -> u32 {
        let rank = rank as u64;
        (self.shortest + self.rest_before(rank + 1) - self.rest_before(rank)).min(u32::MAX.into()) as u32
    }

    /// An upper bound for the lengths, at most one more than the longest.
    pub(crate) fn longest(&self) -> u32 {
        // Along each curve lengths are monotonic; rounding moves them by at most one.
        self.of(0).max(self.of(self.rows as usize - 1)).saturating_add(1)
    }

    /// The total beyond the shortest length of the rows before a rank.
    fn rest_before(&self, rank: u64) -> u64 {
        if rank == self.rows {
            return self.rest;
        }
        let x = rank as f64 / self.rows as f64;
        let share = match self.curve {
            Curve::Even => return (u128::from(rank) * u128::from(self.rest) / u128::from(self.rows)) as u64,
            Curve::Power { exponent } => x.powf(exponent),
            Curve::Bounded(lengths) => lengths.integral(x) / lengths.integral(1.0),
            Curve::Tail { steepness, exponent } => {
                tail_integral(steepness, exponent, x) / tail_integral(steepness, exponent, 1.0)
            }
        };
        ((share * self.rest as f64) as u64).min(self.rest)
    }
}

impl TwoSided {
    /// Lengths between two bounds, with a mean and a standard deviation: the higher the power, the smaller the
    /// deviation.
    fn new(shortest: f64, longest: f64, mean: f64, deviation: f64) -> Self {
        let with = |power: f64| {
            let middle = (mean - (shortest + longest) / (power + 1.0)) / (1.0 - 2.0 / (power + 1.0));
            Self { middle, above: longest - middle, below: middle - shortest, power }
        };
        let (mut low, mut high) = (1.0 + 1e-9, 1e6f64);
        for _ in 0..60 {
            let power = (low * high).sqrt();
            let lengths = with(power);
            // A middle beyond the bounds also requires a higher power.
            if lengths.above < 0.0 || lengths.below < 0.0 || lengths.deviation(mean) > deviation {
                low = power;
            } else {
                high = power;
            }
        }
        with(high)
    }

    /// The sum of the lengths up to x.
    fn integral(&self, x: f64) -> f64 {
        let power = self.power + 1.0;
        self.middle * x + (self.above * x.powf(power) - self.below * (1.0 - (1.0 - x).powf(power))) / power
    }

    fn deviation(&self, mean: f64) -> f64 {
        let below_and_above = self.below * self.above;
        let (single, double) = (self.power + 1.0, 2.0 * self.power + 1.0);
        let own = (self.below * self.below + self.above * self.above) * (1.0 / double - 1.0 / (single * single));
        // The integral of x^power · (1 − x)^power, as a sum over many equal steps.
        const STEPS: usize = 200;
        let mixed: f64 =
            (0..STEPS).map(|step| (step as f64 + 0.5) / STEPS as f64).map(|x| (x * (1.0 - x)).powf(self.power)).sum();
        let mixed = mixed / STEPS as f64;
        debug_assert!((self.integral(1.0) - mean).abs() <= 1e-6 * mean);
        (own + 2.0 * below_and_above * (1.0 / (single * single) - mixed)).max(0.0).sqrt()
    }
}

/// The integral of (1 + steepness · x)^−exponent from 0 to x.
fn tail_integral(steepness: f64, exponent: f64, x: f64) -> f64 {
    let power = 1.0 - exponent;
    let logarithm = (steepness * x).ln_1p();
    if power.abs() < 1e-9 { logarithm / steepness } else { (power * logarithm).exp_m1() / (power * steepness) }
}

/// The steepness and the exponent for which (1 + steepness · x)^−exponent has a mean and a standard deviation, by
/// bisection. For a given mean the deviation grows with the exponent.
fn tail(mean: f64, deviation: f64) -> (f64, f64) {
    let steepness = |exponent: f64| {
        let (mut low, mut high) = (1e-9f64, 1e18f64);
        for _ in 0..100 {
            let middle = (low * high).sqrt();
            if tail_integral(middle, exponent, 1.0) > mean { low = middle } else { high = middle }
        }
        low
    };
    let (mut low, mut high) = (0.1f64, 4.0f64);
    for _ in 0..50 {
        let exponent = 0.5 * (low + high);
        let square = tail_integral(steepness(exponent), 2.0 * exponent, 1.0);
        if (square - mean * mean).max(0.0).sqrt() < deviation { low = exponent } else { high = exponent }
    }
    (steepness(low), low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(rows: usize, total: u64, spread: Spread) -> Vec<u32> {
        let lengths = Lengths::new(rows, total, spread);
        let all: Vec<_> = (0..rows).map(|rank| lengths.of(rank)).collect();
        assert_eq!(all.iter().map(|&length| u64::from(length)).sum::<u64>(), total, "{spread:?}");
        assert!(all.iter().all(|&length| length <= lengths.longest()), "{spread:?}");
        all
    }

    #[test]
    fn even_lengths_differ_by_one() {
        for (rows, total) in [(10, 30), (7, 30), (1000, 1), (3, 0), (1_000_003, 90_000_001)] {
            let lengths = all(rows, total, Spread::Even);
            let floor = (total / rows as u64) as u32;
            assert!(lengths.iter().all(|&length| (floor..=floor + 1).contains(&length)));
        }
    }

    #[test]
    fn bounded_and_tailed_lengths_keep_their_bounds() {
        for (rows, total, shortest, longest) in
            [(10_000, 241_000, 1, 27), (5000, 20_000, 0, 40), (1_000_005, 3_105_536, 1, 4700)]
        {
            let deviation = 0.1 * f64::from(longest - shortest);
            let bounded = Spread::Bounded { shortest: shortest.into(), longest: longest.into(), deviation };
            for spread in [bounded, Spread::Tail { shortest, longest, deviation }] {
                let mut lengths = all(rows, total, spread);
                lengths.sort_unstable();
                assert!(lengths[0] >= shortest, "{spread:?}: {}", lengths[0]);
                let found = lengths[rows - 1];
                assert!(found <= longest + 1 && f64::from(found) >= 0.9 * f64::from(longest), "{spread:?}: {found}");
            }
        }
    }

    #[test]
    fn deviations() {
        let bounded = |shortest, longest, deviation| Spread::Bounded { shortest, longest, deviation };
        let tail = |longest, deviation| Spread::Tail { shortest: 1, longest, deviation };
        for (total, spread, deviation) in [
            (1_000_000, bounded(5.0, 145.0, 27.8), 27.8),
            (1_067_780, bounded(2.0, 180.0, 4.7), 4.7),
            (124_000, bounded(1.0, 44.0, 4.4), 4.4),
            (112_000, tail(353, 4.4), 4.4),
            (62_000, tail(4700, 25.4), 25.4),
        ] {
            let lengths = all(20_000, total, spread);
            let mean = total as f64 / 20_000.0;
            let square: f64 = lengths.iter().map(|&length| (f64::from(length) - mean).powi(2)).sum();
            let found = (square / 20_000.0).sqrt();
            assert!((found - deviation).abs() <= 0.03 * deviation + 0.1, "{spread:?}: {found}");
        }
    }

    /// The fraction of rows with at least length d, compared with the curves with both ends rounded: a length l is its
    /// integer part or, with the probability of its fraction, one more.
    #[test]
    fn distributions() {
        let (rows, total) = (100_000, 500_000);
        let (steepness, exponent) = tail(4.0 / 99.0, 8.0 / 99.0);
        let tail = |x: f64| 1.0 + 99.0 / (1.0 + steepness * x).powf(exponent);
        let bounded = TwoSided::new(0.0, 20.0, 4.0, 3.0);
        let both = |x: f64| {
            1.0 + bounded.middle + bounded.above * x.powf(bounded.power) - bounded.below * (1.0 - x).powf(bounded.power)
        };
        let curves: [(Spread, &dyn Fn(f64) -> f64); 4] = [
            (Spread::Even, &|_| 5.0),
            (Spread::Bounded { shortest: 1.0, longest: 21.0, deviation: 3.0 }, &both),
            (Spread::Tail { shortest: 1, longest: 100, deviation: 8.0 }, &tail),
            (Spread::Skew(0.5), &|x| 2.5 / x.sqrt()),
        ];
        for (spread, curve) in curves {
            let lengths = all(rows, total, spread);
            for d in [1, 2, 3, 5, 6, 10, 20, 50, 90] {
                let found = lengths.iter().filter(|&&length| length >= d).count() as f64;
                let expected: f64 = (0..rows)
                    .map(|rank| (curve((rank as f64 + 0.5) / rows as f64) - f64::from(d - 1)).clamp(0.0, 1.0))
                    .sum();
                assert!((found - expected).abs() <= 0.02 * expected + 2.0, "{spread:?}, {d}: {found}, not {expected}");
            }
        }
    }
}
