//! Matrix Market files (Boisvert, Pozo & Remington 1996, NISTIR 5935).
//!
//! `cursor` takes a text apart without allocating or reading; `header` and `entries` drive it over a document,
//! the latter in parallel, and `portions` over a part of one; `coordinate` and `array` say what an entry is; `write` writes both, on top of
//! `chunks`; this file opens files.
//!
//! Where the format leaves a choice, this reader
//! - takes banner words in any case, and `double` for `real`;
//! - takes files compressed with gzip, of one member or several, whatever their names are;
//! - takes comments and blank lines anywhere after the banner, any bytes in a comment, LF and CRLF, tabs,
//!   spaces before and after, a last line without its end, and a UTF-8 byte order mark before the banner;
//! - takes Fortran's exponents (`1.5D+3`), and `nan`, `inf` and `infinity` with or without a sign in any case;
//! - refuses a finite number that is too large for the type asked for, and rounds one too small to 0;
//! - refuses complex values where real ones are expected, and dense files where a sparse matrix is expected;
//! - refuses an entry above the diagonal of a symmetric or hermitian file, or on it in a skew-symmetric one;
//! - adds up entries that are given more than once, in the order of the file;
//! - refuses to believe a header that announces more entries than the file has bytes for, or more than 2^24
//!   rows or columns that are also more than 16 for each byte of the file: no header causes an allocation
//!   that the file does not justify.
#![forbid(unsafe_code)]

mod array;
mod chunks;
mod coordinate;
mod cursor;
mod document;
mod entries;
pub(super) mod header;
pub(crate) mod portions;
pub(crate) mod rows;
mod sorted;
pub(crate) mod value;
mod write;

use std::path::Path;

pub use array::DenseMatrix;
pub use coordinate::{Coordinates, Triplets};
pub(super) use header::has_banner;
pub use value::Value;
pub use write::{MatrixMarketOptions, write_coordinates, write_dense, write_matrix_market, write_vector};

use super::contents::Contents;
use super::gzip;
use super::header::Header;
use super::options::{ReadOptions, ReadProgress};
use crate::number::Number;
use document::Document;
use host::error::Error;
use host::format::Csr;

/// Reads a sparse matrix from a Matrix Market `coordinate` file, and says what its header said. The values of
/// a `pattern` file are 1, and the other half of a symmetric, skew-symmetric or hermitian matrix is filled in.
///
/// In parallel, O(bytes + rows + nnz log(longest row)). At no time it takes more than 1.1 times the memory of the
/// matrix or of the file's entries as row, column and value, whichever is more, and 1 MiB for each thread; but where
/// rows are not in order, also what three copies of the longest one take. A file whose entries do not come row after
/// row is gone through twice. The file is mapped where that is possible: do not truncate it meanwhile,
/// because a process that reads a map behind the end of its file is ended by the system. One that is compressed
/// is decompressed to memory, up to the default [`ReadOptions::decompressed_limit`], and takes an eighth more.
///
/// # Errors
/// When the file cannot be read, with what the system said; when it is not a coordinate file, or that of a complex matrix
/// where `T` is real, with the first line that is wrong; when memory runs out.
///
/// ```no_run
/// let (matrix, header) = files::read_matrix_market::<f64>("1138_bus.mtx", None)?;
/// println!("{} x {}, {} entries stored in the file", matrix.rows(), matrix.columns(), header.entries);
/// # Ok::<(), host::Error>(())
/// ```
pub fn read_matrix_market<T: Number>(
    path: impl AsRef<Path>,
    progress: ReadProgress<'_>,
) -> Result<(Csr<T>, Header), Error> {
    read_matrix_market_with(path, &ReadOptions { progress, ..ReadOptions::default() })
}

/// [`read_matrix_market`] with all options.
///
/// # Errors
/// As [`read_matrix_market`].
pub fn read_matrix_market_with<T: Number>(
    path: impl AsRef<Path>,
    options: &ReadOptions<'_>,
) -> Result<(Csr<T>, Header), Error> {
    let path = path.as_ref();
    let contents = Contents::of(path, options)?;
    parse_plain(&gzip::decompressed(&contents, path, options)?, path, options.progress)
}

/// [`read_matrix_market`] for a file in memory; `name` stands for the path in errors.
///
/// # Errors
/// As [`read_matrix_market`], but for those of the system.
pub fn parse_matrix_market<T: Number>(
    text: &[u8],
    name: impl AsRef<Path>,
    progress: ReadProgress<'_>,
) -> Result<(Csr<T>, Header), Error> {
    let (name, options) = (name.as_ref(), ReadOptions { progress, ..ReadOptions::default() });
    parse_plain(&gzip::decompressed(text, name, &options)?, name, progress)
}

/// Reads a matrix from a text that is not compressed.
pub(super) fn parse_plain<T: Number>(
    text: &[u8],
    name: &Path,
    progress: ReadProgress<'_>,
) -> Result<(Csr<T>, Header), Error> {
    coordinate::read(&Document::new(text, name), progress)
}

/// Reads a vector from a Matrix Market `array` file with one column or one row, general, real or integer.
/// In parallel, O(bytes). As for [`read_matrix_market`], the file may be mapped.
///
/// # Errors
/// When the file cannot be read; when it is no such file, with the first line that is wrong; when memory runs out.
pub fn read_vector<T: Number>(path: impl AsRef<Path>, progress: ReadProgress<'_>) -> Result<Vec<T>, Error> {
    let path = path.as_ref();
    parse_vector(&Contents::of(path, &ReadOptions::default())?, path, progress)
}

/// [`read_vector`] for a file in memory; `name` stands for the path in errors.
///
/// # Errors
/// As [`read_vector`], but for those of the system.
pub fn parse_vector<T: Number>(
    text: &[u8],
    name: impl AsRef<Path>,
    progress: ReadProgress<'_>,
) -> Result<Vec<T>, Error> {
    let (name, options) = (name.as_ref(), ReadOptions { progress, ..ReadOptions::default() });
    array::read_vector(&Document::new(&gzip::decompressed(text, name, &options)?, name), progress)
}

/// Reads the entries of a Matrix Market `coordinate` file as they are, of real or complex values: those that a
/// symmetry implies are filled in, duplicates are not added up. In parallel, O(bytes).
///
/// # Errors
/// As [`read_matrix_market`]; when the values are complex, and those of `V` are not.
///
/// ```no_run
/// use files::read_coordinates;
///
/// let (entries, _) = read_coordinates::<num_complex::Complex<f64>>("complex.mtx", &Default::default())?;
/// println!("{} x {}, {} entries", entries.rows, entries.columns, entries.values.len());
/// # Ok::<(), host::Error>(())
/// ```
pub fn read_coordinates<V: Value>(
    path: impl AsRef<Path>,
    options: &ReadOptions<'_>,
) -> Result<(Coordinates<V>, Header), Error> {
    let path = path.as_ref();
    let contents = Contents::of(path, options)?;
    let text = gzip::decompressed(&contents, path, options)?;
    coordinate::read_coordinates(&Document::new(&text, path), options.progress)
}

/// Reads a dense matrix from a Matrix Market `array` file, of real or complex values; the half that a symmetry
/// implies is filled in. In parallel, O(bytes).
///
/// # Errors
/// When the file cannot be read; when it is no such file, with the first line that is wrong; when the values are
/// complex, and those of `V` are not; when memory runs out.
pub fn read_dense<V: Value>(
    path: impl AsRef<Path>,
    options: &ReadOptions<'_>,
) -> Result<(DenseMatrix<V>, Header), Error> {
    let path = path.as_ref();
    let contents = Contents::of(path, options)?;
    let text = gzip::decompressed(&contents, path, options)?;
    array::read(&Document::new(&text, path), options.progress)
}
