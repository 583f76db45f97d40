//! Several right-hand sides at once, Y ← α A X + β Y: the matrix is read once for a tile of up to 32 vectors
//! (block vectors, Bell & Garland 2009, §6).
//!
//! One lane a vector: the lanes of a group read the same entry, which costs one access, and each multiplies it with
//! its own vector's element. Where the first elements of all vectors come first, those are neighbours. The number of
//! lanes is known at run time only, because nothing depends on it but where a lane stands.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, Plain, kernel};

use crate::Offset;
use crate::absent::Absent;
use crate::bcsr::sums_of_blocks;
use crate::block::{Block, unrolled};
use crate::coo::end_of_run;
use crate::csr::sum_of_entries;
use crate::sell_p::sum_of_row;
use crate::vector::{add, update};

/// The vectors of one launch, and where they lie: element `i` of vector `j` is at `i` times the element stride plus
/// `j` times the vector stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Tile {
    /// Lanes of a group, with a vector each; a power of two, at most 32.
    pub lanes: u32,
    /// The vector of each group's first lane.
    pub first_vector: u32,
    /// Number of vectors in all; lanes beyond the last one have nothing to do.
    pub vectors: u32,
    /// From one element of a vector to its next, in X and in Y.
    pub element_stride: u32,
    /// From one vector of X to the next.
    pub x_vector_stride: u32,
    /// From one vector of Y to the next.
    pub y_vector_stride: u32,
}

// SAFETY: six numbers of the same size.
unsafe impl Plain for Tile {}

impl Tile {
    /// The number of this thread's group.
    #[inline(always)]
    fn group(self) -> u32 {
        index_1d() >> self.lanes.trailing_zeros()
    }

    /// Number of groups in the grid.
    #[inline(always)]
    fn groups(self) -> u32 {
        grid_threads() >> self.lanes.trailing_zeros()
    }

    /// This thread's number in its group.
    #[inline(always)]
    fn lane(self) -> u32 {
        index_1d() & (self.lanes - 1)
    }

    /// Whether there is a vector for this thread.
    #[inline(always)]
    fn has_vector(self) -> bool {
        self.first_vector + self.lane() < self.vectors
    }

    /// Where this thread's vector of X has its element for `column`.
    #[inline(always)]
    fn x_place(self, column: u32) -> u64 {
        self.place(column, self.x_vector_stride)
    }

    /// Where this thread's vector of Y has its element for `row`.
    #[inline(always)]
    fn y_place(self, row: u32) -> u64 {
        self.place(row, self.y_vector_stride)
    }

    #[inline(always)]
    fn place(self, element: u32, vector_stride: u32) -> u64 {
        let vector = self.first_vector + self.lane();
        u64::from(element) * u64::from(self.element_stride) + u64::from(vector) * u64::from(vector_stride)
    }
}

/// CSR, a group of lanes a row.
///
/// # Safety
/// The arrays are those of a valid CSR matrix with `rows` rows; `x` and `y` hold the vectors that `tile` tells of, of
/// as many elements as the matrix has columns and rows.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn csr_multivector<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A X.
    alpha: T,
    /// The vectors that are multiplied.
    x: Global<T>,
    /// The factor of Y.
    beta: T,
    /// The results.
    y: GlobalMut<T>,
) {
    if !tile.has_vector() {
        return;
    }
    let mut row = tile.group();
    while row < rows {
        let (begin, end) = (row_offsets.load(row), row_offsets.load(row + 1));
        let element = |column| x.load(tile.x_place(column));
        let sum = sum_of_entries::<T, O, 1>(begin, end, column_indices, values, element);
        update(y, tile.y_place(row), alpha, sum, beta);
        row += tile.groups();
    }
}

/// SELL-P, a group of lanes a row, whether the rows are stored in their own order or in another one.
///
/// # Safety
/// The arrays are those of a valid SELL-P matrix with `rows` rows in slices of `slice_size`, at least 1; `row_indices`
/// holds each row once, or nothing if the rows are in their own order. `x` and `y` are as for [`csr_multivector`].
#[kernel(T: scalars)]
pub unsafe fn sell_p_multivector<T: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// Rows of a slice.
    slice_size: u32,
    /// The widths of all slices before this one, added up; one more than there are slices.
    slice_begins: Global<u64>,
    /// Number of row indices: `rows`, or 0 if the rows are in their own order.
    sorted_rows: u32,
    /// The row at each position.
    row_indices: Global<u32>,
    /// The column of each entry, or [`PADDING`](crate::ell::PADDING).
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A X.
    alpha: T,
    /// The vectors that are multiplied.
    x: Global<T>,
    /// The factor of Y.
    beta: T,
    /// The results.
    y: GlobalMut<T>,
) {
    if !tile.has_vector() {
        return;
    }
    let mut position = tile.group();
    while position < rows {
        let element = |column| x.load(tile.x_place(column));
        let sum = sum_of_row(position, slice_size, slice_begins, column_indices, values, element);
        let row = if position < sorted_rows { row_indices.load(position) } else { position };
        update(y, tile.y_place(row), alpha, sum, beta);
        position += tile.groups();
    }
}

/// BCSR, a group of lanes a block row; each lane has the sums of all its rows.
///
/// # Safety
/// The arrays are those of a valid BCSR matrix with blocks of `SIZE` and `rows` rows; `x` and `y` are as for
/// [`csr_multivector`], and X has `last_column` + 1 elements in a vector if there is any block.
#[kernel(T: scalars, SIZE: [12, 22, 23, 32, 33, 34, 44, 55, 66, 77, 88])]
pub unsafe fn bcsr_multivector<T: Absent, const SIZE: u32>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// The last column.
    last_column: u32,
    /// Where each block row begins, counted in blocks; block rows + 1 offsets.
    block_offsets: Global<u32>,
    /// The first column of each block.
    first_columns: Global<u32>,
    /// The words of the blocks, as [`bcsr`](crate::bcsr::bcsr) has them.
    values: Global<T>,
    /// The factor of A X.
    alpha: T,
    /// The vectors that are multiplied.
    x: Global<T>,
    /// The factor of Y.
    beta: T,
    /// The results.
    y: GlobalMut<T>,
) {
    if !tile.has_vector() {
        return;
    }
    let block_rows = rows.div_ceil(Block::<SIZE>::ROWS);
    let mut block_row = tile.group();
    while block_row < block_rows {
        let (begin, end) = (block_offsets.load(block_row), block_offsets.load(block_row + 1));
        let element = |column| x.load(tile.x_place(column));
        let sums = sums_of_blocks::<T, SIZE, 1>(begin, end, 0, last_column, first_columns, values, element);
        unrolled(Block::<SIZE>::ROWS, |row_in_block| {
            let row = block_row * Block::<SIZE>::ROWS + row_in_block;
            if row < rows {
                update(y, tile.y_place(row), alpha, sums[row_in_block as usize], beta);
            }
        });
        block_row += tile.groups();
    }
}

/// COO, Y ← Y + α A X but for the last row of each interval: a group of lanes goes through an interval of entries
/// together, each with the sum of its own vector. [`coo_multivector_carries`] adds what is left at the ends.
///
/// # Safety
/// The arrays are those of a valid COO matrix, sorted by row, with `nnz` entries; `x` and `y` are as for
/// [`csr_multivector`]; there is a group for each interval, and there are a carry row for each interval and a carry
/// value for each of its lanes.
#[kernel(T: scalars)]
pub unsafe fn coo_multivector_intervals<T: GpuScalar>(
    /// Number of stored entries.
    nnz: u64,
    /// Entries of one group.
    interval: u64,
    /// The vectors of this launch.
    tile: Tile,
    /// The row of each entry.
    row_indices: Global<u32>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A X.
    alpha: T,
    /// The vectors that are multiplied.
    x: Global<T>,
    /// The results.
    y: GlobalMut<T>,
    /// The last row of each interval.
    carry_rows: GlobalMut<u32>,
    /// What is left of that row's sums.
    carry_values: GlobalMut<T>,
) {
    let mut entry = u64::from(tile.group()) * interval;
    if !tile.has_vector() || entry >= nnz {
        return;
    }
    let end = nnz.min(entry + interval);
    let (mut row, mut sum) = (row_indices.load(entry), T::ZERO);
    while entry < end {
        // Four entries are loaded before the first is used; past the end the last one again, times nothing.
        let entries = [entry, entry + 1, entry + 2, entry + 3].map(|entry| entry.min(end - 1));
        let rows = entries.map(|entry| row_indices.load(entry));
        let columns = entries.map(|entry| column_indices.load(entry));
        let values = entries.map(|entry| values.load(entry));
        let elements = columns.map(|column| x.load(tile.x_place(column)));
        unrolled(4, |number| {
            let number = number as usize;
            if rows[number] != row {
                add(y, tile.y_place(row), alpha, sum);
                (row, sum) = (rows[number], T::ZERO);
            }
            if entry + (number as u64) < end {
                sum = values[number].mul_add(elements[number], sum);
            }
        });
        entry += 4;
    }
    carry_values.store(tile.group() * tile.lanes + tile.lane(), sum);
    if tile.lane() == 0 {
        carry_rows.store(tile.group(), row);
    }
}

/// Adds what [`coo_multivector_intervals`] left over to Y. The first carry of each row has a group of lanes, which
/// sums all carries of that row, each lane those of its vector.
///
/// # Safety
/// The carries are those that [`coo_multivector_intervals`] wrote for as many intervals and the same tile, `y` is its
/// `y`, and there is a group for each interval.
#[kernel(T: scalars)]
pub unsafe fn coo_multivector_carries<T: GpuScalar>(
    /// Number of carries.
    intervals: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// The row of each carry, never decreasing.
    carry_rows: Global<u32>,
    /// What to add to that row.
    carry_values: Global<T>,
    /// The factor of A X.
    alpha: T,
    /// The results.
    y: GlobalMut<T>,
) {
    let first = tile.group();
    if !tile.has_vector() || first >= intervals {
        return;
    }
    let row = carry_rows.load(first);
    if first > 0 && carry_rows.load(first - 1) == row {
        return;
    }
    let end = end_of_run(carry_rows, first, intervals, row);
    let mut sum = T::ZERO;
    let mut carry = first;
    while carry < end {
        sum = sum + carry_values.load(carry * tile.lanes + tile.lane());
        carry += 1;
    }
    add(y, tile.y_place(row), alpha, sum);
}
