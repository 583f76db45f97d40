//! A product whose pattern is kept for new values.

use std::marker::PhantomData;

use super::values_by_kernels::{self, Orders};
use super::workspace::{Limits, workspace_bytes};
use super::{by_kernels, check_inner, on_host};
use crate::error::{Error, check_length};
use crate::executor::operation::{Arithmetic, Executor, KernelExecutor, Operation};
use crate::format::Csr;
use crate::memory::{HostMemory, Memory};
use crate::real::Scalar;

/// A product C = A B in an executor's memory. Its values can be recomputed from matrices with the same patterns, in less
/// time and without new memory for C.
///
/// ```
/// use host::Csr;
/// use host::executor::Cpu;
/// use host::sparse_product::SparseProduct;
///
/// # fn main() -> Result<(), host::Error> {
/// let cpu = Cpu::new();
/// let left = Csr::try_from_triplets(1, 2, &[0, 0], &[0, 1], &[1.0, 2.0])?;
/// let mut right = Csr::try_from_triplets(2, 1, &[0, 1], &[0, 0], &[10.0, 20.0])?;
/// let mut product = SparseProduct::new(&cpu, &left, &right)?;
/// assert_eq!(product.matrix().values(), &[50.0]);
/// right.values_mut()[1] = 0.5;
/// assert_eq!(product.compute(&cpu, &left, &right)?.values(), &[11.0]);
/// # Ok(())
/// # }
/// ```
pub struct SparseProduct<T: Scalar, M: Memory = HostMemory> {
    product: Csr<T, M>,
    /// The ordered rows of C, once kernels have computed new values.
    orders: Option<Orders<M>>,
    /// The inner dimension.
    inner: usize,
    /// Stored entries of A and of B.
    stored: [usize; 2],
}

impl<T: Scalar, M: Memory> SparseProduct<T, M> {
    /// Multiplies two matrices in the executor's memory: on the CPU as [`multiply`](super::multiply), with kernels as
    /// described in the [module](super).
    ///
    /// # Errors
    /// When A does not have as many columns as B has rows, a matrix is in another executor's memory, memory runs out, or the
    /// device fails.
    pub fn new<E: Executor<Memory = M>>(executor: &E, left: &Csr<T, M>, right: &Csr<T, M>) -> Result<Self, Error> {
        check_inner(left, right)?;
        let product = executor.run::<Multiply<T>>((left, right))?;
        Ok(Self { product, orders: None, inner: right.rows(), stored: [left.nnz(), right.nnz()] })
    }

    /// Maximum number of bytes of the executor's memory that [`new`](Self::new) needs besides the matrices and, on a
    /// CPU, another copy of the columns of C. It depends only on the shapes and the type, not on the products. On a CPU, it
    /// is a number and a bit per column and thread. On a GPU, it is some 50 bytes per row; 2²⁶ columns and values, and 24 bytes
    /// and two values for each of 2²⁴ products, for rows of very many products; and 224 columns and values per row, at most
    /// 16 GiB; and up to 512 MiB for long rows. If there is less memory, rows are computed in two passes, which
    /// need only some of it.
    pub fn workspace_bytes<E: Executor<Memory = M>>(executor: &E, left: &Csr<T, M>, right: &Csr<T, M>) -> u64 {
        if executor.device().has_kernels() {
            workspace_bytes::<T>(executor.device(), left.rows(), right.rows(), right.columns())
        } else {
            on_host::workspace_bytes::<T>(left.rows(), right.columns())
        }
    }

    /// Recomputes the values of C from matrices with the same patterns, with the same bits as a new product. The patterns
    /// are not compared, but differences that are noticed are errors. In kernels, the first call sorts the rows of C, and
    /// keeps 4 bytes per row for later calls, 8 if some rows have very many products; these are listed again,
    /// as far as there is memory.
    ///
    /// # Errors
    /// When the matrices have other shapes or other numbers of entries, a product has no entry in C, memory runs out, or the
    /// device fails. Except in the first two cases, the values of C are then unspecified until the next success.
    pub fn compute<E: Executor<Memory = M>>(
        &mut self,
        executor: &E,
        left: &Csr<T, M>,
        right: &Csr<T, M>,
    ) -> Result<&Csr<T, M>, Error> {
        check_inner(left, right)?;
        check_length("each row of the left matrix", left.columns(), self.inner)?;
        check_length("each column of the left matrix", left.rows(), self.product.rows())?;
        check_length("each row of the right matrix", right.columns(), self.product.columns())?;
        check_length("the values of the left matrix", left.nnz(), self.stored[0])?;
        check_length("the values of the right matrix", right.nnz(), self.stored[1])?;
        executor.run::<Compute<T>>((left, right, &mut self.product, &mut self.orders))?;
        Ok(&self.product)
    }

    /// C.
    pub fn matrix(&self) -> &Csr<T, M> {
        &self.product
    }

    /// C.
    pub fn into_matrix(self) -> Csr<T, M> {
        self.product
    }
}

/// A new product.
struct Multiply<T>(PhantomData<T>);

impl<T: Scalar> Operation for Multiply<T> {
    type Operands<'a, M: Memory> = (&'a Csr<T, M>, &'a Csr<T, M>);
    type Output<M: Memory> = Csr<T, M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (left, right): Self::Operands<'_, K::Memory>,
    ) -> Result<Self::Output<K::Memory>, Error> {
        by_kernels::multiply(executor, left, right, Limits::default())
    }

    fn on_host(
        _: Arithmetic,
        (left, right): Self::Operands<'_, HostMemory>,
    ) -> Result<Self::Output<HostMemory>, Error> {
        on_host::multiply(left, right)
    }
}

/// New values of a product.
struct Compute<T>(PhantomData<T>);

impl<T: Scalar> Operation for Compute<T> {
    type Operands<'a, M: Memory> = (&'a Csr<T, M>, &'a Csr<T, M>, &'a mut Csr<T, M>, &'a mut Option<Orders<M>>);
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (left, right, product, orders): Self::Operands<'_, K::Memory>,
    ) -> Result<(), Error> {
        values_by_kernels::compute(executor, left, right, product, orders)
    }

    fn on_host(_: Arithmetic, (left, right, product, _): Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        on_host::compute(left, right, product)
    }
}
