//! A product whose pattern is kept for new values.

use super::{check_inner, on_host};
use crate::error::{Error, check_length};
use crate::format::Csr;
use crate::memory::{HostMemory, Memory};
use crate::real::Scalar;

/// A product C = A B whose values can be calculated again, from matrices of the same patterns, in less time and without
/// new memory for C.
pub struct SparseProduct<T: Scalar, M: Memory = HostMemory> {
    product: Csr<T, M>,
    /// The inner dimension.
    inner: usize,
    /// Stored entries of A and of B.
    stored: [usize; 2],
}

impl<T: Scalar, M: Memory> SparseProduct<T, M> {
    /// C.
    pub fn matrix(&self) -> &Csr<T, M> {
        &self.product
    }

    /// C.
    pub fn into_matrix(self) -> Csr<T, M> {
        self.product
    }

    /// Checks what can be seen without looking at the patterns.
    fn check(&self, left: &Csr<T, M>, right: &Csr<T, M>) -> Result<(), Error> {
        check_inner(left, right)?;
        check_length("each row of the left matrix", left.columns(), self.inner)?;
        check_length("each column of the left matrix", left.rows(), self.product.rows())?;
        check_length("each row of the right matrix", right.columns(), self.product.columns())?;
        check_length("the values of the left matrix", left.nnz(), self.stored[0])?;
        check_length("the values of the right matrix", right.nnz(), self.stored[1])
    }
}

impl<T: Scalar> SparseProduct<T> {
    /// Multiplies on the CPU, as [`multiply`](super::multiply) does.
    ///
    /// # Errors
    /// When A has not as many columns as B has rows, or memory runs out.
    pub fn new(left: &Csr<T>, right: &Csr<T>) -> Result<Self, Error> {
        let product = super::multiply(left, right)?;
        Ok(Self { product, inner: right.rows(), stored: [left.nnz(), right.nnz()] })
    }

    /// Calculates the values of C again, from matrices of the same patterns: the same bits as a new product has.
    ///
    /// # Errors
    /// When the matrices have other shapes or other numbers of entries, or a product has no entry in C, or memory runs out.
    /// In the latter two cases the values of C mean nothing until the next success.
    pub fn compute(&mut self, left: &Csr<T>, right: &Csr<T>) -> Result<&Csr<T>, Error> {
        self.check(left, right)?;
        on_host::compute(left, right, &mut self.product)?;
        Ok(&self.product)
    }
}
