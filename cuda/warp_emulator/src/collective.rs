//! The results of a warp's collectives; the waiting is handled elsewhere.

use std::panic::Location;

use crate::WARP_LANES;

/// The lane that a shuffle reads, as in PTX's `shfl.sync`.
///
/// The lanes form segments of `width`. If the source lane is outside the segment, the lane gets its own value, except
/// that `Xor` may read an earlier segment. Only the low five bits of the operand matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shuffle {
    /// The lane `operand` positions below.
    Up,
    /// The lane `operand` positions above.
    Down,
    /// The lane whose number is this lane's, exclusive or `operand`.
    Xor,
    /// The lane `operand` of the segment, modulo the width.
    Index,
}

impl Shuffle {
    /// The lane that `lane` reads. `width` must be a power of two up to 32.
    pub(crate) fn source(self, lane: u32, operand: u32, width: u32) -> u32 {
        let operand = operand % WARP_LANES;
        let first = lane & !(width - 1);
        let last = first + width - 1;
        match self {
            Self::Up if lane - first >= operand => lane - operand,
            Self::Down if last - lane >= operand => lane + operand,
            Self::Xor if (lane ^ operand) <= last => lane ^ operand,
            Self::Index => first + operand % width,
            Self::Up | Self::Down | Self::Xor => lane,
        }
    }
}

/// The kind of a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vote {
    /// The lanes of the mask whose predicate is true, one bit each.
    Ballot,
    /// Whether any lane of the mask has a true predicate: 0 or 1.
    Any,
    /// Whether all lanes of the mask have a true predicate: 0 or 1.
    All,
}

/// The operations in which a lane waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Shuffle(Shuffle),
    Vote(Vote),
    MatchAny,
    WarpBarrier,
    BlockBarrier,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Shuffle(Shuffle::Up) => "shuffle up",
            Self::Shuffle(Shuffle::Down) => "shuffle down",
            Self::Shuffle(Shuffle::Xor) => "shuffle xor",
            Self::Shuffle(Shuffle::Index) => "shuffle index",
            Self::Vote(Vote::Ballot) => "ballot",
            Self::Vote(Vote::Any) => "any",
            Self::Vote(Vote::All) => "all",
            Self::MatchAny => "match any",
            Self::WarpBarrier => "warp barrier",
            Self::BlockBarrier => "block barrier",
        }
    }
}

/// One lane's call of an operation in which it waits for others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) location: &'static Location<'static>,
    /// The lanes of the warp that take part; meaningless at a block barrier.
    pub(crate) mask: u32,
    /// The lane's value, or its predicate as 0 or 1.
    pub(crate) value: u64,
    /// The lane that a shuffle reads; meaningless elsewhere.
    pub(crate) source: u32,
}

impl Call {
    /// Whether two calls are the same operation at the same source location, so that their lanes may meet there.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.operation == other.operation
            && (std::ptr::eq(self.location, other.location) || self.location == other.location)
    }
}

/// The lanes of a mask, lowest first.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> + Clone {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            lane as usize
        })
    })
}

/// Writes into `answers` the result of an operation for each lane of `mask`, all of which have called it. `calls` and
/// `answers` are indexed by lane; the source of each shuffle must be in `mask`.
pub(crate) fn answer(operation: Operation, mask: u32, calls: &[Call], answers: &mut [u64]) {
    match operation {
        Operation::Shuffle(_) => {
            for lane in lanes(mask) {
                answers[lane] = calls[calls[lane].source as usize].value;
            }
        }
        Operation::Vote(vote) => {
            let ballot = with_value(mask, calls, 1);
            let result = match vote {
                Vote::Ballot => ballot.into(),
                Vote::Any => (ballot != 0).into(),
                Vote::All => (ballot == mask).into(),
            };
            for lane in lanes(mask) {
                answers[lane] = result;
            }
        }
        Operation::MatchAny => {
            let mut rest = mask;
            while rest != 0 {
                let equal = with_value(rest, calls, calls[rest.trailing_zeros() as usize].value);
                for lane in lanes(equal) {
                    answers[lane] = equal.into();
                }
                rest &= !equal;
            }
        }
        Operation::WarpBarrier | Operation::BlockBarrier => {}
    }
}

/// The lanes of `mask` that passed `value`.
fn with_value(mask: u32, calls: &[Call], value: u64) -> u32 {
    lanes(mask).filter(|&lane| calls[lane].value == value).fold(0, |found, lane| found | 1 << lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [Shuffle; 4] = [Shuffle::Up, Shuffle::Down, Shuffle::Xor, Shuffle::Index];

    /// The pseudo-code of `shfl.sync` in the PTX ISA, with the operand `c` that CUDA's intrinsics pass.
    fn ptx_source(mode: Shuffle, lane: u32, b: u32, width: u32) -> u32 {
        let c = (WARP_LANES - width) << 8 | if mode == Shuffle::Up { 0 } else { 0x1f };
        let (bval, cval, segmask) = ((b & 0x1f) as i32, (c & 0x1f) as i32, (c >> 8 & 0x1f) as i32);
        let lane = lane as i32;
        let max_lane = (lane & segmask) | (cval & !segmask);
        let min_lane = lane & segmask;
        let (j, inside) = match mode {
            Shuffle::Up => (lane - bval, lane - bval >= max_lane),
            Shuffle::Down => (lane + bval, lane + bval <= max_lane),
            Shuffle::Xor => (lane ^ bval, (lane ^ bval) <= max_lane),
            Shuffle::Index => {
                let j = min_lane | (bval & !segmask);
                (j, j <= max_lane)
            }
        };
        (if inside { j } else { lane }) as u32
    }

    #[test]
    fn shuffle_source_is_that_of_ptx() {
        for mode in MODES {
            for width in [1, 2, 4, 8, 16, 32] {
                for lane in 0..WARP_LANES {
                    for operand in (0..100).chain([u32::MAX]) {
                        assert_eq!(
                            mode.source(lane, operand, width),
                            ptx_source(mode, lane, operand, width),
                            "{mode:?}, lane {lane}, operand {operand}, width {width}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_of_masks() {
        assert_eq!(lanes(0).count(), 0);
        assert_eq!(lanes(0x8000_0005).collect::<Vec<_>>(), [0, 2, 31]);
        assert!(lanes(u32::MAX).eq(0..32));
    }
}
