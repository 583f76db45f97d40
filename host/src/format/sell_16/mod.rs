//! Sliced ELLPACK with columns of 16 bits: a slot takes a value and two bytes.

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
mod costs;
mod fused;
mod multivector;
pub(crate) mod product;
pub(crate) mod strategy;
pub(crate) mod widening;

use std::ops::Range;

use gpu_kernels::sell_16::{NO_ENTRY, SLICE_ROWS};

use crate::error::{Error, check_length};
use crate::format::check::{check_offsets, count_parts};
use crate::format::rows::collect_rows;
use crate::format::storage::storage;
use crate::format::{Csr, FillLimit, check_shape};
use crate::memory::{filled, same_bits, with_capacity, zeros};
use crate::parallel;
use crate::real::Scalar;
use crate::select::pattern::Pattern;

pub(crate) use strategy::Strategy;

/// Rows per slice.
pub(crate) const ROWS: usize = SLICE_ROWS as usize;

/// Words per column of slots, each with the offsets of two rows.
const WORDS: usize = ROWS / 2;

/// Largest number of entries per row: 64 such rows have less than 2^32.
const LONGEST_ROW: usize = u32::MAX as usize / ROWS;

storage! {
    /// A sparse matrix in SELL-16 format: slices of 64 rows each, in ELLPACK of their own width, where a slot has the
    /// 16-bit offset of its column from the smallest column in the same column of slots of the slice. A row's entries
    /// are in the order of CSR; where the next columns of the rows are 65,535 apart or more, those too far from the
    /// smallest wait for the next slot, and get padding. So any slot may be padding.
    ///
    /// In a column of slots, the word and the two values of lane l belong to rows l and l + 32 of the slice.
    pub struct Sell16 {
        parameters {}
        offsets {}
        arrays {
            /// Sum of the widths of all slices before each slice, then the sum of all: slices + 1 numbers.
            slice_begins: u64,
            /// Smallest column of the entries in each column of slots.
            bases: u32,
            /// Two offsets from the base for each of the 32 lanes of each column of slots: that of row l in the lower
            /// half, that of row l + 32 in the upper one; [`NO_ENTRY`] where there is no entry.
            column_offsets: u32,
            /// Values of the same rows, for each lane of each column of slots; 0 where there is no entry.
            values: T,
        }
    }
}

/// Returns the bytes of the SELL-16 arrays for `rows` rows and `width` columns of slots in all slices.
pub(crate) fn sell_16_bytes<T>(rows: usize, width: u128) -> u128 {
    let column = 4 * (1 + WORDS) + ROWS * size_of::<T>();
    width * column as u128 + 8 * (rows.div_ceil(ROWS) as u128 + 1)
}

/// Checks that no row is too long for the width of a slice to fit 32 bits.
pub(crate) fn check_row_length(longest_row: usize) -> Result<(), Error> {
    if longest_row > LONGEST_ROW {
        let (value, limit) = (longest_row as u128, LONGEST_ROW as u128);
        return Err(Error::TooLarge { what: "number of entries of a row", value, limit });
    }
    Ok(())
}

/// Returns the bytes that the SELL-16 arrays of `matrix` take with values of `V`. Runs in parallel in O(nnz) if rows
/// proceed through nearby columns together, and at most 64 times that.
///
/// # Errors
/// When memory runs out.
pub(super) fn predicted_bytes<T: Scalar, V>(matrix: &Csr<T>) -> Result<u128, Error> {
    let widths = parallel::map(matrix.rows().div_ceil(ROWS), 1, &|slice| sell_16_width(matrix, slice))?;
    Ok(sell_16_bytes::<V>(matrix.rows(), widths.into_iter().map(|width| width as u128).sum()))
}

/// Returns the number of slots per row of a slice.
pub(crate) fn sell_16_width(matrix: &impl Pattern, slice: usize) -> usize {
    let mut width = 0;
    for_each_place(matrix, slice, |_, _| width += 1);
    width
}

/// Calls `visit` with the base of each column of slots of a slice, and the entry of each row there; `usize::MAX` means
/// none.
fn for_each_place(matrix: &impl Pattern, slice: usize, mut visit: impl FnMut(u32, &[usize; ROWS])) {
    let first = slice * ROWS;
    let mut entries_of = [0; ROWS];
    let mut columns: [&[u32]; ROWS] = [&[]; ROWS];
    let mut next = [u32::MAX; ROWS];
    for row in 0..ROWS.min(matrix.rows() - first) {
        entries_of[row] = matrix.range(first + row).start;
        columns[row] = matrix.columns_of_row(first + row);
        next[row] = columns[row].first().copied().unwrap_or(u32::MAX);
    }
    loop {
        let mut base = u32::MAX;
        for &column in &next {
            base = base.min(column);
        }
        if base == u32::MAX {
            return;
        }
        let mut entries = [usize::MAX; ROWS];
        for (lane, next) in next.iter_mut().enumerate() {
            if *next != u32::MAX && *next - base < NO_ENTRY {
                entries[lane] = entries_of[lane];
                entries_of[lane] += 1;
                columns[lane] = &columns[lane][1..];
                *next = columns[lane].first().copied().unwrap_or(u32::MAX);
            }
        }
        visit(base, &entries);
    }
}

/// Returns the word and its half that hold the offset of a row of a slice. Its value has the index 2 · word + half in a
/// column of slots.
fn lane_of(row: usize) -> (usize, usize) {
    (row % WORDS, row / WORDS)
}

impl<T: Scalar> Sell16<T> {
    /// Builds a matrix from its arrays. Runs in parallel in O(slots).
    ///
    /// # Errors
    /// When the length of an array contradicts the others or the shape, a column of slots has no entry at its base, a
    /// column is not below `columns`, an entry is beyond the last row, or padding has a value.
    pub fn try_new(
        rows: usize,
        columns: usize,
        slice_begins: Vec<u64>,
        bases: Vec<u32>,
        column_offsets: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        check_shape(rows, columns)?;
        let slices = rows.div_ceil(ROWS);
        check_offsets("SELL-16", "slice", &slice_begins, slices, bases.len())?;
        check_length("column_offsets", column_offsets.len(), bases.len().saturating_mul(WORDS))?;
        check_length("values", values.len(), bases.len().saturating_mul(ROWS))?;
        let mut matrix = Self { rows, columns, stored: 0, slice_begins, bases, column_offsets, values };
        matrix.stored = count_parts("SELL-16", slices, |slice| {
            let first_row = slice * ROWS;
            let [begin, end] = [matrix.slice_begins[slice], matrix.slice_begins[slice + 1]].map(|begin| begin as usize);
            if end - begin > u32::MAX as usize {
                return Err(format!("slice {slice} is {} slots wide, expected at most {}", end - begin, u32::MAX));
            }
            let mut entries = 0;
            for place in begin..end {
                let mut at_base = false;
                for row in 0..ROWS {
                    let name = || format!("slot {} of row {}", place - begin, first_row + row);
                    let (offset, value) = matrix.at(place, row);
                    let column = u64::from(matrix.bases[place]) + u64::from(offset);
                    if offset == NO_ENTRY {
                        if !same_bits(&[value], &[T::ZERO]) {
                            return Err(format!("{} has no entry, but the value {value}, expected 0", name()));
                        }
                    } else if first_row + row >= rows {
                        return Err(format!("{} has an entry, but there are only {rows}", name()));
                    } else if column >= columns as u64 {
                        return Err(format!("{} is in column {column} of {columns}", name()));
                    } else {
                        entries += 1;
                        at_base |= offset == 0;
                    }
                }
                if !at_base {
                    return Err(format!("slot {} of slice {slice} has no entry at its base", place - begin));
                }
            }
            Ok(entries)
        })?;
        Ok(matrix)
    }

    /// Converts `matrix` to SELL-16. Runs in parallel in O(slots).
    ///
    /// # Errors
    /// When a row has 2^26 entries or more, or the arrays would exceed `limit` or cannot be allocated; they are then
    /// not allocated.
    pub fn try_from_csr(matrix: &Csr<T>, limit: FillLimit) -> Result<Self, Error> {
        check_row_length(matrix.longest_row())?;
        let slices = matrix.rows().div_ceil(ROWS);
        let mut slice_begins = zeros::<u64>(slices + 1)?;
        parallel::fill(&mut slice_begins[1..], 1, &|slice| sell_16_width(matrix, slice) as u64);
        let mut width = 0u64;
        for end in &mut slice_begins {
            width += *end;
            *end = width;
        }
        let bytes = sell_16_bytes::<T>(matrix.rows(), width.into());
        limit.check("SELL-16", bytes, matrix.bytes())?;
        let out_of_memory = || Error::OutOfMemory { what: "a SELL-16 matrix", bytes };
        let width = usize::try_from(width).ok().filter(|width| width.checked_mul(ROWS).is_some());
        let width = width.ok_or_else(out_of_memory)?;
        let (mut bases, mut column_offsets) = (filled(width, 0u32)?, filled(width * WORDS, 0u32)?);
        let mut values = filled(width * ROWS, T::ZERO)?;
        let (mut bases_left, mut offsets_left, mut values_left) =
            (&mut bases[..], &mut column_offsets[..], &mut values[..]);
        let mut parts = with_capacity(slices)?;
        for ends in slice_begins.windows(2) {
            let width = (ends[1] - ends[0]) as usize;
            let (of_slice, rest) = bases_left.split_at_mut(width);
            bases_left = rest;
            let (offsets_of_slice, rest) = offsets_left.split_at_mut(width * WORDS);
            offsets_left = rest;
            let (values_of_slice, rest) = values_left.split_at_mut(width * ROWS);
            values_left = rest;
            parts.push((of_slice, offsets_of_slice, values_of_slice));
        }
        parallel::map_items(parts, &|(slice, (bases, offsets, values))| {
            let words_and_values = offsets.chunks_exact_mut(WORDS).zip(values.chunks_exact_mut(ROWS));
            let mut places = bases.iter_mut().zip(words_and_values);
            for_each_place(matrix, slice, |base, entries| {
                let Some((base_of_place, (words, values))) = places.next() else { return };
                *base_of_place = base;
                for (row, &entry) in entries.iter().enumerate() {
                    let (word, half) = lane_of(row);
                    let column = matrix.column_indices().get(entry);
                    words[word] |= column.map_or(NO_ENTRY, |column| column - base) << (16 * half);
                    values[2 * word + half] = matrix.values().get(entry).copied().unwrap_or(T::ZERO);
                }
            });
        })?;
        let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
        Ok(Self { rows, columns, stored, slice_begins, bases, column_offsets, values })
    }

    /// Returns the offset, or [`NO_ENTRY`], and the value of a row of a slice in a column of slots.
    fn at(&self, place: usize, row: usize) -> (u32, T) {
        let (word, half) = lane_of(row);
        let word = place * WORDS + word;
        (self.column_offsets[word] >> (16 * half) & NO_ENTRY, self.values[2 * word + half])
    }

    /// Returns the columns of slots of a slice.
    pub(crate) fn places_of(&self, slice: usize) -> Range<usize> {
        self.slice_begins[slice] as usize..self.slice_begins[slice + 1] as usize
    }

    /// Returns the entries of a row, as column and value.
    ///
    /// # Panics
    /// When `row` is not below [`rows`](Self::rows).
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        self.places_of(row / ROWS).filter_map(move |place| {
            let (offset, value) = self.at(place, row % ROWS);
            (offset != NO_ENTRY).then(|| (self.bases[place] + offset, value))
        })
    }

    /// Converts the matrix to CSR. Runs in parallel in O(slots).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        collect_rows(self.rows, self.columns, |row| self.row(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Matrix;

    const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

    /// A matrix with the given columns in its rows; the values number the entries.
    fn with_columns(width: usize, rows: &[&[u32]]) -> Csr<f64> {
        let offsets = crate::format::Offsets::from_lengths(rows.iter().map(|row| row.len())).unwrap();
        let values = (1..=rows.iter().map(|row| row.len()).sum()).map(|entry: usize| entry as f64).collect();
        Csr::try_new(rows.len(), width, offsets, rows.concat(), values).unwrap()
    }

    /// Offsets of some rows of the first slice, slot by slot.
    fn offsets(matrix: &Sell16<f64>, rows: &[usize]) -> Vec<Vec<u32>> {
        matrix.places_of(0).map(|place| rows.iter().map(|&row| matrix.at(place, row).0).collect()).collect()
    }

    #[test]
    fn rows_whose_columns_are_near_share_a_base() {
        let mut rows: Vec<&[u32]> = vec![&[]; 70];
        (rows[0], rows[1], rows[33], rows[69]) = (&[5, 9], &[7], &[6, 6, 3], &[1]);
        let matrix = with_columns(10, &rows);
        let sell = Sell16::try_from_csr(&matrix, UNLIMITED).unwrap();
        assert_eq!((sell.slice_begins(), sell.bases()), (&vec![0, 3, 4], &vec![5, 6, 3, 1]));
        assert_eq!(offsets(&sell, &[0, 1, 33]), [[0, 2, 1], [3, NO_ENTRY, 0], [NO_ENTRY, NO_ENTRY, 0]]);
        // Rows 1 and 33 share a word, and the first is in its lower half.
        assert_eq!((sell.column_offsets()[1], &sell.values()[2..4]), (0x0001_0002, &[3.0, 4.0][..]));
        assert_eq!(sell.bytes(), 4 * (4 + 128 + 512) + 3 * 8);
        // All slots are counted, and a product moves the arrays, x and y.
        assert_eq!(sell.places(), 64 * sell.bases().len());
        let needed = Matrix::from(sell.clone()).bytes_needed();
        assert_eq!(needed, sell.bytes() + 8 * (70 + 10));
        assert_eq!(sell.to_csr().unwrap(), matrix);
    }

    #[test]
    fn rows_that_are_too_far_from_the_base_wait() {
        let far = 65_535;
        let matrix = with_columns(300_000, &[&[0, far], &[far - 1, 2 * far], &[far, far + 1], &[200_000]]);
        let sell = Sell16::try_from_csr(&matrix, UNLIMITED).unwrap();
        assert_eq!(sell.bases(), &[0, far, far + 1, 200_000]);
        let expected = [
            [0, far - 1, NO_ENTRY, NO_ENTRY],
            [0, NO_ENTRY, 0, NO_ENTRY],
            [NO_ENTRY, far - 1, 0, NO_ENTRY],
            [NO_ENTRY, NO_ENTRY, NO_ENTRY, 0],
        ];
        assert_eq!(offsets(&sell, &[0, 1, 2, 3]), expected);
        assert_eq!(sell.to_csr().unwrap(), matrix);
        assert_eq!(predicted_bytes::<_, f64>(&matrix).unwrap(), sell.bytes());
    }

    #[test]
    fn a_stencil_whose_planes_are_far_apart_has_no_padding_of_its_own() {
        // Seven points on a grid of 300 x 300: rows without a neighbour wait where it would be.
        let columns = |row: i64| -> Vec<u32> {
            let all = [-90_000, -300, -1, 0, 1, 300, 90_000].map(|step| row + step);
            let near = |&column: &i64| (column - row).abs() != 1 || column / 300 == row / 300;
            all.iter().filter(|column| near(column)).map(|&column| column as u32).collect()
        };
        let rows: Vec<_> = (90_200..90_264).map(columns).chain((90_280..90_344).map(columns)).collect();
        let rows: Vec<&[u32]> = rows.iter().map(|row| &row[..]).collect();
        let sell = Sell16::try_from_csr(&with_columns(200_000, &rows), UNLIMITED).unwrap();
        assert_eq!(sell.slice_begins(), &[0, 7, 14]);
    }

    #[test]
    fn arrays_that_contradict_each_other_are_refused() {
        let arrays = |bases: &[u32], change: Option<(usize, u32)>, value: f64| {
            let mut words = vec![0xFFFF_FFFF; 32 * bases.len()];
            words[0] = 0xFFFF_0000;
            if let Some((word, offsets)) = change {
                words[word] = offsets;
            }
            let mut values = vec![0.0; 64 * bases.len()];
            values[1] = value;
            Sell16::try_new(3, 10, vec![0, bases.len() as u64], bases.to_vec(), words, values)
        };
        assert_eq!(arrays(&[9], None, 0.0).unwrap().nnz(), 1);
        for (matrix, message) in [
            (arrays(&[10], None, 0.0), "slot 0 of row 0 is in column 10 of 10"),
            (arrays(&[9], Some((1, 0xFFFF_0001)), 0.0), "slot 0 of row 1 is in column 10 of 10"),
            (arrays(&[9], Some((3, 0xFFFF_0000)), 0.0), "slot 0 of row 3 has an entry, but there are only 3"),
            (arrays(&[9], Some((0, 0x0000_FFFF)), 0.0), "slot 0 of row 32 has an entry, but there are only 3"),
            (arrays(&[9], None, 2.0), "slot 0 of row 32 has no entry, but the value 2, expected 0"),
            (arrays(&[8], Some((0, 0xFFFF_0001)), 0.0), "slot 0 of slice 0 has no entry at its base"),
        ] {
            assert_eq!(matrix.map(|_| ()).unwrap_err().to_string(), format!("SELL-16 matrix: {message}"));
        }
        let error = Sell16::try_new(3, 10, vec![0, 1], vec![0], vec![0; 31], vec![0.0; 64]).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "column_offsets has length 31, expected 32");
    }

    #[test]
    fn a_row_of_too_many_entries_is_refused() {
        assert!(check_row_length((1 << 26) - 1).is_ok());
        let error = check_row_length(1 << 26).unwrap_err();
        assert_eq!(error.to_string(), "the number of entries of a row is 67108864, and the limit is 67108863");
    }
}
