//! The transpose of a plan's matrix, stored in addition to it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::update::NewValues;
use super::{Plan, PlanOptions, Vector, not_reproducible};
use crate::available_memory::available_memory;
use crate::convert::gather::{Gather, Order};
use crate::error::Error;
use crate::executor::Executor;
use crate::format::{Csr, Format};
use crate::parallel;
use crate::real::Scalar;
use crate::select::{Selection, decide};
use crate::spmv::Operands;
use crate::spmv::transposed::Transposition;

/// How a plan multiplies by the transpose of its matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transposed {
    /// With the matrix itself, in formats that [support it](Format::multiplies_transposed). On a GPU, kernels add to y
    /// atomically, in any order, so the bits may differ between calls.
    #[default]
    Atomic,
    /// The transpose is stored in addition to the matrix, in this format, and multiplied like any matrix: with the same
    /// bits every time, if the format is [reproducible](Format::reproducible). [`Format::Auto`] chooses a format.
    Stored(Format),
    /// The conjugate transpose is stored in this format, for
    /// [`apply_conjugate_transposed`](Plan::apply_conjugate_transposed). For a real matrix, it is the transpose.
    StoredConjugate(Format),
}

impl Transposed {
    /// The stored matrix and its format, if any.
    pub(super) fn stored(self) -> Option<(Transposition, Format)> {
        match self {
            Self::Atomic => None,
            Self::Stored(format) => Some((Transposition::Plain, format)),
            Self::StoredConjugate(format) => Some((Transposition::Conjugate, format)),
        }
    }
}

/// The transpose or the conjugate transpose.
pub(super) struct Transpose<T: Scalar, E: Executor> {
    transposition: Transposition,
    /// Locked, since a product needs exclusive access for its workspace, and several threads may multiply at the same
    /// time.
    plan: Mutex<Box<Plan<T, E>>>,
    /// For updates: the order of its entries.
    order: Option<Order<E::Memory>>,
}

/// A transpose in host memory.
struct OnHost<T: Scalar> {
    matrix: Csr<T>,
    transposition: Transposition,
    /// For updates: the matrix entry that each entry comes from.
    order: Option<Vec<u32>>,
}

impl<T: Scalar> OnHost<T> {
    /// Transposes in parallel, with memory for the entries once more.
    fn new(matrix: &Csr<T>, transposition: Transposition, updates: bool) -> Result<Self, Error> {
        let entry_bytes = 4 + size_of::<T>() as u128 + if updates { 4 } else { 0 };
        let bytes = matrix.nnz() as u128 * entry_bytes + 8 * matrix.columns() as u128;
        if available_memory().is_some_and(|available| bytes > available) {
            return Err(Error::OutOfMemory { what: "the transpose of the matrix", bytes });
        }
        let (mut transposed, order) = match updates {
            true => {
                let (transposed, order) = matrix.transposed_with_order()?;
                (transposed, Some(order))
            }
            false => (matrix.transposed()?, None),
        };
        if transposition.conjugates::<T>() {
            conjugate(transposed.values_mut());
        }
        Ok(Self { matrix: transposed, transposition, order })
    }

    /// Moves the transpose to an executor by `plan`.
    fn place<E: Executor>(
        self,
        executor: &E,
        plan: impl FnOnce(Csr<T>) -> Result<Plan<T, E>, Error>,
    ) -> Result<Transpose<T, E>, Error> {
        let order = self.order.map(|order| Order::new(executor, order.len(), order)).transpose()?;
        let plan = Mutex::new(Box::new(plan(self.matrix)?));
        Ok(Transpose { transposition: self.transposition, plan, order })
    }
}

fn conjugate<T: Scalar>(values: &mut [T]) {
    parallel::chunks_mut(values, parallel::ROWS_AT_ONCE, 1, &|(_, values)| {
        values.iter_mut().for_each(|value| *value = value.conjugate());
    });
}

impl<T: Scalar, E: Executor> Transpose<T, E> {
    /// The transpose of a matrix as requested by the options, if any.
    ///
    /// # Errors
    /// When its format cannot satisfy the options, or memory runs out.
    pub fn with_options(executor: &E, matrix: &Csr<T>, options: PlanOptions) -> Result<Option<Self>, Error> {
        let Some((transposition, format)) = options.transposed.stored() else { return Ok(None) };
        if options.reproducible && !format.reproducible() {
            return Err(not_reproducible(format));
        }
        let transpose = OnHost::new(matrix, transposition, options.updates)?;
        let options = PlanOptions { transposed: Transposed::Atomic, ..options };
        let plan = |matrix| Plan::with_options(executor, matrix, format, options);
        transpose.place(executor, plan).map(Some)
    }

    /// Whether the stored matrix is the one for such a product.
    pub fn is(&self, transposition: Transposition) -> bool {
        !T::COMPLEX || self.transposition == transposition
    }

    /// y ← α Aᵀ x + β y, or the same with Aᴴ, whichever is stored.
    pub fn apply(&self, operands: Operands<'_, T, E::Memory>) -> Result<(), Error> {
        let Operands { alpha, x, beta, y } = operands;
        self.plan().apply(alpha, x, beta, y)
    }

    /// The plan of the transpose, once no other thread multiplies with it.
    pub fn plan(&self) -> MutexGuard<'_, Box<Plan<T, E>>> {
        // A thread that panicked left a valid plan.
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes kept for updates.
    pub fn update_bytes(&self) -> u128 {
        self.plan().update_bytes() + self.order.as_ref().map_or(0, Order::bytes)
    }

    /// New values of the matrix in the order of the transpose, and the resulting transpose. The values of a complex
    /// conjugate transpose go through the host, because no kernel conjugates.
    pub fn new_values(&self, executor: &E, values: &Vector<T, E>) -> Result<NewTranspose<T, E>, Error> {
        let plan = self.plan();
        let Some(order) = &self.order else { return Err(Error::NotUpdatable { format: plan.format().name() }) };
        let mut values = executor.run::<Gather<T>>((order, values))?;
        if self.transposition.conjugates::<T>() {
            let mut on_host = executor.download(&values)?;
            conjugate(&mut on_host);
            values = executor.upload(on_host)?;
        }
        let new = plan.new_values(&values)?;
        Ok(NewTranspose { values, new })
    }

    /// Replaces the old values by new ones.
    pub fn take_values(&mut self, NewTranspose { values, new }: NewTranspose<T, E>) -> Result<(), Error> {
        self.plan.get_mut().unwrap_or_else(PoisonError::into_inner).take_values(&values, new)
    }
}

/// New values in the order of the transpose, and the resulting transpose.
pub(super) struct NewTranspose<T: Scalar, E: Executor> {
    values: Vector<T, E>,
    new: NewValues<T, E>,
}

impl<T: Scalar, E: Executor> Plan<T, E> {
    /// [`automatic`](Self::automatic) with a stored transpose, whose format is also chosen. Of a memory budget, the matrix
    /// gets what the transpose in CSR leaves, and the transpose what the matrix leaves.
    pub(super) fn automatic_with_transpose(executor: &E, matrix: Csr<T>, selection: &Selection) -> Result<Self, Error> {
        let transpose = OnHost::new(&matrix, Transposition::Plain, selection.updates)?;
        let without = |bytes: u128| {
            let rest = |budget: u64| u64::try_from(u128::from(budget).saturating_sub(bytes)).unwrap_or(u64::MAX);
            let memory_budget = selection.memory_budget.map(rest);
            Selection { memory_budget, transposed: false, ..selection.clone() }
        };
        let of_both = |error, other: u128| match (error, selection.memory_budget) {
            (Error::NoFormat { smallest, .. }, Some(budget)) => {
                Error::TransposeMemory { bytes: smallest + other, budget }
            }
            (error, _) => error,
        };
        let in_csr = transpose.matrix.bytes();
        let selection_of_matrix = without(in_csr);
        let (analysis, choice) =
            decide(&matrix, executor.device(), &selection_of_matrix).map_err(|error| of_both(error, in_csr))?;
        let plan = Self::from_choice(executor, matrix.upload(executor)?, &analysis, choice, &selection_of_matrix)?;
        let stored = plan.matrix.bytes();
        let transpose = transpose
            .place(executor, |matrix| Self::automatic(executor, matrix, &without(stored)))
            .map_err(|error| of_both(error, stored))?;
        Ok(Self { transpose: Some(transpose), ..plan })
    }

    /// The format of the stored transpose, if there is one.
    pub fn transpose_format(&self) -> Option<Format> {
        self.transpose.as_ref().map(|transpose| transpose.plan().format())
    }

    /// Bytes of the stored transpose's arrays; 0 if there is none. The matrix's bytes [do not include
    /// them](crate::format::Matrix::bytes).
    pub fn transpose_bytes(&self) -> u128 {
        self.transpose.as_ref().map_or(0, |transpose| transpose.plan().matrix.bytes())
    }

    /// Minimum number of bytes that a product with the stored transpose has to move, as [for the
    /// matrix](crate::format::Matrix::bytes_needed).
    pub fn transpose_bytes_needed(&self) -> Option<u128> {
        self.transpose.as_ref().map(|transpose| transpose.plan().matrix.bytes_needed())
    }
}
