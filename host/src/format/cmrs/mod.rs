//! Compressed multirow storage (Koza et al. 2014, §3 and §4).

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
mod costs;
pub(crate) mod multivector;
pub(crate) mod product;
pub(crate) mod strategy;

use gpu_kernels::cmrs::{LARGEST_HEIGHT, MOST_COLUMNS, column_of, pack, row_in_strip};

use crate::device::WARP_LANES;
use crate::error::{Error, check_length};
use crate::format::check::count_parts;
use crate::format::sort::Sorter;
use crate::format::storage::storage;
use crate::format::{Csr, Offsets, check_shape, parallel_rows};
use crate::memory::{reserve, zeros};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

pub use by_kernels::{into_csr, with_height};
pub(crate) use strategy::Strategy;

/// Number of rows per strip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StripHeight {
    /// As many as keep a warp busy, by the paper's traffic model (eq. 5.1): the smallest power of two for which a warp
    /// moves at most 1.1 times the bytes that it needs. At most [`LARGEST_HEIGHT`] rows of 4-byte values and half as
    /// many of 8-byte values, because the partial sums limit the number of resident warps (§6.3).
    #[default]
    ByTraffic,
    /// The same for every matrix.
    Rows(StripRows),
}

/// A valid number of rows per strip, from 1 to [`LARGEST_HEIGHT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StripRows(u8);

impl StripRows {
    /// Creates a number of rows, or returns `None` if a strip cannot have that many.
    pub const fn new(rows: u32) -> Option<Self> {
        if rows >= 1 && rows <= LARGEST_HEIGHT { Some(Self(rows as u8)) } else { None }
    }

    /// Returns the number.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// Largest ratio of the bytes that a warp moves to the bytes that it needs, in strips of automatic height.
pub const LARGEST_OVERHEAD: f64 = 1.1;

/// Largest number of bytes of partial sums per thread in strips of automatic height: with these, every GPU since Turing
/// holds its maximum number of threads.
const PARTIAL_SUM_BYTES: usize = 64;

impl StripHeight {
    /// 4 rows: best for 8-byte values on a K20M (§6.3).
    pub const H4: Self = Self::Rows(StripRows::new(4).unwrap());
    /// 6 rows: best for 4-byte values on a K20M.
    pub const H6: Self = Self::Rows(StripRows::new(6).unwrap());
    /// 8 rows: best for 8-byte values on a GTX 480.
    pub const H8: Self = Self::Rows(StripRows::new(8).unwrap());
    /// 12 rows: best for 4-byte values on a GTX 480.
    pub const H12: Self = Self::Rows(StripRows::new(12).unwrap());
    /// 16 rows, the most that 4 bits can count.
    pub const H16: Self = Self::Rows(StripRows::new(16).unwrap());

    /// Returns the number of rows, for a matrix of `rows` rows and `nnz` entries with values of `T`.
    pub fn rows<T: Scalar>(self, rows: usize, nnz: usize) -> usize {
        match self {
            Self::ByTraffic => {
                let highest = (PARTIAL_SUM_BYTES / size_of::<T>()).clamp(1, LARGEST_HEIGHT as usize);
                let mean = nnz as f64 / rows as f64;
                let width = size_of::<T>();
                let fits = |height: &usize| overhead(*height, mean, WARP_LANES * width, width) <= LARGEST_OVERHEAD;
                (0..).map(|power| 1 << power).take_while(|&height| height < highest).find(fits).unwrap_or(highest)
            }
            Self::Rows(rows) => rows.get(),
        }
    }
}

/// Returns the ratio of the bytes that a warp moves to the bytes that it needs (§5, eq. 5.1), for strips of `height`
/// rows of `mean` entries, memory segments of `segment` bytes, and numbers of `width` bytes.
///
/// Segments of 128 bytes fit 4-byte values, 256 bytes 8-byte values (§6.5): what a warp reads at a time.
pub fn overhead(height: usize, mean: f64, segment: usize, width: usize) -> f64 {
    1.0 + (segment as f64 - width as f64) / (height as f64 * mean * width as f64)
}

/// Order of the entries of a strip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StripOrder {
    /// By column, and within a column by row, so that lanes read neighbouring elements of x, as the paper recommends
    /// (§6.3). The original order within a row is lost.
    #[default]
    ByColumn,
    /// Row by row, as in CSR.
    ByRow,
}

storage! {
    /// A sparse matrix in compressed multirow storage: strips of a few neighbouring rows each, whose entries are stored
    /// together. A word per entry holds its column and its row in the strip. A strip's entries may be in any order, but
    /// those of one row and column keep theirs.
    pub struct Cmrs {
        parameters {
            /// Rows per strip; the last strip may have fewer.
            height: usize,
        }
        offsets {
            /// Offset of each strip.
            strip_offsets,
        }
        arrays {
            /// Column and row in the strip of each entry, packed by [`pack`].
            words: u32,
            /// Value of each entry.
            values: T,
        }
    }
}

/// Returns the bytes of the CMRS arrays. Cannot overflow.
pub(crate) fn cmrs_bytes<T>(rows: usize, nnz: usize, height: usize) -> u128 {
    let offsets = (rows.div_ceil(height) as u128 + 1) * Offsets::width_for(nnz as u128) as u128;
    nnz as u128 * (4 + size_of::<T>() as u128) + offsets
}

/// Returns whether an entry with this word can be in a strip of `height` rows.
pub(super) fn fits(word: u32, height: usize, columns: usize) -> bool {
    (row_in_strip(word) as usize) < height && (column_of(word) as usize) < columns
}

/// Returns the message for a word that does not fit.
pub(super) fn misplaced(strip: usize, place: usize, word: u32, height: usize, columns: usize) -> String {
    let (row, column) = (row_in_strip(word), column_of(word));
    format!("word {place} is in row {row} of the {height} of strip {strip}, and in column {column} of {columns}")
}

/// Checks that the words have enough bits for the columns.
pub(crate) fn check_columns(columns: usize, limit: u32) -> Result<(), Error> {
    if columns > limit as usize {
        let what = "number of columns of a CMRS matrix";
        return Err(Error::TooLarge { what, value: columns as u128, limit: limit.into() });
    }
    Ok(())
}

/// Checks that the words have enough bits for the rows of a strip.
pub(crate) fn check_height(height: usize) -> Result<(), Error> {
    if !(1..=LARGEST_HEIGHT as usize).contains(&height) {
        let reason = format!("strips of {height} rows, expected 1 to {LARGEST_HEIGHT}");
        return Err(Error::structure("CMRS", reason));
    }
    Ok(())
}

impl<T: Scalar> Cmrs<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(rows + nnz).
    ///
    /// # Errors
    /// When strips do not have 1 to 16 rows, there are more than 2^28 columns, the arrays contradict each other or the
    /// shape, or an entry is outside the matrix.
    pub fn try_new(
        rows: usize,
        columns: usize,
        height: usize,
        strip_offsets: impl TryInto<Offsets, Error: Into<Error>>,
        words: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        let strip_offsets = strip_offsets.try_into().map_err(Into::into)?;
        check_shape(rows, columns)?;
        check_height(height)?;
        check_columns(columns, MOST_COLUMNS)?;
        check_length("values", values.len(), words.len())?;
        let strips = rows.div_ceil(height);
        strip_offsets.check("CMRS", "strip", strips, words.len())?;
        let stored = count_parts("CMRS", strips, |strip| {
            let height = height.min(rows - strip * height);
            let range = strip_offsets.get(strip)..strip_offsets.get(strip + 1);
            match words[range.clone()].iter().position(|&word| !fits(word, height, columns)) {
                None => Ok(range.len()),
                Some(place) => Err(misplaced(strip, range.start + place, words[range.start + place], height, columns)),
            }
        })?;
        Ok(Self { rows, columns, stored, height, strip_offsets, words, values })
    }

    /// Converts `matrix` to CMRS. Columns and values are reused and changed in place. Runs in parallel in O(rows +
    /// nnz), or O(nnz log(largest strip)) for the order by column.
    ///
    /// # Errors
    /// When there are more than 2^28 columns ([`MOST_COLUMNS`]).
    pub fn try_from_csr(matrix: Csr<T>, height: StripHeight, order: StripOrder) -> Result<Self, Error> {
        let height = height.rows::<T>(matrix.rows(), matrix.nnz());
        Self::try_with_height(matrix, height, order)
    }

    /// Same as [`try_from_csr`](Self::try_from_csr), with strips of any height from 1 to 16 rows ([`LARGEST_HEIGHT`]).
    ///
    /// # Errors
    /// When the height is outside that range, and as above.
    pub fn try_with_height(matrix: Csr<T>, height: usize, order: StripOrder) -> Result<Self, Error> {
        check_height(height)?;
        check_columns(matrix.columns(), MOST_COLUMNS)?;
        let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
        let (row_offsets, mut words, mut values) = matrix.into_parts();
        parallel_rows(&row_offsets, rows_at_once(height), &mut words, &mut values, &|rows, words, values| {
            let base = row_offsets.get(rows.start);
            let mut sorter = Sorter::new();
            for first_row in rows.clone().step_by(height) {
                let strip = first_row..rows.end.min(first_row + height);
                for row in strip.clone() {
                    for word in &mut words[row_offsets.get(row) - base..row_offsets.get(row + 1) - base] {
                        *word = pack((row - first_row) as u32, *word);
                    }
                }
                if order == StripOrder::ByColumn {
                    let range = row_offsets.get(strip.start) - base..row_offsets.get(strip.end) - base;
                    // Words are ordered by column first.
                    sorter.sort(&mut words[range.clone()], &mut values[range])?;
                }
            }
            Ok(())
        })?;
        let strips = (0..rows.div_ceil(height)).map(|strip| strip * height);
        let lengths = strips.map(|row| row_offsets.get(rows.min(row + height)) - row_offsets.get(row));
        let strip_offsets = Offsets::from_lengths(lengths)?;
        Ok(Self { rows, columns, stored, height, strip_offsets, words, values })
    }

    /// Returns the entries of a strip as words and values, in storage order.
    fn entries(&self, strip: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        let range = self.strip_offsets.get(strip)..self.strip_offsets.get(strip + 1);
        self.words[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }

    /// Calls `visit` with row, column and value of each entry, in storage order.
    pub(super) fn for_each_entry(&self, mut visit: impl FnMut(usize, u32, T)) {
        for strip in 0..self.strip_offsets.len() - 1 {
            for (word, value) in self.entries(strip) {
                visit(strip * self.height + row_in_strip(word) as usize, column_of(word), value);
            }
        }
    }

    /// Converts the matrix to CSR. Words and values are reused and changed in place; runs in parallel in O(rows + nnz).
    /// The entries of a row keep their order in the strip: after [`StripOrder::ByRow`] their original order, after
    /// [`StripOrder::ByColumn`] that of [`Csr::sort_rows`].
    ///
    /// # Errors
    /// When memory runs out.
    pub fn into_csr(mut self) -> Result<Csr<T>, Error> {
        let (rows, height) = (self.rows, self.height);
        let row_offsets = count_rows(rows, height, |strip| {
            self.words[self.strip_offsets.get(strip)..self.strip_offsets.get(strip + 1)].iter().copied()
        })?;
        let chunk = rows_at_once(height);
        parallel_rows(&row_offsets, chunk, &mut self.words, &mut self.values, &|rows, words, values| {
            let base = row_offsets.get(rows.start);
            let mut scratch: Vec<(u32, T)> = Vec::new();
            for first_row in rows.clone().step_by(height) {
                let strip = first_row..rows.end.min(first_row + height);
                let range = row_offsets.get(strip.start) - base..row_offsets.get(strip.end) - base;
                scratch.clear();
                reserve(&mut scratch, range.len())?;
                scratch.extend(words[range.clone()].iter().copied().zip(values[range].iter().copied()));
                let mut next = [0; LARGEST_HEIGHT as usize];
                for (next, row) in next.iter_mut().zip(strip) {
                    *next = row_offsets.get(row) - base;
                }
                for &(word, value) in &scratch {
                    let next = &mut next[row_in_strip(word) as usize];
                    words[*next] = column_of(word);
                    values[*next] = value;
                    *next += 1;
                }
            }
            Ok(())
        })?;
        Ok(Csr::from_valid(rows, self.columns, row_offsets, self.words, self.values))
    }
}

/// Computes the row offsets, given the words of each strip's entries. Runs in parallel.
///
/// # Errors
/// When memory runs out.
pub(super) fn count_rows<W: Iterator<Item = u32>>(
    rows: usize,
    height: usize,
    words: impl Fn(usize) -> W + Sync,
) -> Result<Offsets, Error> {
    let mut lengths = zeros::<usize>(rows)?;
    parallel::chunks_mut(&mut lengths, height, ROWS_AT_ONCE / height, &|(strip, lengths)| {
        for word in words(strip) {
            lengths[row_in_strip(word) as usize] += 1;
        }
    });
    Offsets::from_lengths(lengths.iter().copied())
}

/// Returns the rows of whole strips of this height that a thread handles at a time.
fn rows_at_once(height: usize) -> usize {
    ROWS_AT_ONCE / height * height
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matrix of eq. 2.1.
    fn example() -> Csr<f64> {
        let columns = vec![0, 3, 1, 4, 2, 4, 2, 3, 4, 4];
        let values = (1..=10).map(f64::from).collect();
        Csr::try_new(5, 5, vec![0u32, 2, 4, 6, 9, 10], columns, values).unwrap()
    }

    #[test]
    fn the_papers_example() {
        for (order, values, columns, rows) in [
            (
                StripOrder::ByRow,
                [1., 2., 3., 4., 5., 6., 7., 8., 9., 10.],
                [0, 3, 1, 4, 2, 4, 2, 3, 4, 4],
                [0, 0, 1, 1, 0, 0, 1, 1, 1, 0],
            ),
            (
                StripOrder::ByColumn,
                [1., 3., 2., 4., 5., 7., 8., 6., 9., 10.],
                [0, 1, 3, 4, 2, 2, 3, 4, 4, 4],
                [0, 1, 0, 1, 0, 1, 1, 0, 1, 0],
            ),
        ] {
            let matrix = Cmrs::try_with_height(example(), 2, order).unwrap();
            assert_eq!(matrix.strip_offsets(), &Offsets::Narrow(vec![0, 4, 9, 10]));
            assert_eq!(*matrix.values(), values);
            assert!(matrix.words().iter().map(|&word| column_of(word)).eq(columns));
            assert!(matrix.words().iter().map(|&word| row_in_strip(word)).eq(rows));
            assert_eq!(matrix.into_csr().unwrap(), example());
        }
    }

    #[test]
    fn the_buffers_of_csr_are_taken_over() {
        let matrix = example();
        let arrays = (matrix.column_indices().as_ptr(), matrix.values().as_ptr());
        let matrix = Cmrs::try_from_csr(matrix, StripHeight::ByTraffic, StripOrder::ByColumn).unwrap();
        assert_eq!((matrix.words().as_ptr(), matrix.values().as_ptr()), arrays);
        let matrix = matrix.into_csr().unwrap();
        assert_eq!((matrix.column_indices().as_ptr(), matrix.values().as_ptr()), arrays);
    }

    #[test]
    fn strips_keep_or_sort_the_order_within_rows() {
        // Columns in no order, one of them twice.
        let matrix =
            || Csr::try_new(3, 9, vec![0u32, 4, 4, 6], vec![7, 2, 7, 0, 8, 1], vec![1., 2., 3., 4., 5., 6.]).unwrap();
        let mut sorted = matrix();
        sorted.sort_rows().unwrap();
        for height in (1..=16).step_by(if cfg!(miri) { 5 } else { 1 }) {
            let back = |order| Cmrs::try_with_height(matrix(), height, order).unwrap().into_csr().unwrap();
            assert_eq!(back(StripOrder::ByRow), matrix());
            assert_eq!(back(StripOrder::ByColumn), sorted);
        }
    }

    #[test]
    fn strips_have_one_to_sixteen_rows() {
        for height in [0, 17] {
            let error = Cmrs::try_with_height(example(), height, StripOrder::ByRow).map(|_| ()).unwrap_err();
            assert_eq!(error.to_string(), format!("CMRS matrix: strips of {height} rows, expected 1 to 16"));
        }
    }

    #[test]
    fn columns_must_fit_28_bits() {
        let matrix = |columns| Csr::try_new(1, columns, vec![0u32, 1], vec![columns as u32 - 1], vec![1.0f32]).unwrap();
        let convert = |columns| Cmrs::try_from_csr(matrix(columns), StripHeight::H16, StripOrder::ByColumn);
        assert_eq!(convert(1 << 28).unwrap().into_csr().unwrap(), matrix(1 << 28));
        let error = convert((1 << 28) + 1).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, "the number of columns of a CMRS matrix is 268435457, and the limit is 268435456");
    }

    #[test]
    fn shorter_rows_make_higher_strips() {
        for (rows, nnz, single, double) in [
            (0, 0, 16, 8),
            (10, 0, 16, 8),
            (10, 20, 16, 8),
            (10, 270, 16, 8),
            (10, 400, 8, 8),
            (10, 800, 4, 4),
            (10, 1600, 2, 2),
            (10, 3110, 1, 1),
        ] {
            let height = StripHeight::ByTraffic;
            assert_eq!((height.rows::<f32>(rows, nnz), height.rows::<f64>(rows, nnz)), (single, double), "{nnz}");
        }
    }
}
