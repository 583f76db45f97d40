//! A Markov chain on a grid.

use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::assemble::RowByRow;
use crate::draw::value;

/// A model with two counts, such as the susceptible and the infected, which span a grid: transitions from each state to
/// itself, to one less of the first, to one more of the second, and to one more of the first with one less of the
/// second.
pub(super) struct Epidemic {
    width: usize,
    height: usize,
    seed: u64,
}

impl Epidemic {
    /// 1025 by 513 states, with `times` as many values of the slower-running count.
    pub(super) fn new(times: usize, seed: u64) -> Self {
        Self { width: 1025, height: 513usize.saturating_mul(times), seed }
    }

    pub(super) fn nnz(&self) -> u128 {
        let (width, height) = (self.width as u128, self.height as u128);
        // Without a row of states, nothing is subtracted.
        (4 * width * height).saturating_sub(2 * (width + height)).saturating_add(u128::from(height > 0))
    }

    /// The states reached from a row's state, ascending.
    fn columns_of(&self, row: usize) -> impl Iterator<Item = usize> {
        let (x, y) = (row % self.width, row / self.width);
        let exchange = (x + 1 < self.width && y > 0).then(|| row - self.width + 1);
        let less = (x > 0).then(|| row - 1);
        let more = (y + 1 < self.height).then(|| row + self.width);
        [exchange, less, Some(row), more].into_iter().flatten()
    }
}

impl RowByRow for Epidemic {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn length(&self, row: usize, _: &mut ChaCha8Rng) -> u32 {
        self.columns_of(row).count() as u32
    }

    fn fill<T: Scalar>(&self, row: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        for (place, column) in columns.iter_mut().zip(self.columns_of(row)) {
            *place = column as u32;
        }
        values.fill_with(|| value(random));
    }
}
