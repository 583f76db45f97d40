//! `warp-spmv solve`: solves a system of linear equations, checks the residual, and says how long it took.

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
use warp_spmv::executor::{Cpu, ExecutorName};
use warp_spmv::io::{Number, replace_file, write_vector};
use warp_spmv::memory::{self, zeros};
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName};
use warp_spmv::solver::{MethodName, Operator, Options, Outcome, Report, Solver, Work};
use warp_spmv::verify::{ExactElement, Norm, Verification, exact, verify};
use warp_spmv::{Format, Plan, Vector};

use super::choosing::Choosing;
use super::error::Error;
use super::formats;
use super::grids::Grids;
use super::input::{self, Source};
use super::interrupt::Interrupt;
use super::looks::Looks;
use super::output;
use super::precision::{AnyPrecision, in_precision};
use super::prepared::Prepared;
use super::progress::Progress;
use super::record::{Environment, Shape};
use super::rivals::WithRivals;
use super::run::{executor_parser, on_executor, timed};
use super::solution::{Account, Residual, Solution, Times, Tolerance, norm};
use super::system::System;

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv solve stencil:7:100
  warp-spmv solve 1138_bus.mtx --tolerance 1e-8 --rhs b.mtx --out x.mtx
  warp-spmv solve stencil:5:500 --method pipelined-cg --preconditioner jacobi --plot residual.svg
  warp-spmv solve stencil:7:300 --format sell-p --tolerance 0 --iterations 500 --time --json

Exit codes: 0 converged, 1 the residual that was computed is wrong, 2 there is no answer, 3 not converged, 130
interrupted by Ctrl-C (what --out writes is then the x it had come to).";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// How the system is solved
    #[arg(long, default_value = MethodName::Cg.name(), value_parser = method_parser())]
    method: MethodName,
    #[arg(long, value_name = "NAME", help = preconditioner_help(), value_parser = preconditioner)]
    preconditioner: Option<PreconditionerName>,
    /// Converged when the norm of b − A x is at most this times that of b
    #[arg(long, value_name = "NUMBER", default_value_t = Options::default().relative_tolerance,
          value_parser = at_least_0)]
    tolerance: f64,
    /// Converged as well when the norm of b − A x is at most this
    #[arg(long, value_name = "NUMBER", default_value_t = Options::default().absolute_tolerance,
          value_parser = at_least_0)]
    absolute_tolerance: f64,
    /// Iterations at most
    #[arg(long, value_name = "N", default_value_t = Options::default().iteration_limit)]
    iterations: u32,
    /// Seconds at most
    #[arg(long, value_name = "NUMBER", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Iterations between two looks of the host at how far it is
    #[arg(long, value_name = "N", default_value_t = Options::default().check_interval,
          value_parser = clap::value_parser!(u32).range(1..))]
    check_interval: u32,
    /// Matrix Market array file with b [default: A x, for an x of ones or of the values of --seed]
    #[arg(long, value_name = "FILE")]
    rhs: Option<PathBuf>,
    /// b is A x for an x of pseudo-random values from -1 to 1 that depend on this number
    #[arg(long, value_name = "N", conflicts_with = "rhs")]
    seed: Option<u64>,
    /// Matrix Market array file with the x to start from [default: zeros]
    #[arg(long, value_name = "FILE")]
    start: Option<PathBuf>,
    /// Write x to this Matrix Market array file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the norm of the residual after each iteration into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Compare the time of an iteration with those of its products, and of its vectors at the speed of a copy
    #[arg(long)]
    time: bool,
    /// Solve by conjugate gradients of other libraries, too: cuSPARSE for the products, cuBLAS for the vectors, scalars on
    /// the host; at most --iterations, without a preconditioner
    #[arg(long)]
    peers: bool,
    /// How the matrix is stored and multiplied: a name, some with parameters (see below); auto chooses
    #[arg(long, default_value = Format::Auto.name(), value_parser = format_parser())]
    format: Format,
    #[command(flatten)]
    choosing: Choosing,
    /// Where it is solved [default: cuda where there is a GPU that this program can use, otherwise cpu]
    #[arg(long, value_parser = executor_parser())]
    executor: Option<ExecutorName>,
    /// The type of all values; sums and norms are always of 64 bits
    #[arg(long, value_enum, default_value_t = AnyPrecision::Float64)]
    precision: AnyPrecision,
    /// Print one JSON record instead of text
    #[arg(long)]
    json: bool,
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
    format!("What approximates the inverse of the matrix: {}; with any number in place of these", names.join(", "))
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
    let vectors = [arguments.rhs.as_deref(), arguments.start.as_deref()];
    let inputs = arguments.source.file().into_iter().chain(vectors.into_iter().flatten());
    output::check_files(arguments.out.iter().chain(&arguments.plot), inputs)?;
    in_precision!(arguments.precision, solve_in(arguments))
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

/// All that is done once there is an executor.
struct Job<'a, T> {
    arguments: &'a Arguments,
    /// What to say on standard error as soon as the input has turned out to be right.
    note: Option<String>,
    numbers: std::marker::PhantomData<T>,
}

/// The system that is asked for.
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
            return Err(Error::Usage(format!("--time says nothing on the executor {}", executor.name())));
        }
        let begin = Instant::now();
        let (system, loading) = (load::<T>(arguments)?, begin.elapsed());
        self.note.iter().for_each(|note| output::say(note));
        let copy = system.matrix.duplicate(&Cpu::new())?;
        let Prepared { mut plan, convert, upload } =
            Prepared::chosen(executor, copy, &mut None, arguments.format, &arguments.choosing)?;
        let (b, mut x) = (executor.upload(memory::copy(&system.b)?)?, executor.upload(memory::copy(&system.start)?)?);
        let tolerance = self.tolerance(&system.b);
        let make = |name| {
            let make = || Preconditioner::new(executor, &system.matrix, name);
            timed(executor, format!("making the preconditioner {name}"), make)
        };
        let (mut preconditioner, preparation) = arguments.preconditioner.map(make).transpose()?.unzip();
        let operators = (&mut plan, preconditioner.as_mut());
        let (report, looks) = self.solve(executor, operators, tolerance, &b, &mut x)?;
        let computed = executor.download(&x)?;
        let (verification, exact_norm) = check(&mut plan, &system, &x, &computed, b)?;
        let wrong_answer = Error::of_verification(&verification, "the residual", system.matrix.rows());
        let interrupted = report.outcome == Outcome::Stopped;
        let iteration = looks.time_of_iteration(report.iterations, report.elapsed);
        let account = match iteration {
            Some(iteration) if arguments.time && !interrupted => {
                account(executor, (&mut plan, preconditioner.as_mut()), &x, &report, iteration)?
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
            format: plan.format().to_string(),
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
        };
        output::print(&if arguments.json { output::json(&solution) } else { solution.to_string() })?;
        wrong_answer.or(not_converged).map_or(Ok(()), Err)
    }
}

impl<T: Number> Job<'_, T> {
    /// Where to stop for this right-hand side.
    fn tolerance(&self, b: &[T]) -> Tolerance {
        let (relative, absolute) = (self.arguments.tolerance, self.arguments.absolute_tolerance);
        let norm = absolute.max(relative * norm(b.iter().flat_map(|b| b.parts())));
        Tolerance { relative, absolute, norm }
    }

    /// Solves, and shows the residual on the way.
    fn solve<S: Subject>(
        &self,
        executor: &S,
        (plan, preconditioner): Operators<'_, T, S>,
        tolerance: Tolerance,
        b: &Vector<T, S>,
        x: &mut Vector<T, S>,
    ) -> Result<(Report, Looks), Error> {
        let options = Options {
            relative_tolerance: tolerance.relative,
            absolute_tolerance: tolerance.absolute,
            iteration_limit: self.arguments.iterations,
            time_limit: self.arguments.seconds,
            check_interval: self.arguments.check_interval,
            ..Options::default()
        };
        let line = Progress::spinner(format!("solving by {}", self.arguments.method));
        let mut looks = Looks::default();
        let interrupt = Interrupt::new();
        let mut callback = |progress: &warp_spmv::solver::Progress| {
            if looks.hears_of(progress.iteration, progress.elapsed) {
                let (iteration, norm, goal) = (progress.iteration, progress.residual_norm, tolerance.norm);
                line.say(format!("iteration {iteration}, residual {norm:.2e}, to come to {goal:.2e}"));
            }
            if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let solver = Solver::new(executor, plan).options(options).callback(&mut callback);
        let mut solver = match preconditioner {
            Some(preconditioner) => solver.preconditioner(preconditioner),
            None => solver,
        };
        let report = self.arguments.method.solve(&mut solver, b, x)?;
        Ok((report, looks))
    }
}

/// A matrix, and what approximates its inverse.
type Operators<'a, T, E> = (&'a mut Plan<T, E>, Option<&'a mut Preconditioner<T, E>>);

const EFFORT: Effort = Effort { warm_ups: 5, repetitions: 50, seconds: 0.5 };

/// Times what an iteration consists of; none where times say nothing.
fn account<T: Number, S: Subject>(
    executor: &S,
    (plan, preconditioner): Operators<'_, T, S>,
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

/// Checks the residual as the executor multiplies against the one in twice the precision, whose norm it gives as well.
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
fn draw(path: &Path, title: &str, history: &[f64], tolerance: f64) -> Result<(), Error> {
    let figure = residual_history(title, history, tolerance)?;
    Ok(replace_file(path, |file| file.write_all(figure.svg.as_bytes()))?)
}

/// The parts of found − known, in 64 bits.
fn difference<T: Number>(found: T, known: T) -> [f64; 2] {
    let ([re, im], [known_re, known_im]) = (found.parts(), known.parts());
    [re - known_re, im - known_im]
}

/// ‖found − known‖ / ‖known‖.
fn distance<T: Number>(found: &[T], known: &[T]) -> f64 {
    let pairs = found.iter().zip(known);
    let difference: Norm = pairs.flat_map(|(&found, &known)| difference(found, known)).collect();
    difference.over(&known.iter().flat_map(|known| known.parts()).collect())
}
