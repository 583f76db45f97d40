//! `warp-spmv solve`: solves a system of linear equations, checks the residual, and reports the time.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lab::peers::Stop;
use lab::report::residual_history;
use lab::subject::{self, Subject};
use lab::timing::{self, Effort};
use lab::vectors::random_vector;
use warp_spmv::executor::{Cpu, Executor, ExecutorName};
use warp_spmv::io::{Number, replace_file, write_vector};
use warp_spmv::memory::{self, zeros};
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName};
use warp_spmv::solver::{MethodName, Operator, Options, Outcome, Report, Solver, Work};
use warp_spmv::verify::{ExactElement, Norm, Verification, exact, verify};
use warp_spmv::{Csr, Format, Plan, ValueStorage, Vector};

use super::choosing::Choosing;
use super::distributed::{self, Exchanging, World};
use super::error::Error;
use super::formats;
use super::grids::Grids;
use super::input::{self, Source};
use super::interrupt::Interrupt;
use super::looks::Looks;
use super::multigrid::{Levels, Vectors};
use super::output;
use super::precision::{AnyPrecision, in_precision};
use super::prepared::Prepared;
use super::progress::Progress;
use super::record::{Environment, Shape};
use super::refined::Refining;
use super::rivals::WithRivals;
use super::run::{Nothing, executor_parser, on_executor, timed};
use super::solution::{Account, Residual, Solution, Times, Tolerance, norm};
use super::system::System;
use super::values::{Stored, Values};

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv solve stencil:7:100
  warp-spmv solve 1138_bus.mtx --tolerance 1e-8 --rhs b.mtx --out x.mtx
  warp-spmv solve stencil:5:500 --method pipelined-cg --preconditioner jacobi --plot residual.svg
  warp-spmv solve stencil:7:300 --format sell-p --tolerance 0 --iterations 500 --time --json
  warp-spmv solve stencil:7:200 --preconditioner amg --explain
  warp-spmv solve elasticity:width=60 --preconditioner amg --coordinates
  warp-spmv solve elasticity:width=40 --seed 1 --values float32
  warp-spmv solve stencil:7:200 --gpus 2 --method pipelined-cg
  mpirun -n 4 warp-spmv solve stencil:7:100 --preconditioner ic0

With --values, rounded values of the matrix find corrections of x; the residual that has to be small is that of the matrix
as it is.

Exit codes: 0 converged, 1 the residual that was computed is wrong, 2 there is no answer, 3 not converged, 130
interrupted by Ctrl-C (--out then writes the current x).";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// The method
    #[arg(long, default_value = MethodName::Cg.name(), value_parser = method_parser())]
    method: MethodName,
    #[arg(long, value_name = "NAME", help = preconditioner_help(), value_parser = preconditioner)]
    preconditioner: Option<PreconditionerName>,
    /// Converged when the norm of b − A x is at most this times that of b
    #[arg(long, value_name = "NUMBER", default_value_t = Options::default().relative_tolerance,
          value_parser = at_least_0)]
    tolerance: f64,
    /// Also converged when the norm of b − A x is at most this
    #[arg(long, value_name = "NUMBER", default_value_t = Options::default().absolute_tolerance,
          value_parser = at_least_0)]
    absolute_tolerance: f64,
    /// Largest number of iterations
    #[arg(long, value_name = "N", default_value_t = Options::default().iteration_limit)]
    iterations: u32,
    /// Largest number of seconds
    #[arg(long, value_name = "NUMBER", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Iterations between two checks of the host on the progress
    #[arg(long, value_name = "N", default_value_t = Options::default().check_interval,
          value_parser = clap::value_parser!(u32).range(1..))]
    check_interval: u32,
    /// Compute dot products in separate passes, even if the product's kernel could add them up
    #[arg(long)]
    separate_sums: bool,
    /// Matrix Market array file with b [default: A x, for an x of ones or of the values of --seed]
    #[arg(long, value_name = "FILE")]
    rhs: Option<PathBuf>,
    /// b is A x for an x of pseudo-random values from -1 to 1 that depend on this number
    #[arg(long, value_name = "N", conflicts_with = "rhs")]
    seed: Option<u64>,
    /// Matrix Market array file with the initial x [default: zeros]
    #[arg(long, value_name = "FILE")]
    start: Option<PathBuf>,
    /// Write x to this Matrix Market array file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the norm of the residual after each iteration into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Compare the time of an iteration with the times of its products, and of its vectors at the speed of a copy
    #[arg(long)]
    time: bool,
    /// Also solve by conjugate gradients of other libraries: cuSPARSE for the products, cuBLAS for the vectors, scalars
    /// on the host; at most --iterations, without a preconditioner
    #[arg(long)]
    peers: bool,
    /// Storage and multiplication of the matrix: a name, some with parameters (see below); auto chooses
    #[arg(long, default_value = Format::Auto.name(), value_parser = format_parser())]
    format: Format,
    /// Where to solve [default: cuda if there is a GPU that this program can use, otherwise cpu]
    #[arg(long, value_parser = executor_parser())]
    executor: Option<ExecutorName>,
    /// The type of all values; sums and norms always have 64 bits
    #[arg(long, value_enum, default_value_t = AnyPrecision::Float64)]
    precision: AnyPrecision,
    /// Divide the rows among this many ranks, which are threads of this process; processes started by mpirun are ranks
    /// without it. Preconditioners are then those of each rank's rows and columns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    #[command(flatten)]
    exchanging: Exchanging,
    /// Print one JSON record instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    choosing: Choosing,
    #[command(flatten)]
    values: Values,
    #[command(flatten)]
    vectors: Vectors,
    /// Print a table of the levels of amg: unknowns, entries, formats, and the time of their setup
    #[arg(long, help_heading = "Multigrid", requires = "preconditioner")]
    explain: bool,
    #[command(flatten)]
    grids: Grids,
}

fn method_parser() -> impl TypedValueParser<Value = MethodName> {
    let values = MethodName::ALL.iter().map(|method| PossibleValue::new(method.name()).help(method.about()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<MethodName>())
}

fn preconditioner(name: &str) -> Result<PreconditionerName, warp_spmv::Error> {
    name.parse()
}

fn preconditioner_help() -> String {
    let names: Vec<_> = PreconditionerName::ALL.iter().map(PreconditionerName::to_string).collect();
    format!(
        "What approximates the inverse of the matrix: {}; with any number in place of these. Options of amg and saddle come after \
         a colon, such as amg:cycle=w,smoother=jacobi-2,aggregation=plain,strength=0.25,node=3",
        names.join(", ")
    )
}

pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    formats::parser(formats::names().chain([Format::Auto.name()]).collect::<Vec<_>>(), str::parse::<Format>)
}

/// A number that is not negative.
pub fn at_least_0(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number, 0 or more".into()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let duration = at_least_0(text)?;
    Duration::try_from_secs_f64(duration).map_err(|error| error.to_string())
}

pub fn solve(arguments: &Arguments) -> Result<(), Error> {
    arguments.choosing.check(arguments.format == Format::Auto, "--format auto")?;
    let [is_amg, is_saddle] = [
        arguments.preconditioner.is_some_and(|name| matches!(name, PreconditionerName::Amg(_))),
        arguments.preconditioner.is_some_and(|name| matches!(name, PreconditionerName::Saddle(_))),
    ];
    if let Some(option) = arguments.vectors.given().filter(|_| !is_amg) {
        return Err(Error::Usage(format!("{option} requires --preconditioner amg")));
    }
    if arguments.explain && !is_amg && !is_saddle {
        return Err(Error::Usage("--explain requires --preconditioner amg or saddle".into()));
    }
    let vectors = [arguments.rhs.as_deref(), arguments.start.as_deref()].into_iter().flatten();
    let inputs = arguments.source.file().into_iter().chain(vectors).chain(arguments.vectors.files());
    output::check_files(arguments.out.iter().chain(&arguments.plot), inputs)?;
    match arguments.exchanging.world(arguments.ranks, arguments.executor)? {
        (Some(world), executor) => {
            distributed::check_options(&[
                ("--time", arguments.time),
                ("--peers", arguments.peers),
                ("--explain", arguments.explain),
                (arguments.vectors.given().unwrap_or(""), arguments.vectors.given().is_some()),
                (arguments.choosing.given().unwrap_or(""), arguments.choosing.given().is_some()),
            ])?;
            in_precision!(arguments.precision, solve_on_ranks(world, executor, arguments))
        }
        (None, _) => in_precision!(arguments.precision, solve_in(arguments)),
    }
}

fn solve_on_ranks<T: Number>(world: World, executor: Option<ExecutorName>, arguments: &Arguments) -> Result<(), Error> {
    on_executor(executor, |executor, note| {
        subject::with_tuning(executor, arguments.grids.asked(), Nothing)?;
        let request = distributed::SolveRequest {
            source: &arguments.source,
            format: arguments.format,
            place: distributed::Place { executor, grids: arguments.grids, note },
            route: arguments.exchanging.route(),
            partition: arguments.exchanging.partition(),
            method: arguments.method,
            preconditioner: arguments.preconditioner,
            options: arguments.options(),
            values: arguments.values.storage(),
            seed: arguments.seed,
            rhs: arguments.rhs.as_ref(),
            start: arguments.start.as_ref(),
            out: arguments.out.as_ref(),
            plot: arguments.plot.as_ref(),
            json: arguments.json,
        };
        Ok(distributed::solve::<T>(world, &request))
    })
}

impl Arguments {
    /// The stopping criteria.
    fn options(&self) -> Options {
        Options {
            relative_tolerance: self.tolerance,
            absolute_tolerance: self.absolute_tolerance,
            iteration_limit: self.iterations,
            time_limit: self.seconds,
            check_interval: self.check_interval,
            fused_sums: !self.separate_sums,
            ..Options::default()
        }
    }
}

fn solve_in<T: WithRivals>(arguments: &Arguments) -> Result<(), Error> {
    if arguments.peers && T::COMPLEX {
        return Err(Error::Usage(format!("--peers solves real systems only, not those of {}", T::NAME)));
    }
    on_executor(arguments.executor, |name, note| {
        let job = Job::<T> { arguments, note, numbers: std::marker::PhantomData };
        subject::with_tuning(name, arguments.grids.asked(), job)
    })
}

/// The work once there is an executor.
struct Job<'a, T> {
    arguments: &'a Arguments,
    /// A message for standard error once the input has proved valid.
    note: Option<String>,
    numbers: std::marker::PhantomData<T>,
}

/// Loads the requested system.
fn load<T: Number>(arguments: &Arguments) -> Result<System<T>, Error> {
    let (name, matrix) = arguments.source.load_square::<T>()?;
    let rows = matrix.rows();
    let (b, known) = match &arguments.rhs {
        Some(path) => (input::vector(path, rows)?, None),
        None => {
            let x = match arguments.seed {
                Some(seed) => random_vector(rows, seed)?,
                None => memory::filled(rows, T::ONE)?,
            };
            let mut b = zeros::<T>(rows)?;
            let product = exact(&matrix, T::ONE, &x, T::ZERO, &b)?;
            b.iter_mut().zip(&product).for_each(|(b, element)| *b = element.rounded());
            (b, Some(x))
        }
    };
    let start = match &arguments.start {
        Some(path) => input::vector(path, rows)?,
        None => zeros(rows)?,
    };
    Ok(System { name, matrix, b, start, known })
}

impl<T: WithRivals> subject::SubjectVisitor for Job<'_, T> {
    type Output = Result<(), Error>;

    fn visit<S: Subject>(self, executor: &S) -> Self::Output {
        let arguments = self.arguments;
        if arguments.time && !executor.is_fast() {
            return Err(Error::Usage(format!("--time is meaningless on the executor {}", executor.name())));
        }
        let begin = Instant::now();
        let (system, loading) = (load::<T>(arguments)?, begin.elapsed());
        self.note.iter().for_each(|note| output::say(note));
        let (mut plan, mut exact, convert, upload) = self.prepare(executor, &system.matrix)?;
        let (b, mut x) = (executor.upload(memory::copy(&system.b)?)?, executor.upload(memory::copy(&system.start)?)?);
        let tolerance = self.tolerance(&system.b);
        let make = |name| {
            let make = || arguments.vectors.preconditioner(executor, &arguments.source, &system.matrix, name);
            timed(executor, format!("making the preconditioner {name}"), make)
        };
        let (mut preconditioner, preparation) = arguments.preconditioner.map(make).transpose()?.unzip();
        let operators = Operators { plan: &mut plan, exact: exact.as_mut(), preconditioner: preconditioner.as_mut() };
        let (report, looks) = self.solve(executor, operators, tolerance, &b, &mut x)?;
        let computed = executor.download(&x)?;
        let (verification, exact_norm) = check(exact.as_mut().unwrap_or(&mut plan), &system, &x, &computed, b)?;
        let wrong_answer = Error::of_verification(&verification, "the residual", system.matrix.rows());
        let interrupted = report.outcome == Outcome::Stopped;
        let iteration = looks.time_of_iteration(report.iterations, report.elapsed);
        let account = match iteration {
            Some(iteration) if arguments.time && !interrupted => {
                account(executor, &mut plan, preconditioner.as_mut(), &x, &report, iteration)?
            }
            _ => None,
        };
        let stop = Stop { tolerance: tolerance.norm, iterations: arguments.iterations as usize };
        let peers = (arguments.peers && !interrupted).then(|| T::rivals(executor, &system, stop)).transpose()?;
        let (out, plot) = (arguments.out.clone().filter(|_| wrong_answer.is_none()), arguments.plot.clone());
        if let Some(path) = &out {
            write_vector(path, &computed)?;
        }
        if let Some(path) = &plot {
            draw(path, &format!("{}, {}", system.name, arguments.method), &report.history, tolerance.norm)?;
        }
        let not_converged = Error::of_outcome(report.outcome, report.iterations);
        let solution = Solution {
            version: env!("CARGO_PKG_VERSION"),
            matrix: Shape::new(system.name, &system.matrix),
            method: arguments.method.name(),
            preconditioner: arguments.preconditioner.map(|name| name.to_string()),
            multigrid: preconditioner
                .as_ref()
                .and_then(|preconditioner| preconditioner.multigrid_report().map(Levels::of)),
            format: plan.format().to_string(),
            values: Stored::of(plan.matrix(), plan.matrix().largest_change()),
            corrections: exact.map(|_| if report.iterations > 0 { report.restarts + 1 } else { 0 }),
            choice: plan.explain().cloned(),
            executor: executor.name().name(),
            device: executor.device().name.clone(),
            precision: T::NAME,
            tolerance,
            outcome: report.outcome.to_string(),
            converged: report.outcome == Outcome::Converged,
            iterations: report.iterations,
            restarts: report.restarts,
            residual: Residual {
                right_hand_side: report.right_hand_side_norm,
                norm: report.residual_norm,
                exact: exact_norm,
                verification: verification.into(),
            },
            error: system.known.map(|known| distance(&computed, &known)),
            times: Times {
                source: arguments.source.verb(),
                load: loading,
                convert,
                upload,
                preconditioner: preparation,
                solve: report.elapsed,
                iteration,
            },
            account,
            peers,
            history: report.history,
            out,
            plot,
            environment: Environment::here(arguments.grids.asked()),
            explain: arguments.explain,
        };
        output::print(&if arguments.json { output::json(&solution) } else { solution.to_string() })?;
        wrong_answer.or(not_converged).map_or(Ok(()), Err)
    }
}

impl<T: Number> Job<'_, T> {
    /// The tolerance for this right-hand side.
    fn tolerance(&self, b: &[T]) -> Tolerance {
        let (relative, absolute) = (self.arguments.tolerance, self.arguments.absolute_tolerance);
        let norm = absolute.max(relative * norm(b.iter().flat_map(|b| b.parts())));
        Tolerance { relative, absolute, norm }
    }

    /// The matrix that iterations multiply, and the given one if values were changed; the times to convert and to move
    /// them.
    fn prepare<S: Subject>(&self, executor: &S, matrix: &Csr<T>) -> Result<PreparedPlans<T, S>, Error> {
        let Arguments { format, choosing, values, .. } = self.arguments;
        let copy = || matrix.duplicate(&Cpu::new());
        let Prepared { plan, convert, upload } =
            Prepared::chosen(executor, copy()?, &mut None, *format, choosing, values.storage())?;
        if plan.matrix().largest_change() == 0.0 {
            return Ok((plan, None, convert, upload));
        }
        // It is multiplied only once per correction: no other format would be worth its conversion.
        let exact = Prepared::new(executor, copy()?, &mut None, Format::CSR_TILED, ValueStorage::Full)?;
        Ok((plan, Some(exact.plan), convert + exact.convert, upload + exact.upload))
    }

    /// Solves, and shows the residual meanwhile.
    fn solve<S: Subject>(
        &self,
        executor: &S,
        operators: Operators<'_, T, S>,
        tolerance: Tolerance,
        b: &Vector<T, S>,
        x: &mut Vector<T, S>,
    ) -> Result<(Report, Looks), Error> {
        let options = self.arguments.options();
        let line = Progress::spinner(format!("solving by {}", self.arguments.method));
        let mut looks = Looks::default();
        let interrupt = Interrupt::new();
        let mut callback = |progress: &warp_spmv::solver::Progress| {
            if looks.hears_of(progress.iteration, progress.elapsed) {
                let (iteration, norm, goal) = (progress.iteration, progress.residual_norm, tolerance.norm);
                line.say(format!("iteration {iteration}, residual {norm:.2e}, target {goal:.2e}"));
            }
            if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (method, callback) = (self.arguments.method, &mut callback);
        let Operators { plan: rounded, exact, preconditioner } = operators;
        if let Some(plan) = exact {
            let refining = Refining { plan, rounded, preconditioner, method, options, callback };
            return Ok((refining.solve(executor, b, x)?, looks));
        }
        let solver = Solver::new(executor, rounded).options(options).callback(callback);
        let mut solver = match preconditioner {
            Some(preconditioner) => solver.preconditioner(preconditioner),
            None => solver,
        };
        Ok((method.solve(&mut solver, b, x)?, looks))
    }
}

/// The operators of a system.
struct Operators<'a, T: Number, E: Executor> {
    /// The matrix that iterations multiply.
    plan: &'a mut Plan<T, E>,
    /// The given matrix, if that is a different one.
    exact: Option<&'a mut Plan<T, E>>,
    /// An approximation of the inverse.
    preconditioner: Option<&'a mut Preconditioner<T, E>>,
}

/// Two plans, the first of which may stand for both, and the times to convert and to move them.
type PreparedPlans<T, E> = (Plan<T, E>, Option<Plan<T, E>>, Duration, Duration);

const EFFORT: Effort = Effort { warm_ups: 5, repetitions: 50, seconds: 0.5 };

/// Times the parts of an iteration; none if times are meaningless.
fn account<T: Number, S: Subject>(
    executor: &S,
    plan: &mut Plan<T, S>,
    preconditioner: Option<&mut Preconditioner<T, S>>,
    x: &Vector<T, S>,
    report: &Report,
    iteration: Duration,
) -> Result<Option<Account>, Error> {
    let mut y = executor.zeros(plan.matrix().rows())?;
    let mut time = |operator: &mut dyn Operator<T, S>| {
        let mut apply = || operator.apply(T::ONE, x, T::ZERO, &mut y);
        let measure = || timing::measure(executor, EFFORT, &mut || Ok(()), &mut apply);
        timed(executor, "timing what an iteration consists of", measure).map(|(times, _)| times.time)
    };
    let product = time(plan)?;
    let preconditioning = preconditioner.map(|preconditioner| time(preconditioner)).transpose()?;
    let (rates, _) = timed(executor, "timing a copy", || executor.memory_rates())?;
    let Some(rates) = rates else { return Ok(None) };
    let Work { products, preconditionings, vector_bytes } = report.work;
    let vectors = vector_bytes / (rates.copy_gbps * 1e9);
    let expected = products * product + preconditionings * preconditioning.unwrap_or(0.0) + vectors;
    Ok(Some(Account {
        products,
        product,
        preconditionings,
        preconditioning,
        vector_bytes,
        copy_gbps: rates.copy_gbps,
        expected,
        ratio: (expected > 0.0).then(|| iteration.as_secs_f64() / expected),
    }))
}

/// Checks the executor's residual against the one in twice the precision, whose norm it also returns.
fn check<T: Number, S: Subject>(
    plan: &mut Plan<T, S>,
    system: &System<T>,
    x: &Vector<T, S>,
    computed: &[T],
    b: Vector<T, S>,
) -> Result<(Verification, f64), Error> {
    let mut residual = b;
    plan.apply(-T::ONE, x, T::ONE, &mut residual)?;
    let expected = exact(&system.matrix, -T::ONE, computed, T::ONE, &system.b)?;
    let verification = verify(&plan.executor().download(&residual)?, &expected, plan.format())?;
    Ok((verification, norm(expected.iter().flat_map(|element| element.beside(T::ZERO).map(|(part, _)| part.value())))))
}

/// Draws the history of the residual.
pub fn draw(path: &Path, title: &str, history: &[f64], tolerance: f64) -> Result<(), Error> {
    let figure = residual_history(title, history, tolerance)?;
    Ok(replace_file(path, |file| file.write_all(figure.svg.as_bytes()))?)
}

/// The parts of found − known, in 64 bits.
pub fn difference<T: Number>(found: T, known: T) -> [f64; 2] {
    let ([re, im], [known_re, known_im]) = (found.parts(), known.parts());
    [re - known_re, im - known_im]
}

/// ‖found − known‖ / ‖known‖.
fn distance<T: Number>(found: &[T], known: &[T]) -> f64 {
    let pairs = found.iter().zip(known);
    let difference: Norm = pairs.flat_map(|(&found, &known)| difference(found, known)).collect();
    difference.over(&known.iter().flat_map(|known| known.parts()).collect())
}
