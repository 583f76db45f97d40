//! Samples of a matrix: the same ones every time.

/// How many of the entries are sampled if not all are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Less than 1 % for each of several purposes, but enough of a small matrix.
    #[default]
    Part,
    /// All, which makes estimates exact.
    Everything,
}

/// Reciprocal of the fraction of entries in a sample.
const PART: usize = 400;

/// Minimum number of parts in a sample, if available.
const LEAST_PARTS: usize = 256;

/// Number of entries that a sample may have in any case.
const LEAST_ENTRIES: usize = 1 << 13;

/// Maximum number of parts in a sample: more do not improve any estimate that matters.
const MOST_PARTS: usize = 1 << 12;

/// A sample of the `parts` parts of a matrix with `entries` entries in total: one at random from each of several ranges
/// of equal size. Ascending and distinct.
pub(crate) fn sample(parts: usize, entries: usize, sampling: Sampling) -> impl ExactSizeIterator<Item = usize> + Clone {
    let wanted = match sampling {
        Sampling::Everything => parts,
        Sampling::Part => {
            let affordable = (entries / PART).max(LEAST_ENTRIES) as u128 * parts as u128 / entries.max(1) as u128;
            let wanted = (parts / PART).clamp(LEAST_PARTS, MOST_PARTS);
            (wanted as u128).min(affordable).clamp(1, parts.max(1) as u128) as usize
        }
    };
    places(parts, wanted)
}

/// `wanted` of `count` places, or all: one at random from each of `wanted` ranges of equal size. Ascending and
/// distinct.
pub(crate) fn places(count: usize, wanted: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
    let wanted = wanted.min(count);
    let range = move |number: usize| (number as u128 * count as u128 / wanted as u128) as usize;
    (0..wanted).map(move |number| {
        let [begin, end] = [range(number), range(number + 1)];
        begin + (scramble(number as u64) % (end - begin).max(1) as u64) as usize
    })
}

/// A pseudorandom number (the finalizer of SplitMix64).
pub(super) fn scramble(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_ascend_and_are_there() {
        let all = [0, 1, 5, 255, 256, 257, 100_000, 10_000_000];
        for &parts in if cfg!(miri) { &all[..6] } else { &all } {
            for entries in [0, 1, 1000, 1 << 30] {
                let chosen: Vec<_> = sample(parts, entries, Sampling::Part).collect();
                assert!(chosen.is_sorted_by(|left, right| left < right), "{parts} parts");
                assert!(chosen.iter().all(|&part| part < parts), "{parts} parts");
                assert_eq!(chosen.is_empty(), parts == 0);
                assert_eq!(sample(parts, entries, Sampling::Everything).count(), parts);
            }
        }
    }

    #[test]
    fn a_small_part_of_a_large_matrix() {
        let entries = 50_000_000;
        assert_eq!(sample(300_000, entries, Sampling::Part).count(), 750);
        assert_eq!(sample(10_000_000, entries, Sampling::Part).count(), MOST_PARTS);
        // With few long rows, the number of entries is the limit.
        assert_eq!(sample(10_000, entries, Sampling::Part).count(), 25);
    }
}
