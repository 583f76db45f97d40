//! The order in which lanes, warps and blocks run, and runs on several threads.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use warp_emulator::{
    Emulator, FaultKind, Grid, Shuffle, Statistics, Vote, block_barrier, interleave, out_of_bounds, position, shuffle,
    vote, warp_barrier,
};

use crate::common::{block_of, fault, results, thread_in_grid};

const GRID: Grid = Grid { blocks: 6, threads_per_block: 48, shared_bytes: 0 };

/// The ticket that each thread draws from a counter.
fn tickets(seed: u64) -> Vec<u32> {
    let counter = AtomicU32::new(0);
    results(&Emulator::new(seed), GRID, || {
        interleave();
        counter.fetch_add(1, Ordering::Relaxed)
    })
}

#[test]
fn the_seed_alone_gives_the_order() {
    let orders: HashSet<_> = (0..20)
        .map(|seed| {
            assert_eq!(tickets(seed), tickets(seed), "seed {seed}");
            tickets(seed)
        })
        .collect();
    assert_eq!(orders.len(), 20);
    // A reused emulator draws the same order again.
    let emulator = Emulator::new(5);
    let order = |emulator: &Emulator| {
        let order = RefCell::new(Vec::new());
        let statistics = emulator.run("order", GRID, &|| order.borrow_mut().push(thread_in_grid())).unwrap();
        (order.into_inner(), statistics)
    };
    assert_eq!(order(&emulator), order(&emulator));
    assert_ne!(order(&emulator).0, order(&emulator.with_seed(6)).0);
}

/// The threads in the order in which they begin.
fn beginnings(seed: u64, grid: Grid) -> Vec<usize> {
    let order = RefCell::new(Vec::new());
    Emulator::new(seed)
        .with_resident_blocks(1)
        .run("order", grid, &|| order.borrow_mut().push(thread_in_grid()))
        .unwrap();
    order.into_inner()
}

#[test]
fn lanes_warps_and_blocks_come_in_any_order() {
    let firsts = |grid| (0..300).map(|seed| beginnings(seed, grid)[0]).collect::<HashSet<_>>();
    assert_eq!(firsts(block_of(32)).len(), 32, "each lane is first with some seed");
    let warps: HashSet<_> = firsts(block_of(256)).iter().map(|thread| thread / 32).collect();
    assert_eq!(warps.len(), 8, "each warp is first with some seed");
    let blocks = firsts(Grid { blocks: 10, threads_per_block: 1, shared_bytes: 0 });
    assert_eq!(blocks.len(), 10, "each block is first with some seed");
}

#[test]
fn no_more_blocks_are_resident_than_allowed() {
    for resident in [0, 1, 2, 5, 100] {
        let (now, most) = (Cell::new(0), Cell::new(0));
        let grid = Grid { blocks: 12, threads_per_block: 2, shared_bytes: 0 };
        Emulator::new(1)
            .with_resident_blocks(resident)
            .run("residents", grid, &|| {
                now.set(now.get() + 1);
                most.set(most.get().max(now.get()));
                block_barrier();
                for _ in 0..100 {
                    interleave();
                }
                block_barrier();
                now.set(now.get() - 1);
            })
            .unwrap();
        assert_eq!(now.get(), 0);
        assert_eq!(most.get(), 2 * resident.clamp(1, 12));
    }
}

#[test]
fn interleave_lets_others_in_between() {
    // A load and a store with other lanes in between lose additions.
    let lost = (0..20).filter(|&seed| {
        let sum = Cell::new(0);
        Emulator::new(seed)
            .run("lost_update", GRID, &|| {
                let loaded = sum.get();
                interleave();
                sum.set(loaded + 1);
            })
            .unwrap();
        sum.get() < 6 * 48
    });
    assert_eq!(lost.count(), 20);
}

#[test]
fn a_block_may_wait_for_a_resident_one() {
    let grid = Grid { blocks: 2, threads_per_block: 32, shared_bytes: 0 };
    for seed in 0..20 {
        let flag = Cell::new(false);
        let emulator = Emulator::new(seed);
        let seen = results(&emulator, grid, || {
            if position().block == 0 {
                warp_barrier(u32::MAX);
                flag.set(true);
            }
            while !flag.get() {
                interleave();
            }
            true
        });
        assert!(seen.into_iter().all(|seen| seen));
    }
}

#[test]
fn a_warp_that_spins_is_stopped() {
    let grid = Grid { blocks: 3, threads_per_block: 64, shared_bytes: 0 };
    let spin_alone: &dyn Fn() = &|| {
        while (position().block, position().thread) == (2, 40) {
            interleave();
        }
    };
    let spin_together: &dyn Fn() = &|| {
        while position().block == 2 && position().warp() == 1 {
            vote(Vote::Any, u32::MAX, true);
        }
    };
    for spin in [spin_alone, spin_together] {
        let fault = Emulator::new(1).with_step_limit(1000).run("spin", grid, spin).unwrap_err();
        assert_eq!(fault.kind, FaultKind::StepLimit { limit: 1000 });
        assert_eq!((fault.block, fault.warp, fault.lane), (Some(2), Some(1), None));
        assert_eq!(fault.to_string(), "kernel spin: block 2, warp 1: no end after 1000 steps of the warp");
    }
    // Just enough steps for a kernel that ends.
    let ends = || (0..9).for_each(|_| interleave());
    assert!(Emulator::new(1).with_step_limit(10).run("ends", grid, &ends).is_ok());
    assert!(Emulator::new(1).with_step_limit(9).run("ends", grid, &ends).is_err());
}

#[test]
fn an_empty_grid_runs_nothing() {
    let grid = Grid { blocks: 0, threads_per_block: 32, shared_bytes: 0 };
    let statistics = Emulator::new(0).run("nothing", grid, &|| panic!("no thread runs")).unwrap();
    assert_eq!(statistics, Statistics::default());
}

#[test]
fn the_last_warp_may_be_partial() {
    for threads_per_block in [1, 31, 33, 40, 1023] {
        let grid = Grid { blocks: 2, threads_per_block, shared_bytes: 0 };
        let found = results(&Emulator::new(2), grid, || {
            let here = position();
            assert_eq!((here.blocks, here.threads_per_block), (2, threads_per_block));
            let mask = u32::MAX >> (32 - here.lanes());
            (
                here,
                vote(Vote::Ballot, mask, true).count_ones(),
                shuffle(Shuffle::Index, mask, here.thread.into(), 0, 32),
            )
        });
        for (number, (here, lanes, first)) in found.into_iter().enumerate() {
            let thread = number as u32 % threads_per_block;
            assert_eq!((here.block, here.thread), (number as u32 / threads_per_block, thread));
            assert_eq!((here.warp(), here.lane()), (thread / 32, thread % 32));
            assert_eq!(lanes, (threads_per_block - thread / 32 * 32).min(32));
            assert_eq!(first, u64::from(thread / 32 * 32));
        }
    }
}

#[test]
fn one_emulator_serves_several_threads() {
    let emulator = Emulator::new(7).with_resident_blocks(2);
    let alone = results(&emulator, GRID, || shuffle(Shuffle::Down, mask(), thread_in_grid() as u64, 1, 16));
    thread::scope(|scope| {
        for number in 0..4 {
            let (emulator, alone) = (&emulator, &alone);
            scope.spawn(move || {
                for _ in 0..30 {
                    let here = results(emulator, GRID, || {
                        block_barrier();
                        shuffle(Shuffle::Down, mask(), thread_in_grid() as u64, 1, 16)
                    });
                    assert_eq!(here, *alone);
                    let fault = emulator.run("faulty", GRID, &|| {
                        block_barrier();
                        if (position().block, position().thread) == (number, 33) {
                            out_of_bounds("load", 1, 0);
                        }
                    });
                    let fault = fault.unwrap_err();
                    assert_eq!((fault.block, fault.warp, fault.lane), (Some(number), Some(1), Some(1)));
                }
            });
        }
    });

    fn mask() -> u32 {
        u32::MAX >> (32 - position().lanes())
    }
}

#[test]
fn a_run_inside_a_lane_is_refused() {
    let refused = results(&Emulator::new(0), block_of(2), || {
        let fault = Emulator::new(1).run("inner", block_of(1), &|| ()).unwrap_err();
        // The outer run continues.
        warp_barrier(0b11);
        fault
    });
    for fault in refused {
        assert_eq!((fault.kernel.as_str(), fault.block, &fault.kind), ("inner", None, &FaultKind::Nested));
        assert!(fault.to_string().starts_with("kernel inner: the emulator cannot be started"), "{fault}");
    }
}

#[test]
fn a_run_while_a_panic_unwinds_is_refused() {
    struct RunsWhenDropped<'a>(&'a Cell<Option<FaultKind>>);
    impl Drop for RunsWhenDropped<'_> {
        fn drop(&mut self) {
            self.0.set(Emulator::new(0).run("late", block_of(1), &|| ()).err().map(|fault| fault.kind));
        }
    }
    let found = Cell::new(None);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _runs = RunsWhenDropped(&found);
        std::panic::resume_unwind(Box::new("planted"));
    }));
    assert!(panicked.is_err());
    assert_eq!(found.into_inner(), Some(FaultKind::Nested));
}

#[test]
fn outside_of_a_lane_the_functions_panic() {
    for function in [|| assert_eq!(position().lane(), 0), block_barrier, interleave, || warp_barrier(1)] {
        let payload = catch_unwind(function).unwrap_err();
        let message = payload.downcast_ref::<&str>().unwrap();
        assert_eq!(*message, "called from outside a lane of the warp emulator");
    }
    // The same holds after a run has ended with a fault.
    fault(block_of(1), || out_of_bounds("load", 0, 0));
    assert!(catch_unwind(position).is_err());
}
