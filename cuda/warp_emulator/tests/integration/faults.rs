//! Each rule broken on purpose: the fault must name the rule, the lane and the line, whatever the seed.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;

use warp_emulator::{
    Emulator, Fault, FaultKind, Grid, Shuffle, Vote, block_barrier, interleave, match_any, misaligned, out_of_bounds,
    position, shared_read, shared_write, shuffle, vote, warp_barrier,
};

use crate::common::{block_of, fault, results};

const FULL: u32 = u32::MAX;
const GRID: Grid = Grid { blocks: 5, threads_per_block: 96, shared_bytes: 64 };

/// Whether this is the thread of `GRID` that breaks the rule: block 3, warp 1, lane 7.
fn planted() -> bool {
    position().block == 3 && position().thread == 39
}

fn in_planted_warp() -> bool {
    position().block == 3 && position().warp() == 1
}

#[track_caller]
fn check(fault: &Fault, line: u32, lane: u32, kind: FaultKind) {
    assert_eq!(fault.kind, kind);
    assert_eq!((fault.block, fault.warp, fault.lane), (Some(3), Some(1), Some(lane)));
    let location = fault.location.expect("the fault has a source location");
    assert!(location.file().ends_with("tests/integration/faults.rs"));
    assert_eq!(location.line(), line);
    assert!(!fault.to_string().contains('\n'));
}

#[test]
fn out_of_bounds_access() {
    let fault = fault(GRID, || {
        if planted() {
            out_of_bounds("load", 120, 100);
        }
    });
    check(&fault, line!() - 3, 7, FaultKind::OutOfBounds { access: "load", index: 120, length: 100 });
    let place = format!("({}:{})", file!(), line!() - 4);
    assert_eq!(
        fault.to_string(),
        format!("kernel faulty: block 3, warp 1, lane 7: load at index 120 of an array of length 100 {place}")
    );
}

#[test]
fn misaligned_access() {
    let fault = fault(GRID, || {
        if planted() {
            misaligned("load", 5, 16);
        }
    });
    check(&fault, line!() - 3, 7, FaultKind::Misaligned { access: "load", index: 5, bytes: 16 });
}

#[test]
fn shared_access_out_of_bounds() {
    let load = fault(GRID, || {
        if planted() {
            shared_read(61, &mut [0; 4]);
        }
    });
    let kind = |access, offset, length| FaultKind::SharedOutOfBounds { access, offset, length, size: 64 };
    check(&load, line!() - 4, 7, kind("shared load", 61, 4));
    let store = fault(GRID, || {
        if planted() {
            shared_write(64, &[0; 2]);
        }
    });
    check(&store, line!() - 3, 7, kind("shared store", 64, 2));
}

#[test]
fn shared_load_of_what_nobody_wrote() {
    let fault = fault(GRID, || {
        if position().thread == 0 {
            shared_write(8, &[0; 6]);
        }
        block_barrier();
        if planted() {
            shared_read(8, &mut [0; 8]);
        }
    });
    check(&fault, line!() - 3, 7, FaultKind::SharedUninitialized { offset: 14 });
}

#[test]
fn shared_memory_of_an_earlier_block_is_not_initialised() {
    let grid = Grid { blocks: 2, threads_per_block: 1, shared_bytes: 4 };
    let begun = Cell::new(0);
    let fault = Emulator::new(0).with_resident_blocks(1).run("stale", grid, &|| {
        begun.set(begun.get() + 1);
        match begun.get() {
            1 => shared_write(0, &[1; 4]),
            _ => shared_read(0, &mut [0; 4]),
        }
    });
    assert_eq!(fault.unwrap_err().kind, FaultKind::SharedUninitialized { offset: 0 });
}

#[test]
fn own_lane_not_in_the_mask() {
    let fault = fault(GRID, || {
        if planted() {
            match_any(!(1 << 7), 0);
        }
    });
    check(&fault, line!() - 3, 7, FaultKind::NotInMask { operation: "match any", mask: 0xffff_ff7f });
}

#[test]
fn width_of_a_shuffle() {
    for width in [0, 3, 33, 64, u32::MAX] {
        let fault = fault(GRID, || {
            if planted() {
                shuffle(Shuffle::Down, FULL, 0, 1, width);
            }
        });
        check(&fault, line!() - 3, 7, FaultKind::InvalidWidth { width });
    }
}

#[test]
fn shuffle_from_a_lane_that_is_not_in_the_mask() {
    let fault = fault(GRID, || {
        if in_planted_warp() && position().lane() < 8 {
            shuffle(Shuffle::Down, 0xff, 0, 1, 32);
        }
    });
    let kind = FaultKind::ShuffleSource { operation: "shuffle down", source_lane: 8, mask: 0xff };
    check(&fault, line!() - 4, 7, kind);
}

#[test]
fn mask_with_lanes_that_do_not_exist() {
    let fault = fault(Grid { threads_per_block: 33, ..GRID }, || {
        if position().block == 3 {
            warp_barrier(FULL);
        }
    });
    check(&fault, line!() - 3, 0, FaultKind::LaneAbsent { operation: "warp barrier", mask: FULL, lanes: 1 });
}

#[test]
fn a_lane_left_before_a_collective() {
    let fault = fault(GRID, || {
        if planted() {
            return;
        }
        warp_barrier(FULL);
    });
    check(&fault, line!() - 2, 0, FaultKind::LaneLeft { operation: "warp barrier", other_lane: 7 });
}

#[test]
fn a_lane_leaves_while_others_wait() {
    let fault = fault(GRID, || {
        if planted() {
            (0..5).for_each(|_| interleave());
            return;
        }
        vote(Vote::All, FULL, true);
    });
    check(&fault, line!() - 2, 0, FaultKind::LaneLeft { operation: "all", other_lane: 7 });
}

#[test]
fn masks_that_differ() {
    let fault = fault(GRID, || {
        let mask = if planted() { 0xffff } else { FULL };
        vote(Vote::Ballot, mask, true);
    });
    let FaultKind::MaskMismatch { other_location, .. } = fault.kind else { panic!("{fault}") };
    assert_eq!(other_location.line(), line!() - 3);
    let kind =
        FaultKind::MaskMismatch { operation: "ballot", mask: FULL, other_lane: 7, other_mask: 0xffff, other_location };
    check(&fault, other_location.line(), 0, kind);
}

#[test]
fn lanes_at_different_collectives() {
    #[track_caller]
    fn either(first: bool) {
        if first {
            match_any(FULL, 0);
        } else {
            warp_barrier(FULL);
        }
    }
    let fault = fault(GRID, || either(planted()));
    check_divergent(&fault, "warp barrier", line!() - 1, "match any", line!() - 1);
}

#[test]
fn lanes_at_different_modes_of_a_shuffle() {
    let fault = fault(GRID, || {
        let mode = if planted() { Shuffle::Up } else { Shuffle::Down };
        shuffle(mode, FULL, 0, 1, 32);
    });
    check_divergent(&fault, "shuffle down", line!() - 2, "shuffle up", line!() - 2);
}

#[test]
fn lanes_at_different_lines() {
    let fault = fault(GRID, || {
        if planted() {
            vote(Vote::Any, FULL, true);
        } else {
            vote(Vote::Any, FULL, false);
        }
    });
    check_divergent(&fault, "any", line!() - 3, "any", line!() - 5);
    let text = fault.to_string();
    assert!(text.contains("any waits for lane 7, which is at any ("), "{text}");
}

#[test]
fn a_lane_at_the_block_barrier_instead() {
    let fault = fault(GRID, || {
        if planted() {
            block_barrier();
        } else {
            warp_barrier(FULL);
        }
    });
    check_divergent(&fault, "warp barrier", line!() - 3, "block barrier", line!() - 5);
}

#[track_caller]
fn check_divergent(fault: &Fault, operation: &str, line: u32, other: &str, other_line: u32) {
    let FaultKind::Divergent { operation: found, other_lane: 7, other_operation, other_location } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!((found, other_operation, other_location.line()), (operation, other, other_line));
    check(fault, line, 0, fault.kind.clone());
}

#[test]
fn a_circle_of_masks() {
    let fault = fault(GRID, || {
        if in_planted_warp() && (4..7).contains(&position().lane()) {
            let lane = position().lane();
            let next = if lane == 6 { 4 } else { lane + 1 };
            warp_barrier(1 << lane | 1 << next);
        }
    });
    check(&fault, line!() - 3, 4, FaultKind::Deadlock { operation: "warp barrier" });
}

#[test]
fn a_lane_left_before_the_block_barrier() {
    let left = fault(GRID, || {
        if position().block == 3 && position().thread < 39 {
            return;
        }
        block_barrier();
    });
    check(&left, line!() - 2, 7, FaultKind::BarrierLeft { other_warp: 0, other_lane: 0 });
    let text = left.to_string();
    assert!(text.contains("block barrier waits for warp 0, lane 0, which has returned ("), "{text}");
    let other_warp = fault(GRID, || {
        if position().block == 3 && position().thread == 70 || position().thread < 32 {
            return;
        }
        if position().block == 3 {
            block_barrier();
        }
    });
    check(&other_warp, line!() - 3, 0, FaultKind::BarrierLeft { other_warp: 0, other_lane: 0 });
}

#[test]
fn lanes_at_different_block_barriers() {
    let fault = fault(GRID, || {
        if position().block == 3 && position().thread >= 39 {
            return block_barrier();
        }
        block_barrier();
    });
    let FaultKind::BarrierDivergent { other_warp: 1, other_lane: 7, other_location } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!((fault.block, fault.warp, fault.lane), (Some(3), Some(0), Some(0)));
    assert_eq!((fault.location.unwrap().line(), other_location.line()), (line!() - 6, line!() - 8));
}

#[test]
fn panics() {
    let panic_of = |lane: &dyn Fn()| {
        let fault = fault(GRID, || {
            if planted() {
                lane();
            }
            block_barrier();
        });
        assert_eq!((fault.block, fault.warp, fault.lane), (Some(3), Some(1), Some(7)));
        assert_eq!(fault.location, None);
        let text = fault.to_string();
        assert!(!text.contains('\n'), "{text}");
        let FaultKind::Panic { message } = fault.kind else { panic!("{text}") };
        message
    };
    assert_eq!(panic_of(&|| panic!("a plain message")), "a plain message");
    assert_eq!(panic_of(&|| panic!("message {}", position().lane())), "message 7");
    assert!(panic_of(&|| assert_eq!(1 + 1, 3)).contains("left: 2\n"));
    assert_eq!(panic_of(&|| resume_unwind(Box::new(17))), "with a value that is not a message");
}

#[test]
fn invalid_grids() {
    for (threads_per_block, shared_bytes, text) in [
        (0, 0, "the number of threads per block is 0, expected 1 to 1024"),
        (1025, 0, "the number of threads per block is 1025, expected 1 to 1024"),
        (u32::MAX, 0, "the number of threads per block is 4294967295, expected 1 to 1024"),
        (32, 232_449, "the number of bytes of shared memory is 232449, expected 0 to 232448"),
        (32, u32::MAX, "the number of bytes of shared memory is 4294967295, expected 0 to 232448"),
    ] {
        let grid = Grid { blocks: 1, threads_per_block, shared_bytes };
        let fault = Emulator::new(0).run("wrong", grid, &|| panic!("no thread runs")).unwrap_err();
        assert_eq!(fault.to_string(), format!("kernel wrong: invalid grid: {text}"));
        assert_eq!((fault.block, fault.warp, fault.lane, fault.location), (None, None, None, None));
    }
    let fault = Emulator::new(0).run("empty", Grid { blocks: 0, threads_per_block: 0, shared_bytes: 0 }, &|| ());
    assert!(matches!(fault.unwrap_err().kind, FaultKind::InvalidGrid { .. }));
}

/// A local of a lane that meets other lanes when it is dropped.
struct Local<'a> {
    dropped: &'a RefCell<Vec<u32>>,
}

impl Drop for Local<'_> {
    fn drop(&mut self) {
        interleave();
        let own = shuffle(Shuffle::Index, 1 << position().lane(), position().thread.into(), position().lane(), 32);
        self.dropped.borrow_mut().push(own as u32);
    }
}

#[test]
fn locals_of_all_lanes_are_dropped_after_a_fault() {
    let emulator = Emulator::new(3).with_resident_blocks(1);
    let fail_by_fault: &dyn Fn() = &|| out_of_bounds("store", 1, 1);
    let fail_by_panic: &dyn Fn() = &|| resume_unwind(Box::new("planted"));
    for fail in [fail_by_fault, fail_by_panic] {
        let dropped = RefCell::default();
        let begun = Cell::new(0);
        let fault = emulator.run("locals", block_of(96), &|| {
            let _local = Local { dropped: &dropped };
            begun.set(begun.get() + 1);
            block_barrier();
            if position().thread == 50 {
                fail();
            }
            block_barrier();
        });
        assert_eq!(fault.unwrap_err().lane, Some(18));
        assert_eq!(begun.get(), 96);
        let mut dropped = dropped.into_inner();
        dropped.sort_unstable();
        assert!(dropped.into_iter().eq(0..96));
        // The emulator works as before.
        assert_eq!(results(&emulator, block_of(33), || position().thread).len(), 33);
    }
}

#[test]
fn a_fault_cannot_be_caught_by_the_kernel() {
    let after = Cell::new(false);
    let fault = fault(GRID, || {
        if planted() {
            let caught = std::panic::catch_unwind(|| out_of_bounds("load", 0, 0));
            after.set(caught.is_err());
            // The lane is ending, so this unwinds again.
            block_barrier();
            unreachable!("no lane goes on after a fault");
        }
    });
    check(&fault, line!() - 7, 7, FaultKind::OutOfBounds { access: "load", index: 0, length: 0 });
    assert!(after.get());
}
