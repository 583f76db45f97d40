//! Products with a matrix, as operations that every executor runs.

use std::marker::PhantomData;

use super::multivector::MultivectorOperands;
use super::{
    Operands, Workspace, launches, multiply_multivector_on_cpu, multiply_on_cpu, multiply_transposed_on_cpu,
    multivector_launches, reference, transposed_launches,
};
use crate::error::Error;
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::format::{Format, Matrix};
use crate::memory::{HostMemory, Memory};
use crate::real::Real;

/// A matrix, how it is multiplied, with what, and room for what that takes besides.
pub(crate) struct ProductOperands<'a, T: Real, M: Memory, O> {
    pub matrix: &'a Matrix<T, M>,
    pub format: Format,
    pub operands: O,
    pub workspace: &'a mut Workspace<T, M>,
}

/// y ← α A x + β y.
pub(crate) struct Product<T>(PhantomData<T>);

impl<T: Real> Operation for Product<T> {
    type Operands<'a, M: Memory> = ProductOperands<'a, T, M, Operands<'a, T, M>>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, workspace } = operands;
        let launches = launches(matrix, format, operands, workspace, executor.device())?;
        // SAFETY: the matrix keeps its invariants, `launches` checked the vectors, and all arrays are borrowed, y and the
        // workspace exclusively.
        unsafe { executor.launch_all(&launches) }
    }

    fn on_host(arithmetic: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, .. } = operands;
        match arithmetic {
            Arithmetic::Parallel => multiply_on_cpu(matrix, format, operands),
            Arithmetic::Compensated => reference::multiply(matrix, operands),
        }
    }
}

/// Y ← α A X + β Y for several vectors.
pub(crate) struct MultivectorProduct<T>(PhantomData<T>);

impl<T: Real> Operation for MultivectorProduct<T> {
    type Operands<'a, M: Memory> = ProductOperands<'a, T, M, MultivectorOperands<'a, T, M>>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        let ProductOperands { matrix, format, operands, workspace } = operands;
        let launches = multivector_launches(matrix, format, operands, workspace, executor.device())?;
        // SAFETY: as in `Product`.
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

/// y ← α Aᵀ x + β y, where x has an element for each row and y one for each column.
pub(crate) struct TransposedProduct<T>(PhantomData<T>);

impl<T: Real> Operation for TransposedProduct<T> {
    type Operands<'a, M: Memory> = (&'a Matrix<T, M>, Format, Operands<'a, T, M>);
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: Self::Operands<'_, K::Memory>) -> Result<(), Error> {
        let (matrix, format, operands) = operands;
        let launches = transposed_launches(matrix, format, operands, executor.device())?;
        // SAFETY: as in `Product`.
        unsafe { executor.launch_all(&launches) }
    }

    fn on_host(arithmetic: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        let (matrix, format, operands) = operands;
        match arithmetic {
            Arithmetic::Parallel => multiply_transposed_on_cpu(matrix, format, operands),
            Arithmetic::Compensated => reference::multiply_transposed(matrix, operands),
        }
    }
}
