//! Random numbers.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use warp_spmv::{Real, Scalar};

/// Largest number of values drawn for a vector, since drawing takes time; they repeat in longer vectors.
const DRAWN: usize = 8191;

/// Reproducible random numbers.
pub struct Numbers(ChaCha8Rng);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit as u64) as usize
    }

    /// Returns a number in [-1, 1).
    pub fn real<T: Real>(&mut self) -> T {
        T::from_f64((self.0.next_u64() >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    }

    /// Returns a number whose parts are made by `part`.
    pub fn number<T: Scalar>(&mut self, mut part: impl FnMut(&mut Self) -> f64) -> T {
        let re = part(self);
        T::from_parts(re, if T::COMPLEX { part(self) } else { 0.0 })
    }

    pub fn vector<T: Scalar>(&mut self, length: usize) -> Vec<T> {
        let drawn: Vec<T> = (0..length.min(DRAWN)).map(|_| self.number(Self::real)).collect();
        drawn.iter().copied().cycle().take(length).collect()
    }

    /// Returns a number with whole parts from -8 to 8: sums of products of such numbers are exact.
    pub fn whole<T: Scalar>(&mut self) -> T {
        self.number(|numbers| numbers.below(17) as f64 - 8.0)
    }
}
