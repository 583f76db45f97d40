//! The bytes of a file.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use host::error::Error;

use super::{ReadOptions, signature};

/// Number of bytes that determine the kind of a file.
const LOOKED_AT: usize = 1 << 16;

/// Bytes that are read or decompressed at a time.
pub(super) const STEP: usize = 1 << 20;

/// All bytes of a file: mapped if possible, otherwise copied (pipes, devices, empty files).
pub(super) enum Contents {
    Mapped(Mmap),
    Copied(Vec<u8>),
}

impl Contents {
    /// Opens and maps or reads a file.
    pub(super) fn of(path: &Path, options: &ReadOptions<'_>) -> Result<Self, Error> {
        Self::open(path, options).map_err(|source| Error::File { path: path.into(), source })
    }

    fn open(path: &Path, options: &ReadOptions<'_>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory, expected a file"));
        }
        // Files of length 0 cannot be mapped, and some that report this length (in /proc) have contents.
        if metadata.is_file() && metadata.len() > 0 {
            // SAFETY: The map is read-only and private to this value, which keeps it alive as long as any slice of it.
            // The system cannot guarantee that no other process writes to the file or truncates it meanwhile. If bytes
            // change, a reader reads other text: it checks each byte as it uses it, indexes within the slice, and never
            // takes the bytes for UTF-8 or for anything else with invalid values. A file that is truncated while it is
            // read ends the process with SIGBUS, as for every program that maps files; the readers' documentation says
            // so.
            if let Ok(map) = unsafe { Mmap::map(&file) } {
                return Ok(Self::Mapped(map));
            }
        }
        let mut bytes = Vec::new();
        append_step(&mut file, &mut bytes, LOOKED_AT)?;
        // A pipe or a device may be endless: an unknown kind is not read further, and is rejected for its beginning.
        if signature::is_known(&bytes) {
            let limit = options.streamed_limit();
            while append_step(&mut file, &mut bytes, STEP)? > 0 {
                if bytes.len() as u64 > limit {
                    let reason = format!("has no size and continues after {limit} bytes; save it to a file first");
                    return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
                }
            }
        }
        Ok(Self::Copied(bytes))
    }
}

/// Appends up to `step` bytes from a reader. Returns their number, 0 at the end.
pub(super) fn append_step(reader: &mut impl Read, bytes: &mut Vec<u8>, step: usize) -> io::Result<usize> {
    // Without spare capacity, `read_to_end` would abort when memory runs out. Grows by an eighth at a time, where a
    // vector by itself would double.
    if bytes.capacity() - bytes.len() < step {
        bytes.try_reserve_exact(step.max(bytes.len() / 8))?;
    }
    reader.take(step as u64).read_to_end(bytes)
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Copied(bytes) => bytes,
        }
    }
}
