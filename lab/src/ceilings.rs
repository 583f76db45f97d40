//! How fast a device can be: nothing that moves the same bytes is faster.

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

/// Nothing smaller comes from the memory of a CPU.
const LINE_BYTES: usize = 64;

/// How many times as large as the largest cache something is that the cache does not hold: the arrays here, and a matrix
/// with its vectors, which is timed with cold caches as well if it is smaller.
pub const TIMES_CACHE: u64 = 4;

/// The cache that is assumed of a CPU that does not tell.
const ASSUMED_CACHE_BYTES: u64 = 64 << 20;

/// The part of the host's free memory that an array here may take. A virtual machine may be told of the caches of a
/// whole processor, and several processes may measure at a time.
const SHARE_OF_MEMORY: u128 = 32;

/// Random numbers that are drawn for an array; more of it repeats them.
const DRAWN: usize = 1 << 17;

/// Multiplications that are queued to find out what a call takes: fewer than a GPU's queue holds, so that the caller does
/// not wait for room.
const CALLS: u32 = 1000;

/// Multiplications of a recording.
const RECORDED: u32 = 16;

/// How fast memory is read and written.
pub struct MemoryRates {
    /// A copy, in 10^9 bytes a second, read and written.
    pub copy_gbps: f64,
    /// Reading alone.
    pub read_gbps: f64,
    /// Reading sectors at random places of a large array.
    pub gather_gbps: f64,
    /// The same of an array that the largest cache holds, where that is known.
    pub cached_gather_gbps: Option<f64>,
}

/// The ceilings of an executor; none where they are not worth knowing. It is generic, so that the products behind it are
/// compiled where a program compiles its own, and not here as well.
pub(crate) fn of<S: Subject>(subject: &S) -> Result<Option<Ceilings>, Error> {
    let Some(rates) = subject.memory_rates()? else { return Ok(None) };
    let MemoryRates { copy_gbps, read_gbps, gather_gbps, cached_gather_gbps } = rates;
    let Calls { launch, call, queue, recorded } = of_calls(subject)?;
    let (queue, recorded) = (Some(queue), Some(recorded));
    Ok(Some(Ceilings { copy_gbps, read_gbps, gather_gbps, cached_gather_gbps, launch, call, queue, recorded }))
}

/// Of all threads of the host together.
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

/// What reads an array that is larger than the cache.
pub(crate) fn chill_cpu(cpu: &HostExecutor) -> Result<Chill<'_>, Error> {
    let other = uncached_array(cpu, 2)?;
    let share = other.len().div_ceil(8 * rayon::current_num_threads()).max(1);
    Ok(Box::new(move || {
        black_box(sum(&other, share));
        Ok(())
    }))
}

/// An array that the caches of a CPU do not hold, as far as there is memory for it.
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

/// The sum of all numbers, by all threads, each with eight sums under way.
fn sum(numbers: &[f64], share: usize) -> f64 {
    let sums = numbers.par_chunks(share).map(|numbers| {
        let mut sums = [0.0; 8];
        for eight in numbers.chunks_exact(8) {
            for (sum, number) in sums.iter_mut().zip(eight) {
                *sum += number;
            }
        }
        sums.iter().sum::<f64>()
    });
    sums.sum()
}

/// A place below `places` that looks random.
fn scatter(number: usize, places: usize) -> usize {
    let product = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (product ^ (product >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((u128::from(mixed) * places as u128) >> 64) as usize
}

/// What a multiplication takes that has nothing to do, in seconds; see [`Ceilings`].
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
    // The first two times it is done and recorded.
    executor.repeat(&mut recording, 3, &mut some)?;
    executor.synchronize()?;
    let start = Instant::now();
    executor.repeat(&mut recording, (CALLS / RECORDED) as usize, &mut some)?;
    executor.synchronize()?;
    let recorded = each(start, CALLS / RECORDED * RECORDED);
    Ok(Calls { launch, call, queue, recorded })
}

/// On NVIDIA GPUs, by kernels of our own and the driver's copy.
#[cfg(feature = "cuda")]
pub(crate) mod cuda {
    use cuda_std::launch::{Call, Grid, Launch};
    use gpu_kernels::ceiling::{Gather, ReadOnly, SECTOR_BYTES};
    use host::executor::{Cuda, CudaBuffer, KernelExecutor};
    use host::memory::Buffer;

    use super::*;

    /// Bytes of the arrays: a power of two, many times the cache, and as large as a large x.
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

    /// Room for a sum of each thread.
    fn sums(gpu: &Cuda, waves: u32) -> Result<CudaBuffer<f64>, Error> {
        let Grid { blocks, threads_per_block, .. } = grid(gpu, waves);
        gpu.zeros((blocks * threads_per_block) as usize)
    }

    fn read(gpu: &Cuda, from: &CudaBuffer<f64>, waves: u32, sums: &mut CudaBuffer<f64>) -> Result<(), Error> {
        let kernel = ReadOnly { count: from.len() as u64, from: from.global(), sums: sums.global_mut() };
        launch(gpu, waves, Call::new(kernel))
    }

    /// Reads as many sectors as there are in all, each among the first `sectors`.
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
        // SAFETY: the numbers are whole sectors, and a power of two of them are gathered; there is a sum for each thread
        // of the grid; and what is freed is used again only by what is launched later.
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
