//! Clustered slices with pairs stored once: one block per part.

use cuda_std::launch::Launch;

use super::{by_kernels, predicted_bytes, product};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::executor::transfer::{Download, Upload};
use crate::format::clustered::strategy::{KILOBYTES, PARTS};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::text::Key;
use crate::format::{ClusteredSymmetric, Csr, FillLimit, Format, PartSize};
use crate::memory::Memory;
use crate::real::Scalar;
use crate::spmv::{HostOperands, Room, Vectors};

impl PartSize {
    /// As [`DEFAULT`](Self::DEFAULT), with more memory for the y of a part, which is in shared memory, too.
    pub const SYMMETRIC: Self = Self { parts: 264, kilobytes: 112 };
}

impl Format {
    /// Clustered slices with pairs stored once, in parts of [`PartSize::SYMMETRIC`], one block per part.
    pub const CLUSTERED_SYMMETRIC: Self = Self::ClusteredSymmetric(PartSize::SYMMETRIC);
}

/// Clustered slices with pairs stored once: one block per part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub PartSize);

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
    type Matrix<T: Scalar, M: Memory> = ClusteredSymmetric<T, M>;

    const ALL: &'static [Self] = &[Self(PartSize::SYMMETRIC)];

    fn name(self) -> &'static str {
        "clustered-symmetric"
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

    /// Two duplicate entries would look like a pair.
    fn looks_at_values(self) -> bool {
        true
    }

    fn sums_duplicates(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        predicted_bytes::<T, V>(matrix, self.0)
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<ClusteredSymmetric<T>, Error> {
        ClusteredSymmetric::try_from_csr(&matrix, self.0, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<ClusteredSymmetric<T, K::Memory>, Error> {
        by_kernels::from_csr(executor, matrix, self.0, limit)
    }

    fn is_chosen_for<T: Scalar>(self, matrix: &ClusteredSymmetric<T>) -> Result<bool, Error> {
        Ok(matrix.part_size() == self.0)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &ClusteredSymmetric<T, M>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(vec![product::clustered_symmetric(matrix, vectors, device)?])
    }

    fn multiply_on_cpu<T: Scalar>(
        self,
        matrix: &ClusteredSymmetric<T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, operands)
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for ClusteredSymmetric<T, M> {
    const CONTAINER_NAME: &'static str = super::CONTAINER_NAME;

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        self.transfer(&Download(executor))?.to_csr()?.transfer(&Upload(executor))
    }
}

impl<T: Scalar> HostStorage<T> for ClusteredSymmetric<T> {
    /// Converts to CSR first, because the entries of a row are scattered.
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        let matrix = self.to_csr()?;
        for row in 0..matrix.rows() {
            matrix.row(row).for_each(|(column, value)| visit(row, column, value));
        }
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        self.to_csr()
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let [parts, kilobytes, most_elements] = source.sizes()?;
        let size = PartSize { parts, kilobytes };
        let (begins, row_numbers) = (source.elements("warp_begins")?, source.elements("row_numbers")?);
        let (halo_begins, halo_columns) = (source.elements("halo_begins")?, source.elements("halo_columns")?);
        let (slices, local_columns) = (source.elements("slice_begins")?, source.elements("local_columns")?);
        let values = source.values()?;
        let matrix = Self::try_new(
            rows,
            columns,
            size,
            begins,
            row_numbers,
            halo_begins,
            halo_columns,
            slices,
            local_columns,
            values,
        )
        .map_err(|error| error.to_string())?;
        if matrix.most_elements() as u64 != u64::from(most_elements) {
            let most = matrix.most_elements();
            return Err(format!(
                "a parameter gives {most_elements} as the largest number of elements of a part, expected {most}"
            ));
        }
        Ok(matrix)
    }
}
