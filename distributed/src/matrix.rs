//! A matrix with its rows divided among ranks.

use std::sync::Arc;

use host::error::check_length;
use host::executor::Executor;
use host::format::LARGEST_DIMENSION;
use host::memory::Buffer;
use host::{Csr, Epilogue, Format, Layout, Multivector, Plan, PlanOptions, ProductSums, Scalar, Vector};
use solvers::{Operator, Ranks};

use crate::communicator::Communicator;
use crate::error::Error;
use crate::exchange::{Engine, HaloExchange, Product, Route, exchange_of};
use crate::halo::Halo;
use crate::needed::Needed;
use crate::ranges::Ranges;
use crate::remote::Remote;
use crate::rows::{OwnRows, Rows, split};
use crate::timeline::{Step, Stopwatch, Timeline, Watch};

/// The division of a matrix's rows, and of the elements of x, among ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Rows of the matrix, and elements of y.
    pub rows: Ranges,
    /// Elements of x.
    pub columns: Ranges,
}

impl Distribution {
    /// Creates the distribution of a square matrix, with x divided like y.
    pub fn square(ranges: Ranges) -> Self {
        Self { rows: ranges.clone(), columns: ranges }
    }
}

/// Storage of a rank's part of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct MatrixOptions {
    /// The format of the entries in this rank's columns.
    pub local: Format,
    /// The format of the entries in columns of other ranks.
    pub remote: Format,
    /// The options of both plans.
    pub plan: PlanOptions,
    /// The route of elements of x between ranks.
    pub route: Route,
}

impl Default for MatrixOptions {
    /// Formats chosen without measuring, with the same bits every time.
    fn default() -> Self {
        let plan = PlanOptions { reproducible: true, ..PlanOptions::default() };
        Self { local: Format::Auto, remote: Format::Auto, plan, route: Route::Auto }
    }
}

/// A rank's part of a matrix: its rows, as one matrix of its own columns, and one of the columns of other ranks with
/// entries.
///
/// ```
/// use host::executor::{Cpu, Executor};
/// use host::Csr;
/// use warp_spmv_distributed::{DistributedMatrix, Distribution, MatrixOptions, Ranges, Rows, threads};
///
/// # fn main() -> Result<(), warp_spmv_distributed::Error> {
/// let parts = threads::run(2, |communicator| {
///     // Each rank makes its own rows of the matrix with 2 on the diagonal and -1 beside it.
///     let ranges = Ranges::even(6, communicator.ranks())?;
///     let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
///     for row in ranges.of(communicator.rank()) {
///         for column in row.saturating_sub(1)..=(row + 1).min(5) {
///             columns.push(column);
///             values.push(if column == row { 2.0 } else { -1.0 });
///         }
///         offsets.push(columns.len() as u64);
///     }
///     let rows = Rows::try_new(offsets, columns, values)?;
///     let (cpu, distribution) = (Cpu::new(), Distribution::square(ranges));
///     let mut matrix = DistributedMatrix::new(communicator, &cpu, distribution, rows, &MatrixOptions::default())?;
///     // One element of x comes from the other rank.
///     assert_eq!(matrix.halo(), 1);
///     let (x, mut y) = (cpu.upload(vec![1.0; 3])?, cpu.zeros(3)?);
///     matrix.apply(1.0, &x, 0.0, &mut y)?;
///     Ok(cpu.download(&y)?)
/// })?;
/// assert_eq!(parts.concat(), [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
/// # Ok(())
/// # }
/// ```
pub struct DistributedMatrix<T: Scalar, E: Executor> {
    communicator: Communicator,
    distribution: Distribution,
    local: Plan<T, E>,
    /// `None` if no row has an entry in a column of another rank.
    remote: Option<Remote<T, E>>,
    exchange: Box<dyn HaloExchange<T, E>>,
    engine: Engine,
    /// Numbers of elements received from other ranks, and sent to them.
    halo: usize,
    sent: usize,
    /// Whether both parts on every rank have formats that multiply several vectors at once.
    multiplies_multivectors: bool,
}

impl<T: Scalar, E: Executor> DistributedMatrix<T, E> {
    /// Creates the matrix from the rows of each rank. All ranks must call it. Each holds only its own rows, the
    /// columns that it needs from others, and which of its own the others need.
    ///
    /// # Errors
    /// When the ranks disagree on the distribution, the number of a rank's rows is wrong, an entry is past the last column,
    /// a rank has too many columns, a format cannot store its part, or memory runs out.
    pub fn new(
        communicator: &Communicator,
        executor: &E,
        distribution: Distribution,
        rows: Rows<T>,
        options: &MatrixOptions,
    ) -> Result<Self, Error> {
        Self::of(communicator, executor, distribution, rows, options)
    }

    /// [`new`](Self::new) with the rows as a separate matrix, with all columns of the whole. They are not copied, except to
    /// the executor.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn from_csr(
        communicator: &Communicator,
        executor: &E,
        distribution: Distribution,
        rows: &Csr<T>,
        options: &MatrixOptions,
    ) -> Result<Self, Error> {
        Self::of(communicator, executor, distribution, rows, options)
    }

    /// Implements both: rows passed by value are freed once they are divided.
    fn of<R: OwnRows<T>>(
        communicator: &Communicator,
        executor: &E,
        distribution: Distribution,
        rows: R,
        options: &MatrixOptions,
    ) -> Result<Self, Error> {
        distribution.rows.agree(communicator, "rows")?;
        distribution.columns.agree(communicator, "columns")?;
        let rank = communicator.rank();
        let (own_rows, own) = (distribution.rows.of(rank), distribution.columns.of(rank));
        check_length("the list of rows", rows.rows(), (own_rows.end - own_rows.start) as usize)?;
        check_dimension(own.end - own.start)?;
        let needed = Needed::of(&rows, own_rows.start, &own, distribution.columns.total())?;
        let halo_length = needed.columns().len();
        let halo = Halo::new(communicator, &distribution.columns, needed.columns())?;
        let (sent, length) = (halo.elements.len(), (own.end - own.start) as usize);
        let (exchange, engine) = exchange_of(communicator, executor, options.route, halo, length)?;
        let [local, remote] = split(&rows, own, &needed)?;
        drop(rows);
        drop(needed);
        let remote = match halo_length {
            0 => None,
            _ => Some(Remote::new(executor, remote, options)?),
        };
        let local = Plan::with_options(executor, local, options.local, options.plan)?;
        let multiplies =
            local.format().multiplies_multivectors() && remote.as_ref().is_none_or(Remote::multiplies_multivectors);
        let mut all = [u8::from(multiplies)];
        communicator.reduce(&mut all, u8::min)?;
        Ok(Self {
            communicator: communicator.clone(),
            distribution,
            local,
            remote,
            exchange,
            engine,
            halo: halo_length,
            sent,
            multiplies_multivectors: all == [1],
        })
    }

    /// y ← α A x + β y, where each rank has its elements of x and y; with β = 0, y is overwritten and never read. All ranks
    /// must call it with the same α and β. While elements of x are in transit, each rank multiplies its own. Returns the
    /// same bits every time for the same ranges.
    ///
    /// # Errors
    /// When α or β is not finite, a vector does not fit, a rank fails, memory runs out, or the device fails.
    pub fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        self.multiply((alpha, x, beta, y), None, None)
    }

    /// [`apply`](Self::apply) with the times of its steps on this rank. Blocks until previously queued work and the product
    /// have finished.
    ///
    /// # Errors
    /// As for [`apply`](Self::apply).
    pub fn apply_timed(
        &mut self,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<Timeline, Error> {
        let mut watch = Stopwatch::start(self.local.executor())?;
        self.multiply((alpha, x, beta, y), None, Some(&mut watch))?;
        watch.read()
    }

    /// y ← α A x + β y, and w · y if this rank's parts [can add it up](Self::fuses).
    fn multiply(
        &mut self,
        (alpha, x, beta, y): (T, &Vector<T, E>, T, &mut Vector<T, E>),
        mut sums: Option<ProductSums<'_, T, E::Memory>>,
        mut watch: Watch<'_, E>,
    ) -> Result<(), Error> {
        self.check(1, x, y)?;
        let Self { local, remote, exchange, .. } = self;
        let mut multiply = |watch: &mut Watch<'_, E>| {
            watched(watch, Step::Local, || match &mut sums {
                None => Ok(local.apply(alpha, x, beta, y)?),
                Some(ProductSums { with, squares, into }) => {
                    let sums = Some(ProductSums { with: &**with, squares: *squares, into: &mut **into });
                    Ok(local.apply_fused(alpha, x, beta, y, Epilogue { addend: None, sums })?)
                }
            })
        };
        let product = Product { vectors: 1, x, local: &mut multiply, remote: remote.as_mut() };
        exchange.exchange(product, watch.as_deref_mut())?;
        let (Some(remote), Some(received)) = (remote, exchange.received(1)) else { return Ok(()) };
        let step = if remote.is_multiplied() { Step::Add } else { Step::Remote };
        let sum = sums.map(|ProductSums { with, into, .. }| (with, into));
        watched(&mut watch, step, || remote.add(1, alpha, received, y, sum))
    }

    /// Returns whether a product can add up sums over its elements as it computes them.
    fn fuses(&self, squares: bool) -> bool {
        self.local.fuses() && self.remote.as_ref().is_none_or(|remote| !squares && remote.has_few_rows())
    }

    /// Y ← α A X + β Y for several vectors, stored consecutively in X and in Y; with β = 0, Y is overwritten and never
    /// read. Otherwise like [`apply`](Self::apply). Allocates if the number of vectors exceeds all previous ones.
    ///
    /// # Errors
    /// As for [`apply`](Self::apply), and on all ranks when a part on any of them has a format that does not multiply
    /// several vectors.
    pub fn apply_columns(
        &mut self,
        vectors: usize,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        if !self.multiplies_multivectors {
            return Err(host::Error::Operator { operation: "product with several vectors" }.into());
        }
        self.check(vectors, x, y)?;
        let Self { local, remote, exchange, .. } = self;
        let shape = Multivector { vectors, layout: Layout::ColumnMajor };
        let mut multiply = |_: &mut Watch<'_, E>| Ok(local.apply_multivector(shape, alpha, x, beta, y)?);
        exchange.exchange(Product { vectors, x, local: &mut multiply, remote: None }, None)?;
        match (remote, exchange.received(vectors)) {
            (Some(remote), Some(received)) => remote.add(vectors, alpha, received, y, None),
            _ => Ok(()),
        }
    }

    /// Checks the lengths of vectors.
    fn check(&self, vectors: usize, x: &Vector<T, E>, y: &Vector<T, E>) -> Result<(), Error> {
        let (rows, columns) = (self.local.matrix().rows(), self.local.matrix().columns());
        check_length("x", x.len(), columns.saturating_mul(vectors))?;
        Ok(check_length("y", y.len(), rows.saturating_mul(vectors))?)
    }

    /// Returns the route of elements of x between ranks.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the ranks.
    pub fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    /// Returns the division of rows and columns among ranks.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// Returns the entries in this rank's columns.
    pub fn local(&self) -> &Plan<T, E> {
        &self.local
    }

    /// Returns the entries in columns of other ranks, numbered among those with entries of this rank; `None` if there are
    /// no such entries.
    pub fn remote(&self) -> Option<&Remote<T, E>> {
        self.remote.as_ref()
    }

    /// Returns the number of elements of x received from other ranks for a product.
    pub fn halo(&self) -> usize {
        self.halo
    }

    /// Returns the number of elements of x sent to other ranks for a product: one that is sent to two counts twice.
    pub fn sent(&self) -> usize {
        self.sent
    }
}

/// Does a step of a product that may be timed.
fn watched<E: Executor>(
    watch: &mut Watch<'_, E>,
    step: Step,
    work: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(watch) = watch else { return work() };
    watch.begins(step)?;
    work()?;
    watch.ends(step)
}

/// Checks a number of columns of one rank.
pub(crate) fn check_dimension(columns: u64) -> Result<(), host::Error> {
    let limit = LARGEST_DIMENSION as u64;
    if columns <= limit {
        return Ok(());
    }
    let (value, limit) = (columns.into(), limit.into());
    Err(host::Error::TooLarge { what: "number of columns of a rank", value, limit })
}

/// The ranks of a square matrix, as solvers use them.
struct MatrixRanks {
    communicator: Communicator,
    /// Whether GPUs can access each other's memory.
    #[cfg(feature = "cuda")]
    reach: bool,
    first: usize,
    elements: usize,
}

impl<E: Executor> Ranks<E> for MatrixRanks {
    fn first(&self) -> usize {
        self.first
    }

    fn elements(&self) -> usize {
        self.elements
    }

    fn sum(&self, sums: &mut [f64]) -> Result<(), host::Error> {
        Ok(self.communicator.sum(sums)?)
    }

    #[cfg(feature = "cuda")]
    fn sums_in_memory(
        &self,
        executor: &E,
        sums: usize,
    ) -> Result<Option<Box<dyn solvers::SumsInMemory<E>>>, host::Error> {
        match self.reach {
            true => Ok(crate::exchange::sums::in_memory(&self.communicator, executor, sums)?),
            false => Ok(None),
        }
    }
}

/// The rank's part: solvers called on all ranks solve with the whole matrix.
impl<T: Scalar, E: Executor> Operator<T, E> for DistributedMatrix<T, E> {
    fn rows(&self) -> usize {
        self.local.matrix().rows()
    }

    fn columns(&self) -> usize {
        self.local.matrix().columns()
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), host::Error> {
        Ok(DistributedMatrix::apply(self, alpha, x, beta, y)?)
    }

    fn apply_with_sums(
        &mut self,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
        sums: ProductSums<'_, T, E::Memory>,
    ) -> Result<bool, host::Error> {
        let fuses = self.fuses(sums.squares);
        if fuses {
            self.multiply((alpha, x, beta, y), Some(sums), None)?;
        }
        Ok(fuses)
    }

    fn apply_columns(
        &mut self,
        vectors: usize,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<(), host::Error> {
        Ok(DistributedMatrix::apply_columns(self, vectors, alpha, x, beta, y)?)
    }

    fn ranks(&self) -> Option<Arc<dyn Ranks<E>>> {
        if self.communicator.ranks() == 1 {
            return None;
        }
        let rows = &self.distribution.rows;
        Some(Arc::new(MatrixRanks {
            communicator: self.communicator.clone(),
            #[cfg(feature = "cuda")]
            reach: matches!(self.engine, Engine::PeerCopies { direct: true }),
            first: rows.of(self.communicator.rank()).start as usize,
            elements: rows.total() as usize,
        }))
    }
}
