//! What can go wrong, and where.

use std::path::{Path, PathBuf};

/// An error of this crate. Each message is one line that says what was wrong, where, and, if it is not obvious, what to
/// do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arrays of a matrix contradict each other or the matrix's shape.
    #[error("{format} matrix: {reason}")]
    Structure {
        /// The storage format whose rule is broken.
        format: &'static str,
        /// Which rule is broken, and where.
        reason: String,
    },
    /// A number of rows, columns or stored entries exceeds the limit of this library.
    #[error("the {what} is {value}, and the limit is {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its value.
        value: u128,
        /// The largest supported value.
        limit: u128,
    },
    /// A format would store so much padding that the conversion was not started.
    #[error(
        "{format} would take {predicted} bytes, more than {limit} allowed ({times:.1} times the CSR arrays); \
         choose another format or raise the limit"
    )]
    Fill {
        /// The requested format.
        format: &'static str,
        /// Bytes it would need.
        predicted: u128,
        /// The limit in bytes.
        limit: u128,
        /// `predicted` divided by the bytes of the CSR arrays.
        times: f64,
    },
    /// Reproducible results were requested of a format that does not provide them.
    #[error("{what} is not reproducible: {instead}, or do not request the same bits every run")]
    NotReproducible {
        /// The requested format, and its purpose.
        what: String,
        /// A reproducible alternative.
        instead: &'static str,
    },
    /// A matrix was given new values, but its plan has no record of where they are stored.
    #[error("a plan in format {format} accepts new values only if it was built for updates: `updates` in its options")]
    NotUpdatable {
        /// The plan's format.
        format: &'static str,
    },
    /// A format has no kernel for an operation.
    #[error("format {format} has no kernel for {operation}")]
    Unsupported {
        /// The format.
        format: &'static str,
        /// The requested operation.
        operation: &'static str,
    },
    /// An operator lacks an operation.
    #[error("the operator has no {operation}")]
    Operator {
        /// The requested operation.
        operation: &'static str,
    },
    /// A pivot of a matrix is unsuitable for division.
    #[error("{operation}: the pivot of row {row} is {pivot}, expected {expected}")]
    Pivot {
        /// The operation on the matrix.
        operation: &'static str,
        /// The zero-based row.
        row: usize,
        /// The pivot.
        pivot: f64,
        /// What is accepted, and what may help.
        expected: &'static str,
    },
    /// A setting is invalid.
    #[error("{what} is {value}, expected {expected}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// Its value.
        value: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// No format can be chosen.
    #[error("none of {considered} formats can be chosen: the smallest takes {smallest} bytes{}", of_budget(*budget))]
    NoFormat {
        /// Number of formats considered.
        considered: usize,
        /// Bytes of the smallest of them.
        smallest: u128,
        /// The limit in bytes, if one was given.
        budget: Option<u64>,
    },
    /// A matrix and its transpose, which is stored in addition to it, are too large.
    #[error(
        "the matrix and its transpose take at least {bytes} bytes, but the budget is {budget}; the transpose is stored only for \
         reproducible products"
    )]
    TransposeMemory {
        /// Bytes of both.
        bytes: u128,
        /// The limit in bytes.
        budget: u64,
    },
    /// The lengths of two operands do not match.
    #[error("{what} has length {found}, expected {expected}")]
    Length {
        /// Which operand.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that the matrix requires.
        expected: usize,
    },
    /// A matrix that must be square is not.
    #[error("{what} has {rows} rows and {columns} columns, expected a square matrix")]
    NotSquare {
        /// Which matrix.
        what: &'static str,
        /// Its number of rows.
        rows: usize,
        /// Its number of columns.
        columns: usize,
    },
    /// A file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file's text violates its format.
    #[error("{}:{line}: {reason}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The one-based line.
        line: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A file's bytes violate their format.
    #[error("{}: {reason}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Values of a matrix are beyond the range of the type that was to store them.
    #[error(
        "{narrow_type} cannot hold {count} of the values: the first is {value} in row {row}, column {column}, beyond its \
         range"
    )]
    BeyondRange {
        /// The type.
        narrow_type: &'static str,
        /// Number of such values.
        count: usize,
        /// The row of the first.
        row: usize,
        /// Its column.
        column: u32,
        /// The first.
        value: String,
    },
    /// A matrix has too many distinct values for the type that was to store them.
    #[error("the matrix has more than {most} different value{}: store them in another type", if *most == 1 { "" } else { "s" })]
    DistinctValues {
        /// Maximum number of distinct values.
        most: usize,
    },
    /// An unknown name.
    #[error("unknown {what} '{name}': expected {expected}")]
    Name {
        /// What was named: a format or an executor.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The known names.
        expected: String,
    },
    /// A format's text has parameters that the format does not accept.
    #[error("format \"{format}\": {reason}")]
    Parameters {
        /// The text as given.
        format: String,
        /// What is wrong with it, and what is expected.
        reason: String,
    },
    /// An executor is not available on this machine.
    #[error("executor {executor} is not available: {reason}")]
    Unavailable {
        /// The executor.
        executor: &'static str,
        /// The reason.
        reason: String,
    },
    /// An allocation failed.
    #[error("out of memory: {bytes} bytes for {what}")]
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
        /// Number of bytes requested.
        bytes: u128,
    },
    /// The warp emulator caught a kernel in behavior that a GPU leaves undefined.
    #[error("emulator: {0}")]
    Emulator(Box<warp_emulator::Fault>),
    /// An array of another executor, which may still be working on it, was passed to one that cannot order its own work
    /// after that.
    #[error("{what}: an array belongs to another executor; take a copy of it with `Cuda::copy_of`")]
    Foreign {
        /// The operation on the array.
        what: String,
    },
    /// An operator of another crate failed.
    #[error(transparent)]
    Operation(Box<dyn std::error::Error + Send + Sync>),
    /// The CUDA driver returned an error.
    #[error("CUDA: {what}: {reason}")]
    Cuda {
        /// The request to the driver.
        what: String,
        /// The driver's answer.
        reason: String,
    },
}

// Boxed, because a fault is several times as large as other errors.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl From<warp_emulator::Fault> for Error {
    fn from(fault: warp_emulator::Fault) -> Self {
        Self::Emulator(Box::new(fault))
    }
}

fn of_budget(budget: Option<u64>) -> String {
    budget.map_or(String::new(), |budget| format!(", and the budget is {budget}"))
}

impl Error {
    #[doc(hidden)]
    pub fn structure(format: &'static str, reason: impl Into<String>) -> Self {
        Self::Structure { format, reason: reason.into() }
    }

    #[doc(hidden)]
    pub fn contents(path: &Path, reason: impl Into<String>) -> Self {
        Self::Contents { path: path.into(), reason: reason.into() }
    }
}

/// Checks that an operand has the length that the matrix requires.
#[doc(hidden)]
#[inline]
pub fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Length { what, found, expected }) }
}

/// Checks that an array has `count` elements from `first` on.
#[doc(hidden)]
pub fn check_part(first: usize, count: usize, length: usize) -> Result<(), Error> {
    let expected = first.saturating_add(count);
    if expected <= length { Ok(()) } else { Err(Error::Length { what: "the array", found: length, expected }) }
}

/// Checks that a matrix is square.
#[doc(hidden)]
pub fn check_square(what: &'static str, rows: usize, columns: usize) -> Result<(), Error> {
    if rows == columns { Ok(()) } else { Err(Error::NotSquare { what, rows, columns }) }
}
