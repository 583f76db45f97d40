//! A matrix on an executor, ready to be multiplied.

use crate::error::Error;
use crate::executor::{Executor, Upload};
use crate::format::{Csr, FillLimit, Format, Matrix};
use crate::memory::{Buffer, Memory};
use crate::real::Real;
use crate::spmv::{Multivector, MultivectorOperands, Operands, Workspace, carries, multivector_carries};

/// A vector in the memory of executor `E`.
pub type Vector<T, E> = <<E as Executor>::Memory as Memory>::Buffer<T>;

/// What a [`Plan`] may and must do.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanOptions {
    /// How much the format may blow the matrix up.
    pub fill_limit: FillLimit,
    /// Whether the same call must give the same bits every time. A format that cannot promise it is then an error:
    /// never is another one taken in its place.
    pub reproducible: bool,
}

/// A matrix in the memory of an executor, in a format, with the workspace that multiplying it takes.
pub struct Plan<'e, T: Real, E: Executor> {
    executor: &'e E,
    format: Format,
    matrix: Matrix<T, E::Memory>,
    workspace: Workspace<T, E::Memory>,
    /// As in [`PlanOptions`].
    reproducible: bool,
}

impl<'e, T: Real, E: Executor> Plan<'e, T, E> {
    /// Moves `matrix` to the executor and converts it to `format` there, with the default [`PlanOptions`]: while it is
    /// converted, the executor's memory holds both. Where that is too much, [`from_matrix`](Self::from_matrix) takes
    /// one that was converted on the host.
    ///
    /// # Errors
    /// When the format would take more than the default [`FillLimit`], or memory runs out.
    pub fn new(executor: &'e E, matrix: Csr<T>, format: Format) -> Result<Self, Error> {
        Self::with_options(executor, matrix, format, PlanOptions::default())
    }

    /// [`new`](Self::new) with other options.
    ///
    /// # Errors
    /// When the format cannot keep to the options, or memory runs out.
    pub fn with_options(executor: &'e E, matrix: Csr<T>, format: Format, options: PlanOptions) -> Result<Self, Error> {
        if options.reproducible && !format.reproducible() {
            return Err(not_reproducible(format));
        }
        let format = format.resolve(&matrix);
        let matrix = executor.convert(executor.upload_csr(matrix)?, format, options.fill_limit)?;
        Ok(Self { reproducible: options.reproducible, ..Self::from_converted(executor, matrix, format)? })
    }

    /// Moves a matrix that is already stored as `format` needs it to the executor.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn from_matrix(executor: &'e E, matrix: Matrix<T>, format: Format) -> Result<Self, Error> {
        let format = match &matrix {
            Matrix::Csr(matrix) => format.resolve(matrix),
            _ => format,
        };
        Self::from_converted(executor, matrix.transfer(&Upload(executor))?, format)
    }

    /// Takes a matrix that is already in the executor's memory, stored as `format` needs it. A format that
    /// [stands for others](Format::resolve) is one of those here.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn from_converted(executor: &'e E, matrix: Matrix<T, E::Memory>, format: Format) -> Result<Self, Error> {
        let workspace = workspace(executor, &matrix, format)?;
        Ok(Self { executor, format, matrix, workspace, reproducible: false })
    }

    /// Takes another format that is stored the same way, as [`Format::storage`] tells; the matrix stays where it is. A
    /// format that [stands for others](Format::resolve) is one of those here.
    ///
    /// # Errors
    /// When the plan must be reproducible and the format is not, or memory runs out.
    pub fn set_format(&mut self, format: Format) -> Result<(), Error> {
        if self.reproducible && !format.reproducible() {
            return Err(not_reproducible(format));
        }
        self.workspace = workspace(self.executor, &self.matrix, format)?;
        self.format = format;
        Ok(())
    }

    /// y ← α A x + β y; with β = 0, y is overwritten and never read.
    ///
    /// # Errors
    /// When a vector does not fit the matrix, or the device fails.
    pub fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        let operands = Operands { alpha, x, beta, y };
        self.executor.multiply(&self.matrix, self.format, operands, &mut self.workspace)
    }

    /// Y ← α A X + β Y for several vectors at once; with β = 0, Y is overwritten and never read. X has `shape.vectors`
    /// vectors of an element for each column, Y as many of an element for each row, both in the layout of `shape`. The
    /// matrix is read once for each 32 vectors (by the CPU in column-major layout once for each vector); O(nnz) work
    /// for each vector. The same bits every time. The first call makes room for what a format needs besides, and so
    /// may allocate.
    ///
    /// # Errors
    /// When X or Y does not fit the matrix and `shape`, the executor cannot do it in this format (see
    /// [`Format::multiplies_multivectors`]), memory runs out, or the device fails.
    pub fn apply_multivector(
        &mut self,
        shape: Multivector,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        let (rows, values) = multivector_carries(&self.matrix, self.executor.device());
        if self.workspace.carry_rows.len() < rows {
            self.workspace.carry_rows = self.executor.zeros(rows)?;
        }
        if self.workspace.carry_values.len() < values {
            self.workspace.carry_values = self.executor.zeros(values)?;
        }
        self.workspace.carry_rows_known = false;
        let operands = MultivectorOperands { shape, alpha, x, beta, y };
        self.executor.multiply_multivector(&self.matrix, self.format, operands, &mut self.workspace)
    }

    /// y ← α Aᵀ x + β y without storing the transpose; with β = 0, y is overwritten and never read. x has an element
    /// for each row, y one for each column.
    ///
    /// Kernels on a GPU add to y atomically, O(nnz + columns): fast where few entries share a column, and not the same
    /// bits every time. The CPU's result is the same for any number of threads; it takes memory for at most as many
    /// sums as there are entries, or columns if those are more. For the same bits everywhere, or for many
    /// multiplications, make a plan of [`Csr::transposed`] and [`apply`](Self::apply) it.
    ///
    /// # Errors
    /// When a vector does not fit the matrix, the executor cannot do it in this format (see
    /// [`Format::multiplies_transposed`]), the plan must be reproducible and
    /// [`Format::reproducible_transposed`] is false, memory runs out, or the device fails.
    pub fn apply_transposed(&self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        if self.reproducible && !self.format.reproducible_transposed() {
            let what = format!("{}, transposed,", self.format);
            return Err(Error::NotReproducible { what, instead: "make a plan of Csr::transposed" });
        }
        self.executor.multiply_transposed(&self.matrix, self.format, Operands { alpha, x, beta, y })
    }

    /// The format that is multiplied with: where the one asked for stands for others, the one that
    /// [`Format::resolve`] chose.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The matrix, which is then no longer a plan's.
    pub fn into_matrix(self) -> Matrix<T, E::Memory> {
        self.matrix
    }

    /// The matrix.
    pub fn matrix(&self) -> &Matrix<T, E::Memory> {
        &self.matrix
    }
}

fn workspace<T: Real, E: Executor>(
    executor: &E,
    matrix: &Matrix<T, E::Memory>,
    format: Format,
) -> Result<Workspace<T, E::Memory>, Error> {
    let carries = carries(matrix, format, executor.device());
    let (carry_rows, carry_values) = (executor.zeros(carries)?, executor.zeros(carries)?);
    Ok(Workspace { carry_rows, carry_values, carry_rows_known: false })
}

fn not_reproducible(format: Format) -> Error {
    Error::NotReproducible { what: format.to_string(), instead: "choose another format" }
}
