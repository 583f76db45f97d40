//! Neighbouring diagonals (Bell & Garland 2009, §4.2, Fig. 10).

use std::ops::Range;

use host::format::Csr;
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::assemble::{RowByRow, assemble};
use crate::draw::value;
use crate::options::{check_dimension, check_range};
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "banded",
    form: "banded:rows=N,bands=N[,seed=0]",
    about: "neighbouring diagonals around the main one, with random values",
};

/// A square matrix whose entries fill `bands` neighbouring diagonals around the main one: the same number below as
/// above, and one more above if `bands` is even. Values are uniform with magnitudes from 1/2 to 1 and either sign.
///
/// Bell & Garland 2009, §4.2 uses 256 K rows, calls the number of bands the bandwidth, and has one entry per band in every
/// row but the first and last few, so the bands are neighbours.
///
/// ```
/// use host::Csr;
/// use synthetic::{Banded, Generate};
///
/// let matrix: Csr<f64> = Banded::new(100, 4).generate()?;
/// assert!(matrix.row(50).map(|(column, _)| column).eq([49, 50, 51, 52]));
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banded {
    /// Number of rows and of columns, at least 1.
    pub rows: usize,
    /// Number of diagonals, from 1 to 2 · rows − 1.
    pub bands: usize,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Banded {
    /// A matrix with `bands` bands, seed 0.
    pub fn new(rows: usize, bands: usize) -> Self {
        Self { rows, bands, seed: 0 }
    }

    fn below(&self) -> usize {
        self.bands.saturating_sub(1) / 2
    }

    fn above(&self) -> usize {
        self.bands / 2
    }

    fn columns_of(&self, row: usize) -> Range<usize> {
        row.saturating_sub(self.below())..(row + self.above() + 1).min(self.rows)
    }
}

parameters!(Banded { rows = "rows", bands = "bands", seed = "seed" or 0 });

impl Generate for Banded {
    const HELP: &'static [Help] = &[HELP];

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        Ok(Self { rows: self.rows.saturating_mul(factor), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        check_dimension(HELP, "rows", self.rows)?;
        check_range(HELP, "bands", self.bands, 1..=2 * self.rows - 1)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.rows
    }

    fn expected_nnz(&self) -> u128 {
        // The diagonal at distance d misses d entries.
        let missing = |farthest: usize| farthest as u128 * (farthest as u128 + 1) / 2;
        let whole = self.rows as u128 * self.bands as u128;
        whole.saturating_sub(missing(self.below()) + missing(self.above()))
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        assemble(self, self, wanted)
    }
}

impl RowByRow for Banded {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn length(&self, row: usize, _: &mut ChaCha8Rng) -> u32 {
        self.columns_of(row).len() as u32
    }

    fn fill<T: Scalar>(&self, row: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        for (place, column) in columns.iter_mut().zip(self.columns_of(row)) {
            *place = column as u32;
        }
        values.fill_with(|| value(random));
    }
}
