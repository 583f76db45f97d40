//! Every operation of `cuda_std`: one kernel for real numbers, another for numbers with two parts.

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::conformance::{Conformance, RESULTS};
use gpu_kernels::conformance_of_pairs::{self, ConformanceOfPairs};
use warp_spmv::executor::KernelExecutor;
use warp_spmv::memory::Buffer;
use warp_spmv::{Complex, Error, Scalar};

use super::Numbers;

/// The grid that runs the kernel.
pub const GRID: Grid = Grid { blocks: 3, threads_per_block: 128, shared_bytes: 128 * 16 };

/// Returns the result of each operation on each thread as bits, ordered by operation, then by thread.
pub fn conformance<K: KernelExecutor>(executor: &K) -> Result<Vec<u64>, Error> {
    let mut results = conformance_of_parts(executor)?;
    results.extend(conformance_of_pairs::<Complex<f32>, K>(executor)?);
    results.extend(conformance_of_pairs::<Complex<f64>, K>(executor)?);
    Ok(results)
}

fn conformance_of_pairs<T: Scalar, K: KernelExecutor>(executor: &K) -> Result<Vec<u64>, Error> {
    let threads = (GRID.blocks * GRID.threads_per_block) as usize;
    let mut numbers = Numbers::new(2);
    let input = executor.upload(numbers.vector::<T>(4 * threads))?;
    let whole = executor.upload((0..threads).map(|_| numbers.whole::<T>()).collect())?;
    let mut sums = executor.zeros::<T>(threads)?;
    let mut results = executor.upload(vec![T::ZERO; threads * conformance_of_pairs::RESULTS as usize])?;
    let kernel = ConformanceOfPairs {
        input: input.global(),
        whole: whole.global(),
        sums: sums.global_mut(),
        results: results.global_mut(),
    };
    // SAFETY: the arrays have the lengths that the kernel requires, are in the executor's memory, and outlive the launch.
    unsafe { executor.launch(&Launch::new(GRID, kernel)) }?;
    Ok(executor.download(&results)?.into_iter().flat_map(|number| number.parts()).map(f64::to_bits).collect())
}

fn conformance_of_parts<K: KernelExecutor>(executor: &K) -> Result<Vec<u64>, Error> {
    let threads = (GRID.blocks * GRID.threads_per_block) as usize;
    let mut numbers = Numbers::new(1);
    let input: Vec<u64> = (0..threads + 3).map(|_| numbers.below(1 << 20) as u64 * 0x1_0000_0001).collect();
    let input = executor.upload(input)?;
    let singles = executor.upload(numbers.vector::<f32>(4 * threads))?;
    let mut sums = executor.zeros::<f64>(threads)?;
    let mut single_sums = executor.zeros::<f32>(threads)?;
    let mut counts = executor.zeros::<u32>(GRID.blocks as usize)?;
    let mut results = executor.upload(vec![u64::MAX; threads * RESULTS as usize])?;
    let kernel = Conformance {
        input: input.global(),
        singles: singles.global(),
        sums: sums.global_mut(),
        single_sums: single_sums.global_mut(),
        counts: counts.global_mut(),
        results: results.global_mut(),
    };
    // SAFETY: the arrays have the lengths that the kernel requires, are in the executor's memory, and outlive the launch.
    unsafe { executor.launch(&Launch::new(GRID, kernel)) }?;
    executor.download(&results)
}
