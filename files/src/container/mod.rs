//! Containers: a matrix in its storage format, array by array, ready to be mapped. `docs/container.md` describes
//! them byte by byte.
//!
//! `layout` is the header and the table of sections, `sections` the arrays; which of them a format has is defined in the
//! format's own files.
#![forbid(unsafe_code)]

pub(super) mod layout;
mod rows;
pub(crate) mod rows_to_write;
mod sections;
mod summary;

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use super::ReadOptions;
use super::binary::{ElementType, rounded_parts};
use super::contents::Contents;
use super::header::{Field, Header, Symmetry};
use crate::number::{COMPLEX_VALUES, Number};
use host::error::Error;
use host::format::{Csr, Matrix};
use host::replace::replace_file;
use host::{Complex, parallel};
use layout::{Layout, padding};
use sections::{Section, Sections};
use summary::Summary;

pub(super) use layout::is_container;
pub use rows::{ContainerRows, PartSum};

/// Writes a matrix in CSR as a container. O(bytes).
///
/// The file appears under its name only when it is complete. On an error nothing is left behind, and an existing file
/// is untouched; a replaced file passes on its permissions.
///
/// # Errors
/// The system's error; also when `path` is a directory or a write-protected file, or memory runs out.
pub fn write_container<T: Number>(path: impl AsRef<Path>, matrix: &Csr<T>) -> Result<(), Error> {
    let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
    let summary = Summary { rows, columns, stored, values: T::TYPE, offset_width: matrix.row_offsets().width() };
    write(path.as_ref(), CSR, &summary, &sections::of_csr(matrix))
}

/// Writes a matrix as a container, in its storage format; narrow values are widened. Otherwise as [`write_container`].
///
/// # Errors
/// As for [`write_container`].
pub fn write_container_matrix<T: Number>(path: impl AsRef<Path>, matrix: &Matrix<T>) -> Result<(), Error> {
    if let Matrix::Narrow(narrow) = matrix {
        return write_container_matrix(path, &narrow.widened()?);
    }
    let (rows, columns, stored) = (matrix.rows(), matrix.columns(), matrix.nnz());
    let (name, offset_width) = (matrix.container_name(), matrix.offset_width());
    let summary = Summary { rows, columns, stored, values: T::TYPE, offset_width };
    write(path.as_ref(), name, &summary, &sections::of_matrix(matrix))
}

fn write(path: &Path, format: &str, summary: &Summary, sections: &[Section<'_>]) -> Result<(), Error> {
    let layout = Layout::new(format, summary, sections)?;
    replace_file(path, |file| {
        let head = layout.to_bytes();
        file.write_all(&head)?;
        let mut at = head.len();
        for section in sections {
            file.write_all(&padding(at))?;
            at += padding(at).len() + section.bytes.len();
            file.write_all(&section.bytes)?;
        }
        Ok(())
    })
}

/// Reads a matrix from a container of any storage format as [`read_container_matrix`] does, and converts it to CSR.
///
/// # Errors
/// As for [`read_container_matrix`].
pub fn read_container<T: Number>(path: impl AsRef<Path>) -> Result<Csr<T>, Error> {
    read_container_matrix::<T>(path)?.into_csr()
}

/// Reads a matrix from a container, in the storage format of the file. If the file has values in another precision, the
/// values are rounded and the result is in CSR, because the storage of a matrix depends on the precision. In parallel,
/// O(bytes); takes the memory of the matrix and, if values are rounded, also that of the matrix as stored and in CSR.
///
/// The file is mapped if possible: do not truncate it meanwhile, because the system kills a process that reads a map
/// beyond the end of its file.
///
/// # Errors
/// The system's error if the file cannot be read. Also when it is not a container, is of a later version, has an
/// unknown format, is truncated or altered, or has arrays that do not form a matrix (the error says which), and when
/// memory runs out.
pub fn read_container_matrix<T: Number>(path: impl AsRef<Path>) -> Result<Matrix<T>, Error> {
    let path = path.as_ref();
    let (matrix, _) = parse(&Contents::of(path, &ReadOptions::default())?, path, &ReadOptions::default())?;
    Ok(matrix)
}

/// Reads a matrix from the bytes of a container.
pub(super) fn parse<T: Number>(
    bytes: &[u8],
    name: &Path,
    options: &ReadOptions<'_>,
) -> Result<(Matrix<T>, Header), Error> {
    options.report(0, bytes.len() as u64);
    let read = || {
        let layout = Layout::parse(bytes)?;
        let Summary { rows, columns, stored, values, .. } = layout.summary;
        check_values::<T>(values)?;
        let matrix = match values {
            values if values == T::TYPE || layout.format() == CSR => read_matrix(&layout, bytes)?,
            ElementType::Float32 => round(read_matrix::<f32>(&layout, bytes)?)?,
            ElementType::Complex64 => round(read_matrix::<Complex<f32>>(&layout, bytes)?)?,
            ElementType::Complex128 => round(read_matrix::<Complex<f64>>(&layout, bytes)?)?,
            _ => round(read_matrix::<f64>(&layout, bytes)?)?,
        };
        let (symmetry, entries) = (Symmetry::General, stored as u64);
        Ok((matrix, Header { field: field_of(values), symmetry, rows, columns, entries }))
    };
    let matrix = read().map_err(|reason: String| Error::contents(name, reason))?;
    options.report(bytes.len() as u64, bytes.len() as u64);
    Ok(matrix)
}

/// Checks that `T` can hold values of a type.
fn check_values<T: Number>(values: ElementType) -> Result<(), String> {
    match (field_of(values), values) {
        (Field::Complex, _) if !T::COMPLEX => Err(COMPLEX_VALUES.into()),
        (Field::Complex, _) | (_, ElementType::Float32 | ElementType::Float64) => Ok(()),
        _ => Err(format!("values of type {}, expected real or complex numbers", values.name())),
    }
}

/// The field of values of a type.
fn field_of(values: ElementType) -> Field {
    match values {
        ElementType::Complex64 | ElementType::Complex128 => Field::Complex,
        _ => Field::Real,
    }
}

/// Values that a thread checks at a time.
const ROUNDED_AT_ONCE: usize = 1 << 14;

/// The matrix in CSR with its values rounded, none of them beyond the range.
fn round<U: Number, T: Number>(matrix: Matrix<U>) -> Result<Matrix<T>, String> {
    let matrix = matrix.into_csr().map_err(|error| error.to_string())?;
    let beyond = |entries: Range<usize>| {
        matrix.values()[entries].iter().find(|value| rounded_parts::<T>(value.parts()).is_none())
    };
    match parallel::first(matrix.nnz(), ROUNDED_AT_ONCE, &beyond) {
        None => matrix.cast().map(Matrix::Csr).map_err(|error| error.to_string()),
        Some(value) => Err(format!("a value is {value}, expected a number in the range of {}", T::NAME)),
    }
}

/// The name of CSR, whose values are read in any precision.
const CSR: &str = "CSR";

/// The matrix in a file with this layout, with every invariant checked.
fn read_matrix<T: Number>(layout: &Layout, bytes: &[u8]) -> Result<Matrix<T>, String> {
    let Summary { rows, columns, stored, .. } = layout.summary;
    let mut sections = Sections::new(layout.format(), layout.summary, layout.arrays(bytes)?);
    let matrix = Matrix::read(layout.format(), rows, columns, &mut sections)?;
    sections.finish()?;
    if matrix.nnz() != stored {
        return Err(format!("the header has {stored} entries, but the arrays have {}", matrix.nnz()));
    }
    Ok(matrix)
}
