//! `warp-spmv run` on several ranks.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lab::record::Run;
use lab::subject::{Subject, SubjectVisitor};
use lab::vectors::random_part;
use serde::Serialize;
use warp_spmv::ValueStorage;
use warp_spmv::distributed::{Communicator, DistributedMatrix, MatrixOptions, Route};
use warp_spmv::executor::Executor;
use warp_spmv::format::Format;
use warp_spmv::io::{Number, write_vector};
use warp_spmv::memory;
use warp_spmv::verify::{Verification, exact, verify};

use super::loaded::{Loaded, fetched, matrix_options, vector_part, with_rows};
use super::partition::{Divided, Partition, Told};
use super::parts::{Part, Parts, verified};
use super::timeline::Timelines;
use super::world::{Place, World};
use crate::cli::error::Error;
use crate::cli::factor::Factor;
use crate::cli::input::Source;
use crate::cli::output::{self, printable};
use crate::cli::record::{Checked, Environment, Shape, Spread, path_if_any, seconds};
use crate::cli::run::{SEED_OF_X, SEED_OF_Y, WARM_UPS};
use crate::cli::units::{self, duration, four_digits};

/// The work of each rank.
pub struct Request<'a, T> {
    pub source: &'a Source,
    pub format: Format,
    pub place: Place,
    pub route: Route,
    pub partition: Partition,
    /// Whether to multiply by the transpose.
    pub transposed: bool,
    pub factors: (T, T),
    pub told: (Factor, Factor),
    pub repeats: Option<u32>,
    pub values: ValueStorage,
    pub x: Option<&'a PathBuf>,
    pub output: Option<&'a PathBuf>,
    pub timeline: bool,
    pub json: bool,
}

/// The JSON record of `run --ranks N --json`. Times are in seconds.
#[derive(Debug, Serialize)]
struct Record {
    version: &'static str,
    matrix: Shape,
    ranks: usize,
    /// Whether ranks are processes of MPI.
    processes: bool,
    executor: &'static str,
    /// The device of rank 0's executor.
    device: String,
    /// The way in which elements of x are exchanged between ranks.
    exchange: String,
    /// The order in which rows are divided among ranks.
    partition: Told,
    /// Whether the transpose is multiplied: the shape and the parts are those of it.
    transposed: bool,
    precision: &'static str,
    alpha: Factor,
    beta: Factor,
    parts: Parts,
    /// Bytes of the arrays of all ranks.
    bytes: u64,
    /// The largest times among all ranks.
    times: Times,
    gflops: Option<f64>,
    /// The timeline of one more product; null unless requested.
    timeline: Option<Timelines>,
    verification: Checked,
    #[serde(serialize_with = "path_if_any")]
    output: Option<PathBuf>,
    environment: Environment,
}

#[derive(Debug, Serialize)]
struct Times {
    /// How the rows were obtained: "read" or "generate".
    source: &'static str,
    #[serde(serialize_with = "seconds")]
    load: Duration,
    /// From the rows of each rank to a matrix that can be multiplied.
    #[serde(serialize_with = "seconds")]
    prepare: Duration,
    /// A product, from when all ranks begin until the last one ends.
    multiply: Spread,
    /// A product out of [several](IN_A_ROW) without waiting in between; null if each is waited for.
    in_a_row: Option<Spread>,
}

/// Number of products that are queued one after another when they are timed together.
const IN_A_ROW: usize = 10;

/// The result, and y on rank 0 if it is to be written.
struct Outcome<T> {
    record: Record,
    verification: Verification,
    y: Option<Vec<T>>,
}

/// Multiplies, checks the answer against that of each rank's rows, and times it.
pub fn run<T: Number>(world: World, request: &Request<'_, T>) -> Result<(), Error> {
    let outcome = with_rows(world, request.source, |communicator, loaded, load| {
        request.place.visit(communicator, Job { world, request, communicator, loaded, load })?
    })?;
    let Some(Outcome { mut record, verification, y }) = outcome else { return Ok(()) };
    let wrong_answer = Error::of_verification(&verification, "y", record.matrix.rows);
    if let (Some(path), Some(y), None) = (request.output, y, &wrong_answer) {
        write_vector(path, &y)?;
        record.output = Some(path.clone());
    }
    output::print(&if request.json { output::json(&record) } else { record.to_string() })?;
    wrong_answer.map_or(Ok(()), Err)
}

/// Returns the shape of a matrix and the result of multiplying it, for `bench`; nothing if the format does not suit the
/// part of some rank.
pub fn measured<T: Number>(world: World, request: &Request<'_, T>) -> Result<Option<(Shape, Run)>, Error> {
    let outcome = with_rows(world, request.source, |communicator, loaded: Loaded<T>, load| {
        if !loaded.suits(communicator, request.format)? {
            return Ok(None);
        }
        let job = Job { world, request, communicator, loaded, load };
        request.place.visit(communicator, job)?.map(Some)
    })?;
    let Some(Some(Outcome { record, verification, .. })) = outcome else { return Ok(None) };
    let wrong = Error::of_verification(&verification, "y", record.matrix.rows).map(|error| error.to_string());
    let Spread { repeats, lower_quartile, median, upper_quartile, .. } = record.times.multiply;
    let run = Run {
        completed: wrong.is_none(),
        error: wrong,
        storage: Some(record.bytes),
        max_relative_norm2: Some(verification.relative_error),
        time: Some(median.as_secs_f64()),
        repetitions: Some(repeats as u64),
        quartiles: Some([lower_quartile, upper_quartile].map(|time| time.as_secs_f64())),
        gflops: record.gflops,
        error_of_bound: Some(verification.worst),
        ..Run::default()
    };
    Ok(Some((record.matrix, run)))
}

/// The work of one rank, once it has its rows.
struct Job<'a, T: Number> {
    world: World,
    request: &'a Request<'a, T>,
    communicator: &'a Communicator,
    loaded: Loaded<T>,
    load: Duration,
}

impl<T: Number> SubjectVisitor for Job<'_, T> {
    type Output = Result<Outcome<T>, Error>;

    fn visit<S: Subject>(self, executor: &S) -> Self::Output {
        let Self { world, request, communicator, mut loaded, load } = self;
        loaded.round_values(request.values)?;
        let (alpha, beta) = request.factors;
        if request.transposed {
            loaded = loaded.transposed(communicator)?;
        }
        let mut divided = Divided::new(communicator, &loaded, request.partition)?;
        let (rank, preparing) = (communicator.rank(), Instant::now());
        let options = MatrixOptions { route: request.route, ..matrix_options(request.format, request.values) };
        let own = divided.take_rows(&loaded);
        let mut matrix =
            DistributedMatrix::from_csr(communicator, executor, divided.distribution.clone(), &own, &options)?;
        drop(own);
        executor.synchronize()?;
        let prepare = preparing.elapsed();
        let (rows, columns) = (loaded.distribution.rows.of(rank), loaded.distribution.columns.of(rank));
        let x: Vec<T> = match request.x {
            Some(path) => vector_part(communicator, path, &loaded.distribution.columns)?,
            None => random_part(columns.start as usize..columns.end as usize, SEED_OF_X)?,
        };
        // With β = 0 y must not be read, and NaN would reveal it.
        let y = match beta == T::ZERO {
            true => memory::filled((rows.end - rows.start) as usize, T::from_f64(f64::NAN))?,
            false => random_part(rows.start as usize..rows.end as usize, SEED_OF_Y)?,
        };

        let (compressed, needed) = loaded.compressed()?;
        let elements = fetched(communicator, &loaded.distribution.columns, &x, &needed)?;
        let expected = exact(&compressed, alpha, &elements, beta, &y)?;
        let x = executor.upload(divided.renumbered(communicator, x)?)?;
        let y = divided.renumbered(communicator, y)?;
        let mut result = executor.upload(memory::copy(&y)?)?;
        matrix.apply(alpha, &x, beta, &mut result)?;
        let computed = divided.restored(communicator, executor.download(&result)?)?;
        // Whatever the formats, no element has more sequential additions.
        let own = verify(&computed, &expected, Format::CSR_SCALAR)?;
        let (verification, _) = verified::<T>(communicator, rows.start, &own, &expected)?;

        let (warm_ups, default) = if executor.is_fast() { (WARM_UPS, 50) } else { (0, 1) };
        let repeats = warm_ups + request.repeats.map_or(default, |repeats| repeats as usize);
        let mut times = Vec::new();
        for repeat in 0..repeats {
            let time =
                time_on_all(communicator, executor, 1, &mut || Ok(matrix.apply(alpha, &x, beta, &mut result)?))?;
            if repeat >= warm_ups {
                times.push(time);
            }
            if beta != T::ZERO {
                executor.copy(&executor.upload(memory::copy(&y)?)?, &mut result)?;
            }
        }
        // With another β, elements of y would grow without bound.
        let mut in_a_row = Vec::new();
        for _ in 0..if executor.is_fast() && beta == T::ZERO { repeats - warm_ups } else { 0 } {
            let mut multiply = || Ok(matrix.apply(alpha, &x, beta, &mut result)?);
            in_a_row.push(time_on_all(communicator, executor, IN_A_ROW, &mut multiply)?);
        }
        let timeline = match request.timeline {
            true => {
                communicator.barrier()?;
                let own = matrix.apply_timed(alpha, &x, beta, &mut result)?;
                Some(Timelines::gathered(communicator, &own)?)
            }
            false => None,
        };
        let mut steps = [load.as_secs_f64(), prepare.as_secs_f64()];
        communicator.reduce(&mut steps, f64::max)?;
        let [load, prepare] = steps.map(Duration::from_secs_f64);
        let parts = Parts::gathered(communicator, &Part::new(&matrix))?;
        let partition = divided.told(communicator, &loaded, &needed, parts.volume())?;
        let y = match request.output {
            Some(_) => communicator.gather(0, &computed)?.map(|parts| parts.concat()),
            None => None,
        };
        let multiply = Spread::of(times);
        let median = multiply.median.as_secs_f64();
        let record = Record {
            version: env!("CARGO_PKG_VERSION"),
            gflops: (median > 0.0).then(|| 2.0 * loaded.shape.nonzeros as f64 / median / 1e9),
            matrix: loaded.shape,
            ranks: communicator.ranks(),
            processes: matches!(world, World::Processes(_)),
            executor: executor.name().name(),
            device: executor.device().name.clone(),
            exchange: matrix.engine().to_string(),
            partition,
            transposed: request.transposed,
            precision: T::NAME,
            alpha: request.told.0,
            beta: request.told.1,
            bytes: parts.bytes(),
            parts,
            times: Times {
                source: request.source.verb(),
                load,
                prepare,
                multiply,
                in_a_row: (!in_a_row.is_empty()).then(|| Spread::of(in_a_row)),
            },
            timeline,
            verification: verification.clone().into(),
            output: None,
            environment: Environment::here(request.place.grids.asked()),
        };
        Ok(Outcome { record, verification, y })
    }
}

/// Returns the mean time of `work`, queued `times` times in a row, on the slowest rank.
fn time_on_all<E: Executor>(
    communicator: &Communicator,
    executor: &E,
    times: usize,
    work: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<Duration, Error> {
    communicator.barrier()?;
    let begin = Instant::now();
    (0..times).try_for_each(|_| work())?;
    executor.synchronize()?;
    let mut time = [begin.elapsed().as_secs_f64() / times as f64];
    communicator.reduce(&mut time, f64::max)?;
    Ok(Duration::from_secs_f64(time[0]))
}

/// Formats the report for the terminal.
impl Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, executor, device, precision, parts, times, verification, .. } = self;
        writeln!(f, "matrix        {}", printable(&matrix.name))?;
        let of = if self.transposed { ", the transpose" } else { "" };
        writeln!(f, "shape         {matrix}{of}")?;
        let kind = if self.processes { "processes" } else { "threads" };
        writeln!(f, "ranks         {} {kind}, {precision}, {}", self.ranks, units::bytes(self.bytes.into()))?;
        writeln!(f, "executor      {executor}, {device}")?;
        writeln!(f, "exchange      {}", self.exchange)?;
        write!(f, "{}", self.partition)?;
        writeln!(f, "{:13} {}", times.source, duration(times.load))?;
        writeln!(f, "prepare       {}", duration(times.prepare))?;
        writeln!(f, "multiply      {}", times.multiply)?;
        if let Some(in_a_row) = &times.in_a_row {
            writeln!(f, "{IN_A_ROW} in a row  {in_a_row}")?;
        }
        if let Some(gflops) = self.gflops {
            writeln!(f, "speed         {} GFLOP/s", four_digits(gflops))?;
        }
        writeln!(f, "verification  {verification}")?;
        if let Some(output) = &self.output {
            writeln!(f, "output        {}", printable(&output.to_string_lossy()))?;
        }
        write!(f, "\n{parts}")?;
        match &self.timeline {
            Some(timeline) => write!(f, "\n{timeline}"),
            None => Ok(()),
        }
    }
}
