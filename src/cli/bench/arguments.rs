//! What `warp-spmv bench` is asked for.

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
use crate::cli::precision::Precision;
use crate::cli::run::executor_parser;
use crate::cli::values::Values;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The list of matrices [default: quick]
    #[arg(long, value_parser = suite_parser(), conflicts_with = "matrix")]
    pub suite: Option<Suites>,
    /// The folder of the suite real, as scripts/real-matrices.py makes it
    #[arg(long, value_name = "FOLDER", requires = "suite")]
    pub folder: Option<PathBuf>,
    /// A file or generator instead of a suite; may be given several times
    #[arg(long, value_name = "FILE|GENERATOR")]
    pub matrix: Vec<OsString>,
    /// A figure of a paper, or all: measures what its experiment needs, and draws it as SVG; may be given several times.
    /// docs/figures.md tells of each
    #[arg(long, value_name = "NAME", value_parser = figures::parser(), conflicts_with_all = ["suite", "matrix", "format", "sweep"])]
    pub figure: Vec<Asked>,
    /// The folder for figures, which is made if need be [default: that of --out, otherwise the current one]
    #[arg(long, value_name = "FOLDER", requires = "figure")]
    pub svg: Option<PathBuf>,
    /// A format (some with parameters, see below), standard for one of each kind, all, or auto for the one that the
    /// library chooses, which all leaves out; may be given several times. csr-vector is always measured: the cost of
    /// conversions is counted in it [default: standard, and with --sweep none]
    #[arg(long, value_parser = formats_parser())]
    pub format: Vec<Formats>,
    /// How many multiplications --format auto chooses for. It tries formats as run does, but remembers nothing from one
    /// matrix or run to the next. The results say which format it chose, and how long that took [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub multiplications: Option<u64>,
    /// A search of a format's parameters: measures it with all of them, and says what the best is worth; may be given
    /// several times
    #[arg(long, value_name = "NAME", value_parser = sweep_parser())]
    pub sweep: Vec<Sweep>,
    /// Multiply this many vectors at once as well, in each format and by each peer that can (cuSPARSE's SpMM), and
    /// compare that with the peers and with as many single products, whose time is reckoned from the one that is
    /// measured in the same run; several numbers are separated by commas
    #[arg(
        long,
        value_name = "K",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with_all = ["values", "narrow"]
    )]
    pub vectors: Vec<u32>,
    /// How several vectors lie in memory: the first elements of all, then the second ones, or one vector after the
    /// other [default: both]
    #[arg(long, value_enum, requires = "vectors")]
    pub layout: Option<Layouts>,
    /// Another library to measure on the same arrays, all, or none; may be given several times. What is not there is
    /// left out with a message [default: all that this program was built with, and for a figure what it shows of them]
    #[arg(long, value_name = "PEER", value_parser = peers_parser())]
    pub peers: Vec<String>,
    /// Where to multiply; may be given several times [default: cuda where there is a GPU that this program can use,
    /// otherwise cpu]
    #[arg(long, value_parser = executor_parser())]
    pub executor: Vec<ExecutorName>,
    /// The type of all values [default: both, and for a figure what its paper has]
    #[arg(long, value_enum)]
    pub precision: Vec<Precision>,
    /// Timed multiplications in each format [default: 50, in the suite quick 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Seconds of multiplying after which a slow format is timed less often, but at least 5 times [default: 2, in the
    /// suite quick 0.05]
    #[arg(long, value_name = "SECONDS", value_parser = positive_parser())]
    pub seconds: Option<f64>,
    /// Divide each matrix among this many ranks, which are threads of this process, and measure that, from when all begin
    /// to multiply until the last one ends
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks: Option<u32>,
    /// Keep every single time, not the median and the quartiles alone
    #[arg(long)]
    pub samples: bool,
    /// Write the results to this file after each matrix
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Go on with a file of results: what is there is not measured again
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

/// What `--suite` can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suites {
    /// A list of generators.
    Generated(Suite),
    /// What a folder lists.
    Real,
}

/// What `--layout` can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layouts {
    RowMajor,
    ColumnMajor,
    Both,
}

/// What `--format` can ask for.
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

/// How often each format is timed, unless something is said of it.
const EFFORT: Effort = Effort { warm_ups: 5, repetitions: 50, seconds: 2.0 };

/// The same in the suite `quick`, which is to end within a minute.
const QUICK_EFFORT: Effort = Effort { warm_ups: 2, repetitions: 10, seconds: 0.05 };

/// How often `tune` times each format.
pub const TUNING_EFFORT: Effort = Effort { warm_ups: 5, repetitions: 15, seconds: 0.3 };

impl Arguments {
    /// How often each format is timed.
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

    /// The numbers of vectors that are multiplied at once, each in the layouts that are asked for.
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

    /// How many multiplications a format is chosen for.
    pub fn multiplications(&self) -> u64 {
        self.multiplications.unwrap_or(Selection::MULTIPLICATIONS)
    }

    /// What the choice of a format is calibrated with: every format on the suite that is made for it.
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
