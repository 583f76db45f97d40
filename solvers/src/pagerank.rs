//! PageRank.

use std::time::Duration;

use host::error::{Error, check_length, check_square};
use host::executor::Executor;
use host::format::{Csr, Format, ValueStorage};
use host::memory::{collect, copy, filled, with_capacity};
use host::parallel;
use host::plan::{Plan, PlanOptions, Vector};
use host::real::Real;
use host::select::Selection;

use super::method::{FIRST_METHOD_SLOT, LIMIT, TOLERANCE};
use super::options::Options;
use super::report::Outcome;
use super::watch::{Callback, Repeated, Watch, check};
use crate::dense::{Multiplied, ONE, PagerankUpdate, Program, Space, Step};
use crate::operator::Operator;

/// Rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 4096;

/// The L1 norm of the last change, the sum of all ranks, and the sum of the ranks of vertices without edges.
const CHANGE: u32 = FIRST_METHOD_SLOT;
const TOTAL: u32 = CHANGE + 1;
const DANGLING: u32 = CHANGE + 2;
const DAMPING: u32 = CHANGE + 3;
/// The share that is distributed to all vertices: the rest of 1.
const SHARED: u32 = CHANGE + 4;
const RING: u32 = CHANGE + 5;

/// PageRank (Page, Brin, Motwani & Winograd 1999; Langville & Meyer 2004, §§3 and 5) of the vertices of a graph, whose
/// transition matrix is made once and stays in the memory of an executor.
///
/// ```
/// use host::executor::Cpu;
/// use solvers::{Options, Outcome, Pagerank};
/// use host::Csr;
///
/// # fn main() -> Result<(), host::Error> {
/// let cpu = Cpu::new();
/// // Vertices 0 and 1 point at 2, which points back at 0.
/// let graph = Csr::try_from_triplets(3, 3, &[0, 1, 2], &[2, 2, 0], &[1.0; 3])?;
/// let mut pagerank = Pagerank::new(&cpu, &graph)?;
/// let (ranks, report) = pagerank.rank(0.85, None, &Options::default(), None)?;
/// assert_eq!(report.outcome, Outcome::Converged);
/// assert!(ranks[2] > ranks[0] && ranks[0] > ranks[1]);
/// // Nothing points at vertex 1.
/// assert!(f64::abs(ranks[1] - 0.15 / 3.0) < 1e-6);
/// # Ok(())
/// # }
/// ```
pub struct Pagerank<T: Real, E: Executor, O = Plan<T, E>> {
    executor: E,
    /// Pᵀ: column i holds the shares of vertex i's rank that follow its edges.
    transitions: O,
    /// If all transitions are stored as 1, the share of each vertex that follows each of its edges.
    shares: Option<Vec<T>>,
    /// Whether each vertex is without edges.
    dangling: Vec<bool>,
}

/// The result of [`Pagerank::rank`], besides the ranks.
#[derive(Clone, Debug)]
pub struct PagerankReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Number of iterations.
    pub iterations: usize,
    /// The L1 norm of the change in each iteration.
    pub history: Vec<f64>,
    /// Total time.
    pub elapsed: Duration,
}

impl<T: Real, E: Executor> Pagerank<T, E> {
    /// Makes the transition matrix of a graph with an edge from vertex i to vertex j, of weight a, for each entry i, j, a
    /// of `graph`; edges stored several times count several times. O(rows + nnz), besides the choice of the format, which
    /// is that of [`Plan::new`].
    ///
    /// # Errors
    /// When the matrix is not square, a weight is negative or not finite, a row's weights overflow, no format can be chosen,
    /// memory runs out, or the device fails.
    pub fn new(executor: &E, graph: &Csr<T>) -> Result<Self, Error> {
        Self::automatic(executor, graph, &Selection::default())
    }

    /// [`new`](Self::new) in the given format.
    ///
    /// # Errors
    /// As for [`new`](Self::new), and when the matrix does not fit the format.
    pub fn with_format(executor: &E, graph: &Csr<T>, format: Format) -> Result<Self, Error> {
        Self::with_values(executor, graph, format, ValueStorage::Full)
    }

    /// [`with_format`](Self::with_format), with the values of the transition matrix stored as in `values`, which must not
    /// be [`Automatic`](ValueStorage::Automatic). If all edges of a vertex have equal weights,
    /// [`Lossless`](ValueStorage::Lossless) stores no values: the ranks are divided by the number of edges before each
    /// product.
    ///
    /// # Errors
    /// As for [`with_format`](Self::with_format), and when the values cannot be stored this way.
    pub fn with_values(executor: &E, graph: &Csr<T>, format: Format, values: ValueStorage) -> Result<Self, Error> {
        let options = PlanOptions { values, ..PlanOptions::default() };
        let can = format == Format::Auto || format.multiplies_narrow();
        let without_values = can && values == ValueStorage::Lossless;
        Self::with_plan(graph, without_values, |transitions| Plan::with_options(executor, transitions, format, options))
    }

    /// [`new`](Self::new) in a format chosen for `selection`, as by [`Plan::automatic`];
    /// [`Lossless`](ValueStorage::Lossless) values are treated as in [`with_values`](Self::with_values).
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn automatic(executor: &E, graph: &Csr<T>, selection: &Selection) -> Result<Self, Error> {
        // On a GPU, a product with a graph waits for x, so the additional pass does not pay unless requested.
        let without_values = selection.values == ValueStorage::Lossless;
        Self::with_plan(graph, without_values, |transitions| Plan::automatic(executor, transitions, selection))
    }

    /// `without_values` allows transitions of 1.
    fn with_plan(
        graph: &Csr<T>,
        without_values: bool,
        plan: impl FnOnce(Csr<T>) -> Result<Plan<T, E>, Error>,
    ) -> Result<Self, Error> {
        check_square("the graph", graph.rows(), graph.columns())?;
        let totals = weights_of_vertices(graph, 0)?;
        let (rows, columns) = (graph.rows(), graph.columns());
        let shares = if without_values { equal_shares(graph)? } else { None };
        let (offsets, sources, mut values) = graph.transposed()?.into_parts();
        for (value, &source) in values.iter_mut().zip(&sources) {
            let total = totals[source as usize];
            *value = match shares {
                Some(_) => T::ONE,
                None => T::from_f64(if total == 0.0 { 0.0 } else { value.to_f64() / total }),
            };
        }
        let transitions = Csr::try_new(columns, rows, offsets, sources, values)?;
        let dangling = collect(totals.iter().map(|&total| total == 0.0))?;
        let transitions = plan(transitions)?;
        Ok(Self { executor: transitions.executor().clone(), transitions, shares, dangling })
    }
}

/// Returns the sum of the weights of each vertex's edges, which must be finite and at least 0. Errors number the vertices
/// from `first`.
///
/// # Errors
/// When a weight is negative or not finite, a row's weights overflow, or memory runs out.
pub fn weights_of_vertices<T: Real>(graph: &Csr<T>, first: usize) -> Result<Vec<f64>, Error> {
    let weights = |row: usize| graph.row(row).map(|(column, weight)| (column, weight.to_f64()));
    // A negative weight makes the total NaN.
    let add = |total, (_, weight)| total + if weight >= 0.0 { weight } else { f64::NAN };
    let total = |row: usize| weights(row).fold(0.0, add);
    let totals = parallel::map(graph.rows(), ROWS_AT_ONCE, &total)?;
    if let Some(row) = totals.iter().position(|total: &f64| !total.is_finite()) {
        let wrong = weights(row).find(|(_, weight)| !(*weight >= 0.0 && weight.is_finite()));
        let row = first + row;
        let reason = match wrong {
            Some((column, weight)) => {
                format!("row {row}, column {column}: weight {weight} is not finite and non-negative")
            }
            None => format!("row {row}: the sum of the weights overflows"),
        };
        return Err(Error::structure("CSR", reason));
    }
    Ok(totals)
}

impl<T: Real, E: Executor, O: Operator<T, E>> Pagerank<T, E, O> {
    /// The ranks of a graph whose transition matrix already exists as an operator, such as a matrix divided among ranks:
    /// Pᵀ, whose entry in row j and column i is the share of vertex i's rank that goes to vertex j. `dangling` marks the
    /// vertices without edges; their columns are empty. If the operator is divided, each rank passes its part.
    ///
    /// # Errors
    /// When the operator is not square, or the number of vertices is wrong.
    pub fn of_operator(executor: &E, transitions: O, dangling: Vec<bool>) -> Result<Self, Error> {
        check_length("vertices", dangling.len(), transitions.rows())?;
        check_length("x", transitions.columns(), transitions.rows())?;
        Ok(Self { executor: executor.clone(), transitions, shares: None, dangling })
    }

    /// Returns the transition matrix; a plan tells its format, and why it was chosen.
    pub fn transitions(&self) -> &O {
        &self.transitions
    }

    /// Computes the ranks, which add up to 1: x = d Pᵀ x + (1 − d + d · the ranks of vertices without edges) v, by power
    /// iteration from v. With damping d a vertex passes on the share d of its rank along its edges; `personalization` is v
    /// times any factor, or `None` for a uniform v.
    ///
    /// Converged when the L1 norm of the change of the ranks is at most the larger tolerance. The same call returns the
    /// same bits every time with every deterministic format. An iteration takes a product with the transition matrix, and
    /// reads and writes 6 vectors, or 9 if the matrix has no values.
    ///
    /// # Errors
    /// When the damping is not at least 0 and below 1, also after rounding to the precision; when the personalization has
    /// the wrong length (that of this rank's part, if the vertices are divided among ranks), is negative or not finite
    /// anywhere, or adds up to 0; when an option is invalid, memory runs out, or the device fails.
    pub fn rank(
        &mut self,
        damping: f64,
        personalization: Option<&[T]>,
        options: &Options,
        callback: Option<Callback<'_>>,
    ) -> Result<(Vector<T, E>, PagerankReport), Error> {
        options.check()?;
        // As the product uses it: rounding may turn a number just below 1 into 1.
        let (given, damping) = (damping, T::from_f64(damping));
        if !((0.0..1.0).contains(&given) && damping < T::ONE) {
            let value = damping.to_string();
            return Err(Error::Setting { what: "the damping", value, expected: "from 0 to below 1" });
        }
        let v = self.distribution(personalization)?;
        let of_dangling = v.iter().zip(&self.dangling).map(|(v, &is)| if is { v.to_f64() } else { 0.0 });
        let shared = 1.0 - damping.to_f64() * (1.0 - self.sum(of_dangling.sum())?);
        let ring = (RING, Watch::ring_length(options, 1));
        let executor = self.executor.clone();
        let mut space = Space::new(&executor, RING.saturating_add(ring.1), 3)?.across(self.transitions.ranks())?;
        space.set(&[
            (TOLERANCE, options.relative_tolerance.max(options.absolute_tolerance)),
            (LIMIT, options.iteration_limit.into()),
            (DAMPING, damping.to_f64()),
            (SHARED, shared),
        ])?;
        let next = [
            &check(ring, CHANGE)[..],
            &[
                Step::subtract(TOTAL, TOTAL, DANGLING),
                Step::copy(SHARED, ONE),
                Step::subtract_product(SHARED, DAMPING, TOTAL),
            ],
        ]
        .concat();
        let dangling = collect(self.dangling.iter().map(|&is| if is { T::ONE } else { T::ZERO }))?;
        let passed_on = match &self.shares {
            Some(shares) => Some((executor.upload(copy(shares)?)?, executor.zeros(v.len())?)),
            None => None,
        };
        let mut ranking = Ranking {
            transitions: &mut self.transitions,
            passed_on,
            damping,
            x: executor.upload(copy(&v)?)?,
            y: executor.zeros(v.len())?,
            v: executor.upload(v)?,
            dangling: executor.upload(dangling)?,
            next: space.program(&next)?,
            space,
        };
        let mut watch = Watch::new(*options, callback, ring, 1);
        let outcome = watch.go_on(&executor, &mut ranking)?.unwrap_or(Outcome::Converged);
        let Watch { iterations, history, begin, .. } = watch;
        Ok((ranking.x, PagerankReport { outcome, iterations, history, elapsed: begin.elapsed() }))
    }

    /// Returns the sum over all ranks, of which this one contributes `part`.
    fn sum(&self, part: f64) -> Result<f64, Error> {
        let mut sum = [part];
        self.transitions.ranks().map_or(Ok(()), |ranks| ranks.sum(&mut sum))?;
        Ok(sum[0])
    }

    /// Returns v, normalized to the sum 1.
    fn distribution(&self, personalization: Option<&[T]>) -> Result<Vec<T>, Error> {
        let rows = self.dangling.len();
        let all = self.transitions.ranks().map_or(rows, |ranks| ranks.elements());
        let Some(weights) = personalization else {
            return filled(rows, T::from_f64(1.0 / all as f64));
        };
        check_length("the personalization", weights.len(), rows)?;
        let expected = "finite, non-negative numbers that do not add up to 0";
        let refuse = |value| Err(Error::Setting { what: "the personalization", value, expected });
        let bad = |weight: &&T| !(weight.to_f64() >= 0.0 && weight.to_f64().is_finite());
        if let Some(weight) = weights.iter().find(bad) {
            return refuse(weight.to_string());
        }
        let total = self.sum(weights.iter().map(|weight| weight.to_f64()).sum())?;
        if all > 0 && (total == 0.0 || !total.is_finite()) {
            return refuse(format!("{total} in all"));
        }
        collect(weights.iter().map(|weight| T::from_f64(weight.to_f64() / total)))
    }
}

/// Returns the share of each vertex that follows each of its edges, if they are equal: one over their number. A vertex
/// without edges, or with zero weights only, passes on nothing.
fn equal_shares<T: Real>(graph: &Csr<T>) -> Result<Option<Vec<T>>, Error> {
    let mut shares = with_capacity(graph.rows())?;
    for row in 0..graph.rows() {
        let mut weights = graph.row(row).map(|(_, weight)| weight);
        let first = weights.next().unwrap_or(T::ZERO);
        if weights.any(|weight| weight != first) {
            return Ok(None);
        }
        let count = graph.range(row).len() as f64;
        shares.push(if first == T::ZERO { T::ZERO } else { T::from_f64(1.0 / count) });
    }
    Ok(Some(shares))
}

struct Ranking<'a, T: Real, E: Executor, O> {
    transitions: &'a mut O,
    /// The shares, and a workspace for the shares of the ranks.
    passed_on: Option<(Vector<T, E>, Vector<T, E>)>,
    damping: T,
    x: Vector<T, E>,
    y: Vector<T, E>,
    v: Vector<T, E>,
    dangling: Vector<T, E>,
    next: Program<E::Memory>,
    space: Space<E>,
}

impl<T: Real, E: Executor, O: Operator<T, E>> Repeated<E> for Ranking<'_, T, E, O> {
    fn space(&self) -> &Space<E> {
        &self.space
    }

    fn breakdowns(&self) -> &'static [&'static str] {
        &[]
    }

    fn advance(&mut self) -> Result<(), Error> {
        let Self { transitions, passed_on, damping, x, y, v, dangling, next, space } = self;
        let x_of_edges = match passed_on {
            None => &*x,
            Some((shares, passed_on)) => {
                space.pass(Multiplied, [ONE], [&*shares, &*x], [&mut *passed_on])?;
                passed_on
            }
        };
        transitions.apply(*damping, x_of_edges, T::ZERO, y)?;
        space.pass(PagerankUpdate, [SHARED], [&*v, &*dangling], [y, x])?;
        space.finish(CHANGE, next)
    }
}
