//! Transfer of whole matrices into an executor's memory, and out of it.

use super::operation::Executor;
use crate::error::{Error, check_length};
use crate::format::{Csr, Matrix, Offsets};
use crate::memory::{Buffer, Element, HostMemory, Memory, Transfer, zeros};
use crate::real::Scalar;

/// Transfer into an executor's memory.
pub(crate) struct Upload<'e, E>(pub &'e E);

impl<E: Executor> Transfer<HostMemory, E::Memory> for Upload<'_, E> {
    fn transfer<T: Element>(&self, array: Vec<T>) -> Result<<E::Memory as Memory>::Buffer<T>, Error> {
        self.0.upload(array)
    }
}

/// Transfer out of an executor's memory.
pub(crate) struct Download<'e, E>(pub &'e E);

impl<E: Executor> Transfer<E::Memory, HostMemory> for Download<'_, E> {
    fn transfer<T: Element>(&self, array: <E::Memory as Memory>::Buffer<T>) -> Result<Vec<T>, Error> {
        self.0.download(&array)
    }
}

/// Copies an array over another one of the same length. A borrowed destination is left unchanged and replaced by a copy.
pub(crate) fn overwrite<T: Element, E: Executor>(
    executor: &E,
    from: &<E::Memory as Memory>::Buffer<T>,
    to: &mut <E::Memory as Memory>::Buffer<T>,
) -> Result<(), Error> {
    if !to.is_borrowed() {
        return executor.copy(from, to);
    }
    check_length("the array copied to", to.len(), from.len())?;
    *to = executor.duplicate(from)?;
    Ok(())
}

impl<T: Scalar> Csr<T> {
    /// Moves the matrix into an executor's memory, array by array.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn upload<E: Executor>(self, executor: &E) -> Result<Csr<T, E::Memory>, Error> {
        self.transfer(&Upload(executor))
    }

    /// Copies the matrix into an executor's memory, array by array.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn upload_copy<E: Executor>(&self, executor: &E) -> Result<Csr<T, E::Memory>, Error> {
        let offsets = match self.row_offsets() {
            Offsets::Narrow(offsets) => Offsets::Narrow(executor.upload_slice(offsets)?),
            Offsets::Wide(offsets) => Offsets::Wide(executor.upload_slice(offsets)?),
        };
        let columns = executor.upload_slice(self.column_indices())?;
        let values = executor.upload_slice(self.values())?;
        Ok(Csr::from_valid(self.rows(), self.columns(), offsets, columns, values))
    }
}

impl<T: Scalar, M: Memory> Csr<T, M> {
    /// The pattern in host memory, with all values 0.
    ///
    /// # Errors
    /// When the matrix belongs to another executor, memory runs out, or the device fails.
    pub(crate) fn pattern_to_host<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Csr<T>, Error> {
        let (offsets, columns) = (self.row_offsets().to_host(executor)?, executor.download(self.column_indices())?);
        // Zeros that are never written take no memory.
        Ok(Csr::from_valid(self.rows(), self.columns(), offsets, columns, zeros(self.nnz())?))
    }
}

impl<T: Scalar> Matrix<T> {
    /// Moves the matrix into an executor's memory, array by array.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn upload<E: Executor>(self, executor: &E) -> Result<Matrix<T, E::Memory>, Error> {
        self.transfer(&Upload(executor))
    }
}

impl<T: Scalar, M: Memory> Matrix<T, M> {
    /// Moves the matrix from an executor's memory to the host.
    ///
    /// # Errors
    /// When the matrix is not in the executor's memory, memory runs out, or the device fails.
    pub fn download<E: Executor<Memory = M>>(self, executor: &E) -> Result<Matrix<T>, Error> {
        self.transfer(&Download(executor))
    }
}
