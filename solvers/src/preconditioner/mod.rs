//! Preconditioners: operators z = M r with M ≈ A⁻¹, made from a matrix.
//!
//! Conjugate gradients with an incomplete Cholesky factorisation:
//!
//! ```
//! use host::executor::Cpu;
//! use solvers::preconditioner::{Preconditioner, PreconditionerName};
//! use solvers::{Cg, Outcome, Solver};
//! use host::{Csr, Plan};
//!
//! # fn main() -> Result<(), host::Error> {
//! let cpu = Cpu::new();
//! let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1, 1], &[0, 1, 0, 1], &[4.0, 1.0, 1.0, 3.0])?;
//! let mut preconditioner = Preconditioner::new(&cpu, &matrix, "ic0".parse::<PreconditionerName>()?)?;
//! let mut plan = Plan::new(&cpu, matrix)?;
//! let mut x = vec![0.0; 2];
//! let report = Solver::new(&cpu, &mut plan).preconditioner(&mut preconditioner).solve(&Cg, &vec![1.0; 2], &mut x)?;
//! assert_eq!((report.outcome, report.iterations), (Outcome::Converged, 1));
//! # Ok(())
//! # }
//! ```

mod block_jacobi;
mod coloured;
mod colouring;
mod diagonal;
mod factors;
mod ic0;
mod ilu0;
mod jacobi;
mod name;
mod polynomial;
mod recipe;
mod saddle;
mod spectrum;
mod sweeps;

#[doc(hidden)]
pub use colouring::{Read, order_of_colours};
pub use name::{PreconditionerName, TriangularSolver};
pub use recipe::PreconditionerOptions;
pub use spectrum::SpectralBound;

use host::error::{Error, check_length, check_square};
use host::executor::Executor;
use host::format::Csr;
use host::memory::{Buffer, filled};
use host::plan::{Plan, Vector};
use host::real::Scalar;
use recipe::not_updatable;

pub(crate) use diagonal::Diagonal;
pub(crate) use recipe::{Inverse, Recipe, inverse_of, plan_in_memory, shown};

use super::operator::Operator;
use crate::dense::{Columns, ColumnsMut, FIRST_SLOT, ONE, Space};
use crate::multigrid::{self, Multigrid, MultigridReport, NearNullSpace};

/// An approximation of the inverse of a matrix, as an [`Operator`]: the same bits every time on the same device.
pub struct Preconditioner<T: Scalar, E: Executor> {
    rows: usize,
    symmetric: bool,
    space: Space<E>,
    /// M x, if it is to be added to a vector.
    product: Vector<T, E>,
    /// The identity, if adding takes complex factors.
    identity: Option<Plan<T, E>>,
    inverse: Box<dyn Inverse<T, E> + Send>,
    /// For updates: the pattern, and memory for values.
    matrix: Option<Csr<T>>,
}

impl<T: Scalar, E: Executor> Preconditioner<T, E> {
    /// Creates the preconditioner `name` of a square matrix, with the default options.
    ///
    /// # Errors
    /// When the matrix is not square, a pivot has no inverse, sweeps would increase the error of a triangular solve, a
    /// number in the name is invalid, or memory runs out.
    pub fn new(executor: &E, matrix: &Csr<T>, name: PreconditionerName) -> Result<Self, Error> {
        Self::with_options(executor, matrix, name, PreconditionerOptions::default())
    }

    /// [`new`](Self::new) with the given options.
    ///
    /// # Errors
    /// As for [`new`](Self::new), and when an option is invalid.
    pub fn with_options(
        executor: &E,
        matrix: &Csr<T>,
        name: PreconditionerName,
        options: PreconditionerOptions,
    ) -> Result<Self, Error> {
        check_square("the matrix", matrix.rows(), matrix.columns())?;
        name.check()?;
        // Written so that a NaN is rejected.
        if !(options.diagonal_shift >= 0.0 && options.diagonal_shift.is_finite()) {
            let value = options.diagonal_shift.to_string();
            return Err(Error::Setting { what: "the diagonal shift", value, expected: "0 or more" });
        }
        let recipe = match name {
            PreconditionerName::Jacobi => jacobi::recipe(executor, matrix, options),
            PreconditionerName::BlockJacobi { size } => block_jacobi::recipe(executor, matrix, size as usize, options),
            PreconditionerName::Neumann { degree } => polynomial::neumann(executor, matrix, degree, options),
            PreconditionerName::Chebyshev { degree } => polynomial::chebyshev(executor, matrix, degree, options),
            PreconditionerName::Ilu0(solver) => ilu0::recipe(executor, matrix, solver, options),
            PreconditionerName::Ic0(solver) => ic0::recipe(executor, matrix, solver, options),
            PreconditionerName::Amg(options_of_amg) => {
                multigrid::recipe(executor, matrix, options_of_amg, None, options)
            }
            PreconditionerName::Saddle(options_of_amg) => saddle::recipe(executor, matrix, options_of_amg, options),
        }?;
        Self::from_recipe(executor, matrix, recipe, options)
    }

    /// Creates multigrid with vectors that the coarse levels must represent.
    ///
    /// ```
    /// use host::Csr;
    /// use host::executor::Cpu;
    /// use solvers::multigrid::{Multigrid, NearNullSpace};
    /// use solvers::preconditioner::{Preconditioner, PreconditionerOptions};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// // Two nodes in the plane and a spring between them, each held by weak springs.
    /// let (rows, columns) = ([0, 0, 1, 2, 2, 3], [0, 2, 1, 0, 2, 3]);
    /// let matrix = Csr::try_from_triplets(4, 4, &rows, &columns, &[1.1, -1.0, 0.1, -1.0, 1.1, 0.1])?;
    /// let modes = NearNullSpace::rigid_body_modes(2, &[0.0, 0.0, 1.0, 0.0])?;
    /// let amg = Multigrid { node: 2, ..Multigrid::default() };
    /// let options = PreconditionerOptions::default();
    /// let preconditioner = Preconditioner::multigrid(&Cpu::new(), &matrix, amg, modes, options)?;
    /// assert_eq!(preconditioner.multigrid_report().map(|report| report.levels.len()), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`with_options`](Self::with_options), and when the number of rows of the vectors is not the matrix's.
    pub fn multigrid(
        executor: &E,
        matrix: &Csr<T>,
        multigrid: Multigrid,
        near_null_space: NearNullSpace<T>,
        options: PreconditionerOptions,
    ) -> Result<Self, Error> {
        check_square("the matrix", matrix.rows(), matrix.columns())?;
        let recipe = multigrid::recipe(executor, matrix, multigrid, Some(near_null_space), options)?;
        Self::from_recipe(executor, matrix, recipe, options)
    }

    fn from_recipe(
        executor: &E,
        matrix: &Csr<T>,
        Recipe { inverse, symmetric, scalars }: Recipe<T, E>,
        options: PreconditionerOptions,
    ) -> Result<Self, Error> {
        let rows = matrix.rows();
        let mut space = Space::new(executor, FIRST_SLOT + scalars.len() as u32, 1)?;
        space.set(&(FIRST_SLOT..).zip(scalars).collect::<Vec<_>>())?;
        let matrix = if options.updates { Some(matrix.try_clone()?) } else { None };
        Ok(Self { rows, symmetric, space, product: executor.zeros(rows)?, identity: None, inverse, matrix })
    }

    /// Returns the preconditioner's executor.
    pub fn executor(&self) -> &E {
        self.space.executor()
    }

    /// Returns the report of multigrid; `None` for other preconditioners.
    pub fn multigrid_report(&self) -> Option<&MultigridReport> {
        self.inverse.report()
    }

    /// Updates the preconditioner for new values of the matrix: one per entry, in the order of the original [`Csr`],
    /// including duplicate entries. The result has the same bits as a new preconditioner. The analysis of the pattern, such
    /// as the solution order of triangular factors, is kept; only numbers are computed, on the host, and replaced.
    ///
    /// The preconditioner must have been made with [`PreconditionerOptions::updates`].
    ///
    /// ```
    /// use host::Csr;
    /// use host::executor::Cpu;
    /// use solvers::Operator;
    /// use solvers::preconditioner::{Preconditioner, PreconditionerName, PreconditionerOptions};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1, 1], &[0, 1, 0, 1], &[4.0, 1.0, 1.0, 3.0])?;
    /// let options = PreconditionerOptions { updates: true, ..PreconditionerOptions::default() };
    /// let mut preconditioner = Preconditioner::with_options(&Cpu::new(), &matrix, PreconditionerName::Jacobi, options)?;
    /// preconditioner.update_values(&[8.0, 1.0, 1.0, 5.0])?;
    /// let mut z = vec![0.0; 2];
    /// preconditioner.apply(1.0, &vec![1.0; 2], 0.0, &mut z)?;
    /// assert_eq!(z, [0.125, 0.2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the number of values is not that of the entries, the preconditioner was not made for updates, a pivot has no
    /// inverse, sweeps would increase the error of a triangular solve, memory runs out, or the device fails. Unless the
    /// device fails, the preconditioner is then unchanged.
    pub fn update_values(&mut self, values: &[T]) -> Result<(), Error> {
        let Some(matrix) = &mut self.matrix else { return Err(not_updatable()) };
        check_length("values", values.len(), matrix.nnz())?;
        matrix.values_mut().copy_from_slice(values);
        self.inverse.update(&mut self.space, matrix)
    }
}

impl<T: Scalar, E: Executor> Operator<T, E> for Preconditioner<T, E> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.rows
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        check_length("x", x.len(), self.rows)?;
        check_length("y", y.len(), self.rows)?;
        let Self { space, product, identity, inverse, .. } = self;
        if (alpha, beta) == (T::ONE, T::ZERO) {
            return inverse.apply(space, x, y);
        }
        inverse.apply(space, x, product)?;
        let ([alpha_re, alpha_im], [beta_re, beta_im]) = (alpha.parts(), beta.parts());
        if [alpha_im, beta_im] == [0.0; 2] {
            let (alpha, beta) = (T::Real::from_f64(alpha_re), T::Real::from_f64(beta_re));
            return space.combine(alpha, Columns::of(product), ONE, beta, ColumnsMut::of(y));
        }
        let identity = match identity {
            Some(identity) => identity,
            none => none.insert(diagonal::plan(space.executor(), filled(self.rows, T::ONE)?, false)?),
        };
        identity.apply(alpha, product, beta, y)
    }

    fn iterations_between_looks(&self) -> Option<u32> {
        self.inverse.iterations_between_looks()
    }

    /// For preconditioners that are symmetric for any A: Jacobi, and IC(0) of real numbers.
    fn apply_transposed(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        if self.symmetric {
            return self.apply(alpha, x, beta, y);
        }
        Err(Error::Operator { operation: "transposed product" })
    }
}
