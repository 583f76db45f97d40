//! Compressed multirow storage with padding (Koza et al. 2014, §6.7).

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
mod costs;
pub(crate) mod product;
pub(crate) mod strategy;

use std::ops::Range;

use gpu_kernels::cmrs::{BUFFERS, MOST_COLUMNS, PADDED_HEIGHT, PADDING, column_of, pack, row_in_strip};

use crate::error::{Error, check_length};
use crate::format::check::count_parts;
use crate::format::cmrs::{check_columns, count_rows, fits, misplaced};
use crate::format::storage::storage;
use crate::format::{Csr, FillLimit, Offsets, check_shape, parallel_rows};
use crate::memory::{same_bits, zeros};
use crate::real::Scalar;

pub use by_kernels::from_csr;
pub(crate) use strategy::Strategy;

/// Rows per strip.
const HEIGHT: usize = PADDED_HEIGHT as usize;

/// Strips per task in conversions.
const STRIPS_AT_ONCE: usize = 256;

/// Entries that a warp takes per step.
const STEP: usize = 32;

/// Entries of one row that a warp can take per step: one per partial sum of the row.
const ROW_STEP: usize = BUFFERS as usize;

storage! {
    /// A sparse matrix in compressed multirow storage, padded for a kernel that keeps [`BUFFERS`] partial sums per row
    /// instead of 32: strips of [`PADDED_HEIGHT`] rows, each a whole number of steps of 32 slots. Slot l of a step goes
    /// to partial sum l mod [`BUFFERS`], and no two slots of a step go to the same partial sum of the same row.
    ///
    /// The entries of a strip are dealt out row by row: one to each partial sum of the first step, of the second, and
    /// so on, then round again until no entry is left. So a row's entries are spread evenly over its partial sums, and
    /// the number of steps is minimal: enough for all entries, 32 per step, and for those of the longest row, 8 per
    /// step.
    pub struct CmrsPadded {
        parameters {}
        offsets {
            /// Offset of each strip: multiples of 32.
            strip_offsets,
        }
        arrays {
            /// Column and row in the strip of each slot, packed by [`pack`]; [`PADDING`] where there is no entry.
            words: u32,
            /// Value of each slot; 0 where there is no entry.
            values: T,
        }
    }
}

/// Returns the bytes of the padded CMRS arrays with `places` slots.
pub(crate) fn padded_bytes_of_places<T>(rows: usize, places: u128) -> u128 {
    let offsets = (rows.div_ceil(HEIGHT) as u128 + 1) * Offsets::width_for(places) as u128;
    places * (4 + size_of::<T>() as u128) + offsets
}

/// Returns the bytes that the padded CMRS arrays of `matrix` take with values of `V`. Cannot overflow; O(rows).
pub(super) fn padded_bytes<T: Scalar, V>(matrix: &Csr<T>) -> u128 {
    let strips = 0..matrix.rows().div_ceil(HEIGHT);
    padded_bytes_of_places::<V>(matrix.rows(), strips.map(|strip| (STEP * steps(matrix, strip)) as u128).sum())
}

/// Returns the rows of a strip.
fn rows_of(strip: usize, rows: usize) -> Range<usize> {
    strip * HEIGHT..rows.min((strip + 1) * HEIGHT)
}

/// Returns the steps of a strip: enough for all its entries, and for those of its longest row.
fn steps<T: Scalar>(matrix: &Csr<T>, strip: usize) -> usize {
    let rows = rows_of(strip, matrix.rows());
    let entries = matrix.row_offsets().get(rows.end) - matrix.row_offsets().get(rows.start);
    let mut longest = 0;
    for row in rows {
        longest = longest.max(matrix.range(row).len());
    }
    padded_strip_steps(entries, longest)
}

/// Returns the steps of a strip with `entries` entries, `longest` of them in its longest row.
pub(crate) fn padded_strip_steps(entries: usize, longest: usize) -> usize {
    entries.div_ceil(STEP).max(longest.div_ceil(ROW_STEP))
}

/// Returns the slots of a strip of `steps` steps, in the order in which its entries are dealt out.
///
/// Two entries of one row never share a partial sum in a step: its slots recur only after all [`ROW_STEP`] partial sums
/// of all steps, and no row has more entries than those.
fn places(steps: usize) -> impl Iterator<Item = usize> {
    (0..STEP / ROW_STEP).flat_map(move |round| {
        (0..steps).flat_map(move |step| (0..ROW_STEP).map(move |buffer| step * STEP + round * ROW_STEP + buffer))
    })
}

impl<T: Scalar> CmrsPadded<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(rows + slots).
    ///
    /// # Errors
    /// When there are 2^28 columns or more, the arrays contradict each other or the shape, an entry is outside the
    /// matrix, the number of steps of a strip is not minimal, its entries are not dealt out row by row, or padding has
    /// a value.
    pub fn try_new(
        rows: usize,
        columns: usize,
        strip_offsets: impl TryInto<Offsets, Error: Into<Error>>,
        words: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        let strip_offsets = strip_offsets.try_into().map_err(Into::into)?;
        check_shape(rows, columns)?;
        check_columns(columns, MOST_COLUMNS - 1)?;
        check_length("values", values.len(), words.len())?;
        let strips = rows.div_ceil(HEIGHT);
        strip_offsets.check("padded CMRS", "strip", strips, words.len())?;
        let mut matrix = Self { rows, columns, stored: 0, strip_offsets, words, values };
        matrix.stored = count_parts("padded CMRS", strips, |strip| matrix.check_strip(strip))?;
        Ok(matrix)
    }

    /// Checks a strip and returns its number of entries.
    fn check_strip(&self, strip: usize) -> Result<usize, String> {
        let height = rows_of(strip, self.rows).len();
        let (begin, end) = (self.strip_offsets.get(strip), self.strip_offsets.get(strip + 1));
        if !begin.is_multiple_of(STEP) || !end.is_multiple_of(STEP) {
            return Err(format!("strip {strip} is from {begin} to {end}, expected multiples of {STEP}"));
        }
        let mut lengths = [0; HEIGHT];
        let mut entries = 0;
        let mut last_row = 0;
        for place in places((end - begin) / STEP).map(|place| begin + place) {
            let word = self.words[place];
            if word == PADDING {
                if !same_bits(&[self.values[place]], &[T::ZERO]) {
                    return Err(format!("slot {place} has no entry, but the value {}, expected 0", self.values[place]));
                }
                last_row = HEIGHT;
                continue;
            }
            if !fits(word, height, self.columns) {
                return Err(misplaced(strip, place, word, height, self.columns));
            }
            let row = row_in_strip(word) as usize;
            if row < last_row {
                return Err(format!("slot {place} has an entry out of order in its strip"));
            }
            last_row = row;
            lengths[row] += 1;
            entries += 1;
        }
        let steps = padded_strip_steps(entries, lengths.into_iter().max().unwrap_or(0));
        if end - begin == STEP * steps {
            return Ok(entries);
        }
        Err(format!("strip {strip} has {} slots, expected {}", end - begin, STEP * steps))
    }

    /// Converts `matrix` to padded CMRS. Runs in parallel in O(rows + slots).
    ///
    /// # Errors
    /// When there are 2^28 columns or more, or the arrays would exceed `limit`, or cannot be allocated; nothing is then
    /// allocated.
    pub fn try_from_csr(matrix: &Csr<T>, limit: FillLimit) -> Result<Self, Error> {
        check_columns(matrix.columns(), MOST_COLUMNS - 1)?;
        let bytes = padded_bytes::<T, T>(matrix);
        limit.check("padded CMRS", bytes, matrix.bytes())?;
        let rows = matrix.rows();
        let strip_offsets = Offsets::from_lengths((0..rows.div_ceil(HEIGHT)).map(|strip| STEP * steps(matrix, strip)))?;
        let stored_places = strip_offsets.get(strip_offsets.len() - 1);
        let mut words = Vec::new();
        let mut values = Vec::new();
        let out_of_memory = |_| Error::OutOfMemory { what: "a padded CMRS matrix", bytes };
        words.try_reserve_exact(stored_places).map_err(out_of_memory)?;
        values.try_reserve_exact(stored_places).map_err(out_of_memory)?;
        words.resize(stored_places, PADDING);
        values.resize(stored_places, T::ZERO);
        parallel_rows(&strip_offsets, STRIPS_AT_ONCE, &mut words, &mut values, &|strips, words, values| {
            let base = strip_offsets.get(strips.start);
            for strip in strips {
                let begin = strip_offsets.get(strip) - base;
                let steps = (strip_offsets.get(strip + 1) - base - begin) / STEP;
                let mut places = places(steps);
                for row in rows_of(strip, rows) {
                    let row_in_strip = (row % HEIGHT) as u32;
                    for entry in matrix.range(row) {
                        let Some(place) = places.next() else { break };
                        words[begin + place] = pack(row_in_strip, matrix.column_indices()[entry]);
                        values[begin + place] = matrix.values()[entry];
                    }
                }
            }
            Ok(())
        })?;
        let (columns, stored) = (matrix.columns(), matrix.nnz());
        Ok(Self { rows, columns, stored, strip_offsets, words, values })
    }

    /// Returns the entries of a strip as words and values, row by row, in the order of CSR.
    fn entries(&self, strip: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        let range = self.strip_offsets.get(strip)..self.strip_offsets.get(strip + 1);
        places(range.len() / STEP)
            .map(move |place| (self.words[range.start + place], self.values[range.start + place]))
            .take_while(|&(word, _)| word != PADDING)
    }

    /// Calls `visit` with row, column and value of each entry; a row's entries come in the order of CSR.
    pub(super) fn for_each_entry(&self, mut visit: impl FnMut(usize, u32, T)) {
        for strip in 0..self.strip_offsets.len() - 1 {
            for (word, value) in self.entries(strip) {
                visit(strip * HEIGHT + row_in_strip(word) as usize, column_of(word), value);
            }
        }
    }

    /// Converts the matrix to CSR, with the entries in their original order. Runs in parallel in O(rows + slots).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        let row_offsets = count_rows(self.rows, HEIGHT, |strip| self.entries(strip).map(|(word, _)| word))?;
        let (mut column_indices, mut values) = (zeros(self.stored)?, zeros(self.stored)?);
        let rows_at_once = STRIPS_AT_ONCE * HEIGHT;
        parallel_rows(&row_offsets, rows_at_once, &mut column_indices, &mut values, &|rows, columns, values| {
            let entries = (rows.start / HEIGHT..rows.end.div_ceil(HEIGHT)).flat_map(|strip| self.entries(strip));
            for ((column, value), (word, entry)) in columns.iter_mut().zip(values).zip(entries) {
                (*column, *value) = (column_of(word), entry);
            }
            Ok(())
        })?;
        Ok(Csr::from_valid(self.rows, self.columns, row_offsets, column_indices, values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix with rows of the given lengths, and values 1, 2, 3 and so on.
    fn with_rows(lengths: &[usize]) -> Csr<f64> {
        let offsets = Offsets::from_lengths(lengths.iter().copied()).unwrap();
        let nnz: usize = lengths.iter().sum();
        let values = (1..=nnz).map(|entry| entry as f64).collect();
        Csr::try_new(lengths.len(), 9, offsets, (0..nnz).map(|entry| entry as u32 % 9).collect(), values).unwrap()
    }

    /// Checks what the kernel relies on: among the lanes of a step that share partial sums, all rows differ.
    fn check_steps(matrix: &CmrsPadded<f64>) {
        for (step, words) in matrix.words().as_chunks::<STEP>().0.iter().enumerate() {
            for buffer in 0..ROW_STEP {
                let words = words.iter().skip(buffer).step_by(ROW_STEP).filter(|&&word| word != PADDING);
                let mut rows: Vec<_> = words.map(|&word| row_in_strip(word)).collect();
                let entries = rows.len();
                rows.sort_unstable();
                rows.dedup();
                assert_eq!(rows.len(), entries, "step {step}, partial sum {buffer}");
            }
        }
    }

    #[test]
    fn no_two_lanes_of_a_step_meet() {
        let all: Vec<usize> = (0..16).map(|row| row * 3 % 16).collect();
        for (lengths, steps) in [
            (vec![], 0),
            (vec![0; 16], 0),
            (vec![1], 1),
            (vec![8], 1),
            (vec![9], 2),
            (vec![100], 13),
            (vec![0, 100], 13),
            (vec![8; 4], 1),
            (vec![7, 8, 8, 8], 1),
            (vec![8, 8, 8, 8, 1], 2),
            (vec![2; 16], 1),
            (vec![27; 16], 14),
            (vec![5, 40, 1, 40, 40, 3, 40], 6),
            (vec![5, 41, 1, 40, 40, 3, 40], 6),
            (vec![5, 48, 48, 48, 43], 6),
            (vec![5, 48, 48, 48, 44], 7),
            (all, 4),
            // Two strips, and three rows of a third.
            ([vec![3; 16], vec![0; 16], vec![64, 2, 2]].concat(), 2 + 8),
        ] {
            let csr = with_rows(&lengths);
            let matrix = CmrsPadded::try_from_csr(&csr, FillLimit::default()).unwrap();
            assert_eq!(matrix.words().len(), STEP * steps, "{lengths:?}");
            check_steps(&matrix);
            assert_eq!(matrix.to_csr().unwrap(), csr, "{lengths:?}");
        }
    }

    #[test]
    fn padding_is_no_entry_of_the_last_column() {
        let matrix = |columns: usize| {
            let mut offsets = vec![0u32; 17];
            offsets[16] = 1;
            Csr::try_new(16, columns, offsets, vec![columns as u32 - 1], vec![1.0f32]).unwrap()
        };
        let convert = |columns| CmrsPadded::try_from_csr(&matrix(columns), FillLimit::default());
        assert_eq!(convert((1 << 28) - 1).unwrap().to_csr().unwrap(), matrix((1 << 28) - 1));
        let error = convert(1 << 28).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, "the number of columns of a CMRS matrix is 268435456, and the limit is 268435455");
    }

    #[test]
    #[cfg_attr(miri, ignore = "131,072 rows")]
    fn padding_beyond_the_limit_is_refused() {
        // One entry per strip, which takes a step of 32 slots: 5 times CSR.
        let lengths: Vec<usize> = (0..1 << 17).map(|row| usize::from(row % HEIGHT == 3)).collect();
        let matrix = with_rows(&lengths);
        let bytes = 8192 * 32 * 12 + 8193 * 4;
        assert_eq!(padded_bytes::<f64, f64>(&matrix), bytes);
        assert_eq!(CmrsPadded::try_from_csr(&matrix, FillLimit::default()).unwrap().bytes(), bytes);
        let error = CmrsPadded::try_from_csr(&matrix, FillLimit { times_csr: 5.0 }).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Fill { predicted, .. } if predicted == bytes), "{error}");
    }
}
