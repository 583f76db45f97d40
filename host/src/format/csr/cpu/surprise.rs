//! Predictability of the ends of rows for a processor.

use cuda_std::Index;

/// Samples of a matrix's rows.
const PLACES: usize = 8;

/// Rows per sample.
const ROWS_AT_A_PLACE: usize = 64;

/// Estimates the bits of surprise in the lengths of all rows from samples.
pub(super) fn surprise<O: Index>(offsets: &[O]) -> f32 {
    let places = offsets.chunks(offsets.len().div_ceil(PLACES)).map(|place| &place[..place.len().min(ROWS_AT_A_PLACE)]);
    // The length last seen after each pair of lengths: a processor predicts what repeats.
    let mut last_after = [0; 64];
    let (mut rows, mut foreseen) = (0, 1);
    for place in places {
        let mut before = 0;
        for row in place.windows(2) {
            let length = (row[1].widen() - row[0].widen()) as usize;
            rows += 1;
            foreseen += usize::from(last_after[before] == length);
            last_after[before] = length;
            before = (before * 8 + length % 8) % 64;
        }
    }
    // If 2^k lengths are equally frequent and in random order, one in 2^k is predicted.
    offsets.len() as f32 * (rows as f32 / foreseen as f32).log2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Offsets;

    const ROWS: usize = 20_000;

    #[test]
    #[cfg_attr(miri, ignore = "nothing unsafe, and long")]
    fn what_repeats_is_no_surprise() {
        let bits_a_row = |length: &mut dyn FnMut(usize) -> usize| {
            let lengths: Vec<usize> = (0..ROWS).map(length).collect();
            let offsets = Offsets::from_lengths(lengths.into_iter()).unwrap();
            let Offsets::Narrow(offsets) = offsets else { panic!("{offsets:?}") };
            surprise(&offsets) / ROWS as f32
        };
        assert!(bits_a_row(&mut |_| 5) < 0.1);
        assert!(bits_a_row(&mut |row| [1, 4, 3][row % 3]) < 0.1);
        let mut state = 1u64;
        for bits in 1..4 {
            let found = bits_a_row(&mut |_| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                3 + (state >> 40) as usize % (1 << bits)
            });
            assert!((found - bits as f32).abs() < 0.5, "{bits}: {found}");
        }
    }
}
