//! Deliberate races of every kind, and code without races, whatever the schedule.

use std::cell::UnsafeCell;

use crate::common;
use warp_emulator::{
    Access, Contents, Emulator, Fault, FaultKind, Grid, Shuffle, Space, block_barrier, global_access, global_read_only,
    position, shared_compare_and_swap, shared_read, shared_write, shuffle, warp_barrier,
};

const FULL: u32 = u32::MAX;
const SCHEDULES: u64 = 60;

/// An array in global memory whose elements are accessed as in a kernel.
struct Array(UnsafeCell<[u32; 64]>);

impl Array {
    fn new() -> Self {
        Self(UnsafeCell::new([0; 64]))
    }

    #[track_caller]
    fn access(&self, access: Access, index: u64) {
        // SAFETY: the index is inside the array; lanes run one at a time.
        unsafe { global_access(access, self.0.get().cast::<u32>(), index) }
    }

    #[track_caller]
    fn load(&self, index: u32) {
        self.access(Access::Load, index.into());
    }

    #[track_caller]
    fn store(&self, index: u32) {
        self.access(Access::Store, index.into());
    }

    /// Arrives at `index`; returns the number of lanes that have arrived, including this one.
    #[track_caller]
    fn arrive(&self, index: u32) -> u32 {
        self.access(Access::Arrive, index.into());
        // SAFETY: the index is inside the array; lanes run one at a time.
        unsafe {
            let counter = self.0.get().cast::<u32>().add(index as usize);
            *counter += 1;
            *counter
        }
    }

    #[track_caller]
    fn load_read_only(&self, index: u32) {
        // SAFETY: the index is inside the array; lanes run one at a time.
        unsafe { global_read_only((*self.0.get()).as_ptr_range(), index.into(), 1) }
    }
}

fn shared_store(index: u32) {
    shared_write(index * 4, &[0; 4]);
}

fn shared_load(index: u32) {
    shared_read(index * 4, &mut [0; 4]);
}

/// Runs a kernel under many schedules, on two blocks of two warps.
fn run(kernel: impl Fn(&Array)) -> Vec<Result<(), Fault>> {
    run_on(Grid { blocks: 2, threads_per_block: 64, shared_bytes: 512 }, kernel)
}

fn run_on(grid: Grid, kernel: impl Fn(&Array)) -> Vec<Result<(), Fault>> {
    let mut emulator = Emulator::new(0);
    (0..SCHEDULES)
        .map(|seed| {
            emulator = std::mem::replace(&mut emulator, Emulator::new(0)).with_seed(seed);
            let array = Array::new();
            emulator.run("planted", grid, &|| kernel(&array)).map(|_| ())
        })
        .collect()
}

/// Checks that the kernel races in every schedule, in `space` at `index`.
#[track_caller]
fn races(space: Space, index: u64, kernel: impl Fn(&Array)) {
    for (seed, result) in run(kernel).into_iter().enumerate() {
        let fault = result.expect_err(&format!("schedule {seed}: the race was not found"));
        let FaultKind::Race { space: found, index: place, other_location, .. } = fault.kind else {
            panic!("schedule {seed}: {fault}")
        };
        assert_eq!((found, place), (space, index), "{fault}");
        assert!(other_location.file().ends_with("races.rs"), "{fault}");
        assert!(fault.location.is_some() && fault.block.is_some() && fault.lane.is_some(), "{fault}");
        assert_eq!(fault.to_string().lines().count(), 1);
    }
}

#[track_caller]
fn is_free_of_races(kernel: impl Fn(&Array)) {
    for (seed, result) in run(kernel).into_iter().enumerate() {
        assert_eq!(result, Ok(()), "schedule {seed}");
    }
}

/// Checks that the kernel races in most schedules, at element 10 or 11 of the array.
#[track_caller]
fn races_in_most_schedules(kernel: impl Fn(&Array)) {
    let at = |result: &Result<(), Fault>| match result {
        Err(Fault { kind: FaultKind::Race { space: Space::Global, index, .. }, .. }) => Some(*index),
        _ => None,
    };
    let results = run(kernel);
    let found = results.iter().filter_map(at).filter(|index| [10, 11].contains(index)).count();
    assert!(2 * found > results.len(), "{found} of {SCHEDULES}");
}

fn lane() -> u32 {
    position().lane()
}

/// Stores to an array whose elements are `bytes` wide.
fn store_narrow(array: &Array, bytes: usize, index: u64) {
    // SAFETY: the index is inside the array; lanes run one at a time.
    unsafe {
        match bytes {
            1 => global_access(Access::Store, array.0.get().cast::<u8>(), index),
            _ => global_access(Access::Store, array.0.get().cast::<u16>(), index),
        }
    }
}

#[test]
fn neighbours_narrower_than_a_word_do_not_race() {
    for bytes in [1, 2] {
        let array = Array::new();
        for seed in 0..SCHEDULES {
            let own = || store_narrow(&array, bytes, common::thread_in_grid() as u64);
            Emulator::new(seed).run("own", Grid { blocks: 2, threads_per_block: 48, shared_bytes: 0 }, &own).unwrap();
        }
        // Two threads per element; and elements written and read as read-only in one launch.
        let shared = || store_narrow(&array, bytes, common::thread_in_grid() as u64 / 2);
        let both = || {
            store_narrow(&array, bytes, common::thread_in_grid() as u64);
            array.load_read_only(0);
        };
        for seed in 0..SCHEDULES {
            let fault = Emulator::new(seed).run("shared", common::block_of(2), &shared).unwrap_err();
            assert!(matches!(fault.kind, FaultKind::Race { index: 0, .. }), "{fault}");
            let fault = Emulator::new(seed).run("both", common::block_of(1), &both).unwrap_err();
            assert!(matches!(fault.kind, FaultKind::ReadOnlyWritten { .. }), "{fault}");
        }
    }
}

#[test]
fn lanes_of_a_warp_in_global_memory() {
    // A store and a load by neighbouring lanes, with nothing or a shuffle in between.
    for between in [None, Some(Shuffle::Xor)] {
        races(Space::Global, 3, |array| {
            let first = position().block == 0 && position().warp() == 0;
            if first && lane() == 7 {
                array.store(3);
            }
            if let Some(mode) = between {
                shuffle(mode, FULL, 0, 1, 32);
            }
            if first && lane() == 8 {
                array.load(3);
            }
        });
    }
    races(Space::Global, 0, |array| {
        if position().block == 1 && position().warp() == 0 {
            array.store(0);
        }
    });
}

#[test]
fn lanes_of_a_warp_in_shared_memory() {
    races(Space::Shared, 12, |_| {
        shared_store(position().thread);
        block_barrier();
        if position().block == 1 && position().thread == 9 {
            shared_load(3);
        }
        if position().block == 1 && position().thread == 10 {
            shared_store(3);
        }
    });
}

#[test]
fn a_warp_barrier_orders_its_mask_alone() {
    is_free_of_races(|array| {
        let place = position().block * 2 + position().warp();
        if lane() == 0 {
            array.store(place);
        }
        warp_barrier(FULL);
        array.load(place);
        warp_barrier(FULL);
        if lane() == 31 {
            array.store(place);
        }
    });
    // Lane 20 is not in the mask of the lane that writes.
    races(Space::Global, 0, |array| {
        if position().block == 0 && position().warp() == 1 {
            if lane() == 0 {
                array.store(0);
            }
            warp_barrier(if lane() < 16 { 0xffff } else { 0xffff_0000 });
            if lane() == 20 {
                array.load(0);
            }
        }
    });
}

/// Lane 0 hands over to lane 1, and lane 1 to lane 2.
#[test]
fn order_is_handed_on() {
    // Lanes that meet must do so at the same line.
    let first = || warp_barrier(0b011);
    let second = || warp_barrier(0b110);
    is_free_of_races(|array| {
        let place = position().block * 2 + position().warp();
        match lane() {
            0 => {
                array.store(place);
                first();
            }
            1 => {
                first();
                second();
            }
            2 => {
                second();
                array.store(place);
            }
            _ => {}
        }
    });
}

#[test]
fn warps_of_a_block_in_shared_memory() {
    races(Space::Shared, 0, |_| {
        if position().block == 0 && position().thread.is_multiple_of(32) {
            shared_store(0);
        }
    });
    // A warp barrier does not suffice.
    races(Space::Shared, 4 * 40, |_| {
        shared_store(position().thread);
        block_barrier();
        if position().thread == 40 {
            shared_store(40);
        }
        warp_barrier(FULL);
        if position().block == 1 && position().thread == 1 {
            shared_load(40);
        }
    });
    is_free_of_races(|_| {
        for _ in 0..3 {
            shared_store(position().thread);
            block_barrier();
            shared_load(63 - position().thread);
            block_barrier();
        }
    });
}

#[test]
fn warps_of_a_block_in_global_memory() {
    races(Space::Global, 5, |array| {
        if position().block == 1 && position().thread == 33 {
            array.store(5);
        }
        if position().block == 1 && position().thread == 2 {
            array.load(5);
        }
    });
    is_free_of_races(|array| {
        if position().thread == 33 {
            array.store(position().block);
        }
        block_barrier();
        array.load(position().block);
    });
}

#[test]
fn blocks_in_global_memory() {
    races(Space::Global, 9, |array| {
        block_barrier();
        if position().thread == position().block {
            array.store(9);
        }
        block_barrier();
    });
    races(Space::Global, 9, |array| {
        if position().block == 0 {
            array.load(9);
        } else if position().thread == 63 {
            array.store(9);
        }
    });
    is_free_of_races(|array| {
        array.load(9);
        if position().thread == 40 {
            array.store(position().block);
        }
    });
}

#[test]
fn atomic_operations_and_flags() {
    for access in [Access::AtomicAdd, Access::AtomicOr, Access::SetFlag, Access::Arrive] {
        is_free_of_races(|array| (0..4).for_each(|index| array.access(access, index)));
        // With a non-atomic access by another lane, warp or block.
        for (block, thread) in [(0, 1), (0, 33), (1, 0)] {
            for other in [Access::Load, Access::Store] {
                races(Space::Global, 2, |array| {
                    if position().block == block && position().thread == thread {
                        array.access(other, 2);
                    }
                    if position().block == 0 && position().thread == 0 {
                        array.access(access, 2);
                    }
                });
            }
        }
    }
    races(Space::Global, 1, |array| {
        array.access(if position().block == 0 { Access::SetFlag } else { Access::AtomicAdd }, 1);
    });
    // Every thread adds, and one reads before all have added.
    races(Space::Global, 0, |array| {
        array.access(Access::AtomicAdd, 0);
        block_barrier();
        if position().thread == 0 {
            array.load(0);
        }
    });
    // In shared memory.
    let swap = |index: u32| shared_compare_and_swap(index * 4, 0, 1 + position().thread);
    let with_zeros = |work: &dyn Fn()| {
        if position().thread < 8 {
            shared_store(position().thread);
        }
        block_barrier();
        work();
    };
    is_free_of_races(|_| {
        with_zeros(&|| {
            let before = swap(3);
            block_barrier();
            let mut now = [0; 4];
            shared_read(12, &mut now);
            let now = u32::from_ne_bytes(now);
            // The first one stays.
            assert!(if now == 1 + position().thread { before == 0 } else { before == now });
        });
    });
    races(Space::Shared, 12, |_| {
        with_zeros(&|| {
            if position().thread == 33 {
                shared_load(3);
            } else {
                swap(3);
            }
        });
    });
    is_free_of_races(|array| {
        array.access(Access::AtomicAdd, position().block.into());
        block_barrier();
        array.load(position().block);
    });
}

/// In each block, thread `writing` writes element 10 or 11, and after `meet` thread `arriving` arrives. In the block
/// that arrives last, the warp of that thread calls `tell`, and its lanes in `reading` read both elements.
fn last_reads(array: &Array, [writing, arriving]: [u32; 2], meet: fn(), tell: fn(), reading: u32) {
    let thread = position().thread;
    if thread == writing {
        array.store(10 + position().block);
    }
    meet();
    let count = if thread == arriving { array.arrive(0) } else { 0 };
    if thread / 32 == arriving / 32 {
        let count = shuffle(Shuffle::Index, FULL, count.into(), arriving % 32, 32);
        tell();
        if count == 2 && reading >> lane() & 1 == 1 {
            array.load(10);
            array.load(11);
        }
    }
}

#[test]
fn arrivals_order_what_was_before_them_with_what_comes_after_later_ones() {
    let warp_meets = || warp_barrier(FULL);
    for threads in [[0, 32], [31, 0], [63, 40]] {
        is_free_of_races(|array| last_reads(array, threads, block_barrier, warp_meets, FULL));
    }
    is_free_of_races(|array| last_reads(array, [33, 40], warp_meets, warp_meets, FULL));
    is_free_of_races(|array| last_reads(array, [40, 40], || (), || (), 1 << 8));
    // Without the barrier that orders the write before the arrival, or the one that orders the reads after it.
    races_in_most_schedules(|array| last_reads(array, [0, 32], || (), warp_meets, FULL));
    races_in_most_schedules(|array| last_reads(array, [33, 32], || (), warp_meets, FULL));
    races_in_most_schedules(|array| last_reads(array, [0, 32], block_barrier, || (), FULL - 1));
    // Writes after the arrival, and reads without one.
    races_in_most_schedules(|array| {
        if position().thread == 5 {
            let last = array.arrive(0) == 2;
            array.store(10 + position().block);
            if last {
                array.load(10);
                array.load(11);
            }
        }
    });
    races_in_most_schedules(|array| {
        if position().thread == 5 {
            array.store(10);
            array.arrive(position().block);
        }
    });
}

/// Only few of many accesses to a word are kept. Those that were left out may not have arrived.
#[test]
fn arrivals_do_not_hide_who_did_not_arrive() {
    for access in [Access::Load, Access::AtomicAdd] {
        for (blocks, threads_per_block) in [(4, 32), (1, 128)] {
            let kernel = |array: &Array| {
                let who = position().block + position().thread / 32;
                if lane() == 0 {
                    if who < 3 {
                        array.access(access, 10);
                    }
                    if who != 2 && array.arrive(0) == 3 {
                        array.store(10);
                    }
                }
            };
            let results = run_on(Grid { blocks, threads_per_block, shared_bytes: 0 }, kernel);
            let races = results.iter().filter(|result| result.is_err()).count();
            assert_eq!(races, results.len(), "{access:?}, {blocks} blocks");
        }
    }
}

#[test]
fn an_array_that_is_read_only_is_not_written() {
    for own in [true, false] {
        for result in run(|array| {
            // Not even by the same lane, nor elsewhere in the array.
            if position().block == 0 && position().thread == 0 {
                array.load_read_only(3);
            }
            if position().block == u32::from(!own) && position().thread == 0 {
                array.store(4);
            }
        }) {
            let fault = result.unwrap_err();
            let written = matches!(fault.kind, FaultKind::ReadOnlyWritten { index: 3, other_access: "store", .. });
            let writes = matches!(fault.kind, FaultKind::ReadOnly { index: 4, access: "store", .. });
            assert!(writes || written && !own, "{fault}");
        }
    }
    is_free_of_races(|array| array.load_read_only(lane()));
}

#[test]
fn what_was_forgotten_must_be_written_before_it_is_read() {
    let grid = Grid { blocks: 1, threads_per_block: 1, shared_bytes: 0 };
    let emulator = Emulator::new(0);
    let mut numbers = vec![7.0f64; 5];
    let (before, inside) = numbers.split_at_mut(2);
    let memory = [inside[0].to_ne_bytes(), inside[1].to_ne_bytes()].concat();
    assert_eq!(memory.len(), 16);
    // SAFETY: every bit pattern is a number.
    emulator.forget(unsafe { std::slice::from_raw_parts_mut(inside.as_mut_ptr().cast(), 16) }, Contents::Float64);
    let mark = inside[0];
    assert!(mark.is_nan());
    assert!(before.iter().chain(&inside[2..]).all(|&number| number == 7.0));
    let address = numbers.as_mut_ptr();
    let run = |kernel: &dyn Fn()| emulator.run("reads", grid, kernel);
    // SAFETY: the indices are inside the array.
    let access = |access, index| unsafe { global_access(access, address.cast_const(), index) };
    for index in [2, 3] {
        for (kind, name) in [(Access::Load, "load"), (Access::AtomicAdd, "atomic add")] {
            let fault = run(&|| access(kind, index)).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Uninitialized { access: name, index });
        }
    }
    // SAFETY: the elements are inside the array.
    let fault = run(&|| unsafe { global_read_only(address.cast_const()..address.add(5), 0, 4) }).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Uninitialized { access: "load", index: 2 });
    run(&|| {
        access(Access::Load, 1);
        access(Access::Store, 3);
        // SAFETY: the index is inside the array.
        unsafe { *address.add(3) = 1.0 };
        access(Access::Load, 3);
        access(Access::Load, 4);
    })
    .unwrap();
    // Other memory in the same place, written by the host.
    numbers[2] = 2.0;
    run(&|| access(Access::Load, 2)).unwrap();
    // A kernel's write is recognized whatever it writes.
    numbers[2] = mark;
    assert!(run(&|| access(Access::Load, 2)).is_err());
    run(&|| {
        access(Access::Store, 2);
        access(Access::Load, 2);
    })
    .unwrap();
    run(&|| access(Access::Load, 2)).unwrap();
}
