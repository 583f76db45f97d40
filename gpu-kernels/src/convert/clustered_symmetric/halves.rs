//! Which of its two rows stores a pair: each piece of a row gets half of its pairs, as nearly as one pass over them can.

use cuda_std::shared::dynamic;
use cuda_std::thread::{block_idx_x, grid_dim_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, sync_warp, warp_shuffle_idx, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, kernel};

use super::{DROPPED, LENGTH_BITS, LONGEST_IN_KEY, Part, Piece};
use crate::Offset;
use crate::clustered::NO_ROW;

/// Gives each pair to a piece of one of its rows, and marks the other entry as [`DROPPED`]. One warp per part.
///
/// # Safety
/// As for [`symmetric_pairs`](super::pairs::symmetric_pairs), whose results these are; `lengths` and `keys` have an element
/// for each position; there is a block of one warp for each part, with 4 bytes of shared memory per position of any part.
#[kernel(O: [u32, u64])]
pub unsafe fn symmetric_halves<O: Offset>(
    /// Number of slices before each part.
    part_begins: Global<u32>,
    /// The row at each position.
    rows: Global<u32>,
    /// Largest number of entries of a piece.
    longest: u32,
    /// Where each row begins; rows + 1 offsets.
    row_offsets: Global<O>,
    /// The column of each entry.
    column_indices: Global<u32>,
    /// The number of each entry's column and, in the upper half, its owner.
    locals: Global<u32>,
    /// The number of entries with an image in the piece at each position.
    pairs: Global<u32>,
    /// The index of each entry's image in its row.
    images: GlobalMut<u32>,
    /// The number of entries that the piece at each position stores.
    lengths: GlobalMut<u32>,
    /// For each position, the largest number of entries that a piece of its row stores, or [`LONGEST_IN_KEY`], above it the
    /// logarithm of the number of its pieces, and in the upper half how many parts follow.
    keys: GlobalMut<u32>,
) {
    let part = Part::new(part_begins, block_idx_x());
    let parts_behind = grid_dim_x() - 1 - block_idx_x();
    // Twice the number of pairs that each piece still wants, to stay an integer.
    let wanted = dynamic::<i32>(0);
    let mut own = lane_id();
    while own < part.positions {
        wanted.store(own, pairs.load(part.first + own) as i32);
        own += WARP_LANES;
    }
    sync_warp(ALL_LANES);
    let (mut own, mut most) = (0, 0);
    while own < part.positions {
        let row = rows.load(part.first + own);
        if row == NO_ROW {
            break;
        }
        let piece = Piece::new(part, own, row, rows, row_offsets, longest);
        let mut left = wanted.load(own);
        let (mut entry, mut steps) = (piece.first(), piece.steps());
        while steps > 0 {
            let (mut image, mut owner) = (DROPPED, 0);
            if entry < piece.end {
                image = images.load(entry);
                owner = locals.load(entry) >> 16;
            }
            // The row with the lower number decides. On the diagonal there is no pair.
            let is_pair = image < DROPPED && owner > own;
            let there = if is_pair { wanted.load(owner) } else { 0 };
            let (mut is_mine, mut undecided) = (false, warp_vote_ballot(ALL_LANES, is_pair));
            while undecided != 0 {
                let lane = undecided.trailing_zeros();
                let takes = left >= warp_shuffle_idx(ALL_LANES, there, lane, WARP_LANES).0;
                left -= if takes { 2 } else { 0 };
                is_mine = if lane == lane_id() { takes } else { is_mine };
                undecided &= undecided - 1;
            }
            if is_pair && is_mine {
                let begin = row_offsets.load(column_indices.load(entry)).widen();
                images.store(begin + u64::from(image), DROPPED);
            } else if is_pair {
                wanted.store(owner, there - 2);
                images.store(entry, DROPPED);
            }
            entry += piece.stride();
            steps -= 1;
        }
        let pairs = pairs.load(part.first + own);
        let stored = piece.length() - pairs + ((pairs as i32 - left) / 2) as u32;
        most = if piece.number == 0 { stored } else { stored.max(most) };
        if lane_id() == 0 {
            lengths.store(part.first + own, stored);
        }
        if piece.number + 1 == piece.count && lane_id() < piece.count {
            let of_row = piece.count.trailing_zeros() << LENGTH_BITS | most.min(LONGEST_IN_KEY);
            keys.store(part.first + own - lane_id(), parts_behind << 16 | of_row);
        }
        sync_warp(ALL_LANES);
        own += 1;
    }
    own += lane_id();
    while own < part.positions {
        lengths.store(part.first + own, 0);
        keys.store(part.first + own, parts_behind << 16);
        own += WARP_LANES;
    }
}
