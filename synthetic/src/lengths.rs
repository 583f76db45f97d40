//! Row lengths of a given total, by rank.

/// How the lengths are spread about their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spread {
    /// All the same, but for rounding.
    Even,
    /// From a shortest to a longest one, as a power of the rank: many near one end, none far from the rest.
    Bounded {
        /// No row is shorter.
        shortest: u32,
        /// Few rows are longer, and those by one.
        longest: u32,
    },
    /// A long tail, as one over the rank (Zipf), from a longest one down to a shortest.
    Tail {
        /// No row is shorter.
        shortest: u32,
        /// No row is much longer.
        longest: u32,
    },
    /// Rank to the power −β, 0 ≤ β < 1: a tail without bounds.
    Skew(f64),
}

/// The lengths of `rows` rows, in O(1) each. They add up to the total exactly: a row has what the spread's integral
/// grows by over its rank, rounded down at each end. The integrals go through the platform's `powf` and `ln_1p`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    rows: u64,
    /// What each row has.
    shortest: u64,
    /// What the rows have besides, together, and how it is spread.
    rest: u64,
    curve: Curve,
}

/// A length besides the shortest, at rank x · rows.
#[derive(Clone, Copy, Debug)]
enum Curve {
    Even,
    /// In proportion to x^(exponent − 1).
    Power {
        exponent: f64,
    },
    /// In proportion to 1 / (1 + steepness · x).
    Tail {
        steepness: f64,
    },
}

impl Lengths {
    /// Lengths with this total: even ones where the mean is not between the bounds.
    pub(crate) fn new(rows: usize, total: u64, spread: Spread) -> Self {
        let mean = total as f64 / rows as f64;
        let (shortest, curve) = match spread {
            Spread::Bounded { shortest, longest } if f64::from(shortest) < mean && mean < f64::from(longest) => {
                let exponent = f64::from(longest - shortest) / (mean - f64::from(shortest));
                (shortest.into(), Curve::Power { exponent })
            }
            Spread::Tail { shortest, longest } if f64::from(shortest) < mean && mean < f64::from(longest) => {
                let steepness = steepness((mean - f64::from(shortest)) / f64::from(longest - shortest));
                (shortest.into(), Curve::Tail { steepness })
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

    /// A length that none is above, one more than the longest at the most.
    pub(crate) fn longest(&self) -> u32 {
        // Along each curve lengths only grow or only shrink; rounding moves them by one at most.
        self.of(0).max(self.of(self.rows as usize - 1)).saturating_add(1)
    }

    /// What the rows before a rank have besides the shortest length.
    fn rest_before(&self, rank: u64) -> u64 {
        if rank == self.rows {
            return self.rest;
        }
        let x = rank as f64 / self.rows as f64;
        let share = match self.curve {
            Curve::Even => return (u128::from(rank) * u128::from(self.rest) / u128::from(self.rows)) as u64,
            Curve::Power { exponent } => x.powf(exponent),
            Curve::Tail { steepness } => (steepness * x).ln_1p() / steepness.ln_1p(),
        };
        ((share * self.rest as f64) as u64).min(self.rest)
    }
}

/// The K for which the integral of 1 / (1 + K x) over 0 to 1, ln(1 + K) / K, is `mean`, by bisection. It falls from 1
/// to 0 as K grows.
fn steepness(mean: f64) -> f64 {
    let (mut low, mut high) = (1e-9f64, 1e18f64);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if middle.ln_1p() / middle > mean { low = middle } else { high = middle }
    }
    low
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
            for spread in [Spread::Bounded { shortest, longest }, Spread::Tail { shortest, longest }] {
                let mut lengths = all(rows, total, spread);
                lengths.sort_unstable();
                assert!(lengths[0] >= shortest, "{spread:?}: {}", lengths[0]);
                let found = lengths[rows - 1];
                assert!(found <= longest + 1 && f64::from(found) >= 0.9 * f64::from(longest), "{spread:?}: {found}");
            }
        }
    }

    /// The share of the rows that is as long as d or longer, against the curves with both ends rounded: a length l is
    /// its integer part, or with the probability of its fraction one more.
    #[test]
    fn distributions() {
        let (rows, total) = (100_000, 500_000);
        let steepness = steepness(4.0 / 99.0);
        let tail = |x: f64| 1.0 + 99.0 / (1.0 + steepness * x);
        let curves: [(Spread, &dyn Fn(f64) -> f64); 4] = [
            (Spread::Even, &|_| 5.0),
            (Spread::Bounded { shortest: 1, longest: 21 }, &|x| 1.0 + 20.0 * x.powi(4)),
            (Spread::Tail { shortest: 1, longest: 100 }, &tail),
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
