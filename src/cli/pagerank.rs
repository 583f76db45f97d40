//! `warp-spmv pagerank`: ranks the vertices of a graph.

use std::cmp::Reverse;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lab::subject::{self, Subject};
use lab::tuning::Asked;
use serde::Serialize;
use warp_spmv::executor::ExecutorName;
use warp_spmv::format::Offsets;
use warp_spmv::io::{Number, write_vector};
use warp_spmv::select::Choice;
use warp_spmv::solver::{Options, Outcome, Pagerank};
use warp_spmv::verify::Accumulator;
use warp_spmv::{Csr, Format, Real};

use super::choosing::Choosing;
use super::distributed::{self, PagerankRequest, Place, Ways};
use super::error::Error;
use super::grids::Grids;
use super::input::Source;
use super::interrupt::Interrupt;
use super::looks::Looks;
use super::output::{self, printable};
use super::precision::Precision;
use super::progress::Progress;
use super::record::{Environment, Shape, path_if_any, seconds, write_choice};
use super::run::{Nothing, executor_parser, on_executor, timed};
use super::solution::seconds_if_any;
use super::solve::{at_least_0, format_parser};
use super::units::{HumanCount, duration};
use super::values::{Narrow, Stored};

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv pagerank web.mtx
  warp-spmv pagerank web.mtx.gz --damping 0.9 --top 3 --out ranks.mtx
  warp-spmv pagerank rmat:scale=16 --unweighted --json

An entry in row i and column j is an edge from vertex i to vertex j, as heavy as its value; the entries of a symmetric file
go both ways. Vertices count from 1, as in a Matrix Market file. The rank of a vertex without edges goes to all alike.

Exit codes: 0 converged, 1 the ranks are wrong, 2 there are none, 3 not converged, 130 interrupted by Ctrl-C (with the
ranks as they were then).";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// The part of its rank that a vertex passes on along its edges, from 0 to below 1
    #[arg(long, value_name = "NUMBER", default_value_t = 0.85, value_parser = damping)]
    damping: f64,
    /// Give each edge the same weight, whatever its value
    #[arg(long)]
    unweighted: bool,
    /// Converged when an iteration changes the ranks by at most this in total, of 1
    #[arg(long, value_name = "NUMBER", default_value_t = Options::default().relative_tolerance,
          value_parser = at_least_0)]
    tolerance: f64,
    /// Largest number of iterations
    #[arg(long, value_name = "N", default_value_t = Options::default().iteration_limit)]
    iterations: u32,
    /// Number of highest ranks to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Write all ranks to this Matrix Market array file, in the order of the vertices
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Storage and multiplication of the transition matrix; auto chooses
    #[arg(long, default_value = Format::Auto.name(), value_parser = format_parser())]
    format: Format,
    /// Where to compute [default: cuda if there is a GPU that this program can use, otherwise cpu]
    #[arg(long, value_parser = executor_parser())]
    executor: Option<ExecutorName>,
    /// The type of all values; sums are always in float64
    #[arg(long, value_enum, default_value_t = Precision::Float64)]
    precision: Precision,
    /// Divide the vertices among this many ranks, which are threads of this process; processes started by mpirun are
    /// ranks without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    #[command(flatten)]
    ways: Ways,
    /// Print one JSON record instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    choosing: Choosing,
    #[command(flatten)]
    narrow: Narrow,
}

fn damping(text: &str) -> Result<f64, String> {
    let expected = || "expected a number from 0 to below 1".to_owned();
    text.parse().ok().filter(|damping| (0.0..1.0).contains(damping)).ok_or_else(expected)
}

/// The JSON record of `pagerank --json`. Times are in seconds.
#[derive(Debug, Serialize)]
struct Ranking {
    /// Version of this program.
    version: &'static str,
    /// The graph as a matrix.
    matrix: Shape,
    /// The part of its rank that a vertex passes on.
    damping: f64,
    /// Whether each edge has the same weight.
    unweighted: bool,
    /// The format of the transition matrix.
    format: String,
    /// The storage of its values, if narrower than they are computed with; null otherwise.
    values: Option<Stored>,
    /// The reason for the choice of the format, with `--format auto`; null otherwise.
    choice: Option<Choice>,
    /// The executor, as `--executor` takes it.
    executor: &'static str,
    /// The executor's device.
    device: String,
    /// "float32" or "float64".
    precision: &'static str,
    /// The tolerance of convergence.
    tolerance: f64,
    /// The outcome.
    outcome: String,
    /// Whether it converged.
    converged: bool,
    /// Number of iterations.
    iterations: usize,
    /// Total change of the ranks by one more iteration in float64 on the host.
    residual: f64,
    /// The sum of all ranks.
    sum: f64,
    /// Duration of each step.
    times: Times,
    /// The highest ranks.
    top: Vec<Ranked>,
    /// Total change of the ranks in each iteration.
    history: Vec<f64>,
    /// The file to which the ranks were written, if any.
    #[serde(serialize_with = "path_if_any")]
    out: Option<PathBuf>,
    /// Other factors that may affect the times.
    environment: Environment,
}

/// Duration of each step.
#[derive(Debug, Serialize)]
pub struct Times {
    /// How the graph was obtained: "read" or "generate".
    pub source: &'static str,
    /// Reading or generating the graph.
    #[serde(serialize_with = "seconds")]
    pub load: Duration,
    /// Building the transition matrix on the executor.
    #[serde(serialize_with = "seconds")]
    pub prepare: Duration,
    /// Ranking.
    #[serde(serialize_with = "seconds")]
    pub rank: Duration,
    /// An iteration; null if there was none.
    #[serde(serialize_with = "seconds_if_any")]
    pub iteration: Option<Duration>,
}

/// A vertex with its rank.
#[derive(Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// One-based number.
    pub vertex: usize,
    pub rank: f64,
}

pub fn pagerank(arguments: &Arguments) -> Result<(), Error> {
    arguments.choosing.check(arguments.format == Format::Auto, "--format auto")?;
    output::check_files(&arguments.out, arguments.source.file())?;
    match arguments.precision {
        Precision::Float32 => pagerank_in::<f32>(arguments),
        Precision::Float64 => pagerank_in::<f64>(arguments),
    }
}

fn pagerank_in<T: Real + Number>(arguments: &Arguments) -> Result<(), Error> {
    let (world, executor) = arguments.ways.world(arguments.ranks, arguments.executor)?;
    let Some(world) = world else {
        let job = |note| Job::<T> { arguments, note, real: PhantomData };
        return on_executor(executor, |name, note| subject::with(name, job(note)));
    };
    let choosing = arguments.choosing.given();
    distributed::check_options(&[(choosing.unwrap_or(""), choosing.is_some())])?;
    on_executor(executor, |executor, note| {
        subject::with(executor, Nothing)?;
        let request = PagerankRequest {
            source: &arguments.source,
            format: arguments.format,
            values: arguments.narrow.storage(),
            place: Place { executor, grids: Grids::default(), note },
            route: arguments.ways.route(),
            damping: arguments.damping,
            unweighted: arguments.unweighted,
            options: arguments.options(),
            top: arguments.top,
            out: arguments.out.as_ref(),
            json: arguments.json,
        };
        Ok(distributed::pagerank::<T>(world, &request))
    })
}

impl Arguments {
    /// The stopping criteria.
    fn options(&self) -> Options {
        Options {
            relative_tolerance: self.tolerance,
            iteration_limit: self.iterations,
            stagnation_window: None,
            ..Options::default()
        }
    }
}

/// The work once there is an executor.
struct Job<'a, T> {
    arguments: &'a Arguments,
    /// A message for standard error once the input has proved valid.
    note: Option<String>,
    real: PhantomData<T>,
}

impl<T: Real + Number> subject::SubjectVisitor for Job<'_, T> {
    type Output = Result<(), Error>;

    fn visit<S: Subject>(self, executor: &S) -> Self::Output {
        let arguments = self.arguments;
        let begin = Instant::now();
        let (name, mut graph) = arguments.source.load_square::<T>()?;
        if arguments.unweighted {
            graph = with_equal_weights(graph)?;
        }
        let (load, values) = (begin.elapsed(), arguments.narrow.storage());
        let (mut ranks, prepare) = timed(executor, "making the transition matrix", || match arguments.format {
            Format::Auto => Pagerank::automatic(executor, &graph, &arguments.choosing.selection_with(values)),
            format => Pagerank::with_values(executor, &graph, format, values),
        })?;
        if let Some(note) = &self.note {
            output::say(note);
        }
        let options = arguments.options();
        let line = Progress::spinner("ranking");
        let mut looks = Looks::default();
        let interrupt = Interrupt::new();
        let mut callback = |progress: &warp_spmv::solver::Progress| {
            if looks.hears_of(progress.iteration, progress.elapsed) {
                let (iteration, change) = (progress.iteration, progress.residual_norm);
                line.say(format!("iteration {iteration}, change {change:.2e}, target {:.2e}", arguments.tolerance));
            }
            if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (x, report) = ranks.rank(arguments.damping, None, &options, Some(&mut callback))?;
        drop((line, interrupt));
        let x = executor.download(&x)?;

        let converged = report.outcome == Outcome::Converged;
        let residual = residual(&graph, T::from_f64(arguments.damping).to_f64(), &x);
        let rounding = rounding_of::<T>(longest_column(&graph));
        // Written so that NaN is wrong.
        let wrong = converged && (residual.is_nan() || residual > arguments.tolerance + 2.0 * rounding);
        let wrong_answer = wrong.then_some(Error::WrongRanks { residual, tolerance: arguments.tolerance });
        let out = arguments.out.clone().filter(|_| !wrong);
        if let Some(path) = &out {
            write_vector(path, &x)?;
        }
        let not_converged = Error::of_outcome(report.outcome, report.iterations);
        let iteration = looks.time_of_iteration(report.iterations, report.elapsed);
        let ranking = Ranking {
            version: env!("CARGO_PKG_VERSION"),
            matrix: Shape::new(name, &graph),
            damping: arguments.damping,
            unweighted: arguments.unweighted,
            format: ranks.transitions().format().to_string(),
            values: Stored::of(ranks.transitions().matrix(), 0.0),
            choice: ranks.transitions().explain().cloned(),
            executor: executor.name().name(),
            device: executor.device().name.clone(),
            precision: T::NAME,
            tolerance: arguments.tolerance,
            outcome: report.outcome.to_string(),
            converged,
            iterations: report.iterations,
            residual,
            sum: total(x.iter().map(|rank| rank.to_f64())),
            times: Times { source: arguments.source.verb(), load, prepare, rank: report.elapsed, iteration },
            top: top(&x, arguments.top),
            history: report.history,
            out,
            environment: Environment::here(Asked::default()),
        };
        output::print(&if arguments.json { output::json(&ranking) } else { ranking.to_string() })?;
        wrong_answer.or(not_converged).map_or(Ok(()), Err)
    }
}

/// The sum of many small numbers in twice the precision: added one by one, their error would exceed the tolerance of ranks.
pub fn total(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sum = Accumulator::default();
    numbers.for_each(|number| sum.add_product(number, 1.0));
    sum.combine(1.0, 0.0, 0.0).value()
}

/// Largest total change of the ranks by rounding: they add up to 1, so it is at most that of the longest sum.
pub fn rounding_of<T: Real>(longest_sum: usize) -> f64 {
    (longest_sum + 10) as f64 * T::UNIT_ROUNDOFF
}

/// The same edges, all with weight 1.
pub fn with_equal_weights<T: Real + Number>(graph: Csr<T>) -> Result<Csr<T>, warp_spmv::Error> {
    let (rows, columns) = (graph.rows(), graph.columns());
    let (offsets, indices, values): (Offsets, _, Vec<T>) = graph.into_parts();
    Csr::try_new(rows, columns, offsets, indices, vec![T::ONE; values.len()])
}

/// Adds d times the rank of each vertex to the vertices that its edges lead to. Returns d times the sum of the ranks of
/// vertices without edges.
pub fn pass_on<T: Real>(edges: &Csr<T>, damping: f64, x: &[T], next: &mut [f64]) -> f64 {
    total(x.iter().enumerate().map(|(vertex, rank)| {
        let passed = damping * rank.to_f64();
        let weights: f64 = edges.row(vertex).map(|(_, weight)| weight.to_f64()).sum();
        if weights == 0.0 {
            return passed;
        }
        let share = passed / weights;
        edges.row(vertex).for_each(|(to, weight)| next[to as usize] += share * weight.to_f64());
        0.0
    }))
}

/// Σ |x − d Pᵀ x − (1 − d + d · ranks of vertices without edges) / n|, in float64.
fn residual<T: Real + Number>(graph: &Csr<T>, damping: f64, x: &[T]) -> f64 {
    let mut next = vec![0.0; x.len()];
    let left = pass_on(graph, damping, x, &mut next);
    let shared = (1.0 - damping + left) / x.len() as f64;
    total(next.iter().zip(x).map(|(next, rank)| (next + shared - rank.to_f64()).abs()))
}

/// The largest number of entries of a column.
fn longest_column<T: Real + Number>(graph: &Csr<T>) -> usize {
    let mut lengths = vec![0; graph.columns()];
    for row in 0..graph.rows() {
        graph.row(row).for_each(|(column, _)| lengths[column as usize] += 1);
    }
    lengths.into_iter().max().unwrap_or(0)
}

/// The vertices with the highest ranks; of equal ones, the first.
pub fn top<T: Real + Number>(x: &[T], most: usize) -> Vec<Ranked> {
    let mut ranked: Vec<_> = x.iter().enumerate().map(|(place, rank)| (rank.to_f64(), Reverse(place))).collect();
    let highest_first = |left: &(f64, Reverse<usize>), right: &(f64, Reverse<usize>)| {
        right.0.total_cmp(&left.0).then(right.1.cmp(&left.1))
    };
    if most < ranked.len() {
        ranked.select_nth_unstable_by(most, highest_first);
        ranked.truncate(most);
    }
    ranked.sort_unstable_by(highest_first);
    ranked.into_iter().map(|(rank, Reverse(place))| Ranked { vertex: place + 1, rank }).collect()
}

/// Formats the report for the terminal.
impl Display for Ranking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, damping, format, executor, device, precision, times, .. } = self;
        let weights = if self.unweighted { ", all edges with equal weight" } else { "" };
        writeln!(f, "graph         {}", printable(&matrix.name))?;
        let [vertices, edges] = [matrix.rows, matrix.nonzeros].map(|count| HumanCount(count as u64));
        writeln!(f, "shape         {vertices} vertices, {edges} edges")?;
        writeln!(f, "damping       {damping}{weights}")?;
        writeln!(f, "format        {format}, {precision}")?;
        if let Some(values) = self.values {
            writeln!(f, "values        {values}")?;
        }
        write_choice(f, self.choice.as_ref())?;
        writeln!(f, "executor      {executor}, {device}")?;
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
        Ok(())
    }
}

/// Writes the highest ranks as lines.
pub fn write_ranks(f: &mut fmt::Formatter<'_>, top: &[Ranked]) -> fmt::Result {
    top.iter()
        .enumerate()
        .try_for_each(|(place, Ranked { vertex, rank })| writeln!(f, "{:13} vertex {vertex}, {rank:.6e}", place + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_ranks_come_first_and_of_equal_ones_the_first() {
        let vertices = |ranks: &[f64], most| top(ranks, most).iter().map(|ranked| ranked.vertex).collect::<Vec<_>>();
        let ranks = [0.1, 0.3, 0.2, 0.3, 0.1];
        assert_eq!(vertices(&ranks, 3), [2, 4, 3]);
        assert_eq!(vertices(&ranks, 4), [2, 4, 3, 1]);
        assert_eq!(vertices(&ranks, 9), [2, 4, 3, 1, 5]);
        assert!(vertices(&ranks, 0).is_empty());
        assert!(vertices(&[], 3).is_empty());
        assert_eq!(top(&[0.25f32], 1), [Ranked { vertex: 1, rank: 0.25 }]);
    }

    #[test]
    fn a_million_numbers_are_added_up_to_the_last_digit() {
        let added: f64 = (0..1 << 20).map(|_| 0.1).sum();
        assert!((added / 104_857.6 - 1.0).abs() > 1e-12, "{added}");
        assert_eq!(total((0..1 << 20).map(|_| 0.1)), 104_857.6);
    }

    /// Vertex 1 has edges to 2 and, three times as heavy, to 3; 2 has one to 3, and 3 has none.
    #[test]
    fn the_residual_is_that_of_the_equation() {
        let graph = Csr::try_from_triplets(3, 3, &[0, 0, 1], &[1, 2, 2], &[1.0, 3.0, 2.0]).unwrap();
        // By hand: 0.5 (0, 0.8 / 4, 0.8 · 3 / 4 + 0.1) + (0.5 + 0.5 · 0.1) / 3.
        let shared = 0.55 / 3.0;
        let next = [shared, shared + 0.1, shared + 0.35];
        let expected: f64 = next.iter().zip([0.8, 0.1, 0.1]).map(|(next, x): (&f64, f64)| (next - x).abs()).sum();
        assert!((residual(&graph, 0.5, &[0.8, 0.1, 0.1]) - expected).abs() < 1e-15);
        // Ranks that do not add up to 1 are wrong, however well they fit each other.
        assert!((residual(&graph, 0.5, &[0.0; 3]) - 0.5).abs() < 1e-15);
        assert_eq!(longest_column(&graph), 2);
    }
}
