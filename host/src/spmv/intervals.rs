//! Work divided among warps in equal intervals, and the resulting carries: partial sums of rows that continue in
//! another interval.

use std::num::NonZeroU32;

use cuda_std::GlobalMut;
use cuda_std::launch::{Grid, Launch};
use gpu_kernels::coo::CooCarries;

use super::Carries;
use crate::device::Device;
use crate::real::Scalar;

const WARP_LANES: u64 = cuda_std::warp::WARP_LANES as u64;

/// Warps that a multiprocessor works on in the same cycle, one per scheduler.
const WARPS_AT_ONCE: u64 = 4;

/// Warps for each one that a multiprocessor works on at once, ω.
fn oversubscription(nnz: u64) -> u32 {
    match nnz {
        0..200_000 => 8,
        200_000..2_000_000 => 32,
        2_000_000.. => 128,
    }
}

/// A division of items among warps.
pub(crate) struct Intervals {
    /// Items per interval, except in the last; a multiple of 32.
    pub length: u64,
    /// Number of intervals.
    pub count: u64,
}

impl Intervals {
    /// An interval per warp that the device holds at a time.
    pub fn new(items: u64, device: &Device) -> Self {
        Self::among(items, device.resident_threads() / WARP_LANES)
    }

    /// An interval per warp of an oversubscribed device, for kernels that add atomically: many warps hide the latency of
    /// memory, few collide in fewer rows (Anzt et al. 2020, §3.2).
    pub fn oversubscribed(nnz: u64, device: &Device) -> Self {
        let oversubscription = device.tuning.oversubscription().map_or_else(|| oversubscription(nnz), NonZeroU32::get);
        Self::among(nnz, u64::from(device.multiprocessors) * WARPS_AT_ONCE * u64::from(oversubscription))
    }

    /// An interval for each of `warps` warps, or of other workers.
    pub fn among(items: u64, warps: u64) -> Self {
        let length = items.div_ceil(warps.max(1)).next_multiple_of(WARP_LANES).max(WARP_LANES);
        Self { length, count: items.div_ceil(length) }
    }

    /// A grid with a warp per interval.
    pub fn grid(&self, device: &Device) -> Grid {
        device.grid_of(self.count * WARP_LANES)
    }

    /// A launch that adds α times the carries of all intervals to y.
    pub fn carries<T: Scalar>(&self, alpha: T, y: GlobalMut<T>, carries: Carries<T>, device: &Device) -> Launch {
        let kernel = CooCarries {
            intervals: self.count as u32,
            carry_rows: carries.rows,
            carry_values: carries.values,
            alpha,
            y,
        };
        Launch::new(self.grid(device), kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Tuning;

    fn device(tuning: Tuning) -> Device {
        Device {
            cache_bytes: None,
            name: String::new(),
            multiprocessors: 2,
            threads_per_multiprocessor: 64,
            shared_bytes: None,
            tuning,
        }
    }

    #[test]
    fn intervals_cover_all_items_once() {
        let device = device(Tuning::default());
        for items in [0, 1, 31, 32, 33, 127, 128, 129, 100_000, 1 << 40] {
            let Intervals { length, count } = Intervals::new(items, &device);
            assert_eq!(length % 32, 0);
            assert!(count <= 4 && count * length >= items && count.saturating_sub(1) * length <= items);
        }
    }

    #[test]
    fn oversubscription_is_the_papers() {
        let at = [0, 199_999, 200_000, 1_999_999, 2_000_000, u64::MAX];
        assert_eq!(at.map(oversubscription), [8, 8, 32, 32, 128, 128]);
    }

    #[test]
    fn warps_are_as_many_as_oversubscription_asks_for() {
        let count = |nnz, tuning| Intervals::oversubscribed(nnz, &device(tuning)).count;
        // Two multiprocessors, and intervals of at least 32 entries.
        assert_eq!(count(65_536, Tuning::default()), 2 * 4 * 8);
        assert_eq!(count(1_024_000, Tuning::default()), 2 * 4 * 32);
        assert_eq!(count(4_096_000, Tuning::default()), 2 * 4 * 128);
        let once = Tuning::default().oversubscribed(NonZeroU32::MIN);
        assert_eq!((count(4_096_000, once), count(33, once), count(0, once)), (8, 2, 0));
    }

    #[test]
    fn no_warp_at_all_counts_as_one() {
        let Intervals { length, count } = Intervals::among(100, 0);
        assert_eq!((length, count), (128, 1));
    }
}
