//! The report of `warp-spmv scaling`.

use std::fmt::{self, Display};
use std::time::Duration;

use lab::scaling::{Job, Load, Machine, Prediction, Storage, loads, predict};
use serde::Serialize;
use warp_spmv::distributed::{Part, Statistics};

use crate::cli::output::printable;
use crate::cli::record::{Shape, seconds};
use crate::cli::units::{self, HumanCount, duration};

/// The JSON record of `scaling --json`. Times are in seconds, sizes in bytes.
#[derive(Debug, Serialize)]
pub struct Record {
    /// Version of this program.
    pub version: &'static str,
    /// The matrix; with `--weak`, that of one rank.
    pub matrix: Shape,
    pub precision: String,
    /// Whether the matrix grows with the ranks.
    pub weak: bool,
    pub storage: Storage,
    pub machine: Machine,
    /// One step for each number of ranks.
    pub steps: Vec<Step>,
    /// The time to divide the matrix.
    #[serde(serialize_with = "seconds")]
    pub statistics: Duration,
}

/// The matrix on a number of ranks.
#[derive(Debug, Serialize)]
pub struct Step {
    ranks: usize,
    /// The matrix that is divided among them.
    matrix: Shape,
    partition: Partition,
    product: Predicted,
    /// Null for a matrix that is not square.
    cg: Option<Predicted>,
    pipelined_cg: Option<Predicted>,
}

/// Work of the ranks, and their exchange for a product.
#[derive(Debug, Serialize)]
struct Partition {
    /// Largest number of entries of a rank.
    most_nonzeros: u64,
    /// The same over the mean.
    imbalance: f64,
    /// Entries in columns of other ranks.
    remote_nonzeros: u64,
    /// Elements of x that are sent between ranks.
    volume: u64,
    /// Largest number that a rank receives.
    largest_halo: u64,
    /// Largest number that a rank sends.
    most_sent: u64,
    /// Largest number in one message.
    largest_message: u64,
    /// Largest number of ranks from which one receives elements.
    most_neighbours: u64,
    /// Largest number of bytes of a rank's rows.
    most_bytes: f64,
    /// Whether they fit into the memory of a GPU.
    fits: bool,
}

/// The time of a job, and how well the ranks are used.
#[derive(Debug, Serialize)]
struct Predicted {
    #[serde(flatten)]
    prediction: Prediction,
    /// One rank's time over this one, and over the number of ranks unless the matrix grows with them.
    efficiency: f64,
}

/// The time of all jobs on one rank.
pub struct Alone {
    loads: Vec<Load>,
    machine: Machine,
}

impl Alone {
    /// One rank with a matrix of this shape.
    pub fn new(shape: &Shape, storage: &Storage, machine: &Machine) -> Self {
        let part = Part { rows: shape.rows as u64, nnz: shape.nonzeros as u64, ..Part::default() };
        let statistics = Statistics { parts: vec![part], messages: Vec::new() };
        Self { loads: loads(&statistics, storage, machine.gpus_per_host), machine: machine.clone() }
    }

    fn seconds(&self, job: Job) -> f64 {
        predict(job, &self.loads, &self.machine).seconds
    }
}

impl Step {
    /// The division of a matrix; `alone` is one rank with all of it or, if it grows with the ranks, with its share.
    pub fn new(
        matrix: Shape,
        statistics: &Statistics,
        storage: &Storage,
        machine: &Machine,
        alone: &Alone,
        weak: bool,
    ) -> Self {
        let ranks = statistics.parts.len();
        let loads = loads(statistics, storage, machine.gpus_per_host);
        let predicted = |job: Job| {
            let prediction = predict(job, &loads, machine);
            let shared = if weak { 1.0 } else { ranks as f64 };
            let efficiency = alone.seconds(job) / (shared * prediction.seconds);
            Predicted { prediction, efficiency }
        };
        let most = |of: fn(&Part) -> u64| statistics.parts.iter().map(of).max().unwrap_or(0);
        let bytes = statistics.parts.iter().map(|part| storage.bytes(part.rows, part.nnz));
        let most_bytes = bytes.fold(0.0, f64::max);
        let square = matrix.rows == matrix.columns;
        Self {
            ranks,
            matrix,
            partition: Partition {
                most_nonzeros: most(|part| part.nnz),
                imbalance: statistics.imbalance(),
                remote_nonzeros: statistics.parts.iter().map(|part| part.remote_nnz).sum(),
                volume: statistics.volume(),
                largest_halo: statistics.largest_halo(),
                most_sent: most(|part| part.sent),
                largest_message: most(|part| part.largest_message),
                most_neighbours: most(|part| part.neighbours),
                most_bytes,
                fits: most_bytes <= machine.memory,
            },
            product: predicted(Job::Product),
            cg: square.then(|| predicted(Job::Cg)),
            pipelined_cg: square.then(|| predicted(Job::PipelinedCg)),
        }
    }
}

/// Formats the report for the terminal.
impl Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, precision, storage, machine, steps, statistics, .. } = self;
        writeln!(f, "matrix      {}", printable(&matrix.name))?;
        writeln!(f, "shape       {matrix}{}", if self.weak { ", and times the ranks on more" } else { "" })?;
        writeln!(f, "storage     {} B an entry, {} B a row, {precision}", storage.entry, storage.row)?;
        writeln!(f, "machine     {}", printable(&machine.name))?;
        writeln!(f, "statistics  {}", duration(*statistics))?;

        write!(f, "\n{:>6}{:>15}{:>10}{:>12}", "ranks", "most entries", "imbalance", "most halo")?;
        writeln!(f, "{:>11}{:>12}{:>12}", "neighbours", "most sent", "bytes")?;
        for Step { ranks, partition, .. } in steps {
            let Partition { most_nonzeros, imbalance, largest_halo, most_neighbours, most_sent, .. } = partition;
            let [entries, halo, neighbours, sent] =
                [most_nonzeros, largest_halo, most_neighbours, most_sent].map(|&count| HumanCount(count).to_string());
            let bytes = units::bytes(partition.most_bytes as u128);
            let mark = if partition.fits { "" } else { "*" };
            write!(f, "{ranks:>6}{entries:>15}{imbalance:>10.3}{halo:>12}{neighbours:>11}{sent:>12}")?;
            writeln!(f, "{bytes:>12}{mark}")?;
        }
        writeln!(f, "\n{:>6}{:>11}{:>7} {:<17}{:>11}{:>18}", "ranks", "product", "", "bound by", "CG", "pipelined CG")?;
        for Step { ranks, product, cg, pipelined_cg, .. } in steps {
            write!(f, "{ranks:>6} {product} {:<17}", product.prediction.bound)?;
            for predicted in [cg, pipelined_cg] {
                match predicted {
                    Some(predicted) => write!(f, " {predicted}")?,
                    None => write!(f, " {:>17}", "-")?,
                }
            }
            writeln!(f)?;
        }
        if steps.iter().any(|step| !step.partition.fits) {
            writeln!(f, "* more than the {} of a GPU", units::bytes(machine.memory as u128))?;
        }
        Ok(())
    }
}

/// Formats the time, and the efficiency in per cent.
impl Display for Predicted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = duration(Duration::from_secs_f64(self.prediction.seconds));
        let per_cent = 100.0 * self.efficiency;
        write!(f, "{time:>10} {per_cent:>4.*} %", usize::from(per_cent < 9.95))
    }
}
