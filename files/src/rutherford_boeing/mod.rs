//! Rutherford-Boeing files (Duff, Grimes & Lewis 1997), and the older Harwell-Boeing files: compressed sparse columns
//! as text in fixed columns.
//!
//! `header` is the first lines, `format` a Fortran format and its fields, `fields` the fields of an array. Where the
//! files leave a choice, this reader
//! - accepts real, integer, complex and pattern matrices, assembled, of any symmetry; a complex value is two fields, which
//!   may be on two lines;
//! - accepts `E`, `D`, `F`, `G` and `I` formats with a repeat count and a scale factor, exponents without a letter
//!   (`1.5-100`), and numbers without a point, whose position the format gives;
//! - accepts lines without trailing blanks, LF and CRLF, and ignores text after the last field of a line, as Fortran
//!   does, and the right-hand sides of a Harwell-Boeing file;
//! - rejects entries above the diagonal of a symmetric or hermitian matrix, or on or above it in a skew-symmetric one, and
//!   complex ones on the diagonal of a hermitian one;
//! - adds up duplicate entries.
#![forbid(unsafe_code)]

mod fields;
mod format;
pub(super) mod header;

use std::path::Path;

use super::contents::Contents;
use super::gzip;
use super::header::{Field, Header, Symmetry};
use super::options::ReadOptions;
use super::quote::quote;
use crate::number::Number;
use fields::{Lines, read_array};
use format::parse_integer;
use host::error::Error;
use host::format::Csr;
use host::{Real, memory};

pub(super) use header::has_header;

/// Reads a sparse matrix from a Rutherford-Boeing or Harwell-Boeing file, compressed with gzip or not. The values of a
/// pattern are 1, and the other half of a symmetric, skew-symmetric or hermitian matrix is filled in. A complex type also
/// accepts files of real numbers.
///
/// O(bytes + rows + nnz log(longest row)); besides the matrix, this takes the memory of all entries as row, column and
/// value, and up to twice that if half of them is left out. The file is mapped if possible: do not truncate it
/// meanwhile.
///
/// # Errors
/// The system's error if the file cannot be read. Also when its contents contradict its header (the error names the first
/// invalid line), when it holds complex values and `T` is real, or elements that are not assembled, and when memory runs
/// out.
pub fn read_rutherford_boeing<T: Number>(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Csr<T>, Error> {
    let path = path.as_ref();
    let contents = Contents::of(path, options)?;
    let (matrix, _) = parse(&gzip::decompressed(&contents, path, options)?, path, options)?;
    Ok(matrix)
}

/// Reads a matrix from a text.
pub(super) fn parse<T: Number>(text: &[u8], name: &Path, options: &ReadOptions<'_>) -> Result<(Csr<T>, Header), Error> {
    let mut lines = Lines::new(text);
    let result = read(&mut lines, options);
    let (matrix, header) =
        result.map_err(|reason| Error::Parse { path: name.into(), line: lines.number().max(1), reason })?;
    options.report(text.len() as u64, text.len() as u64);
    Ok((matrix, header))
}

/// Reads a matrix; an error concerns the line read last.
fn read<T: Number>(lines: &mut Lines<'_>, options: &ReadOptions<'_>) -> Result<(Csr<T>, Header), String> {
    let head = header::read(lines, T::COMPLEX)?;
    let (Header { field, rows, columns, entries, .. }, values_format) = (head.header, head.values);
    let mut previous = 1;
    let offsets: Vec<u64> =
        read_array(lines, &head.pointers, columns as u64 + 1, "column pointers", options, |index, text| {
            let pointer = parse_integer(text).and_then(|pointer| u64::try_from(pointer).ok());
            let first_is_right = index > 0 || pointer == Some(1);
            match pointer.filter(|&pointer| first_is_right && pointer >= previous && pointer - 1 <= entries) {
                Some(pointer) => {
                    previous = pointer;
                    Ok(pointer - 1)
                }
                None if index == 0 => Err(format!("the first column begins at {}, expected 1", quote(text))),
                None => {
                    Err(format!("expected a column pointer from {previous} to {}, found {}", entries + 1, quote(text)))
                }
            }
        })?;
    if previous - 1 != entries {
        return Err(format!("the last column ends before entry {previous}, expected {}", entries + 1));
    }
    let row_indices: Vec<u32> = read_array(lines, &head.indices, entries, "row indices", options, |_, text| {
        let row = parse_integer(text).filter(|&row| row >= 1 && row <= rows as i64);
        row.map(|row| (row - 1) as u32)
            .ok_or_else(|| format!("expected a row index from 1 to {rows}, found {}", quote(text)))
    })?;
    let real = |text: &[u8]| {
        let number = values_format.parse_real::<T::Real>(text).map(Real::to_f64);
        number.ok_or_else(|| format!("expected a real number in the range of {}, found {}", T::NAME, quote(text)))
    };
    let values: Vec<T> = match field {
        Field::Pattern => memory::filled(row_indices.len(), T::from_f64(1.0)).map_err(|error| error.to_string())?,
        Field::Integer => {
            read_array(lines, &values_format, entries, "values", options, |_, text| match parse_integer(text) {
                Some(_) => real(text).map(T::from_f64),
                None => Err(format!("expected an integer of 64 bits, found {}", quote(text))),
            })?
        }
        Field::Real => {
            read_array(lines, &values_format, entries, "values", options, |_, text| real(text).map(T::from_f64))?
        }
        Field::Complex => {
            // As many as there are row indices.
            let mut values = memory::with_capacity(row_indices.len()).map_err(|error| error.to_string())?;
            let mut re = 0.0;
            read_array(lines, &values_format, 2 * entries, "parts of values", options, |index, text| {
                let part = real(text)?;
                if index.is_multiple_of(2) {
                    re = part;
                } else {
                    values.push(T::from_parts(re, part));
                }
                Ok(())
            })?;
            values
        }
    };
    let matrix = assemble(&head.header, &offsets, row_indices, values)?;
    Ok((matrix, head.header))
}

/// The matrix with these compressed columns, including the half implied by its symmetry.
fn assemble<T: Number>(
    &Header { symmetry, rows, columns, .. }: &Header,
    offsets: &[u64],
    mut row_indices: Vec<u32>,
    mut values: Vec<T>,
) -> Result<Csr<T>, String> {
    let mut column_indices = memory::with_capacity(row_indices.len()).map_err(|error| error.to_string())?;
    for (column, end) in offsets[1..].iter().enumerate() {
        column_indices.resize(*end as usize, column as u32);
    }
    if symmetry != Symmetry::General {
        let skew = symmetry == Symmetry::SkewSymmetric;
        let stored = row_indices.len();
        let mirrored = row_indices.iter().zip(&column_indices).filter(|(row, column)| row != column).count();
        memory::reserve(&mut row_indices, mirrored)
            .and_then(|()| memory::reserve(&mut column_indices, mirrored))
            .and_then(|()| memory::reserve(&mut values, mirrored))
            .map_err(|error| error.to_string())?;
        for entry in 0..stored {
            let (row, column, value) = (row_indices[entry], column_indices[entry], values[entry]);
            if row < column || skew && row == column {
                return Err(format!(
                    "the entry in row {} and column {} is not in the half that a {} file holds",
                    row + 1,
                    column + 1,
                    symmetry.name()
                ));
            }
            if row != column {
                row_indices.push(column);
                column_indices.push(row);
                values.push(value.twin(symmetry));
            } else if symmetry == Symmetry::Hermitian && !value.is_real() {
                return Err(format!("value {} of the diagonal is not real, in a hermitian matrix", row + 1));
            }
        }
    }
    Csr::try_from_triplets(rows, columns, &row_indices, &column_indices, &values).map_err(|error| error.to_string())
}
