//! Products with a matrix, as operations that every executor runs.

use std::marker::PhantomData;

use cuda_std::launch::Launch;

use super::interleaved;
use super::multivector::{Layout, MultivectorOperands, Tiles};
use super::transposed::Transposition;
use super::{HostOperands, Operands, Room, Vectors, Workspace, reference};
use crate::error::Error;
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::format::{Format, Matrix};
use crate::memory::{HostMemory, Memory};
use crate::real::Scalar;

/// A matrix, its format, the other operands, and the workspace.
pub(crate) struct ProductOperands<'a, T: Scalar, M: Memory, O> {
    pub matrix: &'a Matrix<T, M>,
    pub format: Format,
    pub operands: O,
    pub workspace: &'a mut Workspace<T, M>,
}

/// y ← α A x + β y.
pub(crate) struct Product<T>(PhantomData<T>);

impl<T: Scalar> Operation for Product<T> {
    type Operands<'a, M: Memory> = ProductOperands<'a, T, M, Operands<'a, T, M>>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, workspace } = operands;
        operands.check(matrix.rows(), matrix.columns())?;
        let mut room = Room::new(workspace, executor);
        let launches = format.launches(matrix, operands.vectors(), &mut room, executor.device())?;
        // SAFETY: the vectors match the matrix and are borrowed with it, y exclusively.
        unsafe { launch(executor, &launches, workspace) }
    }

    #[inline]
    fn on_host(arithmetic: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, .. } = operands;
        multiply(arithmetic, matrix, format, operands.on_host())
    }
}

/// [`Product`] with vectors that are slices in host memory. An executor with other memory rejects them like any array that
/// is not its own.
pub(crate) struct SliceProduct<T>(PhantomData<T>);

impl<T: Scalar> Operation for SliceProduct<T> {
    type Operands<'a, M: Memory> = ProductOperands<'a, T, M, HostOperands<'a, T>>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, workspace } = operands;
        operands.check(matrix.rows(), matrix.columns())?;
        executor.hear_of(bytemuck::cast_slice(operands.x));
        executor.hear_of(bytemuck::cast_slice(operands.y));
        let mut room = Room::new(workspace, executor);
        let launches = format.launches(matrix, operands.vectors(), &mut room, executor.device())?;
        // SAFETY: the vectors match the matrix and are borrowed with it, y exclusively. An executor that returns before
        // kernels are done has its own memory, so the launch fails because these vectors are elsewhere.
        unsafe { launch(executor, &launches, workspace) }
    }

    #[inline]
    fn on_host(arithmetic: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, .. } = operands;
        multiply(arithmetic, matrix, format, operands)
    }
}

/// Launches a product.
///
/// # Safety
/// The launches must be those of a product of a matrix and vectors that match it and are borrowed until the kernels are done
/// or freed after them, y exclusively; and they must have been described with the room of `workspace`.
pub(super) unsafe fn launch<T: Scalar, K: KernelExecutor>(
    executor: &K,
    launches: &[Launch],
    workspace: &mut Workspace<T, K::Memory>,
) -> Result<(), Error> {
    // SAFETY: the matrix upholds its invariants, and the vectors are the caller's promise. The workspace is borrowed
    // exclusively, its room is as large as the launches require, and tiles count as known only after an earlier product
    // in this workspace was launched without error. Anything freed later is freed after the launches.
    let launched = unsafe { executor.launch_all(launches) };
    // A recording may never be played.
    workspace.used = launched.is_ok() && (workspace.used || !executor.records());
    launched
}

/// y ← α A x + β y on the host.
#[inline]
pub(super) fn multiply<T: Scalar>(
    arithmetic: Arithmetic,
    matrix: &Matrix<T>,
    format: Format,
    operands: HostOperands<'_, T>,
) -> Result<(), Error> {
    match arithmetic {
        Arithmetic::Parallel => {
            let (rows, columns) = matrix.dimensions();
            operands.check(rows, columns)?;
            format.multiply_on_cpu(matrix, operands)
        }
        Arithmetic::Compensated => reference::multiply(matrix, operands),
    }
}

/// Reserves the room that [`Product`] needs, so that a product allocates nothing.
pub(crate) struct Reservation<T>(PhantomData<T>);

impl<T: Scalar> Operation for Reservation<T> {
    type Operands<'a, M: Memory> = (&'a Matrix<T, M>, Format, &'a mut Workspace<T, M>);
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        let (matrix, format, workspace) = operands;
        let mut room = Room::new(workspace, executor);
        // The launches are described but not run.
        format.launches(matrix, Vectors::nothing(), &mut room, executor.device()).map(drop)
    }

    fn on_host(_: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        let (matrix, format, _) = operands;
        format.check_fits(matrix)
    }
}

/// Y ← α A X + β Y for several vectors.
pub(crate) struct MultivectorProduct<T>(PhantomData<T>);

impl<T: Scalar> Operation for MultivectorProduct<T> {
    type Operands<'a, M: Memory> = ProductOperands<'a, T, M, MultivectorOperands<'a, T, M>>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, workspace } = operands;
        let (mut room, device) = (Room::new(workspace, executor), executor.device());
        let sizes = [matrix.nnz(), matrix.rows(), matrix.columns()];
        let launches = if format.multiplies_multivectors() && interleaved::pays(operands.shape, sizes, device) {
            interleaved::launches(format, matrix, operands, &mut room, device)?
        } else {
            let tiles = Tiles::new(operands, matrix.rows(), matrix.columns())?;
            format.multivector_launches(matrix, &tiles, &mut room, device)?
        };
        // SAFETY: the matrix upholds its invariants, X and Y were checked, there is room for the largest tile, tiles run
        // sequentially, and Y and the workspace are borrowed exclusively.
        unsafe { executor.launch_all(&launches) }
    }

    fn on_host(arithmetic: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, .. } = operands;
        match arithmetic {
            Arithmetic::Parallel => multiply_multivector_on_cpu(matrix, format, operands),
            Arithmetic::Compensated => reference::multiply_multivector(matrix, operands),
        }
    }
}

/// y ← α Aᵀ x + β y, or the same with Aᴴ, where x has an element per row and y one per column.
pub(crate) struct TransposedProduct<T>(PhantomData<T>);

impl<T: Scalar> Operation for TransposedProduct<T> {
    type Operands<'a, M: Memory> = (&'a Matrix<T, M>, Format, Transposition, Operands<'a, T, M>);
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        let (matrix, format, transposition, operands) = operands;
        operands.check(matrix.columns(), matrix.rows())?;
        let launches = format.transposed_launches(matrix, transposition, operands.vectors(), executor.device())?;
        // SAFETY: the matrix upholds its invariants, x matches its rows and y its columns, and y is borrowed
        // exclusively.
        unsafe { executor.launch_all(&launches) }
    }

    fn on_host(arithmetic: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        let (matrix, format, transposition, operands) = operands;
        match arithmetic {
            Arithmetic::Parallel => {
                operands.check(matrix.columns(), matrix.rows())?;
                format.multiply_transposed_on_cpu(matrix, transposition, operands.on_host())
            }
            Arithmetic::Compensated => reference::multiply_transposed(matrix, transposition, operands.on_host()),
        }
    }
}

/// Y ← α A X + β Y on the CPU, in parallel.
fn multiply_multivector_on_cpu<T: Scalar>(
    matrix: &Matrix<T>,
    format: Format,
    operands: MultivectorOperands<'_, T, HostMemory>,
) -> Result<(), Error> {
    format.check_multivectors()?;
    let (rows, columns) = matrix.dimensions();
    operands.check(rows, columns)?;
    let MultivectorOperands { shape, alpha, x, beta, y } = operands;
    if y.is_empty() {
        return Ok(());
    }
    match shape.layout {
        Layout::RowMajor => format.multiply_rows_on_cpu(matrix, shape.vectors, HostOperands { alpha, x, beta, y }),
        // Vector by vector: reading along a vector is worth more than reading the matrix once.
        Layout::ColumnMajor => y.chunks_mut(rows).enumerate().try_for_each(|(vector, y)| {
            let x = &x[vector * columns..][..columns];
            format.multiply_on_cpu(matrix, HostOperands { alpha, x, beta, y })
        }),
    }
}
