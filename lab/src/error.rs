//! What can go wrong in the lab.

use std::io;
use std::path::PathBuf;

/// An error of this crate. Each message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library refused or failed.
    #[error(transparent)]
    Library(#[from] host::Error),
    /// A generator refused or failed.
    #[error(transparent)]
    Generator(#[from] synthetic::Error),
    /// A file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file holds no results.
    #[error("{}: {reason}", path.display())]
    Results {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        reason: String,
    },
}
