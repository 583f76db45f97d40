//! Dense matrices stored as sparse ones (Bell & Garland 2009, §4.1, Fig. 8; Koza et al. 2014, §6.2, dense4).

use std::ops::Range;

use host::format::Csr;
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::assemble::{RowByRow, assemble};
use crate::draw::value;
use crate::options::check_dimension;
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "dense",
    form: "dense:rows=N[,columns=ROWS][,seed=0]",
    about: "an entry in every column of every row",
};

/// A matrix with an entry in every position. Values are uniform with magnitudes from 1/2 to 1 and either sign.
///
/// ```
/// use synthetic::{Dense, Generate};
///
/// // Fig. 8 of Bell & Garland 2009: about 4 M nonzeros in 1, 2, 4 … rows.
/// for dense in Dense::sweep(4_000_000) {
///     assert!(dense.expected_nnz().abs_diff(4_000_000) < 1_050_000);
/// }
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dense {
    /// Number of rows, at least 1.
    pub rows: usize,
    /// Number of columns, at least 1.
    pub columns: usize,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Dense {
    /// A dense matrix, seed 0.
    pub fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns, seed: 0 }
    }

    /// Matrices of about `nnz` nonzeros with 1, 2, 4 … rows, up to one nonzero per row, each with the nearest number of
    /// columns.
    pub fn sweep(nnz: usize) -> impl Iterator<Item = Self> {
        (0..usize::BITS)
            .map(|power| 1usize << power)
            .take_while(move |&rows| rows <= nnz)
            .map(move |rows| Self::new(rows, nnz / rows + (nnz % rows + rows / 2) / rows))
    }
}

parameters!(Dense { rows = "rows", columns = "columns" or rows, seed = "seed" or 0 });

impl Generate for Dense {
    const HELP: &'static [Help] = &[HELP];

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        Ok(Self { rows: self.rows.saturating_mul(factor), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        check_dimension(HELP, "rows", self.rows)?;
        check_dimension(HELP, "columns", self.columns)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn expected_nnz(&self) -> u128 {
        self.rows as u128 * self.columns as u128
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        assemble(self, self, wanted)
    }
}

impl RowByRow for Dense {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn length(&self, _: usize, _: &mut ChaCha8Rng) -> u32 {
        self.columns as u32
    }

    fn fill<T: Scalar>(&self, _: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        for (column, place) in columns.iter_mut().enumerate() {
            *place = column as u32;
        }
        values.fill_with(|| value(random));
    }
}
