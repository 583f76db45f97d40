//! Rows that are computed by one lane each, on a GPU or its emulator.
//!
//! A lane has a hash table for about as many columns as [a sample](super::at_once) of the class has.

use cuda_std::launch::Grid;
use cuda_std::warp::WARP_LANES;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::sparse_product::classes::most_products;
use gpu_kernels::sparse_product::lane_rows::{ProductLaneRows, elements_of_warp};

use super::classes::{limit, warps_per_block};
use super::sides::Sides;
use super::workspace::{LAST_SMALL_CLASS, bytes_of_entry};
use crate::convert::primitives::launch;
use crate::device::Device;
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::memory::Element;
use crate::real::Scalar;

/// The largest class of such rows, of at most 896 products or columns of B. Teams compute or count longer ones in about the
/// same time.
const LAST_CLASS: u32 = 10;

/// The number of resident threads for which a class has at least a row. A lane takes some 190 ns for a product on an H200,
/// however few rows there are; teams of lanes take some 0.05 ns for each product of all rows.
const THREADS_PER_ROW: u64 = 64;

/// The smallest and the largest number of slots of a table. With larger ones, a multiprocessor has too few warps.
const SLOTS: (u32, u32) = (16, 64);

const _: () = assert!(SLOTS.1 / 8 * 7 <= most_products(LAST_SMALL_CLASS), "the workspace has room for these rows");

/// The tables of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lanes {
    slots: u32,
    /// The largest number of columns.
    pub most: u32,
}

/// Whether a class has enough rows to give each a single lane.
pub(super) fn are_many(rows: u32, device: &Device) -> bool {
    u64::from(rows) >= device.resident_threads() / THREADS_PER_ROW
}

impl Lanes {
    /// Tables for a number of rows of a class with about `expected` columns; none if they are too few or too long, or shared
    /// memory too small.
    pub fn new<T>((class, rows): (u32, u32), expected: u32, device: &Device) -> Option<Self> {
        if class > LAST_CLASS || !are_many(rows, device) {
            return None;
        }
        let (bound, (least, most)) = (most_products(class), SLOTS);
        let expected = expected.min(bound);
        if 4 * expected > 3 * most {
            return None;
        }
        // Half of the slots stay empty, if possible: a search takes fewer steps, and there is room for longer rows.
        let slots = (2 * expected).next_power_of_two().clamp(least, most);
        let lanes = Self { slots, most: bound.min(slots / 8 * 7) };
        (lanes.bytes_of_warp::<T>() <= limit(device).into()).then_some(lanes)
    }

    /// Bytes of shared memory per warp.
    fn bytes_of_warp<T>(self) -> u64 {
        u64::from(elements_of_warp(self.slots)) * bytes_of_entry::<T>()
    }

    fn grid<T>(self, rows: u32, device: &Device) -> Grid {
        let bytes = self.bytes_of_warp::<T>() as u32;
        let warps = warps_per_block(bytes, device);
        Grid { shared_bytes: warps * bytes, ..device.uneven_grid_of_blocks(rows.into(), warps * WARP_LANES) }
    }
}

impl<T: Scalar, K: KernelExecutor, O: Offset + Element> Sides<'_, T, K, O> {
    /// Computes rows of a class, `most` columns apart.
    ///
    /// # Safety
    /// There is room for the columns and values, a length for each row, and a flag.
    pub unsafe fn compute_by_lanes(
        &self,
        lanes: &Lanes,
        (count, rows): (u32, Global<u32>),
        (columns, values): (GlobalMut<u32>, GlobalMut<T>),
        lengths: GlobalMut<u32>,
        too_long: GlobalMut<u32>,
    ) -> Result<(), Error> {
        let kernel = ProductLaneRows {
            count,
            slots: lanes.slots,
            most: lanes.most,
            rows,
            left_offsets: self.left_offsets,
            left_columns: self.left_columns,
            left_values: self.left_values,
            right_offsets: self.right_offsets,
            right_columns: self.right_columns,
            right_values: self.right_values,
            columns,
            values,
            lengths,
            too_long,
        };
        let grid = lanes.grid::<T>(count, self.executor.device());
        // SAFETY: the matrices are valid and their shapes match, `most` is below `slots`, and the grid has the shared
        // memory; the rest is the caller's promise.
        unsafe { launch(self.executor, grid, kernel) }
    }
}

#[cfg(test)]
mod tests {
    use gpu_kernels::sparse_product::classes::FIRST_CLASS;

    use super::*;
    use crate::executor::{Emulated, Executor};

    #[test]
    fn tables_have_room_for_twice_what_is_expected() {
        let emulator = Emulated::new(1);
        let device = emulator.device();
        let of =
            |class, expected| Lanes::new::<f64>((class, 1000), expected, device).map(|lanes| (lanes.slots, lanes.most));
        let expected = [
            (1, Some((16, 14))),
            (8, Some((16, 14))),
            (9, Some((32, 28))),
            (16, Some((32, 28))),
            (17, Some((64, 56))),
            (48, Some((64, 56))),
            (49, None),
        ];
        for (columns, lanes) in expected {
            assert_eq!(of(10, columns), lanes, "{columns} columns");
        }
        // Rows of the first class have at most 28 products.
        assert_eq!(of(FIRST_CLASS, 28), Some((64, 28)));
        assert_eq!(of(FIRST_CLASS, 90), Some((64, 28)));
        let little = Emulated::new(1).with_shared_bytes(6000);
        assert!(Lanes::new::<f64>((10, 1000), 9, little.device()).is_none());
        assert!(Lanes::new::<f64>((10, 1000), 9, device).is_some());
        assert!(Lanes::new::<f64>((10, 0), 9, device).is_none() && Lanes::new::<f64>((11, 1000), 9, device).is_none());
    }
}
