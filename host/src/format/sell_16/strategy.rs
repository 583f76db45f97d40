//! SELL-16: one warp per slice.

use cuda_std::launch::Launch;

use super::fused;
use super::multivector;
use super::predicted_bytes;
use super::product;
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::{Csr, FillLimit, Sell16};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{Fused, HostOperands, Room, Vectors};

/// SELL-16: one warp per slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy;

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Sell16<T, M>;

    const ALL: &'static [Self] = &[Self];

    fn name(self) -> &'static str {
        "sell-16"
    }

    fn storage(self) -> &'static str {
        "SELL-16"
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        predicted_bytes::<T, V>(matrix)
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Sell16<T>, Error> {
        Sell16::try_from_csr(&matrix, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Sell16<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, &matrix, limit)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Sell16<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        self.narrow_launches(matrix, Values::as_they_are(matrix.values().global()), vectors, room, device)
    }

    fn fuses<T: Scalar, M: Memory>(self, matrix: &Sell16<T, M>, device: &Device) -> bool {
        device.has_few_rows(matrix.rows())
    }

    fn fused_launch<T: Scalar, M: Memory>(
        self,
        matrix: &Sell16<T, M>,
        fused: &mut Fused<'_, T, M>,
        device: &Device,
    ) -> Result<Launch, Error> {
        fused::sell_16(matrix, fused, device)
    }

    fn multiplies_narrow(self) -> bool {
        true
    }

    fn narrow_launches<V: StoredAs<T>, T: Scalar, M: Memory>(
        self,
        matrix: &Sell16<T, M>,
        values: Values<V, T>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(vec![product::sell_16(matrix, values, vectors, device)])
    }

    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        matrix: &Sell16<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, values, operands);
        Ok(())
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &Sell16<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, HostValues::as_they_are(matrix.values()), operands);
        Ok(())
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Sell16<T, M>,
        tiles: &Tiles<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(tiles.arguments().map(|arguments| multivector::launch(matrix, arguments, device)).collect())
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &Sell16<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        multivector::multiply_on_cpu(matrix, vectors, operands);
        Ok(())
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Sell16<T, M> {
    const CONTAINER_NAME: &'static str = "SELL-16";

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for Sell16<T> {
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
        let (begins, bases) = (source.elements("slice_begins")?, source.elements("bases")?);
        Self::try_new(rows, columns, begins, bases, source.elements("column_offsets")?, source.values()?)
            .map_err(|error| error.to_string())
    }
}
