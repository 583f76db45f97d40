//! Errors of the lab.

use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate. Each message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library rejected the input, or failed.
    #[error(transparent)]
    Library(#[from] host::Error),
    /// A file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file does not hold results.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, starting at 1.
        line: usize,
        /// The byte in the line, starting at 1.
        column: usize,
        /// The reason.
        reason: String,
    },
    /// A figure cannot be drawn.
    #[error("the figure {name}: {reason}")]
    Figure {
        /// The figure.
        name: String,
        /// The reason.
        reason: String,
    },
    /// A requested name does not exist.
    #[error("unknown {what} '{name}' in the results; expected one of {expected}")]
    Unknown {
        /// The kind of the name.
        what: &'static str,
        /// The name.
        name: String,
        /// The existing names.
        expected: String,
    },
    /// Results are not sufficient for a calibration.
    #[error("no calibration: {reason}")]
    Calibration {
        /// The reason.
        reason: String,
    },
    /// A measured run does not match the matrix that it names.
    #[error("{run}: {reason}")]
    Run {
        /// The run.
        run: String,
        /// The reason.
        reason: String,
    },
    /// A name that imported results cannot have.
    #[error("'{0}' cannot be the name of another library")]
    LibraryName(String),
}

/// An error in a text, with its line and column.
pub(crate) struct Fault {
    pub line: usize,
    pub column: usize,
    pub reason: String,
}

impl Fault {
    /// Returns the error for a file with this text.
    pub fn in_file(self, path: &Path) -> Error {
        let Self { line, column, reason } = self;
        Error::Content { path: path.into(), line, column, reason }
    }
}

impl From<String> for Fault {
    /// Creates a fault of the whole text.
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
