//! Uniformly random matrices.

use std::ops::Range;

use host::format::Csr;
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson};

use crate::assemble::{RowByRow, assemble};
use crate::draw::{distinct_columns, value};
use crate::lengths::{Lengths, Spread};
use crate::options::{check_dimension, unfit};
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "uniform",
    form: "uniform:rows=N,per-row=MEAN[,columns=ROWS][,lengths=equal][,seed=0]",
    about: "random columns, MEAN entries per row on average; lengths equal or poisson",
};

words! {
    /// How many entries the rows of a [`Uniform`] matrix have.
    RowLengths: "equal or poisson" {
        /// The mean, rounded down or up so that the total is exactly rows · mean, rounded down.
        Equal = "equal",
        /// Drawn from the Poisson distribution with that mean, but no more than columns: as if each entry lay anywhere
        /// in the matrix.
        Poisson = "poisson",
    }
}

/// A matrix with uniformly random columns, distinct in each row, and values uniform with magnitudes from 1/2 to 1 and
/// either sign. For a total number of nonzeros, set the mean to that number divided by rows.
///
/// The Poisson distribution uses the platform's `exp` and `ln`, as in [`Pareto`](crate::Pareto).
///
/// ```
/// use host::Csr;
/// use synthetic::{Generate, Uniform};
///
/// let matrix: Csr<f32> = Uniform::new(1000, 2000, 2.5).generate()?;
/// assert_eq!(matrix.nnz(), 2500);
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform {
    /// Number of rows, at least 1.
    pub rows: usize,
    /// Number of columns, at least 1.
    pub columns: usize,
    /// Mean number of entries per row, from 0 to columns.
    pub per_row: f64,
    /// How the row lengths are distributed around the mean.
    pub lengths: RowLengths,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Uniform {
    /// Rows of equal lengths, seed 0.
    pub fn new(rows: usize, columns: usize, per_row: f64) -> Self {
        Self { rows, columns, per_row, lengths: RowLengths::Equal, seed: 0 }
    }
}

parameters!(Uniform {
    rows = "rows",
    columns = "columns" or rows,
    per_row = "per-row",
    lengths = "lengths" or RowLengths::Equal,
    seed = "seed" or 0,
});

impl Generate for Uniform {
    const HELP: &'static [Help] = &[HELP];

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        let larger = |size: usize| size.saturating_mul(factor);
        Ok(Self { rows: larger(self.rows), columns: larger(self.columns), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        check_dimension(HELP, "rows", self.rows)?;
        check_dimension(HELP, "columns", self.columns)?;
        if (0.0..=self.columns as f64).contains(&self.per_row) {
            return Ok(());
        }
        Err(unfit(HELP, "per-row", self.per_row, format!("a number from 0 to the {} columns", self.columns)))
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn expected_nnz(&self) -> u128 {
        (self.rows as f64 * self.per_row) as u128
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        assemble(self, &Rows { uniform: self, poisson: self.poisson(), equal: self.equal() }, wanted)
    }
}

impl Uniform {
    fn poisson(&self) -> Option<Poisson<f64>> {
        // At a mean of 0, or beyond the largest that can be drawn from, equal lengths are as good.
        Poisson::new(self.per_row).ok().filter(|_| self.lengths == RowLengths::Poisson)
    }

    fn equal(&self) -> Lengths {
        Lengths::new(self.rows, self.expected_nnz() as u64, Spread::Even)
    }
}

struct Rows<'a> {
    uniform: &'a Uniform,
    poisson: Option<Poisson<f64>>,
    equal: Lengths,
}

impl RowByRow for Rows<'_> {
    fn seed(&self) -> u64 {
        self.uniform.seed
    }

    fn length(&self, row: usize, random: &mut ChaCha8Rng) -> u32 {
        match self.poisson {
            Some(poisson) => poisson.sample(random).min(self.uniform.columns as f64) as u32,
            None => self.equal.of(row),
        }
    }

    fn fill<T: Scalar>(&self, _: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        distinct_columns(random, self.uniform.columns as u32, columns);
        values.fill_with(|| value(random));
    }
}
