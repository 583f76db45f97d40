//! CSR once more, in arrays of its own: it exists for a test, which runs everything over the list of formats with this
//! one in it. Nothing outside this folder names it but the list.

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
            /// Where each row begins.
            row_offsets,
        }
        arrays {
            /// The column of each entry.
            column_indices: u32,
            /// The value of each entry.
            values: T,
        }
    }
}

impl<T: Scalar, M: Memory> Twin<T, M> {
    /// The same arrays.
    fn from_csr(matrix: Csr<T, M>) -> Self {
        let Csr { rows, columns, stored, row_offsets, column_indices, values } = matrix;
        Self { rows, columns, stored, row_offsets, column_indices, values }
    }

    /// The same arrays.
    fn into_csr(self) -> Csr<T, M> {
        let Self { rows, columns, stored, row_offsets, column_indices, values } = self;
        Csr { rows, columns, stored, row_offsets, column_indices, values }
    }
}

impl<T: Scalar> Twin<T> {
    /// A matrix from its arrays.
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
