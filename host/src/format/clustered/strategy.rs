//! Clustered slices: one block per part.

use cuda_std::launch::Launch;

use super::{PartSize, ROWS, by_kernels, predicted_bytes, product};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::executor::transfer::{Download, Upload};
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::text::{Key, Parameter, number};
use crate::format::{Clustered, Csr, FillLimit, Format};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::{HostOperands, Room, Vectors};

impl Format {
    /// Clustered slices in parts of [`PartSize::DEFAULT`], one block per part.
    pub const CLUSTERED: Self = Self::Clustered(PartSize::DEFAULT);
}

/// Clustered slices: one block per part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub PartSize);

/// Target number of parts.
pub(in crate::format) const PARTS: Parameter = Parameter {
    name: "parts",
    about: "target number of parts of equal work",
    expected: "a number from 1 to 4294967295",
};

/// Shared memory that a part may take.
pub(in crate::format) const KILOBYTES: Parameter = Parameter {
    name: "kilobytes",
    about: "shared memory for the elements of the vectors of a part, in KiB",
    expected: "a number from 1 to 256",
};

impl PartSize {
    /// Returns the size with another number of parts, from text.
    pub(in crate::format) fn with_parts(self, text: &str) -> Option<Self> {
        Some(Self { parts: number(text, 1, u32::MAX)?, ..self })
    }

    /// Returns the size with another amount of shared memory, from text.
    pub(in crate::format) fn with_kilobytes(self, text: &str) -> Option<Self> {
        Some(Self { kilobytes: number(text, 1, 256)?, ..self })
    }
}

const KEYS: &[Key<Strategy>] = &[
    Key {
        parameter: PARTS,
        get: |strategy| Some(strategy.0.parts.to_string()),
        set: |strategy, text| strategy.0.with_parts(text).map(Strategy),
    },
    Key {
        parameter: KILOBYTES,
        get: |strategy| Some(strategy.0.kilobytes.to_string()),
        set: |strategy, text| strategy.0.with_kilobytes(text).map(Strategy),
    },
];

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Clustered<T, M>;

    const ALL: &'static [Self] = &[Self(PartSize::DEFAULT)];

    fn name(self) -> &'static str {
        "clustered"
    }

    fn keys(self) -> &'static [Key<Self>] {
        KEYS
    }

    fn storage(self) -> &'static str {
        super::NAME
    }

    fn shares_arrays(self, other: Self) -> bool {
        self == other
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        predicted_bytes::<T, V>(matrix, self.0)
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Clustered<T>, Error> {
        Clustered::try_from_csr(&matrix, self.0, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Clustered<T, K::Memory>, Error> {
        by_kernels::from_csr(executor, &matrix, self.0, limit)
    }

    fn is_chosen_for<T: Scalar>(self, matrix: &Clustered<T>) -> Result<bool, Error> {
        Ok(matrix.part_size() == self.0)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Clustered<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        self.narrow_launches(matrix, Values::as_they_are(matrix.values().global()), vectors, room, device)
    }

    fn multiplies_narrow(self) -> bool {
        true
    }

    fn narrow_launches<V: StoredAs<T>, T: Scalar, M: Memory>(
        self,
        matrix: &Clustered<T, M>,
        values: Values<V, T>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(vec![product::clustered(matrix, values, vectors, device)?])
    }

    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        matrix: &Clustered<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, values, operands)
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &Clustered<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, HostValues::as_they_are(matrix.values()), operands)
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Clustered<T, M> {
    const CONTAINER_NAME: &'static str = super::NAME;

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        self.transfer(&Download(executor))?.to_csr()?.transfer(&Upload(executor))
    }
}

impl<T: Scalar> HostStorage<T> for Clustered<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        for part in 0..self.parts() {
            for slice in self.slices_of(part) {
                for position in slice * ROWS..(slice + 1) * ROWS {
                    // Positions without a row have no entries.
                    let row = self.row_numbers()[position] as usize;
                    self.entries_at(part, position).for_each(|(column, value)| visit(row, column, value));
                }
            }
        }
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        self.to_csr()
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let [parts, kilobytes, most_columns] = source.sizes()?;
        let size = PartSize { parts, kilobytes };
        let (begins, row_numbers) = (source.elements("part_begins")?, source.elements("row_numbers")?);
        let (column_begins, column_numbers) = (source.elements("column_begins")?, source.elements("column_numbers")?);
        let (slices, local_columns) = (source.elements("slice_begins")?, source.elements("local_columns")?);
        let values = source.values()?;
        let matrix = Self::try_new(
            rows,
            columns,
            size,
            begins,
            row_numbers,
            column_begins,
            column_numbers,
            slices,
            local_columns,
            values,
        )
        .map_err(|error| error.to_string())?;
        if matrix.most_columns() as u64 != u64::from(most_columns) {
            let most = matrix.most_columns();
            return Err(format!(
                "a parameter gives {most_columns} as the largest number of columns of a part, expected {most}"
            ));
        }
        Ok(matrix)
    }
}
