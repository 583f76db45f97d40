//! The stored entries of each part, position by position.

use cuda_std::thread::{block_dim_x, block_idx_x, thread_idx_x};
use cuda_std::warp::{ALL_LANES, lane_id, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, kernel};

use super::{DROPPED, NO_IMAGE, NO_OWNER, Part, Piece, warp_of_block, warps_of_block};
use crate::Offset;
use crate::clustered::NO_ROW;

/// Finds the new position of each piece, and the number of its entries, from the positions in their new order. One block
/// per part.
///
/// # Safety
/// `order` has all positions, so that each part keeps its own; all arrays but `part_begins` have an element for each
/// position; there is a block for each part.
#[kernel]
pub unsafe fn symmetric_positions(
    /// Number of slices before each part.
    part_begins: Global<u32>,
    /// The former position of the piece at each position.
    order: Global<u32>,
    /// The number of entries of the piece that was at each position.
    former_lengths: Global<u32>,
    /// The number in its part of the new position of the piece that was at each position.
    new_positions: GlobalMut<u32>,
    /// The number of entries of the piece at each position.
    lengths: GlobalMut<u32>,
) {
    let part = Part::new(part_begins, block_idx_x());
    let mut own = thread_idx_x();
    while own < part.positions {
        new_positions.store(order.load(part.first + own), own);
        lengths.store(part.first + own, former_lengths.load(order.load(part.first + own)));
        own += block_dim_x();
    }
}

/// Writes the entries of all pieces: the column, which is a position of the part or, from the number of positions on, one
/// of its halo, and in the upper half the index in the row of the matrix. One block per part, one warp per
/// piece.
///
/// # Safety
/// As for [`symmetric_halves`](super::halves::symmetric_halves), whose results these are, in the order of their keys;
/// `begins` are the sums of the lengths before each position, and of all, `halo_begins` those of the flags of all
/// columns; there is a block of whole warps for each part.
#[kernel(O: [u32, u64])]
pub unsafe fn symmetric_entries<O: Offset>(
    /// Number of slices before each part.
    part_begins: Global<u32>,
    /// The row at each former position.
    rows: Global<u32>,
    /// Largest number of entries of a piece.
    longest: u32,
    /// The former position of the piece at each position.
    order: Global<u32>,
    /// The number in its part of the new position of the piece that was at each position.
    new_positions: Global<u32>,
    /// Number of columns of all parts before each part.
    column_begins: Global<u64>,
    /// Number of columns of the halo before each column of a part.
    halo_begins: Global<u64>,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The number of each entry's column and, in the upper half, its owner.
    locals: Global<u32>,
    /// The index of each entry's image in its row.
    images: Global<u32>,
    /// Number of stored entries before each position.
    begins: Global<u64>,
    /// The stored entries.
    entries: GlobalMut<u32>,
) {
    let part = Part::new(part_begins, block_idx_x());
    let column_begin = column_begins.load(block_idx_x());
    let halo_begin = halo_begins.load(column_begin);
    let mut position = warp_of_block();
    while position < part.positions {
        let own = order.load(part.first + position);
        let row = rows.load(own);
        if row != NO_ROW {
            let piece = Piece::new(part, own - part.first, row, rows, row_offsets, longest);
            let (mut entry, mut steps) = (piece.first(), piece.steps());
            let mut to = begins.load(part.first + position);
            while steps > 0 {
                let (mut image, mut column) = (DROPPED, 0);
                if entry < piece.end {
                    image = images.load(entry);
                    let local = locals.load(entry);
                    let owner = local >> 16;
                    column = if owner == own - part.first {
                        position
                    } else if owner == NO_OWNER || image == NO_IMAGE {
                        let number = column_begin + u64::from(local & 0xFFFF);
                        part.positions + (halo_begins.load(number) - halo_begin) as u32
                    } else {
                        new_positions.load(part.first + owner)
                    };
                }
                let stored = warp_vote_ballot(ALL_LANES, image != DROPPED);
                if image != DROPPED {
                    let before = (stored & ((1 << lane_id()) - 1)).count_ones();
                    entries.store(to + u64::from(before), column | ((entry - piece.begin) as u32) << 16);
                }
                to += u64::from(stored.count_ones());
                entry += piece.stride();
                steps -= 1;
            }
        }
        position += warps_of_block();
    }
}
