//! Arguments of `warp-spmv bench`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lab::suite::Suite;
use lab::sweeps::Sweep;
use lab::timing::Effort;
use warp_spmv::executor::ExecutorName;
use warp_spmv::select::Selection;
use warp_spmv::{Format, Layout, Multivector};

use crate::cli::figures::{self, Asked};
use crate::cli::formats;
use crate::cli::grids::Grids;
use crate::cli::precision::AnyPrecision;
use crate::cli::run::executor_parser;
use crate::cli::values::Values;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The list of matrices [default: quick]
    #[arg(long, value_parser = suite_parser(), conflicts_with = "matrix")]
    pub suite: Option<Suites>,
    /// The folder of the suite real, as created by scripts/real-matrices.py
    #[arg(long, value_name = "FOLDER", requires = "suite")]
    pub folder: Option<PathBuf>,
    /// A file or generator instead of a suite; may be given several times
    #[arg(long, value_name = "FILE|GENERATOR")]
    pub matrix: Vec<OsString>,
    /// A figure of a paper, or all: measures what its experiment needs, and draws it as SVG; may be given several
    /// times. docs/figures.md describes each
    #[arg(long, value_name = "NAME", value_parser = figures::parser(), conflicts_with_all = ["suite", "matrix", "format", "sweep"])]
    pub figure: Vec<Asked>,
    /// The folder for figures, which is created if missing [default: that of --out, otherwise the current one]
    #[arg(long, value_name = "FOLDER", requires = "figure")]
    pub svg: Option<PathBuf>,
    /// A format (some with parameters, see below), standard for one of each kind, all, or auto for the one that the
    /// library chooses, which all leaves out; may be given several times. csr-vector is always measured: conversions
    /// are rated in multiples of its time [default: standard, and with --sweep none]
    #[arg(long, value_parser = formats_parser())]
    pub format: Vec<Formats>,
    /// The number of multiplications for which --format auto chooses. It tries formats as run does, but remembers
    /// nothing between matrices or runs. The results record the format chosen, and how long that took [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub multiplications: Option<u64>,
    /// A search of a format's parameters: measures it with all of them, and reports the gain of the best; may be given
    /// several times
    #[arg(long, value_name = "NAME", value_parser = sweep_parser())]
    pub sweep: Vec<Sweep>,
    /// Also multiply this many vectors at once, in each format and by each peer that can (cuSPARSE's SpMM), and compare
    /// that with the peers and with as many single products, whose time is derived from the one measured in the same
    /// run; several numbers are separated by commas
    #[arg(
        long,
        value_name = "K",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with_all = ["values", "narrow"]
    )]
    pub vectors: Vec<u32>,
    /// The layout of several vectors in memory: the first elements of all, then the second ones, or one vector after
    /// the other [default: both]
    #[arg(long, value_enum, requires = "vectors")]
    pub layout: Option<Layouts>,
    /// Another library to measure on the same arrays, all, or none; may be given several times. A missing one is left
    /// out with a message [default: all that this program was built with, and for a figure those that it shows]
    #[arg(long, value_name = "PEER", value_parser = peers_parser())]
    pub peers: Vec<String>,
    /// Where to multiply; may be given several times [default: cuda if there is a GPU that this program can use,
    /// otherwise cpu]
    #[arg(long, value_parser = executor_parser())]
    pub executor: Vec<ExecutorName>,
    /// The type of all values; may be given several times [default: float64 and float32, and for a figure that of its
    /// paper]
    #[arg(long, value_enum)]
    pub precision: Vec<AnyPrecision>,
    /// Timed multiplications in each format [default: 50, in the suite quick 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Seconds of multiplying after which a slow format is timed less often, but at least 5 times [default: 2, in the
    /// suite quick 0.05]
    #[arg(long, value_name = "SECONDS", value_parser = positive_parser())]
    pub seconds: Option<f64>,
    /// Divide each matrix among this many ranks, which are threads of this process, and measure from when all begin to
    /// multiply until the last one ends
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks: Option<u32>,
    /// Keep every single time, not only the median and the quartiles
    #[arg(long)]
    pub samples: bool,
    /// Write the results to this file after each matrix
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Continue a file of results: what it contains is not measured again
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Print the results as JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub values: Values,
    #[command(flatten)]
    pub grids: Grids,
}

/// The values of `--suite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suites {
    /// A list of generators.
    Generated(Suite),
    /// The matrices listed in a folder.
    Real,
}

/// The values of `--layout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layouts {
    RowMajor,
    ColumnMajor,
    Both,
}

/// The values of `--format`.
#[derive(Clone, Copy, Debug)]
pub enum Formats {
    One(Format),
    Standard,
    All,
}

const STANDARD_NAME: &str = "standard";
pub const ALL_NAME: &str = "all";
pub const NONE_NAME: &str = "none";
const REAL_NAME: &str = "real";

fn formats_parser() -> impl TypedValueParser<Value = Formats> {
    let names = [STANDARD_NAME, ALL_NAME, Format::Auto.name()];
    let names: Vec<_> = names.into_iter().chain(formats::names()).collect();
    formats::parser(names, |name| match name {
        STANDARD_NAME => Ok(Formats::Standard),
        ALL_NAME => Ok(Formats::All),
        name => name.parse().map(Formats::One),
    })
}

fn sweep_parser() -> impl TypedValueParser<Value = Sweep> {
    PossibleValuesParser::new(Sweep::ALL.iter().map(|sweep| sweep.name())).try_map(|name| name.parse::<Sweep>())
}

fn peers_parser() -> PossibleValuesParser {
    PossibleValuesParser::new([ALL_NAME, NONE_NAME].into_iter().chain(lab::peers::LIBRARIES.iter().copied()))
}

fn suite_parser() -> impl TypedValueParser<Value = Suites> {
    let names = Suite::ALL.iter().map(|suite| suite.name()).chain([REAL_NAME]);
    PossibleValuesParser::new(names).try_map(|name| match &*name {
        REAL_NAME => Ok(Suites::Real),
        name => name.parse().map(Suites::Generated),
    })
}

fn positive_parser() -> impl TypedValueParser<Value = f64> {
    clap::builder::NonEmptyStringValueParser::new().try_map(|text| match text.parse() {
        Ok(number) if number > 0.0 && f64::is_finite(number) => Ok(number),
        _ => Err("a number above 0 is expected"),
    })
}

/// The default effort per format.
const EFFORT: Effort = Effort { warm_ups: 5, repetitions: 50, seconds: 2.0 };

/// The same for the suite `quick`, which should end within a minute.
const QUICK_EFFORT: Effort = Effort { warm_ups: 2, repetitions: 10, seconds: 0.05 };

/// The effort of `tune` per format.
pub const TUNING_EFFORT: Effort = Effort { warm_ups: 5, repetitions: 15, seconds: 0.3 };

impl Arguments {
    /// The effort per format.
    pub fn effort(&self) -> Effort {
        let named = !self.figure.is_empty() || !self.matrix.is_empty();
        let is_quick = matches!(self.suite, None | Some(Suites::Generated(Suite::Quick)));
        let usual = if !named && is_quick { QUICK_EFFORT } else { EFFORT };
        Effort {
            repetitions: self.repeat.map_or(usual.repetitions, |repeat| repeat as usize),
            seconds: self.seconds.unwrap_or(usual.seconds),
            ..usual
        }
    }

    /// The numbers of vectors that are multiplied at once, each in the requested layouts.
    pub fn shapes(&self) -> Vec<Multivector> {
        let layouts = match self.layout.unwrap_or(Layouts::Both) {
            Layouts::RowMajor => &[Layout::RowMajor] as &[_],
            Layouts::ColumnMajor => &[Layout::ColumnMajor],
            Layouts::Both => &[Layout::RowMajor, Layout::ColumnMajor],
        };
        let numbers = BTreeSet::from_iter(&self.vectors);
        let shapes = numbers
            .into_iter()
            .flat_map(|&vectors| layouts.iter().map(move |&layout| Multivector { vectors: vectors as usize, layout }));
        shapes.collect()
    }

    /// The number of multiplications for which a format is chosen.
    pub fn multiplications(&self) -> u64 {
        self.multiplications.unwrap_or(Selection::MULTIPLICATIONS)
    }

    /// The arguments for calibrating the choice of a format: every format on the suite made for it.
    pub fn of_tuning(executor: Option<ExecutorName>, out: Option<PathBuf>) -> Self {
        Self {
            suite: Some(Suites::Generated(Suite::Tuning)),
            folder: None,
            matrix: Vec::new(),
            figure: Vec::new(),
            svg: None,
            format: vec![Formats::All],
            multiplications: None,
            sweep: Vec::new(),
            vectors: Vec::new(),
            layout: None,
            peers: vec![NONE_NAME.into()],
            executor: executor.into_iter().collect(),
            precision: Vec::new(),
            repeat: Some(TUNING_EFFORT.repetitions as u32),
            seconds: Some(TUNING_EFFORT.seconds),
            ranks: None,
            samples: false,
            resume: out.is_some(),
            out,
            json: false,
            values: Values::default(),
            grids: Grids::default(),
        }
    }
}
