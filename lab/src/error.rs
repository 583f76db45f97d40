//! What can go wrong in the lab.

use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate. Each message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library refused or failed.
    #[error(transparent)]
    Library(#[from] host::Error),
    /// A file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file does not hold results.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The byte in the line, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A figure cannot be drawn.
    #[error("the figure {name}: {reason}")]
    Figure {
        /// Which one.
        name: String,
        /// Why not.
        reason: String,
    },
    /// There is nothing of a name that was asked for.
    #[error("there is no {what} '{name}' in the results; expected one of {expected}")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that are there.
        expected: String,
    },
    /// Results do not make a calibration.
    #[error("no calibration: {reason}")]
    Calibration {
        /// Why not.
        reason: String,
    },
    /// A measured run does not go with the matrix that it names.
    #[error("{run}: {reason}")]
    Run {
        /// Which run.
        run: String,
        /// Why not.
        reason: String,
    },
    /// A name that imported results cannot have.
    #[error("'{0}' cannot be the name of another library")]
    LibraryName(String),
}

/// What is wrong with a text, or a part of it, and at which line and column of it.
pub(crate) struct Fault {
    pub line: usize,
    pub column: usize,
    pub reason: String,
}

impl Fault {
    /// The error, in a file that is this text.
    pub fn in_file(self, path: &Path) -> Error {
        let Self { line, column, reason } = self;
        Error::Content { path: path.into(), line, column, reason }
    }
}

impl From<String> for Fault {
    /// A fault of the whole.
    fn from(reason: String) -> Self {
        Self { line: 1, column: 1, reason }
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        let message = error.to_string();
        let reason = message.rsplit_once(" at line ").map_or(&*message, |(reason, _)| reason);
        Self { line: error.line().max(1), column: error.column().max(1), reason: reason.into() }
    }
}
