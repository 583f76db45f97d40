//! The results of measurements, as they are written to files.
//!
//! A file is a JSON array with an entry for each matrix, precision and executor. The names and the nesting that
//! Ginkgo's benchmarks use are kept, so that files of both can be read together; what they lack is added. Everything
//! that Ginkgo does not write is optional when a file is read. Times are in seconds, sizes in bytes.
//! `docs/results-schema.md` describes every field.

mod product;

use std::collections::BTreeMap;

use host::Format;
use host::select::Analysis;
use serde::{Deserialize, Serialize};

pub use product::{Product, layout_name};

use crate::tuning::Asked;

/// The version of the schema that this program writes. It grows when a field changes its meaning or goes; new fields
/// alone do not change it.
pub const SCHEMA: u32 = 1;

/// What was measured of one matrix in one precision on one executor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// [`SCHEMA`] of the writer; 0 for a file of another program.
    #[serde(default)]
    pub schema: u32,
    /// The file's name or the generator's text, as it was given.
    pub filename: String,
    /// The family of matrices that it belongs to, such as "stencil".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Number of rows.
    pub rows: u64,
    /// Number of columns.
    pub cols: u64,
    /// Number of stored entries.
    pub nonzeros: u64,
    /// How long the rows are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_lengths: Option<RowLengths>,
    /// What the matrix is like, as the choice of a format sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
    /// What it took to find that out, on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis_time: Option<AnalysisTime>,
    /// Why nothing was measured, where the matrix itself could not be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What came of each format, by its text, and of each peer, by name.
    #[serde(default)]
    pub spmv: BTreeMap<String, Run>,
    /// What came of multiplying several vectors at once, by the same names: a product for each number of vectors and
    /// layout.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub products: BTreeMap<String, Vec<Product>>,
    /// The fastest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimal: Option<Optimal>,
    /// How fast the device can be, measured in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceilings: Option<Ceilings>,
    /// Where and how it was measured.
    #[serde(default)]
    pub env: Environment,
}

/// How long the rows of a matrix are.
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
    /// Numbers of rows by length: first those of length 0, then those of 1, 2 to 3, 4 to 7, and so on.
    pub histogram: Vec<u64>,
}

/// What an analysis takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnalysisTime {
    /// Seconds.
    pub seconds: f64,
    /// The same in multiplications of the default CSR on the executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csr_calls: Option<f64>,
}

/// What came of one format or peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Whether there is a right result: without one, `error` says why.
    pub completed: bool,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether there is none because the matrix does not suit it: too much padding, too large, not enough memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Bytes of the matrix as it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<u64>,
    /// ‖computed − exact‖₂ / ‖exact‖₂.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_relative_norm2: Option<f64>,
    /// Median time of one multiplication, with whatever the caches hold from the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// How many multiplications were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<u64>,
    /// Whose it is: "warp-spmv", or a peer's name and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// What the format stands for with this matrix, or what the peer was told; of [`Format::Auto`] the format that was
    /// chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Multiplications that the format was chosen for; of [`Format::Auto`] alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplications: Option<u64>,
    /// Whether it gives the same bits every time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproducible: Option<bool>,
    /// First and third quartile of the times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quartiles: Option<[f64; 2]>,
    /// Every time, in the order of measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
    /// The same with nothing of matrix and vectors left in the caches; only for those that caches could hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<Times>,
    /// 2 nonzeros over [`seconds`](Run::seconds), in 10^9 a second, whatever the padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gflops: Option<f64>,
    /// `bytes_needed` over [`seconds`](Run::seconds), in 10^9 a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gbps: Option<f64>,
    /// `gbps` over that of the copy in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// `gbps` over that of the read-only reduction in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_read: Option<f64>,
    /// Bytes that the format has to move at least, x and y moved once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_needed: Option<u64>,
    /// Bytes of the matrix as it is stored, x and y.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_stored: Option<u64>,
    /// What values are stored in, where that is narrower than they are computed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<String>,
    /// Places for entries over entries; less than 1 where two entries share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_ratio: Option<f64>,
    /// What it takes to get there from CSR; of [`Format::Auto`] until the first product can begin: analysis, choice,
    /// trials and conversion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversion: Option<Conversion>,
    /// How many multiplications repay the conversion against the default CSR; none where it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_even: Option<f64>,
    /// The largest error of an element over what rounding explains there: at most 1 is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_of_bound: Option<f64>,
}

/// Times of a step that was repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The median.
    pub time: f64,
    /// First and third quartile.
    pub quartiles: [f64; 2],
    /// How many there are.
    pub repetitions: u64,
    /// Every time, in the order of measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

/// What a conversion from CSR takes, on the executor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversion {
    /// The first one, with whatever must be loaded and compiled.
    pub first: f64,
    /// A later one.
    pub warm: f64,
    /// A later one back to CSR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<f64>,
    /// Memory of the executor at the peak, over what CSR takes; none where it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// `warm` in multiplications of the default CSR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csr_calls: Option<f64>,
}

/// The fastest run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Optimal {
    /// Its name in `spmv`.
    pub spmv: String,
}

/// How fast a device can be: nothing that moves the same bytes is faster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// A copy, in 10^9 bytes a second, read and written.
    pub copy_gbps: f64,
    /// Reading alone.
    pub read_gbps: f64,
    /// Reading sectors of 32 bytes at random places of a large array: whole sectors are counted.
    pub gather_gbps: f64,
    /// The same of an array that the largest cache holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_gather_gbps: Option<f64>,
    /// Time on the device of a multiplication that has nothing to do.
    pub launch: f64,
    /// The same as the caller sees it, when many are queued and waited for.
    pub call: f64,
    /// How long the caller is busy with queueing each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<f64>,
    /// [`call`](Self::call), when they are repeated as recordings of 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<f64>,
}

/// Where and how something was measured.
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
    /// Clocks as they were found under load.
    pub clocks: Option<Clocks>,
    /// Bytes of the largest cache.
    pub cache_bytes: Option<u64>,
    /// Threads that the device holds at a time.
    pub resident_threads: Option<u64>,
    /// What was asked for of the sizes of grids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Asked>,
    /// Ranks that the matrix was divided among; none where it was not.
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
    /// What takes the times.
    pub timer: String,
    /// When the entry was written, in seconds since 1970.
    pub unix_time: u64,
    /// The arguments that the program was started with.
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
    /// Whether it is the same executor, on as many ranks.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.executor, self.ranks) == (&other.executor, other.ranks)
    }
}

impl Run {
    /// A run without a result.
    pub fn failed(error: &host::Error) -> Self {
        use host::Error::{Fill, OutOfMemory, TooLarge};
        let refused = matches!(error, Fill { .. } | OutOfMemory { .. } | TooLarge { .. });
        Self { error: Some(error.to_string()), refused, ..Self::default() }
    }

    /// Whether there is a result and it is wrong.
    pub fn is_wrong(&self) -> bool {
        !self.completed && self.time.is_some()
    }

    /// Whether something failed that should not.
    pub fn has_failed(&self) -> bool {
        !self.completed && self.time.is_none() && !self.refused
    }

    /// The time that claims are made on: cold where there is one, for a matrix that fits into a cache is not what
    /// multiplication is bound by.
    pub fn seconds(&self) -> Option<f64> {
        self.cold.as_ref().map(|cold| cold.time).or(self.time).filter(|_| self.completed)
    }

    /// Whether it is a peer's.
    pub fn is_peer(&self) -> bool {
        self.library.as_deref().is_some_and(|library| library != OWN)
    }
}

/// [`Run::library`] of this project's own formats.
pub const OWN: &str = "warp-spmv";

/// Whether the run of this name is one of our own formats: neither a peer's nor that of [`Format::Auto`], which is one
/// of them once more.
pub fn is_own_format(name: &str, run: &Run) -> bool {
    !run.is_peer() && name != Format::Auto.name()
}

impl Entry {
    /// The fastest run of those that `chosen` takes, by name.
    pub fn fastest(&self, chosen: impl Fn(&str, &Run) -> bool) -> Option<(&str, f64)> {
        let runs = self.spmv.iter().filter(|(name, run)| chosen(name, run));
        let timed = runs.filter_map(|(name, run)| Some((name.as_str(), run.seconds()?)));
        timed.min_by(|(_, left), (_, right)| left.total_cmp(right))
    }
}
