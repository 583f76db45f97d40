//! COO: segmented reduction over intervals of entries, then the carries; or atomic additions.

use std::ops::Range;

use cuda_std::launch::{Call, Launch};
use gpu_kernels::coo::{CooAtomic, CooIntervals, CooMatch};

use super::CooStrategy;
use crate::device::Device;
use crate::error::Error;
use crate::format::Coo;
use crate::memory::{Buffer, Memory, reserve};
use crate::parallel;
use crate::real::Scalar;
use crate::spmv::intervals::Intervals;
use crate::spmv::{HostOperands, Room, Vectors, scale};

/// Entries per CPU task, rounded up to whole rows. It determines where sums are cut, so it does not depend on the
/// number of threads.
const ENTRIES_AT_ONCE: usize = 1 << 16;

pub(crate) fn coo<T: Scalar, M: Memory>(
    matrix: &Coo<T, M>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<Vec<Launch>, Error> {
    let mut launches = vec![vectors.scale(matrix.rows(), device)];
    launches.extend(add_product(matrix, vectors, room, device)?);
    Ok(launches)
}

/// Returns the launches of y ← y + α A x.
pub(crate) fn add_product<T: Scalar, M: Memory>(
    matrix: &Coo<T, M>,
    vectors: Vectors<T>,
    room: &mut Room<'_, T, M>,
    device: &Device,
) -> Result<[Launch; 2], Error> {
    let Vectors { alpha, x, y, .. } = vectors;
    let intervals = Intervals::new(matrix.nnz() as u64, device);
    let carries = room.carries(intervals.count as usize)?;
    let kernel = CooIntervals {
        nnz: matrix.nnz() as u64,
        interval: intervals.length,
        row_indices: matrix.row_indices().global(),
        column_indices: matrix.column_indices().global(),
        values: matrix.values().global(),
        alpha,
        x,
        y,
        carry_rows: carries.rows_mut,
        carry_values: carries.values_mut,
    };
    Ok([Launch::new(intervals.grid(device), kernel), intervals.carries(alpha, y, carries, device)])
}

/// Returns the launch of y ← y + α A x by a kernel that adds atomically.
pub(crate) fn add_product_atomically<T: Scalar, M: Memory>(
    matrix: &Coo<T, M>,
    strategy: CooStrategy,
    vectors: Vectors<T>,
    device: &Device,
) -> Launch {
    let Vectors { alpha, x, y, .. } = vectors;
    let nnz = matrix.nnz() as u64;
    let intervals = Intervals::oversubscribed(nnz, device);
    let (interval, row_indices) = (intervals.length, matrix.row_indices().global());
    let (column_indices, values) = (matrix.column_indices().global(), matrix.values().global());
    let call = match strategy {
        CooStrategy::Match => Call::new(CooMatch { nnz, interval, row_indices, column_indices, values, alpha, x, y }),
        _ => Call::new(CooAtomic { nnz, interval, row_indices, column_indices, values, alpha, x, y }),
    };
    Launch { grid: intervals.grid(device), call }
}

pub(crate) fn multiply_on_cpu<T: Scalar>(matrix: &Coo<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
    let HostOperands { alpha, x, beta, y } = operands;
    add_on_cpu(matrix, &Pieces::new(matrix, 1)?, (alpha, x), y, |y| scale(y, beta));
    Ok(())
}

/// Adds α A x to y in parallel, after `begin` has prepared each part of y.
pub(crate) fn add_on_cpu<T: Scalar>(
    matrix: &Coo<T>,
    pieces: &Pieces,
    (alpha, x): (T, &[T]),
    y: &mut [T],
    begin: impl Fn(&mut [T]) + Sync,
) {
    parallel::parts_mut(y, &pieces.ends, &|(piece, y)| {
        let Piece { first_row, entries } = pieces.pieces[piece].clone();
        begin(y);
        for (row, entries) in runs(matrix, entries) {
            let (columns, values) = (&matrix.column_indices()[entries.clone()], &matrix.values()[entries]);
            let mut sum = T::ZERO;
            for (place, &column) in columns.iter().enumerate() {
                sum = sum + values[place] * x[column as usize];
            }
            let y = &mut y[row - first_row];
            *y = *y + alpha * sum;
        }
    });
}

/// Iterates over the rows among some entries, each with its own entries.
pub(crate) fn runs<T: Scalar>(matrix: &Coo<T>, entries: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut begin = entries.start;
    matrix.row_indices()[entries].chunk_by(|a, b| a == b).map(move |run| {
        let range = begin..begin + run.len();
        begin = range.end;
        (run[0] as usize, range)
    })
}

/// A range of whole rows and their entries.
#[derive(Clone)]
pub(crate) struct Piece {
    pub first_row: usize,
    pub entries: Range<usize>,
}

/// Pieces that threads take one at a time. They are made before y is written, because only this allocates and may fail.
pub(crate) struct Pieces {
    pub pieces: Vec<Piece>,
    /// End of each piece's part of y.
    pub ends: Vec<usize>,
}

impl Pieces {
    /// Cuts the matrix, and a y that has `width` elements per row.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new<T: Scalar>(matrix: &Coo<T>, width: usize) -> Result<Self, Error> {
        let rows = matrix.row_indices();
        let (mut pieces, mut ends) = (Vec::new(), Vec::new());
        let (mut entry, mut first_row) = (0, 0);
        while first_row < matrix.rows() {
            let next = rows.len().min(entry + ENTRIES_AT_ONCE);
            // A row at the cut belongs to this piece as a whole.
            let end = next + rows[next..].iter().take_while(|&&row| next > 0 && row == rows[next - 1]).count();
            let end_row = rows.get(end).map_or(matrix.rows(), |&row| row as usize);
            reserve(&mut pieces, 1)?;
            reserve(&mut ends, 1)?;
            pieces.push(Piece { first_row, entries: entry..end });
            ends.push(end_row * width);
            (entry, first_row) = (end, end_row);
        }
        Ok(Self { pieces, ends })
    }
}
