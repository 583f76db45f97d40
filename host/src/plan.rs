//! A matrix on an executor, ready for multiplication.

mod automatic;
mod fused;
mod narrow;
#[cfg(test)]
mod tests;
mod transpose;
mod update;

use self::narrow::{narrowed, recipe};
use self::transpose::Transpose;
pub use self::transpose::Transposed;
use self::update::Kept;
#[doc(hidden)]
pub use self::update::NewValues;
use crate::error::Error;
use crate::executor::Executor;
use crate::format::{Csr, FillLimit, Format, Matrix, ValueStorage};
use crate::memory::{HostMemory, Memory};
use crate::real::Scalar;
use crate::select::{Choice, Measure, Selection};
use crate::spmv::transposed::Transposition;
use crate::spmv::{
    HostOperands, Multivector, MultivectorOperands, MultivectorProduct, Operands, Product, ProductOperands,
    Reservation, SliceProduct, TransposedProduct, Workspace,
};

/// A vector in the memory of executor `E`.
pub type Vector<T, E> = <<E as Executor>::Memory as Memory>::Buffer<T>;

/// Options and requirements of a [`Plan`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanOptions {
    /// How much the format may inflate the matrix.
    pub fill_limit: FillLimit,
    /// Whether the same call must give the same bits every time. Formats that cannot guarantee this are rejected, never
    /// substituted.
    pub reproducible: bool,
    /// Whether [`Plan::update_values`] will be called. In formats other than CSR and COO, the plan then keeps the pattern of
    /// the matrix, and the order of a stored transpose: [`update_bytes`](Plan::update_bytes) in total.
    pub updates: bool,
    /// Whether a plan for [`updates`](Self::updates) keeps the slot of each entry in the format instead of the pattern: 2.5
    /// to 10 bytes per entry, less if neighbours in a row or in a column of slots are neighbours in the matrix; on the host,
    /// 4 bytes per slot. New values then overwrite the old ones in one pass, without a conversion, and recordings stay
    /// valid. Finding the slots takes one or two more conversions when the plan is made. If entries do not have a slot of
    /// their own, the pattern is kept nevertheless: for pairs of a symmetric format, and if a format [adds
    /// up](Format::sums_duplicates) duplicate entries.
    pub keep_places: bool,
    /// How the values are stored. [`ValueStorage::Lossless`] leaves them as they are in a format that does not [multiply
    /// narrow values](Format::multiplies_narrow). With narrow values, only [`Plan::apply`] and a stored transpose can
    /// multiply, and there are no [`updates`](Self::updates).
    pub values: ValueStorage,
    /// How [`Plan::apply_transposed`] and [`Plan::apply_conjugate_transposed`] multiply.
    pub transposed: Transposed,
}

/// A matrix in the memory of an executor, in a format, with the workspace for its products: at most one number per warp of
/// the device; for [`Format::CSR_TILED`] five indices and two numbers per 3,808 rows and entries; for [`Format::Coo16`] one
/// number per row panel and, except on a CPU, per entry; for [`Format::ColumnPanels`] one number per piece of a row.
///
/// The plan owns both, so no workspace is ever used with another matrix or outlives its matrix; and it holds a handle
/// of its executor, so a struct can keep it together with the vectors that it multiplies:
///
/// ```
/// # use host::executor::Cpu;
/// # use host::{Csr, Error, Format, Plan, Vector};
/// struct Heat {
///     plan: Plan<f64, Cpu>,
///     temperatures: Vector<f64, Cpu>,
///     changes: Vector<f64, Cpu>,
/// }
///
/// impl Heat {
///     fn new(matrix: Csr<f64>, temperatures: Vec<f64>) -> Result<Self, Error> {
///         let changes = vec![0.0; temperatures.len()];
///         Ok(Self { plan: Plan::with_format(&Cpu::new(), matrix, Format::COO)?, temperatures, changes })
///     }
///
///     fn step(&mut self) -> Result<(), Error> {
///         self.plan.apply(0.1, &self.temperatures, 0.0, &mut self.changes)
///     }
/// }
/// ```
///
/// A plan cannot be used after its matrix has been taken out:
///
/// ```compile_fail,E0382
/// # use host::executor::{Cpu, Executor};
/// # use host::{Csr, Format, Plan};
/// # fn main() -> Result<(), host::Error> {
/// # let cpu = Cpu::new();
/// # let matrix = Csr::try_from_triplets(1, 1, &[0], &[0], &[1.0])?;
/// let mut plan = Plan::with_format(&cpu, matrix, Format::COO)?;
/// let (x, mut y) = (vec![2.0], vec![0.0]);
/// let matrix = plan.into_matrix();
/// plan.apply(1.0, &x, 0.0, &mut y)?; // The matrix is elsewhere.
/// # Ok(())
/// # }
/// ```
pub struct Plan<T: Scalar, E: Executor> {
    executor: E,
    format: Format,
    matrix: Matrix<T, E::Memory>,
    workspace: Workspace<T, E::Memory>,
    /// For updates, if they were requested and the format needs it.
    kept: Option<Kept<E::Memory>>,
    transpose: Option<Transpose<T, E>>,
    /// As in [`PlanOptions`].
    reproducible: bool,
    /// Why the format was chosen, for a plan that chose it.
    choice: Option<Choice>,
}

impl<T: Scalar, E: Executor> Plan<T, E> {
    /// Moves `matrix` to the executor in the format that is predicted to be the fastest for [some
    /// multiplications](Selection::MULTIPLICATIONS) there, including the conversion. Same as [`automatic`](Self::automatic)
    /// with the default [`Selection`], which may try formats and record their speed in a file of the user's.
    ///
    /// # Errors
    /// When no format can be chosen, memory runs out, or the device fails.
    pub fn new(executor: &E, matrix: Csr<T>) -> Result<Self, Error> {
        Self::automatic(executor, matrix, &Selection::default())
    }

    /// Moves `matrix` to the executor and converts it to `format` there, with the default [`PlanOptions`]. During the
    /// conversion, the executor's memory holds both. If that is too much, use [`from_matrix`](Self::from_matrix) with a
    /// matrix converted on the host.
    ///
    /// # Errors
    /// When the format would take more than the default [`FillLimit`], or memory runs out.
    pub fn with_format(executor: &E, matrix: Csr<T>, format: Format) -> Result<Self, Error> {
        Self::with_options(executor, matrix, format, PlanOptions::default())
    }

    /// [`with_format`](Self::with_format) with other options. [`Format::Auto`] is [`automatic`](Self::automatic) with the
    /// default [`Selection`], except for the fill limit.
    ///
    /// # Errors
    /// When the format cannot satisfy the options, or memory runs out.
    pub fn with_options(executor: &E, matrix: Csr<T>, format: Format, options: PlanOptions) -> Result<Self, Error> {
        if format == Format::Auto {
            let transpose = Transpose::with_options(executor, &matrix, options)?;
            let plan = Self::automatic(executor, matrix, &selection(options))?;
            return Ok(Self { reproducible: options.reproducible, transpose, ..plan });
        }
        if options.reproducible && !format.reproducible() {
            return Err(not_reproducible(format));
        }
        let transpose = Transpose::with_options(executor, &matrix, options)?;
        let format = format.resolve(&matrix);
        let plan = Self::converted(executor, matrix.upload(executor)?, format, options)?;
        Ok(Self { reproducible: options.reproducible, transpose, ..plan })
    }

    /// [`with_options`](Self::with_options) for a matrix that is already in the executor's memory, such as one of
    /// [borrowed](crate::executor) arrays; it is converted there. [`Format::Auto`] is
    /// [`automatic_in_memory`](Self::automatic_in_memory) with the default [`Selection`]. A transpose to be stored is made
    /// from a copy on the host.
    ///
    /// ```
    /// use host::executor::Cpu;
    /// use host::{Csr, Format, Plan, PlanOptions};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let cpu = Cpu::new();
    /// let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?.upload(&cpu)?;
    /// let mut plan = Plan::in_memory(&cpu, matrix, Format::SELL_P, PlanOptions::default())?;
    /// let mut y = vec![0.0; 2];
    /// plan.apply(1.0, &vec![1.0, 10.0, 100.0], 0.0, &mut y)?;
    /// assert_eq!(y, [1.0, 320.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`with_options`](Self::with_options), and when the matrix belongs to another executor.
    pub fn in_memory(
        executor: &E,
        matrix: Csr<T, E::Memory>,
        format: Format,
        options: PlanOptions,
    ) -> Result<Self, Error> {
        if format != Format::Auto && options.reproducible && !format.reproducible() {
            return Err(not_reproducible(format));
        }
        let transpose = match options.transposed.stored() {
            Some(_) => Transpose::with_options(executor, &matrix.to_host(executor)?, options)?,
            None => None,
        };
        let plan = match format {
            Format::Auto => Self::automatic_in_memory(executor, matrix, &selection(options))?,
            format => {
                let format = resolved(executor, &matrix, format)?;
                Self::converted(executor, matrix, format, options)?
            }
        };
        Ok(Self { reproducible: options.reproducible, transpose, ..plan })
    }

    /// A plan of a matrix in the executor's memory, in a format that does not stand for others. The caller is responsible
    /// for the options, except for updates.
    fn converted(executor: &E, matrix: Csr<T, E::Memory>, format: Format, options: PlanOptions) -> Result<Self, Error> {
        let recipe = recipe(executor, &matrix, format, options.values, options.updates)?;
        let kept = match options.updates {
            true => Kept::for_updates(executor, &matrix, format, options.fill_limit, options.keep_places)?,
            false => None,
        };
        let matrix = matrix.convert(executor, format, options.fill_limit)?;
        let matrix = narrowed(executor, matrix, format, recipe.as_ref())?;
        Ok(Self { kept, ..Self::from_converted(executor, matrix, format)? })
    }

    /// Why the format was chosen, and which ones were considered; only for a plan made for [`Format::Auto`].
    pub fn explain(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }

    /// Moves a matrix that is already stored as `format` requires to the executor.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn from_matrix(executor: &E, matrix: Matrix<T>, format: Format) -> Result<Self, Error> {
        let format = match &matrix {
            Matrix::Csr(matrix) => format.resolve(matrix),
            _ => format,
        };
        Self::from_converted(executor, matrix.upload(executor)?, format)
    }

    /// Takes a matrix that is already in the executor's memory, stored as `format` requires. A format that [stands for
    /// others](Format::resolve) is resolved to one of them.
    ///
    /// # Errors
    /// When memory runs out, or blocks of the device cannot have the shared memory that [`Format::Coo16`],
    /// [`Format::ColumnPanels`] or [`Format::Clustered`] needs.
    pub fn from_converted(executor: &E, matrix: Matrix<T, E::Memory>, format: Format) -> Result<Self, Error> {
        let workspace = workspace(executor, &matrix, format)?;
        let executor = executor.clone();
        Ok(Self { executor, format, matrix, workspace, kept: None, transpose: None, reproducible: false, choice: None })
    }

    /// Switches to another format that is stored in the same way (see [`Format::storage`]), without moving the matrix.
    /// A format that [stands for others](Format::resolve) is resolved to one of them.
    ///
    /// # Errors
    /// When the plan must be reproducible and the format is not, or memory runs out.
    pub fn set_format(&mut self, format: Format) -> Result<(), Error> {
        if self.reproducible && !format.reproducible() {
            return Err(not_reproducible(format));
        }
        self.workspace = workspace(&self.executor, &self.matrix, format)?;
        self.format = format;
        Ok(())
    }

    /// y ← α A x + β y; with β = 0, y is overwritten and never read.
    ///
    /// # Errors
    /// When α or β is not finite, a vector has the wrong length, or the device fails.
    pub fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        let operands = Operands { alpha, x, beta, y };
        let (matrix, format, workspace) = (&self.matrix, self.format, &mut self.workspace);
        self.executor.run::<Product<T>>(ProductOperands { matrix, format, operands, workspace })
    }

    /// y ← A x, with another handle of the same executor.
    #[cfg(feature = "cuda")]
    pub(crate) fn apply_by(&mut self, executor: &E, x: &Vector<T, E>, y: &mut Vector<T, E>) -> Result<(), Error> {
        let operands = Operands { alpha: T::ONE, x, beta: T::ZERO, y };
        let (matrix, format, workspace) = (&self.matrix, self.format, &mut self.workspace);
        executor.run::<Product<T>>(ProductOperands { matrix, format, operands, workspace })
    }

    /// Y ← α A X + β Y for several vectors at once; with β = 0, Y is overwritten and never read. X has `shape.vectors`
    /// vectors with an element per column, Y as many with an element per row, both in the layout of `shape`. The matrix is
    /// read once per 32 vectors, in CSR on a GPU once per 64 interleaved vectors (on the CPU in column-major layout once per
    /// vector); O(nnz) work per vector. The result has the same bits every time, on a GPU for X and Y that begin at
    /// multiples of 16 bytes, as an executor's arrays do. The first call reserves the workspace that a format needs, and so
    /// may allocate: kernels that are given 8 or more consecutive vectors interleave up to 32 of them at a time, with room
    /// for those of X and of Y.
    ///
    /// # Errors
    /// When α or β is not finite, the size of X or Y does not match the matrix and `shape`, the executor cannot do it in
    /// this format (see [`Format::multiplies_multivectors`]), memory runs out, or the device fails.
    pub fn apply_multivector(
        &mut self,
        shape: Multivector,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        let operands = MultivectorOperands { shape, alpha, x, beta, y };
        let (matrix, format, workspace) = (&self.matrix, self.format, &mut self.workspace);
        self.executor.run::<MultivectorProduct<T>>(ProductOperands { matrix, format, operands, workspace })
    }

    /// y ← α Aᵀ x + β y; with β = 0, y is overwritten and never read. x has an element per row, y one per column.
    ///
    /// If the plan's options request it, the transpose is [stored](Transposed::Stored), and the product is that of any
    /// matrix: the same bits every time in a reproducible format. Concurrent calls from several threads multiply
    /// sequentially.
    ///
    /// Otherwise the matrix itself is used, which takes no memory on a GPU: kernels add to y
    /// [atomically](Transposed::Atomic), in O(nnz + columns), which is fast if few entries share a column, but does not give
    /// the same bits every time. The CPU's result is the same for any number of threads; it takes memory for at most as many
    /// sums as there are entries, or columns if those are more.
    ///
    /// ```
    /// use host::executor::Cpu;
    /// use host::{Csr, Format, Plan, PlanOptions, Transposed};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?;
    /// let transposed = Transposed::Stored(Format::CSR_TILED);
    /// let options = PlanOptions { reproducible: true, transposed, ..PlanOptions::default() };
    /// let plan = Plan::with_options(&Cpu::new(), matrix, Format::SELL_P, options)?;
    /// let mut y = vec![0.0; 3];
    /// plan.apply_transposed(1.0, &vec![1.0, 10.0], 0.0, &mut y)?;
    /// assert_eq!(y, [1.0, 20.0, 30.0]);
    /// // Row offsets, column indices and values.
    /// assert_eq!(plan.transpose_bytes(), 4 * 4 + 3 * (4 + 8));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When α or β is not finite, a vector has the wrong length, memory runs out, or the device fails. If the transpose is
    /// not stored, also when the executor cannot do it in this format (see [`Format::multiplies_transposed`]), or the plan
    /// must be reproducible.
    pub fn apply_transposed(&self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        self.transposed(Transposition::Plain, Operands { alpha, x, beta, y })
    }

    /// y ← α Aᴴ x + β y, otherwise as [`apply_transposed`](Self::apply_transposed), whether the conjugate transpose is
    /// [stored](Transposed::StoredConjugate) or not; the same for a real matrix.
    ///
    /// # Errors
    /// As for [`apply_transposed`](Self::apply_transposed).
    pub fn apply_conjugate_transposed(
        &self,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        self.transposed(Transposition::Conjugate, Operands { alpha, x, beta, y })
    }

    fn transposed(&self, transposition: Transposition, operands: Operands<'_, T, E::Memory>) -> Result<(), Error> {
        if let Some(transpose) = self.transpose.as_ref().filter(|transpose| transpose.is(transposition)) {
            return transpose.apply(operands);
        }
        if self.reproducible && !self.format.reproducible_transposed() {
            let what = format!("{}, transposed,", self.format);
            return Err(Error::NotReproducible {
                what,
                instead: "store the transpose, by `transposed` in the options",
            });
        }
        self.executor.run::<TransposedProduct<T>>((&self.matrix, self.format, transposition, operands))
    }

    /// The format of the products: if the requested one stands for others, the one that [`Format::resolve`] chose.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Takes the matrix out of the plan. A stored transpose is dropped.
    pub fn into_matrix(self) -> Matrix<T, E::Memory> {
        self.matrix
    }

    /// The executor.
    pub fn executor(&self) -> &E {
        &self.executor
    }

    /// The matrix.
    pub fn matrix(&self) -> &Matrix<T, E::Memory> {
        &self.matrix
    }
}

impl<T: Scalar, E: Executor<Memory = HostMemory>> Plan<T, E> {
    /// [`apply`](Self::apply) for vectors that are parts of other arrays, or not in a `Vec`, without copies. For executors
    /// with host memory.
    ///
    /// ```
    /// # use host::executor::Cpu;
    /// # use host::{Csr, Plan};
    /// # fn main() -> Result<(), host::Error> {
    /// let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?;
    /// let mut plan = Plan::new(&Cpu::new(), matrix)?;
    /// let (x, mut y) = ([1.0, 10.0, 100.0], [0.0; 5]);
    /// plan.apply_slices(1.0, &x, 0.0, &mut y[3..])?;
    /// assert_eq!(y, [0.0, 0.0, 0.0, 1.0, 320.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`apply`](Self::apply).
    pub fn apply_slices(&mut self, alpha: T, x: &[T], beta: T, y: &mut [T]) -> Result<(), Error> {
        let operands = HostOperands { alpha, x, beta, y };
        let (matrix, format, workspace) = (&self.matrix, self.format, &mut self.workspace);
        self.executor.run::<SliceProduct<T>>(ProductOperands { matrix, format, operands, workspace })
    }
}

/// The selection of a format for a plan with these options.
fn selection(options: PlanOptions) -> Selection {
    let PlanOptions { fill_limit, updates, keep_places, values, .. } = options;
    let mut selection = Selection { fill_limit, updates, keep_places, values, ..Selection::default() };
    if options.reproducible {
        // Another format may be the fastest the next time, and would round differently.
        (selection.measure, selection.store) = (Measure::Never, None);
    }
    selection
}

/// [`Format::resolve`] for a matrix in an executor's memory. If that needs the rows' lengths, the offsets are copied to the
/// host.
fn resolved<T: Scalar, E: Executor>(executor: &E, matrix: &Csr<T, E::Memory>, format: Format) -> Result<Format, Error> {
    let mut failed = None;
    let format = format.resolved_by(matrix.rows(), || {
        matrix.row_offsets().to_host(executor).map(|offsets| offsets.longest()).unwrap_or_else(|error| {
            failed = Some(error);
            0
        })
    });
    failed.map_or(Ok(format), Err)
}

/// Reserves the workspace that a format needs.
fn workspace<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Matrix<T, E::Memory>,
    format: Format,
) -> Result<Workspace<T, E::Memory>, Error> {
    let mut workspace = Workspace::new(executor)?;
    executor.run::<Reservation<T>>((matrix, format, &mut workspace))?;
    Ok(workspace)
}

fn not_reproducible(format: Format) -> Error {
    Error::NotReproducible { what: format.to_string(), instead: "choose another format" }
}
