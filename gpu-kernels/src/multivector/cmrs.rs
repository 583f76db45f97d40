//! CMRS times several vectors, padded or not.

use cuda_std::shared::dynamic;
use cuda_std::thread::{block_dim_x, thread_idx_x};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::Tile;
use crate::Offset;
use crate::cmrs::{PADDING, column_of, row_in_strip};
use crate::vector::update;

/// One group of lanes per strip, which goes through the strip's entries sequentially. Each lane has a partial sum of
/// each row for its own vector, in shared memory, because an entry's row is known only at run time.
///
/// # Safety
/// The arrays are those of a valid CMRS matrix with `rows` rows, or of a padded one if `padded` is 1; `x` and `y` are
/// as for [`csr_multivector`](super::csr::csr_multivector); blocks have `height` numbers of shared memory per thread.
#[kernel(T: scalars, O: [u32, u64])]
pub unsafe fn cmrs_multivector<T: GpuScalar, O: Offset>(
    /// Number of rows.
    rows: u32,
    /// The vectors of this launch.
    tile: Tile,
    /// Rows of a strip.
    height: u32,
    /// 1 if [`PADDING`] is a slot without an entry, 0 if it is an ordinary entry.
    padded: u32,
    /// Where each strip begins; strips + 1 offsets.
    strip_offsets: Global<O>,
    /// Column and row in the strip of each entry, or [`PADDING`].
    words: Global<u32>,
    /// The value of each entry.
    values: Global<T>,
    /// The factor of A X.
    alpha: T,
    /// The vectors to multiply.
    x: Global<T>,
    /// The factor of Y.
    beta: T,
    /// The results.
    y: GlobalMut<T>,
) {
    if !tile.has_vector() {
        return;
    }
    let sums = dynamic::<T>(0);
    let sum_of = |row_here| row_here * block_dim_x() + thread_idx_x();
    let mut strip = tile.group();
    while strip * height < rows {
        let mut row_here = 0;
        while row_here < height {
            sums.store(sum_of(row_here), T::ZERO);
            row_here += 1;
        }
        let (mut entry, end) = (strip_offsets.load(strip), strip_offsets.load(strip + 1));
        while entry < end {
            // Four entries are loaded before the first is used; past the end, the strip's last one is loaded again and
            // ignored.
            let last = end - O::from(1);
            let four = [entry, entry + O::from(1), entry + O::from(2), entry + O::from(3)];
            let inside = four.map(|entry| entry < end);
            let places = [
                four[0],
                if inside[1] { four[1] } else { last },
                if inside[2] { four[2] } else { last },
                if inside[3] { four[3] } else { last },
            ];
            let words = places.map(|place| words.load(place));
            let values = places.map(|place| values.load(place));
            let is_entry = |word| padded == 0 || word != PADDING;
            let elements = words.map(|word| x.load(tile.x_place(if is_entry(word) { column_of(word) } else { 0 })));
            let mut number = 0;
            while number < 4 {
                if inside[number] && is_entry(words[number]) {
                    let place = sum_of(row_in_strip(words[number]));
                    sums.store(place, values[number].mul_add(elements[number], sums.load(place)));
                }
                number += 1;
            }
            entry = entry + O::from(4);
        }
        let mut row_here = 0;
        while row_here < height && strip * height + row_here < rows {
            update(y, tile.y_place(strip * height + row_here), alpha, sums.load(sum_of(row_here)), beta);
            row_here += 1;
        }
        strip += tile.groups();
    }
}
