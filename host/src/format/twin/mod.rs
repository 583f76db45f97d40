//! CSR once more, in separate arrays: it exists for a test, which runs everything over the list of formats including
//! this one. Nothing outside this folder names it except the list.

mod costs;
mod strategy;

use super::storage::storage;
use super::{Csr, Offsets};
use crate::error::Error;
use crate::memory::Memory;
use crate::real::Scalar;

pub(crate) use strategy::Strategy;

storage! {
    /// A sparse matrix in compressed sparse row format, under another name.
    pub struct Twin {
        parameters {}
        offsets {
            /// Offset of each row's first entry.
            row_offsets,
        }
        arrays {
            /// Column of each entry.
            column_indices: u32,
            /// Value of each entry.
            values: T,
        }
    }
}

impl<T: Scalar, M: Memory> Twin<T, M> {
    /// Takes over the arrays.
    fn from_csr(matrix: Csr<T, M>) -> Self {
        let Csr { rows, columns, stored, row_offsets, column_indices, values } = matrix;
        Self { rows, columns, stored, row_offsets, column_indices, values }
    }

    /// Returns the same arrays as CSR.
    fn into_csr(self) -> Csr<T, M> {
        let Self { rows, columns, stored, row_offsets, column_indices, values } = self;
        Csr { rows, columns, stored, row_offsets, column_indices, values }
    }
}

impl<T: Scalar> Twin<T> {
    /// Builds a matrix from its arrays.
    ///
    /// # Errors
    /// When they contradict each other.
    fn try_new(
        rows: usize,
        columns: usize,
        row_offsets: Offsets,
        column_indices: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        Csr::try_new(rows, columns, row_offsets, column_indices, values).map(Self::from_csr)
    }
}
