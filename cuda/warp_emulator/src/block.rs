//! A block: its warps, its shared memory and its barrier.

use std::cell::RefCell;
use std::rc::Rc;

use crate::machine::{Launch, Machine};
use crate::shared::SharedMemory;
use crate::warp::Warp;
use crate::{Fault, FaultKind, Position, WARP_LANES};

/// Effect of a step of one warp on its block.
pub(crate) enum Progress {
    /// The warp can continue.
    Runs,
    /// The warp waits for others or has ended.
    Rests,
    /// All threads met at the barrier, and all warps can continue.
    Released,
    /// All threads have returned.
    Finished,
}

pub(crate) struct Block<'run> {
    warps: Vec<Warp<'run>>,
    /// Number of warps that can run.
    runnable: usize,
    shared: Rc<RefCell<SharedMemory>>,
}

impl<'run> Block<'run> {
    pub(crate) fn new(launch: &Launch<'run>, number: u32) -> Self {
        let grid = launch.grid;
        let warps: Vec<_> = (0..grid.threads_per_block)
            .step_by(WARP_LANES as usize)
            .map(|thread| {
                let threads_per_block = grid.threads_per_block;
                Warp::new(Position { block: number, blocks: grid.blocks, thread, threads_per_block })
            })
            .collect();
        let runnable = warps.len();
        Self { warps, runnable, shared: Rc::new(RefCell::new(SharedMemory::new(grid.shared_bytes))) }
    }

    pub(crate) fn warps(&self) -> usize {
        self.warps.len()
    }

    /// Runs one warp, which must be able to run, until all of its lanes wait.
    pub(crate) fn step(
        &mut self,
        warp: usize,
        launch: &Launch<'run>,
        machine: &mut Machine,
    ) -> Result<Progress, Fault> {
        self.warps[warp].step(launch, &self.shared, machine)?;
        if self.warps[warp].can_run() {
            return Ok(Progress::Runs);
        }
        self.runnable -= 1;
        if self.runnable > 0 {
            return Ok(Progress::Rests);
        }
        self.all_rest(launch, machine)
    }

    /// No warp can run: all threads have returned, or all are at the barrier, or the kernel has a fault.
    fn all_rest(&mut self, launch: &Launch<'run>, machine: &mut Machine) -> Result<Progress, Fault> {
        if let Some((position, call)) = self.warps.iter().find_map(Warp::first_waiting) {
            let kind = FaultKind::Deadlock { operation: call.operation.name() };
            return Err(Fault::of_lane(launch.name, position, Some(call.location), kind));
        }
        let Some((position, call)) = self.warps.iter().find_map(Warp::first_at_barrier) else {
            return Ok(Progress::Finished);
        };
        let fault = |kind| Err(Fault::of_lane(launch.name, position, Some(call.location), kind));
        if let Some(other) = self.warps.iter().find_map(Warp::first_returned) {
            return fault(FaultKind::BarrierLeft { other_warp: other.warp(), other_lane: other.lane() });
        }
        if let Some((other, other_call)) = self.warps.iter().find_map(|warp| warp.first_at_other_barrier(&call)) {
            return fault(FaultKind::BarrierDivergent {
                other_warp: other.warp(),
                other_lane: other.lane(),
                other_location: other_call.location,
            });
        }
        self.warps.iter_mut().for_each(Warp::release);
        self.runnable = self.warps.len();
        machine.statistics.block_barriers += 1;
        Ok(Progress::Released)
    }
}
