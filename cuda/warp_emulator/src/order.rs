//! The order in which the blocks of a grid begin.

use std::collections::HashMap;

use rand::{Rng, RngExt};

/// The numbers below `count` in random order, drawn one at a time by the Fisher–Yates shuffle. Only numbers that have
/// been moved are stored, so a large grid costs memory only as it runs.
pub(crate) struct RandomOrder {
    drawn: u32,
    count: u32,
    moved: HashMap<u32, u32>,
}

impl RandomOrder {
    pub(crate) fn new(count: u32) -> Self {
        Self { drawn: 0, count, moved: HashMap::new() }
    }

    /// The next number; `None` when all have been drawn.
    pub(crate) fn next(&mut self, random: &mut impl Rng) -> Option<u32> {
        if self.drawn == self.count {
            return None;
        }
        let place = random.random_range(self.drawn..self.count);
        let first = self.moved.remove(&self.drawn).unwrap_or(self.drawn);
        let number = if place == self.drawn { first } else { self.moved.insert(place, first).unwrap_or(place) };
        self.drawn += 1;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn draw(count: u32, seed: u64) -> Vec<u32> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut order = RandomOrder::new(count);
        std::iter::from_fn(|| order.next(&mut random)).collect()
    }

    #[test]
    fn each_number_comes_once() {
        for count in [0, 1, 2, 3, 100, 1000] {
            let mut numbers = draw(count, 5);
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count), "{count} numbers");
        }
    }

    #[test]
    fn every_order_of_three_appears() {
        let orders: std::collections::HashSet<_> = (0..200).map(|seed| draw(3, seed)).collect();
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn a_huge_count_costs_nothing_at_first() {
        let mut order = RandomOrder::new(u32::MAX);
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let some: std::collections::HashSet<_> = (0..100).filter_map(|_| order.next(&mut random)).collect();
        assert_eq!(some.len(), 100);
        assert!(order.moved.len() <= 100);
    }
}
