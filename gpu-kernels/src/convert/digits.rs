//! Lanes with the same small number.

use cuda_std::warp::{ALL_LANES, lane_id, warp_vote_ballot};

use super::radix::DIGIT_BITS;

/// Mask of the lanes that take part (`there`) and whose digit is this lane's number.
///
/// # Safety
/// All lanes of the warp call it; digits are below 32.
#[inline(always)]
pub(super) unsafe fn lanes_of_own_digit(there: bool, digit: u32) -> u32 {
    let mut lanes = warp_vote_ballot(ALL_LANES, there);
    let mut bit = 0;
    while bit < DIGIT_BITS {
        let ones = warp_vote_ballot(ALL_LANES, digit >> bit & 1 == 1);
        lanes &= if lane_id() >> bit & 1 == 1 { ones } else { !ones };
        bit += 1;
    }
    lanes
}
