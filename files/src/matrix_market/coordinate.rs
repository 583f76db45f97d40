//! Sparse matrices.

use super::cursor::{Cursor, Kind, Problem};
use super::document::Document;
use super::entries::{Contents, Entries};
use super::header::{self, Layout};
use super::sorted::SortedAssembly;
use super::value::Value;
use crate::ReadProgress;
use crate::header::{Header, Symmetry};
use crate::number::Number;
use host::error::Error;
use host::format::{Csr, RowCounts, TripletSlices};
use host::{memory, parallel};

/// The entries of a sparse matrix, as row, column and value, in file order.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates<V> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// The zero-based row of each entry.
    pub row_indices: Vec<u32>,
    /// The zero-based column of each entry.
    pub column_indices: Vec<u32>,
    /// The value of each entry.
    pub values: Vec<V>,
}

/// Entries of a part of a file, including those implied by its symmetry.
pub struct Triplets<V> {
    /// The zero-based row of each entry.
    pub rows: Vec<u32>,
    /// The zero-based column of each entry.
    pub columns: Vec<u32>,
    /// The value of each entry.
    pub values: Vec<V>,
}

impl<V: Send> Contents for Triplets<V> {
    fn with_capacity(entries: usize) -> Result<Self, Error> {
        Ok(Self {
            rows: memory::with_capacity(entries)?,
            columns: memory::with_capacity(entries)?,
            values: memory::with_capacity(entries)?,
        })
    }

    #[inline]
    fn make_room(&mut self) -> Result<(), Kind> {
        self.rows.make_room()?;
        self.columns.make_room()?;
        self.values.make_room()
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.columns.clear();
        self.values.clear();
    }
}

impl<V> Triplets<V> {
    fn push(&mut self, row: u32, column: u32, value: V) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }
}

/// A coordinate file after its header.
struct Body<'a> {
    header: Header,
    entries: Entries<'a>,
}

/// Reads a coordinate file as a matrix: in one pass if its entries are sorted by row, which is tried first; otherwise
/// in two passes, one to count the entries of each row and one to place them.
pub(super) fn read<T: Number>(document: &Document<'_>, progress: ReadProgress<'_>) -> Result<(Csr<T>, Header), Error> {
    let mut body = Body::new::<T>(document, progress)?;
    let header = body.header;
    if let Some(matrix) = body.read_sorted()? {
        return Ok((matrix, header));
    }
    body.entries.passes = 2;
    let mut counts = RowCounts::new(header.rows, header.columns, header.most_entries())?;
    body.count::<T>(|rows| counts.add(rows))?;
    let mut assembly = counts.into_assembly()?;
    body.read(1, |chunks| assembly.place(&parts(chunks)).map(|()| true))?;
    Ok((assembly.finish()?, header))
}

/// The entries of some chunks.
fn parts<'a, T: Number>(chunks: &[&'a Triplets<T>]) -> Vec<TripletSlices<'a, T>> {
    chunks.iter().map(|chunk| (&*chunk.rows, &*chunk.columns, &*chunk.values)).collect()
}

/// Reads a coordinate file as it is, with the entries implied by its symmetry.
pub(super) fn read_coordinates<V: Value>(
    document: &Document<'_>,
    progress: ReadProgress<'_>,
) -> Result<(Coordinates<V>, Header), Error> {
    let mut body = Body::new::<V>(document, progress)?;
    let header = body.header;
    let mut entries = 0;
    if header.symmetry == Symmetry::General {
        // The header check ensures that this many fit the file.
        entries = header.entries as usize;
    } else {
        body.entries.passes = 2;
        body.count::<V>(|rows| {
            entries += rows.iter().map(|rows| rows.len()).sum::<usize>();
            Ok(())
        })?;
    }
    let Triplets { mut rows, mut columns, mut values } = Triplets::with_capacity(entries)?;
    body.read(body.entries.passes - 1, |chunks: &[&Triplets<V>]| {
        let extend_rows = || chunks.iter().for_each(|chunk| rows.extend_from_slice(&chunk.rows));
        let extend_columns = || chunks.iter().for_each(|chunk| columns.extend_from_slice(&chunk.columns));
        let extend_values = || chunks.iter().for_each(|chunk| values.extend_from_slice(&chunk.values));
        parallel::join(extend_values, || parallel::join(extend_rows, extend_columns));
        Ok(true)
    })?;
    let coordinates =
        Coordinates { rows: header.rows, columns: header.columns, row_indices: rows, column_indices: columns, values };
    Ok((coordinates, header))
}

impl<'a> Body<'a> {
    /// Reads the header of a document.
    fn new<V: Value>(document: &'a Document<'_>, progress: ReadProgress<'a>) -> Result<Self, Error> {
        let (header, begin) = header::read(document, Layout::Coordinate)?;
        header::check_values::<V>(document, &header)?;
        let entries = Entries::new(document, begin, header.entries, progress)?;
        Ok(Self { header, entries })
    }

    /// The matrix, if its entries are sorted by row.
    fn read_sorted<T: Number>(&self) -> Result<Option<Csr<T>>, Error> {
        let Header { symmetry, rows, columns, entries, .. } = self.header;
        if symmetry != Symmetry::General {
            return Ok(None);
        }
        // The header check ensures that this many fit the file.
        let mut assembly = SortedAssembly::new(rows, columns, entries as usize)?;
        let sorted = self.read(0, |chunks| assembly.append(&parts(chunks)))?;
        if sorted { assembly.finish().map(Some) } else { Ok(None) }
    }

    /// Passes through the rows of all entries in parallel, including those implied by the symmetry. The rest of a line
    /// is not read, unless an index is invalid or entries are missing; the first invalid line is then reported.
    fn count<V: Value>(&self, mut take: impl FnMut(&[&[u32]]) -> Result<(), Error>) -> Result<(), Error> {
        let read = |cursor: &mut Cursor<'_>, indices: &mut Vec<u32>| read_rows(&self.header, cursor, indices);
        let counted = self.entries.for_each_batch(0, read, |chunks| {
            take(&chunks.iter().map(|chunk| &***chunk).collect::<Vec<_>>())?;
            Ok(true)
        });
        counted.map(drop).or_else(|error| {
            let check = |cursor: &mut Cursor<'_>, (): &mut ()| read_entry::<V>(&self.header, cursor).map(drop);
            self.entries.for_each_batch(0, check, |_| Ok(true))?;
            Err(error)
        })
    }

    /// Passes through all entries in parallel; `pass` is the zero-based pass number. Entries implied by the symmetry
    /// directly follow their twins, so that duplicates keep the order of the file. Otherwise as
    /// [`Entries::for_each_batch`].
    fn read<V: Value>(
        &self,
        pass: u64,
        take: impl FnMut(&[&Triplets<V>]) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let read = |cursor: &mut Cursor<'_>, triplets: &mut Triplets<V>| read_entries(&self.header, cursor, triplets);
        self.entries.for_each_batch(pass, read, take)
    }
}

/// Reads the rows of a line's entry and of the implied one, and nothing else.
#[inline]
pub(super) fn read_rows(header: &Header, cursor: &mut Cursor<'_>, indices: &mut Vec<u32>) -> Result<(), Problem> {
    let row = cursor.row(header.rows)?;
    indices.push(row);
    if header.symmetry != Symmetry::General {
        let column = cursor.column(header.columns)?;
        if row != column {
            indices.push(column);
        }
    }
    cursor.skip_line();
    Ok(())
}

/// Reads a line's entry and the implied one, which follows it.
#[inline]
pub(super) fn read_entries<V: Value>(
    header: &Header,
    cursor: &mut Cursor<'_>,
    triplets: &mut Triplets<V>,
) -> Result<(), Problem> {
    let (row, column, value) = read_entry::<V>(header, cursor)?;
    triplets.push(row, column, value);
    if header.symmetry != Symmetry::General && row != column {
        triplets.push(column, row, value.twin(header.symmetry));
    }
    Ok(())
}

/// Reads an entry as given in its line.
#[inline]
pub(super) fn read_entry<V: Value>(header: &Header, cursor: &mut Cursor<'_>) -> Result<(u32, u32, V), Problem> {
    let Header { field, symmetry, rows, columns, .. } = *header;
    let at = cursor.at();
    let row = cursor.row(rows)?;
    let column = cursor.column(columns)?;
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
    cursor.end_line()?;
    Ok((row, column, value))
}
