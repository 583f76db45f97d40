//! COO: segmented reduction over intervals of entries, then the carries.

use cuda_std::launch::Launch;
use gpu_kernels::coo::{CooCarries, CooIntervals};
use rayon::prelude::*;

use super::{Device, Operands, Workspace, scale};
use crate::format::Coo;
use crate::memory::{Buffer, HostMemory, Memory};
use crate::real::Real;

const WARP_LANES: u64 = 32;

/// Entries that a CPU thread takes at a time, rounded up to whole rows. It decides where sums are cut, so it
/// does not depend on the number of threads.
const ENTRIES_AT_ONCE: usize = 1 << 16;

/// How the entries are shared out among warps.
pub(super) struct Intervals {
    /// Entries of each interval but the last; a multiple of 32.
    pub length: u64,
    /// Number of intervals.
    pub count: u64,
}

impl Intervals {
    pub fn new(nnz: usize, device: &Device) -> Self {
        let nnz = nnz as u64;
        let warps = (device.resident_threads() / WARP_LANES).max(1);
        let length = nnz.div_ceil(warps).next_multiple_of(WARP_LANES).max(WARP_LANES);
        Self { length, count: nnz.div_ceil(length) }
    }
}

pub(super) fn coo<T: Real, M: Memory>(
    matrix: &Coo<T, M>,
    operands: Operands<'_, T, M>,
    workspace: &mut Workspace<T, M>,
    device: &Device,
) -> Vec<Launch> {
    let Operands { alpha, x, beta, y } = operands;
    let intervals = Intervals::new(matrix.nnz(), device);
    let grid = device.grid(intervals.count * WARP_LANES);
    let first = scale(matrix.rows(), beta, y.global_mut(), device);
    let second = CooIntervals {
        nnz: matrix.nnz() as u64,
        interval: intervals.length,
        row_indices: matrix.row_indices().global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x: x.global(),
        y: y.global_mut(),
        carry_rows: workspace.carry_rows.global_mut(),
        carry_values: workspace.carry_values.global_mut(),
    };
    let third = CooCarries {
        intervals: intervals.count as u32,
        carry_rows: workspace.carry_rows.global(),
        carry_values: workspace.carry_values.global(),
        alpha,
        y: y.global_mut(),
    };
    vec![first, Launch { grid, kernel: Box::new(second) }, Launch { grid, kernel: Box::new(third) }]
}

/// Within an interval a product goes through a tree over 32 lanes and then from step to step; what crosses
/// intervals adds one more sum each, whose number the row's length bounds as well.
pub(super) fn longest_chain(length: usize) -> usize {
    length
}

pub(super) fn multiply_on_cpu<T: Real>(matrix: &Coo<T>, operands: Operands<'_, T, HostMemory>) {
    let Operands { alpha, x, beta, y } = operands;
    pieces(matrix, y).into_par_iter().for_each(|Piece { first_row, entries, y }| {
        for y in y.iter_mut() {
            *y = if beta == T::ZERO { T::ZERO } else { beta * *y };
        }
        let rows = &matrix.row_indices()[entries.clone()];
        let columns = &matrix.column_indices()[entries.clone()];
        let values = &matrix.values()[entries];
        let mut begin = 0;
        for run in rows.chunk_by(|a, b| a == b) {
            let end = begin + run.len();
            let products = columns[begin..end].iter().zip(&values[begin..end]);
            let sum = products.fold(T::ZERO, |sum, (&column, &value)| sum + value * x[column as usize]);
            let y = &mut y[run[0] as usize - first_row];
            *y = *y + alpha * sum;
            begin = end;
        }
    });
}

/// Some whole rows: their entries, and their part of y.
struct Piece<'a, T> {
    first_row: usize,
    entries: std::ops::Range<usize>,
    y: &'a mut [T],
}

fn pieces<'a, T: Real>(matrix: &Coo<T>, mut y: &'a mut [T]) -> Vec<Piece<'a, T>> {
    let rows = matrix.row_indices();
    let mut pieces = Vec::new();
    let (mut entry, mut first_row) = (0, 0);
    while first_row < matrix.rows() {
        let next = rows.len().min(entry + ENTRIES_AT_ONCE);
        // The row that is cut goes to this piece whole.
        let end = next + rows[next..].iter().take_while(|&&row| next > 0 && row == rows[next - 1]).count();
        let end_row = rows.get(end).map_or(matrix.rows(), |&row| row as usize);
        let (own, rest) = std::mem::take(&mut y).split_at_mut(end_row - first_row);
        pieces.push(Piece { first_row, entries: entry..end, y: own });
        (entry, first_row, y) = (end, end_row, rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spmv::Tuning;

    #[test]
    fn intervals_cover_all_entries_once() {
        let device = Device {
            name: String::new(),
            multiprocessors: 2,
            threads_per_multiprocessor: 64,
            tuning: Tuning::default(),
        };
        for nnz in [0, 1, 31, 32, 33, 127, 128, 129, 100_000] {
            let Intervals { length, count } = Intervals::new(nnz, &device);
            assert_eq!(length % 32, 0);
            assert!(count <= 4 && count * length >= nnz as u64 && count.saturating_sub(1) * length <= nnz as u64);
        }
    }
}
