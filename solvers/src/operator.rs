//! Linear operators: matrices, closures, and their compositions.

use std::sync::Arc;

use host::error::{self, Error, check_length};
use host::executor::Executor;
use host::plan::{Plan, Vector};
use host::real::Scalar;
use host::{Epilogue, Layout, Multivector, ProductSums};

use crate::ranks::Ranks;

/// A linear map from vectors of [`columns`](Self::columns) elements to vectors of [`rows`](Self::rows) elements, in the
/// memory of executor `E`.
///
/// Solvers apply it many times and record that on a GPU: it must launch the same work every time, and neither allocate nor
/// wait.
pub trait Operator<T: Scalar, E: Executor> {
    /// Returns the number of elements of A x.
    fn rows(&self) -> usize;

    /// Returns the number of elements of x.
    fn columns(&self) -> usize;

    /// y ← α A x + β y; with β = 0, y is overwritten and never read.
    ///
    /// # Errors
    /// When a vector does not fit, or the device fails.
    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error>;

    /// Computes y ← α A x + β y as [`apply`](Self::apply) does, and sums over the elements of the new y, if the operator
    /// can do both in one launch; otherwise does nothing. Returns whether it did.
    ///
    /// # Errors
    /// When a vector does not fit, or the device fails.
    fn apply_with_sums(
        &mut self,
        _alpha: T,
        _x: &Vector<T, E>,
        _beta: T,
        _y: &mut Vector<T, E>,
        _sums: ProductSums<'_, T, E::Memory>,
    ) -> Result<bool, Error> {
        Ok(false)
    }

    /// y ← α Aᵀ x + β y; with β = 0, y is overwritten and never read.
    ///
    /// # Errors
    /// When a vector does not fit, the operator has no transpose, or the device fails.
    fn apply_transposed(&mut self, _alpha: T, _x: &Vector<T, E>, _beta: T, _y: &mut Vector<T, E>) -> Result<(), Error> {
        Err(Error::Operator { operation: "transposed product" })
    }

    /// Y ← α A X + β Y for several vectors, stored consecutively in X and in Y; with β = 0, Y is overwritten and never
    /// read.
    ///
    /// # Errors
    /// When X or Y does not fit, the operator has no such product, or the device fails.
    fn apply_columns(
        &mut self,
        _vectors: usize,
        _alpha: T,
        _x: &Vector<T, E>,
        _beta: T,
        _y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        Err(Error::Operator { operation: "product with several vectors" })
    }

    /// Returns the ranks that hold the other parts of its vectors, if this operator holds the part of one rank.
    fn ranks(&self) -> Option<Arc<dyn Ranks<E>>> {
        None
    }

    /// Returns the largest number of iterations between two checks by the host, at least 1, for slow preconditioners:
    /// iterations queued past the last one are wasted.
    fn iterations_between_looks(&self) -> Option<u32> {
        None
    }
}

/// Returns the number of rows of a square operator and its preconditioner.
///
/// # Errors
/// When they do not have this shape.
pub(super) fn check_square<T: Scalar, E: Executor>(
    operator: &dyn Operator<T, E>,
    preconditioner: Option<&dyn Operator<T, E>>,
) -> Result<usize, Error> {
    let rows = operator.rows();
    error::check_square("the operator", rows, operator.columns())?;
    if let Some(preconditioner) = preconditioner {
        check_length("x of the preconditioner", preconditioner.columns(), rows)?;
        check_length("y of the preconditioner", preconditioner.rows(), rows)?;
    }
    Ok(rows)
}

/// Returns the position of an operator's part of a vector in the whole: the number of elements before it, and in total.
pub(super) fn place_of_part<T: Scalar, E: Executor>(operator: &dyn Operator<T, E>) -> (usize, usize) {
    match operator.ranks() {
        Some(ranks) => (ranks.first(), ranks.elements()),
        None => (0, operator.rows()),
    }
}

impl<T: Scalar, E: Executor, O: Operator<T, E> + ?Sized> Operator<T, E> for &mut O {
    fn rows(&self) -> usize {
        (**self).rows()
    }

    fn columns(&self) -> usize {
        (**self).columns()
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        (**self).apply(alpha, x, beta, y)
    }

    fn apply_with_sums(
        &mut self,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
        sums: ProductSums<'_, T, E::Memory>,
    ) -> Result<bool, Error> {
        (**self).apply_with_sums(alpha, x, beta, y, sums)
    }

    fn apply_transposed(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        (**self).apply_transposed(alpha, x, beta, y)
    }

    fn apply_columns(
        &mut self,
        vectors: usize,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        (**self).apply_columns(vectors, alpha, x, beta, y)
    }

    fn ranks(&self) -> Option<Arc<dyn Ranks<E>>> {
        (**self).ranks()
    }

    fn iterations_between_looks(&self) -> Option<u32> {
        (**self).iterations_between_looks()
    }
}

/// A matrix in any format on any executor.
impl<T: Scalar, E: Executor> Operator<T, E> for Plan<T, E> {
    fn rows(&self) -> usize {
        self.matrix().rows()
    }

    fn columns(&self) -> usize {
        self.matrix().columns()
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        Plan::apply(self, alpha, x, beta, y)
    }

    fn apply_with_sums(
        &mut self,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
        sums: ProductSums<'_, T, E::Memory>,
    ) -> Result<bool, Error> {
        if !self.fuses() {
            return Ok(false);
        }
        let epilogue = Epilogue { sums: Some(sums), ..Epilogue::default() };
        self.apply_fused(alpha, x, beta, y, epilogue)?;
        Ok(true)
    }

    fn apply_transposed(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        Plan::apply_transposed(self, alpha, x, beta, y)
    }

    fn apply_columns(
        &mut self,
        vectors: usize,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        let shape = Multivector { vectors, layout: Layout::ColumnMajor };
        self.apply_multivector(shape, alpha, x, beta, y)
    }
}

/// A closure that computes y ← α A x + β y, with the shape of A.
pub struct Closure<F> {
    rows: usize,
    columns: usize,
    apply: F,
}

impl<F> Closure<F> {
    /// Creates the operator; `apply` receives α, x, β and y. With β = 0 it must overwrite y without reading it.
    pub fn new(rows: usize, columns: usize, apply: F) -> Self {
        Self { rows, columns, apply }
    }
}

impl<T, E, F> Operator<T, E> for Closure<F>
where
    T: Scalar,
    E: Executor,
    F: FnMut(T, &Vector<T, E>, T, &mut Vector<T, E>) -> Result<(), Error>,
{
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        use host::memory::Buffer;
        check_length("x", x.len(), self.columns)?;
        check_length("y", y.len(), self.rows)?;
        (self.apply)(alpha, x, beta, y)
    }
}

/// γ A.
pub struct Multiple<T, O> {
    factor: T,
    operator: O,
}

impl<T, O> Multiple<T, O> {
    /// Creates the operator, times the factor.
    pub fn new(factor: T, operator: O) -> Self {
        Self { factor, operator }
    }
}

impl<T: Scalar, E: Executor, O: Operator<T, E>> Operator<T, E> for Multiple<T, O> {
    fn rows(&self) -> usize {
        self.operator.rows()
    }

    fn columns(&self) -> usize {
        self.operator.columns()
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        self.operator.apply(alpha * self.factor, x, beta, y)
    }

    fn apply_with_sums(
        &mut self,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
        sums: ProductSums<'_, T, E::Memory>,
    ) -> Result<bool, Error> {
        self.operator.apply_with_sums(alpha * self.factor, x, beta, y, sums)
    }

    fn apply_transposed(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        self.operator.apply_transposed(alpha * self.factor, x, beta, y)
    }

    fn apply_columns(
        &mut self,
        vectors: usize,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        self.operator.apply_columns(vectors, alpha * self.factor, x, beta, y)
    }

    fn ranks(&self) -> Option<Arc<dyn Ranks<E>>> {
        self.operator.ranks()
    }

    fn iterations_between_looks(&self) -> Option<u32> {
        self.operator.iterations_between_looks()
    }
}

/// A + B.
pub struct Sum<A, B> {
    left: A,
    right: B,
}

impl<A, B> Sum<A, B> {
    /// Creates the sum of two operators of the same shape.
    ///
    /// # Errors
    /// When the shapes differ.
    pub fn new<T: Scalar, E: Executor>(left: A, right: B) -> Result<Self, Error>
    where
        A: Operator<T, E>,
        B: Operator<T, E>,
    {
        check_length("x of the right operator", right.columns(), left.columns())?;
        check_length("y of the right operator", right.rows(), left.rows())?;
        Ok(Self { left, right })
    }
}

impl<T: Scalar, E: Executor, A: Operator<T, E>, B: Operator<T, E>> Operator<T, E> for Sum<A, B> {
    fn rows(&self) -> usize {
        self.left.rows()
    }

    fn columns(&self) -> usize {
        self.left.columns()
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        self.left.apply(alpha, x, beta, y)?;
        self.right.apply(alpha, x, T::ONE, y)
    }

    fn apply_transposed(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        self.left.apply_transposed(alpha, x, beta, y)?;
        self.right.apply_transposed(alpha, x, T::ONE, y)
    }

    fn apply_columns(
        &mut self,
        vectors: usize,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        self.left.apply_columns(vectors, alpha, x, beta, y)?;
        self.right.apply_columns(vectors, alpha, x, T::ONE, y)
    }

    fn ranks(&self) -> Option<Arc<dyn Ranks<E>>> {
        self.left.ranks().or_else(|| self.right.ranks())
    }
}

/// A B: applies B, then A.
pub struct Product<T: Scalar, E: Executor, A, B> {
    left: A,
    right: B,
    between: Vector<T, E>,
}

impl<T: Scalar, E: Executor, A: Operator<T, E>, B: Operator<T, E>> Product<T, E, A, B> {
    /// Creates the product; it allocates a vector for the intermediate result.
    ///
    /// # Errors
    /// When the number of rows of the right operator is not the number of columns of the left one, or memory runs out.
    pub fn new(executor: &E, left: A, right: B) -> Result<Self, Error> {
        check_length("y of the right operator", right.rows(), left.columns())?;
        let between = executor.zeros(left.columns())?;
        Ok(Self { left, right, between })
    }
}

impl<T: Scalar, E: Executor, A: Operator<T, E>, B: Operator<T, E>> Operator<T, E> for Product<T, E, A, B> {
    fn rows(&self) -> usize {
        self.left.rows()
    }

    fn columns(&self) -> usize {
        self.right.columns()
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        self.right.apply(T::ONE, x, T::ZERO, &mut self.between)?;
        self.left.apply(alpha, &self.between, beta, y)
    }

    fn apply_transposed(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        self.left.apply_transposed(T::ONE, x, T::ZERO, &mut self.between)?;
        self.right.apply_transposed(alpha, &self.between, beta, y)
    }

    fn ranks(&self) -> Option<Arc<dyn Ranks<E>>> {
        self.left.ranks().or_else(|| self.right.ranks())
    }
}
