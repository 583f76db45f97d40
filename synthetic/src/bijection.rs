//! Pseudorandom permutations that need no memory.

use crate::draw::mix;

/// Number of times that each half is mixed into the other.
const ROUNDS: u64 = 6;

/// A pseudorandom permutation of the numbers less than `length`, computed forward and backward in O(1) each: a Feistel
/// network over the smallest power of two that is not less than `length`, iterated until the number is less than
/// `length` again (Black & Rogaway 2002, "Ciphers with arbitrary finite domains", §3: cycle walking). The power of two
/// is less than twice `length`, so less than one further step is expected.
///
/// Each number can be computed on its own, so a permutation needs no array, and does not depend on the order of work or
/// the number of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bijection {
    length: u64,
    key: u64,
    low_bits: u32,
    high_bits: u32,
}

impl Bijection {
    /// The permutation for a seed.
    pub(crate) fn new(length: usize, seed: u64) -> Self {
        let bits = (length as u64).next_power_of_two().trailing_zeros();
        Self { length: length as u64, key: mix(seed, 0, 0), low_bits: bits / 2, high_bits: bits - bits / 2 }
    }

    /// The image of a number.
    pub(crate) fn forward(&self, number: usize) -> usize {
        self.walk(number, |halves| (0..ROUNDS).fold(halves, |halves, round| self.round(halves, round)))
    }

    /// The preimage of a number.
    pub(crate) fn backward(&self, number: usize) -> usize {
        self.walk(number, |halves| (0..ROUNDS).rev().fold(halves, |halves, round| self.unround(halves, round)))
    }

    fn walk(&self, number: usize, encrypt: impl Fn([u64; 2]) -> [u64; 2]) -> usize {
        debug_assert!((number as u64) < self.length);
        let mask = (1 << self.low_bits) - 1;
        let mut number = number as u64;
        loop {
            let [low, high] = encrypt([number & mask, number >> self.low_bits]);
            number = high << self.low_bits | low;
            if number < self.length {
                return number as usize;
            }
        }
    }

    fn round(&self, [low, high]: [u64; 2], round: u64) -> [u64; 2] {
        let low = low ^ self.noise(2 * round, high, self.low_bits);
        [low, high ^ self.noise(2 * round + 1, low, self.high_bits)]
    }

    fn unround(&self, [low, high]: [u64; 2], round: u64) -> [u64; 2] {
        let high = high ^ self.noise(2 * round + 1, low, self.high_bits);
        [low ^ self.noise(2 * round, high, self.low_bits), high]
    }

    fn noise(&self, round: u64, half: u64, bits: u32) -> u64 {
        mix(self.key, round, half) & ((1 << bits) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_permutation_with_its_inverse() {
        for length in [1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 65, 1000, 4097] {
            for seed in [0, 1, u64::MAX] {
                let bijection = Bijection::new(length, seed);
                let mut hit = vec![false; length];
                for number in 0..length {
                    let image = bijection.forward(number);
                    assert!(!std::mem::replace(&mut hit[image], true), "{length}, {seed}: {image} twice");
                    assert_eq!(bijection.backward(image), number, "{length}, {seed}");
                }
            }
        }
        let bijection = Bijection::new(host::format::LARGEST_DIMENSION, 3);
        for number in [0, 1, 12_345_678, host::format::LARGEST_DIMENSION - 1] {
            assert_eq!(bijection.backward(bijection.forward(number)), number);
        }
    }

    /// The image of a number is independent of its position and of its neighbour's: chi squared over a table of
    /// sixteenths by sixteenths.
    #[test]
    fn images_are_uniform() {
        let length = 1 << 16;
        for seed in 0..8 {
            let bijection = Bijection::new(length - 3, seed);
            let sixteenth = |number: usize| number >> 12;
            let (mut one, mut next) = ([[0u32; 16]; 16], [[0u32; 16]; 16]);
            for number in 0..length - 4 {
                let [image, neighbour] = [bijection.forward(number), bijection.forward(number + 1)].map(sixteenth);
                one[sixteenth(number)][image] += 1;
                next[image][neighbour] += 1;
            }
            for table in [one, next] {
                let chi_squared: f64 =
                    table.as_flattened().iter().map(|&count| (f64::from(count) - 256.0).powi(2) / 256.0).sum();
                // 225 degrees of freedom: mean 225, standard deviation 21.2; five of them each way.
                assert!((225.0 - 106.0..225.0 + 106.0).contains(&chi_squared), "seed {seed}: {chi_squared}");
            }
        }
    }

    /// A random permutation has one fixed point on average, with variance 1.
    #[test]
    fn few_fixed_points() {
        let fixed: usize = (0..100)
            .map(|seed| {
                let bijection = Bijection::new(1000, seed);
                (0..1000).filter(|&number| bijection.forward(number) == number).count()
            })
            .sum();
        // 100 seeds: mean 100, standard deviation 10.
        assert!((50..=150).contains(&fixed), "{fixed}");
    }
}
