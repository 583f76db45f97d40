//! Files written by all ranks together, each its part.

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

/// Writes a matrix as a container in CSR, with the same bytes as a single writer: `rows` are the rows of this rank, with
/// all columns. All ranks must call it; each writes its own part of the file at its offset.
///
/// The file appears under its name only when all ranks have written their parts. On an error nothing is left behind, and an
/// existing file is unchanged.
///
/// # Errors
/// With the system's error on any rank; when `path` is not a regular file, is write-protected, or differs between ranks;
/// when a rank has the wrong number of rows, one fails, or memory runs out.
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

/// Writes a matrix as a Matrix Market `coordinate general` file, compressed if its name ends in `.gz`: `rows` are the rows
/// of this rank, with all columns. Otherwise like [`write_container`]. The text is generated twice: once to find its
/// length, and once to write it.
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

/// The position of a rank's rows in the whole matrix.
struct Place {
    /// Numbers of rows and entries on all ranks.
    all: [u64; 2],
    /// Numbers of rows and entries on the ranks before this one.
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

/// Lets each rank write to one file, which then replaces the one at `path`.
fn write_together(
    communicator: &Communicator,
    path: &Path,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> Result<(), Error> {
    communicator.agree("the file to write", &path.to_string_lossy())?;
    let (replacement, file) = begin(communicator, path)?;
    // Data in transit to the disk may still fail to be written.
    let written = write(&file).and_then(|()| file.sync_all()).map_err(|source| of_file(path, source));
    together(communicator, written)?;
    let finished = replacement.map_or(Ok(()), |replacement| replacement.finish().map_err(Error::from));
    together(communicator, finished)
}

/// Returns a new file made by rank 0, opened on each rank.
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
        // A file without a name is not visible on other machines.
        if named || failed.iter().all(|failed| failed == &[0]) {
            return Ok((replacement, together(communicator, opened)?));
        }
        named = true;
    }
}

/// Opens the file at an address, which must be the expected one.
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

/// Identifies a file among those of a machine.
fn identity(file: &File) -> [u64; 2] {
    #[cfg(unix)]
    if let Ok(metadata) = file.metadata() {
        use std::os::unix::fs::MetadataExt;
        // On a file system shared by several machines, each has its own device number.
        return [0, metadata.ino()];
    }
    let _ = file;
    [0; 2]
}
