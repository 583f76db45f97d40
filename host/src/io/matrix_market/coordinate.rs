//! Sparse matrices.

use super::cursor::{Kind, Problem};
use super::document::Document;
use super::entries::read_entries;
use super::header::{self, Layout};
use super::value::Value;
use crate::error::Error;
use crate::format::Csr;
use crate::io::Progress;
use crate::io::header::{Header, Symmetry};
use crate::real::Real;

/// The entries of a sparse matrix, as row, column and value, in the order of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates<V> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// The row of each entry, counted from 0.
    pub row_indices: Vec<u32>,
    /// The column of each entry, counted from 0.
    pub column_indices: Vec<u32>,
    /// The value of each entry.
    pub values: Vec<V>,
}

/// Entries of a part of a file.
struct Triplets<V> {
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<V>,
}

impl<V> Triplets<V> {
    fn with_capacity(entries: usize) -> Self {
        Self {
            rows: Vec::with_capacity(entries),
            columns: Vec::with_capacity(entries),
            values: Vec::with_capacity(entries),
        }
    }

    fn push(&mut self, row: u32, column: u32, value: V) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }
}

/// Reads a coordinate file as a matrix.
pub(super) fn read<T: Real>(document: &Document<'_>, progress: Progress<'_>) -> Result<(Csr<T>, Header), Error> {
    let (chunks, header) = read_triplets::<T>(document, progress)?;
    let parts: Vec<_> = chunks.iter().map(|chunk| (&*chunk.rows, &*chunk.columns, &*chunk.values)).collect();
    let matrix = Csr::try_from_triplet_parts(header.rows, header.columns, &parts)?;
    Ok((matrix, header))
}

/// Reads a coordinate file as it is, with the entries that its symmetry implies.
pub(super) fn read_coordinates<V: Value>(
    document: &Document<'_>,
    progress: Progress<'_>,
) -> Result<(Coordinates<V>, Header), Error> {
    let (chunks, header) = read_triplets::<V>(document, progress)?;
    let entries = chunks.iter().map(|chunk| chunk.rows.len()).sum();
    let Triplets { mut rows, mut columns, mut values } = Triplets::with_capacity(entries);
    for chunk in chunks {
        rows.extend(chunk.rows);
        columns.extend(chunk.columns);
        values.extend(chunk.values);
    }
    let coordinates =
        Coordinates { rows: header.rows, columns: header.columns, row_indices: rows, column_indices: columns, values };
    Ok((coordinates, header))
}

/// Reads entries and adds those that the symmetry implies, each right behind its twin so that the order of
/// duplicates is that of the file.
fn read_triplets<V: Value>(
    document: &Document<'_>,
    progress: Progress<'_>,
) -> Result<(Vec<Triplets<V>>, Header), Error> {
    let (header, begin) = header::read(document, Layout::Coordinate)?;
    header::check_values::<V>(document, &header)?;
    let Header { field, symmetry, rows, columns, entries } = header;
    let copies = if symmetry == Symmetry::General { 1 } else { 2 };
    let make = |entries: usize| Triplets::with_capacity(entries * copies);
    let chunks = read_entries(document, begin, entries, progress, make, |cursor, triplets: &mut Triplets<V>| {
        let at = cursor.at();
        let row = cursor.index("row", "a row index from 1 on", rows)?;
        let column = cursor.index("column", "a column index from 1 on", columns)?;
        let value = V::read_value(cursor, field)?;
        let wrong = match symmetry {
            Symmetry::General => None,
            Symmetry::SkewSymmetric => (row <= column).then_some(Kind::Half(symmetry)),
            Symmetry::Hermitian if row == column && !value.is_real() => Some(Kind::Diagonal),
            Symmetry::Symmetric | Symmetry::Hermitian => (row < column).then_some(Kind::Half(symmetry)),
        };
        if let Some(kind) = wrong {
            return Err(Problem { at, kind });
        }
        triplets.push(row, column, value);
        if symmetry != Symmetry::General && row != column {
            triplets.push(column, row, value.twin(symmetry));
        }
        Ok(())
    })?;
    Ok((chunks, header))
}
