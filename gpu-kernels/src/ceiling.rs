//! Memory speed, as a yardstick for kernels.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, kernel};

/// Reads `count` numbers and does next to nothing with them: SpMV is almost all reads, so this is its ceiling.
///
/// # Safety
/// `from` has `count` elements, a multiple of 4, and begins at a multiple of 32 bytes; `sums` has an element
/// for each thread.
#[kernel]
pub unsafe fn read_only(
    /// Number of elements.
    count: u64,
    /// The elements to read.
    from: Global<f64>,
    /// A sum per thread, so that no read can be optimized away.
    sums: GlobalMut<f64>,
) {
    let step = 4 * u64::from(grid_threads());
    let mut place = 4 * u64::from(index_1d());
    let mut sum = 0.0;
    while place + step < count {
        let [a, b, c, d] = from.load_streaming_4(place);
        let [e, f, g, h] = from.load_streaming_4(place + step);
        sum += (a + b) + (c + d) + ((e + f) + (g + h));
        place += 2 * step;
    }
    if place < count {
        let [a, b, c, d] = from.load_streaming_4(place);
        sum += (a + b) + (c + d);
    }
    sums.store(index_1d(), sum);
}

/// Bytes of a sector, the unit in which global memory is read.
pub const SECTOR_BYTES: u64 = 32;

/// Reads one number of each of `count` sectors at pseudo-random positions: the memory speed that remains if the
/// elements of x that a warp needs are scattered. Each thread has four reads in flight.
///
/// # Safety
/// `from` has 4 × `sectors` elements, `sectors` is a power of two and at least 2, and `sums` has an element for each
/// thread.
#[kernel]
pub unsafe fn gather(
    /// Number of sectors that are read, some more than once.
    count: u64,
    /// Number of existing sectors.
    sectors: u64,
    /// The elements to read.
    from: Global<f64>,
    /// A sum per thread, so that no read can be optimized away.
    sums: GlobalMut<f64>,
) {
    let threads = u64::from(grid_threads());
    let mut read = u64::from(index_1d());
    let mut sum = 0.0;
    while read + 3 * threads < count {
        let a = from.load(4 * scatter(read, sectors));
        let b = from.load(4 * scatter(read + threads, sectors));
        let c = from.load(4 * scatter(read + 2 * threads, sectors));
        let d = from.load(4 * scatter(read + 3 * threads, sectors));
        sum += (a + b) + (c + d);
        read += 4 * threads;
    }
    while read < count {
        sum += from.load(4 * scatter(read, sectors));
        read += threads;
    }
    sums.store(index_1d(), sum);
}

/// Maps each number to a sector below a power of two: the upper half of a product is mixed into the lower one.
#[inline(always)]
fn scatter(number: u64, sectors: u64) -> u64 {
    let product = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (product ^ (product >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed ^ (mixed >> 32)) & (sectors - 1)
}
