//! The inverse diagonal of a level's matrix.

#[allow(unsafe_code, reason = "it launches kernels")]
mod by_kernels;
mod on_host;

use std::marker::PhantomData;

use host::error::Error;
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::format::Csr;
use host::memory::{HostMemory, Memory};
use host::real::Scalar;

/// The smoother's divisor of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Divisor {
    /// The diagonal element.
    Diagonal,
    /// The sum of the row's magnitudes, in the direction of the diagonal element.
    RowSum,
}

/// The inverse of a level's diagonal.
pub(super) struct InverseDiagonal<W: Scalar, M: Memory = HostMemory> {
    /// One over the divisor; 0 for a row of zeros, which the steps leave unchanged.
    pub(super) elements: M::Buffer<W>,
    /// The largest product of a row's sum of magnitudes and its element: an upper bound of the eigenvalues (Gershgorin).
    /// Rounded up to 32 bits, the same on every executor; NaN if any product is.
    pub(super) bound: f64,
    /// Whether no element has a minus sign or an imaginary part.
    pub(super) positive: bool,
}

/// Calculates the inverse of a level's diagonal. O(nnz).
pub(super) struct InvertDiagonal<W>(PhantomData<W>);

impl<W: Scalar<Real = f64, Wide = W>> Operation for InvertDiagonal<W> {
    type Operands<'a, M: Memory> = (&'a Csr<W, M>, Divisor);
    type Output<M: Memory> = InverseDiagonal<W, M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (matrix, divisor): Self::Operands<'_, K::Memory>,
    ) -> Result<InverseDiagonal<W, K::Memory>, Error> {
        by_kernels::inverse_diagonal(executor, matrix, divisor)
    }

    fn on_host(_: Arithmetic, (matrix, divisor): Self::Operands<'_, HostMemory>) -> Result<InverseDiagonal<W>, Error> {
        on_host::inverse_diagonal(matrix, divisor)
    }
}

/// Returns the error for a diagonal element without an inverse.
fn no_inverse(row: usize, pivot: f64) -> Error {
    let expected = "a finite number other than 0 on each level's diagonal, unless its row is 0";
    Error::Pivot { operation: "multigrid", row, pivot, expected }
}
