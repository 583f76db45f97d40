//! Sorts rows, or anything else with a number, by another number, in descending order.

use gpu_kernels::convert::radix::{CountUp, DIGIT_BITS, RadixCounts, RadixScatter};

use super::primitives::{Array, Scan, largest, launch};
use crate::error::Error;
use crate::executor::KernelExecutor;
use crate::memory::Buffer;
use crate::spmv::Intervals;

/// Rows with their keys.
pub struct Sorted<K: KernelExecutor> {
    /// Number of each row.
    pub rows: Array<K, u32>,
    /// Key of each row.
    pub keys: Array<K, u32>,
}

/// Sorts the rows by their `keys`, in descending order. Rows of the same key keep their order. Takes twice the two
/// arrays, and a pass per 5 bits of the largest key.
pub fn sorted_by<K: KernelExecutor>(executor: &K, keys: Array<K, u32>) -> Result<Sorted<K>, Error> {
    let largest = largest(executor, &keys)?;
    sort_up_to(executor, Sorted { rows: count_up(executor, keys.len())?, keys }, largest)
}

/// The numbers of `count` rows, in order.
pub(crate) fn count_up<K: KernelExecutor>(executor: &K, count: usize) -> Result<Array<K, u32>, Error> {
    let mut rows = executor.unwritten(count)?;
    let kernel = CountUp { count: count as u32, numbers: rows.global_mut() };
    // SAFETY: there are `count` numbers.
    unsafe { launch(executor, executor.device().grid(count as u64), kernel) }?;
    Ok(rows)
}

/// Same as [`sorted_by`], for rows that already have an order.
pub(crate) fn sorted_together<K: KernelExecutor>(executor: &K, unsorted: Sorted<K>) -> Result<Sorted<K>, Error> {
    let largest = largest(executor, &unsorted.keys)?;
    sort_up_to(executor, unsorted, largest)
}

/// Same as [`sorted_together`], for keys of at most `largest`. Rows beyond the keys, if there are any, are left out.
pub(crate) fn sort_up_to<K: KernelExecutor>(
    executor: &K,
    unsorted: Sorted<K>,
    largest: u32,
) -> Result<Sorted<K>, Error> {
    let Sorted { mut rows, mut keys } = unsorted;
    let count = keys.len() as u32;
    let mut new_keys = executor.unwritten(keys.len())?;
    let mut new_rows = executor.unwritten(keys.len())?;
    let shares = Intervals::new(count.into(), executor.device());
    let grid = shares.grid(executor.device());
    let (interval, intervals) = (shares.length as u32, shares.count as u32);
    let mut shift = 0;
    while largest.checked_shr(shift).is_some_and(|left| left > 0) {
        let mut counts = executor.unwritten(intervals as usize * (1 << DIGIT_BITS))?;
        let kernel = RadixCounts {
            count,
            interval,
            intervals,
            largest,
            shift,
            keys: keys.global(),
            counts: counts.global_mut(),
        };
        // SAFETY: the arrays are as long as the kernel asks for, and there is a warp for each interval.
        unsafe { launch(executor, grid, kernel) }?;
        let begins: Array<K, u32> = Scan::queue(executor, &counts)?.0.offsets_of(1)?;
        let kernel = RadixScatter {
            count,
            interval,
            intervals,
            largest,
            shift,
            keys: keys.global(),
            rows: rows.global(),
            begins: begins.global(),
            new_keys: new_keys.global_mut(),
            new_rows: new_rows.global_mut(),
        };
        // SAFETY: keys and rows, old and new, have at least `count` elements, and no key is above `largest`. There are
        // 32 counts for each interval, which add up to `count`, so `begins` sends each row to an index below that; the
        // grid has a warp for each interval.
        unsafe { launch(executor, grid, kernel) }?;
        std::mem::swap(&mut keys, &mut new_keys);
        std::mem::swap(&mut rows, &mut new_rows);
        shift += DIGIT_BITS;
    }
    Ok(Sorted { rows, keys })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Emulated;

    fn check(keys: Vec<u32>) {
        let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
        expected.sort_by_key(|&row| std::cmp::Reverse(keys[row as usize]));
        let in_order: Vec<u32> = expected.iter().map(|&row| keys[row as usize]).collect();
        for seed in 0..3 {
            let sorted = sorted_by(&Emulated::new(seed), keys.clone()).unwrap();
            assert_eq!((sorted.rows, sorted.keys), (expected.clone(), in_order.clone()));
        }
    }

    #[test]
    fn rows_of_the_same_number_keep_their_order() {
        // A multiplier of full period, which gives the same numbers every time.
        let mixed = |row: u32| row.wrapping_mul(2_654_435_769) >> 7;
        for count in [0, 1, 31, 32, 33, 300, 2000] {
            for limit in [1, 2, 31, 32, 33, 1000, 1 << 20] {
                check((0..count).map(|row| mixed(row) % limit).collect());
            }
        }
    }

    #[test]
    fn the_largest_numbers_are_sorted_too() {
        check(vec![0, u32::MAX, 5, u32::MAX, 1 << 31, 0, 1 << 30]);
        check(vec![7; 100]);
    }
}
