//! The results of measurements, as written to files.
//!
//! A file is a JSON array with one entry per matrix, precision and executor. Names and nesting follow Ginkgo's benchmarks,
//! so that files of both can be read together; additional fields are added. Everything that Ginkgo does not write is
//! optional when a file is read. Times are in seconds, sizes in bytes. `docs/results-schema.md` describes every field.

mod product;

use std::collections::BTreeMap;

use host::Format;
use host::select::Analysis;
use serde::{Deserialize, Serialize};

pub use product::{Product, layout_name};

use crate::tuning::Asked;

/// The version of the schema that this program writes. It increases when a field changes its meaning or is removed; new
/// fields alone do not change it.
pub const SCHEMA: u32 = 1;

/// The measurements of one matrix in one precision on one executor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// [`SCHEMA`] of the writer; 0 for a file of another program.
    #[serde(default)]
    pub schema: u32,
    /// The file's name or the generator's text, as given.
    pub filename: String,
    /// The matrix's family, such as "stencil".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Number of rows.
    pub rows: u64,
    /// Number of columns.
    pub cols: u64,
    /// Number of stored entries.
    pub nonzeros: u64,
    /// Statistics of the rows' lengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_lengths: Option<RowLengths>,
    /// The analysis of the matrix for the choice of a format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
    /// The duration of the analysis, on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis_time: Option<AnalysisTime>,
    /// Why nothing was measured, if the matrix itself was not available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The run of each format, by its text, and of each peer, by name.
    #[serde(default)]
    pub spmv: BTreeMap<String, Run>,
    /// The products with several vectors at once, by the same names: one product per number of vectors and layout.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub products: BTreeMap<String, Vec<Product>>,
    /// The fastest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimal: Option<Optimal>,
    /// Upper limits of the device's speed, measured in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceilings: Option<Ceilings>,
    /// The environment of the measurement.
    #[serde(default)]
    pub env: Environment,
}

/// Statistics of the lengths of a matrix's rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowLengths {
    /// The shortest row.
    pub shortest: u64,
    /// The longest row.
    pub longest: u64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// Numbers of rows by length: of length 0, of length 1, of 2 to 3, of 4 to 7, and so on.
    pub histogram: Vec<u64>,
}

/// The duration of an analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnalysisTime {
    /// Seconds.
    pub seconds: f64,
    /// The same, in multiplications of the default CSR on the executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csr_calls: Option<f64>,
}

/// The run of one format or peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Whether there is a correct result: otherwise, `error` tells why.
    pub completed: bool,
    /// Why there is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether there is no result because the format or peer does not suit the matrix: too much padding, too large, not
    /// enough memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Bytes of the stored matrix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<u64>,
    /// ‖computed − exact‖₂ / ‖exact‖₂.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_relative_norm2: Option<f64>,
    /// Median time of one multiplication, with the caches as the previous one left them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// Number of timed multiplications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<u64>,
    /// The library: "warp-spmv", or a peer's name and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// The resolved format for this matrix, or the peer's settings; for [`Format::Auto`] the chosen format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Number of multiplications for which the format was chosen; only for [`Format::Auto`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplications: Option<u64>,
    /// Whether it returns the same bits every time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproducible: Option<bool>,
    /// First and third quartile of the times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quartiles: Option<[f64; 2]>,
    /// All times, in the order of measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
    /// Times with nothing of matrix and vectors in the caches; only if caches could hold them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<Times>,
    /// 2 nonzeros over [`seconds`](Run::seconds), in 10^9 per second, regardless of padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gflops: Option<f64>,
    /// `bytes_needed` over [`seconds`](Run::seconds), in 10^9 per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gbps: Option<f64>,
    /// `gbps` relative to that of the copy in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// `gbps` relative to that of the read-only reduction in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_read: Option<f64>,
    /// Bytes that the format must at least move, with x and y moved once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_needed: Option<u64>,
    /// Bytes of the stored matrix, x and y.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_stored: Option<u64>,
    /// The type in which values are stored, if narrower than the type of the computation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<String>,
    /// Ratio of slots to entries; less than 1 if entries share a slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_ratio: Option<f64>,
    /// The cost of the conversion from CSR; for [`Format::Auto`], until the first product can begin: analysis, choice,
    /// trials and conversion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversion: Option<Conversion>,
    /// Number of multiplications after which the conversion pays off compared with the default CSR; `None` if it never
    /// does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_even: Option<f64>,
    /// The largest ratio of an element's error to its rounding bound: at most 1 if correct.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_of_bound: Option<f64>,
}

/// Times of a repeated step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The median.
    pub time: f64,
    /// First and third quartile.
    pub quartiles: [f64; 2],
    /// Number of repetitions.
    pub repetitions: u64,
    /// All times, in the order of measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

/// The cost of a conversion from CSR, on the executor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversion {
    /// Seconds of the first conversion, including loading and compiling.
    pub first: f64,
    /// Seconds of a later conversion.
    pub warm: f64,
    /// Seconds of a later conversion back to CSR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<f64>,
    /// Peak memory of the executor, in addition to CSR's; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// `warm`, in multiplications of the default CSR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csr_calls: Option<f64>,
}

/// The fastest run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Optimal {
    /// The name in `spmv`.
    pub spmv: String,
}

/// Upper limits of a device's speed: nothing that moves the same bytes is faster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// A copy, in 10^9 bytes per second, read and written.
    pub copy_gbps: f64,
    /// Reading alone.
    pub read_gbps: f64,
    /// Reading sectors of 32 bytes at random positions of a large array: whole sectors are counted.
    pub gather_gbps: f64,
    /// The same for an array that fits into the largest cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_gather_gbps: Option<f64>,
    /// Time of a multiplication without work, on the device.
    pub launch: f64,
    /// The same for the caller, when many are queued before waiting.
    pub call: f64,
    /// Time for which the caller is busy queueing each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<f64>,
    /// [`call`](Self::call), if they are repeated as recordings of 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<f64>,
}

/// The environment of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// "cuda", "cpu", "emulated" or "reference".
    pub executor: String,
    /// "float32" or "float64".
    pub precision: String,
    /// The device's name.
    pub device: String,
    /// Version of the driver.
    pub driver: Option<String>,
    /// Clocks under load.
    pub clocks: Option<Clocks>,
    /// Bytes of the largest cache.
    pub cache_bytes: Option<u64>,
    /// Largest number of threads resident on the device.
    pub resident_threads: Option<u64>,
    /// The requested grid sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Asked>,
    /// Number of ranks among which the matrix was divided; `None` if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Threads of the host.
    pub threads: usize,
    /// Operating system and architecture.
    pub system: String,
    /// "release" or "debug".
    pub build: String,
    /// Version of this program.
    pub version: String,
    /// Its commit.
    pub commit: Option<String>,
    /// Bits of a column index.
    pub index_width: u32,
    /// The seed of x.
    pub seed: u64,
    /// The timer.
    pub timer: String,
    /// The time at which the entry was written, in seconds since 1970.
    pub unix_time: u64,
    /// The program's arguments.
    pub command: Vec<String>,
}

/// Clocks in MHz.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// Of the multiprocessors.
    pub multiprocessor_mhz: u32,
    /// Of the memory.
    pub memory_mhz: u32,
}

impl Environment {
    /// Returns whether it is the same executor, on the same number of ranks.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.executor, self.ranks) == (&other.executor, other.ranks)
    }
}

impl Run {
    /// Creates a run without a result.
    pub fn failed(error: &host::Error) -> Self {
        use host::Error::{Fill, OutOfMemory, TooLarge};
        let refused = matches!(error, Fill { .. } | OutOfMemory { .. } | TooLarge { .. });
        Self { error: Some(error.to_string()), refused, ..Self::default() }
    }

    /// Returns whether there is a result, but a wrong one.
    pub fn is_wrong(&self) -> bool {
        !self.completed && self.time.is_some()
    }

    /// Returns whether there was an unexpected failure.
    pub fn has_failed(&self) -> bool {
        !self.completed && self.time.is_none() && !self.refused
    }

    /// Returns the time on which claims are based: with cold caches if measured, because multiplication is not bound by a
    /// matrix that fits into a cache.
    pub fn seconds(&self) -> Option<f64> {
        self.cold.as_ref().map(|cold| cold.time).or(self.time).filter(|_| self.completed)
    }

    /// Returns whether it is a peer's run.
    pub fn is_peer(&self) -> bool {
        self.library.as_deref().is_some_and(|library| library != OWN)
    }
}

/// [`Run::library`] of this project's own formats.
pub const OWN: &str = "warp-spmv";

/// Returns whether the run of this name is one of our own formats: neither a peer's nor that of [`Format::Auto`], which
/// duplicates one of them.
pub fn is_own_format(name: &str, run: &Run) -> bool {
    !run.is_peer() && name != Format::Auto.name()
}

impl Entry {
    /// Returns the fastest run for which `chosen` returns true, by name.
    pub fn fastest(&self, chosen: impl Fn(&str, &Run) -> bool) -> Option<(&str, f64)> {
        let runs = self.spmv.iter().filter(|(name, run)| chosen(name, run));
        let timed = runs.filter_map(|(name, run)| Some((name.as_str(), run.seconds()?)));
        timed.min_by(|(_, left), (_, right)| left.total_cmp(right))
    }
}
