//! `warp-spmv run --format all`: every format on one matrix, side by side.

use std::fmt::{self, Display};
use std::time::Duration;

use lab::measure::UNIT;
use serde::Serialize;
use warp_spmv::Format;
use warp_spmv::executor::{Executor, ExecutorName};
use warp_spmv::io::Number;

use super::error::Error;
use super::factor::Factor;
use super::output::{self, printable};
use super::prepared::Prepared;
use super::record::{Checked, Environment, Shape, Spread, seconds};
use super::run::{Job, Loaded, Measured, Problem};
use super::units::{self, duration, four_digits};
use super::values::Stored;

/// The JSON record of `run --format all --json`. Bytes and times are numbers; times are in seconds.
#[derive(Debug, Serialize)]
struct Record {
    /// Version of this program.
    version: &'static str,
    matrix: Shape,
    /// The executor, as `--executor` takes it.
    executor: &'static str,
    /// The executor's device.
    device: String,
    /// "float32" or "float64".
    precision: &'static str,
    /// The factor of A x.
    alpha: Factor,
    /// The factor of y.
    beta: Factor,
    /// How the matrix was obtained: "read" or "generate".
    source: &'static str,
    /// The duration of that.
    #[serde(serialize_with = "seconds")]
    load: Duration,
    /// Every format, the fastest first, and those without a result last.
    formats: Vec<Row>,
    environment: Environment,
}

/// One of the formats.
#[derive(Debug, Serialize)]
struct Row {
    /// The format, as `--format` takes it.
    format: &'static str,
    /// The storage format.
    storage: &'static str,
    /// The result; null if there is none.
    result: Option<Outcome>,
    /// The reason why there is none; null otherwise.
    error: Option<String>,
    #[serde(skip)]
    failed: bool,
}

/// The result of a format.
#[derive(Debug, Serialize)]
struct Outcome {
    /// The format that it stands for: itself, except for csr-automatic.
    resolved: &'static str,
    /// The storage of values, if narrower than the precision; null otherwise.
    values: Option<Stored>,
    /// Bytes of the arrays.
    bytes: u128,
    /// Slots for entries in the arrays over entries.
    fill: f64,
    /// Smallest number of bytes that a multiplication moves.
    bytes_needed: u128,
    /// Converting the matrix. Formats with the same storage share it.
    #[serde(serialize_with = "seconds")]
    convert: Duration,
    /// The same over the median time of a multiplication in csr-vector; null if there is none.
    convert_in_multiplications: Option<f64>,
    /// Multiplying once.
    multiply: Spread,
    /// 2 nonzeros over the median time, in 10^9 per second; null if that time is 0.
    gflops: Option<f64>,
    /// The bytes needed over the median time, in 10^9 per second; null if that time is 0.
    gbps: Option<f64>,
    verification: Checked,
}

/// Multiplies in every format, and prints a table or a record of all of them.
pub fn run_all<T: Number, E: Executor>(
    job: &Job<'_, T>,
    executor: &E,
    mut loaded: Loaded<T>,
    problem: Problem<T, E>,
) -> Result<(), Error> {
    let mut rows = Vec::with_capacity(Format::ALL.len());
    let same_storage = |left: &Format, right: &Format| left.shares_arrays(*right);
    for formats in Format::ALL.chunk_by(same_storage) {
        // Only one of them is in memory at a time.
        let mut prepared = prepare(job, executor, &mut loaded, formats[0]);
        for &format in formats {
            let outcome = match &mut prepared {
                Ok(prepared) => measure(job, executor, prepared, format.resolve(&loaded.matrix), &problem),
                Err((error, failed)) => Err((error.clone(), *failed)),
            };
            let (result, error, failed) = match outcome {
                Ok(outcome) => (Some(outcome), None, false),
                Err((error, failed)) => (None, Some(error), failed),
            };
            rows.push(Row { format: format.name(), storage: format.storage(), result, error, failed });
        }
    }
    count_in_multiplications(&mut rows);
    rows.sort_by_key(|row| row.result.as_ref().map_or(Duration::MAX, |outcome| outcome.multiply.median));
    let of_rows = |chosen: &dyn Fn(&Row) -> bool| {
        rows.iter().filter(|&row| chosen(row)).map(|row| row.format.to_owned()).collect()
    };
    let wrong: Vec<_> = of_rows(&|row| row.result.as_ref().is_some_and(|outcome| !outcome.verification.passed));
    let failed: Vec<_> = of_rows(&|row| row.failed);
    let record = Record {
        version: env!("CARGO_PKG_VERSION"),
        matrix: problem.shape,
        executor: job.executor_name.name(),
        device: executor.device().name.clone(),
        precision: T::NAME,
        alpha: job.arguments.alpha,
        beta: job.arguments.beta,
        source: job.arguments.source.verb(),
        load: problem.load,
        formats: rows,
        environment: Environment::here(job.arguments.grids.asked()),
    };
    output::print(&if job.arguments.json { output::json(&record) } else { record.to_string() })?;
    if wrong.is_empty() && failed.is_empty() { Ok(()) } else { Err(Error::Formats { wrong, failed }) }
}

/// The message for a format without a result, and whether something failed: a matrix that is too large for a format is
/// no failure, nor is a format that does not multiply narrow values.
fn explain(error: warp_spmv::Error) -> (String, bool) {
    use warp_spmv::Error::{Fill, OutOfMemory, TooLarge, Unsupported};
    let failed = !matches!(error, Fill { .. } | OutOfMemory { .. } | TooLarge { .. } | Unsupported { .. });
    (error.to_string(), failed)
}

fn prepare<T: Number, E: Executor>(
    job: &Job<'_, T>,
    executor: &E,
    Loaded { matrix, stored }: &mut Loaded<T>,
    format: Format,
) -> Result<Prepared<T, E>, (String, bool)> {
    let values = job.arguments.values.storage();
    let mut prepare = || {
        let is_stored = stored.as_ref().map_or(Ok(false), |stored| stored.is_stored_as(format))?;
        if job.times_matter() && !is_stored {
            // The first conversion may wait for its kernels to be compiled.
            Prepared::new(executor, matrix.try_clone()?, &mut None, format, values)?;
        }
        Prepared::new(executor, matrix.try_clone()?, stored, format, values)
    };
    prepare().map_err(explain)
}

fn measure<T: Number, E: Executor>(
    job: &Job<'_, T>,
    executor: &E,
    Prepared { plan, convert, .. }: &mut Prepared<T, E>,
    format: Format,
    problem: &Problem<T, E>,
) -> Result<Outcome, (String, bool)> {
    plan.set_format(format).map_err(explain)?;
    let Measured { multiply, gflops, gbps, verification, .. } =
        job.measure(executor, plan, problem).map_err(explain)?;
    Ok(Outcome {
        resolved: format.name(),
        values: Stored::of(plan.matrix(), problem.largest_change),
        bytes: plan.matrix().bytes(),
        fill: plan.matrix().fill(),
        bytes_needed: plan.matrix().bytes_needed(),
        convert: *convert,
        convert_in_multiplications: None,
        multiply,
        gflops,
        gbps,
        verification: verification.into(),
    })
}

/// Expresses each conversion as a number of multiplications in [`UNIT`].
fn count_in_multiplications(rows: &mut [Row]) {
    let default = rows.iter().find(|row| row.format == UNIT.name()).and_then(|row| row.result.as_ref());
    let Some(unit) = default.map(|outcome| outcome.multiply.median.as_secs_f64()).filter(|&unit| unit > 0.0) else {
        return;
    };
    for outcome in rows.iter_mut().filter_map(|row| row.result.as_mut()) {
        outcome.convert_in_multiplications = Some(outcome.convert.as_secs_f64() / unit);
    }
}

/// Formats the table for the terminal.
impl Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, executor, device, precision, .. } = self;
        writeln!(f, "matrix        {}", printable(&matrix.name))?;
        writeln!(f, "shape         {matrix}")?;
        match self.formats.iter().find_map(|row| row.result.as_ref()?.values) {
            None => writeln!(f, "values        {precision}")?,
            Some(values) => writeln!(f, "values        {precision}, stored as {values} where a format can")?,
        }
        let of_no_gpu =
            if *executor == ExecutorName::Emulated.name() { ", whose times say nothing about a GPU" } else { "" };
        writeln!(f, "executor      {executor}, {device}{of_no_gpu}")?;
        writeln!(f, "{:13} {}", self.source, duration(self.load))?;
        let repeats = self.formats.iter().find_map(|row| Some(row.result.as_ref()?.multiply.repeats)).unwrap_or(0);
        writeln!(f, "multiply      median of {repeats}, and quartiles; converting in multiplications in {UNIT}")?;
        writeln!(f, "error         the largest, as a part of what rounding explains")?;
        writeln!(
            f,
            "\n{:21} {:>11} {:>6} {:>11} {:>9}  {:>9} {:>19}  {:>7} {:>7}  {:5}",
            "format", "storage", "fill", "needed", "convert", "multiply", "quartiles", "GFLOP/s", "GB/s", "error"
        )?;
        self.formats.iter().try_for_each(|row| row.fmt(f))
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:21} ", self.format)?;
        let Some(outcome) = &self.result else {
            return writeln!(f, "{}", self.error.as_deref().unwrap_or_default());
        };
        let Outcome { multiply, verification, .. } = outcome;
        let number = |number: Option<f64>| number.map_or("-".into(), four_digits);
        let quartiles = [multiply.lower_quartile, multiply.upper_quartile].map(duration).join(" ");
        let verdict = if verification.passed { "" } else { " WRONG" };
        writeln!(
            f,
            "{:>11} {:>6.2} {:>11} {:>9}  {:>9} {quartiles:>19}  {:>7} {:>7}  {:.3}{verdict}",
            units::bytes(outcome.bytes),
            outcome.fill,
            units::bytes(outcome.bytes_needed),
            number(outcome.convert_in_multiplications),
            duration(multiply.median),
            number(outcome.gflops),
            number(outcome.gbps),
            verification.worst,
        )
    }
}
