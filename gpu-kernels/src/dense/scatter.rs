//! Writes new values of a matrix to the positions of its format.

use cuda_std::shared::dynamic;
use cuda_std::thread::{block_dim_x, block_idx_x, grid_threads, index_1d, sync_threads, thread_idx_x};
use cuda_std::{Global, GlobalMut, kernel};

use crate::absent::Absent;
use crate::block::unrolled;

/// Number of entries whose values of `T` a block holds in shared memory: it fits on every GPU, and 16 bits can number
/// the entries even for the smallest type.
pub const fn chunk<T>() -> u32 {
    SHARED_BYTES / size_of::<T>() as u32
}

/// Bytes of shared memory that a block needs.
pub const SHARED_BYTES: u32 = 32 << 10;

/// Number of contiguous positions: a sector of numbers of 4 bytes, two or more sectors of larger ones.
pub const GROUP: u32 = 8;

/// Replaces an entry if a position of a group has none in the chunk.
pub const NO_ENTRY: u32 = 0xFFFF;

/// Writes values to the groups of positions of a chunk of entries: one block per chunk. Neighbouring threads write
/// neighbouring positions, whatever the order of the entries.
///
/// # Safety
/// Blocks have [`SHARED_BYTES`], and there is one for each [`chunk`] of the `count` entries, with groups from the
/// element of `group_offsets` of its number to the next. Each group has [`GROUP`] numbers of entries in its chunk, two
/// in an element of `entries`, or [`NO_ENTRY`]. No two entries have the same position; positions below `split` are
/// inside `to`, and the others, less `split`, inside `rest`.
#[kernel(T: scalars)]
pub unsafe fn scatter_chunks<T: Absent>(
    /// Number of entries.
    count: u64,
    /// Offset of the groups of each chunk.
    group_offsets: Global<u32>,
    /// The first position of each group, divided by [`GROUP`].
    groups: Global<u32>,
    /// The entry of each position of a group, two in an element, the first in the lower half.
    entries: Global<u32>,
    /// The value of each entry.
    from: Global<T>,
    /// Whether to replace values that equal the mark of a slot without an entry: 1, or 0.
    marks_absence: u32,
    /// Number of positions in the first array.
    split: u32,
    /// The first array of values.
    to: GlobalMut<T>,
    /// The second array, for positions from `split` on.
    rest: GlobalMut<T>,
) {
    let threads = block_dim_x();
    let first = u64::from(block_idx_x()) * u64::from(chunk::<T>());
    let in_chunk = (count - first).min(chunk::<T>().into()) as u32;
    // The words and groups at this thread's positions, for the first pass and later ones. Past the end, the last one is
    // loaded again, so that no load waits for a comparison; eight loads are in flight at a time.
    let begin = u64::from(group_offsets.load(block_idx_x())) * u64::from(GROUP);
    let in_groups = (group_offsets.load(block_idx_x() + 1) - group_offsets.load(block_idx_x())) * GROUP;
    let load = |place: u32| {
        let places = EIGHT.map(|step| begin + u64::from((place + step * threads).min(in_groups - 1)));
        (places.map(|place| entries.load(place / 2)), places.map(|place| groups.load(place / u64::from(GROUP))))
    };
    let mut place = thread_idx_x();
    let mut loaded = load(place);

    let values = dynamic::<T>(0);
    let mut number = thread_idx_x();
    while number < in_chunk {
        let numbers = EIGHT.map(|step| number + step * threads);
        let loaded = numbers.map(|number| from.load_streaming(first + u64::from(number.min(in_chunk - 1))));
        unrolled(8, |step| {
            if numbers[step as usize] < in_chunk {
                values.store(numbers[step as usize], loaded[step as usize]);
            }
        });
        number += 8 * threads;
    }
    sync_threads();
    while place < in_groups {
        let (words, groups) = loaded;
        unrolled(8, |step| {
            let place = place + step * threads;
            let entry = words[step as usize] >> (16 * (place % 2)) & NO_ENTRY;
            if place < in_groups && entry != NO_ENTRY {
                let at = groups[step as usize] * GROUP + place % GROUP;
                let value = values.load(entry);
                let value = if marks_absence != 0 { value.present() } else { value };
                if at < split {
                    to.store(at, value);
                } else {
                    rest.store(at - split, value);
                }
            }
        });
        place += 8 * threads;
        if place < in_groups {
            loaded = load(place);
        }
    }
}

const EIGHT: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Writes each value to its position: for consecutive entries whose positions are not close together.
///
/// # Safety
/// `places` and `from` have `count` elements. No two positions are equal; those below `split` are inside `to`, and the
/// others, less `split`, inside `rest`.
#[kernel(T: scalars)]
pub unsafe fn scatter<T: Absent>(
    /// Number of entries.
    count: u64,
    /// The position of each entry.
    places: Global<u32>,
    /// The value of each entry.
    from: Global<T>,
    /// Whether to replace values that equal the mark of a slot without an entry: 1, or 0.
    marks_absence: u32,
    /// Number of positions in the first array.
    split: u32,
    /// The first array of values.
    to: GlobalMut<T>,
    /// The second array, for positions from `split` on.
    rest: GlobalMut<T>,
) {
    let mut number = u64::from(index_1d());
    while number < count {
        let (value, place) = (from.load_streaming(number), places.load_streaming(number));
        let value = if marks_absence != 0 { value.present() } else { value };
        if place < split {
            to.store(place, value);
        } else {
            rest.store(place - split, value);
        }
        number += u64::from(grid_threads());
    }
}
