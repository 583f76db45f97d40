//! The analysis of a matrix in an executor's memory, of which the host receives the row offsets and the sampled entries.

use std::marker::PhantomData;
use std::ops::Range;

use super::analysis::{Analysis, Diagonals};
use super::fill::block_rows_looked_at;
use super::locality::{runs_looked_at, warps_looked_at};
use super::pattern::{Parts, Pattern};
use super::sample::Sampling;
use crate::convert::ranges::download_ranges;
use crate::device::WARP_LANES;
use crate::error::Error;
use crate::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use crate::format::dia::by_kernels::number_of_diagonals;
use crate::format::{Csr, Widening};
use crate::memory::{Memory, reserve, with_capacity};
use crate::real::Scalar;

/// Number of entries up to which all are copied: fewer are not worth a kernel.
const FEW: usize = 1 << 17;

impl Analysis {
    /// [`new`](Self::new) for a matrix in an executor's memory. On a GPU the host receives the row offsets and, of a large
    /// pattern, only those columns that are sampled; [`clusters`](Self::clusters) and [`narrow`](Self::narrow) are unknown.
    ///
    /// # Errors
    /// When the matrix belongs to another executor, memory runs out, or the device fails.
    pub fn in_memory<T: Scalar, E: Executor>(executor: &E, matrix: &Csr<T, E::Memory>) -> Result<Self, Error> {
        executor.run::<Analyse<T>>(matrix)
    }
}

struct Analyse<T>(PhantomData<T>);

impl<T: Scalar> Operation for Analyse<T> {
    type Operands<'a, M: Memory> = &'a Csr<T, M>;
    type Output<M: Memory> = Analysis;

    fn by_kernels<K: KernelExecutor>(executor: &K, matrix: &Csr<T, K::Memory>) -> Result<Analysis, Error> {
        let parts = if matrix.nnz() > FEW { parts(executor, matrix)? } else { None };
        let Some(parts) = parts else {
            return Analysis::of_pattern(&matrix.pattern_to_host(executor)?, Sampling::Part);
        };
        let count = || number_of_diagonals(executor, matrix);
        let diagonals = Diagonals::new::<T>(&parts, Sampling::Part, count)?;
        Ok(Analysis { diagonals, ..Analysis::without_diagonals::<T>(&parts, Sampling::Part)? })
    }

    fn on_host(_: Arithmetic, matrix: &Csr<T>) -> Result<Analysis, Error> {
        Analysis::new(matrix)
    }
}

/// Returns the parts of the pattern that are sampled; `None` if they are most of it, as block rows of long rows may be.
fn parts<T: Scalar, K: KernelExecutor>(executor: &K, matrix: &Csr<T, K::Memory>) -> Result<Option<Parts>, Error> {
    let row_offsets = matrix.row_offsets().to_host(executor)?;
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let none = Parts { rows, columns, row_offsets, ranges: vec![], places: vec![], gathered: vec![] };
    let ranges = looked_at(&none)?;
    let mut places = with_capacity(ranges.len())?;
    let mut place = 0;
    for range in &ranges {
        places.push(place);
        place += range.len();
    }
    if place > matrix.nnz() / 2 {
        return Ok(None);
    }
    let gathered = download_ranges(executor, matrix.column_indices(), &ranges)?;
    Ok(Some(Parts { ranges, places, gathered, ..none }))
}

/// Returns the ranges of entries that an analysis by samples reads, apart from each other and in order.
fn looked_at(pattern: &impl Pattern) -> Result<Vec<Range<usize>>, Error> {
    let offset = |row: usize| pattern.row_offsets().get(row.min(pattern.rows()));
    let of_rows = |rows: Range<usize>| offset(rows.start)..offset(rows.end);
    let mut ranges = Vec::new();
    let mut add = |some: &mut dyn ExactSizeIterator<Item = Range<usize>>| {
        reserve(&mut ranges, some.len())?;
        ranges.extend(some.filter(|range| !range.is_empty()));
        Ok::<_, Error>(())
    };
    add(&mut Diagonals::rows_looked_at(pattern).map(|row| of_rows(row..row + 1)))?;
    add(&mut warps_looked_at(pattern, Sampling::Part).map(|warp| of_rows(warp * WARP_LANES..(warp + 1) * WARP_LANES)))?;
    add(&mut runs_looked_at(pattern.nnz(), Sampling::Part).into_iter())?;
    add(&mut Widening::slices_looked_at(pattern, Sampling::Part).map(|slice| of_rows(Widening::rows_of(slice))))?;
    add(&mut block_rows_looked_at(pattern)?.into_iter().map(of_rows))?;
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let joins = next.start <= before.end;
        if joins {
            before.end = before.end.max(next.end);
        }
        joins
    });
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Cpu, Emulated};
    use crate::select::sample::scramble;

    /// A matrix of many short rows and some long ones, with columns near the diagonal or anywhere.
    fn matrix(rows: usize, columns: usize, far: u64, seed: u64) -> Csr<f32> {
        let mut numbers = (seed << 40..).map(scramble);
        let mut number = move || numbers.next().unwrap_or_default();
        let (mut row_offsets, mut column_indices) = (vec![0u32], vec![]);
        for row in 0..rows {
            let length = match number() % 500 {
                0 => 700,
                other => other % 12,
            };
            let mut of_row: Vec<u32> = (0..length)
                .map(|entry| match number() % 100 < far {
                    true => (number() % columns as u64) as u32,
                    false => ((row as u64 * columns as u64 / rows as u64 + entry * entry) % columns as u64) as u32,
                })
                .collect();
            of_row.sort_unstable();
            column_indices.extend(of_row);
            row_offsets.push(column_indices.len() as u32);
        }
        let values = vec![1.0; column_indices.len()];
        Csr::try_new(rows, columns, row_offsets, column_indices, values).unwrap()
    }

    fn check(matrix: Csr<f32>) {
        let of_all = Analysis::in_memory(&Cpu::new(), &matrix).unwrap();
        assert_eq!(of_all, Analysis::new(&matrix).unwrap());
        let expected = Analysis { clusters: None, narrow: None, ..of_all };
        assert_eq!(Analysis::in_memory(&Emulated::new(1), &matrix).unwrap(), expected);
    }

    #[test]
    #[cfg_attr(miri, ignore = "more entries than a kernel is worth, and the emulator")]
    fn samples_say_what_the_whole_matrix_does() {
        for (number, far) in (1..).zip([0, 30, 100]) {
            let (rows, columns) = (60_000 * number, 150_000 / number);
            let matrix = matrix(rows, columns, far, number as u64);
            assert!(matrix.nnz() > FEW);
            let looked_at: usize = looked_at(&matrix).unwrap().iter().map(Range::len).sum();
            assert!(looked_at <= matrix.nnz() / 2, "{looked_at} of {}", matrix.nnz());
            check(matrix);
        }
        check(matrix(1000, 10, 50, 9));
        check(Csr::try_new(0, 5, vec![0u32], vec![], vec![]).unwrap());
    }

    #[test]
    #[cfg_attr(miri, ignore = "more entries than a kernel is worth, and the emulator")]
    fn diagonals_are_counted_in_memory() {
        let rows = 50_000usize;
        let ends: Vec<u32> = (0..=rows).map(|row| (3 * row).saturating_sub(1).min(3 * rows - 2) as u32).collect();
        let of_row = |row: usize| (row.saturating_sub(1)..(row + 2).min(rows)).map(|column| column as u32);
        let columns: Vec<u32> = (0..rows).flat_map(of_row).collect();
        let values = vec![1.0; columns.len()];
        let matrix = Csr::try_new(rows, rows, ends, columns, values).unwrap();
        let analysis = Analysis::in_memory(&Emulated::new(1), &matrix).unwrap();
        assert_eq!(analysis.diagonals, Diagonals { count: 3, exact: true });
        check(matrix);
    }
}
