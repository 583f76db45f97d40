//! Every format that there is, by name.

use std::fmt;
use std::str::FromStr;

use super::{BlockSize, Csr, HybSplit, Slicing, StripHeight};
use super::{bcsr, bellpack, cmrs, cmrs_padded, coo, coo_16, dia, ell, hyb, sell_16, sell_p};
use crate::error::Error;
use crate::real::Real;

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
    /// CSR, equal tiles of rows and entries for all blocks, several lanes a row.
    CsrTiled,
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
    /// Sliced ELLPACK whose columns are 16-bit offsets, one warp a slice of 64 rows.
    Sell16,
    /// CSR of dense blocks, several lanes a block row.
    Bcsr(BlockSize),
    /// Sorted and partitioned ELLPACK of dense blocks, one thread a block row.
    Bellpack(BlockSize),
    /// Coordinates, segmented reduction.
    Coo,
    /// Coordinates, segmented reduction with atomic additions. Not [reproducible](Format::reproducible).
    CooAtomic,
    /// Coordinates of 16 bits in tiles, all products before the sums: for large matrices whose columns have no order. Where
    /// there are many columns, a block needs 96 KB of shared memory: compute capability 8.0 has them, 7.5 does not.
    Coo16,
    /// ELLPACK for the first entries of each row, coordinates for the rest.
    Hyb(HybSplit),
    /// Compressed multirow storage, one warp a strip of rows; the entries of a strip are sorted by column.
    Cmrs(StripHeight),
    /// Compressed multirow storage with padding, for a kernel with fewer partial sums.
    CmrsPadded,
    /// Whichever of the others is the fastest for a matrix on a device, as [`select`](crate::select) finds out. A
    /// [`Plan`](crate::Plan) takes it, and is one of those then.
    Auto,
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
    /// Every format but [`Auto`](Self::Auto), which is none of its own. What is not here, no test and no command sees.
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
        Self::CsrTiled,
        Self::CsrAutomatic,
        Self::Dia,
        Self::Ell,
        Self::EllSubwarp,
        Self::SellP,
        Self::SellPSorted,
        Self::Sell16,
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
        Self::Coo16,
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
            Self::CsrTiled => "csr-tiled",
            Self::CsrAutomatic => "csr-automatic",
            Self::Dia => "dia",
            Self::Ell => "ell",
            Self::EllSubwarp => "ell-subwarp",
            Self::SellP => "sell-p",
            Self::SellPSorted => "sell-p-sorted",
            Self::Sell16 => "sell-16",
            Self::Bcsr(size) => size.names().bcsr,
            Self::Bellpack(size) => size.names().bellpack,
            Self::Coo => "coo",
            Self::CooAtomic => "coo-atomic",
            Self::Coo16 => "coo-16",
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
            Self::Auto => "auto",
        }
    }

    /// The name of the storage format alone: formats that share it share their arrays.
    pub fn storage(self) -> &'static str {
        match self {
            Self::CsrScalar
            | Self::CsrVector(_)
            | Self::CsrLoadBalanced
            | Self::CsrMergePath
            | Self::CsrTiled
            | Self::CsrAutomatic => "CSR",
            Self::Dia => "DIA",
            Self::Ell | Self::EllSubwarp => "ELL",
            Self::SellP => "SELL-P",
            Self::SellPSorted => "SELL-P, sorted",
            Self::Sell16 => "SELL-16",
            Self::Bcsr(size) => size.names().bcsr_storage,
            Self::Bellpack(size) => size.names().bellpack_storage,
            Self::Coo | Self::CooAtomic => "COO",
            Self::Coo16 => "COO-16",
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
            Self::Auto => "any",
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
        self.sums_duplicates() || matches!(self, Self::Cmrs(_) | Self::Coo16)
    }

    /// Whether the same call gives the same bits every time on the same device, on every executor.
    pub fn reproducible(self) -> bool {
        // The tests hold every format to its label, under many schedules of the emulator.
        !matches!(self, Self::CooAtomic)
    }

    /// Whether [`Plan::apply_multivector`](crate::Plan::apply_multivector) works in this format, on every executor: in
    /// all of CSR, COO, SELL-P and BCSR. The reference executor does it in any format. The result has the same bits
    /// every time.
    pub fn multiplies_multivectors(self) -> bool {
        self.multiplies_transposed() || matches!(self, Self::SellP | Self::SellPSorted | Self::Bcsr(_))
    }

    /// Whether [`Plan::apply_transposed`](crate::Plan::apply_transposed) works in this format, on every executor: in
    /// all of CSR and COO. The reference executor does it in any format.
    pub fn multiplies_transposed(self) -> bool {
        match self {
            Self::CsrScalar
            | Self::CsrVector(_)
            | Self::CsrLoadBalanced
            | Self::CsrMergePath
            | Self::CsrTiled
            | Self::CsrAutomatic => true,
            Self::Coo | Self::CooAtomic => true,
            Self::Dia | Self::Ell | Self::EllSubwarp | Self::SellP | Self::SellPSorted | Self::Sell16 => false,
            Self::Coo16 | Self::Bcsr(_) | Self::Bellpack(_) | Self::Hyb(_) => false,
            Self::Cmrs(_) | Self::CmrsPadded => false,
            // Not whatever is chosen.
            Self::Auto => false,
        }
    }

    /// Whether [`Plan::apply_transposed`](crate::Plan::apply_transposed) gives the same bits every time on the same
    /// device, on every executor that can do it. Kernels add to y atomically, so it does not where there is one; see
    /// [`Csr::transposed`].
    pub fn reproducible_transposed(self) -> bool {
        !self.multiplies_transposed()
    }

    /// The format that this one stands for with `matrix`: [`CsrAutomatic`](Self::CsrAutomatic) is
    /// [`CsrLoadBalanced`](Self::CsrLoadBalanced) for more than 10^6 rows or a row of more than 64 entries, otherwise
    /// [`CsrScalar`](Self::CsrScalar) (Anzt et al. 2020, Algorithm 2); any other format is itself, and so is
    /// [`Auto`](Self::Auto), which depends on the device. O(rows).
    pub fn resolve<T: Real>(self, matrix: &Csr<T>) -> Self {
        self.resolved_by(matrix.rows(), || matrix.longest_row())
    }

    /// [`resolve`](Self::resolve) from what it depends on.
    pub(crate) fn resolved_by(self, rows: usize, longest_row: impl FnOnce() -> usize) -> Self {
        match self {
            Self::CsrAutomatic if rows > BALANCED_ROWS || longest_row() > BALANCED_ROW_LENGTH => Self::CsrLoadBalanced,
            Self::CsrAutomatic => Self::CsrScalar,
            format => format,
        }
    }

    /// That this format is none of its own, where one is needed.
    pub(crate) fn stands_for_others(self) -> Error {
        Error::structure(self.storage(), format!("{self} stands for other formats, and none was chosen"))
    }

    /// Bytes that the arrays of `matrix` take in this format with values of `V`; of [`Auto`](Self::Auto) those of CSR,
    /// which it starts from. Nothing is converted. O(rows), but for DIA O(nnz + rows + columns), with blocks
    /// O(nnz log(longest row)), and for SELL-16 up to 64 nnz.
    pub fn bytes<T: Real, V: Real>(self, matrix: &Csr<T>) -> u128 {
        match self {
            Self::CsrScalar
            | Self::CsrVector(_)
            | Self::CsrLoadBalanced
            | Self::CsrMergePath
            | Self::CsrTiled
            | Self::CsrAutomatic
            | Self::Auto => matrix.bytes_with::<V>(),
            Self::Dia => dia::predicted_bytes::<T, V>(matrix),
            Self::Ell | Self::EllSubwarp => ell::ell_bytes::<V>(matrix.rows(), matrix.longest_row()),
            Self::SellP => sell_p::predicted_bytes::<T, V>(matrix, Slicing::UNSORTED),
            Self::SellPSorted => sell_p::predicted_bytes::<T, V>(matrix, Slicing::SORTED),
            Self::Sell16 => sell_16::predicted_bytes::<T, V>(matrix),
            Self::Bcsr(size) => bcsr::bcsr_bytes::<T, V>(matrix, size),
            Self::Bellpack(size) => bellpack::bellpack_bytes::<T, V>(matrix, size),
            Self::Coo | Self::CooAtomic => coo::coo_bytes::<V>(matrix.nnz()),
            Self::Coo16 => coo_16::predicted_bytes::<T, V>(matrix),
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
        let all = Self::ALL.iter().copied().chain([Self::Auto]);
        all.clone().find(|format| format.name() == name).ok_or_else(|| Error::Name {
            what: "format",
            name: name.into(),
            expected: all.map(Self::name).collect::<Vec<_>>().join(", "),
        })
    }
}
