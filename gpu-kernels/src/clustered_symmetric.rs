//! Clustered slices that store a pair of equal entries, one on either side of the diagonal, only once.
//!
//! A part holds the x and the y of its rows in shared memory. An entry in the column of another row of the part stands
//! for its mirror image as well: its product with the x of its own row is added to the y of the other. Each warp goes
//! through its slices, one column of slots per step, with a barrier after each step. The entries are ordered, when the
//! matrix is built, so that the additions of a block in one step go to different elements of y. No addition need
//! therefore be atomic, and the result has the same bits every time.

use cuda_std::shared::{Shared, dynamic};
use cuda_std::thread::{block_dim_x, block_idx_x, sync_threads, thread_idx_x};
use cuda_std::warp::{ALL_LANES, WARP_LANES, lane_id, warp_shuffle_up, warp_shuffle_xor, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use crate::clustered::{NO_ENTRY, NO_ROW, SLICE_ROWS, gather};
use crate::vector::update;

/// Warps of a block.
pub const WARPS: u32 = 16;

/// Threads of a block.
pub const BLOCK_THREADS: u32 = WARPS * WARP_LANES;

/// Largest number of pieces of a row.
pub const MOST_PIECES: u32 = WARP_LANES;

/// The number of pieces into which a row with this many entries is divided, so that each has at most `longest` if
/// [`MOST_PIECES`] suffice: a power of two.
pub const fn pieces_of(entries: u32, longest: u32) -> u32 {
    let pieces = entries.div_ceil(longest);
    if pieces < MOST_PIECES { pieces.next_power_of_two() } else { MOST_PIECES }
}

/// One block per part.
///
/// # Safety
/// The arrays are those of a valid matrix of this format; `x` and `y` have an element for each of its columns and rows;
/// there is a block of [`BLOCK_THREADS`] for each part, with shared memory for the elements of any part.
#[kernel(T: scalars)]
pub unsafe fn clustered_symmetric<T: GpuScalar>(
    /// Number of slices before each warp of all parts; warps + 1 numbers.
    warp_begins: Global<u32>,
    /// The row at each position of the slices, or [`NO_ROW`]. The pieces of a row are at adjacent positions, all in the
    /// same half of a slice.
    row_numbers: Global<u32>,
    /// Number of other columns of all parts before each one; parts + 1 numbers.
    halo_begins: Global<u64>,
    /// The columns of each part that are not among its rows, or have an entry without a mirror image.
    halo_columns: Global<u32>,
    /// Total width of all slices before each one; slices + 1 numbers.
    slice_begins: Global<u64>,
    /// Two columns per lane of each column of slots, the lower half for the lane's first row: a position of the part,
    /// or, from the number of positions on, one of the part's other columns.
    local_columns: Global<u32>,
    /// Two values per lane of each column of slots.
    values: Global<T>,
    /// The number of columns.
    columns: u32,
    /// The factor of A x.
    alpha: T,
    /// The vector to multiply.
    x: Global<T>,
    /// The factor of y.
    beta: T,
    /// The result.
    y: GlobalMut<T>,
) {
    let part = block_idx_x();
    let first_warp = part * WARPS;
    let first_slice = warp_begins.load(first_warp);
    let positions = (warp_begins.load(first_warp + WARPS) - first_slice) * SLICE_ROWS;
    let first = u64::from(first_slice) * u64::from(SLICE_ROWS);
    let element_bytes = size_of::<T>() as u32;
    let sums = dynamic::<T>(0);
    let elements = dynamic::<T>(positions * element_bytes);
    let halo = dynamic::<T>(2 * positions * element_bytes);

    // A row beyond the last column has no element of x, and neither has a position without a row.
    let x_of = |row: u32| if row < columns { x.load(row) } else { T::ZERO };
    gather::<4, T>(positions, |position| row_numbers.load(first + u64::from(position)), x_of, elements);
    let halo_begin = halo_begins.load(part);
    let halo_count = (halo_begins.load(part + 1) - halo_begin) as u32;
    gather::<4, T>(
        halo_count,
        |place| halo_columns.load_streaming(halo_begin + u64::from(place)),
        |column| x.load(column),
        halo,
    );
    let mut position = thread_idx_x();
    while position < positions {
        sums.store(position, T::ZERO);
        position += block_dim_x();
    }
    sync_threads();

    let part = Part { warp_begins, slice_begins, local_columns, values, sums, elements, positions };
    // No more loads are in flight at a time, because registers are few.
    if size_of::<T>() == 4 {
        part.add::<4>(first_warp, first_slice);
    } else {
        part.add::<2>(first_warp, first_slice);
    }
    sync_threads();

    // Whole warps, because slices are whole.
    let mut position = thread_idx_x();
    while position < positions {
        let row = row_numbers.load(first + u64::from(position));
        let before = warp_shuffle_up(ALL_LANES, row, 1, WARP_LANES).0;
        let is_first = lane_id() == 0 || before != row;
        // Where the next rows begin.
        let begins = warp_vote_ballot(ALL_LANES, is_first) & !(u32::MAX >> (WARP_LANES - 1 - lane_id()));
        if row != NO_ROW && is_first {
            let end = position - lane_id() + begins.trailing_zeros();
            let mut sum = sums.load(position);
            let mut piece = position + 1;
            while piece < end {
                sum = sum + sums.load(piece);
                piece += 1;
            }
            update(y, row, alpha, sum, beta);
        }
        position += block_dim_x();
    }
}

/// Data shared by all slices of a part.
struct Part<T> {
    warp_begins: Global<u32>,
    slice_begins: Global<u64>,
    local_columns: Global<u32>,
    values: Global<T>,
    sums: Shared<T>,
    elements: Shared<T>,
    positions: u32,
}

/// Several columns of slots.
#[derive(Clone, Copy)]
struct Batch<T, const COUNT: usize> {
    words: [u32; COUNT],
    values: [[T; 2]; COUNT],
}

/// This lane's rows of the slice that its warp is multiplying.
struct Rows<T> {
    /// The position of the first.
    own: u32,
    /// Their elements of x.
    factors: [T; 2],
    /// The sums of their own entries.
    sums: [T; 2],
}

/// Position of a warp in its slices.
struct Run<T> {
    /// The column of slots.
    place: u64,
    slice: u32,
    /// The slice past the warp's last.
    last_slice: u32,
    /// Ends of this slice and of the next.
    ends: [u64; 2],
    /// End of the warp's last slice.
    end: u64,
    rows: Rows<T>,
}

impl<T: GpuScalar> Part<T> {
    /// Adds the products of all entries, and of their images, to the sums of the part.
    ///
    /// # Safety
    /// All threads of the block call it; `first_warp` and `first_slice` are the part's first.
    #[inline(always)]
    unsafe fn add<const COUNT: usize>(&self, first_warp: u32, first_slice: u32) {
        let warp = first_warp + thread_idx_x() / WARP_LANES;
        let (slice, last_slice) = (self.warp_begins.load(warp), self.warp_begins.load(warp + 1));
        let (place, end) = (self.slice_begins.load(slice), self.slice_begins.load(last_slice));
        let mut batch = self.load::<COUNT>(place, end);
        let ends = [1, 2].map(|ahead| self.slice_begins.load((slice + ahead).min(last_slice)));
        let rows = self.rows((slice - first_slice) * SLICE_ROWS + lane_id());
        let mut run = Run { place, slice, last_slice, ends, end, rows };
        let steps = self.steps(first_warp);
        let mut step = 0;
        while step < steps {
            let now = batch;
            // The next columns are loaded while these are multiplied.
            batch = self.load::<COUNT>(run.place + COUNT as u64, end);
            // A loop would not be unrolled.
            self.multiply(&now, 0, &mut run);
            if COUNT > 1 && step + 1 < steps {
                self.multiply(&now, 1, &mut run);
            }
            if COUNT > 2 && step + 2 < steps {
                self.multiply(&now, 2, &mut run);
            }
            if COUNT > 3 && step + 3 < steps {
                self.multiply(&now, 3, &mut run);
            }
            step += COUNT as u32;
        }
        if run.slice < last_slice {
            self.close(&run.rows);
        }
    }

    /// Multiplies one column of slots, followed by a barrier.
    ///
    /// # Safety
    /// `run` is the warp's position, and all threads of the block call it for the same step.
    #[inline(always)]
    unsafe fn multiply<const COUNT: usize>(&self, batch: &Batch<T, COUNT>, number: usize, run: &mut Run<T>) {
        // The last slice with slots is closed at the end.
        if run.place >= run.ends[0] && run.place < run.end {
            self.close(&run.rows);
            run.slice += 1;
            run.ends = [run.ends[1], self.slice_begins.load((run.slice + 2).min(run.last_slice))];
            run.rows = self.rows(run.rows.own + SLICE_ROWS);
        }
        let (word, value, rows) = (batch.words[number], batch.values[number], &mut run.rows);
        rows.sums[0] = self.add_product(rows.sums[0], word & NO_ENTRY, value[0]);
        rows.sums[1] = self.add_product(rows.sums[1], word >> 16, value[1]);
        self.add_image(word & NO_ENTRY, rows.own, value[0], rows.factors[0]);
        self.add_image(word >> 16, rows.own + WARP_LANES, value[1], rows.factors[1]);
        run.place += 1;
        sync_threads();
    }

    /// Number of steps of the part: the largest number of columns of slots among its warps.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    unsafe fn steps(&self, first_warp: u32) -> u32 {
        let warp = first_warp + lane_id() % WARPS;
        let [begin, end] = [self.warp_begins.load(warp), self.warp_begins.load(warp + 1)];
        let mut steps = (self.slice_begins.load(end) - self.slice_begins.load(begin)) as u32;
        let mut distance = WARPS / 2;
        while distance > 0 {
            steps = steps.max(warp_shuffle_xor(ALL_LANES, steps, distance, WARP_LANES).0);
            distance /= 2;
        }
        steps
    }

    /// The `COUNT` columns of slots from `place` on; past the end there is padding.
    ///
    /// # Safety
    /// Those before the end exist.
    #[inline(always)]
    unsafe fn load<const COUNT: usize>(&self, place: u64, end: u64) -> Batch<T, COUNT> {
        let mut batch = Batch { words: [NO_ENTRY << 16 | NO_ENTRY; COUNT], values: [[T::ZERO; 2]; COUNT] };
        let mut number = 0;
        while number < COUNT {
            let place = place + number as u64;
            if place < end {
                let word = place * u64::from(WARP_LANES) + u64::from(lane_id());
                batch.words[number] = self.local_columns.load_streaming(word);
                batch.values[number] = self.values.load_streaming_2(2 * word);
            }
            number += 1;
        }
        batch
    }

    /// The rows at a position, which may be past the last, and 32 positions further.
    ///
    /// # Safety
    /// Shared memory holds the elements of the part.
    #[inline(always)]
    unsafe fn rows(&self, own: u32) -> Rows<T> {
        let [first, second] = [own, own + WARP_LANES];
        let factors =
            if own < self.positions { [self.elements.load(first), self.elements.load(second)] } else { [T::ZERO; 2] };
        Rows { own, factors, sums: [T::ZERO; 2] }
    }

    /// Adds the sums of the rows to those in shared memory.
    ///
    /// # Safety
    /// The rows are at positions of the part, and no other thread adds to their sums in this step.
    #[inline(always)]
    unsafe fn close(&self, rows: &Rows<T>) {
        let [first, second] = [rows.own, rows.own + WARP_LANES];
        self.sums.store(first, self.sums.load(first) + rows.sums[0]);
        self.sums.store(second, self.sums.load(second) + rows.sums[1]);
    }

    /// `sum` plus one more product, unless the slot is padding: then the first element is loaded and ignored.
    #[inline(always)]
    unsafe fn add_product(&self, sum: T, column: u32, value: T) -> T {
        let element = self.elements.load(if column == NO_ENTRY { 0 } else { column });
        if column == NO_ENTRY { sum } else { value.mul_add(element, sum) }
    }

    /// Adds the product of an entry's mirror image to the sum of its row, if it has a mirror image.
    #[inline(always)]
    unsafe fn add_image(&self, column: u32, own: u32, value: T, factor: T) {
        if column < self.positions && column != own {
            self.sums.store(column, value.mul_add(factor, self.sums.load(column)));
        }
    }
}
