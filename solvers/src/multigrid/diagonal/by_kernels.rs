//! The diagonal of a level's matrix, by kernels.

use host::error::Error;
use host::executor::KernelExecutor;
use host::format::Csr;
use host::real::Scalar;

use super::{Divisor, InverseDiagonal, on_host};

pub(super) fn inverse_diagonal<W: Scalar<Real = f64, Wide = W>, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<W, K::Memory>,
    divisor: Divisor,
) -> Result<InverseDiagonal<W, K::Memory>, Error> {
    let InverseDiagonal { elements, bound, positive } = on_host::inverse_diagonal(&matrix.to_host(executor)?, divisor)?;
    Ok(InverseDiagonal { elements: executor.upload(elements)?, bound, positive })
}
