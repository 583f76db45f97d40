//! The transpose of a matrix in CSR, made where the matrix is.

use std::marker::PhantomData;

use crate::error::Error;
use crate::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use crate::format::Csr;
use crate::memory::{HostMemory, Memory};
use crate::real::Scalar;

/// The transpose; conjugate if the second operand says so.
struct Transposed<T>(PhantomData<T>);

impl<T: Scalar> Operation for Transposed<T> {
    type Operands<'a, M: Memory> = (&'a Csr<T, M>, bool);
    type Output<M: Memory> = Csr<T, M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (matrix, conjugate): Self::Operands<'_, K::Memory>,
    ) -> Result<Csr<T, K::Memory>, Error> {
        on_host(&matrix.to_host(executor)?, conjugate)?.upload(executor)
    }

    fn on_host(_: Arithmetic, (matrix, conjugate): Self::Operands<'_, HostMemory>) -> Result<Csr<T>, Error> {
        on_host(matrix, conjugate)
    }
}

fn on_host<T: Scalar>(matrix: &Csr<T>, conjugate: bool) -> Result<Csr<T>, Error> {
    let mut transpose = matrix.transposed()?;
    if conjugate && T::COMPLEX {
        transpose.values_mut().iter_mut().for_each(|value| *value = value.conjugate());
    }
    Ok(transpose)
}

impl<T: Scalar, M: Memory> Csr<T, M> {
    /// The transpose, made where the matrix is: the same arrays, bit for bit, as [`transposed`](Csr::transposed) gives.
    ///
    /// # Errors
    /// When the matrix is another executor's, memory runs out, or the device fails.
    pub fn transposed_on<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Self, Error> {
        executor.run::<Transposed<T>>((self, false))
    }

    /// The conjugate transpose, made where the matrix is; of a real matrix, the [transpose](Self::transposed_on).
    ///
    /// # Errors
    /// As for [`transposed_on`](Self::transposed_on).
    pub fn conjugate_transposed_on<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Self, Error> {
        executor.run::<Transposed<T>>((self, true))
    }
}
