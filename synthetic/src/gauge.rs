//! Hopping on periodic lattices with random phases, as in lattice gauge theory.

use std::f64::consts::PI;
use std::ops::Range;

use host::format::Csr;
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::assemble::{RowByRow, assemble};
use crate::draw::{mix, unit};
use crate::grid::Grid;
use crate::options::{check_finite, check_share};
use crate::registry::complex_only;
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "gauge",
    form: "gauge:grid=GRID[,disorder=1][,mass=0][,seed=0]",
    about: "hopping with random phases on a periodic lattice such as 8x8x8x8, in 1 to 4 dimensions; Hermitian",
};

/// Maximum number of directions of a lattice.
const MOST_DIRECTIONS: usize = 4;

/// The Laplacian of a charged scalar in a random U(1) gauge field, on a periodic lattice of d dimensions (Wilson 1974): the
/// diagonal entry of a point is 2 d + mass, and the entry for the next point in a direction is −e^(i θ), with an angle θ per
/// link that is uniform from −π to π times the disorder. The matrix is Hermitian, and with a mass of 0 its eigenvalues are
/// from 0 to 4 d. An angle depends only on the seed and its link; its sine and cosine are the platform's.
///
/// ```
/// use host::{Complex, Csr};
/// use synthetic::{Gauge, Generate, Grid};
///
/// let gauge = Gauge { grid: Grid(vec![8; 4]), disorder: 0.5, mass: 0.1, seed: 7 };
/// let matrix: Csr<Complex<f64>> = gauge.generate()?;
/// assert_eq!((matrix.rows(), matrix.nnz()), (4096, 9 * 4096));
/// assert_eq!(matrix.row(0).next(), Some((0, Complex::new(8.1, 0.0))));
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    /// The lattice, in 1 to 4 dimensions, with at least 3 points in each.
    pub grid: Grid,
    /// The spread of the angles, from 0, where all are 0, to 1.
    pub disorder: f64,
    /// Added to the diagonal, besides the number of neighbours; finite.
    pub mass: f64,
    /// The seed of the random numbers.
    pub seed: u64,
}

parameters!(Gauge { grid = "grid", disorder = "disorder" or 1.0, mass = "mass" or 0.0, seed = "seed" or 0 });

impl Gauge {
    /// The angle of the link from a point to the next one in a direction.
    fn angle(&self, point: usize, direction: usize) -> f64 {
        (2.0 * unit(mix(self.seed, point as u64, direction as u64)) - 1.0) * PI * self.disorder
    }

    fn neighbours(&self) -> usize {
        2 * self.grid.0.len()
    }
}

impl Generate for Gauge {
    const HELP: &'static [Help] = &[HELP];
    const COMPLEX: bool = true;

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        Ok(Self { grid: self.grid.times(factor), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        self.grid.check(HELP, MOST_DIRECTIONS, 3)?;
        check_share(HELP, "disorder", self.disorder)?;
        check_finite(HELP, "mass", self.mass)
    }

    fn rows(&self) -> usize {
        self.grid.points()
    }

    fn columns(&self) -> usize {
        self.rows()
    }

    fn expected_nnz(&self) -> u128 {
        (self.rows() as u128).saturating_mul(self.neighbours() as u128 + 1)
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        complex_only::<T>(HELP)?;
        assemble(self, self, wanted)
    }
}

impl RowByRow for Gauge {
    fn length(&self, _: usize, _: &mut ChaCha8Rng) -> u32 {
        self.neighbours() as u32 + 1
    }

    fn fill<T: Scalar>(&self, row: usize, _: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        let mut entries = [(0, [0.0; 2]); 2 * MOST_DIRECTIONS + 1];
        let entries = &mut entries[..columns.len()];
        entries[0] = (row, [self.neighbours() as f64 + self.mass, 0.0]);
        let mut stride = 1;
        for (direction, edge) in self.grid.0.iter().enumerate() {
            let place = row / stride % edge;
            let line = row - place * stride;
            let after = line + (place + 1) % edge * stride;
            let before = line + (place + edge - 1) % edge * stride;
            let hop = |angle: f64| [-angle.cos(), -angle.sin()];
            entries[2 * direction + 1] = (after, hop(self.angle(row, direction)));
            entries[2 * direction + 2] = (before, hop(-self.angle(before, direction)));
            stride *= edge;
        }
        entries.sort_unstable_by_key(|entry| entry.0);
        for ((column, value), (place, [re, im])) in columns.iter_mut().zip(values).zip(entries) {
            (*column, *value) = (*place as u32, T::from_parts(*re, *im));
        }
    }
}
