//! The storage formats: their arrays, their invariants, and the ways from and to CSR.
//!
//! A format is one file here, one in `spmv`, and one name in [`Format`].
#![forbid(unsafe_code)]

mod coo;
mod csr;
mod ell;
mod offsets;
mod rows;

use std::fmt;
use std::str::FromStr;

pub use coo::Coo;
pub use csr::Csr;
pub use ell::Ell;
pub use offsets::Offsets;
pub use rows::parallel_rows;

use crate::error::Error;
use crate::memory::{HostMemory, Memory, Transfer};
use crate::real::Real;

/// The largest number of rows or columns. Indices are 32 bits wide; with the upper half to spare, a kernel can
/// step past the last row without wrapping, and a mark for padding is free.
pub const LARGEST_DIMENSION: usize = i32::MAX as usize;

/// Checks that a shape can be indexed.
pub(crate) fn check_shape(rows: usize, columns: usize) -> Result<(), Error> {
    for (what, value) in [("number of rows", rows), ("number of columns", columns)] {
        if value > LARGEST_DIMENSION {
            return Err(Error::TooLarge { what, value: value as u128, limit: LARGEST_DIMENSION as u128 });
        }
    }
    Ok(())
}

/// How a matrix is stored and multiplied: a storage format with the strategy that its kernel follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// CSR, one thread a row.
    CsrScalar,
    /// CSR, several lanes a row.
    CsrVector(Lanes),
    /// ELLPACK, one thread a row.
    Ell,
    /// Coordinates, segmented reduction.
    Coo,
}

/// How many lanes of a warp work on one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lanes {
    /// Chosen from the mean row length.
    Automatic,
    /// 2 lanes.
    L2,
    /// 4 lanes.
    L4,
    /// 8 lanes.
    L8,
    /// 16 lanes.
    L16,
    /// The whole warp.
    L32,
}

impl Format {
    /// Every format. What is not here, no test and no command sees.
    pub const ALL: &[Self] = &[
        Self::CsrScalar,
        Self::CsrVector(Lanes::Automatic),
        Self::CsrVector(Lanes::L2),
        Self::CsrVector(Lanes::L4),
        Self::CsrVector(Lanes::L8),
        Self::CsrVector(Lanes::L16),
        Self::CsrVector(Lanes::L32),
        Self::Ell,
        Self::Coo,
    ];

    /// The name, as [`FromStr`] takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::CsrScalar => "csr-scalar",
            Self::CsrVector(Lanes::Automatic) => "csr-vector",
            Self::CsrVector(Lanes::L2) => "csr-vector-2",
            Self::CsrVector(Lanes::L4) => "csr-vector-4",
            Self::CsrVector(Lanes::L8) => "csr-vector-8",
            Self::CsrVector(Lanes::L16) => "csr-vector-16",
            Self::CsrVector(Lanes::L32) => "csr-vector-32",
            Self::Ell => "ell",
            Self::Coo => "coo",
        }
    }

    /// The name of the storage format alone: formats that share it share their arrays.
    pub fn storage(self) -> &'static str {
        match self {
            Self::CsrScalar | Self::CsrVector(_) => "CSR",
            Self::Ell => "ELL",
            Self::Coo => "COO",
        }
    }

    /// Bytes that the arrays of `matrix` take in this format with values of `V`. Nothing is converted; O(rows).
    pub fn bytes<T: Real, V: Real>(self, matrix: &Csr<T>) -> u128 {
        match self {
            Self::CsrScalar | Self::CsrVector(_) => matrix.bytes_with::<V>(),
            Self::Ell => ell::ell_bytes::<V>(matrix.rows(), matrix.longest_row()),
            Self::Coo => coo::coo_bytes::<V>(matrix.nnz()),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.iter().copied().find(|format| format.name() == name).ok_or_else(|| Error::Name {
            what: "format",
            name: name.into(),
            expected: Self::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", "),
        })
    }
}

/// How much a conversion may blow a matrix up before it is refused.
#[derive(Clone, Copy, Debug)]
pub struct FillLimit {
    /// Largest size of the new arrays, as a multiple of those of CSR. Up to 1 MiB is always allowed.
    pub times_csr: f64,
}

/// What any conversion may take: the padding of a small matrix harms nobody.
const ALWAYS_ALLOWED: u128 = 1 << 20;

impl Default for FillLimit {
    fn default() -> Self {
        Self { times_csr: 10.0 }
    }
}

impl FillLimit {
    /// Whether a matrix of so many bytes in CSR may take `predicted` bytes in another format.
    pub fn allows(self, predicted: u128, csr: u128) -> bool {
        predicted <= self.bytes(csr)
    }

    fn bytes(self, csr: u128) -> u128 {
        ((csr as f64 * self.times_csr) as u128).max(ALWAYS_ALLOWED)
    }

    fn check(self, format: &'static str, predicted: u128, csr: u128) -> Result<(), Error> {
        if self.allows(predicted, csr) {
            return Ok(());
        }
        Err(Error::Fill { format, predicted, limit: self.bytes(csr), times: predicted as f64 / csr as f64 })
    }
}

/// A matrix in any of the storage formats.
pub enum Matrix<T: Real, M: Memory = HostMemory> {
    /// Compressed sparse rows.
    Csr(Csr<T, M>),
    /// ELLPACK.
    Ell(Ell<T, M>),
    /// Coordinates.
    Coo(Coo<T, M>),
}

/// Runs the same expression on whichever storage format it is.
macro_rules! each {
    ($matrix:expr, $inner:ident => $result:expr) => {
        match $matrix {
            Matrix::Csr($inner) => $result,
            Matrix::Ell($inner) => $result,
            Matrix::Coo($inner) => $result,
        }
    };
}

impl<T: Real, M: Memory> Matrix<T, M> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        each!(self, matrix => matrix.rows())
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        each!(self, matrix => matrix.columns())
    }

    /// Number of stored entries, padding not counted.
    pub fn nnz(&self) -> usize {
        each!(self, matrix => matrix.nnz())
    }

    /// Bytes of the arrays, padding included.
    pub fn bytes(&self) -> u128 {
        each!(self, matrix => matrix.bytes())
    }

    /// Moves the arrays to another memory.
    pub(crate) fn transfer<N: Memory>(self, to: &impl Transfer<M, N>) -> Result<Matrix<T, N>, Error> {
        Ok(match self {
            Self::Csr(matrix) => Matrix::Csr(matrix.transfer(to)?),
            Self::Ell(matrix) => Matrix::Ell(matrix.transfer(to)?),
            Self::Coo(matrix) => Matrix::Coo(matrix.transfer(to)?),
        })
    }
}

impl<T: Real> Matrix<T> {
    /// `matrix` in the storage of `format`.
    ///
    /// # Errors
    /// When that would take more than `limit` allows.
    pub fn try_from_csr(matrix: Csr<T>, format: Format, limit: FillLimit) -> Result<Self, Error> {
        Ok(match format {
            Format::CsrScalar | Format::CsrVector(_) => Self::Csr(matrix),
            Format::Ell => Self::Ell(Ell::try_from_csr(&matrix, limit)?),
            Format::Coo => Self::Coo(matrix.into()),
        })
    }

    /// Calls `visit` with row, column and value of each entry; a row's entries in the order that CSR has them.
    pub(crate) fn for_each_entry(&self, mut visit: impl FnMut(usize, u32, T)) {
        match self {
            Self::Csr(matrix) => {
                (0..matrix.rows())
                    .for_each(|row| matrix.row(row).for_each(|(column, value)| visit(row, column, value)));
            }
            Self::Ell(matrix) => {
                (0..matrix.rows())
                    .for_each(|row| matrix.row(row).for_each(|(column, value)| visit(row, column, value)));
            }
            Self::Coo(matrix) => {
                let columns_and_values = matrix.column_indices().iter().zip(matrix.values());
                for (&row, (&column, &value)) in matrix.row_indices().iter().zip(columns_and_values) {
                    visit(row as usize, column, value);
                }
            }
        }
    }

    /// The same matrix in CSR.
    pub fn into_csr(self) -> Csr<T> {
        match self {
            Self::Csr(matrix) => matrix,
            Self::Ell(matrix) => matrix.to_csr(),
            Self::Coo(matrix) => matrix.into_csr(),
        }
    }
}
