//! Random draws shared by generators.

use host::real::Scalar;
use rand::distr::{Distribution, Uniform};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The purpose of a stream of random numbers. A later pass must not depend on how much an earlier one drew.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// The lengths of rows.
    Lengths = 0,
    /// The columns and values of rows.
    Entries = 1,
    /// A single row, or a block of rows.
    Row = 2,
}

/// The random numbers for one chunk of rows, or one row, independent of those for any other chunk, purpose or seed.
pub(crate) fn stream(seed: u64, purpose: Purpose, chunk: usize) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Rows are counted in 32 bits, so chunks are too.
    random.set_stream(((purpose as u64) << 32) | chunk as u64);
    random
}

/// A uniform value with a magnitude from 1/2 to 1 and either sign: never zero, subnormal, or far from the others.
pub(crate) fn value<T: Scalar>(random: &mut ChaCha8Rng) -> T {
    value_of(random.random())
}

/// The value for a number from 0 to 1.
pub(crate) fn value_of<T: Scalar>(unit: f64) -> T {
    T::from_f64(if unit < 0.5 { unit - 1.0 } else { unit })
}

/// Fills `row` with distinct numbers less than `columns`, ascending, with every set equally likely. Needs no memory of
/// its own; O(n log n) expected for a row of n.
///
/// # Panics
/// When `row` is longer than `columns`.
pub(crate) fn distinct_columns(random: &mut ChaCha8Rng, columns: u32, row: &mut [u32]) {
    assert!(row.len() <= columns as usize, "{} distinct columns of {columns}", row.len());
    // From this density on, visiting each column is cheaper than sorting.
    if row.len() >= columns as usize / 8 {
        select(random, columns, row);
    } else {
        reject(random, columns, row);
    }
}

/// Visits each column once and takes it with the probability that exactly fills the row (Knuth, The Art of Computer
/// Programming, volume 2, §3.4.2, algorithm S). O(columns).
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

/// Draws columns until all of the row are distinct.
fn reject(random: &mut ChaCha8Rng, columns: u32, row: &mut [u32]) {
    if row.is_empty() {
        return;
    }
    let uniform = Uniform::new(0, columns).expect("a row that is not empty has columns");
    fill_distinct(row, || uniform.sample(random));
}

/// Fills `row` with distinct numbers from `draw`, ascending: drops duplicates, and draws again for the free slots. Does
/// not terminate if `draw` has fewer distinct numbers than the row has slots.
pub(crate) fn fill_distinct(row: &mut [u32], mut draw: impl FnMut() -> u32) {
    let mut distinct = 0;
    while distinct < row.len() {
        row[distinct..].fill_with(&mut draw);
        row.sort_unstable();
        distinct = keep_distinct(row);
    }
}

/// Moves the distinct numbers of an ascending row to its beginning, in order, and returns their number.
pub(crate) fn keep_distinct(row: &mut [u32]) -> usize {
    let mut distinct = row.len().min(1);
    for place in 1..row.len() {
        if row[place] != row[distinct - 1] {
            row[distinct] = row[place];
            distinct += 1;
        }
    }
    distinct
}

/// A pseudorandom number that depends on every bit of a seed and of two more numbers (the finalizer of SplitMix64 over
/// their sum with odd multiples; Steele, Lea & Flood 2014, Fig. 17). For numbers that must be the same wherever they
/// are computed, such as the value of an edge at both its ends.
pub(crate) fn mix(seed: u64, first: u64, second: u64) -> u64 {
    let finish = |mut bits: u64| {
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    };
    let step = |bits: u64, word: u64| finish(bits.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ finish(word));
    step(step(finish(seed), first.wrapping_add(1)), second.wrapping_add(2))
}

/// A number less than `limit` from random bits, practically uniform while `limit` is far below 2^64.
pub(crate) fn below(bits: u64, limit: u64) -> u64 {
    ((u128::from(bits) * u128::from(limit)) >> 64) as u64
}

/// A number from 0 to 1, exclusive, from random bits.
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Every pair of 12 columns is equally likely: chi squared over the 66 pairs.
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

    /// Neighbouring numbers in any of the three arguments give bits that are set half of the time.
    #[test]
    fn mixed_bits_are_even() {
        let at = |place: usize, number: u64| {
            let mut words = [0; 3];
            words[place] = number;
            mix(words[0], words[1], words[2])
        };
        for place in 0..3 {
            for bit in 0..64 {
                let set = (0..10_000).filter(|&number| at(place, number) >> bit & 1 == 1).count();
                let flips = (0..10_000).filter(|&n| (at(place, n) ^ at(place, n + 1)) >> bit & 1 == 1).count();
                // Standard deviation 50.
                for count in [set, flips] {
                    assert!((4750..=5250).contains(&count), "place {place}, bit {bit}: {count}");
                }
            }
        }
        assert!(mix(1, 2, 3) != mix(1, 3, 2));
        assert_eq!([below(0, 7), below(u64::MAX, 7), below(1 << 63, 8)], [0, 6, 4]);
        assert!(unit(u64::MAX) < 1.0 && unit(0) == 0.0);
    }

    #[test]
    fn streams_differ() {
        let mut firsts: Vec<u64> = Vec::new();
        for seed in [0, 1, u64::MAX] {
            for purpose in [Purpose::Lengths, Purpose::Entries, Purpose::Row] {
                for chunk in [0, 1, 4_194_303] {
                    firsts.push(stream(seed, purpose, chunk).random());
                }
            }
        }
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 27);
    }
}
