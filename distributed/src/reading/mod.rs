//! Files that all ranks read together, each a part.

mod container;
mod coordinates;

use files::{CoordinatePortions, FileParts, Header, Number, ReadProgress};
use host::Csr;

use crate::communicator::Communicator;
use crate::error::Error;
use crate::ranges::Ranges;

/// Bytes of a text that all ranks together read at a time.
const ROUND: usize = 16 << 20;

/// Bytes of a portion at least and at most.
const PORTION: (usize, usize) = (1 << 16, 4 << 20);

/// Bytes of the portions in which `ranks` ranks read a text together, for [`files::open_parts`]: what a rank may get at a time
/// does not grow with their number.
pub fn portion_for(ranks: usize) -> usize {
    (ROUND / ranks.max(1)).clamp(PORTION.0, PORTION.1)
}

/// What a rank has of a matrix in a file.
pub struct FileRows<T: Number> {
    /// What the file says of its matrix.
    pub header: Header,
    /// The rows of each rank: of about the same number of entries.
    pub ranges: Ranges,
    /// Those of this rank, with all columns. As with one reader, each is sorted where the file is a text, and entries of one
    /// place are added up in the order of the file.
    pub rows: Csr<T>,
}

/// Reads the rows of each rank: the same matrix as one reader gets, without any rank having more than its rows, a few
/// numbers for each of them and a portion of a text at a time. All ranks call it. A text is gone through twice. Rank 0 tells
/// the progress, and about its own part.
///
/// # Errors
/// When the file is wrong, on all ranks with what one reader would say; when it can only be read as a whole; when the ranks
/// read different files, one fails, or memory runs out.
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

/// Makes sure that all ranks have opened the same file, as far as its header says.
fn agree(communicator: &Communicator, header: &Header) -> Result<(), Error> {
    let Header { field, symmetry, rows, columns, entries, .. } = header;
    let (field, symmetry) = (field.name(), symmetry.name());
    communicator.agree("the file", &format!("{rows} x {columns}, {entries} entries, {field}, {symmetry}"))
}

/// Makes sure that all ranks divide a text in the same way.
fn agree_on_portions(communicator: &Communicator, file: &CoordinatePortions) -> Result<(), Error> {
    agree(communicator, &file.header())?;
    communicator.agree("the portions of the file", &file.portions().to_string())
}
