//! Cost and gain of CMRS by the model of Koza et al. (2014, §5 and §6.4): the kernel takes as long as the bytes that it
//! moves.

use host::Scalar;
use host::format::cmrs::overhead;

use crate::record::{Entry, Run};

/// Returns the speed-up of strips of `height` rows over a warp per row (eq. 5.2); the operands are those of [`overhead`].
pub fn speedup(height: usize, mean: f64, segment: usize, width: usize) -> f64 {
    overhead(1, mean, segment, width) / overhead(height, mean, segment, width)
}

/// Bytes moved by y ← A x (eq. 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesMoved {
    /// β₊: each element of x is read once, because a cache holds all of them.
    pub cached: u128,
    /// β₋: without a cache, an element of x is read per entry.
    pub uncached: u128,
}

impl BytesMoved {
    /// Returns the traffic of a matrix whose arrays take `matrix` bytes and whose numbers have `width` bytes. O(1).
    pub fn new(matrix: u128, rows: usize, columns: usize, nnz: usize, width: usize) -> Self {
        let vectors = |elements_of_x: usize| (elements_of_x as u128 + rows as u128) * width as u128;
        Self { cached: matrix + vectors(columns), uncached: matrix + vectors(nnz) }
    }

    /// Returns the traffic of a run in any format; `None` if its bytes are unknown.
    pub fn of_run(entry: &Entry, run: &Run) -> Option<Self> {
        let width = [(f32::NAME, size_of::<f32>()), (f64::NAME, size_of::<f64>())];
        let (_, width) = width.into_iter().find(|&(name, _)| name == entry.env.precision)?;
        let [rows, columns, nnz] = [entry.rows, entry.cols, entry.nonzeros].map(usize::try_from);
        let (rows, columns, nnz) = (rows.ok()?, columns.ok()?, nnz.ok()?);
        let vectors = (rows as u128 + columns as u128) * width as u128;
        let matrix = u128::from(run.bytes_needed?).checked_sub(vectors)?;
        Some(Self::new(matrix, rows, columns, nnz, width))
    }

    /// Returns η₊ and η₋ (eq. 6.2): these bytes relative to those that the memory moves during one product. η₊ is below 1;
    /// η₋ of at least 1 shows that x was read from caches.
    pub fn utilization(&self, seconds: f64, bytes_per_second: f64) -> (f64, f64) {
        let possible = seconds * bytes_per_second;
        (self.cached as f64 / possible, self.uncached as f64 / possible)
    }
}

/// Returns η₊ and η₋ of a run, where B is the speed of the copy in the same run, so η₊ may be slightly above 1; `None`
/// without a result, or if the bytes or the copy are unknown.
pub fn utilization(entry: &Entry, run: &Run) -> Option<(f64, f64)> {
    let copy = entry.ceilings.as_ref()?.copy_gbps * 1e9;
    let seconds = run.seconds().filter(|&seconds| seconds > 0.0 && copy > 0.0)?;
    Some(BytesMoved::of_run(entry, run)?.utilization(seconds, copy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Ceilings, Environment};

    /// 10 x 10, 50 entries, 900 bytes of which 160 are x and y, in 1 µs, in which the copy moves 1000.
    #[test]
    fn utilization_of_a_run() {
        let run = Run { completed: true, time: Some(1e-6), bytes_needed: Some(900), ..Run::default() };
        let entry = Entry {
            rows: 10,
            cols: 10,
            nonzeros: 50,
            env: Environment { precision: "float64".into(), ..Environment::default() },
            ceilings: Some(Ceilings { copy_gbps: 1.0, ..Ceilings::default() }),
            ..Entry::default()
        };
        // β₋ - β₊ = 8 (50 - 10).
        assert_eq!(BytesMoved::of_run(&entry, &run), Some(BytesMoved { cached: 900, uncached: 1220 }));
        let (cached, uncached) = utilization(&entry, &run).unwrap();
        assert!((cached - 0.9).abs() < 1e-12 && (uncached - 1.22).abs() < 1e-12, "{cached} {uncached}");
        for run in [Run { bytes_needed: None, ..run.clone() }, Run { bytes_needed: Some(100), ..run.clone() }] {
            assert_eq!(utilization(&entry, &run), None);
        }
        assert_eq!(utilization(&Entry { ceilings: None, ..entry.clone() }, &run), None);
        assert_eq!(utilization(&entry, &Run { completed: false, ..run }), None);
    }

    #[test]
    fn overhead_of_the_papers_example() {
        // §5: λ = 128, 4-byte numbers, two entries per row.
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
