//! What CMRS costs and gains by the model of Koza et al. (2014, §5 and §6.4): the kernel takes as long as the bytes
//! that it moves.

use host::format::cmrs::overhead;

/// How much faster strips of `height` rows are than a warp a row (eq. 5.2); the operands are those of [`overhead`].
pub fn speedup(height: usize, mean: f64, segment: usize, width: usize) -> f64 {
    overhead(1, mean, segment, width) / overhead(height, mean, segment, width)
}

/// Bytes that y ← A x moves (eq. 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesMoved {
    /// β₊: each element of x is read once, because a cache keeps all of them.
    pub cached: u128,
    /// β₋: there is no cache, so an element of x is read for each entry.
    pub uncached: u128,
}

impl BytesMoved {
    /// The traffic of a matrix whose arrays take `matrix` bytes and whose numbers have `width` bytes. O(1).
    pub fn new(matrix: u128, rows: usize, columns: usize, nnz: usize, width: usize) -> Self {
        let vectors = |elements_of_x: usize| (elements_of_x as u128 + rows as u128) * width as u128;
        Self { cached: matrix + vectors(columns), uncached: matrix + vectors(nnz) }
    }

    /// η₊ and η₋ (eq. 6.2): these bytes over those that the memory moves in the time of one product. η₊ is below 1;
    /// η₋ of 1 and more says that x was read from caches.
    pub fn utilization(&self, seconds: f64, bytes_per_second: f64) -> (f64, f64) {
        let possible = seconds * bytes_per_second;
        (self.cached as f64 / possible, self.uncached as f64 / possible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_of_the_papers_example() {
        // §5: λ = 128, 4-byte numbers, two entries a row.
        assert_eq!(overhead(1, 2.0, 128, 4), 16.5);
        assert_eq!(overhead(16, 2.0, 128, 4), 1.96875);
        assert_eq!(speedup(16, 2.0, 128, 4), 16.5 / 1.96875);
        assert_eq!(speedup(1, 2.0, 128, 4), 1.0);
    }

    #[test]
    fn traffic_with_and_without_a_cache() {
        // 1000 x 800, 5000 entries, 8-byte values, strips of 4 rows.
        let matrix = 5000 * (8 + 4) + 4 * 251;
        let traffic = BytesMoved::new(matrix, 1000, 800, 5000, 8);
        assert_eq!(traffic, BytesMoved { cached: matrix + 8 * 1800, uncached: matrix + 8 * 6000 });
        assert_eq!(traffic.uncached - traffic.cached, 8 * (5000 - 800));
        let (cached, uncached) = traffic.utilization(2.0, 100_000.0);
        assert_eq!((cached, uncached), (75404.0 / 200_000.0, 109_004.0 / 200_000.0));
    }
}
