//! Wide and tall matrices with skewed rows and columns, as in linear programs.

use std::ops::Range;

use host::format::Csr;
use host::real::Scalar;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::assemble::{RowByRow, assemble};
use crate::bijection::Bijection;
use crate::draw::{distinct_columns, fill_distinct, mix, value};
use crate::lengths::{Lengths, Spread};
use crate::options::{check_dimension, unfit};
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "rectangle",
    form: "rectangle:rows=N,columns=N,per-row=MEAN[,row-skew=0][,column-skew=0][,seed=0]",
    about: "wide or tall; skew from 0 (even) to 0.95: the r-th longest row, or column, goes as r^-skew",
};

/// The largest skew: beyond it nearly all entries of a row fall on the same few columns.
const LARGEST_SKEW: f64 = 0.95;

/// A matrix of any shape whose row lengths and column lengths can follow power laws. The number of entries of the r-th
/// longest row is in proportion to r^−`row_skew`, rounded so that the total is exactly rows · `per_row`, rounded down;
/// the probability of drawing a column follows such a law, too. Long rows and columns lie anywhere. Values are uniform
/// with magnitudes from 1/2 to 1 and either sign. Lengths and columns use the platform's `powf`, as in
/// [`Pareto`](crate::Pareto).
///
/// Wide, like a linear program: `rectangle:rows=4000,columns=1000000,per-row=2500,column-skew=0.5`. Tall, like a least
/// squares problem: `rectangle:rows=1000000,columns=4000,per-row=10,row-skew=0.3`.
///
/// ```
/// use host::Csr;
/// use synthetic::{Generate, Rectangle};
///
/// let wide = Rectangle { column_skew: 0.5, ..Rectangle::new(10, 10_000, 100.0) };
/// let matrix: Csr<f32> = wide.generate()?;
/// assert_eq!(matrix.nnz(), 1000);
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectangle {
    /// Number of rows, at least 1.
    pub rows: usize,
    /// Number of columns, at least 1.
    pub columns: usize,
    /// Mean number of entries per row.
    pub per_row: f64,
    /// How much longer some rows are than others, from 0 to 0.95.
    pub row_skew: f64,
    /// How much longer some columns are than others, from 0 to 0.95.
    pub column_skew: f64,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Rectangle {
    /// Rows of equal lengths with uniformly random columns, seed 0.
    pub fn new(rows: usize, columns: usize, per_row: f64) -> Self {
        Self { rows, columns, per_row, row_skew: 0.0, column_skew: 0.0, seed: 0 }
    }

    fn lengths(&self) -> Lengths {
        Lengths::new(self.rows, self.expected_nnz() as u64, Spread::Skew(self.row_skew))
    }
}

parameters!(Rectangle {
    rows = "rows",
    columns = "columns",
    per_row = "per-row",
    row_skew = "row-skew" or 0.0,
    column_skew = "column-skew" or 0.0,
    seed = "seed" or 0,
});

impl Generate for Rectangle {
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
        for (name, skew) in [("row-skew", self.row_skew), ("column-skew", self.column_skew)] {
            if !(0.0..=LARGEST_SKEW).contains(&skew) {
                return Err(unfit(HELP, name, skew, format!("a number from 0 to {LARGEST_SKEW}")));
            }
        }
        // In a row with nearly every column, drawing the rare ones would take long.
        let room = if self.column_skew > 0.0 { self.columns / 2 } else { self.columns };
        if !(0.0..=room as f64).contains(&self.per_row) {
            return Err(unfit(HELP, "per-row", self.per_row, format!("a number from 0 to {room}")));
        }
        let longest = self.lengths().longest() as usize;
        // The longest row may be one shorter than this bound.
        if longest > room + 1 {
            return Err(unfit(HELP, "row-skew", self.row_skew, format!("less: a row has {longest} entries of {room}")));
        }
        Ok(())
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
        let rows = Bijection::new(self.rows, self.seed);
        let columns = Popular::new(self.columns, self.column_skew, self.seed);
        assemble(self, &Rows { seed: self.seed, lengths: self.lengths(), rows, columns }, wanted)
    }
}

/// Columns with unequal probabilities: the r-th most popular one is drawn with probability in proportion to r^−skew.
pub(crate) struct Popular {
    columns: usize,
    order: Bijection,
    skew: f64,
}

impl Popular {
    pub(crate) fn new(columns: usize, skew: f64, seed: u64) -> Self {
        Self { columns, order: Bijection::new(columns, mix(seed, 0, 1)), skew }
    }

    pub(crate) fn draw(&self, random: &mut ChaCha8Rng) -> u32 {
        if self.skew == 0.0 {
            return random.random_range(0..self.columns as u32);
        }
        let rank = random.random::<f64>().powf(1.0 / (1.0 - self.skew)) * self.columns as f64;
        self.order.forward((rank as usize).min(self.columns - 1)) as u32
    }
}

struct Rows {
    seed: u64,
    lengths: Lengths,
    rows: Bijection,
    columns: Popular,
}

impl RowByRow for Rows {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn length(&self, row: usize, _: &mut ChaCha8Rng) -> u32 {
        self.lengths.of(self.rows.forward(row)).min(self.columns.columns as u32)
    }

    fn fill<T: Scalar>(&self, _: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        if self.columns.skew == 0.0 {
            distinct_columns(random, self.columns.columns as u32, columns);
        } else {
            fill_distinct(columns, || self.columns.draw(random));
        }
        values.fill_with(|| value(random));
    }
}
