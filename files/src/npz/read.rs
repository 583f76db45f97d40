//! Reading a matrix.

use std::io::Cursor;
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::npy::Npy;
use crate::binary::ElementType;
use crate::contents::Contents;
use crate::gzip::read_all;
use crate::header::{Field, Header, Symmetry};
use crate::limits::check_dimension;
use crate::number::Number;
use crate::options::ReadOptions;
use host::error::Error;
use host::format::{Csr, Offsets};
use host::memory;

/// Reads a sparse matrix written by `scipy.sparse.save_npz`, in CSR, CSC or COO, with real or complex numbers, integers
/// or truth values. Entries of CSR stay as they are; duplicate entries of the other formats are added up.
///
/// O(bytes + rows + nnz log(longest row)). The arrays are decompressed to memory, one at a time: besides the matrix,
/// this takes the size of the largest one plus an eighth, and for CSC and COO the memory of all entries as row, column
/// and value.
///
/// # Errors
/// The system's error if the file cannot be read. Also when it is not such an archive, is truncated or altered, holds
/// another format, complex values where `T` is real, or arrays that do not form a matrix (the error says which); when
/// the arrays decompress to more than [`ReadOptions::decompressed_limit`]; and when memory runs out.
pub fn read_npz<T: Number>(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Csr<T>, Error> {
    let path = path.as_ref();
    let (matrix, _) = parse(&Contents::of(path, options)?, path, options)?;
    Ok(matrix)
}

/// Reads a matrix from the bytes of an archive.
pub(crate) fn parse<T: Number>(
    bytes: &[u8],
    name: &Path,
    options: &ReadOptions<'_>,
) -> Result<(Csr<T>, Header), Error> {
    let read = || {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
        Archive { zip, left: options.decompressed_limit, done: 0, total: bytes.len() as u64, options }.matrix()
    };
    let result = read().map_err(|reason| Error::contents(name, reason))?;
    options.report(bytes.len() as u64, bytes.len() as u64);
    Ok(result)
}

/// An archive whose arrays are read sequentially.
struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Number of bytes that may still be decompressed.
    left: u64,
    /// Number of compressed bytes that have been read.
    done: u64,
    total: u64,
    options: &'a ReadOptions<'a>,
}

impl Archive<'_> {
    /// Reads the array with this name, and passes it to `read`.
    fn array<R>(&mut self, name: &str, read: impl FnOnce(Npy<'_>) -> Result<R, String>) -> Result<R, String> {
        let member = match self.zip.by_name(&format!("{name}.npy")) {
            Ok(member) => member,
            Err(ZipError::FileNotFound) => {
                return Err(format!("not a SciPy sparse matrix: there is no array '{name}'"));
            }
            Err(error) => return Err(format!("array '{name}': {error}")),
        };
        let compressed = member.compressed_size();
        let bytes = read_all(member, self.left).map_err(|reason| format!("array '{name}': {reason}"))?;
        self.left -= bytes.len() as u64;
        // The sizes that a member claims are not trusted.
        self.done = self.done.saturating_add(compressed).min(self.total);
        self.options.report(self.done, self.total);
        let npy = Npy::parse(&bytes).map_err(|reason| format!("array '{name}': {reason}"))?;
        read(npy)
    }

    fn indices(&mut self, name: &str) -> Result<Vec<u32>, String> {
        self.array(name, |npy| npy.array(name)?.indices())
    }

    fn offsets(&mut self) -> Result<Offsets, String> {
        self.array("indptr", |npy| npy.array("indptr")?.offsets())
    }

    fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    fn matrix<T: Number>(mut self) -> Result<(Csr<T>, Header), String> {
        let format = self.array("format", |npy| npy.text().ok_or_else(|| "array 'format' is not text".into()))?;
        if !["csr", "csc", "coo"].contains(&&*format) {
            return Err(format!("the format '{}' is not supported, expected csr, csc or coo", format.escape_debug()));
        }
        let shape = self.array("shape", |npy| npy.array("shape")?.offsets())?;
        if shape.len() != 2 {
            return Err(format!("the matrix has {} axes, expected 2", shape.len()));
        }
        let (rows, columns) = (shape.get(0), shape.get(1));
        let (values, field) = self.array("data", |npy| {
            let array = npy.array("data")?;
            let field = match array.element {
                ElementType::Float32 | ElementType::Float64 => Field::Real,
                ElementType::Complex64 | ElementType::Complex128 => Field::Complex,
                _ => Field::Integer,
            };
            Ok((array.values::<T>()?, field))
        })?;
        let entries = values.len() as u64;
        let decompressed = (self.options.decompressed_limit - self.left) as usize;
        // Only dimensions for which the file need not have a number each.
        if format != "csr" {
            check_dimension("rows", rows as u64, decompressed)?;
        }
        if format != "csc" {
            check_dimension("columns", columns as u64, decompressed)?;
        }
        let matrix = match &*format {
            "csr" => {
                let offsets = self.offsets()?;
                Csr::try_new(rows, columns, offsets, self.indices("indices")?, values)
            }
            "csc" => {
                let offsets = self.offsets()?;
                let row_indices = self.indices("indices")?;
                from_columns(rows, columns, &offsets, &row_indices, &values)
            }
            _ if self.has("coords") => {
                let [row_indices, column_indices] = self.array("coords", |npy| {
                    let [rows, columns] = npy.two_rows("coords")?;
                    Ok([rows.indices()?, columns.indices()?])
                })?;
                Csr::try_from_triplets(rows, columns, &row_indices, &column_indices, &values)
            }
            _ => {
                let (row_indices, column_indices) = (self.indices("row")?, self.indices("col")?);
                Csr::try_from_triplets(rows, columns, &row_indices, &column_indices, &values)
            }
        };
        let matrix = matrix.map_err(|error| error.to_string())?;
        Ok((matrix, Header { field, symmetry: Symmetry::General, rows, columns, entries }))
    }
}

/// A matrix from compressed sparse columns.
fn from_columns<T: Number>(
    rows: usize,
    columns: usize,
    offsets: &Offsets,
    row_indices: &[u32],
    values: &[T],
) -> Result<Csr<T>, Error> {
    // The arrays are those of the transpose in CSR.
    offsets.check("CSC", "column", columns, row_indices.len())?;
    let mut column_indices = memory::with_capacity(row_indices.len())?;
    for column in 0..columns {
        column_indices.resize(offsets.get(column + 1), column as u32);
    }
    Csr::try_from_triplets(rows, columns, row_indices, &column_indices, values)
}
