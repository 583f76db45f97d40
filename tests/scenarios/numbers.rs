//! Random numbers.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use warp_spmv::{Real, Scalar};

/// The most numbers that are drawn for a vector, for that takes time; they repeat in a longer one.
const DRAWN: usize = 8191;

/// Random numbers that are the same every time.
pub struct Numbers(ChaCha8Rng);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit as u64) as usize
    }

    /// A number in [-1, 1).
    pub fn real<T: Real>(&mut self) -> T {
        T::from_f64((self.0.next_u64() >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    }

    /// A number whose parts are what is made of this one.
    pub fn number<T: Scalar>(&mut self, mut part: impl FnMut(&mut Self) -> f64) -> T {
        let re = part(self);
        T::from_parts(re, if T::COMPLEX { part(self) } else { 0.0 })
    }

    pub fn vector<T: Scalar>(&mut self, length: usize) -> Vec<T> {
        let drawn: Vec<T> = (0..length.min(DRAWN)).map(|_| self.number(Self::real)).collect();
        drawn.iter().copied().cycle().take(length).collect()
    }

    /// A number with whole parts from -8 to 8: sums of products of them are exact.
    pub fn whole<T: Scalar>(&mut self) -> T {
        self.number(|numbers| numbers.below(17) as f64 - 8.0)
    }
}
