//! The entries of a rank in columns of other ranks.

use host::executor::Executor;
#[cfg(feature = "cuda")]
use host::executor::{Beside, Cuda, CudaBuffer};
use host::memory::Buffer;
use host::occupied_rows::{AddOperands, AddToRows, OccupiedRows};
use host::{Csr, Format, Layout, Multivector, PartialSums, Plan, Scalar, Vector};

use crate::error::Error;
use crate::matrix::MatrixOptions;

/// If there are at least this many rows per row with entries, empty rows are omitted.
const ROWS_FOR_EACH_OCCUPIED: u64 = 4;

/// Whether few enough rows have entries for them to be stored alone and multiplied beside the local product.
pub(crate) fn are_few(occupied: u64, rows: u64) -> bool {
    occupied.saturating_mul(ROWS_FOR_EACH_OCCUPIED) <= rows
}

/// The entries of a rank in columns of other ranks, and their storage.
pub struct Remote<T: Scalar, E: Executor> {
    plan: Plan<T, E>,
    /// If few rows have entries, the plan has only those.
    rows: Option<Occupied<T, E>>,
}

/// The rows with entries, and their products before they are added to y.
struct Occupied<T: Scalar, E: Executor> {
    rows: OccupiedRows<E::Memory>,
    sums: Vector<T, E>,
    /// Whether the products have been computed.
    multiplied: bool,
}

impl<T: Scalar, E: Executor> Remote<T, E> {
    /// Stores the entries in the requested format, or one chosen by the rows.
    pub(crate) fn new(executor: &E, matrix: Csr<T>, options: &MatrixOptions) -> Result<Self, Error> {
        let occupied = || matrix.row_lengths().filter(|&length| length > 0).count();
        if options.remote != Format::Auto || !are_few(occupied() as u64, matrix.rows() as u64) {
            let plan = Plan::with_options(executor, matrix, options.remote, options.plan)?;
            return Ok(Self { plan, rows: None });
        }
        let (rows, matrix) = OccupiedRows::of(executor, matrix)?;
        let plan = Plan::with_options(executor, matrix, Format::CSR_VECTOR, options.plan)?;
        let sums = executor.zeros(rows.count())?;
        Ok(Self { plan, rows: Some(Occupied { rows, sums, multiplied: false }) })
    }

    /// Returns whether the product has been computed, and only needs to be [added](Self::add).
    pub(crate) fn is_multiplied(&self) -> bool {
        self.rows.as_ref().is_some_and(|occupied| occupied.multiplied)
    }

    /// Returns whether few rows have entries, which are then stored separately.
    pub(crate) fn has_few_rows(&self) -> bool {
        self.rows.is_some()
    }

    /// Y ← Y + α A X, for several vectors stored consecutively; if only [few rows](Self::has_few_rows) have entries, also
    /// updates the sum w · y that was computed before.
    pub(crate) fn add(
        &mut self,
        vectors: usize,
        alpha: T,
        x: &Vector<T, E>,
        y: &mut Vector<T, E>,
        sum: Sum<'_, T, E>,
    ) -> Result<(), Error> {
        let Self { plan, rows } = self;
        let Some(Occupied { rows, sums, multiplied }) = rows else {
            return multiply(plan, vectors, alpha, x, T::ONE, y);
        };
        if !std::mem::take(multiplied) {
            let needed = rows.count().saturating_mul(vectors);
            if sums.len() != needed {
                *sums = plan.executor().zeros(needed)?;
            }
            multiply(plan, vectors, T::ONE, x, T::ZERO, sums)?;
        }
        Ok(plan.executor().run::<AddToRows<T>>(AddOperands { rows, vectors, alpha, sums, y, sum })?)
    }

    pub(crate) fn multiplies_multivectors(&self) -> bool {
        self.plan.format().multiplies_multivectors()
    }

    /// Returns the name of its format.
    pub fn format(&self) -> &str {
        match self.rows {
            Some(_) => "occupied-rows",
            None => self.plan.format().name(),
        }
    }

    /// Returns the number of entries.
    pub fn nnz(&self) -> usize {
        self.plan.matrix().nnz()
    }

    /// Returns the bytes of its arrays.
    pub fn bytes(&self) -> u128 {
        self.plan.matrix().bytes() + self.rows.as_ref().map_or(0, |occupied| occupied.rows.bytes())
    }
}

/// w, and the sum w · y.
type Sum<'s, T, E> = Option<(&'s Vector<T, E>, &'s mut PartialSums<<E as Executor>::Memory>)>;

/// Y ← α A X + β Y for several vectors stored consecutively.
fn multiply<T: Scalar, E: Executor>(
    plan: &mut Plan<T, E>,
    vectors: usize,
    alpha: T,
    x: &Vector<T, E>,
    beta: T,
    y: &mut Vector<T, E>,
) -> Result<(), Error> {
    if vectors == 1 {
        return Ok(plan.apply(alpha, x, beta, y)?);
    }
    let shape = Multivector { vectors, layout: Layout::ColumnMajor };
    Ok(plan.apply_multivector(shape, alpha, x, beta, y)?)
}

#[cfg(feature = "cuda")]
impl<T: Scalar> Remote<T, Cuda> {
    /// Queues the product with x, which has arrived by then, beside the local one, so that [`add`](Self::add) has little
    /// left to do. Only if few rows have entries, and for one vector. Returns whether it did.
    pub(crate) fn multiply_beside<'env>(
        &'env mut self,
        beside: &Beside<'_, 'env>,
        x: &'env CudaBuffer<T>,
    ) -> Result<bool, Error> {
        let Some(Occupied { rows, sums, multiplied }) = &mut self.rows else { return Ok(false) };
        // A product left over from a failure must not be added now.
        *multiplied = sums.len() == rows.count();
        if *multiplied {
            beside.multiply(&mut self.plan, x, sums)?;
        }
        Ok(*multiplied)
    }
}
