//! The storage formats: their arrays, their invariants, and the ways from and to CSR.
//!
//! A format is one file here, one in `spmv`, and one name in [`Format`].
#![forbid(unsafe_code)]

mod bcsr;
mod bellpack;
mod block;
mod cmrs;
pub mod cmrs_model;
mod cmrs_padded;
mod coo;
mod csr;
mod dia;
mod diagonals;
mod ell;
mod hyb;
mod offsets;
mod rows;
mod sell_p;

use std::fmt;
use std::str::FromStr;

pub use bcsr::Bcsr;
pub use bellpack::{Bellpack, PartitionRows};
pub(crate) use block::BlockVisitor;
pub use block::{BlockSize, fill_ratios};
pub use cmrs::{Cmrs, StripHeight, StripOrder};
pub use cmrs_padded::CmrsPadded;
pub use coo::Coo;
pub use csr::Csr;
pub use dia::Dia;
pub use ell::Ell;
pub use hyb::{Fraction, Hyb, HybSplit};
pub use offsets::Offsets;
pub use rows::parallel_rows;
pub use sell_p::{SellP, Slicing};

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
    /// CSR, equal shares of the entries for all warps.
    CsrLoadBalanced,
    /// CSR, equal shares of rows and entries for all warps.
    CsrMergePath,
    /// CSR, one thread a row or load-balanced, as [`resolve`](Format::resolve) decides.
    CsrAutomatic,
    /// Diagonals, one thread a row.
    Dia,
    /// ELLPACK, one thread a row.
    Ell,
    /// ELLPACK, several threads a row where rows are few and long.
    EllSubwarp,
    /// Sliced ELLPACK, [`Slicing::UNSORTED`], one thread a row.
    SellP,
    /// Sliced ELLPACK, [`Slicing::SORTED`], one thread a row.
    SellPSorted,
    /// CSR of dense blocks, several lanes a block row.
    Bcsr(BlockSize),
    /// Sorted and partitioned ELLPACK of dense blocks, one thread a block row.
    Bellpack(BlockSize),
    /// Coordinates, segmented reduction.
    Coo,
    /// Coordinates, segmented reduction with atomic additions. Not [reproducible](Format::reproducible).
    CooAtomic,
    /// ELLPACK for the first entries of each row, coordinates for the rest.
    Hyb(HybSplit),
    /// Compressed multirow storage, one warp a strip of rows; the entries of a strip are sorted by column.
    Cmrs(StripHeight),
    /// Compressed multirow storage with padding, for a kernel with fewer partial sums.
    CmrsPadded,
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

/// With more rows than this, [`Format::CsrAutomatic`] is load-balanced (Anzt et al. 2020, Algorithm 2).
const BALANCED_ROWS: usize = 1_000_000;

/// With a row of more entries than this, [`Format::CsrAutomatic`] is load-balanced.
const BALANCED_ROW_LENGTH: usize = 64;

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
        Self::CsrLoadBalanced,
        Self::CsrMergePath,
        Self::CsrAutomatic,
        Self::Dia,
        Self::Ell,
        Self::EllSubwarp,
        Self::SellP,
        Self::SellPSorted,
        Self::Bcsr(BlockSize::B1x2),
        Self::Bcsr(BlockSize::B2x2),
        Self::Bcsr(BlockSize::B2x3),
        Self::Bcsr(BlockSize::B3x2),
        Self::Bcsr(BlockSize::B3x3),
        Self::Bcsr(BlockSize::B3x4),
        Self::Bcsr(BlockSize::B4x4),
        Self::Bcsr(BlockSize::B5x5),
        Self::Bcsr(BlockSize::B6x6),
        Self::Bcsr(BlockSize::B7x7),
        Self::Bcsr(BlockSize::B8x8),
        Self::Bellpack(BlockSize::B1x2),
        Self::Bellpack(BlockSize::B2x2),
        Self::Bellpack(BlockSize::B2x3),
        Self::Bellpack(BlockSize::B3x2),
        Self::Bellpack(BlockSize::B3x3),
        Self::Bellpack(BlockSize::B3x4),
        Self::Bellpack(BlockSize::B4x4),
        Self::Bellpack(BlockSize::B5x5),
        Self::Bellpack(BlockSize::B6x6),
        Self::Bellpack(BlockSize::B7x7),
        Self::Bellpack(BlockSize::B8x8),
        Self::Coo,
        Self::CooAtomic,
        Self::Hyb(HybSplit::SmallestStorage),
        Self::Hyb(HybSplit::BellGarland),
        Self::Hyb(HybSplit::COLUMN_LIMIT),
        Self::Hyb(HybSplit::IMBALANCE_LIMIT),
        Self::Hyb(HybSplit::IMBALANCE_BOUNDED),
        Self::Hyb(HybSplit::Automatic),
        Self::Cmrs(StripHeight::Automatic),
        Self::Cmrs(StripHeight::H4),
        Self::Cmrs(StripHeight::H6),
        Self::Cmrs(StripHeight::H8),
        Self::Cmrs(StripHeight::H12),
        Self::Cmrs(StripHeight::H16),
        Self::CmrsPadded,
    ];

    /// The name, as [`FromStr`] takes it; parameters that a name does not tell are the default ones there.
    pub fn name(self) -> &'static str {
        match self {
            Self::CsrScalar => "csr-scalar",
            Self::CsrVector(Lanes::Automatic) => "csr-vector",
            Self::CsrVector(Lanes::L2) => "csr-vector-2",
            Self::CsrVector(Lanes::L4) => "csr-vector-4",
            Self::CsrVector(Lanes::L8) => "csr-vector-8",
            Self::CsrVector(Lanes::L16) => "csr-vector-16",
            Self::CsrVector(Lanes::L32) => "csr-vector-32",
            Self::CsrLoadBalanced => "csr-load-balanced",
            Self::CsrMergePath => "csr-merge-path",
            Self::CsrAutomatic => "csr-automatic",
            Self::Dia => "dia",
            Self::Ell => "ell",
            Self::EllSubwarp => "ell-subwarp",
            Self::SellP => "sell-p",
            Self::SellPSorted => "sell-p-sorted",
            Self::Bcsr(size) => size.names().bcsr,
            Self::Bellpack(size) => size.names().bellpack,
            Self::Coo => "coo",
            Self::CooAtomic => "coo-atomic",
            Self::Hyb(HybSplit::SmallestStorage) => "hyb",
            Self::Hyb(HybSplit::BellGarland) => "hyb-bell-garland",
            Self::Hyb(HybSplit::ColumnLimit(_)) => "hyb-column-limit",
            Self::Hyb(HybSplit::ImbalanceLimit(_)) => "hyb-imbalance-limit",
            Self::Hyb(HybSplit::ImbalanceBounded { .. }) => "hyb-imbalance-bounded",
            Self::Hyb(HybSplit::Automatic) => "hyb-automatic",
            Self::Cmrs(StripHeight::Automatic) => "cmrs",
            Self::Cmrs(StripHeight::H4) => "cmrs-4",
            Self::Cmrs(StripHeight::H6) => "cmrs-6",
            Self::Cmrs(StripHeight::H8) => "cmrs-8",
            Self::Cmrs(StripHeight::H12) => "cmrs-12",
            Self::Cmrs(StripHeight::H16) => "cmrs-16",
            Self::CmrsPadded => "cmrs-padded",
        }
    }

    /// The name of the storage format alone: formats that share it share their arrays.
    pub fn storage(self) -> &'static str {
        match self {
            Self::CsrScalar | Self::CsrVector(_) | Self::CsrLoadBalanced | Self::CsrMergePath | Self::CsrAutomatic => {
                "CSR"
            }
            Self::Dia => "DIA",
            Self::Ell | Self::EllSubwarp => "ELL",
            Self::SellP => "SELL-P",
            Self::SellPSorted => "SELL-P, sorted",
            Self::Bcsr(size) => size.names().bcsr_storage,
            Self::Bellpack(size) => size.names().bellpack_storage,
            Self::Coo | Self::CooAtomic => "COO",
            Self::Hyb(HybSplit::SmallestStorage) => "HYB",
            Self::Hyb(HybSplit::BellGarland) => "HYB, Bell-Garland",
            Self::Hyb(HybSplit::ColumnLimit(_)) => "HYB, column limit",
            Self::Hyb(HybSplit::ImbalanceLimit(_)) => "HYB, imbalance limit",
            Self::Hyb(HybSplit::ImbalanceBounded { .. }) => "HYB, imbalance-bounded",
            Self::Hyb(HybSplit::Automatic) => "HYB, automatic",
            Self::Cmrs(StripHeight::Automatic) => "CMRS",
            Self::Cmrs(StripHeight::H4) => "CMRS, 4 rows",
            Self::Cmrs(StripHeight::H6) => "CMRS, 6 rows",
            Self::Cmrs(StripHeight::H8) => "CMRS, 8 rows",
            Self::Cmrs(StripHeight::H12) => "CMRS, 12 rows",
            Self::Cmrs(StripHeight::H16) => "CMRS, 16 rows",
            Self::CmrsPadded => "CMRS, padded",
        }
    }

    /// Whether a place of the format stands for a row and a column, so that it can hold one entry only: the conversion
    /// then sums duplicates in their order, and what comes back has sorted rows.
    pub fn sums_duplicates(self) -> bool {
        matches!(self, Self::Dia | Self::Bcsr(_) | Self::Bellpack(_))
    }

    /// Whether the entries of a row come back to CSR sorted by column, and those of one column in the order that they
    /// had. With any other format they keep the order of CSR.
    pub fn sorts_rows(self) -> bool {
        self.sums_duplicates() || matches!(self, Self::Cmrs(_))
    }

    /// Whether the same call gives the same bits every time on the same device, on every executor.
    pub fn reproducible(self) -> bool {
        // The tests hold every format to its label, under many schedules of the emulator.
        !matches!(self, Self::CooAtomic)
    }

    /// The format that this one stands for with `matrix`: [`CsrAutomatic`](Self::CsrAutomatic) is
    /// [`CsrLoadBalanced`](Self::CsrLoadBalanced) for more than 10^6 rows or a row of more than 64 entries, otherwise
    /// [`CsrScalar`](Self::CsrScalar) (Anzt et al. 2020, Algorithm 2); any other format is itself. O(rows).
    pub fn resolve<T: Real>(self, matrix: &Csr<T>) -> Self {
        match self {
            Self::CsrAutomatic if matrix.rows() > BALANCED_ROWS || matrix.longest_row() > BALANCED_ROW_LENGTH => {
                Self::CsrLoadBalanced
            }
            Self::CsrAutomatic => Self::CsrScalar,
            format => format,
        }
    }

    /// Bytes that the arrays of `matrix` take in this format with values of `V`. Nothing is converted. O(rows), but
    /// for DIA O(nnz + rows + columns), and with blocks O(nnz log(longest row)).
    pub fn bytes<T: Real, V: Real>(self, matrix: &Csr<T>) -> u128 {
        match self {
            Self::CsrScalar | Self::CsrVector(_) | Self::CsrLoadBalanced | Self::CsrMergePath | Self::CsrAutomatic => {
                matrix.bytes_with::<V>()
            }
            Self::Dia => dia::predicted_bytes::<T, V>(matrix),
            Self::Ell | Self::EllSubwarp => ell::ell_bytes::<V>(matrix.rows(), matrix.longest_row()),
            Self::SellP => sell_p::predicted_bytes::<T, V>(matrix, Slicing::UNSORTED),
            Self::SellPSorted => sell_p::predicted_bytes::<T, V>(matrix, Slicing::SORTED),
            Self::Bcsr(size) => bcsr::bcsr_bytes::<T, V>(matrix, size),
            Self::Bellpack(size) => bellpack::bellpack_bytes::<T, V>(matrix, size),
            Self::Coo | Self::CooAtomic => coo::coo_bytes::<V>(matrix.nnz()),
            Self::Hyb(split) => hyb::hyb_bytes::<T, V>(matrix, split),
            Self::Cmrs(height) => {
                let height = height.rows::<V>(matrix.rows(), matrix.nnz());
                cmrs::cmrs_bytes::<V>(matrix.rows(), matrix.nnz(), height)
            }
            Self::CmrsPadded => cmrs_padded::padded_bytes::<T, V>(matrix),
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
    /// Diagonals.
    Dia(Dia<T, M>),
    /// ELLPACK.
    Ell(Ell<T, M>),
    /// Sliced ELLPACK.
    SellP(SellP<T, M>),
    /// CSR of dense blocks.
    Bcsr(Bcsr<T, M>),
    /// ELLPACK of dense blocks.
    Bellpack(Bellpack<T, M>),
    /// Coordinates.
    Coo(Coo<T, M>),
    /// ELLPACK and coordinates.
    Hyb(Hyb<T, M>),
    /// Compressed multirow storage.
    Cmrs(Cmrs<T, M>),
    /// Compressed multirow storage with padding.
    CmrsPadded(CmrsPadded<T, M>),
}

/// Runs the same expression on whichever storage format it is.
macro_rules! each {
    ($matrix:expr, $inner:ident => $result:expr) => {
        match $matrix {
            Matrix::Csr($inner) => $result,
            Matrix::Dia($inner) => $result,
            Matrix::Ell($inner) => $result,
            Matrix::SellP($inner) => $result,
            Matrix::Bcsr($inner) => $result,
            Matrix::Bellpack($inner) => $result,
            Matrix::Coo($inner) => $result,
            Matrix::Hyb($inner) => $result,
            Matrix::Cmrs($inner) => $result,
            Matrix::CmrsPadded($inner) => $result,
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
            Self::Dia(matrix) => Matrix::Dia(matrix.transfer(to)?),
            Self::Ell(matrix) => Matrix::Ell(matrix.transfer(to)?),
            Self::SellP(matrix) => Matrix::SellP(matrix.transfer(to)?),
            Self::Bcsr(matrix) => Matrix::Bcsr(matrix.transfer(to)?),
            Self::Bellpack(matrix) => Matrix::Bellpack(matrix.transfer(to)?),
            Self::Coo(matrix) => Matrix::Coo(matrix.transfer(to)?),
            Self::Hyb(matrix) => Matrix::Hyb(matrix.transfer(to)?),
            Self::Cmrs(matrix) => Matrix::Cmrs(matrix.transfer(to)?),
            Self::CmrsPadded(matrix) => Matrix::CmrsPadded(matrix.transfer(to)?),
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
            Format::CsrScalar
            | Format::CsrVector(_)
            | Format::CsrLoadBalanced
            | Format::CsrMergePath
            | Format::CsrAutomatic => Self::Csr(matrix),
            Format::Dia => Self::Dia(Dia::try_from_csr(&matrix, limit)?),
            Format::Ell | Format::EllSubwarp => Self::Ell(Ell::try_from_csr(&matrix, limit)?),
            Format::SellP => Self::SellP(SellP::try_from_csr(&matrix, Slicing::UNSORTED, limit)?),
            Format::SellPSorted => Self::SellP(SellP::try_from_csr(&matrix, Slicing::SORTED, limit)?),
            Format::Bcsr(size) => Self::Bcsr(Bcsr::try_from_csr(&matrix, size, limit)?),
            Format::Bellpack(size) => {
                Self::Bellpack(Bellpack::try_from_csr(&matrix, size, PartitionRows::default(), limit)?)
            }
            Format::Coo | Format::CooAtomic => Self::Coo(matrix.into()),
            Format::Hyb(split) => Self::Hyb(Hyb::try_from_csr(&matrix, split, limit)?),
            Format::Cmrs(height) => Self::Cmrs(Cmrs::try_from_csr(matrix, height, StripOrder::default())?),
            Format::CmrsPadded => Self::CmrsPadded(CmrsPadded::try_from_csr(&matrix, limit)?),
        })
    }

    /// Calls `visit` with row, column and value of each entry; a row's entries in the order that
    /// [`into_csr`](Self::into_csr) gives them.
    pub(crate) fn for_each_entry(&self, mut visit: impl FnMut(usize, u32, T)) {
        match self {
            Self::Csr(matrix) => {
                (0..matrix.rows())
                    .for_each(|row| matrix.row(row).for_each(|(column, value)| visit(row, column, value)));
            }
            Self::Dia(matrix) => {
                (0..matrix.rows())
                    .for_each(|row| matrix.row(row).for_each(|(column, value)| visit(row, column, value)));
            }
            Self::Ell(matrix) => matrix.for_each_entry(&mut visit),
            Self::SellP(matrix) => (0..matrix.rows()).for_each(|position| {
                let row = matrix.row_at(position);
                matrix.entries_at(position).for_each(|(column, value)| visit(row, column, value));
            }),
            Self::Bcsr(matrix) => {
                (0..matrix.rows())
                    .for_each(|row| matrix.row(row).for_each(|(column, value)| visit(row, column, value)));
            }
            Self::Bellpack(matrix) => matrix.for_each_entry(&mut visit),
            Self::Coo(matrix) => matrix.for_each_entry(&mut visit),
            Self::Hyb(matrix) => matrix.for_each_entry(&mut visit),
            Self::Cmrs(matrix) => matrix.for_each_entry(&mut visit),
            Self::CmrsPadded(matrix) => matrix.for_each_entry(&mut visit),
        }
    }

    /// The same matrix in CSR.
    pub fn into_csr(self) -> Csr<T> {
        match self {
            Self::Csr(matrix) => matrix,
            Self::Dia(matrix) => matrix.to_csr(),
            Self::Ell(matrix) => matrix.to_csr(),
            Self::SellP(matrix) => matrix.to_csr(),
            Self::Bcsr(matrix) => matrix.to_csr(),
            Self::Bellpack(matrix) => matrix.to_csr(),
            Self::Coo(matrix) => matrix.into_csr(),
            Self::Hyb(matrix) => matrix.into_csr(),
            Self::Cmrs(matrix) => matrix.into_csr(),
            Self::CmrsPadded(matrix) => matrix.to_csr(),
        }
    }
}
