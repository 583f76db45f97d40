//! The entries of a part in terms of its rows and columns, and which of them have an image: an entry with the same bits
//! on the other side of the diagonal, in a row of the same part.

use cuda_std::thread::{block_idx_x, grid_threads, index_1d};
use cuda_std::warp::{ALL_LANES, lane_id, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::{NO_IMAGE, NO_OWNER, Part, Piece, warp_of_block, warps_of_block};
use crate::Offset;
use crate::clustered::NO_ROW;
use crate::clustered_symmetric::pieces_of;
use crate::search::first_at_least;

/// Finds the column, the owner and the image of each entry. One block per part, one warp per piece of a row.
///
/// # Safety
/// The matrix is valid and square, and the columns of each row ascend. Each row is in one part, once for each of its
/// pieces; the rows of a part ascend, with [`NO_ROW`] behind them, and its columns are those of its entries, ascending.
/// `locals` and `images` have an element for each entry, `needed` has a zero for each column of a part, `pairs` an element
/// for each position; there is a block of whole warps for each part.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn symmetric_pairs<T: GpuScalar, O: Offset>(
    /// Number of slices before each part.
    part_begins: Global<u32>,
    /// The row at each position.
    rows: Global<u32>,
    /// Largest number of entries of a piece.
    longest: u32,
    /// Number of columns of all parts before each part.
    column_begins: Global<u64>,
    /// The columns of each part.
    column_numbers: Global<u32>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The number of each entry's column in the part and, in the upper half, its owner: the position in the part of the
    /// piece that its image belongs to, the entry's own on the diagonal, that of any piece of the column's row without an
    /// image, or [`NO_OWNER`].
    locals: GlobalMut<u32>,
    /// The index of each entry's image in its row, or [`NO_IMAGE`].
    images: GlobalMut<u32>,
    /// Whether each column of a part needs an element besides those of the part's rows.
    needed: GlobalMut<u32>,
    /// The number of entries with an image in the piece at each position.
    pairs: GlobalMut<u32>,
) {
    let part = Part::new(part_begins, block_idx_x());
    let (column_begin, column_end) = (column_begins.load(block_idx_x()), column_begins.load(block_idx_x() + 1));
    let first = u64::from(part.first);
    let last = first + u64::from(part.positions);
    let range = |row: u32| (row_offsets.load(row).widen(), row_offsets.load(row + 1).widen());
    let mut own = warp_of_block();
    while own < part.positions {
        let row = rows.load(part.first + own);
        let mut count = 0;
        let (mut entry, mut end, mut stride, mut steps) = (0, 0, 0, 0);
        if row != NO_ROW {
            let piece = Piece::new(part, own, row, rows, row_offsets, longest);
            (entry, end, stride, steps) = (piece.first(), piece.end, piece.stride(), piece.steps());
        }
        while steps > 0 {
            let mut has_image = false;
            if entry < end {
                let column = column_indices.load(entry);
                let number = first_at_least(column_numbers, column_begin, column_end, column);
                let place = first_at_least(rows, first, last, column);
                let has_owner = place < last && rows.load(place) == column;
                let mut owner = if has_owner { (place - first) as u32 } else { NO_OWNER };
                let mut image = NO_IMAGE;
                if column == row {
                    owner = own;
                } else if has_owner {
                    let (begin, end) = range(column);
                    let place = first_at_least(column_indices, begin, end, row);
                    let is_there = place < end && column_indices.load(place) == row;
                    if is_there && values.load(place).bits() == values.load(entry).bits() {
                        image = (place - begin) as u32;
                        owner += image % pieces_of((end - begin) as u32, longest);
                    }
                }
                has_image = image != NO_IMAGE;
                locals.store(entry, (number - column_begin) as u32 | owner << 16);
                images.store(entry, image);
                if column != row && !has_image {
                    needed.set_flag(number);
                }
            }
            count += warp_vote_ballot(ALL_LANES, has_image).count_ones();
            entry += stride;
            steps -= 1;
        }
        if lane_id() == 0 {
            pairs.store(part.first + own, count);
        }
        own += warps_of_block();
    }
}

/// Gathers the columns that need an element of their own, and the number of these before each part.
///
/// # Safety
/// There are `columns` columns of `parts` parts, which begin at `column_begins`; `begins` are the sums of all flags
/// before each; `halo_columns` has an element for each flag that is set, `halo_begins` parts + 1.
#[kernel]
pub unsafe fn symmetric_halo(
    /// Number of parts.
    parts: u32,
    /// Number of columns of all parts.
    columns: u64,
    /// Number of columns of all parts before each part.
    column_begins: Global<u64>,
    /// The columns of each part.
    column_numbers: Global<u32>,
    /// Number of those needed before each, and of all.
    begins: Global<u64>,
    /// Number of columns of the halo of all parts before each part.
    halo_begins: GlobalMut<u64>,
    /// Those columns.
    halo_columns: GlobalMut<u32>,
) {
    let mut number = u64::from(index_1d());
    while number < columns.max(u64::from(parts) + 1) {
        if number <= u64::from(parts) {
            halo_begins.store(number, begins.load(column_begins.load(number)));
        }
        if number < columns {
            let place = begins.load(number);
            if begins.load(number + 1) > place {
                halo_columns.store(place, column_numbers.load(number));
            }
        }
        number += u64::from(grid_threads());
    }
}
