//! A part of a file: some rows of a matrix.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use super::chunks::write_items;
use super::write::{MatrixMarketOptions, append_entries};
use crate::extension::has_extension;
use crate::gzip;
use crate::number::Number;
use host::format::Csr;

/// A writer's part of a Matrix Market file: some rows, with the banner and the size line before the first. The concatenated
/// parts of all writers are the file that [`write_matrix_market`](crate::write_matrix_market) writes; if the name ends in
/// `.gz`, they are compressed, in other members.
pub struct LinesToWrite<'a, T: Number> {
    matrix: &'a Csr<T>,
    first_row: u64,
    /// The text before the entries.
    head: String,
    compress: bool,
}

/// Counts the bytes written.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a, T: Number> LinesToWrite<'a, T> {
    /// Rows of a matrix of `rows` rows and `entries` entries, from the zero-based row `first_row` on; `head` tells whether
    /// the file begins with them.
    pub fn new(matrix: &'a Csr<T>, path: &Path, [rows, entries]: [u64; 2], first_row: u64, head: bool) -> Self {
        let (field, columns) = (T::FIELD.name(), matrix.columns());
        let head = match head {
            true => format!("%%MatrixMarket matrix coordinate {field} general\n{rows} {columns} {entries}\n"),
            false => String::new(),
        };
        Self { matrix, first_row, head, compress: has_extension(path, ".gz") }
    }

    /// Number of bytes of the part in the file. The part is produced for that, and discarded.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn bytes(&self) -> io::Result<u64> {
        let mut counter = Counter(0);
        self.write_to(&mut counter)?;
        Ok(counter.0)
    }

    /// Writes the part at a position of a file.
    ///
    /// # Errors
    /// The system's error; also when memory runs out.
    pub fn write(&self, file: &File, at: u64) -> io::Result<()> {
        let mut writer = BufWriter::new(file);
        writer.seek(SeekFrom::Start(at))?;
        self.write_to(&mut writer)?;
        writer.flush()
    }

    fn write_to(&self, file: &mut (impl Write + Send)) -> io::Result<()> {
        match (self.head.is_empty(), self.compress) {
            (true, _) => {}
            (false, false) => file.write_all(self.head.as_bytes())?,
            (false, true) => {
                let mut member = Vec::new();
                gzip::append_member(self.head.as_bytes(), &mut member)?;
                file.write_all(&member)?;
            }
        }
        let options = MatrixMarketOptions { field: T::FIELD, ..MatrixMarketOptions::default() };
        let first_row = self.first_row as usize;
        write_items(file, self.compress, self.matrix.nnz(), &|range, text| {
            append_entries(self.matrix, first_row, options, range, text);
        })
    }
}
