//! Rows whose lengths follow a power law (Bell & Garland 2009, §4.1, Fig. 9).

use std::ops::Range;

use host::format::{Csr, LARGEST_DIMENSION};
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;
use rand_distr::Distribution;

use crate::assemble::{RowByRow, assemble};
use crate::draw::{distinct_columns, value};
use crate::options::{check_dimension, check_positive, check_range};
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "pareto",
    form: "pareto:rows=N,k=SHAPE[,columns=ROWS][,base=32][,scale=1][,seed=0]",
    about: "rows of base + d random entries, d from the Pareto distribution of that shape and scale",
};

/// A matrix with rows of `base` + ⌊δ⌋ entries, δ drawn per row from the Pareto distribution P(δ > d) = (scale / d)^k
/// for d ≥ scale, but no more entries than columns. The smaller k, the longer the longest rows: the mean of δ is
/// infinite for k ≤ 1 and its variance for k ≤ 2.
///
/// Columns are uniform, values uniform with magnitudes from 1/2 to 1 and either sign.
///
/// Bell & Garland 2009, §4.1 gives 30 K rows, base 32 and k from 1 to 4, but not the scale, the number of columns, or how
/// they are drawn; the defaults here are scale 1 and a square matrix.
///
/// The lengths use the platform's `powf`, whose last bit differs between platforms. A length can differ where δ is
/// within rounding of a whole number.
///
/// ```
/// use host::Csr;
/// use synthetic::{Generate, Pareto};
///
/// let matrix: Csr<f32> = Pareto { base: 3, ..Pareto::new(500, 2.0) }.generate()?;
/// assert!(matrix.row_lengths().all(|length| length >= 4));
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// Number of rows, at least 1.
    pub rows: usize,
    /// Number of columns, at least 1.
    pub columns: usize,
    /// Number of entries per row besides δ.
    pub base: usize,
    /// The shape of the distribution, above 0.
    pub k: f64,
    /// The smallest δ, above 0.
    pub scale: f64,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Pareto {
    const BASE: usize = 32;
    const SCALE: f64 = 1.0;

    /// A square matrix with rows of 32 + ⌊δ⌋ entries, scale 1, seed 0.
    pub fn new(rows: usize, k: f64) -> Self {
        Self { rows, columns: rows, base: Self::BASE, k, scale: Self::SCALE, seed: 0 }
    }
}

parameters!(Pareto {
    rows = "rows",
    columns = "columns" or rows,
    base = "base" or Self::BASE,
    k = "k",
    scale = "scale" or Self::SCALE,
    seed = "seed" or 0,
});

impl Generate for Pareto {
    const HELP: &'static [Help] = &[HELP];

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        Ok(Self { rows: self.rows.saturating_mul(factor), columns: self.columns.saturating_mul(factor), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        check_dimension(HELP, "rows", self.rows)?;
        check_dimension(HELP, "columns", self.columns)?;
        check_range(HELP, "base", self.base, 0..=LARGEST_DIMENSION)?;
        check_positive(HELP, "k", self.k)?;
        check_positive(HELP, "scale", self.scale)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    /// The mean, with δ not rounded down: too large by less than one entry per row.
    fn expected_nnz(&self) -> u128 {
        let room = self.columns.saturating_sub(self.base) as f64;
        let delta = if room <= self.scale {
            room
        } else {
            // The integral of P(δ > d) over d from 0 to `room`.
            let (exponent, ratio) = (self.k - 1.0, (self.scale / room).ln());
            let beyond_scale = if exponent == 0.0 { -ratio } else { -(exponent * ratio).exp_m1() / exponent };
            self.scale * (1.0 + beyond_scale)
        };
        (self.rows as f64 * (self.base.min(self.columns) as f64 + delta)) as u128
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        assemble(self, self, wanted)
    }
}

impl RowByRow for Pareto {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn length(&self, _: usize, random: &mut ChaCha8Rng) -> u32 {
        let distribution = rand_distr::Pareto::new(self.scale, self.k).expect("checked: scale and k are above 0");
        (self.base as f64 + distribution.sample(random).floor()).min(self.columns as f64) as u32
    }

    fn fill<T: Scalar>(&self, _: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        distinct_columns(random, self.columns as u32, columns);
        values.fill_with(|| value(random));
    }
}
