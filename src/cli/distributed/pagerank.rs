//! `warp-spmv pagerank` on several ranks.

use std::fmt::{self, Display};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use lab::subject::{Subject, SubjectVisitor};
use serde::Serialize;
use warp_spmv::distributed::{
    Communicator, DistributedMatrix, Distribution, MatrixOptions, Ranges, Route, Transitions, redistributed,
    transitions,
};
use warp_spmv::io::{Number, write_vector};
use warp_spmv::memory;
use warp_spmv::solver::{Options, Outcome, Pagerank, Progress};
use warp_spmv::{Csr, Format, Real, ValueStorage};

use super::loaded::{Loaded, matrix_options, with_rows};
use super::parts::{Part, Parts};
use super::world::{Place, World};
use crate::cli::error::Error;
use crate::cli::input::Source;
use crate::cli::interrupt::Interrupt;
use crate::cli::looks::Looks;
use crate::cli::output::{self, printable};
use crate::cli::pagerank::{Ranked, Times, pass_on, rounding_of, top, total, with_equal_weights, write_ranks};
use crate::cli::record::{Environment, Shape, path_if_any};
use crate::cli::units::{self, HumanCount, duration};

/// The work of each rank.
pub struct Request<'a> {
    pub source: &'a Source,
    pub format: Format,
    pub values: ValueStorage,
    pub place: Place,
    pub route: Route,
    pub damping: f64,
    pub unweighted: bool,
    pub options: Options,
    pub top: usize,
    pub out: Option<&'a PathBuf>,
    pub json: bool,
}

/// The JSON record of `pagerank --ranks N --json`. Times are in seconds, the largest of all ranks.
#[derive(Debug, Serialize)]
struct Record {
    version: &'static str,
    matrix: Shape,
    ranks: usize,
    /// Whether ranks are processes of MPI.
    processes: bool,
    damping: f64,
    unweighted: bool,
    executor: &'static str,
    /// The device of rank 0's executor.
    device: String,
    /// The way in which elements of x are exchanged between ranks.
    exchange: String,
    precision: &'static str,
    tolerance: f64,
    outcome: String,
    converged: bool,
    iterations: usize,
    /// Change of the ranks of all vertices by one more iteration in float64 on the host.
    residual: f64,
    /// The sum of the ranks of all vertices.
    sum: f64,
    /// Each rank's part of the transition matrix.
    parts: Parts,
    times: Times,
    top: Vec<Ranked>,
    history: Vec<f64>,
    #[serde(serialize_with = "path_if_any")]
    out: Option<PathBuf>,
    environment: Environment,
}

/// The result, and x on rank 0 if it is to be written.
struct Ranking<T> {
    record: Record,
    outcome: Outcome,
    /// The largest acceptable residual.
    allowed: f64,
    x: Option<Vec<T>>,
}

/// Ranks the vertices of a graph, and checks the ranks against its edges.
pub fn pagerank<T: Real + Number>(world: World, request: &Request<'_>) -> Result<(), Error> {
    let interrupt = &OnceLock::new();
    let ranking = with_rows(world, request.source, |communicator, loaded: Loaded<T>, load| {
        let Shape { ref name, rows, columns, .. } = loaded.shape;
        if rows != columns {
            return Err(Error::NotSquare { name: name.clone(), rows, columns });
        }
        request.place.visit(communicator, Job { world, request, communicator, loaded, load, interrupt })?
    })?;
    let Some(Ranking { mut record, outcome, allowed, x }) = ranking else { return Ok(()) };
    let residual = record.residual;
    let wrong = record.converged && (residual.is_nan() || residual > allowed);
    let wrong_answer = wrong.then_some(Error::WrongRanks { residual, tolerance: record.tolerance });
    if let (Some(path), Some(x), false) = (request.out, x, wrong) {
        write_vector(path, &x)?;
        record.out = Some(path.clone());
    }
    output::print(&if request.json { output::json(&record) } else { record.to_string() })?;
    wrong_answer.or(Error::of_outcome(outcome, record.iterations)).map_or(Ok(()), Err)
}

/// The work of one rank, once it has the edges of its vertices.
struct Job<'a, T: Number> {
    world: World,
    request: &'a Request<'a>,
    communicator: &'a Communicator,
    loaded: Loaded<T>,
    load: Duration,
    interrupt: &'a OnceLock<Interrupt>,
}

impl<T: Real + Number> SubjectVisitor for Job<'_, T> {
    type Output = Result<Ranking<T>, Error>;

    fn visit<S: Subject>(self, executor: &S) -> Self::Output {
        let Self { world, request, communicator, mut loaded, load, interrupt } = self;
        if request.unweighted {
            loaded.rows = with_equal_weights(loaded.rows)?;
        }
        let (preparing, vertices) = (Instant::now(), loaded.distribution.rows.clone());
        let Transitions { ranges, rows, dangling, longest_row } = transitions(communicator, &loaded.rows, &vertices)?;
        let options = MatrixOptions { route: request.route, ..matrix_options(request.format, request.values) };
        let distribution = Distribution::square(ranges.clone());
        let matrix = DistributedMatrix::from_csr(communicator, executor, distribution, &rows, &options)?;
        drop(rows);
        let parts = Parts::gathered(communicator, &Part::new(&matrix))?;
        let exchange = matrix.engine().to_string();
        let mut pagerank = Pagerank::of_operator(executor, matrix, dangling)?;
        executor.synchronize()?;
        let prepare = preparing.elapsed();

        let (mut looks, interrupt) = (Looks::default(), interrupt.get_or_init(Interrupt::new));
        let mut callback = |progress: &Progress| {
            looks.hears_of(progress.iteration, progress.elapsed);
            if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (x, report) = pagerank.rank(request.damping, None, &request.options, Some(&mut callback))?;
        let x = executor.download(&x)?;

        let of_edges = redistributed(communicator, &x, &ranges, &vertices)?;
        let damping = T::from_f64(request.damping).to_f64();
        let (residual, sum) = residual(communicator, &loaded, damping, &of_edges)?;
        let iteration = looks.time_of_iteration(report.iterations, report.elapsed);
        let mut times = [load, prepare, report.elapsed, iteration.unwrap_or_default()].map(|time| time.as_secs_f64());
        communicator.reduce(&mut times, f64::max)?;
        let [load, prepare, rank, of_iteration] = times.map(Duration::from_secs_f64);
        let highest = highest(communicator, ranges.of(communicator.rank()).start, &x, request.top)?;
        let x = match request.out {
            Some(_) => communicator.gather(0, &x)?.map(|parts| parts.concat()),
            None => None,
        };
        let record = Record {
            version: env!("CARGO_PKG_VERSION"),
            matrix: loaded.shape,
            ranks: communicator.ranks(),
            processes: matches!(world, World::Processes(_)),
            damping: request.damping,
            unweighted: request.unweighted,
            executor: executor.name().name(),
            device: executor.device().name.clone(),
            exchange,
            precision: T::NAME,
            tolerance: request.options.relative_tolerance,
            outcome: report.outcome.to_string(),
            converged: report.outcome == Outcome::Converged,
            iterations: report.iterations,
            residual,
            sum,
            parts,
            times: Times {
                source: request.source.verb(),
                load,
                prepare,
                rank,
                iteration: iteration.map(|_| of_iteration),
            },
            top: highest,
            history: report.history,
            out: None,
            environment: Environment::here(request.place.grids.asked()),
        };
        // A row is added up in two parts.
        let allowed = record.tolerance + 2.0 * rounding_of::<T>(longest_row as usize + 1);
        Ok(Ranking { record, outcome: report.outcome, allowed, x })
    }
}

/// Returns Σ |x − d Pᵀ x − (1 − d + d · ranks of vertices without edges) / n| over the vertices of all ranks, in
/// float64, and Σ x. Independent of the way of a product: the flow along the edges of each rank is sent to the ranks
/// that have the vertices.
fn residual<T: Real + Number>(
    communicator: &Communicator,
    loaded: &Loaded<T>,
    damping: f64,
    x: &[T],
) -> Result<(f64, f64), Error> {
    let (edges, reached): (Csr<T>, Vec<u32>) = loaded.compressed()?;
    let mut flows = memory::zeros::<f64>(reached.len())?;
    let left = pass_on(&edges, damping, x, &mut flows);
    let ranges: &Ranges = &loaded.distribution.rows;
    let (mut to, mut with) = (Vec::new(), Vec::new());
    for rank in 0..communicator.ranks() {
        let of_rank = ranges.of(rank);
        let place = |vertex: u64| reached.partition_point(|&other| u64::from(other) < vertex);
        let places = place(of_rank.start)..place(of_rank.end);
        to.push(memory::collect(reached[places.clone()].iter().map(|&vertex| u64::from(vertex) - of_rank.start))?);
        with.push(memory::copy(&flows[places])?);
    }
    let (to, with) = (communicator.all_to_all::<u64>(&to)?, communicator.all_to_all::<f64>(&with)?);
    let mut next = memory::zeros::<f64>(x.len())?;
    for (vertex, flow) in to.iter().flatten().zip(with.iter().flatten()) {
        if let Some(next) = next.get_mut(*vertex as usize) {
            *next += flow;
        }
    }
    let mut sums = [total(x.iter().map(|rank| rank.to_f64())), left];
    communicator.sum(&mut sums)?;
    let shared = (1.0 - damping + sums[1]) / ranges.total() as f64;
    let mut change = [total(next.iter().zip(x).map(|(next, rank)| (next + shared - rank.to_f64()).abs()))];
    communicator.sum(&mut change)?;
    Ok((change[0], sums[0]))
}

/// The vertices with the highest ranks; this rank has those from `first` on.
fn highest<T: Real + Number>(
    communicator: &Communicator,
    first: u64,
    x: &[T],
    most: usize,
) -> Result<Vec<Ranked>, Error> {
    let own = top(x, most);
    let vertices: Vec<u64> = own.iter().map(|ranked| first + ranked.vertex as u64).collect();
    let ranks: Vec<f64> = own.iter().map(|ranked| ranked.rank).collect();
    let (vertices, ranks) = (communicator.all_gather(&vertices)?, communicator.all_gather(&ranks)?);
    let all = vertices.into_iter().flatten().zip(ranks.into_iter().flatten());
    let mut all: Vec<_> = all.map(|(vertex, rank)| Ranked { vertex: vertex as usize, rank }).collect();
    all.sort_by(|left, right| right.rank.total_cmp(&left.rank).then(left.vertex.cmp(&right.vertex)));
    all.truncate(most);
    Ok(all)
}

/// Formats the report for the terminal.
impl Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, damping, executor, device, precision, parts, times, .. } = self;
        let weights = if self.unweighted { ", all edges with equal weight" } else { "" };
        writeln!(f, "graph         {}", printable(&matrix.name))?;
        let [vertices, edges] = [matrix.rows, matrix.nonzeros].map(|count| HumanCount(count as u64));
        writeln!(f, "shape         {vertices} vertices, {edges} edges")?;
        writeln!(f, "damping       {damping}{weights}")?;
        let kind = if self.processes { "processes" } else { "threads" };
        let bytes = units::bytes(parts.bytes().into());
        writeln!(f, "ranks         {} {kind}, {precision}, {bytes}", self.ranks)?;
        writeln!(f, "executor      {executor}, {device}")?;
        writeln!(f, "exchange      {}", self.exchange)?;
        writeln!(f, "{:13} {}", times.source, duration(times.load))?;
        writeln!(f, "prepare       {}", duration(times.prepare))?;
        write!(f, "rank          {}", duration(times.rank))?;
        match times.iteration {
            Some(iteration) => writeln!(f, ", {} per iteration", duration(iteration))?,
            None => writeln!(f)?,
        }
        writeln!(f, "outcome       {} after {} iterations", self.outcome, self.iterations)?;
        writeln!(f, "residual      {:.2e}, the ranks add up to {:.6}", self.residual, self.sum)?;
        write_ranks(f, &self.top)?;
        if let Some(out) = &self.out {
            writeln!(f, "output        {}", printable(&out.to_string_lossy()))?;
        }
        write!(f, "\n{parts}")
    }
}
