//! The report of `warp-spmv run`.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::time::Duration;

use lab::tuning::Asked;
use serde::Serialize;
use warp_spmv::Csr;
use warp_spmv::executor::ExecutorName;
use warp_spmv::io::Number;
use warp_spmv::select::Choice;
use warp_spmv::verify::Verification;

use super::factor::Factor;
use super::output::printable;
use super::units::{self, HumanCount, duration, four_digits};
use super::values::Stored;

/// The JSON record of `run --json`. Bytes and times are numbers; times are in seconds.
#[derive(Debug, Serialize)]
pub struct Record {
    /// Version of this program.
    pub version: &'static str,
    /// The matrix.
    pub matrix: Shape,
    /// The format, as `--format` takes it.
    pub format: String,
    /// The reason for the choice of the format, with `--format auto`; null otherwise.
    pub choice: Option<Choice>,
    /// The executor, as `--executor` takes it.
    pub executor: &'static str,
    /// The executor's device.
    pub device: String,
    /// "float32", "float64", "complex64" or "complex128".
    pub precision: &'static str,
    /// The storage of values, if narrower; null otherwise.
    pub values: Option<Stored>,
    /// The factor of A x: a number, or its two parts if it has an imaginary one.
    pub alpha: Factor,
    /// The factor of y.
    pub beta: Factor,
    /// Bytes of the format's arrays.
    pub bytes: u128,
    /// Slots for entries in the arrays over entries.
    pub fill: f64,
    /// The multiplication of the transpose, with `--transposed`; null otherwise.
    pub transpose: Option<Transpose>,
    /// Smallest number of bytes that a multiplication moves.
    pub bytes_needed: u128,
    /// Duration of each step.
    pub times: Times,
    /// 2 nonzeros over the median time, in 10^9 per second; null if that time is 0.
    pub gflops: Option<f64>,
    /// The bytes needed over the median time, in 10^9 per second; null if that time is 0.
    pub gbps: Option<f64>,
    /// Distance of the answer from the exact one.
    pub verification: Checked,
    /// The file to which y was written, if any.
    #[serde(serialize_with = "path_if_any")]
    pub output: Option<PathBuf>,
    /// Other factors that may affect the times.
    pub environment: Environment,
}

/// A matrix, by name and size.
#[derive(Clone, Debug, Serialize)]
pub struct Shape {
    /// The file's name as given, or the generator's canonical text.
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of stored entries, including those that a symmetric file leaves out.
    pub nonzeros: usize,
}

/// Multiplication of a transpose.
#[derive(Debug, Serialize)]
pub struct Transpose {
    /// The format in which it is stored besides the matrix; null if the matrix itself was used, and a GPU adds
    /// atomically.
    pub format: Option<String>,
    /// Bytes of the transpose's arrays, which are stored besides the matrix's.
    pub bytes: u128,
}

/// Duration of each step.
#[derive(Debug, Serialize)]
pub struct Times {
    /// How the matrix was obtained: "read" or "generate".
    pub source: &'static str,
    /// Reading or generating the matrix.
    #[serde(serialize_with = "seconds")]
    pub load: Duration,
    /// Converting it to the format.
    #[serde(serialize_with = "seconds")]
    pub convert: Duration,
    /// Moving it to the executor's memory.
    #[serde(serialize_with = "seconds")]
    pub upload: Duration,
    /// Multiplying it once.
    pub multiply: Spread,
}

/// Distribution of the times of a repeated step.
#[derive(Debug, Serialize)]
pub struct Spread {
    /// Number of timings.
    pub repeats: usize,
    /// The shortest time.
    #[serde(serialize_with = "seconds")]
    pub minimum: Duration,
    /// The time that a quarter of them do not exceed.
    #[serde(serialize_with = "seconds")]
    pub lower_quartile: Duration,
    /// The middle one, or the mean of the two in the middle.
    #[serde(serialize_with = "seconds")]
    pub median: Duration,
    /// The time that a quarter of them reach or exceed.
    #[serde(serialize_with = "seconds")]
    pub upper_quartile: Duration,
    /// The longest time.
    #[serde(serialize_with = "seconds")]
    pub maximum: Duration,
}

/// Distance of the answer from the exact one.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// Whether every element is as close as rounding explains.
    pub passed: bool,
    /// Number of elements that are not.
    pub wrong: usize,
    /// The largest error, as a fraction of what rounding explains in its row; null if an element is not finite and
    /// should be, or the reverse.
    pub worst: f64,
    /// Its zero-based row; null for a matrix without rows.
    pub worst_row: Option<usize>,
    /// Norm of the error over norm of the exact answer.
    pub relative_error: f64,
}

/// Factors besides the device that may affect the times.
#[derive(Debug, Serialize)]
pub struct Environment {
    /// The operating system.
    pub system: &'static str,
    /// The host's architecture.
    pub architecture: &'static str,
    /// Threads of the host that convert and multiply.
    pub threads: usize,
    /// "release", or "debug" for a slow build.
    pub build: &'static str,
    /// Whether this program can use an NVIDIA GPU.
    pub cuda: bool,
    /// The requested grid sizes; null if none were requested.
    pub tuning: Option<Asked>,
}

pub fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// Serializes a path as text. JSON has no other form, so non-Unicode parts are replaced.
pub fn path_if_any<S: serde::Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

impl Shape {
    pub fn new<T: Number>(name: String, matrix: &Csr<T>) -> Self {
        Self { name, rows: matrix.rows(), columns: matrix.columns(), nonzeros: matrix.nnz() }
    }
}

impl Spread {
    /// # Panics
    /// Panics if there are no times.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let (last, middle, quarter) = (times.len() - 1, times.len() / 2, times.len() / 4);
        Self {
            repeats: times.len(),
            minimum: times[0],
            lower_quartile: times[quarter],
            median: (times[last - middle] + times[middle]) / 2,
            upper_quartile: times[last - quarter],
            maximum: times[last],
        }
    }
}

impl From<Verification> for Checked {
    fn from(verification: Verification) -> Self {
        let passed = verification.passed();
        let Verification { wrong, worst, worst_row, relative_error } = verification;
        Self { passed, wrong, worst, worst_row, relative_error }
    }
}

impl Environment {
    pub fn here(asked: Asked) -> Self {
        Self {
            system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
            threads: rayon::current_num_threads(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
            cuda: cfg!(feature = "cuda"),
            tuning: asked.if_any(),
        }
    }
}

impl Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rows, columns, nonzeros] = [self.rows, self.columns, self.nonzeros].map(|count| HumanCount(count as u64));
        write!(f, "{rows} rows, {columns} columns, {nonzeros} stored entries")
    }
}

/// Writes the reason for the choice of the format, if one was chosen.
pub fn write_choice(f: &mut fmt::Formatter<'_>, choice: Option<&Choice>) -> fmt::Result {
    let Some(choice) = choice else { return Ok(()) };
    writeln!(f, "choice        {}", printable(&choice.reason()))?;
    choice.note.iter().try_for_each(|note| writeln!(f, "not used      {}", printable(note)))
}

/// Formats the report for the terminal.
impl Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, format, executor, device, precision, bytes, times, verification, .. } = self;
        writeln!(f, "matrix        {}", printable(&matrix.name))?;
        writeln!(f, "shape         {matrix}")?;
        writeln!(f, "format        {format}, {precision}, {}", units::bytes(*bytes))?;
        if let Some(values) = self.values {
            writeln!(f, "values        {values}")?;
        }
        match &self.transpose {
            None => {}
            Some(Transpose { format: Some(format), bytes }) => {
                writeln!(f, "transpose     {format}, {}", units::bytes(*bytes))?;
            }
            Some(_) => writeln!(f, "transpose     not stored, atomic additions on a GPU")?,
        }
        write_choice(f, self.choice.as_ref())?;
        let tuning = self.environment.tuning.map_or(String::new(), |asked| format!(", {asked}"));
        writeln!(f, "executor      {executor}, {device}{tuning}")?;
        writeln!(f, "{:13} {}", times.source, duration(times.load))?;
        writeln!(f, "convert       {}", duration(times.convert))?;
        writeln!(f, "upload        {}", duration(times.upload))?;
        let of_no_gpu = if *executor == ExecutorName::Emulated.name() { ", which is no measure of a GPU" } else { "" };
        writeln!(f, "multiply      {}{of_no_gpu}", times.multiply)?;
        if let (Some(gflops), Some(gbps)) = (self.gflops, self.gbps) {
            writeln!(f, "speed         {} GFLOP/s, {} GB/s", four_digits(gflops), four_digits(gbps))?;
        }
        writeln!(f, "verification  {verification}")?;
        if let Some(output) = &self.output {
            writeln!(f, "output        {}", printable(&output.to_string_lossy()))?;
        }
        Ok(())
    }
}

impl Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, minimum, maximum] = [self.median, self.minimum, self.maximum].map(duration);
        match self.repeats {
            1 => write!(f, "{median}, timed once"),
            repeats => write!(f, "{median} median of {repeats}, {minimum} to {maximum}"),
        }
    }
}

impl Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed { "passed" } else { "FAILED" };
        let Self { worst, relative_error, .. } = self;
        write!(f, "{verdict}, largest error {worst:.3} of the bound, relative error {relative_error:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_times() {
        let spread = |seconds: &[u64]| {
            let spread = Spread::of(seconds.iter().copied().map(Duration::from_secs).collect());
            [spread.minimum, spread.lower_quartile, spread.median, spread.upper_quartile, spread.maximum]
                .map(|time| time.as_secs_f64())
        };
        assert_eq!(spread(&[3]), [3.0; 5]);
        assert_eq!(spread(&[5, 1, 3]), [1.0, 1.0, 3.0, 5.0, 5.0]);
        assert_eq!(spread(&[4, 1, 8, 3]), [1.0, 3.0, 3.5, 4.0, 8.0]);
        assert_eq!(spread(&[9, 8, 7, 6, 5, 4, 3, 2, 1]), [1.0, 3.0, 5.0, 7.0, 9.0]);
    }
}
