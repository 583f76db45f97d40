//! The entries of a rank in columns of other ranks.

use host::executor::Executor;
use host::occupied_rows::{AddOccupiedRows, AddOperands, OccupiedRows};
use host::{Csr, Format, Layout, Multivector, Plan, Scalar, ValueStorage, Vector};

use crate::error::Error;
use crate::matrix::MatrixOptions;

/// Rows for each one with entries, from which on the others are passed over.
const ROWS_FOR_EACH_OCCUPIED: usize = 4;

/// Entries that this many cannot be in rows that are passed over.
const TOO_MANY: usize = 1 << 31;

/// The entries of a rank in columns of other ranks, and how they are stored.
pub enum Remote<T: Scalar, E: Executor> {
    /// Few rows have any: those alone, in CSR. The other elements of y are neither read nor written.
    OccupiedRows(E, OccupiedRows<T, E::Memory>),
    /// In a format for all rows.
    Plan(Box<Plan<T, E>>),
}

impl<T: Scalar, E: Executor> Remote<T, E> {
    /// In the format that is asked for, or as its rows suggest.
    pub(crate) fn new(executor: &E, matrix: Csr<T>, options: &MatrixOptions) -> Result<Self, Error> {
        // Narrow values are only stored in formats for all rows.
        let chooses = options.remote == Format::Auto && !matches!(options.plan.values, ValueStorage::Rounded(_));
        let occupied = || matrix.row_lengths().filter(|&length| length > 0).count();
        if chooses && matrix.nnz() < TOO_MANY && occupied().saturating_mul(ROWS_FOR_EACH_OCCUPIED) <= matrix.rows() {
            return Ok(Self::OccupiedRows(executor.clone(), OccupiedRows::new(executor, matrix)?));
        }
        Ok(Self::Plan(Box::new(Plan::with_options(executor, matrix, options.remote, options.plan)?)))
    }

    /// Y ← Y + α A X, for several vectors one after the other.
    pub(crate) fn add(
        &mut self,
        vectors: usize,
        alpha: T,
        x: &Vector<T, E>,
        y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        match self {
            Self::OccupiedRows(executor, matrix) => {
                Ok(executor.run::<AddOccupiedRows<T>>(AddOperands { matrix, vectors, alpha, x, y })?)
            }
            Self::Plan(plan) if vectors == 1 => Ok(plan.apply(alpha, x, T::ONE, y)?),
            Self::Plan(plan) => {
                let shape = Multivector { vectors, layout: Layout::ColumnMajor };
                Ok(plan.apply_multivector(shape, alpha, x, T::ONE, y)?)
            }
        }
    }

    pub(crate) fn multiplies_multivectors(&self) -> bool {
        match self {
            Self::OccupiedRows(..) => true,
            Self::Plan(plan) => plan.format().multiplies_multivectors(),
        }
    }

    /// The name of its format.
    pub fn format(&self) -> &str {
        match self {
            Self::OccupiedRows(..) => "occupied-rows",
            Self::Plan(plan) => plan.format().name(),
        }
    }

    /// Number of entries.
    pub fn nnz(&self) -> usize {
        match self {
            Self::OccupiedRows(_, matrix) => matrix.nnz(),
            Self::Plan(plan) => plan.matrix().nnz(),
        }
    }

    /// Bytes of its arrays.
    pub fn bytes(&self) -> u128 {
        match self {
            Self::OccupiedRows(_, matrix) => matrix.bytes(),
            Self::Plan(plan) => plan.matrix().bytes(),
        }
    }
}
