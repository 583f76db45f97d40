//! Conversions by kernels, on a GPU or the emulator of one: CSR to every format and back, by counting, scanning and
//! scattering. One file a family.
//!
//! They give the same arrays, bit for bit, as the conversions of the formats themselves, which run on the CPU. Memory
//! is taken for the two formats, and for a workspace that each conversion states; where a conversion has a limit, it
//! is checked before the new format's arrays are allocated. Matrices stay on the device: only single
//! numbers come to the host.

pub mod bcsr;
pub mod bellpack;
mod blocks;
pub mod cmrs;
pub mod cmrs_padded;
pub mod coo;
pub mod coo_16;
pub mod dia;
pub mod ell;
pub mod hyb;
mod places;
pub(crate) mod primitives;
mod radix;
mod select;
pub mod sell_16;
pub mod sell_p;
mod sliced;
mod sort;
mod width;

use std::marker::PhantomData;

use crate::error::Error;
use crate::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use crate::format::{Csr, FillLimit, Format, Matrix, PartitionRows, Slicing, StripOrder};
use crate::memory::Memory;
use crate::real::Real;

/// CSR to another format, in an executor's memory.
struct FromCsr<T>(PhantomData<T>);

impl<T: Real> Operation for FromCsr<T> {
    type Operands<'a, M: Memory> = (Csr<T, M>, Format, FillLimit);
    type Output<M: Memory> = Matrix<T, M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (matrix, format, limit): (Csr<T, K::Memory>, Format, FillLimit),
    ) -> Result<Matrix<T, K::Memory>, Error> {
        from_csr(executor, matrix, format, limit)
    }

    fn on_host(_: Arithmetic, (matrix, format, limit): (Csr<T>, Format, FillLimit)) -> Result<Matrix<T>, Error> {
        Matrix::try_from_csr(matrix, format, limit)
    }
}

/// Any format to CSR, in an executor's memory.
struct IntoCsr<T>(PhantomData<T>);

impl<T: Real> Operation for IntoCsr<T> {
    type Operands<'a, M: Memory> = Matrix<T, M>;
    type Output<M: Memory> = Csr<T, M>;

    fn by_kernels<K: KernelExecutor>(executor: &K, matrix: Matrix<T, K::Memory>) -> Result<Csr<T, K::Memory>, Error> {
        into_csr(executor, matrix)
    }

    fn on_host(_: Arithmetic, matrix: Matrix<T>) -> Result<Csr<T>, Error> {
        Ok(matrix.into_csr())
    }
}

impl<T: Real, M: Memory> Csr<T, M> {
    /// The matrix in the storage of `format`, converted where it is. The arrays are the same, bit for bit, as
    /// [`Matrix::try_from_csr`] gives.
    ///
    /// # Errors
    /// When that would take more than `limit` allows, the matrix is not in the executor's memory, memory runs out, or the
    /// device fails.
    pub fn convert<E: Executor<Memory = M>>(
        self,
        executor: &E,
        format: Format,
        limit: FillLimit,
    ) -> Result<Matrix<T, M>, Error> {
        executor.run::<FromCsr<T>>((self, format, limit))
    }
}

impl<T: Real, M: Memory> Matrix<T, M> {
    /// The same matrix in CSR, converted where it is, as [`into_csr`](Matrix::into_csr) does.
    ///
    /// # Errors
    /// When the matrix is not in the executor's memory, memory runs out, or the device fails.
    pub fn into_csr_on<E: Executor<Memory = M>>(self, executor: &E) -> Result<Csr<T, M>, Error> {
        executor.run::<IntoCsr<T>>(self)
    }
}

/// `matrix` in the storage of `format`.
///
/// # Errors
/// When that would take more than `limit` allows, memory runs out, or the device fails.
pub fn from_csr<T: Real, K: KernelExecutor>(
    executor: &K,
    matrix: Csr<T, K::Memory>,
    format: Format,
    limit: FillLimit,
) -> Result<Matrix<T, K::Memory>, Error> {
    Ok(match format {
        Format::CsrScalar
        | Format::CsrVector(_)
        | Format::CsrLoadBalanced
        | Format::CsrMergePath
        | Format::CsrTiled
        | Format::CsrAutomatic => Matrix::Csr(matrix),
        Format::Dia => Matrix::Dia(dia::from_csr(executor, matrix, limit)?),
        Format::Ell | Format::EllSubwarp => Matrix::Ell(ell::from_csr(executor, &matrix, limit)?),
        Format::SellP => Matrix::SellP(sell_p::from_csr(executor, &matrix, Slicing::UNSORTED, limit)?),
        Format::SellPSorted => Matrix::SellP(sell_p::from_csr(executor, &matrix, Slicing::SORTED, limit)?),
        Format::Sell16 => Matrix::Sell16(sell_16::from_csr(executor, &matrix, limit)?),
        Format::Bcsr(size) => Matrix::Bcsr(bcsr::from_csr(executor, matrix, size, limit)?),
        Format::Bellpack(size) => {
            Matrix::Bellpack(bellpack::from_csr(executor, matrix, size, PartitionRows::default(), limit)?)
        }
        Format::Coo | Format::CooAtomic => Matrix::Coo(coo::from_csr(executor, matrix)?),
        Format::Coo16 => Matrix::Coo16(coo_16::from_csr(executor, matrix, limit)?),
        Format::Hyb(split) => Matrix::Hyb(hyb::from_csr(executor, &matrix, split, limit)?),
        Format::Cmrs(height) => Matrix::Cmrs(cmrs::from_csr(executor, matrix, height, StripOrder::default())?),
        Format::CmrsPadded => Matrix::CmrsPadded(cmrs_padded::from_csr(executor, &matrix, limit)?),
        Format::Auto => return Err(format.stands_for_others()),
    })
}

/// The same matrix in CSR.
///
/// # Errors
/// When memory runs out, or the device fails.
pub fn into_csr<T: Real, K: KernelExecutor>(
    executor: &K,
    matrix: Matrix<T, K::Memory>,
) -> Result<Csr<T, K::Memory>, Error> {
    match matrix {
        Matrix::Csr(matrix) => Ok(matrix),
        Matrix::Dia(matrix) => dia::into_csr(executor, matrix),
        Matrix::Ell(matrix) => ell::into_csr(executor, matrix),
        Matrix::SellP(matrix) => sell_p::into_csr(executor, matrix),
        Matrix::Sell16(matrix) => sell_16::into_csr(executor, matrix),
        Matrix::Bcsr(matrix) => bcsr::into_csr(executor, matrix),
        Matrix::Bellpack(matrix) => bellpack::into_csr(executor, matrix),
        Matrix::Coo(matrix) => coo::into_csr(executor, matrix),
        Matrix::Coo16(matrix) => coo_16::into_csr(executor, matrix),
        Matrix::Hyb(matrix) => hyb::into_csr(executor, matrix),
        Matrix::Cmrs(matrix) => cmrs::into_csr(executor, matrix),
        Matrix::CmrsPadded(matrix) => cmrs_padded::into_csr(executor, matrix),
    }
}
