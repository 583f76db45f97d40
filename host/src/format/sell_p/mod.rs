//! Sliced ELLPACK with padding (Anzt et al. 2020, §3.5).

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
mod costs;
mod fused;
mod multivector;
pub(crate) mod product;
pub(crate) mod strategy;

use gpu_kernels::ell::PADDING;

use crate::error::{Error, check_length};
use crate::format::check::{Places, check_offsets, check_permutation, count_parts};
use crate::format::rows::{collect_rows, parallel_rows};
use crate::format::storage::{Parameter, storage};
use crate::format::{Csr, FillLimit, Offsets, check_shape};
use crate::memory::{collect, zeros};
use crate::parallel;
use crate::real::Scalar;

pub use by_kernels::{from_csr, into_csr};
pub(crate) use strategy::Strategy;

/// Slices per task when filling.
const SLICES_AT_ONCE: usize = 64;

/// Grouping of rows into slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slicing {
    /// Rows per slice, at least 1. A multiple of 32 keeps a warp's reads in full cache lines.
    pub slice_size: u32,
    /// The width of a slice is rounded up to a multiple of this, at least 1.
    pub stride_factor: u32,
    /// Within each window of this many rows, the longest come first, so slices hold rows of similar lengths; the result
    /// is still in the original row order. 1, which keeps the rows in order, or a multiple of `slice_size`.
    pub sigma: u32,
}

impl Slicing {
    /// Slices of 64 rows, as in the paper, without sorting.
    pub const UNSORTED: Self = Self { slice_size: 64, stride_factor: 1, sigma: 1 };

    /// Slices of 64 rows, sorted within 16 slices: far enough to even out lengths, and near enough for the rows of a
    /// warp to share what they read of x.
    pub const SORTED: Self = Self { slice_size: 64, stride_factor: 1, sigma: 16 * 64 };

    /// Explains how the parameters contradict each other, if they do.
    fn contradiction(self) -> Option<String> {
        if self.slice_size == 0 || self.stride_factor == 0 {
            return Some("the slice size and the stride factor must be at least 1".into());
        }
        if self.sigma != 1 && (self.sigma == 0 || !self.sigma.is_multiple_of(self.slice_size)) {
            return Some(format!("sigma is {}, neither 1 nor a multiple of {} rows", self.sigma, self.slice_size));
        }
        None
    }

    /// Checks that the parameters do not contradict each other.
    pub(crate) fn check(self) -> Result<(), Error> {
        self.contradiction().map_or(Ok(()), |reason| Err(Error::structure("SELL-P", reason)))
    }

    /// Checks that rows of at most `longest_row` entries do not get too many slots.
    pub(crate) fn check_width(self, longest_row: usize) -> Result<(), Error> {
        let width = longest_row as u128 + u128::from(self.stride_factor);
        if width > u32::MAX.into() {
            return Err(Error::TooLarge { what: "number of slots of a row", value: width, limit: u32::MAX.into() });
        }
        Ok(())
    }
}

impl Parameter for Slicing {
    fn append_to(self, numbers: &mut Vec<u64>) {
        numbers.extend([self.slice_size, self.stride_factor, self.sigma].map(u64::from));
    }
}

storage! {
    /// A sparse matrix in SELL-P format: slices of some rows each, in ELLPACK of their own width. The first slots of
    /// all rows of a slice come first, then the second ones, and so on. A row's entries come before its padding, in the
    /// order of CSR.
    pub struct SellP {
        parameters {
            /// Grouping of the rows.
            slicing: Slicing,
        }
        offsets {}
        arrays {
            /// Sum of the widths of all slices before each slice, then the sum of all: slices + 1 numbers. The slots of
            /// a slice begin at this number times the slice size.
            slice_begins: u64,
            /// Row at each position; empty if the rows are in their original order.
            row_indices: u32,
            /// Column of each slot; [`PADDING`] where there is no entry.
            column_indices: u32,
            /// Value of each slot; 0 where there is no entry.
            values: T,
        }
    }
}

/// Returns the bytes of the SELL-P arrays.
pub(crate) fn sell_p_bytes<T>(places: u128, slice_begins: usize, row_indices: usize) -> u128 {
    places * (4 + size_of::<T>() as u128) + slice_begins as u128 * 8 + row_indices as u128 * 4
}

/// Returns the bytes that the SELL-P arrays of `matrix` take with values of `V`. O(rows log(sigma)).
///
/// # Errors
/// When the slicing contradicts itself, or memory runs out.
pub(super) fn predicted_bytes<T: Scalar, V>(matrix: &Csr<T>, slicing: Slicing) -> Result<u128, Error> {
    slicing.check()?;
    let Layout { row_indices, slice_begins } = Layout::new(matrix, slicing)?;
    Ok(sell_p_bytes::<V>(places(&slice_begins, slicing), slice_begins.len(), row_indices.len()))
}

/// Arrangement of the rows.
struct Layout {
    row_indices: Vec<u32>,
    slice_begins: Vec<u64>,
}

impl Layout {
    fn new<T: Scalar>(matrix: &Csr<T>, slicing: Slicing) -> Result<Self, Error> {
        let length = |row: usize| matrix.range(row).len();
        let mut row_indices = Vec::new();
        if slicing.sigma > 1 {
            row_indices = collect(0..matrix.rows() as u32)?;
            parallel::try_chunks_mut(&mut row_indices, slicing.sigma as usize, &|(_, rows)| {
                // Longer rows have smaller keys; among rows of the same length, earlier ones do.
                let key = |&row: &u32| {
                    let length = u32::try_from(length(row as usize)).unwrap_or(u32::MAX);
                    u64::from(!length) << 32 | u64::from(row)
                };
                let mut keys = collect(rows.iter().map(key))?;
                keys.sort_unstable();
                rows.iter_mut().zip(keys).for_each(|(row, key)| *row = key as u32);
                Ok(())
            })?;
        }
        let slice_size = slicing.slice_size as usize;
        let mut slice_begins = zeros::<u64>(matrix.rows().div_ceil(slice_size) + 1)?;
        parallel::fill(&mut slice_begins[1..], SLICES_AT_ONCE, &|slice| {
            let positions = slice * slice_size..matrix.rows().min((slice + 1) * slice_size);
            let mut longest = 0;
            for position in positions {
                longest = longest.max(length(row_at(&row_indices, position)));
            }
            (longest as u64).next_multiple_of(slicing.stride_factor.into())
        });
        let mut begin = 0;
        for end in &mut slice_begins {
            begin += *end;
            *end = begin;
        }
        Ok(Self { row_indices, slice_begins })
    }
}

/// Returns the row at a position; an empty permutation is the identity.
fn row_at(row_indices: &[u32], position: usize) -> usize {
    row_indices.get(position).map_or(position, |&row| row as usize)
}

/// Returns the slots of all slices. Cannot overflow.
fn places(slice_begins: &[u64], slicing: Slicing) -> u128 {
    slice_begins.last().map_or(0, |&end| u128::from(end) * u128::from(slicing.slice_size))
}

impl<T: Scalar> SellP<T> {
    /// Builds a matrix from its arrays; `row_indices` is empty if `slicing` does not sort. Runs in parallel in O(rows +
    /// slots).
    ///
    /// # Errors
    /// When the slicing contradicts itself, the length of an array contradicts the others or the shape, a slice is not
    /// as wide as its longest row, rounded up, rows are not sorted within their window, a column index is not below
    /// `columns`, an entry comes after padding, or padding has a value.
    pub fn try_new(
        rows: usize,
        columns: usize,
        slicing: Slicing,
        slice_begins: Vec<u64>,
        row_indices: Vec<u32>,
        column_indices: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        check_shape(rows, columns)?;
        slicing.check()?;
        let slice_size = slicing.slice_size as usize;
        let slices = rows.div_ceil(slice_size);
        check_offsets("SELL-P", "slice", &slice_begins, slices, column_indices.len() / slice_size)?;
        check_length("column_indices", column_indices.len(), column_indices.len() / slice_size * slice_size)?;
        check_length("values", values.len(), column_indices.len())?;
        check_length("row_indices", row_indices.len(), if slicing.sigma > 1 { rows } else { 0 })?;
        let stride_factor = slicing.stride_factor as usize;
        let stored = count_parts("SELL-P", slices, |slice| {
            let [begin, end] = [slice_begins[slice], slice_begins[slice + 1]].map(|begin| begin as usize);
            let range = begin * slice_size..end * slice_size;
            let first_row = slice * slice_size;
            let places = Places {
                row: "position",
                first_row,
                rows: slice_size.min(rows - first_row),
                columns,
                stride: slice_size,
                column_indices: &column_indices[range.clone()],
                values: &values[range],
            };
            let width = end - begin;
            if width > u32::MAX as usize {
                return Err(format!("slice {slice} is {width} slots wide, expected at most {}", u32::MAX));
            }
            let fits = width == 0 || width.is_multiple_of(stride_factor) && places.reach(width - stride_factor);
            if !fits {
                return Err(format!("slice {slice} is {width} slots wide, expected its longest row, rounded up"));
            }
            places.check(0..slice_size)
        })?;
        let matrix = Self { rows, columns, stored, slicing, slice_begins, row_indices, column_indices, values };
        let window = slicing.sigma as usize;
        count_parts("SELL-P", matrix.row_indices.len().div_ceil(window), |number| {
            let positions = number * window..rows.min((number + 1) * window);
            check_permutation("row", &matrix.row_indices[positions.clone()], positions.start)?;
            let mut longest = usize::MAX;
            for position in positions {
                let length = matrix.entries_at(position).count();
                if length > longest {
                    return Err(format!("position {position} has {length} entries, more than the one before it"));
                }
                longest = length;
            }
            Ok(0)
        })?;
        Ok(matrix)
    }

    /// Converts `matrix` to SELL-P. Runs in parallel in O(rows log(sigma) + slots).
    ///
    /// # Errors
    /// When the slicing contradicts itself, a row has 2^32 slots or more, or the arrays would exceed `limit` or cannot
    /// be allocated; they are then not allocated.
    pub fn try_from_csr(matrix: &Csr<T>, slicing: Slicing, limit: FillLimit) -> Result<Self, Error> {
        slicing.check()?;
        slicing.check_width(matrix.longest_row())?;
        let Layout { row_indices, slice_begins } = Layout::new(matrix, slicing)?;
        let places = places(&slice_begins, slicing);
        let bytes = sell_p_bytes::<T>(places, slice_begins.len(), row_indices.len());
        limit.check("SELL-P", bytes, matrix.bytes())?;
        let out_of_memory = || Error::OutOfMemory { what: "a SELL-P matrix", bytes };
        let places = usize::try_from(places).map_err(|_| out_of_memory())?;
        let mut column_indices = Vec::new();
        let mut values = Vec::new();
        column_indices.try_reserve_exact(places).map_err(|_| out_of_memory())?;
        values.try_reserve_exact(places).map_err(|_| out_of_memory())?;
        column_indices.resize(places, PADDING);
        values.resize(places, T::ZERO);
        let slice_size = slicing.slice_size as usize;
        let slices = slice_begins.windows(2).map(|pair| (pair[1] - pair[0]) as usize * slice_size);
        let offsets = Offsets::from_lengths(slices)?;
        parallel_rows(&offsets, SLICES_AT_ONCE, &mut column_indices, &mut values, &|slices, columns, values| {
            let base = offsets.get(slices.start);
            for position in slices.start * slice_size..matrix.rows().min(slices.end * slice_size) {
                let mut place = offsets.get(position / slice_size) - base + position % slice_size;
                for entry in matrix.range(row_at(&row_indices, position)) {
                    columns[place] = matrix.column_indices()[entry];
                    values[place] = matrix.values()[entry];
                    place += slice_size;
                }
            }
            Ok(())
        })?;
        let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
        Ok(Self { rows, columns, stored, slicing, slice_begins, row_indices, column_indices, values })
    }

    /// Returns the row at a position; the positions of a slice are consecutive. A position beyond the last is returned
    /// unchanged.
    pub fn row_at(&self, position: usize) -> usize {
        row_at(&self.row_indices, position)
    }

    /// Returns the entries of the row at a position, as column and value.
    ///
    /// # Panics
    /// When `position` is not below [`rows`](Self::rows).
    pub fn entries_at(&self, position: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        let slice_size = self.slicing.slice_size as usize;
        let slice = position / slice_size;
        (self.slice_begins[slice] as usize..self.slice_begins[slice + 1] as usize)
            .map(move |begin| begin * slice_size + position % slice_size)
            .map(|place| (self.column_indices[place], self.values[place]))
            .take_while(|&(column, _)| column != PADDING)
    }

    /// Converts the matrix to CSR. Runs in parallel in O(slots).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        let mut positions = zeros::<u32>(self.row_indices.len())?;
        for (position, &row) in self.row_indices.iter().enumerate() {
            positions[row as usize] = position as u32;
        }
        collect_rows(self.rows, self.columns, |row| self.entries_at(row_at(&positions, row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the given lengths; the values number the entries.
    fn with_lengths(lengths: &[usize]) -> Csr<f64> {
        let offsets = Offsets::from_lengths(lengths.iter().copied()).unwrap();
        let columns = lengths.iter().flat_map(|&length| 0..length as u32).collect();
        let values = (0..lengths.iter().sum()).map(|entry| entry as f64).collect();
        Csr::try_new(lengths.len(), 10, offsets, columns, values).unwrap()
    }

    fn slicing(slice_size: u32, stride_factor: u32, sigma: u32) -> Slicing {
        Slicing { slice_size, stride_factor, sigma }
    }

    #[test]
    fn each_slice_has_its_own_width() {
        let matrix = with_lengths(&[1, 3, 0, 0, 5]);
        let sell = SellP::try_from_csr(&matrix, slicing(2, 1, 1), FillLimit::default()).unwrap();
        assert_eq!(sell.slice_begins(), &[0, 3, 3, 8]);
        assert_eq!(sell.bytes(), 16 * 12 + 4 * 8);
        assert_eq!(sell.values()[..6], [0.0, 1.0, 0.0, 2.0, 0.0, 3.0]);
        assert_eq!(sell.column_indices()[..6], [0, 0, PADDING, 1, PADDING, 2]);
        // The stride factor rounds up.
        let sell = SellP::try_from_csr(&matrix, slicing(2, 4, 1), FillLimit::default()).unwrap();
        assert_eq!(sell.slice_begins(), &[0, 4, 4, 12]);
    }

    #[test]
    fn rows_are_sorted_within_their_window_alone() {
        let matrix = with_lengths(&[1, 3, 0, 3, 9, 0, 7]);
        let sell = SellP::try_from_csr(&matrix, slicing(2, 1, 4), FillLimit::default()).unwrap();
        assert_eq!(sell.row_indices(), &[1, 3, 0, 2, 4, 6, 5]);
        assert_eq!(sell.slice_begins(), &[0, 3, 4, 13, 13]);
        assert_eq!(sell.bytes(), 26 * 12 + 5 * 8 + 7 * 4);
        assert_eq!(sell.entries_at(3).count(), 0);
        assert_eq!(sell.entries_at(2).collect::<Vec<_>>(), [(0, 0.0)]);
    }

    #[test]
    fn every_slicing_gives_back_the_same_matrix() {
        let all = [0, 1, 63, 64, 65, 129, 1000];
        for &rows in if cfg!(miri) { &[0, 65][..] } else { &all } {
            let lengths: Vec<usize> = (0..rows).map(|row| row * 7 % 11).collect();
            let matrix = with_lengths(&lengths);
            for slicing in [
                slicing(1, 1, 1),
                slicing(3, 2, 9),
                slicing(5, 4, 1),
                slicing(64, 1, 64),
                Slicing::UNSORTED,
                Slicing::SORTED,
                slicing(4096, 1, 1),
            ] {
                let sell = SellP::try_from_csr(&matrix, slicing, FillLimit::default()).unwrap();
                assert_eq!(predicted_bytes::<_, f64>(&matrix, slicing).unwrap(), sell.bytes());
                assert_eq!(sell.to_csr().unwrap(), matrix, "{slicing:?}");
            }
        }
    }

    #[test]
    fn slices_that_contradict_themselves_are_refused() {
        for (slicing, message) in [
            (slicing(0, 1, 1), "SELL-P matrix: the slice size and the stride factor must be at least 1"),
            (slicing(1, 0, 1), "SELL-P matrix: the slice size and the stride factor must be at least 1"),
            (slicing(64, 1, 0), "SELL-P matrix: sigma is 0, neither 1 nor a multiple of 64 rows"),
            (slicing(64, 1, 96), "SELL-P matrix: sigma is 96, neither 1 nor a multiple of 64 rows"),
        ] {
            let error = SellP::try_from_csr(&with_lengths(&[1]), slicing, FillLimit::default()).map(|_| ());
            assert_eq!(error.unwrap_err().to_string(), message);
        }
    }
}
