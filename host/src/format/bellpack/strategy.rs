//! BELLPACK: one thread per block row.

use cuda_std::launch::Launch;

use super::{PartitionRows, bellpack_bytes, fused, multivector, product, storage_name};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::block::{block_size, name_with_size, of_each_size};
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::text::{Key, Parameter};
use crate::format::{Bellpack, BlockSize, Csr, FillLimit, Format};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{Fused, HostOperands, Room, Vectors};

/// Parameters tuned by the model of Choi, Singh & Vuduc 2010, §6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BellpackStrategy {
    /// Size of the blocks.
    pub size: BlockSize,
    /// The paper's R.
    pub partition_rows: PartitionRows,
}

impl Format {
    /// Returns BELLPACK with blocks of this size and partitions of the default size.
    pub const fn bellpack(size: BlockSize) -> Self {
        Self::Bellpack(BellpackStrategy { size, partition_rows: PartitionRows::R32 })
    }
}

/// BELLPACK: one thread per block row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub BellpackStrategy);

impl Strategy {
    const fn of_size(size: BlockSize) -> Self {
        Self(BellpackStrategy { size, partition_rows: PartitionRows::R32 })
    }
}

const ROWS: Key<Strategy> = Key {
    parameter: Parameter { name: "rows", about: "block rows per partition, R", expected: "32, 64, 128 or 256" },
    get: |strategy| Some(strategy.0.partition_rows.get().to_string()),
    set: |strategy, text| {
        let partition_rows = PartitionRows::from_rows(text.parse().ok()?)?;
        Some(Strategy(BellpackStrategy { partition_rows, ..strategy.0 }))
    },
};

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Bellpack<T, M>;

    const ALL: &'static [Self] = of_each_size!(Strategy, Strategy::of_size);

    const STANDARD: &'static [Self] = &[Self::of_size(BlockSize::B3x3), Self::of_size(BlockSize::B6x6)];

    fn name(self) -> &'static str {
        gpu_kernels::block_sizes!(name_with_size("bellpack-", self.0.size))
    }

    fn keys(self) -> &'static [Key<Self>] {
        &[ROWS]
    }

    fn storage(self) -> &'static str {
        storage_name(self.0.size)
    }

    fn shares_arrays(self, other: Self) -> bool {
        self == other
    }

    fn sums_duplicates(self) -> bool {
        true
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        bellpack_bytes::<T, V>(matrix, self.0.size, self.0.partition_rows)
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Bellpack<T>, Error> {
        Bellpack::try_from_csr(&matrix, self.0.size, self.0.partition_rows, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Bellpack<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, matrix, self.0.size, self.0.partition_rows, limit)
    }

    fn fits<T: Scalar, M: Memory>(self, matrix: &Bellpack<T, M>) -> bool {
        matrix.block_size() == self.0.size
    }

    fn is_chosen_for<T: Scalar>(self, matrix: &Bellpack<T>) -> Result<bool, Error> {
        Ok(self.fits(matrix) && matrix.partition_rows() == self.0.partition_rows.get())
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Bellpack<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        self.narrow_launches(matrix, Values::as_they_are(matrix.values().global()), vectors, room, device)
    }

    fn fuses<T: Scalar, M: Memory>(self, matrix: &Bellpack<T, M>, device: &Device) -> bool {
        device.has_few_rows(matrix.rows())
    }

    fn fused_launch<T: Scalar, M: Memory>(
        self,
        matrix: &Bellpack<T, M>,
        fused: &mut Fused<'_, T, M>,
        device: &Device,
    ) -> Result<Launch, Error> {
        fused::bellpack(matrix, fused, device)
    }

    fn multiplies_narrow(self) -> bool {
        true
    }

    fn narrow_launches<V: StoredAs<T>, T: Scalar, M: Memory>(
        self,
        matrix: &Bellpack<T, M>,
        values: Values<V, T>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(vec![product::bellpack(matrix, values, vectors, device)])
    }

    /// Widens the values first, which takes memory for them.
    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        matrix: &Bellpack<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, &values.widened(true)?, operands)
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &Bellpack<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, matrix.values(), operands)
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Bellpack<T, M>,
        tiles: &Tiles<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(tiles.arguments().map(|arguments| multivector::launch(matrix, arguments, device)).collect())
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &Bellpack<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        multivector::multiply_on_cpu(matrix, vectors, operands)
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Bellpack<T, M> {
    const CONTAINER_NAME: &'static str = "BELLPACK";

    const MARKS_ABSENCE: bool = true;

    fn bytes_moved(&self) -> u128 {
        // One offset per block row, as in BCSR.
        let blocks = self.first_columns().len() as u128;
        size_of::<T>() as u128 * self.values().len() as u128 + 4 * (blocks + self.block_rows().len() as u128 + 1)
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for Bellpack<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        self.for_each_entry(visit);
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        self.to_csr()
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let [height, width, partition] = source.sizes()?;
        let size = block_size(height, width)?;
        let partition_rows = PartitionRows::from_rows(partition)
            .ok_or_else(|| format!("partitions of {partition} block rows, expected 32, 64, 128 or 256"))?;
        let (offsets, block_rows) = (source.elements("partition_offsets")?, source.elements("block_rows")?);
        let (first_columns, values) = (source.elements("first_columns")?, source.values()?);
        Self::try_new(rows, columns, size, partition_rows, offsets, block_rows, first_columns, values)
            .map_err(|error| error.to_string())
    }
}
