//! `warp-spmv run`: multiplies, checks the answer, and times it.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use lab::subject::{self, Subject, SubjectVisitor};
use lab::vectors::random_vector;
use warp_spmv::executor::{Executor, ExecutorName};
use warp_spmv::format::Matrix;
use warp_spmv::io::{Number, write_vector};
use warp_spmv::verify::{Verification, exact, verify, verify_transposed};
use warp_spmv::{Csr, Format, Plan, ValueStorage, Vector, memory};

use super::choosing::Choosing;
use super::distributed::{self, Exchanging, World};
use super::error::Error;
use super::factor::Factor;
use super::formats;
use super::grids::Grids;
use super::input::{self, Input, Source};
use super::output;
use super::precision::{AnyPrecision, in_precision};
use super::prepared::Prepared;
use super::progress::Progress;
use super::record::{Environment, Record, Shape, Spread, Times, Transpose};
use super::run_all;
use super::values::{Stored, Values};

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv run stencil:27:100
  warp-spmv run 1138_bus.mtx --format ell --precision float32 --repeat 200
  warp-spmv run 1138_bus.mtx --x x.mtx --output y.mtx
  warp-spmv run 1138_bus.mtx --format all
  warp-spmv run 1138_bus.mtx --transposed
  warp-spmv run 1138_bus.mtx --format sell-p:slice=32,sigma=256 --threads-per-block 128
  warp-spmv run stencil:27:100 --ranks 4
  warp-spmv run stencil:27:200 --gpus 2 --timeline
  mpirun -n 4 warp-spmv run stencil:27:100
  warp-spmv run pareto:rows=1000,k=2 --executor emulated --json";

/// Untimed multiplications before the timed ones.
pub const WARM_UPS: usize = 5;

/// Seeds of the values of x and of y when no file gives them.
pub const SEED_OF_X: u64 = 1;
pub const SEED_OF_Y: u64 = 2;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub source: Source,
    /// Storage and multiplication of the matrix: a name, some with parameters (see below); auto chooses, all compares
    /// all
    #[arg(long, default_value = Format::Auto.name(), value_parser = format_parser())]
    format: Formats,
    /// Where to multiply [default: cuda if there is a GPU that this program can use, otherwise cpu]
    #[arg(long, value_parser = executor_parser())]
    executor: Option<ExecutorName>,
    /// The type of all values
    #[arg(long, value_enum, default_value_t = AnyPrecision::Float64)]
    precision: AnyPrecision,
    /// Timed multiplications [default: 50; 1 for the executors reference and emulated]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// α in y ← α A x + β y, such as -2.5, or 1+2i with a complex precision
    #[arg(long, value_name = "NUMBER", default_value = "1", allow_hyphen_values = true)]
    pub alpha: Factor,
    /// β in y ← α A x + β y; if it is not 0, y begins with fixed pseudo-random values
    #[arg(long, value_name = "NUMBER", default_value = "0", allow_hyphen_values = true)]
    pub beta: Factor,
    /// Multiply by the transpose of A; it is stored as well, for the same bits every time, but not with --any-order:
    /// then a GPU's kernels add atomically
    #[arg(long)]
    transposed: bool,
    /// Matrix Market array file with x [default: fixed pseudo-random values from -1 to 1]
    #[arg(long, value_name = "FILE")]
    x: Option<PathBuf>,
    /// Write y to this Matrix Market array file, unless the answer is wrong
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Divide the rows among this many ranks, which are threads of this process; processes started by mpirun are ranks
    /// without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    #[command(flatten)]
    exchanging: Exchanging,
    /// With several ranks, show when the steps of one product begin and end on each: packing, exchange, local and
    /// remote part
    #[arg(long)]
    timeline: bool,
    /// Print one JSON record instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub values: Values,
    #[command(flatten)]
    choosing: Choosing,
    #[command(flatten)]
    pub grids: Grids,
}

/// The requested formats.
#[derive(Clone, Copy, Debug)]
enum Formats {
    One(Format),
    All,
}

fn format_parser() -> impl TypedValueParser<Value = Formats> {
    const ALL: &str = "all";
    let names: Vec<_> = formats::names().chain([Format::Auto.name(), ALL]).collect();
    formats::parser(names, |name| if name == ALL { Ok(Formats::All) } else { name.parse().map(Formats::One) })
}

pub fn executor_parser() -> impl TypedValueParser<Value = ExecutorName> {
    PossibleValuesParser::new(ExecutorName::ALL.iter().map(|executor| executor.name()))
        .try_map(|name| name.parse::<ExecutorName>())
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    // For products with the transpose, --any-order determines whether it is stored, in any format.
    let choosing = match arguments.transposed {
        true => arguments.choosing.without_order(),
        false => arguments.choosing.clone(),
    };
    choosing.check(matches!(arguments.format, Formats::One(Format::Auto)), "--format auto")?;
    if arguments.transposed && matches!(arguments.format, Formats::All) {
        return Err(Error::Usage("--transposed takes one format, not --format all".into()));
    }
    if let Some(given) = arguments.values.given().filter(|_| arguments.transposed) {
        return Err(Error::Usage(format!("{given} does not go with --transposed")));
    }
    if let Some(output) = &arguments.output {
        if matches!(arguments.format, Formats::All) {
            return Err(Error::Usage("--output takes the y of one format, not of --format all".into()));
        }
        output::check_files([output], arguments.source.file().into_iter().chain(arguments.x.as_deref()))?;
    }
    match arguments.exchanging.world(arguments.ranks, arguments.executor)? {
        (Some(world), executor) => {
            check_for_ranks(arguments)?;
            in_precision!(arguments.precision, run_on_ranks(world, executor, arguments))
        }
        (None, _) if arguments.timeline => Err(Error::Usage("--timeline requires several ranks".into())),
        (None, _) => in_precision!(arguments.precision, run_in(arguments)),
    }
}

/// Refuses what requires a single rank.
fn check_for_ranks(arguments: &Arguments) -> Result<(), Error> {
    let given = [
        ("--format all", matches!(arguments.format, Formats::All)),
        (arguments.choosing.given().unwrap_or(""), arguments.choosing.given().is_some()),
    ];
    distributed::check_options(&given)
}

fn run_on_ranks<T: Number>(world: World, executor: Option<ExecutorName>, arguments: &Arguments) -> Result<(), Error> {
    let factors = (arguments.alpha.of("alpha")?, arguments.beta.of("beta")?);
    let Formats::One(format) = arguments.format else { return Ok(()) };
    on_executor(executor, |executor, note| {
        subject::with_tuning(executor, arguments.grids.asked(), Nothing)?;
        let request = distributed::RunRequest::<T> {
            source: &arguments.source,
            format,
            place: distributed::Place { executor, grids: arguments.grids, note },
            route: arguments.exchanging.route(),
            partition: arguments.exchanging.partition(),
            transposed: arguments.transposed,
            factors,
            told: (arguments.alpha, arguments.beta),
            repeats: arguments.repeat,
            values: arguments.values.storage(),
            x: arguments.x.as_ref(),
            output: arguments.output.as_ref(),
            timeline: arguments.timeline,
            json: arguments.json,
        };
        Ok(distributed::run(world, &request))
    })
}

/// Does nothing, to find out whether there is an executor.
pub struct Nothing;

impl SubjectVisitor for Nothing {
    type Output = ();

    fn visit<S: Subject>(self, _: &S) {}
}

fn run_in<T: Number>(arguments: &Arguments) -> Result<(), Error> {
    let (alpha, beta) = (arguments.alpha.of("alpha")?, arguments.beta.of("beta")?);
    on_executor(arguments.executor, |executor_name, note| {
        let job = Job::<T> { arguments, executor_name, note, alpha, beta };
        subject::with_tuning(executor_name, arguments.grids.asked(), job)
    })
}

/// Calls `work` with the requested executor; otherwise with a GPU or, with a note that there is none, with the CPU. The
/// outer error is that of an unavailable executor.
pub fn on_executor(
    asked: Option<ExecutorName>,
    work: impl Fn(ExecutorName, Option<String>) -> Result<Result<(), Error>, warp_spmv::Error>,
) -> Result<(), Error> {
    if let Some(executor) = asked {
        return work(executor, None)?;
    }
    let mut note = None;
    if cfg!(feature = "cuda") {
        match work(ExecutorName::Cuda, None) {
            Err(warp_spmv::Error::Unavailable { reason, .. }) => {
                note = Some(format!("no GPU: {reason}, running on the CPU"));
            }
            done => return done?,
        }
    }
    work(ExecutorName::Cpu, note)?
}

/// The work once there is an executor.
pub struct Job<'a, T> {
    pub arguments: &'a Arguments,
    pub executor_name: ExecutorName,
    /// A message for standard error once the input has proved valid.
    note: Option<String>,
    alpha: T,
    beta: T,
}

/// A matrix in CSR, and in the form of the file if that is different.
pub struct Loaded<T: Number> {
    pub matrix: Csr<T>,
    pub stored: Option<Matrix<T>>,
}

/// The vectors of a product, and the expected result.
pub struct Problem<T: Number, E: Executor> {
    pub shape: Shape,
    /// The time to read or generate the matrix.
    pub load: Duration,
    x: Vector<T, E>,
    y: Vec<T>,
    expected: Vec<T::Exact>,
    /// Largest change of a value by narrower storage.
    pub largest_change: f64,
}

/// The result of multiplying in one format.
pub struct Measured<T> {
    pub multiply: Spread,
    /// 2 nonzeros over the median time, in 10^9 per second.
    pub gflops: Option<f64>,
    /// The bytes needed over the median time, in 10^9 per second.
    pub gbps: Option<f64>,
    pub verification: Verification,
    computed: Vec<T>,
}

impl<T: Number> SubjectVisitor for Job<'_, T> {
    type Output = Result<(), Error>;

    fn visit<S: Subject>(self, subject: &S) -> Self::Output {
        self.run(subject)
    }
}

impl<T: Number> Job<'_, T> {
    fn run<E: Executor>(self, executor: &E) -> Result<(), Error> {
        let (loaded, problem) = self.problem(executor)?;
        match self.arguments.format {
            Formats::One(format) => self.run_one(executor, loaded, problem, format),
            Formats::All => run_all::run_all(&self, executor, loaded, problem),
        }
    }
}

impl<T: Number> Job<'_, T> {
    fn problem<E: Executor>(&self, executor: &E) -> Result<(Loaded<T>, Problem<T, E>), Error> {
        let start = Instant::now();
        let Input { name, matrix, .. } = self.arguments.source.load::<T>()?;
        let load = start.elapsed();
        let (matrix, stored) = match matrix {
            Matrix::Csr(matrix) => (matrix, None),
            stored => (stored.try_clone()?.into_csr()?, Some(stored)),
        };
        // The correct answer is that for the values as stored.
        let (mut matrix, mut largest_change) = (matrix, 0.0);
        if let ValueStorage::Rounded(narrow_type) = self.arguments.values.storage() {
            largest_change = matrix.round_values(narrow_type)?;
        }
        let (x, y) = self.vectors(&matrix)?;
        if let Some(note) = &self.note {
            output::say(note);
        }
        let (expected, _) = timed(executor, "computing the exact answer", || match self.arguments.transposed {
            true => exact(&matrix.transposed()?, self.alpha, &x, self.beta, &y),
            false => exact(&matrix, self.alpha, &x, self.beta, &y),
        })?;
        let problem =
            Problem { shape: Shape::new(name, &matrix), load, x: executor.upload(x)?, y, expected, largest_change };
        Ok((Loaded { matrix, stored }, problem))
    }

    fn run_one<E: Executor>(
        &self,
        executor: &E,
        Loaded { matrix, mut stored }: Loaded<T>,
        problem: Problem<T, E>,
        format: Format,
    ) -> Result<(), Error> {
        let arguments = self.arguments;
        let Prepared { mut plan, convert, upload } = match arguments.transposed {
            true => Prepared::transposed(executor, matrix, format, &arguments.choosing)?,
            false => Prepared::chosen(
                executor,
                matrix,
                &mut stored,
                format,
                &arguments.choosing,
                arguments.values.storage(),
            )?,
        };
        drop(stored);
        let Measured { multiply, gflops, gbps, verification, computed } =
            self.measure(executor, &mut plan, &problem)?;

        let wrong_answer = Error::of_verification(&verification, "y", computed.len());
        let output = arguments.output.clone().filter(|_| wrong_answer.is_none());
        if let Some(path) = &output {
            write_vector(path, &computed)?;
        }
        let record = Record {
            version: env!("CARGO_PKG_VERSION"),
            gflops,
            gbps,
            matrix: problem.shape,
            format: plan.format().to_string(),
            choice: plan.explain().cloned(),
            executor: self.executor_name.name(),
            device: executor.device().name.clone(),
            precision: T::NAME,
            alpha: arguments.alpha,
            beta: arguments.beta,
            values: Stored::of(plan.matrix(), problem.largest_change),
            bytes: plan.matrix().bytes(),
            fill: plan.matrix().fill(),
            transpose: arguments.transposed.then(|| Transpose {
                format: plan.transpose_format().map(|format| format.to_string()),
                bytes: plan.transpose_bytes(),
            }),
            bytes_needed: bytes_needed(&plan),
            times: Times { source: arguments.source.verb(), load: problem.load, convert, upload, multiply },
            verification: verification.into(),
            output,
            environment: Environment::here(arguments.grids.asked()),
        };
        output::print(&if arguments.json { output::json(&record) } else { record.to_string() })?;
        wrong_answer.map_or(Ok(()), Err)
    }

    /// Multiplies, checks the answer, and times it.
    pub fn measure<E: Executor>(
        &self,
        executor: &E,
        plan: &mut Plan<T, E>,
        problem: &Problem<T, E>,
    ) -> Result<Measured<T>, warp_spmv::Error> {
        let (computed, _) = timed(executor, "multiplying", || {
            let mut computed = executor.upload(memory::copy(&problem.y)?)?;
            self.apply(plan, &problem.x, &mut computed)?;
            executor.download(&computed)
        })?;
        let verification = match (self.arguments.transposed, plan.transpose_format()) {
            (true, None) => verify_transposed(&computed, &problem.expected)?,
            (_, stored) => verify(&computed, &problem.expected, stored.unwrap_or(plan.format()))?,
        };
        let multiply = Spread::of(self.time_multiplications(plan, executor, &problem.x, &problem.y)?);
        let median = multiply.median.as_secs_f64();
        let giga_per_second = |amount: f64| (median > 0.0).then(|| amount / median / 1e9);
        let gflops = giga_per_second(2.0 * problem.shape.nonzeros as f64);
        let gbps = giga_per_second(bytes_needed(plan) as f64);
        Ok(Measured { multiply, gflops, gbps, verification, computed })
    }

    /// y ← α A x + β y, or the same with the transpose.
    fn apply<E: Executor>(
        &self,
        plan: &mut Plan<T, E>,
        x: &Vector<T, E>,
        y: &mut Vector<T, E>,
    ) -> Result<(), warp_spmv::Error> {
        match self.arguments.transposed {
            true => plan.apply_transposed(self.alpha, x, self.beta, y),
            false => plan.apply(self.alpha, x, self.beta, y),
        }
    }

    /// x, and y before the multiplication.
    fn vectors(&self, matrix: &Csr<T>) -> Result<(Vec<T>, Vec<T>), Error> {
        let (of_x, of_y) = match self.arguments.transposed {
            true => (matrix.rows(), matrix.columns()),
            false => (matrix.columns(), matrix.rows()),
        };
        let x = match &self.arguments.x {
            Some(path) => input::vector(path, of_x)?,
            None => random_vector(of_x, SEED_OF_X)?,
        };
        // With β = 0 y must not be read, and NaN would reveal it.
        let y = if self.beta == T::ZERO {
            memory::filled(of_y, T::from_f64(f64::NAN))?
        } else {
            random_vector(of_y, SEED_OF_Y)?
        };
        Ok((x, y))
    }

    /// Whether the executor is meant to be fast.
    pub fn times_matter(&self) -> bool {
        matches!(self.executor_name, ExecutorName::Cpu | ExecutorName::Cuda)
    }

    /// Times the requested number of multiplications.
    fn time_multiplications<E: Executor>(
        &self,
        plan: &mut Plan<T, E>,
        executor: &E,
        x: &Vector<T, E>,
        y: &[T],
    ) -> Result<Vec<Duration>, warp_spmv::Error> {
        let (warm_ups, default_repeats) = if self.times_matter() { (WARM_UPS, 50) } else { (0, 1) };
        let repeats = warm_ups + self.arguments.repeat.map_or(default_repeats, |repeats| repeats as usize);
        let progress = Progress::times(format!("timing {}", plan.format()));
        let mut result = executor.upload(memory::copy(y)?)?;
        let mut times = Vec::new();
        for repeat in 0..repeats {
            let time = executor.time(&mut || self.apply(plan, x, &mut result))?;
            if repeat >= warm_ups {
                times.push(time);
            }
            // With β ≠ 0, y would grow from one multiplication to the next.
            if self.beta != T::ZERO {
                result = executor.upload(memory::copy(y)?)?;
            }
            progress.update(repeat as u64 + 1, repeats as u64);
        }
        Ok(times)
    }
}

/// Smallest number of bytes that a multiplication moves: with the transpose, if that is stored.
fn bytes_needed<T: Number, E: Executor>(plan: &Plan<T, E>) -> u128 {
    plan.transpose_bytes_needed().unwrap_or(plan.matrix().bytes_needed())
}

/// Runs a step while showing its progress, and returns its result and duration.
pub fn timed<R, F: From<warp_spmv::Error>>(
    executor: &impl Executor,
    what: impl Into<Cow<'static, str>>,
    work: impl FnOnce() -> Result<R, F>,
) -> Result<(R, Duration), F> {
    let _progress = Progress::spinner(what);
    let start = Instant::now();
    let result = work()?;
    executor.synchronize()?;
    Ok((result, start.elapsed()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use warp_spmv::device::Device;
    use warp_spmv::executor::{Cpu, Operation};
    use warp_spmv::memory::{Element, HostMemory};

    use super::*;

    /// An executor that returns vectors with a wrong last element.
    #[derive(Clone)]
    struct Wrong(Cpu);

    // SAFETY: arrays are those of the CPU executor. The vectors that it returns are wrong on purpose, but no matrix is
    // made from them.
    unsafe impl Executor for Wrong {
        type Memory = HostMemory;
        type Recording = ();

        fn device(&self) -> &Device {
            self.0.device()
        }

        fn upload<T: Element>(&self, array: Vec<T>) -> Result<Vec<T>, warp_spmv::Error> {
            self.0.upload(array)
        }

        fn zeros<T: Element>(&self, length: usize) -> Result<Vec<T>, warp_spmv::Error> {
            self.0.zeros(length)
        }

        fn download<T: Element>(&self, array: &Vec<T>) -> Result<Vec<T>, warp_spmv::Error> {
            let mut copy = self.0.download(array)?;
            // A number with all bits set is NaN.
            copy.iter_mut().next_back().into_iter().for_each(|last| bytemuck::bytes_of_mut(last).fill(u8::MAX));
            Ok(copy)
        }

        fn duplicate<T: Element>(&self, array: &Vec<T>) -> Result<Vec<T>, warp_spmv::Error> {
            self.0.duplicate(array)
        }

        fn copy<T: Element>(&self, from: &Vec<T>, to: &mut Vec<T>) -> Result<(), warp_spmv::Error> {
            self.0.copy(from, to)
        }

        fn run<O: Operation>(
            &self,
            operands: O::Operands<'_, HostMemory>,
        ) -> Result<O::Output<HostMemory>, warp_spmv::Error> {
            self.0.run::<O>(operands)
        }
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn one_wrong_answer_of_all_is_an_error() {
        let line = ["run", "stencil:5:10", "--format", "all", "--repeat", "1", "--json"];
        let Line { arguments } = Line::parse_from(line);
        let executor_name = ExecutorName::Cpu;
        let job = Job::<f64> { arguments: &arguments, executor_name, note: None, alpha: 1.0, beta: 0.0 };
        let error = job.run(&Wrong(Cpu::new())).unwrap_err();
        assert!(
            error.to_string().starts_with("wrong answer: ") && error.to_string().contains("cmrs-padded"),
            "{error}"
        );
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn a_wrong_answer_is_an_error_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("y.mtx");
        let line = ["run", "stencil:5:10", "--repeat", "1", "--json", "--output", output.to_str().unwrap()];
        let Line { arguments } = Line::parse_from(line);
        let executor_name = ExecutorName::Cpu;
        let job = Job::<f64> { arguments: &arguments, executor_name, note: None, alpha: 1.0, beta: 0.0 };
        let error = job.run(&Wrong(Cpu::new())).unwrap_err();
        assert!(matches!(error, Error::WrongAnswer { vector: "y", wrong: 1, rows: 100, worst_row: 99 }), "{error}");
        assert_eq!(error.exit_code(), 1);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
