//! Random permutation matrices (Koza et al. 2014, §6.2, p7).

use std::ops::Range;

use host::format::Csr;
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::assemble::{RowByRow, assemble};
use crate::bijection::Bijection;
use crate::options::check_dimension;
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "permutation",
    form: "permutation:rows=N[,seed=0]",
    about: "a 1 in every row and every column, at random",
};

/// A matrix with a single 1 in each row and each column. Multiplying by it permutes the elements of a vector.
///
/// The permutation is a Feistel network with cycle walking: a row's column is computed from its number alone. It is one
/// of 2^64 permutations rather than of all rows!, which no benchmark can tell apart.
///
/// ```
/// use host::Csr;
/// use synthetic::{Generate, Permutation};
///
/// let matrix: Csr<f32> = Permutation::new(1000).generate()?;
/// let mut columns = matrix.column_indices().clone();
/// columns.sort();
/// assert!(columns.into_iter().eq(0..1000));
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutation {
    /// Number of rows and of columns, at least 1.
    pub rows: usize,
    /// The seed of the permutation.
    pub seed: u64,
}

impl Permutation {
    /// A permutation, seed 0.
    pub fn new(rows: usize) -> Self {
        Self { rows, seed: 0 }
    }
}

parameters!(Permutation { rows = "rows", seed = "seed" or 0 });

impl Generate for Permutation {
    const HELP: &'static [Help] = &[HELP];

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        Ok(Self { rows: self.rows.saturating_mul(factor), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        check_dimension(HELP, "rows", self.rows)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.rows
    }

    fn expected_nnz(&self) -> u128 {
        self.rows as u128
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        assemble(self, &Bijection::new(self.rows, self.seed), wanted)
    }
}

impl RowByRow for Bijection {
    fn length(&self, _: usize, _: &mut ChaCha8Rng) -> u32 {
        1
    }

    fn fill<T: Scalar>(&self, row: usize, _: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        columns[0] = self.forward(row) as u32;
        values[0] = T::from_f64(1.0);
    }
}
