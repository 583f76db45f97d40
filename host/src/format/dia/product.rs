//! DIA: one thread per few rows.

use cuda_std::launch::{Grid, Launch};
use gpu_kernels::dia::{self, OFFSETS_AT_ONCE, ROWS};

use crate::device::Device;
use crate::format::Dia;
use crate::format::narrow::{StoredAs, Values};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::Vectors;

pub(crate) fn dia<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Dia<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    device: &Device,
) -> Launch {
    let diagonals = matrix.diagonals() as u32;
    let kernel = dia::Dia {
        rows: matrix.rows() as u32,
        columns: matrix.columns() as u32,
        stride: matrix.stride() as u32,
        diagonals,
        offsets: matrix.offsets().global(),
        values: values.stored,
        table: values.table,
        alpha: vectors.alpha,
        x: vectors.x,
        beta: vectors.beta,
        y: vectors.y,
    };
    let shared_bytes = diagonals.min(OFFSETS_AT_ONCE) * size_of::<i32>() as u32;
    let grid = Grid { shared_bytes, ..device.uneven_grid(matrix.rows().div_ceil(ROWS) as u64) };
    Launch::new(grid, kernel)
}
