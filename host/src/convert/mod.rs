//! Conversions by kernels, on a GPU or its emulator: CSR to every format and back, by counting, scanning and
//! scattering. The common parts are here; the conversions are in the folder of each format.
//!
//! They give the same arrays, bit for bit, as the conversions of the formats themselves, which run on the CPU. Memory
//! is taken for the two formats, and for a workspace that each conversion states; if a conversion has a limit, it is
//! checked before the new format's arrays are allocated. Matrices stay on the device: only single numbers are copied to
//! the host, and for clustered matrices the pattern, since rows are grouped there.

pub(crate) mod blocks;
pub(crate) mod from_blocks;
pub(crate) mod gather;
pub(crate) mod places;
pub(crate) mod primitives;
pub(crate) mod radix;
pub(crate) mod ranges;
pub(crate) mod scatter;
pub(crate) mod select;
pub(crate) mod sliced;
pub(crate) mod sort;
mod transpose;
pub(crate) mod wide;
pub(crate) mod width;

use std::marker::PhantomData;

use crate::error::Error;
use crate::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use crate::format::{Csr, FillLimit, Format, Matrix};
use crate::memory::Memory;
use crate::real::Scalar;

/// Conversion of CSR to another format, in an executor's memory.
struct FromCsr<T>(PhantomData<T>);

impl<T: Scalar> Operation for FromCsr<T> {
    type Operands<'a, M: Memory> = (Csr<T, M>, Format, FillLimit);
    type Output<M: Memory> = Matrix<T, M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (matrix, format, limit): (Csr<T, K::Memory>, Format, FillLimit),
    ) -> Result<Matrix<T, K::Memory>, Error> {
        format.convert_by_kernels(executor, matrix, limit)
    }

    fn on_host(_: Arithmetic, (matrix, format, limit): (Csr<T>, Format, FillLimit)) -> Result<Matrix<T>, Error> {
        Matrix::try_from_csr(matrix, format, limit)
    }
}

/// Conversion of any format to CSR, in an executor's memory.
struct IntoCsr<T>(PhantomData<T>);

impl<T: Scalar> Operation for IntoCsr<T> {
    type Operands<'a, M: Memory> = Matrix<T, M>;
    type Output<M: Memory> = Csr<T, M>;

    fn by_kernels<K: KernelExecutor>(executor: &K, matrix: Matrix<T, K::Memory>) -> Result<Csr<T, K::Memory>, Error> {
        matrix.into_csr_by_kernels(executor)
    }

    fn on_host(_: Arithmetic, matrix: Matrix<T>) -> Result<Csr<T>, Error> {
        matrix.into_csr()
    }
}

impl<T: Scalar, M: Memory> Csr<T, M> {
    /// Converts the matrix to the storage of `format`, in its memory. The arrays are the same, bit for bit, as those of
    /// [`Matrix::try_from_csr`].
    ///
    /// # Errors
    /// When the result would exceed `limit`, the matrix is not in the executor's memory, memory runs out, or the device
    /// fails.
    pub fn convert<E: Executor<Memory = M>>(
        self,
        executor: &E,
        format: Format,
        limit: FillLimit,
    ) -> Result<Matrix<T, M>, Error> {
        executor.run::<FromCsr<T>>((self, format, limit))
    }
}

impl<T: Scalar, M: Memory> Matrix<T, M> {
    /// Converts the matrix to CSR, in its memory, as [`into_csr`](Matrix::into_csr) does.
    ///
    /// # Errors
    /// When the matrix is not in the executor's memory, memory runs out, or the device fails.
    pub fn into_csr_on<E: Executor<Memory = M>>(self, executor: &E) -> Result<Csr<T, M>, Error> {
        executor.run::<IntoCsr<T>>(self)
    }
}
