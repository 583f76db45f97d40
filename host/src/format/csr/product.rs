//! CSR: one thread or several lanes per row.

use cuda_std::launch::{Call, Launch};
use cuda_std::{Global, GlobalMut};
use gpu_kernels::Offset;
use gpu_kernels::csr::{CsrScalar, CsrVector};

use super::ahead::Ahead;
use super::cpu;
use super::lanes::Lanes;
use crate::device::Device;
use crate::format::narrow::{StoredAs, Values};
use crate::format::{Csr, Offsets};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::Vectors;

pub(crate) fn scalar<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    values: Values<V, T>,
    vectors: Vectors<T>,
    device: &Device,
) -> Launch {
    fn kernel<V: StoredAs<T>, T: Scalar, O: Offset>(row_offsets: Global<O>, arguments: Arguments<V, T>) -> Call {
        let Arguments { rows, column_indices, values: Values { stored: values, table }, alpha, x, beta, y } = arguments;
        Call::new(CsrScalar { rows, row_offsets, column_indices, values, table, alpha, x, beta, y })
    }
    let grid = device.uneven_grid_of_blocks(matrix.rows() as u64, device.small_block());
    let arguments = Arguments::new(matrix, values, vectors);
    let call = match matrix.row_offsets() {
        Offsets::Narrow(offsets) => kernel(offsets.global(), arguments),
        Offsets::Wide(offsets) => kernel(offsets.global(), arguments),
    };
    Launch { grid, call }
}

pub(crate) fn vector<V: StoredAs<T>, T: Scalar, M: Memory>(
    matrix: &Csr<T, M>,
    values: Values<V, T>,
    lanes: Lanes,
    vectors: Vectors<T>,
    device: &Device,
) -> Launch {
    fn kernel<V: StoredAs<T>, T: Scalar, O: Offset, const LANES: u32>(
        row_offsets: Global<O>,
        arguments: Arguments<V, T>,
        ahead: Ahead,
    ) -> Call {
        let Arguments { rows, column_indices, values: Values { stored: values, table }, alpha, x, beta, y } = arguments;
        Call::new(CsrVector::<V, T, O, LANES> {
            rows,
            row_offsets,
            column_indices,
            values,
            table,
            alpha,
            x,
            beta,
            y,
            entries_ahead: ahead.entries,
            elements_ahead: ahead.elements,
        })
    }
    fn with_lanes<V: StoredAs<T>, T: Scalar, O: Offset>(
        lanes: u32,
        offsets: Global<O>,
        arguments: Arguments<V, T>,
        ahead: Ahead,
    ) -> Call {
        match lanes {
            2 => kernel::<V, T, O, 2>(offsets, arguments, ahead),
            4 => kernel::<V, T, O, 4>(offsets, arguments, ahead),
            8 => kernel::<V, T, O, 8>(offsets, arguments, ahead),
            16 => kernel::<V, T, O, 16>(offsets, arguments, ahead),
            _ => kernel::<V, T, O, 32>(offsets, arguments, ahead),
        }
    }
    let lanes = lanes.for_matrix(matrix.rows(), matrix.nnz());
    let grid = device.uneven_grid_of_blocks(matrix.rows() as u64 * u64::from(lanes), device.small_block());
    let arguments = Arguments::new(matrix, values, vectors);
    let ahead = Ahead::new::<V, T, M>(matrix, grid, device);
    let call = match matrix.row_offsets() {
        Offsets::Narrow(offsets) => with_lanes(lanes, offsets.global(), arguments, ahead),
        Offsets::Wide(offsets) => with_lanes(lanes, offsets.global(), arguments, ahead),
    };
    Launch { grid, call }
}

/// Arguments of both kernels, except the row offsets.
struct Arguments<V, T> {
    rows: u32,
    column_indices: Global<u32>,
    values: Values<V, T>,
    alpha: T,
    x: Global<T>,
    beta: T,
    y: GlobalMut<T>,
}

impl<V, T: Scalar> Arguments<V, T> {
    fn new<M: Memory>(matrix: &Csr<T, M>, values: Values<V, T>, vectors: Vectors<T>) -> Self {
        Self {
            rows: matrix.rows() as u32,
            column_indices: matrix.column_indices().global(),
            values,
            alpha: vectors.alpha,
            x: vectors.x,
            beta: vectors.beta,
            y: vectors.y,
        }
    }
}

pub(crate) fn longest_chain(lanes: Lanes, length: usize) -> usize {
    let chain = match lanes.count() {
        Some(lanes) => length.div_ceil(lanes as usize) + lanes.ilog2() as usize + 2,
        None => length.div_ceil(2) + 7,
    };
    // The chain on the CPU may be longer.
    chain.min(length).max(cpu::longest_chain(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_never_longer_than_the_row() {
        for lanes in [Lanes::ByMeanLength, Lanes::L2, Lanes::L32] {
            for length in 0..100 {
                assert!(longest_chain(lanes, length) <= length);
            }
        }
        assert_eq!(longest_chain(Lanes::L2, 1000), 500 + 1 + 2);
        assert_eq!(longest_chain(Lanes::L32, 1000), cpu::longest_chain(1000));
    }
}
