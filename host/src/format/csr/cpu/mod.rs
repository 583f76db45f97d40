//! CSR on the CPU. Threads share the rows by number of entries, and three loops over rows give the same bits.
//!
//! The order of additions depends only on a row's length, not on the loop, the threads or the processor: whole groups
//! of eight entries go to eight sums, which become four, and the remaining entries go to these four in turn.

mod surprise;
#[cfg(test)]
mod tests;

use cuda_std::Index;

use crate::format::narrow::{HostValues, StoredAs};
use crate::format::{Csr, Offsets};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::HostOperands;
use crate::spmv::lanes::each_lane;
use crate::spmv::on_cpu::{READ_AHEAD_FROM, WORK_ALONE, WORK_AT_ONCE, prefetch};
use surprise::surprise;

/// The work per row besides its entries, in entries.
const ROW_WORK: usize = 4;

/// Maximum number of parts of a matrix that threads take, per thread and in all.
const PARTS_PER_THREAD: usize = 16;
const MOST_PARTS: usize = 1 << 10;

/// Rows that are multiplied by the same loop.
const ROWS_AT_ONCE: usize = 512;

/// Rows of these whose lengths are sampled to choose the loop.
const ROWS_LOOKED_AT: usize = 32;

/// Bits of surprise in the row lengths of a matrix up to which a processor memorizes them over repeated products, and
/// then predicts the branches at the ends of rows.
const LEARNT_BITS: f32 = 72.0 * 1024.0;

/// Largest number of rows whose lengths are not sampled: they are memorized, and sampling takes its share of the time.
const FEW_ROWS: usize = 1 << 13;

/// Entries to read ahead, which is farther than a page: processors do not prefetch across pages on their own.
const READ_AHEAD: usize = 1024;

/// Largest mean row length for which it pays to multiply beyond a row's end to avoid a branch.
const LONGEST_SURPRISING: usize = 32;

/// Largest row length with an unrolled loop.
const LONGEST_UNROLLED: usize = 9;

/// Bits kept of products inside a row, then of those beyond it.
const KEPT: [u64; 8] = [u64::MAX, u64::MAX, u64::MAX, u64::MAX, 0, 0, 0, 0];

/// Returns the longest chain of additions in the product of a row of `length` entries.
pub(crate) fn longest_chain(length: usize) -> usize {
    (length / 8 + 5).min(length)
}

pub(crate) fn multiply_on_cpu<V: StoredAs<T>, T: Scalar>(
    matrix: &Csr<T>,
    values: HostValues<'_, V, T>,
    operands: HostOperands<'_, T>,
) {
    match matrix.row_offsets() {
        Offsets::Narrow(offsets) => multiply(matrix, values, offsets, operands),
        Offsets::Wide(offsets) => multiply(matrix, values, offsets, operands),
    }
}

fn multiply<V: StoredAs<T>, T: Scalar, O: Index + Sync>(
    matrix: &Csr<T>,
    values: HostValues<'_, V, T>,
    offsets: &[O],
    operands: HostOperands<'_, T>,
) {
    let HostOperands { alpha, x, beta, y } = operands;
    let columns = matrix.column_indices().as_slice();
    assert!(x.len() == matrix.columns() && y.len() == matrix.rows(), "operands are checked before");
    assert!(values.stored.len() == columns.len(), "each entry has a value");
    // The unsafe code below relies on this: `Csr::try_new` has checked that the offsets ascend to the length of both
    // arrays, and that every column is below `columns`, which is the length of x; conversions and copies preserve that,
    // and only this crate can change the arrays. All `offsets` below are part of those of the matrix.
    let few = y.len() <= FEW_ROWS;
    if few && columns.len() <= WORK_ALONE && beta == T::ZERO {
        // The shortest path, for data that may not be cached.
        return Multiplication::<V, T, false> { columns, values, x, alpha, beta, learnt: true }.rows(offsets, y);
    }
    let learnt = few || surprise(offsets) <= LEARNT_BITS;
    if matrix.bytes() < READ_AHEAD_FROM {
        Multiplication::<V, T, false> { columns, values, x, alpha, beta, learnt }.all(offsets, y);
    } else {
        Multiplication::<V, T, true> { columns, values, x, alpha, beta, learnt }.all(offsets, y);
    }
}

/// The first index for which `holds` is true, or `count` if there is none below it. If it is true for an index, it is true
/// for all after it.
fn first_index(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Counts the rows that are as long as the row before.
fn alike<O: Index>(offsets: &[O]) -> usize {
    let length = |row: &[O]| row[1].widen() - row[0].widen();
    offsets.windows(3).filter(|rows| length(&rows[1..]) == length(&rows[..2])).count()
}

/// Data common to all rows. The arrays are those of a valid matrix and of a vector that fits it.
struct Multiplication<'a, V, T, const READS_AHEAD: bool> {
    columns: &'a [u32],
    values: HostValues<'a, V, T>,
    x: &'a [T],
    alpha: T,
    beta: T,
    /// Whether the row lengths soon become predictable.
    learnt: bool,
}

impl<V: StoredAs<T>, T: Scalar, const READS_AHEAD: bool> Multiplication<'_, V, T, READS_AHEAD> {
    /// Multiplies all rows, in parallel where that pays. There is one more offset than elements of y.
    fn all<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let work = self.columns.len() + y.len() * ROW_WORK;
        if work <= WORK_ALONE || parallel::threads() == 1 {
            self.alone(offsets, y);
        } else {
            self.share_out(offsets, y);
        }
    }

    /// Multiplies the rows of these offsets, [`ROWS_AT_ONCE`] at a time.
    fn alone<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let parts = y.chunks_mut(ROWS_AT_ONCE).enumerate();
        parts.for_each(|(part, y)| self.multiply(&offsets[part * ROWS_AT_ONCE..][..y.len() + 1], y));
    }

    /// Multiplies the rows of these offsets in parallel, in parts of equal work.
    fn share_out<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let work_before = |row: usize| offsets[row].widen() as usize - offsets[0].widen() as usize + row * ROW_WORK;
        let work = work_before(y.len());
        let threads = parallel::threads();
        let parts =
            (work / WORK_AT_ONCE).clamp(1, PARTS_PER_THREAD * threads).next_multiple_of(threads).min(MOST_PARTS);
        let mut ends = [y.len(); MOST_PARTS];
        let mut begin = 0;
        for part in 1..parts {
            let before = work * part / parts;
            begin += first_index(y.len() - begin, |row| work_before(begin + row) >= before);
            ends[part - 1] = begin;
        }
        parallel::parts_mut(y, &ends[..parts], &|(part, y)| {
            let first = if part > 0 { ends[part - 1] } else { 0 };
            self.alone(&offsets[first..=first + y.len()], y);
        });
    }

    /// Multiplies up to [`ROWS_AT_ONCE`] rows.
    fn multiply<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        if self.beta == T::ZERO { self.scaled_products(offsets, y) } else { self.multiply_and_add(offsets, y) }
    }

    /// Multiplies with any β; a separate function because of its stack space.
    #[inline(never)]
    fn multiply_and_add<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let mut products = [T::ZERO; ROWS_AT_ONCE];
        self.scaled_products(offsets, &mut products[..y.len()]);
        for (y, &product) in y.iter_mut().zip(&products) {
            *y = product + self.beta * *y;
        }
    }

    /// Computes α times the products of these rows with x, with the loop that suits them.
    fn scaled_products<O: Index + Sync>(&self, offsets: &[O], products: &mut [T]) {
        let looked_at = &offsets[..offsets.len().min(ROWS_LOOKED_AT + 1)];
        let rows = looked_at.len() - 1;
        let entries = looked_at[rows].widen() as usize - offsets[0].widen() as usize;
        let regular = alike(looked_at) == rows - 1;
        if regular && entries <= rows * LONGEST_UNROLLED {
            self.regular_rows(offsets, products);
        } else if regular || self.learnt || entries > rows * LONGEST_SURPRISING {
            self.rows(offsets, products);
        } else {
            self.surprising_rows(offsets, products);
        }
    }

    /// Multiplies rows of any lengths.
    #[inline(never)]
    fn rows<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        each_row(offsets, y, |begin, end| self.alpha * self.row(begin, end));
    }

    /// Multiplies short rows of unpredictable lengths.
    #[inline(never)]
    fn surprising_rows<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        each_row(offsets, y, |begin, end| self.alpha * self.surprising_row(begin, end));
    }

    /// Multiplies short rows, many of them as long as the one before, without a loop over their entries.
    #[inline(never)]
    fn regular_rows<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let mut first = 0;
        while first < y.len() {
            let (offsets, y) = (&offsets[first..], &mut y[first..]);
            let (begin, end) = (offsets[0].widen() as usize, offsets[1].widen() as usize);
            first += match end - begin {
                1 => self.run::<O, 1>(offsets, y),
                2 => self.run::<O, 2>(offsets, y),
                3 => self.run::<O, 3>(offsets, y),
                4 => self.run::<O, 4>(offsets, y),
                5 => self.run::<O, 5>(offsets, y),
                6 => self.run::<O, 6>(offsets, y),
                7 => self.run::<O, 7>(offsets, y),
                8 => self.run::<O, 8>(offsets, y),
                LONGEST_UNROLLED => self.run::<O, LONGEST_UNROLLED>(offsets, y),
                _ => {
                    y[0] = self.alpha * self.row(begin, end);
                    1
                }
            }
        }
    }

    /// Multiplies the leading rows that have `LENGTH` entries; returns their number.
    #[inline(always)]
    fn run<O: Index + Sync, const LENGTH: usize>(&self, offsets: &[O], y: &mut [T]) -> usize {
        let mut begin = offsets[0].widen() as usize;
        let ends = &offsets[1..=y.len()];
        for row in 0..ends.len() {
            if ends[row].widen() as usize != begin + LENGTH {
                return row;
            }
            y[row] = self.alpha * self.row_of::<LENGTH>(begin);
            begin += LENGTH;
        }
        y.len()
    }

    /// Returns the product of a row's entries with x.
    #[inline(always)]
    fn row(&self, begin: usize, end: usize) -> T {
        if end - begin < 8 {
            self.rest(empty_sums(), begin, end)
        } else {
            let (sums, place) = self.eights(begin, end);
            self.rest(sums, place, end)
        }
    }

    /// Adds up to seven remaining entries to four sums. Each count has its own branch, in scalar arithmetic: four
    /// products side by side, with masks for the surplus ones, took a third longer.
    #[inline(always)]
    fn rest(&self, [mut a, mut b, mut c, mut d]: [T; 4], place: usize, end: usize) -> T {
        self.read_ahead(place);
        let count = end - place;
        let product = |number: usize| self.products::<1>(place + number)[0];
        if count >= 4 {
            (a, b, c, d) = (a + product(0), b + product(1), c + product(2), d + product(3));
            if count > 4 {
                a = a + product(4);
                if count > 5 {
                    b = b + product(5);
                    if count > 6 {
                        c = c + product(6);
                    }
                }
            }
        } else if count > 0 {
            a = a + product(0);
            if count > 1 {
                b = b + product(1);
                if count > 2 {
                    c = c + product(2);
                }
            }
        }
        sum_of([a, b, c, d])
    }

    /// Same as [`row`](Self::row) for an unpredictable length: without a branch for the last eight entries.
    #[inline(always)]
    fn surprising_row(&self, begin: usize, end: usize) -> T {
        if self.columns.len() < end + 8 {
            return self.last_row(begin, end);
        }
        // This branch is predictable where no row or every row is longer; for short rows it avoids empty sums.
        if end - begin <= 8 {
            self.surprising_rest(empty_sums(), begin, end)
        } else {
            let (sums, place) = self.eights(begin, end);
            self.surprising_rest(sums, place, end)
        }
    }

    /// Adds up to eight remaining entries to four sums.
    #[inline(always)]
    fn surprising_rest(&self, mut sums: [T; 4], place: usize, end: usize) -> T {
        self.read_ahead(place);
        add(&mut sums, keep(self.products(place), end - place));
        add(&mut sums, keep(self.products(place + 4), (end - place).saturating_sub(4)));
        sum_of(sums)
    }

    /// Same as [`row`](Self::row) for `LENGTH` entries, at most [`LONGEST_UNROLLED`].
    #[inline(always)]
    fn row_of<const LENGTH: usize>(&self, begin: usize) -> T {
        self.read_ahead(begin);
        let products: [T; LENGTH] = self.products(begin);
        let mut sums = empty_sums();
        for place in 0..LENGTH {
            sums[place % 4] = sums[place % 4] + products[place];
        }
        sum_of(sums)
    }

    /// Same as [`row`](Self::row), where too few entries follow to take whole groups.
    #[cold]
    fn last_row(&self, begin: usize, end: usize) -> T {
        self.row(begin, end)
    }

    /// Sums a row's whole groups of eight entries, at least one, into four sums; returns these and where the groups
    /// end.
    #[inline(always)]
    fn eights(&self, begin: usize, end: usize) -> ([T; 4], usize) {
        self.read_ahead(begin);
        let mut sums: [T; 8] = self.products(begin);
        // As in `empty_sums`.
        sums[0] = T::ZERO + sums[0];
        let mut place = begin + 8;
        while place + 8 <= end {
            self.read_ahead(place);
            add(&mut sums, self.products(place));
            place += 8;
        }
        (each_lane(|lane| sums[lane] + sums[lane + 4]), place)
    }

    /// Returns the products of `N` entries, from `place` on, with x.
    #[inline(always)]
    fn products<const N: usize>(&self, place: usize) -> [T; N] {
        debug_assert!(place + N <= self.columns.len());
        // SAFETY: callers take no entry at or beyond the end of the last row, so both arrays have them, and columns are
        // below the length of x: the function `multiply` says where that is checked.
        unsafe {
            let columns = &*self.columns.as_ptr().add(place).cast::<[u32; N]>();
            let values = &*self.values.stored.as_ptr().add(place).cast::<[V; N]>();
            let elements: [T; N] = each_lane(|lane| *self.x.get_unchecked(columns[lane] as usize));
            each_lane(|lane| self.values.widen(values[lane]) * elements[lane])
        }
    }

    /// Prefetches entries that will be multiplied soon.
    #[inline(always)]
    fn read_ahead(&self, place: usize) {
        if READS_AHEAD {
            prefetch(self.values.stored.as_ptr().wrapping_add(place + READ_AHEAD));
            prefetch(self.columns.as_ptr().wrapping_add(place + READ_AHEAD));
        }
    }
}

/// Sets each element of y to the result of `row` for the beginning and the end of its entries. With `Iterator::zip`, which is
/// four functions elsewhere in a program without LTO, the first pages of code would take as long as 1,000 entries to load.
#[inline(always)]
fn each_row<O: Index, T>(offsets: &[O], y: &mut [T], row: impl Fn(usize, usize) -> T) {
    let mut begin = offsets[0].widen() as usize;
    let ends = &offsets[1..=y.len()];
    for number in 0..ends.len() {
        let end = ends[number].widen() as usize;
        y[number] = row(begin, end);
        begin = end;
    }
}

#[inline(always)]
fn add<T: Scalar, const N: usize>(sums: &mut [T; N], products: [T; N]) {
    for lane in 0..N {
        sums[lane] = sums[lane] + products[lane];
    }
}

/// Returns the initial sums. One sum that is never -0 suffices to keep the total from being -0, so the signs of the
/// other zeros do not matter; and adding -0 changes no product, so the compiler omits that addition.
#[inline(always)]
fn empty_sums<T: Scalar>() -> [T; 4] {
    let nothing = T::ZERO * (T::ZERO - T::ONE);
    [T::ZERO, nothing, nothing, nothing]
}

#[inline(always)]
fn sum_of<T: Scalar>([a, b, c, d]: [T; 4]) -> T {
    (a + c) + (b + d)
}

/// Keeps the first `count` products and replaces the others, which lie beyond the row, with +0: that changes only the
/// sign of zero sums, which does not matter. Bitwise, because the compiler would turn a choice into branches.
#[inline(always)]
fn keep<T: Scalar>(products: [T; 4], count: usize) -> [T; 4] {
    let kept = &KEPT[4 - count.min(4)..];
    each_lane(|lane| match size_of::<T>() {
        8 => bytemuck::cast(bytemuck::cast::<T, u64>(products[lane]) & kept[lane]),
        4 => bytemuck::cast(bytemuck::cast::<T, u32>(products[lane]) & kept[lane] as u32),
        _ if lane < count => products[lane],
        _ => T::ZERO,
    })
}
