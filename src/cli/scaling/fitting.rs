//! Comparison of the model with measurements.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use lab::scaling::{self, Job, Machine, MeasuredRun, Sample, predict};
use serde::Serialize;

use super::bytes_of_value;
use crate::cli::error::Error;
use crate::cli::input::Source;
use crate::cli::output::printable;
use crate::cli::pattern::Pattern;
use crate::cli::precision::AnyPrecision;
use crate::cli::units::duration;

/// The JSON record of `scaling --fit --json`. Times are in seconds.
#[derive(Debug, Serialize)]
pub struct Fitted {
    /// Version of this program.
    version: &'static str,
    /// The given machine.
    given: Machine,
    /// The same with the constants that explain the runs best.
    fitted: Machine,
    runs: Vec<Compared>,
}

/// A run, and the predictions for both machines.
#[derive(Debug, Serialize)]
struct Compared {
    matrix: String,
    job: Job,
    precision: String,
    ranks: usize,
    measured: f64,
    given: f64,
    fitted: f64,
}

/// Fits the constants of a machine to the runs in files.
pub fn fit(files: &[PathBuf], given: Machine) -> Result<Fitted, Error> {
    let mut runs = Vec::new();
    for file in files {
        runs.extend(scaling::read(file)?);
    }
    let samples = samples(&runs, &given)?;
    let fitted = scaling::fit(&given, &samples);
    let compared = runs.into_iter().zip(&samples).map(|(run, sample)| {
        let MeasuredRun { matrix, job, precision, seconds: measured, parts } = run;
        let [given, fitted] = [&given, &fitted].map(|machine| predict(job, &sample.loads, machine).seconds);
        Compared { matrix, job, precision, ranks: parts.len(), measured, given, fitted }
    });
    let runs = compared.collect();
    Ok(Fitted { version: env!("CARGO_PKG_VERSION"), given, fitted, runs })
}

/// The work of each run. Each matrix is divided only once.
fn samples(runs: &[MeasuredRun], machine: &Machine) -> Result<Vec<Sample>, Error> {
    let mut of_matrices: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, run) in runs.iter().enumerate() {
        of_matrices.entry(&run.matrix).or_default().push(place);
    }
    let mut samples: Vec<Option<Sample>> = vec![None; runs.len()];
    for (matrix, places) in of_matrices {
        let precision = |place: usize| {
            let name = &runs[place].precision;
            AnyPrecision::from_str(name, false).map_err(|_| Error::Usage(format!("{}: no such precision", runs[place])))
        };
        let pattern = Pattern::new(&Source::new(matrix.into()), precision(places[0])?)?;
        let mut ranks: Vec<usize> = places.iter().map(|&place| runs[place].parts.len()).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let all = pattern.divide(&ranks)?;
        for place in places {
            let (run, value) = (&runs[place], bytes_of_value(precision(place)?));
            let statistics = &all[ranks.partition_point(|&ranks| ranks < run.parts.len())];
            let loads = run.loads(statistics, value, machine.gpus_per_host)?;
            samples[place] = Some(Sample { job: run.job, loads, seconds: run.seconds });
        }
    }
    Ok(samples.into_iter().flatten().collect())
}

impl Fitted {
    /// Writes the machine with the fitted constants.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        Ok(self.fitted.write(path)?)
    }
}

/// Formats two tables.
impl Display for Fitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "job           ranks   measured       given              fitted         matrix")?;
        for Compared { matrix, job, precision, ranks, measured, given, fitted } in &self.runs {
            let job = match job {
                Job::Product => "product",
                Job::Cg => "CG",
                Job::PipelinedCg => "pipelined CG",
            };
            let time = |seconds: f64| duration(Duration::from_secs_f64(seconds));
            write!(f, "{job:<13}{ranks:>6} {:>10}", time(*measured))?;
            for predicted in [given, fitted] {
                write!(f, " {:>10} {:>+6.1} %", time(*predicted), 100.0 * (predicted / measured - 1.0))?;
            }
            writeln!(f, "  {}, {precision}", printable(matrix))?;
        }
        writeln!(f, "\n{:<30} {:>12} {:>12}", "constant", "given", "fitted")?;
        for ((name, unit, given), (_, _, fitted)) in constants(&self.given).into_iter().zip(constants(&self.fitted)) {
            writeln!(f, "{name:<30} {given:>12.2} {fitted:>12.2} {unit}")?;
        }
        Ok(())
    }
}

/// The constants in readable units.
fn constants(machine: &Machine) -> [(&'static str, &'static str, f64); 9] {
    let Machine { copy, launch, link, network, all_reduce, .. } = machine;
    [
        ("copy", "GB/s", copy / 1e9),
        ("launch", "µs", launch * 1e6),
        ("link: latency", "µs", link.latency * 1e6),
        ("link: bandwidth", "GB/s", link.bandwidth / 1e9),
        ("network: latency", "µs", network.latency * 1e6),
        ("network: bandwidth", "GB/s", network.bandwidth / 1e9),
        ("all-reduce: start", "µs", all_reduce.start * 1e6),
        ("all-reduce: step in a host", "µs", all_reduce.step_in_host * 1e6),
        ("all-reduce: step between hosts", "µs", all_reduce.step_between_hosts * 1e6),
    ]
}
