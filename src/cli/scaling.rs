//! `warp-spmv scaling`: predicts the time of products and iterations on many GPUs.

mod fitting;
mod record;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use clap::ValueEnum;
use lab::scaling::{Machine, Storage};

use super::error::Error;
use super::input::Source;
use super::output;
use super::pattern::Pattern;
use super::precision::AnyPrecision;
use super::record::Shape;
use record::{Alone, Record, Step};

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv scaling stencil:27:720
  warp-spmv scaling rmat:scale=22 --ranks 1,2,4,8 --precision float32 --json
  warp-spmv scaling stencil:27:250 --weak --machine machine.json
  warp-spmv scaling --fit run-2.json --fit run-4.json --out machine.json";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// File (.mtx, .mtx.gz, .rb, .npz, .wspmv), or generator such as stencil:27:720 (see below), of which only some
    /// rows are in memory at a time
    #[arg(value_name = "FILE|GENERATOR", required_unless_present = "fit")]
    matrix: Option<OsString>,
    /// Numbers of ranks, each with a GPU
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,4,8,16,32,64,128,256,512,1024",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    ranks: Vec<u32>,
    /// The constants of the machine, in a file as written by --out [default: hosts with 8 NVIDIA H200]
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// The type of all values, and a complex one for a complex matrix
    #[arg(long, value_enum, default_value_t = AnyPrecision::Float64)]
    precision: AnyPrecision,
    /// Bytes per stored entry, for another format than CSR; rows then take none besides
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1024))]
    entry_bytes: Option<u32>,
    /// Multiply a matrix on N ranks that is N times as large, as generated with times=N
    #[arg(long)]
    weak: bool,
    /// Compare the machine with records of `run` and `solve`, with --ranks and --json, and fit its constants to them;
    /// may be given several times, and a file may have several records
    #[arg(long, value_name = "FILE", conflicts_with_all = ["matrix", "ranks", "precision", "entry_bytes", "weak"])]
    fit: Vec<PathBuf>,
    /// Write the machine with the fitted constants to this file
    #[arg(long, value_name = "FILE", requires = "fit", conflicts_with = "matrix")]
    out: Option<PathBuf>,
    /// Print one JSON record instead of text
    #[arg(long)]
    json: bool,
}

/// A matrix, and its division among each number of ranks.
type Divided = (Shape, Vec<Step>);

pub fn scaling(arguments: &Arguments) -> Result<(), Error> {
    output::check_files(&arguments.out, arguments.fit.iter().chain(&arguments.machine).map(PathBuf::as_path))?;
    let machine = match &arguments.machine {
        Some(path) => Machine::read(path)?,
        None => Machine::h200(),
    };
    let Some(matrix) = &arguments.matrix else {
        let fitted = fitting::fit(&arguments.fit, machine)?;
        if let Some(out) = &arguments.out {
            fitted.write(out)?;
        }
        return output::print(&if arguments.json { output::json(&fitted) } else { fitted.to_string() });
    };
    let value = bytes_of_value(arguments.precision);
    let storage = match arguments.entry_bytes {
        Some(entry) => Storage { entry: f64::from(entry), row: 0.0, value: value as f64 },
        None => Storage::csr(value),
    };
    let begin = Instant::now();
    let (source, ranks) = (Source::new(matrix.clone()), &arguments.ranks);
    let ranks: Vec<usize> = ranks.iter().map(|&ranks| ranks as usize).collect();
    let pattern = Pattern::new(&source, arguments.precision)?;
    let divided = if arguments.weak { weak } else { strong };
    let (matrix, steps) = divided(&pattern, &ranks, &storage, &machine)?;
    let record = Record {
        version: env!("CARGO_PKG_VERSION"),
        matrix,
        precision: name(arguments.precision),
        weak: arguments.weak,
        storage,
        machine,
        steps,
        statistics: begin.elapsed(),
    };
    output::print(&if arguments.json { output::json(&record) } else { record.to_string() })
}

/// The same matrix on more and more ranks.
fn strong(pattern: &Pattern, ranks: &[usize], storage: &Storage, machine: &Machine) -> Result<Divided, Error> {
    let all = pattern.divide(ranks)?;
    let shape = pattern.shape(&all[0]);
    let alone = Alone::new(&shape, storage, machine);
    let step = |statistics| Step::new(shape.clone(), statistics, storage, machine, &alone, false);
    let steps = all.iter().map(step).collect();
    Ok((shape, steps))
}

/// A larger matrix on more ranks.
fn weak(pattern: &Pattern, ranks: &[usize], storage: &Storage, machine: &Machine) -> Result<Divided, Error> {
    // Before the statistics, because some may be too large.
    let larger = ranks.iter().map(|&ranks| pattern.times(ranks)).collect::<Result<Vec<_>, _>>()?;
    let shape = pattern.shape(&pattern.divide(&[1])?[0]);
    let alone = Alone::new(&shape, storage, machine);
    let mut steps = Vec::new();
    for (larger, &ranks) in larger.into_iter().zip(ranks) {
        let pattern = larger.pattern()?;
        for statistics in pattern.divide(&[ranks])? {
            steps.push(Step::new(pattern.shape(&statistics), &statistics, storage, machine, &alone, true));
        }
    }
    Ok((shape, steps))
}

/// Bytes of a value.
fn bytes_of_value(precision: AnyPrecision) -> usize {
    match precision {
        AnyPrecision::Float32 => 4,
        AnyPrecision::Float64 | AnyPrecision::Complex64 => 8,
        AnyPrecision::Complex128 => 16,
    }
}

/// The name used in records.
fn name(precision: AnyPrecision) -> String {
    precision.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}
