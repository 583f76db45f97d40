//! CSR on the CPU. Threads share rows by their entries, and three loops over rows give the same bits.
//!
//! The order of additions depends on a row's length alone, not on the loop, the threads or the processor: whole groups
//! of eight entries go to eight sums, which become four, and what is left goes to these four in turn.

use cuda_std::Index;

use crate::format::{Csr, Offsets};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::HostOperands;
use crate::spmv::lanes::each_lane;
use crate::spmv::on_cpu::{READ_AHEAD_FROM, WORK_ALONE, WORK_AT_ONCE, prefetch};

/// The work of a row besides its entries, in entries.
const ROW_WORK: usize = 4;

/// Rows that the same loop multiplies.
const ROWS_AT_ONCE: usize = 512;

/// Rows among these whose lengths are looked at to choose it.
const ROWS_LOOKED_AT: usize = 64;

/// Rows of a matrix up to which a processor learns their lengths by heart, when it multiplies time and again.
const LEARNT_ROWS: usize = 1 << 14;

/// Entries to read ahead, which is farther than a page: processors do not go on to the next page by themselves.
const READ_AHEAD: usize = 1024;

/// The largest mean length of rows for which it is worth multiplying more than there is to avoid a branch.
const LONGEST_SURPRISING: usize = 32;

/// The largest length of rows for which there is a loop of its own.
const LONGEST_UNROLLED: usize = 9;

/// Bits that are kept of entries of a row, and then of others.
const KEPT: [u64; 8] = [u64::MAX, u64::MAX, u64::MAX, u64::MAX, 0, 0, 0, 0];

/// The longest chain of additions that the product of a row of `length` entries goes through.
pub(crate) fn longest_chain(length: usize) -> usize {
    (length / 8 + 5).min(length)
}

pub(crate) fn multiply_on_cpu<T: Scalar>(matrix: &Csr<T>, operands: HostOperands<'_, T>) {
    match matrix.row_offsets() {
        Offsets::Narrow(offsets) => multiply(matrix, offsets, operands),
        Offsets::Wide(offsets) => multiply(matrix, offsets, operands),
    }
}

fn multiply<T: Scalar, O: Index + Sync>(matrix: &Csr<T>, offsets: &[O], operands: HostOperands<'_, T>) {
    let HostOperands { alpha, x, beta, y } = operands;
    let (columns, values) = (matrix.column_indices().as_slice(), matrix.values().as_slice());
    assert!(x.len() == matrix.columns() && y.len() == matrix.rows(), "operands are checked before");
    let learnt = y.len() <= LEARNT_ROWS;
    // What the unsafe code below relies on: `Csr::try_new` has checked that the offsets ascend to the length of both
    // arrays, and that every column is below `columns`, which is the length of x; conversions and copies keep that, and
    // only this crate can change the arrays. All `offsets` below are a part of those of the matrix.
    if matrix.bytes() < READ_AHEAD_FROM {
        Multiplication::<T, false> { columns, values, x, alpha, beta, learnt }.all(offsets, y);
    } else {
        Multiplication::<T, true> { columns, values, x, alpha, beta, learnt }.all(offsets, y);
    }
}

/// What all rows have in common. The arrays are those of a valid matrix and of a vector that fits it.
struct Multiplication<'a, T, const READS_AHEAD: bool> {
    columns: &'a [u32],
    values: &'a [T],
    x: &'a [T],
    alpha: T,
    beta: T,
    /// Whether the lengths of rows are soon no surprise.
    learnt: bool,
}

impl<T: Scalar, const READS_AHEAD: bool> Multiplication<'_, T, READS_AHEAD> {
    /// Multiplies all rows, whose offsets are one more than elements of y: in parallel, where that pays.
    fn all<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let work = self.columns.len() + y.len() * ROW_WORK;
        if work <= WORK_ALONE || parallel::threads() == 1 {
            self.alone(offsets, y);
        } else {
            self.share_out(offsets, y);
        }
    }

    /// Multiplies the rows of these offsets, [`ROWS_AT_ONCE`] after the others.
    fn alone<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let parts = y.chunks_mut(ROWS_AT_ONCE).enumerate();
        parts.for_each(|(part, y)| self.multiply(&offsets[part * ROWS_AT_ONCE..][..y.len() + 1], y));
    }

    /// Multiplies the rows of these offsets in parallel.
    fn share_out<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let work_before = |row: usize| offsets[row].widen() as usize - offsets[0].widen() as usize + row * ROW_WORK;
        let work = work_before(y.len());
        if work <= WORK_AT_ONCE || y.len() == 1 {
            return self.alone(offsets, y);
        }
        // The first row, but not 0, that has half of the work before it.
        let (mut low, mut high) = (1, y.len() - 1);
        while low < high {
            let middle = (low + high) / 2;
            if work_before(middle) < work / 2 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (first, second) = y.split_at_mut(low);
        parallel::join(|| self.share_out(&offsets[..=low], first), || self.share_out(&offsets[low..], second));
    }

    /// Multiplies up to [`ROWS_AT_ONCE`] rows with the loop that suits them.
    fn multiply<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let looked_at = &offsets[..offsets.len().min(ROWS_LOOKED_AT + 1)];
        let length = |row: &[O]| row[1].widen() as usize - row[0].widen() as usize;
        let changes = looked_at.windows(3).filter(|rows| length(&rows[1..]) != length(&rows[..2])).count();
        let entries = looked_at[looked_at.len() - 1].widen() as usize - offsets[0].widen() as usize;
        let at_most = |mean: usize| entries <= mean * looked_at.len();
        let regular = changes * 4 < looked_at.len();
        let multiply = if regular && at_most(LONGEST_UNROLLED) {
            Self::regular_rows
        } else if regular || self.learnt || !at_most(LONGEST_SURPRISING) {
            Self::rows
        } else {
            Self::surprising_rows
        };
        if self.beta == T::ZERO {
            multiply(self, offsets, y);
        } else {
            let mut products = [T::ZERO; ROWS_AT_ONCE];
            multiply(self, offsets, &mut products[..y.len()]);
            for (y, &product) in y.iter_mut().zip(&products) {
                *y = product + self.beta * *y;
            }
        }
    }

    /// Rows of any lengths.
    #[inline(never)]
    fn rows<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let mut begin = offsets[0].widen() as usize;
        for (y, end) in y.iter_mut().zip(&offsets[1..]) {
            *y = self.alpha * self.row(begin, end.widen() as usize);
            begin = end.widen() as usize;
        }
    }

    /// Short rows whose lengths cannot be foreseen.
    #[inline(never)]
    fn surprising_rows<O: Index + Sync>(&self, offsets: &[O], y: &mut [T]) {
        let mut begin = offsets[0].widen() as usize;
        for (y, end) in y.iter_mut().zip(&offsets[1..]) {
            *y = self.alpha * self.surprising_row(begin, end.widen() as usize);
            begin = end.widen() as usize;
        }
    }

    /// Short rows many of which are as long as the one before: without a loop over their entries.
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

    /// The rows from the first on that have `LENGTH` entries: how many there are.
    #[inline(always)]
    fn run<O: Index + Sync, const LENGTH: usize>(&self, offsets: &[O], y: &mut [T]) -> usize {
        let mut begin = offsets[0].widen() as usize;
        for (row, (y, end)) in y.iter_mut().zip(&offsets[1..]).enumerate() {
            if end.widen() as usize != begin + LENGTH {
                return row;
            }
            *y = self.alpha * self.row_of::<LENGTH>(begin);
            begin += LENGTH;
        }
        y.len()
    }

    /// The product of the entries of a row with x.
    #[inline(always)]
    fn row(&self, begin: usize, end: usize) -> T {
        if self.columns.len() < end + 4 {
            return self.last_row(begin, end);
        }
        let (mut sums, mut place) = self.eights(begin, end);
        if place + 4 <= end {
            add(&mut sums, self.products(place));
            place += 4;
        }
        if place < end {
            self.read_ahead(place);
            add(&mut sums, keep(self.products(place), end - place));
        }
        sum_of(sums)
    }

    /// The same where the length could not be foreseen: without a branch after the groups of eight.
    #[inline(always)]
    fn surprising_row(&self, begin: usize, end: usize) -> T {
        if self.columns.len() < end + 8 {
            return self.last_row(begin, end);
        }
        let (mut sums, place) = self.eights(begin, end);
        self.read_ahead(place);
        add(&mut sums, keep(self.products(place), end - place));
        add(&mut sums, keep(self.products(place + 4), (end - place).saturating_sub(4)));
        sum_of(sums)
    }

    /// The same for `LENGTH` entries, at most [`LONGEST_UNROLLED`].
    #[inline(always)]
    fn row_of<const LENGTH: usize>(&self, begin: usize) -> T {
        self.read_ahead(begin);
        let products: [T; LENGTH] = self.products(begin);
        let mut sums = [T::ZERO; 4];
        for place in 0..LENGTH {
            sums[place % 4] = sums[place % 4] + products[place];
        }
        sum_of(sums)
    }

    /// The same where not enough entries follow to take whole groups.
    #[cold]
    fn last_row(&self, begin: usize, end: usize) -> T {
        let (mut sums, place) = self.eights(begin, end);
        for place in place..end {
            let [product] = self.products(place);
            let sum = &mut sums[(place - begin) % 4];
            *sum = *sum + product;
        }
        sum_of(sums)
    }

    /// The whole groups of eight entries of a row, in four sums, and where they end.
    #[inline(always)]
    fn eights(&self, begin: usize, end: usize) -> ([T; 4], usize) {
        let mut place = begin;
        let mut sums = [T::ZERO; 8];
        while place + 8 <= end {
            self.read_ahead(place);
            add(&mut sums, self.products(place));
            place += 8;
        }
        (each_lane(|lane| sums[lane] + sums[lane + 4]), place)
    }

    /// The products of `N` entries, from `place` on, with x.
    #[inline(always)]
    fn products<const N: usize>(&self, place: usize) -> [T; N] {
        debug_assert!(place + N <= self.columns.len());
        // SAFETY: callers take no entry at or behind the end of the last row, so both arrays have them, and columns are
        // below the length of x: the function `multiply` says where that is checked.
        unsafe {
            let columns = &*self.columns.as_ptr().add(place).cast::<[u32; N]>();
            let values = &*self.values.as_ptr().add(place).cast::<[T; N]>();
            let elements: [T; N] = each_lane(|lane| *self.x.get_unchecked(columns[lane] as usize));
            each_lane(|lane| values[lane] * elements[lane])
        }
    }

    /// Asks for entries that will be multiplied soon.
    #[inline(always)]
    fn read_ahead(&self, place: usize) {
        if READS_AHEAD {
            prefetch(self.values.as_ptr().wrapping_add(place + READ_AHEAD));
            prefetch(self.columns.as_ptr().wrapping_add(place + READ_AHEAD));
        }
    }
}

#[inline(always)]
fn add<T: Scalar, const N: usize>(sums: &mut [T; N], products: [T; N]) {
    for lane in 0..N {
        sums[lane] = sums[lane] + products[lane];
    }
}

#[inline(always)]
fn sum_of<T: Scalar>([a, b, c, d]: [T; 4]) -> T {
    (a + c) + (b + d)
}

/// The first `count` products, and +0 for the others, which follow the row: 0 changes no sum, because none is -0.
/// By bits, because the compiler would make branches of a choice.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::Real;

    /// Rows of 0 to 33 entries, and some that are as long as the one before; infinity and NaN among the values.
    fn matrix<T: Real>(rows: usize) -> Csr<T> {
        let columns = 97;
        let lengths = (0..rows).map(|row| if row % 8 < 4 { row * row % 34 } else { row / 8 % 11 });
        let offsets = Offsets::from_lengths(lengths.collect::<Vec<_>>().into_iter()).unwrap();
        let entries = offsets.get(rows);
        let value = |entry: usize| match entry % 1000 {
            500 => f64::INFINITY,
            750 => f64::NAN,
            _ => (entry as f64).sin() * 10f64.powi((entry % 7) as i32),
        };
        let values = (0..entries).map(|entry| T::from_f64(value(entry))).collect();
        let column_indices = (0..entries).map(|entry| (entry * entry % columns) as u32).collect();
        Csr::try_new(rows, columns, offsets, column_indices, values).unwrap()
    }

    fn bits<T: Real>(y: &[T]) -> Vec<u64> {
        // One NaN is like another.
        y.iter().map(|y| if y.to_f64().is_nan() { f64::NAN } else { y.to_f64() }.to_bits()).collect()
    }

    fn check_loops<T: Real, const READS_AHEAD: bool>() {
        let matrix = matrix::<T>(if cfg!(miri) { 100 } else { 700 });
        let Offsets::Narrow(offsets) = matrix.row_offsets() else { panic!("{:?}", matrix.row_offsets()) };
        let x: Vec<T> = (0..matrix.columns()).map(|column| T::from_f64((column as f64 + 0.3).cos() - 0.1)).collect();
        let (columns, values) = (matrix.column_indices(), matrix.values());
        let (alpha, beta) = (T::from_f64(1.5), T::ZERO);
        let rows = Multiplication::<T, READS_AHEAD> { columns, values, x: &x, alpha, beta, learnt: false };
        // The order of additions that the module's documentation tells of.
        let plain = (0..matrix.rows()).map(|row| {
            let products: Vec<T> = matrix.row(row).map(|(column, value)| value * x[column as usize]).collect();
            let (eights, rest) = products.as_chunks::<8>();
            let mut sums = [T::ZERO; 8];
            eights.iter().for_each(|eight| (0..8).for_each(|lane| sums[lane] = sums[lane] + eight[lane]));
            let mut four: [T; 4] = each_lane(|lane| sums[lane] + sums[lane + 4]);
            rest.iter().enumerate().for_each(|(place, &product)| four[place % 4] = four[place % 4] + product);
            alpha * ((four[0] + four[2]) + (four[1] + four[3]))
        });
        let plain: Vec<T> = plain.collect();
        assert!(plain.iter().any(|y| y.to_f64().is_infinite()) && plain.iter().any(|y| y.to_f64().is_nan()));
        let mut y = vec![T::from_f64(f64::NAN); matrix.rows()];
        type Loop<'a, T> = &'a dyn Fn(&[u32], &mut [T]);
        let loops: [(&str, Loop<'_, T>); 4] = [
            ("rows", &|offsets, y| rows.rows(offsets, y)),
            ("regular_rows", &|offsets, y| rows.regular_rows(offsets, y)),
            ("surprising_rows", &|offsets, y| rows.surprising_rows(offsets, y)),
            ("share_out", &|offsets, y| rows.share_out(offsets, y)),
        ];
        for (name, multiply) in loops {
            y.fill(T::from_f64(f64::NAN));
            multiply(offsets, &mut y);
            assert_eq!(bits(&y), bits(&plain), "{name}");
        }
    }

    #[test]
    fn all_loops_give_the_same_bits() {
        check_loops::<f32, false>();
        check_loops::<f32, true>();
        check_loops::<f64, false>();
        check_loops::<f64, true>();
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let matrix = matrix::<f64>(if cfg!(miri) { 300 } else { 60_000 });
        assert!(matrix.nnz() > 4 * WORK_AT_ONCE);
        let x: Vec<f64> = (0..matrix.columns()).map(|column| (column as f64).cos()).collect();
        let product = |threads| {
            let mut y = vec![0.25; matrix.rows()];
            let operands = HostOperands { alpha: -1.5, x: &x, beta: 3.0, y: &mut y };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| multiply_on_cpu(&matrix, operands));
            bits(&y)
        };
        let one = product(1);
        for threads in [2, 3, if cfg!(miri) { 4 } else { 16 }] {
            assert_eq!(product(threads), one, "{threads} threads");
        }
    }

    #[test]
    fn a_chain_is_never_longer_than_the_row() {
        assert!((0..100).all(|length| longest_chain(length) <= length));
        assert_eq!(longest_chain(1000), 130);
    }
}
