//! Dense blocks along the main diagonal.

use std::ops::Range;

use host::format::{Csr, LARGEST_DIMENSION};
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::assemble::{RowByRow, assemble};
use crate::draw::value;
use crate::options::{check_dimension, unfit};
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "block-diagonal",
    form: "block-diagonal:blocks=N,size=N[,seed=0]",
    about: "dense square blocks along the main diagonal",
};

/// A square matrix of dense square blocks along the main diagonal: many independent small systems. Values are uniform
/// with magnitudes from 1/2 to 1 and either sign.
///
/// ```
/// use host::Csr;
/// use synthetic::{BlockDiagonal, Generate};
///
/// let matrix: Csr<f64> = BlockDiagonal::new(10, 3).generate()?;
/// assert!(matrix.row(4).map(|(column, _)| column).eq([3, 4, 5]));
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockDiagonal {
    /// Number of blocks, at least 1.
    pub blocks: usize,
    /// Rows and columns of a block, at least 1.
    pub size: usize,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl BlockDiagonal {
    /// Blocks of size `size`, seed 0.
    pub fn new(blocks: usize, size: usize) -> Self {
        Self { blocks, size, seed: 0 }
    }
}

parameters!(BlockDiagonal { blocks = "blocks", size = "size", seed = "seed" or 0 });

impl Generate for BlockDiagonal {
    const HELP: &'static [Help] = &[HELP];

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        Ok(Self { blocks: self.blocks.saturating_mul(factor), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        check_dimension(HELP, "blocks", self.blocks)?;
        check_dimension(HELP, "size", self.size)?;
        if self.rows() > LARGEST_DIMENSION {
            return Err(unfit(HELP, "size", self.size, format!("blocks · size of at most {LARGEST_DIMENSION}")));
        }
        Ok(())
    }

    fn rows(&self) -> usize {
        self.blocks.saturating_mul(self.size)
    }

    fn columns(&self) -> usize {
        self.rows()
    }

    fn expected_nnz(&self) -> u128 {
        self.rows() as u128 * self.size as u128
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        assemble(self, self, wanted)
    }
}

impl RowByRow for BlockDiagonal {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn length(&self, _: usize, _: &mut ChaCha8Rng) -> u32 {
        self.size as u32
    }

    fn fill<T: Scalar>(&self, row: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        for (column, place) in (row - row % self.size..).zip(columns) {
            *place = column as u32;
        }
        values.fill_with(|| value(random));
    }
}
