//! The columns of the longest rows of a product: each block has a bit for each column, in global memory.

use cuda_std::thread::{block_dim_x, block_idx_x, grid_dim_x, sync_threads, thread_idx_x};
use cuda_std::{Global, GlobalMut, kernel};

use super::side::Sides;
use super::team::Team;
use crate::Offset;
use crate::scan::scan_block;

/// The bits of a block.
#[derive(Clone, Copy)]
struct Bits {
    bits: GlobalMut<u32>,
    /// The first word of this block.
    begin: u64,
    words: u32,
}

impl Bits {
    #[inline(always)]
    fn new(bits: GlobalMut<u32>, words: u32) -> Self {
        Self { bits, begin: u64::from(block_idx_x()) * u64::from(words), words }
    }

    /// Sets the bit of each column of a row's products.
    ///
    /// # Safety
    /// As for [`product_long_lengths`]; the whole block calls it.
    #[inline(always)]
    unsafe fn set<O: Offset>(self, together: u32, sides: Sides<O>, row: u32) {
        sides.for_each_column(Team::new(block_dim_x()), together, row, |column| {
            self.bits.atomic_or(self.begin + u64::from(column / u32::BITS), 1 << (column % u32::BITS));
        });
        sync_threads();
    }

    /// Returns a word and sets it to 0; returns 0 past the last word.
    ///
    /// # Safety
    /// No other thread of the block takes it, or sets a bit before a barrier.
    #[inline(always)]
    unsafe fn take(self, place: u32) -> u32 {
        if place >= self.words {
            return 0;
        }
        let word = self.bits.load(self.begin + u64::from(place));
        if word != 0 {
            self.bits.store(self.begin + u64::from(place), 0);
        }
        word
    }
}

/// Counts the different columns of some rows of a product.
///
/// # Safety
/// The arrays are those of valid matrices, of which the left one has no column beyond the rows of the right one; `rows`
/// are `count` rows of it; `bits` has `words` words of zeros for each block, with a bit for each column of the right
/// matrix; `lengths` has an element for each row of the left matrix. `together` is a power of two up to 32; blocks are
/// made of whole warps, with 8 bytes of shared memory per warp.
#[kernel(O: [u32, u64])]
pub unsafe fn product_long_lengths<O: Offset>(
    /// Number of rows to count.
    count: u32,
    /// Threads that share a row of the right matrix.
    together: u32,
    /// Words of bits of a block.
    words: u32,
    /// The rows.
    rows: Global<u32>,
    /// Where each row of the left matrix begins.
    left_offsets: Global<O>,
    /// The columns of the left matrix.
    left_columns: Global<u32>,
    /// Where each row of the right matrix begins.
    right_offsets: Global<O>,
    /// The columns of the right matrix.
    right_columns: Global<u32>,
    /// Zeros before and after the kernel.
    bits: GlobalMut<u32>,
    /// The number of columns of each row.
    lengths: GlobalMut<u32>,
) {
    let sides = Sides { left_offsets, left_columns, right_offsets, right_columns };
    let bits = Bits::new(bits, words);
    let mut number = block_idx_x();
    while number < count {
        let row = rows.load(number);
        bits.set(together, sides, row);
        let (mut found, mut place) = (0, thread_idx_x());
        while place < words {
            found += u64::from(bits.take(place).count_ones());
            place += block_dim_x();
        }
        let (_, length) = scan_block(found);
        if thread_idx_x() == 0 {
            lengths.store(row, length as u32);
        }
        number += grid_dim_x();
    }
}

/// Writes the different columns of some rows of a product, in ascending order.
///
/// # Safety
/// As for [`product_long_lengths`]; `offsets` holds the offset of each row in `columns`, with room for exactly its
/// different columns.
#[kernel(O: [u32, u64])]
pub unsafe fn product_long_columns<O: Offset>(
    /// Number of rows to write.
    count: u32,
    /// Threads that share a row of the right matrix.
    together: u32,
    /// Words of bits of a block.
    words: u32,
    /// The rows.
    rows: Global<u32>,
    /// Where each row of the left matrix begins.
    left_offsets: Global<O>,
    /// The columns of the left matrix.
    left_columns: Global<u32>,
    /// Where each row of the right matrix begins.
    right_offsets: Global<O>,
    /// The columns of the right matrix.
    right_columns: Global<u32>,
    /// Zeros before and after the kernel.
    bits: GlobalMut<u32>,
    /// Where each row of the product begins.
    offsets: Global<O>,
    /// The columns of the product.
    columns: GlobalMut<u32>,
) {
    let sides = Sides { left_offsets, left_columns, right_offsets, right_columns };
    let bits = Bits::new(bits, words);
    let mut number = block_idx_x();
    while number < count {
        let row = rows.load(number);
        bits.set(together, sides, row);
        let (mut next, mut first) = (offsets.load(row).widen(), 0);
        while first < words {
            let place = first + thread_idx_x();
            let mut word = bits.take(place);
            let (before, all) = scan_block(word.count_ones().into());
            let mut to = next + before;
            while word != 0 {
                columns.store(to, place * u32::BITS + word.trailing_zeros());
                word &= word - 1;
                to += 1;
            }
            next += all;
            first += block_dim_x();
        }
        // The barriers of the last scan separate this row's words from those of the next.
        number += grid_dim_x();
    }
}
