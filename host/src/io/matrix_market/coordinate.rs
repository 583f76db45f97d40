//! Sparse matrices.

use super::cursor::{Cursor, Kind, Problem};
use super::document::Document;
use super::entries::read_entries;
use super::header::{self, Layout};
use crate::error::Error;
use crate::format::Csr;
use crate::io::Progress;
use crate::io::header::{Field, Header, Symmetry};
use crate::real::Real;

/// Entries in the order of the file.
struct Triplets<T> {
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T> Triplets<T> {
    fn with_capacity(entries: usize) -> Self {
        Self {
            rows: Vec::with_capacity(entries),
            columns: Vec::with_capacity(entries),
            values: Vec::with_capacity(entries),
        }
    }

    fn push(&mut self, row: u32, column: u32, value: T) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }
}

/// Reads a coordinate file.
pub(super) fn read<T: Real>(document: &Document<'_>, progress: Progress<'_>) -> Result<(Csr<T>, Header), Error> {
    let (header, begin) = header::read(document, Layout::Coordinate)?;
    let chunks = match header.field {
        Field::Real => read_triplets(document, &header, begin, progress, |cursor| cursor.real()),
        Field::Integer => read_triplets(document, &header, begin, progress, |cursor| cursor.integer()),
        Field::Pattern => read_triplets(document, &header, begin, progress, |_| Ok(T::from_f64(1.0))),
    }?;
    let parts: Vec<_> = chunks.iter().map(|chunk| (&*chunk.rows, &*chunk.columns, &*chunk.values)).collect();
    let matrix = Csr::try_from_triplet_parts(header.rows, header.columns, &parts)?;
    Ok((matrix, header))
}

/// Reads entries and adds those that the symmetry implies, each right behind its twin so that the order of
/// duplicates is that of the file.
fn read_triplets<T: Real>(
    document: &Document<'_>,
    header: &Header,
    begin: usize,
    progress: Progress<'_>,
    read_value: impl Fn(&mut Cursor<'_>) -> Result<T, Problem> + Sync,
) -> Result<Vec<Triplets<T>>, Error> {
    let &Header { symmetry, rows, columns, entries, .. } = header;
    let copies = if symmetry == Symmetry::General { 1 } else { 2 };
    let make = |entries: usize| Triplets::with_capacity(entries * copies);
    read_entries(document, begin, entries, progress, make, |cursor, triplets: &mut Triplets<T>| {
        let at = cursor.at();
        let row = cursor.index("row", "a row index from 1 on", rows)?;
        let column = cursor.index("column", "a column index from 1 on", columns)?;
        let value = read_value(cursor)?;
        let left_out = match symmetry {
            Symmetry::General => false,
            Symmetry::Symmetric => row < column,
            Symmetry::SkewSymmetric => row <= column,
        };
        if left_out {
            return Err(Problem { at, kind: Kind::Half(symmetry) });
        }
        triplets.push(row, column, value);
        match symmetry {
            Symmetry::Symmetric if row != column => triplets.push(column, row, value),
            Symmetry::SkewSymmetric => triplets.push(column, row, -value),
            _ => {}
        }
        Ok(())
    })
}
