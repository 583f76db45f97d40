//! Vectors to multiply by.

use std::ops::Range;

use host::memory::{with_capacity, zeros};
use host::{Error, Scalar, parallel};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Numbers that a thread draws at a time.
const AT_ONCE: usize = 1 << 16;

/// Returns numbers with parts from -1 to 1, the same in every run and for any number of threads.
///
/// # Errors
/// When memory runs out.
pub fn random_vector<T: Scalar>(length: usize, seed: u64) -> Result<Vec<T>, Error> {
    let mut vector = zeros(length)?;
    parallel::chunks_mut(&mut vector, AT_ONCE, 1, &|(chunk, numbers)| {
        let mut next = numbers_of::<T>(chunk, seed);
        numbers.fill_with(&mut next);
    });
    Ok(vector)
}

/// Returns a part of a [`random_vector`] of any length.
///
/// # Errors
/// When memory runs out.
pub fn random_part<T: Scalar>(part: Range<usize>, seed: u64) -> Result<Vec<T>, Error> {
    let mut numbers = with_capacity(part.len())?;
    let mut place = part.start;
    while place < part.end {
        let chunk = place / AT_ONCE;
        let end = part.end.min((chunk + 1) * AT_ONCE);
        let mut next = numbers_of::<T>(chunk, seed);
        (chunk * AT_ONCE..place).for_each(|_| _ = next());
        numbers.extend((place..end).map(|_| next()));
        place = end;
    }
    Ok(numbers)
}

/// Returns the numbers of a chunk, in order.
fn numbers_of<T: Scalar>(chunk: usize, seed: u64) -> impl FnMut() -> T {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(chunk as u64);
    move || {
        let mut part = || random.random_range(-1.0..1.0);
        let re = part();
        T::from_parts(re, if T::COMPLEX { part() } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_for_the_same_seed_and_within_bounds() {
        let drawn = |seed| random_vector::<f64>(3 * AT_ONCE + 5, seed).unwrap();
        let vector = drawn(7);
        assert_eq!(vector, drawn(7));
        assert_ne!(vector, drawn(8));
        assert_ne!(vector[..AT_ONCE], vector[AT_ONCE..2 * AT_ONCE]);
        assert!(vector.iter().all(|number| (-1.0..1.0).contains(number)));
        for part in [0..0, 0..7, AT_ONCE - 2..2 * AT_ONCE + 3, 3 * AT_ONCE + 5..3 * AT_ONCE + 5] {
            assert_eq!(random_part::<f64>(part.clone(), 7).unwrap(), vector[part]);
        }
        let mean = vector.iter().sum::<f64>() / vector.len() as f64;
        assert!(mean.abs() < 0.01, "{mean}");
    }
}
