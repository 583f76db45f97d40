//! Block barriers and shared memory.

use warp_emulator::{
    Emulator, Grid, MAXIMUM_SHARED_BYTES, block_barrier, position, shared_read, shared_size, shared_write,
};

use crate::common::{self, results};

fn store(index: u32, value: u64) {
    shared_write(index * 8, &value.to_ne_bytes());
}

fn load(index: u32) -> u64 {
    let mut bytes = [0; 8];
    shared_read(index * 8, &mut bytes);
    u64::from_ne_bytes(bytes)
}

#[test]
fn block_reduction() {
    for threads_per_block in [1, 2, 31, 32, 33, 100, 256, 1024] {
        let grid = Grid { blocks: 6, threads_per_block, shared_bytes: threads_per_block * 8 };
        for seed in 0..5 {
            let sums = results(&Emulator::new(seed), grid, || {
                let thread = position().thread;
                store(thread, common::thread_in_grid() as u64);
                let mut count = threads_per_block;
                while count > 1 {
                    let half = count.div_ceil(2);
                    block_barrier();
                    if thread + half < count {
                        store(thread, load(thread) + load(thread + half));
                    }
                    count = half;
                }
                block_barrier();
                load(0)
            });
            for (thread, &sum) in sums.iter().enumerate() {
                let first = thread as u64 / u64::from(threads_per_block) * u64::from(threads_per_block);
                let expected = (first..first + u64::from(threads_per_block)).sum();
                assert_eq!(sum, expected, "{threads_per_block} threads, seed {seed}, thread {thread}");
            }
        }
    }
}

#[test]
fn a_forgotten_barrier_is_found() {
    let grid = Grid { blocks: 1, threads_per_block: 64, shared_bytes: 8 };
    let found = (0..20).filter(|&seed| {
        Emulator::new(seed)
            .run("no_barrier", grid, &|| {
                if position().thread == 0 {
                    store(0, 1);
                }
                load(0);
            })
            .is_err()
    });
    // It passes only if lane 0 happens to run first.
    assert!(found.count() > 15);
}

#[test]
fn a_barrier_in_a_loop_keeps_the_rounds_apart() {
    let grid = Grid { blocks: 3, threads_per_block: 70, shared_bytes: 70 * 8 };
    let last = results(&Emulator::new(4), grid, || {
        let thread = position().thread;
        let mut value = u64::from(thread);
        for _ in 0..70 {
            store(thread, value);
            block_barrier();
            value = load((thread + 1) % 70);
            block_barrier();
        }
        value
    });
    // Passed round once, each value is back where it started.
    assert!(last.into_iter().eq((0..3).flat_map(|_| 0..70)));

    let statistics = Emulator::new(4).run("counts", grid, &|| (0..70).for_each(|_| block_barrier())).unwrap();
    assert_eq!(statistics.block_barriers, 3 * 70);
}

#[test]
fn shared_memory_is_of_one_block() {
    let grid = Grid { blocks: 20, threads_per_block: 33, shared_bytes: 8 };
    for resident in [1, 4, 100] {
        let emulator = Emulator::new(9).with_resident_blocks(resident);
        let seen = results(&emulator, grid, || {
            assert_eq!(shared_size(), 8);
            if position().thread == 32 {
                store(0, position().block.into());
            }
            block_barrier();
            load(0)
        });
        assert!(seen.into_iter().enumerate().all(|(thread, block)| block == thread as u64 / 33));
    }
}

#[test]
fn the_largest_shared_memory_works() {
    let grid = Grid { blocks: 1, threads_per_block: 1, shared_bytes: MAXIMUM_SHARED_BYTES };
    let ends = results(&Emulator::new(0), grid, || {
        shared_write(MAXIMUM_SHARED_BYTES - 1, &[7]);
        let mut last = [0];
        shared_read(MAXIMUM_SHARED_BYTES - 1, &mut last);
        (shared_size(), last[0])
    });
    assert_eq!(ends, [(MAXIMUM_SHARED_BYTES, 7)]);
}
