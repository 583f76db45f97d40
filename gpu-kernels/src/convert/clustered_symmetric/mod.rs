//! CSR to clustered slices with pairs stored once, when the rows and the columns of the parts are known.
//!
//! The choices are those of the conversion on the CPU, in the same order, so the arrays are the same. What depends on
//! the choice before it is done by one warp per part: who stores a pair, and in which step.
//!
//! A row has a number of *pieces*, a power of two: entry i of n pieces belongs to piece i mod n. A *position* is the index
//! of a piece among those of all parts; each part has whole slices of them. At first the rows of a part ascend, with
//! [`NO_ROW`](crate::clustered::NO_ROW) behind them; then those with the most pieces come first, and of those the longest.

pub mod choices;
pub mod entries;
pub mod halves;
pub mod pairs;
pub mod steps;
pub mod write;

use cuda_std::Global;
use cuda_std::thread::{block_dim_x, thread_idx_x};
use cuda_std::warp::{WARP_LANES, lane_id};

use crate::Offset;
use crate::clustered::SLICE_ROWS;
use crate::clustered_symmetric::pieces_of;
use crate::search::first_at_least;

/// In place of the row of a part to which a column belongs: it belongs to none.
pub const NO_OWNER: u32 = 0xFFFF;

/// In place of the index of an entry's image: the entry has none.
pub const NO_IMAGE: u32 = u32::MAX;

/// In place of the index of an entry's image: the image is stored for both.
pub const DROPPED: u32 = u32::MAX - 1;

/// Largest number of entries that the order of rows distinguishes.
pub const LONGEST_IN_KEY: u32 = (1 << LENGTH_BITS) - 1;

/// Bits of the number of entries in the key of a row.
pub(crate) const LENGTH_BITS: u32 = 13;

/// The positions of a part.
#[derive(Clone, Copy)]
struct Part {
    /// First of its slices.
    slice: u32,
    /// First of its positions.
    first: u32,
    /// Number of its positions.
    positions: u32,
}

impl Part {
    /// The part with this number, by the number of slices before each part.
    ///
    /// # Safety
    /// It exists.
    #[inline(always)]
    unsafe fn new(part_begins: Global<u32>, part: u32) -> Self {
        let (slice, end) = (part_begins.load(part), part_begins.load(part + 1));
        Self { slice, first: slice * SLICE_ROWS, positions: (end - slice) * SLICE_ROWS }
    }

    /// Number of its slices.
    #[inline(always)]
    fn slices(self) -> u32 {
        self.positions / SLICE_ROWS
    }
}

/// A piece of a row, whose entries are `count` apart.
#[derive(Clone, Copy)]
struct Piece {
    /// Index of the piece among those of its row.
    number: u32,
    /// Number of pieces of the row.
    count: u32,
    /// First entry of the row.
    begin: u64,
    /// End of the row.
    end: u64,
}

impl Piece {
    /// The piece at position `own` of a part, of this row.
    ///
    /// # Safety
    /// It exists, `rows` are the rows at all positions, those of a part ascending, and each row occurs once for each of
    /// its pieces, which have `longest` entries or fewer.
    #[inline(always)]
    unsafe fn new<O: Offset>(
        part: Part,
        own: u32,
        row: u32,
        rows: Global<u32>,
        row_offsets: Global<O>,
        longest: u32,
    ) -> Self {
        let (begin, end) = (row_offsets.load(row).widen(), row_offsets.load(row + 1).widen());
        let position = u64::from(part.first + own);
        let number = (position - first_at_least(rows, u64::from(part.first), position, row)) as u32;
        Self { number, count: pieces_of((end - begin) as u32, longest), begin, end }
    }

    /// This lane's entry in the first step of a warp through the piece.
    #[inline(always)]
    fn first(self) -> u64 {
        self.begin + u64::from(self.number + self.count * lane_id())
    }

    /// Distance to the entry of the next step.
    #[inline(always)]
    fn stride(self) -> u64 {
        u64::from(self.count * WARP_LANES)
    }

    /// Number of steps of a warp through the piece, the same for all lanes.
    #[inline(always)]
    fn steps(self) -> u32 {
        self.length().div_ceil(WARP_LANES)
    }

    /// Number of its entries.
    #[inline(always)]
    fn length(self) -> u32 {
        ((self.end - self.begin) as u32 + self.count - 1 - self.number) / self.count
    }
}

/// This thread's warp in its block.
#[inline(always)]
fn warp_of_block() -> u32 {
    thread_idx_x() / WARP_LANES
}

/// Warps of a block.
#[inline(always)]
fn warps_of_block() -> u32 {
    block_dim_x() / WARP_LANES
}
