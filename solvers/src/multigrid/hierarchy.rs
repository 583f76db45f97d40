//! The levels of a matrix.

use std::time::{Duration, Instant};

use host::error::{Error, check_length};
use host::executor::Executor;
use host::format::{Csr, Format, Matrix};
use host::memory::{Buffer, Memory};
use host::plan::{Plan, PlanOptions};
use host::real::Scalar;
use host::sparse_product::SparseProduct;

use super::aggregation::Aggregate;
use super::coarsest;
use super::diagonal::{Divisor, InverseDiagonal, InvertDiagonal};
use super::graph::Nodes;
use super::near_null_space::Vectors;
use super::options::{Aggregation, Multigrid, Smoother};
use super::prolongation::{SmoothingMatrix, SmoothingOperands, TentativeProlongation};
use super::spectrum::largest_eigenvalue;
use super::start::EqualNodes;
use super::strength::StrongConnections;
use crate::preconditioner::Diagonal;

/// A coarse level with more than this share of the finer one's rows is not worthwhile.
const LEAST_REDUCTION: f64 = 0.8;

/// A level, in 64 bits and in the memory of an executor.
pub(super) struct Level<W: Scalar, M: Memory> {
    pub(super) matrix: Csr<W, M>,
    pub(super) solved: Solved<W, M>,
}

/// How a level is solved.
pub(super) enum Solved<W: Scalar, M: Memory> {
    /// By a smoother and the next coarser level.
    Smoothed(Smoothed<W, M>),
    /// Directly, by its inverse, a dense matrix: the last level.
    Inverse(Csr<W, M>),
}

/// Data of a smoothed level.
pub(super) struct Smoothed<W: Scalar, M: Memory> {
    /// One over the diagonal, or over the smoother's other divisor; 0 for a row of zeros.
    pub(super) inverse_diagonal: M::Buffer<W>,
    /// The largest eigenvalue of the matrix scaled by it; 1 if the smoother needs none.
    pub(super) largest: f64,
    /// The transfers to and from the next coarser level; `None` if the level cannot be made coarser.
    pub(super) transfers: Option<Transfers<W, M>>,
}

/// The transfers between two levels.
pub(super) struct Transfers<W: Scalar, M: Memory> {
    pub(super) prolongation: Csr<W, M>,
    pub(super) restriction: Csr<W, M>,
}

/// The levels of a matrix, from fine to coarse.
pub(super) struct Hierarchy<W: Scalar, M: Memory> {
    pub(super) levels: Vec<Level<W, M>>,
    /// Duration of each step of the setup.
    pub(super) times: SetupTimes,
}

/// Durations of the steps of the setup, over all levels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SetupTimes {
    pub(super) copies: Duration,
    pub(super) connections: Duration,
    pub(super) aggregates: Duration,
    pub(super) prolongation: Duration,
    pub(super) products: Duration,
    pub(super) eigenvalues: Duration,
    pub(super) coarsest: Duration,
    pub(super) formats: Duration,
}

/// Does `work`, and adds its duration to `total`.
pub(super) fn timed<R>(total: &mut Duration, work: impl FnOnce() -> R) -> R {
    let begin = Instant::now();
    let result = work();
    *total += begin.elapsed();
    result
}

impl<W: Scalar<Real = f64, Wide = W>, M: Memory> Hierarchy<W, M> {
    /// Creates the levels of a square matrix with sorted rows without duplicate columns. O(nnz) per step. The host receives
    /// only the coarsest level, to invert it, and single numbers.
    ///
    /// # Errors
    /// When the number of rows of the near-null-space vectors is not the matrix's, the unknowns do not form whole nodes, a
    /// diagonal element is 0 in a nonzero row, a level's values are not finite, memory runs out, or the device fails.
    pub(super) fn new<E: Executor<Memory = M>>(
        executor: &E,
        mut matrix: Csr<W, M>,
        mut near_null_space: Vectors<W, M>,
        options: Multigrid,
    ) -> Result<Self, Error> {
        let rows = near_null_space.elements.len() / near_null_space.count;
        check_length("a near-null-space vector", rows, matrix.rows())?;
        let mut nodes = executor.run::<EqualNodes>((options.node as usize, matrix.rows()))?;
        let mut hierarchy = Self { levels: vec![], times: SetupTimes::default() };
        let of_row_sums = matches!(options.smoother, Smoother::L1Jacobi(_));
        let divisor = if of_row_sums { Divisor::RowSum } else { Divisor::Diagonal };
        loop {
            let times = &mut hierarchy.times;
            if matrix.rows() <= options.coarsest as usize {
                let inverse =
                    timed(&mut times.coarsest, || coarsest::inverse(&matrix.to_host(executor)?)?.upload(executor))?;
                hierarchy.levels.push(Level { matrix, solved: Solved::Inverse(inverse) });
                return Ok(hierarchy);
            }
            let inverse = executor.run::<InvertDiagonal<W>>((&matrix, divisor))?;
            let of_jacobi = match of_row_sums {
                true => executor.run::<InvertDiagonal<W>>((&matrix, Divisor::Diagonal))?,
                false => InverseDiagonal { elements: executor.duplicate(&inverse.elements)?, ..inverse },
            };
            let largest;
            (matrix, largest) = timed(&mut times.eigenvalues, || with_largest(executor, matrix, &of_jacobi))?;
            let coarse = match hierarchy.levels.len() + 1 < options.levels as usize {
                true => {
                    let level = Fine { matrix: &matrix, nodes: &nodes, inverse_diagonal: &of_jacobi.elements, largest };
                    coarsen(executor, level, &near_null_space, options, times)?
                }
                false => None,
            };
            let mut smoothed = Smoothed {
                inverse_diagonal: inverse.elements,
                largest: if of_row_sums { 1.0 } else { largest },
                transfers: None,
            };
            let Some(coarse) = coarse else {
                hierarchy.levels.push(Level { matrix, solved: Solved::Smoothed(smoothed) });
                return Ok(hierarchy);
            };
            smoothed.transfers = Some(coarse.transfers);
            hierarchy.levels.push(Level { matrix, solved: Solved::Smoothed(smoothed) });
            (matrix, nodes, near_null_space) = (coarse.matrix, coarse.nodes, coarse.near_null_space);
        }
    }
}

/// Returns the matrix, and the largest eigenvalue of its product with the inverse diagonal.
fn with_largest<W: Scalar<Real = f64, Wide = W>, E: Executor>(
    executor: &E,
    matrix: Csr<W, E::Memory>,
    inverse_diagonal: &InverseDiagonal<W, E::Memory>,
) -> Result<(Csr<W, E::Memory>, f64), Error> {
    let mut diagonal = Diagonal::in_memory(executor, executor.duplicate(&inverse_diagonal.elements)?)?;
    let mut plan = Plan::in_memory(executor, matrix, Format::CSR_TILED, PlanOptions::default())?;
    let (bound, positive) = (inverse_diagonal.bound, inverse_diagonal.positive);
    let largest = largest_eigenvalue(&mut plan, &mut diagonal, bound, positive)?;
    match plan.into_matrix() {
        Matrix::Csr(matrix) => Ok((matrix, largest)),
        _ => Err(Error::Operator { operation: "a plan in CSR" }),
    }
}

/// The operands of coarsening.
struct Fine<'a, W: Scalar, M: Memory> {
    matrix: &'a Csr<W, M>,
    nodes: &'a Nodes<M>,
    inverse_diagonal: &'a M::Buffer<W>,
    largest: f64,
}

/// A coarse level, and the transfers between it and the finer one.
struct Coarse<W: Scalar, M: Memory> {
    transfers: Transfers<W, M>,
    matrix: Csr<W, M>,
    nodes: Nodes<M>,
    near_null_space: Vectors<W, M>,
}

/// Returns the next coarser level; `None` if it would not be much smaller.
fn coarsen<W: Scalar<Real = f64, Wide = W>, E: Executor>(
    executor: &E,
    Fine { matrix, nodes, inverse_diagonal, largest }: Fine<'_, W, E::Memory>,
    near_null_space: &Vectors<W, E::Memory>,
    options: Multigrid,
    times: &mut SetupTimes,
) -> Result<Option<Coarse<W, E::Memory>>, Error> {
    let multiply = |left: &Csr<W, E::Memory>, right: &Csr<W, E::Memory>| {
        Ok::<_, Error>(SparseProduct::new(executor, left, right)?.into_matrix())
    };
    let graph =
        timed(&mut times.connections, || executor.run::<StrongConnections<W>>((matrix, nodes, options.strength)))?;
    let aggregates = timed(&mut times.aggregates, || executor.run::<Aggregate>(&graph))?;
    let tentative = timed(&mut times.prolongation, || {
        executor.run::<TentativeProlongation<W>>((nodes, &aggregates, near_null_space))
    })?;
    let coarse = tentative.prolongation.columns();
    if coarse == 0 || coarse as f64 > LEAST_REDUCTION * matrix.rows() as f64 {
        return Ok(None);
    }
    let prolongation = match options.aggregation {
        Aggregation::Plain => tentative.prolongation,
        Aggregation::Smoothed => timed(&mut times.prolongation, || {
            // Filtering hardly changes the largest eigenvalue.
            let operands = SmoothingOperands { matrix, nodes, graph: &graph, inverse_diagonal, largest };
            multiply(&executor.run::<SmoothingMatrix<W>>(operands)?, &tentative.prolongation)
        })?,
    };
    let (restriction, matrix) = timed(&mut times.products, || {
        let restriction = prolongation.conjugate_transposed_on(executor)?;
        let matrix = multiply(&restriction, &multiply(matrix, &prolongation)?)?;
        Ok::<_, Error>((restriction, matrix))
    })?;
    let (nodes, near_null_space) = (tentative.nodes, tentative.near_null_space);
    Ok(Some(Coarse { transfers: Transfers { prolongation, restriction }, matrix, nodes, near_null_space }))
}
