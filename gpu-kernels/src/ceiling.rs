//! How fast the memory is, to compare kernels with.

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
    /// What is read.
    from: Global<f64>,
    /// A sum for each thread, so that no read can be left out.
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
