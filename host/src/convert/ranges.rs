//! Parts of an array, copied to the host.

use std::ops::Range;

use gpu_kernels::convert::ranges::GatherRanges;

use super::primitives::{Array, launch};
use crate::device::WARP_LANES;
use crate::error::{Error, check_length};
use crate::executor::KernelExecutor;
use crate::memory::{Buffer, with_capacity};

/// Copies ranges of an array to the host, side by side. Takes their bytes and 16 per range on the device.
///
/// # Errors
/// When the array ends before a range, memory runs out, or the device fails.
pub(crate) fn download_ranges<K: KernelExecutor>(
    executor: &K,
    array: &Array<K, u32>,
    ranges: &[Range<usize>],
) -> Result<Vec<u32>, Error> {
    let mut begins = with_capacity(ranges.len())?;
    let mut places = with_capacity(ranges.len() + 1)?;
    let mut place = 0;
    places.push(0);
    for range in ranges {
        check_length("an array with all ranges", array.len(), range.end.max(array.len()))?;
        begins.push(range.start as u64);
        place += range.len() as u64;
        places.push(place);
    }
    let mut gathered = executor.unwritten(place as usize)?;
    let (begins, places) = (executor.upload(begins)?, executor.upload(places)?);
    let kernel = GatherRanges {
        ranges: ranges.len() as u32,
        begins: begins.global(),
        places: places.global(),
        array: array.global(),
        gathered: gathered.global_mut(),
    };
    let grid = executor.device().grid(ranges.len() as u64 * WARP_LANES as u64);
    // SAFETY: no range ends after the array, the places are the sums of their lengths, and blocks consist of whole warps.
    unsafe { launch(executor, grid, kernel) }?;
    executor.download(&gathered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Emulated;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no lanes")]
    fn ranges_are_gathered_in_order() {
        let array: Vec<u32> = (0..1000).map(|place| place * 7).collect();
        let ranges = [3..4, 900..1000, 0..0, 5..705, 0..33];
        let expected: Vec<u32> = ranges.iter().flat_map(|range| array[range.clone()].iter().copied()).collect();
        for ranges in [&ranges[..], &[]] {
            let found = download_ranges(&Emulated::new(1), &array, ranges).unwrap();
            assert_eq!(found, expected[..if ranges.is_empty() { 0 } else { expected.len() }]);
        }
        assert!(download_ranges(&Emulated::new(1), &array, &[0..1, 990..1001]).is_err());
    }
}
