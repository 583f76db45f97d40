//! Upper limits of a device's speed: nothing that moves the same bytes is faster.

use std::hint::black_box;
use std::time::Instant;

use host::executor::{Executor, HostExecutor};
use host::{Csr, Error, Format, Plan, memory};
use rayon::prelude::*;

use crate::record::Ceilings;
use crate::subject::{Chill, Subject};
use crate::timing::{Effort, measure};
use crate::vectors::random_vector;

const EFFORT: Effort = Effort { warm_ups: 5, repetitions: 50, seconds: 0.5 };

/// The smallest unit of a CPU's memory accesses.
const LINE_BYTES: usize = 64;

/// Data this many times as large as the largest cache does not fit into it: the arrays here, and a matrix with its vectors.
/// Smaller matrices are timed with cold caches as well.
pub const TIMES_CACHE: u64 = 4;

/// The assumed cache size of a CPU that does not report it.
const ASSUMED_CACHE_BYTES: u64 = 64 << 20;

/// The fraction of the host's free memory that an array here may take. A virtual machine may report the caches of a whole
/// processor, and several processes may measure at the same time.
const SHARE_OF_MEMORY: u128 = 32;

/// Number of random numbers drawn for an array, which repeats them.
const DRAWN: usize = 1 << 17;

/// Number of multiplications queued to time a call: fewer than a GPU's queue holds, so that the caller does not block.
const CALLS: u32 = 1000;

/// Multiplications per recording.
const RECORDED: u32 = 16;

/// Speeds of reading and writing memory.
pub struct MemoryRates {
    /// A copy, in 10^9 bytes per second, read and written.
    pub copy_gbps: f64,
    /// Reading alone.
    pub read_gbps: f64,
    /// Reading sectors at random positions of a large array.
    pub gather_gbps: f64,
    /// The same for an array that fits into the largest cache, if its size is known.
    pub cached_gather_gbps: Option<f64>,
}

/// Returns the ceilings of an executor; `None` if they are of no interest. It is generic, so that its products are compiled
/// where a program compiles its own, and not here as well.
pub(crate) fn of<S: Subject>(subject: &S) -> Result<Option<Ceilings>, Error> {
    let Some(rates) = subject.memory_rates()? else { return Ok(None) };
    let MemoryRates { copy_gbps, read_gbps, gather_gbps, cached_gather_gbps } = rates;
    let Calls { launch, call, queue, recorded } = of_calls(subject)?;
    let (queue, recorded) = (Some(queue), Some(recorded));
    Ok(Some(Ceilings { copy_gbps, read_gbps, gather_gbps, cached_gather_gbps, launch, call, queue, recorded }))
}

/// Measures the rates of all threads of the host together.
pub(crate) fn rates_of_cpu(cpu: &HostExecutor) -> Result<MemoryRates, Error> {
    let from = uncached_array(cpu, 1)?;
    let bytes = size_of_val(&*from);
    let mut to = memory::filled(from.len(), 0.0f64)?;
    let share = from.len().div_ceil(8 * rayon::current_num_threads()).max(1);
    let rate = |bytes: usize, work: &mut dyn FnMut()| -> Result<f64, Error> {
        let times = measure(cpu, EFFORT, &mut || Ok(()), &mut || {
            work();
            Ok(())
        })?;
        Ok(bytes as f64 / times.time / 1e9)
    };
    let copy_gbps = rate(2 * bytes, &mut || {
        to.par_chunks_mut(share).zip(from.par_chunks(share)).for_each(|(to, from)| to.copy_from_slice(from));
    })?;
    let read_gbps = rate(bytes, &mut || {
        black_box(sum(&from, share));
    })?;
    let lines = (from.len() / (LINE_BYTES / size_of::<f64>())).max(1);
    let gathered = lines / 4;
    let gather_gbps = rate(gathered * LINE_BYTES, &mut || {
        let shares = (0..gathered).into_par_iter().with_min_len(1 << 14);
        black_box(shares.map(|read| from[scatter(read, lines) * (LINE_BYTES / size_of::<f64>())]).sum::<f64>());
    })?;
    Ok(MemoryRates { copy_gbps, read_gbps, gather_gbps, cached_gather_gbps: None })
}

/// Returns a function that reads an array larger than the cache.
pub(crate) fn chill_cpu(cpu: &HostExecutor) -> Result<Chill<'_>, Error> {
    let other = uncached_array(cpu, 2)?;
    let share = other.len().div_ceil(8 * rayon::current_num_threads()).max(1);
    Ok(Box::new(move || {
        black_box(sum(&other, share));
        Ok(())
    }))
}

/// Returns an array that does not fit into the caches of a CPU, as far as memory allows.
fn uncached_array(cpu: &HostExecutor, seed: u64) -> Result<Vec<f64>, Error> {
    let most = memory::available_memory().map_or(usize::MAX, |bytes| (bytes / SHARE_OF_MEMORY) as usize);
    let drawn: Vec<f64> = random_vector(DRAWN, seed)?;
    let mut array = memory::filled(uncached_bytes(cpu).min(most) / size_of::<f64>(), 0.0)?;
    array.par_chunks_mut(DRAWN).for_each(|part| part.copy_from_slice(&drawn[..part.len()]));
    Ok(array)
}

fn uncached_bytes(executor: &impl Executor) -> usize {
    (TIMES_CACHE * executor.device().cache_bytes.unwrap_or(ASSUMED_CACHE_BYTES)) as usize
}

/// Returns the sum of all numbers, by all threads, each with eight independent sums.
fn sum(numbers: &[f64], share: usize) -> f64 {
    let sums = numbers.par_chunks(share).map(|numbers| {
        let mut sums = [0.0; 8];
        let mut place = 0;
        // Without optimisation, iterators take much longer, and tests of the command spend minutes here.
        while let Some(eight) = numbers.get(place..place + 8) {
            let mut lane = 0;
            while lane < 8 {
                sums[lane] += eight[lane];
                lane += 1;
            }
            place += 8;
        }
        sums.iter().sum::<f64>()
    });
    sums.sum()
}

/// Returns a pseudo-random index below `places`.
fn scatter(number: usize, places: usize) -> usize {
    let product = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (product ^ (product >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((u128::from(mixed) * places as u128) >> 64) as usize
}

/// Seconds of a multiplication without work; see [`Ceilings`].
struct Calls {
    launch: f64,
    call: f64,
    queue: f64,
    recorded: f64,
}

fn of_calls<E: Executor>(executor: &E) -> Result<Calls, Error> {
    let matrix = Csr::<f64>::try_new(1, 1, vec![0u32, 1], vec![0], vec![1.0])?;
    let mut plan = Plan::with_format(executor, matrix, Format::CSR_SCALAR)?;
    let (x, mut y) = (executor.upload(vec![1.0])?, executor.upload(vec![f64::NAN])?);
    let launch = measure(executor, EFFORT, &mut || Ok(()), &mut || plan.apply(1.0, &x, 0.0, &mut y))?.time;
    let each = |start: Instant, calls| start.elapsed().as_secs_f64() / f64::from(calls);
    let start = Instant::now();
    for _ in 0..CALLS {
        plan.apply(1.0, &x, 0.0, &mut y)?;
    }
    let queue = each(start, CALLS);
    executor.synchronize()?;
    let call = each(start, CALLS);
    let mut recording = E::Recording::default();
    let mut some = || (0..RECORDED).try_for_each(|_| plan.apply(1.0, &x, 0.0, &mut y));
    // The first two calls run it and record it.
    executor.repeat(&mut recording, 3, &mut some)?;
    executor.synchronize()?;
    let start = Instant::now();
    executor.repeat(&mut recording, (CALLS / RECORDED) as usize, &mut some)?;
    executor.synchronize()?;
    let recorded = each(start, CALLS / RECORDED * RECORDED);
    Ok(Calls { launch, call, queue, recorded })
}

/// On NVIDIA GPUs, by our own kernels and the driver's copy.
#[cfg(feature = "cuda")]
pub(crate) mod cuda {
    use cuda_std::launch::{Call, Grid, Launch};
    use gpu_kernels::ceiling::{Gather, ReadOnly, SECTOR_BYTES};
    use host::executor::{Cuda, CudaBuffer, KernelExecutor};
    use host::memory::Buffer;

    use super::*;

    /// Size of the arrays in bytes: a power of two, many times the cache, and as large as a large x.
    const BYTES: usize = 1 << 30;

    const THREADS_PER_BLOCK: u32 = 512;

    pub fn rates(gpu: &Cuda) -> Result<MemoryRates, Error> {
        let from = gpu.upload(random_vector::<f64>(BYTES / size_of::<f64>(), 1)?)?;
        let mut to = gpu.zeros::<f64>(from.len())?;
        let gigabytes = BYTES as f64 / 1e9;
        let time = |work: &mut dyn FnMut() -> Result<(), Error>| -> Result<f64, Error> {
            Ok(measure(gpu, EFFORT, &mut || Ok(()), work)?.time)
        };
        let copy_gbps = 2.0 * gigabytes / time(&mut || gpu.copy(&from, &mut to))?;
        drop(to);
        let cached = gpu.device().cache_bytes.map(|bytes| ((bytes / 2 + 1).next_power_of_two() / 2) / SECTOR_BYTES);
        let mut best = [0.0f64; 3];
        for waves in [1, 2, 4] {
            let mut sums = sums(gpu, waves)?;
            let read = time(&mut || read(gpu, &from, waves, &mut sums))?;
            let all = BYTES as u64 / SECTOR_BYTES;
            let [gather, cached_gather] =
                [all, cached.unwrap_or(all)].map(|sectors| time(&mut || gather(gpu, &from, sectors, waves, &mut sums)));
            for (best, time) in best.iter_mut().zip([read, gather?, cached_gather?]) {
                *best = best.max(gigabytes / time);
            }
        }
        let [read_gbps, gather_gbps, cached_gather_gbps] = best;
        let cached_gather_gbps = cached.map(|_| cached_gather_gbps);
        Ok(MemoryRates { copy_gbps, read_gbps, gather_gbps, cached_gather_gbps })
    }

    pub fn chill(gpu: &Cuda) -> Result<Chill<'_>, Error> {
        let other = gpu.upload(random_vector::<f64>((uncached_bytes(gpu) / size_of::<f64>()) & !3, 2)?)?;
        let mut sums = sums(gpu, 1)?;
        Ok(Box::new(move || read(gpu, &other, 1, &mut sums)))
    }

    fn grid(gpu: &Cuda, waves: u32) -> Grid {
        let device = gpu.device();
        let blocks = device.multiprocessors * device.threads_per_multiprocessor / THREADS_PER_BLOCK * waves;
        Grid { blocks, threads_per_block: THREADS_PER_BLOCK, shared_bytes: 0 }
    }

    /// Returns an array with a sum per thread.
    fn sums(gpu: &Cuda, waves: u32) -> Result<CudaBuffer<f64>, Error> {
        let Grid { blocks, threads_per_block, .. } = grid(gpu, waves);
        gpu.zeros((blocks * threads_per_block) as usize)
    }

    fn read(gpu: &Cuda, from: &CudaBuffer<f64>, waves: u32, sums: &mut CudaBuffer<f64>) -> Result<(), Error> {
        let kernel = ReadOnly { count: from.len() as u64, from: from.global(), sums: sums.global_mut() };
        launch(gpu, waves, Call::new(kernel))
    }

    /// Reads as many sectors as there are in total, each among the first `sectors`.
    fn gather(
        gpu: &Cuda,
        from: &CudaBuffer<f64>,
        sectors: u64,
        waves: u32,
        sums: &mut CudaBuffer<f64>,
    ) -> Result<(), Error> {
        let count = (from.len() * size_of::<f64>()) as u64 / SECTOR_BYTES;
        let kernel = Gather { count, sectors, from: from.global(), sums: sums.global_mut() };
        launch(gpu, waves, Call::new(kernel))
    }

    fn launch(gpu: &Cuda, waves: u32, kernel: Call) -> Result<(), Error> {
        // SAFETY: the numbers form whole sectors, of which a power of two are gathered; there is one sum per thread of the
        // grid; and freed memory is reused only by later launches.
        unsafe { gpu.launch(&Launch { grid: grid(gpu, waves), call: kernel }) }
    }
}

#[cfg(test)]
mod tests {
    use host::executor::Cpu;

    use super::*;

    #[test]
    fn of_the_cpu() {
        let ceilings = of(&HostExecutor::from(Cpu::new())).unwrap().unwrap();
        let Ceilings { copy_gbps, read_gbps, gather_gbps, launch, call, .. } = ceilings;
        for number in [copy_gbps, read_gbps, gather_gbps, launch, call] {
            assert!(number.is_finite() && number > 0.0, "{ceilings:?}");
        }
    }

    #[test]
    fn scattered_places_are_all_below_the_end_and_spread() {
        let places = 1000;
        let mut hit = vec![0; places];
        for number in 0..20 * places {
            hit[scatter(number, places)] += 1;
        }
        assert!(hit.iter().all(|&hit| (1..60).contains(&hit)));
    }
}
