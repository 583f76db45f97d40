//! Files that all ranks write together, each its part.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use files::{LinesToWrite, Number, PartSum, RowsToWrite};
use host::Csr;
use host::memory::with_capacity;
use host::replace::Replacement;

use crate::communicator::Communicator;
use crate::error::Error;
use crate::ranges::Ranges;
use crate::together::together;

/// Writes the matrix of which this rank has these rows, with all columns, as a container in CSR: the same bytes as one writer
/// writes. All ranks call it, and each writes its own part at its place of one file.
///
/// The file appears under its name only when all ranks have written their parts. On an error nothing is left behind, and a
/// file that was there is untouched.
///
/// # Errors
/// With what the system said on any rank; when `path` is no regular file or a write-protected one, or another one for other
/// ranks; when a rank has another number of rows, one fails, or memory runs out.
pub fn write_container<T: Number>(
    communicator: &Communicator,
    path: &Path,
    ranges: &Ranges,
    rows: &Csr<T>,
) -> Result<(), Error> {
    let place = Place::new(communicator, ranges, rows)?;
    let last = communicator.rank() + 1 == communicator.ranks();
    let part = RowsToWrite::new(rows, place.all, place.before, last)?;
    let sums = communicator.all_gather(part.sums()?.as_flattened())?;
    let mut all: Vec<[PartSum; 3]> = with_capacity(sums.len())?;
    all.extend(sums.iter().map(|sums| [[sums[0], sums[1]], [sums[2], sums[3]], [sums[4], sums[5]]]));
    write_together(communicator, path, |file| part.write(file, &all, communicator.rank() == 0))
}

/// Writes the matrix of which this rank has these rows, with all columns, as a Matrix Market `coordinate general` file, which
/// is compressed where its name ends in `.gz`. Otherwise as [`write_container`]. The text is made twice: to find out how
/// long it is, and to be written.
///
/// # Errors
/// As for [`write_container`].
pub fn write_matrix_market<T: Number>(
    communicator: &Communicator,
    path: &Path,
    ranges: &Ranges,
    rows: &Csr<T>,
) -> Result<(), Error> {
    let place = Place::new(communicator, ranges, rows)?;
    let rank = communicator.rank();
    let part = LinesToWrite::new(rows, path, place.all, place.before[0], rank == 0);
    let bytes = part.bytes().map_err(|source| of_file(path, source));
    let lengths = communicator.all_gather(&[together(communicator, bytes)?])?;
    let at = lengths[..rank].iter().flatten().sum::<u64>();
    write_together(communicator, path, |file| part.write(file, at))
}

/// Where the rows of a rank are in the whole matrix.
struct Place {
    /// Rows and entries of all ranks.
    all: [u64; 2],
    /// Those of ranks before this one.
    before: [u64; 2],
}

impl Place {
    fn new<T: Number>(communicator: &Communicator, ranges: &Ranges, rows: &Csr<T>) -> Result<Self, Error> {
        let own = ranges.of(communicator.rank());
        ranges.check_length(communicator, "rows", rows.rows())?;
        communicator.agree("the number of columns", &rows.columns().to_string())?;
        let entries = communicator.all_gather(&[rows.nnz() as u64])?;
        let sum = |parts: &[Vec<u64>]| parts.iter().flatten().sum::<u64>();
        let before = [own.start, sum(&entries[..communicator.rank()])];
        Ok(Self { all: [ranges.total(), sum(&entries)], before })
    }
}

fn of_file(path: &Path, source: io::Error) -> Error {
    host::Error::File { path: path.into(), source }.into()
}

/// Lets each rank write to one file, which then takes the place of the one at `path`.
fn write_together(
    communicator: &Communicator,
    path: &Path,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> Result<(), Error> {
    communicator.agree("the file to write", &path.to_string_lossy())?;
    let (replacement, file) = begin(communicator, path)?;
    // What is on its way to the disk may still fail.
    let written = write(&file).and_then(|()| file.sync_all()).map_err(|source| of_file(path, source));
    together(communicator, written)?;
    let finished = replacement.map_or(Ok(()), |replacement| replacement.finish().map_err(Error::from));
    together(communicator, finished)
}

/// A new file, which rank 0 has made, as each rank has opened it.
fn begin(communicator: &Communicator, path: &Path) -> Result<(Option<Replacement>, File), Error> {
    let mut named = false;
    loop {
        let made = match communicator.rank() {
            0 => Replacement::new(path, named).map(Some).map_err(Error::from),
            _ => Ok(None),
        };
        let replacement = together(communicator, made)?;
        let address = replacement.as_ref().map(Replacement::address).unwrap_or_default();
        let identity = replacement.as_ref().map_or([0; 2], |replacement| identity(replacement.file()));
        let address = communicator.broadcast(0, address.as_os_str().as_encoded_bytes())?;
        let expected = communicator.broadcast(0, &identity)?;
        let opened = open(&address, &expected).map_err(|source| of_file(path, source));
        let failed = communicator.all_gather(&[u8::from(opened.is_err())])?;
        // A file without a name is not seen from other machines.
        if named || failed.iter().all(|failed| failed == &[0]) {
            return Ok((replacement, together(communicator, opened)?));
        }
        named = true;
    }
}

/// Opens the file at an address, which must be the one that is meant.
fn open(address: &[u8], expected: &[u64]) -> io::Result<File> {
    #[cfg(unix)]
    let address = PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(address.to_vec()));
    #[cfg(not(unix))]
    let address = PathBuf::from(String::from_utf8_lossy(address).into_owned());
    let file = File::options().write(true).open(address)?;
    match identity(&file) == expected {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::NotFound, "is another file on another machine")),
    }
}

/// What tells a file from others of a machine.
fn identity(file: &File) -> [u64; 2] {
    #[cfg(unix)]
    if let Ok(metadata) = file.metadata() {
        use std::os::unix::fs::MetadataExt;
        // On a file system that several machines see, each has its own number for it.
        return [0, metadata.ino()];
    }
    let _ = file;
    [0; 2]
}
