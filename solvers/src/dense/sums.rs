//! Partial sums, their totals, and the program that follows.

use cuda_std::Global;
use cuda_std::launch::{Grid, Launch};
use cuda_std::warp::WARP_LANES;
use gpu_kernels::dense::program::{STATUS, WORDS, run};
use gpu_kernels::dense::sums::{AddUpRanks, FIRST_SUM, FLAG, FinishSums, MOST_RANKS};
use host::PartialSums;
use host::device::Device;
use host::error::{Error, check_length};
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::memory::{Buffer, HostMemory, Memory};
use host::real::Real;
use host::verify::Accumulator;

use crate::ranks::Gathered;

/// Adds up the partial sums of a pass, and runs a program on the scalars.
pub(super) struct FinishPass;

impl Operation for FinishPass {
    type Operands<'a, M: Memory> = SumOperands<'a, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: SumOperands<'_, K::Memory>) -> Result<(), Error> {
        let launch = launch(operands, executor.device())?;
        // SAFETY: the slots were checked, the arrays are borrowed, the scalars exclusively, and a program accesses only the
        // slots that it was checked for.
        unsafe { executor.launch(&launch) }
    }

    fn on_host(_: Arithmetic, operands: SumOperands<'_, HostMemory>) -> Result<(), Error> {
        finish_on_host(operands)
    }
}

/// The operands of [`FinishPass`].
pub(super) struct SumOperands<'a, M: Memory> {
    /// Partial sums of the last pass; `None` to run only the program.
    pub(super) partial_sums: Option<&'a PartialSums<M>>,
    /// The slot of the first sum.
    pub(super) target: u32,
    /// The words of the program's steps.
    pub(super) program: &'a M::Buffer<u32>,
    /// Number of slots that the program needs.
    pub(super) slots: usize,
    /// The slots.
    pub(super) scalars: &'a mut M::Buffer<f64>,
    /// If not 0, what slot [`FLAG`] becomes once the sums are written.
    pub(super) number: u64,
}

impl<M: Memory> SumOperands<'_, M> {
    fn sums(&self) -> usize {
        self.partial_sums.map_or(0, PartialSums::sums)
    }

    fn check(&self) -> Result<(), Error> {
        if self.number != 0 {
            check_room("the array of the flag", self.scalars.len(), FLAG as usize + 1)?;
        }
        self.check_slots(self.sums())
    }

    /// Checks that there are the slots of the program, and of this many sums.
    fn check_slots(&self, sums: usize) -> Result<(), Error> {
        check_room(
            "the array of scalars",
            self.scalars.len(),
            self.slots.max(sums.saturating_add(self.target as usize)),
        )
    }
}

/// Adds up the sums of the ranks in rank order, and runs a program on the scalars.
pub(super) struct FinishRanks;

impl Operation for FinishRanks {
    type Operands<'a, M: Memory> = RankOperands<'a, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: RankOperands<'_, K::Memory>) -> Result<(), Error> {
        operands.check()?;
        let RankOperands { gathered, sums, rest } = operands;
        let kernel = AddUpRanks {
            sums: sums as u32,
            ranks: gathered.ranks as u32,
            target: rest.target,
            of_ranks: gathered.of_ranks.map(Buffer::global),
            number: gathered.number as f64,
            patience: gathered.patience.map_or(u64::MAX, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
            steps: rest.program.len() as u32 / WORDS,
            program: rest.program.global(),
            scalars: rest.scalars.global_mut(),
        };
        let grid = Grid { blocks: 1, threads_per_block: WARP_LANES, shared_bytes: 4 * MOST_RANKS as u32 };
        // SAFETY: the slots and the arrays of the ranks were checked, and all are borrowed, the scalars exclusively.
        unsafe { executor.launch(&Launch::new(grid, kernel)) }
    }

    fn on_host(_: Arithmetic, operands: RankOperands<'_, HostMemory>) -> Result<(), Error> {
        operands.check()?;
        let RankOperands { gathered, sums, rest } = operands;
        if rest.scalars[STATUS as usize] != 0.0 {
            return Ok(());
        }
        for sum in 0..sums {
            let of_ranks = gathered.of_ranks[..gathered.ranks].iter().map(|array| array[FIRST_SUM as usize + sum]);
            rest.scalars[rest.target as usize + sum] = of_ranks.reduce(|sum, next| sum + next).unwrap_or(0.0);
        }
        finish_on_host(rest)
    }
}

/// The operands of [`FinishRanks`].
pub(super) struct RankOperands<'a, M: Memory> {
    pub(super) gathered: Gathered<'a, M>,
    /// Number of sums.
    pub(super) sums: usize,
    /// Without partial sums.
    pub(super) rest: SumOperands<'a, M>,
}

impl<M: Memory> RankOperands<'_, M> {
    fn check(&self) -> Result<(), Error> {
        let Gathered { ranks, of_ranks, .. } = &self.gathered;
        if !(1..=MOST_RANKS).contains(ranks) {
            let value = ranks.to_string();
            return Err(Error::Setting { what: "the number of ranks", value, expected: "1 to 8" });
        }
        let needed = self.sums.saturating_add(FIRST_SUM as usize);
        of_ranks[..*ranks].iter().try_for_each(|array| check_room("the sums of a rank", array.len(), needed))?;
        self.rest.check_slots(self.sums)
    }
}

/// Checks that an array has at least this many elements.
fn check_room(what: &'static str, found: usize, needed: usize) -> Result<(), Error> {
    if found < needed { check_length(what, found, needed) } else { Ok(()) }
}

/// Returns the launch that adds up sums and runs a program.
fn launch<M: Memory>(operands: SumOperands<'_, M>, device: &Device) -> Result<Launch, Error> {
    operands.check()?;
    let sums = operands.sums() as u32;
    // Without sums, one warp suffices.
    let most = if sums == 0 { WARP_LANES } else { device.threads_per_multiprocessor.clamp(WARP_LANES, 1024) };
    let warps = 1 << (most / WARP_LANES).ilog2();
    let warps_per_sum = 1 << (warps / sums.clamp(1, warps)).ilog2();
    let SumOperands { partial_sums, target, program, scalars, number, .. } = operands;
    let empty = Global::from_slice(&[]);
    let kernel = FinishSums {
        sums,
        blocks: partial_sums.map_or(0, |sums| sums.blocks() as u32),
        warps_per_sum,
        target,
        number: number as f64,
        partial_sums: partial_sums.map_or(empty, PartialSums::global),
        steps: program.len() as u32 / WORDS,
        program: program.global(),
        scalars: scalars.global_mut(),
    };
    let grid = Grid { blocks: 1, threads_per_block: warps * WARP_LANES, shared_bytes: warps * 8 };
    Ok(Launch::new(grid, kernel))
}

/// Adds up sums and runs a program on the host.
fn finish_on_host(operands: SumOperands<'_, HostMemory>) -> Result<(), Error> {
    operands.check()?;
    let SumOperands { partial_sums, target, program, scalars, number, .. } = operands;
    if scalars[STATUS as usize] != 0.0 {
        return Ok(());
    }
    if let Some(partial_sums) = partial_sums {
        for sum in 0..partial_sums.sums() {
            scalars[target as usize + sum] = partial_sums.total(sum);
        }
    }
    if number != 0 {
        scalars[FLAG as usize] = number as f64;
    }
    let slots = std::cell::RefCell::new(scalars);
    let get = |slot| slots.borrow()[slot as usize];
    run(
        program.len() as u32 / WORDS,
        |word| program[word as usize],
        get,
        |slot, value| {
            slots.borrow_mut()[slot as usize] = value;
        },
    );
    Ok(())
}

/// A method of adding up products on the host.
pub(crate) trait Summation: Default + Copy + Send {
    /// Elements of a vector that are added up sequentially; chunks run in parallel.
    const CHUNK: usize;

    /// Adds `a * b`, the product for element `place` of a vector.
    fn add(&mut self, place: usize, a: f64, b: f64);

    /// Returns the sum.
    fn value(&self) -> f64;

    /// Returns α times the sum + β y; with β = 0, `y` is ignored.
    fn combine<T: Real>(&self, alpha: T, beta: T, y: T) -> T;
}

/// Independent chains of additions, in parallel.
#[derive(Clone, Copy, Default)]
pub(crate) struct Plain([f64; Self::CHAINS]);

impl Plain {
    const CHAINS: usize = 8;
}

impl Summation for Plain {
    const CHUNK: usize = 4096;

    fn add(&mut self, place: usize, a: f64, b: f64) {
        self.0[place % Self::CHAINS] += a * b;
    }

    fn value(&self) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        ((a + b) + (c + d)) + ((e + f) + (g + h))
    }

    fn combine<T: Real>(&self, alpha: T, beta: T, y: T) -> T {
        let product = alpha.to_f64() * self.value();
        T::from_f64(if beta == T::ZERO { product } else { product + beta.to_f64() * y.to_f64() })
    }
}

/// One compensated sum.
#[derive(Clone, Copy, Default)]
pub(crate) struct Compensated(Accumulator);

impl Summation for Compensated {
    const CHUNK: usize = usize::MAX;

    fn add(&mut self, _place: usize, a: f64, b: f64) {
        self.0.add_product(a, b);
    }

    fn value(&self) -> f64 {
        self.combine(1.0, 0.0, 0.0)
    }

    fn combine<T: Real>(&self, alpha: T, beta: T, y: T) -> T {
        T::from_f64(self.0.combine(alpha.to_f64(), beta.to_f64(), y.to_f64()).value())
    }
}

/// Evaluates an expression on the host with the [`Summation`] of an [`Arithmetic`] as type `$S`.
macro_rules! with_summation {
    ($arithmetic:expr, $S:ident => $result:expr) => {
        match $arithmetic {
            host::executor::operation::Arithmetic::Parallel => {
                type $S = $crate::dense::Plain;
                $result
            }
            host::executor::operation::Arithmetic::Compensated => {
                type $S = $crate::dense::Compensated;
                $result
            }
        }
    };
}
pub(crate) use with_summation;
