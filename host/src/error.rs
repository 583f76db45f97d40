//! What can go wrong, and where.

use std::path::{Path, PathBuf};

/// An error of this crate. Each message is one line and says what was wrong, where, and, where it is not
/// plain, what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arrays of a matrix contradict each other or the matrix's shape.
    #[error("{format} matrix: {reason}")]
    Structure {
        /// The storage format whose rule is broken.
        format: &'static str,
        /// Which rule, and at which place.
        reason: String,
    },
    /// A number of rows, columns or stored entries is beyond what this library can index.
    #[error("the {what} is {value}, and the limit is {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its value.
        value: u128,
        /// The largest value that works.
        limit: u128,
    },
    /// A format would store so much padding that the conversion was not begun.
    #[error(
        "{format} would take {predicted} bytes, more than {limit} allowed ({times:.1} times the CSR arrays); \
         choose another format or raise the limit"
    )]
    Fill {
        /// The format that was asked for.
        format: &'static str,
        /// Bytes it would need.
        predicted: u128,
        /// Bytes it may take.
        limit: u128,
        /// `predicted` over the bytes of the CSR arrays.
        times: f64,
    },
    /// The same bits every run were demanded of a format that does not give them.
    #[error("{what} is not reproducible: {instead}, or do not ask for the same bits every run")]
    NotReproducible {
        /// The format that was asked for, and for what.
        what: String,
        /// What gives the same bits.
        instead: &'static str,
    },
    /// A matrix was to get new values, and its plan does not know where they belong.
    #[error("a plan in format {format} gets new values only if it was made for updates: `updates` in its options")]
    NotUpdatable {
        /// The plan's format.
        format: &'static str,
    },
    /// A format has no kernel for an operation.
    #[error("format {format} has no kernel for {operation}")]
    Unsupported {
        /// The format.
        format: &'static str,
        /// What was asked of it.
        operation: &'static str,
    },
    /// An operator cannot do something.
    #[error("the operator has no {operation}")]
    Operator {
        /// What was asked of it.
        operation: &'static str,
    },
    /// A matrix has a pivot that nothing can be divided by.
    #[error("{operation}: the pivot of row {row} is {pivot}, expected {expected}")]
    Pivot {
        /// What was to be done with the matrix.
        operation: &'static str,
        /// The row, counted from 0.
        row: usize,
        /// The pivot.
        pivot: f64,
        /// What it can be, and what may help.
        expected: &'static str,
    },
    /// A setting means nothing.
    #[error("{what} is {value}, expected {expected}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it can be.
        expected: &'static str,
    },
    /// No format can be chosen.
    #[error("none of {considered} formats can be chosen: the smallest takes {smallest} bytes{}", of_budget(*budget))]
    NoFormat {
        /// Formats that were considered.
        considered: usize,
        /// Bytes of the smallest of them.
        smallest: u128,
        /// Bytes that it may take, where a limit was given.
        budget: Option<u64>,
    },
    /// A matrix and its transpose, which is stored besides it, are too large.
    #[error(
        "the matrix and its transpose take {bytes} bytes or more, and the budget is {budget}; without the same bits every \
         run the transpose is not stored"
    )]
    TransposeMemory {
        /// Bytes of both.
        bytes: u128,
        /// Bytes that they may take.
        budget: u64,
    },
    /// Two operands do not fit each other.
    #[error("{what} has length {found}, expected {expected}")]
    Length {
        /// Which operand.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that the matrix asks for.
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
        /// What the system said.
        source: std::io::Error,
    },
    /// A file's text is not what its format demands.
    #[error("{}:{line}: {reason}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A file's bytes are not what its format demands.
    #[error("{}: {reason}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Values of a matrix are beyond the range of the type that they were to be stored in.
    #[error(
        "{narrow_type} cannot hold {count} of the values: the first is {value} in row {row}, column {column}, beyond its \
         range"
    )]
    BeyondRange {
        /// The type.
        narrow_type: &'static str,
        /// How many values.
        count: usize,
        /// The row of the first.
        row: usize,
        /// Its column.
        column: u32,
        /// The first.
        value: String,
    },
    /// The values of a matrix differ too much for the type that they were to be stored in.
    #[error("the matrix has more than {most} different value{}: store them in another type", if *most == 1 { "" } else { "s" })]
    DistinctValues {
        /// How many may differ.
        most: usize,
    },
    /// A name that is none of the known ones.
    #[error("unknown {what} '{name}': expected {expected}")]
    Name {
        /// What was named: a format, an executor.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The names that exist.
        expected: String,
    },
    /// The text of a format has parameters that the format does not take.
    #[error("format \"{format}\": {reason}")]
    Parameters {
        /// The text as given.
        format: String,
        /// What is wrong with it, and what is expected.
        reason: String,
    },
    /// An executor cannot be had on this machine.
    #[error("executor {executor} is not available: {reason}")]
    Unavailable {
        /// The executor.
        executor: &'static str,
        /// Why.
        reason: String,
    },
    /// An allocation failed.
    #[error("out of memory: {bytes} bytes for {what}")]
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
        /// How much was asked for.
        bytes: u128,
    },
    /// The warp emulator caught a kernel doing something that a GPU does not define.
    #[error("emulator: {0}")]
    Emulator(Box<warp_emulator::Fault>),
    /// An array of another executor, which may still be working on it, was given to one that cannot order its own work
    /// after that.
    #[error("{what}: an array belongs to another executor; take a copy of it with `Cuda::copy_of`")]
    Foreign {
        /// What was to be done with the array.
        what: String,
    },
    /// An operator of another crate failed.
    #[error(transparent)]
    Operation(Box<dyn std::error::Error + Send + Sync>),
    /// The CUDA driver refused something.
    #[error("CUDA: {what}: {reason}")]
    Cuda {
        /// What was asked of the driver.
        what: String,
        /// What it answered.
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

/// Checks that an operand has the length that the matrix asks for.
#[doc(hidden)]
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
