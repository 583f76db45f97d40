//! Files read by all ranks together, each a part.

mod container;
mod coordinates;

use files::{CoordinatePortions, FileParts, Header, Number, ReadProgress};
use host::Csr;

use crate::communicator::Communicator;
use crate::error::Error;
use crate::ranges::Ranges;

/// Bytes of a text that all ranks together read at a time.
const ROUND: usize = 16 << 20;

/// Smallest and largest size of a portion in bytes.
const PORTION: (usize, usize) = (1 << 16, 4 << 20);

/// Returns the size in bytes of the portions in which `ranks` ranks read a text together, for [`files::open_parts`]: the
/// data that a rank may receive at a time does not grow with the number of ranks.
pub fn portion_for(ranks: usize) -> usize {
    (ROUND / ranks.max(1)).clamp(PORTION.0, PORTION.1)
}

/// A rank's part of a matrix in a file.
pub struct FileRows<T: Number> {
    /// The header of the file.
    pub header: Header,
    /// The rows of each rank, with about the same number of entries.
    pub ranges: Ranges,
    /// The rows of this rank, with all columns. As with a single reader, each row is sorted if the file is a text, and
    /// duplicate entries are added up in file order.
    pub rows: Csr<T>,
}

/// Reads the rows of each rank: the same matrix as a single reader, although each rank holds only its rows, a few numbers
/// per row and a portion of a text at a time. All ranks must call it. A text is read twice. Rank 0 reports the progress, of
/// its own part.
///
/// # Errors
/// When the file is invalid, on all ranks with the error of a single reader; when it can only be read as a whole; when the
/// ranks read different files, one fails, or memory runs out.
pub fn read_rows<T: Number>(
    communicator: &Communicator,
    file: &FileParts,
    progress: ReadProgress<'_>,
) -> Result<FileRows<T>, Error> {
    let progress = progress.filter(|_| communicator.rank() == 0);
    match file {
        FileParts::Rows(rows) => container::read(communicator, rows, progress),
        FileParts::Portions(portions) => coordinates::read(communicator, portions, progress),
        FileParts::Whole(whole) => {
            let value = whole.kind().to_owned();
            Err(Error::Setting { what: "the file", value, expected: "a Matrix Market file or a container in CSR" })
        }
    }
}

/// Verifies that all ranks have opened the same file, judging by its header.
fn agree(communicator: &Communicator, header: &Header) -> Result<(), Error> {
    let Header { field, symmetry, rows, columns, entries, .. } = header;
    let (field, symmetry) = (field.name(), symmetry.name());
    communicator.agree("the file", &format!("{rows} x {columns}, {entries} entries, {field}, {symmetry}"))
}

/// Verifies that all ranks divide a text in the same way.
fn agree_on_portions(communicator: &Communicator, file: &CoordinatePortions) -> Result<(), Error> {
    agree(communicator, &file.header())?;
    communicator.agree("the portions of the file", &file.portions().to_string())
}
