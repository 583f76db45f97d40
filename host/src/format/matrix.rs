//! A matrix in any storage format.

use super::storage::ArrayVisitor;
use super::{
    Bcsr, Bellpack, Cmrs, CmrsPadded, Coo, Csr, Dia, Ell, FillLimit, Format, Hyb, PartitionRows, SellP, Slicing,
    StripOrder,
};
use crate::error::Error;
use crate::memory::{HostMemory, Memory, Transfer};
use crate::real::Real;

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

    /// Shows every array to a visitor.
    pub(crate) fn for_each_array(&self, visitor: &mut impl ArrayVisitor<M>) {
        each!(self, matrix => matrix.for_each_array(visitor));
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
            Format::Coo | Format::CooAtomic => Self::Coo(Coo::try_from_csr(matrix)?),
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

impl<T: Real> PartialEq for Matrix<T> {
    /// Whether both are stored the same way, with the same parameters and the same bits in every array.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Csr(left), Self::Csr(right)) => left == right,
            (Self::Dia(left), Self::Dia(right)) => left == right,
            (Self::Ell(left), Self::Ell(right)) => left == right,
            (Self::SellP(left), Self::SellP(right)) => left == right,
            (Self::Bcsr(left), Self::Bcsr(right)) => left == right,
            (Self::Bellpack(left), Self::Bellpack(right)) => left == right,
            (Self::Coo(left), Self::Coo(right)) => left == right,
            (Self::Hyb(left), Self::Hyb(right)) => left == right,
            (Self::Cmrs(left), Self::Cmrs(right)) => left == right,
            (Self::CmrsPadded(left), Self::CmrsPadded(right)) => left == right,
            _ => false,
        }
    }
}
