//! Random draws that generators share.

use host::real::Real;
use rand::distr::{Distribution, Uniform};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a stream of random numbers is for. A later pass must not depend on how much an earlier one drew.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// The lengths of rows.
    Lengths = 0,
    /// The columns and values of rows.
    Entries = 1,
}

/// The random numbers for one chunk of rows: independent of those for any other chunk, purpose or seed.
pub(crate) fn stream(seed: u64, purpose: Purpose, chunk: usize) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Rows are counted in 32 bits, so chunks are too.
    random.set_stream(((purpose as u64) << 32) | chunk as u64);
    random
}

/// A value of magnitude 1/2 to 1 and either sign, uniform: never zero, subnormal, or far from the others.
pub(crate) fn value<T: Real>(random: &mut ChaCha8Rng) -> T {
    let unit: f64 = random.random();
    T::from_f64(if unit < 0.5 { unit - 1.0 } else { unit })
}

/// Fills `row` with distinct numbers below `columns`, ascending, every set of them equally likely. Without
/// memory of its own; O(n log n) expected for a row of n.
///
/// # Panics
/// When `row` is longer than `columns`.
pub(crate) fn distinct_columns(random: &mut ChaCha8Rng, columns: u32, row: &mut [u32]) {
    assert!(row.len() <= columns as usize, "{} distinct columns of {columns}", row.len());
    // From this density on, looking at each column is cheaper than sorting.
    if row.len() >= columns as usize / 8 {
        select(random, columns, row);
    } else {
        reject(random, columns, row);
    }
}

/// Looks at each column once and takes it with the probability that just fills the row (Knuth, The Art of
/// Computer Programming, volume 2, §3.4.2, algorithm S). O(columns).
fn select(random: &mut ChaCha8Rng, columns: u32, row: &mut [u32]) {
    let mut taken = 0;
    for column in 0..columns {
        let missing = row.len() - taken;
        if missing == 0 {
            break;
        }
        if random.random::<f64>() * f64::from(columns - column) < missing as f64 {
            row[taken] = column;
            taken += 1;
        }
    }
}

/// Draws columns, drops those drawn before, and draws again for the places that this leaves.
fn reject(random: &mut ChaCha8Rng, columns: u32, row: &mut [u32]) {
    if row.is_empty() {
        return;
    }
    let uniform = Uniform::new(0, columns).expect("a row that is not empty has columns");
    let mut distinct = 0;
    while distinct < row.len() {
        row[distinct..].fill_with(|| uniform.sample(random));
        row.sort_unstable();
        distinct = 1;
        for place in 1..row.len() {
            if row[place] != row[distinct - 1] {
                row[distinct] = row[place];
                distinct += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Every pair of 12 columns comes equally often: chi squared over the 66 pairs.
    #[test]
    fn every_set_is_equally_likely() {
        for method in [select, reject] {
            let mut random = stream(1, Purpose::Entries, 0);
            let mut counts: HashMap<[u32; 2], u32> = HashMap::new();
            for _ in 0..66_000 {
                let mut row = [0; 2];
                method(&mut random, 12, &mut row);
                *counts.entry(row).or_default() += 1;
            }
            assert_eq!(counts.len(), 66);
            assert!(counts.keys().all(|row| row[0] < row[1] && row[1] < 12));
            let chi_squared: f64 = counts.values().map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0).sum();
            // 65 degrees of freedom: mean 65, standard deviation sqrt(130); five of them each way.
            assert!((65.0 - 57.0..65.0 + 57.0).contains(&chi_squared), "{chi_squared}");
        }
    }

    #[test]
    fn whole_and_empty_rows() {
        for method in [select, reject, distinct_columns] {
            let mut random = stream(1, Purpose::Entries, 0);
            let mut row: Vec<u32> = vec![0; 20];
            method(&mut random, 20, &mut row);
            assert!(row.iter().copied().eq(0..20));
            method(&mut random, 20, &mut []);
        }
        distinct_columns(&mut stream(1, Purpose::Entries, 0), 0, &mut []);
    }

    #[test]
    fn values_keep_away_from_zero() {
        let mut random = stream(1, Purpose::Entries, 0);
        let values: Vec<f64> = (0..10_000).map(|_| value(&mut random)).collect();
        assert!(values.iter().all(|value| (0.5..=1.0).contains(&value.abs())));
        let positive = values.iter().filter(|&&value| value > 0.0).count();
        // Standard deviation 50.
        assert!((4750..=5250).contains(&positive), "{positive}");
    }

    #[test]
    fn streams_differ() {
        let mut firsts: Vec<u64> = Vec::new();
        for seed in [0, 1, u64::MAX] {
            for purpose in [Purpose::Lengths, Purpose::Entries] {
                for chunk in [0, 1, 4_194_303] {
                    firsts.push(stream(seed, purpose, chunk).random());
                }
            }
        }
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 18);
    }
}
