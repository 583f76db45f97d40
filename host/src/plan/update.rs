//! New values for the matrix of a plan.

use super::transpose::Transpose;
use super::{Plan, Vector, workspace};
use crate::error::{Error, check_length};
use crate::executor::Executor;
use crate::format::{Coo, Csr, FillLimit, Format, Matrix, Offsets};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::Workspace;

/// What a plan keeps of the matrix that it was made of: all but the values.
pub(super) struct Pattern<M: Memory> {
    rows: usize,
    columns: usize,
    row_offsets: Offsets<M>,
    column_indices: M::Buffer<u32>,
    limit: FillLimit,
}

impl<M: Memory> Pattern<M> {
    /// The pattern of a matrix that is going to be converted to a format; none where that has the values in the same order.
    pub fn for_updates<T: Scalar, E: Executor<Memory = M>>(
        executor: &E,
        matrix: &Csr<T, M>,
        format: Format,
        limit: FillLimit,
    ) -> Result<Option<Self>, Error> {
        if [Format::CSR_SCALAR, Format::COO].iter().any(|&other| format.shares_arrays(other)) {
            return Ok(None);
        }
        Ok(Some(Self {
            rows: matrix.rows(),
            columns: matrix.columns(),
            row_offsets: matrix.row_offsets().duplicate(executor)?,
            column_indices: executor.duplicate(matrix.column_indices())?,
            limit,
        }))
    }

    /// The matrix with this pattern and these values.
    fn with_values<T: Scalar, E: Executor<Memory = M>>(
        &self,
        executor: &E,
        values: &M::Buffer<T>,
    ) -> Result<Csr<T, M>, Error> {
        check_length("values", values.len(), self.column_indices.len())?;
        Ok(Csr {
            rows: self.rows,
            columns: self.columns,
            stored: self.column_indices.len(),
            row_offsets: self.row_offsets.duplicate(executor)?,
            column_indices: executor.duplicate(&self.column_indices)?,
            values: executor.duplicate(values)?,
        })
    }
}

/// What new values make of a plan.
#[doc(hidden)]
pub struct NewValues<T: Scalar, E: Executor> {
    /// A new matrix, with its workspace, unless the values are copied to where the old ones are.
    converted: Option<(Matrix<T, E::Memory>, Workspace<T, E::Memory>)>,
    /// The values in the order of the stored transpose, and what they make of it.
    transpose: Option<Box<(Vector<T, E>, Self)>>,
}

impl<T: Scalar, E: Executor> Plan<T, E> {
    /// Gives the matrix new values, in the order of the [`Csr`] that the plan was made of: one for each of its entries, also
    /// where an entry is stored twice. The pattern stays, and the plan is then the same as one of the new matrix in this
    /// format, to the bit.
    ///
    /// In CSR and COO the values are copied to where the old ones are, and nothing else is done: what an executor
    /// [recorded](Executor::repeat) of the plan stays good. Other formats have them in another order: a plan that was made
    /// with [`PlanOptions::updates`](super::PlanOptions::updates) or
    /// [`Selection::updates`](crate::select::Selection::updates) keeps the pattern, and the matrix is converted again, where
    /// it is and without a new choice. That takes as long as the conversion did, and memory for another matrix in both
    /// formats while it lasts; what was recorded is recorded anew. A transpose that is [stored](super::Transposed) gets the
    /// new values as well, in whatever format, if the plan was made for updates.
    ///
    /// ```
    /// use host::executor::Cpu;
    /// use host::{Csr, Format, Plan, PlanOptions};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?;
    /// let options = PlanOptions { updates: true, ..PlanOptions::default() };
    /// let mut plan = Plan::with_options(&Cpu::new(), matrix, Format::SELL_P, options)?;
    /// plan.update_values(&vec![4.0, 5.0, 6.0])?;
    /// let mut y = vec![0.0; 2];
    /// plan.apply(1.0, &vec![1.0, 10.0, 100.0], 0.0, &mut y)?;
    /// assert_eq!(y, [4.0, 650.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When there are more or fewer values than entries, they are not in the executor's memory, the plan was not made for
    /// updates and its format needs that, memory runs out, or the device fails; the values are the old ones then. An error
    /// as well, where the format cannot hold the new matrix: with other values, fewer entries of
    /// [`ClusteredSymmetric`](crate::format::ClusteredSymmetric) may be pairs.
    pub fn update_values(&mut self, values: &Vector<T, E>) -> Result<(), Error> {
        let new = self.new_values(values)?;
        self.take_values(values, new)
    }

    /// What new values make of the plan, which stays what it is.
    ///
    /// # Errors
    /// Those of [`update_values`](Self::update_values).
    #[doc(hidden)]
    pub fn new_values(&self, values: &Vector<T, E>) -> Result<NewValues<T, E>, Error> {
        let converted = if matches!(self.matrix, Matrix::Csr(_) | Matrix::Coo(_)) {
            check_length("values", values.len(), self.matrix.nnz())?;
            None
        } else {
            let Some(pattern) = &self.pattern else { return Err(self.not_updatable()) };
            let matrix = pattern.with_values(&self.executor, values)?;
            let matrix = matrix.convert(&self.executor, self.format, pattern.limit)?;
            let workspace = workspace(&self.executor, &matrix, self.format)?;
            Some((matrix, workspace))
        };
        let transpose = self.transpose.as_ref();
        let transpose = transpose.map(|transpose| transpose.new_values(&self.executor, values)).transpose()?;
        Ok(NewValues { converted, transpose: transpose.map(Box::new) })
    }

    /// Puts new values, and what they made of this plan, in the place of the old ones: only a device that fails can end
    /// that half way.
    ///
    /// # Errors
    /// When the values are another executor's, or the device fails.
    #[doc(hidden)]
    pub fn take_values(&mut self, values: &Vector<T, E>, new: NewValues<T, E>) -> Result<(), Error> {
        match (new.converted, &mut self.matrix) {
            (Some(converted), _) => (self.matrix, self.workspace) = converted,
            (None, Matrix::Csr(Csr { values: old, .. }) | Matrix::Coo(Coo { values: old, .. })) => {
                self.executor.copy(values, old)?;
            }
            (None, _) => return Err(self.not_updatable()),
        }
        match (&mut self.transpose, new.transpose) {
            (Some(transpose), Some(new)) => transpose.take_values(*new),
            _ => Ok(()),
        }
    }

    fn not_updatable(&self) -> Error {
        Error::NotUpdatable { format: self.format.name() }
    }

    /// Bytes that the plan keeps for [`update_values`](Self::update_values) besides the matrix and its stored transpose:
    /// of a pattern, 4 for each entry, and 4 or 8 for each row; with a stored transpose, that of its pattern, too, and 4
    /// for each entry.
    pub fn update_bytes(&self) -> u128 {
        let pattern =
            |pattern: &Pattern<E::Memory>| pattern.row_offsets.bytes() + 4 * pattern.column_indices.len() as u128;
        self.pattern.as_ref().map_or(0, pattern) + self.transpose.as_ref().map_or(0, Transpose::update_bytes)
    }
}
