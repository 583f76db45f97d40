//! `warp-spmv info`: describes a matrix.

mod sizes;

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;
use terminal_size::{Width, terminal_size_of};
use warp_spmv::executor::{Cpu, Executor, ExecutorName, ExecutorVisitor};
use warp_spmv::format::FillLimit;
use warp_spmv::io::{Number, replace_file};
use warp_spmv::select::{Analysis, Choice, Measure, Selection, choose};
use warp_spmv::{Complex, Csr, Plan};

use super::choosing::Choosing;
use super::error::Error;
use super::input::{Input, Source};
use super::output::{self, printable};
use super::precision::AnyPrecision;
use super::ranks::{Divided, Ranks};
use super::record::Shape;
use super::run::executor_parser;
use super::units::HumanCount;
use lab::report::structure;
use lab::row_lengths::{Bin, RowLengths};
use lab::spy::Spy;
use sizes::{Size, Storage, shown, storage};

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv info 1138_bus.mtx
  warp-spmv info elasticity:width=20 --plot structure.svg
  warp-spmv info pareto:rows=30000,k=1 --json
  warp-spmv info 1138_bus.mtx --explain --multiplications 100
  warp-spmv info elasticity:width=20 --ranks 8
  warp-spmv info stencil:27:400 --ranks 1024 --only-ranks";

/// Columns of the histogram and its legend if standard output is not a terminal.
const DEFAULT_WIDTH: usize = 80;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Print one JSON record instead of text
    #[arg(long)]
    json: bool,
    /// Draw where the entries are, and the histogram of the row lengths, as an SVG file
    #[arg(long, value_name = "SVG", conflicts_with = "only_ranks")]
    plot: Option<PathBuf>,
    /// List all storage formats, not only the three smallest of each kind such as BCSR
    #[arg(long)]
    all: bool,
    /// Show which format `run --format auto` would choose, and why
    #[arg(long)]
    explain: bool,
    /// Where it would be multiplied [default: cuda if there is a GPU that this program can use, otherwise cpu]
    #[arg(long, value_parser = executor_parser(), requires = "explain")]
    executor: Option<ExecutorName>,
    /// The type of all values: that of --explain, and a complex one for a complex matrix
    #[arg(long, value_enum, default_value_t = AnyPrecision::Float64)]
    precision: AnyPrecision,
    /// Show how the rows divide among this many ranks, and what these exchange for a product, in this order and in
    /// another
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    ranks: Option<u32>,
    /// Show nothing else, and only for the given order: the matrix, which a generator makes, then never exists as a
    /// whole
    #[arg(long, requires = "ranks", conflicts_with = "explain")]
    only_ranks: bool,
    #[command(flatten)]
    choosing: Choosing,
}

/// The JSON record of `info --json`.
#[derive(Debug, Serialize)]
struct Record {
    /// Version of this program.
    version: &'static str,
    matrix: Shape,
    /// Stored entries as a fraction of all; null for a matrix without rows or columns.
    density: Option<f64>,
    /// The kind of values in the file: "real", "integer", "pattern" or "complex".
    field: &'static str,
    /// The symmetry of the file: "general", "symmetric", "skew-symmetric" or "hermitian".
    symmetry: &'static str,
    bandwidth: Bandwidth,
    row_lengths: RowLengths,
    /// The size in each storage format, CSR first.
    storage: Vec<Storage>,
    /// The division of the rows among ranks; null unless a number of ranks is given.
    ranks: Option<Ranks>,
    /// The choice of a format; null unless requested.
    choice: Option<Choice>,
    /// The pattern, if it is to be drawn.
    #[serde(skip)]
    spy: Option<Spy>,
    /// Whether the text lists all block sizes.
    #[serde(skip)]
    all: bool,
}

/// Distance of entries from the main diagonal.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Bandwidth {
    /// Largest row - column of an entry below the diagonal, or 0.
    below: usize,
    /// Largest column - row of an entry above the diagonal, or 0.
    above: usize,
}

pub fn info(arguments: &Arguments) -> Result<(), Error> {
    arguments.choosing.check(arguments.explain, "--explain")?;
    output::check_files(&arguments.plot, arguments.source.file())?;
    if let (Some(ranks), true) = (arguments.ranks, arguments.only_ranks) {
        let Some(generator) = arguments.source.parsed() else {
            return Err(Error::Usage("--only-ranks takes a generator, not a file".into()));
        };
        let divided = Divided::new(generator?, ranks as usize)?;
        return output::print(&if arguments.json { output::json(&divided) } else { divided.to_string() });
    }
    let record = match arguments.precision {
        AnyPrecision::Float32 | AnyPrecision::Float64 => Record::new::<f64, f32>(
            arguments.source.load()?,
            matches!(arguments.precision, AnyPrecision::Float32),
            arguments,
        )?,
        AnyPrecision::Complex64 | AnyPrecision::Complex128 => Record::new::<Complex<f64>, Complex<f32>>(
            arguments.source.load()?,
            matches!(arguments.precision, AnyPrecision::Complex64),
            arguments,
        )?,
    };
    if let (Some(path), Some(spy)) = (&arguments.plot, &record.spy) {
        let figure = structure(&record.matrix.name, spy, &(&record.row_lengths).into())?;
        replace_file(path, |file| file.write_all(figure.svg.as_bytes()))?;
    }
    output::print(&if arguments.json { output::json(&record) } else { record.to_string() })
}

impl Record {
    /// The record of a matrix; its format is explained for the `narrow` precision or the wide one.
    fn new<W: Number, N: Number>(input: Input<W>, narrow: bool, arguments: &Arguments) -> Result<Self, Error> {
        let Input { name, matrix, field, symmetry } = input;
        let matrix = matrix.into_csr()?;
        let places = matrix.rows() as f64 * matrix.columns() as f64;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            choice: arguments.explain.then(|| explain::<W, N>(&matrix, narrow, arguments)).transpose()?,
            ranks: arguments.ranks.map(|ranks| Ranks::new(&matrix, ranks as usize)).transpose()?,
            density: (places > 0.0).then(|| matrix.nnz() as f64 / places),
            field,
            symmetry,
            bandwidth: Bandwidth::new(&matrix),
            row_lengths: RowLengths::new(matrix.row_lengths()),
            storage: storage(&matrix)?,
            spy: arguments.plot.as_ref().map(|_| Spy::new(&matrix)),
            all: arguments.all,
            matrix: Shape::new(name, &matrix),
        })
    }
}

/// Chooses a format on an executor, and measures if requested.
struct Explain<'a, T: Number> {
    matrix: &'a Csr<T>,
    selection: Selection,
}

impl<T: Number> ExecutorVisitor for Explain<'_, T> {
    type Output = Result<Choice, warp_spmv::Error>;

    fn visit<E: Executor>(self, executor: &E) -> Self::Output {
        let Self { matrix, selection } = self;
        if !matches!(selection.measure, Measure::Best(_)) {
            return choose(&Analysis::new(matrix)?, executor.device(), &selection);
        }
        let plan = Plan::automatic(executor, matrix.duplicate(&Cpu::new())?, &selection)?;
        Ok(plan.explain().expect("it was chosen").clone())
    }
}

fn explain<W: Number, N: Number>(matrix: &Csr<W>, narrow: bool, arguments: &Arguments) -> Result<Choice, Error> {
    if narrow { explain_in(&matrix.cast::<N>()?, arguments) } else { explain_in(matrix, arguments) }
}

fn explain_in<T: Number>(matrix: &Csr<T>, arguments: &Arguments) -> Result<Choice, Error> {
    let explain = || Explain { matrix, selection: arguments.choosing.selection() };
    let name =
        arguments.executor.unwrap_or(if cfg!(feature = "cuda") { ExecutorName::Cuda } else { ExecutorName::Cpu });
    Ok(match name.with(explain()) {
        Err(warp_spmv::Error::Unavailable { .. }) if arguments.executor.is_none() => {
            ExecutorName::Cpu.with(explain())?
        }
        chosen => chosen?,
    }?)
}

impl Bandwidth {
    fn new<T: Number>(matrix: &Csr<T>) -> Self {
        let mut bandwidth = Self::default();
        for row in 0..matrix.rows() {
            for &column in &matrix.column_indices()[matrix.range(row)] {
                bandwidth.below = bandwidth.below.max(row.saturating_sub(column as usize));
                bandwidth.above = bandwidth.above.max((column as usize).saturating_sub(row));
            }
        }
        bandwidth
    }
}

impl Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [below, above] = [self.below, self.above].map(|distance| HumanCount(distance as u64));
        write!(f, "{below} below the diagonal, {above} above")
    }
}

/// Formats the report for the terminal.
impl Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, density, field, symmetry, bandwidth, row_lengths, storage, .. } = self;
        writeln!(f, "matrix      {}", printable(&matrix.name))?;
        writeln!(f, "shape       {matrix}")?;
        if let Some(density) = density {
            writeln!(f, "density     {:.3e}", density)?;
        }
        writeln!(f, "values      {field}, {symmetry}")?;
        writeln!(f, "bandwidth   {bandwidth}")?;

        write!(f, "\nentries in a row\n{}", Statistics(row_lengths))?;
        let width = terminal_size_of(io::stdout()).map_or(DEFAULT_WIDTH, |(Width(width), _)| width.into());
        write!(f, "\n{}", Histogram { bins: &row_lengths.histogram, width })?;

        let width = storage.iter().map(|storage| storage.storage.len()).chain([7]).max().unwrap_or(0);
        if let Some(Storage { sizes, .. }) = storage.first() {
            let [(wide, _), (narrow, _)] = sizes.both();
            writeln!(f, "\n{:width$} {wide:>11} {:>9}   {narrow:>11} {:>9}", "storage", "x CSR", "x CSR")?;
        }
        let shown = shown(storage, self.all);
        for (Storage { storage, sizes, .. }, _) in storage.iter().zip(&shown).filter(|(_, shown)| **shown) {
            let [(_, wide), (_, narrow)] = sizes.both();
            writeln!(f, "{}", format!("{storage:width$} {wide}  {narrow}").trim_end())?;
        }
        match shown.iter().filter(|shown| !**shown).count() {
            0 => {}
            hidden => writeln!(f, "{hidden} larger variants: --all")?,
        }
        let any = |of: fn(&Size) -> bool| {
            storage.iter().any(|storage| storage.sizes.both().iter().any(|&(_, size)| of(size)))
        };
        if any(|size| size.bytes.is_none()) {
            writeln!(f, "- a row of the matrix has more columns than the format can hold")?;
        }
        if any(|size| size.refused && size.bytes.is_some()) {
            let limit = FillLimit::default().times_csr;
            writeln!(f, "* out of proportion: `run` refuses formats of more than {limit} times CSR")?;
        }
        if let Some(ranks) = &self.ranks {
            write!(f, "\n{ranks}")?;
        }
        match &self.choice {
            Some(choice) => write!(f, "\n{choice}"),
            None => Ok(()),
        }
    }
}

/// The statistics as lines.
struct Statistics<'a>(&'a RowLengths);

impl Display for Statistics<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.0;
        let count = |count: Option<usize>| count.map_or("-".into(), |count| HumanCount(count as u64).to_string());
        let real = |real: Option<f64>| real.map_or("-".into(), |real| format!("{real:.2}"));
        for [(left, left_value), (right, right_value)] in [
            [("minimum", count(lengths.minimum)), ("mean", real(lengths.mean))],
            [("median", count(lengths.median)), ("deviation", real(lengths.standard_deviation))],
            [("90 %", count(lengths.quantile_90)), ("empty rows", count(Some(lengths.empty_rows)))],
            [("99 %", count(lengths.quantile_99)), ("maximum", count(lengths.maximum))],
        ] {
            writeln!(f, "  {left:8}{left_value:>13}    {right:11}{right_value:>13}")?;
        }
        Ok(())
    }
}

/// Bins as bars, from the first non-empty one, in lines of at most `width` columns.
struct Histogram<'a> {
    bins: &'a [Bin],
    width: usize,
}

impl Display for Histogram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.bins.iter().map(|bin| bin.rows).max().unwrap_or(0);
        if most == 0 {
            return Ok(());
        }
        let head = ("entries".to_owned(), "rows".to_owned(), 0);
        let bins = self.bins.iter().skip_while(|bin| bin.rows == 0);
        let bins = bins.map(|bin| (bin.label(), HumanCount(bin.rows as u64).to_string(), bin.rows));
        let lines: Vec<_> = std::iter::once(head).chain(bins).collect();
        let lengths_width = lines.iter().map(|(lengths, ..)| lengths.len()).max().unwrap_or(0);
        let rows_width = lines.iter().map(|(_, rows, _)| rows.len()).max().unwrap_or(0);
        let bar_width = self.width.saturating_sub(lengths_width + rows_width + 6).max(1);
        for (lengths, rows, count) in lines {
            // Rounded up, so that every row is visible.
            let bar = "#".repeat((count as u128 * bar_width as u128).div_ceil(most as u128) as usize);
            writeln!(f, "{}", format!("  {lengths:>lengths_width$}  {rows:>rows_width$}  {bar}").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fit_and_show_every_row() {
        let bins = [(0, 0, 0), (1, 1, 1), (2, 3, 0), (4, 7, 1_000_000), (8, 15, 500_000)];
        let bins = bins.map(|(from, to, rows)| Bin { from, to, rows });
        let text = Histogram { bins: &bins, width: 40 }.to_string();
        let bar = "#".repeat(18);
        let half = "#".repeat(9);
        assert_eq!(
            text,
            format!(
                "  entries       rows\n        1          1  #\n      2-3          0\n      4-7  1,000,000  {bar}\n     \
                 8-15    500,000  {half}\n"
            )
        );
        assert!(text.lines().all(|line| line.len() <= 40));
        // Without enough width, the bars shrink but stay.
        assert!(Histogram { bins: &bins, width: 5 }.to_string().ends_with(" #\n"));
        assert_eq!(Histogram { bins: &[], width: 80 }.to_string(), "");
    }

    #[test]
    fn bandwidth_of_both_sides() {
        let matrix = Csr::try_from_triplets(3, 5, &[2, 0, 1], &[0, 3, 1], &[1.0; 3]).unwrap();
        assert_eq!(Bandwidth::new(&matrix), Bandwidth { below: 2, above: 3 });
    }
}
