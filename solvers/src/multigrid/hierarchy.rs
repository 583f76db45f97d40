//! The levels of a matrix.

use std::time::{Duration, Instant};

use host::error::{Error, check_length};
use host::format::Csr;
use host::parallel;
use host::real::Scalar;
use host::sparse_product::multiply;

use super::aggregation::aggregate;
use super::near_null_space::NearNullSpace;
use super::options::{Aggregation, Multigrid, Smoother};
use super::prolongation::{filtered, smoothing, tentative};
use super::spectrum::largest_eigenvalue;
use super::strength::{Nodes, strong_connections};
use super::{AT_ONCE, coarsest};
use crate::preconditioner::{inverse_of, shown};

/// A coarse level that has more than this share of the rows of the finer one is not worth its time.
const LEAST_REDUCTION: f64 = 0.8;

/// A level, on the host and in 64 bits.
pub(super) struct Level<W: Scalar> {
    pub(super) matrix: Csr<W>,
    /// One over the diagonal, or over what the smoother has in its place; 0 for a row of zeros.
    pub(super) inverse_diagonal: Vec<W>,
    /// The largest eigenvalue of the matrix scaled by it; 1 where the smoother needs none.
    pub(super) largest: f64,
    pub(super) coarser: Coarser<W>,
}

/// What a level has below it.
pub(super) enum Coarser<W: Scalar> {
    /// A level: the way from it, and the way to it.
    Level { prolongation: Csr<W>, restriction: Csr<W> },
    /// Nothing: the level itself is solved directly, by its inverse, a dense matrix.
    Inverse(Csr<W>),
    /// Nothing: the level cannot be made coarser, and is only smoothed.
    Nothing,
}

/// The levels of a matrix, the finest first.
pub(super) struct Hierarchy<W: Scalar> {
    pub(super) levels: Vec<Level<W>>,
    /// What each step of the setup took.
    pub(super) times: SetupTimes,
}

/// How long the steps of the setup took, over all levels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SetupTimes {
    pub(super) connections: Duration,
    pub(super) aggregates: Duration,
    pub(super) prolongation: Duration,
    pub(super) products: Duration,
    pub(super) eigenvalues: Duration,
    pub(super) coarsest: Duration,
}

/// Does something, and adds the time that it took.
fn timed<R>(total: &mut Duration, work: impl FnOnce() -> R) -> R {
    let begin = Instant::now();
    let result = work();
    *total += begin.elapsed();
    result
}

impl<W: Scalar<Real = f64, Wide = W>> Hierarchy<W> {
    /// The levels of a square matrix. O(nnz) for each of the steps, in parallel but for the assembly of some arrays.
    ///
    /// # Errors
    /// When the near-null-space vectors have other rows than the matrix, the unknowns are no whole nodes, a diagonal element
    /// is 0 in a row that is not, a level's values are not finite, or memory runs out.
    pub(super) fn new(
        mut matrix: Csr<W>,
        mut near_null_space: NearNullSpace<W>,
        options: Multigrid,
    ) -> Result<Self, Error> {
        check_length("a near-null-space vector", near_null_space.rows(), matrix.rows())?;
        matrix.sort_and_sum()?;
        let mut nodes = Nodes::of_size(options.node as usize, matrix.rows())?;
        let mut hierarchy = Self { levels: vec![], times: SetupTimes::default() };
        loop {
            let times = &mut hierarchy.times;
            let inverse_diagonal = inverse_diagonal(&matrix, options.smoother)?;
            if matrix.rows() <= options.coarsest as usize {
                let inverse = timed(&mut times.coarsest, || coarsest::inverse(&matrix))?;
                hierarchy.put(matrix, inverse_diagonal, 1.0, Coarser::Inverse(inverse));
                return Ok(hierarchy);
            }
            let of_jacobi = match options.smoother {
                Smoother::L1Jacobi(_) => self::inverse_diagonal(&matrix, Smoother::Jacobi(1))?,
                _ => host::memory::copy(&inverse_diagonal)?,
            };
            let largest = timed(&mut times.eigenvalues, || largest_eigenvalue(&matrix, &of_jacobi))?;
            let coarse = match hierarchy.levels.len() + 1 < options.levels as usize {
                true => coarsen(&matrix, &nodes, &near_null_space, (&of_jacobi, largest), options, times)?,
                false => None,
            };
            let largest = if matches!(options.smoother, Smoother::L1Jacobi(_)) { 1.0 } else { largest };
            let Some(coarse) = coarse else {
                hierarchy.put(matrix, inverse_diagonal, largest, Coarser::Nothing);
                return Ok(hierarchy);
            };
            let Coarse { prolongation, restriction, matrix: next, nodes: next_nodes, near_null_space: next_space } =
                coarse;
            hierarchy.put(matrix, inverse_diagonal, largest, Coarser::Level { prolongation, restriction });
            (matrix, nodes, near_null_space) = (next, next_nodes, next_space);
        }
    }

    fn put(&mut self, matrix: Csr<W>, inverse_diagonal: Vec<W>, largest: f64, coarser: Coarser<W>) {
        self.levels.push(Level { matrix, inverse_diagonal, largest, coarser });
    }
}

/// A coarse level, and the way between it and the finer one.
struct Coarse<W: Scalar> {
    prolongation: Csr<W>,
    restriction: Csr<W>,
    matrix: Csr<W>,
    nodes: Nodes,
    near_null_space: NearNullSpace<W>,
}

/// The next coarser level; none if it would not be much smaller.
fn coarsen<W: Scalar<Real = f64, Wide = W>>(
    matrix: &Csr<W>,
    nodes: &Nodes,
    near_null_space: &NearNullSpace<W>,
    (inverse_diagonal, largest): (&[W], f64),
    options: Multigrid,
    times: &mut SetupTimes,
) -> Result<Option<Coarse<W>>, Error> {
    let graph = timed(&mut times.connections, || strong_connections(matrix, nodes, options.strength))?;
    let aggregates = timed(&mut times.aggregates, || aggregate(&graph))?;
    let tentative = timed(&mut times.prolongation, || tentative(nodes, &aggregates, near_null_space))?;
    let coarse = tentative.prolongation.columns();
    if coarse == 0 || coarse as f64 > LEAST_REDUCTION * matrix.rows() as f64 {
        return Ok(None);
    }
    let prolongation = match options.aggregation {
        Aggregation::Plain => tentative.prolongation,
        Aggregation::Smoothed => timed(&mut times.prolongation, || {
            let filtered = filtered(matrix, nodes, &graph)?;
            // Filtering hardly changes the largest eigenvalue.
            let smoothing = smoothing(filtered, inverse_diagonal, largest)?;
            multiply(&smoothing, &tentative.prolongation)
        })?,
    };
    let (restriction, matrix) = timed(&mut times.products, || {
        let mut restriction = prolongation.transposed()?;
        if W::COMPLEX {
            restriction.values_mut().iter_mut().for_each(|value| *value = value.conjugate());
        }
        let matrix = multiply(&restriction, &multiply(matrix, &prolongation)?)?;
        Ok::<_, Error>((restriction, matrix))
    })?;
    let (nodes, near_null_space) = (tentative.nodes, tentative.near_null_space);
    Ok(Some(Coarse { prolongation, restriction, matrix, nodes, near_null_space }))
}

/// One over the diagonal, or over what the smoother has in its place; 0 for a row of zeros, which no step changes.
fn inverse_diagonal<W: Scalar<Real = f64, Wide = W>>(matrix: &Csr<W>, smoother: Smoother) -> Result<Vec<W>, Error> {
    let inverse = |row: usize| {
        let (mut diagonal, mut sum) = (W::ZERO, 0.0);
        for (column, value) in matrix.row(row) {
            sum += value.magnitude();
            if column as usize == row {
                diagonal = diagonal + value;
            }
        }
        if sum == 0.0 {
            return Ok(W::ZERO);
        }
        let magnitude = diagonal.magnitude();
        let divisor = match smoother {
            // In the direction of the diagonal element.
            Smoother::L1Jacobi(_) => W::from_f64(sum / magnitude) * diagonal,
            _ => diagonal,
        };
        let inverse = inverse_of(divisor);
        if magnitude > 0.0 && inverse.is_finite() && inverse.magnitude() > 0.0 {
            Ok(inverse)
        } else {
            Err(shown(diagonal))
        }
    };
    let inverses = parallel::map(matrix.rows(), AT_ONCE, &inverse)?;
    if let Some(row) = inverses.iter().position(Result::is_err) {
        let pivot = inverses[row].err().unwrap_or_default();
        let expected = "a finite number other than 0 on each level's diagonal, unless its row is 0";
        return Err(Error::Pivot { operation: "multigrid", row, pivot, expected });
    }
    host::memory::collect(inverses.iter().map(|inverse| inverse.unwrap_or_default()))
}
