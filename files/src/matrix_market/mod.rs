//! Matrix Market files (Boisvert, Pozo & Remington 1996, NISTIR 5935).
//!
//! `cursor` parses text without allocating or reading; `header` and `entries` apply it to a document, the latter in
//! parallel, and `portions` to a part of one; `coordinate` and `array` define the entries; `write` writes both, on top of
//! `chunks`; this file opens files.
//!
//! Where the format leaves a choice, this reader
//! - accepts banner words in any case, and `double` for `real`;
//! - accepts files compressed with gzip, with one or more members, whatever their names are;
//! - accepts comments and blank lines anywhere after the banner, any bytes in a comment, LF and CRLF, tabs, leading and
//!   trailing spaces, a last line without its end, and a UTF-8 byte order mark before the banner;
//! - accepts Fortran exponents (`1.5D+3`), and `nan`, `inf` and `infinity` with or without a sign in any case;
//! - rejects a finite number that is too large for the requested type, and rounds one that is too small to 0;
//! - rejects complex values where real ones are expected, and dense files where a sparse matrix is expected;
//! - rejects an entry above the diagonal of a symmetric or hermitian file, or on or above it in a skew-symmetric one;
//! - adds up duplicate entries, in file order;
//! - rejects a header that announces more entries than the file has bytes for, or more than 2^24 rows or columns that
//!   also exceed 16 per byte of the file: no header causes an allocation that the file does not justify.
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

/// Reads a sparse matrix from a Matrix Market `coordinate` file, and returns it with the header. The values of a
/// `pattern` file are 1, and the other half of a symmetric, skew-symmetric or hermitian matrix is filled in.
///
/// In parallel, O(bytes + rows + nnz log(longest row)). It never takes more than 1.1 times the memory of the matrix or
/// of the file's entries as row, column and value, whichever is more, and 1 MiB per thread; if rows are not in order,
/// also that of three copies of the longest one. A file whose entries are not sorted by row is read in two passes. The
/// file is mapped if possible: do not truncate it meanwhile, because the system kills a process that reads a map beyond
/// the end of its file. A compressed file is decompressed to memory, up to the default
/// [`ReadOptions::decompressed_limit`], and takes an eighth more.
///
/// # Errors
/// The system's error if the file cannot be read. Also when it is not a coordinate file, or its matrix is complex and `T` is
/// real (the error names the first invalid line), and when memory runs out.
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
/// As for [`read_matrix_market`].
pub fn read_matrix_market_with<T: Number>(
    path: impl AsRef<Path>,
    options: &ReadOptions<'_>,
) -> Result<(Csr<T>, Header), Error> {
    let path = path.as_ref();
    let contents = Contents::of(path, options)?;
    parse_plain(&gzip::decompressed(&contents, path, options)?, path, options.progress)
}

/// [`read_matrix_market`] for a file in memory; `name` replaces the path in errors.
///
/// # Errors
/// As for [`read_matrix_market`], except for the system's errors.
pub fn parse_matrix_market<T: Number>(
    text: &[u8],
    name: impl AsRef<Path>,
    progress: ReadProgress<'_>,
) -> Result<(Csr<T>, Header), Error> {
    let (name, options) = (name.as_ref(), ReadOptions { progress, ..ReadOptions::default() });
    parse_plain(&gzip::decompressed(text, name, &options)?, name, progress)
}

/// Reads a matrix from an uncompressed text.
pub(super) fn parse_plain<T: Number>(
    text: &[u8],
    name: &Path,
    progress: ReadProgress<'_>,
) -> Result<(Csr<T>, Header), Error> {
    coordinate::read(&Document::new(text, name), progress)
}

/// Reads a vector from a Matrix Market `array` file with one column or one row, general, real or integer. In parallel,
/// O(bytes). As for [`read_matrix_market`], the file may be mapped.
///
/// # Errors
/// When the file cannot be read, when it is not such a file (the error names the first invalid line), or when memory
/// runs out.
pub fn read_vector<T: Number>(path: impl AsRef<Path>, progress: ReadProgress<'_>) -> Result<Vec<T>, Error> {
    let path = path.as_ref();
    parse_vector(&Contents::of(path, &ReadOptions::default())?, path, progress)
}

/// [`read_vector`] for a file in memory; `name` replaces the path in errors.
///
/// # Errors
/// As for [`read_vector`], except for the system's errors.
pub fn parse_vector<T: Number>(
    text: &[u8],
    name: impl AsRef<Path>,
    progress: ReadProgress<'_>,
) -> Result<Vec<T>, Error> {
    let (name, options) = (name.as_ref(), ReadOptions { progress, ..ReadOptions::default() });
    array::read_vector(&Document::new(&gzip::decompressed(text, name, &options)?, name), progress)
}

/// Reads the entries of a Matrix Market `coordinate` file as they are, with real or complex values: entries implied by
/// a symmetry are filled in, and duplicates are not added up. In parallel, O(bytes).
///
/// # Errors
/// As for [`read_matrix_market`], and when the values are complex but those of `V` are not.
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

/// Reads a dense matrix from a Matrix Market `array` file, with real or complex values; the half implied by a symmetry
/// is filled in. In parallel, O(bytes).
///
/// # Errors
/// When the file cannot be read, when it is not such a file (the error names the first invalid line), when the values
/// are complex but those of `V` are not, or when memory runs out.
pub fn read_dense<V: Value>(
    path: impl AsRef<Path>,
    options: &ReadOptions<'_>,
) -> Result<(DenseMatrix<V>, Header), Error> {
    let path = path.as_ref();
    let contents = Contents::of(path, options)?;
    let text = gzip::decompressed(&contents, path, options)?;
    array::read(&Document::new(&text, path), options.progress)
}
