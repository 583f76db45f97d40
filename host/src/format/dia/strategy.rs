//! DIA: one thread per two rows.

use cuda_std::launch::Launch;

use super::cpu;
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
use crate::format::{Csr, Dia, FillLimit};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{Fused, HostOperands, Room, Vectors};

/// DIA: one thread per two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy;

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Dia<T, M>;

    const ALL: &'static [Self] = &[Self];

    fn name(self) -> &'static str {
        "dia"
    }

    fn storage(self) -> &'static str {
        "DIA"
    }

    fn sums_duplicates(self) -> bool {
        true
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        predicted_bytes::<T, V>(matrix)
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Dia<T>, Error> {
        Dia::try_from_csr(&matrix, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Dia<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, matrix, limit)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Dia<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        self.narrow_launches(matrix, Values::as_they_are(matrix.values().global()), vectors, room, device)
    }

    fn fuses<T: Scalar, M: Memory>(self, _: &Dia<T, M>, _: &Device) -> bool {
        true
    }

    fn fused_launch<T: Scalar, M: Memory>(
        self,
        matrix: &Dia<T, M>,
        fused: &mut Fused<'_, T, M>,
        device: &Device,
    ) -> Result<Launch, Error> {
        fused::dia(matrix, fused, device)
    }

    fn multiplies_narrow(self) -> bool {
        true
    }

    fn narrow_launches<V: StoredAs<T>, T: Scalar, M: Memory>(
        self,
        matrix: &Dia<T, M>,
        values: Values<V, T>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(vec![product::dia(matrix, values, vectors, device)])
    }

    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        matrix: &Dia<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        cpu::multiply_on_cpu(matrix, values, operands);
        Ok(())
    }

    #[inline]
    fn multiply_on_cpu<T: Scalar>(self, matrix: &Dia<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        cpu::multiply_on_cpu(matrix, HostValues::as_they_are(matrix.values()), operands);
        Ok(())
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Dia<T, M>,
        tiles: &Tiles<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(tiles.arguments().map(|arguments| multivector::launch(matrix, arguments, device)).collect())
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &Dia<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        multivector::multiply_on_cpu(matrix, vectors, operands);
        Ok(())
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Dia<T, M> {
    const CONTAINER_NAME: &'static str = "DIA";

    const MARKS_ABSENCE: bool = true;

    fn bytes_moved(&self) -> u128 {
        // Only the values of the rows, without the offsets and the padding of the stride.
        let columns = Buffer::<T>::len(self.values()) / self.stride().max(1);
        size_of::<T>() as u128 * columns as u128 * self.rows() as u128
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for Dia<T> {
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
        let [stride, diagonals] = source.sizes()?;
        let offsets: Vec<i32> = source.elements("offsets")?;
        if offsets.len() != diagonals {
            return Err(format!("{} offsets for {diagonals} diagonals", offsets.len()));
        }
        Self::try_new(rows, columns, stride, offsets, source.values()?).map_err(|error| error.to_string())
    }
}
