//! Vectors to multiply by.

use host::memory::zeros;
use host::{Error, Scalar, parallel};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Numbers that one thread draws at a time.
const AT_ONCE: usize = 1 << 16;

/// Numbers whose parts are from -1 to 1, and that are the same in every run, whatever the number of threads.
///
/// # Errors
/// When memory runs out.
pub fn random_vector<T: Scalar>(length: usize, seed: u64) -> Result<Vec<T>, Error> {
    let mut vector = zeros(length)?;
    parallel::chunks_mut(&mut vector, AT_ONCE, 1, &|(chunk, numbers)| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(chunk as u64);
        let mut part = || random.random_range(-1.0..1.0);
        numbers.fill_with(|| T::from_parts(part(), if T::COMPLEX { part() } else { 0.0 }));
    });
    Ok(vector)
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
        let mean = vector.iter().sum::<f64>() / vector.len() as f64;
        assert!(mean.abs() < 0.01, "{mean}");
    }
}
