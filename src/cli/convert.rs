//! `warp-spmv convert`: writes a matrix to a file.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, TypedValueParser};
use warp_spmv::Format;
use warp_spmv::format::{FillLimit, Matrix};
use warp_spmv::io::{FileKind, Number, write, write_container_matrix};

use super::distributed::{self, ConvertRequest, World};
use super::error::Error;
use super::formats;
use super::input::{Input, Source};
use super::output::{self, printable};
use super::precision::{AnyPrecision, in_precision};
use super::progress::Progress;
use super::record::Shape;
use super::units;

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv convert 1138_bus.mtx 1138_bus.npz
  warp-spmv convert 1138_bus.mtx.gz 1138_bus.wspmv --format sell-p --precision float32
  warp-spmv convert stencil:27:100 grid.wspmv --format dia
  warp-spmv convert grid.wspmv grid.mtx.gz";

/// The name for all formats that are stored in CSR.
const CSR: &str = "csr";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// File to write; its name determines the kind: .mtx, .mtx.gz, .npz, or .wspmv, which holds any storage format
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// The storage of the matrix in a .wspmv file; as for run, and formats that share their storage are one [default:
    /// csr]
    #[arg(long, value_parser = format_parser())]
    format: Option<Format>,
    /// The type of all values; if the file's type differs, they are rounded
    #[arg(long, value_enum, default_value_t = AnyPrecision::Float64)]
    precision: AnyPrecision,
    /// Sort each row by column first, and add up entries with the same row and column
    #[arg(long)]
    sort: bool,
    /// Let this many ranks, which are threads, each read, generate and write a part, so that none holds the whole
    /// matrix; processes started by mpirun are ranks without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    let csr = PossibleValue::new(CSR);
    let names = Format::ALL.iter().enumerate().map(|(place, format)| {
        // Of formats that share their storage, the help shows only the first.
        let shown = Format::ALL[..place].iter().chain([&Format::CSR_SCALAR]).all(|f| f.storage() != format.storage());
        PossibleValue::new(format.name()).hide(!shown)
    });
    let values: Vec<_> = std::iter::once(csr).chain(names).collect();
    formats::parser(values, |name| if name == CSR { Ok(Format::CSR_SCALAR) } else { name.parse() })
}

pub fn convert(arguments: &Arguments) -> Result<(), Error> {
    let kind = FileKind::of_name(&arguments.output)?;
    let format = arguments.format.unwrap_or(Format::CSR_SCALAR);
    if kind != FileKind::Container && !format.shares_arrays(Format::CSR_SCALAR) {
        let reason =
            format!("--format {format} needs a file name ending in .wspmv: only containers have a storage format");
        return Err(Error::Usage(reason));
    }
    // The input has been read completely before the output is written, so the output may replace it.
    output::check_folder(&arguments.output)?;
    match World::new(arguments.ranks.map(|ranks| ranks as usize))? {
        Some(world) => {
            if !format.shares_arrays(Format::CSR_SCALAR) {
                let reason = format!("--format {format} does not go with several ranks: they write containers in CSR");
                return Err(Error::Usage(reason));
            }
            let request = ConvertRequest { source: &arguments.source, output: &arguments.output, sort: arguments.sort };
            in_precision!(arguments.precision, convert_on_ranks(world, &request, kind))
        }
        None => in_precision!(arguments.precision, convert_in(arguments, kind, format)),
    }
}

fn convert_on_ranks<T: Number>(world: World, request: &ConvertRequest<'_>, kind: FileKind) -> Result<(), Error> {
    match distributed::convert::<T>(world, request, kind)? {
        Some(shape) => tell(request.output, &shape, kind, T::NAME, Format::CSR_SCALAR, 1.0),
        None => Ok(()),
    }
}

fn convert_in<T: Number>(arguments: &Arguments, kind: FileKind, format: Format) -> Result<(), Error> {
    let Input { mut matrix, .. } = arguments.source.load::<T>()?;
    if arguments.sort || !matrix.is_stored_as(format)? {
        let _progress = Progress::spinner(format!("converting to {format}"));
        let mut csr = matrix.into_csr()?;
        if arguments.sort {
            csr.sort_rows()?;
            csr.sum_duplicates()?;
        }
        matrix = Matrix::try_from_csr(csr, format, FillLimit::default())?;
    }
    let path = &arguments.output;
    let writing = Progress::spinner("writing the matrix");
    match &matrix {
        Matrix::Csr(matrix) => write(path, matrix)?,
        matrix => write_container_matrix(path, matrix)?,
    }
    drop(writing);
    let name = path.to_string_lossy().into_owned();
    let shape = Shape { name, rows: matrix.rows(), columns: matrix.columns(), nonzeros: matrix.nnz() };
    tell(path, &shape, kind, T::NAME, format, matrix.fill())
}

/// Prints what was written.
fn tell(path: &Path, shape: &Shape, kind: FileKind, precision: &str, format: Format, fill: f64) -> Result<(), Error> {
    let what = if kind == FileKind::Container { format.storage().into() } else { kind.to_string() };
    let bytes = file_bytes(path).map_or(String::new(), |bytes| format!(", {}", units::bytes(bytes.into())));
    let name = path.to_string_lossy();
    output::print(&format!("{}: {shape}, {what}, {precision}, fill {fill:.2}{bytes}\n", printable(&name)))
}

/// Bytes of a file, unless it is a pipe or the like.
fn file_bytes(path: &Path) -> Option<u64> {
    path.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len())
}
