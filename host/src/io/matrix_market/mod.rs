//! Matrix Market files (Boisvert, Pozo & Remington 1996, NISTIR 5935).
//!
//! `cursor` takes a text apart without allocating or reading; `header` and `entries` drive it over a document,
//! the latter in parallel; `coordinate` and `array` say what an entry is; this file opens and writes files.
//!
//! Where the format leaves a choice, this reader
//! - takes banner words in any case, and `double` for `real`;
//! - takes comments and blank lines anywhere after the banner, any bytes in a comment, LF and CRLF, tabs,
//!   spaces before and after, a last line without its end, and a UTF-8 byte order mark before the banner;
//! - takes Fortran's exponents (`1.5D+3`), and `nan`, `inf` and `infinity` with or without a sign in any case;
//! - refuses a finite number that is too large for the type asked for, and rounds one too small to 0;
//! - refuses complex values, and dense files where a sparse matrix is expected;
//! - refuses an entry above the diagonal of a symmetric file, or on it in a skew-symmetric one;
//! - adds up entries that are given more than once, in the order of the file;
//! - refuses to believe a header that announces more entries than the file has bytes for, or more than 2^24
//!   rows or columns that are also more than 16 for each byte of the file: no header causes an allocation
//!   that the file does not justify.
#![forbid(unsafe_code)]

mod array;
mod coordinate;
mod cursor;
mod document;
mod entries;
mod header;

use std::io::Write;
use std::path::Path;

pub use header::{Field, Header, Symmetry};

use super::Progress;
use super::contents::Contents;
use super::replace::replace_file;
use crate::error::Error;
use crate::format::Csr;
use crate::real::Real;
use document::Document;

/// Reads a sparse matrix from a Matrix Market `coordinate` file, and says what its header said. The values of
/// a `pattern` file are 1, and the other half of a symmetric or skew-symmetric matrix is filled in.
///
/// In parallel, O(bytes + rows + nnz log(longest row)); next to the matrix it takes the memory of all entries
/// as row, column and value. The file is mapped where that is possible: do not truncate it meanwhile,
/// because a process that reads a map behind the end of its file is ended by the system.
///
/// # Errors
/// When the file cannot be read, with what the system said; when it is not a coordinate file of a real matrix,
/// with the first line that is wrong.
///
/// ```no_run
/// let (matrix, header) = host::io::read_matrix_market::<f64>("1138_bus.mtx", None)?;
/// println!("{} x {}, {} entries stored in the file", matrix.rows(), matrix.columns(), header.entries);
/// # Ok::<(), host::Error>(())
/// ```
pub fn read_matrix_market<T: Real>(path: impl AsRef<Path>, progress: Progress<'_>) -> Result<(Csr<T>, Header), Error> {
    let path = path.as_ref();
    parse_matrix_market(&Contents::of(path)?, path, progress)
}

/// [`read_matrix_market`] for a text in memory; `name` stands for the path in errors.
///
/// # Errors
/// As [`read_matrix_market`], but for those of the system.
pub fn parse_matrix_market<T: Real>(
    text: &[u8],
    name: impl AsRef<Path>,
    progress: Progress<'_>,
) -> Result<(Csr<T>, Header), Error> {
    coordinate::read(&Document::new(text, name.as_ref()), progress)
}

/// Reads a vector from a Matrix Market `array` file with one column or one row, general, real or integer.
/// In parallel, O(bytes). As for [`read_matrix_market`], the file may be mapped.
///
/// # Errors
/// When the file cannot be read; when it is no such file, with the first line that is wrong.
pub fn read_vector<T: Real>(path: impl AsRef<Path>, progress: Progress<'_>) -> Result<Vec<T>, Error> {
    let path = path.as_ref();
    parse_vector(&Contents::of(path)?, path, progress)
}

/// [`read_vector`] for a text in memory; `name` stands for the path in errors.
///
/// # Errors
/// As [`read_vector`], but for those of the system.
pub fn parse_vector<T: Real>(text: &[u8], name: impl AsRef<Path>, progress: Progress<'_>) -> Result<Vec<T>, Error> {
    array::read(&Document::new(text, name.as_ref()), progress)
}

/// Writes a vector as a Matrix Market `array real general` file with one column. O(n).
///
/// Each number is the shortest text that reads back as the same bits, `-0.0` and infinities (`inf`, `-inf`)
/// included; of a NaN only that it is one is kept (`NaN`).
///
/// The file appears under its name only when it is complete. On an error nothing is left behind, and a file
/// that was there is untouched; one that is replaced hands on its permissions.
///
/// # Errors
/// With what the system said; when `path` is a directory or a write-protected file.
pub fn write_vector<T: Real>(path: impl AsRef<Path>, vector: &[T]) -> Result<(), Error> {
    replace_file(path.as_ref(), |file| {
        writeln!(file, "%%MatrixMarket matrix array real general\n{} 1", vector.len())?;
        vector.iter().try_for_each(|value| writeln!(file, "{value:?}"))
    })
}
