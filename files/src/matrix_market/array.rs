//! Dense matrices and vectors.

use super::cursor::{Cursor, Problem};
use super::document::Document;
use super::entries::Entries;
use super::header::{self, Layout};
use super::value::Value;
use crate::ReadProgress;
use crate::header::{Field, Header, Symmetry};
use host::error::Error;
use host::memory;

/// A dense matrix, column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseMatrix<V> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// The values: that of a row and a column is at index column · rows + row.
    pub values: Vec<V>,
}

/// Reads an array file.
pub(super) fn read<V: Value>(
    document: &Document<'_>,
    progress: ReadProgress<'_>,
) -> Result<(DenseMatrix<V>, Header), Error> {
    let (header, begin) = header::read(document, Layout::Array)?;
    header::check_values::<V>(document, &header)?;
    let Header { field, rows, columns, symmetry, entries } = header;
    if symmetry == Symmetry::General {
        let values = read_values(document, &header, begin, progress)?;
        return Ok((DenseMatrix { rows, columns, values }, header));
    }
    let mut dense = memory::filled(rows * columns, V::default())?;
    let first_of = |column: usize| column + usize::from(symmetry == Symmetry::SkewSymmetric);
    let (mut row, mut column) = (first_of(0), 0);
    let read = |cursor: &mut Cursor<'_>, values: &mut Vec<V>| read_value(cursor, values, field);
    Entries::new(document, begin, entries, progress)?.for_each_batch(0, read, |chunks| {
        for &value in chunks.iter().copied().flatten() {
            // Only the last columns have no listed values.
            if row == rows {
                column += 1;
                row = first_of(column);
            }
            if symmetry == Symmetry::Hermitian && row == column && !value.is_real() {
                let reason = format!("value {} of the diagonal is not real, in a hermitian matrix", column + 1);
                return Err(document.error(0, reason));
            }
            dense[row * rows + column] = value.twin(symmetry);
            dense[column * rows + row] = value;
            row += 1;
        }
        Ok(true)
    })?;
    Ok((DenseMatrix { rows, columns, values: dense }, header))
}

/// Reads an array file with one column or one row.
pub(super) fn read_vector<V: Value>(document: &Document<'_>, progress: ReadProgress<'_>) -> Result<Vec<V>, Error> {
    let (header, begin) = header::read(document, Layout::Array)?;
    header::check_values::<V>(document, &header)?;
    // A single number is symmetric, and SciPy writes it that way.
    let one_number = (header.symmetry, header.rows, header.columns) == (Symmetry::Symmetric, 1, 1);
    if header.symmetry != Symmetry::General && !one_number {
        return Err(document.error(0, "a vector has no symmetry, expected 'general'"));
    }
    if header.rows != 1 && header.columns != 1 {
        return Err(document.error(
            begin - 1,
            format!(
                "expected a vector, with one column or one row, found a matrix of {} x {}",
                header.rows, header.columns
            ),
        ));
    }
    read_values(document, &header, begin, progress)
}

/// Reads the values in the order in which they are listed.
fn read_values<V: Value>(
    document: &Document<'_>,
    header: &Header,
    begin: usize,
    progress: ReadProgress<'_>,
) -> Result<Vec<V>, Error> {
    let Header { field, entries, .. } = *header;
    // The header check ensures that this many fit the file.
    let mut values = memory::with_capacity(entries as usize)?;
    let read = |cursor: &mut Cursor<'_>, values: &mut Vec<V>| read_value(cursor, values, field);
    Entries::new(document, begin, entries, progress)?.for_each_batch(0, read, |chunks| {
        chunks.iter().for_each(|chunk| values.extend_from_slice(chunk));
        Ok(true)
    })?;
    Ok(values)
}

/// Reads a line with a value.
fn read_value<V: Value>(cursor: &mut Cursor<'_>, values: &mut Vec<V>, field: Field) -> Result<(), Problem> {
    values.push(V::read_value(cursor, field)?);
    cursor.end_line()
}

/// Number of values in an array file of this shape, without those that its symmetry leaves out.
pub(super) fn listed(rows: u64, columns: u64, symmetry: Symmetry) -> u64 {
    match symmetry {
        Symmetry::General => rows * columns,
        Symmetry::Symmetric | Symmetry::Hermitian => rows * (rows + 1) / 2,
        Symmetry::SkewSymmetric => rows * rows.saturating_sub(1) / 2,
    }
}
