//! The report of `warp-spmv solve`.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Serialize, Serializer};
use warp_spmv::select::Choice;
use warp_spmv::verify::Norm;

use super::multigrid::Levels;
use super::output::printable;
use super::record::{Checked, Environment, Shape, path_if_any, seconds, write_choice};
use super::rivals::Rival;
use super::units::{self, duration, four_digits};
use super::values::Stored;

/// The JSON record of `solve --json`. Norms are Euclidean, times are in seconds.
#[derive(Debug, Serialize)]
pub struct Solution {
    /// Version of this program.
    pub version: &'static str,
    /// The matrix.
    pub matrix: Shape,
    /// The method, as `--method` takes it.
    pub method: &'static str,
    /// The preconditioner, as `--preconditioner` takes it; null if there is none.
    pub preconditioner: Option<String>,
    /// The levels of multigrid; null with another preconditioner.
    pub multigrid: Option<Levels>,
    /// The format of the matrix, as `--format` takes it.
    pub format: String,
    /// The storage of values, if narrower; null otherwise.
    pub values: Option<Stored>,
    /// Corrections computed with rounded values, until the residual of the given ones was small; null if none were
    /// rounded.
    pub corrections: Option<usize>,
    /// The reason for the choice of the format, with `--format auto`; null otherwise.
    pub choice: Option<Choice>,
    /// The executor, as `--executor` takes it.
    pub executor: &'static str,
    /// The executor's device.
    pub device: String,
    /// "float32" or "float64".
    pub precision: &'static str,
    /// The tolerance of convergence.
    pub tolerance: Tolerance,
    /// The outcome: "converged", "iteration limit" and so on, with the reason of a breakdown.
    pub outcome: String,
    /// Whether it converged.
    pub converged: bool,
    /// Number of iterations.
    pub iterations: usize,
    /// Number of restarts from the current x.
    pub restarts: usize,
    /// The final residual.
    pub residual: Residual,
    /// The norm of the error of x over that of x; null if b is from a file.
    pub error: Option<f64>,
    /// Duration of each step.
    pub times: Times,
    /// The parts of an iteration; null unless requested.
    pub account: Option<Account>,
    /// The results of other libraries for the same system; null unless requested.
    pub peers: Option<Vec<Rival>>,
    /// The norm of the residual before the first iteration and after each, as computed by the method.
    pub history: Vec<f64>,
    /// The file to which x was written, if any.
    #[serde(serialize_with = "path_if_any")]
    pub out: Option<PathBuf>,
    /// The file to which the history was drawn, if any.
    #[serde(serialize_with = "path_if_any")]
    pub plot: Option<PathBuf>,
    /// Other factors that may affect the times.
    pub environment: Environment,
    /// Whether the report for the terminal has a table of the levels.
    #[serde(skip)]
    pub explain: bool,
}

/// The tolerance of a solver.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tolerance {
    /// As a fraction of the norm of b.
    pub relative: f64,
    /// As a norm.
    pub absolute: f64,
    /// The norm allowed by one of the two.
    pub norm: f64,
}

/// Norms of b − A x for the x that was found.
#[derive(Debug, Serialize)]
pub struct Residual {
    /// The norm of b.
    pub right_hand_side: f64,
    /// The norm of the residual as computed by the executor.
    pub norm: f64,
    /// The same in twice the precision.
    pub exact: f64,
    /// Distance of the executor's residual from the exact one, row by row.
    pub verification: Checked,
}

/// Duration of each step.
#[derive(Debug, Serialize)]
pub struct Times {
    /// How the matrix was obtained: "read" or "generate".
    pub source: &'static str,
    /// Reading or generating the matrix and the vectors.
    #[serde(serialize_with = "seconds")]
    pub load: Duration,
    /// Converting the matrix to the format.
    #[serde(serialize_with = "seconds")]
    pub convert: Duration,
    /// Moving it to the executor's memory.
    #[serde(serialize_with = "seconds")]
    pub upload: Duration,
    /// Building the preconditioner; null if there is none.
    #[serde(serialize_with = "seconds_if_any")]
    pub preconditioner: Option<Duration>,
    /// Solving, from the vectors in the executor's memory to the last residual.
    #[serde(serialize_with = "seconds")]
    pub solve: Duration,
    /// An iteration; null if there was none.
    #[serde(serialize_with = "seconds_if_any")]
    pub iteration: Option<Duration>,
}

/// The parts of an iteration, and the time of each by itself.
#[derive(Debug, Serialize)]
pub struct Account {
    /// Number of products with the matrix.
    pub products: f64,
    /// Seconds per product, the median of many in a row.
    pub product: f64,
    /// Number of applications of the preconditioner.
    pub preconditionings: f64,
    /// Seconds per application; null if there is none.
    pub preconditioning: Option<f64>,
    /// Bytes of vectors that are read and written besides.
    pub vector_bytes: f64,
    /// Speed of copying a large array, in 10^9 bytes per second, read and written.
    pub copy_gbps: f64,
    /// Seconds of the products, of the preconditioner, and of the vectors at the speed of a copy.
    pub expected: f64,
    /// The time of an iteration over the expected one.
    pub ratio: Option<f64>,
}

/// Seconds, or null.
pub fn seconds_if_any<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(serializer)
}

/// Formats the report for the terminal.
impl Display for Solution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, method, format, executor, device, precision, residual, times, .. } = self;
        writeln!(f, "matrix        {}", printable(&matrix.name))?;
        writeln!(f, "shape         {matrix}")?;
        writeln!(f, "method        {method}, {format}, {precision}")?;
        if let Some(values) = self.values {
            writeln!(f, "values        {values}")?;
        }
        write_choice(f, self.choice.as_ref())?;
        if let Some(preconditioner) = &self.preconditioner {
            let time = times.preconditioner.map_or(String::new(), |time| format!(", made in {}", duration(time)));
            writeln!(f, "with          {preconditioner}{time}")?;
        }
        if let Some(levels) = &self.multigrid {
            writeln!(f, "levels        {}", levels.summary())?;
            if self.explain {
                write!(f, "{levels}")?;
            }
        }
        writeln!(f, "executor      {executor}, {device}")?;
        writeln!(f, "{:13} {}", times.source, duration(times.load))?;
        writeln!(f, "convert       {}", duration(times.convert))?;
        writeln!(f, "upload        {}", duration(times.upload))?;
        write!(f, "solve         {}", duration(times.solve))?;
        match times.iteration {
            Some(iteration) => writeln!(f, ", {} per iteration", duration(iteration))?,
            None => writeln!(f)?,
        }
        if let Some(account) = &self.account {
            writeln!(f, "iteration     {account}")?;
        }
        for peer in self.peers.iter().flatten() {
            writeln!(f, "peer          {}", peer.beside(times.iteration))?;
        }
        let restarts = match (self.corrections, self.restarts) {
            (Some(1), _) => " in 1 correction".into(),
            (Some(corrections), _) => format!(" in {corrections} corrections"),
            (None, 0) => String::new(),
            (None, restarts) => format!(", restarted {restarts} times"),
        };
        writeln!(f, "outcome       {} after {} iterations{restarts}", self.outcome, self.iterations)?;
        writeln!(f, "residual      {residual}")?;
        if let Some(error) = self.error {
            writeln!(f, "error of x    {error:.2e}")?;
        }
        for (what, path) in [("output", &self.out), ("plot", &self.plot)] {
            if let Some(path) = path {
                writeln!(f, "{what:13} {}", printable(&path.to_string_lossy()))?;
            }
        }
        Ok(())
    }
}

impl Display for Residual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { right_hand_side, norm, exact, verification } = self;
        let checked = if verification.passed { "" } else { ", which is WRONG" };
        write!(f, "{norm:.3e}{checked}, in twice the precision {exact:.3e}; b has {right_hand_side:.3e}")
    }
}

impl Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |seconds| duration(Duration::from_secs_f64(seconds));
        let Self { products, product, preconditionings, vector_bytes, copy_gbps, expected, ratio, .. } = self;
        let (bytes, speed) = (units::bytes(*vector_bytes as u128), four_digits(*copy_gbps));
        let (product, expected) = (time(*product), time(*expected));
        let with = self
            .preconditioning
            .map_or(String::new(), |seconds| format!(", {preconditionings} × the preconditioner's {},", time(seconds)));
        write!(f, "{products} × the product's {product}{with} and {bytes} of vectors at {speed} GB/s make {expected}")?;
        match ratio {
            Some(ratio) => write!(f, "; it takes {ratio:.3} times that"),
            None => Ok(()),
        }
    }
}

/// The Euclidean norm.
pub fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.collect::<Norm>().value()
}
