//! What blocks request before they know what they need.

use cuda_std::launch::Grid;

use crate::device::Device;
use crate::format::Csr;
use crate::memory::Memory;
use crate::real::Scalar;

/// Most entries for each thread up to which requests ahead shorten the wait. With more, enough loads are on their way
/// without, and the requests come on top: on an H200, products take 0.88 to 1.0 of their time up to this limit, and 1.0
/// to 1.13 of it above.
const MOST_ENTRIES_OF_A_THREAD: u64 = 2;

/// The elements of each array that a block requests ahead.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    pub(super) entries: u32,
    /// Elements of x.
    pub(super) elements: u32,
    /// Row offsets.
    pub(super) rows: u32,
}

impl Ahead {
    /// For a kernel whose blocks go through the matrix in order. There are no requests unless they gain time: if the
    /// entries fit in half of L2, and are few for the threads of the grid or for those that the device holds.
    pub(super) fn new<V, T: Scalar, M: Memory>(matrix: &Csr<T, M>, grid: Grid, device: &Device) -> Self {
        let entries = matrix.nnz() as u64;
        let threads = (u64::from(grid.blocks) * u64::from(grid.threads_per_block)).max(device.resident_threads());
        let bytes = entries * (size_of::<u32>() + size_of::<V>()) as u64;
        let fit = device.cache_bytes.is_none_or(|cache_bytes| bytes <= cache_bytes / 2);
        if !fit || entries > MOST_ENTRIES_OF_A_THREAD.saturating_mul(threads) {
            return Self { entries: 0, elements: 0, rows: 0 };
        }
        let share = |elements: u64| elements.checked_div(grid.blocks.into()).unwrap_or(0) as u32;
        Self { entries: share(entries), elements: share(matrix.columns() as u64), rows: share(matrix.rows() as u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Tuning;

    const DEVICE: Device = Device {
        name: String::new(),
        cache_bytes: Some(1200),
        multiprocessors: 1,
        threads_per_multiprocessor: 16,
        shared_bytes: None,
        tuning: Tuning::SMALL,
    };

    /// What blocks request of a matrix with `per_row` entries in each of 10 rows and 20 columns.
    fn ahead(per_row: u32, grid: Grid) -> [u32; 3] {
        let offsets: Vec<u32> = (0..=10).map(|row| row * per_row).collect();
        let columns = (0..10).flat_map(|_| 0..per_row).collect();
        let matrix = Csr::try_new(10, 20, offsets, columns, vec![1.0; 10 * per_row as usize]).unwrap();
        let Ahead { entries, elements, rows } = Ahead::new::<f64, f64, _>(&matrix, grid, &DEVICE);
        [entries, elements, rows]
    }

    #[test]
    fn all_blocks_together_request_what_there_is_at_most() {
        let grid = |blocks| Grid { blocks, threads_per_block: 2, shared_bytes: 0 };
        assert_eq!(ahead(3, grid(1)), [30, 20, 10]);
        assert_eq!(ahead(3, grid(4)), [7, 5, 2]);
        assert_eq!(ahead(3, grid(40)), [0, 0, 0]);
        assert_eq!(ahead(0, grid(0)), [0, 0, 0]);
    }

    #[test]
    fn nothing_is_requested_of_many_entries() {
        let grid = |blocks| Grid { blocks, threads_per_block: 2, shared_bytes: 0 };
        assert_eq!(ahead(4, grid(9)), [0, 0, 0], "more than two for each thread");
        assert_eq!(ahead(4, grid(10)), [4, 2, 1]);
        assert_eq!(ahead(6, grid(30)), [0, 0, 0], "more than half of the cache");
    }
}
