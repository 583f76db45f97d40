//! Every operation of `cuda_std`, in one kernel.

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::conformance::{Conformance, RESULTS};
use warp_spmv::Error;
use warp_spmv::executor::KernelExecutor;
use warp_spmv::memory::Buffer;

use super::Numbers;

/// How many threads run the kernel.
pub const GRID: Grid = Grid { blocks: 3, threads_per_block: 128, shared_bytes: 128 * 8 };

/// What each thread got from each operation, as bits: `RESULTS` times the results of all threads.
pub fn conformance<K: KernelExecutor>(executor: &K) -> Result<Vec<u64>, Error> {
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
    // SAFETY: the arrays have the lengths that the kernel asks for, in the executor's memory, and outlive the launch.
    unsafe { executor.launch(&Launch::new(GRID, kernel)) }?;
    executor.download(&results)
}
