//! Selects the number at an index of the sorted order, without sorting.

use cuda_std::warp::WARP_LANES;
use gpu_kernels::convert::select::{RANGES, RangeCounts, RangeSums};

use super::primitives::{Array, largest, launch};
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::memory::Buffer;

/// Returns the number at the zero-based index `place` of all numbers in order: the largest if there are fewer, and 0 if
/// there are none. Each pass over the numbers reduces the range to a 32nd; takes 128 bytes per warp.
pub(crate) fn number_at<K: KernelExecutor>(executor: &K, numbers: &Array<K, u32>, place: usize) -> Result<u32, Error> {
    let Some(last) = numbers.len().checked_sub(1) else { return Ok(0) };
    let mut place = place.min(last);
    let bits = u32::BITS - largest(executor, numbers)?.leading_zeros();
    // The number is one of the next 2^shift from `least` on.
    let (mut least, mut shift) = (0u32, bits);
    while shift > 0 {
        shift = shift.saturating_sub(RANGES.ilog2());
        for (range, found) in counts(executor, numbers, least, shift)?.into_iter().enumerate() {
            match place.checked_sub(found as usize) {
                Some(left) => place = left,
                None => {
                    least += (range as u32) << shift;
                    break;
                }
            }
        }
    }
    Ok(least)
}

/// Counts the numbers in each of [`RANGES`] ranges of 2^`shift`.
fn counts<K: KernelExecutor>(executor: &K, numbers: &Array<K, u32>, least: u32, shift: u32) -> Result<Vec<u32>, Error> {
    let device = executor.device();
    let count = numbers.len() as u32;
    let grid = device.grid(count.into());
    let warps = grid.blocks * grid.threads_per_block / WARP_LANES;
    let mut of_warps = executor.unwritten((warps * RANGES) as usize)?;
    let mut sums = executor.unwritten(RANGES as usize)?;
    // SAFETY: the arrays are as long as the kernels ask for, and there is a warp for each range.
    unsafe {
        let kernel = RangeCounts { count, least, shift, numbers: numbers.global(), counts: of_warps.global_mut() };
        launch(executor, grid, kernel)?;
        let kernel = RangeSums { warps, counts: of_warps.global(), sums: sums.global_mut() };
        launch(executor, device.grid_of(u64::from(RANGES * WARP_LANES)), kernel)?;
    }
    executor.download(&sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Tuning;
    use crate::executor::Emulated;

    fn check(numbers: Vec<u32>) {
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        let executor = Emulated::new(5);
        for place in [0, 1, numbers.len() / 3, numbers.len() / 2, numbers.len() - 1] {
            let place = place.min(numbers.len() - 1);
            assert_eq!(number_at(&executor, &numbers, place).unwrap(), sorted[place], "place {place} of {sorted:?}");
        }
        assert_eq!(number_at(&executor, &numbers, usize::MAX).unwrap(), sorted[sorted.len() - 1]);
    }

    #[test]
    fn any_place_is_found() {
        // A multiplier that mixes the bits.
        let mixed = |place: u32| place.wrapping_mul(2_654_435_769);
        for limit in [1, 2, 31, 32, 33, 1000, 1024, 1025, 1 << 30, u32::MAX] {
            check((0..500).map(|place| mixed(place) % limit).collect());
        }
        check(vec![u32::MAX; 40]);
        check(vec![0, u32::MAX]);
        check(vec![7]);
        assert_eq!(number_at(&Emulated::new(1), &vec![], 3).unwrap(), 0);
    }

    /// More warps than the lanes of the warp that sums their counts.
    #[test]
    fn many_warps_count_together() {
        let executor = Emulated::with_size(5, 40, 128, Tuning::new(64, 1).unwrap()).unwrap();
        let numbers: Vec<u32> = (0..3000).rev().collect();
        for place in [0, 1500, 2999] {
            assert_eq!(number_at(&executor, &numbers, place).unwrap(), place as u32);
        }
    }
}
