//! A matrix in any storage format.

use super::storage::ArrayVisitor;
use super::{
    Bcsr, Bellpack, Cmrs, CmrsPadded, Coo, Coo16, Csr, Dia, Ell, FillLimit, Format, Hyb, Panels, PartitionRows, Sell16,
    SellP, Slicing, StripOrder,
};
use crate::error::Error;
use crate::memory::{Buffer, HostMemory, Memory, Transfer};
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
    /// Sliced ELLPACK with columns of 16 bits.
    Sell16(Sell16<T, M>),
    /// CSR of dense blocks.
    Bcsr(Bcsr<T, M>),
    /// ELLPACK of dense blocks.
    Bellpack(Bellpack<T, M>),
    /// Coordinates.
    Coo(Coo<T, M>),
    /// Coordinates of 16 bits in tiles.
    Coo16(Coo16<T, M>),
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
            Matrix::Sell16($inner) => $result,
            Matrix::Bcsr($inner) => $result,
            Matrix::Bellpack($inner) => $result,
            Matrix::Coo($inner) => $result,
            Matrix::Coo16($inner) => $result,
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

    /// Places for entries in the arrays over entries: 1 where there is no padding, and where there is no entry.
    pub fn fill(&self) -> f64 {
        let places = each!(self, matrix => matrix.places());
        if self.nnz() == 0 { 1.0 } else { places as f64 / self.nnz() as f64 }
    }

    /// Bytes that y ← A x has to move at least: each array, x and y once. Of DIA that is the values of the rows alone,
    /// without the places that round the stride up and without the offsets, and of BELLPACK one offset for each block
    /// row, as of BCSR. With COO-16, the products are written and read again.
    pub fn bytes_needed(&self) -> u128 {
        let width = size_of::<T>() as u128;
        let arrays = match self {
            Self::Dia(matrix) => width * matrix.diagonals() as u128 * matrix.rows() as u128,
            Self::Bellpack(matrix) => {
                let blocks = matrix.first_columns().len() as u128;
                blocks * matrix.block_size().bytes::<T>() + 4 * (matrix.block_rows().len() as u128 + 1)
            }
            Self::Coo16(_) => self.bytes() + 2 * width * self.nnz() as u128,
            _ => self.bytes(),
        };
        arrays + width * (self.rows() as u128 + self.columns() as u128)
    }

    /// Shows the parameters and every array to a visitor.
    pub(crate) fn for_each_array<'a>(&'a self, visitor: &mut impl ArrayVisitor<'a, M>) {
        each!(self, matrix => matrix.for_each_array(visitor));
    }

    /// Moves the arrays to another memory.
    pub(crate) fn transfer<N: Memory>(self, to: &impl Transfer<M, N>) -> Result<Matrix<T, N>, Error> {
        Ok(match self {
            Self::Csr(matrix) => Matrix::Csr(matrix.transfer(to)?),
            Self::Dia(matrix) => Matrix::Dia(matrix.transfer(to)?),
            Self::Ell(matrix) => Matrix::Ell(matrix.transfer(to)?),
            Self::SellP(matrix) => Matrix::SellP(matrix.transfer(to)?),
            Self::Sell16(matrix) => Matrix::Sell16(matrix.transfer(to)?),
            Self::Bcsr(matrix) => Matrix::Bcsr(matrix.transfer(to)?),
            Self::Bellpack(matrix) => Matrix::Bellpack(matrix.transfer(to)?),
            Self::Coo(matrix) => Matrix::Coo(matrix.transfer(to)?),
            Self::Coo16(matrix) => Matrix::Coo16(matrix.transfer(to)?),
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
    /// When that would take more than `limit` allows, or the format is [`Format::Auto`].
    pub fn try_from_csr(matrix: Csr<T>, format: Format, limit: FillLimit) -> Result<Self, Error> {
        Ok(match format {
            Format::CsrScalar
            | Format::CsrVector(_)
            | Format::CsrLoadBalanced
            | Format::CsrMergePath
            | Format::CsrTiled
            | Format::CsrAutomatic => Self::Csr(matrix),
            Format::Dia => Self::Dia(Dia::try_from_csr(&matrix, limit)?),
            Format::Ell | Format::EllSubwarp => Self::Ell(Ell::try_from_csr(&matrix, limit)?),
            Format::SellP => Self::SellP(SellP::try_from_csr(&matrix, Slicing::UNSORTED, limit)?),
            Format::SellPSorted => Self::SellP(SellP::try_from_csr(&matrix, Slicing::SORTED, limit)?),
            Format::Sell16 => Self::Sell16(Sell16::try_from_csr(&matrix, limit)?),
            Format::Bcsr(size) => Self::Bcsr(Bcsr::try_from_csr(&matrix, size, limit)?),
            Format::Bellpack(size) => {
                Self::Bellpack(Bellpack::try_from_csr(&matrix, size, PartitionRows::default(), limit)?)
            }
            Format::Coo | Format::CooAtomic => Self::Coo(Coo::try_from_csr(matrix)?),
            Format::Coo16 => Self::Coo16(Coo16::try_from_csr(matrix, limit)?),
            Format::Hyb(split) => Self::Hyb(Hyb::try_from_csr(&matrix, split, limit)?),
            Format::Cmrs(height) => Self::Cmrs(Cmrs::try_from_csr(matrix, height, StripOrder::default())?),
            Format::CmrsPadded => Self::CmrsPadded(CmrsPadded::try_from_csr(&matrix, limit)?),
            Format::Auto => return Err(format.stands_for_others()),
        })
    }

    /// Whether the arrays are stored as `format` needs them, with the parameters that it chooses for this matrix.
    /// O(1), but for HYB O(places).
    pub fn is_stored_as(&self, format: Format) -> bool {
        match (format, self) {
            (
                Format::CsrScalar
                | Format::CsrVector(_)
                | Format::CsrLoadBalanced
                | Format::CsrMergePath
                | Format::CsrTiled
                | Format::CsrAutomatic,
                Self::Csr(_),
            )
            | (Format::Dia, Self::Dia(_))
            | (Format::Ell | Format::EllSubwarp, Self::Ell(_))
            | (Format::Sell16, Self::Sell16(_))
            | (Format::Coo | Format::CooAtomic, Self::Coo(_))
            | (Format::CmrsPadded, Self::CmrsPadded(_)) => true,
            (Format::Coo16, Self::Coo16(matrix)) => {
                matrix.panels() == Panels::chosen::<T>(matrix.columns(), matrix.slots())
            }
            (Format::SellP, Self::SellP(matrix)) => matrix.slicing() == Slicing::UNSORTED,
            (Format::SellPSorted, Self::SellP(matrix)) => matrix.slicing() == Slicing::SORTED,
            (Format::Bcsr(size), Self::Bcsr(matrix)) => matrix.block_size() == size,
            (Format::Bellpack(size), Self::Bellpack(matrix)) => {
                matrix.block_size() == size && matrix.partition_rows() == PartitionRows::default().get()
            }
            (Format::Hyb(split), Self::Hyb(matrix)) => matrix.is_split_by(split),
            (Format::Cmrs(height), Self::Cmrs(matrix)) => {
                matrix.height() == height.rows::<T>(matrix.rows(), matrix.nnz())
            }
            _ => false,
        }
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
            Self::Sell16(matrix) => {
                (0..matrix.rows())
                    .for_each(|row| matrix.row(row).for_each(|(column, value)| visit(row, column, value)));
            }
            Self::Bcsr(matrix) => {
                (0..matrix.rows())
                    .for_each(|row| matrix.row(row).for_each(|(column, value)| visit(row, column, value)));
            }
            Self::Bellpack(matrix) => matrix.for_each_entry(&mut visit),
            Self::Coo(matrix) => matrix.for_each_entry(&mut visit),
            Self::Coo16(matrix) => Self::Csr(matrix.to_csr()).for_each_entry(visit),
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
            Self::Sell16(matrix) => matrix.to_csr(),
            Self::Bcsr(matrix) => matrix.to_csr(),
            Self::Bellpack(matrix) => matrix.to_csr(),
            Self::Coo(matrix) => matrix.into_csr(),
            Self::Coo16(matrix) => matrix.to_csr(),
            Self::Hyb(matrix) => matrix.into_csr(),
            Self::Cmrs(matrix) => matrix.into_csr(),
            Self::CmrsPadded(matrix) => matrix.to_csr(),
        }
    }
}

impl<T: Real> Clone for Matrix<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Csr(matrix) => Self::Csr(matrix.clone()),
            Self::Dia(matrix) => Self::Dia(matrix.clone()),
            Self::Ell(matrix) => Self::Ell(matrix.clone()),
            Self::SellP(matrix) => Self::SellP(matrix.clone()),
            Self::Sell16(matrix) => Self::Sell16(matrix.clone()),
            Self::Bcsr(matrix) => Self::Bcsr(matrix.clone()),
            Self::Bellpack(matrix) => Self::Bellpack(matrix.clone()),
            Self::Coo(matrix) => Self::Coo(matrix.clone()),
            Self::Coo16(matrix) => Self::Coo16(matrix.clone()),
            Self::Hyb(matrix) => Self::Hyb(matrix.clone()),
            Self::Cmrs(matrix) => Self::Cmrs(matrix.clone()),
            Self::CmrsPadded(matrix) => Self::CmrsPadded(matrix.clone()),
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
            (Self::Sell16(left), Self::Sell16(right)) => left == right,
            (Self::Bcsr(left), Self::Bcsr(right)) => left == right,
            (Self::Bellpack(left), Self::Bellpack(right)) => left == right,
            (Self::Coo(left), Self::Coo(right)) => left == right,
            (Self::Coo16(left), Self::Coo16(right)) => left == right,
            (Self::Hyb(left), Self::Hyb(right)) => left == right,
            (Self::Cmrs(left), Self::Cmrs(right)) => left == right,
            (Self::CmrsPadded(left), Self::CmrsPadded(right)) => left == right,
            _ => false,
        }
    }
}
