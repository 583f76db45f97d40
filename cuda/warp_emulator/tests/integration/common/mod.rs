//! Helpers shared by several test files.

use std::cell::RefCell;

use warp_emulator::{Emulator, Fault, Grid, position};

/// A grid of one block with `threads_per_block` threads.
pub fn block_of(threads_per_block: u32) -> Grid {
    Grid { blocks: 1, threads_per_block, shared_bytes: 0 }
}

/// The thread's number in the whole grid.
pub fn thread_in_grid() -> usize {
    let position = position();
    (position.block * position.threads_per_block + position.thread) as usize
}

/// Runs `lane` and returns its result for each thread of the grid.
pub fn results<T: Clone>(emulator: &Emulator, grid: Grid, lane: impl Fn() -> T) -> Vec<T> {
    let threads = (grid.blocks * grid.threads_per_block) as usize;
    let results = RefCell::new(vec![None; threads]);
    let statistics = emulator
        .run("results", grid, &|| {
            let result = lane();
            let previous = results.borrow_mut()[thread_in_grid()].replace(result);
            assert!(previous.is_none(), "a thread ran twice");
        })
        .unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(statistics.threads, threads as u64);
    results.into_inner().into_iter().map(|result| result.expect("a thread did not run")).collect()
}

/// Runs `lane` with several seeds, and returns the fault, which must be the same for all of them.
pub fn fault(grid: Grid, lane: impl Fn()) -> Fault {
    let mut emulator = Emulator::new(0);
    let mut found: Option<Fault> = None;
    for seed in 0..10 {
        emulator = emulator.with_seed(seed);
        let fault = emulator.run("faulty", grid, &lane).expect_err("the kernel has a fault");
        assert_eq!(*found.get_or_insert_with(|| fault.clone()), fault, "seed {seed}");
    }
    found.expect("some seed ran")
}
