//! BCSR on the CPU: four blocks side by side, if their words are single values, as for 3 × 3 blocks.

use crate::format::{Bcsr, BlockVisitor};
use crate::memory::ElementType;
use crate::real::Scalar;
use crate::spmv::block::{GROUP, add_group, values_per_word};
use crate::spmv::lanes::{LANES, Lanes, each_lane};
use crate::spmv::on_cpu::{RowsVisitor, share_out};
use crate::spmv::{HostOperands, update};

/// Block rows per CPU task.
const BLOCK_ROWS_AT_ONCE: usize = 256;

/// Multiplies with `values` in the slots of the matrix.
pub(crate) fn multiply_on_cpu<T: Scalar>(matrix: &Bcsr<T>, values: &[T], operands: HostOperands<'_, T>) {
    matrix.block_size().visit(Multiplication { matrix, values, operands });
}

struct Multiplication<'a, T: Scalar> {
    matrix: &'a Bcsr<T>,
    values: &'a [T],
    operands: HostOperands<'a, T>,
}

impl<T: Scalar> BlockVisitor for Multiplication<'_, T> {
    type Output = ();

    fn visit<const SIZE: u32, const R: usize, const C: usize>(self) {
        let Self { matrix, values, operands: HostOperands { alpha, x, beta, y } } = self;
        let work = values.len() + matrix.rows();
        share_out(y, BLOCK_ROWS_AT_ONCE * R, work, &Rows::<T, R, C> { matrix, values, x, alpha, beta });
    }
}

struct Rows<'a, T: Scalar, const R: usize, const C: usize> {
    matrix: &'a Bcsr<T>,
    values: &'a [T],
    x: &'a [T],
    alpha: T,
    beta: T,
}

impl<T: Scalar, const R: usize, const C: usize> RowsVisitor<T> for Rows<'_, T, R, C> {
    // The loops of other blocks are 10 to 20 % slower with it.
    const USES_AVX2: bool =
        values_per_word::<T, R, C>() == 1 && matches!(T::TYPE, ElementType::Float32 | ElementType::Float64);

    #[inline(always)]
    fn visit<const AVX2: bool>(&self, first_row: usize, y: &mut [T]) {
        #[cfg(target_arch = "x86_64")]
        if AVX2 {
            use std::arch::x86_64::{__m128, __m256d};
            // Constants, so only the one that is called is compiled.
            if const { matches!(T::TYPE, ElementType::Float64) } {
                return self.multiply::<__m256d>(first_row, y);
            }
            if const { matches!(T::TYPE, ElementType::Float32) } {
                return self.multiply::<__m128>(first_row, y);
            }
        }
        self.multiply::<[T; LANES]>(first_row, y);
    }
}

impl<T: Scalar, const R: usize, const C: usize> Rows<'_, T, R, C> {
    #[inline(always)]
    fn multiply<L: Lanes<T>>(&self, first_row: usize, y: &mut [T]) {
        for (block_row, y) in (first_row / R..).zip(y.chunks_mut(R)) {
            let offsets = self.matrix.block_offsets();
            let (begin, end) = (offsets[block_row] as usize, offsets[block_row + 1] as usize);
            let group = |first: usize| {
                let last = end.min(first + GROUP);
                (&self.matrix.first_columns()[first..last], &self.values[first * R * C..last * R * C])
            };
            let sums = if const { values_per_word::<T, R, C>() } == 1 {
                let mut sums = [L::new([T::ZERO; LANES]); R];
                for first in (begin..end).step_by(GROUP) {
                    let (first_columns, values) = group(first);
                    self.add_single_words(&mut sums, first_columns, values);
                }
                each_lane(|row| {
                    let [a, b, c, d] = sums[row].numbers();
                    (a + c) + (b + d)
                })
            } else {
                let mut sums = [[T::ZERO; GROUP]; R];
                for first in (begin..end).step_by(GROUP) {
                    let (first_columns, values) = group(first);
                    let words = values.chunks_exact(first_columns.len() * values_per_word::<T, R, C>());
                    add_group::<T, R, C>(&mut sums, first_columns, words, self.x);
                }
                let used = (end - begin).min(GROUP);
                each_lane::<T, R>(|row| {
                    let mut sum = T::ZERO;
                    for &part in &sums[row][..used] {
                        sum = sum + part;
                    }
                    sum
                })
            };
            for (row, y) in y.iter_mut().enumerate() {
                update(y, self.alpha, sums[row], self.beta);
            }
        }
    }

    /// Adds the products of a group whose words are single values, four blocks at a time. The last four may overlap the
    /// ones before.
    #[inline(always)]
    fn add_single_words<L: Lanes<T>>(&self, sums: &mut [L; R], first_columns: &[u32], values: &[T]) {
        let blocks = first_columns.len();
        assert!(values.len() == blocks * R * C, "a block has all its slots");
        let Some(last) = blocks.checked_sub(LANES) else {
            let first_columns = each_lane(|lane| first_columns[lane.min(blocks - 1)]);
            let value =
                |place: usize, lane: usize| if lane < blocks { values[place * blocks + lane] } else { T::ABSENT };
            return self.add_four(sums, first_columns, |place| L::new(each_lane(|lane| value(place, lane))));
        };
        let four = |block: usize| each_lane(|lane| first_columns[block + lane]);
        // SAFETY: there are four blocks from this one on, and so four values of this slot.
        let load = |place: usize, block: usize| L::new(unsafe { *values.as_ptr().add(place * blocks + block).cast() });
        for block in (0..=last).step_by(LANES) {
            self.add_four(sums, four(block), |place| load(place, block));
        }
        let done = LANES - blocks % LANES;
        if done < LANES {
            let marks = L::new(each_lane(|lane| if lane < done { T::ABSENT } else { T::ZERO }));
            self.add_four(sums, four(last), |place| load(place, last).or(marks));
        }
    }

    /// Adds the products of four blocks, whose values are given by slot.
    #[inline(always)]
    fn add_four<L: Lanes<T>>(&self, sums: &mut [L; R], first_columns: [u32; LANES], values: impl Fn(usize) -> L) {
        let mut elements = [[T::ZERO; C]; LANES];
        for lane in 0..LANES {
            let first = first_columns[lane] as usize;
            elements[lane] = match self.x[first..].first_chunk::<C>() {
                Some(&elements) => elements,
                None => elements_at_edge(self.x, first),
            };
        }
        for column in 0..C {
            let elements = L::new(each_lane(|lane| elements[lane][column]));
            for (row, sums) in sums.iter_mut().enumerate() {
                *sums = sums.add_present(values(column * R + row), elements);
            }
        }
    }
}

/// Returns the elements of x that belong to a block, and zeros beyond its end, where there are no entries.
#[cold]
fn elements_at_edge<T: Scalar, const C: usize>(x: &[T], first: usize) -> [T; C] {
    each_lane(|column| x.get(first + column).copied().unwrap_or(T::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{BlockSize, Csr, FillLimit, Offsets};
    use crate::real::Real;

    /// Rows with different numbers of blocks, up to two groups, with blocks that are partly filled or extend beyond the
    /// edge.
    fn matrix<T: Real>() -> Csr<T> {
        let (rows, columns) = if cfg!(miri) { (10, 150) } else { (400, 200) };
        let columns_of = |row: usize| (0..columns).filter(move |column| column * 7 % 40 <= row / 3 % 41);
        let offsets = Offsets::from_lengths((0..rows).map(|row| columns_of(row).count())).unwrap();
        let column_indices: Vec<u32> = (0..rows).flat_map(columns_of).map(|column| column as u32).collect();
        let values = (0..column_indices.len()).map(|entry| T::from_f64((entry % 19) as f64 - 9.0)).collect();
        Csr::try_new(rows, columns, offsets, column_indices, values).unwrap()
    }

    fn check<T: Real>(size: BlockSize) {
        let csr = matrix::<T>();
        let matrix = Bcsr::try_from_csr(&csr, size, FillLimit { times_csr: f64::INFINITY }).unwrap();
        let x: Vec<T> = (0..csr.columns()).map(|column| T::from_f64((column % 5) as f64)).collect();
        let mut y = vec![T::ONE; csr.rows()];
        let (alpha, beta) = (T::from_f64(2.0), T::from_f64(-3.0));
        multiply_on_cpu(&matrix, matrix.values(), HostOperands { alpha, x: &x, beta, y: &mut y });
        for (row, &y) in y.iter().enumerate() {
            // Small integers, so every order of additions gives the same result.
            let sum = csr.row(row).fold(T::ZERO, |sum, (column, value)| sum + value * x[column as usize]);
            assert!(y == alpha * sum + beta, "row {row}, {size:?}");
        }
    }

    #[test]
    fn blocks_give_what_rows_give() {
        // Under Miri, one size with single values and one with words.
        let sizes = if cfg!(miri) { &[BlockSize::B3x3, BlockSize::B2x2] } else { BlockSize::ALL };
        for &size in sizes {
            check::<f32>(size);
            check::<f64>(size);
        }
    }

    #[test]
    fn any_processor_gives_the_same_bits() {
        let csr = matrix::<f64>();
        let matrix = Bcsr::try_from_csr(&csr, BlockSize::B3x3, FillLimit { times_csr: f64::INFINITY }).unwrap();
        let x: Vec<f64> = (0..csr.columns()).map(|column| (column as f64).sin()).collect();
        let mut y = vec![f64::NAN; matrix.rows()];
        let mut plain = y.clone();
        multiply_on_cpu(&matrix, matrix.values(), HostOperands { alpha: 0.7, x: &x, beta: 0.0, y: &mut y });
        Rows::<f64, 3, 3> { matrix: &matrix, values: matrix.values(), x: &x, alpha: 0.7, beta: 0.0 }
            .visit::<false>(0, &mut plain);
        assert_eq!(y, plain);
    }
}
