//! The schedule of warps.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::{fmt, thread};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::block::{Block, Progress};
use crate::global::{Contents, GlobalMemory, Unwritten};
use crate::machine::{Grid, Launch, Machine, Statistics};
use crate::order::RandomOrder;
use crate::stack::Stacks;
use crate::{Fault, FaultKind, lane};

const DEFAULT_RESIDENT_BLOCKS: u32 = 4;
const DEFAULT_STACK_BYTES: usize = 64 * 1024;
const LARGEST_STACK_BYTES: usize = 1 << 30;
const DEFAULT_STEP_LIMIT: u64 = 10_000_000;

/// Runs kernels on the host: see the crate's documentation.
///
/// An emulator can be shared by several threads; each run stays on the thread that called [`run`](Self::run), which
/// keeps the stacks of lanes between runs. Forgotten memory is shared with the emulator's clones.
#[derive(Clone)]
pub struct Emulator {
    seed: u64,
    resident_blocks: u32,
    stack_bytes: usize,
    step_limit: u64,
    unwritten: Arc<Unwritten>,
}

impl Emulator {
    /// Creates an emulator whose schedule is drawn from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            resident_blocks: DEFAULT_RESIDENT_BLOCKS,
            stack_bytes: DEFAULT_STACK_BYTES,
            step_limit: DEFAULT_STEP_LIMIT,
            unwritten: Arc::default(),
        }
    }

    /// Draws the schedule from another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.set_seed(seed);
        self
    }

    /// [`with_seed`](Self::with_seed) in place.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// Sets the number of blocks that run at the same time; 0 counts as 1. The default is 4.
    #[must_use]
    pub fn with_resident_blocks(mut self, blocks: u32) -> Self {
        self.resident_blocks = blocks.max(1);
        self
    }

    /// Sets the size of a lane's stack, within 4 KiB and 1 GiB. The default is 64 KiB. Below each stack is a guard
    /// page: a lane that needs more ends the process, as an overflow of a thread's stack does. A panic that prints its
    /// backtrace needs about 24 KiB.
    #[must_use]
    pub fn with_stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes.min(LARGEST_STACK_BYTES);
        self
    }

    /// Sets how often a warp may be picked to run until the run ends with [`FaultKind::StepLimit`]. The default is ten
    /// million. A warp takes one step between two meetings of its lanes, so only a kernel that spins comes close.
    #[must_use]
    pub fn with_step_limit(mut self, steps: u64) -> Self {
        self.step_limit = steps;
        self
    }

    /// Marks memory as unwritten: a kernel of this emulator that reads any of it before writing it is then a fault.
    /// Writes by kernels are tracked; a write by the host is not recognized if it writes the mark with which the memory
    /// is filled (see [`Contents`]).
    pub fn forget(&self, memory: &mut [u8], contents: Contents) {
        self.unwritten.add(memory, contents);
    }

    /// Marks memory as written: it may lie where [forgotten](Self::forget) memory has been freed.
    pub fn remember(&self, memory: &[u8]) {
        self.unwritten.remove(memory);
    }

    /// Runs `lane` once for every thread of `grid`, and returns statistics. `kernel` is a name for messages.
    ///
    /// The same seed, grid and lane give the same schedule. The time is proportional to the number of threads and the
    /// number of times that they wait; the memory to the number of threads that are inside `lane`.
    ///
    /// # Errors
    /// Returns the first [`Fault`] of a lane. By then, the locals of all lanes that were inside `lane` have been
    /// dropped. A kernel's panic becomes a fault, too, after the panic hook has run.
    pub fn run(&self, kernel: &str, grid: Grid, lane: &dyn Fn()) -> Result<Statistics, Fault> {
        let refuse = |kind| Err(Fault::of_launch(kernel, kind));
        // While this thread panics, an unwinding lane could not be distinguished from others.
        if lane::inside() || thread::panicking() {
            return refuse(FaultKind::Nested);
        }
        if let Err(kind) = grid.check() {
            return refuse(kind);
        }
        let launch = Launch { name: kernel, kernel: lane, grid, step_limit: self.step_limit };
        let mut machine = Machine {
            random: ChaCha8Rng::seed_from_u64(self.seed),
            stacks: Stacks::of_thread(self.stack_bytes),
            statistics: Statistics::default(),
            global: Rc::new(RefCell::new(GlobalMemory::new(Arc::clone(&self.unwritten)))),
        };
        let result = run_blocks(&launch, self.resident_blocks, &mut machine);
        machine.stacks.keep();
        result.map(|()| machine.statistics)
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator")
            .field("seed", &self.seed)
            .field("resident_blocks", &self.resident_blocks)
            .field("stack_bytes", &self.stack_bytes)
            .field("step_limit", &self.step_limit)
            .finish_non_exhaustive()
    }
}

/// Runs all blocks, several at a time: each step runs a warp drawn from those that can run.
fn run_blocks(launch: &Launch<'_>, resident_blocks: u32, machine: &mut Machine) -> Result<(), Fault> {
    let mut order = RandomOrder::new(launch.grid.blocks);
    let mut resident: Vec<Block<'_>> = Vec::new();
    // The warps that can run, each as its block's index in `resident` and its own index in the block.
    let mut runnable: Vec<(usize, usize)> = Vec::new();
    for slot in 0..resident_blocks as usize {
        let Some(number) = order.next(&mut machine.random) else { break };
        resident.push(begin(launch, number, machine));
        runnable.extend((0..resident[slot].warps()).map(|warp| (slot, warp)));
    }
    while !runnable.is_empty() {
        let picked = machine.random.random_range(0..runnable.len());
        let (slot, warp) = runnable[picked];
        let block = &mut resident[slot];
        let progress = block.step(warp, launch, machine)?;
        if matches!(progress, Progress::Runs) {
            continue;
        }
        runnable.swap_remove(picked);
        if matches!(progress, Progress::Rests) {
            continue;
        }
        if matches!(progress, Progress::Finished) {
            let Some(number) = order.next(&mut machine.random) else { continue };
            *block = begin(launch, number, machine);
        }
        runnable.extend((0..block.warps()).map(|warp| (slot, warp)));
    }
    Ok(())
}

fn begin<'run>(launch: &Launch<'run>, number: u32, machine: &mut Machine) -> Block<'run> {
    let block = Block::new(launch, number);
    machine.statistics.blocks += 1;
    machine.statistics.warps += block.warps() as u64;
    machine.statistics.threads += u64::from(launch.grid.threads_per_block);
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_that_cannot_be_had_is_a_fault() {
        // More than the address space of a process.
        let emulator = Emulator { stack_bytes: 1 << 60, ..Emulator::new(0) };
        let grid = Grid { blocks: 1, threads_per_block: 1, shared_bytes: 0 };
        let fault = emulator.run("kernel", grid, &|| ()).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Stack { .. }), "{fault}");
        assert_eq!((fault.block, fault.warp, fault.lane), (Some(0), Some(0), Some(0)));
    }

    #[test]
    fn a_thread_keeps_stacks_between_runs() {
        let kept_after = |stack_bytes, kernel: &dyn Fn()| {
            let grid = Grid { blocks: 3, threads_per_block: 64, shared_bytes: 0 };
            let emulator = Emulator::new(0).with_resident_blocks(1).with_stack_bytes(stack_bytes);
            emulator.run("kernel", grid, kernel).unwrap();
            Stacks::kept()
        };
        let run_some = move || {
            assert_eq!(kept_after(1 << 16, &|| ()), 1, "a lane that returns at once leaves its stack to the next");
            assert_eq!(kept_after(1 << 16, &crate::block_barrier), 64);
            assert_eq!(kept_after(1 << 16, &crate::block_barrier), 64);
            assert_eq!(kept_after(1 << 17, &|| ()), 1, "of another size");
        };
        thread::spawn(run_some).join().unwrap();
        assert_eq!(thread::spawn(Stacks::kept).join().unwrap(), 0, "each thread has its own");
    }
}
