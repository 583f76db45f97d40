//! BCSR: several lanes per block row.

use cuda_std::launch::Launch;

use super::{bcsr_bytes, cpu, multivector, product, storage_name};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::block::{block_size, name_with_size, of_each_size};
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::{Bcsr, BlockSize, Csr, FillLimit};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{HostOperands, Room, Vectors};

/// BCSR: several lanes per block row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub BlockSize);

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Bcsr<T, M>;

    const ALL: &'static [Self] = of_each_size!(Strategy, Strategy);

    const STANDARD: &'static [Self] = &[Self(BlockSize::B2x2), Self(BlockSize::B3x3), Self(BlockSize::B6x6)];

    fn name(self) -> &'static str {
        gpu_kernels::block_sizes!(name_with_size("bcsr-", self.0))
    }

    fn storage(self) -> &'static str {
        storage_name(self.0)
    }

    fn sums_duplicates(self) -> bool {
        true
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        bcsr_bytes::<T, V>(matrix, self.0)
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Bcsr<T>, Error> {
        Bcsr::try_from_csr(&matrix, self.0, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Bcsr<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, matrix, self.0, limit)
    }

    fn fits<T: Scalar, M: Memory>(self, matrix: &Bcsr<T, M>) -> bool {
        matrix.block_size() == self.0
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Bcsr<T, M>,
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
        matrix: &Bcsr<T, M>,
        values: Values<V, T>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(vec![product::bcsr(matrix, values, vectors, device)])
    }

    /// Widens the values first, which takes memory for them.
    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        matrix: &Bcsr<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        cpu::multiply_on_cpu(matrix, &values.widened(true)?, operands);
        Ok(())
    }

    #[inline]
    fn multiply_on_cpu<T: Scalar>(self, matrix: &Bcsr<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        cpu::multiply_on_cpu(matrix, matrix.values(), operands);
        Ok(())
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Bcsr<T, M>,
        tiles: &Tiles<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(tiles.arguments().map(|arguments| multivector::launch(matrix, arguments, device)).collect())
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &Bcsr<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        multivector::multiply_on_cpu(matrix, vectors, operands);
        Ok(())
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Bcsr<T, M> {
    const CONTAINER_NAME: &'static str = "BCSR";

    const MARKS_ABSENCE: bool = true;

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for Bcsr<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        for row in 0..self.rows() {
            self.row(row).for_each(|(column, value)| visit(row, column, value));
        }
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        self.to_csr()
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let [height, width] = source.sizes()?;
        let size = block_size(height, width)?;
        let (offsets, first_columns) = (source.elements("block_offsets")?, source.elements("first_columns")?);
        Self::try_new(rows, columns, size, offsets, first_columns, source.values()?).map_err(|error| error.to_string())
    }
}
