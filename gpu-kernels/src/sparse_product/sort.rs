//! Sorting the columns of a row in shared memory, by a team of lanes of a warp or by a block.

use core::ops::Index;

use cuda_std::shared::Shared;
use cuda_std::warp::{WARP_LANES, warp_shuffle_xor};

use super::table::EMPTY;
use super::team::Team;

/// The columns that a lane holds in registers: an array that is only indexed by constants, once all is inlined.
trait Registers: Copy + Index<usize, Output = u32> {
    /// Number of columns.
    const COUNT: usize;

    /// The results of `make` for each index.
    fn of(make: impl FnMut(usize) -> u32) -> Self;

    /// Calls `visit` with each index.
    fn for_each(visit: impl FnMut(usize));

    /// The columns in ascending order.
    fn sorted(self) -> Self;

    /// The same if they first ascend and then descend, or the other way around.
    fn merged(self) -> Self;
}

macro_rules! registers {
    (
        $count:literal: $($index:literal)*;
        sorted $($low:literal $high:literal),*;
        merged $($left:literal $right:literal),*
    ) => {
        impl Registers for [u32; $count] {
            const COUNT: usize = $count;

            #[inline(always)]
            fn of(mut make: impl FnMut(usize) -> u32) -> Self {
                [$(make($index)),*]
            }

            #[inline(always)]
            fn for_each(mut visit: impl FnMut(usize)) {
                $(visit($index);)*
            }

            #[inline(always)]
            fn sorted(mut self) -> Self {
                $((self[$low], self[$high]) = (self[$low].min(self[$high]), self[$low].max(self[$high]));)*
                self
            }

            #[inline(always)]
            fn merged(mut self) -> Self {
                $((self[$left], self[$right]) = (self[$left].min(self[$right]), self[$left].max(self[$right]));)*
                self
            }
        }
    };
}

// Batcher's odd-even merge sort, and the last stages of his bitonic one.
registers!(4: 0 1 2 3; sorted 0 1, 2 3, 0 2, 1 3, 1 2; merged 0 2, 1 3, 0 1, 2 3);
registers!(
    8: 0 1 2 3 4 5 6 7;
    sorted 0 1, 2 3, 4 5, 6 7, 0 2, 1 3, 4 6, 5 7, 1 2, 5 6, 0 4, 1 5, 2 6, 3 7, 2 4, 3 5, 1 2, 3 4, 5 6;
    merged 0 4, 1 5, 2 6, 3 7, 0 2, 1 3, 4 6, 5 7, 0 1, 2 3, 4 5, 6 7
);

/// Sorts distinct columns by a team of lanes: in registers if each lane holds at most 8.
///
/// # Safety
/// The whole team, at most a warp, calls it after a barrier; it passes another before it returns. There is room for the
/// next power of two of `count`.
#[inline(always)]
pub(super) unsafe fn sort(team: Team, columns: Shared<u32>, count: u32) {
    if count <= 4 * team.lanes {
        sort_in_registers::<[u32; 4]>(team, columns, count);
    } else if count <= 8 * team.lanes {
        sort_in_registers::<[u32; 8]>(team, columns, count);
    } else {
        let all = count.next_power_of_two();
        let mut place = count + team.lane;
        while place < all {
            columns.store(place, EMPTY);
            place += team.lanes;
        }
        team.sync();
        sort_in_place(team, columns, all);
    }
}

/// Sorts columns by Batcher's bitonic sort in registers. Each lane sorts its own; then neighbouring lanes merge theirs,
/// then neighbouring pairs of lanes, and so on.
///
/// # Safety
/// As for [`sort`]; there are at most as many columns as registers in the team.
#[inline(always)]
unsafe fn sort_in_registers<R: Registers>(team: Team, columns: Shared<u32>, count: u32) {
    // As few lanes as can hold the columns; the others would only merge empty ones.
    let used = count.div_ceil(R::COUNT as u32).next_power_of_two();
    let unsorted = R::of(|index| {
        let place = index as u32 * used + team.lane;
        if team.lane < used && place < count { columns.load(place) } else { EMPTY }
    });
    let mut own = unsorted.sorted();
    let mut width = 2;
    while width <= used {
        // The two halves ascend; one of them reversed, the smaller columns go to the lower half.
        let reversed = R::of(|index| own[R::COUNT - 1 - index]);
        own = exchanged(team, own, reversed, width - 1, width / 2);
        let mut distance = width / 4;
        while distance > 0 {
            own = exchanged(team, own, own, distance, distance);
            distance /= 2;
        }
        own = own.merged();
        width *= 2;
    }
    // All lanes have read their columns before any is overwritten.
    team.sync();
    R::for_each(|index| {
        let place = team.lane * R::COUNT as u32 + index as u32;
        if place < count {
            columns.store(place, own[index]);
        }
    });
    team.sync();
}

/// Keeps the smaller of each own column and the one that another lane sends; the larger on lanes with the bit `upper`.
///
/// # Safety
/// The whole team calls it.
#[inline(always)]
unsafe fn exchanged<R: Registers>(team: Team, own: R, sent: R, lane_mask: u32, upper: u32) -> R {
    let is_upper = team.lane & upper != 0;
    R::of(|index| {
        let other = warp_shuffle_xor(team.mask, sent[index], lane_mask, WARP_LANES).0;
        if is_upper { own[index].max(other) } else { own[index].min(other) }
    })
}

/// Sorts columns by Batcher's bitonic sort in shared memory.
///
/// # Safety
/// The whole team calls it after a barrier; it passes another before it returns. `count` is a power of two.
#[inline(always)]
pub(super) unsafe fn sort_in_place(team: Team, columns: Shared<u32>, count: u32) {
    let mut run = 2;
    while run <= count {
        let mut distance = run / 2;
        while distance > 0 {
            let mut pair = team.lane;
            while pair < count / 2 {
                let low = 2 * pair - (pair & (distance - 1));
                let (first, second) = (columns.load(low), columns.load(low + distance));
                if (first > second) == (low & run == 0) {
                    columns.store(low, second);
                    columns.store(low + distance, first);
                }
                pair += team.lanes;
            }
            team.sync();
            distance /= 2;
        }
        run *= 2;
    }
}
