//! Each collective against a plain formula, for many masks, widths and seeds.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use warp_emulator::{Emulator, Grid, Shuffle, Vote, match_any, position, shuffle, vote, warp_barrier};

use crate::common::{self, block_of, results};

const FULL: u32 = u32::MAX;
const WIDTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// A value that differs in each lane and uses all 64 bits.
fn value_of(lane: u32) -> u64 {
    0x0123_4567_89ab_cdef_u64.rotate_left(lane) ^ u64::from(lane)
}

/// Runs a shuffle in each lane of one warp.
fn shuffled(seed: u64, mode: Shuffle, operand: u32, width: u32) -> Vec<u64> {
    results(&Emulator::new(seed), block_of(32), || shuffle(mode, FULL, value_of(position().lane()), operand, width))
}

fn check_shuffle(mode: Shuffle, source: impl Fn(u32, u32, u32) -> u32) {
    for width in WIDTHS {
        for operand in 0..32 {
            let expected: Vec<_> = (0..32).map(|lane| value_of(source(lane, operand, width))).collect();
            assert_eq!(
                shuffled(u64::from(operand), mode, operand, width),
                expected,
                "{mode:?} {operand}, width {width}"
            );
        }
    }
}

#[test]
fn shuffle_up_stays_in_its_segment() {
    check_shuffle(Shuffle::Up, |lane, delta, width| if lane % width >= delta { lane - delta } else { lane });
}

#[test]
fn shuffle_down_stays_in_its_segment() {
    check_shuffle(Shuffle::Down, |lane, delta, width| if lane % width + delta < width { lane + delta } else { lane });
}

#[test]
fn shuffle_xor_reads_its_own_and_earlier_segments() {
    check_shuffle(
        Shuffle::Xor,
        |lane, bits, width| {
            if (lane ^ bits) / width <= lane / width { lane ^ bits } else { lane }
        },
    );
}

#[test]
fn shuffle_index_counts_from_the_segment() {
    check_shuffle(Shuffle::Index, |lane, index, width| lane / width * width + index % width);
}

#[test]
fn shuffle_operand_may_differ_among_lanes() {
    let reversed = results(&Emulator::new(3), block_of(32), || {
        let lane = position().lane();
        shuffle(Shuffle::Index, FULL, value_of(lane), 31 - lane, 32)
    });
    assert!(reversed.into_iter().eq((0..32).rev().map(value_of)));
}

#[test]
fn shuffle_width_may_differ_among_lanes() {
    // The lower half reads lane 1 of its group of four, the upper half that of its group of sixteen.
    let read = results(&Emulator::new(3), block_of(32), || {
        let lane = position().lane();
        shuffle(Shuffle::Index, FULL, lane.into(), 1, if lane < 16 { 4 } else { 16 })
    });
    assert!(read.into_iter().eq((0..32).map(|lane: u64| if lane < 16 { lane / 4 * 4 + 1 } else { 17 })));
}

#[test]
fn votes_see_only_their_mask() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    for case in 0..200 {
        let mask: u32 = random.random();
        let predicates: u32 = match case % 4 {
            0 => random.random(),
            1 => mask,
            2 => !mask,
            _ => 0,
        };
        let found = results(&Emulator::new(case), block_of(32), || {
            let lane = position().lane();
            let predicate = predicates >> lane & 1 != 0;
            let in_mask = mask >> lane & 1 != 0;
            let ask = |kind| vote(kind, mask, predicate);
            in_mask.then(|| (ask(Vote::Ballot), ask(Vote::Any), ask(Vote::All)))
        });
        let ballot = mask & predicates;
        for (lane, found) in found.into_iter().enumerate() {
            let expected = (ballot, u32::from(ballot != 0), u32::from(ballot == mask));
            let in_mask = mask >> lane & 1 != 0;
            assert_eq!(found, in_mask.then_some(expected), "mask {mask:#x}, predicates {predicates:#x}, lane {lane}");
        }
    }
}

#[test]
fn match_any_groups_equal_values() {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    for case in 0..200 {
        let mask: u32 = random.random();
        // Values that differ only in the upper half, too.
        let values: Vec<u64> = (0..32).map(|_| random.random_range(0..3) << 40 | random.random_range(0..2)).collect();
        let found = results(&Emulator::new(case), block_of(32), || {
            let lane = position().lane();
            (mask >> lane & 1 != 0).then(|| match_any(mask, values[lane as usize]))
        });
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let equal = (0..32).filter(|&other| mask >> other & 1 != 0 && values[other] == values[lane]);
            assert_eq!(found[lane], Some(equal.fold(0, |set, other| set | 1 << other)), "mask {mask:#x}, lane {lane}");
        }
    }
}

#[test]
fn groups_with_disjoint_masks_meet_independently() {
    let mut random = ChaCha8Rng::seed_from_u64(13);
    for case in 0..100 {
        let group_of: Vec<u32> = (0..32).map(|_| random.random_range(0..4)).collect();
        let rounds: Vec<u32> = (0..4).map(|_| random.random_range(0..5)).collect();
        let mask_of = |group| (0..32).filter(|&lane| group_of[lane] == group).fold(0_u32, |set, lane| set | 1 << lane);
        let found = results(&Emulator::new(case), block_of(32), || {
            let lane = position().lane();
            let group = group_of[lane as usize];
            let mask = mask_of(group);
            let mut sum = 0;
            // The groups meet a different number of times.
            for _ in 0..rounds[group as usize] {
                sum += shuffle(Shuffle::Index, mask, lane.into(), mask.trailing_zeros(), 32);
                warp_barrier(mask);
            }
            (sum, vote(Vote::Ballot, FULL, group == 2))
        });
        for (lane, &group) in group_of.iter().enumerate() {
            let sum = u64::from(rounds[group as usize] * mask_of(group).trailing_zeros());
            assert_eq!(found[lane], (sum, mask_of(2)), "case {case}, lane {lane}");
        }
    }
}

#[test]
fn a_lane_may_meet_others_before_one_that_waits_for_it() {
    for seed in 0..10 {
        let found = results(&Emulator::new(seed), block_of(3), || {
            let lane = position().lane();
            // Lane 0 waits for lane 1, which first meets lane 2.
            let upper = if lane > 0 { vote(Vote::Ballot, 0b110, true) } else { 0 };
            let lower = if lane < 2 { vote(Vote::Ballot, 0b011, true) } else { 0 };
            (upper, lower)
        });
        assert_eq!(found, [(0, 0b011), (0b110, 0b011), (0b110, 0)], "seed {seed}");
    }
}

#[test]
fn warp_sum_in_every_warp_of_every_block() {
    let grid = Grid { blocks: 7, threads_per_block: 96, shared_bytes: 0 };
    for seed in 0..20 {
        let emulator = Emulator::new(seed);
        let sums = results(&emulator, grid, || {
            let mut sum = common::thread_in_grid() as u64;
            for distance in [16, 8, 4, 2, 1] {
                sum += shuffle(Shuffle::Xor, FULL, sum, distance, 32);
            }
            sum
        });
        for (thread, &sum) in sums.iter().enumerate() {
            let first = thread as u64 / 32 * 32;
            assert_eq!(sum, (first..first + 32).sum(), "seed {seed}, thread {thread}");
        }
    }
}

#[test]
fn statistics_count_groups() {
    let grid = Grid { blocks: 5, threads_per_block: 40, shared_bytes: 0 };
    let statistics = Emulator::new(0)
        .run("counts", grid, &|| {
            let full = u32::MAX >> (32 - position().lanes());
            warp_barrier(full);
            // Two groups, or one in the last warp, which has eight lanes.
            let half = if position().lane() < 16 { 0xffff } else { 0xffff_0000 };
            vote(Vote::Any, full & half, true);
        })
        .unwrap();
    assert_eq!((statistics.blocks, statistics.warps, statistics.threads), (5, 10, 200));
    assert_eq!(statistics.collectives, 5 * (1 + 2) + 5 * (1 + 1));
    assert_eq!(statistics.switches, 3 * 200);
    assert_eq!((statistics.block_barriers, statistics.interleavings), (0, 0));
}
