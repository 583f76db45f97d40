//! A warp: its lanes, and which of them wait for which.

use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

use corosensei::CoroutineResult;
use rand::seq::SliceRandom;

use crate::collective::{self, Call, Operation, lanes};
use crate::coroutine::{Lane, panic_message};
use crate::lane::{Request, Surroundings};
use crate::machine::{Launch, Machine};
use crate::race::Clocks;
use crate::shared::SharedMemory;
use crate::{Fault, FaultKind, Position, WARP_LANES};

const LANES: usize = WARP_LANES as usize;

/// Each existing lane is in exactly one of the sets `ready`, `waiting`, `at_barrier` and `returned`.
pub(crate) struct Warp<'run> {
    /// The position of lane 0.
    first: Position,
    /// The lanes that have begun but not ended.
    lanes: [Option<Lane<'run>>; LANES],
    /// The operation in which each lane waits, if any.
    calls: [Call; LANES],
    /// The result of the operation in which each lane last waited.
    answers: [u64; LANES],
    /// The lanes that can run.
    ready: u32,
    /// The lanes that wait in an operation of the warp.
    waiting: u32,
    /// The lanes that wait at the block barrier.
    at_barrier: u32,
    /// The lanes that have returned from the kernel.
    returned: u32,
    steps: u64,
    /// The lanes' knowledge of each other.
    clocks: Rc<RefCell<Clocks>>,
}

impl<'run> Warp<'run> {
    /// The warp whose lane 0 is at `first`.
    pub(crate) fn new(first: Position) -> Self {
        let nothing =
            Call { operation: Operation::WarpBarrier, location: Location::caller(), mask: 0, value: 0, source: 0 };
        Self {
            first,
            lanes: [const { None }; LANES],
            calls: [nothing; LANES],
            answers: [0; LANES],
            ready: u32::MAX >> (WARP_LANES - first.lanes()),
            waiting: 0,
            at_barrier: 0,
            returned: 0,
            steps: 0,
            clocks: Rc::new(RefCell::new(Clocks::new())),
        }
    }

    pub(crate) fn can_run(&self) -> bool {
        self.ready != 0
    }

    /// The first lane that waits in an operation of the warp.
    pub(crate) fn first_waiting(&self) -> Option<(Position, Call)> {
        self.first_of(self.waiting)
    }

    /// The first lane that waits at the block barrier.
    pub(crate) fn first_at_barrier(&self) -> Option<(Position, Call)> {
        self.first_of(self.at_barrier)
    }

    /// The first lane that has returned from the kernel.
    pub(crate) fn first_returned(&self) -> Option<Position> {
        lanes(self.returned).next().map(|lane| self.position(lane))
    }

    /// The first lane that is at a different barrier than `call`. All lanes must be at a barrier.
    pub(crate) fn first_at_other_barrier(&self, call: &Call) -> Option<(Position, Call)> {
        lanes(self.at_barrier)
            .find(|&lane| !self.calls[lane].meets(call))
            .map(|lane| (self.position(lane), self.calls[lane]))
    }

    /// Lets the lanes at the block barrier continue.
    pub(crate) fn release(&mut self) {
        self.ready |= self.at_barrier;
        self.at_barrier = 0;
        self.clocks.borrow_mut().pass_block_barrier();
    }

    /// Runs each runnable lane until it waits, in random order, and then resolves the operations at which all lanes
    /// have arrived.
    pub(crate) fn step(
        &mut self,
        launch: &Launch<'run>,
        shared: &Rc<RefCell<SharedMemory>>,
        machine: &mut Machine,
    ) -> Result<(), Fault> {
        machine.statistics.steps += 1;
        self.steps += 1;
        if self.steps > launch.step_limit {
            let kind = FaultKind::StepLimit { limit: launch.step_limit };
            return Err(Fault { lane: None, ..Fault::of_lane(launch.name, self.first, None, kind) });
        }
        let ready = self.ready;
        let mut order = [0; LANES];
        let mut count = 0;
        for lane in lanes(ready) {
            order[count] = lane;
            count += 1;
        }
        order[..count].shuffle(&mut machine.random);
        for &lane in &order[..count] {
            self.resume(lane, launch, shared, machine)?;
        }
        // If every lane only paused, there is nothing new to resolve.
        if self.ready == ready { Ok(()) } else { self.resolve(launch, machine) }
    }

    fn resume(
        &mut self,
        lane: usize,
        launch: &Launch<'run>,
        shared: &Rc<RefCell<SharedMemory>>,
        machine: &mut Machine,
    ) -> Result<(), Fault> {
        let position = self.position(lane);
        let fault = |location, kind| Err(Fault::of_lane(launch.name, position, location, kind));
        let slot = &mut self.lanes[lane];
        let running = match slot {
            Some(running) => running,
            None => match machine.stacks.take() {
                Ok(stack) => {
                    let (shared, global) = (Rc::clone(shared), Rc::clone(&machine.global));
                    let surroundings = Surroundings { shared, global, clocks: Rc::clone(&self.clocks) };
                    slot.insert(Lane::new(stack, launch.kernel, position, surroundings))
                }
                Err(error) => return fault(None, FaultKind::Stack { reason: error.to_string() }),
            },
        };
        machine.statistics.switches += 1;
        match running.resume(self.answers[lane]) {
            CoroutineResult::Yield(Request::Interleave) => machine.statistics.interleavings += 1,
            CoroutineResult::Yield(Request::Wait(call)) => {
                self.calls[lane] = call;
                self.ready &= !(1 << lane);
                match call.operation {
                    Operation::BlockBarrier => self.at_barrier |= 1 << lane,
                    _ => self.waiting |= 1 << lane,
                }
            }
            CoroutineResult::Yield(Request::Fault(fault_and_place)) => {
                let (kind, location) = *fault_and_place;
                return fault(Some(location), kind);
            }
            CoroutineResult::Return(outcome) => {
                if let Some(ended) = slot.take() {
                    machine.stacks.give_back(ended.into_stack());
                }
                self.ready &= !(1 << lane);
                self.returned |= 1 << lane;
                if let Err(payload) = outcome {
                    return fault(None, FaultKind::Panic { message: panic_message(&*payload) });
                }
            }
        }
        Ok(())
    }

    /// Answers each operation at which all lanes have arrived, and finds lanes that wait in vain.
    fn resolve(&mut self, launch: &Launch<'run>, machine: &mut Machine) -> Result<(), Fault> {
        let mut rest = self.waiting;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let call = self.calls[first];
            let mask = call.mask;
            let together = |lane: usize| self.calls[lane].mask == mask && self.calls[lane].meets(&call);
            if mask & !self.waiting == 0 && lanes(mask).all(together) {
                collective::answer(call.operation, mask, &self.calls, &mut self.answers);
                machine.statistics.collectives += 1;
                if call.operation == Operation::WarpBarrier {
                    self.clocks.borrow_mut().meet(lanes(mask));
                }
                self.waiting &= !mask;
                self.ready |= mask;
                rest &= !mask;
            } else {
                if let Some(kind) = self.waits_in_vain(first) {
                    return Err(Fault::of_lane(launch.name, self.position(first), Some(call.location), kind));
                }
                rest &= !(1 << first);
            }
        }
        Ok(())
    }

    /// The reason why a waiting lane can never continue, if any.
    fn waits_in_vain(&self, lane: usize) -> Option<FaultKind> {
        let call = &self.calls[lane];
        let operation = call.operation.name();
        lanes(call.mask).find_map(|other| {
            let bit = 1 << other;
            let other_lane = other as u32;
            let other_call = &self.calls[other];
            let other_location = other_call.location;
            if self.returned & bit != 0 {
                return Some(FaultKind::LaneLeft { operation, other_lane });
            }
            // A lane that waits only for others may meet them first and come here afterwards; one at the block barrier
            // waits for all.
            let at_barrier = self.at_barrier & bit != 0;
            let waits_for_this = self.waiting & bit != 0 && other_call.mask >> lane & 1 != 0;
            if waits_for_this && other_call.mask != call.mask {
                let (mask, other_mask) = (call.mask, other_call.mask);
                Some(FaultKind::MaskMismatch { operation, mask, other_lane, other_mask, other_location })
            } else if at_barrier || waits_for_this && !other_call.meets(call) {
                let other_operation = other_call.operation.name();
                Some(FaultKind::Divergent { operation, other_lane, other_operation, other_location })
            } else {
                None
            }
        })
    }

    fn first_of(&self, set: u32) -> Option<(Position, Call)> {
        lanes(set).next().map(|lane| (self.position(lane), self.calls[lane]))
    }

    fn position(&self, lane: usize) -> Position {
        Position { thread: self.first.thread + lane as u32, ..self.first }
    }
}
