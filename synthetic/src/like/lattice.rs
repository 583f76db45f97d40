//! Lattice quantum chromodynamics.

use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::assemble::RowByRow;
use crate::draw::value;

/// Spins times colours: the unknowns per site.
const UNKNOWNS: usize = 12;
const COLOURS: usize = 3;

/// The hopping matrix of Wilson fermions on a periodic lattice in four dimensions. A spin is joined to itself and one
/// other at both neighbours in each direction of space, and to itself at one neighbour in time, with all three colours:
/// (3 · 2 · 2 + 1) · 3 = 39 entries per row, in runs of three that rows of a spin share.
pub(super) struct Lattice {
    edges: [usize; 4],
    seed: u64,
}

impl Lattice {
    /// 8 sites in each direction, but `times` as many along the slowest-running coordinate.
    pub(super) fn new(times: usize, seed: u64) -> Self {
        Self { edges: [8, 8, 8, 8usize.saturating_mul(times)], seed }
    }

    pub(super) fn nnz(&self) -> u128 {
        self.edges.iter().fold(UNKNOWNS as u128 * 39, |nnz, &edge| nnz.saturating_mul(edge as u128))
    }

    /// The neighbour of a site in a direction, before or after it.
    fn neighbour(&self, site: usize, direction: usize, forward: bool) -> usize {
        let stride: usize = self.edges[..direction].iter().product();
        let edge = self.edges[direction];
        let at = site / stride % edge;
        let there = if forward { (at + 1) % edge } else { (at + edge - 1) % edge };
        site - at * stride + there * stride
    }
}

impl RowByRow for Lattice {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn length(&self, _: usize, _: &mut ChaCha8Rng) -> u32 {
        39
    }

    fn fill<T: Scalar>(&self, row: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        let (site, spin) = (row / UNKNOWNS, row % UNKNOWNS / COLOURS);
        let mut runs = [0; 13];
        let mut count = 0;
        let mut run = |site: usize, spin: usize| {
            runs[count] = (site * UNKNOWNS + spin * COLOURS) as u32;
            count += 1;
        };
        // In the basis where the matrix for time is diagonal; the others join the first two spins to the last two.
        for (direction, partner) in [(0, 3), (1, 3), (2, 2)] {
            for forward in [false, true] {
                let neighbour = self.neighbour(site, direction, forward);
                run(neighbour, spin);
                run(neighbour, spin ^ partner);
            }
        }
        run(self.neighbour(site, 3, spin < 2), spin);
        runs.sort_unstable();
        for (begin, columns) in runs.into_iter().zip(columns.chunks_exact_mut(COLOURS)) {
            for (colour, column) in columns.iter_mut().enumerate() {
                *column = begin + colour as u32;
            }
        }
        values.fill_with(|| value(random));
    }
}
